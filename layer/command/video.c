/* SPDX-License-Identifier: MIT */
/* video: the memory that video decode and encode commands touch. A decoded picture is the same on every device.
 * Reference pictures that a device keeps, and the output of an encoder, depend on the device, so `capture --verify`
 * leaves them out. */
#include "gen_layer.h"
#include "layer/command/image_region.h"
#include "layer/command/image_state.h"
#include "layer/core/records.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

static const struct layer_image_view *view_of(struct layer_cmdbuf *cb, const VkVideoPictureResourceInfoKHR *picture)
{
    const struct layer_image_view *view =
        picture ? LAYER_GET(cb->device, VkImageView, picture->imageViewBinding) : NULL;

    return view && view->image ? view : NULL;
}

static VkImage image_of(const struct layer_image_view *view)
{
    return gen_VkImage(view->image->object.handle);
}

static void read_picture(struct layer_cmdbuf *cb, const VkVideoPictureResourceInfoKHR *picture)
{
    const struct layer_image_view *view = view_of(cb, picture);

    if (view)
        layer_touch_image(cb, image_of(view), LAYER_READS);
}

static void write_picture(struct layer_cmdbuf *cb, const VkVideoPictureResourceInfoKHR *picture)
{
    const struct layer_image_view *view = view_of(cb, picture);

    if (view) {
        const VkImageSubresourceLayers where = {VK_IMAGE_ASPECT_COLOR_BIT, view->range.first_level,
                                                view->range.first_layer + picture->baseArrayLayer, 1};
        layer_touch_region(cb, image_of(view), &where, (VkOffset3D){picture->codedOffset.x, picture->codedOffset.y, 0},
                           (VkExtent3D){picture->codedExtent.width, picture->codedExtent.height, 1}, LAYER_WRITES);
    }
}

/* A picture in a form of the device's own. */
static void keep_picture(struct layer_cmdbuf *cb, const VkVideoReferenceSlotInfoKHR *slot)
{
    const struct layer_image_view *view = slot ? view_of(cb, slot->pPictureResource) : NULL;

    if (view) {
        const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, view->range.first_level, 1,
                                               view->range.first_layer + slot->pPictureResource->baseArrayLayer, 1};
        layer_touch_image(cb, image_of(view), LAYER_WRITES_VARYING);
        layer_image_step(cb, image_of(view), LAYER_STEP_VARIES, &range, VK_IMAGE_LAYOUT_UNDEFINED);
    }
}

static void read_references(struct layer_cmdbuf *cb, uint32_t count, const VkVideoReferenceSlotInfoKHR *slots)
{
    for (uint32_t i = 0; i < count; i++)
        read_picture(cb, slots[i].pPictureResource);
}

/* Queries of these commands are begun and ended by the command itself. */
static void end_queries(struct layer_cmdbuf *cb, VkCommandBuffer commands, const void *chain)
{
#ifdef VK_KHR_video_maintenance1
    const VkVideoInlineQueryInfoKHR *info = lap_chain_find(chain, VK_STRUCTURE_TYPE_VIDEO_INLINE_QUERY_INFO_KHR);

    for (uint32_t i = 0; info && info->queryPool && i < info->queryCount; i++)
        hook_after_CmdEndQuery(cb, commands, info->queryPool, info->firstQuery + i);
#endif
}

void hook_after_CmdDecodeVideoKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                  const VkVideoDecodeInfoKHR *pDecodeInfo)
{
    const VkVideoReferenceSlotInfoKHR *setup = pDecodeInfo->pSetupReferenceSlot;
    const VkVideoPictureResourceInfoKHR *kept = setup ? setup->pPictureResource : NULL;
    const VkVideoPictureResourceInfoKHR *shown = &pDecodeInfo->dstPictureResource;

    layer_touch_buffer(cb, pDecodeInfo->srcBuffer, pDecodeInfo->srcBufferOffset, pDecodeInfo->srcBufferRange,
                       LAYER_READS);
    read_references(cb, pDecodeInfo->referenceSlotCount, pDecodeInfo->pReferenceSlots);
    write_picture(cb, shown);
    if (kept && (kept->imageViewBinding != shown->imageViewBinding || kept->baseArrayLayer != shown->baseArrayLayer))
        keep_picture(cb, setup);
    end_queries(cb, commandBuffer, pDecodeInfo->pNext);
}

#ifdef VK_KHR_video_encode_queue
void hook_after_CmdEncodeVideoKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                  const VkVideoEncodeInfoKHR *pEncodeInfo)
{
#ifdef VK_KHR_video_encode_quantization_map
    const VkVideoEncodeQuantizationMapInfoKHR *map =
        lap_chain_find(pEncodeInfo->pNext, VK_STRUCTURE_TYPE_VIDEO_ENCODE_QUANTIZATION_MAP_INFO_KHR);
    const struct layer_image_view *view = map ? LAYER_GET(cb->device, VkImageView, map->quantizationMap) : NULL;

    if (view && view->image)
        layer_touch_image(cb, image_of(view), LAYER_READS);
#endif
    read_picture(cb, &pEncodeInfo->srcPictureResource);
    read_references(cb, pEncodeInfo->referenceSlotCount, pEncodeInfo->pReferenceSlots);
    keep_picture(cb, pEncodeInfo->pSetupReferenceSlot);
    layer_touch_buffer(cb, pEncodeInfo->dstBuffer, pEncodeInfo->dstBufferOffset, pEncodeInfo->dstBufferRange,
                       LAYER_WRITES_VARYING);
    end_queries(cb, commandBuffer, pEncodeInfo->pNext);
}
#endif

/* ---- times of removal ---- */

void hook_after_CreateVideoSessionParametersKHR(struct layer_device *dev, VkDevice device,
                                                const VkVideoSessionParametersCreateInfoKHR *pCreateInfo,
                                                const VkAllocationCallbacks *pAllocator,
                                                VkVideoSessionParametersKHR *pVideoSessionParameters, VkResult result)
{
#ifdef VK_KHR_video_encode_av1
    struct layer_video_parameters *record = LAYER_GET(dev, VkVideoSessionParametersKHR, *pVideoSessionParameters);
    const VkVideoEncodeAV1SessionParametersCreateInfoKHR *info =
        lap_chain_find(pCreateInfo->pNext, VK_STRUCTURE_TYPE_VIDEO_ENCODE_AV1_SESSION_PARAMETERS_CREATE_INFO_KHR);

    if (record && info)
        record->operating_points = info->stdOperatingPointCount;
#endif
}

void hook_after_CmdBeginVideoCodingKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                       const VkVideoBeginCodingInfoKHR *pBeginInfo)
{
    const struct layer_video_parameters *record =
        LAYER_GET(cb->device, VkVideoSessionParametersKHR, pBeginInfo->videoSessionParameters);

    cb->enc.scratch[COND_SCRATCH_OPERATING_POINTS] = record ? record->operating_points : 0;
}
