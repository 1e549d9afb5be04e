/* SPDX-License-Identifier: MIT */
/* What the driver says of images such as a trace's. */
#include <inttypes.h>

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

/* Drivers say yes to images whose format has no such feature, and do something else then: what they say of the format
 * counts as well. NULL, or what it lacks. */
static const char *lacking_feature(const struct replay_device *dev, const VkImageCreateInfo *info)
{
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags features; /* one of these */
        const char *text;
    } uses[] = {
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT, "are sampled"},
        {VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, "are storage images"},
        {VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT, "are attachments"},
        {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT,
         "are attachments"},
        {VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT,
         VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT, "are attachments"},
    };
    VkFormatFeatureFlags has;
    VkFormatProperties of;

    dev->instance->vk.GetPhysicalDeviceFormatProperties(dev->gpu, info->format, &of);
    has = info->tiling == VK_IMAGE_TILING_LINEAR ? of.linearTilingFeatures : of.optimalTilingFeatures;
    if (info->flags & VK_IMAGE_CREATE_DISJOINT_BIT && !(has & VK_FORMAT_FEATURE_DISJOINT_BIT))
        return "have planes with memory of their own";
    if (info->flags & VK_IMAGE_CREATE_EXTENDED_USAGE_BIT) /* what views of other formats may be used for */
        return NULL;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (info->usage & uses[i].usage && !(has & uses[i].features))
            return uses[i].text;
    return NULL;
}

enum lap_status replay_image_supported(struct replay *r, const struct replay_device *dev, const VkImageCreateInfo *info)
{
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    const VkImageFormatProperties *most = &answer.imageFormatProperties;
    const char *name = replay_format_name(info->format);
    const char *lacks;
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
    lacks = lacking_feature(dev, info);
    if (lacks)
        return replay_refuse(r, "the driver promises no %s images of %s that %s",
                             info->tiling == VK_IMAGE_TILING_LINEAR ? "linear" : "optimal", name, lacks);
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

bool replay_image_has_usage(const struct replay_device *dev, const VkImageCreateInfo *info)
{
    VkImageFormatProperties most;
    VkResult result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties(
        dev->gpu, info->format, info->imageType, info->tiling, info->usage, info->flags, &most);

    return result == VK_SUCCESS && most.maxExtent.width >= info->extent.width &&
           most.maxExtent.height >= info->extent.height && most.maxExtent.depth >= info->extent.depth &&
           most.maxMipLevels >= info->mipLevels && most.maxArrayLayers >= info->arrayLayers;
}

/* Drivers are not asked again about what an image was like before. Two kinds may share a place; then they are. */
static bool is_new_kind(struct replay_device *dev, const VkImageCreateInfo *info)
{
    const uint32_t kind[] = {(uint32_t)info->format,    (uint32_t)info->tiling, info->usage, info->flags,
                             (uint32_t)info->imageType, (uint32_t)info->samples};
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    uint64_t *place;

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        hash = (hash ^ kind[i]) * UINT64_C(0x100000001b3);
    hash |= 1; /* a place that nobody has used is 0 */
    place = &dev->asked_images[(hash >> 32) % (sizeof dev->asked_images / sizeof *dev->asked_images)];
    if (*place == hash)
        return false;
    *place = hash;
    return true;
}

void replay_image_warn(struct replay *r, struct replay_device *dev, uint64_t index, const VkImageCreateInfo *info)
{
    if (is_new_kind(dev, info) && replay_image_supported(r, dev, info) != LAP_OK)
        lap_log(r->log, LAP_LOG_WARNING, "%s; VkImage:%" PRIu64 " is made all the same, and what comes out may differ",
                lap_error_message(), index);
}
