/* SPDX-License-Identifier: MIT */
/* heap_commands: heaps that command buffers bind, and copies into them (heaps.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/descriptor/heaps.h"
#include "replayer/memory/resource.h"
#include "vulkan/chain.h"

#ifdef VK_EXT_descriptor_heap

static VkDeviceSize align_up(VkDeviceSize value, VkDeviceSize alignment)
{
    return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

/* ---- shadows ---- */

static enum lap_status fill_shadow(struct replay *r, struct replay_device *dev, struct replay_shadow *shadow)
{
    const struct replay_heap_room *room = &dev->descriptors.buffers->heaps->room[shadow->kind];
    VkDeviceSize alignment = room->alignment > 256 ? room->alignment : 256;
    VkDeviceSize places = shadow->bytes / room->place, words = shadow->bytes / 4;
    enum lap_status status;

    /* The reserved range is behind the range that shaders use: the driver may need more of it than the recorded one. */
    shadow->reserved_offset =
        align_up(align_up(shadow->bytes * room->scale, REPLAY_DESCRIPTOR_BYTES), room->reserved_alignment);
    shadow->to_bytes = shadow->reserved_offset + room->reserved;
    if (shadow->to_bytes > room->most)
        return replay_refuse(r, "a heap of %" PRIu64 " bytes takes %" PRIu64 " on this GPU, which has at most %" PRIu64,
                             shadow->bytes, shadow->to_bytes, room->most);
    status = replay_own_buffer_create(r, dev, shadow->to_bytes + alignment, VK_BUFFER_USAGE_DESCRIPTOR_HEAP_BIT_EXT,
                                      false, &shadow->heap);
    if (status == LAP_OK)
        status = replay_own_buffer_create(r, dev, (words + places + 1) * 4, 0, false, &shadow->seen);
    if (status == LAP_OK)
        status = replay_own_buffer_write(r, dev, &shadow->heap, 0, NULL, (size_t)shadow->heap.bytes);
    if (status == LAP_OK)
        status = replay_own_buffer_write(r, dev, &shadow->seen, 0, NULL, (size_t)shadow->seen.bytes);
    shadow->to = align_up(shadow->heap.address, alignment);
    return status;
}

static enum lap_status find_shadow(struct replay *r, struct replay_device *dev, enum replay_heap_kind kind,
                                   const VkDeviceAddressRangeEXT *range, struct replay_shadow **out)
{
    struct replay_heaps *heaps = dev->descriptors.buffers->heaps;
    VkDeviceAddress end = replay_address_end_of(dev, range->address);
    struct replay_shadow *shadow;
    enum lap_status status;

    if (!heaps->room[kind].place)
        return replay_fail(r, "a descriptor heap is bound, and the trace does not have the sizes of descriptors");
    if (!end || range->size > end - range->address || !range->size || range->address % 4 || range->size > UINT32_MAX)
        return replay_fail(r, "a descriptor heap of %" PRIu64 " bytes is bound, and no buffer has it", range->size);
    for (size_t i = 0; i < heaps->shadow_count; i++) {
        shadow = heaps->shadows[i];
        if (shadow->kind == kind && shadow->from == range->address && shadow->bytes == range->size) {
            *out = shadow;
            return LAP_OK;
        }
    }
    shadow = calloc(1, sizeof *shadow);
    if (!shadow ||
        !lap_array_grow(&heaps->shadows, sizeof(*heaps->shadows), &heaps->shadow_capacity, heaps->shadow_count + 1)) {
        free(shadow);
        return replay_descriptors_no_memory(r);
    }
    *shadow = (struct replay_shadow){.kind = kind, .from = range->address, .bytes = range->size};
    status = fill_shadow(r, dev, shadow);
    if (status != LAP_OK) {
        replay_own_buffer_free(r, dev, &shadow->heap);
        replay_own_buffer_free(r, dev, &shadow->seen);
        free(shadow);
        return status;
    }
    heaps->shadows[heaps->shadow_count++] = shadow;
    *out = shadow;
    return LAP_OK;
}

static enum lap_status add_use(struct replay *r, struct replay_descriptor_commands *c, struct replay_shadow *shadow,
                               bool bound, bool worked)
{
    for (size_t i = 0; i < c->heap_count; i++) {
        if (c->heaps[i].shadow != shadow)
            continue;
        c->heaps[i].bound |= bound;
        c->heaps[i].worked |= worked;
        return LAP_OK;
    }
    if (!lap_array_grow(&c->heaps, sizeof *c->heaps, &c->heap_capacity, c->heap_count + 1))
        return replay_descriptors_no_memory(r);
    c->heaps[c->heap_count++] = (struct replay_heap_use){shadow, bound, worked};
    return LAP_OK;
}

