/* SPDX-License-Identifier: MIT */
/* Finds the packets that stay: goes from the end of the part to the beginning of the trace, with the contents that are
 * wanted at each place, until nothing is added any more. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/slice/slice_internal.h"

#define MOST_ROUNDS 100u

static void no_memory(struct slice *s)
{
    slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

/* ---- packets and objects that stay ---- */

/* Puts a packet (an odd number) or an object (an even one) on the list of pending work. */
static void put_aside(struct slice *s, uint32_t id, bool packet)
{
    (void)slice_add_id(s, &s->pending, id * 2 + packet);
}

static void need_object(struct slice *s, uint32_t id)
{
    if (id && !s->objects[id].needed) {
        s->objects[id].needed = s->changed = true;
        put_aside(s, id, false);
    }
}

void slice_need_object(struct slice *s, uint32_t object)
{
    need_object(s, object);
}

static void keep_packet(struct slice *s, uint32_t ticket)
{
    if (ticket && ticket < s->packet_count && !s->packets[ticket].kept) {
        s->packets[ticket].kept = s->changed = true;
        put_aside(s, ticket, true);
    }
}

static void keep_block(struct slice *s, uint32_t ticket)
{
    struct slice_packet *p = ticket && ticket < s->packet_count ? &s->packets[ticket] : NULL;

    if (!p || (s->before ? p->early : p->late))
        return;
    p->early |= s->before;
    p->late |= !s->before;
    p->whole = p->kept = s->changed = true;
    put_aside(s, ticket, true);
}

void slice_keep_block(struct slice *s, uint32_t packet)
{
    keep_block(s, packet);
}

void slice_keep_packet(struct slice *s, uint32_t packet)
{
    keep_packet(s, packet);
}

static void need_names(struct slice *s, uint32_t ticket)
{
    const struct slice_packet *p = &s->packets[ticket];

    for (uint32_t i = 0; i < p->names.count; i++)
        need_object(s, s->ids.at[p->names.from + i]);
    if (p->kind == SLICE_BLOCK && (p->whole || ticket >= s->first) && p->steps.from < s->block_capacity) {
        struct slice_run names = s->blocks[p->steps.from].names;
        for (uint32_t i = 0; i < names.count; i++)
            need_object(s, s->ids.at[names.from + i]);
        for (uint32_t i = 0; i < p->subjects.count; i++)
            keep_block(s, s->ids.at[p->subjects.from + i]);
    }
    if (p->kind == SLICE_DESCRIBES)
        for (uint32_t i = 0; i < p->steps.count; i++)
            if (slice_step_kind(s->steps.at[p->steps.from + i]) == SLICE_NEEDS)
                keep_packet(s, (uint32_t)slice_step_number(s->steps.at[p->steps.from + i]));
}

/* A submit needs its command buffers, even if they become empty. */
static void need_order(struct slice *s, uint32_t ticket)
{
    struct slice_run run = s->packets[ticket].steps;

    for (size_t i = slice_needs_of(s, ticket); i < s->need_count && s->needs[i].packet == ticket; i++)
        keep_packet(s, s->needs[i].needed);
    for (uint32_t i = 0; s->packets[ticket].kind == SLICE_SUBMIT && i < run.count; i++)
        keep_packet(s, (uint32_t)slice_step_number(s->steps.at[run.from + i]));
}

static void follow(struct slice *s)
{
    while (s->pending.count && s->status == LAP_OK) {
        uint32_t id = s->pending.at[--s->pending.count];
        if (id & 1) {
            need_names(s, id / 2);
            need_order(s, id / 2);
        } else {
            keep_packet(s, s->objects[id / 2].maker);
            keep_packet(s, s->objects[id / 2].destroyer);
        }
    }
}

/* ---- contents ---- */

static bool is_wanted(struct slice *s, uint32_t object)
{
    return s->everything || s->objects[slice_root(s, object)].wanted;
}

static bool is_laid(struct slice *s, uint32_t object)
{
    return is_wanted(s, object) || s->objects[slice_root(s, object)].laid;
}

