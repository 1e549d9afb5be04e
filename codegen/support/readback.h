/* SPDX-License-Identifier: MIT */
/*
 * readback: copies what an image or a buffer of the device contains to host memory, by commands of its own on a queue
 * that the caller names. Used by the capture layer (with its dispatch table, below the layer) and by the replayer.
 *
 * It keeps one host-visible buffer, which grows, and one command buffer for each queue family, until it is destroyed.
 * One thread at a time; the caller holds the queue as vkQueueSubmit demands.
 */
#ifndef LAP_CODEGEN_READBACK_H
#define LAP_CODEGEN_READBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "codegen/support/texels.h"
#include "gen_dispatch.h"

/* What a layer does to dispatchable handles that it makes itself (PFN_vkSetDeviceLoaderData). */
typedef VkResult(VKAPI_PTR *lap_set_loader_data_fn)(VkDevice device, void *object);

struct lap_readback_family {
    uint32_t family;
    VkCommandPool pool;
    VkCommandBuffer commands;
    struct lap_readback_family *next;
};

struct lap_readback {
    VkDevice device;
    const struct gen_device_dispatch *vk;
    VkPhysicalDeviceMemoryProperties memory_properties;
    lap_set_loader_data_fn set_loader_data; /* NULL outside of layers */
    struct lap_readback_family *families;
    VkFence fence;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize capacity;
    void *mapped;
    bool coherent;
    /* How a copy is waited for; NULL: without an end. The caller sets it, and `user` for it. */
    enum lap_status (*wait)(const struct lap_readback *rb, VkFence fence);
    void *user;
};

/* Copies its arguments; `vk` outlives it. memory_properties are the driver's own. Makes no Vulkan object yet. */
void lap_readback_init(struct lap_readback *rb, VkDevice device, const struct gen_device_dispatch *vk,
                       const VkPhysicalDeviceMemoryProperties *memory_properties,
                       lap_set_loader_data_fn set_loader_data);
/* Destroys what it made; no copy is under way, since every copy is waited for (unless that failed). Also for a zeroed
 * one. */
void lap_readback_finish(struct lap_readback *rb);

/* A place on the device's time line: a queue, what to wait for there and what to signal. A semaphore may be in both
 * lists. */
struct lap_readback_queue {
    VkQueue queue;
    uint32_t family; /* must be able to do transfers */
    uint32_t wait_count, signal_count;
    const VkSemaphore *waits, *signals; /* binary ones */
};

/* Copies mip level 0 of array layer 0 of a color image (usage TRANSFER_SRC, one sample) which is in `layout`, and waits
 * until it is there. The image is in `layout` again afterwards. Everything submitted to the queue before is waited for.
 * *out_pixels: rows without padding, *out_bytes in all, valid until the next copy.
 *
 * LAP_ERROR_UNSUPPORTED: the format is none of pixels.h, or the driver refuses; LAP_ERROR_MEMORY. After an error the
 * semaphores may or may not have been waited for: *out_submitted says (it may be NULL). */
enum lap_status lap_readback_image(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                   VkFormat format, VkExtent2D extent, VkImageLayout layout, const void **out_pixels,
                                   size_t *out_bytes, bool *out_submitted) LAP_MUST_CHECK;

/* The same for any subresource of an image (one sample, usage TRANSFER_SRC, not disjoint) whose aspects are all in
 * `layout`, which is neither undefined nor preinitialized. *out_data has texels->rows rows; what lap_texels_clean
 * clears is cleared. */
enum lap_status lap_readback_texels(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                    VkFormat format, VkImageLayout layout, const struct lap_texels *texels,
                                    const void **out_data) LAP_MUST_CHECK;

/* The same for `bytes` > 0 bytes of a buffer (usage TRANSFER_SRC) from `offset` on. */
enum lap_status lap_readback_buffer(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer,
                                    VkDeviceSize offset, VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

/* Fills a buffer (usage TRANSFER_DST) with zeroes, and waits until that is done. The queue has graphics or compute. */
enum lap_status lap_readback_clear(struct lap_readback *rb, const struct lap_readback_queue *at,
                                   VkBuffer buffer) LAP_MUST_CHECK;

#endif
