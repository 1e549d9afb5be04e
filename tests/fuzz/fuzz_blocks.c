/* SPDX-License-Identifier: MIT */
/* A picture of compressed blocks: the first two bytes are the format and the width, the others are blocks. */
#include "tests/fuzz/fuzz.h"
#include "vulkan/texel/texel_blocks.h"
#include "vulkan/texel/texel_picture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const struct lap_picture_options options = {.channels = "rgba"};
    struct lap_texel_block block;
    struct lap_picture picture;
    uint32_t width, across, rows;
    uint8_t row[256 * 4 * 2];

    if (bytes < 2 || !lap_texel_block_format((VkFormat)data[0]) ||
        !lap_texels_block((VkFormat)data[0], VK_IMAGE_ASPECT_COLOR_BIT, &block))
        return 0;
    width = data[1] + 1u;
    across = (width + block.width - 1) / block.width;
    rows = (uint32_t)((bytes - 2) / block.bytes / across);
    FUZZ_CHECK(lap_picture_plan((VkFormat)data[0], VK_IMAGE_ASPECT_COLOR_BIT, &options, data + 2, width,
                                rows * block.height, &picture) == LAP_OK);
    FUZZ_CHECK(picture.nans == 0);
    for (uint32_t y = 0; y < picture.height; y++)
        lap_picture_row(&picture, y, row);
    return 0;
}
