/* SPDX-License-Identifier: MIT */
/*
 * image_modifier: which DRM format modifier an image has, and where its memory planes lie
 * (VK_EXT_image_drm_format_modifier). A program may leave the choice to the driver, and a trace has to say what became
 * of it: image creations are recorded with the modifier and the planes that the driver gives. Any thread.
 */
#ifndef LAP_LAYER_IMAGE_MODIFIER_H
#define LAP_LAYER_IMAGE_MODIFIER_H

#include "codegen/support/modifier.h"
#include "layer/core/layer.h"

/* Storage for what is recorded of one creation. */
struct layer_image_modifier {
    VkImageCreateInfo info;
    VkImageDrmFormatModifierExplicitCreateInfoEXT is;
    VkSubresourceLayout planes[LAP_MEMORY_PLANES];
};

/* What to record of the creation of an image, which is there now: `asked`, with the structure of the modifier in front
 * of the chain if the program did not choose the modifier itself. It points to `out`. */
const VkImageCreateInfo *layer_image_modifier_record(struct layer_device *dev, VkImage image,
                                                     const VkImageCreateInfo *asked, struct layer_image_modifier *out);

/* To the record of the image: what layer_image_modifier_record gave. An image that is linear by its modifier counts as
 * one of linear tiling from now on. */
void layer_image_modifier_remember(struct layer_image *image, const VkImageCreateInfo *recorded);

#endif
