/* SPDX-License-Identifier: MIT */
#include "replayer/present/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/core/device.h"
#include "replayer/core/report.h"
#include "replayer/present/window_internal.h"
#include "replayer/sync/wait.h"
#include "vulkan/barrier.h"

/* PATIENCE_MS: how long a window that takes no image may delay the replay, once. LOSS_NS: how long copies to a window
 * may delay the thread that takes it away. */
#define TITLE_MS    100u /* the title changes no more often than this */
#define PATIENCE_MS 250u
#define LOSS_NS     UINT64_C(1000000000)

const struct replay_window_system *const replay_window_systems[REPLAY_WINDOW_SYSTEM_COUNT] = {
    &replay_window_wayland, &replay_window_xcb, &replay_window_android, &replay_window_headless};

/* ---- choice of the window system ---- */

static bool is_wanted(const struct replay *r, const struct replay_instance *instance, uint32_t number)
{
    const struct replay_window_system *system = replay_window_systems[number], *named = r->options.window_system;

    return (instance->window_systems >> number & 1) && (named ? named == system : !system->on_request);
}

static struct replay_display *display_of(const struct replay *r, uint32_t number)
{
    return r->options.displays ? r->options.displays->of[number] : NULL;
}

void replay_displays_connect(struct replay_displays *displays, const struct replay_options *options)
{
    const struct replay_window_system *named = options->window_system;

    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++) {
        const struct replay_window_system *system = replay_window_systems[i];
        bool wanted = (options->present == REPLAY_PRESENT_AUTO || options->present == REPLAY_PRESENT_WINDOW) &&
                      (named ? named == system : !system->on_request);
        displays->of[i] = wanted ? system->connect() : NULL;
    }
}

void replay_displays_disconnect(struct replay_displays *displays)
{
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++)
        replay_window_systems[i]->disconnect(&displays->of[i]);
}

static bool can_copy(const struct replay_device *dev)
{
    return dev->present.enabled && dev->queues.main && (dev->queues.main->flags & VK_QUEUE_GRAPHICS_BIT);
}

bool replay_window_possible(const struct replay *r, const struct replay_device *dev)
{
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT && can_copy(dev); i++)
        if (is_wanted(r, dev->instance, i) && display_of(r, i))
            return true;
    return false;
}

/* ---- the window ---- */

static void write_title(const struct replay *r, char *out, size_t bytes)
{
    const char *file = r->options.file ? r->options.file : "", *slash = strrchr(file, '/');
    if (slash)
        file = slash + 1;
    snprintf(out, bytes, "Lapilli: %s, frame %" PRIu64, r->options.listen ? r->options.listen : file,
             r->summary.last_frame);
}

static void renew_title(const struct replay *r, struct replay_window *w)
{
    uint64_t now = replay_now_ms();
    char title[256];

    if (now - w->title_ms < TITLE_MS)
        return;
    w->title_ms = now;
    write_title(r, title, sizeof title);
    w->system->set_title(w->native, title);
}

/* The window's surface may be used until let_go. */
static bool hold(const struct replay_window *w)
{
    return !w->system->hold || w->system->hold(w->native);
}

static void let_go(const struct replay_window *w)
{
    if (w->system->release)
        w->system->release(w->native);
}

/* What the driver has of a window that goes. Semaphores remain: presents may wait for them. */
static void lose(void *window)
{
    struct replay_window *w = window;
    bool done = true;

    for (uint32_t i = 0; i < REPLAY_WINDOW_SLOTS && w->swapchain; i++)
        done = w->dev->vk.WaitForFences(w->dev->live, 1, &w->slots[i].done, VK_TRUE, LOSS_NS) == VK_SUCCESS && done;
    if (w->swapchain && done)
        w->dev->vk.DestroySwapchainKHR(w->dev->live, w->swapchain, NULL);
    if (w->surface && done) /* else both remain until the process ends */
        w->instance->vk.DestroySurfaceKHR(w->instance->live, w->surface, NULL);
    w->swapchain = VK_NULL_HANDLE;
    w->surface = VK_NULL_HANDLE;
    w->lost = false;
}

