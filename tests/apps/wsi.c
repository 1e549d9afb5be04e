/* SPDX-License-Identifier: MIT */
/*
 * wsi: windows and swapchains as real programs treat them: every present mode, swapchains replaced while they are in
 * use and after a resize, acquiring with a timeout of 0, with a fence, two images at a time that are presented in the
 * other order, two windows in one present, a window that is hidden for a while, images acquired and never presented.
 * With --replace-late a swapchain is destroyed only when the next one is replaced, after frames in that one: drivers
 * may give the handles of its images to the next one. With --bound the program never asks for a swapchain's images, but
 * has images of its own with their memory. With --early it submits before it has a surface, which ends a frame. With
 * --ask-together threads ask for the images of a swapchain at
 * the same time, which Debian 12's validation layer does not survive every time.
 */
#include "common/shot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum how { WAITING, POLLING, WITH_FENCE, SECOND_COMMAND, HOW_COUNT };

struct view {
    struct app_window window;
    struct app_swapchain swapchain, replaced;
    VkPresentModeKHR mode;
    bool stale;
};

struct state {
    struct app *app;
    struct app_shot shots[2];
    uint32_t next; /* number of the next picture */
    bool replaces_late, binds;
};

static void query(struct app *app, const struct view *view)
{
    const VkPhysicalDeviceSurfaceInfo2KHR info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SURFACE_INFO_2_KHR,
                                                  .surface = view->window.surface};
    PFN_vkGetPhysicalDeviceSurfaceFormats2KHR get_formats =
        (PFN_vkGetPhysicalDeviceSurfaceFormats2KHR)vkGetInstanceProcAddr(app->instance,
                                                                         "vkGetPhysicalDeviceSurfaceFormats2KHR");
    PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR get_caps =
        (PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR)vkGetInstanceProcAddr(
            app->instance, "vkGetPhysicalDeviceSurfaceCapabilities2KHR");
    if (!get_formats || !get_caps) {
        printf("left out: VK_KHR_get_surface_capabilities2\n");
        return;
    }
    VkSurfaceCapabilities2KHR caps2 = {.sType = VK_STRUCTURE_TYPE_SURFACE_CAPABILITIES_2_KHR};
    VkSurfaceCapabilitiesKHR caps;
    CHECK_VK(get_caps(app->physical, &info, &caps2));
    CHECK_VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(app->physical, view->window.surface, &caps));
    CHECK(caps.currentExtent.width == caps2.surfaceCapabilities.currentExtent.width);
    uint32_t all = 0, one = 1;
    CHECK_VK(get_formats(app->physical, &info, &all, NULL));
    VkSurfaceFormat2KHR format = {.sType = VK_STRUCTURE_TYPE_SURFACE_FORMAT_2_KHR};
    CHECK(get_formats(app->physical, &info, &one, &format) == (all > 1 ? VK_INCOMPLETE : VK_SUCCESS));
    CHECK(one == 1);
}

static void create_shots(struct state *state)
{
    for (uint32_t i = 0; i < COUNT_OF(state->shots); i++)
        app_shot_create(state->app, &state->shots[i]);
}

static void destroy_shots(struct state *state)
{
    for (uint32_t i = 0; i < COUNT_OF(state->shots); i++)
        app_shot_destroy(state->app, &state->shots[i]);
}

/* False where the window has no area: then nothing can be drawn. */
static bool renew(struct state *state, struct view *view, uint32_t width, uint32_t height)
{
    struct app *app = state->app;
    struct app_swapchain replaced = {0};
    const struct app_swapchain_request request = {.replaced = state->replaces_late ? &replaced : NULL,
                                                  .bound = state->binds};
    CHECK_VK(vkDeviceWaitIdle(app->device));
    if (!app_swapchain_create_with(app, &view->swapchain, view->window.surface, view->mode,
                                   width ? width : view->window.width, height ? height : view->window.height, &request))
        return false;
    app_swapchain_destroy(app, &view->replaced);
    view->replaced = replaced;
    if (!view->swapchain.writable || !view->swapchain.readable)
        app_skip(app, "the swapchain's images can't be copied from and to");
    view->stale = false;
    return true;
}

