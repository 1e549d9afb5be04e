/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "gen_replay.h"
#include "replayer/address.h"
#include "replayer/address_memory.h"
#include "replayer/alias.h"
#include "replayer/fresh.h"
#include "replayer/handles.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/resource.h"
#include "replayer/sparse.h"
#include "replayer/verify.h"

/* The replay's own copies: updates that the host can't write straight, and checks. */
#define ADDED_USAGE (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

/* Memory of other processes or APIs, addresses of the recorded machine, and dedicated memory, which is chosen here. */
static const VkStructureType dropped[] = {
    VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
    VK_STRUCTURE_TYPE_DEDICATED_ALLOCATION_BUFFER_CREATE_INFO_NV,
    VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_CREATE_INFO_EXT,
    VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
};
#define DROPPED_COUNT (sizeof dropped / sizeof *dropped)

/* Adds and takes away usage. */
static VkResult create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer)
{
    info->usage |= ADDED_USAGE;
    replay_share_buffer(dev, info);
    if (!dev->has_addresses)
        info->usage &= ~(VkBufferUsageFlags)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
#ifdef VK_KHR_maintenance5
    VkBufferUsageFlags2CreateInfoKHR *usage2 = (VkBufferUsageFlags2CreateInfoKHR *)(uintptr_t)replay_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR);
    if (usage2) /* it takes the place of VkBufferCreateInfo::usage */
        usage2->usage = (usage2->usage | ADDED_USAGE) &
                        ~(dev->has_addresses ? 0 : (VkBufferUsageFlags2KHR)VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
#endif
    return dev->vk.CreateBuffer(dev->live, info, NULL, out_buffer);
}

VkResult replay_buffer_create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer)
{
    if (info->pNext)
        replay_chain_drop(&info->pNext, dropped, DROPPED_COUNT);
    info->flags &= ~(VkBufferCreateFlags)VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    return create(dev, info, out_buffer);
}

/* Where the trace says what to ask for, the buffer is asked to have its address again. Not those that share memory with
 * others, which the planner places. */
static bool wants_its_address(struct replay *r, struct replay_device *dev, uint64_t index,
                              const VkBufferCreateInfo *info)
{
    if (!dev->kept.active || !(info->flags & VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT) ||
        !replay_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO))
        return false;
    if (!replay_aliases_find(r->aliases, GEN_HANDLE_VkBuffer, index, 0))
        return true;
    dev->kept.counts.aliased++;
    return false;
}

static __attribute__((noinline)) bool create_at_address(struct replay *r, struct replay_device *dev, uint64_t index,
                                                        const VkBufferCreateInfo *recorded, VkBuffer *out_buffer)
{
    VkBufferCreateInfo info = *recorded;
    VkResult result;

    replay_chain_drop(&info.pNext, dropped, DROPPED_COUNT - 1); /* but for the last */
    result = create(dev, &info, out_buffer);
    if (result < 0 && dev->pending.count && replay_pending_settle(dev))
        result = create(dev, &info, out_buffer);
    if (result >= 0)
        return true;
    lap_log(r->log, dev->kept.counts.refused_buffers ? LAP_LOG_DEBUG : LAP_LOG_INFO,
            "VkBuffer:%" PRIu64 " can't have its address again: %s", index, replay_result_name(result));
    dev->kept.counts.refused_buffers++;
    return false;
}

enum lap_status replay_CreateBuffer(struct replay *r, struct replay_device *dev, struct gen_args_vkCreateBuffer *args)
{
    VkBufferCreateInfo *info = (VkBufferCreateInfo *)(uintptr_t)args->pCreateInfo; /* the decoder's own memory */
    struct replay_buffer *record;
    uint64_t index = gen_u64_VkBuffer(*args->pBuffer);
    enum lap_status status;
    bool at_address;
    VkBuffer buffer;

    if (*args->pBuffer == VK_NULL_HANDLE)
        return LAP_OK; /* the program got nothing, so nothing uses it */
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
    return LAP_OK;
}

enum lap_status replay_end_VkBuffer(struct replay *r, struct replay_device *dev, uint64_t index,
                                    struct replay_object *object)
{
    struct replay_buffer *record = object->record;
    VkBuffer buffer = gen_VkBuffer(object->live);

    if (record && record->staged.batch)
        replay_staging_settle(r, dev, &record->staged, buffer);
    if (__builtin_expect(dev->pending.busy, 0))
        replay_pending_end(dev, GEN_HANDLE_VkBuffer, object->live, 0);
    else
        dev->vk.DestroyBuffer(dev->live, buffer, NULL);
    if (record && record->addresses)
        replay_address_forget(dev, record);
    if (record && replay_place_is_some(&record->place))
        replay_place_free(dev, &record->place);
    if (record && record->sparse)
        replay_sparse_destroy(r, &record->sparse);
    replay_buffer_free(r, record);
    replay_object_end(r, GEN_HANDLE_VkBuffer, index, object);
    return LAP_OK;
}

static enum lap_status begin(struct replay *r, struct replay_device *dev, VkBuffer buffer, struct replay_buffer *record,
                             const struct replay_needs *needs)
{
    struct replay_byte_buffer own = {.buffer = buffer, .staged = record->staged};
    bool is_written = needs->wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT || replay_check_reads_all(r);
    enum lap_status status =
        replay_fresh_begin(r, dev, &record->place, needs->contents, is_written, record->bytes, &own);

    record->staged = own.staged;
    return status;
}

enum lap_status replay_lapilliBindBuffer(struct replay *r, struct replay_device *dev,
                                         struct gen_args_lapilliBindBuffer *args)
{
    struct replay_needs needs;
    enum lap_status status;
    uint64_t index;
    struct replay_buffer *record = replay_buffer_of(r, args->buffer, &index);

    if (!record)
        return replay_invalid(r, "memory is bound to a buffer that is not alive");
    if (record->place.memory || record->sparse)
        return replay_fail(r, "VkBuffer:%" PRIu64 " is bound twice", index);
    replay_buffer_needs(dev, args->buffer, &needs);
    needs.wanted = args->propertyFlags;
    needs.recorded_bytes = args->size;
    needs.contents = replay_fresh_bind(r, gen_u64_VkDeviceMemory(args->memory), args->memoryOffset, args->size);
    if (record->at_address)
        status = replay_address_place(r, dev, gen_u64_VkDeviceMemory(args->memory), args->memoryOffset, &needs,
                                      &record->place);
    else
        status = replay_place_object(r, dev, GEN_HANDLE_VkBuffer, index, &needs, &record->place);
    if (status != LAP_OK)
        return status;
    status =
        replay_result(r, dev->vk.BindBufferMemory(dev->live, args->buffer, record->place.memory, record->place.offset));
    if (status != LAP_OK) {
        replay_place_free(dev, &record->place);
        return status;
    }
    return record->place.shared ? LAP_OK : begin(r, dev, args->buffer, record, &needs);
}