/* ---- binding ---- */

/* *info: the trace's; becomes the replay's. */
static enum lap_status bind(struct replay *r, struct replay_device *dev, enum replay_heap_kind kind,
                            VkBindHeapInfoEXT *info)
{
    struct replay_descriptor_commands *c = dev->descriptors.buffers ? dev->descriptors.buffers->playing : NULL;
    const struct replay_heap_room *room;
    struct replay_shadow *shadow = NULL;
    enum lap_status status;

    if (!c || !dev->descriptors.buffers->heaps)
        return replay_refuse(r, "a descriptor heap is bound on a device without such heaps");
    status = find_shadow(r, dev, kind, &info->heapRange, &shadow);
    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < c->heap_count; i++)
        if (c->heaps[i].shadow->kind == kind)
            c->heaps[i].bound = false;
    room = &dev->descriptors.buffers->heaps->room[kind];
    info->heapRange = (VkDeviceAddressRangeEXT){shadow->to, shadow->to_bytes};
    info->reservedRangeOffset = shadow->reserved_offset;
    info->reservedRangeSize = room->reserved;
    return add_use(r, c, shadow, true, false);
}

enum lap_status replay_CmdBindResourceHeapEXT(struct replay *r, struct replay_device *dev,
                                              struct gen_args_vkCmdBindResourceHeapEXT *args)
{
    VkBindHeapInfoEXT info = *args->pBindInfo;
    enum lap_status status;

    if (!dev->vk.CmdBindResourceHeapEXT)
        return replay_missing(r, GEN_vkCmdBindResourceHeapEXT);
    status = bind(r, dev, REPLAY_HEAP_RESOURCES, &info);
    if (status == LAP_OK)
        dev->vk.CmdBindResourceHeapEXT(args->commandBuffer, &info);
    return status;
}

enum lap_status replay_CmdBindSamplerHeapEXT(struct replay *r, struct replay_device *dev,
                                             struct gen_args_vkCmdBindSamplerHeapEXT *args)
{
    VkBindHeapInfoEXT info = *args->pBindInfo;
    enum lap_status status;

    if (!dev->vk.CmdBindSamplerHeapEXT)
        return replay_missing(r, GEN_vkCmdBindSamplerHeapEXT);
    status = bind(r, dev, REPLAY_HEAP_SAMPLERS, &info);
    if (status == LAP_OK)
        dev->vk.CmdBindSamplerHeapEXT(args->commandBuffer, &info);
    return status;
}

/* The infos are in the decoder's own memory. */
enum lap_status replay_descriptor_buffers_inherit(struct replay *r, struct replay_device *dev,
                                                  const VkCommandBufferInheritanceInfo *info)
{
    VkCommandBufferInheritanceDescriptorHeapInfoEXT *heaps = (void *)(uintptr_t)lap_chain_find(
        info->pNext, VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_DESCRIPTOR_HEAP_INFO_EXT);
    enum lap_status status = LAP_OK;

    if (heaps && heaps->pResourceHeapBindInfo)
        status = bind(r, dev, REPLAY_HEAP_RESOURCES, (VkBindHeapInfoEXT *)(uintptr_t)heaps->pResourceHeapBindInfo);
    if (heaps && heaps->pSamplerHeapBindInfo && status == LAP_OK)
        status = bind(r, dev, REPLAY_HEAP_SAMPLERS, (VkBindHeapInfoEXT *)(uintptr_t)heaps->pSamplerHeapBindInfo);
    return status;
}

/* ---- copies ---- */

static VkDeviceAddress address_of(const struct replay_device *dev, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
    return dev->vk.GetBufferDeviceAddress(dev->live, &info);
}

static enum lap_status add_copy(struct replay *r, struct replay_descriptor_commands *c,
                                const struct replay_descriptor_copy *copy)
{
    if (copy->to == copy->end)
        return LAP_OK;
    for (size_t i = 0; i < c->heap_count; i++) {
        const struct replay_shadow *shadow = c->heaps[i].shadow;
        if (c->heaps[i].worked && copy->end > shadow->from && copy->to < shadow->from + shadow->bytes)
            return replay_refuse(r, "a command buffer replaces descriptors in a heap behind work that may use them");
    }
    if (!lap_array_grow(&c->heap_copies, sizeof *c->heap_copies, &c->heap_copy_capacity, c->heap_copy_count + 1))
        return replay_descriptors_no_memory(r);
    c->heap_copies[c->heap_copy_count++] = *copy;
    return LAP_OK;
}

/* Further copies of data that the command buffer wrote are found when the jobs are made. */
static enum lap_status note_copy(struct replay *r, struct replay_descriptor_commands *c, VkDeviceAddress from,
                                 VkDeviceAddress to, VkDeviceSize bytes)
{
    return add_copy(r, c, &(struct replay_descriptor_copy){.to = to, .end = to + bytes, .from = from});
}

