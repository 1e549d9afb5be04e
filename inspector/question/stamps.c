/* SPDX-License-Identifier: MIT */
#include "inspector/question/stamps.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "gen_renamed.h"
#include "inspector/analysis/queue_flags.h"
#include "inspector/position/held.h"
#include "inspector/question/pass_targets.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/rewrite.h"
#include "inspector/twin/weave.h"
#include "vulkan/pass.h"

#define MOST_STAMPS   (1u << 20)
#define MOST_OPEN     64u
#define MOST_LEFT_OUT 100u

const char *const stamp_statistics[] = {"INPUT_ASSEMBLY_VERTICES",
                                        "INPUT_ASSEMBLY_PRIMITIVES",
                                        "VERTEX_SHADER_INVOCATIONS",
                                        "GEOMETRY_SHADER_INVOCATIONS",
                                        "GEOMETRY_SHADER_PRIMITIVES",
                                        "CLIPPING_INVOCATIONS",
                                        "CLIPPING_PRIMITIVES",
                                        "FRAGMENT_SHADER_INVOCATIONS",
                                        "TESSELLATION_CONTROL_SHADER_PATCHES",
                                        "TESSELLATION_EVALUATION_SHADER_INVOCATIONS",
                                        "COMPUTE_SHADER_INVOCATIONS"};

/* Something that has begun in the command buffer, and not ended. */
struct open {
    size_t span; /* SIZE_MAX: it has none */
    bool is_pass, is_label;
    bool ended; /* a label that ends before what has begun in it */
};

struct planner {
    const struct lap_reader *trace;
    struct stamps *out;
    struct image_infos images;
    struct queue_flags queue_flags;
    struct lap_map statistics_pools; /* of the program */
    struct lap_arena arena;          /* for decoding */
    uint64_t queue;                  /* of the submit */
    uint64_t device;                 /* of all command buffers; 0: none yet */
    uint64_t destroyed;              /* the packet that destroys it; 0: none does */
    uint64_t frames;                 /* the last one that was seen */
    /* The command buffer. */
    struct position primary;
    bool is_left_out;
    bool counts;                             /* it can have statistics */
    size_t first_span, first_stop;           /* of it */
    uint32_t first_timestamp, first_counter; /* of it */
    struct open open[MOST_OPEN];
    size_t open_count;
    uint32_t unseen; /* labels that have begun behind MOST_OPEN */
    uint32_t last;   /* the last timestamp; STAMP_NONE: none, or something has happened since */
    bool in_pass;
    uint32_t views; /* of the subpass */
    struct weave_plan plan;
    size_t stop_capacity;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("timestamps");
}

static __attribute__((format(printf, 2, 3))) enum lap_status leave_out(struct planner *p, const char *format, ...)
{
    struct stamps *s = p->out;
    va_list arguments;
    char *text;

    if (s->left_out_count >= MOST_LEFT_OUT)
        return LAP_OK;
    text = lap_arena_alloc(&s->arena, 512, 1);
    if (!text || !lap_array_grow(&s->left_out, sizeof *s->left_out, &s->left_out_capacity, s->left_out_count + 1))
        return no_memory();
    va_start(arguments, format);
    vsnprintf(text, 512, format, arguments);
    va_end(arguments);
    s->left_out[s->left_out_count++] = text;
    return LAP_OK;
}

/* ---- stops ---- */

static uint32_t views_of(const struct planner *p)
{
    return p->in_pass && p->views ? (uint32_t)__builtin_popcount(p->views) : 1;
}

static enum lap_status add_stop(struct planner *p, const struct bound_visit *visit, bool before, enum weave_kind kind,
                                uint32_t query)
{
    struct weave_plan *plan = &p->plan;

    if (plan->timestamps >= MOST_STAMPS)
        return lap_fail(LAP_ERROR_ARGUMENT, "so many frames have more than %u places to time: take fewer", MOST_STAMPS);
    if (!lap_array_grow(&plan->stops, sizeof *plan->stops, &p->stop_capacity, plan->stop_count + 1))
        return no_memory();
    plan->stops[plan->stop_count++] = (struct weave_stop){
        .kind = kind, .position = visit->position, .before = before, .first = query, .count = views_of(p)};
    return LAP_OK;
}

