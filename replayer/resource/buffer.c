/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/address/captured_memory.h"
#include "replayer/analysis/alias_groups.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/device/video_profile.h"
#include "replayer/memory/new_memory.h"
#include "replayer/memory/resource.h"
#include "replayer/ray_tracing/ray_tracing.h"
#include "replayer/resource/alias_placement.h"
#include "replayer/resource/create.h"
#include "replayer/sparse/sparse.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/ownership_transfer.h"
#include "replayer/sync/submission.h"
#include "vulkan/chain.h"

/* For the replay's own copies: updates of memory that is not host-visible, and checks. */
#define ADDED_USAGE (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

/* The replay drops external memory and addresses of the recorded machine, and decides itself about dedicated memory. */
static const VkStructureType dropped[] = {
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT,
    VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
};
#define DROPPED_COUNT (sizeof dropped / sizeof *dropped)

/* Adjusts the usage flags. */
static VkResult create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer)
{
    info->usage |= ADDED_USAGE;
    /* Descriptors that the trace copies are read at their source. */
    if (dev->descriptors.buffers)
        info->usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    replay_share_buffer(dev, info);
    if (!dev->addresses.enabled)
        info->usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
#ifdef VK_KHR_maintenance5
    VkBufferUsageFlags2CreateInfoKHR *usage2 = (VkBufferUsageFlags2CreateInfoKHR *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR);
    if (usage2 && dev->descriptors.buffers)
        usage2->usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    if (usage2) /* it overrides VkBufferCreateInfo::usage */
        usage2->usage =
            (usage2->usage | ADDED_USAGE) &
            ~(dev->addresses.enabled ? 0 : (VkBufferUsageFlags2KHR)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
#endif
    return dev->vk.CreateBuffer(dev->live, info, NULL, out_buffer);
}

VkResult replay_buffer_create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer)
{
    if (info->pNext)
        lap_chain_drop(&info->pNext, dropped, DROPPED_COUNT);
    info->flags &= ~(VkBufferCreateFlags)VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return create(dev, info, out_buffer);
}

/* Whether to request the recorded address, if the trace has the data for that. A buffer that shares memory gets its
 * place from the planner instead. */
static bool wants_its_address(struct replay *r, struct replay_device *dev, uint64_t index,
                              const VkBufferCreateInfo *info)
{
    if (!dev->addresses.preserved.active || !(info->flags & VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT) ||
        !lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO))
        return false;
    if (!replay_aliases_find(r->analysis.aliases, GEN_HANDLE_VkBuffer, index, 0))
        return true;
    dev->addresses.preserved.counts.aliased++;
    return false;
}

static __attribute__((noinline)) bool create_at_address(struct replay *r, struct replay_device *dev, uint64_t index,
                                                        const VkBufferCreateInfo *recorded, VkBuffer *out_buffer)
{
    VkBufferCreateInfo info = *recorded;
    VkResult result;

    lap_chain_drop(&info.pNext, dropped, DROPPED_COUNT - 1); /* all but the last */
    result = create(dev, &info, out_buffer);
    if (result < 0 && replay_deferred_destroy_count(dev) && replay_submission_await_all(dev))
        result = create(dev, &info, out_buffer);
    if (result >= 0)
        return true;
    lap_log(r->log, dev->addresses.preserved.counts.refused_buffers ? LAP_LOG_DEBUG : LAP_LOG_INFO,
            "VkBuffer:%" PRIu64 " can't have its address again: %s", index, replay_result_name(result));
    dev->addresses.preserved.counts.refused_buffers++;
    return false;
}

enum lap_status replay_CreateBuffer(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateBuffer *args)
{
    VkBufferCreateInfo *info = (VkBufferCreateInfo *)(uintptr_t)args->pCreateInfo; /* in the decoder's own memory */
    struct replay_buffer *record;
    uint64_t index = gen_u64_VkBuffer(*args->pBuffer);
    enum lap_status status;
    bool at_address;
    VkBuffer buffer;

