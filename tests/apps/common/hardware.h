/* SPDX-License-Identifier: MIT */
/*
 * hardware: what programs, and the layer that stands for Android (tests/layers/hardware.c), know of AHardwareBuffer,
 * for systems without the NDK's android/hardware_buffer.h: the part of it that they use, with its numbers.
 */
#ifndef TESTS_APPS_COMMON_HARDWARE_H
#define TESTS_APPS_COMMON_HARDWARE_H

#include <stdint.h>

struct AHardwareBuffer;

struct hardware_description { /* AHardwareBuffer_Desc */
    uint32_t width, height, layers, format;
    uint64_t usage;
    uint32_t stride, reserved_0;
    uint64_t reserved_1;
};

enum hardware_format {
    HARDWARE_R8G8B8A8 = 1,
    HARDWARE_R5G6B5 = 4,
    HARDWARE_R16G16B16A16_FLOAT = 0x16,
    HARDWARE_BLOB = 0x21,
    HARDWARE_Y8CB8CR8_420 = 0x23,
    HARDWARE_R10G10B10A2 = 0x2b,
    HARDWARE_R8 = 0x38
};

#define HARDWARE_CPU_READ   UINT64_C(0x3) /* often */
#define HARDWARE_CPU_WRITE  UINT64_C(0x30)
#define HARDWARE_GPU_SAMPLE UINT64_C(0x100)
#define HARDWARE_GPU_BUFFER UINT64_C(0x1000000)

/* The functions AHardwareBuffer_X of libnativewindow.so. */
#define HARDWARE_FUNCTIONS(X)                                                                                          \
    X(int, allocate, (const struct hardware_description *is, struct AHardwareBuffer **out))                            \
    X(void, acquire, (struct AHardwareBuffer * buffer))                                                                \
    X(void, release, (struct AHardwareBuffer * buffer))                                                                \
    X(void, describe, (const struct AHardwareBuffer *buffer, struct hardware_description *out))                        \
    X(int, lock, (struct AHardwareBuffer * buffer, uint64_t usage, int32_t fence, const void *rectangle, void **out))  \
    X(int, unlock, (struct AHardwareBuffer * buffer, int32_t * fence))

#endif
