/* SPDX-License-Identifier: MIT */
/*
 * host_copy: replays the host's operations on images (VK_EXT_host_image_copy, Vulkan 1.4). A device that has
 * hostImageCopy for such images and their layouts repeats them by the same calls. Otherwise copies and barriers of the
 * replay's own (staging_image.h) replace them, in front of the next submission. Texels of substituted formats are
 * converted. One thread.
 */
#ifndef LAP_REPLAYER_RESOURCE_HOST_COPY_H
#define LAP_REPLAYER_RESOURCE_HOST_COPY_H

#include "replayer/core/device.h"

/* Call it with the device, when its functions are loaded. info: the device's create info. Sets dev->host_copies where
 * the device can copy by the host. */
enum lap_status replay_host_copies_create(struct replay *r, struct replay_device *dev,
                                          const VkDeviceCreateInfo *info) LAP_MUST_CHECK;
void replay_host_copies_destroy(struct replay_device *dev);

/* The usage that an image gets for the recorded one: where the device has no host copies, those that the replay's own
 * copies need. */
VkImageUsageFlags replay_host_copies_usage(const struct replay_device *dev, VkImageUsageFlags recorded);
/* The same for an image; also where the device has no host copies for images of its kind. Changes the info, and the
 * structures of its chain that name usage. */
void replay_host_copies_need_usage(const struct replay_device *dev, VkImageCreateInfo *info);

#endif
