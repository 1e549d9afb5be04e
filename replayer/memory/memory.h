/* SPDX-License-Identifier: MIT */
/*
 * memory: allocates memory for the objects of a replay. The properties of the recorded memory and the object's
 * requirements on the replay device choose a memory type. Small objects share blocks (suballocator.h). Large ones,
 * dedicated ones and the first ones get an allocation of their own. policy.h has the rules, and docs/memory.md,
 * "Where a replay puts objects", the reasons. Host-visible memory stays mapped.
 *
 * Each device has a planner. It also owns the memory of the replay's own copies: staging (staging.h), and the read-back
 * of readback.h. One thread.
 */
#ifndef LAP_REPLAYER_MEMORY_MEMORY_H
#define LAP_REPLAYER_MEMORY_MEMORY_H

#include "replayer/core/device.h"
#include "replayer/memory/suballocator.h"
#include "vulkan/readback.h"

/* Creates dev->memory.planner, after dev->vk and dev->queues.main are set; and frees it before vkDestroyDevice, after
 * the end of all objects. */
enum lap_status replay_memory_planner_create(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
void replay_memory_planner_destroy(struct replay *r, struct replay_device *dev); /* also without a planner */

/* Memory that several places share. The last place to leave frees it. The first member of its owner's struct. */
struct replay_memory_holder {
    void (*leave)(struct replay_device *dev, struct replay_memory_holder *holder);
};

/* One run of memory of one object. */
struct replay_memory_place {
    VkDeviceMemory memory; /* null: none */
    VkDeviceSize offset, bytes;
    uint8_t *host; /* the object's first byte; NULL: not host-visible */
    uint32_t type;
    bool coherent;
    VkDeviceSize memory_bytes; /* of the whole allocation */
    VkDeviceSize used_bytes;   /* the required bytes; in a shared block rounded up to the granularity */
    VkDeviceSize stale_bytes;  /* the first bytes of the place that may hold earlier contents: new_memory.h */
    struct replay_memory_block_list *block_list; /* the planner's; NULL: not in a shared block */
    struct replay_suballocator_range range;
    struct replay_memory_holder *holder; /* NULL: the place alone uses its memory or range */
    bool is_prepared;                    /* the holder has initialized the memory, so this place is not zeroed */
    bool not_zeroed; /* the allocation was made without zero initialization, though the device supports it */
};

/* The recorded contents of memory when an object was bound to it. */
enum replay_memory_contents {
    REPLAY_CONTENTS_USED, /* contents of earlier objects; updates have those that a replay needs */
    REPLAY_CONTENTS_NEW,  /* some bytes: as the driver allocated them */
    REPLAY_CONTENTS_ZERO  /* some bytes: zeroes, as the program requested */
};

struct replay_memory_needs {
    VkMemoryRequirements requirements;
    VkMemoryPropertyFlags wanted; /* the properties of the memory type that the program chose */
    bool linear;                  /* a buffer or a linear image */
    bool dedicated;               /* the driver prefers a dedicated allocation, which names the buffer or image */
    bool alone;                   /* and requires it */
    bool own;                     /* an allocation for several objects: the place begins at offset 0 */
    bool transient;               /* a transient attachment: lazily allocated, if possible */
    VkImageAspectFlags plane;     /* of a disjoint image, or 0 */
    enum replay_memory_contents contents;
    VkBuffer buffer;
    VkImage image;
};

/* The requirements on the replay device, with the preference for dedicated memory. plane: 0, or a plane of a disjoint
 * image. */
void replay_memory_buffer_needs(const struct replay_device *dev, VkBuffer buffer,
                                struct replay_memory_needs *out_needs);
void replay_memory_image_needs(const struct replay_device *dev, VkImage image, bool linear, VkImageAspectFlags plane,
                               struct replay_memory_needs *out_needs);

/* On failure *out_place is zeroed. */
enum lap_status replay_memory_place_alloc(struct replay *r, struct replay_device *dev,
                                          const struct replay_memory_needs *needs,
                                          struct replay_memory_place *out_place) LAP_MUST_CHECK;
void replay_memory_place_free(struct replay_device *dev,
                              struct replay_memory_place *place); /* zeroes it; also for a zeroed one */

/* Copies to host-visible memory (data NULL: writes zeroes), and makes the bytes visible to the device. offset and
 * bytes lie inside the place. */
enum lap_status replay_memory_place_write(struct replay *r, struct replay_device *dev,
                                          const struct replay_memory_place *place, VkDeviceSize offset,
                                          const void *data, size_t bytes) LAP_MUST_CHECK;
/* The same for many spans, in ascending order, without overlaps. */
struct replay_memory_span {
    VkDeviceSize offset;
    const void *data;
    size_t bytes;
};
enum lap_status replay_memory_place_write_spans(struct replay *r, struct replay_device *dev,
                                                const struct replay_memory_place *place, uint32_t count,
                                                const struct replay_memory_span *spans) LAP_MUST_CHECK;
/* Makes device writes visible to the host. */
enum lap_status replay_memory_place_invalidate(struct replay *r, struct replay_device *dev,
                                               const struct replay_memory_place *place, VkDeviceSize offset,
                                               VkDeviceSize bytes) LAP_MUST_CHECK;

struct lap_readback *replay_memory_readback(const struct replay_device *dev);
/* Reads bytes that are not host-visible; bytes > 0, valid until the next read-back. buffer: see lap_readback_buffer. */
enum lap_status replay_memory_read_back(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                        VkDeviceSize offset, VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

/* A sum over the driver's allocations, and over the requirements of the objects in them
 * (replay_memory_place.used_bytes). */
struct replay_memory_use {
    uint64_t allocations, allocated_bytes, used_bytes;
};

/* The device's memory now and so far, without that for the replay's own use (own_bytes). Deferred memory counts
 * until the driver frees it (deferred_destroy.h). */
struct replay_memory_stats {
    uint64_t allocations, allocated_bytes, used_bytes; /* now */
    uint64_t made_allocations;                         /* so far */
    uint64_t most_allocations;
    uint64_t own_bytes;             /* staging and read-back */
    struct replay_memory_use peak;  /* when most was required */
    struct replay_memory_use worst; /* when most was allocated in proportion, while the driver had work */
    struct replay_memory_use types[VK_MAX_MEMORY_TYPES], type_peaks[VK_MAX_MEMORY_TYPES];
    double peak_fragmentation,
        worst_fragmentation; /* 1 - largest free range / all free ranges, of all blocks; 0: nothing is free */
};
struct replay_memory_stats replay_memory_stats(const struct replay_device *dev);
/* The device's memory when it had most, with the replay's own. */
uint64_t replay_memory_peak_bytes(const struct replay_device *dev);
/* Call it when work goes to the device: memory that is allocated now is in use. */
void replay_memory_in_use(struct replay_device *dev);

#endif
