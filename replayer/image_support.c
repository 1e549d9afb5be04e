/* SPDX-License-Identifier: MIT */
/* What the driver says of images such as a trace's. */
#include "replayer/format.h"
#include "replayer/resource.h"

/* What a driver is asked about; the rest of a create info's chain means nothing to the query. */
struct query {
    VkImageFormatListCreateInfo formats;
    VkImageStencilUsageCreateInfo stencil;
    VkPhysicalDeviceImageFormatInfo2 info;
};

/* False for images that can't be asked about like this: with modifiers, or with formats that only a platform knows. */
static bool make_query(const VkImageCreateInfo *info, struct query *query)
{
    const VkImageFormatListCreateInfo *formats =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
    const VkImageStencilUsageCreateInfo *stencil =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);

    if (info->format == VK_FORMAT_UNDEFINED ||
        (info->tiling != VK_IMAGE_TILING_OPTIMAL && info->tiling != VK_IMAGE_TILING_LINEAR))
        return false;
    query->info = (VkPhysicalDeviceImageFormatInfo2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                                     .format = info->format,
                                                     .type = info->imageType,
                                                     .tiling = info->tiling,
                                                     .usage = info->usage,
                                                     .flags = info->flags};
    if (formats) {
        query->formats = *formats;
        query->formats.pNext = query->info.pNext;
        query->info.pNext = &query->formats;
    }
    if (stencil) {
        query->stencil = *stencil;
        query->stencil.pNext = query->info.pNext;
        query->info.pNext = &query->stencil;
    }
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s != (const void *)formats && s != (const void *)stencil)
            return false; /* it may change what is allowed */
    return true;
}

enum lap_status replay_image_supported(struct replay *r, const struct replay_device *dev, const VkImageCreateInfo *info)
{
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    const VkImageFormatProperties *most = &answer.imageFormatProperties;
    const char *name = replay_format_name(info->format);
    struct query query;
    VkResult result;

    if (!dev->instance->vk.GetPhysicalDeviceImageFormatProperties2 || !make_query(info, &query))
        return LAP_OK;
    result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties2(dev->gpu, &query.info, &answer);
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED)
        return replay_refuse(r, "the driver promises no %s images of %s (format %d) with usage %#x and flags %#x",
                             info->tiling == VK_IMAGE_TILING_LINEAR ? "linear" : "optimal", name, (int)info->format,
                             info->usage, info->flags);
    if (result < 0)
        return LAP_OK;
    if (info->extent.width > most->maxExtent.width || info->extent.height > most->maxExtent.height ||
        info->extent.depth > most->maxExtent.depth || info->mipLevels > most->maxMipLevels ||
        info->arrayLayers > most->maxArrayLayers || !(info->samples & most->sampleCounts))
        return replay_refuse(
            r,
            "the driver promises no %s images of %s with %u x %u x %u texels, %u levels, %u layers and %u "
            "samples for usage %#x",
            info->tiling == VK_IMAGE_TILING_LINEAR ? "linear" : "optimal", name, info->extent.width,
            info->extent.height, info->extent.depth, info->mipLevels, info->arrayLayers, info->samples, info->usage);
    return LAP_OK;
}
