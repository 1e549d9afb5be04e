/* SPDX-License-Identifier: MIT */
/* The table of compressed formats against what the registry says of them. */
#include "replayer/format/block_format.h"

#include "tests/unit/unit.h"
#include "vulkan/texel/pixels.h"
#include "vulkan/texel/texels.h"

UNIT_TEST(blocks_are_as_large_as_the_registry_says)
{
    size_t count;
    const struct replay_block_format *formats = replay_block_formats(&count);

    for (size_t i = 0; i < count; i++) {
        struct lap_texel_block block = {0};
        CHECK(lap_texels_block(formats[i].format, VK_IMAGE_ASPECT_COLOR_BIT, &block));
        CHECK_EQ_INT(formats[i].width, block.width);
        CHECK_EQ_INT(formats[i].height, block.height);
        CHECK_EQ_INT(formats[i].bytes, block.bytes);
        CHECK(replay_block_format(formats[i].format) == &formats[i]);
    }
    CHECK(!replay_block_format(VK_FORMAT_UNDEFINED));
    CHECK(!replay_block_format(VK_FORMAT_S8_UINT));
    CHECK(!replay_block_format((VkFormat)(VK_FORMAT_ASTC_12x12_SRGB_BLOCK + 1)));
    CHECK(!replay_block_format(VK_FORMAT_MAX_ENUM));
}

UNIT_TEST(substitutes_have_texels_that_shaders_can_write)
{
    size_t count;
    const struct replay_block_format *formats = replay_block_formats(&count);

    for (size_t i = 0; i < count; i++) {
        CHECK(formats[i].substitutes[0].format != VK_FORMAT_UNDEFINED);
        for (int j = 0; j < REPLAY_BLOCK_SUBSTITUTES && formats[i].substitutes[j].format; j++) {
            const struct replay_block_substitute *substitute = &formats[i].substitutes[j];
            struct lap_texel_block block = {0};
            CHECK(lap_texels_block(substitute->format, VK_IMAGE_ASPECT_COLOR_BIT, &block));
            CHECK_EQ_INT(block.width * block.height, 1);
            CHECK_EQ_INT(block.bytes, substitute->bytes);
            CHECK_EQ_INT(formats[i].width * substitute->bytes % 4, 0); /* rows of a block are whole words */
        }
    }
}

UNIT_TEST(srgb_differs_in_the_substitute_alone)
{
    size_t count;
    const struct replay_block_format *formats = replay_block_formats(&count);

    for (size_t i = 0; i < count; i++) {
        uint32_t size = 0;
        VkFormat first = lap_pixels_family(formats[i].format, &size);
        const struct replay_block_format *one = replay_block_format(first);
        CHECK(one && size >= 1 && size <= 2);
        if (!one)
            continue;
        CHECK(one->width == formats[i].width && one->height == formats[i].height && one->bytes == formats[i].bytes);
        CHECK_EQ_INT(one->shader, formats[i].shader);
        CHECK_EQ_INT(one->substitutes[0].bytes, formats[i].substitutes[0].bytes);
        CHECK((uint32_t)formats[i].format - (uint32_t)first < size);
    }
}

UNIT_MAIN();
