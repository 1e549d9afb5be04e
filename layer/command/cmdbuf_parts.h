/* SPDX-License-Identifier: MIT */
/*
 * cmdbuf_parts: the event commands of a command buffer. Each wait for an event that the host may set begins a new part:
 * commands after the wait can't begin before the host sets the event, commands before it can (host_gate.h).
 *
 * The current part is in the command buffer itself (touched, progress_queries, events, and the last of its sets);
 * earlier parts are in cb->parts. A command buffer without such waits has a single part.
 */
#ifndef LAP_LAYER_CMDBUF_PARTS_H
#define LAP_LAYER_CMDBUF_PARTS_H

#include "layer/core/layer.h"

enum layer_event_kind { LAYER_EVENT_WAITED_FOR, LAYER_EVENT_SET, LAYER_EVENT_RESET };

/* An event command. Waits are the first steps of a part; waits that can't be for the host, because the command buffer
 * has set the event itself, are not kept. */
struct layer_event_step {
    uint64_t event, index; /* the handle, and the record's index, which is never used twice */
    enum layer_event_kind kind;
};

/* A finished part, with the members that the command buffer has for the current one. */
struct layer_cmdbuf_part {
    struct layer_touched touched;
    struct layer_progress_queries progress_queries;
    struct layer_event_steps events;
    uint32_t sets_end; /* in cb->sets */
};

/* A view of a part for reading; the command buffer owns the contents. */
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

/* A command of the command buffer, or of one that it executes, has this step; it may begin a new part. */
void layer_cmdbuf_parts_note(struct layer_cmdbuf *cb, const struct layer_event_step *step);

/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_cmdbuf_parts_reset(struct layer_cmdbuf *cb);
void layer_cmdbuf_parts_finish(struct layer_cmdbuf *cb);

#endif
