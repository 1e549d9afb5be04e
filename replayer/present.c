/* SPDX-License-Identifier: MIT */
/*
 * present: the end of a frame. What is presented is compared, written as a picture or shown, as the options say; in any
 * case the semaphores are waited for, as a real present does.
 */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/player.h"
#include "replayer/screenshot.h"
#include "replayer/submit.h"
#include "replayer/swapchain.h"
#include "replayer/verify.h"
#include "replayer/window.h"

/* The semaphores of one vkQueuePresentKHR: whatever touches an image first waits for them. */
struct present {
    const struct replay_queue *queue;
    const VkSemaphore *waits;
    uint32_t wait_count;
};

static const struct replay_queue *find_queue(const struct replay_device *dev, VkQueue live)
{
    for (uint32_t i = 0; i < dev->queue_count; i++)
        if (dev->queues[i].live == live)
            return &dev->queues[i];
    return NULL;
}

/* Reads the image back for a check and a screenshot. */
static enum lap_status take_pixels(struct replay *r, struct present *present, struct replay_swapchain *swapchain,
                                   uint32_t number, uint32_t image_index, bool screenshot)
{
    struct replay_device *dev = swapchain->dev;
    VkExtent2D extent = {swapchain->info.extent.width, swapchain->info.extent.height};
    struct lap_readback_queue at = {.queue = present->queue->live,
                                    .family = present->queue->family,
                                    .wait_count = present->wait_count,
                                    .waits = present->waits};
    const void *pixels;
    size_t bytes;
    bool submitted;
    enum lap_status status = lap_readback_image(replay_device_readback(dev), &at, swapchain->images[image_index].live,
                                                swapchain->info.format, extent, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                                &pixels, &bytes, &submitted);

    if (submitted)
        present->wait_count = 0;
    if (status == LAP_ERROR_UNSUPPORTED && !submitted) {
        lap_log(r->log, LAP_LOG_WARNING, "frame %" PRIu64 ": %s", r->frames, lap_error_message());
        pixels = NULL;
    } else if (status != LAP_OK) {
        return replay_fail(r, "%s", lap_error_message());
    }
    status = replay_check_present(r, swapchain->index, image_index, r->frames, swapchain->info.format, extent, pixels,
                                  bytes);
    if (status == LAP_OK && screenshot && pixels)
        status = replay_screenshot_write(r, r->frames, number, swapchain->info.format, extent, pixels);
    return status < 0 ? replay_place(r, status) : status;
}

static enum lap_status present_one(struct replay *r, struct present *present, VkSwapchainKHR handle, uint32_t number,
                                   uint32_t image_index)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    bool screenshot = lap_frames_have(&r->options.screenshots, r->frames);
    enum lap_status status = LAP_OK;
    VkExtent2D extent;

    if (!swapchain)
        return replay_fail(r, "a swapchain that is not alive");
    if (image_index >= REPLAY_MAX_SWAPCHAIN_IMAGES || !swapchain->images[image_index].live)
        return replay_fail(r, "VkSwapchainKHR:%" PRIu64 " has no image %u", swapchain->index, image_index);
    if (screenshot || replay_check_wants_present(r, swapchain->index, image_index))
        status = take_pixels(r, present, swapchain, number, image_index, screenshot);
    if (status == LAP_OK && swapchain->window) {
        extent = (VkExtent2D){swapchain->info.extent.width, swapchain->info.extent.height};
        status = replay_window_show(r, swapchain->window, swapchain->images[image_index].live, extent,
                                    present->wait_count, present->waits);
        present->wait_count = 0;
    }
    /* The image is free when the window's copy of it is made, and that is done on the main queue. */
    swapchain->images[image_index].presented_by = swapchain->window ? swapchain->dev->main_queue : present->queue;
    return status;
}

/* A present without copies: only the semaphores. */
static enum lap_status wait_only(struct replay *r, struct replay_device *dev, const struct present *present)
{
    VkPipelineStageFlags *stages = replay_scratch(r, present->wait_count, sizeof *stages);
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = present->wait_count,
                           .pWaitSemaphores = present->waits,
                           .pWaitDstStageMask = stages};

    if (!stages)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < present->wait_count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    return replay_result(r, dev->vk.QueueSubmit(present->queue->live, 1, &submit, VK_NULL_HANDLE));
}

enum lap_status replay_QueuePresentKHR(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkQueuePresentKHR *args)
{
    const VkPresentInfoKHR *info = args->pPresentInfo;
    struct present present = {find_queue(dev, args->queue), info->pWaitSemaphores, info->waitSemaphoreCount};
    enum lap_status status = LAP_OK;

    if (!present.queue)
        return replay_fail(r, "a queue that the device does not have");
    if (info->swapchainCount && (!info->pSwapchains || !info->pImageIndices))
        return replay_absent(r, "pSwapchains");
    if (info->waitSemaphoreCount && !info->pWaitSemaphores)
        return replay_absent(r, "pWaitSemaphores");
    status = replay_submits_need(r, dev, info->waitSemaphoreCount, info->pWaitSemaphores);
    r->frames++;
    for (uint32_t i = 0; i < info->swapchainCount && status == LAP_OK; i++)
        status = present_one(r, &present, info->pSwapchains[i], i, info->pImageIndices[i]);
    if (status == LAP_OK && present.wait_count)
        status = wait_only(r, dev, &present);
    replay_check_end_present(r);
    return status;
}