static enum lap_status note_data(struct replay *r, struct replay_descriptor_commands *c, VkDeviceAddress to,
                                 const void *data, VkDeviceSize bytes)
{
    const struct replay_descriptor_copy copy = {.to = to, .end = to + bytes, .from = c->data_bytes};

    if (!lap_array_grow(&c->data, 1, &c->data_capacity, c->data_bytes + (size_t)bytes + 8))
        return replay_descriptors_no_memory(r);
    memcpy(c->data + c->data_bytes, data, (size_t)bytes);
    c->data_bytes += ((size_t)bytes + 7) / 8 * 8;
    return add_copy(r, c, &copy);
}

/* Cleared descriptors are not used, so the shadow may keep the old ones until the next command buffer. */
static enum lap_status note_fill(struct replay *r, struct replay_descriptor_commands *c, VkDeviceAddress to,
                                 VkDeviceSize bytes, uint32_t word)
{
    const struct replay_descriptor_copy copy = {.to = to, .end = to + bytes, .pattern = true};

    return word ? add_copy(r, c, &copy) : LAP_OK;
}

/* Into any buffer: a later copy from it into a heap is then noticed. */
static enum lap_status note_write(struct replay *r, const struct replay_device *dev,
                                  struct replay_descriptor_commands *c, uint32_t command, const void *data)
{
    enum lap_status status = LAP_OK;

    if (command == GEN_vkCmdCopyBuffer) {
        const struct gen_args_vkCmdCopyBuffer *args = data;
        for (uint32_t i = 0; i < args->regionCount && status == LAP_OK; i++)
            status = note_copy(r, c, address_of(dev, args->srcBuffer) + args->pRegions[i].srcOffset,
                               address_of(dev, args->dstBuffer) + args->pRegions[i].dstOffset, args->pRegions[i].size);
    } else if (command == GEN_vkCmdCopyBuffer2) {
        const VkCopyBufferInfo2 *info = ((const struct gen_args_vkCmdCopyBuffer2 *)data)->pCopyBufferInfo;
        for (uint32_t i = 0; i < info->regionCount && status == LAP_OK; i++)
            status = note_copy(r, c, address_of(dev, info->srcBuffer) + info->pRegions[i].srcOffset,
                               address_of(dev, info->dstBuffer) + info->pRegions[i].dstOffset, info->pRegions[i].size);
    } else if (command == GEN_vkCmdUpdateBuffer) {
        const struct gen_args_vkCmdUpdateBuffer *args = data;
        status = note_data(r, c, address_of(dev, args->dstBuffer) + args->dstOffset, args->pData, args->dataSize);
    } else if (command == GEN_vkCmdFillBuffer) {
        const struct gen_args_vkCmdFillBuffer *args = data;
        const struct replay_buffer *record = replay_buffer_of(r, args->dstBuffer, NULL);
        VkDeviceSize rest = record && args->dstOffset < record->bytes ? record->bytes - args->dstOffset : 0;
        status = note_fill(r, c, address_of(dev, args->dstBuffer) + args->dstOffset,
                           args->size > rest ? rest : args->size, args->data);
#ifdef VK_KHR_device_address_commands
    } else if (command == GEN_vkCmdCopyMemoryKHR) {
        const VkCopyDeviceMemoryInfoKHR *info = ((const struct gen_args_vkCmdCopyMemoryKHR *)data)->pCopyMemoryInfo;
        for (uint32_t i = 0; info && i < info->regionCount && status == LAP_OK; i++)
            status = note_copy(r, c, info->pRegions[i].srcRange.address, info->pRegions[i].dstRange.address,
                               info->pRegions[i].srcRange.size);
    } else if (command == GEN_vkCmdUpdateMemoryKHR) {
        const struct gen_args_vkCmdUpdateMemoryKHR *args = data;
        status = note_data(r, c, args->pDstRange->address, args->pData, args->dataSize);
    } else if (command == GEN_vkCmdFillMemoryKHR) {
        const struct gen_args_vkCmdFillMemoryKHR *args = data;
        status = note_fill(r, c, args->pDstRange->address, args->pDstRange->size, args->data);
#endif
    }
    return status;
}

enum lap_status replay_heaps_note(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                  uint32_t command, const void *args)
{
    if (c->heap_count && replay_is_work(command)) {
        for (size_t i = 0; i < c->heap_count; i++)
            c->heaps[i].worked |= c->heaps[i].bound;
        return LAP_OK;
    }
    return note_write(r, dev, c, command, args);
}

