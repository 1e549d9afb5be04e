/* SPDX-License-Identifier: MIT */
#include "layer/submit/full_checks.h"
#include "base/array.h"
#include "vulkan/chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "gen_layer.h"
#include "layer/command/image_state.h"
#include "layer/command/overwritten.h"
#include "layer/core/records.h"
#include "layer/submit/host_gate.h"
#include "layer/submit/memory_checks.h"
#include "layer/submit/present_checks.h"
#include "vulkan/readback.h"
#include "vulkan/texel/pixels.h"

#define WAIT_NS      UINT64_C(20000000000) /* the longest wait for work after its submit */
#define MOST_BYTES   (16u << 20)           /* of a buffer, in one check */
#define CAN_TRANSFER (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT)

void layer_queues_lock(struct layer_device *dev, int *cancel)
{
    if (!layer.options.reads_back)
        return;
    *cancel = lap_cancel_off();
    pthread_mutex_lock(&dev->verify.mutex);
}

void layer_queues_unlock(struct layer_device *dev, int cancel)
{
    if (!layer.options.reads_back)
        return;
    pthread_mutex_unlock(&dev->verify.mutex);
    lap_cancel_restore(cancel);
}

void layer_check_left_out(struct layer_device *dev, struct lap_object *record, enum lap_unchecked reason)
{
    bool is_buffer = record->type == GEN_HANDLE_VkBuffer;
    uint16_t *said = is_buffer ? &((struct layer_buffer *)record)->left_out : &((struct layer_image *)record)->left_out;
    struct lap_enc *enc;

    if (*said >> reason & 1)
        return;
    *said |= (uint16_t)(1u << reason);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliUnchecked, 0);
    if (enc) {
        gen_encode_lapilliUnchecked(enc, is_buffer ? gen_VkBuffer(record->handle) : VK_NULL_HANDLE,
                                    is_buffer ? VK_NULL_HANDLE : gen_VkImage(record->handle), reason);
        layer_packet_end();
    }
}

/* ---- creation ---- */

bool layer_is_preprocess(VkFlags64 usage)
{
#ifdef VK_EXT_device_generated_commands
    return usage & VK_BUFFER_USAGE_2_PREPROCESS_BUFFER_BIT_EXT;
#else
    return false;
#endif
}

#ifdef VK_KHR_maintenance5
/* Adds a bit to the usage in the chain that replaces the buffer's own. The chain is the program's, so the structures
 * before it are copied, too. False: the create info stays as it is. */
static bool add_usage(const VkBufferCreateInfo *info, struct layer_readable_buffer *changed)
{
    const void **link = &changed->info.pNext;
    size_t used = 0;

    changed->info = *info;
    for (const VkBaseInStructure *from = info->pNext; from; from = from->pNext) {
        const size_t bytes = gen_chain_struct_bytes(from->sType);
        VkBaseInStructure *copy = (VkBaseInStructure *)(changed->chain + used);
        if (!bytes || bytes > sizeof changed->chain - used)
            return false;
        memcpy(copy, from, bytes);
        *link = copy;
        link = (const void **)&copy->pNext;
        used += (bytes + 7) / 8 * 8;
        if (from->sType != VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR)
            continue;
        ((VkBufferUsageFlags2CreateInfoKHR *)copy)->usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
        return true;
    }
    return false;
}

#endif

const VkBufferCreateInfo *layer_verify_all_buffer(const VkBufferCreateInfo *info, struct layer_readable_buffer *changed,
                                                  bool *out_readable)
{
    *out_readable = layer.options.reads_back && !(info->flags & VK_BUFFER_CREATE_PROTECTED_BIT);
    if (!*out_readable || lap_chain_buffer_usage(info) & VK_BUFFER_USAGE_TRANSFER_SRC_BIT)
        return info;
#ifdef VK_KHR_maintenance5
    if (lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR)) {
        *out_readable = !layer_is_preprocess(lap_chain_buffer_usage(info)) && add_usage(info, changed);
        return *out_readable ? &changed->info : info;
    }
#endif
    changed->info = *info;
    changed->info.usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    return &changed->info;
}

