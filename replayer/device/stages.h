/* SPDX-License-Identifier: MIT */
/*
 * stages: bits in masks of pipeline stages and accesses that require a feature (VUIDs
 * vkCmdPipelineBarrier-srcStageMask-04090 and the like). Programs use them in barriers where the feature is enabled.
 * Where the replay leaves out an unused feature, decoders remove the bits too. One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_STAGES_H
#define LAP_REPLAYER_DEVICE_STAGES_H

#include "replayer/core/replay.h"

/* Call it with the create info of each device: from now on r->source removes the bits that none of the trace's devices
 * supports. */
void replay_stages_choose(struct replay *r, const VkDeviceCreateInfo *info);

#endif
