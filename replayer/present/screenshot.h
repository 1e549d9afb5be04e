/* SPDX-License-Identifier: MIT */
/*
 * screenshot: writes presented images as PNG files, DIR/frame_N.png, with frames from 1. Where several
 * images are presented in one frame, the files after the first are frame_N_2.png and so on.
 */
#ifndef LAP_REPLAYER_PRESENT_SCREENSHOT_H
#define LAP_REPLAYER_PRESENT_SCREENSHOT_H

#include "replayer/core/replay.h"

/* number: of the image in the frame, from 0. Pixels are rows without padding. */
enum lap_status replay_screenshot_write(struct replay *r, uint64_t frame, uint32_t number, VkFormat format,
                                        VkExtent2D extent, const void *pixels) LAP_MUST_CHECK;

#endif
