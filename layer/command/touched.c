/* SPDX-License-Identifier: MIT */
#include "layer/command/touched.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_layer.h"
#include "layer/command/build_inputs.h"
#include "layer/command/cmdbuf_parts.h"
#include "layer/command/image_region.h"
#include "layer/command/image_state.h"
#include "layer/command/overwritten.h"
#include "layer/command/progress_query.h"
#include "layer/command/shader_access.h"
#include "vulkan/conditions.h"

/* ---- resources ---- */

bool layer_resource_add(struct layer_device *dev, layer_resource resource, struct lap_memobj *object)
{
    return lap_map_put(&dev->submit.resources, resource, object, NULL) == LAP_OK;
}

void layer_resource_remove(struct layer_device *dev, layer_resource resource)
{
    pthread_mutex_lock(&dev->submit.mutex);
    lap_map_remove(&dev->submit.resources, resource);
    pthread_mutex_unlock(&dev->submit.mutex);
}

struct lap_memobj *layer_resource_get(struct layer_device *dev, layer_resource resource)
{
    return resource ? lap_map_get(&dev->submit.resources, resource) : NULL;
}

/* ---- descriptors ---- */

static bool is_written(VkDescriptorType type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return true;
    default:
        return false;
    }
}

bool layer_slot_of_image(struct layer_device *dev, VkDescriptorType type, VkImageView view,
                         struct layer_descriptor_slot *out)
{
    const struct layer_image_view *record =
        type == VK_DESCRIPTOR_TYPE_SAMPLER ? NULL : LAYER_GET(dev, VkImageView, view);
    if (!record || !layer_image_matters(record->image, is_written(type)))
        return false;
    *out = (struct layer_descriptor_slot){
        .resource = layer_resource_of_image(record->image), .view = record->range, .written = is_written(type)};
    return true;
}

static bool slot_of_buffer(struct layer_device *dev, VkDescriptorType type, const VkDescriptorBufferInfo *info,
                           struct layer_descriptor_slot *out)
{
    const struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, info->buffer);
    if (!buffer || !buffer->memobj || buffer->device_only)
        return false;
    *out = (struct layer_descriptor_slot){.resource = layer_resource_of_buffer(buffer),
                                          .offset = info->offset,
                                          .bytes = info->range,
                                          .written = is_written(type)};
    return true;
}

static bool slot_of_view(struct layer_device *dev, VkDescriptorType type, VkBufferView view,
                         struct layer_descriptor_slot *out)
{
    const struct layer_buffer_view *record = LAYER_GET(dev, VkBufferView, view);
    if (!record || !record->buffer || !record->buffer->memobj || record->buffer->device_only)
        return false;
    *out = (struct layer_descriptor_slot){.resource = layer_resource_of_buffer(record->buffer),
                                          .offset = record->offset,
                                          .bytes = record->bytes,
                                          .written = is_written(type)};
    return true;
}

