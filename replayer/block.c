/* SPDX-License-Identifier: MIT */
/* Recorded command buffers: from vkBeginCommandBuffer to vkEndCommandBuffer in one packet. */
#include "replayer/block.h"

#include <inttypes.h>
#include <stdlib.h>
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
#include "replayer/push.h"
#include "replayer/reach.h"

static enum lap_status play(struct replay *r, struct replay_device *dev, struct lap_args *args)
{
    if (__builtin_expect(gen_replay_table[r->command].call != NULL, 1))
        return gen_replay_table[r->command].call(r, dev, args->bytes);
    return gen_replay_refusals[r->command] ? replay_refuse_command(r) : LAP_OK;
}

/* The same where images have other formats than recorded. */
static enum lap_status play_following(struct replay *r, struct replay_device *dev, struct replay_follow *follow,
                                      const struct lap_block *before, struct lap_args *args)
{
    enum lap_status status = replay_follow(r, dev, follow, args->bytes);

    if (status != LAP_END)
        return status;
    status = play(r, dev, args);
    if (status == LAP_OK && dev->stencils_differ)
        replay_stencil_note(r, dev, follow->commands, &follow->tests, args->bytes);
    return status == LAP_OK ? replay_bound_note(r, &follow->bound, before, r->command, args->bytes) : status;
}

/* What a command buffer has bound and set, which a later part of it begins with. */
static bool is_state(const char *name)
{
    return !strncmp(name, "vkCmdBind", 9) || !strncmp(name, "vkCmdPush", 9) ||
           (!strncmp(name, "vkCmdSet", 8) && strncmp(name, "vkCmdSetEvent", 13) != 0 &&
            strncmp(name, "vkCmdSetCheckpoint", 18) != 0 && strncmp(name, "vkCmdSetRendering", 17) != 0);
}

/* A command that a later part begins with. */
struct mark {
    const uint8_t *at;
    uint32_t number, bytes;
};

/* A part begins with all that was bound and set before it, and its first command is decoded twice. That may come to so
 * many times the bytes of the block so far, which is enough for a command buffer of any kind to have a few dozens of
 * parts, or thousands of small ones. */
#define AGAIN_TIMES 64u
#define AGAIN_BYTES 65536u /* and so much in any case */

/* A command buffer that is being played. */
struct playing {
    const struct replay_block *recorded;
    struct lap_block block;              /* at the command that comes next */
    struct replay_follow state, *follow; /* NULL: images have the recorded formats */
    VkCommandBuffer commands;            /* of the part that is being recorded */
    bool divides;                        /* it may have parts */
    bool secondary;
    uint32_t open;  /* render passes, queries and the like, within which no command buffer ends */
    bool marks_all; /* from the first division on */
    struct mark *marks;
    size_t mark_count, mark_capacity;
    uint64_t mark_bytes, again_bytes; /* of the marks; recorded again for all parts */
};

static enum lap_status play_one(struct replay *r, struct playing *p, const struct lap_block *before,
                                struct lap_args *args)
{
    return p->follow ? play_following(r, p->recorded->dev, p->follow, before, args) : play(r, p->recorded->dev, args);
}

static enum lap_status play_and_note(struct replay *r, struct playing *p, const struct lap_block *before,
                                     struct lap_args *args)
{
    struct replay_device *dev = p->recorded->dev;
    enum lap_status status = play_one(r, p, before, args);

    return status == LAP_OK && dev->events ? replay_events_note(r, dev, p->recorded->commands, args->bytes) : status;
}

/* ---- parts ---- */

static enum lap_status begin_part(struct replay *r, struct playing *p)
{
    struct replay_device *dev = p->recorded->dev;

    replay_bound_finish(&p->state.bound);
    p->state = (struct replay_follow){.commands = p->commands};
    if (dev->formats && dev->formats->follows) {
        p->follow = &p->state;
        replay_converter_reuse(dev, p->commands);
    }
    lap_block_init(&p->block, p->recorded->data, p->recorded->bytes, gen_u64_VkCommandBuffer(p->commands),
                   r->dictionary, &r->arena, &r->source);
    return replay_push_begin(r, dev, p->commands);
}

