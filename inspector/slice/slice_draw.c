/* SPDX-License-Identifier: MIT */
/*
 * A part that ends with a command: only earlier commands of its command buffers matter. Each of these gets a packet
 * behind all others, for a block with the effects of its commands up to there (struct slice_draw).
 */
#include <string.h>

#include "inspector/slice/slice_see.h"

/* ---- blocks ---- */

/* Keeps only the first ones of the executions among the steps of one command. */
static void drop_executions(struct slice_steps *steps, size_t from, uint32_t stay)
{
    for (size_t i = from; i < steps->count; i++)
        if (slice_step_kind(steps->at[i]) == SLICE_EXECUTE && stay-- == 0)
            steps->count = i;
}

void slice_draw_see(struct slice_facts *f, const struct trace_call *call, size_t steps_before)
{
    const struct position_found *at = f->draw.at;

    for (unsigned i = 0; at && i < at->place_count; i++) {
        const struct position_place *place = &at->places[i];
        struct slice_prefix *prefix;
        size_t all;
        if (call->block != place->block || call->index != place->command)
            continue;
        prefix = &f->draw.prefixes[i];
        all = f->now.doing.count; /* the block's own steps stay as they are */
        if (i + 1 < at->place_count)
            drop_executions(&f->now.doing, steps_before, place->executed + 1);
        prefix->names = slice_keep_ids(f, &f->now.names);
        prefix->steps = slice_keep_steps(f, &f->now.doing);
        if (f->now.saw_addresses && slice_add_step(f, &f->steps, slice_step(SLICE_ADDRESSES, 0)))
            prefix->steps.count++;
        f->now.doing.count = all;
    }
}

/* ---- packets ---- */

/* The blocks that the whole block executes up to there; the last one, where it is cut, too, is `inner`. */
static struct slice_run executed(struct slice_facts *f, const struct slice_prefix *prefix,
                                 const struct slice_packet *whole, uint32_t inner)
{
    struct slice_run run = {f->ids.count, 0};

    for (uint32_t i = 0; i < prefix->steps.count; i++)
        if (slice_step_kind(f->steps.at[prefix->steps.from + i]) == SLICE_EXECUTE &&
            run.count < whole->subjects.count && slice_add_id(f, &f->ids, f->ids.at[whole->subjects.from + run.count]))
            run.count++;
    if (inner && run.count)
        f->ids.at[run.from + run.count - 1] = inner;
    return run;
}

uint32_t slice_draw_add(struct slice_facts *f)
{
    const struct position_found *at = f->draw.at;
    size_t first_block = f->block_capacity, first = f->packet_count, before = f->packet_capacity;

    if (!slice_make_room(f, &f->packets, sizeof *f->packets, &f->packet_capacity, first + at->place_count) ||
        !slice_make_room(f, &f->blocks, sizeof *f->blocks, &f->block_capacity, first_block + at->place_count))
        return 0;
    memset(f->packets + before, 0, (f->packet_capacity - before) * sizeof *f->packets);
    memset(f->blocks + first_block, 0, (f->block_capacity - first_block) * sizeof *f->blocks);
    for (unsigned i = 0; i < at->place_count; i++) {
        const struct slice_prefix *prefix = &f->draw.prefixes[i];
        const struct slice_packet *whole = &f->packets[at->places[i].recorded];
        struct slice_run subjects = executed(f, prefix, whole, i + 1 < at->place_count ? (uint32_t)first + i + 1 : 0);
        f->blocks[first_block + i].names = prefix->names;
        f->blocks[first_block + i].steps = prefix->steps;
        f->packets[first + i] = (struct slice_packet){
            .names = whole->names, .subjects = subjects, .steps = {first_block + i, 0}, .kind = SLICE_BLOCK};
    }
    f->packet_count = first + at->place_count;
    return (uint32_t)first;
}
