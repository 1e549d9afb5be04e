/* SPDX-License-Identifier: MIT */
/* Which memory each command names: read from the specification of the command, one hook each. */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/format_utils.h"
#include "layer/records.h"
#include "layer/resource.h"
#include "layer/touched.h"

#define WHOLE UINT64_MAX

/* Commands that Vulkan 1.4 took over from extensions have lost their suffix in its registry. */
#ifdef VK_VERSION_1_4
#define hook_after_CmdPushDescriptorSetKHR   hook_after_CmdPushDescriptorSet
#define hook_after_CmdBindIndexBuffer2KHR    hook_after_CmdBindIndexBuffer2
#define hook_after_CmdBindDescriptorSets2KHR hook_after_CmdBindDescriptorSets2
#define hook_after_CmdPushDescriptorSet2KHR  hook_after_CmdPushDescriptorSet2
#endif

/* ---- transfers ---- */

void hook_after_CmdCopyBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer srcBuffer,
                              VkBuffer dstBuffer, uint32_t regionCount, const VkBufferCopy *pRegions)
{
    for (uint32_t i = 0; i < regionCount; i++) {
        layer_touch_buffer(cb, srcBuffer, pRegions[i].srcOffset, pRegions[i].size, LAYER_READS);
        layer_touch_buffer(cb, dstBuffer, pRegions[i].dstOffset, pRegions[i].size, LAYER_WRITES);
    }
}

void hook_after_CmdCopyBuffer2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                               const VkCopyBufferInfo2 *pCopyBufferInfo)
{
    for (uint32_t i = 0; i < pCopyBufferInfo->regionCount; i++) {
        const VkBufferCopy2 *region = &pCopyBufferInfo->pRegions[i];
        layer_touch_buffer(cb, pCopyBufferInfo->srcBuffer, region->srcOffset, region->size, LAYER_READS);
        layer_touch_buffer(cb, pCopyBufferInfo->dstBuffer, region->dstOffset, region->size, LAYER_WRITES);
    }
}

void hook_after_CmdUpdateBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer dstBuffer,
                                VkDeviceSize dstOffset, VkDeviceSize dataSize, const void *pData)
{
    layer_touch_buffer(cb, dstBuffer, dstOffset, dataSize, LAYER_WRITES);
}

void hook_after_CmdFillBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer dstBuffer,
                              VkDeviceSize dstOffset, VkDeviceSize size, uint32_t data)
{
    const struct layer_buffer *buffer = LAYER_GET(cb->device, VkBuffer, dstBuffer);
    if (buffer && size == VK_WHOLE_SIZE && dstOffset < buffer->bytes) /* "rounded down to the nearest multiple of 4" */
        size = (buffer->bytes - dstOffset) & ~(VkDeviceSize)3;
    layer_touch_buffer(cb, dstBuffer, dstOffset, size, LAYER_WRITES);
}

void hook_after_CmdCopyQueryPoolResults(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                        uint32_t firstQuery, uint32_t queryCount, VkBuffer dstBuffer,
                                        VkDeviceSize dstOffset, VkDeviceSize stride, VkQueryResultFlags flags)
{
    /* How much a query writes depends on its kind: up to the buffer's end at most. Between queries nothing is written.
     */
    VkDeviceSize bytes = queryCount <= 1 || !stride ? WHOLE : stride * queryCount;
    layer_touch_buffer(cb, dstBuffer, dstOffset, bytes, LAYER_WRITES_VARYING);
}

void hook_after_CmdWriteBufferMarkerAMD(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        VkPipelineStageFlagBits pipelineStage, VkBuffer dstBuffer,
                                        VkDeviceSize dstOffset, uint32_t marker)
{
    layer_touch_buffer(cb, dstBuffer, dstOffset, 4, LAYER_WRITES);
}

