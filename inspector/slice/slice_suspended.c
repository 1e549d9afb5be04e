/* SPDX-License-Identifier: MIT */
/*
 * Dynamic rendering that a command buffer suspends and another one of its submission resumes. All of it stays, or none:
 * a suspended rendering that is never resumed is invalid, and so is a barrier while one is suspended.
 */
#include "inspector/slice/slice_see.h"
#include "vulkan/pass.h"

/* ---- blocks ---- */

void slice_see_suspended(struct slice_facts *f, const struct trace_call *call)
{
    const VkRenderingInfo *info = lap_pass_rendering_info(call->command, call->args);

    switch (lap_pass_step_of(call->command)) {
    case LAP_PASS_BEGIN_RENDERING:
        if (info && info->flags & VK_RENDERING_RESUMING_BIT)
            slice_add_step(f, &f->now.doing, slice_step(SLICE_RESUME, 0));
        f->now.suspends = info && info->flags & VK_RENDERING_SUSPENDING_BIT ? call->index + 1 : 0;
        break;
    case LAP_PASS_END_RENDERING:
        if (f->now.suspends)
            slice_add_step(f, &f->now.doing, slice_step(SLICE_SUSPEND, f->now.suspends - 1));
        f->now.suspends = 0;
        break;
    default:
        break;
    }
}

enum slice_leaves slice_leaves_of(const struct slice_facts *f, struct slice_run steps, struct slice_run executed,
                                  struct slice_suspended *out)
{
    enum slice_leaves leaves = SLICE_LEAVES_AS_IT_WAS, inner;
    uint32_t k = 0, packet;

    *out = (struct slice_suspended){0, 0, 0};
    for (uint32_t i = 0; i < steps.count; i++) {
        uint64_t step = f->steps.at[steps.from + i];
        switch (slice_step_kind(step)) {
        case SLICE_RESUME:
            leaves = SLICE_LEAVES_RESUMED;
            break;
        case SLICE_SUSPEND:
            leaves = SLICE_LEAVES_SUSPENDED;
            *out = (struct slice_suspended){.command = (uint32_t)slice_step_number(step)};
            break;
        case SLICE_EXECUTE:
            packet = k < executed.count ? f->ids.at[executed.from + k] : 0;
            k++;
            inner = (enum slice_leaves)f->packets[packet].leaves;
            if (inner != SLICE_LEAVES_AS_IT_WAS)
                leaves = inner;
            if (inner == SLICE_LEAVES_SUSPENDED)
                *out = (struct slice_suspended){.packet = packet};
            break;
        default:
            break;
        }
    }
    return leaves;
}

/* ---- submits ---- */

void slice_see_suspended_submit(struct slice_facts *f)
{
    bool suspended = false;

    for (size_t i = 0; i < f->now.doing.count; i++) {
        struct slice_packet *p = &f->packets[slice_step_number(f->now.doing.at[i])];
        p->goes_on |= suspended;
        if (p->leaves != SLICE_LEAVES_AS_IT_WAS)
            suspended = p->leaves == SLICE_LEAVES_SUSPENDED;
        p->pauses |= suspended;
    }
}

uint32_t slice_first_of_rendering(const struct slice_facts *f, struct slice_run run, uint32_t last)
{
    uint32_t first = last;

    while (first && f->packets[slice_step_number(f->steps.at[run.from + first])].goes_on) {
        uint32_t before = first;
        enum slice_leaves leaves = SLICE_LEAVES_AS_IT_WAS;
        while (before && leaves == SLICE_LEAVES_AS_IT_WAS)
            leaves = (enum slice_leaves)f->packets[slice_step_number(f->steps.at[run.from + --before])].leaves;
        if (leaves != SLICE_LEAVES_SUSPENDED)
            break; /* it is resumed in another submit */
        first = before;
    }
    return first;
}

/* ---- parts that end with a command ---- */

struct slice_suspended slice_find_begin(const struct slice_facts *f, struct slice_suspended at)
{
    while (at.packet) {
        const struct slice_packet *p = &f->packets[at.packet];
        uint64_t block = p->steps.from;
        (void)slice_leaves_of(f, f->blocks[block].steps, p->subjects, &at);
        at.block = at.packet ? 0 : block;
    }
    return at;
}

/* The rendering that the submit leaves suspended in front of its last command buffer. */
static struct slice_suspended before_last(const struct slice_facts *f)
{
    for (size_t i = f->now.doing.count; i-- > 1;) {
        uint32_t packet = (uint32_t)slice_step_number(f->now.doing.at[i - 1]);
        if (f->packets[packet].leaves == SLICE_LEAVES_SUSPENDED)
            return slice_find_begin(f, (struct slice_suspended){.packet = packet});
        if (f->packets[packet].leaves != SLICE_LEAVES_AS_IT_WAS)
            break;
    }
    return (struct slice_suspended){0, 0, 0};
}

void slice_find_suspended(struct slice_facts *f, uint32_t first)
{
    const struct position_found *at = f->draw.at;
    struct slice_suspended before = before_last(f);

    f->packets[first].goes_on = before.block != 0;
    for (unsigned i = 0; i < at->place_count; i++) {
        struct slice_prefix *prefix = &f->draw.prefixes[i];
        struct slice_run executed = f->packets[first + i].subjects;
        struct slice_suspended leaves;
        prefix->suspended = before;
        prefix->packet = first + i;
        if (i + 1 == at->place_count)
            break;
        executed.count -= executed.count != 0; /* without the one that is cut */
        switch (slice_leaves_of(f, prefix->steps, executed, &leaves)) {
        case SLICE_LEAVES_RESUMED:
            before = (struct slice_suspended){0, 0, 0};
            break;
        case SLICE_LEAVES_SUSPENDED:
            leaves.block = leaves.packet ? 0 : at->places[i].block;
            before = slice_find_begin(f, leaves);
            break;
        default:
            break;
        }
    }
}