/* Externally defined layouts depend on the usage that they were chosen for. */
static bool is_decided_elsewhere(const VkImageCreateInfo *info)
{
    return lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) ||
           lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMAGE_SWAPCHAIN_CREATE_INFO_KHR) ||
           info->tiling == VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
}

static bool can_be_with(struct layer_device *dev, const VkImageCreateInfo *info)
{
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    const VkVideoProfileListInfoKHR *profiles =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR);
    VkImageFormatProperties found;
    VkResult result;

    if (profiles) {
        const VkVideoProfileListInfoKHR alone = {VK_STRUCTURE_TYPE_VIDEO_PROFILE_LIST_INFO_KHR, NULL,
                                                 profiles->profileCount, profiles->pProfiles};
        const VkPhysicalDeviceImageFormatInfo2 question = {.sType =
                                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                                           .pNext = &alone,
                                                           .format = info->format,
                                                           .type = info->imageType,
                                                           .tiling = info->tiling,
                                                           .usage = info->usage,
                                                           .flags = info->flags};
        VkImageFormatProperties2 answer = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2};
        result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties2(gpu, &question, &answer);
        found = answer.imageFormatProperties;
    } else {
        result = dev->instance->vk.GetPhysicalDeviceImageFormatProperties(
            gpu, info->format, info->imageType, info->tiling, info->usage, info->flags, &found);
    }
    return result == VK_SUCCESS && found.maxExtent.width >= info->extent.width &&
           found.maxExtent.height >= info->extent.height && found.maxExtent.depth >= info->extent.depth &&
           found.maxMipLevels >= info->mipLevels && found.maxArrayLayers >= info->arrayLayers &&
           found.sampleCounts & info->samples;
}

VkImageUsageFlags layer_verify_all_usage(VkImageCreateFlags flags, VkImageUsageFlags usage)
{
    if (!layer.options.reads_back || flags & VK_IMAGE_CREATE_PROTECTED_BIT ||
        usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT)
        return usage;
    /* A replay of a part writes the first contents into its images. */
    return usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | (layer.options.parts.on ? VK_IMAGE_USAGE_TRANSFER_DST_BIT : 0);
}

/* Multisampled images, too: an imageless framebuffer does not know the sample counts of its images. */
const VkImageCreateInfo *layer_verify_all_image(struct layer_device *dev, const VkImageCreateInfo *info,
                                                VkImageCreateInfo *changed, bool *out_readable)
{
    *changed = *info;
    changed->usage = layer_verify_all_usage(info->flags, info->usage);
    if (changed->usage != info->usage && (is_decided_elsewhere(info) || !can_be_with(dev, changed)))
        changed->usage = info->usage;
    *out_readable = layer.options.reads_back && changed->usage & VK_IMAGE_USAGE_TRANSFER_SRC_BIT &&
                    !(info->flags & VK_IMAGE_CREATE_PROTECTED_BIT);
    return changed->usage != info->usage ? changed : info;
}

/* ---- new memory ---- */

static bool clear(struct layer_device *dev, VkDeviceMemory memory, VkBuffer buffer)
{
    const struct layer_queue *queue = layer_queue_of(dev->verify.clearing_queue);
    struct lap_readback_queue at = {.queue = queue->handle, .family = queue->family};
    struct lap_readback *rb;
    bool gated, cleared = false;
    int cancel = 0;

    if (dev->vk.BindBufferMemory(dev->handle, buffer, memory, 0) < 0)
        return false;
    layer_queues_lock(dev, &cancel);
    pthread_mutex_lock(&dev->submit.mutex);
    gated = layer_host_gate_on_queue(dev, queue->handle);
    pthread_mutex_unlock(&dev->submit.mutex);
    rb = layer_verify_readback(dev);
    if (!gated && rb)
        cleared = lap_readback_clear(rb, &at, buffer) == LAP_OK;
    if (!cleared)
        lap_log(&layer.log, LAP_LOG_DEBUG, "new memory can't be cleared: %s",
                gated ? "work waits for the host" : lap_error_message());
    layer_queues_unlock(dev, cancel);
    return cleared;
}

