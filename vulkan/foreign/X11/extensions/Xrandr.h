/* SPDX-License-Identifier: MIT */
/* The type of the RandR extension that vulkan_xlib_xrandr.h wants, for systems without X: traces have it. */
#ifndef LAP_VULKAN_FOREIGN_XRANDR_H
#define LAP_VULKAN_FOREIGN_XRANDR_H

typedef unsigned long RROutput;

#endif
