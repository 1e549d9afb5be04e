/* SPDX-License-Identifier: MIT */
/*
 * set_layout: the descriptors of a set, and their order. Descriptors are numbered through all bindings, in the order of
 * the bindings' numbers. Such a number is a slot. Programs may destroy a layout before its sets and pipeline layouts,
 * so layouts have a reference count.
 *
 * Immutable after creation; any thread may take and release references.
 */
#ifndef LAP_VULKAN_SET_LAYOUT_H
#define LAP_VULKAN_SET_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#define LAP_NO_SLOT UINT32_MAX

struct lap_set_binding {
    uint32_t binding, count, first; /* first: the slot of element 0 */
    uint32_t bytes;                 /* of an inline uniform block, which has no slots */
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

/* Returns it with one reference; NULL: out of memory. Null arrays count as empty. */
struct lap_set_layout *lap_set_layout_new(const VkDescriptorSetLayoutCreateInfo *info);
struct lap_set_layout *lap_set_layout_keep(struct lap_set_layout *layout);
void lap_set_layout_release(struct lap_set_layout *layout); /* NULL is fine */

/* The slot of a binding's element, or LAP_NO_SLOT. Elements past a binding's end are in the next bindings
 * ("consecutive binding updates", specification, "Descriptor Set Updates"), so there may be fewer slots. */
uint32_t lap_set_layout_slot(const struct lap_set_layout *layout, uint32_t binding, uint32_t element);

/* The bytes of an inline uniform block from an offset on. An offset past its end becomes one in the next block, in the
 * same way. 0: there is no block. */
uint32_t lap_set_layout_bytes(const struct lap_set_layout *layout, uint32_t *binding, uint32_t *offset);

/* The number of slots of set number `number` among the sets of an allocation. It is below the layout's number where
 * the last binding has a variable count. */
uint32_t lap_set_layout_slots(const struct lap_set_layout *layout, const VkDescriptorSetAllocateInfo *info,
                              uint32_t number);

#endif
