/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_small.h"

#include <stdlib.h>
#include <string.h>

static uint32_t scaled(uint32_t side, uint32_t longest, uint32_t most)
{
    const uint64_t wanted = longest > most ? (uint64_t)side * most / longest : side;

    return wanted ? (uint32_t)wanted : 1;
}

enum lap_status lap_small_picture_make(const struct lap_picture *of, uint32_t most, struct lap_small_picture *out)
{
    const uint32_t longest = of->width > of->height ? of->width : of->height;

    *out = (struct lap_small_picture){
        .of = of, .width = scaled(of->width, longest, most), .height = scaled(of->height, longest, most)};
    out->row = calloc((size_t)of->width * 4 + 1, sizeof(uint16_t));
    out->sums = calloc((size_t)out->width * 4 + 1, sizeof *out->sums);
    return out->row && out->sums ? LAP_OK : lap_no_memory("a small picture");
}

void lap_small_picture_finish(struct lap_small_picture *small)
{
    free(small->row);
    free(small->sums);
    *small = (struct lap_small_picture){.of = NULL};
}

/* The first pixel of the larger picture that pixel `at` of the smaller one stands for. */
static uint32_t first_of(uint32_t at, uint32_t small, uint32_t large)
{
    return (uint32_t)((uint64_t)at * large / small);
}

static void add_row(const struct lap_small_picture *small, uint32_t y)
{
    const struct lap_picture *of = small->of;
    const uint16_t *wide = small->row;
    const uint8_t *narrow = small->row;

    lap_picture_row(of, y, small->row);
    for (uint32_t x = 0; x < small->width; x++)
        for (uint32_t i = first_of(x, small->width, of->width); i < first_of(x + 1, small->width, of->width); i++)
            for (unsigned k = 0; k < of->count; k++) {
                const size_t at = (size_t)i * of->count + k;
                small->sums[(size_t)x * of->count + k] += of->kind == LAP_PNG_GREY16 ? wide[at] : narrow[at];
            }
}

void lap_small_picture_row(const void *context, uint32_t y, void *row)
{
    const struct lap_small_picture *small = context;
    const struct lap_picture *of = small->of;
    const uint32_t first = first_of(y, small->height, of->height), end = first_of(y + 1, small->height, of->height);
    uint16_t *wide = row;
    uint8_t *narrow = row;

    memset(small->sums, 0, (size_t)small->width * of->count * sizeof *small->sums);
    for (uint32_t i = first; i < end; i++)
        add_row(small, i);
    for (uint32_t x = 0; x < small->width; x++) {
        const uint64_t pixels =
            (uint64_t)(end - first) * (first_of(x + 1, small->width, of->width) - first_of(x, small->width, of->width));
        for (unsigned k = 0; k < of->count; k++) {
            const uint64_t mean = (small->sums[(size_t)x * of->count + k] + pixels / 2) / pixels;
            if (of->kind == LAP_PNG_GREY16)
                *wide++ = (uint16_t)mean;
            else
                *narrow++ = (uint8_t)mean;
        }
    }
}
