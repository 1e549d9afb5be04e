/* SPDX-License-Identifier: MIT */
/*
 * descriptor_contents: the contents of the descriptors of each set, for a part of the run that begins later. Objects
 * are remembered by handle and index: descriptors of destroyed objects are undefined, and left out.
 *
 * Under the device's descriptors.mutex, which the functions take.
 */
#ifndef LAP_LAYER_DESCRIPTOR_CONTENTS_H
#define LAP_LAYER_DESCRIPTOR_CONTENTS_H

#include "layer/core/descriptor_record.h"
#include "layer/core/layer.h"

/* An update of a set, by vkUpdateDescriptorSets or by a template. */
void layer_descriptor_contents_write(struct layer_device *dev, const VkWriteDescriptorSet *write);
void layer_descriptor_contents_copy(struct layer_device *dev, const VkCopyDescriptorSet *copy);

/* Writes vkUpdateDescriptorSets with all contents of the device's sets. LAP_ERROR_MEMORY: some are missing. */
enum lap_status layer_descriptor_contents_emit(struct layer_device *dev) LAP_MUST_CHECK;

#endif
