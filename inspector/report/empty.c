/* SPDX-License-Identifier: MIT */
/* Work and calls that come to nothing: draws of no vertices, dispatches of no groups, submits of nothing. And calls in
 * frames that make a program wait. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/fragments/draw_counts.h"
#include "inspector/position/held.h"
#include "inspector/report/inside.h"

struct empty {
    struct report_finding *waits; /* since the last end of a frame; behind the last one they are no part of a frame */
    size_t wait_count, wait_capacity;
    uint64_t frame, work_frame; /* work_frame: the first one with draws or dispatches; 0: none so far */
};

static void finish(void *state)
{
    free(((struct empty *)state)->waits);
}

/* ---- draws and dispatches ---- */

static bool is_nothing(const struct bound_visit *visit)
{
    const struct draw_counts counts = draw_counts_of(visit->command, visit->args);

    switch (visit->command) {
    case GEN_vkCmdDispatch: {
        const struct gen_args_vkCmdDispatch *a = visit->args;
        return !a->groupCountX || !a->groupCountY || !a->groupCountZ;
    }
    case GEN_vkCmdDispatchBase: {
        const struct gen_args_vkCmdDispatchBase *a = visit->args;
        return !a->groupCountX || !a->groupCountY || !a->groupCountZ;
    }
    default:
        return draw_counts_are_nothing(&counts);
    }
}

static enum lap_status behind(struct report_inside *r, void *state, const struct bound_visit *visit)
{
    enum report_rule_number rule = visit->work == POSITION_DRAW ? REPORT_DRAW_NOTHING : REPORT_DISPATCH_NOTHING;
    const struct report_finding finding = report_at(visit);
    struct empty *e = state;

    if (visit->work != POSITION_DRAW && visit->work != POSITION_DISPATCH)
        return LAP_OK;
    if (!e->work_frame)
        e->work_frame = r->frame;
    report_count(r, rule);
    return is_nothing(visit) ? report_find(r, rule, &finding, NULL) : LAP_OK;
}

/* ---- calls ---- */

static bool has_semaphores(const struct trace_call *call)
{
    if (call->command == GEN_vkQueueSubmit) {
        const struct gen_args_vkQueueSubmit *a = call->args;
        for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
            if (a->pSubmits[i].waitSemaphoreCount || a->pSubmits[i].signalSemaphoreCount)
                return true;
        return a->fence != VK_NULL_HANDLE;
    }
    const struct gen_args_vkQueueSubmit2 *a = call->args;
    for (uint32_t i = 0; a->pSubmits && i < a->submitCount; i++)
        if (a->pSubmits[i].waitSemaphoreInfoCount || a->pSubmits[i].signalSemaphoreInfoCount)
            return true;
    return a->fence != VK_NULL_HANDLE;
}

static enum lap_status see_submit(struct report_inside *r, const struct trace_call *call)
{
    const struct report_finding finding = report_at_call(call);
    uint32_t buffers = 0;

    report_count(r, REPORT_SUBMIT_EMPTY);
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        buffers += position_submit_buffers(call, batch);
    return buffers || has_semaphores(call) ? LAP_OK : report_find(r, REPORT_SUBMIT_EMPTY, &finding, NULL);
}

static enum lap_status see_wait(struct report_inside *r, struct empty *e, const struct trace_call *call)
{
    if (r->frame < 2)
        return LAP_OK;
    if (!lap_array_grow(&e->waits, sizeof *e->waits, &e->wait_capacity, e->wait_count + 1))
        return lap_no_memory("the report");
    e->waits[e->wait_count++] = report_at_call(call);
    return LAP_OK;
}

/* The frame of these has ended. */
static enum lap_status give_waits(struct report_inside *r, struct empty *e)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < e->wait_count && status == LAP_OK; i++)
        status = report_find(r, REPORT_WAIT_IDLE, &e->waits[i], NULL);
    e->wait_count = 0;
    return status;
}

static enum lap_status see_pipelines(struct report_inside *r, const struct empty *e, const struct trace_call *call,
                                     uint32_t count, const VkPipeline *pipelines)
{
    struct report_finding finding = report_at_call(call);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; pipelines && i < count && status == LAP_OK; i++) {
        report_count(r, REPORT_PIPELINE_LATE);
        finding.type = GEN_HANDLE_VkPipeline;
        finding.index = gen_u64_VkPipeline(pipelines[i]);
        if (e->work_frame && r->frame > e->work_frame && finding.index)
            status = report_find(r, REPORT_PIPELINE_LATE, &finding, NULL);
    }
    return status;
}

static enum lap_status call(struct report_inside *r, void *state, const struct trace_call *call)
{
    struct empty *e = state;
    enum lap_status status = LAP_OK;

    if (e->frame != r->frame)
        status = give_waits(r, e);
    e->frame = r->frame;
    if (status != LAP_OK)
        return status;
    switch (call->command) {
    case GEN_vkQueueSubmit:
    case GEN_vkQueueSubmit2:
        return see_submit(r, call);
    case GEN_vkDeviceWaitIdle:
    case GEN_vkQueueWaitIdle:
        return see_wait(r, e, call);
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *a = call->args;
        return see_pipelines(r, e, call, a->createInfoCount, a->pPipelines);
    }
    case GEN_vkCreateComputePipelines: {
        const struct gen_args_vkCreateComputePipelines *a = call->args;
        return see_pipelines(r, e, call, a->createInfoCount, a->pPipelines);
    }
    case GEN_vkCreateRayTracingPipelinesKHR: {
        const struct gen_args_vkCreateRayTracingPipelinesKHR *a = call->args;
        return see_pipelines(r, e, call, a->createInfoCount, a->pPipelines);
    }
    default:
        return LAP_OK;
    }
}

const struct report_part report_empty = {
    .bytes = sizeof(struct empty), .finish = finish, .call = call, .behind = behind};
