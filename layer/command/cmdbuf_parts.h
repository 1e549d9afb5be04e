/* SPDX-License-Identifier: MIT */
/*
 * cmdbuf_parts: what a command buffer does with events, and the parts that it falls into where it waits for one that
 * the host may set: what stands behind such a wait can't begin before that, what stands in front of it can
 * (host_gate.h).
 *
 * The part that is being recorded is in the command buffer itself (touched, progress_queries, events, and the last of
 * its sets); those that came before it are in cb->parts. One without such waits has a single part.
 */
#ifndef LAP_LAYER_CMDBUF_PARTS_H
#define LAP_LAYER_CMDBUF_PARTS_H

#include "layer/core/layer.h"

enum layer_event_kind { LAYER_EVENT_WAITED_FOR, LAYER_EVENT_SET, LAYER_EVENT_RESET };

/* What a command does with an event. Waits stand at the beginning of a part; of those that can't be for the host,
 * because the command buffer has set the event itself, nothing is kept. */
struct layer_event_step {
    uint64_t event, index; /* the handle, and the record's index, which is never used twice */
    enum layer_event_kind kind;
};

/* A part that was recorded: what the command buffer has of the one that is being recorded. */
struct layer_cmdbuf_part {
    struct layer_touched touched;
    struct layer_progress_queries progress_queries;
    struct layer_event_steps events;
    uint32_t sets_end; /* in cb->sets */
};

/* A part as it is read; all of it is the command buffer's. */
struct layer_cmdbuf_part_view {
    const struct layer_touched *touched;
    const struct layer_progress_queries *progress_queries;
    const struct layer_event_steps *events;
    uint32_t sets_begin, sets_end;
};

/* Number `number` of cb->part_count + 1. */
static inline struct layer_cmdbuf_part_view layer_cmdbuf_part_at(const struct layer_cmdbuf *cb, uint32_t number)
{
    uint32_t begin = number ? cb->parts[number - 1].sets_end : 0;
    const struct layer_cmdbuf_part *part = &cb->parts[number];
    if (number == cb->part_count)
        return (struct layer_cmdbuf_part_view){&cb->touched, &cb->progress_queries, &cb->events, begin, cb->sets_count};
    return (struct layer_cmdbuf_part_view){&part->touched, &part->progress_queries, &part->events, begin,
                                           part->sets_end};
}

/* A command of the command buffer, or of one that it executes, does this: it may begin a new part. */
void layer_cmdbuf_parts_note(struct layer_cmdbuf *cb, const struct layer_event_step *step);

/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_cmdbuf_parts_reset(struct layer_cmdbuf *cb);
void layer_cmdbuf_parts_finish(struct layer_cmdbuf *cb);

#endif
