/* SPDX-License-Identifier: MIT */
#include "layer/memory/address_range.h"

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "layer/core/layer.h"

struct range {
    struct lap_tree_node node;
    VkBuffer buffer;
    const struct layer_buffer *record;
};

#define OF(n) ((struct range *)((char *)(n)-offsetof(struct range, node)))

static bool names_addresses(const char *extension)
{
    static const char *const names[] = {"VK_KHR_device_address_commands", "VK_KHR_copy_memory_indirect",
                                        "VK_NV_copy_memory_indirect",     "VK_EXT_memory_decompression",
                                        "VK_NV_memory_decompression",     "VK_EXT_device_generated_commands"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], extension) == 0)
            return true;
    return false;
}

void layer_address_ranges_init(struct layer_device *dev, const VkDeviceCreateInfo *info)
{
    struct layer_address_device *addresses = &dev->addresses;

    layer_mutex_init(&addresses->range_mutex);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        addresses->has_ranges |= names_addresses(info->ppEnabledExtensionNames[i]) ||
                                 (layer.options.parts.on && strcmp(info->ppEnabledExtensionNames[i],
                                                                   VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME) == 0);
}

void layer_address_ranges_finish(struct layer_device *dev)
{
    struct layer_address_device *addresses = &dev->addresses;

    while (addresses->ranges) {
        struct range *range = OF(addresses->ranges);
        lap_tree_remove(&addresses->ranges, &range->node);
        free(range);
    }
    pthread_mutex_destroy(&addresses->range_mutex);
}

/* Under the mutex. */
struct search {
    const struct layer_buffer *record; /* NULL: any that holds all of the bytes */
    uint64_t begin, end;
    struct range *found;
};

static void look(void *context, struct lap_tree_node *node)
{
    struct search *search = context;
    if (search->record ? OF(node)->record == search->record
                       : node->begin <= search->begin && node->end >= search->end && !search->found)
        search->found = OF(node);
}

void layer_address_range_add(struct layer_device *dev, VkBuffer buffer, const struct layer_buffer *record,
                             uint64_t address)
{
    struct layer_address_device *addresses = &dev->addresses;
    struct search known = {record, address, address + 1, NULL};
    struct range *range;

    if (!addresses->has_ranges || !address || !record->bytes || record->bytes > UINT64_MAX - address)
        return;
    pthread_mutex_lock(&addresses->range_mutex);
    lap_tree_visit(addresses->ranges, known.begin, known.end, look, &known);
    range = known.found ? NULL : calloc(1, sizeof *range);
    if (range) {
        range->buffer = buffer;
        range->record = record;
        range->node.begin = address;
        range->node.end = address + record->bytes;
        range->node.order = ++addresses->range_order;
        lap_tree_insert(&addresses->ranges, &range->node);
    }
    pthread_mutex_unlock(&addresses->range_mutex);
}

void layer_address_range_remove(struct layer_device *dev, const struct layer_buffer *record)
{
    struct layer_address_device *addresses = &dev->addresses;
    uint64_t address = atomic_load_explicit(&record->address, memory_order_relaxed);
    struct search search = {record, address, address + 1, NULL};

    if (!addresses->has_ranges || !address)
        return;
    pthread_mutex_lock(&addresses->range_mutex);
    lap_tree_visit(addresses->ranges, search.begin, search.end, look, &search);
    if (search.found)
        lap_tree_remove(&addresses->ranges, &search.found->node);
    pthread_mutex_unlock(&addresses->range_mutex);
    free(search.found);
}

bool layer_address_range_find(struct layer_device *dev, uint64_t address, uint64_t bytes, VkBuffer *out_buffer,
                              VkDeviceSize *out_offset)
{
    struct layer_address_device *addresses = &dev->addresses;
    struct search search = {NULL, address, address + (bytes ? bytes : 1), NULL};

    if (!addresses->has_ranges || search.end <= search.begin)
        return false;
    pthread_mutex_lock(&addresses->range_mutex);
    lap_tree_visit(addresses->ranges, search.begin, search.end, look, &search);
    if (search.found) {
        *out_buffer = search.found->buffer;
        *out_offset = address - search.found->node.begin;
    }
    pthread_mutex_unlock(&addresses->range_mutex);
    return search.found != NULL;
}

struct longest {
    const struct range *found;
};

static void look_for_longest(void *context, struct lap_tree_node *node)
{
    struct longest *search = context;
    if (OF(node)->record->readable && (!search->found || node->end > search->found->node.end))
        search->found = OF(node);
}

bool layer_address_range_readable(struct layer_device *dev, uint64_t address, VkBuffer *out_buffer,
                                  VkDeviceSize *out_offset, VkDeviceSize *out_bytes)
{
    struct layer_address_device *addresses = &dev->addresses;
    struct longest search = {NULL};

    if (!addresses->has_ranges || address == UINT64_MAX)
        return false;
    pthread_mutex_lock(&addresses->range_mutex);
    lap_tree_visit(addresses->ranges, address, address + 1, look_for_longest, &search);
    if (search.found) {
        *out_buffer = search.found->buffer;
        *out_offset = address - search.found->node.begin;
        *out_bytes = search.found->node.end - address;
    }
    pthread_mutex_unlock(&addresses->range_mutex);
    return search.found != NULL;
}