static void want(struct slice *s, uint32_t object)
{
    uint32_t root = slice_root(s, object);

    s->objects[root].wanted = true;
    s->spans[root].count = 0;
}

static void replace(struct slice *s, uint32_t object)
{
    uint32_t root = slice_root(s, object);

    if (!s->objects[root].shared) {
        s->objects[root].wanted = s->objects[root].laid = false;
        s->spans[root].count = 0;
    } else {
        want(s, object);
    }
}

/* ---- steps ---- */

static void need_all(struct slice *s, struct slice_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        need_object(s, ids->at[i]);
    ids->count = 0; /* they stay needed */
}

static bool is_any_wanted(struct slice *s, struct slice_run contents)
{
    for (uint32_t i = 0; i < contents.count; i++)
        if (is_wanted(s, s->ids.at[contents.from + i]))
            return true;
    return false;
}

static bool set_changes_wanted(struct slice *s, const struct slice_set *set)
{
    for (size_t i = 0; set && set->changing && i < set->count; i++)
        if (set->slots[i].access == SLICE_CHANGE && is_any_wanted(s, s->objects[set->slots[i].object].contents))
            return true;
    return false;
}

static bool changes_wanted(struct slice *s, const uint64_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = slice_step_number(steps[i]);
        switch (slice_step_kind(steps[i])) {
        case SLICE_READ:
            /* A wait for an event may end at any later time, when the host sets it. Where contents are taken, all work
             * submitted before the part was complete. */
            if (s->objects[number].type == GEN_HANDLE_VkEvent && !s->taking)
                return true;
            break;
        case SLICE_LAYOUT:
        case SLICE_REPLACE: /* an image gets a layout, too */
            if (is_laid(s, (uint32_t)number))
                return true;
            break;
        case SLICE_CHANGE:
        case SLICE_CLEAR:
            if ((s->objects[number].type == GEN_HANDLE_VkEvent && !s->taking) || is_wanted(s, (uint32_t)number))
                return true;
            break;
        case SLICE_SET:
            if (set_changes_wanted(s, slice_set_of(s, (uint32_t)number)))
                return true;
            break;
        case SLICE_ADDRESSES:
            if (s->objects[slice_root(s, 0)].shared && is_wanted(s, 0))
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

static void take_set(struct slice *s, const struct slice_set *set)
{
    for (size_t i = 0; set && i < set->count; i++) {
        const struct slice_slot *slot = &set->slots[i];
        struct slice_run contents = s->objects[slot->object].contents;
        keep_packet(s, slot->packet);
        for (uint32_t k = 0; k < contents.count; k++)
            want(s, s->ids.at[contents.from + k]);
    }
}

/* Turns the contents wanted after these steps into those wanted before them. */
static void take_steps(struct slice *s, const uint64_t *steps, size_t count)
{
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
            s->objects[slice_root(s, (uint32_t)number)].laid = true;
            break;
        case SLICE_LAYOUT: /* from one that it must have */
            s->objects[slice_root(s, (uint32_t)number)].laid = true;
            break;
        case SLICE_SET:
            take_set(s, slice_set_of(s, (uint32_t)number));
            break;
        case SLICE_BEGIN:
            keep_block(s, (uint32_t)number);
            break;
        case SLICE_ADDRESSES:
            if (s->objects[slice_root(s, 0)].shared)
                want(s, 0);
            need_all(s, &s->addressed);
            break;
        case SLICE_EVERYTHING:
            for (uint32_t id = 1; !s->everything && id < s->object_count; id++)
                need_object(s, id);
            s->everything = true;
            break;
        default:
            break;
        }
    }
}

/* ---- packets ---- */

