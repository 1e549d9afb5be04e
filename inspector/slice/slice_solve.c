/* SPDX-License-Identifier: MIT */
/* Finds the packets that stay: goes from the end of the part to the beginning of the trace, with the contents that are
 * wanted at each place, until nothing is added any more. */
#include <stdlib.h>
#include <string.h>

#include "inspector/slice/slice_solve.h"

#define MOST_ROUNDS 100u

/* ---- what others need ---- */

static void need_names(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    const struct slice_packet *p = &f->packets[ticket];

    for (uint32_t i = 0; i < p->names.count; i++)
        slice_need_object(s, f->ids.at[p->names.from + i]);
    if (p->kind == SLICE_BLOCK && (s->packets[ticket].whole || ticket >= f->first) &&
        p->steps.from < f->block_capacity) {
        struct slice_run names = f->blocks[p->steps.from].names;
        for (uint32_t i = 0; i < names.count; i++)
            slice_need_object(s, f->ids.at[names.from + i]);
        for (uint32_t i = 0; i < p->subjects.count; i++)
            slice_keep_block(s, f->ids.at[p->subjects.from + i]);
    }
    if (p->kind == SLICE_DESCRIBES)
        for (uint32_t i = 0; i < p->steps.count; i++)
            if (slice_step_kind(f->steps.at[p->steps.from + i]) == SLICE_NEEDS)
                slice_keep_packet(s, (uint32_t)slice_step_number(f->steps.at[p->steps.from + i]));
}

/* A submit needs its command buffers, even if they become empty. */
static void need_order(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    struct slice_run run = f->packets[ticket].steps;

    for (size_t i = slice_needs_of(f, ticket); i < f->order.need_count && f->order.needs[i].packet == ticket; i++)
        slice_keep_packet(s, f->order.needs[i].needed);
    for (uint32_t i = 0; f->packets[ticket].kind == SLICE_SUBMIT && i < run.count; i++)
        slice_keep_packet(s, slice_block_at(f, run, i));
}

static void follow(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    while (s->pending.count && *f->status == LAP_OK) {
        uint32_t id = s->pending.at[--s->pending.count];
        if (id & 1) {
            need_names(s, id / 2);
            need_order(s, id / 2);
        } else {
            slice_keep_packet(s, f->objects[id / 2].maker);
            slice_keep_packet(s, f->objects[id / 2].destroyer);
        }
    }
}

/* ---- contents ---- */

static bool is_wanted(struct slice_solution *s, uint32_t object)
{
    return s->everything || s->objects[slice_root(s->facts, object)].wanted;
}

static bool is_laid(struct slice_solution *s, uint32_t object)
{
    return is_wanted(s, object) || s->objects[slice_root(s->facts, object)].laid;
}

static void want(struct slice_solution *s, uint32_t object)
{
    uint32_t root = slice_root(s->facts, object);

    s->objects[root].wanted = true;
    s->objects[root].spans.count = 0;
}

static void replace(struct slice_solution *s, uint32_t object)
{
    const struct slice_facts *f = s->facts;
    uint32_t root = slice_root(f, object);

    if (!f->objects[root].shared) {
        s->objects[root].wanted = s->objects[root].laid = false;
        s->objects[root].spans.count = 0;
    } else {
        want(s, object);
    }
}

/* ---- steps ---- */

static bool is_any_wanted(struct slice_solution *s, struct slice_run contents)
{
    for (uint32_t i = 0; i < contents.count; i++)
        if (is_wanted(s, s->facts->ids.at[contents.from + i]))
            return true;
    return false;
}

static bool set_changes_wanted(struct slice_solution *s, const struct slice_set *set)
{
    for (size_t i = 0; set && set->changing && i < set->count; i++)
        if (set->slots[i].access == SLICE_CHANGE && is_any_wanted(s, s->facts->objects[set->slots[i].object].contents))
            return true;
    return false;
}

