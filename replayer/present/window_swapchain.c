/* SPDX-License-Identifier: MIT */
/* The real swapchain of a window. */
#include "replayer/core/device.h"
#include "replayer/present/window_internal.h"
#include "replayer/sync/wait.h"
#include "vulkan/texel/pixels.h"

enum lap_status replay_window_result(VkResult result, const char *call)
{
    if (result >= 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_REPLAY, "showing an image: %s gives %s", call, replay_result_name(result));
}

bool replay_window_is_lost(struct replay_window *w, VkResult result)
{
    if (result == VK_ERROR_SURFACE_LOST_KHR && w->system->hold)
        w->lost = true;
    return w->lost;
}

static void drop(struct replay_window *w, VkSwapchainKHR swapchain)
{
    for (uint32_t i = 0; i < w->image_count; i++) {
        if (w->copied[i])
            w->dev->vk.DestroySemaphore(w->dev->live, w->copied[i], NULL);
        w->copied[i] = VK_NULL_HANDLE;
    }
    w->image_count = 0;
    if (swapchain)
        w->dev->vk.DestroySwapchainKHR(w->dev->live, swapchain, NULL);
}

void replay_window_drop_swapchain(struct replay_window *w)
{
    drop(w, w->swapchain);
    w->swapchain = VK_NULL_HANDLE;
}

VkSurfaceFormatKHR replay_window_choose_format(const VkSurfaceFormatKHR *formats, uint32_t count, bool linear)
{
    static const VkFormat wanted[2][2] = {{VK_FORMAT_B8G8R8A8_UNORM, VK_FORMAT_R8G8B8A8_UNORM},
                                          {VK_FORMAT_B8G8R8A8_SRGB, VK_FORMAT_R8G8B8A8_SRGB}};

    for (int attempt = 0; attempt < 2; attempt++)
        for (uint32_t i = 0; i < count; i++)
            for (int j = 0; j < 2; j++)
                if (formats[i].format == wanted[linear ^ attempt][j])
                    return formats[i];
    return formats[0];
}

VkPresentModeKHR replay_window_choose_mode(const struct replay_window *w, VkPhysicalDevice gpu, VkPresentModeKHR wanted)
{
    VkPresentModeKHR modes[16];
    uint32_t count = 16;
    VkResult result = w->instance->vk.GetPhysicalDeviceSurfacePresentModesKHR(gpu, w->surface, &count, modes);

    for (uint32_t i = 0; i < count && result >= 0; i++)
        if (modes[i] == wanted)
            return wanted;
    return VK_PRESENT_MODE_FIFO_KHR;
}

static void choose_format(struct replay *r, struct replay_window *w, const VkSurfaceFormatKHR *formats, uint32_t count,
                          VkSurfaceFormatKHR *out_format)
{
    *out_format = replay_window_choose_format(formats, count, w->linear);
    if (lap_pixels_are_linear(out_format->format) == w->linear || w->warned_format)
        return;
    w->warned_format = true;
    lap_log(r->log, LAP_LOG_WARNING, "the window has no format that is%s sRGB: it shows frames %s than they are",
            w->linear ? "" : " not", w->linear ? "darker" : "brighter");
}

static void choose_mode(struct replay *r, struct replay_window *w, VkPresentModeKHR wanted)
{
    uint32_t bit = wanted < 32 ? 1u << wanted : 1u << 31;
    const char *name = replay_enum_name("VkPresentModeKHR", wanted);

    w->wanted = wanted;
    w->mode = replay_window_choose_mode(w, w->dev->gpu, wanted);
    if (w->mode == wanted || w->warned_modes & bit)
        return;
    w->warned_modes |= bit;
    lap_log(r->log, LAP_LOG_INFO, "the window has no %s; frames are shown with VK_PRESENT_MODE_FIFO_KHR",
            name ? name : "present mode of this number");
}

static enum lap_status make_images(struct replay_window *w)
{
    struct replay_device *dev = w->dev;
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    uint32_t count = REPLAY_WINDOW_MAX_IMAGES;
    VkResult result = dev->vk.GetSwapchainImagesKHR(dev->live, w->swapchain, &count, w->images);

    if (result != VK_SUCCESS)
        return replay_window_result(result < 0 ? result : VK_ERROR_TOO_MANY_OBJECTS, "vkGetSwapchainImagesKHR");
    w->image_count = count;
    for (uint32_t i = 0; i < count && result >= 0; i++)
        result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &w->copied[i]);
    return replay_window_result(result, "vkCreateSemaphore");
}

