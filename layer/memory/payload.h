/* SPDX-License-Identifier: MIT */
/*
 * payload: memory that has, or may get, several handles: allocations that can be exported, and those that are imported
 * from a file descriptor or an AHardwareBuffer (docs/memory.md, "Payloads").
 *
 * A payload is known by its descriptor: by the file where each payload has one of its own, else by comparing open
 * files. A descriptor of no known payload comes from another process or API. Memories of one payload on one device are
 * one memory to memory tracking and to a replay. Memory tracking reads a whole payload through any of its mapped
 * memories, so the layer maps them in full.
 *
 * A dma-buf is a file that begins with the memory's first byte. If the kernel can map it, the layer reads that mapping
 * as long as the payload lives: it sees writes of other processes whether the program has mapped the memory or not. It
 * does the same with the rows of an AHardwareBuffer that the CPU may read (hardware_buffer.h).
 *
 * Calls may come from any thread. No lock may be held, since they take devices_mutex.
 */
#ifndef LAP_LAYER_PAYLOAD_H
#define LAP_LAYER_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/status.h"

struct AHardwareBuffer;
struct lap_mem;
struct layer_device;
struct layer_payload_user; /* one VkDeviceMemory of a payload */

/* Before vkAllocateMemory, which takes the descriptor: *out is for the memory's record, or NULL for memory of its own,
 * or when nothing is recorded. False: out of memory. */
bool layer_payload_begin(struct layer_device *dev, const VkMemoryAllocateInfo *info, struct layer_payload_user **out);

/* Between the two, for memory that is exported as an AHardwareBuffer: the driver has made it, of so many bytes. False:
 * out of memory. NULL is fine. */
bool layer_payload_is_buffer(struct layer_payload_user *user, struct AHardwareBuffer *buffer, VkDeviceSize bytes);

/* When the memory is allocated. flags: enum lap_mem_flags, of the memory type. */
enum lap_status layer_payload_track(struct layer_payload_user *user, uint32_t flags,
                                    struct lap_mem **out) LAP_MUST_CHECK;
/* Before the tracked memory is destroyed: it is not mapped any more. NULL is fine. */
void layer_payload_untrack(struct layer_payload_user *user);

/* Its handles are AHardwareBuffers. NULL: no. */
bool layer_payload_has_buffer(const struct layer_payload_user *user);
/* Such memory: whether an image with these rows that is bound to it is read there (hardware_buffer.h). */
bool layer_payload_has_rows(const struct layer_payload_user *user, const VkImageCreateInfo *info, uint64_t pitch);

/* After the driver's vkFreeMemory, and when vkAllocateMemory failed. NULL is fine. */
void layer_payload_end(struct layer_payload_user *user);

/* After vkGetMemoryFdKHR: the descriptor, which stays the program's, is one of this memory's payload. After
 * vkGetMemoryAndroidHardwareBufferANDROID fd is -1. */
void layer_payload_exported(struct layer_payload_user *user, VkExternalMemoryHandleTypeFlagBits type, int fd);

/* Whether all of it is read through its file, or will be once it is exported. NULL: no. */
bool layer_payload_is_read(const struct layer_payload_user *user);

/* Around reads of a device's memories, with its submit.mutex: syncs dma-bufs, so that the kernel shows writes that
 * bypassed the CPU's caches. */
void layer_payload_look(struct layer_device *dev);
void layer_payload_looked(struct layer_device *dev);

/* An image was bound whose layout only a driver knows, so writes of others to it can't be read. NULL is fine. */
void layer_payload_hides(struct layer_payload_user *user);

/* All of the memory was mapped; and before the driver unmaps it. */
void layer_payload_map(struct layer_payload_user *user, void *pointer);
void layer_payload_unmap(struct layer_payload_user *user);
/* A flush of this memory, for all memories of its payload. */
void layer_payload_flush(struct layer_payload_user *user, VkDeviceSize offset, VkDeviceSize bytes);

/* As layer_host_import_place: the number of the payload on this device. */
uint64_t layer_payload_space(const struct layer_payload_user *user);

#endif
