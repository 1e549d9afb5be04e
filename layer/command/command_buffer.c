/* SPDX-License-Identifier: MIT */
/*
 * command buffers: commands between vkBeginCommandBuffer and vkEndCommandBuffer are encoded into the command buffer's
 * own encoder, with no lock, and enter the trace as one block at vkEndCommandBuffer. A block does not name its command
 * buffer, so that equal blocks are stored once (docs/format.md, "Blocks").
 */
#include <stdlib.h>
#include <string.h>

#include "gen_encode_block.h"
#include "gen_layer.h"
#include "layer/command/touched.h"
#include "layer/core/keeper.h"
#include "layer/core/records.h"
#include "vulkan/conditions.h"

/* Back to the initial state; keeps memory. */
static void reset(struct layer_cmdbuf *cb)
{
    if (cb->state == LAYER_CMDBUF_EXECUTABLE && layer.options.parts.on)
        layer_keeper_block_reset(cb->object.index);
    layer_notes_end(&cb->note);
    lap_enc_reset(&cb->enc);
    cb->command_count = 0;
    cb->state = LAYER_CMDBUF_INITIAL;
    layer_touch_reset(cb);
}

static void unlink_from_pool(struct layer_cmdbuf *cb)
{
    if (cb->previous_in_pool) {
        *cb->previous_in_pool = cb->next_in_pool;
        if (cb->next_in_pool)
            cb->next_in_pool->previous_in_pool = cb->previous_in_pool;
    }
    cb->previous_in_pool = NULL;
    cb->next_in_pool = NULL;
}

void layer_cmdbuf_finish(struct lap_object *object)
{
    struct layer_cmdbuf *cb = (struct layer_cmdbuf *)object;
    unlink_from_pool(cb);
    layer_notes_end(&cb->note);
    lap_enc_finish(&cb->enc);
    layer_touch_finish(cb);
}

static void init(struct layer_cmdbuf *cb, struct layer_device *dev, const VkCommandBufferAllocateInfo *info,
                 VkCommandBuffer handle)
{
    struct layer_command_pool *pool = LAYER_GET(dev, VkCommandPool, info->commandPool);

    cb->handle = handle;
    cb->device = dev;
    cb->secondary = info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    lap_enc_init(&cb->enc, &dev->tables);
    layer_touched_init(&cb->touched);
    if (!pool)
        return;
    cb->pool = pool;
    cb->next_in_pool = pool->buffers;
    cb->previous_in_pool = &pool->buffers;
    if (pool->buffers)
        pool->buffers->previous_in_pool = &cb->next_in_pool;
    pool->buffers = cb;
}

/* Commands find their device through the record, so every command buffer needs one. */
static bool add_records(struct layer_device *dev, const VkCommandBufferAllocateInfo *info,
                        const VkCommandBuffer *handles)
{
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        uint64_t handle = gen_u64_VkCommandBuffer(handles[i]);
        struct layer_cmdbuf *cb;
        if (!handle)
            continue;
        cb = (struct layer_cmdbuf *)layer_object_add(NULL, GEN_HANDLE_VkCommandBuffer, handle);
        if (!cb) {
            while (i-- > 0)
                layer_object_remove(NULL, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(handles[i]));
            return false;
        }
        init(cb, dev, info, handles[i]);
    }
    return true;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_AllocateCommandBuffers(VkDevice device,
                                                              const VkCommandBufferAllocateInfo *pAllocateInfo,
                                                              VkCommandBuffer *pCommandBuffers)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.AllocateCommandBuffers(device, pAllocateInfo, pCommandBuffers);

    if (result == VK_SUCCESS && !add_records(dev, pAllocateInfo, pCommandBuffers)) {
        dev->vk.FreeCommandBuffers(device, pAllocateInfo->commandPool, pAllocateInfo->commandBufferCount,
                                   pCommandBuffers);
        memset(pCommandBuffers, 0, pAllocateInfo->commandBufferCount * sizeof *pCommandBuffers);
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkAllocateCommandBuffers, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkAllocateCommandBuffers(enc, device, pAllocateInfo, pCommandBuffers, result);
        layer_packet_end();
    }
    return result;
}

void hook_before_FreeCommandBuffers(struct layer_device *dev, VkDevice device, VkCommandPool commandPool,
                                    uint32_t commandBufferCount, const VkCommandBuffer *pCommandBuffers)
{
    for (uint32_t i = 0; i < commandBufferCount; i++) {
        struct layer_cmdbuf *cb = pCommandBuffers[i] ? layer_cmdbuf_of(pCommandBuffers[i]) : NULL;
        if (cb)
            unlink_from_pool(cb);
    }
}

