/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "layer/image/format_utils.h"
#include "layer/image/row_layout.h"
#include "tests/unit/unit.h"

/* ---- layer_rows_describe ---- */

static struct layer_rows describe(VkImageType type, VkFormat format, VkExtent3D extent, VkImageAspectFlags aspect,
                                  uint32_t level, VkDeviceSize row_pitch)
{
    VkImageCreateInfo info = {.imageType = type, .format = format, .extent = extent};
    VkSubresourceLayout layout = {.offset = 100, .rowPitch = row_pitch, .depthPitch = row_pitch * 50};
    struct layer_rows rows;
    layer_rows_describe(&info, aspect, level, 3, &layout, 1000, false, &rows);
    CHECK_EQ_U64(rows.offset, 1100);
    CHECK_EQ_U64(rows.row_pitch, row_pitch);
    CHECK_EQ_U64(rows.aspect, aspect);
    CHECK_EQ_U64(rows.mip_level, level);
    CHECK_EQ_U64(rows.array_layer, 3);
    return rows;
}

#define COLOR VK_IMAGE_ASPECT_COLOR_BIT

UNIT_TEST(depths_of_24_bits_take_4_bytes_in_buffers)
{
    /* Copies have 32 bits a texel for 24-bit depth; without the fourth byte a quarter of an upload would be missed. */
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_X8_D24_UNORM_PACK32, VK_IMAGE_ASPECT_DEPTH_BIT), 4);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT), 4);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_STENCIL_BIT), 1);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_D16_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT), 2);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT), 4);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_R8G8B8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT), 3);
}

#ifdef VK_KHR_maintenance5
UNIT_TEST(formats_newer_than_the_utility_library_are_known)
{
    /* libVkLayer_utils of Debian 12 does not know them, the utility headers of the same version as Vulkan's do. */
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_A8_UNORM, COLOR), 1);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_A1B5G5R5_UNORM_PACK16, COLOR), 2);
    CHECK_EQ_U64(FormatPlaneCount(VK_FORMAT_A8_UNORM), 1);
}
#endif

UNIT_TEST(planes_and_blocks_have_their_sizes)
{
    VkExtent2D divisors = FindMultiplaneExtentDivisors(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_1_BIT);
    VkExtent3D block = FormatTexelBlockExtent(VK_FORMAT_BC1_RGB_UNORM_BLOCK);

    CHECK_EQ_U64(FormatPlaneCount(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM), 2);
    CHECK_EQ_U64(divisors.width, 2);
    CHECK_EQ_U64(divisors.height, 2);
    CHECK(FindMultiplaneCompatibleFormat(VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, VK_IMAGE_ASPECT_PLANE_1_BIT) ==
          VK_FORMAT_R8G8_UNORM);
    CHECK_EQ_U64(block.width, 4);
    CHECK_EQ_U64(layer_element_bytes(VK_FORMAT_BC1_RGB_UNORM_BLOCK, COLOR), 8);
    CHECK(FormatIsStencilOnly(VK_FORMAT_S8_UINT) && FormatIsDepthAndStencil(VK_FORMAT_D24_UNORM_S8_UINT) &&
          FormatIsDepthOrStencil(VK_FORMAT_D16_UNORM) && !FormatIsDepthOrStencil(VK_FORMAT_R8_UNORM));
}

UNIT_TEST(rows_of_plain_formats_have_their_sizes)
{
    struct layer_rows rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_R8G8B8A8_UNORM, (VkExtent3D){10, 7, 1}, COLOR, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 40);
    CHECK_EQ_U64(rows.rows, 7);
    CHECK_EQ_U64(rows.slices, 1);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_R32G32B32A32_SFLOAT, (VkExtent3D){5, 5, 1}, COLOR, 0, 256);
    CHECK_EQ_U64(rows.row_bytes, 80);
}

UNIT_TEST(levels_shrink_to_one_texel)
{
    struct layer_rows rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_R16_UNORM, (VkExtent3D){20, 3, 1}, COLOR, 2, 64);
    CHECK_EQ_U64(rows.row_bytes, 10);
    CHECK_EQ_U64(rows.rows, 1);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_R16_UNORM, (VkExtent3D){20, 3, 1}, COLOR, 40, 64);
    CHECK_EQ_U64(rows.row_bytes, 2);
    CHECK_EQ_U64(rows.rows, 1);
}

