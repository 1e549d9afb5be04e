/* SPDX-License-Identifier: MIT */
/*
 * image_modifier: the DRM format modifier of an image, and the layout of its memory planes
 * (VK_EXT_image_drm_format_modifier). A program may leave the choice to the driver, and a trace needs the result: image
 * creations are recorded with the modifier and the planes of the driver. An image for an AHardwareBuffer is recorded as
 * one with the linear modifier: its contents may be recorded as rows, and all images of a buffer must be alike in a
 * replay (hardware_buffer.h). Any thread.
 */
#ifndef LAP_LAYER_IMAGE_MODIFIER_H
#define LAP_LAYER_IMAGE_MODIFIER_H

#include "layer/core/layer.h"
#include "vulkan/modifier.h"

/* Storage for the recorded create info of one image. */
struct layer_image_modifier {
    VkImageCreateInfo info;
    VkImageDrmFormatModifierExplicitCreateInfoEXT is;
    VkSubresourceLayout planes[LAP_MEMORY_PLANES];
};

/* The create info to record for a created image: `asked`, with the modifier structure in front of the chain if the
 * program did not choose the modifier itself. It points to `out`. */
const VkImageCreateInfo *layer_image_modifier_record(struct layer_device *dev, VkImage image,
                                                     const VkImageCreateInfo *asked, struct layer_image_modifier *out);

/* Stores the result of layer_image_modifier_record in the record of the image. An image that is linear by its modifier
 * counts as one of linear tiling from now on. */
void layer_image_modifier_remember(struct layer_image *image, const VkImageCreateInfo *recorded);

#endif
