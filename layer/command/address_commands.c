/* SPDX-License-Identifier: MIT */
/* The memory of commands that take device addresses instead of buffers. If the address lies in a known buffer, they
 * touch the same memory as the command with buffers, otherwise everything. */
#include "gen_layer.h"
#include "layer/command/image_region.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/memory/address_range.h"

struct place {
    VkBuffer buffer;
    VkDeviceSize offset;
};

/* False: the address is null (nothing is touched), or no known buffer contains the bytes (everything is touched). */
static bool __attribute__((unused))
find(struct layer_cmdbuf *cb, VkDeviceAddress address, VkDeviceSize bytes, struct place *out)
{
    if (!address || layer_address_range_find(cb->device, address, bytes, &out->buffer, &out->offset))
        return address != 0;
    layer_touch_unknown(cb);
    return false;
}

static void __attribute__((unused))
touch(struct layer_cmdbuf *cb, VkDeviceAddress address, VkDeviceSize bytes, enum layer_touch how)
{
    struct place at;
    if (bytes && find(cb, address, bytes, &at))
        layer_touch_buffer(cb, at.buffer, at.offset, bytes, how);
}

/* ---- indirect copies: the regions are in device memory, so the buffer ranges can't be known ---- */

static void touch_subresources(struct layer_cmdbuf *cb, VkImage image, uint32_t count,
                               const VkImageSubresourceLayers *subresources)
{
    layer_touch_unknown(cb);
    for (uint32_t i = 0; subresources && i < count; i++) {
        const VkImageSubresourceRange range = {subresources[i].aspectMask, subresources[i].mipLevel, 1,
                                               subresources[i].baseArrayLayer, subresources[i].layerCount};
        layer_touch_subresources(cb, image, &range);
    }
}

#ifdef VK_NV_copy_memory_indirect
void hook_after_CmdCopyMemoryToImageIndirectNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                               VkDeviceAddress copyBufferAddress, uint32_t copyCount, uint32_t stride,
                                               VkImage dstImage, VkImageLayout dstImageLayout,
                                               const VkImageSubresourceLayers *pImageSubresources)
{
    touch_subresources(cb, dstImage, copyCount, pImageSubresources);
}
#endif

#ifdef VK_KHR_copy_memory_indirect
void hook_after_CmdCopyMemoryToImageIndirectKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                const VkCopyMemoryToImageIndirectInfoKHR *info)
{
    touch_subresources(cb, info->dstImage, info->copyCount, info->pImageSubresources);
}
#endif

/* ---- decompression ---- */

#ifdef VK_NV_memory_decompression
void hook_after_CmdDecompressMemoryNV(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      uint32_t decompressRegionCount,
                                      const VkDecompressMemoryRegionNV *pDecompressMemoryRegions)
{
    for (uint32_t i = 0; i < decompressRegionCount; i++) {
        const VkDecompressMemoryRegionNV *region = &pDecompressMemoryRegions[i];
        touch(cb, region->srcAddress, region->compressedSize, LAYER_READS);
        touch(cb, region->dstAddress, region->decompressedSize, LAYER_WRITES);
    }
}
#endif

#ifdef VK_EXT_memory_decompression
void hook_after_CmdDecompressMemoryEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                       const VkDecompressMemoryInfoEXT *pDecompressMemoryInfoEXT)
{
    for (uint32_t i = 0; i < pDecompressMemoryInfoEXT->regionCount; i++) {
        const VkDecompressMemoryRegionEXT *region = &pDecompressMemoryInfoEXT->pRegions[i];
        touch(cb, region->srcAddress, region->compressedSize, LAYER_READS);
        touch(cb, region->dstAddress, region->decompressedSize, LAYER_WRITES);
    }
}
#endif

/* ---- generated commands: pipelines, buffers and parameters are in memory ---- */

#ifdef VK_EXT_device_generated_commands
void hook_after_CmdExecuteGeneratedCommandsEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                               VkBool32 isPreprocessed,
                                               const VkGeneratedCommandsInfoEXT *pGeneratedCommandsInfo)
{
    layer_touch_unknown(cb);
    if (pGeneratedCommandsInfo->shaderStages & VK_SHADER_STAGE_COMPUTE_BIT)
        layer_touch_work(cb, LAYER_BIND_COMPUTE);
    else
        layer_touch_work(cb, LAYER_BIND_GRAPHICS);
}
#endif

