/* SPDX-License-Identifier: MIT */
/*
 * shading_rate: attachments with rates of fragment shading (VK_KHR_fragment_shading_rate). The GPU sets how many pixels
 * a texel of one covers, and the program sized its image by that. Where the replay's GPU has no texels of that size,
 * rendering goes without the attachment: the pipeline and the primitives then set the rate.
 */
#ifndef LAP_REPLAYER_DEVICE_SHADING_RATE_H
#define LAP_REPLAYER_DEVICE_SHADING_RATE_H

#include "replayer/core/device.h"

/* Sizes of texels that a GPU has; zeroes: it has no such attachments. */
struct replay_rate_texels {
    VkExtent2D least, most;
};

struct replay_rate_texels replay_rate_texels_of(const struct replay_instance *instance, VkPhysicalDevice gpu);
bool replay_rate_texels_have(const struct replay_rate_texels *texels, VkExtent2D size);

/* Notes the sizes of the device, if `info` enables such attachments. After the device is made. */
void replay_shading_rate_begin(struct replay_device *dev, const VkDeviceCreateInfo *info);
/* Removes attachments that the device lacks; a message reports that once. Changes decoded structures. */
void replay_shading_rate_rendering(struct replay *r, struct replay_device *dev, const VkRenderingInfo *info);
void replay_shading_rate_pass(struct replay *r, struct replay_device *dev, const VkRenderPassCreateInfo2 *info);

#endif