void hook_after_CmdWriteBufferMarker2AMD(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                         VkPipelineStageFlags2 stage, VkBuffer dstBuffer, VkDeviceSize dstOffset,
                                         uint32_t marker)
{
    layer_touch_buffer(cb, dstBuffer, dstOffset, 4, LAYER_WRITES);
}

struct texel_block {
    uint32_t width, height, depth, bytes;
    bool undefined; /* some bits of a texel mean nothing and may differ from run to run */
};

/* The texel block of one aspect, as copies between buffers and images have it. False for formats that are not known. */
static bool find_texel_block(VkFormat format, VkImageAspectFlags aspect, struct texel_block *out)
{
    if (FormatPlaneCount(format) > 1) {
        format = FindMultiplaneCompatibleFormat(format, aspect);
        aspect = VK_IMAGE_ASPECT_COLOR_BIT;
    }
    VkExtent3D extent = FormatTexelBlockExtent(format);
    *out = (struct texel_block){extent.width, extent.height, extent.depth, layer_element_bytes(format, aspect),
                                layer_element_bytes(format, aspect) != FormatElementSize(format, aspect)};
    return out->bytes && out->width && out->height && out->depth;
}

/* Where the texels of a copy lie in the buffer: "Copying Data Between Buffers and Images". */
static void touch_texels(struct layer_cmdbuf *cb, VkBuffer buffer, VkImage image, const VkBufferImageCopy *region,
                         bool written)
{
    const struct layer_image *record = LAYER_GET(cb->device, VkImage, image);
    const VkImageSubresourceLayers *sub = &region->imageSubresource;
    uint64_t width, height, slices, row_blocks, slice_rows, bytes;
    struct texel_block block;
    bool gaps;

    if (!record || !find_texel_block(record->info.format, sub->aspectMask, &block)) {
        layer_touch_buffer(cb, buffer, region->bufferOffset, WHOLE, written ? LAYER_WRITES_VARYING : LAYER_READS);
        return;
    }
    width = (region->imageExtent.width + block.width - 1) / block.width;
    height = (region->imageExtent.height + block.height - 1) / block.height;
    slices = (region->imageExtent.depth + block.depth - 1) / block.depth;
    slices *=
        sub->layerCount == VK_REMAINING_ARRAY_LAYERS ? record->info.arrayLayers - sub->baseArrayLayer : sub->layerCount;
    row_blocks = region->bufferRowLength ? (region->bufferRowLength + block.width - 1) / block.width : width;
    slice_rows = region->bufferImageHeight ? (region->bufferImageHeight + block.height - 1) / block.height : height;
    if (!width || !height || !slices)
        return;
    bytes = (((slices - 1) * slice_rows + height - 1) * row_blocks + width) * block.bytes;
    gaps = (row_blocks != width && height * slices > 1) || (slice_rows != height && slices > 1);
    layer_touch_buffer(cb, buffer, region->bufferOffset, bytes,
                       !written                  ? LAYER_READS
                       : gaps || block.undefined ? LAYER_WRITES_VARYING
                                                 : LAYER_WRITES);
}

static VkBufferImageCopy plain_region(const VkBufferImageCopy2 *region)
{
    return (VkBufferImageCopy){.bufferOffset = region->bufferOffset,
                               .bufferRowLength = region->bufferRowLength,
                               .bufferImageHeight = region->bufferImageHeight,
                               .imageSubresource = region->imageSubresource,
                               .imageOffset = region->imageOffset,
                               .imageExtent = region->imageExtent};
}

void hook_after_CmdCopyBufferToImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer srcBuffer,
                                     VkImage dstImage, VkImageLayout dstImageLayout, uint32_t regionCount,
                                     const VkBufferImageCopy *pRegions)
{
    for (uint32_t i = 0; i < regionCount; i++)
        touch_texels(cb, srcBuffer, dstImage, &pRegions[i], false);
    layer_touch_image(cb, dstImage, LAYER_WRITES);
}

