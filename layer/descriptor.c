/* SPDX-License-Identifier: MIT */
/*
 * descriptors: records of layouts, pools and sets. A set remembers what memory each of its descriptors names, so that a
 * submit can tell what bound sets reach.
 *
 * Descriptors are updated and used under the program's own synchronisation. The exception are bindings that may be
 * updated while command buffers use them: several threads may write to different descriptors of such a set at once,
 * also while it is looked up for a submit that does not use these descriptors. Their slots are under dev->slots_mutex.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/records.h"
#include "layer/touched.h"

/* ---- layouts ---- */

static void layout_release(struct layer_set_layout_data *data)
{
    if (data && atomic_fetch_sub_explicit(&data->references, 1, memory_order_acq_rel) == 1)
        free(data);
}

void layer_set_layout_finish(struct lap_object *object)
{
    layout_release(((struct layer_set_layout *)object)->data);
}

static int compare_bindings(const void *a, const void *b)
{
    uint32_t x = ((const struct layer_descriptor_binding *)a)->binding,
             y = ((const struct layer_descriptor_binding *)b)->binding;
    return x < y ? -1 : x > y;
}

static void number_slots(struct layer_set_layout_data *data)
{
    for (uint32_t i = 0; i < data->binding_count; i++) {
        struct layer_descriptor_binding *binding = &data->bindings[i];
        binding->first = data->slot_count;
        /* descriptorCount of an inline block is a number of bytes. */
        if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK || binding->count > UINT32_MAX - data->slot_count)
            binding->count = 0;
        data->slot_count += binding->count;
        if (layer_descriptor_is_dynamic(binding->type))
            data->dynamic_count += binding->count;
    }
}

static struct layer_set_layout_data *layout_data(const VkDescriptorSetLayoutCreateInfo *info)
{
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags = NULL;
    const VkDescriptorBindingFlags late =
        VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT | VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT;
    const VkDescriptorBindingFlags table =
        late | VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT | VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
    struct layer_set_layout_data *data = calloc(1, sizeof *data + info->bindingCount * sizeof data->bindings[0]);

    if (!data)
        return NULL;
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO)
            flags = (const void *)s;
    atomic_init(&data->references, 1);
    data->binding_count = info->bindingCount;
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *from = &info->pBindings[i];
        data->bindings[i] = (struct layer_descriptor_binding){
            .binding = from->binding, .count = from->descriptorCount, .type = from->descriptorType};
        if (!flags || i >= flags->bindingCount)
            continue;
        data->bindings[i].table = flags->pBindingFlags[i] & table;
        if (flags->pBindingFlags[i] & late)
            data->updated_in_use = true;
        if (flags->pBindingFlags[i] & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT)
            data->variable_count = true;
    }
    qsort(data->bindings, data->binding_count, sizeof data->bindings[0], compare_bindings);
    number_slots(data);
    return data;
}

void hook_after_CreateDescriptorSetLayout(struct layer_device *dev, VkDevice device,
                                          const VkDescriptorSetLayoutCreateInfo *pCreateInfo,
                                          const VkAllocationCallbacks *pAllocator, VkDescriptorSetLayout *pSetLayout,
                                          VkResult result)
{
    struct layer_set_layout *layout = LAYER_GET(dev, VkDescriptorSetLayout, *pSetLayout);
    if (!layout || layout->data) /* the driver may give equal layouts the same handle */
        return;
    layout->data = layout_data(pCreateInfo);
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
    layout_release(set->layout);
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
        if (pool->sets == set) { /* an alias went; a handle that a pool gave twice has one record */
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
    const VkDescriptorSetVariableDescriptorCountAllocateInfo *variable = NULL;

    for (const VkBaseInStructure *s = pAllocateInfo->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO)
            variable = (const void *)s;
    for (uint32_t i = 0; i < pAllocateInfo->descriptorSetCount; i++) {
        struct layer_descriptor_set *set = LAYER_GET(dev, VkDescriptorSet, pDescriptorSets[i]);
        const struct layer_set_layout *layout = LAYER_GET(dev, VkDescriptorSetLayout, pAllocateInfo->pSetLayouts[i]);
        if (!set || !layout || !layout->data || set->layout || !pool)
            continue;
        atomic_fetch_add_explicit(&layout->data->references, 1, memory_order_relaxed);
        set->layout = layout->data;
        set->slot_count = layout->data->slot_count;
        if (layout->data->variable_count && layout->data->binding_count) {
            const struct layer_descriptor_binding *last = &layout->data->bindings[layout->data->binding_count - 1];
            uint32_t count = variable && i < variable->descriptorSetCount ? variable->pDescriptorCounts[i] : 0;
            set->slot_count = last->first + (count < last->count ? count : last->count);
        }
        set->next_in_pool = pool->sets;
        set->previous_in_pool = &pool->sets;
        if (pool->sets)
            pool->sets->previous_in_pool = &set->next_in_pool;
        pool->sets = set;
    }
}

/* ---- updates ---- */

/* Where the slots of a write begin; UINT32_MAX when there are none. Elements past a binding's end are in the bindings
 * behind it, as in the specification ("consecutive binding updates"): slots stand in the same order. */
static uint32_t first_slot(const struct layer_descriptor_set *set, uint32_t binding, uint32_t element)
{
    const struct layer_set_layout_data *layout = set->layout;
    uint32_t low = 0, high = layout->binding_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (layout->bindings[middle].binding < binding)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == layout->binding_count || layout->bindings[low].binding != binding ||
        layout->bindings[low].type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK ||
        element > UINT32_MAX - layout->bindings[low].first)
        return UINT32_MAX;
    return layout->bindings[low].first + element;
}

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
    uint32_t first = first_slot(set, write->dstBinding, write->dstArrayElement);
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
    uint32_t source = first_slot(from, copy->srcBinding, copy->srcArrayElement);
    uint32_t target = first_slot(to, copy->dstBinding, copy->dstArrayElement);
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
    for (uint32_t i = 0; i < descriptorWriteCount; i++) {
        struct layer_descriptor_set *set = LAYER_GET(dev, VkDescriptorSet, pDescriptorWrites[i].dstSet);
        if (!set || !set->layout)
            continue;
        if (set->layout->updated_in_use)
            pthread_mutex_lock(&dev->slots_mutex);
        write_set(dev, set, &pDescriptorWrites[i]);
        if (set->layout->updated_in_use)
            pthread_mutex_unlock(&dev->slots_mutex);
    }
    for (uint32_t i = 0; i < descriptorCopyCount; i++) {
        struct layer_descriptor_set *to = LAYER_GET(dev, VkDescriptorSet, pDescriptorCopies[i].dstSet);
        const struct layer_descriptor_set *from = LAYER_GET(dev, VkDescriptorSet, pDescriptorCopies[i].srcSet);
        if (!to || !to->layout || !from || !from->layout)
            continue;
        bool in_use = to->layout->updated_in_use || from->layout->updated_in_use;
        if (in_use)
            pthread_mutex_lock(&dev->slots_mutex);
        copy_set(to, from, &pDescriptorCopies[i]);
        if (in_use)
            pthread_mutex_unlock(&dev->slots_mutex);
    }
}