bool layer_slot_of_write(struct layer_device *dev, const VkWriteDescriptorSet *write, uint32_t element,
                         struct layer_descriptor_slot *out)
{
    VkDescriptorType type = write->descriptorType;
    if (cond_descriptor_is_image(type))
        return layer_slot_of_image(dev, type, write->pImageInfo[element].imageView, out);
    if (cond_descriptor_is_buffer(type))
        return slot_of_buffer(dev, type, &write->pBufferInfo[element], out);
    if (cond_descriptor_is_texel_buffer(type))
        return slot_of_view(dev, type, write->pTexelBufferView[element], out);
    if (type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
        return false;
    *out = (struct layer_descriptor_slot){.resource = LAYER_RESOURCE_UNKNOWN};
    return true;
}

/* ---- lists ---- */

void layer_touched_init(struct layer_touched *touched)
{
    lap_touched_init(&touched->ranges);
    lap_touched_init(&touched->unchecked);
    lap_touched_init(&touched->partly);
}

void layer_touched_finish(struct layer_touched *touched)
{
    lap_touched_finish(&touched->ranges);
    lap_touched_finish(&touched->unchecked);
    lap_touched_finish(&touched->partly);
}

void layer_touched_seal(struct layer_touched *touched)
{
    lap_touched_seal(&touched->ranges);
    lap_touched_seal(&touched->unchecked);
    lap_touched_seal(&touched->partly);
}

void layer_touched_reset(struct layer_touched *touched)
{
    lap_touched_reset(&touched->ranges);
    lap_touched_reset(&touched->unchecked);
    lap_touched_reset(&touched->partly);
}

bool layer_touched_add(struct layer_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                       enum layer_touch how)
{
    if (!lap_touched_add(&touched->ranges, object, offset, bytes, how != LAYER_READS))
        return false;
    if (how == LAYER_WRITES_VARYING)
        return lap_touched_add(&touched->unchecked, object, offset, bytes, true);
    return how != LAYER_WRITES_PARTLY || lap_touched_add(&touched->partly, object, offset, bytes, true);
}

static bool append_touched(struct layer_touched *touched, const struct layer_touched *more)
{
    return lap_touched_append(&touched->ranges, &more->ranges) &&
           lap_touched_append(&touched->unchecked, &more->unchecked) &&
           lap_touched_append(&touched->partly, &more->partly);
}

/* ---- command buffers ---- */

void layer_touch_failed(struct layer_cmdbuf *cb)
{
    layer_stop("out of memory");
    cb->touched.ranges.everything = true;
}

static void remember_read(struct layer_cmdbuf *cb, uint64_t handle, VkDeviceSize from)
{
    struct layer_read *read = &cb->recent_reads[layer_recent_read(handle)];
    if (read->buffer != handle || from < read->from)
        *read = (struct layer_read){handle, from};
}

void layer_touch_buffer(struct layer_cmdbuf *cb, VkBuffer handle, VkDeviceSize offset, VkDeviceSize bytes,
                        enum layer_touch how)
{
    const struct layer_buffer *buffer = LAYER_GET(cb->device, VkBuffer, handle);
    VkDeviceSize end = bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
    if (!buffer || !buffer->memobj || cb->state != LAYER_CMDBUF_RECORDING)
        return;
    if (buffer->device_only) {
        remember_read(cb, gen_u64_VkBuffer(handle), 0);
        return;
    }
    if (how != LAYER_READS && layer.options.verify_all)
        layer_image_step_buffer(cb, buffer, offset, bytes, how == LAYER_WRITES);
    if ((how != LAYER_READS || !lap_touched_reads(&cb->touched.ranges, buffer->memobj, buffer->bytes, offset, end)) &&
        !layer_touched_add(&cb->touched, buffer->memobj, offset, bytes, how))
        layer_touch_failed(cb);
    else if (how == LAYER_READS && end == UINT64_MAX)
        remember_read(cb, gen_u64_VkBuffer(handle), offset);
}

void layer_touch_image(struct layer_cmdbuf *cb, VkImage handle, enum layer_touch how)
{
    const struct layer_image *image = LAYER_GET(cb->device, VkImage, handle);
    if (cb->state != LAYER_CMDBUF_RECORDING || !layer_image_matters(image, how != LAYER_READS))
        return;
    /* The written texels of a linear image are not known here. */
    if (how != LAYER_READS && image->info.tiling == VK_IMAGE_TILING_LINEAR)
        how = LAYER_WRITES_VARYING;
    if (!layer_touched_add(&cb->touched, image->memobj, 0, UINT64_MAX, how))
        layer_touch_failed(cb);
}

void layer_touch_unknown(struct layer_cmdbuf *cb)
{
    if (cb->state == LAYER_CMDBUF_RECORDING)
        cb->touched.ranges.everything = true;
}

struct layer_bound *layer_bound_at(struct layer_cmdbuf *cb, VkPipelineBindPoint point)
{
    return point == VK_PIPELINE_BIND_POINT_GRAPHICS          ? &cb->bound[LAYER_BIND_GRAPHICS]
           : point == VK_PIPELINE_BIND_POINT_COMPUTE         ? &cb->bound[LAYER_BIND_COMPUTE]
           : point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR ? &cb->bound[LAYER_BIND_RAYS]
                                                             : NULL;
}

/* ---- descriptor sets of command buffers ---- */

static inline uint32_t entries_for(uint32_t offset_count)
{
    return offset_count <= LAYER_ENTRY_OFFSETS ? 1 : (offset_count + LAYER_ENTRY_OFFSETS - 1) / LAYER_ENTRY_OFFSETS;
}

/* Two places for each entry that there is room for. When out of memory, bound sets are found less often. */
static void grow_recent(struct layer_cmdbuf *cb)
{
    uint32_t places = cb->sets_capacity * 2, entries;
    uint32_t *many = places > LAYER_RECENT_SETS ? calloc(places, sizeof *many) : NULL;
    if (!many)
        return;
    free(cb->many_sets);
    cb->many_sets = many;
    cb->many_sets_mask = places - 2;
    for (uint32_t i = 0; i < cb->sets_count; i += entries) {
        const struct layer_cmdbuf_sets *entry = &cb->sets[i];
        uint64_t hash = layer_hash_set(0, entry->index);
        entries = entries_for(entry->offset_count);
        for (uint32_t j = 0; j < entry->offset_count; j++)
            hash = layer_hash_set(hash, entry[j / LAYER_ENTRY_OFFSETS].offsets[j % LAYER_ENTRY_OFFSETS]);
        uint32_t *recent = layer_recent_sets(cb, hash);
        recent[1] = recent[0];
        recent[0] = i;
    }
}

static __attribute__((noinline)) bool grow_entries(struct layer_cmdbuf *cb, uint32_t count)
{
    if (count > UINT32_MAX / 4 - cb->sets_count ||
        !lap_array_grow_u32(&cb->sets, sizeof *cb->sets, &cb->sets_capacity, (size_t)cb->sets_count + count))
        return false;
    grow_recent(cb);
    return true;
}

static inline bool reserve_entries(struct layer_cmdbuf *cb, uint32_t count)
{
    return count <= cb->sets_capacity - cb->sets_count || grow_entries(cb, count);
}

static inline bool same_entry(const struct layer_cmdbuf *cb, uint32_t place, const struct layer_descriptor_set *set,
                              uint32_t offset_count, const uint32_t *offsets)
{
    const struct layer_cmdbuf_sets *entry = &cb->sets[place];
    if (place >= cb->sets_count || entry->index != set->object.index || entry->offset_count != offset_count ||
        entries_for(offset_count) > cb->sets_count - place)
        return false;
    for (uint32_t i = 0; i < offset_count; i++)
        if (entry[i / LAYER_ENTRY_OFFSETS].offsets[i % LAYER_ENTRY_OFFSETS] != offsets[i])
            return false;
    return true;
}

/* The place of the set's entry + 1; 0 when out of memory. Inline, so that the usual case (one dynamic offset, or none)
 * is specialised. */
static inline __attribute__((always_inline)) uint32_t remember_set(struct layer_cmdbuf *cb,
                                                                   const struct layer_descriptor_set *set,
                                                                   uint32_t offset_count, const uint32_t *offsets)
{
    uint64_t hash = layer_hash_set(0, set->object.index);
    uint32_t *recent, entries = entries_for(offset_count);
    struct layer_cmdbuf_sets *entry;

    for (uint32_t i = 0; i < offset_count; i++)
        hash = layer_hash_set(hash, offsets[i]);
    recent = layer_recent_sets(cb, hash);
    if (same_entry(cb, recent[0], set, offset_count, offsets))
        return recent[0] + 1;
    if (same_entry(cb, recent[1], set, offset_count, offsets))
        return recent[1] + 1;
    if (!reserve_entries(cb, entries)) {
        layer_touch_failed(cb);
        return 0;
    }
    recent = layer_recent_sets(cb, hash); /* there may be more of them now */
    recent[1] = recent[0];
    recent[0] = cb->sets_count;
    entry = &cb->sets[cb->sets_count];
    for (uint32_t i = 0; i < entries; i++)
        entry[i] = (struct layer_cmdbuf_sets){0};
    entry->set = set->object.handle;
    entry->index = set->object.index;
    entry->offset_count = offset_count;
    for (uint32_t i = 0; i < offset_count; i++)
        entry[i / LAYER_ENTRY_OFFSETS].offsets[i % LAYER_ENTRY_OFFSETS] = offsets[i];
    cb->sets_count += entries;
    return recent[0] + 1;
}

static __attribute__((noinline)) uint32_t remember_many(struct layer_cmdbuf *cb, const struct layer_descriptor_set *set,
                                                        uint32_t offset_count, const uint32_t *offsets)
{
    return remember_set(cb, set, offset_count, offsets);
}

static inline __attribute__((always_inline)) void touch_sets(struct layer_cmdbuf *cb, VkPipelineBindPoint point,
                                                             uint32_t first_set, uint32_t set_count,
                                                             const VkDescriptorSet *sets, uint32_t offset_count,
                                                             const uint32_t *offsets)
{
    struct layer_bound *bound = layer_bound_at(cb, point);
    if (cb->state != LAYER_CMDBUF_RECORDING)
        return;
    for (uint32_t i = 0; i < set_count; i++) {
        const struct layer_descriptor_set *set = LAYER_GET(cb->device, VkDescriptorSet, sets[i]);
        if (!sets[i]) /* left out, with VK_EXT_graphics_pipeline_library */
            continue;
        uint32_t dynamic = set && set->layout ? set->layout->dynamic_count : UINT32_MAX, number = first_set + i, place;
        if (dynamic > offset_count) {
            layer_touch_unknown(cb);
            return;
        }
        if (dynamic == 0)
            place = remember_set(cb, set, 0, NULL);
        else if (dynamic == 1)
            place = remember_set(cb, set, 1, offsets);
        else
            place = remember_many(cb, set, dynamic, offsets);
        if (bound && number < LAP_SPIRV_SETS) {
            bound->sets[number] = place;
            bound->stale |= bound->access && bound->access->stores[number];
        }
        offsets += dynamic;
        offset_count -= dynamic;
    }
}

void layer_touch_sets(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t first_set, uint32_t set_count,
                      const VkDescriptorSet *sets, uint32_t offset_count, const uint32_t *offsets)
{
    touch_sets(cb, point, first_set, set_count, sets, offset_count, offsets);
}

void hook_after_CmdBindDescriptorSets(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                      VkPipelineBindPoint pipelineBindPoint, VkPipelineLayout layout, uint32_t firstSet,
                                      uint32_t descriptorSetCount, const VkDescriptorSet *pDescriptorSets,
                                      uint32_t dynamicOffsetCount, const uint32_t *pDynamicOffsets)
{
    touch_sets(cb, pipelineBindPoint, firstSet, descriptorSetCount, pDescriptorSets, dynamicOffsetCount,
               pDynamicOffsets);
}

/* ---- pushed descriptors ---- */

/* The first of the descriptors that are pushed at this number now, as place + 1; 0: none, or a set is bound there. */
static uint32_t pushed_at(const struct layer_cmdbuf *cb, const struct layer_bound *bound, uint32_t set)
{
    uint32_t place = bound->sets[set];
    return place && cb->sets[place - 1].index == LAYER_ENTRY_PUSHED ? place : 0;
}

/* The previous descriptor at this binding is not used any more. Its earlier uses stay noted. */
static void forget_pushed(struct layer_cmdbuf *cb, struct layer_bound *bound, uint32_t set, uint32_t binding,
                          uint32_t element)
{
    uint32_t place = pushed_at(cb, bound, set), *link = &bound->sets[set];
    for (; place; place = *link) {
        struct layer_cmdbuf_sets *entry = &cb->sets[place - 1];
        if (entry->binding == binding && entry->element == element)
            *link = entry->previous;
        else
            link = &entry->previous;
    }
}

static void remember_pushed(struct layer_cmdbuf *cb, struct layer_bound *bound, uint32_t set, uint32_t binding,
                            uint32_t element, const struct layer_descriptor_slot *slot)
{
    if (!reserve_entries(cb, 1)) {
        layer_touch_failed(cb);
        return;
    }
    cb->sets[cb->sets_count] = (struct layer_cmdbuf_sets){.set = slot->resource,
                                                          .index = LAYER_ENTRY_PUSHED,
                                                          .previous = pushed_at(cb, bound, set),
                                                          .binding = binding,
                                                          .element = element};
    if (layer_resource_is_image(slot->resource)) {
        cb->sets[cb->sets_count].view = slot->view;
    } else {
        cb->sets[cb->sets_count].offset = slot->offset;
        cb->sets[cb->sets_count].bytes = slot->bytes;
    }
    bound->sets[set] = ++cb->sets_count;
    bound->stale |= bound->access && bound->access->stores[set];
}

/* Stores of shaders through a descriptor. The stored bytes are not known; the others keep their values. */
static bool touch_slot(struct layer_device *dev, struct layer_touched *touched, struct lap_memobj *object,
                       const struct layer_descriptor_slot *slot, uint64_t dynamic_offset, bool stored)
{
    if (!layer_resource_is_image(slot->resource))
        return layer_touched_add(touched, object, slot->offset + dynamic_offset, slot->bytes,
                                 !stored                    ? LAYER_READS
                                 : layer.options.verify_all ? LAYER_WRITES_PARTLY
                                                            : LAYER_WRITES);
    if (!stored)
        return layer_touched_add(touched, object, 0, UINT64_MAX, LAYER_READS);
    return layer_region_add_view(dev, touched, lap_memobj_user(object), &slot->view, LAYER_WRITES_PARTLY);
}

/* All of it counts as read. Stores are noted at the draw or dispatch: the pipeline may be bound after the push. */
void layer_touch_push(struct layer_cmdbuf *cb, VkPipelineBindPoint point, uint32_t set,
                      const VkWriteDescriptorSet *write)
{
    struct layer_bound *bound = layer_bound_at(cb, point);
    if (set >= LAP_SPIRV_SETS)
        bound = NULL;
    for (uint32_t i = 0; i < write->descriptorCount && cb->state == LAYER_CMDBUF_RECORDING; i++) {
        struct layer_descriptor_slot slot;
        /* The resource is alive while it is pushed. */
        bool names = layer_slot_of_write(cb->device, write, i, &slot);
        bool unknown = names && slot.resource == LAYER_RESOURCE_UNKNOWN;
        struct lap_memobj *object = names && !unknown ? layer_resource_get(cb->device, slot.resource) : NULL;
        if (unknown)
            layer_touch_unknown(cb);
        if (bound)
            forget_pushed(cb, bound, set, write->dstBinding, write->dstArrayElement + i);
        if (!object)
            continue;
        if (!touch_slot(cb->device, &cb->touched, object, &slot, 0, slot.written && !bound))
            layer_touch_failed(cb);
        if (bound && slot.written)
            remember_pushed(cb, bound, set, write->dstBinding, write->dstArrayElement + i, &slot);
    }
}

/* ---- stores ---- */

/* The bindings in which a pushed descriptor may lie. Elements past a binding's end are in the next ones ("consecutive
 * binding updates"), and nobody knows here where a binding ends. */
static uint64_t bindings_of(const struct layer_cmdbuf_sets *pushed)
{
    uint64_t bit = lap_spirv_bit(pushed->binding);
    return pushed->element ? -bit : bit;
}

void layer_touch_stores(struct layer_cmdbuf *cb, struct layer_bound *bound)
{
    bound->stale = false;
    if (!bound->access)
        return;
    for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++) {
        uint32_t pushed = pushed_at(cb, bound, i);
        if (bound->access->stores[i] && bound->sets[i] && !pushed)
            cb->sets[bound->sets[i] - 1].written |= bound->access->stores[i];
        for (; pushed; pushed = cb->sets[pushed - 1].previous)
            cb->sets[pushed - 1].written |= bound->access->stores[i] & bindings_of(&cb->sets[pushed - 1]);
    }
}

