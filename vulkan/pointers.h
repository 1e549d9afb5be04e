/* SPDX-License-Identifier: MIT */
/*
 * pointers: visits everything that the parameters of a command point to, with the reflection tables, and reads nothing
 * that the visitor has not allowed before. So the memory may be of a stranger's making, other than for
 * vulkan/walk.h.
 *
 * Members that are never recorded (allocators, callbacks) are not looked at. Any thread.
 */
#ifndef LAP_VULKAN_POINTERS_H
#define LAP_VULKAN_POINTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "vulkan/reflect.h"

struct lap_pointers_visitor {
    /* The pointer at `location` (in the parameters, or in memory that was allowed) to so many bytes. An error ends the
     * walk. */
    enum lap_status (*pointer)(void *user, const void *location, const void *target, size_t bytes, size_t alignment);
    /* The same to bytes that the walk and encoders do not look into. NULL: `pointer` is called. */
    enum lap_status (*bytes)(void *user, const void *location, const void *target, size_t bytes);
    /* The same to a string: *out_bytes with its zero. */
    enum lap_status (*string)(void *user, const void *location, const char *target, size_t *out_bytes);
    /* May be NULL. A handle that is not null. */
    enum lap_status (*handle)(void *user, uint32_t type, uint64_t value);
    void *user;
};

/* args: its struct gen_args_X. Errors of the visitor; LAP_ERROR_FORMAT: a chain has a structure that this build does
 * not know; LAP_ERROR_LIMIT: too deep, or too much. */
enum lap_status lap_pointers_walk(uint32_t command, const void *args,
                                  const struct lap_pointers_visitor *visitor) LAP_MUST_CHECK;

#endif
