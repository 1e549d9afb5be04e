/* SPDX-License-Identifier: MIT */
/* Calls before the part by which the host asks for results of work (events, query results), where contents are taken.
 * No call may ask for results of work that is left out: a replay would wait for it. For work that stays, such a call
 * may be the program's only knowledge that it was complete. */
#include <stdlib.h>

#include "inspector/slice/slice_internal.h"

struct asked {         /* [object] */
    uint32_t left_out; /* the last command buffer that changes it, if that does not stay; else 0 */
    uint32_t submit;   /* of it */
    bool stays;        /* some command buffer that changes it does */
};

static bool is_asked_for(const struct slice *s, uint32_t object)
{
    return s->objects[object].type == GEN_HANDLE_VkQueryPool || s->objects[object].type == GEN_HANDLE_VkEvent;
}

static void see_submit(struct slice *s, struct asked *asked, uint32_t ticket)
{
    const struct slice_packet *p = &s->packets[ticket];

    for (uint32_t i = 0; i < p->steps.count; i++) {
        const uint32_t block = (uint32_t)slice_step_number(s->steps.at[p->steps.from + i]);
        size_t count;
        const uint64_t *steps = slice_expand(s, block, &count);
        for (size_t k = 0; k < count; k++) {
            const uint32_t object = (uint32_t)slice_step_number(steps[k]);
            if ((slice_step_kind(steps[k]) != SLICE_CHANGE && slice_step_kind(steps[k]) != SLICE_REPLACE) ||
                !is_asked_for(s, object))
                continue;
            asked[object].left_out =
                p->kept && (slice_splits(s) ? s->packets[block].early : s->packets[block].whole) ? 0 : block;
            asked[object].submit = ticket;
            asked[object].stays |= !asked[object].left_out;
        }
    }
}

/* Calls visit for each object that a call before the part asks for. */
static void go_over(struct slice *s,
                    void (*visit)(struct slice *s, struct slice_packet *packet, const struct asked *asked))
{
    struct asked *asked = calloc(s->object_count, sizeof *asked);

    if (!asked) {
        slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        return;
    }
    for (uint32_t i = 1; i < s->packet_count && i < s->first && s->status == LAP_OK; i++) {
        struct slice_packet *p = &s->packets[i];
        if (p->kind == SLICE_SUBMIT)
            see_submit(s, asked, i);
        for (uint32_t k = 0; p->kind == SLICE_ASKS && k < p->names.count; k++)
            if (is_asked_for(s, s->ids.at[p->names.from + k]))
                visit(s, p, &asked[s->ids.at[p->names.from + k]]);
    }
    free(asked);
}

static void settle(struct slice *s, struct slice_packet *packet, const struct asked *asked)
{
    (void)packet;
    if (!asked->left_out || !asked->stays)
        return;
    slice_keep_packet(s, asked->submit);
    slice_keep_block(s, asked->left_out);
}

static void keep(struct slice *s, struct slice_packet *packet, const struct asked *asked)
{
    bool all = !asked->left_out;

    for (uint32_t i = 0; i < packet->names.count; i++)
        all &= s->objects[s->ids.at[packet->names.from + i]].needed;
    packet->kept |= all;
}

void slice_settle_asked(struct slice *s)
{
    go_over(s, settle);
}

void slice_keep_asked(struct slice *s)
{
    go_over(s, keep);
}