/* ---- command buffers as a whole ---- */

void layer_touch_reset(struct layer_cmdbuf *cb)
{
    layer_touched_reset(&cb->touched);
    layer_cmdbuf_parts_reset(cb);
    cb->sets_count = 0;
    cb->progress_queries.count = 0;
    cb->copied_queries.count = 0;
    cb->image_steps.count = 0;
    layer_builds_reset(cb);
    memset(cb->bound, 0, sizeof cb->bound);
    layer_bound_shaders_reset(cb);
    memset(cb->memo, 0, sizeof cb->memo);
    memset(cb->set_memo, 0, sizeof cb->set_memo);
    memset(cb->recent_reads, 0, sizeof cb->recent_reads);
}

void layer_touch_finish(struct layer_cmdbuf *cb)
{
    layer_touched_finish(&cb->touched);
    layer_progress_queries_finish(&cb->progress_queries);
    layer_progress_queries_finish(&cb->copied_queries);
    layer_cmdbuf_parts_finish(cb);
    free(cb->shaders);
    cb->shaders = NULL;
    free(cb->image_steps.items);
    cb->image_steps = (struct layer_image_steps){0};
    layer_builds_finish(cb);
    free(cb->sets);
    free(cb->many_sets);
    cb->sets = NULL;
    cb->many_sets = NULL;
}

