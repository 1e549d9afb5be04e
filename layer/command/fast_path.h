/* SPDX-License-Identifier: MIT */
/*
 * fast_path: inline code that records an ordinary command without a function call. Programs record thousands of
 * commands a frame. Nearly all of them use handles that are found at the first lookup and memory that was touched
 * before, and fit the reserved space. Then the entry point is a lookup, a few stores and a jump to the driver's
 * function. All other cases, and all that may fail, are on the slow path of the same entry point (gen_layer.c), which
 * repeats the work: a function here that returns false has written only caches that the slow path accepts.
 *
 * The cache holds indices, not records: a program that goes on recording after it destroyed a recorded object gets a
 * useless trace, but no crash. Threads: as the command buffer, one at a time.
 */
#ifndef LAP_LAYER_FAST_PATH_H
#define LAP_LAYER_FAST_PATH_H

#include "layer/command/touched.h"

#define LAYER_FAST_ITEMS 8u
#define LAYER_FAST_BYTES 256u

/* NULL: it needs a full search. */
static inline __attribute__((always_inline)) struct layer_cmdbuf *layer_fast_cmdbuf(VkCommandBuffer handle)
{
    return lap_map_glance(&layer.maps[GEN_HANDLE_VkCommandBuffer], gen_u64_VkCommandBuffer(handle));
}

/* The place for the next command; NULL when nothing is recorded or there is less room. */
static inline __attribute__((always_inline)) uint8_t *layer_fast_begin(struct layer_cmdbuf *cb, size_t most)
{
    const struct lap_enc *enc = &cb->enc;
    return cb->state == LAYER_CMDBUF_RECORDING && !enc->failed && (size_t)(enc->end - enc->p) >= most ? enc->p : NULL;
}

static inline __attribute__((always_inline)) void layer_fast_end(struct layer_cmdbuf *cb, uint8_t *p)
{
    cb->last_command_at = (size_t)(cb->enc.p - cb->enc.base);
    cb->enc.p = p;
    cb->command_count++;
}

/* The trace index of a handle. False: it is no known handle, or needs a full search. */
static inline __attribute__((always_inline)) bool layer_fast_index(struct layer_cmdbuf *cb, enum gen_memo which,
                                                                   enum gen_handle_type type, uint64_t handle,
                                                                   uint64_t *out_index)
{
    struct layer_memo *memo = &cb->memo[which];
    if (__builtin_expect(memo->handle != handle || !handle, 0)) {
        const struct lap_object *object = lap_map_glance(cb->device->maps[type], handle);
        if (!object)
            return false;
        memo->handle = handle;
        memo->index = object->index;
    }
    *out_index = memo->index;
    return true;
}

/* Writes the same as lap_enc_bytes; at most LAYER_FAST_BYTES, a multiple of 4. */
static inline __attribute__((always_inline)) uint8_t *layer_fast_bytes(uint8_t *p, const void *data, size_t bytes)
{
    const uint8_t *from = data;
    p = lap_at_u64(p, (uint64_t)bytes << 1);
    for (; bytes >= 16; bytes -= 16, from += 16, p += 16)
        memcpy(p, from, 16);
    for (; bytes; bytes -= 4, from += 4, p += 4)
        memcpy(p, from, 4);
    return p;
}

/* ---- in place of hooks: true when hook_after_X has nothing left to do ---- */

static inline __attribute__((always_inline)) bool quick_work(const struct layer_cmdbuf *cb, uint32_t bind_point)
{
    return !cb->bound[bind_point].stale;
}
#define quick_CmdDraw(cb, ...)        quick_work(cb, LAYER_BIND_GRAPHICS)
#define quick_CmdDrawIndexed(cb, ...) quick_work(cb, LAYER_BIND_GRAPHICS)
#define quick_CmdDispatch(cb, ...)    quick_work(cb, LAYER_BIND_COMPUTE)

static inline __attribute__((always_inline)) bool quick_CmdBindIndexBuffer(const struct layer_cmdbuf *cb,
                                                                           VkCommandBuffer commandBuffer,
                                                                           VkBuffer buffer, VkDeviceSize offset,
                                                                           VkIndexType indexType)
{
    return layer_touch_has_read(cb, buffer, offset);
}