/* A timestamp there; *out: its query. It is the last one, if nothing has happened since. */
static enum lap_status stamp(struct planner *p, const struct bound_visit *visit, bool before, uint32_t *out)
{
    enum lap_status status = LAP_OK;

    if (p->last == STAMP_NONE) {
        p->last = p->plan.timestamps;
        status = add_stop(p, visit, before, WEAVE_TIMESTAMP, p->last);
        p->plan.timestamps += views_of(p);
    }
    *out = p->last;
    return status;
}

/* ---- spans ---- */

static enum lap_status open_span(struct planner *p, const struct bound_visit *visit, enum stamp_kind kind,
                                 struct stamp_span **out)
{
    struct stamps *s = p->out;
    struct stamp_span *span;
    unsigned depth = 0;
    enum lap_status status;

    if (!lap_array_grow(&s->spans, sizeof *s->spans, &s->capacity, s->count + 1))
        return no_memory();
    for (size_t i = 0; i < p->open_count; i++)
        depth += p->open[i].span != SIZE_MAX;
    *out = span = &s->spans[s->count];
    *span = (struct stamp_span){.kind = kind,
                                .depth = depth,
                                .position = visit->position,
                                .command = (uint16_t)visit->command,
                                .queue = p->queue,
                                .statistics = STAMP_NONE};
    status = stamp(p, visit, kind != STAMP_COMMANDS, &span->from);
    p->open[p->open_count++] =
        (struct open){.span = s->count++, .is_pass = kind == STAMP_PASS, .is_label = kind == STAMP_LABEL};
    return status;
}

static bool may_open(const struct planner *p)
{
    return p->open_count < MOST_OPEN;
}

/* Begins to count what is in the span. */
static enum lap_status count(struct planner *p, const struct bound_visit *visit, struct stamp_span *span)
{
    if (!p->out->wish.statistics || !p->counts)
        return LAP_OK;
    span->statistics = p->plan.queries;
    span->counters = views_of(p);
    p->plan.queries += span->counters;
    return add_stop(p, visit, true, WEAVE_BEGIN_QUERY, span->statistics);
}

/* Ends the innermost one. before: of the command. */
static enum lap_status close_span(struct planner *p, const struct bound_visit *visit, bool before)
{
    const size_t number = p->open[--p->open_count].span;
    struct stamp_span *span = number == SIZE_MAX ? NULL : &p->out->spans[number];
    enum lap_status status = LAP_OK;

    if (!span)
        return LAP_OK;
    if (span->statistics != STAMP_NONE)
        status = add_stop(p, visit, before, WEAVE_END_QUERY, span->statistics);
    if (!before)
        span->end = visit->position;
    return status == LAP_OK ? stamp(p, visit, before, &span->to) : status;
}

/* And those that ended in it before. */
static enum lap_status close_spans(struct planner *p, const struct bound_visit *visit)
{
    enum lap_status status = close_span(p, visit, false);

    while (status == LAP_OK && p->open_count && p->open[p->open_count - 1].ended)
        status = close_span(p, visit, false);
    return status;
}

/* ---- command buffers ---- */

/* Takes all of it away again. */
static void leave_out_primary(struct planner *p)
{
    p->is_left_out = true;
    p->out->count = p->first_span;
    p->plan.stop_count = p->first_stop;
    p->plan.timestamps = p->first_timestamp;
    p->plan.queries = p->first_counter;
    p->open_count = 0;
}

static enum lap_status begin_primary(struct planner *p, const struct bound_visit *visit)
{
    const struct queue_flags_queue queue = queue_flags_of(&p->queue_flags, p->queue);
    char text[POSITION_TEXT_BYTES];
    struct stamp_span *span;
    enum lap_status status;

