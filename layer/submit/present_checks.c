/* SPDX-License-Identifier: MIT */
#include "layer/submit/present_checks.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "base/file/folder.h"
#include "base/file/png.h"
#include "layer/core/records.h"
#include "layer/submit/memory_checks.h"
#include "vulkan/readback.h"
#include "vulkan/texel/pixels.h"

bool layer_verify_wants_presents(void)
{
    return layer.options.verify || layer.options.screenshots.count || layer.options.parts.on;
}

/* ---- presents ---- */

struct lap_readback *layer_verify_readback(struct layer_device *dev)
{
    if (!dev->verify.readback) {
        dev->verify.readback = malloc(sizeof *dev->verify.readback);
        if (dev->verify.readback)
            lap_readback_init(dev->verify.readback, dev->handle, &dev->vk, &dev->physical_device->memory,
                              dev->loader.set_data);
    }
    return dev->verify.readback;
}

struct picture {
    const struct layer_swapchain *swapchain;
    uint32_t index;
    VkImage image;
    const void *pixels;
    size_t bytes;
};

static void write_check(struct layer_device *dev, const struct picture *picture)
{
    const VkSwapchainCreateInfoKHR *info = &picture->swapchain->info;
    uint64_t low, high;
    struct lap_enc *enc;

    lap_pixels_hash(picture->pixels, picture->bytes, &low, &high);
    layer_check_bytes(dev, picture->pixels, picture->bytes, low, high);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliCheckPresent, 0);
    if (enc) {
        gen_encode_lapilliCheckPresent(enc, gen_VkSwapchainKHR(picture->swapchain->object.handle), picture->index,
                                       info->imageFormat, info->imageExtent.width, info->imageExtent.height, low, high);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_PRESENT_CHECKS);
    }
}

/* number: which of the swapchains of one present, from 0. */
static void write_screenshot(const struct picture *picture, uint64_t frame, uint32_t number)
{
    const VkSwapchainCreateInfoKHR *info = &picture->swapchain->info;
    const char *folder = layer.options.screenshot_dir ? layer.options.screenshot_dir : ".";
    char path[4096];
    int length = number == 0 ? snprintf(path, sizeof path, "%s/frame_%llu.png", folder, (unsigned long long)frame)
                             : snprintf(path, sizeof path, "%s/frame_%llu_%u.png", folder, (unsigned long long)frame,
                                        number + 1);

    if (length < 0 || (size_t)length >= sizeof path)
        return;
    if (lap_folder_make(folder) != LAP_OK || lap_png_write(path, lap_pixels_layout(info->imageFormat), picture->pixels,
                                                           info->imageExtent.width, info->imageExtent.height) != LAP_OK)
        lap_log(&layer.log, LAP_LOG_WARNING, "no screenshot: %s", lap_error_message());
}

/* The image is on the display, and in one layout, from the first present on. */
static bool is_shared(VkPresentModeKHR mode)
{
    return mode == VK_PRESENT_MODE_SHARED_DEMAND_REFRESH_KHR || mode == VK_PRESENT_MODE_SHARED_CONTINUOUS_REFRESH_KHR;
}

/* The driver is asked for an image that the program did not ask for: it may have bound one of its own there
 * (VkBindImageMemorySwapchainInfoKHR). */
static VkImage presented_image(struct layer_device *dev, const struct layer_swapchain *swapchain, uint32_t index)
{
    VkSwapchainKHR handle = gen_VkSwapchainKHR(swapchain->object.handle);
    uint32_t count = index + 1;
    VkImage *images, image = VK_NULL_HANDLE;

    if (index < swapchain->image_count)
        return swapchain->images[index];
    images = calloc(count, sizeof *images);
    if (images && dev->vk.GetSwapchainImagesKHR(dev->handle, handle, &count, images) >= 0 && index < count)
        image = images[index];
    free(images);
    return image;
}

/* The first picture waits for the present's semaphores, and signals them again when it is done. The others follow on
 * the same queue, after the layer has waited for the first copy. */
static bool read_picture(struct layer_device *dev, const struct layer_queue *queue, const VkPresentInfoKHR *info,
                         bool *waited, struct picture *picture)
{
    const VkSwapchainCreateInfoKHR *create = &picture->swapchain->info;
    const VkImageLayout layout =
        is_shared(create->presentMode) ? VK_IMAGE_LAYOUT_SHARED_PRESENT_KHR : VK_IMAGE_LAYOUT_PRESENT_SRC_KHR;
    struct lap_readback *rb = layer_verify_readback(dev);
    struct lap_readback_queue at = {.queue = queue->handle, .family = queue->family};
    bool submitted = false;
    enum lap_status status;

    if (!rb)
        return false;
    if (!*waited) {
        at.wait_count = at.signal_count = info->waitSemaphoreCount;
        at.waits = at.signals = info->pWaitSemaphores;
    }
    status = lap_readback_image(rb, &at, picture->image, create->imageFormat, create->imageExtent, layout,
                                &picture->pixels, &picture->bytes, &submitted);
    *waited |= submitted;
    if (status != LAP_OK)
        lap_log(&layer.log, LAP_LOG_WARNING, "a presented image could not be read back: %s", lap_error_message());
    return status == LAP_OK;
}

void layer_verify_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info, uint64_t frame)
{
    const struct layer_queue *record = layer_queue_of(queue);
    bool screenshot = lap_frames_have(&layer.options.screenshots, frame), waited = false;

    if ((!(layer.options.verify && layer_is_writing()) && !screenshot) ||
        !(record->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT)))
        return;
    int cancel = lap_cancel_off(); /* the driver may wait, and a picture is written */
    pthread_mutex_lock(&dev->verify.mutex);
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        const struct layer_swapchain *swapchain = LAYER_GET(dev, VkSwapchainKHR, info->pSwapchains[i]);
        struct picture picture = {.swapchain = swapchain, .index = info->pImageIndices[i]};
        if (!swapchain || !swapchain->readable)
            continue;
        picture.image = presented_image(dev, swapchain, picture.index);
        if (!picture.image || !read_picture(dev, record, info, &waited, &picture))
            continue;
        if (layer.options.verify && layer_is_writing())
            write_check(dev, &picture);
        if (screenshot)
            write_screenshot(&picture, frame, i);
    }
    pthread_mutex_unlock(&dev->verify.mutex);
    lap_cancel_restore(cancel);
}

void layer_verify_finish(struct layer_device *dev)
{
    if (dev->verify.readback)
        lap_readback_finish(dev->verify.readback);
    free(dev->verify.readback);
    dev->verify.readback = NULL;
    if (dev->verify.fence)
        dev->vk.DestroyFence(dev->handle, dev->verify.fence, NULL);
    dev->verify.fence = VK_NULL_HANDLE;
}
