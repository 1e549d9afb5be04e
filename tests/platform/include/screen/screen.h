/* SPDX-License-Identifier: MIT */
/* Stand-in: the types of QNX Screen that vulkan_screen.h names. */
#ifndef TESTS_PLATFORM_SCREEN_H
#define TESTS_PLATFORM_SCREEN_H

struct _screen_context;
struct _screen_window;
struct _screen_buffer;

#endif
