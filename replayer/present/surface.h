/* SPDX-License-Identifier: MIT */
/*
 * surface: substitutes the windows of the recorded program. For any recorded window system, a surface is only an entry
 * in the table of VkSurfaceKHR objects. Its live handle is its own trace index, which no driver gets. The first
 * swapchain creates the window, if there is one (swapchain.c), since it has the size. The window is the object's record
 * (struct replay_window *) and ends with the surface.
 *
 * replay_create_surface and replay_destroy_surface are declared in gen_replay.h.
 */
#ifndef LAP_REPLAYER_PRESENT_SURFACE_H
#define LAP_REPLAYER_PRESENT_SURFACE_H

#include "gen_replay.h"

#endif
