/* SPDX-License-Identifier: MIT */
#include "replayer/device/shading_rate.h"

#include "gen_replay.h"
#include "vulkan/chain.h"

struct replay_rate_texels replay_rate_texels_of(const struct replay_instance *instance, VkPhysicalDevice gpu)
{
    VkPhysicalDeviceFragmentShadingRatePropertiesKHR rates = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &rates};

    if (instance->vk.GetPhysicalDeviceProperties2)
        instance->vk.GetPhysicalDeviceProperties2(gpu, &properties);
    return (struct replay_rate_texels){rates.minFragmentShadingRateAttachmentTexelSize,
                                       rates.maxFragmentShadingRateAttachmentTexelSize};
}

bool replay_rate_texels_have(const struct replay_rate_texels *texels, VkExtent2D size)
{
    return size.width >= texels->least.width && size.width <= texels->most.width &&
           size.height >= texels->least.height && size.height <= texels->most.height;
}

void replay_shading_rate_begin(struct replay_device *dev, const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceFragmentShadingRateFeaturesKHR *features =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_FEATURES_KHR);

    dev->enabled.rate_attachments = features && features->attachmentFragmentShadingRate;
}

static bool is_lacking(struct replay *r, struct replay_device *dev, VkExtent2D size)
{
    const struct replay_rate_texels texels = replay_rate_texels_of(dev->instance, dev->gpu);

    if (!texels.least.width || replay_rate_texels_have(&texels, size))
        return false;
    if (!__atomic_exchange_n(&dev->lacks_rate_texels, true, __ATOMIC_RELAXED))
        lap_log(r->log, LAP_LOG_WARNING,
                "attachments with rates of fragment shading are left out: a texel of theirs covers %ux%u pixels, which "
                "this GPU does not have (%ux%u to %ux%u)",
                size.width, size.height, texels.least.width, texels.least.height, texels.most.width,
                texels.most.height);
    return true;
}

void replay_shading_rate_rendering(struct replay *r, struct replay_device *dev, const VkRenderingInfo *info)
{
    VkRenderingFragmentShadingRateAttachmentInfoKHR *rate =
        (VkRenderingFragmentShadingRateAttachmentInfoKHR *)(uintptr_t)lap_chain_find(
            info ? info->pNext : NULL, VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);

    if (rate && rate->imageView && is_lacking(r, dev, rate->shadingRateAttachmentTexelSize))
        rate->imageView = VK_NULL_HANDLE;
}

void replay_shading_rate_pass(struct replay *r, struct replay_device *dev, const VkRenderPassCreateInfo2 *info)
{
    for (uint32_t i = 0; info && info->pSubpasses && i < info->subpassCount; i++) {
        VkFragmentShadingRateAttachmentInfoKHR *rate =
            (VkFragmentShadingRateAttachmentInfoKHR *)(uintptr_t)lap_chain_find(
                info->pSubpasses[i].pNext, VK_STRUCTURE_TYPE_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR);
        if (rate && rate->pFragmentShadingRateAttachment &&
            rate->pFragmentShadingRateAttachment->attachment != VK_ATTACHMENT_UNUSED &&
            is_lacking(r, dev, rate->shadingRateAttachmentTexelSize))
            rate->pFragmentShadingRateAttachment = NULL;
    }
}
