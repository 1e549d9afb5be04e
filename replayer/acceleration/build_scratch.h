/* SPDX-License-Identifier: MIT */
/*
 * build_scratch: the scratch memory of builds. The required size depends on the driver, so the program's memory may be
 * too small for the replay device. Each command buffer has pieces of the replay's own. Builds that share scratch memory
 * in the trace share a piece, since the program orders these; all others may run at the same time. A piece lasts as
 * long as its command buffer, and serves the next recording too. One thread.
 */
#ifndef LAP_REPLAYER_ACCELERATION_BUILD_SCRATCH_H
#define LAP_REPLAYER_ACCELERATION_BUILD_SCRATCH_H

#include "replayer/core/device.h"

/* A piece of `bytes` for a build that is being recorded. recorded: the address of the program's scratch memory. The
 * result has the device's alignment. */
enum lap_status replay_build_scratch_take(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          VkDeviceAddress recorded, VkDeviceSize bytes,
                                          VkDeviceAddress *out_address) LAP_MUST_CHECK;
/* The command buffer is recorded anew: all its pieces are free. */
void replay_build_scratch_reuse(struct replay_device *dev, VkCommandBuffer commands);
/* The command buffer ends. */
void replay_build_scratch_forget(struct replay_device *dev, VkCommandBuffer commands);
/* The end of the device, which is idle. */
void replay_build_scratch_destroy(struct replay_device *dev);

#endif