static inline __attribute__((always_inline)) bool
quick_CmdBindVertexBuffers(const struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t firstBinding,
                           uint32_t bindingCount, const VkBuffer *pBuffers, const VkDeviceSize *pOffsets)
{
    if (bindingCount > LAYER_FAST_ITEMS || !pBuffers || !pOffsets)
        return false;
    for (uint32_t i = 0; i < bindingCount; i++)
        if (!layer_touch_has_read(cb, pBuffers[i], pOffsets[i]))
            return false;
    return true;
}

static inline __attribute__((always_inline)) bool quick_CmdBindPipeline(const struct layer_cmdbuf *cb,
                                                                        VkCommandBuffer commandBuffer,
                                                                        VkPipelineBindPoint pipelineBindPoint,
                                                                        VkPipeline pipeline)
{
    return (uint32_t)pipelineBindPoint < LAYER_BIND_QUICK &&
           !atomic_load_explicit(&cb->device->code.accesses, memory_order_relaxed);
}

/* Sets with more than one dynamic offset take the slow path, and so does a newly bound set when there is no room to
 * note it. */
static inline __attribute__((always_inline)) bool quick_set(struct layer_cmdbuf *cb, struct layer_bound *bound,
                                                            uint32_t number, VkDescriptorSet set, uint32_t offset_count,
                                                            const uint32_t *offsets, uint32_t *used)
{
    struct layer_set_memo *memo = &cb->set_memo[number % LAYER_SET_MEMOS];
    uint64_t handle = gen_u64_VkDescriptorSet(set);
    if (__builtin_expect(memo->handle != handle || !handle, 0)) {
        const struct layer_descriptor_set *record =
            lap_map_glance(cb->device->maps[GEN_HANDLE_VkDescriptorSet], handle);
        if (!record || !record->layout)
            return false;
        *memo = (struct layer_set_memo){handle, record->object.index, record->layout->dynamic_count};
        cb->memo[GEN_MEMO_VkDescriptorSet] = (struct layer_memo){handle, memo->index};
    }
    uint32_t dynamic = memo->dynamic, place;
    if (dynamic > 1 || dynamic > offset_count - *used)
        return false;
    place = layer_touch_find_set(cb, memo->index, dynamic, dynamic ? offsets[*used] : 0);
    if (place == UINT32_MAX) {
        if (cb->sets_count == cb->sets_capacity || cb->state != LAYER_CMDBUF_RECORDING)
            return false;
        place = layer_touch_append_set(cb, handle, memo->index, dynamic, dynamic ? offsets[*used] : 0);
    }
    bound->sets[number] = place + 1;
    if (__builtin_expect(bound->access != NULL, 0))
        bound->stale |= bound->access->stores[number] != 0;
    *used += dynamic;
    return true;
}

static inline __attribute__((always_inline)) bool
quick_CmdBindDescriptorSets(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                            VkPipelineBindPoint pipelineBindPoint, VkPipelineLayout layout, uint32_t firstSet,
                            uint32_t descriptorSetCount, const VkDescriptorSet *pDescriptorSets,
                            uint32_t dynamicOffsetCount, const uint32_t *pDynamicOffsets)
{
    struct layer_bound *bound = &cb->bound[(uint32_t)pipelineBindPoint % LAYER_BIND_QUICK];
    uint32_t used = 0;
    if ((uint32_t)pipelineBindPoint >= LAYER_BIND_QUICK || firstSet >= LAP_SPIRV_SETS ||
        descriptorSetCount > LAP_SPIRV_SETS - firstSet)
        return false;
    if (__builtin_expect(descriptorSetCount == 1, 1)) /* without a loop */
        return quick_set(cb, bound, firstSet, pDescriptorSets[0], dynamicOffsetCount, pDynamicOffsets, &used);
    for (uint32_t i = 0; i < descriptorSetCount; i++)
        if (!quick_set(cb, bound, firstSet + i, pDescriptorSets[i], dynamicOffsetCount, pDynamicOffsets, &used))
            return false;
    return true;
}

#endif
