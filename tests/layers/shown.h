/* SPDX-License-Identifier: MIT */
/*
 * shown: what surfaces that nobody sees can show, for the drivers and layers of the tests that have them, and the
 * answers to queries of lists. Any thread.
 */
#ifndef LAP_TESTS_LAYERS_SHOWN_H
#define LAP_TESTS_LAYERS_SHOWN_H

#include <string.h>
#include <vulkan/vulkan.h>

#define SHOWN_LEAST_IMAGES 2u
#define SHOWN_MOST_IMAGES  8u
#define SHOWN_FORMATS      2u
#define SHOWN_MODES        3u

static const VkSurfaceFormatKHR shown_formats[SHOWN_FORMATS] = {
    {VK_FORMAT_B8G8R8A8_UNORM, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR},
    {VK_FORMAT_B8G8R8A8_SRGB, VK_COLOR_SPACE_SRGB_NONLINEAR_KHR}};

static const VkPresentModeKHR shown_modes[SHOWN_MODES] = {VK_PRESENT_MODE_FIFO_KHR, VK_PRESENT_MODE_MAILBOX_KHR,
                                                          VK_PRESENT_MODE_IMMEDIATE_KHR};

static const VkSurfaceCapabilitiesKHR shown_capabilities = {
    .minImageCount = SHOWN_LEAST_IMAGES,
    .maxImageCount = SHOWN_MOST_IMAGES,
    .currentExtent = {UINT32_MAX, UINT32_MAX},
    .minImageExtent = {1, 1},
    .maxImageExtent = {4096, 4096},
    .maxImageArrayLayers = 1,
    .supportedTransforms = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
    .currentTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
    .supportedCompositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
    .supportedUsageFlags = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                           VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
};

/* Vulkan's two calls for a list: how many there are, and then as many as there is room for at `to`. */
static inline VkResult shown_count(uint32_t have, uint32_t *count, const void *to)
{
    VkResult result = to && *count < have ? VK_INCOMPLETE : VK_SUCCESS;

    if (!to || *count > have)
        *count = have;
    return result;
}

static inline VkResult shown_list(const void *from, uint32_t have, size_t bytes, uint32_t *count, void *to)
{
    VkResult result = shown_count(have, count, to);

    if (to && *count)
        memcpy(to, from, *count * bytes);
    return result;
}

/* As vkGetPhysicalDeviceSurfaceFormats2KHR has them. */
static inline VkResult shown_list_formats(uint32_t *count, VkSurfaceFormat2KHR *to)
{
    VkResult result = shown_count(SHOWN_FORMATS, count, to);

    for (uint32_t i = 0; to && i < *count; i++)
        to[i].surfaceFormat = shown_formats[i];
    return result;
}

#endif
