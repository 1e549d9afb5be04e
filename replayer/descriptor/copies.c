/* SPDX-License-Identifier: MIT */
/* copies: writes of command buffers into buffers of descriptors (commands.h). */
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/descriptor/commands.h"
#include "replayer/descriptor/descriptor_buffers.h"
#include "replayer/descriptor/heaps.h"
#include "replayer/memory/resource.h"

/* All buffers of such a device have one: replayer/resource/buffer.c. */
static VkDeviceAddress address_of(const struct replay_device *dev, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
    return dev->vk.GetBufferDeviceAddress(dev->live, &info);
}

static bool holds_descriptors(struct replay *r, VkBuffer buffer)
{
    const struct replay_buffer *record = replay_buffer_of(r, buffer, NULL);
    return record && record->holds_descriptors;
}

static enum lap_status add_copy(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                struct replay_descriptor_commands *c, const struct replay_descriptor_copy *copy)
{
    bool froze = false;

    if (copy->to == copy->end)
        return LAP_OK;
    for (size_t i = 0; i < c->region_count; i++) {
        struct replay_region *region = &c->regions[i];
        if (region->frozen || region->work == c->work || copy->end <= region->from || copy->to >= region->end)
            continue;
        region->frozen = froze = true;
        region->copies = (uint32_t)c->copy_count;
    }
    if (!lap_array_grow(&c->copies, sizeof *c->copies, &c->copy_capacity, c->copy_count + 1))
        return replay_descriptors_no_memory(r);
    c->copies[c->copy_count++] = *copy;
    return froze ? replay_regions_thaw(r, dev, commands, c) : LAP_OK;
}

/* The command buffer writes into a buffer without descriptors. */
static enum lap_status note_written(struct replay *r, struct replay_descriptor_commands *c, VkDeviceAddress begin,
                                    VkDeviceSize bytes)
{
    if (!lap_array_grow(&c->written, sizeof *c->written, &c->written_capacity, c->written_count + 1))
        return replay_descriptors_no_memory(r);
    c->written[c->written_count++] = (struct replay_written){begin, begin + bytes};
    return LAP_OK;
}

static enum lap_status note_copy(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 struct replay_descriptor_commands *c, VkDeviceAddress from, VkDeviceAddress to,
                                 VkDeviceSize bytes)
{
    const struct replay_descriptor_copy copy = {.to = to, .end = to + bytes, .from = from};
    bool again = false;

    for (size_t i = 0; i < c->copy_count; i++)
        again |= from < c->copies[i].end && from + bytes > c->copies[i].to;
    for (size_t i = 0; i < c->written_count; i++)
        again |= from < c->written[i].end && from + bytes > c->written[i].begin;
    return again ? replay_refuse(r, "descriptors that a command buffer wrote are copied on by the same one")
                 : add_copy(r, dev, commands, c, &copy);
}

static enum lap_status note_buffer_copy(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                        struct replay_descriptor_commands *c, VkBuffer from, VkBuffer to,
                                        const VkBufferCopy *range)
{
    VkDeviceAddress target = address_of(dev, to) + range->dstOffset;

    return holds_descriptors(r, to)
               ? note_copy(r, dev, commands, c, address_of(dev, from) + range->srcOffset, target, range->size)
               : note_written(r, c, target, range->size);
}

static enum lap_status note_data(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 struct replay_descriptor_commands *c, VkDeviceAddress to, VkDeviceSize bytes,
                                 const void *data, size_t data_bytes)
{
    struct replay_descriptor_copy copy = {
        .to = to, .end = to + bytes, .from = c->data_bytes, .pattern = data_bytes < bytes};

    if (!lap_array_grow(&c->data, 1, &c->data_capacity, c->data_bytes + data_bytes + 8))
        return replay_descriptors_no_memory(r);
    memcpy(c->data + c->data_bytes, data, data_bytes);
    c->data_bytes += (data_bytes + 7) / 8 * 8;
    return add_copy(r, dev, commands, c, &copy);
}

static enum lap_status note_pattern(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                    struct replay_descriptor_commands *c, VkDeviceAddress to, VkDeviceSize bytes,
                                    uint32_t word)
{
    uint32_t pattern[REPLAY_PATTERN_BYTES / 4];
    size_t size = bytes < sizeof pattern ? bytes : sizeof pattern;

    for (size_t i = 0; i < sizeof pattern / sizeof *pattern; i++)
        pattern[i] = word;
    return note_data(r, dev, commands, c, to, bytes, pattern, size);
}

static enum lap_status note_fill(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 struct replay_descriptor_commands *c, const struct gen_args_vkCmdFillBuffer *args)
{
    const struct replay_buffer *record = replay_buffer_of(r, args->dstBuffer, NULL);
    VkDeviceSize rest = args->dstOffset < record->bytes ? record->bytes - args->dstOffset : 0;

    return note_pattern(r, dev, commands, c, address_of(dev, args->dstBuffer) + args->dstOffset,
                        args->size > rest ? rest / 4 * 4 : args->size, args->data);
}

/* The sets of a secondary command buffer, as if they had been bound here. */
static enum lap_status note_executed(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                     struct replay_descriptor_commands *c, VkCommandBuffer secondary)
{
    const struct replay_descriptor_commands *s = replay_descriptor_commands_of(dev, secondary);
    size_t copies = c->copy_count, data = c->data_bytes;
    enum lap_status status = LAP_OK;

