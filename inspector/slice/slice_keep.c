/* SPDX-License-Identifier: MIT */
/* Notes packets and objects that stay. */
#include "inspector/slice/slice_solve.h"

void slice_follow(struct slice_solution *s, uint32_t packet)
{
    (void)slice_add_id(s->facts, &s->pending, packet * 2 + 1);
}

void slice_need_object(struct slice_solution *s, uint32_t id)
{
    if (id && !s->objects[id].needed) {
        s->objects[id].needed = s->changed = true;
        (void)slice_add_id(s->facts, &s->pending, id * 2);
    }
}

void slice_keep_packet(struct slice_solution *s, uint32_t ticket)
{
    if (ticket && ticket < s->facts->packet_count && !s->packets[ticket].kept) {
        s->packets[ticket].kept = s->changed = true;
        slice_follow(s, ticket);
    }
}

void slice_keep_block(struct slice_solution *s, uint32_t ticket)
{
    struct slice_stay *p = ticket && ticket < s->facts->packet_count ? &s->packets[ticket] : NULL;

    if (!p || (s->before ? p->early : p->late))
        return;
    p->early |= s->before;
    p->late |= !s->before;
    p->whole = p->kept = s->changed = true;
    slice_follow(s, ticket);
}

bool slice_splits(const struct slice_solution *s)
{
    return s->taking && s->taking->taken;
}

bool slice_is_played(const struct slice_solution *s, uint32_t block)
{
    return slice_splits(s) ? s->packets[block].early : s->packets[block].whole;
}
