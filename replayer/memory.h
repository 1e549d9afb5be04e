/* SPDX-License-Identifier: MIT */
/*
 * memory: where the objects of a replay lie. A trace says what memory the program asked for when it bound an object;
 * this host says what the object needs here. Both together choose a memory type; small objects share blocks (pool.h),
 * large ones, those that the driver wants alone and the first ones get an allocation of their own. Host-visible memory
 * stays mapped. docs/memory.md, "Where a replay puts objects", has the rules.
 *
 * The planner also owns what the replay's own copies need: staging (staging.h), and the read-back of readback.h. One
 * thread.
 */
#ifndef LAP_REPLAYER_MEMORY_H
#define LAP_REPLAYER_MEMORY_H

#include "codegen/support/readback.h"
#include "replayer/context.h"
#include "replayer/pool.h"

/* With the device, when dev->vk and dev->main_queue are set; and before vkDestroyDevice, when all objects are gone. */
enum lap_status replay_planner_create(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
void replay_planner_destroy(struct replay *r, struct replay_device *dev); /* also without a planner */

/* One run of memory of one object. */
struct replay_place {
    VkDeviceMemory memory; /* null: none */
    VkDeviceSize offset, bytes;
    uint8_t *host; /* the object's first byte; NULL where the host can't see it */
    uint32_t type;
    bool coherent;
    VkDeviceSize memory_bytes;       /* of the whole allocation */
    VkDeviceSize used_bytes;         /* what it requires of it: beside others, up to where the next one could begin */
    VkDeviceSize stale_bytes;        /* so many from its first on may hold what others left: fresh.h */
    struct replay_memory_pool *pool; /* blocks.c; NULL: an allocation of its own */
    struct replay_pool_range range;
    struct replay_address_memory *address_memory; /* NULL unless it is where it was (address_memory.h) */
    struct replay_shared *shared;                 /* NULL unless it is a part of what an alias group has (group.h) */
};

/* What bytes of the program's memory held that an object was bound to. */
enum replay_contents {
    REPLAY_CONTENTS_USED, /* what objects before it left: what of that a replay can have comes in updates */
    REPLAY_CONTENTS_NEW,  /* some of them: what the driver's memory held */
    REPLAY_CONTENTS_ZERO  /* some of them: zeroes, for which the program asked */
};

struct replay_needs {
    VkMemoryRequirements requirements;
    VkMemoryPropertyFlags wanted; /* what it had better have: at first what the program chose */
    VkMemoryPropertyFlags asked;  /* what the program chose, of an object of the trace */
    bool linear;                  /* a buffer or a linear image */
    bool dedicated;               /* the driver wants it alone: then buffer or image is named in the allocation */
    bool alone;                   /* and insists on it */
    bool own;                     /* an allocation of its own, for no object in particular: it begins at offset 0 */
    bool transient;               /* an image of whose contents nothing need be stored: lazily allocated, if possible */
    VkImageAspectFlags plane;     /* of a disjoint image, or 0 */
    enum replay_contents contents;
    VkBuffer buffer;
    VkImage image;
    /* Which object of the trace it is, so that it lies beside those that end when it does: */
    enum gen_handle_type type; /* GEN_HANDLE_NONE: none */
    uint64_t index;
    VkDeviceSize recorded_bytes;            /* what it took when it was recorded; 0: not known */
    const struct replay_alias_group *group; /* or a group, which ends with its last member; or NULL */
};

/* The requirements of this host, with the preference for dedicated memory. plane: 0, or a plane of a disjoint image. */
void replay_buffer_needs(const struct replay_device *dev, VkBuffer buffer, struct replay_needs *out_needs);
void replay_image_needs(const struct replay_device *dev, VkImage image, bool linear, VkImageAspectFlags plane,
                        struct replay_needs *out_needs);

/* On failure *out_place is zeroed. */
enum lap_status replay_place_alloc(struct replay *r, struct replay_device *dev, const struct replay_needs *needs,
                                   struct replay_place *out_place) LAP_MUST_CHECK;
/* The same for an object of the trace, which may share memory with others (group.h). */
enum lap_status replay_place_object(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                    uint64_t index, const struct replay_needs *needs,
                                    struct replay_place *out_place) LAP_MUST_CHECK;
void replay_place_free(struct replay_device *dev, struct replay_place *place); /* zeroes it; also for a zeroed one */
/* There is something to free. */
static inline bool replay_place_is_some(const struct replay_place *place)
{
    return place->memory || place->shared;
}

/* Copies to host-visible memory (data NULL: writes zeroes), and makes the bytes visible to the device; offset and bytes
 * lie inside the place. */
enum lap_status replay_place_write(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                   VkDeviceSize offset, const void *data, size_t bytes) LAP_MUST_CHECK;
/* The same for many spans, which lie behind each other in ascending order, none of them in another one. */
struct replay_place_span {
    VkDeviceSize offset;
    const void *data;
    size_t bytes;
};
enum lap_status replay_place_write_spans(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                         uint32_t count, const struct replay_place_span *spans) LAP_MUST_CHECK;
/* Makes what the device wrote visible to the host. */
enum lap_status replay_place_invalidate(struct replay *r, struct replay_device *dev, const struct replay_place *place,
                                        VkDeviceSize offset, VkDeviceSize bytes) LAP_MUST_CHECK;

struct lap_readback *replay_device_readback(const struct replay_device *dev);
/* Reads what the host can't see; bytes > 0, valid until the next read-back. The buffer: as lap_readback_buffer wants.
 */
enum lap_status replay_read_back(struct replay *r, struct replay_device *dev, VkBuffer buffer, VkDeviceSize offset,
                                 VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

/* A sum over allocations of the driver, and over what the objects in them require on this host
 * (replay_place.used_bytes).
 */
struct replay_memory_use {
    uint64_t allocations, allocated_bytes, used_bytes;
};

/* The device's memory now and so far, without what the replay has for itself (own_bytes): all that the driver has not
 * freed yet, also where the trace has given it back while work is under way (pending.h). */
struct replay_memory_stats {
    uint64_t allocations, allocated_bytes, used_bytes; /* now */
    uint64_t made_allocations;                         /* so far */
    uint64_t most_allocations;
    uint64_t own_bytes;             /* staging and read-back */
    struct replay_memory_use peak;  /* when most was required */
    struct replay_memory_use worst; /* when most was allocated in proportion, with work handed over then */
    /* The same at any moment, while objects come and go too. Where less than REPLAY_FLOOR_BYTES is required, what is
     * allocated is compared with these; moments at which no more is allocated don't count. */
    struct replay_memory_use worst_moment;
    struct replay_memory_use types[VK_MAX_MEMORY_TYPES], type_peaks[VK_MAX_MEMORY_TYPES];
    double peak_fragmentation, worst_fragmentation; /* of blocks, as replay_memory_fragmentation says */
};
struct replay_memory_stats replay_memory_stats(const struct replay_device *dev);
/* Work is handed to the device: what is allocated now is in use. */
void replay_memory_in_use(struct replay_device *dev);
/* 1 - largest free range / all free ranges, of the blocks that objects share; 0 where nothing is free. */
double replay_memory_fragmentation(const struct replay_device *dev);

#endif
