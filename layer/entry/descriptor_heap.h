/* SPDX-License-Identifier: MIT */
/* descriptor_heap: records descriptors that lie in heaps for a replay (docs/memory.md, "Descriptor heaps"). */
#ifndef LAP_LAYER_ENTRY_DESCRIPTOR_HEAP_H
#define LAP_LAYER_ENTRY_DESCRIPTOR_HEAP_H

#include "layer/core/layer.h"

/* After vkCreateDevice is recorded: records the driver's sizes, where the program enabled descriptor heaps. */
void layer_descriptor_heaps_describe(const struct layer_device *dev, const VkDeviceCreateInfo *info);
/* Properties that go to the program: alignments (vulkan/heap_sizes.h). */
void layer_descriptor_heaps_properties(struct layer_instance *instance, VkPhysicalDevice gpu,
                                       VkPhysicalDeviceProperties2 *properties);

#endif