#ifdef VK_KHR_device_address_commands

static void touch_range(struct layer_cmdbuf *cb, const VkDeviceAddressRangeKHR *range, enum layer_touch how)
{
    touch(cb, range->address, range->size, how);
}

/* ---- reads of draws and dispatches ---- */

void hook_after_CmdBindIndexBuffer3KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                       const VkBindIndexBuffer3InfoKHR *pInfo)
{
    touch_range(cb, &pInfo->addressRange, LAYER_READS);
}

void hook_after_CmdBindVertexBuffers3KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t firstBinding,
                                         uint32_t bindingCount, const VkBindVertexBuffer3InfoKHR *pBindingInfos)
{
    for (uint32_t i = 0; i < bindingCount; i++)
        touch(cb, pBindingInfos[i].addressRange.address, pBindingInfos[i].addressRange.size, LAYER_READS);
}

static void draw_indirect(struct layer_cmdbuf *cb, const VkStridedDeviceAddressRangeKHR *range)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch(cb, range->address, range->size, LAYER_READS);
}

void hook_after_CmdDrawIndirect2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                    const VkDrawIndirect2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
}

void hook_after_CmdDrawIndexedIndirect2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                           const VkDrawIndirect2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
}

void hook_after_CmdDrawMeshTasksIndirect2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                             const VkDrawIndirect2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
}

void hook_after_CmdDrawIndirectCount2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                         const VkDrawIndirectCount2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
    touch_range(cb, &pInfo->countAddressRange, LAYER_READS);
}

void hook_after_CmdDrawIndexedIndirectCount2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                const VkDrawIndirectCount2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
    touch_range(cb, &pInfo->countAddressRange, LAYER_READS);
}

void hook_after_CmdDrawMeshTasksIndirectCount2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                  const VkDrawIndirectCount2InfoKHR *pInfo)
{
    draw_indirect(cb, &pInfo->addressRange);
    touch_range(cb, &pInfo->countAddressRange, LAYER_READS);
}

void hook_after_CmdDispatchIndirect2KHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        const VkDispatchIndirect2InfoKHR *pInfo)
{
    layer_touch_work(cb, LAYER_BIND_COMPUTE);
    touch_range(cb, &pInfo->addressRange, LAYER_READS);
}

void hook_after_CmdBeginConditionalRendering2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                 const VkConditionalRenderingBeginInfo2EXT *pConditionalRenderingBegin)
{
    touch(cb, pConditionalRenderingBegin->addressRange.address, 4, LAYER_READS);
}

/* ---- copies ---- */

void hook_after_CmdCopyMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                 const VkCopyDeviceMemoryInfoKHR *pCopyMemoryInfo)
{
    for (uint32_t i = 0; i < pCopyMemoryInfo->regionCount; i++) {
        touch_range(cb, &pCopyMemoryInfo->pRegions[i].srcRange, LAYER_READS);
        touch_range(cb, &pCopyMemoryInfo->pRegions[i].dstRange, LAYER_WRITES);
    }
}

/* The region of the same copy with a buffer; `at` is where its first byte lies. */
static VkBufferImageCopy2 with_buffer(const VkDeviceMemoryImageCopyKHR *region, const struct place *at)
{
    return (VkBufferImageCopy2){.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                .pNext = region->pNext,
                                .bufferOffset = at->offset,
                                .bufferRowLength = region->addressRowLength,
                                .bufferImageHeight = region->addressImageHeight,
                                .imageSubresource = region->imageSubresource,
                                .imageOffset = region->imageOffset,
                                .imageExtent = region->imageExtent};
}

void hook_after_CmdCopyMemoryToImageKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        const VkCopyDeviceMemoryImageInfoKHR *pCopyMemoryInfo)
{
    for (uint32_t i = 0; pCopyMemoryInfo && i < pCopyMemoryInfo->regionCount; i++) {
        const VkDeviceMemoryImageCopyKHR *from = &pCopyMemoryInfo->pRegions[i];
        struct place at = {VK_NULL_HANDLE, 0};
        find(cb, from->addressRange.address, from->addressRange.size, &at);
        const VkBufferImageCopy2 region = with_buffer(from, &at);
        const VkCopyBufferToImageInfo2 info = {.srcBuffer = at.buffer,
                                               .dstImage = pCopyMemoryInfo->image,
                                               .dstImageLayout = from->imageLayout,
                                               .regionCount = 1,
                                               .pRegions = &region};
        hook_after_CmdCopyBufferToImage2(cb, commandBuffer, &info);
    }
}

