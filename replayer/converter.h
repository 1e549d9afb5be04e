/* SPDX-License-Identifier: MIT */
/*
 * converter: conversions of texels (convert.h) by the device, within command buffers of the trace. Texels pass through
 * a buffer of the converter's, which belongs to the command buffer that it was made for: it is taken again when that is
 * recorded anew, and goes with it or with the device.
 *
 * A command buffer that is under way several times at once has one such buffer: why that is enough,
 * docs/architecture.md says ("Formats").
 *
 * What is recorded changes the compute bind point: pipeline and descriptor sets, but no push constants. One thread.
 */
#ifndef LAP_REPLAYER_CONVERTER_H
#define LAP_REPLAYER_CONVERTER_H

#include "replayer/context.h"
#include "replayer/convert.h"

struct replay_converter; /* replay_device.converter; made when first needed */

/* Room for texels between two copies; contents are those that one command buffer gives it. */
struct replay_texels {
    VkBuffer buffer;
    VkDeviceSize from, to; /* where texels begin before and after the conversion: multiples of 16 */
    uint64_t count;
    VkDescriptorSet set;
};

/* How many texels one buffer may have here for a conversion. */
uint64_t replay_converter_limit(const struct replay_device *dev, enum replay_conversion conversion);

/* Begins a conversion in a command buffer that is being recorded outside of render passes: afterwards texels may be
 * copied to out->buffer from out->from on. */
enum lap_status replay_converter_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                       enum replay_conversion conversion, uint64_t texels,
                                       struct replay_texels *out) LAP_MUST_CHECK;
/* Converts what was copied: afterwards it may be copied from buffer from `to` on. */
enum lap_status replay_converter_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                     enum replay_conversion conversion,
                                     const struct replay_texels *texels) LAP_MUST_CHECK;

/* The command buffer is recorded anew: what was made for it may be used again. */
void replay_converter_reuse(struct replay_device *dev, VkCommandBuffer commands);
/* The command buffer is gone. */
void replay_converter_forget(struct replay_device *dev, VkCommandBuffer commands);
void replay_converter_destroy(struct replay_device *dev); /* all of it; also without a converter */

#endif
