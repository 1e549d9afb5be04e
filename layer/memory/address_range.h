/* SPDX-License-Identifier: MIT */
/*
 * address_range: the buffer at a device address, for commands that name memory by addresses
 * (layer/command/address_commands.c), and for the build inputs of acceleration structures. Kept only where the program
 * enabled such commands, or may have structures that a part of the run begins with. Any thread.
 */
#ifndef LAP_LAYER_ADDRESS_RANGE_H
#define LAP_LAYER_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct layer_device;
struct layer_buffer;

/* Before any other object of the device, and after the last one. */
void layer_address_ranges_init(struct layer_device *dev, const VkDeviceCreateInfo *info);
void layer_address_ranges_finish(struct layer_device *dev);

/* The program learned the buffer's address; and before the buffer is destroyed. Nothing happens without such commands.
 * Out of memory: addresses in the buffer are unknown. */
void layer_address_range_add(struct layer_device *dev, VkBuffer buffer, const struct layer_buffer *record,
                             uint64_t address);
void layer_address_range_remove(struct layer_device *dev, const struct layer_buffer *record);

/* A buffer that contains [address, address + bytes), and the offset in it. False: none is known. */
bool layer_address_range_find(struct layer_device *dev, uint64_t address, uint64_t bytes, VkBuffer *out_buffer,
                              VkDeviceSize *out_offset);

/* The buffer with transfer source usage that has most bytes from the address on, and their number. False: none is
 * known. */
bool layer_address_range_readable(struct layer_device *dev, uint64_t address, VkBuffer *out_buffer,
                                  VkDeviceSize *out_offset, VkDeviceSize *out_bytes);

#endif