/* A set that several secondary command buffers bind is resolved once at the submit. */
static void append_once(struct layer_cmdbuf *cb, const struct layer_cmdbuf_sets *entry)
{
    uint32_t place = layer_touch_find_set(cb, entry->index, entry->offset_count, entry->offsets[0]);
    if (place == UINT32_MAX)
        place = layer_touch_append_set(cb, entry->set, entry->index, entry->offset_count, entry->offsets[0]);
    cb->sets[place].written |= entry->written;
}

static void touch_part(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary,
                       const struct layer_cmdbuf_part_view *part)
{
    for (uint32_t i = 0; i < part->events->count; i++)
        layer_cmdbuf_parts_note(cb, &part->events->items[i]);
    if (!layer_progress_queries_append(&cb->progress_queries, part->progress_queries) ||
        !append_touched(&cb->touched, part->touched) || !reserve_entries(cb, part->sets_end - part->sets_begin)) {
        layer_touch_failed(cb);
        return;
    }
    for (uint32_t i = part->sets_begin, entries; i < part->sets_end; i += entries) {
        const struct layer_cmdbuf_sets *entry = &secondary->sets[i];
        entries = entries_for(entry->offset_count);
        if (entry->index != LAYER_ENTRY_PUSHED && entry->offset_count <= 1) {
            append_once(cb, entry);
        } else {
            memcpy(&cb->sets[cb->sets_count], entry, entries * sizeof *entry);
            cb->sets_count += entries;
        }
    }
}

