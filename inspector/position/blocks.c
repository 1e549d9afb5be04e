/* SPDX-License-Identifier: MIT */
#include "inspector/position/blocks.h"

#define ARENA_BYTES ((size_t)1 << 30)

enum lap_status position_blocks_open(struct position_blocks *blocks, const struct lap_reader *trace)
{
    enum lap_status status;

    *blocks = (struct position_blocks){.reader = NULL};
    lap_arena_init(&blocks->arena, ARENA_BYTES);
    status = lap_reader_open_again(trace, NULL, &blocks->reader);
    if (status == LAP_OK)
        status = lap_dictionary_init(&blocks->dictionary, blocks->reader);
    blocks->source = lap_dictionary_source(&blocks->dictionary);
    return status;
}

void position_blocks_close(struct position_blocks *blocks)
{
    lap_dictionary_release(&blocks->dictionary);
    lap_arena_finish(&blocks->arena);
    if (blocks->reader)
        lap_reader_close(&blocks->reader);
}

enum lap_status position_blocks_begin(struct position_blocks *blocks, uint64_t blob, uint64_t command_buffer)
{
    const uint8_t *data;
    size_t bytes;
    enum lap_status status = lap_reader_rewind(blocks->reader); /* it holds all blobs since the last packet or this */

    if (status == LAP_OK)
        status = lap_reader_blob(blocks->reader, LAP_BLOB_BLOCK, blob, &data, &bytes);
    if (status == LAP_OK)
        lap_block_init(&blocks->block, data, bytes, command_buffer, &blocks->dictionary, &blocks->arena,
                       &blocks->source);
    return status;
}

enum lap_status position_blocks_next(struct position_blocks *blocks, uint32_t *out_command, struct lap_args *out_args)
{
    lap_arena_reset(&blocks->arena);
    return lap_block_next(&blocks->block, out_command, out_args);
}
