/* SPDX-License-Identifier: MIT */
/*
 * made_blocks: the recordings of a replay program's command buffers, as blobs for its replay. Equal recordings are one
 * blob. A command buffer's last two recordings stay, since a thread may still play the one before the last; blobs that
 * no command buffer has any more go. One thread.
 */
#ifndef LAP_INSPECTOR_MADE_BLOCKS_H
#define LAP_INSPECTOR_MADE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"

struct made_block;

struct made_blocks {
    struct made_block **blocks; /* [number - 1]; NULL: gone */
    size_t count, room;
    uint64_t bytes; /* of all that are there */
    struct lap_map by_hash;
    struct lap_map buffers, pools; /* by their numbers */
};

void made_blocks_init(struct made_blocks *blocks);
void made_blocks_finish(struct made_blocks *blocks); /* also of a zeroed one */

/* *out_number: from 1. LAP_ERROR_MEMORY; LAP_ERROR_LIMIT: they are too many bytes, all together. */
enum lap_status made_blocks_put(struct made_blocks *blocks, uint64_t command_buffer, const uint8_t *data, size_t bytes,
                                uint64_t *out_number) LAP_MUST_CHECK;
/* False: there is none. */
bool made_blocks_get(const struct made_blocks *blocks, uint64_t number, const uint8_t **out_data, size_t *out_bytes);

/* Command buffers come and go. LAP_ERROR_MEMORY. */
enum lap_status made_blocks_allocated(struct made_blocks *blocks, uint64_t pool,
                                      uint64_t command_buffer) LAP_MUST_CHECK;
void made_blocks_freed(struct made_blocks *blocks, uint64_t command_buffer);
void made_blocks_pool_destroyed(struct made_blocks *blocks, uint64_t pool);

#endif
