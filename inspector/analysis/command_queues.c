/* SPDX-License-Identifier: MIT */
#include "inspector/analysis/command_queues.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/queue_kinds.h"

/* ---- stages of the pipeline ---- */

static VkPipelineStageFlags2 stages_of(const VkDependencyInfo *info)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; info && info->pMemoryBarriers && i < info->memoryBarrierCount; i++)
        stages |= info->pMemoryBarriers[i].srcStageMask | info->pMemoryBarriers[i].dstStageMask;
    for (uint32_t i = 0; info && info->pBufferMemoryBarriers && i < info->bufferMemoryBarrierCount; i++)
        stages |= info->pBufferMemoryBarriers[i].srcStageMask | info->pBufferMemoryBarriers[i].dstStageMask;
    for (uint32_t i = 0; info && info->pImageMemoryBarriers && i < info->imageMemoryBarrierCount; i++)
        stages |= info->pImageMemoryBarriers[i].srcStageMask | info->pImageMemoryBarriers[i].dstStageMask;
    return stages;
}

static VkPipelineStageFlags2 stages_of_all(const VkDependencyInfo *infos, uint32_t count)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; infos && i < count; i++)
        stages |= stages_of(&infos[i]);
    return stages;
}

VkPipelineStageFlags2 command_queues_stages(uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCmdPipelineBarrier: {
        const struct gen_args_vkCmdPipelineBarrier *args = raw;
        return (VkPipelineStageFlags2)args->srcStageMask | args->dstStageMask;
    }
    case GEN_vkCmdWaitEvents: {
        const struct gen_args_vkCmdWaitEvents *args = raw;
        return (VkPipelineStageFlags2)args->srcStageMask | args->dstStageMask;
    }
    case GEN_vkCmdSetEvent:
        return ((const struct gen_args_vkCmdSetEvent *)raw)->stageMask;
    case GEN_vkCmdResetEvent:
        return ((const struct gen_args_vkCmdResetEvent *)raw)->stageMask;
    case GEN_vkCmdWriteTimestamp:
        return (VkPipelineStageFlags2)((const struct gen_args_vkCmdWriteTimestamp *)raw)->pipelineStage;
    case GEN_vkCmdPipelineBarrier2:
        return stages_of(((const struct gen_args_vkCmdPipelineBarrier2 *)raw)->pDependencyInfo);
    case GEN_vkCmdSetEvent2:
        return stages_of(((const struct gen_args_vkCmdSetEvent2 *)raw)->pDependencyInfo);
    case GEN_vkCmdWaitEvents2: {
        const struct gen_args_vkCmdWaitEvents2 *args = raw;
        return stages_of_all(args->pDependencyInfos, args->eventCount);
    }
    case GEN_vkCmdResetEvent2:
        return ((const struct gen_args_vkCmdResetEvent2 *)raw)->stageMask;
    case GEN_vkCmdWriteTimestamp2:
        return ((const struct gen_args_vkCmdWriteTimestamp2 *)raw)->stage;
#ifdef VK_AMD_buffer_marker
    case GEN_vkCmdWriteBufferMarkerAMD:
        return (VkPipelineStageFlags2)((const struct gen_args_vkCmdWriteBufferMarkerAMD *)raw)->pipelineStage;
    case GEN_vkCmdWriteBufferMarker2AMD:
        return ((const struct gen_args_vkCmdWriteBufferMarker2AMD *)raw)->stage;
#endif
    default:
        return 0;
    }
}

VkPipelineStageFlags2 command_queues_submit_stages(const VkSubmitInfo *submits, uint32_t count)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; submits && i < count; i++)
        for (uint32_t j = 0; submits[i].pWaitDstStageMask && j < submits[i].waitSemaphoreCount; j++)
            stages |= submits[i].pWaitDstStageMask[j];
    return stages;
}

VkPipelineStageFlags2 command_queues_submit2_stages(const VkSubmitInfo2 *submits, uint32_t count)
{
    VkPipelineStageFlags2 stages = 0;

    for (uint32_t i = 0; submits && i < count; i++) {
        const VkSubmitInfo2 *info = &submits[i];
        for (uint32_t j = 0; info->pWaitSemaphoreInfos && j < info->waitSemaphoreInfoCount; j++)
            stages |= info->pWaitSemaphoreInfos[j].stageMask;
        for (uint32_t j = 0; info->pSignalSemaphoreInfos && j < info->signalSemaphoreInfoCount; j++)
            stages |= info->pSignalSemaphoreInfos[j].stageMask;
    }
    return stages;
}

/* ---- kinds of queues ---- */