void layer_touch_secondary(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary)
{
    layer_copied_queries_append(cb, secondary);
    for (uint32_t i = 0; i <= secondary->part_count && cb->state == LAYER_CMDBUF_RECORDING; i++) {
        struct layer_cmdbuf_part_view part = layer_cmdbuf_part_at(secondary, i);
        touch_part(cb, secondary, &part);
    }
    if (cb->state == LAYER_CMDBUF_RECORDING &&
        (!layer_image_steps_append(&cb->image_steps, &secondary->image_steps) || !layer_builds_append(cb, secondary)))
        layer_touch_failed(cb);
}

/* ---- parts ---- */

/* Copies the entry of a bound set, or the list of pushed descriptors, for the new part. */
static bool carry_set(struct layer_cmdbuf *cb, uint32_t *bound)
{
    uint32_t place = *bound, entries = entries_for(cb->sets[place - 1].offset_count), copy = 0;
    if (cb->sets[place - 1].index != LAYER_ENTRY_PUSHED) {
        if (!reserve_entries(cb, entries))
            return false;
        memcpy(&cb->sets[cb->sets_count], &cb->sets[place - 1], entries * sizeof *cb->sets);
        cb->sets[cb->sets_count].written = 0;
        *bound = cb->sets_count + 1;
        cb->sets_count += entries;
        return true;
    }
    for (; place; place = cb->sets[place - 1].previous) {
        if (!reserve_entries(cb, 1))
            return false;
        cb->sets[cb->sets_count] = cb->sets[place - 1];
        cb->sets[cb->sets_count].written = 0;
        cb->sets[cb->sets_count].previous = copy;
        copy = ++cb->sets_count;
    }
    *bound = copy;
    return true;
}

