/* SPDX-License-Identifier: MIT */
/*
 * set_layout: which descriptors a set has, and in which order. Descriptors stand one behind the other, those of
 * bindings with smaller numbers first: their places are called slots here. Programs may destroy a layout that sets and
 * pipeline layouts were made of, so it is counted who has it.
 *
 * It does not change once it is made; any thread may keep and release it.
 */
#ifndef LAP_CODEGEN_SET_LAYOUT_H
#define LAP_CODEGEN_SET_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#define LAP_NO_SLOT UINT32_MAX

struct lap_set_binding {
    uint32_t binding, count, first; /* first: the slot of element 0; no slots in an inline uniform block */
    VkDescriptorType type;
    VkDescriptorBindingFlags flags;
};

struct lap_set_layout {
    atomic_uint references;
    uint32_t binding_count, slot_count, dynamic_count;
    VkDescriptorBindingFlags flags;    /* of all bindings together */
    struct lap_set_binding bindings[]; /* sorted by number */
};

static inline bool lap_descriptor_is_dynamic(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

/* With one reference; NULL without memory. Arrays that are null count as empty. */
struct lap_set_layout *lap_set_layout_new(const VkDescriptorSetLayoutCreateInfo *info);
struct lap_set_layout *lap_set_layout_keep(struct lap_set_layout *layout);
void lap_set_layout_release(struct lap_set_layout *layout); /* NULL is fine */

/* NULL: it has no binding of this number. */
const struct lap_set_binding *lap_set_layout_find(const struct lap_set_layout *layout, uint32_t binding);

/* The slot of a binding's element, or LAP_NO_SLOT. Elements past a binding's end are in the bindings behind it
 * ("consecutive binding updates", specification, "Descriptor Set Updates"), so there may be fewer slots. */
uint32_t lap_set_layout_slot(const struct lap_set_layout *layout, uint32_t binding, uint32_t element);

/* How many slots set number `number` has, of those that are allocated with this: less than the layout says where the
 * last binding is of variable count. */
uint32_t lap_set_layout_slots(const struct lap_set_layout *layout, const VkDescriptorSetAllocateInfo *info,
                              uint32_t number);

#endif
