/* SPDX-License-Identifier: MIT */
/*
 * import: memory that a program makes of its own pages (VK_EXT_external_memory_host; docs/memory.md, "Imported pages").
 *
 * The program writes such pages without mapping them, before and after the import, so they count as mapped from the
 * import until they are freed, and what they hold at first as written by the host. Pages that are imported already are
 * refused: a replay has two memories then, which would not share what the device writes.
 *
 * Calls may come from any thread. No lock may be held, since they take devices_mutex.
 */
#ifndef LAP_LAYER_IMPORT_H
#define LAP_LAYER_IMPORT_H

#include <stdint.h>
#include <vulkan/vulkan.h>

struct layer_import; /* the pages of one VkDeviceMemory */

/* What programs may import. Not HOST_MAPPED_FOREIGN_MEMORY: who writes that can't be seen. */
#define LAYER_IMPORT_HANDLE_TYPES VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT

/* Before vkAllocateMemory: *out is for the memory's record, or NULL when the program imports no pages or nothing is
 * recorded. VK_ERROR_INVALID_EXTERNAL_HANDLE for pages that can't be recorded, VK_ERROR_OUT_OF_HOST_MEMORY. */
VkResult layer_import_begin(const VkMemoryAllocateInfo *info, struct layer_import **out);

/* After the driver's vkFreeMemory, and when vkAllocateMemory failed. NULL is fine. */
void layer_import_end(struct layer_import *import);

void *layer_import_pointer(const struct layer_import *import, VkDeviceSize offset);

/* Which enum lap_mem_flags its tracking wants beside those that say what the memory type is. */
uint32_t layer_import_tracking_flags(const struct layer_import *import);

#endif
