/* SPDX-License-Identifier: MIT */
#include "replayer/present/surface.h"

#include "replayer/core/handles.h"
#include "replayer/present/swapchain.h"
#include "replayer/present/window.h"

enum lap_status replay_create_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    return replay_object_add(r, GEN_HANDLE_VkSurfaceKHR, index, index, instance, NULL);
}

/* Detaches the swapchains of an invalid program that destroys their surface first. Their frames are no
 * longer shown. */
static void detach_swapchains(struct replay *r, struct replay_window *window)
{
    for (uint64_t i = 1; i < r->objects.tables[GEN_HANDLE_VkSwapchainKHR].live.count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSwapchainKHR, i);
        struct replay_swapchain *swapchain = object ? object->record : NULL;
        if (!swapchain || swapchain->window != window)
            continue;
        replay_window_detach(window);
        swapchain->window = NULL;
    }
}

enum lap_status replay_destroy_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSurfaceKHR, index);
    struct replay_window *window = object ? object->record : NULL;

    if (window)
        detach_swapchains(r, window);
    replay_object_remove(r, GEN_HANDLE_VkSurfaceKHR, index);
    replay_window_destroy(&window);
    return LAP_OK;
}