    p->primary = position_up_to(&visit->position, POSITION_BUFFER);
    p->is_left_out = false;
    p->counts = !queue.flags || queue.flags & VK_QUEUE_GRAPHICS_BIT;
    p->first_span = p->out->count;
    p->first_stop = p->plan.stop_count;
    p->first_timestamp = p->plan.timestamps;
    p->first_counter = p->plan.queries;
    p->open_count = p->unseen = 0;
    p->last = STAMP_NONE;
    p->in_pass = false;
    p->frames = visit->position.numbers[0];
    p->device = p->device ? p->device : queue.device;
    if (queue.device != p->device) {
        leave_out_primary(p);
        return leave_out(p, "%s: its device is another one than that of the first command buffer",
                         position_text(&p->primary, text));
    }
    if (queue.flags && !(queue.flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))) {
        leave_out_primary(p);
        return leave_out(p, "%s: its queue has neither graphics nor compute, so it can't reset timestamps",
                         position_text(&p->primary, text));
    }
    status = open_span(p, visit, STAMP_COMMANDS, &span);
    if (status != LAP_OK)
        return status;
    span->position = p->primary;
    span->command = GEN_COMMAND_NONE;
    return LAP_OK;
}

static enum lap_status end_primary(struct planner *p, const struct bound_visit *visit)
{
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && p->open_count)
        status = close_span(p, visit, true);
    return status;
}

/* ---- render passes ---- */

static enum lap_status list_targets(struct planner *p, const struct pass_targets *pass, struct stamp_span *span)
{
    struct lap_arena *arena = &p->out->arena;
    struct stamp_target *targets = lap_arena_zalloc(arena, pass->attachment_count + 1, sizeof *targets, 8);

    if (!targets)
        return no_memory();
    span->targets = targets;
    for (size_t i = 0; i < pass->attachment_count; i++) {
        const struct attachment *a = &pass->attachments[i];
        const VkImageCreateInfo *info = image_info_of(&p->images, a->image);
        const uint32_t level = a->range.baseMipLevel < 32 ? a->range.baseMipLevel : 31;
        char name[48], *copy;
        if (a->role == ATTACHMENT_INPUT)
            continue;
        if (a->role == ATTACHMENT_COLOR || a->role == ATTACHMENT_RESOLVE)
            snprintf(name, sizeof name, "%s%" PRIu32, attachment_role_name(a->role), a->number);
        else
            snprintf(name, sizeof name, "%s", attachment_role_name(a->role));
        copy = lap_arena_alloc(arena, sizeof name, 1);
        if (!copy)
            return no_memory();
        targets[span->target_count++] = (struct stamp_target){
            .name = strcpy(copy, name),
            .image = a->image,
            .format = a->format,
            .width = info ? (info->extent.width >> level ? info->extent.width >> level : 1) : 0,
            .height = info ? (info->extent.height >> level ? info->extent.height >> level : 1) : 0};
    }
    return LAP_OK;
}

static bool is_suspended(const struct bound_visit *visit)
{
    const VkRenderingInfo *info = lap_pass_rendering_info(visit->command, visit->args);

    return info && info->flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT);
}

static enum lap_status see_views(struct planner *p, const struct bound_visit *visit, struct pass_targets *out)
{
    enum lap_status status;

    lap_arena_reset(&p->arena);
    status = pass_targets_find(visit, &p->arena, out);
    p->views = out->views;
    return status;
}

static enum lap_status begin_pass(struct planner *p, const struct bound_visit *visit)
{
    char text[POSITION_TEXT_BYTES];
    struct pass_targets pass;
    struct stamp_span *span;
    enum lap_status status;