static bool changes_wanted(struct slice_solution *s, const uint64_t *steps, size_t count)
{
    const struct slice_facts *f = s->facts;

    for (size_t i = 0; i < count; i++) {
        uint64_t number = slice_step_number(steps[i]);
        switch (slice_step_kind(steps[i])) {
        case SLICE_READ:
            /* A wait for an event may end at any later time, when the host sets it. Where contents are taken, all work
             * submitted before the part was complete. */
            if (f->objects[number].type == GEN_HANDLE_VkEvent && !s->taking)
                return true;
            break;
        case SLICE_LAYOUT:
        case SLICE_REPLACE: /* an image gets a layout, too */
            if (is_laid(s, (uint32_t)number))
                return true;
            break;
        case SLICE_CHANGE:
        case SLICE_CLEAR:
            if ((f->objects[number].type == GEN_HANDLE_VkEvent && !s->taking) || is_wanted(s, (uint32_t)number))
                return true;
            break;
        case SLICE_SET:
            if (set_changes_wanted(s, slice_set_of(f, (uint32_t)number)))
                return true;
            break;
        case SLICE_ADDRESSES:
            if (f->objects[slice_root(f, 0)].shared && is_wanted(s, 0))
                return true;
            break;
        case SLICE_EVERYTHING:
            return true;
        default:
            break;
        }
    }
    return false;
}

static void take_set(struct slice_solution *s, const struct slice_set *set)
{
    const struct slice_facts *f = s->facts;

    for (size_t i = 0; set && i < set->count; i++) {
        const struct slice_slot *slot = &set->slots[i];
        struct slice_run contents = f->objects[slot->object].contents;
        slice_keep_packet(s, slot->packet);
        for (uint32_t k = 0; k < contents.count; k++)
            want(s, f->ids.at[contents.from + k]);
    }
}

/* Turns the contents wanted after these steps into those wanted before them. */
static void take_steps(struct slice_solution *s, const uint64_t *steps, size_t count)
{
    const struct slice_facts *f = s->facts;

    while (count--) {
        uint64_t number = slice_step_number(steps[count]);
        switch (slice_step_kind(steps[count])) {
        case SLICE_READ:
        case SLICE_CHANGE:
            want(s, (uint32_t)number);
            break;
        case SLICE_REPLACE:
            replace(s, (uint32_t)number);
            break;
        case SLICE_CLEAR:
            replace(s, (uint32_t)number);
            s->objects[slice_root(f, (uint32_t)number)].laid = true;
            break;
        case SLICE_LAID:
        case SLICE_LAYOUT: /* from one that it must have */
            s->objects[slice_root(f, (uint32_t)number)].laid = true;
            break;
        case SLICE_SET:
            take_set(s, slice_set_of(f, (uint32_t)number));
            break;
        case SLICE_BEGIN:
            slice_keep_block(s, (uint32_t)number);
            break;
        case SLICE_ADDRESSES:
            if (f->objects[slice_root(f, 0)].shared)
                want(s, 0);
            for (size_t i = 0; !s->addressed && i < f->addressed.count; i++)
                slice_need_object(s, f->addressed.at[i]);
            s->addressed = true;
            break;
        case SLICE_EVERYTHING:
            for (uint32_t id = 1; !s->everything && id < f->object_count; id++)
                slice_need_object(s, id);
            s->everything = true;
            break;
        default:
            break;
        }
    }
}

/* ---- packets ---- */

/* Whether one of the command buffers of a submit is needed. */
static bool needs_buffer(struct slice_solution *s, uint32_t ticket, uint32_t i)
{
    const struct slice_facts *f = s->facts;
    struct slice_run run = f->packets[ticket].steps;
    uint32_t block = slice_block_at(f, run, i);
    const bool of_part = ticket >= f->first && (!f->draw.at || i + 1 == run.count);
    const uint64_t *steps;
    size_t count;

    if (of_part || (s->packets[ticket].kept && slice_is_played(s, block)))
        return true;
    steps = slice_expand(f, s->expansion, block, &count);
    return changes_wanted(s, steps, count);
}

/* The last command buffer first; those of one dynamic rendering at once. */
static void go_over_submit(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    struct slice_run run = f->packets[ticket].steps;

    for (uint32_t i = run.count, from; i-- > 0; i = from) {
        bool needed = false;
        from = slice_first_of_rendering(f, run, i);
        for (uint32_t k = from; k <= i && !needed; k++)
            needed = needs_buffer(s, ticket, k);
        for (uint32_t k = i + 1; k-- > from && needed;) {
            uint32_t block = slice_block_at(f, run, k);
            size_t count;
            const uint64_t *steps = slice_expand(f, s->expansion, block, &count);
            slice_keep_packet(s, ticket);
            slice_keep_block(s, block);
            take_steps(s, steps, count);
        }
    }
}

