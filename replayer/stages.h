/* SPDX-License-Identifier: MIT */
/*
 * stages: bits in masks of pipeline stages and accesses that only devices with some feature know (VUIDs
 * vkCmdPipelineBarrier-srcStageMask-04090 and the like). Programs put them into barriers where they switched the
 * feature on; where it was left out, since nothing uses it, decoders leave the bits out too. One thread.
 */
#ifndef LAP_REPLAYER_STAGES_H
#define LAP_REPLAYER_STAGES_H

#include "replayer/context.h"

/* A device is made with this create info: from now on r->source leaves out what none of the trace's devices knows. */
void replay_stages_choose(struct replay *r, const VkDeviceCreateInfo *info);

#endif