    if (is_suspended(visit)) {
        leave_out_primary(p);
        return leave_out(p, "%s: its rendering goes on in another command buffer, and nothing may be between them",
                         position_text(&p->primary, text));
    }
    if (!may_open(p))
        return LAP_OK;
    status = open_span(p, visit, STAMP_PASS, &span);
    if (status == LAP_OK && !p->out->wish.draws)
        status = count(p, visit, span);
    if (status == LAP_OK)
        status = see_views(p, visit, &pass);
    p->in_pass = true;
    p->last = STAMP_NONE;
    return status == LAP_OK ? list_targets(p, &pass, span) : status;
}

static enum lap_status end_pass(struct planner *p, const struct bound_visit *visit)
{
    enum lap_status status = LAP_OK;
    unsigned labels = 0;
    bool is_in = false;

    p->in_pass = false;
    p->last = STAMP_NONE;
    for (size_t i = 0; i < p->open_count; i++)
        is_in |= p->open[i].is_pass;
    /* Labels that have begun in it go on behind it; their spans do not. */
    while (status == LAP_OK && is_in && !p->open[p->open_count - 1].is_pass) {
        labels += !p->open[p->open_count - 1].ended;
        status = close_span(p, visit, false);
    }
    if (status == LAP_OK && is_in)
        status = close_spans(p, visit);
    while (labels--)
        p->open[p->open_count++] = (struct open){.span = SIZE_MAX, .is_label = true};
    return status;
}

/* ---- labels ---- */

static const char *label_of(uint32_t command, const void *args)
{
    if (command == GEN_vkCmdBeginDebugUtilsLabelEXT) {
        const VkDebugUtilsLabelEXT *info = ((const struct gen_args_vkCmdBeginDebugUtilsLabelEXT *)args)->pLabelInfo;
        return info && info->pLabelName ? info->pLabelName : "";
    }
    if (command == GEN_vkCmdDebugMarkerBeginEXT) {
        const VkDebugMarkerMarkerInfoEXT *info = ((const struct gen_args_vkCmdDebugMarkerBeginEXT *)args)->pMarkerInfo;
        return info && info->pMarkerName ? info->pMarkerName : "";
    }
    return NULL;
}

static enum lap_status begin_label(struct planner *p, const struct bound_visit *visit, const char *label)
{
    const size_t bytes = strlen(label) + 1;
    struct stamp_span *span;
    char *name;
    enum lap_status status;

    if (!may_open(p)) {
        p->unseen++;
        return LAP_OK;
    }
    if (p->in_pass && !p->out->wish.draws) {
        p->open[p->open_count++] = (struct open){.span = SIZE_MAX, .is_label = true};
        return LAP_OK;
    }
    name = lap_arena_alloc(&p->out->arena, bytes, 1);
    if (!name)
        return no_memory();
    memcpy(name, label, bytes);
    status = open_span(p, visit, STAMP_LABEL, &span);
    if (status == LAP_OK)
        span->name = name;
    return status;
}

static enum lap_status end_label(struct planner *p, const struct bound_visit *visit)
{
    if (p->unseen) {
        p->unseen--;
        return LAP_OK;
    }
    for (size_t i = p->open_count; i-- > 0;) {
        if (!p->open[i].is_label || p->open[i].ended)
            continue;
        if (i + 1 == p->open_count)
            return close_spans(p, visit);
        p->open[i].ended = true;
        return LAP_OK;
    }
    return LAP_OK; /* it was begun in another command buffer */
}

/* ---- commands ---- */

static enum lap_status see_work(struct planner *p, const struct bound_visit *visit)
{
    const enum bound_point point = visit->work == POSITION_DISPATCH ? BOUND_COMPUTE
                                   : visit->work == POSITION_TRACE  ? BOUND_RAYS
                                                                    : BOUND_GRAPHICS;
    struct stamp_span *span;
    enum lap_status status;