void hook_after_CmdCopyBufferToImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      const VkCopyBufferToImageInfo2 *pCopyBufferToImageInfo)
{
    for (uint32_t i = 0; i < pCopyBufferToImageInfo->regionCount; i++) {
        VkBufferImageCopy region = plain_region(&pCopyBufferToImageInfo->pRegions[i]);
        touch_texels(cb, pCopyBufferToImageInfo->srcBuffer, pCopyBufferToImageInfo->dstImage, &region, false);
    }
    layer_touch_image(cb, pCopyBufferToImageInfo->dstImage, LAYER_WRITES);
}

void hook_after_CmdCopyImageToBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                                     VkImageLayout srcImageLayout, VkBuffer dstBuffer, uint32_t regionCount,
                                     const VkBufferImageCopy *pRegions)
{
    for (uint32_t i = 0; i < regionCount; i++)
        touch_texels(cb, dstBuffer, srcImage, &pRegions[i], true);
    layer_touch_image(cb, srcImage, LAYER_READS);
}

void hook_after_CmdCopyImageToBuffer2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      const VkCopyImageToBufferInfo2 *pCopyImageToBufferInfo)
{
    for (uint32_t i = 0; i < pCopyImageToBufferInfo->regionCount; i++) {
        VkBufferImageCopy region = plain_region(&pCopyImageToBufferInfo->pRegions[i]);
        touch_texels(cb, pCopyImageToBufferInfo->dstBuffer, pCopyImageToBufferInfo->srcImage, &region, true);
    }
    layer_touch_image(cb, pCopyImageToBufferInfo->srcImage, LAYER_READS);
}

static void touch_images(struct layer_cmdbuf *cb, VkImage from, VkImage to)
{
    layer_touch_image(cb, from, LAYER_READS);
    layer_touch_image(cb, to, LAYER_WRITES);
}

void hook_after_CmdCopyImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                             VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                             uint32_t regionCount, const VkImageCopy *pRegions)
{
    touch_images(cb, srcImage, dstImage);
}

void hook_after_CmdCopyImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                              const VkCopyImageInfo2 *pCopyImageInfo)
{
    touch_images(cb, pCopyImageInfo->srcImage, pCopyImageInfo->dstImage);
}

void hook_after_CmdBlitImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                             VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                             uint32_t regionCount, const VkImageBlit *pRegions, VkFilter filter)
{
    touch_images(cb, srcImage, dstImage);
}

void hook_after_CmdBlitImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                              const VkBlitImageInfo2 *pBlitImageInfo)
{
    touch_images(cb, pBlitImageInfo->srcImage, pBlitImageInfo->dstImage);
}

void hook_after_CmdResolveImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                                VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                                uint32_t regionCount, const VkImageResolve *pRegions)
{
    touch_images(cb, srcImage, dstImage);
}

void hook_after_CmdResolveImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                 const VkResolveImageInfo2 *pResolveImageInfo)
{
    touch_images(cb, pResolveImageInfo->srcImage, pResolveImageInfo->dstImage);
}

void hook_after_CmdClearColorImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage image,
                                   VkImageLayout imageLayout, const VkClearColorValue *pColor, uint32_t rangeCount,
                                   const VkImageSubresourceRange *pRanges)
{
    layer_touch_image(cb, image, LAYER_WRITES);
}

void hook_after_CmdClearDepthStencilImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage image,
                                          VkImageLayout imageLayout, const VkClearDepthStencilValue *pDepthStencil,
                                          uint32_t rangeCount, const VkImageSubresourceRange *pRanges)
{
    layer_touch_image(cb, image, LAYER_WRITES);
}

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

static void touch_indirect_count(struct layer_cmdbuf *cb, VkBuffer buffer, VkDeviceSize offset, VkBuffer count_buffer,
                                 VkDeviceSize count_offset, uint32_t count, uint32_t stride, uint32_t bytes)
{
    touch_indirect(cb, buffer, offset, count, stride, bytes);
    layer_touch_buffer(cb, count_buffer, count_offset, 4, LAYER_READS);
}