static enum lap_status make_swapchain(struct replay *r, struct replay_window *w, const VkSurfaceCapabilitiesKHR *caps,
                                      VkExtent2D extent)
{
    struct replay_device *dev = w->dev;
    const struct gen_instance_dispatch *ivk = &w->instance->vk;
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR, .surface = w->surface};
    VkSwapchainKHR old = w->swapchain;
    VkSurfaceFormatKHR formats[64], format;
    uint32_t count = 64;
    VkResult result = ivk->GetPhysicalDeviceSurfaceFormatsKHR(dev->gpu, w->surface, &count, formats);

    if (replay_window_is_lost(w, result))
        return LAP_OK;
    if (result < 0 || count == 0)
        return replay_window_result(result < 0 ? result : VK_ERROR_FORMAT_NOT_SUPPORTED,
                                    "vkGetPhysicalDeviceSurfaceFormatsKHR");
    choose_format(r, w, formats, count, &format);
    info.minImageCount = caps->minImageCount + 1;
    if (caps->maxImageCount && info.minImageCount > caps->maxImageCount)
        info.minImageCount = caps->maxImageCount;
    info.imageFormat = format.format;
    info.imageColorSpace = format.colorSpace;
    info.imageExtent = extent;
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    /* What is copied is not turned. */
    info.preTransform = caps->supportedTransforms & VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR
                            ? VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR
                            : caps->currentTransform;
    w->turned = info.preTransform != caps->currentTransform;
    info.compositeAlpha =
        caps->supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
            ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
            : (VkCompositeAlphaFlagBitsKHR)(caps->supportedCompositeAlpha & -caps->supportedCompositeAlpha);
    info.presentMode = w->mode;
    info.clipped = VK_TRUE;
    info.oldSwapchain = old;
    w->swapchain = VK_NULL_HANDLE;
    result = dev->vk.CreateSwapchainKHR(dev->live, &info, NULL, &w->swapchain);
    drop(w, old);
    if (result == VK_ERROR_INITIALIZATION_FAILED || result == VK_ERROR_OUT_OF_DATE_KHR ||
        replay_window_is_lost(w, result)) {
        w->swapchain = VK_NULL_HANDLE; /* the window has changed since the last query of its size */
        return LAP_OK;
    }
    if (result < 0)
        return replay_window_result(result, "vkCreateSwapchainKHR");
    w->extent = extent;
    return make_images(w);
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum lap_status replay_window_fit(struct replay *r, struct replay_window *w, VkExtent2D wanted,
                                  const struct replay_picture *picture)
{
    struct replay_device *dev = w->dev;
    bool linear = lap_pixels_are_linear(picture->format),
         good = w->swapchain && !w->stale && w->wanted == picture->mode && w->linear == linear;
    VkSurfaceCapabilitiesKHR caps;
    enum lap_status status;
    VkExtent2D extent;
    VkResult result;

    /* The query is a round trip to the display. The window's events report a new size, and the driver reports other
     * changes with the next present. */
    if (good && w->fitted.width == wanted.width && w->fitted.height == wanted.height)
        return LAP_OK;
    result = w->instance->vk.GetPhysicalDeviceSurfaceCapabilitiesKHR(dev->gpu, w->surface, &caps);
    if (replay_window_is_lost(w, result))
        return LAP_OK;
    if (result < 0)
        return replay_window_result(result, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    if (!(caps.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_DST_BIT))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the window's images can't be copied to");
    extent = caps.currentExtent;
    w->fitted = wanted;
    if (extent.width == UINT32_MAX) {
        extent.width = clamp(wanted.width, caps.minImageExtent.width, caps.maxImageExtent.width);
        extent.height = clamp(wanted.height, caps.minImageExtent.height, caps.maxImageExtent.height);
    }
    if (good && extent.width == w->extent.width && extent.height == w->extent.height)
        return LAP_OK;
    status = replay_wait_queue(r, dev, dev->queues.main->live, "copies to the window, whose size changes");
    if (status != LAP_OK)
        return status;
    dev->vk.QueueWaitIdle(dev->queues.main->live); /* waits for its presents too */
    w->stale = false;
    if (extent.width == 0 || extent.height == 0 || caps.maxImageExtent.width == 0 || caps.maxImageExtent.height == 0) {
        replay_window_drop_swapchain(w);
        return LAP_OK;
    }
    w->linear = linear;
    choose_mode(r, w, picture->mode);
    return make_swapchain(r, w, &caps, extent);
}