    if (!s || s == c)
        return LAP_OK;
    if (s->data_bytes) {
        if (!lap_array_grow(&c->data, 1, &c->data_capacity, data + s->data_bytes))
            return replay_descriptors_no_memory(r);
        memcpy(c->data + data, s->data, s->data_bytes);
        c->data_bytes += s->data_bytes;
    }
    status = replay_heaps_note_executed(r, c, s);
    for (size_t i = 0; i < s->copy_count && status == LAP_OK; i++) {
        struct replay_descriptor_copy copy = s->copies[i];
        if (copy.from < s->data_bytes)
            copy.from += data;
        status = add_copy(r, dev, commands, c, &copy);
    }
    for (size_t i = 0; i < s->region_count && status == LAP_OK; i++) {
        struct replay_region region = s->regions[i];
        region.copies = (uint32_t)(copies + (region.frozen ? region.copies : s->copy_count));
        region.frozen = true;
        region.chunk = UINT32_MAX;
        if (!lap_array_grow(&c->regions, sizeof *c->regions, &c->region_capacity, c->region_count + 1))
            return replay_descriptors_no_memory(r);
        (void)replay_descriptor_layout_keep(region.layout);
        c->regions[c->region_count++] = region;
    }
    return status;
}

/* *out_found: the command writes into buffers, and nothing else. */
static enum lap_status note_write(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                  struct replay_descriptor_commands *c, uint32_t command, const void *data,
                                  bool *out_found)
{
    enum lap_status status = LAP_OK;

    *out_found = true;
    if (command == GEN_vkCmdCopyBuffer) {
        const struct gen_args_vkCmdCopyBuffer *args = data;
        for (uint32_t i = 0; i < args->regionCount && status == LAP_OK; i++)
            status = note_buffer_copy(r, dev, commands, c, args->srcBuffer, args->dstBuffer, &args->pRegions[i]);
    } else if (command == GEN_vkCmdCopyBuffer2) {
        const VkCopyBufferInfo2 *info = ((const struct gen_args_vkCmdCopyBuffer2 *)data)->pCopyBufferInfo;
        for (uint32_t i = 0; i < info->regionCount && status == LAP_OK; i++) {
            const VkBufferCopy range = {info->pRegions[i].srcOffset, info->pRegions[i].dstOffset,
                                        info->pRegions[i].size};
            status = note_buffer_copy(r, dev, commands, c, info->srcBuffer, info->dstBuffer, &range);
        }
    } else if (command == GEN_vkCmdUpdateBuffer) {
        const struct gen_args_vkCmdUpdateBuffer *args = data;
        VkDeviceAddress to = address_of(dev, args->dstBuffer) + args->dstOffset;
        status = holds_descriptors(r, args->dstBuffer)
                     ? note_data(r, dev, commands, c, to, args->dataSize, args->pData, args->dataSize)
                     : note_written(r, c, to, args->dataSize);
    } else if (command == GEN_vkCmdFillBuffer) {
        const struct gen_args_vkCmdFillBuffer *args = data;
        if (holds_descriptors(r, args->dstBuffer))
            status = note_fill(r, dev, commands, c, args);
#ifdef VK_KHR_device_address_commands
    } else if (command == GEN_vkCmdCopyMemoryKHR) {
        const VkCopyDeviceMemoryInfoKHR *info = ((const struct gen_args_vkCmdCopyMemoryKHR *)data)->pCopyMemoryInfo;
        for (uint32_t i = 0; info && i < info->regionCount && status == LAP_OK; i++)
            status = note_copy(r, dev, commands, c, info->pRegions[i].srcRange.address,
                               info->pRegions[i].dstRange.address, info->pRegions[i].srcRange.size);
    } else if (command == GEN_vkCmdUpdateMemoryKHR) {
        const struct gen_args_vkCmdUpdateMemoryKHR *args = data;
        status = note_data(r, dev, commands, c, args->pDstRange->address, args->dataSize, args->pData, args->dataSize);
    } else if (command == GEN_vkCmdFillMemoryKHR) {
        const struct gen_args_vkCmdFillMemoryKHR *args = data;
        status = note_pattern(r, dev, commands, c, args->pDstRange->address, args->pDstRange->size, args->data);
#endif
    } else {
        *out_found = false;
    }
    return status;
}

static bool dispatches(uint32_t command)
{
    return command == GEN_vkCmdDispatch || command == GEN_vkCmdDispatchIndirect || command == GEN_vkCmdDispatchBase;
}

enum lap_status replay_descriptor_buffers_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                               uint32_t command, const void *data)
{
    struct replay_descriptor_commands *c = dev->descriptors.buffers ? dev->descriptors.buffers->playing : NULL;
    enum lap_status status = LAP_OK;
    bool writes;

    if (!c)
        return LAP_OK;
    if (dev->descriptors.buffers->heaps)
        status = replay_heaps_note(r, dev, c, command, data);
    if (status != LAP_OK)
        return status;
    if (dev->descriptors.buffers->has_buffers) {
        status = note_write(r, dev, commands, c, command, data, &writes);
        if (writes)
            return status;
    }
    c->dispatched |= dispatches(command);
    if (command == GEN_vkCmdExecuteCommands) {
        const struct gen_args_vkCmdExecuteCommands *args = data;
        for (uint32_t i = 0; i < args->commandBufferCount && status == LAP_OK; i++)
            status = note_executed(r, dev, commands, c, args->pCommandBuffers[i]);
        memset(c->sets, 0, sizeof c->sets);
        c->chunk_bound = false;
    }
    if (command != GEN_vkCmdBindDescriptorBuffersEXT && command != GEN_vkCmdSetDescriptorBufferOffsetsEXT)
        c->work++;
    return status;
}
