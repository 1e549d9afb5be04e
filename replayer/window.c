/* SPDX-License-Identifier: MIT */
#include "replayer/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/barrier.h"

#define SLOTS      2u /* copies under way at most */
#define MAX_IMAGES 16u
#define MAX_WAITS  32u

/* One copy under way. */
struct slot {
    VkCommandBuffer commands;
    VkFence done;
    VkSemaphore acquired;
};

struct replay_window {
    struct replay_instance *instance;
    struct replay_xcb *xcb;
    VkSurfaceKHR surface;
    uint32_t users; /* swapchains that are attached */
    /* What is on the device; there while users > 0. */
    struct replay_device *dev;
    VkCommandPool pool;
    struct slot slots[SLOTS];
    uint32_t next_slot;
    VkSwapchainKHR swapchain; /* null: the window is too small, or it has to be made anew */
    VkExtent2D extent;        /* of the swapchain */
    uint32_t image_count;
    VkImage images[MAX_IMAGES];
    VkSemaphore copied[MAX_IMAGES];
    bool stale;
};

bool replay_window_possible(const struct replay_device *dev)
{
    return dev->has_swapchain && dev->instance->has_xcb && dev->main_queue &&
           (dev->main_queue->flags & VK_QUEUE_GRAPHICS_BIT) && replay_xcb_answers();
}

/* ---- the window ---- */

static void write_title(const struct replay *r, char *out, size_t bytes)
{
    const char *file = r->options.file ? r->options.file : "", *slash = strrchr(file, '/');
    snprintf(out, bytes, "Lapilli: %s, frame %" PRIu64, slash ? slash + 1 : file, r->frames);
}

enum lap_status replay_window_create(struct replay *r, struct replay_instance *instance, VkExtent2D extent,
                                     struct replay_window **out_window)
{
    struct replay_window *window = calloc(1, sizeof *window);
    enum lap_status status;
    char title[256];

    *out_window = NULL;
    if (!window)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    window->instance = instance;
    write_title(r, title, sizeof title);
    status = replay_xcb_open(title, extent, &window->xcb);
    if (status == LAP_OK)
        status = replay_xcb_surface(window->xcb, instance, &window->surface);
    if (status != LAP_OK) {
        replay_window_destroy(&window);
        return status;
    }
    *out_window = window;
    return LAP_OK;
}

void replay_window_destroy(struct replay_window **window)
{
    struct replay_window *w = *window;

    if (!w)
        return;
    if (w->surface)
        w->instance->vk.DestroySurfaceKHR(w->instance->live, w->surface, NULL);
    replay_xcb_close(&w->xcb);
    free(w);
    *window = NULL;
}

/* ---- what it has on the device ---- */

static enum lap_status refused(VkResult result, const char *call)
{
    if (result >= 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_REPLAY, "showing an image: %s gives %s", call, replay_result_name(result));
}

static void drop_swapchain(struct replay_window *w, VkSwapchainKHR swapchain)
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

/* An 8-bit format, with the encoding of presented values as they are: the copy must not convert them. */
static VkSurfaceFormatKHR choose_format(const VkSurfaceFormatKHR *formats, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM || formats[i].format == VK_FORMAT_R8G8B8A8_UNORM)
            return formats[i];
    return formats[0];
}