static bool can_present(const struct replay_window *w, const struct replay_device *dev)
{
    VkBool32 supported = VK_FALSE;

    return can_copy(dev) &&
           w->instance->vk.GetPhysicalDeviceSurfaceSupportKHR(dev->gpu, dev->queues.main->family, w->surface,
                                                              &supported) >= 0 &&
           supported;
}

/* The window is held. */
static enum lap_status make_surface(struct replay_window *w, const struct replay_device *dev)
{
    VkResult result = w->system->create_surface(w->native, w->instance, &w->surface);

    if (result < 0)
        w->surface = VK_NULL_HANDLE;
    if (replay_window_is_lost(w, result))
        return LAP_OK;
    if (result < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the Vulkan driver has no surface for %s: %s", w->system->name,
                        replay_result_name(result));
    return can_present(w, dev)
               ? LAP_OK
               : lap_fail(LAP_ERROR_UNSUPPORTED, "the device can't present to a window (%s)", w->system->name);
}

static enum lap_status no_answer(const struct replay_window_system *system)
{
    const char *variable = system == &replay_window_wayland ? "WAYLAND_DISPLAY" : "DISPLAY", *value = getenv(variable);

    if (system == &replay_window_android)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "no activity of Android gives a window");
    return lap_fail(LAP_ERROR_UNSUPPORTED, "no %s answers (%s is %s)",
                    system == &replay_window_wayland ? "Wayland compositor" : "X display", variable,
                    value ? value : "not set");
}

static enum lap_status open_on(struct replay *r, uint32_t number, const struct replay_device *dev, VkExtent2D extent,
                               bool visible, struct replay_window **out_window)
{
    const struct replay_window_system *system = replay_window_systems[number];
    struct replay_display *display = display_of(r, number);
    struct replay_window *w = calloc(1, sizeof *w);
    enum lap_status status;
    char title[256];

    if (!w)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    w->instance = dev->instance;
    w->system = system;
    write_title(r, title, sizeof title);
    status = display ? system->open(display, title, extent, visible, &w->native) : no_answer(system);
    if (status == LAP_OK && system->watch)
        system->watch(w->native, lose, w);
    if (status == LAP_OK && hold(w)) {
        status = make_surface(w, dev);
        let_go(w);
    }
    if (status != LAP_OK) {
        replay_window_destroy(&w);
        return status;
    }
    *out_window = w;
    return LAP_OK;
}

static enum lap_status open_window(struct replay *r, const struct replay_device *dev, VkExtent2D extent, bool visible,
                                   struct replay_window **out_window)
{
    enum lap_status status = LAP_ERROR_UNSUPPORTED;
    bool tried = false;

    *out_window = NULL;
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++) {
        if (!is_wanted(r, dev->instance, i))
            continue;
        tried = true;
        status = open_on(r, i, dev, extent, visible, out_window);
        if (status == LAP_OK || status == LAP_ERROR_MEMORY)
            return status;
    }
    if (!tried && r->options.window_system)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the Vulkan driver has no %s", r->options.window_system->extension);
    return tried ? status : lap_fail(LAP_ERROR_UNSUPPORTED, "the Vulkan driver supports no known window system");
}

enum lap_status replay_window_create(struct replay *r, struct replay_device *dev, VkExtent2D extent,
                                     struct replay_window **out_window)
{
    return open_window(r, dev, extent, true, out_window);
}

void replay_window_destroy(struct replay_window **window)
{
    struct replay_window *w = *window;

    if (!w)
        return;
    if (w->native && hold(w)) {
        if (w->surface)
            w->instance->vk.DestroySurfaceKHR(w->instance->live, w->surface, NULL);
        w->surface = VK_NULL_HANDLE;
        let_go(w);
    }
    if (w->native)
        w->system->close(&w->native);
    free(w);
    *window = NULL;
}

/* ---- objects on the device ---- */

static enum lap_status make_slots(struct replay_window *w)
{
    struct replay_device *dev = w->dev;
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = dev->queues.main->family};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    VkResult result = dev->vk.CreateCommandPool(dev->live, &pool, NULL, &w->pool);

    for (uint32_t i = 0; i < REPLAY_WINDOW_SLOTS && result >= 0; i++) {
        VkCommandBufferAllocateInfo commands = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = w->pool, .commandBufferCount = 1};
        result = dev->vk.AllocateCommandBuffers(dev->live, &commands, &w->slots[i].commands);
        if (result >= 0)
            result = dev->vk.CreateFence(dev->live, &fence, NULL, &w->slots[i].done);
        if (result >= 0)
            result = dev->vk.CreateSemaphore(dev->live, &semaphore, NULL, &w->slots[i].acquired);
    }
    return replay_window_result(result, "preparing copies");
}