#if defined(VK_EXT_shader_object) || defined(VK_KHR_maintenance6)
static uint64_t of_stages(VkShaderStageFlags stages)
{
    const VkShaderStageFlags compute = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_RAYGEN_BIT_KHR |
                                       VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR |
                                       VK_SHADER_STAGE_MISS_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR |
                                       VK_SHADER_STAGE_CALLABLE_BIT_KHR;
    const VkShaderStageFlags graphics =
        VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_NV | VK_SHADER_STAGE_MESH_BIT_NV;

    return (stages & graphics ? lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT) : 0) |
           (stages & compute ? lap_queue_kinds_set(VK_QUEUE_COMPUTE_BIT) : 0);
}
#endif

static uint64_t of_bind_point(VkPipelineBindPoint point)
{
    switch (point) {
    case VK_PIPELINE_BIND_POINT_GRAPHICS:
        return lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT);
    case VK_PIPELINE_BIND_POINT_COMPUTE:
    case VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR:
        return lap_queue_kinds_set(VK_QUEUE_COMPUTE_BIT);
    default:
        return 0;
    }
}

/* VUID-vkCmdBeginQuery-queryType-00803 to 00805, and the like. */
static uint64_t of_queries(const VkQueryPoolCreateInfo *info)
{
    const VkQueryPipelineStatisticFlags compute = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT;

    switch (info->queryType) {
    case VK_QUERY_TYPE_OCCLUSION:
    case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
#ifdef VK_EXT_mesh_shader
    case VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT:
#endif
        return lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT);
    case VK_QUERY_TYPE_PIPELINE_STATISTICS:
        return (info->pipelineStatistics & ~compute ? lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT) : 0) |
               (info->pipelineStatistics & compute ? lap_queue_kinds_set(VK_QUEUE_COMPUTE_BIT) : 0);
    default: /* timestamps go anywhere; counters and video belong to the family or session that they name */
        return 0;
    }
}

/* VUID-vkCmdCopyBufferToImage-commandBuffer-07739 and the like: texels of depth and stencil want graphics. */
static uint64_t of_aspects(VkImageAspectFlags aspects)
{
    return aspects & (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)
               ? lap_queue_kinds_set(VK_QUEUE_GRAPHICS_BIT)
               : 0;
}

#define OF_REGIONS(from, member)                                                                                       \
    for (uint32_t i = 0; (from) && (from)->pRegions && i < (from)->regionCount; i++)                                   \
    aspects |= (from)->pRegions[i].member.aspectMask

static uint64_t of_copies(uint32_t command, const void *raw)
{
    VkImageAspectFlags aspects = 0;

    switch (command) {
    case GEN_vkCmdCopyImage: {
        const struct gen_args_vkCmdCopyImage *args = raw;
        OF_REGIONS(args, srcSubresource);
        OF_REGIONS(args, dstSubresource);
        break;
    }
    case GEN_vkCmdCopyBufferToImage: {
        const struct gen_args_vkCmdCopyBufferToImage *args = raw;
        OF_REGIONS(args, imageSubresource);
        break;
    }
    case GEN_vkCmdCopyImageToBuffer: {
        const struct gen_args_vkCmdCopyImageToBuffer *args = raw;
        OF_REGIONS(args, imageSubresource);
        break;
    }
    case GEN_vkCmdCopyImage2: {
        const VkCopyImageInfo2 *info = ((const struct gen_args_vkCmdCopyImage2 *)raw)->pCopyImageInfo;
        OF_REGIONS(info, srcSubresource);
        OF_REGIONS(info, dstSubresource);
        break;
    }
    case GEN_vkCmdCopyBufferToImage2: {
        const VkCopyBufferToImageInfo2 *info =
            ((const struct gen_args_vkCmdCopyBufferToImage2 *)raw)->pCopyBufferToImageInfo;
        OF_REGIONS(info, imageSubresource);
        break;
    }
    case GEN_vkCmdCopyImageToBuffer2: {
        const VkCopyImageToBufferInfo2 *info =
            ((const struct gen_args_vkCmdCopyImageToBuffer2 *)raw)->pCopyImageToBufferInfo;
        OF_REGIONS(info, imageSubresource);
        break;
    }
    default:
        break;
    }
    return of_aspects(aspects);
}

#ifdef VK_EXT_shader_object
static uint64_t of_shaders(const struct gen_args_vkCmdBindShadersEXT *args)
{
    uint64_t sets = 0;

    for (uint32_t i = 0; args->pStages && i < args->stageCount; i++)
        sets |= of_stages(args->pStages[i]);
    return sets;
}
#endif