bool layer_touch_carry(struct layer_cmdbuf *cb)
{
    memset(cb->recent_reads, 0, sizeof cb->recent_reads);
    memset(cb->recent_sets, 0xff, sizeof cb->recent_sets); /* nowhere */
    for (uint32_t point = 0; point < LAYER_BIND_POINTS; point++) {
        struct layer_bound *bound = &cb->bound[point];
        for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++)
            if (bound->sets[i] && !carry_set(cb, &bound->sets[i]))
                return false;
        bound->stale = bound->access;
    }
    return true;
}

/* ---- at submit ---- */

static void note_store(struct layer_device *dev, struct lap_memobj *object, const struct layer_descriptor_slot *slot)
{
    if (layer_resource_is_image(slot->resource))
        layer_image_stored(lap_memobj_user(object), &slot->view);
    if (layer.options.verify_all)
        layer_overwritten_stores(object, dev->submit.serial);
}

static bool resolve_slot(struct layer_device *dev, const struct layer_descriptor_slot *slot, uint64_t dynamic_offset,
                         bool written, struct layer_touched *out)
{
    struct lap_memobj *object;
    if (slot->resource == LAYER_RESOURCE_UNKNOWN) {
        out->ranges.everything = true;
        return true;
    }
    object = layer_resource_get(dev, slot->resource);
    if (object && layer.options.reads_back && slot->written && written)
        note_store(dev, object, slot);
    return !object || touch_slot(dev, out, object, slot, dynamic_offset, slot->written && written);
}