    for (size_t i = 0; i < p->open_count; i++)
        if (p->open[i].span != SIZE_MAX) {
            span = &p->out->spans[p->open[i].span];
            span->draws += visit->work == POSITION_DRAW;
            span->dispatches += visit->work == POSITION_DISPATCH || visit->work == POSITION_TRACE;
        }
    if ((p->in_pass && !p->out->wish.draws) || !may_open(p))
        return LAP_OK;
    status = open_span(p, visit, STAMP_WORK, &span);
    if (status != LAP_OK)
        return status;
    span->draws = visit->work == POSITION_DRAW;
    span->dispatches = visit->work == POSITION_DISPATCH || visit->work == POSITION_TRACE;
    if (visit->work == POSITION_DRAW || visit->work == POSITION_DISPATCH || visit->work == POSITION_TRACE)
        span->pipeline = visit->bound->points[point].pipeline;
    status = count(p, visit, span);
    p->last = STAMP_NONE;
    return status == LAP_OK ? close_spans(p, visit) : status;
}

/* Whether a device does nothing for it by itself. */
static bool is_state(uint32_t command)
{
    const char *name = gen_command_names[command];

    return strncmp(name, "vkCmdBind", 9) == 0 || strncmp(name, "vkCmdPush", 9) == 0 ||
           (strncmp(name, "vkCmdSet", 8) == 0 && strncmp(name, "vkCmdSetEvent", 13) != 0) ||
           strstr(name, "DebugUtilsLabel") || strstr(name, "DebugMarker");
}

static enum lap_status see_query(struct planner *p, const struct bound_visit *visit)
{
    const uint64_t pool = gen_u64_VkQueryPool(((const struct gen_args_vkCmdBeginQuery *)visit->args)->queryPool);
    char text[POSITION_TEXT_BYTES];

    return p->out->wish.statistics && lap_map_get(&p->statistics_pools, pool)
               ? lap_fail(LAP_ERROR_UNSUPPORTED,
                          "%s: the program counts pipeline statistics itself, and two such queries can't be on",
                          position_text(&visit->position, text))
               : LAP_OK;
}

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct planner *p = user;
    const bool is_primary = visit->position.count == POSITION_COMMAND;
    const char *label;

    if (visit->command == GEN_vkBeginCommandBuffer)
        return is_primary ? begin_primary(p, visit) : LAP_OK;
    if (p->is_left_out)
        return LAP_OK;
    if (visit->command == GEN_vkEndCommandBuffer)
        return is_primary ? end_primary(p, visit) : LAP_OK;
    if ((label = label_of(visit->command, visit->args)))
        return begin_label(p, visit, label);
    if (visit->command == GEN_vkCmdEndDebugUtilsLabelEXT || visit->command == GEN_vkCmdDebugMarkerEndEXT)
        return end_label(p, visit);
    switch (lap_pass_step_of(visit->command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING:
        return begin_pass(p, visit);
    case LAP_PASS_NEXT: {
        struct pass_targets pass;
        p->last = STAMP_NONE;
        return see_views(p, visit, &pass);
    }
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        return end_pass(p, visit);
    case LAP_PASS_NONE:
        break;
    }
    if (visit->work != POSITION_STATE)
        return see_work(p, visit);
    if (!is_state(visit->command))
        p->last = STAMP_NONE;
    return visit->command == GEN_vkCmdBeginQuery ? see_query(p, visit) : LAP_OK;
}

/* ---- calls ---- */

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct planner *p = user;
    enum lap_status status;

    switch (call->command) {
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        p->queue = position_submit_queue(call);
        return LAP_OK;
    case GEN_vkDestroyDevice: {
        const struct gen_args_vkDestroyDevice *a = call->args;
        if (p->device && gen_u64_VkDevice(a->device) == p->device)
            p->destroyed = call->packet->ticket;
        return LAP_OK;
    }
    case GEN_vkCreateQueryPool: {
        const struct gen_args_vkCreateQueryPool *a = call->args;
        return a->pCreateInfo && a->pQueryPool && a->pCreateInfo->queryType == VK_QUERY_TYPE_PIPELINE_STATISTICS
                   ? lap_map_put(&p->statistics_pools, gen_u64_VkQueryPool(*a->pQueryPool), p, NULL)
                   : LAP_OK;
    }
    default:
        status = queue_flags_see(&p->queue_flags, call);
        return status == LAP_OK ? image_infos_see(&p->images, call) : status;
    }
}