/* At a later packet with which its work goes on: it may read there. What it replaces may be replaced earlier. */
static void go_over_late(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    struct slice_run run = f->packets[ticket].steps;

    s->before = true;
    for (uint32_t i = 0; i < run.count; i++) {
        uint32_t block = slice_block_at(f, run, i);
        const uint64_t *steps;
        size_t count;
        if (!needs_buffer(s, ticket, i))
            continue;
        steps = slice_expand(f, s->expansion, block, &count);
        slice_keep_packet(s, ticket);
        slice_keep_block(s, block);
        for (size_t k = 0; k < count; k++) {
            enum slice_step kind = slice_step_kind(steps[k]);
            if (kind != SLICE_REPLACE && kind != SLICE_CLEAR)
                take_steps(s, &steps[k], 1);
        }
    }
}

/* Host writes of a buffer. True: they are not all replaced by later ones. */
static bool add_spans(const struct slice_facts *f, struct slice_spans *spans, const uint64_t *steps, size_t count)
{
    bool news = false;

    for (size_t i = 0; i + 2 < count; i++) {
        struct slice_span add;
        size_t from = 0, to;
        if (slice_step_kind(steps[i]) != SLICE_SPAN)
            continue;
        add = (struct slice_span){steps[i + 1], steps[i + 1] + steps[i + 2]};
        i += 2;
        while (from < spans->count && spans->at[from].to < add.from)
            from++;
        if (from < spans->count && spans->at[from].from <= add.from && spans->at[from].to >= add.to)
            continue;
        news = true;
        for (to = from; to < spans->count && spans->at[to].from <= add.to; to++) {
            add.from = spans->at[to].from < add.from ? spans->at[to].from : add.from;
            add.to = spans->at[to].to > add.to ? spans->at[to].to : add.to;
        }
        if (!slice_make_room(f, &spans->at, sizeof *spans->at, &spans->capacity, spans->count + 1))
            return true;
        memmove(&spans->at[from + 1], &spans->at[to], (spans->count - to) * sizeof *spans->at);
        spans->count = spans->count + 1 - (to - from);
        spans->at[from] = add;
    }
    return news;
}

static void go_over_write(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    struct slice_run run = f->packets[ticket].steps;
    const uint64_t *steps = f->steps.at + run.from;
    uint32_t object = run.count ? (uint32_t)slice_step_number(steps[0]) : 0, root = slice_root(f, object);
    bool of_bytes = run.count > 1 && slice_step_kind(steps[1]) == SLICE_SPAN;

    if (!is_wanted(s, object))
        return;
    if (of_bytes && !f->objects[root].shared && !s->everything) {
        if (!add_spans(f, &s->objects[root].spans, steps + 1, run.count - 1))
            return;
        if (s->objects[root].spans.count == 1 && s->objects[root].spans.at[0].from == 0 &&
            s->objects[root].spans.at[0].to >= f->objects[object].bytes)
            s->objects[root].wanted = false;
    }
    slice_keep_packet(s, ticket);
}

/* All of them, or any. */
static bool are_needed(const struct slice_solution *s, struct slice_run names, bool all)
{
    for (uint32_t i = 0; i < names.count; i++)
        if (s->objects[s->facts->ids.at[names.from + i]].needed != all)
            return !all;
    return all;
}