/* The first slot from `slot` on that names something; `end` when none before it does. */
static uint32_t next_used(const struct layer_descriptor_set *set, uint32_t slot, uint32_t end)
{
    while (slot < end) {
        uint64_t bits = set->used[slot / 64] >> slot % 64;
        if (bits) {
            slot += (uint32_t)__builtin_ctzll(bits);
            break;
        }
        slot = (slot / 64 + 1) * 64;
    }
    return slot < end ? slot : end;
}

static bool resolve_binding(struct layer_device *dev, const struct layer_descriptor_set *set,
                            const struct lap_set_binding *binding, const struct layer_cmdbuf_sets *entry,
                            uint32_t dynamic, bool written, struct layer_touched *out)
{
    uint32_t end = binding->first + binding->count;
    if (end > set->slot_count)
        end = set->slot_count;
    for (uint32_t i = next_used(set, binding->first, end); i < end; i = next_used(set, i + 1, end)) {
        uint32_t number = dynamic + i - binding->first; /* of dynamic descriptors */
        uint64_t offset = 0;
        if (lap_descriptor_is_dynamic(binding->type) && number < entry->offset_count)
            offset = entry[number / LAYER_ENTRY_OFFSETS].offsets[number % LAYER_ENTRY_OFFSETS];
        if (!resolve_slot(dev, &set->slots[i], offset, written, out))
            return false;
    }
    return true;
}

