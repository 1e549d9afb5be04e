/* SPDX-License-Identifier: MIT */
/* Runs of plain members (codegen/runs.py): whatever the numbers are, what was encoded comes out, and where bytes are
 * missing that is told. */
#include <stddef.h>

#include "gen_decode.h"
#include "gen_encode.h"
#include "tests/unit/unit.h"
#include "trace/format/decode.h"

static struct lap_enc enc;
static struct lap_arena arena;
static const struct lap_dec_source source;

static void start(void)
{
    lap_enc_finish(&enc);
    lap_enc_init(&enc, NULL);
    lap_arena_finish(&arena);
    lap_arena_init(&arena, 0);
}

static struct lap_dec cut_to(size_t bytes)
{
    struct lap_dec dec;

    lap_dec_init(&dec, enc.base, bytes, &arena, &source);
    return dec;
}

static size_t encoded_bytes(void)
{
    CHECK(!enc.failed);
    return (size_t)(enc.p - enc.base);
}

static const uint32_t numbers[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 0x7fffffff, UINT32_MAX};
#define NUMBERS (sizeof numbers / sizeof *numbers)

static void check_sampler(const VkSamplerCreateInfo *info)
{
    VkSamplerCreateInfo out = {0};

    start();
    gen_encode_VkSamplerCreateInfo(&enc, info);
    struct lap_dec dec = cut_to(encoded_bytes());
    gen_decode_VkSamplerCreateInfo(&dec, &out);
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK(dec.p == dec.end && memcmp(&out, info, sizeof out) == 0);
    for (size_t bytes = 0; bytes < encoded_bytes(); bytes++) {
        dec = cut_to(bytes);
        gen_decode_VkSamplerCreateInfo(&dec, &out);
        CHECK_EQ_INT(dec.status, LAP_ERROR_FORMAT);
    }
}

/* Floats stand between them, whose bytes may be anything. */
UNIT_TEST(numbers_of_all_lengths_between_floats)
{
    static const size_t members[] = {
        offsetof(VkSamplerCreateInfo, flags),         offsetof(VkSamplerCreateInfo, magFilter),
        offsetof(VkSamplerCreateInfo, minFilter),     offsetof(VkSamplerCreateInfo, mipmapMode),
        offsetof(VkSamplerCreateInfo, addressModeU),  offsetof(VkSamplerCreateInfo, addressModeV),
        offsetof(VkSamplerCreateInfo, addressModeW),  offsetof(VkSamplerCreateInfo, anisotropyEnable),
        offsetof(VkSamplerCreateInfo, compareEnable), offsetof(VkSamplerCreateInfo, compareOp),
        offsetof(VkSamplerCreateInfo, borderColor),   offsetof(VkSamplerCreateInfo, unnormalizedCoordinates),
    };
    static const float floats[] = {0, 1, -1.9999999f, 3e38f, -1e-44f};

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (size_t j = 0; j < NUMBERS; j++) {
            VkSamplerCreateInfo info;
            memset(&info, 0, sizeof info); /* what lies between the members is compared, too */
            info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
            info.mipLodBias = floats[(i + j) % 5];
            info.maxAnisotropy = floats[(i + j + 1) % 5];
            info.minLod = floats[(i + j + 2) % 5];
            info.maxLod = floats[(i + j + 3) % 5];
            memcpy((uint8_t *)&info + members[i], &numbers[j], sizeof numbers[j]);
            check_sampler(&info);
        }
}

/* Structures within others are part of a run. */
UNIT_TEST(numbers_of_structures_within_a_structure)
{
    for (size_t member = 0; member < 9; member++)
        for (size_t j = 0; j < NUMBERS; j++) {
            VkImageViewCreateInfo info, out;
            memset(&info, 0, sizeof info);
            memset(&out, 0, sizeof out);
            info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
            info.format = VK_FORMAT_ASTC_4x4_SFLOAT_BLOCK; /* a number of more than one byte */
            if (member < 4)
                info.format = VK_FORMAT_R8_UNORM;
            memcpy((uint8_t *)(member < 4 ? (void *)&info.components : &info.subresourceRange) + member % 4 * 4,
                   &numbers[j], sizeof numbers[j]);
            start();
            gen_encode_VkImageViewCreateInfo(&enc, &info);
            struct lap_dec dec = cut_to(encoded_bytes());
            gen_decode_VkImageViewCreateInfo(&dec, &out);
            CHECK_EQ_INT(dec.status, LAP_OK);
            CHECK(dec.p == dec.end && memcmp(&out, &info, sizeof out) == 0);
        }
}

UNIT_TEST(numbers_with_a_sign)
{
    static const int32_t signed_numbers[] = {0, 1, -1, 63, -64, 64, -65, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof signed_numbers / sizeof *signed_numbers; i++) {
        VkRect2D rect = {{signed_numbers[i], -1}, {2, 3}}, out = {0};
        start();
        gen_encode_VkRect2D(&enc, &rect);
        struct lap_dec dec = cut_to(encoded_bytes());
        gen_decode_VkRect2D(&dec, &out);
        CHECK_EQ_INT(dec.status, LAP_OK);
        CHECK(dec.p == dec.end && memcmp(&out, &rect, sizeof out) == 0);
    }
}

/* What stands for a format, and which bits are left out, is asked for numbers of a run as for others. */
UNIT_TEST(what_a_source_replaces_is_replaced_in_runs)
{
    uint16_t formats[LAP_DEC_FORMATS];
    struct lap_dec_source replaces = {.formats = formats, .stages = 0x10, .accesses = 0x4};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO}, view_out = {0};
    VkSubpassDependency dependency = {.srcStageMask = 0x11,
                                      .dstStageMask = 0x21,
                                      .srcAccessMask = 0x5,
                                      .dstAccessMask = 1},
                        out = {0};
    struct lap_dec dec;

    for (unsigned i = 0; i < LAP_DEC_FORMATS; i++)
        formats[i] = (uint16_t)(i + 1);
    view.format = VK_FORMAT_D24_UNORM_S8_UINT - 30;
    start();
    gen_encode_VkImageViewCreateInfo(&enc, &view);
    lap_dec_init(&dec, enc.base, encoded_bytes(), &arena, &replaces);
    gen_decode_VkImageViewCreateInfo(&dec, &view_out);
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK_EQ_U64((uint64_t)view_out.format, (uint64_t)view.format + 1);
    start();
    gen_encode_VkSubpassDependency(&enc, &dependency);
    lap_dec_init(&dec, enc.base, encoded_bytes(), &arena, &replaces);
    gen_decode_VkSubpassDependency(&dec, &out);
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK_EQ_U64(out.srcStageMask, lap_dec_stages(&dec, 0x11));
    CHECK_EQ_U64(out.srcAccessMask, lap_dec_accesses(&dec, 0x5));
    CHECK(out.srcStageMask != dependency.srcStageMask && out.srcAccessMask != dependency.srcAccessMask);
}

UNIT_MAIN();