static enum lap_status mark(struct playing *p, const struct lap_block *before, const struct lap_block *behind)
{
    if (p->mark_count == p->mark_capacity) {
        size_t capacity = p->mark_capacity ? 2 * p->mark_capacity : 16;
        struct mark *more = realloc(p->marks, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for a part of a command buffer");
        p->marks = more;
        p->mark_capacity = capacity;
    }
    p->marks[p->mark_count] = (struct mark){before->dec.p, before->index, (uint32_t)(behind->dec.p - before->dec.p)};
    p->mark_bytes += p->marks[p->mark_count++].bytes;
    return LAP_OK;
}

/* What stands before command `end`; vkBeginCommandBuffer, too. */
static enum lap_status mark_all(struct replay *r, struct playing *p, uint32_t end)
{
    struct lap_block block, before;
    struct lap_args args;
    enum lap_status status = LAP_OK;
    uint32_t command;

    lap_block_init(&block, p->recorded->data, p->recorded->bytes, p->block.command_buffer, r->dictionary, &r->arena,
                   &r->source);
    while (block.index < end && status == LAP_OK) {
        lap_arena_reset(&r->arena);
        before = block;
        status = lap_block_next(&block, &command, &args);
        if (status == LAP_OK && (before.index == 0 || is_state(gen_command_names[command])))
            status = mark(p, &before, &block);
    }
    p->marks_all = true;
    return status;
}

/* What may not be cut stays open until it has ended. */
static void note_open(struct playing *p, const char *name)
{
    bool begins = !strncmp(name, "vkCmdBegin", 10), ends = !strncmp(name, "vkCmdEnd", 8);

    if ((!begins && !ends) || strstr(name, "Label"))
        return;
    if (begins)
        p->open++;
    else if (p->open)
        p->open--;
}

/* What a part that begins in front of the command that was decoded last takes once more. */
static uint64_t part_bytes(const struct playing *p, const struct lap_block *before)
{
    return p->mark_bytes + (uint64_t)(p->block.dec.p - before->dec.p);
}

/* Whether another part may begin there. */
static bool has_room(struct replay *r, const struct playing *p, const struct lap_block *before)
{
    uint64_t so_far = (uint64_t)(p->block.dec.p - before->dec.base);

    if (p->again_bytes + part_bytes(p, before) <= AGAIN_TIMES * so_far + AGAIN_BYTES)
        return true;
    if (!r->said_undivided)
        lap_log(r->log, LAP_LOG_WARNING,
                "packet %" PRIu64 ": a command buffer waits for the host so often, and has so much bound, that it is "
                "not taken apart any further",
                r->packet.ticket);
    r->said_undivided = true;
    return false;
}

/* The next part begins in front of the command that was decoded last, and decodes it again. */
static enum lap_status next_part(struct replay *r, struct playing *p, struct lap_block *before, struct lap_args *args)
{
    struct replay_device *dev = p->recorded->dev;
    enum lap_status status = replay_result(r, dev->vk.EndCommandBuffer(p->commands));

    p->again_bytes += part_bytes(p, before);
    if (status == LAP_OK)
        status = replay_events_add_part(r, dev, p->recorded->commands, &p->commands);
    if (status != LAP_OK)
        return status;
    status = begin_part(r, p);
    for (size_t i = 0; i < p->mark_count && status == LAP_OK; i++) {
        struct lap_block block = p->block, at;
        block.dec.p = p->marks[i].at;
        block.index = p->marks[i].number;
        at = block;
        lap_arena_reset(&r->arena);
        status = lap_block_next(&block, &r->command, args);
        if (status == LAP_OK)
            status = play_one(r, p, &at, args);
    }
    before->command_buffer = gen_u64_VkCommandBuffer(p->commands);
    p->block = *before;
    lap_arena_reset(&r->arena);
    return status == LAP_OK ? lap_block_next(&p->block, &r->command, args) : status;
}

/* The command that was decoded last, once more: others were decoded since. */
static enum lap_status decode_again(struct replay *r, struct playing *p, const struct lap_block *before,
                                    struct lap_args *args)
{
    p->block = *before;
    lap_arena_reset(&r->arena);
    return lap_block_next(&p->block, &r->command, args);
}

/* The command had better stand in another part: then it does, and was decoded again. */
static enum lap_status divide(struct replay *r, struct playing *p, struct lap_block *before, struct lap_args *args)
{
    enum lap_status status = LAP_OK;