/* Whether one of the command buffers of a submit is needed. */
static bool needs_buffer(struct slice *s, uint32_t ticket, uint32_t i)
{
    struct slice_run run = s->packets[ticket].steps;
    uint32_t block = (uint32_t)slice_step_number(s->steps.at[run.from + i]);
    const bool whole = slice_splits(s) ? s->packets[block].early : s->packets[block].whole;
    const bool of_part = ticket >= s->first && (!s->draw.at || i + 1 == run.count);
    const uint64_t *steps;
    size_t count;

    if (of_part || (whole && s->packets[ticket].kept))
        return true;
    steps = slice_expand(s, block, &count);
    return changes_wanted(s, steps, count);
}

/* The last command buffer first; those of one dynamic rendering at once. */
static void go_over_submit(struct slice *s, uint32_t ticket)
{
    struct slice_run run = s->packets[ticket].steps;

    for (uint32_t i = run.count, from; i-- > 0; i = from) {
        bool needed = false;
        from = slice_first_of_rendering(s, run, i);
        for (uint32_t k = from; k <= i && !needed; k++)
            needed = needs_buffer(s, ticket, k);
        for (uint32_t k = i + 1; k-- > from && needed;) {
            uint32_t block = (uint32_t)slice_step_number(s->steps.at[run.from + k]);
            size_t count;
            const uint64_t *steps = slice_expand(s, block, &count);
            keep_packet(s, ticket);
            keep_block(s, block);
            take_steps(s, steps, count);
        }
    }
}

/* At a later packet with which its work goes on: it may read there. What it replaces may be replaced earlier. */
static void go_over_late(struct slice *s, uint32_t ticket)
{
    struct slice_run run = s->packets[ticket].steps;

    s->before = true;
    for (uint32_t i = 0; i < run.count; i++) {
        uint32_t block = (uint32_t)slice_step_number(s->steps.at[run.from + i]);
        const uint64_t *steps;
        size_t count;
        if (!needs_buffer(s, ticket, i))
            continue;
        steps = slice_expand(s, block, &count);
        keep_packet(s, ticket);
        keep_block(s, block);
        for (size_t k = 0; k < count; k++) {
            enum slice_step kind = slice_step_kind(steps[k]);
            if (kind != SLICE_REPLACE && kind != SLICE_CLEAR)
                take_steps(s, &steps[k], 1);
        }
    }
}

/* Host writes of a buffer. True: they are not all replaced by later ones. */
static bool add_spans(struct slice *s, struct slice_spans *spans, const uint64_t *steps, size_t count)
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
        if (!lap_array_grow(&spans->at, sizeof *spans->at, &spans->capacity, spans->count + 1)) {
            no_memory(s);
            return true;
        }
        memmove(&spans->at[from + 1], &spans->at[to], (spans->count - to) * sizeof *spans->at);
        spans->count = spans->count + 1 - (to - from);
        spans->at[from] = add;
    }
    return news;
}

static void go_over_write(struct slice *s, uint32_t ticket)
{
    struct slice_run run = s->packets[ticket].steps;
    const uint64_t *steps = s->steps.at + run.from;
    uint32_t object = run.count ? (uint32_t)slice_step_number(steps[0]) : 0, root = slice_root(s, object);
    bool of_bytes = run.count > 1 && slice_step_kind(steps[1]) == SLICE_SPAN;

    if (!is_wanted(s, object))
        return;
    if (of_bytes && !s->objects[root].shared && !s->everything) {
        if (!add_spans(s, &s->spans[root], steps + 1, run.count - 1))
            return;
        if (s->spans[root].count == 1 && s->spans[root].at[0].from == 0 &&
            s->spans[root].at[0].to >= s->objects[object].bytes)
            s->objects[root].wanted = false;
    }
    keep_packet(s, ticket);
}

static bool all_needed(const struct slice *s, struct slice_run names)
{
    for (uint32_t i = 0; i < names.count; i++)
        if (!s->objects[s->ids.at[names.from + i]].needed)
            return false;
    return true;
}

static bool any_needed(const struct slice *s, struct slice_run names)
{
    for (uint32_t i = 0; i < names.count; i++)
        if (s->objects[s->ids.at[names.from + i]].needed)
            return true;
    return false;
}

