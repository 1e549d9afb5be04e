/* SPDX-License-Identifier: MIT */
/*
 * present: the end of a frame. Depending on the options a presented image is compared, written as a picture or shown.
 * The semaphores are always waited for, as in a real present.
 */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/device/queues.h"
#include "replayer/format/texel_convert.h"
#include "replayer/present/presented_owner.h"
#include "replayer/present/screenshot.h"
#include "replayer/present/swapchain.h"
#include "replayer/present/window.h"
#include "replayer/submit/acquired_images.h"
#include "replayer/submit/external_sync.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "replayer/verify/verify.h"
#include "vulkan/chain.h"

/* The semaphores of one vkQueuePresentKHR. The first use of an image waits for them. */
struct present {
    const struct replay_queue *queue;
    const VkSemaphore *waits;
    uint32_t wait_count;
    bool stuck; /* behind work that waits for an event that the host has yet to set */
};

/* Pixels in the recorded format: the replay's own copy of the readback. */
static enum lap_status as_recorded(struct replay *r, const struct replay_swapchain *swapchain, size_t bytes,
                                   const void **pixels)
{
    enum replay_format_conversion conversion =
        replay_format_conversion(swapchain->info.format, swapchain->recorded_format, VK_IMAGE_ASPECT_COLOR_BIT);
    void *converted;

    if (conversion == REPLAY_CONVERT_NONE || !bytes)
        return LAP_OK;
    converted = replay_scratch(r, bytes, 1);
    if (!converted)
        return replay_no_scratch(r);
    replay_format_convert(conversion, *pixels, converted, bytes / replay_format_conversion_bytes(conversion).from);
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
        return replay_fail(r, "a present waits for an event that the host sets later: the image can't be compared or "
                              "written as a picture (without --verify, --hashes and --screenshot it is played)");
    status = lap_readback_image(replay_memory_readback(dev), &at, swapchain->images[image_index].live,
                                swapchain->info.format, extent, replay_present_layout(r, swapchain), &pixels, &bytes,
                                &submitted);
    if (submitted)
        present->wait_count = 0;
    if (status == LAP_ERROR_UNSUPPORTED && !submitted) {
        lap_log(r->log, LAP_LOG_WARNING, "frame %" PRIu64 ": %s", r->summary.last_frame, lap_error_message());
        pixels = NULL;
    } else if (status != LAP_OK) {
        return replay_fail(r, "%s", lap_error_message());
    } else {
        status = as_recorded(r, swapchain, bytes, &pixels);
        if (status != LAP_OK)
            return status;
    }
    status = replay_check_present(r, swapchain->index, image_index, r->summary.last_frame, swapchain->recorded_format,
                                  extent, pixels, bytes);
    if (status == LAP_OK && screenshot && pixels)
        status = replay_screenshot_write(r, r->summary.last_frame, number, swapchain->recorded_format, extent, pixels);
    return status < 0 ? replay_place(r, status) : status;
}

/* Copies the image into the window on the main queue. The semaphores that the program waits for next are signalled
 * behind the copy: on the main queue, or on the queue of another family after the image has returned to it. */
static enum lap_status show(struct replay *r, struct present *present, struct replay_swapchain *swapchain,
                            uint32_t image_index)
{
    struct replay_swapchain_image *image = &swapchain->images[image_index];
    struct replay_device *dev = swapchain->dev;
    bool other = replay_presented_owner_differs(dev, present->queue, swapchain->info.sharingMode);
    struct replay_picture picture = {.image = image->live,
                                     .layout = replay_present_layout(r, swapchain),
                                     .extent = {swapchain->info.extent.width, swapchain->info.extent.height},
                                     .format = swapchain->info.format,
                                     .mode = swapchain->mode,
                                     .wait_count = other ? 0 : present->wait_count,
                                     .waits = present->waits};
    enum lap_status status = LAP_OK;

    if (other)
        status = replay_presented_owner_to_main(r, dev, &image->presented_owner, present->queue, image->live,
                                                picture.layout, present->wait_count, present->waits);
    present->wait_count = 0;
    if (status == LAP_OK)
        status = replay_window_show(r, swapchain->window, &picture);
    if (!other)
        image->presented_by = dev->queues.main;
    return other && status == LAP_OK ? replay_presented_owner_back(r, dev, image->presented_owner) : status;
}

/* Whether it is the last frame that a replay to its end plays. */
static bool is_last_frame(const struct replay *r)
{
    uint64_t last = lap_reader_summary(r->reader)->frames;

    if (r->options.last_frame && r->options.last_frame < last)
        last = r->options.last_frame;
    return r->summary.last_frame == last;
}

static enum lap_status present_one(struct replay *r, struct present *present, VkSwapchainKHR handle, uint32_t number,
                                   uint32_t image_index)
{
    struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    bool screenshot = lap_frames_have(&r->options.screenshots, r->summary.last_frame) ||
                      (r->options.screenshot_of_last && is_last_frame(r));
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

/* A present without copies: waits for the semaphores only. */
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

/* VK_EXT_swapchain_maintenance1: a present may change a swapchain's present mode, which persists. */
static void change_modes(struct replay *r, const VkPresentInfoKHR *info)
{
    const VkSwapchainPresentModeInfoEXT *modes =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODE_INFO_EXT);

    for (uint32_t i = 0; modes && modes->pPresentModes && i < modes->swapchainCount && i < info->swapchainCount; i++) {
        struct replay_swapchain *swapchain = replay_swapchain_of(r, info->pSwapchains[i]);
        if (swapchain)
            swapchain->mode = modes->pPresentModes[i];
    }
}

/* A present fence signals that the presentation engine has finished with an image and the semaphores. In a replay
 * that is the case behind the wait for them, on the queue of that wait. */
