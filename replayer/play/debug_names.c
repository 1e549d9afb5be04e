/* SPDX-License-Identifier: MIT */
/* Names and tags of objects, for debuggers attached to a replay. */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/play/player.h"

/* Whether the driver knows the live handle as an object of that type. */
static bool can_be_named(VkObjectType type, uint64_t live)
{
    switch (type) {
    case VK_OBJECT_TYPE_UNKNOWN:
    case VK_OBJECT_TYPE_INSTANCE:
    case VK_OBJECT_TYPE_PHYSICAL_DEVICE:
    case VK_OBJECT_TYPE_SURFACE_KHR: /* the replay implements windows and swapchains itself */
    case VK_OBJECT_TYPE_SWAPCHAIN_KHR:
        return false;
    default:
        return live != 0;
    }
}

/* A refused name changes nothing that the trace does: lavapipe of Mesa 22.3 takes no null name. */
static enum lap_status note(struct replay *r, VkResult result)
{
    if (result < 0)
        lap_log(r->log, LAP_LOG_DEBUG, "packet %" PRIu64 ": the driver refuses %s with %s", r->at.packet.ticket,
                gen_command_names[r->at.command], replay_result_name(result));
    return LAP_OK;
}

enum lap_status replay_SetDebugUtilsObjectNameEXT(struct replay *r, struct replay_device *dev,
                                                  struct gen_args_vkSetDebugUtilsObjectNameEXT *args)
{
    VkDebugUtilsObjectNameInfoEXT info = *args->pNameInfo;

    info.pNext = NULL;
    if (!dev->vk.SetDebugUtilsObjectNameEXT || !can_be_named(info.objectType, info.objectHandle))
        return LAP_OK;
    return note(r, dev->vk.SetDebugUtilsObjectNameEXT(dev->live, &info));
}

enum lap_status replay_SetDebugUtilsObjectTagEXT(struct replay *r, struct replay_device *dev,
                                                 struct gen_args_vkSetDebugUtilsObjectTagEXT *args)
{
    VkDebugUtilsObjectTagInfoEXT info = *args->pTagInfo;

    info.pNext = NULL;
    if (!dev->vk.SetDebugUtilsObjectTagEXT || !can_be_named(info.objectType, info.objectHandle) || !info.pTag)
        return LAP_OK;
    return note(r, dev->vk.SetDebugUtilsObjectTagEXT(dev->live, &info));
}
