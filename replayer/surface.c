/* SPDX-License-Identifier: MIT */
#include "replayer/surface.h"

enum lap_status replay_create_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    return replay_object_add(r, GEN_HANDLE_VkSurfaceKHR, index, index, instance, NULL);
}

enum lap_status replay_destroy_surface(struct replay *r, struct replay_instance *instance, uint64_t index)
{
    replay_object_remove(r, GEN_HANDLE_VkSurfaceKHR, index);
    return LAP_OK;
}
