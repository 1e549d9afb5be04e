/* SPDX-License-Identifier: MIT */
/* The objects in descriptor sets, and the packets that wrote them. Each write is noted with the state before it: a walk
 * backwards through the trace restores a set's state at each place. */
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "inspector/slice/slice_see.h"

#define INLINED     (UINT32_C(1) << 31) /* elements that are numbers of writes */
#define MOST_UNPAID (UINT64_C(1) << 24) /* slots that take no bytes of the trace, and as many more for each packet: */
#define UNPAID_MORE 64u

/* ---- slots ---- */

static size_t place_of(const struct slice_set *set, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (set->index_size - 1);

    while (set->index[at] && set->slots[set->index[at] - 1].key != key)
        at = (at + 1) & (set->index_size - 1);
    return at;
}

static bool make_room(const struct slice_facts *f, struct slice_set *set)
{
    size_t size = set->index_size ? set->index_size * 2 : 8;
    uint32_t *index;

    if (!slice_make_room(f, &set->slots, sizeof *set->slots, &set->capacity, set->count + 1))
        return false;
    if (set->count * 2 < set->index_size)
        return true;
    if (set->count >= UINT32_MAX / 4 || !(index = calloc(size, sizeof *index))) {
        slice_no_memory(f);
        return false;
    }
    free(set->index);
    set->index = index;
    set->index_size = size;
    for (size_t i = 0; i < set->count; i++)
        index[place_of(set, set->slots[i].key)] = (uint32_t)i + 1;
    return true;
}