void hook_before_DestroyCommandPool(struct layer_device *dev, VkDevice device, VkCommandPool commandPool,
                                    const VkAllocationCallbacks *pAllocator)
{
    struct layer_command_pool *pool = LAYER_GET(dev, VkCommandPool, commandPool);
    while (pool && pool->buffers)
        layer_object_remove(dev, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(pool->buffers->handle));
}

void hook_before_ResetCommandPool(struct layer_device *dev, VkDevice device, VkCommandPool commandPool,
                                  VkCommandPoolResetFlags flags)
{
    struct layer_command_pool *pool = LAYER_GET(dev, VkCommandPool, commandPool);
    for (struct layer_cmdbuf *cb = pool ? pool->buffers : NULL; cb; cb = cb->next_in_pool)
        reset(cb);
}

void hook_before_ResetCommandBuffer(struct layer_device *dev, VkCommandBuffer commandBuffer,
                                    VkCommandBufferResetFlags flags)
{
    reset(layer_cmdbuf_of(commandBuffer));
}

VKAPI_ATTR VkResult VKAPI_CALL capture_BeginCommandBuffer(VkCommandBuffer commandBuffer,
                                                          const VkCommandBufferBeginInfo *pBeginInfo)
{
    struct layer_cmdbuf *cb = layer_cmdbuf_of(commandBuffer);
    VkResult result = cb->device->vk.BeginCommandBuffer(commandBuffer, pBeginInfo);

    reset(cb);
    if (result != VK_SUCCESS || !layer_is_recording())
        return result;
    cb->state = LAYER_CMDBUF_RECORDING;
    layer_notes_begin(&cb->note);
    /* Blocks that outlive a part have their bytes in place. */
    lap_enc_use_writer(&cb->enc,
                       layer.options.parts.on ? NULL : atomic_load_explicit(&layer.writer, memory_order_acquire));
    cb->enc.scratch[COND_SCRATCH_SECONDARY] = cb->secondary;
    struct lap_enc *enc = layer_block_command(cb, GEN_vkBeginCommandBuffer);
    if (enc)
        gen_encode_vkBeginCommandBuffer(enc, pBeginInfo);
    return result;
}

static void store_block(struct layer_cmdbuf *cb)
{
    const size_t bytes = (size_t)(cb->enc.p - cb->enc.base);
    struct lap_writer *writer;
    bool is_new = false;
    uint64_t block;

    if (cb->enc.failed) {
        layer_stop("out of memory");
        return;
    }
    if (layer.options.parts.on)
        layer_keeper_block(cb->object.index, cb->enc.base, bytes, cb->command_count);
    if (!layer_is_writing())
        return;
    writer = atomic_load_explicit(&layer.writer, memory_order_acquire);
    block = lap_writer_blob(writer, LAP_BLOB_BLOCK, cb->enc.base, bytes, &is_new);
    if (!block)
        return;
    lap_writer_count(writer, LAP_COUNTER_COMMANDS, cb->command_count);
    lap_writer_count(writer, LAP_COUNTER_BLOCKS_RECORDED, 1);
    lap_writer_count(writer, LAP_COUNTER_BLOCKS_STORED, is_new);
    lap_writer_count(writer, LAP_COUNTER_UNKNOWN_STRUCTS, cb->enc.unknown_structs);
    struct lap_enc *enc = layer_packet_begin(&cb->device->tables, GEN_lapilliBlock, 0);
    if (enc) {
        gen_encode_lapilliBlock(enc, cb->handle, block, (uint32_t)cb->command_count);
        layer_packet_end();
    }
}

VKAPI_ATTR VkResult VKAPI_CALL capture_EndCommandBuffer(VkCommandBuffer commandBuffer)
{
    struct layer_cmdbuf *cb = layer_cmdbuf_of(commandBuffer);
    struct lap_enc *enc = layer_block_command(cb, GEN_vkEndCommandBuffer);
    VkResult result;

    if (enc)
        gen_encode_vkEndCommandBuffer(enc);
    result = cb->device->vk.EndCommandBuffer(commandBuffer);
    if (cb->state == LAYER_CMDBUF_RECORDING) {
        layer_notes_end(&cb->note);
        layer_touched_seal(&cb->touched); /* once, and not with each submit */
        if (result == VK_SUCCESS) {
            layer_parts_enter();
            store_block(cb);
            layer_parts_leave();
        }
        cb->state = result == VK_SUCCESS ? LAYER_CMDBUF_EXECUTABLE : LAYER_CMDBUF_INITIAL;
    }
    return result;
}
