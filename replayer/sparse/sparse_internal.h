/* SPDX-License-Identifier: MIT */
/*
 * sparse_internal: shared by sparse.c (objects, memory, access by the host) and sparse_bind.c (vkQueueBindSparse).
 */
#ifndef LAP_REPLAYER_SPARSE_SPARSE_INTERNAL_H
#define LAP_REPLAYER_SPARSE_SPARSE_INTERNAL_H

#include "base/map.h"
#include "replayer/memory/new_memory.h"
#include "replayer/sparse/sparse.h"
#include "replayer/sparse/sparse_pages.h"

/* The replay's memory for one of the program's. */
struct replay_sparse_memory {
    VkDeviceSize bytes;
    uint64_t order; /* as of an object */
    VkMemoryPropertyFlags wanted;
    enum replay_memory_contents contents; /* initially: new, or zeroes */
    struct replay_memory_place place;     /* none until an object is bound there */
    struct replay_overlay_buffer window;  /* over it, where it is not host-visible */
};

/* Of one buffer or image. */
struct replay_sparse {
    struct replay_sparse *next, **previous; /* in replay_sparse_device.objects */
    struct replay_memory_needs needs;
    struct replay_sparse_requirements blocks; /* aspects: own */
    struct replay_sparse_pages pages;         /* of buffers that are not apart; memory: struct replay_sparse_memory */
    uint64_t counted;                         /* runs that count against the limit of objects */
    bool apart;                               /* it has memory of its own, in its place */
    bool bound;                               /* some memory was bound to it */
};

struct replay_sparse_device {
    struct lap_map memories; /* struct replay_sparse_memory by index in the trace */
    struct replay_sparse *objects;
};

/* Allocates the memory when the first object is bound there. Preserves offsets, since the other objects have the
 * recorded alignments. Zeroes it, since updates have host writes as differences to zeroes (docs/memory.md, "Fresh
 * allocations"). */
enum lap_status replay_sparse_allocate(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory,
                                       const struct replay_memory_needs *object) LAP_MUST_CHECK;
/* Counts an object's runs against the limit of objects, after its pages have changed. */
enum lap_status replay_sparse_count(struct replay *r, struct replay_sparse *sparse) LAP_MUST_CHECK;
/* Warns that an object gets memory of its own, with the effect. */
void replay_sparse_report_apart(const struct replay *r, enum gen_handle_type type, uint64_t index, const char *reason);

#endif