bool layer_verify_all_clear(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize bytes, uint32_t type)
{
    const VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    bool cleared = false;
    VkBuffer buffer;

    if (!dev->verify.clearing_queue || dev->is_group || dev->vk.CreateBuffer(dev->handle, &create, NULL, &buffer) < 0)
        return false;
    dev->vk.GetBufferMemoryRequirements(dev->handle, buffer, &needs);
    if (needs.size <= bytes && needs.memoryTypeBits >> type & 1)
        cleared = clear(dev, memory, buffer);
    dev->vk.DestroyBuffer(dev->handle, buffer, NULL);
    return cleared;
}

/* ---- waiting ---- */

/* Waits for all work submitted to the queue. Work that takes longer than WAIT_NS waits for an unknown signal: from then
 * on checks follow the program's own waits only. */
static bool wait_for(struct layer_device *dev, VkQueue queue)
{
    const VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = VK_SUCCESS;

    if (dev->verify.waits_not)
        return false;
    if (!dev->verify.fence)
        result = dev->vk.CreateFence(dev->handle, &create, NULL, &dev->verify.fence);
    if (result == VK_SUCCESS)
        result = dev->vk.QueueSubmit(queue, 0, NULL, dev->verify.fence);
    if (result == VK_SUCCESS)
        result = dev->vk.WaitForFences(dev->handle, 1, &dev->verify.fence, VK_TRUE, WAIT_NS);
    if (result == VK_SUCCESS)
        result = dev->vk.ResetFences(dev->handle, 1, &dev->verify.fence);
    if (result == VK_SUCCESS)
        return true;
    dev->verify.waits_not = true; /* and the fence, which may be pending, is left alone */
    lap_log(
        &layer.log, LAP_LOG_WARNING,
        "submitted work does not end by itself (VkResult %d): from here on it is checked where the program waits for "
        "it",
        (int)result);
    return false;
}

void layer_verify_all_waited(struct layer_device *dev, VkQueue queue)
{
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliWaitQueue, 0);
    if (enc) {
        gen_encode_lapilliWaitQueue(enc, queue);
        layer_packet_end();
    }
}

void layer_verify_all_submitted(struct layer_device *dev, VkQueue queue)
{
    bool gated;

    if (!layer_is_writing())
        return;
    pthread_mutex_lock(&dev->submit.mutex);
    gated = layer_host_gate_on_queue(dev, queue);
    pthread_mutex_unlock(&dev->submit.mutex);
    if (gated || !wait_for(dev, queue))
        return;
    layer_verify_all_waited(dev, queue);
    layer_submission_waited(dev, queue);
}

/* ---- reading back ---- */

/* The queue of a submit, if something can be copied there without waiting for the host. */
static bool find_queue(struct layer_device *dev, struct lap_object *record, VkQueue queue, bool graphics,
                       struct lap_readback_queue *out)
{
    const struct layer_queue *found = layer_queue_of(queue);

    if (!found || !(found->flags & (graphics ? VK_QUEUE_GRAPHICS_BIT : CAN_TRANSFER))) {
        layer_check_left_out(dev, record, LAP_UNCHECKED_QUEUE);
        return false;
    }
    if (layer_host_gate_on_queue(dev, queue)) {
        layer_check_left_out(dev, record, LAP_UNCHECKED_PENDING);
        return false;
    }
    *out = (struct lap_readback_queue){.queue = found->handle, .family = found->family};
    return true;
}

static void read_buffer(struct layer_device *dev, struct layer_buffer *buffer, VkQueue queue, uint64_t offset,
                        uint64_t bytes)
{
    struct lap_readback *rb = layer_verify_readback(dev);
    struct lap_readback_queue at;
    uint64_t low, high;

    if (atomic_load_explicit(&buffer->opaque, memory_order_relaxed)) {
        layer_check_left_out(dev, &buffer->object, LAP_UNCHECKED_OPAQUE);
        return;
    }
    if (!buffer->readable) {
        layer_check_left_out(dev, &buffer->object, LAP_UNCHECKED_USAGE);
        return;
    }
    if (!rb || !find_queue(dev, &buffer->object, queue, false, &at))
        return;
    for (uint64_t part; bytes; offset += part, bytes -= part) {
        const void *data;
        struct lap_enc *enc;
        part = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        if (lap_readback_buffer(rb, &at, gen_VkBuffer(buffer->object.handle), offset, part, &data) != LAP_OK) {
            layer_check_left_out(dev, &buffer->object, LAP_UNCHECKED_FAILED);
            return;
        }
        lap_pixels_hash(data, (size_t)part, &low, &high);
        enc = layer_packet_begin(&dev->tables, GEN_lapilliCheckBuffer, 0);
        if (!enc)
            return;
        gen_encode_lapilliCheckBuffer(enc, gen_VkBuffer(buffer->object.handle), offset, part, low, high);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_BUFFER_CHECKS);
    }
}