static enum lap_status signal_fences(struct replay *r, struct replay_device *dev, const VkPresentInfoKHR *info,
                                     const struct present *present)
{
    const VkSwapchainPresentFenceInfoEXT *fences =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0;
         fences && fences->pFences && i < fences->swapchainCount && i < info->swapchainCount && status == LAP_OK; i++) {
        const struct replay_swapchain *swapchain = replay_swapchain_of(r, info->pSwapchains[i]);
        const struct replay_queue *queue =
            swapchain ? swapchain->images[info->pImageIndices[i]].presented_by : present->queue;
        if (fences->pFences[i])
            status = replay_submission_signal(r, dev, queue->live, fences->pFences[i]);
    }
    return status;
}

/* VK_KHR_present_id: notes the present for later waits of the program (VK_KHR_present_wait). */
static enum lap_status number_presents(struct replay *r, struct replay_device *dev, const VkPresentInfoKHR *info)
{
    uint32_t count;
    const uint64_t *ids = lap_chain_present_ids(info, &count);
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && i < info->swapchainCount && status == LAP_OK; i++) {
        struct replay_swapchain *swapchain = replay_swapchain_of(r, info->pSwapchains[i]);
        const struct replay_queue *queue =
            swapchain && ids[i] ? swapchain->images[info->pImageIndices[i]].presented_by : NULL;
        struct replay_submission submission;
        if (!queue)
            continue;
        status = replay_submission_begin(r, dev, queue->live, VK_NULL_HANDLE, &submission);
        if (status != LAP_OK)
            return status;
        status = replay_result(r, dev->vk.QueueSubmit(queue->live, 0, NULL, submission.fence));
        replay_submission_end(dev, queue->live, &submission, status == LAP_OK);
        const uint32_t at = swapchain->present_count++ % (sizeof swapchain->presents / sizeof *swapchain->presents);
        swapchain->presents[at].id = ids[i];
        swapchain->presents[at].number = replay_submission_last(dev);
        swapchain->presents[at].queue = (uint32_t)(queue - dev->queues.all);
    }
    return status;
}

static enum lap_status wait_for_present(struct replay *r, struct replay_device *dev, VkSwapchainKHR handle, uint64_t id,
                                        VkResult result)
{
    const struct replay_swapchain *swapchain = replay_swapchain_of(r, handle);
    enum lap_status status = LAP_OK;

    if (!swapchain || swapchain->dev != dev)
        return replay_fail(r, "a swapchain that is not alive");
    if ((result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR) || replay_device_awaits_host(dev))
        return LAP_OK;
    for (uint32_t i = 0; i < sizeof swapchain->presents / sizeof *swapchain->presents && status == LAP_OK; i++)
        if (swapchain->presents[i].id && swapchain->presents[i].id <= id)
            status = replay_submission_await(r, dev, swapchain->presents[i].queue, swapchain->presents[i].number,
                                             "a present");
    return status;
}

enum lap_status replay_WaitForPresentKHR(struct replay *r, struct replay_device *dev,
                                         struct gen_args_vkWaitForPresentKHR *args)
{
    return wait_for_present(r, dev, args->swapchain, args->presentId, args->result);
}

#ifdef VK_KHR_present_wait2
enum lap_status replay_WaitForPresent2KHR(struct replay *r, struct replay_device *dev,
                                          struct gen_args_vkWaitForPresent2KHR *args)
{
    return wait_for_present(r, dev, args->swapchain, args->pPresentWait2Info->presentId, args->result);
}
#endif

/* Frames are those of the trace. Some may end without a present: with submits before the first surface. Two threads may
 * present in one. Returns how many images were presented in it before. */
static uint32_t note_frame(struct replay *r, uint32_t images)
{
    uint32_t before = r->summary.last_frame == r->at.packet.frame + 1 ? r->summary.images_of_frame : 0;

    r->summary.frames++;
    r->summary.last_frame = r->at.packet.frame + 1;
    r->summary.images_of_frame = before + images;
    if (!r->summary.first_frame)
        r->summary.first_frame = r->summary.last_frame;
    return before;
}

enum lap_status replay_QueuePresentKHR(struct replay *r, struct replay_device *dev,
                                       struct gen_args_vkQueuePresentKHR *args)
{
    const VkPresentInfoKHR *info = args->pPresentInfo;
    struct present present = {replay_queue_find(dev, args->queue), info->pWaitSemaphores, info->waitSemaphoreCount,
                              false};
    enum lap_status status = LAP_OK;
    uint32_t before;

    if (!present.queue)
        return replay_fail(r, "a queue that the device does not have");
    if (info->swapchainCount && (!info->pSwapchains || !info->pImageIndices))
        return replay_absent(r, "pSwapchains");
    if (info->waitSemaphoreCount && !info->pWaitSemaphores)
        return replay_absent(r, "pWaitSemaphores");
    status = replay_external_sync_before(r, dev, GEN_vkQueuePresentKHR, args);
    if (status == LAP_OK)
        status = replay_submits_need(r, dev, info->waitSemaphoreCount, info->pWaitSemaphores, &present.stuck);
    if (status == LAP_OK)
        status = replay_acquired_images_signal(r, dev, info->waitSemaphoreCount, info->pWaitSemaphores);
    before = note_frame(r, info->swapchainCount);
    change_modes(r, info);
    for (uint32_t i = 0; i < info->swapchainCount && status == LAP_OK; i++)
        status = present_one(r, &present, info->pSwapchains[i], before + i, info->pImageIndices[i]);
    if (status == LAP_OK && present.wait_count)
        status = wait_only(r, dev, &present);
    if (status == LAP_OK)
        status = signal_fences(r, dev, info, &present);
    if (status == LAP_OK)
        status = number_presents(r, dev, info);
    replay_check_end_present(r);
    return status;
}
