/* SPDX-License-Identifier: MIT */
#include "vulkan/texel/texel_steps.h"

#include <string.h>

enum kind { SAME, UNSIGNED, SIGNED, FLOAT };

/* Components of equal size, or packed ones, lowest bit first. */
struct shape {
    enum kind kind;
    uint8_t texel_bytes;    /* of the unit of comparison */
    uint8_t bits[4], count; /* the components of that unit */
};

/* Formats of a group are consecutive: UNORM, SNORM, USCALED, SSCALED, UINT, SINT and one more. */
static enum kind kind_in_group(VkFormat format, VkFormat first, enum kind seventh)
{
    static const enum kind kinds[6] = {UNSIGNED, SIGNED, SAME, SAME, SAME, SAME};
    uint32_t place = (uint32_t)(format - first) % 7;
    return place == 6 ? seventh : kinds[place];
}

static struct shape shape_of_packed(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_R4G4_UNORM_PACK8:
        return (struct shape){UNSIGNED, 1, {4, 4}, 2};
    case VK_FORMAT_R4G4B4A4_UNORM_PACK16:
    case VK_FORMAT_B4G4R4A4_UNORM_PACK16:
    case VK_FORMAT_A4R4G4B4_UNORM_PACK16:
    case VK_FORMAT_A4B4G4R4_UNORM_PACK16:
        return (struct shape){UNSIGNED, 2, {4, 4, 4, 4}, 4};
    case VK_FORMAT_R5G6B5_UNORM_PACK16:
    case VK_FORMAT_B5G6R5_UNORM_PACK16:
        return (struct shape){UNSIGNED, 2, {5, 6, 5}, 3};
    case VK_FORMAT_R5G5B5A1_UNORM_PACK16:
    case VK_FORMAT_B5G5R5A1_UNORM_PACK16:
        return (struct shape){UNSIGNED, 2, {1, 5, 5, 5}, 4};
    case VK_FORMAT_A1R5G5B5_UNORM_PACK16:
        return (struct shape){UNSIGNED, 2, {5, 5, 5, 1}, 4};
    case VK_FORMAT_A2R10G10B10_UNORM_PACK32:
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
        return (struct shape){UNSIGNED, 4, {10, 10, 10, 2}, 4};
    case VK_FORMAT_A2R10G10B10_SNORM_PACK32:
    case VK_FORMAT_A2B10G10R10_SNORM_PACK32:
        return (struct shape){SIGNED, 4, {10, 10, 10, 2}, 4};
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32: /* without a sign bit, larger values have larger bit patterns */
        return (struct shape){UNSIGNED, 4, {11, 11, 10}, 3};
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_D16_UNORM_S8_UINT:
        return (struct shape){UNSIGNED, 2, {16}, 1};
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D24_UNORM_S8_UINT:
        return (struct shape){UNSIGNED, 4, {32}, 1}; /* the highest 8 bits are 0 */
    case VK_FORMAT_D32_SFLOAT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return (struct shape){FLOAT, 4, {32}, 1};
    default:
        return (struct shape){SAME, 1, {8}, 1};
    }
}

static struct shape shape_of(VkFormat format, VkImageAspectFlags aspect)
{
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return (struct shape){SAME, 1, {8}, 1};
    if (format >= VK_FORMAT_R8_UNORM && format <= VK_FORMAT_A8B8G8R8_SRGB_PACK32)
        return (struct shape){kind_in_group(format, VK_FORMAT_R8_UNORM, UNSIGNED), 1, {8}, 1};
    if (format >= VK_FORMAT_R16_UNORM && format <= VK_FORMAT_R16G16B16A16_SFLOAT)
        return (struct shape){kind_in_group(format, VK_FORMAT_R16_UNORM, FLOAT), 2, {16}, 1};
    if (format == VK_FORMAT_R32_SFLOAT || format == VK_FORMAT_R32G32_SFLOAT || format == VK_FORMAT_R32G32B32_SFLOAT ||
        format == VK_FORMAT_R32G32B32A32_SFLOAT)
        return (struct shape){FLOAT, 4, {32}, 1};
    return shape_of_packed(format);
}

/* A value as an integer with the same order. */
static int64_t ordered(enum kind kind, uint32_t value, uint32_t bits)
{
    const uint32_t sign = UINT32_C(1) << (bits - 1);

    if (kind == SIGNED)
        return value & sign ? (int64_t)value - ((int64_t)sign << 1) : (int64_t)value;
    if (kind == FLOAT) /* both zeroes are equal */
        return value & sign ? -(int64_t)(value & (sign - 1)) : (int64_t)value;
    return value;
}

static bool texel_within(const struct shape *shape, uint32_t a, uint32_t b, uint32_t steps)
{
    for (uint32_t i = 0, at = 0; i < shape->count; at += shape->bits[i++]) {
        const uint32_t bits = shape->bits[i], mask = bits < 32 ? (UINT32_C(1) << bits) - 1 : UINT32_MAX;
        int64_t difference = ordered(shape->kind, a >> at & mask, bits) - ordered(shape->kind, b >> at & mask, bits);
        if (difference > (int64_t)steps || -difference > (int64_t)steps)
            return false;
    }
    return true;
}

static uint32_t load(const unsigned char *at, uint32_t bytes)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;

    if (bytes == 1)
        return memcpy(&one, at, 1), one;
    if (bytes == 2)
        return memcpy(&two, at, 2), two;
    return memcpy(&four, at, 4), four;
}

bool lap_texel_steps_within(VkFormat format, VkImageAspectFlags aspect, const void *a, const void *b, size_t bytes,
                            uint32_t steps)
{
    const struct shape shape = shape_of(format, aspect);
    const unsigned char *x = a, *y = b;

    if (shape.kind == SAME || bytes % shape.texel_bytes)
        return memcmp(a, b, bytes) == 0;
    for (size_t at = 0; at < bytes; at += shape.texel_bytes)
        if (!texel_within(&shape, load(x + at, shape.texel_bytes), load(y + at, shape.texel_bytes), steps))
            return false;
    return true;
}
