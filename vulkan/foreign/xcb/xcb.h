/* SPDX-License-Identifier: MIT */
/* The types of XCB that vulkan_xcb.h wants, for systems without X: traces have them ("X Window System Protocol"). */
#ifndef LAP_VULKAN_FOREIGN_XCB_H
#define LAP_VULKAN_FOREIGN_XCB_H

#include <stdint.h>

typedef struct xcb_connection_t xcb_connection_t;
typedef uint32_t xcb_window_t;
typedef uint32_t xcb_visualid_t;

#endif
