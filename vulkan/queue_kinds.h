/* SPDX-License-Identifier: MIT */
/* queue_kinds: the kinds of queues, and sets of them as small numbers: commands and stages need a queue that is of one
 * of several kinds. */
#ifndef LAP_VULKAN_QUEUE_KINDS_H
#define LAP_VULKAN_QUEUE_KINDS_H

#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* Older headers have encoding only among provisional extensions. */
#define LAP_QUEUE_VIDEO_DECODE ((VkQueueFlags)0x20)
#define LAP_QUEUE_VIDEO_ENCODE ((VkQueueFlags)0x40)
#define LAP_QUEUE_KINDS                                                                                                \
    (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT |              \
     LAP_QUEUE_VIDEO_DECODE | LAP_QUEUE_VIDEO_ENCODE)
#define LAP_QUEUE_KIND_COUNT 6u

/* Without the bit between sparse binding and video, which is no queue kind. */
static inline uint32_t lap_queue_kinds_pack(VkQueueFlags flags)
{
    return (flags & 0xf) | (flags >> 1 & 0x30);
}

/* A bit of a number with one bit for each set of kinds; 0: no known kind. */
static inline uint64_t lap_queue_kinds_set(VkQueueFlags flags)
{
    uint32_t packed = lap_queue_kinds_pack(flags);
    return packed ? UINT64_C(1) << packed : 0;
}

#endif
