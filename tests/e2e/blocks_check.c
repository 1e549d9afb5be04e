/* SPDX-License-Identifier: MIT */
/*
 * blocks-check: the texels of compressed blocks (vulkan/texel/texel_blocks.h) against those that the device reads of
 * them, for each format that it has. A blit reads them, since SwiftShader's compute shaders see nothing of such images.
 * Prints a line for each format: its number, how many blocks there were of the rarest kind, and the largest difference.
 */
#include <math.h>

#include "tests/apps/common/app.h"
#include "vulkan/texel/texel_blocks.h"
#include "vulkan/texel/texels.h"

#define SIDE   64u /* blocks of an image, in each direction */
#define BLOCKS (SIDE * SIDE)
#define FLOOR  16u /* of blocks of a kind */

/* A format's blocks, and what the device reads of them. */
struct blocks {
    VkFormat format;
    struct lap_texel_block block;
    uint32_t width, height; /* in texels */
    uint8_t *bytes;
    float (*texels)[4];
};

/* ---- kinds of blocks, as bits ---- */

static uint32_t bits_of(const uint8_t *block, unsigned first, unsigned count)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (uint32_t)(block[(first + i) / 8] >> (first + i) % 8 & 1) << i;
    return value;
}

/* Which of two ends is larger says how many values there are between them. */
static uint32_t kind_of_ends(const uint8_t *block)
{
    return block[0] + 256 * block[1] > block[2] + 256 * block[3] ? 1 : 2;
}

static uint32_t kind_of_values(const uint8_t *block)
{
    return block[0] > block[1] ? 1 : 2;
}

static uint32_t kind_of_bc6h(const uint8_t *block)
{
    return 1u << (block[0] & (block[0] & 2 ? 31 : 3));
}

static uint32_t kind_of_bc7(const uint8_t *block)
{
    return block[0] & -block[0];
}

/* Individual and differential colors, T, H, planar; where a bit says that texels may be transparent, the last four
 * again. */
static uint32_t kind_of_etc2(const uint8_t *block, bool punches)
{
    const bool bit = block[3] >> 1 & 1;
    unsigned kind = bit || punches ? 1 : 0;

    for (unsigned c = 0; c < 3 && kind == 1; c++) {
        const int sum = (block[c] >> 3) + ((block[c] & 7) ^ 4) - 4;
        kind = sum < 0 || sum > 31 ? 2 + c : 1;
    }
    return 1u << (punches && !bit ? kind + 4 : kind);
}

static uint32_t kind_of_etc2_alone(const uint8_t *block)
{
    return kind_of_etc2(block, false);
}

static uint32_t kind_of_etc2_behind(const uint8_t *block)
{
    return kind_of_etc2(block + 8, false);
}

static uint32_t kind_of_punched(const uint8_t *block)
{
    return kind_of_etc2(block, true);
}

/* A scale of 0 is another one. */
static uint32_t kind_of_eac(const uint8_t *block)
{
    return block[1] >> 4 ? 1 : 2;
}

/* The number of parts; the mode of their ends, if it is one; whether they have several, there are two planes of
 * weights, weights have a trit or a quint; or that there is one color. */
static uint32_t kind_of_astc(const uint8_t *block)
{
    const uint32_t mode = bits_of(block, 0, 11), parts = bits_of(block, 11, 2);
    const uint32_t r = mode & 3 ? (mode & 3) << 1 | (mode >> 4 & 1) : (mode >> 2 & 3) << 1 | (mode >> 4 & 1);
    const bool is_low = (mode & 3) == 0 && (mode >> 7 & 3) == 2, high = !is_low && mode >> 9 & 1;
    const uint32_t digits[2][8] = {{0, 0, 0, 1, 0, 2, 1, 0}, {0, 0, 2, 1, 0, 2, 1, 0}};
    uint32_t kind = 1u << (20 + digits[high][r]) | 1u << (16 + parts);

    if ((mode & 511) == 508)
        return 1u << 31;
    if (!is_low && mode >> 10 & 1)
        kind |= 1u << 23;
    if (parts && bits_of(block, 23, 2))
        return kind | 1u << 24;
    return kind | 1u << bits_of(block, parts ? 25 : 13, 4);
}

/* For the formats up to `last`: all kinds, and how far apart values may be, in steps of 255ths, or of 127ths with a
 * sign. What lies between the ends of BC1 to BC5 is for devices to round. Colors of 8 bits are the same below half a
 * step: what devices make of sRGB is not exact. SwiftShader makes 16 bits of 11 without the lowest ones, and adds 4 of
 * 1023 to signed ones, as is right for unsigned ones only. */
