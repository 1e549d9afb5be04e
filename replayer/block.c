/* SPDX-License-Identifier: MIT */
/* Recorded command buffers: from vkBeginCommandBuffer to vkEndCommandBuffer in one packet. */
#include "replayer/block.h"

#include <inttypes.h>
#include <string.h>

#include "codegen/support/block.h"
#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/converter.h"
#include "replayer/events.h"
#include "replayer/follow.h"
#include "replayer/format.h"
#include "replayer/named.h"
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

/* What a command buffer has bound and set, which a later part of it begins with. */
static bool is_state(const char *name)
{
    return !strncmp(name, "vkCmdBind", 9) || !strncmp(name, "vkCmdPush", 9) ||
           (!strncmp(name, "vkCmdSet", 8) && strncmp(name, "vkCmdSetEvent", 13) != 0 &&
            strncmp(name, "vkCmdSetCheckpoint", 18) != 0 && strncmp(name, "vkCmdSetRendering", 17) != 0);
}

/* A command buffer that is being played. */
struct playing {
    const struct replay_block *recorded;
    struct replay_follow *follow; /* NULL: images have the recorded formats */
    VkCommandBuffer commands;     /* of the part that is being recorded */
    uint32_t first, end;          /* commands of the part; `end` when it is over, by numbers in the block */
    bool secondary;
};

static enum lap_status play_one(struct replay *r, const struct playing *p, const struct lap_block *before,
                                struct lap_args *args)
{
    return p->follow ? play_following(r, p->recorded->dev, p->follow, before, args) : play(r, p->recorded->dev, args);
}

/* Whether a render pass, a query or the like that was begun has not ended before command `number`: no command buffer
 * may end there. */
static bool is_within(struct replay *r, const struct playing *p, uint32_t number)
{
    uint32_t command, open = 0;
    struct lap_block block;
    struct lap_args args;

    lap_block_init(&block, p->recorded->data, p->recorded->bytes, gen_u64_VkCommandBuffer(p->commands), r->dictionary,
                   &r->arena, &r->source);
    while (block.index < number && lap_block_next(&block, &command, &args) == LAP_OK) {
        const char *name = gen_command_names[command];
        bool label = strstr(name, "Label") != NULL;
        if (!label && !strncmp(name, "vkCmdBegin", 10))
            open++;
        else if (!label && !strncmp(name, "vkCmdEnd", 8) && open)
            open--;
    }
    return open > 0;
}

/* One part: up to where the next one begins, LAP_OK, or to the end, LAP_END. */
static enum lap_status play_part(struct replay *r, struct playing *p, struct lap_block *block)
{
    struct replay_device *dev = p->recorded->dev;
    struct lap_args args;
    struct lap_block before;
    enum lap_status status;

    for (;;) {
        uint32_t number = block->index;
        lap_arena_reset(&r->arena);
        if (p->follow)
            before = *block;
        status = lap_block_next(block, &r->command, &args);
        if (status != LAP_OK)
            return status;
        r->block_command = gen_command_names[r->command];
        if (number < p->first && number > 0 && !is_state(r->block_command))
            continue;
        if (number > p->first && dev->events && !p->secondary &&
            replay_events_divide(r, dev, p->recorded->commands, args.bytes) && !is_within(r, p, number)) {
            p->end = number;
            status = replay_result(r, dev->vk.EndCommandBuffer(p->commands));
            if (status == LAP_OK)
                r->block_command = NULL;
            return status;
        }
        if (replay_named_matters(r->command))
            status = replay_named_look(r, r->command, args.bytes);
        if (status == LAP_OK)
            status = play_one(r, p, &before, &args);
        if (status == LAP_OK && dev->events && number >= p->first)
            status = replay_events_note(r, dev, p->recorded->commands, args.bytes);
        if (status != LAP_OK)
            return status;
        r->block_command = NULL;
    }
}

enum lap_status replay_block_play(struct replay *r, const struct replay_block *recorded)
{
    struct replay_device *dev = recorded->dev;
    struct playing p = {.recorded = recorded, .commands = recorded->commands};
    struct lap_block block;
    enum lap_status status;

    r->caller = dev;
    r->block_family = replay_command_buffer_family(r, recorded->commands);
    if (dev->events)
        replay_command_buffer_pool(r, recorded->commands, &p.secondary);
    replay_events_begin(r, dev, recorded->commands);
    do {
        struct replay_follow state = {.commands = p.commands};
        lap_block_init(&block, recorded->data, recorded->bytes, gen_u64_VkCommandBuffer(p.commands), r->dictionary,
                       &r->arena, &r->source);
        if (dev->formats && dev->formats->follows) {
            p.follow = &state;
            replay_converter_reuse(dev, p.commands);
        }
        status = play_part(r, &p, &block);
        replay_bound_finish(&state.bound);
        p.first = p.end;
        if (status == LAP_OK)
            status = replay_events_add_part(r, dev, recorded->commands, &p.commands);
    } while (status == LAP_OK);
    r->block_family = UINT32_MAX;
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

    if (status == LAP_OK)
        status = replay_parallel_block(r, &block);
    return status == LAP_OK ? replay_named_record(r, args->commandBuffer, args->block) : status;
}
