/* SPDX-License-Identifier: MIT */
#include "base/file/png.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/new_file.h"

/* Screenshots are written while a replay waits: level 3 takes about half the time of zlib's default 6. */
#define COMPRESSION_LEVEL 3

enum kind { KIND_NONE, KIND_BYTES, KIND_PACKED, KIND_FLOATS };
#define NO_CHANNEL 0xff

/* Red, green and blue: at which byte of KIND_BYTES, or at which bit of KIND_PACKED and how wide. */
static const struct layout {
    uint8_t bytes, kind, at[3], bits[3];
} layouts[LAP_PIXEL_LAYOUT_COUNT] = {
    [LAP_PIXEL_R8] = {1, KIND_BYTES, {0, 0, 0}, {0}},
    [LAP_PIXEL_RG8] = {2, KIND_BYTES, {0, 1, NO_CHANNEL}, {0}},
    [LAP_PIXEL_RGB8] = {3, KIND_BYTES, {0, 1, 2}, {0}},
    [LAP_PIXEL_BGR8] = {3, KIND_BYTES, {2, 1, 0}, {0}},
    [LAP_PIXEL_RGBA8] = {4, KIND_BYTES, {0, 1, 2}, {0}},
    [LAP_PIXEL_BGRA8] = {4, KIND_BYTES, {2, 1, 0}, {0}},
    [LAP_PIXEL_BGR565] = {2, KIND_PACKED, {11, 5, 0}, {5, 6, 5}},
    [LAP_PIXEL_RGB565] = {2, KIND_PACKED, {0, 5, 11}, {5, 6, 5}},
    [LAP_PIXEL_BGRA5551] = {2, KIND_PACKED, {10, 5, 0}, {5, 5, 5}},
    [LAP_PIXEL_ABGR1555] = {2, KIND_PACKED, {11, 6, 1}, {5, 5, 5}},
    [LAP_PIXEL_ABGR4] = {2, KIND_PACKED, {12, 8, 4}, {4, 4, 4}},
    [LAP_PIXEL_RGBA1010102] = {4, KIND_PACKED, {0, 10, 20}, {10, 10, 10}},
    [LAP_PIXEL_BGRA1010102] = {4, KIND_PACKED, {20, 10, 0}, {10, 10, 10}},
    [LAP_PIXEL_RGBA16] = {8, KIND_PACKED, {0, 16, 32}, {16, 16, 16}},
    [LAP_PIXEL_RGBA16F] = {8, KIND_FLOATS, {0}, {0}},
    [LAP_PIXEL_RGBA32F] = {16, KIND_FLOATS, {0}, {0}},
    [LAP_PIXEL_RGB11F] = {4, KIND_FLOATS, {0}, {0}},
};

size_t lap_pixel_bytes(enum lap_pixel_layout layout)
{
    return (unsigned)layout < LAP_PIXEL_LAYOUT_COUNT ? layouts[layout].bytes : 0;
}

/* `bits` bits of value from `shift` on, scaled to 0..255 with rounding. */
static uint8_t scaled(uint64_t value, unsigned shift, unsigned bits)
{
    uint32_t max = (1u << bits) - 1;
    return (uint8_t)((((uint32_t)(value >> shift) & max) * 255u + max / 2) / max);
}

uint8_t lap_png_srgb8(float linear)
{
    if (!(linear > 0))
        return 0;
    if (linear >= 1)
        return 255;
    linear = linear <= 0.0031308f ? linear * 12.92f : 1.055f * powf(linear, 1 / 2.4f) - 0.055f;
    return (uint8_t)(linear * 255.0f + 0.5f);
}

/* A small float: 5 bits of exponent above `mantissa_bits`, and a sign above those where `is_signed`. */
static float small_float(uint32_t value, unsigned mantissa_bits, bool is_signed)
{
    uint32_t mantissa = value & ((1u << mantissa_bits) - 1), exponent = value >> mantissa_bits & 31;
    float result;

    if (exponent == 31)
        result = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        result = ldexpf((float)mantissa, -14 - (int)mantissa_bits);
    else
        result = ldexpf((float)(mantissa | 1u << mantissa_bits), (int)exponent - 15 - (int)mantissa_bits);
    return is_signed && value >> (mantissa_bits + 5) & 1 ? -result : result;
}

