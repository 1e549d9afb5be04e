/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "replayer/core/device.h"
#include "replayer/present/window_system.h"

struct replay_native {
    VkExtent2D extent;
};

struct replay_display {
    int unused; /* no connection */
};

static struct replay_display *connect_display(void)
{
    return calloc(1, sizeof(struct replay_display));
}

static void disconnect_display(struct replay_display **display)
{
    free(*display);
    *display = NULL;
}

static enum lap_status open_window(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                                   struct replay_native **out_native)
{
    *out_native = malloc(sizeof **out_native);
    if (!*out_native)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    (*out_native)->extent = extent;
    return LAP_OK;
}

static void close_window(struct replay_native **native)
{
    free(*native);
    *native = NULL;
}

static VkResult create_surface(const struct replay_native *native, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface)
{
    VkHeadlessSurfaceCreateInfoEXT info = {.sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT};

    return instance->vk.CreateHeadlessSurfaceEXT
               ? instance->vk.CreateHeadlessSurfaceEXT(instance->live, &info, NULL, out_surface)
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void set_title(struct replay_native *native, const char *title) {}

static void resize(struct replay_native *native, VkExtent2D extent)
{
    native->extent = extent;
}

static enum replay_window_state poll_events(struct replay_native *native, VkExtent2D *out_extent)
{
    *out_extent = native->extent;
    return REPLAY_WINDOW_OPEN;
}

const struct replay_window_system replay_window_headless = {.name = "headless-surface",
                                                            .extension = VK_EXT_HEADLESS_SURFACE_EXTENSION_NAME,
                                                            .on_request = true,
                                                            .connect = connect_display,
                                                            .disconnect = disconnect_display,
                                                            .open = open_window,
                                                            .close = close_window,
                                                            .create_surface = create_surface,
                                                            .set_title = set_title,
                                                            .resize = resize,
                                                            .poll = poll_events};