/* Reads one subresource back and writes its hash. */
static void read_texels(struct layer_device *dev, struct layer_image *image, const struct lap_readback_queue *at,
                        VkQueue queue, VkImageLayout layout, const struct lap_texels *texels)
{
    VkImage handle = gen_VkImage(image->object.handle);
    const void *data;
    struct lap_enc *enc;
    uint64_t low, high;

    if (lap_readback_texels(dev->verify.readback, at, handle, image->info.format, layout, texels, &data) != LAP_OK) {
        layer_check_left_out(dev, &image->object, LAP_UNCHECKED_FAILED);
        return;
    }
    lap_pixels_hash(data, (size_t)(texels->rows * texels->row_bytes), &low, &high);
    layer_check_bytes(dev, data, (size_t)(texels->rows * texels->row_bytes), low, high);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliCheckTexels, 0);
    if (enc) {
        gen_encode_lapilliCheckTexels(enc, handle, queue, layout, texels->aspect, texels->level, texels->layer, low,
                                      high);
        layer_packet_end();
        layer_check_count(LAP_COUNTER_IMAGE_CHECKS);
    }
}

/* Why nothing of an image can be checked; LAP_UNCHECKED_COUNT: it can. */
static enum lap_unchecked image_fault(const struct layer_device *dev, const struct layer_image *image)
{
    if (image->info.samples != VK_SAMPLE_COUNT_1_BIT)
        return LAP_UNCHECKED_SAMPLES;
    if (image->info.flags & (VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_DISJOINT_BIT))
        return LAP_UNCHECKED_SPARSE;
    if (!image->readable)
        return LAP_UNCHECKED_USAGE;
    if (!image->state || lap_format_planes(image->info.format) > 1)
        return LAP_UNCHECKED_FORMAT;
    if (image->loose)
        return LAP_UNCHECKED_UNDEFINED;
    if (layer_submission_is_running(dev, image->state->serial))
        return LAP_UNCHECKED_PENDING;
    return LAP_UNCHECKED_COUNT;
}

/* The layout that all aspects of a level are in; VK_IMAGE_LAYOUT_UNDEFINED: there is none from which could be copied.
 */
static VkImageLayout common_layout(const struct layer_image *image, uint32_t level, uint32_t array_layer)
{
    struct layer_image_state *state = image->state;
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;

    for (VkImageAspectFlags left = state->aspects; left; left &= left - 1) {
        const struct layer_subresource *s = layer_image_subresource(image, state, left & -left, level, array_layer);
        if (s->between || s->layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
            (layout != VK_IMAGE_LAYOUT_UNDEFINED && s->layout != layout))
            return VK_IMAGE_LAYOUT_UNDEFINED;
        layout = s->layout;
    }
    return layout;
}