static enum lap_status walk(struct planner *p)
{
    static const uint16_t calls[] = {IMAGE_INFOS_COMMANDS, QUEUE_FLAGS_COMMANDS, GEN_vkCreateQueryPool,
                                     GEN_vkQueueSubmit,    GEN_vkQueueSubmit2,   GEN_vkDestroyDevice,
                                     GEN_COMMAND_NONE};
    const struct stamps_wish *wish = &p->out->wish;
    const struct bound_walk_options options = {
        .first_frame = wish->first_frame, .last_frame = wish->last_frame, .visit_call = see_call, .calls = calls};
    const uint64_t frames = lap_reader_summary(p->trace)->frames;
    enum lap_status status = bound_walk(p->trace, &options, see_command, p);

    if (status != LAP_OK || p->plan.stop_count)
        return status;
    if (p->out->left_out_count)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s", p->out->left_out[0]);
    return frames && wish->first_frame > frames
               ? lap_fail(LAP_ERROR_ARGUMENT, "there is no frame %" PRIu64 ": the trace has %" PRIu64,
                          wish->first_frame, frames)
               : lap_fail(LAP_ERROR_ARGUMENT, "no command buffer is submitted in these frames");
}

/* ---- the whole ---- */

static bool wants_device(const void *user, uint32_t command)
{
    (void)user;
    return command == GEN_vkCreateDevice;
}

static enum lap_status enable(void *user, const struct rewrite_call *call, bool *out_changed)
{
    (void)user;
    return rewrite_enable_feature(call, offsetof(VkPhysicalDeviceFeatures, pipelineStatisticsQuery), out_changed);
}

enum lap_status edit_enable_statistics(const struct lap_reader *trace, struct lap_edits *edits)
{
    const struct rewrite_visitor visitor = {.wants = wants_device, .visit = enable};

    return rewrite_trace(trace, &visitor, edits);
}

enum lap_status edit_stamps(const struct lap_reader *trace, const struct stamps_wish *wish, struct lap_edits *edits,
                            struct stamps *out)
{
    struct planner p = {.trace = trace, .out = out};
    struct weave_result woven = {.buffer = 0};
    enum lap_status status;

    out->wish = *wish;
    lap_arena_init(&out->arena, 0);
    lap_arena_init(&p.arena, 0);
    image_infos_init(&p.images);
    queue_flags_init(&p.queue_flags);
    lap_map_init(&p.statistics_pools);
    status = walk(&p);
    p.plan.in_place = true;
    p.plan.last_frame = wish->last_frame == UINT64_MAX ? 0 : wish->last_frame;
    p.plan.statistics = (1u << STAMP_STATISTICS) - 1;
    if (status == LAP_OK)
        status = edit_weave(trace, &p.plan, edits, &woven);
    if (status == LAP_OK && p.destroyed)
        lap_edits_end_at(edits, p.destroyed - 1);
    out->wish.last_frame = p.frames;
    out->timestamps = woven.timestamps;
    out->statistics = woven.statistics;
    out->timestamp_count = p.plan.timestamps;
    out->query_count = p.plan.queries;
    image_infos_finish(&p.images);
    queue_flags_finish(&p.queue_flags);
    lap_map_finish(&p.statistics_pools);
    lap_arena_finish(&p.arena);
    free(p.plan.stops);
    return status;
}

void stamps_finish(struct stamps *stamps)
{
    free(stamps->spans);
    free(stamps->left_out);
    lap_arena_finish(&stamps->arena);
    *stamps = (struct stamps){.count = 0};
}
