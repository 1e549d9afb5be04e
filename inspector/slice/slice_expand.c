/* SPDX-License-Identifier: MIT */
/* The steps of a block with those of the blocks that it executes in their places, at any depth. */
#include <string.h>

#include "base/array.h"
#include "inspector/slice/slice_internal.h"

static bool has_steps(const struct slice *s, uint32_t packet)
{
    return packet && packet < s->packet_count && s->packets[packet].kind == SLICE_BLOCK &&
           s->packets[packet].steps.from < s->block_capacity;
}

static void begin(struct slice *s)
{
    s->expanded.count = 0;
    if (++s->expansions)
        return;
    for (size_t i = 0; i < s->packet_count; i++)
        s->packets[i].expanded = 0;
    s->expansions = 1;
}

static bool enter(struct slice *s, size_t depth, uint32_t packet)
{
    if (!lap_array_grow(&s->frames, sizeof *s->frames, &s->frame_capacity, depth + 1)) {
        slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        return false;
    }
    s->packets[packet].expanded = s->expansions;
    s->frames[depth] = (struct slice_frame){packet, 0, 0};
    return slice_add_step(s, &s->expanded, slice_step(SLICE_BEGIN, packet));
}

/* A block that is executed again adds nothing: its reads were wanted the first time, and its replacements are ignored,
 * which at most keeps more. */
const uint64_t *slice_expand(struct slice *s, uint32_t packet, size_t *out_count)
{
    size_t depth = 0;

    *out_count = 0;
    if (!has_steps(s, packet))
        return NULL;
    if (!s->packets[packet].subjects.count) {
        struct slice_run steps = s->blocks[s->packets[packet].steps.from].steps;
        *out_count = steps.count;
        return s->steps.at + steps.from;
    }
    begin(s);
    if (enter(s, 0, packet))
        depth = 1;
    while (depth && s->status == LAP_OK) {
        struct slice_frame *frame = &s->frames[depth - 1];
        const struct slice_packet *p = &s->packets[frame->packet];
        struct slice_run steps = s->blocks[p->steps.from].steps;
        if (frame->step == steps.count) {
            depth--;
            continue;
        }
        uint64_t step = s->steps.at[steps.from + frame->step++];
        if (slice_step_kind(step) != SLICE_EXECUTE) {
            slice_add_step(s, &s->expanded, step);
            continue;
        }
        uint32_t inner = frame->execute < p->subjects.count ? s->ids.at[p->subjects.from + frame->execute++] : 0;
        if (has_steps(s, inner) && s->packets[inner].expanded != s->expansions && enter(s, depth, inner))
            depth++;
    }
    *out_count = s->expanded.count;
    return s->expanded.at;
}
