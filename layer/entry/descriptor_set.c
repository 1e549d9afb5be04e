/* SPDX-License-Identifier: MIT */
/*
 * descriptors: records of layouts, pools and sets. A set remembers the memory that each of its descriptors names, so
 * that a submit knows the resources of bound sets.
 *
 * Descriptors are updated and used under the program's own synchronisation. The exception are bindings that may be
 * updated while command buffers use them: several threads may write to different descriptors of such a set at once,
 * also while it is looked up for a submit that does not use these descriptors. Their slots are under
 * dev->descriptors.mutex.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/entry/descriptor_buffer.h"
#include "layer/part/descriptor_contents.h"

/* ---- layouts ---- */

void layer_set_layout_finish(struct lap_object *object)
{
    lap_set_layout_release(((struct layer_set_layout *)object)->data);
}

void hook_after_CreateDescriptorSetLayout(struct layer_device *dev, VkDevice device,
                                          const VkDescriptorSetLayoutCreateInfo *pCreateInfo,
                                          const VkAllocationCallbacks *pAllocator, VkDescriptorSetLayout *pSetLayout,
                                          VkResult result)
{
    struct layer_set_layout *layout = LAYER_GET(dev, VkDescriptorSetLayout, *pSetLayout);
    layer_descriptor_buffers_layout(dev, *pSetLayout, pCreateInfo);
    if (!layout || layout->data) /* the driver may give equal layouts the same handle */
        return;
    layout->data = lap_set_layout_new(pCreateInfo);
    if (!layout->data)
        layer_stop("out of memory");
}

/* ---- pools and sets ---- */

void layer_descriptor_set_finish(struct lap_object *object)
{
    struct layer_descriptor_set *set = (struct layer_descriptor_set *)object;
    if (set->previous_in_pool) {
        *set->previous_in_pool = set->next_in_pool;
        if (set->next_in_pool)
            set->next_in_pool->previous_in_pool = set->previous_in_pool;
    }
    lap_set_layout_release(set->layout);
    layer_descriptor_contents_finish(set->contents);
    free(set->slots);
    free(set->used);
}

/* When a device ends, pools may go before their sets. */
void layer_descriptor_pool_finish(struct lap_object *object)
{
    struct layer_descriptor_set *next;
    for (struct layer_descriptor_set *set = ((struct layer_descriptor_pool *)object)->sets; set; set = next) {
        next = set->next_in_pool;
        set->previous_in_pool = NULL;
        set->next_in_pool = NULL;
    }
}

static void remove_sets(struct layer_device *dev, VkDescriptorPool handle)
{
    struct layer_descriptor_pool *pool = LAYER_GET(dev, VkDescriptorPool, handle);
    while (pool && pool->sets) {
        struct layer_descriptor_set *set = pool->sets;
        layer_object_remove(dev, GEN_HANDLE_VkDescriptorSet, set->object.handle);
        if (pool->sets == set) { /* an alias was removed; a handle that a pool returned twice has one record */
            pool->sets = set->next_in_pool;
            if (pool->sets)
                pool->sets->previous_in_pool = &pool->sets;
            set->previous_in_pool = NULL;
        }
    }
}

void hook_before_DestroyDescriptorPool(struct layer_device *dev, VkDevice device, VkDescriptorPool descriptorPool,
                                       const VkAllocationCallbacks *pAllocator)
{
    remove_sets(dev, descriptorPool);
}

void hook_before_ResetDescriptorPool(struct layer_device *dev, VkDevice device, VkDescriptorPool descriptorPool,
                                     VkDescriptorPoolResetFlags flags)
{
    remove_sets(dev, descriptorPool);
}

void hook_after_AllocateDescriptorSets(struct layer_device *dev, VkDevice device,
                                       const VkDescriptorSetAllocateInfo *pAllocateInfo,
                                       VkDescriptorSet *pDescriptorSets, VkResult result)
{
    struct layer_descriptor_pool *pool = LAYER_GET(dev, VkDescriptorPool, pAllocateInfo->descriptorPool);

    for (uint32_t i = 0; i < pAllocateInfo->descriptorSetCount; i++) {
        struct layer_descriptor_set *set = LAYER_GET(dev, VkDescriptorSet, pDescriptorSets[i]);
        const struct layer_set_layout *layout = LAYER_GET(dev, VkDescriptorSetLayout, pAllocateInfo->pSetLayouts[i]);
        if (!set || !layout || !layout->data || set->layout || !pool)
            continue;
        set->layout = lap_set_layout_keep(layout->data);
        set->slot_count = lap_set_layout_slots(set->layout, pAllocateInfo, i);
        set->next_in_pool = pool->sets;
        set->previous_in_pool = &pool->sets;
        if (pool->sets)
            pool->sets->previous_in_pool = &set->next_in_pool;
        pool->sets = set;
    }
}

