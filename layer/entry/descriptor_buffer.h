/* SPDX-License-Identifier: MIT */
/* descriptor_buffer: records descriptors that lie in buffers for a replay (docs/memory.md, "Descriptor buffers"). */
#ifndef LAP_LAYER_ENTRY_DESCRIPTOR_BUFFER_H
#define LAP_LAYER_ENTRY_DESCRIPTOR_BUFFER_H

#include "layer/core/layer.h"

/* When the device was created: asks the driver for sizes, where the program enabled descriptor buffers. */
void layer_descriptor_buffers_init(struct layer_device *dev, const VkDeviceCreateInfo *info);
/* After a layout was created: records the driver's offsets of its descriptors. */
void layer_descriptor_buffers_layout(struct layer_device *dev, VkDescriptorSetLayout layout,
                                     const VkDescriptorSetLayoutCreateInfo *info);

#endif
