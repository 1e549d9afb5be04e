/* SPDX-License-Identifier: MIT */
/*
 * hardware_functions: Android's AHardwareBuffer, as far as the layer needs it (android/hardware_buffer.h of the NDK,
 * which other systems lack). The functions are looked up in libnativewindow.so when somebody asks for the first time.
 * Any thread.
 */
#ifndef LAP_LAYER_CORE_HARDWARE_FUNCTIONS_H
#define LAP_LAYER_CORE_HARDWARE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct AHardwareBuffer;

struct layer_hardware_description { /* AHardwareBuffer_Desc */
    uint32_t width, height, layers, format;
    uint64_t usage;
    uint32_t stride; /* in texels */
    uint32_t reserved_0;
    uint64_t reserved_1;
};

/* AHardwareBuffer_X, once layer_hardware_exists() was true. */
struct layer_hardware_functions {
    void (*acquire)(struct AHardwareBuffer *buffer);
    void (*release)(struct AHardwareBuffer *buffer);
    void (*describe)(const struct AHardwareBuffer *buffer, struct layer_hardware_description *out);
    int (*lock)(struct AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const void *rectangle, void **out);
    int (*unlock)(struct AHardwareBuffer *buffer, int32_t *fence);
    int (*id)(const struct AHardwareBuffer *buffer, uint64_t *out); /* NULL: before Android 12 */
};
extern struct layer_hardware_functions layer_hardware;

/* The system has all of them. */
bool layer_hardware_exists(void);

#endif