static enum lap_status make_swapchain(struct replay_window *w, const VkSurfaceCapabilitiesKHR *caps, VkExtent2D extent)
{
    struct replay_device *dev = w->dev;
    const struct gen_instance_dispatch *ivk = &w->instance->vk;
    VkSwapchainCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR, .surface = w->surface};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkSwapchainKHR old = w->swapchain;
    VkSurfaceFormatKHR formats[64], format;
    uint32_t count = 64;
    VkResult result = ivk->GetPhysicalDeviceSurfaceFormatsKHR(dev->gpu, w->surface, &count, formats);

    if (result < 0 || count == 0)
        return refused(result < 0 ? result : VK_ERROR_FORMAT_NOT_SUPPORTED, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    format = choose_format(formats, count);
    info.minImageCount = caps->minImageCount + 1;
    if (caps->maxImageCount && info.minImageCount > caps->maxImageCount)
        info.minImageCount = caps->maxImageCount;
    info.imageFormat = format.format;
    info.imageColorSpace = format.colorSpace;
    info.imageExtent = extent;
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    info.preTransform = caps->currentTransform;
    info.compositeAlpha =
        caps->supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
            ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
            : (VkCompositeAlphaFlagBitsKHR)(caps->supportedCompositeAlpha & -caps->supportedCompositeAlpha);
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    info.oldSwapchain = old;
    w->swapchain = VK_NULL_HANDLE;
    result = dev->vk.CreateSwapchainKHR(dev->live, &info, NULL, &w->swapchain);
    drop_swapchain(w, old);
    if (result < 0)
        return refused(result, "vkCreateSwapchainKHR");
    w->extent = extent;
    count = MAX_IMAGES;
    result = dev->vk.GetSwapchainImagesKHR(dev->live, w->swapchain, &count, w->images);
    if (result != VK_SUCCESS)
        return refused(result < 0 ? result : VK_ERROR_TOO_MANY_OBJECTS, "vkGetSwapchainImagesKHR");
    w->image_count = count;
    for (uint32_t i = 0; i < count && result >= 0; i++)
        result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &w->copied[i]);
    return refused(result, "vkCreateSemaphore");
}

/* Makes the swapchain fit the window. Afterwards it is null where the window has no area. */
static enum lap_status fit(struct replay_window *w, VkExtent2D wanted)
{
    struct replay_device *dev = w->dev;
    VkSurfaceCapabilitiesKHR caps;
    VkExtent2D extent;
    VkResult result = w->instance->vk.GetPhysicalDeviceSurfaceCapabilitiesKHR(dev->gpu, w->surface, &caps);

    if (result < 0)
        return refused(result, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR");
    if (!(caps.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_DST_BIT))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the window's images can't be copied to");
    extent = caps.currentExtent.width == UINT32_MAX ? wanted : caps.currentExtent;
    if (w->swapchain && !w->stale && extent.width == w->extent.width && extent.height == w->extent.height)
        return LAP_OK;
    dev->vk.QueueWaitIdle(dev->main_queue->live);
    w->stale = false;
    if (extent.width == 0 || extent.height == 0 || caps.maxImageExtent.width == 0 || caps.maxImageExtent.height == 0) {
        drop_swapchain(w, w->swapchain);
        w->swapchain = VK_NULL_HANDLE;
        return LAP_OK;
    }
    return make_swapchain(w, &caps, extent);
}

static enum lap_status make_slots(struct replay_window *w)
{
    struct replay_device *dev = w->dev;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = dev->main_queue->family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkResult result = dev->vk.CreateCommandPool(dev->live, &pool, NULL, &w->pool);

    for (uint32_t i = 0; i < SLOTS && result >= 0; i++) {
        VkCommandBufferAllocateInfo commands = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = w->pool, .commandBufferCount = 1};
        result = dev->vk.AllocateCommandBuffers(dev->live, &commands, &w->slots[i].commands);
        if (result >= 0)
            result = dev->vk.CreateFence(dev->live, &fence, NULL, &w->slots[i].done);
        if (result >= 0)
            result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &w->slots[i].acquired);
    }
    return refused(result, "preparing copies");
}

static void leave_device(struct replay_window *w)
{
    struct replay_device *dev = w->dev;

    if (!dev)
        return;
    dev->vk.QueueWaitIdle(dev->main_queue->live);
    drop_swapchain(w, w->swapchain);
    w->swapchain = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (w->slots[i].done)
            dev->vk.DestroyFence(dev->live, w->slots[i].done, NULL);
        if (w->slots[i].acquired)
            dev->vk.DestroySemaphore(dev->live, w->slots[i].acquired, NULL);
        w->slots[i] = (struct slot){0};
    }
    if (w->pool)
        dev->vk.DestroyCommandPool(dev->live, w->pool, NULL);
    w->pool = VK_NULL_HANDLE;
    w->dev = NULL;
}

