/* SPDX-License-Identifier: MIT */
/*
 * packet_maker: packets that are made one after the other where a reader asks for them, instead of a file's. All who
 * read a trace read them (trace/read/reader.h), but for lap_reader_seek and edits.
 */
#ifndef LAP_TRACE_READ_PACKET_MAKER_H
#define LAP_TRACE_READ_PACKET_MAKER_H

#include <stdint.h>

#include "base/status.h"
#include "trace/format/dictionary.h"
#include "trace/read/reader.h"

struct lap_packet_maker {
    const struct lap_names *names; /* the dictionary */
    const char *info;              /* JSON */
    const uint64_t *frame_ends;    /* tickets, ascending */
    uint64_t frames, packets, blobs;
    uint64_t counters[LAP_COUNTER_COUNT];
    /* One who makes them from the first one on. Several may be there, each with one thread. */
    enum lap_status (*begin)(void *user, void **out_making);
    /* The next packet: its ticket is never smaller than the last one's. LAP_END behind the last. */
    enum lap_status (*next)(void *making, struct lap_packet *out);
    /* As lap_reader_blob. */
    enum lap_status (*blob)(void *making, enum lap_blob_kind kind, uint64_t id, const uint8_t **out_data,
                            size_t *out_bytes);
    void (*end)(void *making);
    void *user;
};

/* maker outlives the reader, and all that are opened again from it. */
enum lap_status lap_reader_open_made(const struct lap_packet_maker *maker,
                                     struct lap_reader **out_reader) LAP_MUST_CHECK;

#endif