static VkResult try_acquire(const struct app *app, struct app_shot *shot, struct view *view, enum how how)
{
    VkSwapchainKHR swapchain = view->swapchain.swapchain;
    VkAcquireNextImageInfoKHR info = {.sType = VK_STRUCTURE_TYPE_ACQUIRE_NEXT_IMAGE_INFO_KHR};
    const struct timespec pause = {0, 200000};
    VkResult result;
    shot->waits = how != WITH_FENCE;
    switch (how) {
    case POLLING:
        while ((result = vkAcquireNextImageKHR(app->device, swapchain, 0, shot->acquired, VK_NULL_HANDLE,
                                               &shot->image)) == VK_NOT_READY ||
               result == VK_TIMEOUT) {
            app_window_listen(&view->window);
            nanosleep(&pause, NULL);
        }
        return result;
    case WITH_FENCE:
        result = vkAcquireNextImageKHR(app->device, swapchain, UINT64_MAX, VK_NULL_HANDLE, shot->acquired_fence,
                                       &shot->image);
        if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR) {
            CHECK_VK(vkWaitForFences(app->device, 1, &shot->acquired_fence, VK_TRUE, UINT64_MAX));
            CHECK_VK(vkResetFences(app->device, 1, &shot->acquired_fence));
        }
        return result;
    case SECOND_COMMAND:
        info.swapchain = swapchain;
        info.timeout = 5000000000u;
        info.semaphore = shot->acquired;
        info.deviceMask = 1;
        return vkAcquireNextImage2KHR(app->device, &info, &shot->image);
    case WAITING:
    default:
        return vkAcquireNextImageKHR(app->device, swapchain, UINT64_MAX, shot->acquired, VK_NULL_HANDLE, &shot->image);
    }
}

/* Acquires an image; renews the swapchain as often as it is out of date. False where the window has no area. */
static bool acquire(struct state *state, struct app_shot *shot, struct view *view, enum how how)
{
    if (view->stale && !renew(state, view, 0, 0))
        return false;
    for (;;) {
        VkResult result = try_acquire(state->app, shot, view, how);
        if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR) {
            CHECK(shot->image < view->swapchain.count);
            return true;
        }
        CHECK(result == VK_ERROR_OUT_OF_DATE_KHR);
        if (!renew(state, view, 0, 0))
            return false;
    }
}

/* Draws into the acquired image and checks it; it is ready to be presented then. */
static void draw(struct state *state, struct app_shot *shot, const struct view *view)
{
    app_shot_draw(state->app, shot, &view->swapchain, state->next++);
    app_shot_finish(state->app, shot, &view->swapchain);
}

static void present(struct state *state, uint32_t count, struct view *const *views, struct app_shot *const *shots)
{
    VkSwapchainKHR swapchains[2];
    VkSemaphore semaphores[2];
    uint32_t images[2];
    VkResult results[2] = {VK_SUCCESS, VK_SUCCESS};
    for (uint32_t i = 0; i < count; i++) {
        swapchains[i] = views[i]->swapchain.swapchain;
        images[i] = shots[i]->image;
        semaphores[i] = views[i]->swapchain.drawn[images[i]];
    }
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
    info.waitSemaphoreCount = count;
    info.pWaitSemaphores = semaphores;
    info.swapchainCount = count;
    info.pSwapchains = swapchains;
    info.pImageIndices = images;
    info.pResults = count > 1 ? results : NULL;
    VkResult result = vkQueuePresentKHR(state->app->queue, &info);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR || result == VK_ERROR_OUT_OF_DATE_KHR);
    for (uint32_t i = 0; i < count; i++)
        views[i]->stale |= (count > 1 ? results[i] : result) != VK_SUCCESS;
}

static void run_frames(struct state *state, struct view *view, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct app_shot *shot = &state->shots[i % 2];
        if (!acquire(state, shot, view, (enum how)(i % HOW_COUNT)))
            continue;
        draw(state, shot, view);
        present(state, 1, &view, &shot);
    }
}

