/* SPDX-License-Identifier: MIT */
/*
 * texel_picture: texels as a picture. What is normalized without a sign, or sRGB, is shown as it is. Other values go
 * from black to white over a range. Floating-point colors are linear and become sRGB, as in screenshots; depths,
 * stencils and integers do not. A picture of one component is grey, with 16 bits where the component has more than 8.
 * Compressed texels are decoded for each row. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_PICTURE_H
#define LAP_VULKAN_TEXEL_TEXEL_PICTURE_H

#include "base/file/png.h"
#include "vulkan/texel/texel_values.h"
#include "vulkan/texel/texels.h"

struct lap_picture_options {
    bool has_range;
    double black, white; /* with has_range: two finite numbers that differ */
    /* "r", "g", "b" or "a": one of them, in grey. "rgba": with alpha, which NULL leaves out. Depths and stencils have
     * no other channel. */
    const char *channels;
};

struct lap_picture {
    const unsigned char *texels;
    uint32_t width, height; /* in texels */
    VkFormat vk_format;
    const struct gen_format *format;
    struct lap_texel_block block;
    bool is_blocks; /* compressed ones */
    enum lap_png_kind kind;
    unsigned count;    /* of samples of a pixel */
    int components[4]; /* for each sample, in format->components; -1: there is none, and the sample is 0 */
    bool has_range;    /* false: values are shown as they are */
    bool encodes;      /* linear to sRGB */
    double black, white;
    uint64_t nans, infinities; /* how many values of shown components are that */
};

/* Whether `text` is one that lap_picture_options.channels can have. */
bool lap_picture_has_channels(const char *text);
/* "A,B": two finite numbers that differ, for black and white. False: it is not that. */
bool lap_picture_parse_range(const char *text, struct lap_picture_options *out);

/* Decides how texels are shown. Without a range of its own a picture has that of the finite values that it shows (of
 * normalized formats -1 to 1; of floating-point colors 0 to 1 where all are in there). NaN is black. The texels lie as
 * in the packing of copies, in whole blocks, and stay as long as the picture is used. LAP_ERROR_UNSUPPORTED, with a
 * clause that says why of "it": no such aspect, format or channel. */
enum lap_status lap_picture_plan(VkFormat format, VkImageAspectFlags aspect, const struct lap_picture_options *options,
                                 const void *texels, uint32_t width, uint32_t height,
                                 struct lap_picture *out) LAP_MUST_CHECK;

/* A lap_png_row_fn: one row of the picture, 0 at the top. context: a struct lap_picture. */
void lap_picture_row(const void *context, uint32_t y, void *row);

#endif