/* Each set is resolved once in a submit, but again for other dynamic offsets and for written bindings. */
static bool resolve_slots(struct layer_device *dev, const struct layer_descriptor_set *set, bool first,
                          const struct layer_cmdbuf_sets *entry, struct layer_touched *out)
{
    uint32_t dynamic = 0;
    for (uint32_t i = 0; set->slots && i < set->layout->binding_count; i++) {
        const struct lap_set_binding *binding = &set->layout->bindings[i];
        bool is_dynamic = lap_descriptor_is_dynamic(binding->type);
        bool alone = binding->count == 1 || set->slot_count - binding->first == 1;
        /* In a table, shaders store to some elements only. "written" would claim that the host does not write the
         * others. */
        bool written = entry->written & lap_spirv_bit(binding->binding) && (alone || !(binding->flags & LAYER_TABLE));
        if ((first || is_dynamic || written) && !resolve_binding(dev, set, binding, entry, dynamic, written, out))
            return false;
        dynamic += is_dynamic ? binding->count : 0;
    }
    return true;
}

static bool resolve_set(struct layer_device *dev, const struct layer_cmdbuf_sets *entry, uint64_t serial,
                        struct layer_touched *out)
{
    struct layer_descriptor_set *set = lap_map_get(dev->tables.maps[GEN_HANDLE_VkDescriptorSet], entry->set);
    bool first, result;

    if (!set || set->object.index != entry->index || !set->layout) /* freed: no shader can use it */
        return true;
    first = set->resolved != serial;
    set->resolved = serial;
    if (!first && !entry->offset_count && !entry->written)
        return true;
    if (layer_set_is_updated_in_use(set))
        pthread_mutex_lock(&dev->descriptors.mutex);
    result = resolve_slots(dev, set, first, entry, out);
    if (layer_set_is_updated_in_use(set))
        pthread_mutex_unlock(&dev->descriptors.mutex);
    return result;
}

/* The read was noted at the push. */
static bool resolve_pushed(struct layer_device *dev, const struct layer_cmdbuf_sets *entry, struct layer_touched *out)
{
    struct lap_memobj *object = entry->written ? layer_resource_get(dev, entry->set) : NULL;
    struct layer_descriptor_slot slot = {.resource = entry->set};
    if (layer_resource_is_image(entry->set)) {
        slot.view = entry->view;
    } else {
        slot.offset = entry->offset;
        slot.bytes = entry->bytes;
    }
    if (object && layer.options.reads_back)
        note_store(dev, object, &slot);
    return !object || touch_slot(dev, out, object, &slot, 0, true);
}

bool layer_touch_resolve(struct layer_device *dev, const struct layer_cmdbuf *cb, uint32_t number, uint64_t serial,
                         struct layer_touched *touched)
{
    struct layer_cmdbuf_part_view part = layer_cmdbuf_part_at(cb, number);
    if (!append_touched(touched, part.touched))
        return false;
    for (uint32_t i = part.sets_begin; i < part.sets_end; i += entries_for(cb->sets[i].offset_count)) {
        const struct layer_cmdbuf_sets *entry = &cb->sets[i];
        if (!(entry->index == LAYER_ENTRY_PUSHED ? resolve_pushed(dev, entry, touched)
                                                 : resolve_set(dev, entry, serial, touched)))
            return false;
    }
    return true;
}
