/* SPDX-License-Identifier: MIT */
/*
 * packet: single packets of a trace, by their tickets, decoded with indices for handles. It has a reader of its own.
 * One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_PACKET_H
#define LAP_INSPECTOR_POSITION_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/reader.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

struct position_packet {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_dec_source source; /* points to the dictionary: do not move the struct */
    struct lap_arena arena;

    /* Of the last one that was read; valid until the next one. */
    struct lap_packet packet;
    const char *name; /* as in the file */
    uint32_t command; /* enum gen_command; GEN_COMMAND_NONE: this build lacks it, and there are no arguments */
    bool has_result;  /* args has a recorded result */
    struct lap_args args;
};

/* On failure it may be closed, or opened again. */
enum lap_status position_packet_open(struct position_packet *at, const struct lap_reader *trace) LAP_MUST_CHECK;
void position_packet_close(struct position_packet *at); /* also for a zeroed one */

/* LAP_END: behind the last packet. Errors are the reader's and the decoders'. */
enum lap_status position_packet_read(struct position_packet *at, uint64_t ticket) LAP_MUST_CHECK;

#endif
