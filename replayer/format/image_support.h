/* SPDX-License-Identifier: MIT */
/* image_support: queries the driver's support of images. One thread. */
#ifndef LAP_REPLAYER_FORMAT_IMAGE_SUPPORT_H
#define LAP_REPLAYER_FORMAT_IMAGE_SUPPORT_H

#include "replayer/core/device.h"

/* Queries the driver for such images (`info` is adapted). LAP_ERROR_UNSUPPORTED with a sentence and its position
 * where the driver reports no support. Drivers create more than they report, so this is for a report and does not
 * stop a replay. LAP_OK also where no query is possible. */
enum lap_status replay_format_image_supported(struct replay *r, const struct replay_device *dev,
                                              const VkImageCreateInfo *info) LAP_MUST_CHECK;
/* Whether the driver supports images like this one for all of its usage, by a query without its chain. */
bool replay_format_image_has_usage(const struct replay_device *dev, const VkImageCreateInfo *info);
/* The same in a replay, which goes on: one warning for each kind of image, with the first image. */
void replay_format_image_warn(struct replay *r, struct replay_device *dev, uint64_t index,
                              const VkImageCreateInfo *info);

#endif