static uint32_t set_of(struct slice_facts *f, uint32_t object)
{
    struct slice_object *o = &f->objects[object];

    if (!o->set) {
        if (!slice_make_room(f, &f->sets.at, sizeof *f->sets.at, &f->sets.capacity, f->sets.count + 1))
            return 0;
        f->sets.at[f->sets.count] = (struct slice_set){.count = 0};
        o->set = (uint32_t)++f->sets.count;
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
static void swap(struct slice_sets *sets, struct slice_written *written)
{
    struct slice_set *set = &sets->at[written->set];
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

static void write_slot(struct slice_facts *f, uint32_t set_number, uint64_t key, struct slice_slot value)
{
    struct slice_set *set = &f->sets.at[set_number - 1];

    if (!make_room(f, set) || !slice_make_room(f, &f->sets.written, sizeof *f->sets.written, &f->sets.written_capacity,
                                               f->sets.written_count + 1))
        return;
    size_t at = place_of(set, key);
    if (!set->index[at]) {
        set->slots[set->count] = (struct slice_slot){.key = key};
        set->index[at] = (uint32_t)++set->count;
    }
    f->sets.written[f->sets.written_count] = (struct slice_written){.set = set_number - 1,
                                                                    .slot = set->index[at] - 1,
                                                                    .object = value.object,
                                                                    .packet = value.packet,
                                                                    .access = value.access};
    swap(&f->sets, &f->sets.written[f->sets.written_count++]);
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

static uint32_t element_object(struct slice_facts *f, const VkWriteDescriptorSet *write, uint32_t i)
{
    if (write->pImageInfo && write->pImageInfo[i].imageView)
        return OBJECT(f, VkImageView, write->pImageInfo[i].imageView);
    if (write->pBufferInfo && write->pBufferInfo[i].buffer)
        return OBJECT(f, VkBuffer, write->pBufferInfo[i].buffer);
    if (write->pTexelBufferView && write->pTexelBufferView[i])
        return OBJECT(f, VkBufferView, write->pTexelBufferView[i]);
    for (const VkBaseInStructure *c = write->pNext; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR) {
            const VkWriteDescriptorSetAccelerationStructureKHR *a = (const void *)c;
            if (a->pAccelerationStructures && i < a->accelerationStructureCount && a->pAccelerationStructures[i])
                return OBJECT(f, VkAccelerationStructureKHR, a->pAccelerationStructures[i]);
        }
    return 0;
}

static uint64_t key_of(uint32_t binding, uint32_t element)
{
    return (uint64_t)binding << 32 | element;
}

/* A few bytes of a trace may copy, or empty, any number of slots. */
static bool pay(struct slice_facts *f, uint32_t count)
{
    f->sets.unpaid += count ? count - 1 : 0;
    if (f->sets.unpaid > MOST_UNPAID + UNPAID_MORE * (uint64_t)f->packet_count)
        slice_fail(f, lap_fail(LAP_ERROR_LIMIT, "more descriptors are copied than can be followed"));
    return *f->status == LAP_OK;
}

static void write_slots(struct slice_facts *f, const VkWriteDescriptorSet *write, uint32_t packet)
{
    uint32_t object = OBJECT(f, VkDescriptorSet, write->dstSet);
    uint32_t set = object ? set_of(f, object) : 0;

    if (!set)
        return;
    if (write->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        /* Elements are bytes. Later writes may leave some of them, so each write has a slot of its own. */
        write_slot(f, set, key_of(write->dstBinding, INLINED | f->sets.at[set - 1].inlined++),
                   (struct slice_slot){.packet = packet});
        return;
    }
    if (!write->pImageInfo && !write->pBufferInfo && !write->pTexelBufferView && !pay(f, write->descriptorCount))
        return;
    for (uint32_t i = 0; i < write->descriptorCount && *f->status == LAP_OK; i++)
        write_slot(f, set, key_of(write->dstBinding, write->dstArrayElement + i),
                   (struct slice_slot){.object = element_object(f, write, i),
                                       .packet = packet,
                                       .access = (uint8_t)access_of(write->descriptorType)});
}

static void copy_slots(struct slice_facts *f, const VkCopyDescriptorSet *copy, uint32_t packet)
{
    uint32_t from = OBJECT(f, VkDescriptorSet, copy->srcSet);
    uint32_t to = OBJECT(f, VkDescriptorSet, copy->dstSet);

    if (!from || !to || !set_of(f, from) || !set_of(f, to) || !pay(f, copy->descriptorCount))
        return;
    for (uint32_t i = 0; i < copy->descriptorCount && *f->status == LAP_OK; i++) {
        const struct slice_slot *old =
            slot_of(&f->sets.at[set_of(f, from) - 1], key_of(copy->srcBinding, copy->srcArrayElement + i));
        struct slice_slot value = old ? *old : (struct slice_slot){.packet = packet};
        if (old && old->packet && old->packet != packet)
            slice_add_step(f, &f->now.doing, slice_step(SLICE_NEEDS, old->packet));
        value.packet = packet;
        write_slot(f, set_of(f, to), key_of(copy->dstBinding, copy->dstArrayElement + i), value);
    }
}

struct slice_run slice_update_sets(struct slice_facts *f, const void *args, uint32_t packet)
{
    const struct gen_args_vkUpdateDescriptorSets *a = args;
    uint64_t from = f->sets.written_count;

    for (uint32_t i = 0; a->pDescriptorWrites && i < a->descriptorWriteCount && *f->status == LAP_OK; i++)
        write_slots(f, &a->pDescriptorWrites[i], packet);
    for (uint32_t i = 0; a->pDescriptorCopies && i < a->descriptorCopyCount && *f->status == LAP_OK; i++)
        copy_slots(f, &a->pDescriptorCopies[i], packet);
    return (struct slice_run){from, (uint32_t)(f->sets.written_count - from)};
}

/* ---- going over them ---- */

void slice_unwrite(struct slice_sets *sets, struct slice_run written)
{
    for (uint32_t i = written.count; i-- > 0;)
        swap(sets, &sets->written[written.from + i]);
}

void slice_rewrite(struct slice_sets *sets, struct slice_run written)
{
    for (uint32_t i = 0; i < written.count; i++)
        swap(sets, &sets->written[written.from + i]);
}
