/* SPDX-License-Identifier: MIT */
/* The objects in descriptor sets, and the packets that wrote them. Each write is noted with the state before it: a walk
 * backwards through the trace restores a set's state at each place. */
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "inspector/slice/slice_see.h"
#include "inspector/state/descriptors.h"

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

/* ---- layouts and sets ---- */

void slice_see_set_layout(struct slice_facts *f, const VkDescriptorSetLayoutCreateInfo *info, uint32_t object)
{
    struct lap_set_layout *layout;

    if (!info || f->objects[object].set ||
        !slice_make_room(f, &f->sets.layouts, sizeof(struct lap_set_layout *), &f->sets.layout_capacity,
                         f->sets.layout_count + 1))
        return;
    if (!(layout = lap_set_layout_new(info))) {
        slice_no_memory(f);
        return;
    }
    f->sets.layouts[f->sets.layout_count++] = layout;
    f->objects[object].set = (uint32_t)f->sets.layout_count;
}

void slice_see_sets(struct slice_facts *f, const struct gen_args_vkAllocateDescriptorSets *a)
{
    const VkDescriptorSetAllocateInfo *info = a->pAllocateInfo;

    for (uint32_t i = 0; info && info->pSetLayouts && a->pDescriptorSets && i < info->descriptorSetCount; i++) {
        uint32_t object = OBJECT(f, VkDescriptorSet, a->pDescriptorSets[i]);
        uint32_t layout = f->objects[OBJECT(f, VkDescriptorSetLayout, info->pSetLayouts[i])].set;
        if (!object || !layout || f->objects[object].set)
            continue;
        if (!slice_make_room(f, &f->sets.at, sizeof *f->sets.at, &f->sets.capacity, f->sets.count + 1))
            return;
        f->sets.at[f->sets.count] = (struct slice_set){.layout = f->sets.layouts[layout - 1]};
        f->objects[object].set = (uint32_t)++f->sets.count;
    }
}

/* 1 + its number; 0: it is not known. */
static uint32_t set_of(struct slice_facts *f, VkDescriptorSet set)
{
    return f->objects[OBJECT(f, VkDescriptorSet, set)].set;
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

/* A few bytes of a trace may copy, or empty, any number of slots. */
static bool pay(struct slice_facts *f, uint32_t count)
{
    f->sets.unpaid += count ? count - 1 : 0;
    if (f->sets.unpaid > MOST_UNPAID + UNPAID_MORE * (uint64_t)f->packet_count)
        slice_fail(f, lap_fail(LAP_ERROR_LIMIT, "more descriptors are copied than can be followed"));
    return *f->status == LAP_OK;
}

static void need(struct slice_facts *f, uint32_t needed, uint32_t packet)
{
    const uint64_t step = slice_step(SLICE_NEEDS, needed);

    if (needed && needed != packet && (!f->now.doing.count || f->now.doing.at[f->now.doing.count - 1] != step))
        slice_add_step(f, &f->now.doing, step);
}

/* A write that leaves some bytes of a block needs the earlier ones. */
static void write_blocks(struct slice_facts *f, uint32_t set, uint32_t binding, uint32_t offset, uint32_t count,
                         uint32_t packet)
{
    uint32_t left;

    while (count && *f->status == LAP_OK &&
           (left = lap_set_layout_bytes(f->sets.at[set - 1].layout, &binding, &offset))) {
        const struct slice_slot *old = slot_of(&f->sets.at[set - 1], SLICE_INLINED | binding);
        if (old && (offset || left > count))
            need(f, old->packet, packet);
        write_slot(f, set, SLICE_INLINED | binding, (struct slice_slot){.packet = packet});
        left = left < count ? left : count;
        offset += left;
        count -= left;
    }
}

static void write_slots(struct slice_facts *f, const VkWriteDescriptorSet *write, uint32_t packet)
{
    const uint32_t set = set_of(f, write->dstSet), given = descriptor_count_of_write(write);
    uint32_t first, end;

    if (!set)
        return;
    if (write->descriptorType == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK) {
        write_blocks(f, set, write->dstBinding, write->dstArrayElement, write->descriptorCount, packet);
        return;
    }
    if (given < write->descriptorCount && !pay(f, write->descriptorCount - given))
        return;
    first = lap_set_layout_slot(f->sets.at[set - 1].layout, write->dstBinding, write->dstArrayElement);
    end = f->sets.at[set - 1].layout->slot_count;
    for (uint32_t i = 0; first < end && i < write->descriptorCount && i < end - first && *f->status == LAP_OK; i++) {
        struct descriptor value;
        descriptor_of_write(write, i, &value);
        write_slot(f, set, first + i,
                   (struct slice_slot){.object = slice_object_of(f, value.object_type, value.object),
                                       .packet = packet,
                                       .access = (uint8_t)access_of(write->descriptorType)});
    }
}

/* Of inline uniform blocks. */
static void copy_blocks(struct slice_facts *f, uint32_t from, uint32_t to, const VkCopyDescriptorSet *copy,
                        uint32_t packet)
{
    uint32_t binding = copy->srcBinding, offset = copy->srcArrayElement, count = copy->descriptorCount, left;

    while (count && *f->status == LAP_OK && pay(f, 2) &&
           (left = lap_set_layout_bytes(f->sets.at[from - 1].layout, &binding, &offset))) {
        const struct slice_slot *old = slot_of(&f->sets.at[from - 1], SLICE_INLINED | binding);
        need(f, old ? old->packet : 0, packet);
        left = left < count ? left : count;
        offset += left;
        count -= left;
    }
    write_blocks(f, to, copy->dstBinding, copy->dstArrayElement, copy->descriptorCount, packet);
}

static void copy_slots(struct slice_facts *f, const VkCopyDescriptorSet *copy, uint32_t packet)
{
    const uint32_t from = set_of(f, copy->srcSet), to = set_of(f, copy->dstSet);
    uint32_t source, source_end, first, end, count = copy->descriptorCount;

    if (!from || !to)
        return;
    source = lap_set_layout_slot(f->sets.at[from - 1].layout, copy->srcBinding, copy->srcArrayElement);
    source_end = f->sets.at[from - 1].layout->slot_count;
    first = lap_set_layout_slot(f->sets.at[to - 1].layout, copy->dstBinding, copy->dstArrayElement);
    end = f->sets.at[to - 1].layout->slot_count;
    if (source == LAP_NO_SLOT && first == LAP_NO_SLOT) {
        copy_blocks(f, from, to, copy, packet);
        return;
    }
    if (source >= source_end || first >= end)
        return;
    count = count < source_end - source ? count : source_end - source;
    count = count < end - first ? count : end - first;
    if (!pay(f, count))
        return;
    for (uint32_t i = 0; i < count && *f->status == LAP_OK; i++) {
        const struct slice_slot *old = slot_of(&f->sets.at[from - 1], source + i);
        struct slice_slot value = old ? *old : (struct slice_slot){.packet = packet};
        need(f, value.packet, packet);
        value.packet = packet;
        write_slot(f, to, first + i, value);
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