static const struct family {
    VkFormat last;
    uint32_t (*kind)(const uint8_t *block);
    uint32_t all;
    double steps;
} families[] = {
    {VK_FORMAT_BC2_SRGB_BLOCK, kind_of_ends, 0x3, 2},
    {VK_FORMAT_BC5_SNORM_BLOCK, kind_of_values, 0x3, 2},
    {VK_FORMAT_BC6H_SFLOAT_BLOCK, kind_of_bc6h, 0x44444ccf, 0},
    {VK_FORMAT_BC7_SRGB_BLOCK, kind_of_bc7, 0xff, 0.25},
    {VK_FORMAT_ETC2_R8G8B8_SRGB_BLOCK, kind_of_etc2_alone, 0x1f, 0.25},
    {VK_FORMAT_ETC2_R8G8B8A1_SRGB_BLOCK, kind_of_punched, 0x1fe, 0.25},
    {VK_FORMAT_ETC2_R8G8B8A8_SRGB_BLOCK, kind_of_etc2_behind, 0x1f, 0.25},
    {VK_FORMAT_EAC_R11_UNORM_BLOCK, kind_of_eac, 0x3, 0.125},
    {VK_FORMAT_EAC_R11_SNORM_BLOCK, kind_of_eac, 0x3, 0.625},
    {VK_FORMAT_EAC_R11G11_UNORM_BLOCK, kind_of_eac, 0x3, 0.125},
    {VK_FORMAT_EAC_R11G11_SNORM_BLOCK, kind_of_eac, 0x3, 0.625},
    {VK_FORMAT_ASTC_12x12_SRGB_BLOCK, kind_of_astc, 0x81ff3773, 0.001},
};

static const struct family *family_of(VkFormat format)
{
    const struct family *family = families;

    while (family->last < format)
        family++;
    return family;
}

/* ---- blocks ---- */

/* Random ones, and more of what is rare. */
static void fill(const struct blocks *blocks, uint32_t *seed)
{
    static const uint32_t modes[8] = {0x42, 0x53, 0x41, 0x52, 0x453, 0x251, 0x63, 0x442};
    const VkFormat format = blocks->format;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint8_t *block = blocks->bytes + i * blocks->block.bytes;
        for (uint32_t k = 0; k < blocks->block.bytes; k++)
            block[k] = (uint8_t)(app_random(seed) >> 16);
        if (format == VK_FORMAT_BC7_UNORM_BLOCK || format == VK_FORMAT_BC7_SRGB_BLOCK)
            block[0] = (uint8_t)((block[0] << 1 | 1) << i % 8);
        if (format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK &&
            i % 2 == 0) { /* modes with small grids, with one plane and two */
            const uint32_t mode = modes[i / 2 % 8];
            block[0] = (uint8_t)mode;
            block[1] = (uint8_t)((block[1] & 0xf8) | mode >> 8);
        }
        if (format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK && i % 16 == 0)
            memcpy(block, "\xfc\xfd\xff\xff\xff\xff\xff\xff", 8); /* one color */
    }
}

/* The blocks become an image, and its texels one of floats, by a blit that scales nothing. */
static void read_texels(const struct app *app, const struct blocks *blocks)
{
    const size_t bytes = (size_t)BLOCKS * blocks->block.bytes;
    const size_t texel_bytes = (size_t)blocks->width * blocks->height * sizeof(*blocks->texels);
    const VkImageSubresourceLayers all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    const VkExtent3D extent = {blocks->width, blocks->height, 1};
    const VkOffset3D end = {(int32_t)blocks->width, (int32_t)blocks->height, 1};
    const VkBufferImageCopy copy = {.imageSubresource = all, .imageExtent = extent};
    const VkImageBlit blit = {all, {{0, 0, 0}, end}, all, {{0, 0, 0}, end}};
    const VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
    struct app_buffer upload, texels;
    struct app_image image, floats;
    VkCommandBuffer commands = app_begin(app);

    app_image_create_2d(app, &image, blocks->format, blocks->width, blocks->height,
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    app_image_create_2d(app, &floats, VK_FORMAT_R32G32B32A32_SFLOAT, blocks->width, blocks->height,
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &upload, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &texels, texel_bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    memcpy(upload.mapped, blocks->bytes, bytes);
    app_buffer_flush(app, &upload, 0, VK_WHOLE_SIZE);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, layout);
    app_image_barrier(commands, &floats, VK_IMAGE_LAYOUT_UNDEFINED, layout);
    vkCmdCopyBufferToImage(commands, upload.buffer, image.image, layout, 1, &copy);
    app_image_barrier(commands, &image, layout, layout);
    vkCmdBlitImage(commands, image.image, layout, floats.image, layout, 1, &blit, VK_FILTER_NEAREST);
    app_image_barrier(commands, &floats, layout, layout);
    vkCmdCopyImageToBuffer(commands, floats.image, layout, texels.buffer, 1, &copy);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &texels, 0, VK_WHOLE_SIZE);
    memcpy(blocks->texels, texels.mapped, texel_bytes);
    app_buffer_destroy(app, &upload);
    app_buffer_destroy(app, &texels);
    app_image_destroy(app, &image);
    app_image_destroy(app, &floats);
}

/* ---- what is compared ---- */

