/* SPDX-License-Identifier: MIT */
/*
 * surface: stands for the windows of the recorded program. Whatever window system it used, a surface is nothing but an
 * entry in the table of VkSurfaceKHR objects: its live handle is its own trace index and is never given to a driver.
 * The window, if there is one, is made with the first swapchain (swapchain.c), since only then its size is known; it is
 * the object's record (struct replay_window *) and ends with the surface.
 *
 * replay_create_surface and replay_destroy_surface are declared in gen_replay.h.
 */
#ifndef LAP_REPLAYER_SURFACE_H
#define LAP_REPLAYER_SURFACE_H

#include "gen_replay.h"

#endif
