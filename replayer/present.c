/* SPDX-License-Identifier: MIT */
/*
 * present: the end of a frame. What is presented is compared, written as a picture or shown, as the options say; in any
 * case the semaphores are waited for, as a real present does.
 */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/acquired.h"
#include "replayer/convert.h"
#include "replayer/handover.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/resource.h"
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
    bool stuck; /* behind work that waits for an event which the host is still to set */
};

/* Pixels as the recorded format has them: the replay's own copy of what was read back. */
static enum lap_status as_recorded(struct replay *r, const struct replay_swapchain *swapchain, size_t bytes,
                                   const void **pixels)
{
    enum replay_conversion conversion =
        replay_conversion(swapchain->info.format, swapchain->recorded_format, VK_IMAGE_ASPECT_COLOR_BIT);
    void *converted;

    if (conversion == REPLAY_CONVERT_NONE || !bytes)
        return LAP_OK;
    converted = replay_scratch(r, bytes, 1);
    if (!converted)
        return replay_no_scratch(r);
    replay_convert(conversion, *pixels, converted, bytes / replay_conversion_bytes(conversion).from);
    *pixels = converted;
    return LAP_OK;
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
    enum lap_status status;

    if (present->stuck)
        return replay_fail(r, "what is presented waits for an event that the host sets later: it can't be compared or "
                              "written as a picture here (without --verify and --screenshot it is played)");
    status = lap_readback_image(replay_device_readback(dev), &at, swapchain->images[image_index].live,
                                swapchain->info.format, extent, replay_present_layout(r), &pixels, &bytes, &submitted);
    if (submitted)
        present->wait_count = 0;
    if (status == LAP_ERROR_UNSUPPORTED && !submitted) {
        lap_log(r->log, LAP_LOG_WARNING, "frame %" PRIu64 ": %s", r->frames, lap_error_message());
        pixels = NULL;
    } else if (status != LAP_OK) {
        return replay_fail(r, "%s", lap_error_message());
    } else {
        status = as_recorded(r, swapchain, bytes, &pixels);
        if (status != LAP_OK)
            return status;
    }
    status = replay_check_present(r, swapchain->index, image_index, r->frames, swapchain->recorded_format, extent,
                                  pixels, bytes);
    if (status == LAP_OK && screenshot && pixels)
        status = replay_screenshot_write(r, r->frames, number, swapchain->recorded_format, extent, pixels);
    return status < 0 ? replay_place(r, status) : status;
}

/* The window's copy is made on the main queue. What the program waits for next is signalled behind that: on the main
 * queue, or on the queue of another family to which the image has gone back. */
static enum lap_status show(struct replay *r, struct present *present, struct replay_swapchain *swapchain,
                            uint32_t image_index)
{
    struct replay_swapchain_image *image = &swapchain->images[image_index];
    struct replay_device *dev = swapchain->dev;
    bool other = replay_handover_needed(dev, present->queue, swapchain->info.sharingMode);
    struct replay_picture picture = {.image = image->live,
                                     .layout = replay_present_layout(r),
                                     .extent = {swapchain->info.extent.width, swapchain->info.extent.height},
                                     .format = swapchain->info.format,
                                     .mode = swapchain->mode,
                                     .wait_count = other ? 0 : present->wait_count,
                                     .waits = present->waits};
    enum lap_status status = LAP_OK;

    if (other)
        status = replay_handover_to_main(r, dev, &image->handover, present->queue, image->live, picture.layout,
                                         present->wait_count, present->waits);
    present->wait_count = 0;
    if (status == LAP_OK)
        status = replay_window_show(r, swapchain->window, &picture);
    if (!other)
        image->presented_by = dev->main_queue;
    return other && status == LAP_OK ? replay_handover_back(r, dev, image->handover) : status;
}

static enum lap_status present_one(struct replay *r, struct present *present, VkSwapchainKHR handle, uint32_t number,
                                   uint32_t image_index)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    bool screenshot = lap_frames_have(&r->options.screenshots, r->frames);
    enum lap_status status = LAP_OK;

    if (!swapchain)
        return replay_fail(r, "a swapchain that is not alive");
    if (image_index >= REPLAY_MAX_SWAPCHAIN_IMAGES || !swapchain->images[image_index].live)
        return replay_fail(r, "VkSwapchainKHR:%" PRIu64 " has no image %u", swapchain->index, image_index);
    if (screenshot || replay_check_wants_present(r, swapchain->index, image_index))
        status = take_pixels(r, present, swapchain, number, image_index, screenshot);
    swapchain->images[image_index].presented_by = present->queue;
    return status == LAP_OK && swapchain->window ? show(r, present, swapchain, image_index) : status;
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

/* VK_EXT_swapchain_maintenance1: a swapchain's present mode may change with a present, and stays. */
static void change_modes(struct replay *r, const VkPresentInfoKHR *info)
{
    const VkSwapchainPresentModeInfoEXT *modes =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODE_INFO_EXT);

    for (uint32_t i = 0; modes && modes->pPresentModes && i < modes->swapchainCount && i < info->swapchainCount; i++) {
        struct replay_swapchain *swapchain = replay_swapchain_of(r, info->pSwapchains[i]);
        if (swapchain)
            swapchain->mode = modes->pPresentModes[i];
    }
}

/* And a fence tells when the presentation engine is done with an image and the semaphores: when whoever waited for them
 * here has done so, that is, behind it on its queue. */
static enum lap_status signal_fences(struct replay *r, struct replay_device *dev, const VkPresentInfoKHR *info,
                                     const struct present *present)
{
    const VkSwapchainPresentFenceInfoEXT *fences =
        replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0;
         fences && fences->pFences && i < fences->swapchainCount && i < info->swapchainCount && status == LAP_OK; i++) {
        const struct replay_swapchain *swapchain = replay_swapchain_of(r, info->pSwapchains[i]);
        const struct replay_queue *queue =
            swapchain ? swapchain->images[info->pImageIndices[i]].presented_by : present->queue;
        if (fences->pFences[i])
            status = replay_pending_signal(r, dev, queue->live, fences->pFences[i]);
    }
    return status;
}

enum lap_status replay_QueuePresentKHR(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkQueuePresentKHR *args)
{
    const VkPresentInfoKHR *info = args->pPresentInfo;
    struct present present = {replay_queue_find(dev, args->queue), info->pWaitSemaphores, info->waitSemaphoreCount,
                              false};
    enum lap_status status = LAP_OK;

    if (!present.queue)
        return replay_fail(r, "a queue that the device does not have");
    if (info->swapchainCount && (!info->pSwapchains || !info->pImageIndices))
        return replay_absent(r, "pSwapchains");
    if (info->waitSemaphoreCount && !info->pWaitSemaphores)
        return replay_absent(r, "pWaitSemaphores");
    status = replay_submits_need(r, dev, info->waitSemaphoreCount, info->pWaitSemaphores, &present.stuck);
    if (status == LAP_OK)
        status = replay_acquired_signal(r, dev, info->waitSemaphoreCount, info->pWaitSemaphores);
    r->frames++;
    change_modes(r, info);
    for (uint32_t i = 0; i < info->swapchainCount && status == LAP_OK; i++)
        status = present_one(r, &present, info->pSwapchains[i], i, info->pImageIndices[i]);
    if (status == LAP_OK && present.wait_count)
        status = wait_only(r, dev, &present);
    if (status == LAP_OK)
        status = signal_fences(r, dev, info, &present);
    replay_check_end_present(r);
    return status;
}
