/* SPDX-License-Identifier: MIT */
/*
 * external_sync: semaphores and fences that the program exports as file descriptors (VK_KHR_external_semaphore_fd,
 * VK_KHR_external_fence_fd; docs/ordering.md, "Signals by descriptor").
 *
 * A descriptor is identified by its file, or by comparing open files, as with memory (memory/payload.h). Opaque
 * descriptors share a payload, sync files are copies of one signal. For a sync file the layer knows the work that
 * signals it, and keeps the newest files open: the program may see the signal with poll(), so the layer polls the
 * files, too, before work is submitted.
 *
 * Calls may come from any thread. No lock may be held, since they take devices_mutex.
 */
#ifndef LAP_LAYER_EXTERNAL_SYNC_H
#define LAP_LAYER_EXTERNAL_SYNC_H

#include "layer/core/records.h"
#include "layer/submit/submission.h"

/* layer_point.semaphore of a wait for work itself: handle is its queue, value its serial. */
#define LAYER_POINT_WORK UINT64_MAX
/* For a payload that several semaphores or fences share: its number with this bit, in place of a record's index. */
#define LAYER_SHARED_BIT (UINT64_C(1) << 63)

/* A semaphore or a fence of the program, for packets and the driver's call; the other one is null. */
struct layer_external_sync_object {
    struct layer_device *device;
    VkSemaphore semaphore;
    VkFence fence;
};

/* After the driver's vkGetSemaphoreFdKHR or vkGetFenceFdKHR, which returned fd; copies: it is a sync file. */
void layer_external_sync_export(const struct layer_external_sync_object *object, bool copies, int fd);

/* Before the driver's vkImportSemaphoreFdKHR or vkImportFenceFdKHR, which takes fd; and behind it. */
struct layer_external_sync_import {
    bool copies, temporary;
    uint32_t origin; /* lapilliImportSync */
    uint64_t payload;
    struct layer_work work; /* that signals it, where it is known */
};
void layer_external_sync_find(const struct layer_external_sync_object *object, bool copies, bool temporary, int fd,
                              struct layer_external_sync_import *out);
void layer_external_sync_imported(const struct layer_external_sync_object *object,
                                  const struct layer_external_sync_import *import);

/* Before work is submitted: finds the sync files that are signalled by now. Almost free where none was exported. */
void layer_external_sync_look_at_files(struct layer_device *dev);
static inline void layer_external_sync_look(struct layer_device *dev)
{
    if (__builtin_expect(atomic_load_explicit(&dev->handed_files, memory_order_relaxed) != 0, 0))
        layer_external_sync_look_at_files(dev);
}

/* Before the device is destroyed: drops all references to it. */
void layer_external_sync_end_device(struct layer_device *dev);

/* The key of a semaphore or a fence in submissions. */
static inline uint64_t layer_sync_key(uint64_t index, uint64_t payload)
{
    return payload ? payload | LAYER_SHARED_BIT : index;
}
static inline uint64_t layer_semaphore_key(const struct layer_semaphore *semaphore)
{
    uint64_t borrowed = atomic_load_explicit(&semaphore->borrowed, memory_order_relaxed);
    return layer_sync_key(semaphore->object.index,
                          borrowed ? borrowed : atomic_load_explicit(&semaphore->payload, memory_order_relaxed));
}
static inline uint64_t layer_fence_key(const struct layer_fence *fence)
{
    uint64_t borrowed = atomic_load_explicit(&fence->borrowed, memory_order_relaxed);
    return layer_sync_key(fence->object.index,
                          borrowed ? borrowed : atomic_load_explicit(&fence->payload, memory_order_relaxed));
}

#endif
