/* SPDX-License-Identifier: MIT */
/*
 * png: writes pixels in rows without padding as a PNG file, and reads such files. Knows no Vulkan: layouts are named by
 * the order of channels in memory.
 *
 * The picture of a layout is 8-bit RGB, as an sRGB screen would show it: alpha is dropped (a window shows none), linear
 * floating point is clamped to 0..1 and encoded as sRGB. Other pictures are filled row by row. Any thread; nothing is
 * kept between calls.
 */
#ifndef LAP_BASE_FILE_PNG_H
#define LAP_BASE_FILE_PNG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Channels from the lowest byte or, for packed ones, from the lowest bit. Integers are little-endian. */
enum lap_pixel_layout {
    LAP_PIXEL_NONE = 0,
    LAP_PIXEL_R8,
    LAP_PIXEL_RG8,
    LAP_PIXEL_RGB8,
    LAP_PIXEL_BGR8,
    LAP_PIXEL_RGBA8,
    LAP_PIXEL_BGRA8,
    LAP_PIXEL_BGR565,      /* 16 bits: blue lowest (VK_FORMAT_R5G6B5_UNORM_PACK16) */
    LAP_PIXEL_RGB565,      /* 16 bits: red lowest */
    LAP_PIXEL_BGRA5551,    /* 16 bits: blue lowest, alpha highest */
    LAP_PIXEL_ABGR1555,    /* 16 bits: alpha lowest, then blue; red highest */
    LAP_PIXEL_ABGR4,       /* 16 bits: alpha lowest, red highest */
    LAP_PIXEL_RGBA1010102, /* 32 bits: red lowest */
    LAP_PIXEL_BGRA1010102, /* 32 bits: blue lowest */
    LAP_PIXEL_RGBA16,      /* normalised */
    LAP_PIXEL_RGBA16F,
    LAP_PIXEL_RGBA32F,
    LAP_PIXEL_RGB11F, /* 32 bits: 11, 11 and 10 bits without sign, red lowest */
    LAP_PIXEL_LAYOUT_COUNT
};

/* Bytes of one pixel; 0 for LAP_PIXEL_NONE and invalid values. */
size_t lap_pixel_bytes(enum lap_pixel_layout layout);

/* Converts `count` pixels into 3 * count bytes of R, G, B. */
void lap_pixels_to_rgb8(enum lap_pixel_layout layout, const void *pixels, size_t count, uint8_t *out_rgb);

/* Writes width * height pixels, rows without padding, top row first. The file is new and for its owner alone;
 * one that exists is removed before, a symbolic link is an error. After another failure there is no file.
 * LAP_ERROR_ARGUMENT: no such layout, or a size that PNG does not have; LAP_ERROR_IO; LAP_ERROR_MEMORY.
 */
enum lap_status lap_png_write(const char *path, enum lap_pixel_layout layout, const void *pixels, uint32_t width,
                              uint32_t height) LAP_MUST_CHECK;

/* A linear value as an 8-bit sRGB one; NaN is black. */
uint8_t lap_png_srgb8(float linear);

enum lap_png_kind {
    LAP_PNG_GREY8,
    LAP_PNG_GREY16, /* rows of uint16_t */
    LAP_PNG_RGB8,
    LAP_PNG_RGBA8, /* alpha is not multiplied into the colors */
    LAP_PNG_KIND_COUNT
};
/* Fills a row, 0 at the top. */
typedef void (*lap_png_row_fn)(const void *context, uint32_t y, void *row);

/* The same for a picture that `fill` gives. LAP_ERROR_ARGUMENT: no such kind or size. */
enum lap_status lap_png_write_rows(const char *path, enum lap_png_kind kind, uint32_t width, uint32_t height,
                                   lap_png_row_fn fill, const void *context) LAP_MUST_CHECK;
/* To an open file, which the caller closes. name: for messages. */
enum lap_status lap_png_write_rows_to(FILE *file, const char *name, enum lap_png_kind kind, uint32_t width,
                                      uint32_t height, lap_png_row_fn fill, const void *context) LAP_MUST_CHECK;

#define LAP_PNG_MOST_PIXELS ((uint64_t)1 << 27) /* that are read */
/* Reads any PNG file as rows of R, G, B, A with 8 bits, as an sRGB screen would show them; alpha is not multiplied into
 * the colors. The caller frees *out_rgba. LAP_ERROR_IO, with a sentence: there is no such regular file, or no such
 * picture in it; LAP_ERROR_LIMIT: it is too large; LAP_ERROR_MEMORY. */
enum lap_status lap_png_read(const char *path, uint8_t **out_rgba, uint32_t *out_width,
                             uint32_t *out_height) LAP_MUST_CHECK;

#endif
