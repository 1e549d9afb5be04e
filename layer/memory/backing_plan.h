/* SPDX-License-Identifier: MIT */
/*
 * backing_plan: the memory types that are backed by pages of the layer, and the reasons (docs/memory.md, "Backing").
 *
 * Probing and deciding are separate: layer_backing_probe fills a plain struct with the results of trials on a new
 * device, layer_backing_decide is a pure function of it. Type numbers are the driver's, not the shown ones.
 */
#ifndef LAP_LAYER_BACKING_PLAN_H
#define LAP_LAYER_BACKING_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "layer/core/options.h"
#include "memtrack/virtual_types.h"

struct layer_backing_plan;
struct layer_device;

/* The results of the probe. Masks have one bit for each of the driver's memory types. */
struct layer_backing_machine {
    uint32_t type_count;
    VkMemoryPropertyFlags flags[VK_MAX_MEMORY_TYPES];
    VkDeviceSize alignment;   /* of address and size of pages, in bytes, for imports and mappings */
    uint32_t importable;      /* pages can be imported, and the driver's mapping of the import shows them */
    uint32_t plain_types;     /* memory types of a buffer with every usage of Vulkan 1.0 ... */
    uint32_t external_types;  /* ... and of one that is created for memory imported from a host pointer */
    uint32_t sparse_types;    /* ... and of a sparse one; 0: not asked for */
    bool buffers_import;      /* the driver says that such buffers take imports, and not only dedicated ones */
    bool external_is_alike;   /* such a buffer has the size and alignment of the plain one */
    uint32_t unwatched, slow; /* the driver's mapping can't be watched for writes; reading it is slow */
    bool imports_count;       /* in VkPhysicalDeviceMemoryBudgetPropertiesEXT::heapUsage */
};

/* Nothing is backed when in doubt. types: the types that programs are shown. */
void layer_backing_decide(const struct layer_backing_machine *machine, const struct lap_virtual_types *types,
                          enum layer_backing_option option, struct layer_backing_plan *out);

/* Tries out small allocations, imports and buffers; everything is freed again. The device has
 * VK_EXT_external_memory_host enabled. False, with a static sentence in *out_reason, when something needed is missing.
 */
bool layer_backing_probe(struct layer_device *device, bool sparse, struct layer_backing_machine *out,
                         const char **out_reason);

/* Zeroed pages; NULL when there are none. bytes is a multiple of alignment, alignment a power of two and no less than a
 * page. The child of a fork finds zeroes there, so copy-on-write never moves a page away from the device. Freed with
 * munmap. */
void *layer_backing_pages(VkDeviceSize bytes, VkDeviceSize alignment);

#endif