enum lap_status replay_window_attach(struct replay *r, struct replay_window *w, struct replay_device *dev,
                                     VkExtent2D extent)
{
    VkBool32 supported = VK_FALSE;
    enum lap_status status;

    if (w->users > 0 && w->dev != dev)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "two devices present to one window");
    if (w->users == 0) {
        if (!dev->has_swapchain || !dev->main_queue || !(dev->main_queue->flags & VK_QUEUE_GRAPHICS_BIT) ||
            w->instance->vk.GetPhysicalDeviceSurfaceSupportKHR(dev->gpu, dev->main_queue->family, w->surface,
                                                               &supported) < 0 ||
            !supported)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "the device can't present to a window");
        w->dev = dev;
        status = make_slots(w);
        if (status != LAP_OK) {
            leave_device(w);
            return status;
        }
    }
    w->users++;
    replay_xcb_resize(w->xcb, extent);
    return LAP_OK;
}

void replay_window_detach(struct replay_window *w)
{
    if (w && w->users > 0 && --w->users == 0)
        leave_device(w);
}

/* ---- showing ---- */

static void barrier(const struct replay_window *w, VkCommandBuffer commands, VkImage image, VkImageLayout from,
                    VkImageLayout to, VkAccessFlags before, VkAccessFlags after)
{
    VkImageMemoryBarrier info = lap_color_barrier(image, from, to, before, after);
    w->dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                  0, NULL, 0, NULL, 1, &info);
}

