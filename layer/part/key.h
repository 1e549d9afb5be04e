/* SPDX-License-Identifier: MIT */
/*
 * key: a key that begins a part when it is pressed while a window of the program has the focus (capture --trigger key).
 *
 * On X a thread of the layer's own hears of all keys that are pressed, over a connection of its own (key_x.c), and asks
 * who has the focus when it was the key. On Wayland only clients with the focus hear of keys: the layer has a keyboard
 * of its own among the program's objects, and looks at what the program has read for it when a frame ends
 * (key_wayland.c). The key is the program's as it was; nothing is grabbed.
 */
#ifndef LAP_LAYER_PART_KEY_H
#define LAP_LAYER_PART_KEY_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/key.h"

struct layer_device;
struct layer_surface;
struct wl_display;

/* In the child of a fork, which has none of its parent's windows. */
void layer_key_forked(void);

/* Whether the key was pressed since the last call. */
bool layer_key_was_pressed(void);

/* A surface was made of a window. socket: the program's connection to the X server. Nothing waits for a server. */
void layer_key_watch_x(struct layer_surface *surface, int socket, uint32_t window);
void layer_key_watch_wayland(struct layer_surface *surface, struct wl_display *display);

/* Before a surface is forgotten; its window, and the connection to it, may be gone. */
void layer_key_unwatch(struct layer_surface *surface);

/* An image was presented: the windows that it is for are there. */
void layer_key_presented(struct layer_device *dev, const VkPresentInfoKHR *info);

#endif