static void leave_device(struct replay_window *w)
{
    struct replay_device *dev = w->dev;
    bool held;

    if (!dev)
        return;
    if (!replay_device_finishes(dev, REPLAY_FINISH_LIMIT_NS)) {
        held = hold(w);
        w->swapchain = VK_NULL_HANDLE; /* its objects on the device remain until the process ends */
        w->dev = NULL;
        if (held)
            let_go(w);
        return;
    }
    dev->vk.QueueWaitIdle(dev->queues.main->live);
    held = hold(w);
    replay_window_drop_swapchain(w);
    if (held)
        let_go(w);
    for (uint32_t i = 0; i < REPLAY_WINDOW_SLOTS; i++) {
        if (w->slots[i].done)
            dev->vk.DestroyFence(dev->live, w->slots[i].done, NULL);
        if (w->slots[i].acquired)
            dev->vk.DestroySemaphore(dev->live, w->slots[i].acquired, NULL);
        w->slots[i] = (struct replay_window_slot){0};
    }
    if (w->pool)
        dev->vk.DestroyCommandPool(dev->live, w->pool, NULL);
    w->pool = VK_NULL_HANDLE;
    w->dev = NULL;
}

enum lap_status replay_window_attach(struct replay *r, struct replay_window *w, struct replay_device *dev,
                                     VkExtent2D extent)
{
    enum lap_status status;
    bool held, possible;

    if (w->users > 0 && w->dev != dev)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "two devices present to one window");
    if (w->users == 0) {
        held = hold(w);
        possible = !w->surface || can_present(w, dev);
        if (held)
            let_go(w);
        if (!possible)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "the device can't present to a window (%s)", w->system->name);
        w->dev = dev;
        status = make_slots(w);
        if (status != LAP_OK) {
            leave_device(w);
            return status;
        }
    }
    w->users++;
    w->system->resize(w->native, extent);
    return LAP_OK;
}

void replay_window_detach(struct replay_window *w)
{
    if (w && w->users > 0 && --w->users == 0)
        leave_device(w);
}

/* ---- frames ---- */

static void barrier(const struct replay_window *w, VkCommandBuffer commands, VkImage image, VkImageLayout from,
                    VkImageLayout to, VkAccessFlags before, VkAccessFlags after)
{
    VkImageMemoryBarrier info = lap_color_barrier(image, from, to, before, after);
    w->dev->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                  0, NULL, 0, NULL, 1, &info);
}

