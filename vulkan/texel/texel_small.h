/* SPDX-License-Identifier: MIT */
/*
 * texel_small: a picture with fewer pixels: each is the mean of those that it stands for. Any thread.
 */
#ifndef LAP_VULKAN_TEXEL_TEXEL_SMALL_H
#define LAP_VULKAN_TEXEL_TEXEL_SMALL_H

#include "vulkan/texel/texel_picture.h"

struct lap_small_picture {
    const struct lap_picture *of;
    uint32_t width, height;
    void *row;      /* of that picture */
    uint64_t *sums; /* [sample of a row] */
};

/* At most that many pixels wide and high, and never larger than the picture, which stays as long as this one is used.
 * LAP_ERROR_MEMORY. */
enum lap_status lap_small_picture_make(const struct lap_picture *of, uint32_t most,
                                       struct lap_small_picture *out) LAP_MUST_CHECK;
void lap_small_picture_finish(struct lap_small_picture *small); /* also of a zeroed one */

/* A lap_png_row_fn. context: a struct lap_small_picture, which one thread uses. */
void lap_small_picture_row(const void *context, uint32_t y, void *row);

#endif
