/* SPDX-License-Identifier: MIT */
/* Queries whether the driver supports an image. */
#include <inttypes.h>

#include "replayer/format/format.h"
#include "replayer/format/image_support.h"
#include "vulkan/chain.h"

/* A query and its chain; other structures of the create info do not fit it. */
struct query {
    VkImageFormatListCreateInfo formats;
    VkImageStencilUsageCreateInfo stencil;
    VkPhysicalDeviceImageFormatInfo2 info;
};

/* False if the query can't describe the image: it has a format modifier, or a platform-specific format. */
static bool make_query(const VkImageCreateInfo *info, struct query *query)
{
    const VkImageFormatListCreateInfo *formats =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO);
    const VkImageStencilUsageCreateInfo *stencil =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_STENCIL_USAGE_CREATE_INFO);

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
            return false; /* it may change the driver's answer */
    return true;
}

/* Some drivers accept an image whose format lacks the feature for its usage, and then behave wrongly. So this checks
 * the format's features too. Returns the missing feature, or NULL. */
static const char *lacking_feature(const struct replay_device *dev, const VkImageCreateInfo *info)
{
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags features; /* at least one of these */
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
    if (info->flags & VK_IMAGE_CREATE_EXTENDED_USAGE_BIT) /* only views in other formats need the feature */
        return NULL;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (info->usage & uses[i].usage && !(has & uses[i].features))
            return uses[i].text;
    return NULL;
}

enum lap_status replay_format_image_supported(struct replay *r, const struct replay_device *dev,
                                              const VkImageCreateInfo *info)
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

bool replay_format_image_has_usage(const struct replay_device *dev, const VkImageCreateInfo *info)
{
    const VkVideoProfileListInfoKHR *profiles =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR);
    VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
    const VkImageFormatProperties *most = &answer.imageFormatProperties;
    VkResult result;

    if (profiles && dev->instance->vk.GetPhysicalDeviceImageFormatProperties2) {
        const VkVideoProfileListInfoKHR alone = {VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, NULL,
                                                 profiles->profileCount, profiles->pProfiles};
        const VkPhysicalDeviceImageFormatInfo2 question = {.sType =
                                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                                           .pNext = &alone,
                                                           .format = info->format,
                                                           .type = info->imageType,
                                                           .tiling = info->tiling,
                                                           .usage = info->usage,
                                                           .flags = info->flags};
        result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties2(dev->gpu, &question, &answer);
    } else {
        result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties(dev->gpu, info->format, info->imageType,
                                                                          info->tiling, info->usage, info->flags,
                                                                          &answer.imageFormatProperties);
    }
    return result == VK_SUCCESS && most->maxExtent.width >= info->extent.width &&
           most->maxExtent.height >= info->extent.height && most->maxExtent.depth >= info->extent.depth &&
           most->maxMipLevels >= info->mipLevels && most->maxArrayLayers >= info->arrayLayers;
}

/* Avoids repeated queries for similar images. On a hash table collision the query is repeated. */
static bool is_new_kind(struct replay_device *dev, const VkImageCreateInfo *info)
{
    const uint32_t kind[] = {(uint32_t)info->format,    (uint32_t)info->tiling, info->usage, info->flags,
                             (uint32_t)info->imageType, (uint32_t)info->samples};
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    uint64_t *place;

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        hash = (hash ^ kind[i]) * UINT64_C(0x100000001b3);
    hash |= 1; /* 0 marks an empty entry */
    place = &dev->formats
                 .asked_images[(hash >> 32) % (sizeof dev->formats.asked_images / sizeof *dev->formats.asked_images)];
    if (*place == hash)
        return false;
    *place = hash;
    return true;
}

void replay_format_image_warn(struct replay *r, struct replay_device *dev, uint64_t index,
                              const VkImageCreateInfo *info)
{
    if (is_new_kind(dev, info) && replay_format_image_supported(r, dev, info) != LAP_OK)
        lap_log(r->log, LAP_LOG_WARNING, "%s; VkImage:%" PRIu64 " is made all the same, and the result may differ",
                lap_error_message(), index);
}
