/* SPDX-License-Identifier: MIT */
/* The memory that copies, blits, resolves and clears name. */
#include "gen_layer.h"
#include "layer/command/image_region.h"
#include "layer/command/image_state.h"
#include "layer/command/progress_query.h"
#include "layer/core/records.h"
#include "layer/image/format_utils.h"
#include "vulkan/chain.h"

#define WHOLE UINT64_MAX

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

/* The number of values of each query of a pool; 0: they differ between runs. Counts of shader invocations depend on the
 * driver, and timestamps always differ. */
static uint32_t steady_results(const struct layer_query_pool *pool)
{
    switch (pool->type) {
    case VK_QUERY_TYPE_OCCLUSION:
        return !atomic_load_explicit(&pool->imprecise, memory_order_relaxed);
    case VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT:
        return 2; /* primitives that were written, and that would have been */
    case VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT:
        return 1;
    default:
        return 0;
    }
}

void hook_after_CmdCopyQueryPoolResults(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkQueryPool queryPool,
                                        uint32_t firstQuery, uint32_t queryCount, VkBuffer dstBuffer,
                                        VkDeviceSize dstOffset, VkDeviceSize stride, VkQueryResultFlags flags)
{
    const struct layer_query_pool *pool = LAYER_GET(cb->device, VkQueryPool, queryPool);
    uint32_t results = pool && flags & VK_QUERY_RESULT_WAIT_BIT ? steady_results(pool) : 0;
    /* How much a query writes depends on its kind: up to the buffer's end at most. Between queries nothing is written.
     */
    VkDeviceSize bytes = queryCount <= 1 || !stride ? WHOLE : stride * queryCount;

    if (results && queryCount) {
        bytes = (results + !!(flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)) *
                (flags & VK_QUERY_RESULT_64_BIT ? (VkDeviceSize)8 : 4);
        bytes += (queryCount - 1) * stride;
    }
    layer_copied_queries(cb, queryPool, firstQuery, queryCount);
    layer_touch_buffer(cb, dstBuffer, dstOffset, bytes, results ? LAYER_WRITES_PARTLY : LAYER_WRITES_VARYING);
}

#ifdef VK_AMD_buffer_marker
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
#endif

struct texel_block {
    uint32_t width, height, depth, bytes;
    bool undefined; /* some bits of a texel are undefined and may differ between runs */
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

/* The layout of a copy's texels in the buffer: "Copying Data Between Buffers and Images". */
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

/* VK_QCOM_rotated_copy_commands: the touched texels and bytes depend on the rotation. */
static bool is_turned(const void *chain)
{
    return chain && lap_chain_find(chain, VK_STRUCTURE_TYPE_COPY_COMMAND_TRANSFORM_INFO_QCOM);
}

/* Any texels of the subresource. */
static void touch_turned(struct layer_cmdbuf *cb, VkImage to, const VkImageSubresourceLayers *where)
{
    const VkImageSubresourceRange range = {where->aspectMask, where->mipLevel, 1, where->baseArrayLayer,
                                           where->layerCount};
    layer_touch_image(cb, to, LAYER_WRITES_PARTLY);
    layer_image_step(cb, to, LAYER_STEP_WRITTEN, &range, VK_IMAGE_LAYOUT_UNDEFINED);
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

static void touch_upload(struct layer_cmdbuf *cb, VkBuffer from, VkImage to, const VkBufferImageCopy *region)
{
    touch_texels(cb, from, to, region, false);
    layer_touch_region(cb, to, &region->imageSubresource, region->imageOffset, region->imageExtent, LAYER_WRITES);
}

static void touch_download(struct layer_cmdbuf *cb, VkImage from, VkBuffer to, const VkBufferImageCopy *region)
{
    touch_texels(cb, to, from, region, true);
    layer_touch_image(cb, from, LAYER_READS);
}

void hook_after_CmdCopyBufferToImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkBuffer srcBuffer,
                                     VkImage dstImage, VkImageLayout dstImageLayout, uint32_t regionCount,
                                     const VkBufferImageCopy *pRegions)
{
    for (uint32_t i = 0; i < regionCount; i++)
        touch_upload(cb, srcBuffer, dstImage, &pRegions[i]);
}

void hook_after_CmdCopyBufferToImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      const VkCopyBufferToImageInfo2 *pCopyBufferToImageInfo)
{
    const VkCopyBufferToImageInfo2 *info = pCopyBufferToImageInfo;
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkBufferImageCopy region = plain_region(&info->pRegions[i]);
        if (is_turned(info->pRegions[i].pNext)) {
            layer_touch_buffer(cb, info->srcBuffer, region.bufferOffset, WHOLE, LAYER_READS);
            touch_turned(cb, info->dstImage, &region.imageSubresource);
        } else {
            touch_upload(cb, info->srcBuffer, info->dstImage, &region);
        }
    }
}

