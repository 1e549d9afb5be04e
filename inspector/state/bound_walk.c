/* SPDX-License-Identifier: MIT */
#include "inspector/state/bound_walk.h"

#include <stdlib.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/blocks.h"
#include "inspector/position/find.h"
#include "inspector/position/held.h"
#include "inspector/position/open_labels.h"

struct walk {
    const struct lap_reader *trace;
    const struct bound_walk_options *options;
    bound_visit_fn visit;
    void *user;
    struct creation_facts facts;
    struct descriptors descriptors;
    struct position_held held;
    struct position_contents *contents;
    struct position_open_labels labels;
    const struct position_queue_labels *around;          /* the current command buffer */
    struct position_blocks blocks[POSITION_MOST_PLACES]; /* [depth] */
    struct bound bounds[POSITION_MOST_PLACES];
    struct bound_visit now;
    uint64_t frame, submits; /* from 1: of the current frame */
    bool over;               /* the position is behind options->until */
};

/* Whether the position leads to what is asked for, or lies in it. */
static bool is_asked(const struct walk *w)
{
    const struct position *at = w->options->at, *now = &w->now.position;

    for (unsigned i = 0; at && i < now->count && i < at->count; i++)
        if (at->numbers[i] != now->numbers[i])
            return false;
    return true;
}

static bool is_inside(const struct walk *w)
{
    return !w->options->at || w->now.position.count >= w->options->at->count;
}

/* Whether the last number of the position is behind the one that is asked for, so that nothing more is. */
static bool is_behind(const struct walk *w)
{
    const struct position *at = w->options->at, *now = &w->now.position;

    return at && now->count <= at->count && now->numbers[now->count - 1] > at->numbers[now->count - 1];
}

/* Whether the position lies behind options->until. What contains that one, and ends after it, does. is_command: the
 * command itself, which comes after those that it executes. */
static bool is_over(struct walk *w, bool is_command)
{
    const struct position *until = w->options->until, *now = &w->now.position;

    for (unsigned i = 0; until && !w->over && i < until->count && i < now->count; i++) {
        if (now->numbers[i] != until->numbers[i]) {
            w->over = now->numbers[i] > until->numbers[i];
            return w->over;
        }
    }
    w->over |= until && is_command && now->count < until->count;
    return w->over;
}

static enum lap_status walk_buffer(struct walk *w, unsigned depth, uint64_t command_buffer);

static enum lap_status walk_executed(struct walk *w, unsigned depth, const struct gen_args_vkCmdExecuteCommands *args)
{
    struct position *now = &w->now.position;
    struct bound_visit saved = w->now;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCommandBuffers && i < args->commandBufferCount && status == LAP_OK; i++) {
        now->numbers[now->count++] = i + 1;
        if (is_asked(w) && !is_over(w, false))
            status = walk_buffer(w, depth + 1, gen_u64_VkCommandBuffer(args->pCommandBuffers[i]));
        w->now = saved;
    }
    return status;
}

static enum lap_status see_command(struct walk *w, unsigned depth, const struct lap_block *at, uint32_t command,
                                   const void *args)
{
    struct bound *bound = &w->bounds[depth];
    const enum position_work work = position_contents_work(w->contents, command);
    const uint8_t *end = w->blocks[depth].block.dec.p;
    enum lap_status status = LAP_OK;

    w->now.command = command;
    w->now.work = work;
    w->now.args = args;
    w->now.bound = bound;
    w->now.encoded = at->dec.p;
    w->now.encoded_bytes = (size_t)(end - at->dec.p);
    if (w->options->before && is_inside(w) && is_asked(w) && !is_over(w, false))
        status = w->options->before(w->user, &w->now);
    if (status != LAP_OK)
        return status;
    /* What it executes finds what was bound in front of it. */
    if (command == GEN_vkCmdExecuteCommands && is_asked(w) && depth + 1 < POSITION_MOST_PLACES)
        status = walk_executed(w, depth, args);
    if (status == LAP_OK)
        status = bound_see(bound, at, command, args);
    if (status != LAP_OK || !is_inside(w) || !is_asked(w) || is_over(w, true))
        return status;
    if (w->options->work_only && (w->now.work == POSITION_STATE || w->now.work == POSITION_PASS))
        return LAP_OK;
    return w->visit(w->user, &w->now);
}

static enum lap_status walk_buffer(struct walk *w, unsigned depth, uint64_t command_buffer)
{
    const struct position_recording *recording = position_held_of(&w->held, command_buffer);
    struct position_blocks *blocks = &w->blocks[depth];
    struct position *now = &w->now.position;
    struct lap_args args;
    enum lap_status status = LAP_OK;

    if (!recording)
        return LAP_OK;
    if (!blocks->reader) {
        status = position_blocks_open(blocks, w->trace);
        bound_init(&w->bounds[depth], &w->facts);
    }
    if (status == LAP_OK)
        status = position_blocks_begin(blocks, recording->block, command_buffer);
    if (status != LAP_OK)
        return status;
    bound_begin(&w->bounds[depth], depth ? &w->bounds[depth - 1] : NULL, depth ? NULL : w->around);
    w->now.command_buffer = command_buffer;
    w->now.block = recording->block;
    now->count++;
    for (uint32_t number = 0;; number++) {
        struct lap_block at = blocks->block;
        uint32_t command;
        now->numbers[now->count - 1] = number;
        if (is_behind(w) || is_over(w, false))
            break;
        status = position_blocks_next(blocks, &command, &args);
        if (status != LAP_OK) {
            status = status == LAP_END ? LAP_OK : status;
            break;
        }
        status = see_command(w, depth, &at, command, args.bytes);
        if (status != LAP_OK) /* LAP_END: of the visit */
            break;
    }
    now->count--;
    return status;
}

