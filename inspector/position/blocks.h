/* SPDX-License-Identifier: MIT */
/*
 * blocks: the commands of single command buffers of a trace, by their blobs, with a reader of its own. One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_BLOCKS_H
#define LAP_INSPECTOR_POSITION_BLOCKS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/reader.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

struct position_blocks {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_dec_source source; /* points to the dictionary: do not move the struct */
    struct lap_arena arena;
    struct lap_block block;
};

/* On failure it may be closed, or opened again. */
enum lap_status position_blocks_open(struct position_blocks *blocks, const struct lap_reader *trace) LAP_MUST_CHECK;
void position_blocks_close(struct position_blocks *blocks); /* also for a zeroed one */

/* command_buffer: its number, for the parameters of its commands; 0: they do not matter. */
enum lap_status position_blocks_begin(struct position_blocks *blocks, uint64_t blob,
                                      uint64_t command_buffer) LAP_MUST_CHECK;
/* lap_block_next: with indices for handles; the parameters are valid until the next call. */
enum lap_status position_blocks_next(struct position_blocks *blocks, uint32_t *out_command,
                                     struct lap_args *out_args) LAP_MUST_CHECK;

#endif
