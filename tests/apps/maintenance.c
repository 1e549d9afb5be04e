/* SPDX-License-Identifier: MIT */
/*
 * maintenance: what VK_EXT_swapchain_maintenance1 adds to swapchains: fences that tell when a present is done, by which
 * alone the program learns that it may read and write its buffers; present modes that change from
 * present to present; images that are given back undrawn; images that get their memory when they are acquired; images
 * that are scaled to the window.
 */
#include "common/shot.h"

#define SHOTS 3u
/* Finite, since Debian 12's validation layer does not know that images that are given back are free again. */
#define LONG_NS 5000000000u

struct state {
    struct app *app;
    struct app_window window;
    struct app_swapchain swapchain;
    struct app_shot shots[SHOTS];
    VkFence presented[SHOTS];
    bool pending[SHOTS];
    uint32_t next;
    VkPresentModeKHR modes[8]; /* that a swapchain may change between */
    uint32_t mode_count;
    VkSurfacePresentScalingCapabilitiesEXT scaling;
    PFN_vkReleaseSwapchainImagesEXT release;
};

/* ---- what the surface has ---- */

static void query(struct state *state)
{
    struct app *app = state->app;
    PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR get_caps =
        (PFN_vkGetPhysicalDeviceSurfaceCapabilities2KHR)vkGetInstanceProcAddr(
            app->instance, "vkGetPhysicalDeviceSurfaceCapabilities2KHR");
    VkSurfacePresentModeEXT mode = {.sType = VK_STRUCTURE_TYPE_SURFACE_PRESENT_MODE_EXT,
                                    .presentMode = VK_PRESENT_MODE_FIFO_KHR};
    const VkPhysicalDeviceSurfaceInfo2KHR info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SURFACE_INFO_2_KHR,
                                                  .pNext = &mode,
                                                  .surface = state->window.surface};
    VkSurfacePresentModeCompatibilityEXT modes = {.sType = VK_STRUCTURE_TYPE_SURFACE_PRESENT_MODE_COMPATIBILITY_EXT,
                                                  .pNext = &state->scaling,
                                                  .presentModeCount = COUNT_OF(state->modes),
                                                  .pPresentModes = state->modes};
    VkSurfaceCapabilities2KHR caps = {.sType = VK_STRUCTURE_TYPE_SURFACE_CAPABILITIES_2_KHR, .pNext = &modes};
    if (!get_caps)
        app_skip(app, "no VK_KHR_get_surface_capabilities2");
    state->scaling.sType = VK_STRUCTURE_TYPE_SURFACE_PRESENT_SCALING_CAPABILITIES_EXT;
    CHECK_VK(get_caps(app->physical, &info, &caps));
    CHECK(modes.presentModeCount >= 1);
    state->mode_count = modes.presentModeCount;
}

static void create_swapchain(struct state *state, uint32_t width, uint32_t height, VkSwapchainCreateFlagsKHR flags)
{
    VkSwapchainPresentScalingCreateInfoEXT scaling = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_SCALING_CREATE_INFO_EXT,
        .scalingBehavior = state->scaling.supportedPresentScaling & -state->scaling.supportedPresentScaling,
        .presentGravityX = state->scaling.supportedPresentGravityX & -state->scaling.supportedPresentGravityX,
        .presentGravityY = state->scaling.supportedPresentGravityY & -state->scaling.supportedPresentGravityY,
    };
    const VkSwapchainPresentModesCreateInfoEXT modes = {.sType =
                                                            VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODES_CREATE_INFO_EXT,
                                                        .pNext = scaling.scalingBehavior ? &scaling : NULL,
                                                        .presentModeCount = state->mode_count,
                                                        .pPresentModes = state->modes};
    CHECK_VK(vkQueueWaitIdle(state->app->queue)); /* for the semaphores of the one before: see drop_swapchain */
    const struct app_swapchain_request request = {
        .flags = flags, .next = &modes, .exact = scaling.scalingBehavior != 0};
    CHECK(app_swapchain_create_with(state->app, &state->swapchain, state->window.surface, VK_PRESENT_MODE_FIFO_KHR,
                                    width, height, &request));
    if (!state->swapchain.writable || !state->swapchain.readable)
        app_skip(state->app, "the swapchain's images can't be copied from and to");
}

/* Its presents are done. Debian 12's validation layer does not know that their fences tell of their semaphores. */
static void drop_swapchain(struct state *state)
{
    CHECK_VK(vkQueueWaitIdle(state->app->queue));
    app_swapchain_destroy(state->app, &state->swapchain);
}

/* ---- frames ---- */

/* Nothing but the fence of its present tells that a shot may be used again. */
static void finish(struct state *state, uint32_t i)
{
    const struct app *app = state->app;
    if (!state->pending[i])
        return;
    CHECK_VK(vkWaitForFences(app->device, 1, &state->presented[i], VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &state->presented[i]));
    app_shot_check(app, &state->shots[i], &state->swapchain);
    /* The present waited for the drawing, so this is there as well. */
    CHECK_VK(vkWaitForFences(app->device, 1, &state->shots[i].done, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &state->shots[i].done));
    state->pending[i] = false;
}

static void finish_all(struct state *state)
{
    for (uint32_t i = 0; i < SHOTS; i++)
        finish(state, i);
}

