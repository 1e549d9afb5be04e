/* SPDX-License-Identifier: MIT */
/*
 * heap_sizes: bytes and alignments of descriptors in descriptor heaps (VK_EXT_descriptor_heap) of one driver, by type.
 * The layer and the replayer each ask their own driver.
 *
 * No state. Any thread.
 */
#ifndef LAP_VULKAN_HEAP_SIZES_H
#define LAP_VULKAN_HEAP_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include <vulkan/vulkan.h>

#define LAP_HEAP_TYPES 9u /* samplers, images, buffers and acceleration structures */

struct lap_heap_sizes {
    uint32_t count; /* of types that the driver has */
    uint32_t types[LAP_HEAP_TYPES], sizes[LAP_HEAP_TYPES], alignments[LAP_HEAP_TYPES];
    uint32_t strides[LAP_HEAP_TYPES]; /* results of OpConstantSizeOfEXT: one for all types that share an alignment */
};

#ifdef VK_EXT_descriptor_heap
/* Whether a device is created with descriptor heaps. */
bool lap_heaps_enabled(const VkDeviceCreateInfo *info);
void lap_heap_sizes_get(PFN_vkGetPhysicalDeviceDescriptorSizeEXT size_of, VkPhysicalDevice gpu,
                        const VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties, struct lap_heap_sizes *out);
/* Raises the alignments to the largest powers of two that divide all sizes, in both: arrays without gaps keep them, and
 * fewer places have to be checked. */
void lap_heap_sizes_widen(struct lap_heap_sizes *sizes, VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties);
#endif

#endif