static void read_level(struct layer_device *dev, struct layer_image *image, VkQueue queue, uint64_t serial, bool shared,
                       uint32_t level, uint32_t array_layer)
{
    const VkImageLayout layout = common_layout(image, level, array_layer);

    for (VkImageAspectFlags left = image->state->aspects; left; left &= left - 1) {
        const VkImageAspectFlags aspect = left & -left;
        const struct layer_subresource *s = layer_image_subresource(image, image->state, aspect, level, array_layer);
        struct lap_readback_queue at;
        struct lap_texels texels;

        if (!s->written || s->layout == VK_IMAGE_LAYOUT_UNDEFINED || s->layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
            continue; /* nothing has ever been written there */
        if (s->varies)
            layer_check_left_out(dev, &image->object, LAP_UNCHECKED_UNDEFINED);
        else if (shared && s->covered != serial)
            layer_check_left_out(dev, &image->object, LAP_UNCHECKED_SHARED);
        else if (layout == VK_IMAGE_LAYOUT_UNDEFINED)
            layer_check_left_out(dev, &image->object, LAP_UNCHECKED_LAYOUT);
        else if (!lap_texels_describe(&image->info, aspect, level, array_layer, &texels))
            layer_check_left_out(dev, &image->object, LAP_UNCHECKED_FORMAT);
        else if (find_queue(dev, &image->object, queue, aspect != VK_IMAGE_ASPECT_COLOR_BIT, &at))
            read_texels(dev, image, &at, queue, layout, &texels);
    }
}

static void read_image(struct layer_device *dev, struct layer_image *image, struct lap_memobj *object,
                       const struct layer_submission *submission)
{
    bool shared = lap_memobj_shares(object);
    enum lap_unchecked fault;

    (void)layer_image_state(image);
    fault = image_fault(dev, image);
    if (fault == LAP_UNCHECKED_COUNT && layer_overwritten_perhaps(object, 0, UINT64_MAX, submission->serial))
        fault = LAP_UNCHECKED_SHARED;
    if (fault != LAP_UNCHECKED_COUNT) {
        layer_check_left_out(dev, &image->object, fault);
        return;
    }
    if (!layer_verify_readback(dev))
        return;
    for (uint32_t array_layer = 0; array_layer < image->info.arrayLayers; array_layer++)
        for (uint32_t level = 0; level < image->info.mipLevels; level++)
            read_level(dev, image, submission->queue, submission->serial, shared, level, array_layer);
}

void layer_verify_all_written(struct layer_device *dev, struct lap_memobj *object,
                              const struct layer_submission *submission, uint64_t offset, uint64_t bytes)
{
    struct lap_object *record = lap_memobj_user(object);

    if (record->type == GEN_HANDLE_VkImage && ((struct layer_image *)record)->swapchain)
        return; /* presents are checked */
    if (record->type == GEN_HANDLE_VkImage)
        read_image(dev, (struct layer_image *)record, object, submission);
    else
        read_buffer(dev, (struct layer_buffer *)record, submission->queue, offset, bytes);
}

/* Buffers with an address whose memory only the device can have written. */
struct addressed {
    struct layer_device *dev;
    struct layer_buffer **buffers;
    size_t count, capacity;
};

static void add_addressed(void *user, uint64_t resource, void *value)
{
    struct addressed *addressed = user;
    struct layer_buffer *buffer = lap_memobj_user(value);
    struct lap_memobj_place place = lap_memobj_place(value);

    if (layer_resource_is_image(resource) || buffer->object.type != GEN_HANDLE_VkBuffer || buffer->memobj != value ||
        !(buffer->usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) || !place.mem)
        return;
    /* Of mapped memory change_checks.h knows. */
    if (lap_mem_mapped(place.mem) || !buffer->cleared || lap_memobj_shares(value))
        return;
    if (!lap_array_grow(&addressed->buffers, sizeof(*addressed->buffers), &addressed->capacity, addressed->count + 1))
        return; /* one check less */
    addressed->buffers[addressed->count++] = buffer;
}

/* By their numbers, so that two recordings have the same order. */
static int compare_buffers(const void *a, const void *b)
{
    const struct layer_buffer *const *x = a, *const *y = b;
    return (*x)->object.index < (*y)->object.index ? -1 : (*x)->object.index > (*y)->object.index;
}

void layer_verify_all_anywhere(struct layer_device *dev, const struct layer_submission *submission)
{
    struct addressed addressed = {.dev = dev};

    lap_map_each(&dev->submit.resources, add_addressed, &addressed);
    if (addressed.count)
        qsort(addressed.buffers, addressed.count, sizeof *addressed.buffers, compare_buffers);
    for (size_t i = 0; i < addressed.count; i++) {
        struct layer_buffer *buffer = addressed.buffers[i];
        const struct layer_written all = {.resource = layer_resource_of_buffer(buffer), .bytes = buffer->bytes};
        if (!layer_submission_may_differ(dev, submission, &all))
            read_buffer(dev, buffer, submission->queue, 0, buffer->bytes);
    }
    free(addressed.buffers);
}
