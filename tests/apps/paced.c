/* SPDX-License-Identifier: MIT */
/*
 * paced: presents with ids (VK_KHR_present_id), and waits for them (VK_KHR_present_wait) alone before buffers of the
 * work in front of them are written and read again. Asks when images were shown (VK_GOOGLE_display_timing) where there
 * is an answer. With --second the same with VK_KHR_present_id2 and VK_KHR_present_wait2.
 */
#include "common/shot.h"

#define SHOTS 3u

struct state {
    struct app *app;
    struct app_swapchain swapchain;
    struct app_shot shots[SHOTS];
    uint64_t ids[SHOTS]; /* of the present of a shot; 0: none */
    PFN_vkWaitForPresentKHR wait;
#ifdef VK_KHR_present_wait2
    PFN_vkWaitForPresent2KHR wait2;
#endif
    PFN_vkGetPastPresentationTimingGOOGLE past;
};

/* Nothing but the wait for its present tells that a shot may be used again. */
static void finish(struct state *state, uint32_t i)
{
    const struct app *app = state->app;
    VkResult result = VK_SUCCESS;
    uint64_t id = state->ids[i];

    if (!id)
        return;
#ifdef VK_KHR_present_wait2
    const VkPresentWait2InfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_WAIT_2_INFO_KHR, .presentId = id, .timeout = UINT64_MAX};
    if (state->wait2)
        result = state->wait2(app->device, state->swapchain.swapchain, &info);
#endif
    if (state->wait)
        result = state->wait(app->device, state->swapchain.swapchain, id, UINT64_MAX);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    app_shot_check(app, &state->shots[i], &state->swapchain);
    CHECK_VK(vkWaitForFences(app->device, 1, &state->shots[i].done, VK_TRUE, UINT64_MAX));
    CHECK_VK(vkResetFences(app->device, 1, &state->shots[i].done));
    state->ids[i] = 0;
}

static void present(struct state *state, uint32_t i, uint64_t id)
{
    const struct app_shot *shot = &state->shots[i];
    const VkPresentTimeGOOGLE time = {(uint32_t)id, 0};
    const VkPresentTimesInfoGOOGLE times = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_TIMES_INFO_GOOGLE, .swapchainCount = 1, .pTimes = &time};
    const void *next = state->past ? &times : NULL;
    const VkPresentIdKHR ids = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_ID_KHR, .pNext = next, .swapchainCount = 1, .pPresentIds = &id};
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
                             .pNext = &ids,
                             .waitSemaphoreCount = 1,
                             .pWaitSemaphores = &state->swapchain.drawn[shot->image],
                             .swapchainCount = 1,
                             .pSwapchains = &state->swapchain.swapchain,
                             .pImageIndices = &shot->image};
#ifdef VK_KHR_present_id2
    const VkPresentId2KHR ids2 = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_ID_2_KHR, .pNext = next, .swapchainCount = 1, .pPresentIds = &id};
    if (state->wait2)
        info.pNext = &ids2;
#endif
    VkResult result = vkQueuePresentKHR(state->app->queue, &info);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    state->ids[i] = id;
}

static void run(struct state *state)
{
    const struct app *app = state->app;

    for (uint32_t frame = 0; frame < app->frames; frame++) {
        struct app_shot *shot = &state->shots[frame % SHOTS];
        VkResult result;
        finish(state, frame % SHOTS);
        result = vkAcquireNextImageKHR(app->device, state->swapchain.swapchain, UINT64_MAX, shot->acquired,
                                       VK_NULL_HANDLE, &shot->image);
        CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
        shot->waits = true;
        app_shot_draw(app, shot, &state->swapchain, frame);
        present(state, frame % SHOTS, (uint64_t)frame * 2 + 1); /* ids grow, not by one */
        if (state->past) {
            uint32_t count = 0;
            CHECK_VK(state->past(app->device, state->swapchain.swapchain, &count, NULL));
        }
    }
    for (uint32_t i = 0; i < SHOTS; i++)
        finish(state, (app->frames + i) % SHOTS);
}

int main(int argc, char **argv)
{
    static bool second;
    static const struct app_option options[] = {
        {"--second", "use the second version of both extensions", &second, NULL},
        {0},
    };
    static const char *const instance_extensions[] = {"VK_KHR_get_surface_capabilities2", NULL};
    static const struct app_program program = {
        .name = "paced",
        .what = "Presents with ids, and waits for these.",
        .frames = 12,
        .can_present = true,
        .presents_by_default = true,
        .instance_extensions = instance_extensions,
        .options = options,
    };
    VkPhysicalDevicePresentWaitFeaturesKHR wait = {.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR};
    VkPhysicalDevicePresentIdFeaturesKHR id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR,
                                               .pNext = &wait};
    const char *extensions[3] = {"VK_KHR_present_id", "VK_KHR_present_wait", "VK_GOOGLE_display_timing"};
    struct app_device_request request = {.extensions = extensions, .extension_count = 2, .next = &id};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &id};
    struct app app;
    struct state state = {.app = &app};
    struct app_window window = {0};
#ifdef VK_KHR_present_wait2
    VkPhysicalDevicePresentWait2FeaturesKHR wait2 = {.sType =
                                                         VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_2_FEATURES_KHR};
    VkPhysicalDevicePresentId2FeaturesKHR id2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_2_FEATURES_KHR,
                                                 .pNext = &wait2};
#endif

    app_init(&app, argc, argv, &program);
    if (!app.present)
        app_skip(&app, "there is nothing to do without windows");
#ifdef VK_KHR_present_wait2
    if (second) {
        extensions[0] = "VK_KHR_present_id2";
        extensions[1] = "VK_KHR_present_wait2";
        request.next = features.pNext = &id2;
    }
#else
    if (second)
        app_skip(&app, "built without VK_KHR_present_wait2");
#endif
    if (!app_has_extension(&app, extensions[0]) || !app_has_extension(&app, extensions[1]))
        app_skip(&app, "no present ids, or no waits for them");
    vkGetPhysicalDeviceFeatures2(app.physical, &features);
    request.extension_count += app_has_extension(&app, extensions[2]);
    app_device_create(&app, &request);
    if (!second)
        state.wait = (PFN_vkWaitForPresentKHR)app_device_function(&app, "vkWaitForPresentKHR");
#ifdef VK_KHR_present_wait2
    else
        state.wait2 = (PFN_vkWaitForPresent2KHR)app_device_function(&app, "vkWaitForPresent2KHR");
#endif
    if (request.extension_count == 3)
        state.past =
            (PFN_vkGetPastPresentationTimingGOOGLE)app_device_function(&app, "vkGetPastPresentationTimingGOOGLE");
    for (uint32_t i = 0; i < SHOTS; i++)
        app_shot_create(&app, &state.shots[i]);
    app_window_open(&app, &window, app.width, app.height);
    CHECK(
        app_swapchain_create(&app, &state.swapchain, window.surface, VK_PRESENT_MODE_FIFO_KHR, app.width, app.height));
    if (!state.swapchain.writable || !state.swapchain.readable)
        app_skip(&app, "the swapchain's images can't be copied from and to");
    run(&state);
    CHECK_VK(vkQueueWaitIdle(app.queue));
    app_swapchain_destroy(&app, &state.swapchain);
    app_window_close(&app, &window);
    for (uint32_t i = 0; i < SHOTS; i++)
        app_shot_destroy(&app, &state.shots[i]);
    return app_finish(&app);
}