void hook_after_CmdDrawIndirect(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawIndirectCommand));
}

void hook_after_CmdDrawIndexedIndirect(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                       VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawIndexedIndirectCommand));
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
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                         sizeof(VkDrawIndirectCommand));
}

void hook_after_CmdDrawIndexedIndirectCount(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                            VkDeviceSize offset, VkBuffer countBuffer, VkDeviceSize countBufferOffset,
                                            uint32_t maxDrawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                         sizeof(VkDrawIndexedIndirectCommand));
}

void hook_after_CmdDrawMeshTasksIndirectEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                            VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

void hook_after_CmdDrawMeshTasksIndirectCountEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                 VkBuffer buffer, VkDeviceSize offset, VkBuffer countBuffer,
                                                 VkDeviceSize countBufferOffset, uint32_t maxDrawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                         sizeof(VkDrawMeshTasksIndirectCommandEXT));
}

void hook_after_CmdDrawMeshTasksIndirectNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                           VkDeviceSize offset, uint32_t drawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect(cb, buffer, offset, drawCount, stride, sizeof(VkDrawMeshTasksIndirectCommandNV));
}

void hook_after_CmdDrawMeshTasksIndirectCountNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer buffer,
                                                VkDeviceSize offset, VkBuffer countBuffer,
                                                VkDeviceSize countBufferOffset, uint32_t maxDrawCount, uint32_t stride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch_indirect_count(cb, buffer, offset, countBuffer, countBufferOffset, maxDrawCount, stride,
                         sizeof(VkDrawMeshTasksIndirectCommandNV));
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

/* ---- transform feedback: how much is written is up to the shaders ---- */

void hook_after_CmdBindTransformFeedbackBuffersEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                   uint32_t firstBinding, uint32_t bindingCount,
                                                   const VkBuffer *pBuffers, const VkDeviceSize *pOffsets,
                                                   const VkDeviceSize *pSizes)
{
    touch_buffers(cb, bindingCount, pBuffers, pOffsets, pSizes, LAYER_WRITES_VARYING);
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
                           LAYER_WRITES_VARYING);
}

/* ---- attachments ---- */

void layer_framebuffer_finish(struct lap_object *object)
{
    free(((struct layer_framebuffer *)object)->resources);
}

void hook_after_CreateFramebuffer(struct layer_device *dev, VkDevice device, const VkFramebufferCreateInfo *pCreateInfo,
                                  const VkAllocationCallbacks *pAllocator, VkFramebuffer *pFramebuffer, VkResult result)
{
    struct layer_framebuffer *record = LAYER_GET(dev, VkFramebuffer, *pFramebuffer);
    if (!record || record->resources || pCreateInfo->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT)
        return;
    for (uint32_t i = 0; i < pCreateInfo->attachmentCount; i++) {
        struct layer_descriptor_slot slot;
        if (!layer_slot_of_image(dev, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, pCreateInfo->pAttachments[i], &slot))
            continue;
        if (!record->resources)
            record->resources = malloc(pCreateInfo->attachmentCount * sizeof record->resources[0]);
        if (!record->resources) {
            layer_stop("out of memory");
            return;
        }
        record->resources[record->resource_count++] = slot.resource;
    }
}

static void touch_view(struct layer_cmdbuf *cb, VkImageView view, enum layer_touch how)
{
    const struct layer_image_view *record = LAYER_GET(cb->device, VkImageView, view);
    if (record && record->image)
        layer_touch_image(cb, gen_VkImage(record->image->object.handle), how);
}

