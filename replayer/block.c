/* SPDX-License-Identifier: MIT */
/* Recorded command buffers: from vkBeginCommandBuffer to vkEndCommandBuffer in one packet. */
#include "replayer/block.h"

#include <inttypes.h>

#include "codegen/support/block.h"
#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/converter.h"
#include "replayer/events.h"
#include "replayer/follow.h"
#include "replayer/format.h"
#include "replayer/parallel.h"
#include "replayer/player.h"

static enum lap_status play(struct replay *r, struct replay_device *dev, struct lap_args *args)
{
    return gen_replay_table[r->command].call ? gen_replay_table[r->command].call(r, dev, args->bytes) : LAP_OK;
}

/* The same where images have other formats than recorded. */
static enum lap_status play_following(struct replay *r, struct replay_device *dev, struct replay_follow *follow,
                                      const struct lap_block *before, struct lap_args *args)
{
    enum lap_status status = replay_follow(r, dev, follow, args->bytes);

    if (status != LAP_END)
        return status;
    status = play(r, dev, args);
    return status == LAP_OK ? replay_bound_note(r, &follow->bound, before, r->command, args->bytes) : status;
}

enum lap_status replay_block_play(struct replay *r, const struct replay_block *recorded)
{
    struct replay_device *dev = recorded->dev;
    struct replay_follow *follow = NULL, state = {.commands = recorded->commands};
    struct lap_block block, before;
    struct lap_args command_args;
    enum lap_status status;

    r->block_family = replay_command_buffer_family(r, recorded->commands);
    lap_block_init(&block, recorded->data, recorded->bytes, gen_u64_VkCommandBuffer(recorded->commands), r->dictionary,
                   &r->arena, &r->source);
    if (dev->formats && dev->formats->follows) {
        follow = &state;
        replay_converter_reuse(dev, recorded->commands);
    }
    replay_events_begin(r, dev, recorded->commands);
    for (;;) {
        lap_arena_reset(&r->arena);
        if (follow)
            before = block;
        status = lap_block_next(&block, &r->command, &command_args);
        if (status != LAP_OK)
            break;
        r->block_command = gen_command_names[r->command];
        status = follow ? play_following(r, dev, follow, &before, &command_args) : play(r, dev, &command_args);
        if (status == LAP_OK && dev->events)
            status = replay_events_note(r, dev, recorded->commands, command_args.bytes);
        if (status != LAP_OK)
            break;
        r->block_command = NULL;
    }
    r->block_family = UINT32_MAX;
    replay_bound_finish(&state.bound);
    if (r->block_command)
        return status;
    r->skipped_structs += block.dec.unknown_structs;
    if (status != LAP_END)
        return status;
    if (block.index != recorded->command_count)
        return lap_fail(LAP_ERROR_FORMAT, "block %" PRIu64 " has %" PRIu32 " commands, its packet says %" PRIu32,
                        recorded->number, block.index, recorded->command_count);
    return LAP_OK;
}

enum lap_status replay_lapilliBlock(struct replay *r, struct replay_device *dev, struct gen_args_lapilliBlock *args)
{
    struct replay_block block = {
        .dev = dev, .commands = args->commandBuffer, .number = args->block, .command_count = args->commandCount};
    enum lap_status status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, args->block, &block.data, &block.bytes);

    return status == LAP_OK ? replay_parallel_block(r, &block) : status;
}
