/* SPDX-License-Identifier: MIT */
/* chain: structures in pNext chains. */
#ifndef LAP_VULKAN_CHAIN_H
#define LAP_VULKAN_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* Removes the structures of these types from a pNext chain; head points to the start of the chain (the decoder's own
 * memory). */
void lap_chain_drop(const void **head, const VkStructureType *types, size_t count);
/* The structure of a type in a chain; NULL: none. */
const void *lap_chain_find(const void *chain, VkStructureType type);
/* The usage of a buffer: that of a VkBufferUsageFlags2CreateInfo in the chain, which takes the place of the member, or
 * the member (VkBufferCreateInfo, pNext). */
uint64_t lap_chain_buffer_usage(const VkBufferCreateInfo *info);
/* The ids that the program gives to its presents (VK_KHR_present_id, VK_KHR_present_id2), one for each swapchain. NULL:
 * none, and *out_count is 0. */
const uint64_t *lap_chain_present_ids(const VkPresentInfoKHR *info, uint32_t *out_count);

#endif
