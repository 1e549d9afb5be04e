/* SPDX-License-Identifier: MIT */
/*
 * key: a key that begins a part when it is pressed while a window of the program has the focus (capture --trigger key).
 *
 * On X a thread of the layer gets all key presses over a connection of its own (key_x.c). If it was the key, the thread
 * asks for the window with the focus. On Wayland only clients with the focus get key events: the layer creates a
 * keyboard object on the program's connection, and dispatches its events at the end of a frame (key_wayland.c). The
 * program still gets the key; nothing is grabbed.
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

/* An image was presented: its windows exist. */
void layer_key_presented(struct layer_device *dev, const VkPresentInfoKHR *info);

#endif