static VkResult record_copy(const struct replay_window *w, VkCommandBuffer commands, VkImage from, VkExtent2D extent,
                            VkImage to)
{
    const VkImageLayout present = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, source = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                        target = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    bool same = extent.width == w->extent.width && extent.height == w->extent.height;
    VkImageBlit region = {
        .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .srcOffsets[1] = {(int32_t)extent.width, (int32_t)extent.height, 1},
        .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
        .dstOffsets[1] = {(int32_t)w->extent.width, (int32_t)w->extent.height, 1},
    };
    VkResult result = w->dev->vk.BeginCommandBuffer(commands, &begin);

    if (result < 0)
        return result;
    barrier(w, commands, from, present, source, VK_ACCESS_MEMORY_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    barrier(w, commands, to, VK_IMAGE_LAYOUT_UNDEFINED, target, 0, VK_ACCESS_TRANSFER_WRITE_BIT);
    w->dev->vk.CmdBlitImage(commands, from, source, to, target, 1, &region,
                            same ? VK_FILTER_NEAREST : VK_FILTER_LINEAR);
    barrier(w, commands, to, target, present, VK_ACCESS_TRANSFER_WRITE_BIT, 0);
    barrier(w, commands, from, source, present, VK_ACCESS_TRANSFER_READ_BIT,
            VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    return w->dev->vk.EndCommandBuffer(commands);
}

/* commands NULL: nothing is copied, the semaphores are waited for all the same. */
static enum lap_status submit(struct replay_window *w, const struct slot *slot, uint32_t wait_count,
                              const VkSemaphore *waits, VkCommandBuffer commands, VkSemaphore signal)
{
    VkSemaphore semaphores[MAX_WAITS + 1];
    VkPipelineStageFlags stages[MAX_WAITS + 1];
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pWaitSemaphores = semaphores,
                         .pWaitDstStageMask = stages,
                         .waitSemaphoreCount = wait_count};

    if (wait_count)
        memcpy(semaphores, waits, wait_count * sizeof *waits);
    if (commands) {
        semaphores[info.waitSemaphoreCount++] = slot->acquired;
        info.commandBufferCount = info.signalSemaphoreCount = 1;
        info.pCommandBuffers = &commands;
        info.pSignalSemaphores = &signal;
    }
    for (uint32_t i = 0; i < info.waitSemaphoreCount; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    return refused(w->dev->vk.QueueSubmit(w->dev->main_queue->live, 1, &info, commands ? slot->done : VK_NULL_HANDLE),
                   "vkQueueSubmit");
}

/* The next image of the window; *out_image UINT32_MAX when there is none now. */
static enum lap_status next_image(struct replay_window *w, struct slot *slot, VkExtent2D extent, uint32_t *out_image)
{
    *out_image = UINT32_MAX;
    for (int attempt = 0; attempt < 3; attempt++) {
        enum lap_status status = fit(w, extent);
        VkResult result;
        if (status != LAP_OK || !w->swapchain)
            return status;
        result = w->dev->vk.AcquireNextImageKHR(w->dev->live, w->swapchain, UINT64_MAX, slot->acquired, VK_NULL_HANDLE,
                                                out_image);
        if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
            return LAP_OK;
        *out_image = UINT32_MAX;
        if (result != VK_ERROR_OUT_OF_DATE_KHR)
            return refused(result, "vkAcquireNextImageKHR");
        w->stale = true;
    }
    return LAP_OK; /* the window is changing faster than we can follow: not this frame */
}

static enum lap_status copy_and_present(struct replay_window *w, struct slot *slot, uint32_t image_index, VkImage image,
                                        VkExtent2D extent, uint32_t wait_count, const VkSemaphore *waits)
{
    struct replay_device *dev = w->dev;
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &w->copied[image_index],
                                .swapchainCount = 1,
                                .pSwapchains = &w->swapchain,
                                .pImageIndices = &image_index};
    enum lap_status status =
        refused(record_copy(w, slot->commands, image, extent, w->images[image_index]), "recording a copy");
    VkResult result;

    if (status == LAP_OK)
        status = refused(dev->vk.ResetFences(dev->live, 1, &slot->done), "vkResetFences");
    if (status == LAP_OK)
        status = submit(w, slot, wait_count, waits, slot->commands, w->copied[image_index]);
    if (status != LAP_OK)
        return status;
    result = dev->vk.QueuePresentKHR(dev->main_queue->live, &present);
    w->stale = result == VK_ERROR_OUT_OF_DATE_KHR || result == VK_SUBOPTIMAL_KHR;
    return result == VK_ERROR_OUT_OF_DATE_KHR ? LAP_OK : refused(result, "vkQueuePresentKHR");
}

enum lap_status replay_window_show(struct replay *r, struct replay_window *w, VkImage image, VkExtent2D extent,
                                   uint32_t wait_count, const VkSemaphore *waits)
{
    struct slot *slot = &w->slots[w->next_slot];
    VkExtent2D window_extent;
    uint32_t image_index;
    enum lap_status status;
    char title[256];

    if (wait_count > MAX_WAITS)
        return replay_fail(r, "a present waits for %u semaphores", wait_count);
    if (!replay_xcb_poll(w->xcb, &window_extent))
        return LAP_END;
    write_title(r, title, sizeof title);
    replay_xcb_title(w->xcb, title);
    status = refused(w->dev->vk.WaitForFences(w->dev->live, 1, &slot->done, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    if (status == LAP_OK)
        status = next_image(w, slot, window_extent, &image_index);
    if (status == LAP_OK && image_index != UINT32_MAX) {
        status = copy_and_present(w, slot, image_index, image, extent, wait_count, waits);
        w->next_slot = (w->next_slot + 1) % SLOTS;
    } else if (status == LAP_OK && wait_count) {
        status = submit(w, slot, wait_count, waits, VK_NULL_HANDLE, VK_NULL_HANDLE);
    }
    return status == LAP_OK ? LAP_OK : replay_fail(r, "%s", lap_error_message());
}