static double encoded(double linear)
{
    return linear <= 0.0031308 ? linear * 12.92 : 1.055 * pow(linear, 1 / 2.4) - 0.055;
}

/* Devices may make 8 bits of what ASTC makes half floats. With sRGB these are the highest 8 bits of 16, which
 * SwiftShader rounds. */
static double difference(VkFormat format, const double want[4], const float got[4])
{
    const struct gen_format *texel = lap_texel_block_format(format);
    const bool is_astc = format >= VK_FORMAT_ASTC_4x4_UNORM_BLOCK;
    double most = 0;

    for (unsigned c = 0; c < texel->count; c++) {
        const bool is_srgb = texel->numeric == GEN_NUMERIC_SRGB && c < 3;
        const double value = is_srgb ? encoded((double)got[c]) : (double)got[c];
        double steps = fabs(want[c] - value) * (texel->numeric == GEN_NUMERIC_SNORM ? 127 : 255);
        if (is_astc)
            steps = is_srgb ? fmax(steps - 1, 0) : fmin(steps, fabs(floor(want[c] * 255 + 0.5) - value * 255));
        most = fmax(most, steps);
    }
    return most;
}

/* Whether the device takes a block of ASTC for an error, in part at least. */
static bool is_magenta(const struct blocks *blocks, uint32_t x, uint32_t y)
{
    bool found = false;

    for (uint32_t i = 0; i < blocks->block.width * blocks->block.height && !found; i++) {
        const float *at = blocks->texels[(y + i / blocks->block.width) * blocks->width + x + i % blocks->block.width];
        found = at[0] == 1 && at[1] == 0 && at[2] == 1 && at[3] == 1;
    }
    return found;
}

/* The largest difference in a block. */
static double compare_block(const struct blocks *blocks, const uint8_t *block, uint32_t x, uint32_t y)
{
    double values[LAP_BLOCK_WIDTH_MOST][4], most = 0;

    for (uint32_t row = 0; row < blocks->block.height; row++) {
        lap_texel_block_row(blocks->format, block, row, values);
        for (uint32_t i = 0; i < blocks->block.width; i++)
            most = fmax(most, difference(blocks->format, values[i], blocks->texels[(y + row) * blocks->width + x + i]));
    }
    return most;
}

/* False: a difference is too large, or a kind of blocks too rare. */
static bool compare(const struct blocks *blocks)
{
    const struct family *family = family_of(blocks->format);
    uint32_t counts[32] = {0}, rarest = BLOCKS;
    double most = 0;

    for (uint32_t i = 0; i < BLOCKS; i++) {
        const uint8_t *block = blocks->bytes + i * blocks->block.bytes;
        const uint32_t x = i % SIDE * blocks->block.width, y = i / SIDE * blocks->block.height;
        const bool is_error = family->kind == kind_of_astc && is_magenta(blocks, x, y);
        const uint32_t kind = is_error ? 0 : family->kind(block);
        for (uint32_t k = 0; k < 32; k++)
            counts[k] += kind >> k & 1;
        most = fmax(most, compare_block(blocks, block, x, y));
    }
    for (uint32_t k = 0; k < 32; k++)
        if (family->all >> k & 1 && counts[k] < rarest)
            rarest = counts[k];
    printf("%d %u %.6f\n", blocks->format, rarest, most);
    return most <= family->steps && rarest >= FLOOR;
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "blocks-check", .what = "decodes compressed blocks"};
    VkPhysicalDeviceFeatures features = {0};
    const struct app_device_request request = {.features = &features};
    struct app app;
    uint32_t seed = 1, formats = 0;
    bool good = true;

    app_init(&app, argc, argv, &program);
    features.textureCompressionBC = app.features.textureCompressionBC;
    features.textureCompressionETC2 = app.features.textureCompressionETC2;
    features.textureCompressionASTC_LDR = app.features.textureCompressionASTC_LDR;
    app_device_create(&app, &request);
    for (VkFormat format = VK_FORMAT_BC1_RGB_UNORM_BLOCK; format <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK; format++) {
        struct blocks blocks = {.format = format};
        if (!app_format_has(&app, format, VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_BLIT_SRC_BIT))
            continue;
        CHECK(lap_texels_block(format, VK_IMAGE_ASPECT_COLOR_BIT, &blocks.block));
        blocks.width = SIDE * blocks.block.width;
        blocks.height = SIDE * blocks.block.height;
        blocks.bytes = malloc((size_t)BLOCKS * blocks.block.bytes);
        blocks.texels = malloc((size_t)blocks.width * blocks.height * sizeof(*blocks.texels));
        CHECK(blocks.bytes && blocks.texels);
        fill(&blocks, &seed);
        read_texels(&app, &blocks);
        good &= compare(&blocks);
        free(blocks.bytes);
        free(blocks.texels);
        formats++;
    }
    if (!formats)
        app_skip(&app, "the device has no compressed formats");
    CHECK(good);
    return app_finish(&app);
}
