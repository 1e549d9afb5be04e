/* SPDX-License-Identifier: MIT */
/*
 * host_import: memory that a program imports from its own pages (VK_EXT_external_memory_host; docs/memory.md, "Imported
 * pages").
 *
 * The program writes such pages without mapping them, before and after the import, so they count as mapped from the
 * import until they are freed, and their first contents as written by the host. Pages may be imported several times:
 * memtrack knows which memories of one device have pages in common, and the trace names them by space and offset
 * (lapilliSharedMemory). Pages that two devices import are compared, so the writes of one device are found there like
 * host writes, and go to the objects of the other.
 *
 * Calls may come from any thread. No lock may be held, since they take devices_mutex.
 */
#ifndef LAP_LAYER_HOST_IMPORT_H
#define LAP_LAYER_HOST_IMPORT_H

#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/status.h"

struct lap_mem;
struct layer_device;
struct layer_host_import; /* the pages of one VkDeviceMemory */

/* The handle types that programs may import. Not HOST_MAPPED_FOREIGN_MEMORY: foreign writes can't be seen. */
#define LAYER_IMPORT_HANDLE_TYPES VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

/* Before vkAllocateMemory: *out is for the memory's record, or NULL when the program imports no pages or nothing is
 * recorded. VK_ERROR_INVALID_EXTERNAL_HANDLE for pages that can't be recorded, VK_ERROR_OUT_OF_HOST_MEMORY. */
VkResult layer_host_import_begin(struct layer_device *dev, const VkMemoryAllocateInfo *info,
                                 struct layer_host_import **out);

/* When the memory is allocated: its pages are tracked from now on. flags: enum lap_mem_flags, of the memory type. */
enum lap_status layer_host_import_track(struct layer_host_import *import, uint32_t flags,
                                        struct lap_mem **out) LAP_MUST_CHECK;
/* Before the tracked memory is destroyed. NULL is fine. */
void layer_host_import_untrack(struct layer_host_import *import);

/* After the driver's vkFreeMemory, and when vkAllocateMemory failed. NULL is fine. */
void layer_host_import_end(struct layer_host_import *import);

void *layer_host_import_pointer(const struct layer_host_import *import, VkDeviceSize offset);

/* Memories of one space share the bytes in which they overlap. Spaces have numbers from 1 on. */
void layer_host_import_place(const struct layer_host_import *import, uint64_t *out_space, uint64_t *out_offset);

#endif
