/* SPDX-License-Identifier: MIT */
#include "tests/layers/shape/named.h"
#include <stdlib.h>
#include <string.h>

const struct gen_member *shape_member(const struct gen_struct_info *info, const char *name)
{
    for (uint16_t i = 0; i < info->member_count; i++)
        if (!strcmp(gen_member_name(&info->members[i]), name))
            return &info->members[i];
    return NULL;
}

bool shape_is_name(const char *prefix, const char *suffix, const char *member)
{
    for (uint32_t i = 1; i < GEN_STRUCT_COUNT; i++) {
        const char *name = gen_struct_names[i];
        const char *found = name && !strncmp(name, prefix, strlen(prefix)) ? strstr(name, suffix) : NULL;
        if (found && shape_member(&gen_struct_infos[i], member))
            return true;
    }
    return false;
}

void shape_each_struct(const void *chain, void (*visit)(const struct gen_struct_info *info, void *data, void *context),
                       void *context)
{
    for (VkBaseOutStructure *s = (void *)(uintptr_t)chain; s; s = s->pNext) {
        enum gen_struct type = gen_struct_of_type(s->sType);
        if (type != GEN_STRUCT_NONE && gen_struct_infos[type].bytes)
            visit(&gen_struct_infos[type], s, context);
    }
}

bool shape_read_names(const char *value, struct shape_names *names, bool (*is_name)(const char *name))
{
    char *copy = strdup(value), *rest = NULL;
    bool good = copy && *value;

    for (char *name = good ? strtok_r(copy, "+", &rest) : NULL; name && good; name = strtok_r(NULL, "+", &rest)) {
        good = names->count < SHAPE_MAX_NAMES && is_name(name) && (names->names[names->count] = strdup(name));
        names->count += good;
    }
    free(copy);
    return good;
}

bool shape_has_name(const struct shape_names *names, const char *name)
{
    for (uint32_t i = 0; i < names->count; i++)
        if (!strcmp(names->names[i], name))
            return true;
    return false;
}
