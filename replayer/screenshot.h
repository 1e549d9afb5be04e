/* SPDX-License-Identifier: MIT */
/*
 * screenshot: presented images as PNG files, DIR/frame_N.png, frames counted from 1. Where one call presents to several
 * swapchains, those behind the first are called frame_N_2.png and so on.
 */
#ifndef LAP_REPLAYER_SCREENSHOT_H
#define LAP_REPLAYER_SCREENSHOT_H

#include "replayer/context.h"

/* number: which swapchain of the present, from 0. Pixels are rows without padding. */
enum lap_status replay_screenshot_write(struct replay *r, uint64_t frame, uint32_t number, VkFormat format,
                                        VkExtent2D extent, const void *pixels) LAP_MUST_CHECK;

#endif
