/* SPDX-License-Identifier: MIT */
/*
 * format: which format stands here for a recorded one of images. Before the first device is made, all images of the
 * trace whose formats may be replaced are looked up (image_use.c); where the device promises not all of them, another
 * format stands for the recorded one, in everything: images, views, render passes, pipelines (decoders replace the
 * numbers, see lap_dec_source.formats). Copies between such images and buffers convert texels (follow.h).
 *
 *   depth formats   one with depth and stencil for one with depth and stencil, one with depth for one with depth: the
 *                   first more precise one that has all images, or the first less precise one
 *   stencil alone   one with depth and stencil, whose depth is left alone (stencil.h)
 *   color formats   all of a kind (B8G8R8A8_*) at once, by those of the kind with the same components in another order,
 *                   so that views of one format of an image as another one of the kind stay what they are
 *
 * All else is left as it is, and refused where the driver has no such images: blocks of compressed texels. What decodes
 * those would choose here, and convert in convert.h.
 */
#ifndef LAP_REPLAYER_FORMAT_H
#define LAP_REPLAYER_FORMAT_H

#include "replayer/context.h"

/* ---- image_use.c: what the trace has ---- */

/* Images that are alike as far as formats go. */
struct replay_image_use {
    VkImageCreateInfo info; /* without pointers; extent, levels and layers are the largest of all */
    bool of_swapchain;
    bool seen_otherwise; /* views have formats of another kind */
    uint64_t count;
};

struct replay_image_uses {
    struct replay_image_use *uses;
    size_t count, capacity;
    uint64_t *push_templates; /* indices of update templates that push to the compute bind point, ascending */
    size_t template_count, template_capacity;
};

/* Reads the trace up to last_frame (0: all), on a reader of its own. *out may be finished after any outcome. */
enum lap_status replay_find_images(const struct lap_reader *trace, uint64_t last_frame,
                                   struct replay_image_uses *out) LAP_MUST_CHECK;
void replay_image_uses_finish(struct replay_image_uses *uses);

/* ---- format.c ---- */

/* The first format of the kind that a color format is of, and how many follow; 0: it is of none that can be replaced.
 */
VkFormat replay_format_kind(VkFormat format, uint32_t *out_count);
bool replay_format_is_depth_or_stencil(VkFormat format);

struct replay_formats {
    uint16_t here[LAP_DEC_FORMATS];
    bool follows; /* images of the trace have other formats here: copies must follow */
    struct replay_image_uses uses;
};

/* Once for each replay: sets r->formats, or leaves it NULL where every format stands for itself. Says what is replaced,
 * and tells the report. */
enum lap_status replay_formats_choose(struct replay *r, struct replay_device *dev) LAP_MUST_CHECK;
void replay_formats_destroy(struct replay *r);

/* What stands for a recorded format on the device. */
VkFormat replay_format_here(const struct replay_device *dev, VkFormat recorded);

/* False for compressed formats of which the device knows nothing in a tiling: it must not be asked for images of them.
 * Of other formats drivers make more than they promise. */
bool replay_format_can_be(const struct replay_device *dev, VkFormat format, VkImageTiling tiling);

/* "VK_FORMAT_X", for sentences. */
const char *replay_format_name(VkFormat format);

#endif
