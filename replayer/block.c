/* SPDX-License-Identifier: MIT */
/* Recorded command buffers: from vkBeginCommandBuffer to vkEndCommandBuffer in one packet. */
#include "codegen/support/block.h"

#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/player.h"

enum lap_status replay_lapilliBlock(struct replay *r, struct replay_device *dev, struct gen_args_lapilliBlock *args)
{
    uint64_t command_buffer = gen_u64_VkCommandBuffer(args->commandBuffer);
    struct lap_block block;
    struct lap_args command_args;
    const uint8_t *data;
    size_t bytes;
    enum lap_status status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, args->block, &data, &bytes);

    if (status != LAP_OK)
        return status;
    dev->block_family = replay_command_buffer_family(r, args->commandBuffer);
    lap_block_init(&block, data, bytes, command_buffer, r->dictionary, &r->arena, &r->source);
    for (;;) {
        lap_arena_reset(&r->arena);
        status = lap_block_next(&block, &r->command, &command_args);
        if (status != LAP_OK)
            break;
        r->block_command = gen_command_names[r->command];
        if (gen_replay_table[r->command].call)
            status = gen_replay_table[r->command].call(r, dev, command_args.bytes);
        if (status != LAP_OK)
            return status;
        r->block_command = NULL;
    }
    r->skipped_structs += block.dec.unknown_structs;
    if (status != LAP_END)
        return status;
    if (block.index != args->commandCount)
        return lap_fail(LAP_ERROR_FORMAT, "block %" PRIu64 " has %" PRIu32 " commands, its packet says %" PRIu32,
                        args->block, block.index, args->commandCount);
    return LAP_OK;
}
