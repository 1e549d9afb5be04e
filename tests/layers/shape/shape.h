/* SPDX-License-Identifier: MIT */
/* What the topics of the shape layer have in common; shape.c says what the layer is. */
#ifndef TESTS_LAYERS_SHAPE_SHAPE_H
#define TESTS_LAYERS_SHAPE_SHAPE_H

#include "tests/layers/chain.h"

#define SHAPE_VISIBLE      ((VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
#define SHAPE_LOCAL        ((VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
#define SHAPE_MAX_FAMILIES 32u

/* Memory types as they are shown; host_half: the half of a split type into which no optimal image goes. */
struct shape_types {
    uint32_t count, heap_count;
    VkMemoryType shown[VK_MAX_MEMORY_TYPES];
    VkMemoryHeap heaps[VK_MAX_MEMORY_HEAPS];
    uint32_t real[VK_MAX_MEMORY_TYPES];
    bool host_half[VK_MAX_MEMORY_TYPES];
};

struct shape_device {
    struct chain_device chain;
    struct shape_types types; /* memory.c */
    uint32_t allocations;
    bool behind; /* queues.c */
    VkDeviceQueueCreateInfo queues[SHAPE_MAX_FAMILIES];
};

/* A file of this folder: the words of LAPILLI_SHAPE that it understands, and the functions that it changes. */
struct shape_topic {
    /* `value` is what stands behind '=', or "". False: no word of this topic, or no value for it. */
    bool (*read_word)(const char *name, const char *value);
    /* NULL: changes none. */
    void (*show_limits)(VkPhysicalDeviceLimits *limits);
    /*
     * The device as it is made below; what `info` then points to lies in the device. An error: it is not made at all.
     * NULL: changes nothing.
     */
    VkResult (*change_device)(struct shape_device *device, VkDeviceCreateInfo *info);
    void (*device_created)(struct shape_device *device);
    const struct chain_function *functions; /* up to CHAIN_END */
};
extern const struct shape_topic shape_memory, shape_resources, shape_limits, shape_features, shape_formats,
    shape_queues, shape_owners, shape_windows, shape_structures, shape_groups;

/* The topic number i, NULL behind the last. */
const struct shape_topic *shape_topic(size_t i);

struct shape_device *shape_device_of(const void *dispatchable);

/* Reads a number that is not 0. */
bool shape_read_number(const char *text, uint64_t *out);
void shape_raise(VkDeviceSize *limit, VkDeviceSize least);

/* What must be known of an object later. A list begins as NULL. False: there is no memory. Any thread. */
struct shape_noted;
bool shape_note(struct shape_noted **list, VkDevice device, uint64_t handle);
bool shape_is_noted(struct shape_noted *const *list, VkDevice device, uint64_t handle);
void shape_forget(struct shape_noted **list, VkDevice device, uint64_t handle);

/* The shown types of these real ones; `optimal`: for an image of optimal tiling. */
uint32_t shape_shown_mask(const struct shape_types *types, uint32_t real_mask, bool optimal);
/* For shape_owners: what was made, with the family that is shown. */
void shape_note_pool(VkCommandPool pool, uint32_t family);
void shape_note_image(VkImage image, const VkImageCreateInfo *info);
/* Is the format taken away? */
bool shape_format_is_gone(VkFormat format);

#endif
