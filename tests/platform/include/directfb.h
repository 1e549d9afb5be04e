/* SPDX-License-Identifier: MIT */
/* Stand-in: the types of DirectFB that vulkan_directfb.h names. */
#ifndef TESTS_PLATFORM_DIRECTFB_H
#define TESTS_PLATFORM_DIRECTFB_H

typedef struct tests_directfb IDirectFB;
typedef struct tests_directfb_surface IDirectFBSurface;

#endif