void hook_after_CmdCopyImageToMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                        const VkCopyDeviceMemoryImageInfoKHR *pCopyMemoryInfo)
{
    for (uint32_t i = 0; pCopyMemoryInfo && i < pCopyMemoryInfo->regionCount; i++) {
        const VkDeviceMemoryImageCopyKHR *to = &pCopyMemoryInfo->pRegions[i];
        struct place at = {VK_NULL_HANDLE, 0};
        find(cb, to->addressRange.address, to->addressRange.size, &at);
        const VkBufferImageCopy2 region = with_buffer(to, &at);
        const VkCopyImageToBufferInfo2 info = {.srcImage = pCopyMemoryInfo->image,
                                               .srcImageLayout = to->imageLayout,
                                               .dstBuffer = at.buffer,
                                               .regionCount = 1,
                                               .pRegions = &region};
        hook_after_CmdCopyImageToBuffer2(cb, commandBuffer, &info);
    }
}

void hook_after_CmdUpdateMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                   const VkDeviceAddressRangeKHR *pDstRange, VkAddressCommandFlagsKHR dstFlags,
                                   VkDeviceSize dataSize, const void *pData)
{
    touch(cb, pDstRange->address, dataSize, LAYER_WRITES);
}

void hook_after_CmdFillMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                 const VkDeviceAddressRangeKHR *pDstRange, VkAddressCommandFlagsKHR dstFlags,
                                 uint32_t data)
{
    touch(cb, pDstRange->address, pDstRange->size & ~(VkDeviceSize)3, LAYER_WRITES);
}

void hook_after_CmdCopyQueryPoolResultsToMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                   VkQueryPool queryPool, uint32_t firstQuery, uint32_t queryCount,
                                                   const VkStridedDeviceAddressRangeKHR *pDstRange,
                                                   VkAddressCommandFlagsKHR dstFlags,
                                                   VkQueryResultFlags queryResultFlags)
{
    struct place at;
    if (find(cb, pDstRange->address, pDstRange->size, &at))
        hook_after_CmdCopyQueryPoolResults(cb, commandBuffer, queryPool, firstQuery, queryCount, at.buffer, at.offset,
                                           pDstRange->stride, queryResultFlags);
}

void hook_after_CmdWriteMarkerToMemoryAMD(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                          const VkMemoryMarkerInfoAMD *pInfo)
{
    touch(cb, pInfo->dstRange.address, 4, LAYER_WRITES);
}

/* ---- transform feedback: how much is written is up to the shaders, and the rest stays ---- */

void hook_after_CmdBindTransformFeedbackBuffers2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                    uint32_t firstBinding, uint32_t bindingCount,
                                                    const VkBindTransformFeedbackBuffer2InfoEXT *pBindingInfos)
{
    for (uint32_t i = 0; i < bindingCount; i++)
        touch_range(cb, &pBindingInfos[i].addressRange, LAYER_WRITES_PARTLY);
}

void hook_after_CmdBeginTransformFeedback2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                              uint32_t firstCounterRange, uint32_t counterRangeCount,
                                              const VkBindTransformFeedbackBuffer2InfoEXT *pCounterInfos)
{
    for (uint32_t i = 0; pCounterInfos && i < counterRangeCount; i++)
        touch(cb, pCounterInfos[i].addressRange.address, 4, LAYER_READS);
}

void hook_after_CmdEndTransformFeedback2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                            uint32_t firstCounterRange, uint32_t counterRangeCount,
                                            const VkBindTransformFeedbackBuffer2InfoEXT *pCounterInfos)
{
    for (uint32_t i = 0; pCounterInfos && i < counterRangeCount; i++)
        touch(cb, pCounterInfos[i].addressRange.address, 4, LAYER_WRITES);
}

void hook_after_CmdDrawIndirectByteCount2EXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                             uint32_t instanceCount, uint32_t firstInstance,
                                             const VkBindTransformFeedbackBuffer2InfoEXT *pCounterInfo,
                                             uint32_t counterOffset, uint32_t vertexStride)
{
    layer_touch_work(cb, LAYER_BIND_GRAPHICS);
    touch(cb, pCounterInfo->addressRange.address, 4, LAYER_READS);
}
#endif
