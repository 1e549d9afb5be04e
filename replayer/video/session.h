/* SPDX-License-Identifier: MIT */
/* session: video sessions in a replay (session.c). One thread. */
#ifndef LAP_REPLAYER_VIDEO_SESSION_H
#define LAP_REPLAYER_VIDEO_SESSION_H

#include "replayer/core/device.h"

/* Refuses a session (its index in the trace; the queue family is the replay device's) that this device and its driver
 * can't code. */
enum lap_status replay_video_session_supported(struct replay *r, const struct replay_device *dev, uint64_t index,
                                               const VkVideoSessionCreateInfoKHR *info) LAP_MUST_CHECK;

#endif