void hook_after_CmdCopyImageToBuffer(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                                     VkImageLayout srcImageLayout, VkBuffer dstBuffer, uint32_t regionCount,
                                     const VkBufferImageCopy *pRegions)
{
    for (uint32_t i = 0; i < regionCount; i++)
        touch_download(cb, srcImage, dstBuffer, &pRegions[i]);
}

void hook_after_CmdCopyImageToBuffer2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      const VkCopyImageToBufferInfo2 *pCopyImageToBufferInfo)
{
    const VkCopyImageToBufferInfo2 *info = pCopyImageToBufferInfo;
    for (uint32_t i = 0; i < info->regionCount; i++) {
        VkBufferImageCopy region = plain_region(&info->pRegions[i]);
        if (is_turned(info->pRegions[i].pNext)) {
            layer_touch_buffer(cb, info->dstBuffer, region.bufferOffset, WHOLE, LAYER_WRITES_VARYING);
            layer_touch_image(cb, info->srcImage, LAYER_READS);
        } else {
            touch_download(cb, info->srcImage, info->dstBuffer, &region);
        }
    }
}

/* ---- image to image ---- */

/* The extent is in texels of the source, whose blocks may have another size. */
static void touch_image_copy(struct layer_cmdbuf *cb, VkImage from, VkImage to, const VkImageSubresourceLayers *source,
                             const VkImageSubresourceLayers *where, VkOffset3D offset, VkExtent3D extent)
{
    const struct layer_image *a = LAYER_GET(cb->device, VkImage, from), *b = LAYER_GET(cb->device, VkImage, to);
    struct texel_block from_block, to_block;
    if (!a || !b || a->info.imageType != b->info.imageType ||
        !find_texel_block(a->info.format, source->aspectMask, &from_block) ||
        !find_texel_block(b->info.format, where->aspectMask, &to_block)) {
        const VkImageSubresourceRange range = {where->aspectMask, where->mipLevel, 1, where->baseArrayLayer,
                                               where->layerCount};
        layer_touch_image(cb, to, LAYER_WRITES);
        layer_image_step(cb, to, LAYER_STEP_WRITTEN, &range, VK_IMAGE_LAYOUT_UNDEFINED);
        return;
    }
    extent.width = (extent.width + from_block.width - 1) / from_block.width * to_block.width;
    extent.height = (extent.height + from_block.height - 1) / from_block.height * to_block.height;
    layer_touch_region(cb, to, where, offset, extent, LAYER_WRITES);
}

void hook_after_CmdCopyImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                             VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                             uint32_t regionCount, const VkImageCopy *pRegions)
{
    layer_touch_image(cb, srcImage, LAYER_READS);
    for (uint32_t i = 0; i < regionCount; i++)
        touch_image_copy(cb, srcImage, dstImage, &pRegions[i].srcSubresource, &pRegions[i].dstSubresource,
                         pRegions[i].dstOffset, pRegions[i].extent);
}