    if (*args->pBuffer == VK_NULL_HANDLE)
        return LAP_OK; /* the recorded call failed, so nothing uses the buffer */
    if (info->pNext && (status = replay_video_profiles_check(r, info->pNext)) != LAP_OK)
        return status;
    at_address = wants_its_address(r, dev, index, info) && create_at_address(r, dev, index, info, &buffer);
    if (!at_address) {
        VkResult result = replay_buffer_create(dev, info, &buffer);
        if (result < 0)
            return replay_result(r, result);
    }
    status = replay_buffer_add(r, dev, index, buffer, &record);
    if (status != LAP_OK) {
        dev->vk.DestroyBuffer(dev->live, buffer, NULL);
        return status;
    }
    record->bytes = info->size;
    record->at_address = at_address;
    record->holds_descriptors = replay_descriptor_buffers_note_buffer(dev, lap_chain_buffer_usage(info));
    if (lap_chain_buffer_usage(info) & VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR)
        replay_ray_tracing_note_buffer(dev, info->size);
    return LAP_OK;
}

enum lap_status replay_end_VkBuffer(struct replay *r, struct replay_device *dev, uint64_t index,
                                    struct replay_object *object)
{
    struct replay_buffer *record = object->record;
    VkBuffer buffer = gen_VkBuffer(object->live);

    if (record && record->staged.batch)
        replay_staging_settle(r, dev, &record->staged, buffer);
    if (__builtin_expect(dev->busy || dev->shown, 0))
        replay_deferred_destroy_handle(dev, GEN_HANDLE_VkBuffer, object->live);
    else
        dev->vk.DestroyBuffer(dev->live, buffer, NULL);
    if (record && record->addresses)
        replay_address_forget(dev, record);
    if (record && record->place.memory)
        replay_memory_place_free(dev, &record->place);
    if (record && record->sparse)
        replay_sparse_destroy(r, &record->sparse);
    replay_buffer_free(r, record);
    replay_object_end(r, GEN_HANDLE_VkBuffer, index, object);
    return LAP_OK;
}

static enum lap_status begin(struct replay *r, struct replay_device *dev, VkBuffer buffer, struct replay_buffer *record,
                             const struct replay_memory_needs *needs)
{
    struct replay_overlay_buffer own = {.buffer = buffer, .staged = record->staged};
    bool is_written = needs->wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT || r->options.reads_all_images;
    enum lap_status status =
        replay_new_memory_begin(r, dev, &record->place, needs->contents, is_written, record->bytes, &own);

    record->staged = own.staged;
    return status;
}

enum lap_status replay_lapilliBindBuffer(struct replay *r, struct replay_device *dev,
                                         struct gen_args_lapilliBindBuffer *args)
{
    struct replay_memory_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_buffer *record = replay_buffer_of(r, args->buffer, &index);

    if (!record)
        return replay_invalid(r, "memory is bound to a buffer that is not alive");
    if (record->place.memory || record->sparse)
        return replay_fail(r, "VkBuffer:%" PRIu64 " is bound twice", index);
    replay_memory_buffer_needs(dev, args->buffer, &needs);
    needs.wanted = args->propertyFlags;
    needs.contents = replay_new_memory_bind(dev, gen_u64_VkDeviceMemory(args->memory), args->memoryOffset, args->size);
    if (record->at_address)
        status = replay_address_place(r, dev, gen_u64_VkDeviceMemory(args->memory), args->memoryOffset, &needs,
                                      &record->place);
    else
        status = replay_alias_place(r, dev, GEN_HANDLE_VkBuffer, index, &needs, &record->place);
    if (status != LAP_OK)
        return status;
    status =
        replay_result(r, dev->vk.BindBufferMemory(dev->live, args->buffer, record->place.memory, record->place.offset));
    if (status != LAP_OK) {
        replay_memory_place_free(dev, &record->place);
        return status;
    }
    return record->place.is_prepared ? LAP_OK : begin(r, dev, args->buffer, record, &needs);
}
