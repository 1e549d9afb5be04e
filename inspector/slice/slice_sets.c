/* SPDX-License-Identifier: MIT */
/* The objects in descriptor sets, and the packets that wrote them. Each write is noted with the state before it: a walk
 * backwards through the trace restores a set's state at each place. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "inspector/slice/slice_internal.h"

#define INLINED     (UINT32_C(1) << 31) /* elements that are numbers of writes */
#define MOST_UNPAID (UINT64_C(1) << 24) /* slots that take no bytes of the trace, and as many more for each packet: */
#define UNPAID_MORE 64u

static void no_memory(struct slice *s)
{
    slice_fail(s, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
}

/* ---- slots ---- */

static size_t place_of(const struct slice_set *set, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (set->index_size - 1);

    while (set->index[at] && set->slots[set->index[at] - 1].key != key)
        at = (at + 1) & (set->index_size - 1);
    return at;
}

static bool make_room(struct slice_set *set)
{
    size_t size = set->index_size ? set->index_size * 2 : 8;
    uint32_t *index;

    if (!lap_array_grow(&set->slots, sizeof *set->slots, &set->capacity, set->count + 1))
        return false;
    if (set->count * 2 < set->index_size)
        return true;
    if (set->count >= UINT32_MAX / 4 || !(index = calloc(size, sizeof *index)))
        return false;
    free(set->index);
    set->index = index;
    set->index_size = size;
    for (size_t i = 0; i < set->count; i++)
        index[place_of(set, set->slots[i].key)] = (uint32_t)i + 1;
    return true;
}

static uint32_t set_of(struct slice *s, uint32_t object)
{
    struct slice_object *o = &s->objects[object];

    if (!o->set) {
        if (!lap_array_grow(&s->sets, sizeof *s->sets, &s->set_capacity, s->set_count + 1)) {
            no_memory(s);
            return 0;
        }
        s->sets[s->set_count] = (struct slice_set){.count = 0};
        o->set = (uint32_t)++s->set_count;
    }
    return o->set;
}

/* NULL: it was not written yet. */
static const struct slice_slot *slot_of(const struct slice_set *set, uint64_t key)
{
    size_t at = set->index_size ? place_of(set, key) : 0;
    return set->index_size && set->index[at] ? &set->slots[set->index[at] - 1] : NULL;
}

/* Exchanges the state of a slot and the noted one. */
static void swap(struct slice *s, struct slice_written *written)
{
    struct slice_set *set = &s->sets[written->set];
    struct slice_slot *slot = &set->slots[written->slot];
    struct slice_slot was = *slot;

    slot->object = written->object;
    slot->packet = written->packet;
    slot->access = written->access;
    written->object = was.object;
    written->packet = was.packet;
    written->access = was.access;
    set->changing += (slot->access == SLICE_CHANGE);
    set->changing -= (was.access == SLICE_CHANGE);
}

static void write_slot(struct slice *s, uint32_t set_number, uint64_t key, struct slice_slot value)
{
    struct slice_set *set = &s->sets[set_number - 1];

    if (!make_room(set) ||
        !lap_array_grow(&s->written, sizeof *s->written, &s->written_capacity, s->written_count + 1)) {
        no_memory(s);
        return;
    }
    size_t at = place_of(set, key);
    if (!set->index[at]) {
        set->slots[set->count] = (struct slice_slot){.key = key};
        set->index[at] = (uint32_t)++set->count;
    }
    s->written[s->written_count] = (struct slice_written){.set = set_number - 1,
                                                          .slot = set->index[at] - 1,
                                                          .object = value.object,
                                                          .packet = value.packet,
                                                          .access = value.access};
    swap(s, &s->written[s->written_count++]);
}

/* ---- updates ---- */

static enum slice_step access_of(VkDescriptorType type)
{
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return SLICE_READ;
    default:
        return SLICE_CHANGE;
    }
}

static uint32_t element_object(struct slice *s, const VkWriteDescriptorSet *write, uint32_t i)
{
    if (write->pImageInfo && write->pImageInfo[i].imageView)
        return slice_object_of(s, GEN_HANDLE_VkImageView, gen_u64_VkImageView(write->pImageInfo[i].imageView));
    if (write->pBufferInfo && write->pBufferInfo[i].buffer)
        return slice_object_of(s, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(write->pBufferInfo[i].buffer));
    if (write->pTexelBufferView && write->pTexelBufferView[i])
        return slice_object_of(s, GEN_HANDLE_VkBufferView, gen_u64_VkBufferView(write->pTexelBufferView[i]));
    for (const VkBaseInStructure *c = write->pNext; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR) {
            const VkWriteDescriptorSetAccelerationStructureKHR *a = (const void *)c;
            if (a->pAccelerationStructures && i < a->accelerationStructureCount && a->pAccelerationStructures[i])
                return slice_object_of(s, GEN_HANDLE_VkAccelerationStructureKHR,
                                       gen_u64_VkAccelerationStructureKHR(a->pAccelerationStructures[i]));
        }
    return 0;
}

