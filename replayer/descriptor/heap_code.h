/* SPDX-License-Identifier: MIT */
/* heap_code: adapts places in descriptor heaps that pipelines and shaders declare, for a driver whose descriptors have
 * other sizes (heaps.h). One thread. */
#ifndef LAP_REPLAYER_DESCRIPTOR_HEAP_CODE_H
#define LAP_REPLAYER_DESCRIPTOR_HEAP_CODE_H

#include "replayer/core/device.h"

/* Adapts the decoded arguments of vkCreateShaderModule, vkCreateShadersEXT and vkCreate*Pipelines: offsets of mappings
 * are scaled, and SPIR-V that takes sizes of descriptors from the driver gets the recorded ones (then in the replay's
 * scratch memory). Leaves other commands alone. Call it once for a call, where dev->descriptors.buffers is set. Refuses
 * code that can't be adapted. */
enum lap_status replay_heaps_adapt_call(struct replay *r, struct replay_device *dev, uint32_t command,
                                        void *args) LAP_MUST_CHECK;

#endif
