/* SPDX-License-Identifier: MIT */
/*
 * object: the head of the record of each Vulkan handle, on the capture side, and the tables in which encoders find it.
 * A handle value of the program (uint64_t here), its index in the trace and a live handle of a replay are three
 * different things; this header knows the first two.
 */
#ifndef LAP_BASE_OBJECT_H
#define LAP_BASE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/* A driver may return the same handle value for two creations (it counts references). The replay has two objects then:
 * uses go to the first one, and destroys take the newest one first. */
struct lap_object_alias {
    uint64_t index;
    struct lap_object_alias *older;
};

struct lap_object {
    uint64_t index;                   /* in the trace: dense per handle type, starts at 1, never reused */
    uint64_t handle;                  /* the value that the program sees */
    uint32_t type;                    /* enum gen_handle_type */
    struct lap_object_alias *aliases; /* later creations that gave the same value, newest first */
};

/* One map per handle type; several tables may share a map (instance-level types are shared by all devices). */
struct lap_object_tables {
    struct lap_map *const *maps; /* [handle type] */
    bool inherited;              /* from a parent process: calls that use these tables are not recorded */
    bool blends_coherently;      /* advancedBlendCoherentOperations is enabled */
};

/* The trace index of a handle; 0 for VK_NULL_HANDLE and for values that are not known. */
static inline __attribute__((always_inline)) uint64_t lap_object_index(const struct lap_object_tables *tables,
                                                                       uint32_t type, uint64_t handle)
{
    const struct lap_object *object;
    if (handle == 0)
        return 0;
    object = (const struct lap_object *)lap_map_get(tables->maps[type], handle);
    return object ? object->index : 0;
}

/* The index of the newest creation that gave this handle: of the object just created, or destroyed. */
static inline uint64_t lap_object_newest_index(const struct lap_object_tables *tables, uint32_t type, uint64_t handle)
{
    const struct lap_object *object;
    if (handle == 0)
        return 0;
    object = (const struct lap_object *)lap_map_get(tables->maps[type], handle);
    return !object ? 0 : object->aliases ? object->aliases->index : object->index;
}

#endif
