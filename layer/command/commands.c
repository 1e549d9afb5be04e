/* SPDX-License-Identifier: MIT */
/* The memory that each command names, from its specification; one hook each. */
#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/command/touched.h"

#define WHOLE UINT64_MAX

/* ---- vertex input and indirect parameters ---- */

void hook_after_CmdBindIndexBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                   VkDeviceSize offset, VkIndexType indexType)
{
    layer_touch_buffer(cb, buffer, offset, WHOLE, LAYER_READS);
}

#ifdef VK_KHR_maintenance5
void hook_after_CmdBindIndexBuffer2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                       VkDeviceSize offset, VkDeviceSize size, VkIndexType indexType)
{
    layer_touch_buffer(cb, buffer, offset, size, LAYER_READS);
}
#endif

static void touch_buffers(struct layer_cmdbuf *cb, uint32_t count, const VkBuffer *buffers, const VkDeviceSize *offsets,
                          const VkDeviceSize *sizes, enum layer_touch how)
{
    for (uint32_t i = 0; buffers && i < count; i++)
        layer_touch_buffer(cb, buffers[i], offsets ? offsets[i] : 0, sizes ? sizes[i] : WHOLE, how);
}

void hook_after_CmdBindVertexBuffers(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t firstBinding,
                                     uint32_t bindingCount, const VkBuffer *pBuffers, const VkDeviceSize *pOffsets)
{
    touch_buffers(cb, bindingCount, pBuffers, pOffsets, NULL, LAYER_READS);
}

void hook_after_CmdBindVertexBuffers2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t firstBinding,
                                      uint32_t bindingCount, const VkBuffer *pBuffers, const VkDeviceSize *pOffsets,
                                      const VkDeviceSize *pSizes, const VkDeviceSize *pStrides)
{
    touch_buffers(cb, bindingCount, pBuffers, pOffsets, pSizes, LAYER_READS);
}

static void touch_indirect(struct layer_cmdbuf *cb, VkBuffer buffer, VkDeviceSize offset, uint32_t count,
                           uint32_t stride, uint32_t bytes)
{
    if (count)
        layer_touch_buffer(cb, buffer, offset, (count - 1) * (VkDeviceSize)stride + bytes, LAYER_READS);
}

static void draw_indirect(struct layer_cmdbuf *cb, VkBuffer buffer, VkDeviceSize offset, uint32_t count,
                          uint32_t stride, uint32_t bytes)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect(cb, buffer, offset, count, stride, bytes);
}

static void draw_indirect_count(struct layer_cmdbuf *cb, VkBuffer buffer, VkDeviceSize offset, VkBuffer count_buffer,
                                VkDeviceSize count_offset, uint32_t count, uint32_t stride, uint32_t bytes)
{
    draw_indirect(cb, buffer, offset, count, stride, bytes);
    layer_touch_buffer(cb, count_buffer, count_offset, 4, LAYER_READS);
}

void hook_after_CmdDrawIndirect(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    draw_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawIndirectCommand));
}

void hook_after_CmdDrawIndexedIndirect(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                       VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    draw_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawIndexedIndirectCommand));
}

void hook_after_CmdDispatchIndirect(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                    VkDeviceSize offset)
{
    layer_touch_work(cb, LAYER_BIND_COMPUTE);
    touch_indirect(cb, buffer, offset, 1, 0, sizeof(VkDispatchIndirectCommand));
}

void hook_after_CmdDrawIndirectCount(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                     VkDeviceSize offset, VkBuffer countBuffer, VkDeviceSize countBufferOffset,
                                     uint32_t maxDrawCount, uint32_t stride)
{
    draw_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                        sizeof(VkDrawIndirectCommand));
}

void hook_after_CmdDrawIndexedIndirectCount(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                            VkDeviceSize offset, VkBuffer countBuffer, VkDeviceSize countBufferOffset,
                                            uint32_t maxDrawCount, uint32_t stride)
{
    draw_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                        sizeof(VkDrawIndexedIndirectCommand));
}

void hook_after_CmdDrawMeshTasksIndirectEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                            VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    draw_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

void hook_after_CmdDrawMeshTasksIndirectCountEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                 VkBuffer buffer, VkDeviceSize offset, VkBuffer countBuffer,
                                                 VkDeviceSize countBufferOffset, uint32_t maxDrawCount, uint32_t stride)
{
    draw_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                        sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

void hook_after_CmdDrawMeshTasksIndirectNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                           VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    draw_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawMeshTasksIndirectCommandNV));
}

void hook_after_CmdDrawMeshTasksIndirectCountNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                                VkDeviceSize offset, VkBuffer countBuffer,
                                                VkDeviceSize countBufferOffset, uint32_t maxDrawCount, uint32_t stride)
{
    draw_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                        sizeof(VkDrawMeshTasksIndirectCommandNV));
}

