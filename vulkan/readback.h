/* SPDX-License-Identifier: MIT */
/*
 * readback: copies the contents of an image or a buffer to host memory, with its own commands on the caller's queue.
 * The capture layer uses it (with its dispatch table, below the layer) and so does the replayer.
 *
 * It has one host-visible buffer, which grows, and one command buffer for each queue family, until it is destroyed. One
 * thread at a time; the caller holds the queue as vkQueueSubmit demands.
 */
#ifndef LAP_VULKAN_READBACK_H
#define LAP_VULKAN_READBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "gen_dispatch.h"
#include "vulkan/texel/texels.h"

/* Initializes dispatchable handles that a layer creates itself (PFN_vkSetDeviceLoaderData). */
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
    /* Waits for a copy; NULL: waits without a limit. The caller sets it and `user`. */
    enum lap_status (*wait)(const struct lap_readback *rb, VkFence fence);
    void *user;
};

/* Copies its arguments; `vk` outlives it. memory_properties are the driver's own. Creates no Vulkan object yet. */
void lap_readback_init(struct lap_readback *rb, VkDevice device, const struct gen_device_dispatch *vk,
                       const VkPhysicalDeviceMemoryProperties *memory_properties,
                       lap_set_loader_data_fn set_loader_data);
/* Destroys its objects. No copy is in flight, since every copy is waited for (unless that failed). Also for a zeroed
 * one. */
void lap_readback_finish(struct lap_readback *rb);

/* A place on the device's time line: a queue, with the semaphores to wait for and to signal. A semaphore may be in
 * both lists. */
struct lap_readback_queue {
    VkQueue queue;
    uint32_t family; /* must support transfers */
    uint32_t wait_count, signal_count;
    const VkSemaphore *waits, *signals; /* binary ones */
};

/* Copies mip level 0 of array layer 0 of a color image (usage TRANSFER_SRC, one sample) which is in `layout`, and
 * waits for the copy. The image is in `layout` again afterwards. Waits for everything submitted to the queue before.
 * *out_pixels: rows without padding, *out_bytes in all, valid until the next copy.
 *
 * LAP_ERROR_UNSUPPORTED: pixels.h does not know the format, or the driver refuses; LAP_ERROR_MEMORY. After an error
 * *out_submitted (which may be NULL) is whether the semaphores were waited for. */
enum lap_status lap_readback_image(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                   VkFormat format, VkExtent2D extent, VkImageLayout layout, const void **out_pixels,
                                   size_t *out_bytes, bool *out_submitted) LAP_MUST_CHECK;

/* The same for any subresource of an image (one sample, usage TRANSFER_SRC) whose aspects and planes are all in
 * `layout`, which is neither undefined nor preinitialized. *out_data has texels->rows rows, after lap_texels_clean. */
enum lap_status lap_readback_texels(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                    VkFormat format, VkImageLayout layout, const struct lap_texels *texels,
                                    const void **out_data) LAP_MUST_CHECK;

/* The same for a region of an image (bufferOffset 0, rows without gaps) with `bytes` bytes, as they are copied. range:
 * the subresources that are in the layout, as barriers name them. */
enum lap_status lap_readback_region(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                    VkImageLayout layout, const VkImageSubresourceRange *range,
                                    const VkBufferImageCopy *region, uint64_t bytes,
                                    const void **out_data) LAP_MUST_CHECK;

/* The same for `bytes` > 0 bytes of a buffer (usage TRANSFER_SRC) from `offset` on. */
enum lap_status lap_readback_buffer(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer,
                                    VkDeviceSize offset, VkDeviceSize bytes, const void **out_data) LAP_MUST_CHECK;

/* The two halves of such copies: the first one submits, and does not wait; nothing else is copied until the second one
 * has waited. Where the first one fails nothing was submitted, and there is nothing to take. */
enum lap_status lap_readback_start_region(struct lap_readback *rb, const struct lap_readback_queue *at, VkImage image,
                                          VkImageLayout layout, const VkImageSubresourceRange *range,
                                          const VkBufferImageCopy *region, uint64_t bytes) LAP_MUST_CHECK;
enum lap_status lap_readback_start_buffer(struct lap_readback *rb, const struct lap_readback_queue *at, VkBuffer buffer,
                                          VkDeviceSize offset, VkDeviceSize bytes) LAP_MUST_CHECK;
/* *out_data: the bytes as they are copied, until the next copy. */
enum lap_status lap_readback_take(struct lap_readback *rb, const void **out_data) LAP_MUST_CHECK;

/* Fills a buffer (usage TRANSFER_DST) with zeroes, and waits for it. The queue has graphics or compute. */
enum lap_status lap_readback_clear(struct lap_readback *rb, const struct lap_readback_queue *at,
                                   VkBuffer buffer) LAP_MUST_CHECK;

#endif