static void go_over(struct slice_solution *s, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    const struct slice_packet *p = &f->packets[ticket];
    bool of_part = ticket >= f->first;

    s->before = !of_part;
    switch (p->kind) {
    case SLICE_SUBMIT:
        go_over_submit(s, ticket);
        break;
    case SLICE_STAYS:
        slice_keep_packet(s, ticket);
        if (of_part || p->steps.count)
            take_steps(s, f->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_ORDERS: /* presents before the part do not matter */
    case SLICE_NOTHING:
    case SLICE_ASKS:
        if (of_part)
            take_steps(s, f->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_WRITES:
        go_over_write(s, ticket);
        break;
    case SLICE_ACCESSES:
        if (!of_part && !s->packets[ticket].kept && !changes_wanted(s, f->steps.at + p->steps.from, p->steps.count))
            break;
        slice_keep_packet(s, ticket);
        take_steps(s, f->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_DESCRIBES:
        slice_unwrite(s->sets, p->subjects);
        break;
    case SLICE_MAKES:
        if (!s->packets[ticket].kept && are_needed(s, p->subjects, false))
            slice_keep_packet(s, ticket);
        break;
    default:
        break;
    }
}

/* Sets become again what they are at the end. */
static void rewrite_sets(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    for (size_t i = 1; i < f->packet_count; i++)
        if (f->packets[i].kind == SLICE_DESCRIBES)
            slice_rewrite(s->sets, f->packets[i].subjects);
}

/* For a trace made to need a large number of rounds. */
static void keep_everything(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    s->before = true;
    for (size_t i = 1; i < f->packet_count; i++)
        if (f->packets[i].kind == SLICE_BLOCK)
            slice_keep_block(s, (uint32_t)i);
        else if (f->packets[i].kind != SLICE_NOTHING)
            slice_keep_packet(s, (uint32_t)i);
    follow(s);
}

static void begin_round(struct slice_solution *s)
{
    s->everything = s->changed = s->before = false;
    for (size_t i = 0; i < s->facts->object_count; i++) {
        s->objects[i].wanted = s->objects[i].laid = false;
        s->objects[i].spans.count = 0;
    }
}

/* The contents of a presentable image, where a part of a run acquires it for the first time. */
static bool is_of_before(const struct slice_facts *f, uint64_t ticket)
{
    const struct slice_packet *p = &f->packets[ticket];

    return p->kind == SLICE_WRITES && p->steps.count &&
           f->objects[slice_step_number(f->steps.at[p->steps.from])].presented;
}

static void begin(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    s->packets = calloc(f->packet_count, sizeof *s->packets);
    s->objects = calloc(f->object_count, sizeof *s->objects);
    if (!s->packets || !s->objects) {
        slice_no_memory(f);
        return;
    }
    for (size_t i = (size_t)f->first; i < f->packet_count; i++) { /* behind the last one: those of slice_draw_add */
        s->packets[i] = (struct slice_stay){.kept = !is_of_before(f, i), .whole = i > f->last};
        if (s->packets[i].kept)
            slice_follow(s, (uint32_t)i);
    }
    for (size_t i = 1; i < f->packet_count; i++)
        if (f->packets[i].stays)
            slice_keep_packet(s, (uint32_t)i);
    follow(s);
}

/* From the end to the beginning. */
static void go_back(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;
    size_t late = f->order.late_count;

    for (size_t i = f->packet_count; i-- > 1 && *f->status == LAP_OK;) {
        if (s->taking && i + 1 == f->first) {
            slice_take(s);
            if (!s->taking->file)
                return; /* only the list of this slice is wanted */
        }
        while (late && f->order.late[late - 1].end >= i)
            go_over_late(s, f->order.late[--late].submit);
        go_over(s, (uint32_t)i);
        follow(s);
    }
}

/* Command buffers may outlive objects that they were recorded with: pipeline layouts, set layouts. What is recorded in
 * front of the part, or at its end, needs them once more. */
static void postpone(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    for (uint64_t i = 1; i < f->packet_count; i++) {
        const uint64_t block = f->packets[i].steps.from;
        const bool again = s->taking && s->taking->records_again && i < f->first && s->packets[i].late;
        if (f->packets[i].kind != SLICE_BLOCK || !(again || i > f->last) || block >= f->block_capacity)
            continue;
        for (uint32_t k = 0; k < f->blocks[block].names.count; k++) {
            const uint32_t gone = f->objects[f->ids.at[f->blocks[block].names.from + k]].destroyer;
            if (gone && gone < f->first)
                s->packets[gone].postponed = true;
        }
    }
}

static void finish(struct slice_solution *s)
{
    for (size_t i = 0; s->objects && i < s->facts->object_count; i++)
        free(s->objects[i].spans.at);
    free(s->objects);
    free(s->pending.at);
}

enum lap_status slice_solve(struct slice_solution *s)
{
    const struct slice_facts *f = s->facts;

    begin(s);
    for (unsigned round = 0; (round == 0 || s->changed) && *f->status == LAP_OK; round++) {
        if (round)
            rewrite_sets(s);
        begin_round(s);
        if (round == MOST_ROUNDS)
            keep_everything(s);
        go_back(s);
        if (s->taking && !s->taking->file)
            break;
        if (s->taking) {
            s->before = true;
            slice_settle_asked(s);
            follow(s);
        }
    }
    if (s->taking && *f->status == LAP_OK) {
        slice_keep_asked(s);
        slice_find_again(s);
    }
    if (*f->status == LAP_OK)
        postpone(s);
    for (size_t i = 1; *f->status == LAP_OK && i < f->packet_count && i < f->first; i++)
        if (f->packets[i].kind == SLICE_TELLS && are_needed(s, f->packets[i].names, true))
            s->packets[i].kept = true;
    finish(s);
    return *f->status;
}