void hook_after_CmdDrawClusterIndirectHUAWEI(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                             VkDeviceSize offset)
{
    draw_indirect(cb, buffer, offset, 1, 0, sizeof(VkDispatchIndirectCommand));
}

void hook_after_CmdDrawIndirectByteCountEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                            uint32_t instanceCount, uint32_t firstInstance, VkBuffer counterBuffer,
                                            VkDeviceSize counterBufferOffset, uint32_t counterOffset,
                                            uint32_t vertexStride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    layer_touch_buffer(cb, counterBuffer, counterBufferOffset, 4, LAYER_READS);
}

void hook_after_CmdBeginConditionalRenderingEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                const VkConditionalRenderingBeginInfoEXT *pConditionalRenderingBegin)
{
    layer_touch_buffer(cb, pConditionalRenderingBegin->buffer, pConditionalRenderingBegin->offset, 4, LAYER_READS);
}

/* ---- transform feedback: how much is written is up to the shaders, and the rest stays ---- */

void hook_after_CmdBindTransformFeedbackBuffersEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                   uint32_t firstBinding, uint32_t bindingCount,
                                                   const VkBuffer *pBuffers, const VkDeviceSize *pOffsets,
                                                   const VkDeviceSize *pSizes)
{
    touch_buffers(cb, bindingCount, pBuffers, pOffsets, pSizes, LAYER_WRITES_PARTLY);
}

void hook_after_CmdBeginTransformFeedbackEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                             uint32_t firstCounterBuffer, uint32_t counterBufferCount,
                                             const VkBuffer *pCounterBuffers, const VkDeviceSize *pCounterBufferOffsets)
{
    for (uint32_t i = 0; pCounterBuffers && i < counterBufferCount; i++)
        layer_touch_buffer(cb, pCounterBuffers[i], pCounterBufferOffsets ? pCounterBufferOffsets[i] : 0, 4,
                           LAYER_READS);
}

void hook_after_CmdEndTransformFeedbackEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                           uint32_t firstCounterBuffer, uint32_t counterBufferCount,
                                           const VkBuffer *pCounterBuffers, const VkDeviceSize *pCounterBufferOffsets)
{
    for (uint32_t i = 0; pCounterBuffers && i < counterBufferCount; i++)
        layer_touch_buffer(cb, pCounterBuffers[i], pCounterBufferOffsets ? pCounterBufferOffsets[i] : 0, 4,
                           LAYER_WRITES);
}

/* ---- descriptors and secondary command buffers ---- */

void hook_after_CmdPushDescriptorSetKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        VkPipelineBindPoint pipelineBindPoint, VkPipelineLayout layout, uint32_t set,
                                        uint32_t descriptorWriteCount, const VkWriteDescriptorSet *pDescriptorWrites)
{
    for (uint32_t i = 0; i < descriptorWriteCount; i++)
        layer_touch_push(cb, pipelineBindPoint, set, &pDescriptorWrites[i]);
}

#ifdef VK_KHR_maintenance6
/* The bind points of shader stages. */
static const struct {
    VkShaderStageFlags stages;
    VkPipelineBindPoint point;
} points[] = {
    {VK_SHADER_STAGE_COMPUTE_BIT, VK_PIPELINE_BIND_POINT_COMPUTE},
    {VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT,
     VK_PIPELINE_BIND_POINT_GRAPHICS},
    {VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_ANY_HIT_BIT_KHR | VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR |
         VK_SHADER_STAGE_MISS_BIT_KHR | VK_SHADER_STAGE_INTERSECTION_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR,
     VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR},
};

void hook_after_CmdBindDescriptorSets2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                          const VkBindDescriptorSetsInfoKHR *info)
{
    for (uint32_t i = 0; i < sizeof points / sizeof points[0]; i++)
        if (info->stageFlags & points[i].stages)
            layer_touch_sets(cb, points[i].point, info->firstSet, info->descriptorSetCount, info->pDescriptorSets,
                             info->dynamicOffsetCount, info->pDynamicOffsets);
}

void hook_after_CmdPushDescriptorSet2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                         const VkPushDescriptorSetInfoKHR *info)
{
    for (uint32_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (uint32_t j = 0; info->stageFlags & points[i].stages && j < info->descriptorWriteCount; j++)
            layer_touch_push(cb, points[i].point, info->set, &info->pDescriptorWrites[j]);
}
#endif

void hook_after_CmdExecuteCommands(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t commandBufferCount,
                                   const VkCommandBuffer *pCommandBuffers)
{
    for (uint32_t i = 0; i < commandBufferCount; i++)
        layer_touch_secondary(cb, layer_cmdbuf_of(pCommandBuffers[i]));
}
