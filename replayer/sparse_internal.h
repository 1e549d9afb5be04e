/* SPDX-License-Identifier: MIT */
/*
 * sparse_internal: what sparse.c (objects, memory, access by the host) and sparse_bind.c (vkQueueBindSparse) share.
 */
#ifndef LAP_REPLAYER_SPARSE_INTERNAL_H
#define LAP_REPLAYER_SPARSE_INTERNAL_H

#include "base/map.h"
#include "replayer/fresh.h"
#include "replayer/pages.h"
#include "replayer/sparse.h"

/* Memory like one of the program's. */
struct replay_sparse_memory {
    VkDeviceSize bytes;
    uint64_t order; /* as an object's */
    VkMemoryPropertyFlags wanted;
    enum replay_contents contents;    /* at first: new, or zeroes */
    struct replay_place place;        /* none until an object is bound there */
    struct replay_byte_buffer window; /* over it, where the host can't see it */
};

/* Of one buffer or image. */
struct replay_sparse {
    struct replay_sparse *next, **previous; /* in replay_sparse_device.objects */
    struct replay_needs needs;
    struct replay_blocks blocks; /* aspects: own */
    struct replay_pages pages;   /* of buffers that are not apart; memory: struct replay_sparse_memory */
    uint64_t counted;            /* of its runs: with the replay's objects */
    bool apart;                  /* it has memory of its own, in its place */
    bool bound;                  /* some memory was bound to it */
};

struct replay_sparse_device {
    struct lap_map memories; /* struct replay_sparse_memory by index in the trace */
    struct replay_sparse *objects;
};

/* Memory for the first object that is bound there; the others' alignments are those that they had at capture, so
 * offsets are kept. What the host writes is told as a difference to zeroes (docs/memory.md, "Fresh allocations"). */
enum lap_status replay_sparse_allocate(struct replay *r, struct replay_device *dev, struct replay_sparse_memory *memory,
                                       const struct replay_needs *object) LAP_MUST_CHECK;
/* After its pages have changed: runs count as objects do. */
enum lap_status replay_sparse_count(struct replay *r, struct replay_sparse *sparse) LAP_MUST_CHECK;
/* An object gets memory of its own: what that means. */
void replay_sparse_say_apart(const struct replay *r, enum gen_handle_type type, uint64_t index, const char *reason);

#endif
