/* SPDX-License-Identifier: MIT */
/* Members of Vulkan's structures by their names, through the generated reflection tables, and lists of names. */
#ifndef TESTS_LAYERS_SHAPE_NAMED_H
#define TESTS_LAYERS_SHAPE_NAMED_H

#include "gen_reflect.h"
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#define SHAPE_MAX_NAMES 64u

struct shape_names {
    uint32_t count;
    char *names[SHAPE_MAX_NAMES];
};

/* NULL: there is none. */
const struct gen_member *shape_member(const struct gen_struct_info *info, const char *name);
/* Has any structure whose name begins with `prefix` and has `suffix` in it such a member? */
bool shape_is_name(const char *prefix, const char *suffix, const char *member);
/* The structures of a pNext chain that this build knows. */
void shape_each_struct(const void *chain, void (*visit)(const struct gen_struct_info *info, void *data, void *context),
                       void *context);
/* Reads NAME+NAME. False: one is none, or there are too many. */
bool shape_read_names(const char *value, struct shape_names *names, bool (*is_name)(const char *name));
bool shape_has_name(const struct shape_names *names, const char *name);

#endif