    if (!p->marks_all) {
        status = mark_all(r, p, before->index);
        if (status == LAP_OK)
            status = decode_again(r, p, before, args);
    }
    return status == LAP_OK && has_room(r, p, before) ? next_part(r, p, before, args) : status;
}

/* What a command begins may not be cut, so what would be within it is cut here. Looks ahead up to the end. */
static bool waits_before_end(struct replay *r, const struct playing *p)
{
    struct playing ahead = {.block = p->block, .open = 1};
    const uint32_t current = r->command;
    struct lap_args args;
    bool waits = false;

    while (ahead.open && !waits) {
        lap_arena_reset(&r->arena);
        if (lap_block_next(&ahead.block, &r->command, &args) != LAP_OK)
            break;
        note_open(&ahead, gen_command_names[r->command]);
        waits = replay_events_divide(r, p->recorded->dev, p->recorded->commands, args.bytes);
    }
    r->command = current;
    return waits;
}

/* Queries and the like, within which the host may be waited for. */
static bool begins_scope(const char *name)
{
    return !strncmp(name, "vkCmdBegin", 10) && strncmp(name, "vkCmdBeginRender", 16) != 0 && !strstr(name, "Label");
}

/* Before a command: it begins another part where it must. */
static enum lap_status divide_before(struct replay *r, struct playing *p, struct lap_block *before,
                                     struct lap_args *args)
{
    struct replay_device *dev = p->recorded->dev;
    enum lap_status status = LAP_OK;
    bool must;

    if (p->open)
        return LAP_OK;
    if (!begins_scope(gen_command_names[r->command]) || !replay_events_told(r, dev, p->recorded->commands)) {
        must = replay_events_divide(r, dev, p->recorded->commands, args->bytes);
    } else {
        must = waits_before_end(r, p);
        status = decode_again(r, p, before, args);
    }
    return must && status == LAP_OK ? divide(r, p, before, args) : status;
}

/* Whether secondary command buffers have parts, or may need some of this one. */
static bool executes_waits(struct replay *r, const struct playing *p, const struct lap_args *args)
{
    const struct gen_args_vkCmdExecuteCommands *all = (const void *)args->bytes;

    if (r->command != GEN_vkCmdExecuteCommands || !all->pCommandBuffers)
        return false;
    for (uint32_t i = 0; i < all->commandBufferCount; i++)
        if (replay_events_parts(r, p->recorded->dev, all->pCommandBuffers[i]) > 1 ||
            (!p->open && replay_events_waits(r, p->recorded->dev, all->pCommandBuffers[i])))
            return true;
    return false;
}

/* A part of a secondary command buffer; args are those of the whole command. */
static enum lap_status play_executed_part(struct replay *r, struct playing *p, struct lap_block *before,
                                          struct lap_args *args, uint32_t number, uint32_t part)
{
    const struct gen_args_vkCmdExecuteCommands *all = (void *)args->bytes;
    struct replay_device *dev = p->recorded->dev;
    VkCommandBuffer secondary = all->pCommandBuffers[number], live = replay_events_part(r, dev, secondary, part);
    enum lap_status status = LAP_OK;
    struct gen_args_vkCmdExecuteCommands *one;
    struct lap_args executed;

    if (!p->open && replay_events_divide_executed(r, dev, p->recorded->commands, secondary, part))
        status = divide(r, p, before, args);
    if (status != LAP_OK)
        return status;
    executed = *args;
    one = (void *)executed.bytes;
    one->commandBufferCount = 1;
    one->pCommandBuffers = &live;
    status = play_one(r, p, before, &executed);
    return status == LAP_OK ? replay_events_note_executed(r, dev, p->recorded->commands, secondary, part) : status;
}

/* Secondary command buffers of which some wait for the host: one by one, and part by part, so that it may be divided
 * between them. */
static enum lap_status play_executed(struct replay *r, struct playing *p, struct lap_block *before,
                                     struct lap_args *args)
{
    const struct gen_args_vkCmdExecuteCommands *all = (void *)args->bytes;
    uint32_t count = all->commandBufferCount;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        uint32_t parts = replay_events_parts(r, p->recorded->dev, all->pCommandBuffers[i]);
        for (uint32_t j = 0; j < parts && status == LAP_OK; j++)
            status = play_executed_part(r, p, before, args, i, j);
    }
    return status;
}

