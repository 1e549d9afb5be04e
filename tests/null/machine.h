/* SPDX-License-Identifier: MIT */
/* machine: what the null driver promises, as far as the rest of it must keep that. */
#ifndef LAP_TESTS_NULL_MACHINE_H
#define LAP_TESTS_NULL_MACHINE_H

#include "tests/null/null.h"

#define NULL_FAMILIES 4u /* the third decodes video, the fourth encodes it */
#define NULL_QUEUES   4u /* of each family */

uint32_t null_memory_types(void); /* a mask of all */
bool null_memory_is_visible(uint32_t type);

void null_fill_descriptor_properties(VkPhysicalDeviceDescriptorBufferPropertiesEXT *properties);
#ifdef VK_EXT_descriptor_heap
void null_fill_heap_properties(VkPhysicalDeviceDescriptorHeapPropertiesEXT *properties);
#endif

/* Older headers have encoding only among what is provisional. */
#define NULL_QUEUE_DECODE ((VkQueueFlags)0x20)
#define NULL_QUEUE_ENCODE ((VkQueueFlags)0x40)
/* What a family with these flags says of video in a chain. */
void null_fill_video_family(VkQueueFlags flags, void *chain);

/* A fence, or a semaphore that is binary; 0: none. */
void null_signal(uint64_t id);

#endif
