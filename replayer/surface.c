/* SPDX-License-Identifier: MIT */
#include "replayer/surface.h"

#include "replayer/window.h"

enum lap_status replay_create_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    return replay_object_add(r, GEN_HANDLE_VkSurfaceKHR, index, index, instance, NULL);
}

enum lap_status replay_destroy_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkSurfaceKHR, index);
    struct replay_window *window = object ? object->record : NULL;

    replay_object_remove(r, GEN_HANDLE_VkSurfaceKHR, index);
    replay_window_destroy(&window);
    return LAP_OK;
}