static void open_view(struct state *state, struct view *view, uint32_t width, uint32_t height)
{
    *view = (struct view){.mode = VK_PRESENT_MODE_FIFO_KHR};
    app_window_open(state->app, &view->window, width, height);
    CHECK(renew(state, view, width, height));
}

static void close_view(struct state *state, struct view *view)
{
    CHECK_VK(vkDeviceWaitIdle(state->app->device));
    app_swapchain_destroy(state->app, &view->replaced);
    app_swapchain_destroy(state->app, &view->swapchain);
    app_window_close(state->app, &view->window);
}

static void run_modes(struct state *state, struct view *view, uint32_t frames)
{
    VkPresentModeKHR modes[8];
    uint32_t count = COUNT_OF(modes);
    VkResult result =
        vkGetPhysicalDeviceSurfacePresentModesKHR(state->app->physical, view->window.surface, &count, modes);
    CHECK(result == VK_SUCCESS || result == VK_INCOMPLETE);
    for (uint32_t i = 0; i < count; i++) {
        if (modes[i] > VK_PRESENT_MODE_FIFO_RELAXED_KHR) /* the shared ones work another way */
            continue;
        view->mode = modes[i];
        CHECK(renew(state, view, 320, 240));
        run_frames(state, view, frames);
    }
    view->mode = VK_PRESENT_MODE_FIFO_KHR;
    CHECK(renew(state, view, 320, 240));
}

static void run_resizes(struct state *state, struct view *view, uint32_t frames)
{
    static const uint32_t sizes[][2] = {{200, 300}, {640, 100}, {97, 61}, {320, 240}};
    for (uint32_t i = 0; i < COUNT_OF(sizes); i++) {
        app_window_resize(&view->window, sizes[i][0], sizes[i][1]);
        if (i % 2) /* otherwise the program learns of it from the results, or never */
            view->stale = true;
        run_frames(state, view, frames);
    }
    CHECK(renew(state, view, 320, 240));
    if (state->app->window_kind != APP_HEADLESS) /* which has a size of the driver's choice */
        CHECK(view->swapchain.extent.width == 320 && view->swapchain.extent.height == 240);
}

static void run_out_of_order(struct state *state, struct view *view, uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        struct app_shot *first = &state->shots[0], *second = &state->shots[1];
        if (!acquire(state, first, view, WAITING))
            return;
        VkSwapchainKHR before = view->swapchain.swapchain;
        CHECK(acquire(state, second, view, POLLING));
        CHECK(view->swapchain.swapchain == before); /* nothing is resized here */
        EXPECT_EQ(state->app, first->image != second->image, true);
        draw(state, second, view);
        draw(state, first, view);
        present(state, 1, &view, &second);
        present(state, 1, &view, &first);
    }
}

static void run_two(struct state *state, struct view *views[2], uint32_t frames)
{
    for (uint32_t i = 0; i < frames; i++) {
        struct app_shot *shots[2] = {&state->shots[0], &state->shots[1]};
        for (uint32_t v = 0; v < 2; v++) {
            CHECK(acquire(state, shots[v], views[v], (enum how)((i + v) % HOW_COUNT)));
            draw(state, shots[v], views[v]);
        }
        present(state, 2, views, shots);
    }
}

/* An image that was acquired goes down with its swapchain. */
static void abandon(struct state *state, struct view *view)
{
    CHECK(acquire(state, &state->shots[0], view, WITH_FENCE));
    CHECK(renew(state, view, 320, 240));
    run_frames(state, view, 2);
}

/* ---- threads ---- */

#define ASKERS 2

struct asker {
    const struct app *app;
    atomic_int *waiting;
    VkSwapchainKHR swapchain;
    uint32_t count;
    VkImage images[APP_MAX_IMAGES];
};

static void *ask(void *argument)
{
    struct asker *asker = argument;
    asker->count = APP_MAX_IMAGES;
    atomic_fetch_sub(asker->waiting, 1);
    while (atomic_load(asker->waiting))
        ;
    CHECK_VK(vkGetSwapchainImagesKHR(asker->app->device, asker->swapchain, &asker->count, asker->images));
    return NULL;
}