/* Within a render pass that a secondary command buffer continues nothing is cut. */
static bool continues_pass(struct replay *r, const struct playing *p, const struct lap_args *args)
{
    return r->command == GEN_vkBeginCommandBuffer && p->secondary &&
           ((const struct gen_args_vkBeginCommandBuffer *)(const void *)args->bytes)->pBeginInfo->flags &
               VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
}

static enum lap_status play_dividing(struct replay *r, struct playing *p, struct lap_block *before,
                                     struct lap_args *args)
{
    enum lap_status status;

    if (executes_waits(r, p, args))
        return play_executed(r, p, before, args);
    status = divide_before(r, p, before, args);
    if (status == LAP_OK)
        status = play_and_note(r, p, before, args);
    note_open(p, gen_command_names[r->command]);
    p->open += status == LAP_OK && continues_pass(r, p, args);
    if (status == LAP_OK && p->marks_all && is_state(gen_command_names[r->command]))
        status = mark(p, before, &p->block);
    return status;
}

/* ---- blocks ---- */

/* LAP_END: all of it. Where a command fails, r->block_command names it. */
static enum lap_status play_all(struct replay *r, struct playing *p)
{
    struct lap_args args;
    struct lap_block before;
    enum lap_status status;

    for (;;) {
        lap_arena_reset(&r->arena);
        if (p->follow || p->divides)
            before = p->block;
        status = lap_block_next(&p->block, &r->command, &args);
        if (status != LAP_OK)
            return status;
        r->block_command = gen_command_names[r->command];
        if (replay_named_matters(r->command))
            status = replay_named_look(r, r->command, args.bytes);
        if (r->command == GEN_vkCmdExecuteCommands) {
            replay_named_executes(r, p->recorded->commands);
            replay_push_clear(p->recorded->dev);
        }
        if (status == LAP_OK)
            status = p->divides ? play_dividing(r, p, &before, &args) : play_and_note(r, p, &before, &args);
        if (status != LAP_OK)
            return status;
        r->block_command = NULL;
    }
}

enum lap_status replay_block_play(struct replay *r, const struct replay_block *recorded)
{
    struct replay_device *dev = recorded->dev;
    struct playing p = {.recorded = recorded, .commands = recorded->commands};
    enum lap_status status;

    r->caller = dev;
    r->block_family = replay_command_buffer_family(r, recorded->commands);
    p.divides = dev->events != NULL;
    if (p.divides)
        replay_command_buffer_pool(r, recorded->commands, &p.secondary);
    replay_events_begin(r, dev, recorded->commands);
    status = begin_part(r, &p);
    if (status == LAP_OK)
        status = play_all(r, &p);
    if (status == LAP_ERROR_INVALID) /* what is drawn without it nobody knows */
        status = LAP_ERROR_REPLAY;
    replay_bound_finish(&p.state.bound);
    free(p.marks);
    r->block_family = UINT32_MAX;
    if (r->block_command)
        return status;
    r->skipped_structs += p.block.dec.unknown_structs;
    if (status != LAP_END)
        return status;
    if (p.block.index != recorded->command_count)
        return lap_fail(LAP_ERROR_FORMAT, "block %" PRIu64 " has %" PRIu32 " commands, its packet says %" PRIu32,
                        recorded->number, p.block.index, recorded->command_count);
    return LAP_OK;
}

enum lap_status replay_lapilliBlock(struct replay *r, struct replay_device *dev, struct gen_args_lapilliBlock *args)
{
    struct replay_block block = {
        .dev = dev, .commands = args->commandBuffer, .number = args->block, .command_count = args->commandCount};
    enum lap_status status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, args->block, &block.data, &block.bytes);

    if (status == LAP_OK && r->reach)
        status = replay_reach_check(r, args->block, r->next_order, true);
    if (status == LAP_OK)
        status = replay_named_begin(r, dev, args->commandBuffer);
    if (status == LAP_OK)
        status = replay_parallel_block(r, &block);
    return status == LAP_OK ? replay_named_record(r, args->commandBuffer, args->block) : status;
}