UNIT_TEST(only_3d_images_have_slices)
{
    CHECK_EQ_U64(describe(VK_IMAGE_TYPE_3D, VK_FORMAT_R8_UNORM, (VkExtent3D){4, 4, 6}, COLOR, 1, 64).slices, 3);
    CHECK_EQ_U64(describe(VK_IMAGE_TYPE_1D, VK_FORMAT_R8_UNORM, (VkExtent3D){4, 1, 1}, COLOR, 0, 64).slices, 1);
}

UNIT_TEST(rows_of_blocks_are_counted_in_blocks)
{
    struct layer_rows rows =
        describe(VK_IMAGE_TYPE_2D, VK_FORMAT_BC1_RGB_UNORM_BLOCK, (VkExtent3D){10, 10, 1}, COLOR, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 3 * 8);
    CHECK_EQ_U64(rows.rows, 3);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_ASTC_5x4_UNORM_BLOCK, (VkExtent3D){11, 9, 1}, COLOR, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 3 * 16);
    CHECK_EQ_U64(rows.rows, 3);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_G8B8G8R8_422_UNORM, (VkExtent3D){12, 4, 1}, COLOR, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 6 * 4);
    CHECK_EQ_U64(rows.rows, 4);
}

UNIT_TEST(planes_have_their_own_size)
{
    const VkExtent3D extent = {20, 10, 1};
    const VkFormat two = VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, three = VK_FORMAT_G16_B16_R16_3PLANE_422_UNORM;
    struct layer_rows rows = describe(VK_IMAGE_TYPE_2D, two, extent, VK_IMAGE_ASPECT_PLANE_0_BIT, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 20);
    CHECK_EQ_U64(rows.rows, 10);
    rows = describe(VK_IMAGE_TYPE_2D, two, extent, VK_IMAGE_ASPECT_PLANE_1_BIT, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 10 * 2);
    CHECK_EQ_U64(rows.rows, 5);
    rows = describe(VK_IMAGE_TYPE_2D, three, extent, VK_IMAGE_ASPECT_PLANE_2_BIT, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 10 * 2);
    CHECK_EQ_U64(rows.rows, 10);
}

UNIT_TEST(depth_and_stencil_have_rows_of_their_own)
{
    const VkFormat both = VK_FORMAT_D32_SFLOAT_S8_UINT;
    VkImageCreateInfo info = {.imageType = VK_IMAGE_TYPE_2D, .format = both, .extent = {10, 10, 1}};
    VkSubresourceLayout layout = {.rowPitch = 128};
    struct layer_rows rows = describe(VK_IMAGE_TYPE_2D, both, info.extent, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 128);
    CHECK_EQ_U64(rows.row_bytes, 40);
    rows = describe(VK_IMAGE_TYPE_2D, both, info.extent, VK_IMAGE_ASPECT_STENCIL_BIT, 0, 128);
    CHECK_EQ_U64(rows.row_bytes, 10);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_D16_UNORM, info.extent, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 128);
    CHECK_EQ_U64(rows.row_bytes, 20);
    rows = describe(VK_IMAGE_TYPE_2D, VK_FORMAT_S8_UINT, info.extent, VK_IMAGE_ASPECT_STENCIL_BIT, 0, 128);
    CHECK_EQ_U64(rows.row_bytes, 10);
    layer_rows_describe(&info, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, &layout, 0, true, &rows);
    CHECK(rows.row_bytes >= 50 && rows.row_bytes <= 80);
}

UNIT_TEST(unknown_format_sends_padding_too)
{
    struct layer_rows rows = describe(VK_IMAGE_TYPE_2D, (VkFormat)2000000000, (VkExtent3D){10, 7, 1}, COLOR, 0, 64);
    CHECK_EQ_U64(rows.row_bytes, 64);
    CHECK_EQ_U64(rows.rows, 7);
}

/* ---- layer_rows_split ---- */

enum { OBJECT_BYTES = 4096 };

struct got {
    unsigned calls, stop_at;
    uint64_t bytes;
    uint32_t slice, row;
    uint64_t offset_in_row, last_bytes;
    unsigned char object[OBJECT_BYTES]; /* what was visited, put back by slice and row */
    bool outside;
};

static bool visit(void *context, const struct layer_rows *rows, uint32_t slice, uint32_t row, uint64_t offset_in_row,
                  const unsigned char *data, uint64_t bytes)
{
    struct got *got = context;
    uint64_t at = rows->offset + slice * rows->slice_pitch + row * rows->row_pitch + offset_in_row;
    if (++got->calls == got->stop_at)
        return false;
    got->slice = slice;
    got->row = row;
    got->offset_in_row = offset_in_row;
    got->last_bytes = bytes;
    got->bytes += bytes;
    if (slice >= rows->slices || row >= rows->rows || bytes == 0 || offset_in_row + bytes > rows->row_bytes ||
        at + bytes > OBJECT_BYTES)
        got->outside = true;
    else
        memcpy(got->object + at, data, bytes);
    return true;
}