static void go_over(struct slice *s, uint32_t ticket)
{
    struct slice_packet *p = &s->packets[ticket];
    bool of_part = ticket >= s->first;

    s->before = !of_part;
    switch (p->kind) {
    case SLICE_SUBMIT:
        go_over_submit(s, ticket);
        break;
    case SLICE_ORDERS: /* presents before the part do not matter */
        if (of_part)
            take_steps(s, s->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_STAYS:
        keep_packet(s, ticket);
        if (of_part || p->steps.count)
            take_steps(s, s->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_NOTHING:
    case SLICE_ASKS:
        if (of_part)
            take_steps(s, s->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_WRITES:
        go_over_write(s, ticket);
        break;
    case SLICE_ACCESSES:
        if (!of_part && !p->kept && !changes_wanted(s, s->steps.at + p->steps.from, p->steps.count))
            break;
        keep_packet(s, ticket);
        take_steps(s, s->steps.at + p->steps.from, p->steps.count);
        break;
    case SLICE_DESCRIBES:
        slice_unwrite(s, p->subjects);
        break;
    case SLICE_MAKES:
        if (!p->kept && any_needed(s, p->subjects))
            keep_packet(s, ticket);
        break;
    default:
        break;
    }
}

/* Sets become again what they are at the end. */
static void rewrite_sets(struct slice *s)
{
    for (size_t i = 1; i < s->packet_count; i++)
        if (s->packets[i].kind == SLICE_DESCRIBES)
            slice_rewrite(s, s->packets[i].subjects);
}

/* For a trace made to need a large number of rounds. */
static void keep_everything(struct slice *s)
{
    s->before = true;
    for (size_t i = 1; i < s->packet_count; i++)
        if (s->packets[i].kind == SLICE_BLOCK)
            keep_block(s, (uint32_t)i);
        else if (s->packets[i].kind != SLICE_NOTHING)
            keep_packet(s, (uint32_t)i);
    follow(s);
}

static void begin_round(struct slice *s)
{
    s->everything = s->changed = s->before = false;
    for (size_t i = 0; i < s->object_count; i++) {
        s->objects[i].wanted = s->objects[i].laid = false;
        s->spans[i].count = 0;
    }
}

enum lap_status slice_solve(struct slice *s)
{
    s->spans = calloc(s->object_count, sizeof *s->spans);
    if (!s->spans)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = (size_t)s->first; i < s->packet_count; i++)
        put_aside(s, (uint32_t)i, true);
    for (size_t i = 1; i < s->packet_count; i++)
        if (s->packets[i].stays)
            keep_packet(s, (uint32_t)i);
    follow(s);
    for (unsigned round = 0; (round == 0 || s->changed) && s->status == LAP_OK; round++) {
        size_t late = s->late_count;
        if (round)
            rewrite_sets(s);
        begin_round(s);
        if (round == MOST_ROUNDS)
            keep_everything(s);
        for (size_t i = s->packet_count; i-- > 1 && s->status == LAP_OK;) {
            if (s->taking && i + 1 == s->first) {
                slice_take(s);
                if (!s->taking->file)
                    break; /* only the list of this slice is wanted */
            }
            while (late && s->late[late - 1].end >= i)
                go_over_late(s, s->late[--late].submit);
            go_over(s, (uint32_t)i);
            follow(s);
        }
        if (s->taking && !s->taking->file)
            break;
        if (s->taking) {
            s->before = true;
            slice_settle_asked(s);
            follow(s);
        }
    }
    if (s->taking) {
        slice_keep_asked(s);
        slice_find_again(s);
    }
    for (size_t i = 1; i < s->packet_count && i < s->first; i++)
        if (s->packets[i].kind == SLICE_TELLS && all_needed(s, s->packets[i].names))
            s->packets[i].kept = true;
    for (size_t i = 0; i < s->object_count; i++)
        free(s->spans[i].at);
    free(s->spans);
    free(s->pending.at);
    free(s->expanded.at);
    free(s->frames);
    s->spans = NULL;
    s->pending.at = NULL;
    return s->status;
}
