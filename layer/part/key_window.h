/* SPDX-License-Identifier: MIT */
/*
 * key_window: the interface between key.c and the window systems.
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

/* Logs the key, and the reason why it begins no part in some windows; at most once for each reason. */
void layer_key_cannot(const char *why);

/* ---- key_x.c ---- */

struct layer_key_x; /* a window on an X server */
#ifdef LAP_HAS_X
/* Takes ownership of address. NULL: the reason was logged. */
struct layer_key_x *layer_key_x_add(struct layer_x_address *address, uint32_t window);
void layer_key_x_remove(struct layer_key_x *window);
/* In the child of a fork: all are forgotten; none is removed any more. */
void layer_key_x_forked(void);
#else /* the build leaves that file out */
static inline void layer_key_x_remove(struct layer_key_x *window) {}
static inline void layer_key_x_forked(void) {}
#endif

/* ---- key_wayland.c ---- */

struct layer_key_wayland; /* a display with windows */
/* Each add needs one remove. NULL: the reason was logged. */
struct layer_key_wayland *layer_key_wayland_add(struct wl_display *display);
void layer_key_wayland_remove(struct layer_key_wayland *display);
/* While the display exists: dispatches the events that were read for it. */
void layer_key_wayland_look(struct layer_key_wayland *display);
void layer_key_wayland_forked(void);

#endif
