/* SPDX-License-Identifier: MIT */
/*
 * descriptors: the contents of a trace's descriptor sets, as the calls so far leave them. The module sees packets.
 * Updates with templates are plain writes in a trace. Descriptors that a driver need not keep (of a destroyed buffer)
 * stay as they were written. Descriptors of pushes, descriptor buffers and heaps are in no set. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_DESCRIPTORS_H
#define LAP_INSPECTOR_STATE_DESCRIPTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/map.h"
#include "inspector/analysis/trace_pass.h"
#include "vulkan/set_layout.h"

/* One descriptor. Objects by their numbers in the trace; 0: VK_NULL_HANDLE, or none of this type. */
struct descriptor {
    VkDescriptorType type;  /* of the write: of a mutable binding the type that it has now */
    uint32_t object_type;   /* of `object`: enum gen_handle_type, or GEN_HANDLE_NONE */
    uint64_t object;        /* VkImageView, VkBuffer, VkBufferView, VkAccelerationStructureKHR or …NV */
    uint64_t sampler;       /* also the immutable one of the layout */
    uint64_t offset, range; /* of a buffer */
    VkImageLayout layout;   /* of an image */
    uint64_t ticket;        /* of the update; 0: it was never written */
};

/* The bytes of an inline uniform block. */
struct descriptor_block {
    const uint8_t *bytes, *known; /* known: 1: the byte was written */
    uint32_t size;                /* up to the last byte that was written */
    uint64_t ticket;
};

struct descriptor_set;

struct descriptors {
    struct lap_map layouts, sets, pools;
    uint64_t written, unpaid; /* descriptors; unpaid: that take no bytes of the trace */
    uint64_t slots_bytes;     /* memory of the sets that live */
};

void descriptors_init(struct descriptors *descriptors);
void descriptors_finish(struct descriptors *descriptors); /* also for a zeroed one */

/* For the list of a trace_visitor's commands. */
#define DESCRIPTORS_COMMANDS                                                                                           \
    GEN_vkCreateDescriptorSetLayout, GEN_vkDestroyDescriptorSetLayout, GEN_vkDestroyDescriptorPool,                    \
        GEN_vkResetDescriptorPool, GEN_vkAllocateDescriptorSets, GEN_vkFreeDescriptorSets, GEN_vkUpdateDescriptorSets
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY; LAP_ERROR_LIMIT: there are too many descriptors. */
enum lap_status descriptors_see(struct descriptors *descriptors, const struct trace_call *call) LAP_MUST_CHECK;

/* NULL: it does not live, or its layout is not known. */
const struct descriptor_set *descriptors_of(const struct descriptors *descriptors, uint64_t set);

const struct lap_set_layout *descriptor_set_layout(const struct descriptor_set *set);
uint64_t descriptor_set_layout_index(const struct descriptor_set *set); /* VkDescriptorSetLayout */
/* Slots: vulkan/set_layout.h. Fewer than the layout's where the last binding has a variable count. */
uint32_t descriptor_set_slots(const struct descriptor_set *set);
/* False: it was never written, and has no immutable sampler. */
bool descriptor_get(const struct descriptor_set *set, uint32_t slot, struct descriptor *out);
/* The first slot from `slot` on that descriptor_get has, below `end`; else `end`. */
uint32_t descriptor_next(const struct descriptor_set *set, uint32_t slot, uint32_t end);
/* NULL: the binding is no inline uniform block, or it was never written. */
const struct descriptor_block *descriptor_block_of(const struct descriptor_set *set, uint32_t binding);

/* The descriptors that a write has values for; 0 of an inline uniform block. */
uint32_t descriptor_count_of_write(const VkWriteDescriptorSet *write);
/* The descriptor number `element` of those. */
void descriptor_of_write(const VkWriteDescriptorSet *write, uint32_t element, struct descriptor *out);

#endif