/* No host access of vkGetSwapchainImagesKHR needs to be synchronised. */
static void run_askers(const struct app *app, VkSwapchainKHR swapchain)
{
    struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    atomic_int waiting = ASKERS;
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.app = app, .waiting = &waiting, .swapchain = swapchain};
        CHECK(!pthread_create(&threads[i], NULL, ask, &askers[i]));
    }
    for (int i = 0; i < ASKERS; i++) {
        CHECK(!pthread_join(threads[i], NULL));
        EXPECT_EQ(app, askers[i].count, askers[0].count);
        EXPECT_EQ(app, memcmp(askers[i].images, askers[0].images, sizeof askers[0].images), 0);
    }
}

static void ask_together(const struct state *state, struct view *view)
{
    const struct app *app = state->app;
    const struct app_swapchain last = view->swapchain;
    VkSwapchainKHR old = VK_NULL_HANDLE;
    CHECK_VK(vkDeviceWaitIdle(app->device));
    app_swapchain_destroy(app, &view->swapchain);
    for (uint32_t i = 0; i < 100; i++) {
        VkSurfaceCapabilitiesKHR caps;
        VkSwapchainCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
        CHECK_VK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(app->physical, view->window.surface, &caps));
        create.surface = view->window.surface;
        create.minImageCount = caps.minImageCount;
        create.imageFormat = last.format;
        create.imageExtent = last.extent;
        create.imageArrayLayers = 1;
        create.imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
        create.preTransform = caps.currentTransform;
        create.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
        create.presentMode = VK_PRESENT_MODE_FIFO_KHR;
        create.oldSwapchain = old;
        VkSwapchainKHR swapchain;
        CHECK_VK(vkCreateSwapchainKHR(app->device, &create, NULL, &swapchain));
        vkDestroySwapchainKHR(app->device, old, NULL);
        run_askers(app, swapchain);
        old = swapchain;
    }
    vkDestroySwapchainKHR(app->device, old, NULL);
}

int main(int argc, char **argv)
{
    static const char *const instance_extensions[] = {"VK_KHR_get_surface_capabilities2", NULL};
    static bool asks_together, replaces_late, binds, submits_early;
    static const struct app_option options[] = {
        {"--replace-late", "a swapchain goes when the next one is replaced", &replaces_late, NULL},
        {"--bound", "images of the program's own have the memory of the swapchain's", &binds, NULL},
        {"--early", "a submit before the first surface", &submits_early, NULL},
        {"--ask-together", "several threads ask for a swapchain's images at once", &asks_together, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "wsi",
        .what = "Windows and swapchains: present modes, resizes, two windows, images in any order.",
        .frames = 6,
        .can_present = true,
        .presents_by_default = true,
        .instance_extensions = instance_extensions,
        .options = options,
    };
    struct app app;
    struct state state = {.app = &app};
    struct view first, second;
    app_init(&app, argc, argv, &program);
    if (!app.present)
        app_skip(&app, "there is nothing to do without windows");
    app_device_create(&app, NULL);
    state.replaces_late = replaces_late;
    state.binds = binds;
    create_shots(&state);
    if (submits_early)
        CHECK_VK(vkQueueSubmit(app.queue, 0, NULL, VK_NULL_HANDLE));
    open_view(&state, &first, 320, 240);
    query(&app, &first);
    run_modes(&state, &first, app.frames);
    run_resizes(&state, &first, app.frames / 2);
    run_out_of_order(&state, &first, app.frames / 2);
    open_view(&state, &second, 200, 150);
    run_two(&state, (struct view *[2]){&first, &second}, app.frames);
    app_window_show(&first.window, false);
    run_frames(&state, &first, 2);
    run_frames(&state, &second, 2);
    app_window_show(&first.window, true);
    abandon(&state, &first);
    close_view(&state, &second);
    run_frames(&state, &first, 2);
    if (asks_together)
        ask_together(&state, &first);
    close_view(&state, &first);
    destroy_shots(&state);
    return app_finish(&app);
}
