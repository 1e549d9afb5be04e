/* SPDX-License-Identifier: MIT */
/* Calls before the part by which the host asks for results of work (events, query results), where contents are taken.
 * No call may ask for results of work that is left out: a replay would wait for it. For work that stays, such a call
 * may be the program's only knowledge that it was complete. */
#include <stdlib.h>

#include "inspector/slice/slice_solve.h"

struct asked {         /* [object] */
    uint32_t left_out; /* the last command buffer that changes it, if that does not stay; else 0 */
    uint32_t submit;   /* of it */
    bool stays;        /* some command buffer that changes it does */
};

static bool is_asked_for(const struct slice_facts *f, uint32_t object)
{
    return f->objects[object].type == GEN_HANDLE_VkQueryPool || f->objects[object].type == GEN_HANDLE_VkEvent;
}

static void see_submit(struct slice_solution *s, struct asked *asked, uint32_t ticket)
{
    const struct slice_facts *f = s->facts;
    const struct slice_packet *p = &f->packets[ticket];

    for (uint32_t i = 0; i < p->steps.count; i++) {
        const uint32_t block = slice_block_at(f, p->steps, i);
        size_t count;
        const uint64_t *steps = slice_expand(f, s->expansion, block, &count);
        for (size_t k = 0; k < count; k++) {
            const uint32_t object = (uint32_t)slice_step_number(steps[k]);
            if ((slice_step_kind(steps[k]) != SLICE_CHANGE && slice_step_kind(steps[k]) != SLICE_REPLACE) ||
                !is_asked_for(f, object))
                continue;
            asked[object].left_out = s->packets[ticket].kept && slice_is_played(s, block) ? 0 : block;
            asked[object].submit = ticket;
            asked[object].stays |= !asked[object].left_out;
        }
    }
}

/* For each object that a call before the part asks for. */
static void go_over(struct slice_solution *s,
                    void (*visit)(struct slice_solution *s, uint32_t ticket, const struct asked *asked))
{
    const struct slice_facts *f = s->facts;
    struct asked *asked = calloc(f->object_count, sizeof *asked);

    if (!asked) {
        slice_no_memory(f);
        return;
    }
    for (uint32_t i = 1; i < f->packet_count && i < f->first && *f->status == LAP_OK; i++) {
        const struct slice_packet *p = &f->packets[i];
        if (p->kind == SLICE_SUBMIT)
            see_submit(s, asked, i);
        for (uint32_t k = 0; p->kind == SLICE_ASKS && k < p->names.count; k++)
            if (is_asked_for(f, f->ids.at[p->names.from + k]))
                visit(s, i, &asked[f->ids.at[p->names.from + k]]);
    }
    free(asked);
}

static void settle(struct slice_solution *s, uint32_t ticket, const struct asked *asked)
{
    (void)ticket;
    if (!asked->left_out || !asked->stays)
        return;
    slice_keep_packet(s, asked->submit);
    slice_keep_block(s, asked->left_out);
}

static void keep(struct slice_solution *s, uint32_t ticket, const struct asked *asked)
{
    const struct slice_facts *f = s->facts;
    struct slice_run names = f->packets[ticket].names;
    bool all = !asked->left_out;

    for (uint32_t i = 0; i < names.count; i++)
        all &= s->objects[f->ids.at[names.from + i]].needed;
    s->packets[ticket].kept |= all;
}

void slice_settle_asked(struct slice_solution *s)
{
    go_over(s, settle);
}

void slice_keep_asked(struct slice_solution *s)
{
    go_over(s, keep);
}