static VkResult record_copy(const struct replay_window *w, VkCommandBuffer commands,
                            const struct replay_picture *picture, VkImage to)
{
    const VkImage from = picture->image;
    const VkExtent2D extent = picture->extent;
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
    barrier(w, commands, from, picture->layout, source, VK_ACCESS_MEMORY_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    barrier(w, commands, to, VK_IMAGE_LAYOUT_UNDEFINED, target, 0, VK_ACCESS_TRANSFER_WRITE_BIT);
    w->dev->vk.CmdBlitImage(commands, from, source, to, target, 1, &region,
                            same ? VK_FILTER_NEAREST : VK_FILTER_LINEAR);
    barrier(w, commands, to, target, present, VK_ACCESS_TRANSFER_WRITE_BIT, 0);
    barrier(w, commands, from, source, picture->layout, VK_ACCESS_TRANSFER_READ_BIT,
            VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    return w->dev->vk.EndCommandBuffer(commands);
}

/* slot NULL: copies nothing, but waits for the semaphores. */
static enum lap_status submit(struct replay *r, struct replay_window *w, const struct replay_window_slot *slot,
                              const struct replay_picture *picture, VkSemaphore signal)
{
    uint32_t count = picture->wait_count + (slot != NULL);
    VkSemaphore *semaphores = replay_scratch(r, count, sizeof *semaphores);
    VkPipelineStageFlags *stages = replay_scratch(r, count, sizeof *stages);
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pWaitSemaphores = semaphores,
                         .pWaitDstStageMask = stages,
                         .waitSemaphoreCount = count};

    if (!semaphores || !stages)
        return replay_no_scratch(r);
    if (picture->wait_count)
        memcpy(semaphores, picture->waits, picture->wait_count * sizeof *semaphores);
    if (slot) {
        semaphores[picture->wait_count] = slot->acquired;
        info.commandBufferCount = info.signalSemaphoreCount = 1;
        info.pCommandBuffers = &slot->commands;
        info.pSignalSemaphores = &signal;
    }
    for (uint32_t i = 0; i < count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    return replay_window_result(
        w->dev->vk.QueueSubmit(w->dev->queues.main->live, 1, &info, slot ? slot->done : VK_NULL_HANDLE),
        "vkQueueSubmit");
}

/* Reports once that the window takes no image: it is hidden, or the compositor is busy. */
static void take_note(struct replay *r, struct replay_window *w)
{
    w->stuck = true;
    if (!w->warned_stuck)
        lap_log(r->log, LAP_LOG_INFO,
                "frame %" PRIu64 ": the window takes no image; until it does, no window shows frames",
                r->summary.last_frame);
    w->warned_stuck = true;
}

/* The next image of the window; *out_image UINT32_MAX: none now. */
static enum lap_status next_image(struct replay *r, struct replay_window *w, struct replay_window_slot *slot,
                                  VkExtent2D extent, const struct replay_picture *picture, uint32_t *out_image)
{
    const uint32_t patience_ms = w->stuck ? 0 : PATIENCE_MS;
    VkResult result;

    *out_image = UINT32_MAX;
    for (int attempt = 0; attempt < 3; attempt++) {
        enum lap_status status = replay_window_fit(r, w, extent, picture);
        if (status != LAP_OK || !w->swapchain || w->lost)
            return status;
        if (w->system->is_ready && w->mode != VK_PRESENT_MODE_IMMEDIATE_KHR && w->mode != VK_PRESENT_MODE_MAILBOX_KHR &&
            !w->system->is_ready(w->native, patience_ms)) {
            take_note(r, w);
            return LAP_OK;
        }
        result = w->dev->vk.AcquireNextImageKHR(w->dev->live, w->swapchain, patience_ms * UINT64_C(1000000),
                                                slot->acquired, VK_NULL_HANDLE, out_image);
        if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR) {
            w->stuck = false;
            return LAP_OK;
        }
        *out_image = UINT32_MAX;
        if (result == VK_TIMEOUT || result == VK_NOT_READY) {
            take_note(r, w);
            return LAP_OK;
        }
        if (replay_window_is_lost(w, result))
            return LAP_OK;
        if (result != VK_ERROR_OUT_OF_DATE_KHR)
            return replay_window_result(result, "vkAcquireNextImageKHR");
        w->stale = true;
    }
    return LAP_OK; /* the window changes too fast: skip this frame */
}

static enum lap_status copy_and_present(struct replay *r, struct replay_window *w, struct replay_window_slot *slot,
                                        uint32_t image_index, const struct replay_picture *picture)
{
    struct replay_device *dev = w->dev;
    VkPresentInfoKHR present = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                .waitSemaphoreCount = 1,
                                .pWaitSemaphores = &w->copied[image_index],
                                .swapchainCount = 1,
                                .pSwapchains = &w->swapchain,
                                .pImageIndices = &image_index};
    enum lap_status status =
        replay_window_result(record_copy(w, slot->commands, picture, w->images[image_index]), "recording a copy");
    VkResult result;

    if (status == LAP_OK)
        status = replay_window_result(dev->vk.ResetFences(dev->live, 1, &slot->done), "vkResetFences");
    if (status == LAP_OK)
        status = submit(r, w, slot, picture, w->copied[image_index]);
    if (status != LAP_OK)
        return status;
    renew_title(r, w);
    if (w->system->set_pending)
        w->system->set_pending(w->native, true);
    result = dev->vk.QueuePresentKHR(dev->queues.main->live, &present);
    if (result < 0 && w->system->set_pending)
        w->system->set_pending(w->native, false);
    w->stale = result == VK_ERROR_OUT_OF_DATE_KHR || (result == VK_SUBOPTIMAL_KHR && !w->turned);
    return result == VK_ERROR_OUT_OF_DATE_KHR || replay_window_is_lost(w, result)
               ? LAP_OK
               : replay_window_result(result, "vkQueuePresentKHR");
}