/* ---- updates ---- */

static bool make_slots(struct layer_descriptor_set *set)
{
    if (set->slots)
        return true;
    set->used = calloc(set->slot_count / 64 + 1, sizeof *set->used);
    set->slots = set->used ? calloc(set->slot_count ? set->slot_count : 1, sizeof *set->slots) : NULL;
    if (!set->slots) {
        free(set->used);
        set->used = NULL;
        layer_stop("out of memory");
    }
    return set->slots;
}

static void set_slot(struct layer_descriptor_set *set, uint32_t number, struct layer_descriptor_slot slot)
{
    uint64_t bit = (uint64_t)1 << number % 64;
    set->slots[number] = slot;
    if (slot.resource)
        set->used[number / 64] |= bit;
    else
        set->used[number / 64] &= ~bit;
}

static void write_set(struct layer_device *dev, struct layer_descriptor_set *set, const VkWriteDescriptorSet *write)
{
    uint32_t first = lap_set_layout_slot(set->layout, write->dstBinding, write->dstArrayElement);
    for (uint32_t i = 0; i < write->descriptorCount && first < set->slot_count && i < set->slot_count - first; i++) {
        struct layer_descriptor_slot slot = {0};
        if (!layer_slot_of_write(dev, write, i, &slot) && !set->slots)
            continue; /* the usual case: sampled images, and buffers that the host can't reach */
        if (!make_slots(set))
            return;
        set_slot(set, first + i, slot);
    }
}

static void copy_set(struct layer_descriptor_set *to, const struct layer_descriptor_set *from,
                     const VkCopyDescriptorSet *copy)
{
    uint32_t source = lap_set_layout_slot(from->layout, copy->srcBinding, copy->srcArrayElement);
    uint32_t target = lap_set_layout_slot(to->layout, copy->dstBinding, copy->dstArrayElement);
    uint32_t count = copy->descriptorCount;

    if (source >= from->slot_count || target >= to->slot_count || (!from->slots && !to->slots))
        return;
    if (count > from->slot_count - source)
        count = from->slot_count - source;
    if (count > to->slot_count - target)
        count = to->slot_count - target;
    if (!make_slots(to))
        return;
    for (uint32_t i = 0; i < count; i++) /* "source and destination must not overlap" */
        set_slot(to, target + i, from->slots ? from->slots[source + i] : (struct layer_descriptor_slot){0});
}

void hook_after_UpdateDescriptorSets(struct layer_device *dev, VkDevice device, uint32_t descriptorWriteCount,
                                     const VkWriteDescriptorSet *pDescriptorWrites, uint32_t descriptorCopyCount,
                                     const VkCopyDescriptorSet *pDescriptorCopies)
{
    if (!layer_is_recording())
        return;
    for (uint32_t i = 0; layer.options.parts.on && i < descriptorWriteCount; i++)
        layer_descriptor_contents_write(dev, &pDescriptorWrites[i]);
    for (uint32_t i = 0; layer.options.parts.on && i < descriptorCopyCount; i++)
        layer_descriptor_contents_copy(dev, &pDescriptorCopies[i]);
    for (uint32_t i = 0; i < descriptorWriteCount; i++) {
        struct layer_descriptor_set *set = LAYER_GET(dev, VkDescriptorSet, pDescriptorWrites[i].dstSet);
        if (!set || !set->layout)
            continue;
        if (layer_set_is_updated_in_use(set))
            pthread_mutex_lock(&dev->descriptors.mutex);
        write_set(dev, set, &pDescriptorWrites[i]);
        if (layer_set_is_updated_in_use(set))
            pthread_mutex_unlock(&dev->descriptors.mutex);
    }
    for (uint32_t i = 0; i < descriptorCopyCount; i++) {
        struct layer_descriptor_set *to = LAYER_GET(dev, VkDescriptorSet, pDescriptorCopies[i].dstSet);
        const struct layer_descriptor_set *from = LAYER_GET(dev, VkDescriptorSet, pDescriptorCopies[i].srcSet);
        if (!to || !to->layout || !from || !from->layout)
            continue;
        bool in_use = layer_set_is_updated_in_use(to) || layer_set_is_updated_in_use(from);
        if (in_use)
            pthread_mutex_lock(&dev->descriptors.mutex);
        copy_set(to, from, &pDescriptorCopies[i]);
        if (in_use)
            pthread_mutex_unlock(&dev->descriptors.mutex);
    }
}
