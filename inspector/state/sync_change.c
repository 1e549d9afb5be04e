/* SPDX-License-Identifier: MIT */
#include "inspector/state/sync_change.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/chain.h"
#include "vulkan/pass.h"

/* ---- views ---- */

static void enter(struct sync_views *views, const struct creation_facts *facts, uint64_t render_pass, uint32_t subpass)
{
    const struct fact_render_pass *pass = fact_of_render_pass(facts, render_pass);

    *views = (struct sync_views){.render_pass = render_pass, .subpass = subpass};
    if (pass && subpass < pass->subpass_count)
        views->mask = pass->subpasses[subpass].view_mask;
}

static void begin(struct sync_views *views, const struct creation_facts *facts, const VkCommandBufferBeginInfo *info)
{
    const VkCommandBufferInheritanceInfo *inherits =
        info && info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT ? info->pInheritanceInfo : NULL;
    const VkCommandBufferInheritanceRenderingInfo *rendering =
        inherits ? lap_chain_find(inherits->pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO) : NULL;

    *views = (struct sync_views){0};
    if (inherits && inherits->renderPass)
        enter(views, facts, gen_u64_VkRenderPass(inherits->renderPass), inherits->subpass);
    else if (rendering)
        views->mask = rendering->viewMask;
}

static void see_views(struct sync_views *views, const struct creation_facts *facts, const struct trace_call *call)
{
    const VkRenderPassBeginInfo *pass = lap_pass_begin_info(call->command, call->args);
    const VkRenderingInfo *rendering = lap_pass_rendering_info(call->command, call->args);

    switch (lap_pass_step_of(call->command)) {
    case LAP_PASS_BEGIN:
        if (pass)
            enter(views, facts, gen_u64_VkRenderPass(pass->renderPass), 0);
        break;
    case LAP_PASS_BEGIN_RENDERING:
        *views = (struct sync_views){.mask = rendering ? rendering->viewMask : 0};
        break;
    case LAP_PASS_NEXT:
        enter(views, facts, views->render_pass, views->subpass + 1);
        break;
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        *views = (struct sync_views){0};
        break;
    case LAP_PASS_NONE:
        if (call->command == GEN_vkBeginCommandBuffer)
            begin(views, facts, ((const struct gen_args_vkBeginCommandBuffer *)call->args)->pBeginInfo);
        break;
    }
}

/* ---- changes ---- */

static void of_event(struct sync_change *out, enum sync_change_kind kind, VkEvent event)
{
    out->kind = kind;
    out->object = gen_u64_VkEvent(event);
}

static void of_queries(struct sync_change *out, enum sync_change_kind kind, VkQueryPool pool, uint32_t first,
                       uint32_t count)
{
    out->kind = kind;
    out->object = gen_u64_VkQueryPool(pool);
    out->first = first;
    out->count = count;
}

#ifdef VK_KHR_video_maintenance1
static void of_video(struct sync_change *out, const void *chain)
{
    const VkVideoInlineQueryInfoKHR *info = lap_chain_find(chain, VK_STRUCTURE_TYPE_VIDEO_INLINE_QUERY_INFO_KHR);
    if (info)
        of_queries(out, SYNC_END_QUERIES, info->queryPool, info->firstQuery, info->queryCount);
}
#endif

#define EVENT(name, kind)                                                                                              \
    case GEN_##name:                                                                                                   \
        of_event(out, kind, ((const struct gen_args_##name *)call->args)->event);                                      \
        break
#define QUERY(name, kind)                                                                                              \
    case GEN_##name: {                                                                                                 \
        const struct gen_args_##name *a = call->args;                                                                  \
        of_queries(out, kind, a->queryPool, a->query, view_count);                                                     \
        break;                                                                                                         \
    }
#define PROPERTIES(name, number)                                                                                       \
    case GEN_##name: {                                                                                                 \
        const struct gen_args_##name *a = call->args;                                                                  \
        of_queries(out, SYNC_END_QUERIES, a->queryPool, a->firstQuery, a->number);                                     \
        break;                                                                                                         \
    }

bool sync_change_of(struct sync_views *views, const struct creation_facts *facts, const struct trace_call *call,
                    struct sync_change *out)
{
    const uint32_t view_count = views->mask ? (uint32_t)__builtin_popcount(views->mask) : 1;

    *out = (struct sync_change){.command = (uint16_t)call->command};
    switch (call->command) {
        EVENT(vkCmdSetEvent, SYNC_SET_EVENT);
        EVENT(vkCmdSetEvent2, SYNC_SET_EVENT);
        EVENT(vkCmdResetEvent, SYNC_RESET_EVENT);
        EVENT(vkCmdResetEvent2, SYNC_RESET_EVENT);
        QUERY(vkCmdBeginQuery, SYNC_BEGIN_QUERIES)
        QUERY(vkCmdBeginQueryIndexedEXT, SYNC_BEGIN_QUERIES)
        QUERY(vkCmdEndQuery, SYNC_END_QUERIES)
        QUERY(vkCmdEndQueryIndexedEXT, SYNC_END_QUERIES)
        QUERY(vkCmdWriteTimestamp, SYNC_END_QUERIES)
        QUERY(vkCmdWriteTimestamp2, SYNC_END_QUERIES)
        PROPERTIES(vkCmdWriteAccelerationStructuresPropertiesKHR, accelerationStructureCount)
        PROPERTIES(vkCmdWriteAccelerationStructuresPropertiesNV, accelerationStructureCount)
#ifdef VK_EXT_opacity_micromap
        PROPERTIES(vkCmdWriteMicromapsPropertiesEXT, micromapCount)
#endif
    case GEN_vkCmdResetQueryPool: {
        const struct gen_args_vkCmdResetQueryPool *a = call->args;
        of_queries(out, SYNC_RESET_QUERIES, a->queryPool, a->firstQuery, a->queryCount);
        break;
    }
#ifdef VK_KHR_video_maintenance1
    case GEN_vkCmdDecodeVideoKHR: {
        const VkVideoDecodeInfoKHR *info = ((const struct gen_args_vkCmdDecodeVideoKHR *)call->args)->pDecodeInfo;
        of_video(out, info ? info->pNext : NULL);
        break;
    }
    case GEN_vkCmdEncodeVideoKHR: {
        const VkVideoEncodeInfoKHR *info = ((const struct gen_args_vkCmdEncodeVideoKHR *)call->args)->pEncodeInfo;
        of_video(out, info ? info->pNext : NULL);
        break;
    }
#endif
    default:
        see_views(views, facts, call);
        break;
    }
    return out->object != 0;
}
