/* SPDX-License-Identifier: MIT */
/*
 * block_copies: copies into images of a compressed format that the device lacks (block_format.h). Their blocks are
 * decoded on the device within the command buffer (gpu_convert.h). Nothing encodes blocks, so copies out of such images
 * are refused, except into images of the same format. One thread.
 */
#ifndef LAP_REPLAYER_FORMAT_BLOCK_COPIES_H
#define LAP_REPLAYER_FORMAT_BLOCK_COPIES_H

#include "replayer/core/replay.h"
#include "replayer/memory/resource.h"

/* Whether the replay decodes the blocks of an image. record may be NULL. */
bool replay_blocks_are_decoded(const struct replay_image *record);

/* Copies blocks from a buffer to such an image. */
enum lap_status replay_blocks_from_buffer(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          VkBuffer buffer, VkImage image, VkImageLayout layout, uint32_t count,
                                          const VkBufferImageCopy *regions) LAP_MUST_CHECK;

/* Copies texels of the size of a block, or blocks, from an image that is not decoded to one that is. */
enum lap_status replay_blocks_from_image(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                         VkImage from, VkImageLayout from_layout, VkImage to, VkImageLayout to_layout,
                                         uint32_t count, const VkImageCopy *regions) LAP_MUST_CHECK;

/* Whether the same blocks become the same texels in both formats, which the device lacks: sRGB differs in what the
 * texels mean. */
bool replay_blocks_decode_alike(VkFormat a, VkFormat b);

/* LAP_ERROR_UNSUPPORTED with a sentence: something reads the blocks of a decoded image. */
enum lap_status replay_blocks_refuse(struct replay *r, VkFormat recorded) LAP_MUST_CHECK;

#endif