uint64_t command_queues_of_arguments(uint32_t command, const void *raw, uint64_t named)
{
    switch (command) {
    case GEN_vkCmdBindPipeline:
        return of_bind_point(((const struct gen_args_vkCmdBindPipeline *)raw)->pipelineBindPoint);
    case GEN_vkCmdBindDescriptorSets:
        return of_bind_point(((const struct gen_args_vkCmdBindDescriptorSets *)raw)->pipelineBindPoint);
    case GEN_vkCmdPushDescriptorSetKHR:
        return of_bind_point(((const struct gen_args_vkCmdPushDescriptorSetKHR *)raw)->pipelineBindPoint);
    case GEN_vkCmdSetDescriptorBufferOffsetsEXT:
        return of_bind_point(((const struct gen_args_vkCmdSetDescriptorBufferOffsetsEXT *)raw)->pipelineBindPoint);
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT:
        return of_bind_point(
            ((const struct gen_args_vkCmdBindDescriptorBufferEmbeddedSamplersEXT *)raw)->pipelineBindPoint);
    case GEN_vkCmdBindPipelineShaderGroupNV:
        return of_bind_point(((const struct gen_args_vkCmdBindPipelineShaderGroupNV *)raw)->pipelineBindPoint);
#ifdef VK_EXT_shader_object
    case GEN_vkCmdBindShadersEXT:
        return of_shaders(raw);
#endif
#ifdef VK_KHR_maintenance6
    case GEN_vkCmdBindDescriptorSets2KHR: {
        const struct gen_args_vkCmdBindDescriptorSets2KHR *args = raw;
        return of_stages(args->pBindDescriptorSetsInfo ? args->pBindDescriptorSetsInfo->stageFlags : 0);
    }
    case GEN_vkCmdPushDescriptorSet2KHR: {
        const struct gen_args_vkCmdPushDescriptorSet2KHR *args = raw;
        return of_stages(args->pPushDescriptorSetInfo ? args->pPushDescriptorSetInfo->stageFlags : 0);
    }
    case GEN_vkCmdSetDescriptorBufferOffsets2EXT: {
        const struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *args = raw;
        return of_stages(args->pSetDescriptorBufferOffsetsInfo ? args->pSetDescriptorBufferOffsetsInfo->stageFlags : 0);
    }
    case GEN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT: {
        const VkBindDescriptorBufferEmbeddedSamplersInfoEXT *info =
            ((const struct gen_args_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT *)raw)
                ->pBindDescriptorBufferEmbeddedSamplersInfo;
        return of_stages(info ? info->stageFlags : 0);
    }
#endif
    default:
        return named | of_copies(command, raw);
    }
}

/* Indices are by type: the lowest bit tells templates from pools. */
static uint64_t pool_key(VkQueryPool pool)
{
    return gen_u64_VkQueryPool(pool) << 1;
}

static uint64_t template_key(VkDescriptorUpdateTemplate template)
{
    return gen_u64_VkDescriptorUpdateTemplate(template) ? gen_u64_VkDescriptorUpdateTemplate(template) << 1 | 1 : 0;
}

uint64_t command_queues_named(uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCreateQueryPool: {
        const struct gen_args_vkCreateQueryPool *args = raw;
        return args->pQueryPool ? pool_key(*args->pQueryPool) : 0;
    }
    case GEN_vkCreateDescriptorUpdateTemplate: {
        const struct gen_args_vkCreateDescriptorUpdateTemplate *args = raw;
        return args->pDescriptorUpdateTemplate ? template_key(*args->pDescriptorUpdateTemplate) : 0;
    }
    case GEN_vkCmdBeginQuery:
        return pool_key(((const struct gen_args_vkCmdBeginQuery *)raw)->queryPool);
    case GEN_vkCmdBeginQueryIndexedEXT:
        return pool_key(((const struct gen_args_vkCmdBeginQueryIndexedEXT *)raw)->queryPool);
    case GEN_vkCmdPushDescriptorSetWithTemplateKHR:
        return template_key(
            ((const struct gen_args_vkCmdPushDescriptorSetWithTemplateKHR *)raw)->descriptorUpdateTemplate);
#ifdef VK_KHR_maintenance6
    case GEN_vkCmdPushDescriptorSetWithTemplate2KHR: {
        const struct gen_args_vkCmdPushDescriptorSetWithTemplate2KHR *args = raw;
        return args->pPushDescriptorSetWithTemplateInfo
                   ? template_key(args->pPushDescriptorSetWithTemplateInfo->descriptorUpdateTemplate)
                   : 0;
    }
#endif
    default:
        return 0;
    }
}

uint64_t command_queues_of_created(uint32_t command, const void *raw)
{
    if (command == GEN_vkCreateQueryPool) {
        const struct gen_args_vkCreateQueryPool *args = raw;
        return args->pCreateInfo ? of_queries(args->pCreateInfo) : 0;
    }
    if (command == GEN_vkCreateDescriptorUpdateTemplate) {
        const struct gen_args_vkCreateDescriptorUpdateTemplate *args = raw;
        return args->pCreateInfo &&
                       args->pCreateInfo->templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
                   ? of_bind_point(args->pCreateInfo->pipelineBindPoint)
                   : 0;
    }
    return 0;
}