/* *out_shown: the queue waits for the picture's semaphores. */
static enum lap_status show_held(struct replay *r, struct replay_window *w, VkExtent2D window_extent,
                                 const struct replay_picture *picture, bool *out_shown)
{
    struct replay_window_slot *slot = &w->slots[w->next_slot];
    uint32_t image_index = UINT32_MAX;
    enum lap_status status = w->surface ? LAP_OK : make_surface(w, w->dev);

    if (status == LAP_OK && w->surface)
        status = next_image(r, w, slot, window_extent, picture, &image_index);
    if (status == LAP_OK && image_index != UINT32_MAX) {
        status = copy_and_present(r, w, slot, image_index, picture);
        w->next_slot = (w->next_slot + 1) % REPLAY_WINDOW_SLOTS;
        *out_shown = true;
    }
    if (w->lost)
        lose(w);
    return status;
}

enum lap_status replay_window_show(struct replay *r, struct replay_window *w, const struct replay_picture *picture)
{
    VkExtent2D window_extent;
    enum lap_status status;
    bool shown = false;

    switch (w->system->poll(w->native, &window_extent)) {
    case REPLAY_WINDOW_OPEN:
        break;
    case REPLAY_WINDOW_CLOSED:
        return LAP_END;
    case REPLAY_WINDOW_LOST:
        return replay_fail(r, "the window is lost: its display (%s) does not answer any more", w->system->name);
    }
    status = replay_wait_fence(r, w->dev, w->slots[w->next_slot].done, "an earlier copy to the window");
    if (status == LAP_OK && hold(w)) {
        status = show_held(r, w, window_extent, picture, &shown);
        let_go(w);
    }
    if (status == LAP_OK && !shown && picture->wait_count)
        status = submit(r, w, NULL, picture, VK_NULL_HANDLE);
    if (status == LAP_OK)
        return LAP_OK;
    /* If the window or its display is gone, that explains more than the driver's error. */
    switch (w->system->poll(w->native, &window_extent)) {
    case REPLAY_WINDOW_CLOSED:
        return LAP_END;
    case REPLAY_WINDOW_LOST:
        return replay_fail(r, "the window is lost: its display (%s) does not answer any more", w->system->name);
    case REPLAY_WINDOW_OPEN:
        break;
    }
    return replay_fail(r, "%s", lap_error_message());
}

/* ---- the report ---- */

enum lap_status replay_window_examine(struct replay *r, struct replay_device *dev, const VkSwapchainCreateInfoKHR *info)
{
    const char *name = replay_enum_name("VkPresentModeKHR", info->presentMode);
    enum replay_present present = r->options.present;
    struct replay_window *window;
    enum lap_status status;
    VkPresentModeKHR mode;

    if (present == REPLAY_PRESENT_HEADLESS || present == REPLAY_PRESENT_OFF)
        return LAP_OK;
    if (present == REPLAY_PRESENT_AUTO && !replay_window_possible(r, dev)) {
        replay_report_add(r->report, REPLAY_AREA_PRESENTATION, REPLAY_DROPPED, "window",
                          "no display answers for this GPU; frames are drawn, but no window shows them");
        return LAP_OK;
    }
    status = open_window(r, dev, info->imageExtent, false, &window);
    if (status != LAP_OK && status != LAP_ERROR_MEMORY && present == REPLAY_PRESENT_AUTO) {
        replay_report_add(r->report, REPLAY_AREA_PRESENTATION, REPLAY_DROPPED, "window",
                          "%s; frames are drawn, but no window shows them", lap_error_message());
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    mode = info->presentMode;
    if (hold(window)) {
        if (window->surface)
            mode = replay_window_choose_mode(window, dev->gpu, info->presentMode);
        let_go(window);
    }
    if (mode != info->presentMode)
        replay_report_add(
            r->report, REPLAY_AREA_PRESENTATION, REPLAY_MAPPED, name ? name : "unknown",
            "a window of the replay (%s) does not have it; frames are shown with VK_PRESENT_MODE_FIFO_KHR",
            window->system->name);
    replay_window_destroy(&window);
    return LAP_OK;
}