void hook_after_CmdCopyImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                              const VkCopyImageInfo2 *pCopyImageInfo)
{
    const VkCopyImageInfo2 *info = pCopyImageInfo;
    layer_touch_image(cb, info->srcImage, LAYER_READS);
    for (uint32_t i = 0; i < info->regionCount; i++)
        touch_image_copy(cb, info->srcImage, info->dstImage, &info->pRegions[i].srcSubresource,
                         &info->pRegions[i].dstSubresource, info->pRegions[i].dstOffset, info->pRegions[i].extent);
}

/* Either corner may be the first. */
static void touch_blit(struct layer_cmdbuf *cb, VkImage to, const VkImageSubresourceLayers *where,
                       const VkOffset3D corners[2])
{
    const VkOffset3D *a = &corners[0], *b = &corners[1];
    VkOffset3D offset = {a->x < b->x ? a->x : b->x, a->y < b->y ? a->y : b->y, a->z < b->z ? a->z : b->z};
    VkExtent3D extent = {(uint32_t)(a->x + b->x - 2 * offset.x), (uint32_t)(a->y + b->y - 2 * offset.y),
                         (uint32_t)(a->z + b->z - 2 * offset.z)};
    layer_touch_region(cb, to, where, offset, extent, LAYER_WRITES);
}

void hook_after_CmdBlitImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                             VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                             uint32_t regionCount, const VkImageBlit *pRegions, VkFilter filter)
{
    layer_touch_image(cb, srcImage, LAYER_READS);
    for (uint32_t i = 0; i < regionCount; i++)
        touch_blit(cb, dstImage, &pRegions[i].dstSubresource, pRegions[i].dstOffsets);
}

void hook_after_CmdBlitImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                              const VkBlitImageInfo2 *pBlitImageInfo)
{
    const VkBlitImageInfo2 *info = pBlitImageInfo;
    layer_touch_image(cb, info->srcImage, LAYER_READS);
    for (uint32_t i = 0; i < info->regionCount; i++)
        if (is_turned(info->pRegions[i].pNext))
            touch_turned(cb, info->dstImage, &info->pRegions[i].dstSubresource);
        else
            touch_blit(cb, info->dstImage, &info->pRegions[i].dstSubresource, info->pRegions[i].dstOffsets);
}

void hook_after_CmdResolveImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage srcImage,
                                VkImageLayout srcImageLayout, VkImage dstImage, VkImageLayout dstImageLayout,
                                uint32_t regionCount, const VkImageResolve *pRegions)
{
    layer_touch_image(cb, srcImage, LAYER_READS);
    for (uint32_t i = 0; i < regionCount; i++)
        layer_touch_region(cb, dstImage, &pRegions[i].dstSubresource, pRegions[i].dstOffset, pRegions[i].extent,
                           LAYER_WRITES);
}

void hook_after_CmdResolveImage2(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                 const VkResolveImageInfo2 *pResolveImageInfo)
{
    const VkResolveImageInfo2 *info = pResolveImageInfo;
    layer_touch_image(cb, info->srcImage, LAYER_READS);
    for (uint32_t i = 0; i < info->regionCount; i++)
        layer_touch_region(cb, info->dstImage, &info->pRegions[i].dstSubresource, info->pRegions[i].dstOffset,
                           info->pRegions[i].extent, LAYER_WRITES);
}

void hook_after_CmdClearColorImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage image,
                                   VkImageLayout imageLayout, const VkClearColorValue *pColor, uint32_t rangeCount,
                                   const VkImageSubresourceRange *pRanges)
{
    for (uint32_t i = 0; i < rangeCount; i++)
        layer_touch_subresources(cb, image, &pRanges[i]);
}

void hook_after_CmdClearDepthStencilImage(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, VkImage image,
                                          VkImageLayout imageLayout, const VkClearDepthStencilValue *pDepthStencil,
                                          uint32_t rangeCount, const VkImageSubresourceRange *pRanges)
{
    layer_touch_image(cb, image, LAYER_WRITES);
    for (uint32_t i = 0; i < rangeCount; i++)
        layer_image_step(cb, image, LAYER_STEP_COVERED, &pRanges[i], VK_IMAGE_LAYOUT_UNDEFINED);
}