enum lap_status replay_heaps_note_executed(struct replay *r, struct replay_descriptor_commands *c,
                                           const struct replay_descriptor_commands *secondary)
{
    size_t data = c->data_bytes - secondary->data_bytes; /* the caller has appended it */
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < secondary->heap_copy_count && status == LAP_OK; i++) {
        struct replay_descriptor_copy copy = secondary->heap_copies[i];
        if (copy.from < secondary->data_bytes)
            copy.from += data;
        status = add_copy(r, c, &copy);
    }
    for (size_t i = 0; i < secondary->heap_count && status == LAP_OK; i++)
        status = add_use(r, c, secondary->heaps[i].shadow, false, secondary->heaps[i].worked);
    for (size_t i = 0; i < c->heap_count && secondary->heap_count; i++)
        c->heaps[i].worked |= c->heaps[i].bound;
    return status;
}

/* ---- jobs ---- */

/* The job of a copy into a bound heap. job->words 0: it does not reach it. */
static enum lap_status copy_job(struct replay *r, const struct replay_heap_room *room,
                                const struct replay_descriptor_commands *c, const struct replay_shadow *shadow,
                                size_t number, struct replay_heap_job *job)
{
    const struct replay_descriptor_copy *copy = &c->heap_copies[number];
    VkDeviceAddress begin = copy->to > shadow->from ? copy->to : shadow->from, end = shadow->from + shadow->bytes, from;

    end = copy->end < end ? copy->end : end;
    if (begin < end)
        begin = shadow->from + align_up(begin - shadow->from, room->place);
    if (begin >= end || end - begin < 4)
        return LAP_OK;
    from = copy->from + (begin - copy->to);
    if (copy->pattern || from % 4)
        return replay_refuse(r, "a command buffer writes something else than descriptors into a heap that it binds");
    for (size_t i = 0; i < number; i++)
        if (from < c->heap_copies[i].end && from + (end - begin) > c->heap_copies[i].to)
            return replay_refuse(r, "descriptors that a command buffer wrote are copied on by the same one");
    job->from = from;
    job->to = shadow->to + (begin - shadow->from) * room->scale;
    job->seen = 0;
    job->words = (uint32_t)((end - begin) / 4);
    return LAP_OK;
}

enum lap_status replay_heaps_make_jobs(struct replay *r, const struct replay_device *dev,
                                       const struct replay_descriptor_commands *c, struct replay_heap_job **out,
                                       size_t *out_count)
{
    struct replay_heap_job *jobs =
        replay_scratch(r, (uint64_t)c->heap_count * (c->heap_copy_count + 1) + 1, sizeof *jobs);
    enum lap_status status = LAP_OK;

    *out = jobs;
    *out_count = 0;
    if (!jobs)
        return replay_no_scratch(r);
    for (size_t i = 0; i < c->heap_count; i++) {
        const struct replay_shadow *shadow = c->heaps[i].shadow;
        const struct replay_heap_room *room = &dev->descriptors.buffers->heaps->room[shadow->kind];
        struct replay_heap_job job = {.from = shadow->from,
                                      .to = shadow->to,
                                      .seen = shadow->seen.address,
                                      .words = (uint32_t)(shadow->bytes / 4),
                                      .place_words = room->place / 4,
                                      .scale = room->scale,
                                      .classes = room->classes};
        jobs[(*out_count)++] = job;
        for (size_t j = 0; j < c->heap_copy_count && status == LAP_OK; j++) {
            job.words = 0;
            status = copy_job(r, room, c, shadow, j, &job);
            if (status == LAP_OK && job.words)
                jobs[(*out_count)++] = job;
        }
        if (status != LAP_OK)
            return status;
    }
    return LAP_OK;
}

#else

enum lap_status replay_descriptor_buffers_inherit(struct replay *r, struct replay_device *dev,
                                                  const VkCommandBufferInheritanceInfo *info)
{
    (void)r;
    (void)dev;
    (void)info;
    return LAP_OK;
}

enum lap_status replay_heaps_note(struct replay *r, struct replay_device *dev, struct replay_descriptor_commands *c,
                                  uint32_t command, const void *args)
{
    (void)r;
    (void)dev;
    (void)c;
    (void)command;
    (void)args;
    return LAP_OK;
}

enum lap_status replay_heaps_note_executed(struct replay *r, struct replay_descriptor_commands *c,
                                           const struct replay_descriptor_commands *secondary)
{
    (void)r;
    (void)c;
    (void)secondary;
    return LAP_OK;
}

enum lap_status replay_heaps_make_jobs(struct replay *r, const struct replay_device *dev,
                                       const struct replay_descriptor_commands *c, struct replay_heap_job **out,
                                       size_t *out_count)
{
    (void)r;
    (void)dev;
    (void)c;
    *out = NULL;
    *out_count = 0;
    return LAP_OK;
}

#endif
