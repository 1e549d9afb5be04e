/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/tail.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/forge.h"
#include "trace/crash/in_flight.h"
#include "trace/crash/notes.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/hash.h"

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

#define PAGE_BYTES 4096u

/* Pages of zeroes, of which notes have many, are holes. */
static void write_file(const char *to, const uint8_t *data, size_t bytes)
{
    static const uint8_t zeroes[PAGE_BYTES];
    int fd = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        abort();
    for (size_t at = 0; at < bytes; at += PAGE_BYTES) {
        size_t part = bytes - at < PAGE_BYTES ? bytes - at : PAGE_BYTES;
        if (memcmp(data + at, zeroes, part) != 0 && pwrite(fd, data + at, part, (off_t)at) != (ssize_t)part)
            abort();
    }
    if (close(fd) != 0)
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

/* The element at *at, which becomes what is behind it; false: there is none. */
static bool next_call(const uint8_t *list, size_t list_bytes, size_t *at, struct lap_in_flight *out)
{
    const uint8_t *head = list + *at;
    size_t bytes;
    if (list_bytes - *at < TAIL_CALL_HEAD)
        return false;
    bytes = head[TAIL_CALL_BYTES] | (size_t)head[TAIL_CALL_BYTES + 1] << 8;
    *at += TAIL_CALL_HEAD;
    *out = (struct lap_in_flight){.command = head[TAIL_CALL_COMMAND] | (uint32_t)head[TAIL_CALL_COMMAND + 1] << 8,
                                  .flags = head[TAIL_CALL_FLAGS],
                                  .signal = head[TAIL_CALL_SIGNAL],
                                  .thread_id = 7,
                                  .ticket = head[TAIL_CALL_SIGNAL],
                                  .command_buffer = head[TAIL_CALL_COMMAND_BUFFER],
                                  .body = list + *at,
                                  .bytes = bytes < list_bytes - *at ? bytes : list_bytes - *at};
    *at += out->bytes;
    return true;
}

size_t tail_calls_store(const uint8_t *list, size_t list_bytes, const uint8_t *trace, uint8_t *out)
{
    uint64_t seed = lap_tail_seed(trace + 16);
    size_t at = 0, used = 0;
    struct lap_in_flight call;

    memset(out, 0, tail_calls_room(list_bytes));
    while (next_call(list, list_bytes, &at, &call)) {
        memcpy(out + used + LAP_IN_FLIGHT_HEAD_BYTES, call.body, call.bytes);
        lap_in_flight_store(out + used, &call, seed);
        used += lap_in_flight_stride(call.bytes);
    }
    return used;
}

static void store_call(uint8_t *entry, size_t room, const struct lap_in_flight *call, uint64_t seed)
{
    if (call->bytes > room - LAP_IN_FLIGHT_HEAD_BYTES)
        return;
    memcpy(entry + LAP_IN_FLIGHT_HEAD_BYTES, call->body, call->bytes);
    lap_in_flight_store(entry, call, seed);
}

/* As many bytes as the element says stand there, whether or not there is room for them. */
static void store_command(struct lap_note_command *note, const struct lap_in_flight *call)
{
    uint8_t body[LAP_NOTE_COMMAND_MOST] = {(uint8_t)(call->command | 0x80), (uint8_t)(call->command >> 7 & 0x7f)};
    size_t room = sizeof body - 2, bytes = call->bytes < room ? call->bytes : room;
    memcpy(body + 2, call->body, bytes);
    for (unsigned twin = 0; twin < 2; twin++) {
        struct lap_noted_command *noted = &note->noted[twin];
        noted->command_buffer = call->command_buffer;
        noted->bytes = (uint32_t)call->bytes + (call->bytes ? 2 : 0);
        memcpy(noted->body, body, sizeof body);
    }
    atomic_store(&note->thread, 1);
}

void tail_notes_store(const uint8_t *list, size_t list_bytes, const uint8_t *trace, uint8_t *tail)
{
    struct lap_notes *notes = (struct lap_notes *)(tail + LAP_TAIL_NOTES_BEGIN);
    uint64_t seed = lap_tail_seed(trace + 16);
    struct lap_in_flight call;
    size_t at = 0;

    lap_note_thread_begin(&notes->threads[0], 1, 7, seed);
    for (unsigned i = 0; next_call(list, list_bytes, &at, &call); i++) {
        bool damaged = call.flags & TAIL_CALL_DAMAGED;
        uint8_t *place;
        call.flags &= ~(uint32_t)TAIL_CALL_DAMAGED;
        if (call.flags & LAP_IN_FLIGHT_COMMAND && i < LAP_NOTES_COMMANDS) {
            place = (uint8_t *)&notes->commands[i];
            store_command(&notes->commands[i], &call);
        } else if (i % 8 && i < LAP_NOTES_THREADS) {
            place = notes->threads[i].call;
            store_call(place, sizeof notes->threads[i].call, &call, seed);
        } else {
            place = notes->large[i % LAP_NOTES_LONG].call;
            store_call(place, sizeof notes->large[0].call, &call, seed);
        }
        if (damaged)
            place[32 + call.bytes % 32] ^= 1;
    }
}

const uint8_t *tail_list(const uint8_t *data, size_t bytes, size_t *out_list_bytes)
{
    if (bytes < TAIL_LIST_AT || (data[0] != 'F' && data[0] != 'N'))
        return NULL;
    *out_list_bytes = data[1] | (size_t)data[2] << 8;
    if (*out_list_bytes > bytes - TAIL_LIST_AT)
        *out_list_bytes = 0;
    return data + TAIL_LIST_AT;
}
