/* SPDX-License-Identifier: MIT */
#include "vm/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "trace/format/bytes.h"
#include "trace/send/exchange.h"

#define WAIT_MS 60000
#define STEP    ((size_t)1 << 20)

void lap_vm_frame_store(const struct lap_vm_frame *frame, uint8_t out[LAP_VM_FRAME_BYTES])
{
    lap_store_u32(out, frame->kind);
    lap_store_u32(out + 4, frame->number);
    lap_store_u64(out + 8, frame->bytes);
}

void lap_vm_frame_load(const uint8_t head[LAP_VM_FRAME_BYTES], struct lap_vm_frame *out)
{
    *out = (struct lap_vm_frame){lap_load_u32(head), lap_load_u32(head + 4), lap_load_u64(head + 8)};
}

enum lap_status lap_vm_frame_send(int fd, const struct lap_vm_frame *frame, const void *data)
{
    uint8_t head[LAP_VM_FRAME_BYTES];
    enum lap_status status;

    lap_vm_frame_store(frame, head);
    status = lap_exchange_send(fd, head, sizeof head, lap_exchange_now_ms() + WAIT_MS);
    for (size_t done = 0; status == LAP_OK && done < frame->bytes;) {
        size_t count = frame->bytes - done < STEP ? frame->bytes - done : STEP;

        status = lap_exchange_send(fd, (const uint8_t *)data + done, count, lap_exchange_now_ms() + WAIT_MS);
        done += count;
    }
    return status;
}

enum lap_status lap_vm_frame_receive(int fd, struct lap_vm_frame *out)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint8_t head[LAP_VM_FRAME_BYTES];
    enum lap_status status;
    ssize_t got;

    while (poll(&wait, 1, -1) < 0)
        if (errno != EINTR)
            return lap_fail(LAP_ERROR_IO, "can't wait for the connection: %s", strerror(errno));
    got = recv(fd, head, 1, MSG_PEEK);
    if (got == 0)
        return LAP_END;
    status = lap_exchange_receive(fd, head, sizeof head, lap_exchange_now_ms() + WAIT_MS);
    if (status == LAP_OK)
        lap_vm_frame_load(head, out);
    return status;
}

enum lap_status lap_vm_frame_receive_bytes(int fd, void *to, size_t bytes)
{
    enum lap_status status = LAP_OK;

    for (size_t done = 0; status == LAP_OK && done < bytes;) {
        size_t count = bytes - done < STEP ? bytes - done : STEP;

        status = lap_exchange_receive(fd, (uint8_t *)to + done, count, lap_exchange_now_ms() + WAIT_MS);
        done += count;
    }
    return status;
}
