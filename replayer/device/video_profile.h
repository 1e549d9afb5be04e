/* SPDX-License-Identifier: MIT */
/* video_profile: profiles of video in a trace. Drivers follow the chain of a profile to the structure that its codec
 * needs, so a profile without it never reaches one. Any thread. */
#ifndef LAP_REPLAYER_DEVICE_VIDEO_PROFILE_H
#define LAP_REPLAYER_DEVICE_VIDEO_PROFILE_H

#include "replayer/core/replay.h"

bool replay_video_profile_is_whole(const VkVideoProfileInfoKHR *profile);
/* Refuses a chain (of a buffer, an image or a query pool) with a profile that is not whole. */
enum lap_status replay_video_profiles_check(struct replay *r, const void *chain) LAP_MUST_CHECK;

#endif
