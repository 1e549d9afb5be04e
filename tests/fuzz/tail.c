/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/tail.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/forge.h"
#include "trace/bytes.h"
#include "trace/chunk.h"
#include "trace/hash.h"
#include "trace/in_flight.h"
#include "trace/tail.h"

void tail_header(uint8_t *tail, const uint8_t *trace, uint64_t ring_at, uint64_t start)
{
    memset(tail, 0, LAP_TAIL_HEADER_BYTES);
    memcpy(tail, LAP_TAIL_MAGIC, 8);
    lap_store_u32(tail + 8, LAP_TAIL_VERSION);
    memcpy(tail + 16, trace + 16, 16);
    lap_store_u64(tail + 32, lap_hash64(tail, 32));
    lap_store_u64(tail + LAP_TAIL_RING_AT, ring_at);
    lap_store_u64(tail + LAP_TAIL_START_AT, start);
}

/* ---- files ---- */

static char path[64], name[80];

static void write_file(const char *to, const uint8_t *data, size_t bytes)
{
    int fd = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || close(fd) != 0)
        abort();
}

const char *tail_place(const uint8_t *trace, size_t bytes, const uint8_t *tail, size_t tail_bytes)
{
    if (!path[0]) {
        snprintf(path, sizeof path, "/dev/shm/lapilli-fuzz-%ld", (long)getpid());
        snprintf(name, sizeof name, "%s" LAP_TAIL_SUFFIX, path);
    }
    write_file(path, trace, bytes);
    write_file(name, tail, tail_bytes);
    return path;
}

void tail_remove(void)
{
    unlink(name);
    unlink(path);
}

size_t tail_cut(const uint8_t *trace, size_t bytes)
{
    struct lap_chunk_header header;
    size_t at = LAP_FILE_HEADER_BYTES;

    while (at < bytes && bytes - at >= LAP_CHUNK_HEADER_BYTES &&
           lap_chunk_header_load(trace + at, forge_seed(trace, bytes), &header) == LAP_OK &&
           header.kind != LAP_CHUNK_INDEX && header.kind != LAP_CHUNK_END &&
           header.stored_bytes <= bytes - at - LAP_CHUNK_HEADER_BYTES)
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    return at < bytes ? at : bytes;
}

/* ---- calls in flight ---- */

size_t tail_calls_room(size_t list_bytes)
{
    return (list_bytes / TAIL_CALL_HEAD + 1) * lap_in_flight_stride(1) + list_bytes + LAP_IN_FLIGHT_ALIGN;
}

size_t tail_calls_store(const uint8_t *list, size_t list_bytes, const uint8_t *trace, uint8_t *out)
{
    uint64_t seed = lap_tail_seed(trace + 16);
    size_t at = 0, used = 0;

    memset(out, 0, tail_calls_room(list_bytes));
    while (list_bytes - at >= TAIL_CALL_HEAD) {
        const uint8_t *head = list + at;
        size_t bytes = head[TAIL_CALL_BYTES] | (size_t)head[TAIL_CALL_BYTES + 1] << 8;
        struct lap_in_flight call = {.command = head[TAIL_CALL_COMMAND] | (uint32_t)head[TAIL_CALL_COMMAND + 1] << 8,
                                     .flags = head[TAIL_CALL_FLAGS],
                                     .signal = head[TAIL_CALL_SIGNAL],
                                     .thread_id = 7,
                                     .ticket = head[TAIL_CALL_SIGNAL],
                                     .command_buffer = head[TAIL_CALL_COMMAND_BUFFER]};
        at += TAIL_CALL_HEAD;
        call.bytes = bytes < list_bytes - at ? bytes : list_bytes - at;
        memcpy(out + used + LAP_IN_FLIGHT_HEAD_BYTES, list + at, call.bytes);
        lap_in_flight_store(out + used, &call, seed);
        at += call.bytes;
        used += lap_in_flight_stride(call.bytes);
    }
    return used;
}

const uint8_t *tail_list(const uint8_t *data, size_t bytes, size_t *out_list_bytes)
{
    if (bytes < TAIL_LIST_AT || data[0] != 'F')
        return NULL;
    *out_list_bytes = data[1] | (size_t)data[2] << 8;
    if (*out_list_bytes > bytes - TAIL_LIST_AT)
        *out_list_bytes = 0;
    return data + TAIL_LIST_AT;
}
