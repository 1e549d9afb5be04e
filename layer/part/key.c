/* SPDX-License-Identifier: MIT */
#include "layer/part/key.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "layer/core/records.h"
#include "layer/part/key_window.h"

static atomic_bool pressed;
static atomic_uint generation = 1; /* of processes: a child must not use its parent's windows */
static atomic_bool has_window;     /* set once there was a window whose keys can be watched */

static struct {
    pthread_mutex_t mutex;
    char last[256];
} said = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void layer_key_forked(void)
{
    atomic_fetch_add(&generation, 1);
    pthread_mutex_init(&said.mutex, NULL);
    layer_key_x_forked();
    layer_key_wayland_forked();
    atomic_store(&pressed, false);
    atomic_store(&has_window, false);
}

void layer_key_pressed(void)
{
    atomic_store(&pressed, true);
}

void layer_key_cannot(const char *why)
{
    bool is_new;

    pthread_mutex_lock(&said.mutex);
    is_new = strncmp(said.last, why, sizeof said.last - 1) != 0;
    snprintf(said.last, sizeof said.last, "%s", why);
    pthread_mutex_unlock(&said.mutex);
    if (is_new)
        lap_log(&layer.log, LAP_LOG_WARNING, "%s begins no part: %s", layer.options.parts.key->name, why);
}

bool layer_key_was_pressed(void)
{
    if (!atomic_load_explicit(&has_window, memory_order_relaxed)) {
        atomic_store(&has_window, true); /* logged once */
        layer_key_cannot("the program has shown a frame, and has no window on X or Wayland so far");
    }
    return atomic_load_explicit(&pressed, memory_order_relaxed) && atomic_exchange(&pressed, false);
}

/* ---- windows ---- */

static bool is_watched(const struct layer_surface *surface)
{
    return surface->key_generation && surface->key_generation == atomic_load(&generation);
}

#ifdef LAP_HAS_X
void layer_key_watch_x(struct layer_surface *surface, int socket, uint32_t window)
{
    struct layer_x_address address;
    int cancel = lap_cancel_off();

    layer_key_unwatch(surface);
    atomic_store(&has_window, true);
    if (layer_x_address_of(socket, &address)) {
        surface->key_x = layer_key_x_add(&address, window);
        surface->key_generation = atomic_load(&generation);
    } else {
        layer_key_cannot("the program's connection to the X server has no address");
    }
    lap_cancel_restore(cancel);
}
#else
void layer_key_watch_x(struct layer_surface *surface, int socket, uint32_t window) {}
#endif

void layer_key_watch_wayland(struct layer_surface *surface, struct wl_display *display)
{
    int cancel = lap_cancel_off();

    layer_key_unwatch(surface);
    atomic_store(&has_window, true);
    surface->key_wayland = layer_key_wayland_add(display);
    surface->key_generation = atomic_load(&generation);
    lap_cancel_restore(cancel);
}

void layer_key_unwatch(struct layer_surface *surface)
{
    int cancel = lap_cancel_off();

    if (is_watched(surface)) {
        if (surface->key_x)
            layer_key_x_remove(surface->key_x);
        if (surface->key_wayland)
            layer_key_wayland_remove(surface->key_wayland);
    }
    surface->key_x = NULL;
    surface->key_wayland = NULL;
    surface->key_generation = 0;
    lap_cancel_restore(cancel);
}

void layer_key_presented(struct layer_device *dev, const VkPresentInfoKHR *info)
{
    int cancel;

    if (!layer.options.parts.key)
        return;
    cancel = lap_cancel_off();
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        const struct layer_swapchain *swapchain = LAYER_GET(dev, VkSwapchainKHR, info->pSwapchains[i]);
        const struct layer_surface *surface = swapchain ? LAYER_GET(dev, VkSurfaceKHR, swapchain->info.surface) : NULL;
        if (surface && surface->key_wayland && is_watched(surface))
            layer_key_wayland_look(surface->key_wayland);
    }
    lap_cancel_restore(cancel);
}