static uint64_t key_of(uint32_t binding, uint32_t element)
{
    return (uint64_t)binding << 32 | element;
}

/* A few bytes of a trace may copy, or empty, any number of slots. */
static bool pay(struct slice *s, uint32_t count)
{
    s->unpaid += count ? count - 1 : 0;
    if (s->unpaid > MOST_UNPAID + UNPAID_MORE * (uint64_t)s->packet_count)
        slice_fail(s, lap_fail(LAP_ERROR_LIMIT, "more descriptors are copied than can be followed"));
    return s->status == LAP_OK;
}

static void write_slots(struct slice *s, const VkWriteDescriptorSet *write, uint32_t packet)
{
    uint32_t object =
        write->dstSet ? slice_object_of(s, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(write->dstSet)) : 0;
    uint32_t set = object ? set_of(s, object) : 0;

    if (!set)
        return;
    if (write->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        /* Elements are bytes. Later writes may leave some of them, so each write has a slot of its own. */
        write_slot(s, set, key_of(write->dstBinding, INLINED | s->sets[set - 1].inlined++),
                   (struct slice_slot){.packet = packet});
        return;
    }
    if (!write->pImageInfo && !write->pBufferInfo && !write->pTexelBufferView && !pay(s, write->descriptorCount))
        return;
    for (uint32_t i = 0; i < write->descriptorCount && s->status == LAP_OK; i++)
        write_slot(s, set, key_of(write->dstBinding, write->dstArrayElement + i),
                   (struct slice_slot){.object = element_object(s, write, i),
                                       .packet = packet,
                                       .access = (uint8_t)access_of(write->descriptorType)});
}

static void copy_slots(struct slice *s, const VkCopyDescriptorSet *copy, uint32_t packet)
{
    uint32_t from =
        copy->srcSet ? slice_object_of(s, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(copy->srcSet)) : 0;
    uint32_t to =
        copy->dstSet ? slice_object_of(s, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(copy->dstSet)) : 0;

    if (!from || !to || !set_of(s, from) || !set_of(s, to) || !pay(s, copy->descriptorCount))
        return;
    for (uint32_t i = 0; i < copy->descriptorCount && s->status == LAP_OK; i++) {
        const struct slice_slot *old =
            slot_of(&s->sets[set_of(s, from) - 1], key_of(copy->srcBinding, copy->srcArrayElement + i));
        struct slice_slot value = old ? *old : (struct slice_slot){.packet = packet};
        if (old && old->packet && old->packet != packet)
            slice_add_step(s, &s->doing, slice_step(SLICE_NEEDS, old->packet));
        value.packet = packet;
        write_slot(s, set_of(s, to), key_of(copy->dstBinding, copy->dstArrayElement + i), value);
    }
}

struct slice_run slice_update_sets(struct slice *s, const void *args, uint32_t packet)
{
    const struct gen_args_vkUpdateDescriptorSets *a = args;
    uint64_t from = s->written_count;

    for (uint32_t i = 0; a->pDescriptorWrites && i < a->descriptorWriteCount && s->status == LAP_OK; i++)
        write_slots(s, &a->pDescriptorWrites[i], packet);
    for (uint32_t i = 0; a->pDescriptorCopies && i < a->descriptorCopyCount && s->status == LAP_OK; i++)
        copy_slots(s, &a->pDescriptorCopies[i], packet);
    return (struct slice_run){from, (uint32_t)(s->written_count - from)};
}

/* ---- going over them ---- */

const struct slice_set *slice_set_of(const struct slice *s, uint32_t object)
{
    return s->objects[object].set ? &s->sets[s->objects[object].set - 1] : NULL;
}

void slice_unwrite(struct slice *s, struct slice_run written)
{
    for (uint32_t i = written.count; i-- > 0;)
        swap(s, &s->written[written.from + i]);
}

void slice_rewrite(struct slice *s, struct slice_run written)
{
    for (uint32_t i = 0; i < written.count; i++)
        swap(s, &s->written[written.from + i]);
}

void slice_free_sets(struct slice *s)
{
    for (size_t i = 0; i < s->set_count; i++) {
        free(s->sets[i].slots);
        free(s->sets[i].index);
    }
    free(s->sets);
    free(s->written);
}