static uint64_t load(const uint8_t *p, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

static void bytes_to_rgb(const struct layout *layout, const uint8_t *p, size_t count, uint8_t *out)
{
    const uint8_t zero = 0;
    for (int c = 0; c < 3; c++) {
        bool none = layout->at[c] == NO_CHANNEL;
        const uint8_t *from = none ? &zero : p + layout->at[c];
        for (size_t i = 0; i < count; i++, from += none ? 0 : layout->bytes)
            out[3 * i + (size_t)c] = *from;
    }
}

static void packed_to_rgb(const struct layout *layout, const uint8_t *p, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++, p += layout->bytes, out += 3) {
        uint64_t value = load(p, layout->bytes);
        for (int c = 0; c < 3; c++)
            out[c] = scaled(value, layout->at[c], layout->bits[c]);
    }
}

static void floats_to_rgb(enum lap_pixel_layout layout, const uint8_t *p, size_t count, uint8_t *out)
{
    size_t step = layouts[layout].bytes;
    for (size_t i = 0; i < count; i++, p += step, out += 3) {
        float rgb[3];
        if (layout == LAP_PIXEL_RGBA32F) {
            memcpy(rgb, p, sizeof rgb);
        } else if (layout == LAP_PIXEL_RGBA16F) {
            for (int c = 0; c < 3; c++)
                rgb[c] = small_float((uint32_t)load(p + 2 * c, 2), 10, true);
        } else {
            uint32_t value = (uint32_t)load(p, 4);
            rgb[0] = small_float(value & 0x7ff, 6, false);
            rgb[1] = small_float(value >> 11 & 0x7ff, 6, false);
            rgb[2] = small_float(value >> 22, 5, false);
        }
        for (int c = 0; c < 3; c++)
            out[c] = lap_png_srgb8(rgb[c]);
    }
}

void lap_pixels_to_rgb8(enum lap_pixel_layout layout, const void *pixels, size_t count, uint8_t *out)
{
    const struct layout *how = &layouts[(unsigned)layout < LAP_PIXEL_LAYOUT_COUNT ? layout : LAP_PIXEL_NONE];

    if (how->kind == KIND_BYTES)
        bytes_to_rgb(how, pixels, count, out);
    else if (how->kind == KIND_PACKED)
        packed_to_rgb(how, pixels, count, out);
    else if (how->kind == KIND_FLOATS)
        floats_to_rgb(layout, pixels, count, out);
    else
        memset(out, 0, 3 * count);
}

struct png_job {
    jmp_buf back;
    char message[160];
};

static void on_error(png_structp png, png_const_charp message)
{
    struct png_job *job = png_get_error_ptr(png);
    snprintf(job->message, sizeof job->message, "%s", message);
    longjmp(job->back, 1);
}

static void on_warning(png_structp png, png_const_charp message) {}

struct picture {
    enum lap_png_kind kind;
    uint32_t width, height;
    lap_png_row_fn fill;
    const void *context;
};

static const struct kind_of_picture {
    uint8_t color, depth, bytes; /* bytes: of a pixel */
} kinds[LAP_PNG_KIND_COUNT] = {
    [LAP_PNG_GREY8] = {PNG_COLOR_TYPE_GRAY, 8, 1},
    [LAP_PNG_GREY16] = {PNG_COLOR_TYPE_GRAY, 16, 2},
    [LAP_PNG_RGB8] = {PNG_COLOR_TYPE_RGB, 8, 3},
    [LAP_PNG_RGBA8] = {PNG_COLOR_TYPE_RGB_ALPHA, 8, 4},
};

