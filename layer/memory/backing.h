/* SPDX-License-Identifier: MIT */
/*
 * backing: host-visible memory that lies in ordinary pages of the layer (docs/memory.md, "Backing").
 *
 * Where the driver's mappings can't be watched for writes, or are slow to read, the layer allocates pages, imports them
 * with VK_EXT_external_memory_host as the program's VkDeviceMemory, and maps them for the program. Programs and traces
 * see nothing of it. Buffers and linear images are created so that they may be bound to such memory, where that changes
 * neither their size nor their alignment. An object that can't be created so makes the driver's own memory take over
 * when it is bound.
 *
 * Calls may come from any thread. Pages live until after the driver has freed the memory that was imported from them.
 */
#ifndef LAP_LAYER_BACKING_H
#define LAP_LAYER_BACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "layer/core/device_record.h"
#include "layer/memory/backing_plan.h"

struct layer_device;
struct layer_physical_device;
struct layer_memory;
struct layer_backing; /* the pages behind one VkDeviceMemory */

/* ---- devices ---- */

/* The program's VkInstanceCreateInfo with the extensions added that Vulkan 1.0 needs to query importable memory. */
struct layer_backing_instance_request {
    VkInstanceCreateInfo info;
    const char **names;
};

/* False: imports can't be queried, even with extensions. Needs _finish only if true. */
bool layer_backing_instance_request(const VkInstanceCreateInfo *asked, struct layer_backing_instance_request *out);
void layer_backing_instance_request_finish(struct layer_backing_instance_request *request);

/* The program's VkDeviceCreateInfo with the extensions added that backing needs. */
struct layer_backing_request {
    VkDeviceCreateInfo info;
    const char **names;
    const char *reason; /* why nothing was added: one sentence, static */
};

/* False: nothing is added, see out->reason. Needs _finish only if true. */
bool layer_backing_request(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked,
                           struct layer_backing_request *out);
void layer_backing_request_finish(struct layer_backing_request *request);

/* When the device's functions, memory tracking and backing.mutex are there. asked: of the program. reason: why the
 * extension is not enabled; NULL: it is. */
void layer_backing_init(struct layer_device *device, const VkDeviceCreateInfo *asked, const char *reason);
void layer_backing_finish(struct layer_device *device);
/* Whether pages can be imported with such flags; true where nothing is backed. Tries an import. */
bool layer_backing_takes(struct layer_device *device, VkMemoryAllocateFlags flags);
/* True for functions that the program only gets because of an extension that backing enabled. */
bool layer_backing_hides(const struct layer_device *device, const char *function);
/* For messages: "memory types 2, 3 and 4", or "none". out has room for `capacity` characters. */
void layer_backing_describe(const struct layer_device *device, char *out, size_t capacity);

/* ---- memory ---- */

/* vkAllocateMemory with the type index and the chain of the program. *out_backing is for the memory's record, or NULL
 * when the driver's own memory was allocated; *out_type is the driver's type. The result is the driver's. */
VkResult layer_backing_allocate(struct layer_device *device, const VkMemoryAllocateInfo *info,
                                const VkAllocationCallbacks *allocator, VkDeviceMemory *out_memory,
                                struct layer_backing **out_backing, uint32_t *out_type);
/* After the driver's vkFreeMemory. Frees the driver's memory that has taken over, if any. NULL is fine. */
void layer_backing_free(struct layer_device *device, struct layer_backing *backing);
/* The same for memory that the program has not freed when its device is destroyed. */
void layer_backing_drop(struct layer_backing *backing);

/* The driver's type of the allocated memory. */
uint32_t layer_backing_type(const struct layer_memory *record);
/* The handle for the driver: another one when the driver's own memory has taken over. record may be NULL. */
VkDeviceMemory layer_backing_driver_memory(const struct layer_memory *record, VkDeviceMemory memory);
/* The same before an object is bound; an object that can't be bound to imported pages makes the driver's own memory
 * take over, if nothing was bound or is mapped yet. */
VkDeviceMemory layer_backing_bind_memory(struct layer_device *device, struct layer_memory *record,
                                         VkDeviceMemory memory, struct layer_backing_object *object);
/* After the driver has mapped: the pointer for the program. */
void *layer_backing_map(struct layer_device *device, struct layer_memory *record, VkDeviceSize offset, void *pointer);
void layer_backing_unmap(struct layer_device *device, struct layer_memory *record);

/* Heap usage and budgets as if the memory lay where the program believes it. */
void layer_backing_adjust_budget(struct layer_physical_device *gpu, void *properties_chain);

/* ---- objects ---- */

/* vkCreateBuffer and vkCreateImage of the next layer, with the handle type added where that changes nothing. */
VkResult layer_backing_create_buffer(struct layer_device *device, const VkBufferCreateInfo *info,
                                     const VkAllocationCallbacks *allocator, VkBuffer *out_buffer,
                                     struct layer_backing_object *out_object);
VkResult layer_backing_create_image(struct layer_device *device, const VkImageCreateInfo *info,
                                    const VkAllocationCallbacks *allocator, VkImage *out_image,
                                    struct layer_backing_object *out_object);
/* The object is being bound or destroyed, or has no record. While an object that takes no imports waits for its memory,
 * allocations from its memory types are the driver's own. */
void layer_backing_settle(struct layer_device *device, struct layer_backing_object *object);
/* The memoryTypeBits that the program sees for an object, of the driver's. Sparse objects are offered no backed types.
 */
uint32_t layer_backing_shown_types(const struct layer_device *device, bool sparse, uint32_t driver_types);
/* Reports that an object that can't be bound to imported pages prefers a dedicated allocation: driver_types are its
 * memoryTypeBits, chain is that of its VkMemoryRequirements2. */
void layer_backing_prefer_dedicated(const struct layer_device *device, const struct layer_backing_object *object,
                                    uint32_t driver_types, void *chain);

#endif