static void acquire(struct state *state, struct app_shot *shot)
{
    VkResult result = vkAcquireNextImageKHR(state->app->device, state->swapchain.swapchain, LONG_NS, shot->acquired,
                                            VK_NULL_HANDLE, &shot->image);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    CHECK(shot->image < state->swapchain.count);
    shot->waits = true;
}

static void present(struct state *state, uint32_t i)
{
    struct app_shot *shot = &state->shots[i];
    VkPresentModeKHR mode = state->modes[shot->number % state->mode_count];
    VkSwapchainPresentModeInfoEXT modes = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_MODE_INFO_EXT, .swapchainCount = 1, .pPresentModes = &mode};
    const VkSwapchainPresentFenceInfoEXT fences = {.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT,
                                                   .pNext = &modes,
                                                   .swapchainCount = 1,
                                                   .pFences = &state->presented[i]};
    const VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                                   .pNext = &fences,
                                   .waitSemaphoreCount = 1,
                                   .pWaitSemaphores = &state->swapchain.drawn[shot->image],
                                   .swapchainCount = 1,
                                   .pSwapchains = &state->swapchain.swapchain,
                                   .pImageIndices = &shot->image};
    VkResult result = vkQueuePresentKHR(state->app->queue, &info);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    state->pending[i] = true;
}

static void run_frames(struct state *state, uint32_t count)
{
    for (uint32_t frame = 0; frame < count; frame++) {
        uint32_t i = frame % SHOTS;
        finish(state, i);
        acquire(state, &state->shots[i]);
        app_shot_draw(state->app, &state->shots[i], &state->swapchain, state->next++);
        present(state, i);
    }
    finish_all(state);
}

/* Acquired and given back, without a present: the image is there to be acquired again. */
static void run_releases(struct state *state, uint32_t count)
{
    const struct app *app = state->app;
    for (uint32_t i = 0; i < count; i++) {
        struct app_shot *shot = &state->shots[0];
        VkResult result = vkAcquireNextImageKHR(app->device, state->swapchain.swapchain, LONG_NS, VK_NULL_HANDLE,
                                                shot->acquired_fence, &shot->image);
        CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
        CHECK_VK(vkWaitForFences(app->device, 1, &shot->acquired_fence, VK_TRUE, UINT64_MAX));
        CHECK_VK(vkResetFences(app->device, 1, &shot->acquired_fence));
        const VkReleaseSwapchainImagesInfoEXT info = {.sType = VK_STRUCTURE_TYPE_RELEASE_SWAPCHAIN_IMAGES_INFO_EXT,
                                                      .swapchain = state->swapchain.swapchain,
                                                      .imageIndexCount = 1,
                                                      .pImageIndices = &shot->image};
        CHECK_VK(state->release(app->device, &info));
    }
    run_frames(state, 2 * SHOTS);
}

int main(int argc, char **argv)
{
    static const char *const instance_extensions[] = {"VK_KHR_get_surface_capabilities2", "VK_EXT_surface_maintenance1",
                                                      NULL};
    static const char *const device_extensions[] = {"VK_EXT_swapchain_maintenance1"};
    static const struct app_program program = {
        .name = "maintenance",
        .what = "Presents with fences and changing modes, images given back, made late and scaled.",
        .frames = 12,
        .can_present = true,
        .presents_by_default = true,
        .instance_extensions = instance_extensions,
    };
    VkPhysicalDeviceSwapchainMaintenance1FeaturesEXT feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SWAPCHAIN_MAINTENANCE_1_FEATURES_EXT};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &feature};
    const struct app_device_request request = {.extensions = device_extensions, .extension_count = 1, .next = &feature};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct app app;
    struct state state = {.app = &app};
    app_init(&app, argc, argv, &program);
    if (!app.present)
        app_skip(&app, "there is nothing to do without windows");
    if (!app_has_extension(&app, device_extensions[0]))
        app_skip(&app, "no VK_EXT_swapchain_maintenance1");
    vkGetPhysicalDeviceFeatures2(app.physical, &features);
    if (!feature.swapchainMaintenance1)
        app_skip(&app, "no swapchainMaintenance1");
    app_device_create(&app, &request);
    state.release = (PFN_vkReleaseSwapchainImagesEXT)app_device_function(&app, "vkReleaseSwapchainImagesEXT");
    for (uint32_t i = 0; i < SHOTS; i++) {
        app_shot_create(&app, &state.shots[i]);
        CHECK_VK(vkCreateFence(app.device, &fence, NULL, &state.presented[i]));
    }
    app_window_open(&app, &state.window, app.width, app.height);
    query(&state);
    create_swapchain(&state, app.width, app.height, 0);
    run_frames(&state, app.frames);
    if (app.window_kind != APP_HEADLESS) /* Mesa 25.0 follows a null pointer there */
        run_releases(&state, app.frames);
    create_swapchain(&state, app.width, app.height, VK_SWAPCHAIN_CREATE_DEFERRED_MEMORY_ALLOCATION_BIT_EXT);
    run_frames(&state, app.frames);
    drop_swapchain(&state);
    /* Where images are scaled to the window, they need not have its size. */
    create_swapchain(&state, app.width / 2, app.height / 3, 0);
    run_frames(&state, app.frames);
    drop_swapchain(&state);
    app_window_close(&app, &state.window);
    for (uint32_t i = 0; i < SHOTS; i++) {
        app_shot_destroy(&app, &state.shots[i]);
        vkDestroyFence(app.device, state.presented[i], NULL);
    }
    return app_finish(&app);
}
