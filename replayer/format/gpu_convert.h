/* SPDX-License-Identifier: MIT */
/*
 * gpu_convert: converts texels (texel_convert.h) on the device, within command buffers of the trace. Texels pass
 * through a buffer of the converter. It belongs to one command buffer, serves again when that is recorded again, and
 * ends with it or with the device.
 *
 * A command buffer that executes several times at once has one such buffer; docs/architecture.md has the reason why
 * this suffices ("Formats").
 *
 * A conversion changes the compute bind point: pipeline and descriptor sets, but no push constants. One thread.
 */
#ifndef LAP_REPLAYER_FORMAT_GPU_CONVERT_H
#define LAP_REPLAYER_FORMAT_GPU_CONVERT_H

#include "replayer/core/replay.h"
#include "replayer/format/block_format.h"
#include "replayer/format/texel_convert.h"

struct replay_format_converter; /* replay_device.formats.converter; made when first needed */

/* Room for texels between two copies of one command buffer. */
struct replay_format_texels {
    VkBuffer buffer;
    VkDeviceSize from, to; /* offsets of texels before and after the conversion: multiples of 16 */
    uint64_t count;
    VkDescriptorSet set;
};

/* How many texels one buffer may hold on this device for a conversion. */
uint64_t replay_format_converter_limit(const struct replay_device *dev, enum replay_format_conversion conversion);

/* Begins a conversion in a command buffer that is being recorded outside of render passes. Then the caller copies
 * texels to out->buffer at out->from. */
enum lap_status replay_format_converter_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                              enum replay_format_conversion conversion, uint64_t texels,
                                              struct replay_format_texels *out) LAP_MUST_CHECK;
/* Converts the copied texels. Then the caller copies them from the buffer at `to`. */
enum lap_status replay_format_converter_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            enum replay_format_conversion conversion,
                                            const struct replay_format_texels *texels) LAP_MUST_CHECK;

/* ---- blocks of compressed texels ---- */

#define REPLAY_DECODER_REGIONS 128u /* that one dispatch decodes */

/* Rows of blocks in the room, and where their texels go: rows of whole blocks, side by side. */
struct replay_decoder_region {
    VkDeviceSize from, to;           /* offsets in the room's buffer: multiples of 16 */
    uint32_t columns, rows, slices;  /* blocks */
    uint32_t row_pitch, slice_pitch; /* in front of the decoder; blocks */
};

/* How many bytes of blocks and texels one room may hold on this device. */
VkDeviceSize replay_format_decoder_limit(const struct replay_device *dev);
/* The same as replay_format_converter_begin, for `from_bytes` of blocks and `to_bytes` of texels. */
enum lap_status replay_format_decoder_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                            VkDeviceSize from_bytes, VkDeviceSize to_bytes,
                                            struct replay_format_texels *out) LAP_MUST_CHECK;
/* Decodes regions: 1 to REPLAY_DECODER_REGIONS, with less than 2^31 blocks together. `substitute` is one of the
 * format. */
enum lap_status replay_format_decoder_run(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          const struct replay_block_format *format,
                                          const struct replay_block_substitute *substitute,
                                          const struct replay_format_texels *room,
                                          const struct replay_decoder_region *regions, uint32_t count) LAP_MUST_CHECK;

/* The command buffer is begun again: its buffers may be used again. */
void replay_format_converter_reuse(struct replay_device *dev, VkCommandBuffer commands);
/* The command buffer ends. */
void replay_format_converter_forget(struct replay_device *dev, VkCommandBuffer commands);
void replay_format_converter_destroy(struct replay_device *dev); /* all of it; also without a converter */

#endif
