/* SPDX-License-Identifier: MIT */
/* descriptor_record: the records of descriptor sets and of framebuffers, which both name resources. */
#ifndef LAP_LAYER_DESCRIPTOR_RECORD_H
#define LAP_LAYER_DESCRIPTOR_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/object.h"
#include "gen_ids.h"
#include "layer/core/resource_record.h"
#include "vulkan/set_layout.h"

struct layer_set_layout {
    struct lap_object object;
    struct lap_set_layout *data; /* vulkan/set_layout.h; NULL when out of memory */
};

/* Memory that a descriptor names. Not a pointer, since the resource may be destroyed before the set is used again. */
struct layer_descriptor_slot {
    uint64_t resource; /* layer_resource; 0: nothing that the host can touch; LAYER_RESOURCE_UNKNOWN */
    union {
        struct {
            VkDeviceSize offset, bytes;
        };
        struct layer_view_range view; /* of images */
    };
    bool written; /* the device may write through it */
};

struct layer_descriptor_contents;
void layer_descriptor_contents_finish(struct layer_descriptor_contents *contents); /* NULL is fine */

struct layer_descriptor_set {
    struct lap_object object;
    struct lap_set_layout *layout;
    struct layer_descriptor_set *next_in_pool, **previous_in_pool;
    struct layer_descriptor_slot *slots; /* NULL until one of them names something */
    uint64_t *used;                      /* a bit for each slot that does: most of a large set is often empty */
    uint32_t slot_count;
    struct layer_descriptor_contents *contents; /* part/descriptor_contents.h; NULL: nothing yet */
    uint64_t resolved; /* the last submit for which its slots were looked up; under submit.mutex */
};

struct layer_template {
    struct lap_object object;
    VkDescriptorUpdateTemplateType kind;
    VkDescriptorUpdateTemplateEntry *entries;
    uint32_t entry_count, set;
    VkPipelineBindPoint bind_point;
};

struct layer_descriptor_pool {
    struct lap_object object;
    struct layer_descriptor_set *sets; /* linked through next_in_pool */
};

/* Attachments in memory that the program can map. */
struct layer_framebuffer {
    struct lap_object object;
    struct layer_framebuffer_view {
        uint64_t resource; /* layer_resource */
        struct layer_view_range range;
        uint32_t attachment; /* its number */
    } * views;
    uint32_t view_count;
    uint32_t layers; /* that are drawn to, where the render pass has no view masks */
};

#endif
