/* SPDX-License-Identifier: MIT */
#include "trace/send/exchange.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cancel.h"

int64_t lap_exchange_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static enum lap_status exchange(int fd, uint8_t *at, size_t bytes, bool sends, int64_t deadline)
{
    int cancel = lap_cancel_off();
    enum lap_status status = LAP_OK;
    while (bytes && status == LAP_OK) {
        ssize_t done = sends ? send(fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(fd, at, bytes, MSG_DONTWAIT);
        int64_t left = deadline - lap_exchange_now_ms();
        struct pollfd wait = {.fd = fd, .events = sends ? POLLOUT : POLLIN};
        if (done > 0) {
            at += done;
            bytes -= (size_t)done;
        } else if (done == 0) {
            status = lap_fail(LAP_ERROR_IO, "the other side has closed the connection");
        } else if (errno != EINTR && errno != EAGAIN) {
            status = lap_fail(LAP_ERROR_IO, "the connection is lost: %s", strerror(errno));
        } else if (errno == EAGAIN && (left <= 0 || poll(&wait, 1, (int)left) == 0)) {
            status = lap_fail(LAP_ERROR_IO, "the other side says nothing");
        }
    }
    lap_cancel_restore(cancel);
    return status;
}

enum lap_status lap_exchange_send(int fd, const void *data, size_t bytes, int64_t deadline)
{
    return exchange(fd, (uint8_t *)(uintptr_t)data, bytes, true, deadline);
}

enum lap_status lap_exchange_receive(int fd, void *data, size_t bytes, int64_t deadline)
{
    return exchange(fd, data, bytes, false, deadline);
}
