/* SPDX-License-Identifier: MIT */
/* Stand-in: the types of Google's game platform that vulkan_ggp.h names. */
#ifndef TESTS_PLATFORM_GGP_VULKAN_TYPES_H
#define TESTS_PLATFORM_GGP_VULKAN_TYPES_H

#include <stdint.h>

typedef uint32_t GgpStreamDescriptor;
typedef uint64_t GgpFrameToken;

#endif
