/* SPDX-License-Identifier: MIT */
#include "layer/part/presentable.h"

#include "layer/core/records.h"
#include "layer/part/lost.h"

#define WAIT_NS UINT64_C(5000000000) /* for the presentation engine */

static struct layer_swapchain *swapchain_of(struct layer_device *dev, const struct layer_image *image,
                                            uint32_t *out_index)
{
    struct layer_swapchain *swapchain = LAYER_GET(dev, VkSwapchainKHR, image->swapchain);

    for (uint32_t i = 0; swapchain && i < swapchain->image_count && i < LAYER_HELD_IMAGES; i++)
        if (gen_u64_VkImage(swapchain->images[i]) == image->object.handle) {
            *out_index = i;
            return swapchain;
        }
    return NULL;
}

enum lap_status layer_presentable_read(struct layer_readback *r, const struct layer_image *image)
{
    uint32_t index = 0;
    struct layer_swapchain *swapchain = swapchain_of(r->dev, image, &index);

    if (swapchain)
        swapchain->held[index].unread = false;
    if (!swapchain || swapchain->held[index].acquired || !swapchain->readable)
        return layer_readback_image(r, image, swapchain && swapchain->readable);
    swapchain->held[index].unread = layer_readback_matters(image);
    return LAP_OK;
}

/* The commands wait for the semaphore and signal it again; the host waits for a fence. */
static enum lap_status wait_for(struct layer_readback *r, const VkSemaphore *semaphore, VkFence fence)
{
    if (*semaphore) {
        r->at.wait_count = r->at.signal_count = 1;
        r->at.waits = r->at.signals = semaphore;
        return LAP_OK;
    }
    if (r->dev->vk.WaitForFences(r->dev->handle, 1, &fence, VK_TRUE, WAIT_NS) == VK_SUCCESS)
        return LAP_OK;
    return lap_fail(LAP_ERROR_UNSUPPORTED, "the presentation engine does not give it");
}

void layer_presentable_acquired(struct layer_device *dev, VkSwapchainKHR handle, uint32_t index, VkSemaphore semaphore,
                                VkFence fence)
{
    struct layer_swapchain *swapchain = LAYER_GET(dev, VkSwapchainKHR, handle);
    const struct layer_image *image;
    struct layer_readback r;
    enum lap_status status;

    if (!swapchain || index >= LAYER_HELD_IMAGES || index >= swapchain->image_count || !swapchain->held[index].unread)
        return;
    swapchain->held[index].unread = false;
    image = LAYER_GET(dev, VkImage, swapchain->images[index]);
    if (!image || !layer_is_writing())
        return;
    status = layer_readback_init(&r, dev);
    if (status == LAP_OK)
        status = wait_for(&r, &semaphore, fence);
    if (status == LAP_OK)
        status = layer_readback_image(&r, image, swapchain->readable);
    if (status == LAP_OK)
        status = layer_readback_flush(&r);
    layer_readback_finish(&r);
    if (status != LAP_OK && !r.left_out)
        r.reasons[LAP_UNCHECKED_FAILED]++;
    layer_lost_note(r.reasons);
    if (status != LAP_OK || r.left_out)
        lap_log(&layer.log, LAP_LOG_WARNING,
                "what a presentable image held can't be read (%s): where the program draws over it the part of the run "
                "shows something else",
                status != LAP_OK ? lap_error_message() : "see above");
}
