/* SPDX-License-Identifier: MIT */
#include "tests/null/pool.h"

#include <stdlib.h>

struct null_children {
    enum null_type type;
    size_t count, capacity;
    uint64_t *ids;
};

void null_pool_add(struct null_thing *pool, enum null_type type, uint64_t child)
{
    struct null_children *children = pool->children;
    if (!children)
        pool->children = children = calloc(1, sizeof *children);
    if (children && children->count == children->capacity) {
        size_t capacity = children->capacity ? children->capacity * 2 : 16;
        uint64_t *ids = realloc(children->ids, capacity * sizeof *ids);
        if (ids) {
            children->ids = ids;
            children->capacity = capacity;
        }
    }
    if (!children || children->count == children->capacity)
        abort();
    children->type = type;
    children->ids[children->count++] = child;
}

void null_pool_remove(struct null_thing *pool, uint64_t child)
{
    struct null_children *children = pool->children;
    for (size_t i = 0; children && i < children->count; i++)
        if (children->ids[i] == child) {
            children->ids[i] = children->ids[--children->count];
            return;
        }
}

void null_pool_end(enum null_command which, struct null_thing *pool)
{
    struct null_children *children = pool->children;
    pool->children = NULL;
    for (size_t i = 0; children && i < children->count; i++)
        null_end(which, children->type, children->ids[i]);
    if (children)
        free(children->ids);
    free(children);
}
