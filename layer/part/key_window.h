/* SPDX-License-Identifier: MIT */
/*
 * key_window: what key.c and the window systems have of each other.
 */
#ifndef LAP_LAYER_PART_KEY_WINDOW_H
#define LAP_LAYER_PART_KEY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "layer/part/x_server.h"

struct wl_display;
struct layer_key_window;

/* From any thread: the key was pressed, in a window of the program. */
void layer_key_pressed(void);

/* Says which key, and why it begins no part in some windows; at most once for each reason. */
void layer_key_cannot(const char *why);

/* ---- key_x.c ---- */

struct layer_key_x; /* a window on an X server */
/* address is the callee's. NULL: it was said why. */
struct layer_key_x *layer_key_x_add(struct layer_x_address *address, uint32_t window);
void layer_key_x_remove(struct layer_key_x *window);
/* In the child of a fork: all are forgotten; none is removed any more. */
void layer_key_x_forked(void);

/* ---- key_wayland.c ---- */

struct layer_key_wayland; /* a display with windows */
/* As often as it is removed. NULL: it was said why. */
struct layer_key_wayland *layer_key_wayland_add(struct wl_display *display);
void layer_key_wayland_remove(struct layer_key_wayland *display);
/* While the display is there: looks at what has come for it. */
void layer_key_wayland_look(struct layer_key_wayland *display);
void layer_key_wayland_forked(void);

#endif