static void begin_render_pass(struct layer_cmdbuf *cb, const VkRenderPassBeginInfo *info)
{
    const VkRenderPassAttachmentBeginInfo *imageless =
        layer_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO);
    const struct layer_framebuffer *framebuffer = LAYER_GET(cb->device, VkFramebuffer, info->framebuffer);
    for (uint32_t i = 0; framebuffer && i < framebuffer->resource_count; i++)
        layer_touch_resource(cb, framebuffer->resources[i], LAYER_WRITES);
    for (uint32_t i = 0; imageless && i < imageless->attachmentCount; i++)
        touch_view(cb, imageless->pAttachments[i], LAYER_WRITES);
}

void hook_after_CmdBeginRenderPass(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                   const VkRenderPassBeginInfo *pRenderPassBegin, VkSubpassContents contents)
{
    begin_render_pass(cb, pRenderPassBegin);
}

void hook_after_CmdBeginRenderPass2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                    const VkRenderPassBeginInfo *pRenderPassBegin,
                                    const VkSubpassBeginInfo *pSubpassBeginInfo)
{
    begin_render_pass(cb, pRenderPassBegin);
}

static void touch_attachment(struct layer_cmdbuf *cb, const VkRenderingAttachmentInfo *attachment)
{
    if (!attachment)
        return;
    touch_view(cb, attachment->imageView, LAYER_WRITES);
    if (attachment->resolveMode != VK_RESOLVE_MODE_NONE)
        touch_view(cb, attachment->resolveImageView, LAYER_WRITES);
}

void hook_after_CmdBeginRendering(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                  const VkRenderingInfo *pRenderingInfo)
{
    const VkRenderingFragmentShadingRateAttachmentInfoKHR *rate =
        layer_chain_find(pRenderingInfo->pNext, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
    const VkRenderingFragmentDensityMapAttachmentInfoEXT *density =
        layer_chain_find(pRenderingInfo->pNext, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT);
    for (uint32_t i = 0; i < pRenderingInfo->colorAttachmentCount; i++)
        touch_attachment(cb, &pRenderingInfo->pColorAttachments[i]);
    touch_attachment(cb, pRenderingInfo->pDepthAttachment);
    touch_attachment(cb, pRenderingInfo->pStencilAttachment);
    if (rate)
        touch_view(cb, rate->imageView, LAYER_READS);
    if (density)
        touch_view(cb, density->imageView, LAYER_READS);
}

void hook_after_CmdBindShadingRateImageNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImageView imageView,
                                          VkImageLayout imageLayout)
{
    touch_view(cb, imageView, LAYER_READS);
}

/* ---- descriptors and secondary command buffers ---- */

void hook_after_CmdBindDescriptorSets(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      VkPipelineBindPoint pipelineBindPoint, VkPipelineLayout layout, uint32_t firstSet,
                                      uint32_t descriptorSetCount, const VkDescriptorSet *pDescriptorSets,
                                      uint32_t dynamicOffsetCount, const uint32_t *pDynamicOffsets)
{
    layer_touch_sets(cb, pipelineBindPoint, firstSet, descriptorSetCount, pDescriptorSets, dynamicOffsetCount,
                     pDynamicOffsets);
}

void hook_after_CmdPushDescriptorSetKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        VkPipelineBindPoint pipelineBindPoint, VkPipelineLayout layout, uint32_t set,
                                        uint32_t descriptorWriteCount, const VkWriteDescriptorSet *pDescriptorWrites)
{
    for (uint32_t i = 0; i < descriptorWriteCount; i++)
        layer_touch_push(cb, pipelineBindPoint, set, &pDescriptorWrites[i]);
}

#ifdef VK_KHR_maintenance6
/* The stages stand for the bind points that they belong to. */
static const struct {
    VkShaderStageFlags stages;
    VkPipelineBindPoint point;
} points[] = {
    {VK_SHADER_STAGE_COMPUTE_BIT, VK_PIPELINE_BIND_POINT_COMPUTE},
    {VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT,
     VK_PIPELINE_BIND_POINT_GRAPHICS},
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
