/* SPDX-License-Identifier: MIT */
/* The steps of a block with those of the blocks that it executes in their places, at any depth. */
#include <stdlib.h>
#include <string.h>

#include "inspector/slice/slice_facts.h"

void slice_expansion_finish(struct slice_expansion *e)
{
    free(e->steps.at);
    free(e->frames);
    free(e->entered);
}

static bool has_steps(const struct slice_facts *f, uint32_t packet)
{
    return packet && packet < f->packet_count && f->packets[packet].kind == SLICE_BLOCK &&
           f->packets[packet].steps.from < f->block_capacity;
}

static bool begin(const struct slice_facts *f, struct slice_expansion *e)
{
    e->steps.count = 0;
    if (!e->entered && !(e->entered = calloc(f->packet_count, sizeof *e->entered))) {
        slice_no_memory(f);
        return false;
    }
    if (!++e->number) {
        memset(e->entered, 0, f->packet_count * sizeof *e->entered);
        e->number = 1;
    }
    return true;
}

static bool enter(const struct slice_facts *f, struct slice_expansion *e, size_t depth, uint32_t packet)
{
    if (!slice_make_room(f, &e->frames, sizeof *e->frames, &e->frame_capacity, depth + 1))
        return false;
    e->entered[packet] = e->number;
    e->frames[depth] = (struct slice_frame){packet, 0, 0};
    return slice_add_step(f, &e->steps, slice_step(SLICE_BEGIN, packet));
}

/* A block that is executed again adds nothing: its reads were wanted the first time, and its replacements are ignored,
 * which at most keeps more. */
const uint64_t *slice_expand(const struct slice_facts *f, struct slice_expansion *e, uint32_t packet, size_t *out_count)
{
    size_t depth = 0;

    *out_count = 0;
    if (!has_steps(f, packet))
        return NULL;
    if (!f->packets[packet].subjects.count) {
        struct slice_run steps = f->blocks[f->packets[packet].steps.from].steps;
        *out_count = steps.count;
        return f->steps.at + steps.from;
    }
    if (begin(f, e) && enter(f, e, 0, packet))
        depth = 1;
    while (depth && *f->status == LAP_OK) {
        struct slice_frame *frame = &e->frames[depth - 1];
        const struct slice_packet *p = &f->packets[frame->packet];
        struct slice_run steps = f->blocks[p->steps.from].steps;
        if (frame->step == steps.count) {
            depth--;
            continue;
        }
        uint64_t step = f->steps.at[steps.from + frame->step++];
        if (slice_step_kind(step) != SLICE_EXECUTE) {
            slice_add_step(f, &e->steps, step);
            continue;
        }
        uint32_t inner = frame->execute < p->subjects.count ? f->ids.at[p->subjects.from + frame->execute++] : 0;
        if (has_steps(f, inner) && e->entered[inner] != e->number && enter(f, e, depth, inner))
            depth++;
    }
    *out_count = e->steps.count;
    return e->steps.at;
}