/* A command buffer of a submit. */
static enum lap_status walk_primary(struct walk *w, bool asked, uint64_t queue, uint64_t command_buffer)
{
    enum lap_status status = LAP_OK;

    w->around = position_open_labels_of(&w->labels, queue);
    if (asked && is_asked(w) && !is_over(w, false))
        status = walk_buffer(w, 0, command_buffer);
    if (status == LAP_OK && w->options->labels)
        status = position_open_labels_run(&w->labels, w->contents, queue, position_held_of(&w->held, command_buffer));
    return status;
}

/* asked: of the frame. */
static enum lap_status walk_submit(struct walk *w, const struct trace_call *call, bool asked)
{
    struct position *now = &w->now.position;
    uint64_t queue = position_submit_queue(call);
    enum lap_status status = LAP_OK;

    w->now.ticket = call->packet->ticket;
    *now = (struct position){.count = POSITION_SUBMIT, .numbers = {w->frame, w->submits}};
    asked = asked && is_asked(w) && !is_over(w, false);
    if (!asked && !w->options->labels)
        return LAP_OK;
    now->count = POSITION_BUFFER;
    for (uint32_t batch = 0; batch < position_submit_batches(call) && status == LAP_OK; batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch) && status == LAP_OK; i++) {
            now->numbers[POSITION_BUFFER - 1]++;
            status = walk_primary(w, asked, queue, position_submit_buffer(call, batch, i));
        }
    return status;
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct walk *w = state;
    const struct position *at = w->options->at;
    uint64_t frame = call->packet->frame + 1;
    uint64_t first = at ? at->numbers[0] : w->options->first_frame;
    uint64_t last = at ? at->numbers[0] : w->options->last_frame;

    if (call->command == GEN_lapilliBlock)
        return position_held_record(&w->held, call);
    if (call->command != GEN_vkQueueSubmit && call->command != GEN_vkQueueSubmit2) {
        enum lap_status status = position_open_labels_see(&w->labels, call);
        if (status == LAP_OK)
            status = creation_facts_see(&w->facts, call);
        return status == LAP_OK && w->options->descriptors ? descriptors_see(&w->descriptors, call) : status;
    }
    if (frame != w->frame)
        w->submits = 0;
    w->frame = frame;
    w->submits++;
    if (w->options->progress)
        w->options->progress(w->user, call->packet);
    if (frame > last || (at && at->count >= POSITION_SUBMIT && frame == last && w->submits > at->numbers[1]))
        return LAP_END;
    return walk_submit(w, call, frame >= first);
}

enum lap_status bound_walk(const struct lap_reader *trace, const struct bound_walk_options *options,
                           bound_visit_fn visit, void *user)
{
    static const uint16_t commands[] = {CREATION_FACTS_COMMANDS, POSITION_OPEN_LABELS_COMMANDS,
                                        GEN_lapilliBlock,        GEN_vkQueueSubmit,
                                        GEN_vkQueueSubmit2,      GEN_COMMAND_NONE};
    static const uint16_t with_descriptors[] = {
        CREATION_FACTS_COMMANDS, DESCRIPTORS_COMMANDS, POSITION_OPEN_LABELS_COMMANDS,
        GEN_lapilliBlock,        GEN_vkQueueSubmit,    GEN_vkQueueSubmit2,
        GEN_COMMAND_NONE};
    struct walk *w = calloc(1, sizeof *w);
    const struct trace_visitor visitors[] = {{.all_commands = !options->calls,
                                              .commands = options->calls,
                                              .information = true,
                                              .visit = options->visit_call,
                                              .state = user,
                                              .last_ticket = options->last_ticket},
                                             {.commands = options->descriptors ? with_descriptors : commands,
                                              .visit = see,
                                              .state = w,
                                              .last_ticket = options->last_ticket}};
    unsigned first = options->visit_call ? 0 : 1;
    uint64_t last = options->at ? options->at->numbers[0] : options->last_frame;
    enum lap_status status;

    if (!w)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the state of command buffers");
    w->trace = trace;
    w->options = options;
    w->visit = visit;
    w->user = user;
    creation_facts_init(&w->facts);
    descriptors_init(&w->descriptors);
    w->now.descriptors = options->descriptors ? &w->descriptors : NULL;
    position_held_init(&w->held);
    position_open_labels_init(&w->labels);
    status = position_contents_open(trace, &w->contents);
    if (status == LAP_OK)
        status = trace_pass_run(trace, last == UINT64_MAX ? 0 : last, &visitors[first], 2 - first);
    for (unsigned i = 0; i < POSITION_MOST_PLACES; i++) {
        if (w->blocks[i].reader)
            position_blocks_close(&w->blocks[i]);
        bound_finish(&w->bounds[i]);
    }
    position_contents_close(&w->contents);
    position_held_finish(&w->held);
    position_open_labels_finish(&w->labels);
    descriptors_finish(&w->descriptors);
    creation_facts_finish(&w->facts);
    free(w);
    return status;
}