/* In a function of its own: longjmp may change local variables here, but not the caller's. */
static bool write_rows(struct png_job *job, png_structp png, png_infop info, FILE *file, const struct picture *picture,
                       void *row)
{
    if (setjmp(job->back))
        return false;
    png_init_io(png, file);
    png_set_compression_level(png, COMPRESSION_LEVEL);
    png_set_IHDR(png, info, picture->width, picture->height, kinds[picture->kind].depth, kinds[picture->kind].color,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    if (kinds[picture->kind].depth == 16)
        png_set_swap(png); /* of machines that are little-endian, as texels are */
    for (uint32_t y = 0; y < picture->height; y++) {
        picture->fill(picture->context, y, row);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

/* name: for messages. */
static enum lap_status write_to(FILE *file, const char *name, const struct picture *picture)
{
    struct png_job job = {.message = ""};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    void *row = malloc((size_t)picture->width * kinds[picture->kind].bytes);
    enum lap_status status = LAP_OK;

    if (!info || !row)
        status = lap_fail(LAP_ERROR_MEMORY, "%s: out of memory", name);
    else if (!write_rows(&job, png, info, file, picture, row))
        status = lap_fail(LAP_ERROR_IO, "%s: %s", name, job.message);
    free(row);
    png_destroy_write_struct(&png, &info);
    return status;
}

static enum lap_status write_picture(const char *path, const struct picture *picture)
{
    enum lap_status status;
    struct stat info_of_file;
    bool is_regular;
    FILE *file;
    int fd;

    fd = lap_new_file(path);
    is_regular = fd >= 0 && fstat(fd, &info_of_file) == 0 && S_ISREG(info_of_file.st_mode);
    file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!file) {
        status = lap_fail(LAP_ERROR_IO, "%s: %s", path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
        if (fd >= 0)
            close(fd);
        if (is_regular)
            unlink(path);
        return status;
    }
    status = write_to(file, path, picture);
    if (fclose(file) != 0 && status == LAP_OK)
        status = lap_fail(LAP_ERROR_IO, "%s: %s", path, strerror(errno));
    if (status != LAP_OK && is_regular)
        unlink(path);
    return status;
}

static bool has_size(uint32_t width, uint32_t height)
{
    return width && height && width <= PNG_UINT_31_MAX / 16 && height <= PNG_UINT_31_MAX;
}

enum lap_status lap_png_write_rows(const char *path, enum lap_png_kind kind, uint32_t width, uint32_t height,
                                   lap_png_row_fn fill, const void *context)
{
    const struct picture picture = {kind, width, height, fill, context};

    if ((unsigned)kind >= LAP_PNG_KIND_COUNT || !has_size(width, height))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s: no picture of %u x %u pixels", path, width, height);
    return write_picture(path, &picture);
}

enum lap_status lap_png_write_rows_to(FILE *file, const char *name, enum lap_png_kind kind, uint32_t width,
                                      uint32_t height, lap_png_row_fn fill, const void *context)
{
    const struct picture picture = {kind, width, height, fill, context};

    if ((unsigned)kind >= LAP_PNG_KIND_COUNT || !has_size(width, height))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s: no picture of %u x %u pixels", name, width, height);
    return write_to(file, name, &picture);
}

struct pixels {
    enum lap_pixel_layout layout;
    const uint8_t *pixels;
    uint32_t width;
};

static void fill_with_pixels(const void *context, uint32_t y, void *row)
{
    const struct pixels *from = context;

    lap_pixels_to_rgb8(from->layout, from->pixels + (size_t)y * from->width * layouts[from->layout].bytes, from->width,
                       row);
}

enum lap_status lap_png_write(const char *path, enum lap_pixel_layout layout, const void *pixels, uint32_t width,
                              uint32_t height)
{
    const struct pixels from = {layout, pixels, width};
    const struct picture picture = {LAP_PNG_RGB8, width, height, fill_with_pixels, &from};

    if (!lap_pixel_bytes(layout) || !has_size(width, height))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s: no picture of %u x %u pixels of layout %d", path, width, height,
                        (int)layout);
    return write_picture(path, &picture);
}

/* ---- reading ---- */

static enum lap_status read_from(FILE *file, const char *path, png_image *image, uint8_t **out)
{
    if (!png_image_begin_read_from_stdio(image, file))
        return lap_fail(LAP_ERROR_IO, "%s: %s", path, image->message);
    if ((uint64_t)image->width * image->height > LAP_PNG_MOST_PIXELS)
        return lap_fail(LAP_ERROR_LIMIT, "%s: a picture of %u x %u pixels is too large", path, image->width,
                        image->height);
    image->format = PNG_FORMAT_RGBA;
    image->flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    *out = malloc(PNG_IMAGE_SIZE(*image));
    if (!*out)
        return lap_no_memory(path);
    return png_image_finish_read(image, NULL, *out, 0, NULL) ? LAP_OK
                                                             : lap_fail(LAP_ERROR_IO, "%s: %s", path, image->message);
}

enum lap_status lap_png_read(const char *path, uint8_t **out_rgba, uint32_t *out_width, uint32_t *out_height)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer, too */
    png_image image = {.version = PNG_IMAGE_VERSION};
    enum lap_status status;
    struct stat is;
    FILE *file = NULL;

    *out_rgba = NULL;
    if (fd >= 0 && fstat(fd, &is) == 0 && S_ISREG(is.st_mode))
        file = fdopen(fd, "rb");
    if (file) {
        status = read_from(file, path, &image, out_rgba);
        (void)fclose(file);
    } else {
        status = lap_fail(LAP_ERROR_IO, "%s: %s", path, fd < 0 ? strerror(errno) : "it is no regular file");
        if (fd >= 0)
            close(fd);
    }
    png_image_free(&image);
    *out_width = image.width;
    *out_height = image.height;
    if (status != LAP_OK) {
        free(*out_rgba);
        *out_rgba = NULL;
    }
    return status;
}
