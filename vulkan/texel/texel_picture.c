/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/texel/texel_blocks.h"

static bool is_float(const struct gen_format *format)
{
    return format->numeric == GEN_NUMERIC_SFLOAT || format->numeric == GEN_NUMERIC_UFLOAT;
}

static bool is_normalized(const struct gen_format *format)
{
    return format->numeric == GEN_NUMERIC_UNORM || format->numeric == GEN_NUMERIC_SNORM ||
           format->numeric == GEN_NUMERIC_SRGB;
}

static bool is_color(const struct gen_format *format)
{
    return format->components[0].channel != 'D' && format->components[0].channel != 'S';
}

static int component_of(const struct gen_format *format, char channel)
{
    for (int i = 0; i < format->count; i++)
        if (format->components[i].channel == channel)
            return i;
    return -1;
}

/* ---- channels ---- */

bool lap_picture_parse_range(const char *text, struct lap_picture_options *out)
{
    char *end, *last;

    out->has_range = true;
    out->black = strtod(text, &end);
    out->white = *end == ',' ? strtod(end + 1, &last) : 0;
    return end != text && *end == ',' && last != end + 1 && !*last && isfinite(out->black) && isfinite(out->white) &&
           (out->black < out->white || out->black > out->white);
}

bool lap_picture_has_channels(const char *text)
{
    return strcmp(text, "rgba") == 0 || (strlen(text) == 1 && strchr("rgba", *text));
}

static enum lap_status choose_grey(struct lap_picture *picture, char channel)
{
    const struct gen_format *format = picture->format;
    const int component = is_color(format) && channel ? component_of(format, channel) : 0;

    if (component < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "has no channel %c", channel + ('a' - 'A'));
    picture->count = 1;
    picture->components[0] = component;
    picture->kind = format->components[component].bits > 8 ? LAP_PNG_GREY16 : LAP_PNG_GREY8;
    return LAP_OK;
}

static enum lap_status choose_samples(struct lap_picture *picture, const char *channels)
{
    const struct gen_format *format = picture->format;
    const bool one = channels && !channels[1];

    if (one || format->count == 1)
        return choose_grey(picture, one ? (char)(*channels - ('a' - 'A')) : 0);
    for (unsigned i = 0; i < 4; i++)
        picture->components[i] = component_of(format, "RGBA"[i]);
    picture->count = channels && picture->components[3] >= 0 ? 4 : 3;
    picture->kind = picture->count == 4 ? LAP_PNG_RGBA8 : LAP_PNG_RGB8;
    return LAP_OK;
}

/* ---- ranges ---- */

/* Alpha is shown as it is, but for integers. */
static bool is_opacity(const struct lap_picture *picture, unsigned sample)
{
    return sample == 3 && (is_float(picture->format) || is_normalized(picture->format));
}

/* The values of the texels from x on that share a block, or of one. Returns how many. */
static uint32_t values_at(const struct lap_picture *picture, uint32_t x, uint32_t y, double (*values)[4])
{
    const struct lap_texel_block *block = &picture->block;
    const uint64_t row = ((uint64_t)picture->width + block->width - 1) / block->width * block->bytes;
    const unsigned char *at = picture->texels + y / block->height * row + (size_t)(x / block->width) * block->bytes;

    if (!picture->is_blocks) {
        lap_texel_values(picture->format, at, values[0]);
        return 1;
    }
    lap_texel_block_row(picture->vk_format, at, y % block->height, values);
    return picture->width - x < block->width ? picture->width - x : block->width;
}

static void look_at_texel(struct lap_picture *picture, const double values[4], double *least, double *most)
{
    for (unsigned i = 0; i < picture->count; i++) {
        const double value = picture->components[i] >= 0 ? values[picture->components[i]] : (double)NAN;
        if (picture->components[i] < 0)
            continue;
        picture->nans += isnan(value) ? 1 : 0;
        picture->infinities += isinf(value) ? 1 : 0;
        if (!isfinite(value) || is_opacity(picture, i))
            continue;
        *least = fmin(*least, value);
        *most = fmax(*most, value);
    }
}

