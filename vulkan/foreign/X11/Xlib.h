/* SPDX-License-Identifier: MIT */
/* The types of Xlib that vulkan_xlib.h wants, for systems without X: traces have them ("Xlib - C Language X Interface"). */
#ifndef LAP_VULKAN_FOREIGN_XLIB_H
#define LAP_VULKAN_FOREIGN_XLIB_H

typedef struct _XDisplay Display;
typedef unsigned long Window;
typedef unsigned long VisualID;

/* There is no connection. */
#define ConnectionNumber(display) (-1)

#endif