static const struct layer_rows volume = {
    .offset = 64, .row_pitch = 32, .slice_pitch = 200, .row_bytes = 20, .rows = 5, .slices = 3};

UNIT_TEST(bytes_inside_one_row_are_one_piece)
{
    struct got got = {0};
    unsigned char data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(layer_rows_split(&volume, 64 + 200 + 32 * 2 + 5, data, 8, visit, &got));
    CHECK_EQ_U64(got.calls, 1);
    CHECK_EQ_U64(got.slice, 1);
    CHECK_EQ_U64(got.row, 2);
    CHECK_EQ_U64(got.offset_in_row, 5);
    CHECK_EQ_U64(got.last_bytes, 8);
    CHECK(memcmp(got.object + 64 + 200 + 64 + 5, data, 8) == 0);
}

UNIT_TEST(padding_is_left_out)
{
    struct got got = {0};
    unsigned char data[12] = {0};
    CHECK(layer_rows_split(&volume, 64 + 20, data, 12, visit, &got));          /* behind row 0 */
    CHECK(layer_rows_split(&volume, 64 + 4 * 32 + 20, data, 12, visit, &got)); /* behind a slice */
    CHECK(layer_rows_split(&volume, 64 + 3 * 200, data, 12, visit, &got));     /* behind everything */
    CHECK(layer_rows_split(&volume, 0, data, 12, visit, &got));                /* before everything */
    CHECK_EQ_U64(got.calls, 0);
}

UNIT_TEST(a_visitor_can_stop)
{
    struct got got = {.stop_at = 3};
    static unsigned char data[OBJECT_BYTES];
    CHECK(!layer_rows_split(&volume, 0, data, sizeof data, visit, &got));
    CHECK_EQ_U64(got.calls, 3);
}

UNIT_TEST(one_row_needs_no_pitch)
{
    struct layer_rows line = {.offset = 16, .row_pitch = 0, .row_bytes = 10, .rows = 1, .slices = 1};
    struct got got = {0};
    unsigned char data[32] = {0};
    CHECK(layer_rows_split(&line, 0, data, 32, visit, &got));
    CHECK_EQ_U64(got.calls, 1);
    CHECK_EQ_U64(got.bytes, 10);
}

/* Every byte of every row is visited once, whatever the range, and no other byte. */
static void check_range(const struct layer_rows *rows, uint64_t offset, uint64_t bytes)
{
    static unsigned char object[OBJECT_BYTES], expected[OBJECT_BYTES];
    struct got got = {0};
    uint64_t total = 0;
    for (unsigned i = 0; i < OBJECT_BYTES; i++)
        object[i] = (unsigned char)(1 + rand() % 255);
    memset(expected, 0, sizeof expected);
    for (uint32_t slice = 0; slice < rows->slices; slice++)
        for (uint32_t row = 0; row < rows->rows; row++)
            for (uint32_t i = 0; i < rows->row_bytes; i++) {
                uint64_t at = rows->offset + slice * rows->slice_pitch + row * rows->row_pitch + i;
                if (at < offset || at >= offset + bytes)
                    continue;
                expected[at] = object[at];
                total++;
            }
    CHECK(layer_rows_split(rows, offset, object + offset, bytes, visit, &got));
    CHECK(!got.outside);
    CHECK_EQ_U64(got.bytes, total);
    CHECK(memcmp(got.object, expected, sizeof expected) == 0);
}

UNIT_TEST(any_range_is_split_into_its_rows)
{
    srand(7);
    for (unsigned i = 0; i < 2000; i++) {
        struct layer_rows rows = {.offset = (uint64_t)(rand() % 100), .rows = 1 + (uint32_t)rand() % 8};
        uint64_t offset = (uint64_t)(rand() % 1000);
        rows.slices = 1 + (uint32_t)rand() % 4;
        rows.row_bytes = 1 + (uint64_t)(rand() % 60);
        rows.row_pitch = rows.row_bytes + (uint64_t)(rand() % 2 * (rand() % 20));
        rows.slice_pitch = rows.row_pitch * rows.rows + (uint64_t)(rand() % 2 * (rand() % 30));
        check_range(&rows, offset, 1 + (uint64_t)(rand() % 2500));
    }
}

UNIT_MAIN();
