/* SPDX-License-Identifier: MIT */
#include "vulkan/set_layout.h"

#include <stdlib.h>

#include "vulkan/chain.h"

static int compare_bindings(const void *a, const void *b)
{
    uint32_t x = ((const struct lap_set_binding *)a)->binding, y = ((const struct lap_set_binding *)b)->binding;
    return x < y ? -1 : x > y;
}

static void number_slots(struct lap_set_layout *layout)
{
    for (uint32_t i = 0; i < layout->binding_count; i++) {
        struct lap_set_binding *binding = &layout->bindings[i];
        binding->first = layout->slot_count;
        /* For an inline block, descriptorCount is a number of bytes. */
        if (binding->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
            binding->bytes = binding->count;
        if (binding->bytes || binding->count >= LAP_NO_SLOT - layout->slot_count)
            binding->count = 0;
        layout->slot_count += binding->count;
        if (lap_descriptor_is_dynamic(binding->type))
            layout->dynamic_count += binding->count;
    }
}

struct lap_set_layout *lap_set_layout_new(const VkDescriptorSetLayoutCreateInfo *info)
{
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    uint32_t count = info->pBindings ? info->bindingCount : 0;
    struct lap_set_layout *layout = calloc(1, sizeof *layout + count * sizeof layout->bindings[0]);

    if (!layout)
        return NULL;
    atomic_init(&layout->references, 1);
    layout->binding_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const VkDescriptorSetLayoutBinding *from = &info->pBindings[i];
        struct lap_set_binding *binding = &layout->bindings[i];
        *binding = (struct lap_set_binding){
            .binding = from->binding, .count = from->descriptorCount, .type = from->descriptorType};
        if (flags && flags->pBindingFlags && i < flags->bindingCount)
            binding->flags = flags->pBindingFlags[i];
        layout->flags |= binding->flags;
    }
    if (count)
        qsort(layout->bindings, count, sizeof layout->bindings[0], compare_bindings);
    number_slots(layout);
    return layout;
}

struct lap_set_layout *lap_set_layout_keep(struct lap_set_layout *layout)
{
    atomic_fetch_add_explicit(&layout->references, 1, memory_order_relaxed);
    return layout;
}

void lap_set_layout_release(struct lap_set_layout *layout)
{
    if (layout && atomic_fetch_sub_explicit(&layout->references, 1, memory_order_acq_rel) == 1)
        free(layout);
}

/* NULL: no binding has this number. */
static const struct lap_set_binding *find_binding(const struct lap_set_layout *layout, uint32_t binding)
{
    uint32_t low = 0, high = layout->binding_count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (layout->bindings[middle].binding < binding)
            low = middle + 1;
        else
            high = middle;
    }
    return low < layout->binding_count && layout->bindings[low].binding == binding ? &layout->bindings[low] : NULL;
}

uint32_t lap_set_layout_slot(const struct lap_set_layout *layout, uint32_t binding, uint32_t element)
{
    const struct lap_set_binding *found = find_binding(layout, binding);

    if (!found || found->type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK || element >= LAP_NO_SLOT - found->first)
        return LAP_NO_SLOT;
    return found->first + element;
}

uint32_t lap_set_layout_bytes(const struct lap_set_layout *layout, uint32_t *binding, uint32_t *offset)
{
    const struct lap_set_binding *end = layout->bindings + layout->binding_count, *at = find_binding(layout, *binding);

    if (!at || at->type != VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK)
        return 0;
    for (; at < end && !at->count && *offset >= at->bytes; at++)
        *offset -= at->bytes;
    if (at == end || at->count)
        return 0;
    *binding = at->binding;
    return at->bytes - *offset;
}

uint32_t lap_set_layout_slots(const struct lap_set_layout *layout, const VkDescriptorSetAllocateInfo *info,
                              uint32_t number)
{
    const VkDescriptorSetVariableDescriptorCountAllocateInfo *variable =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO);
    const struct lap_set_binding *last;
    uint32_t count;

    if (!(layout->flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT))
        return layout->slot_count;
    last = &layout->bindings[layout->binding_count - 1];
    count = variable && variable->pDescriptorCounts && number < variable->descriptorSetCount
                ? variable->pDescriptorCounts[number]
                : 0;
    return last->first + (count < last->count ? count : last->count);
}
