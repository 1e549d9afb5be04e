/* SPDX-License-Identifier: MIT */
/* Stand-in: the type of Fuchsia that vulkan_fuchsia.h names. */
#ifndef TESTS_PLATFORM_ZIRCON_TYPES_H
#define TESTS_PLATFORM_ZIRCON_TYPES_H

#include <stdint.h>

typedef uint32_t zx_handle_t;

#endif
