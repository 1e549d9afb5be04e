/* SPDX-License-Identifier: MIT */
/* create: creates the driver's buffers and images for decoded create infos (buffer.c, image.c, framebuffer.c). One
 * thread. */
#ifndef LAP_REPLAYER_RESOURCE_CREATE_H
#define LAP_REPLAYER_RESOURCE_CREATE_H

#include "replayer/core/device.h"

/* Creates the driver's object for a decoded create info. Changes the info first: removes parts that only the
 * recorded machine had, and adds the usage for the replay's own copies. */
VkResult replay_buffer_create(struct replay_device *dev, VkBufferCreateInfo *info, VkBuffer *out_buffer);
VkResult replay_image_create(struct replay_device *dev, VkImageCreateInfo *info, VkImage *out_image);
/* Where the replay makes the checks of capture --verify=all, adds the usage for copies from images, if the driver
 * supports that (framebuffer.c). */
void replay_image_need_usage(const struct replay *r, const struct replay_device *dev, VkImageCreateInfo *info);
/* replay_result for an image creation, with the recorded format in the sentence. */
enum lap_status replay_image_result(struct replay *r, const struct gen_args_vkCreateImage *args,
                                    VkResult result) LAP_MUST_CHECK;
/* Whether memory may be bound to this plane (VkImageAspectFlagBits of a disjoint image), or for 0 to all of it. */
bool replay_plane_is_valid(const struct replay_device *dev, const VkImageCreateInfo *info, VkImageAspectFlags plane);

/* Frees the state of query pools for a device, before it is destroyed. */
void replay_query_pools_finish(struct replay_device *dev);

#endif
