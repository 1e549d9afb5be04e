/* SPDX-License-Identifier: MIT */
/*
 * format: substitutes recorded image formats that the replay device lacks. Before the first device is created, it
 * collects all images of the trace with replaceable formats (TRACE_ANALYSIS_IMAGES). Where the device does not support
 * all of them, another format substitutes the recorded one in images, views, render passes and pipelines (decoders
 * replace the numbers, see lap_dec_source.formats). Copies between such images and buffers convert texels
 * (format_copies.h).
 *
 *   depth formats   one with the same aspects: the first more precise one that supports all images, or the first less
 *                   precise one
 *   stencil alone   one with depth and stencil, whose depth is unused (stencil_only.h)
 *   color formats   all of a family (B8G8R8A8_*) at once, by the family with the same components in another order, so
 *                   that views with other formats of the family stay valid
 *
 *   compressed      BC1 to BC7, ETC2, EAC and the LDR profile of ASTC: an uncompressed one with the same components
 *                   (block_format.h), where no image is linear, sparse, copied by the host, or seen as texels of the
 * size of a block
 *
 * Other formats have no substitute. The replay refuses them where the driver lacks them.
 */
#ifndef LAP_REPLAYER_FORMAT_FORMAT_H
#define LAP_REPLAYER_FORMAT_FORMAT_H

#include "inspector/analysis/image_use.h"
#include "replayer/core/replay.h"

enum replay_block_feature {
    REPLAY_BLOCK_FEATURE_BC,
    REPLAY_BLOCK_FEATURE_ETC2,
    REPLAY_BLOCK_FEATURE_ASTC,
    REPLAY_BLOCK_FEATURES
};

struct replay_formats {
    uint16_t substitutes[LAP_DEC_FORMATS];
    bool differ;                              /* some format is substituted */
    bool converts_copies;                     /* images of the trace have substitutes: copies must convert */
    bool lacks_blocks[REPLAY_BLOCK_FEATURES]; /* images of the trace can neither be made nor decoded */
    const struct image_uses *uses;
};

/* Call it with the first device of a replay, before the driver makes it: chooses substitutes for formats that the
 * device lacks, logs and reports them. dev->formats.substitutes stays NULL where none is substituted. */
enum lap_status replay_format_choose(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
void replay_format_destroy(struct replay *r);

/* How the replay does without a feature that the device lacks (a static sentence without its subject); NULL: it can't,
 * or has not chosen yet. */
const char *replay_format_provides(const struct replay *r, const char *feature);

/* The substitute of a recorded format, or the format itself. */
VkFormat replay_format_substitute(const struct replay_device *dev, VkFormat recorded);

/* False for compressed formats that the device does not support in a tiling: the replay must not query images of
 * them. Of other formats drivers create more than they report. */
bool replay_format_can_be_queried(const struct replay_device *dev, VkFormat format, VkImageTiling tiling);

/* "VK_FORMAT_X", for messages. */
const char *replay_format_name(VkFormat format);

#endif