/* Finds the range of the finite values; without any, 0 to 1. Normalized colors have no need of it. */
static void look_at(struct lap_picture *picture, double *least, double *most)
{
    double values[LAP_BLOCK_WIDTH_MOST][4];

    *least = (double)INFINITY;
    *most = -(double)INFINITY;
    for (uint32_t y = 0; y < picture->height && !(is_color(picture->format) && is_normalized(picture->format)); y++)
        for (uint32_t x = 0, count; x < picture->width; x += count) {
            count = values_at(picture, x, y, values);
            for (uint32_t i = 0; i < count; i++)
                look_at_texel(picture, values[i], least, most);
        }
    if (*least > *most) {
        *least = 0;
        *most = 1;
    }
}

static void choose_range(struct lap_picture *picture, const struct lap_picture_options *options, double least,
                         double most)
{
    const struct gen_format *format = picture->format;
    const bool linear = is_color(format) && is_float(format);

    picture->encodes =
        linear && format->components[picture->components[0] < 0 ? 0 : picture->components[0]].channel != 'A';
    picture->has_range =
        options->has_range || !is_color(format) || format->numeric == GEN_NUMERIC_SNORM || !is_normalized(format);
    picture->black = 0;
    picture->white = 1;
    if (options->has_range) {
        picture->black = options->black;
        picture->white = options->white;
    } else if (is_color(format) && format->numeric == GEN_NUMERIC_SNORM) {
        picture->black = -1;
    } else if (picture->has_range && !(linear && least >= 0 && most <= 1)) {
        picture->black = least;
        picture->white = most;
    }
}

enum lap_status lap_picture_plan(VkFormat format, VkImageAspectFlags aspect, const struct lap_picture_options *options,
                                 const void *texels, uint32_t width, uint32_t height, struct lap_picture *out)
{
    enum lap_status status;
    double least, most;

    *out = (struct lap_picture){.format = lap_texel_format(format, aspect),
                                .vk_format = format,
                                .texels = texels,
                                .width = width,
                                .height = height};
    if (!out->format && aspect == VK_IMAGE_ASPECT_COLOR_BIT) {
        out->format = lap_texel_block_format(format);
        out->is_blocks = true;
    }
    if (!out->format || !lap_texels_block(format, aspect, &out->block))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "has a format that no picture can show");
    status = choose_samples(out, options->channels);
    if (status != LAP_OK)
        return status;
    look_at(out, &least, &most);
    choose_range(out, options, least, most);
    return LAP_OK;
}

/* ---- samples ---- */

/* From 0 to 1. Halves, since the difference of the ends may be too large. */
static double place_of(double value, double black, double white)
{
    const double place = black < white || black > white ? (value / 2 - black / 2) / (white / 2 - black / 2) : 0;

    return place > 0 ? fmin(place, 1) : 0; /* NaN is 0 */
}

static double encoded(double linear)
{
    return linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

static double sample_of(const struct lap_picture *picture, unsigned sample, const double values[4])
{
    const double value = picture->components[sample] < 0 ? 0 : values[picture->components[sample]];

    if (picture->components[sample] < 0)
        return 0;
    if (is_opacity(picture, sample) || !picture->has_range)
        return place_of(value, 0, 1);
    return place_of(value, picture->black, picture->white);
}

void lap_picture_row(const void *context, uint32_t y, void *row)
{
    const struct lap_picture *picture = context;
    uint16_t *wide = row;
    uint8_t *narrow = row;
    double values[LAP_BLOCK_WIDTH_MOST][4];

    for (uint32_t x = 0, count; x < picture->width; x += count) {
        count = values_at(picture, x, y, values);
        for (uint32_t i = 0; i < count * picture->count; i++) {
            const unsigned sample = i % picture->count;
            const double place = sample_of(picture, sample, values[i / picture->count]);
            const bool encodes = picture->encodes && !is_opacity(picture, sample);
            if (picture->kind == LAP_PNG_GREY16)
                *wide++ = (uint16_t)((encodes ? encoded(place) : place) * 65535 + 0.5);
            else
                *narrow++ = encodes ? lap_png_srgb8((float)place) : (uint8_t)(place * 255 + 0.5);
        }
    }
}
