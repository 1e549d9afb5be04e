/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "gen_reflect.h"
#include "tests/unit/unit.h"
#include "tools/show/text.h"

static uint32_t enum_number(const char *name)
{
    for (uint32_t i = 0; i < GEN_ENUM_COUNT; i++)
        if (strcmp(gen_enums[i].name, name) == 0)
            return i;
    UNIT_FAIL("no enum %s", name);
    return 0;
}

UNIT_TEST(enums_are_printed_by_name)
{
    CHECK_STR(lap_text_enum(enum_number("VkFormat"), VK_FORMAT_B8G8R8A8_UNORM), "VK_FORMAT_B8G8R8A8_UNORM");
    CHECK_STR(lap_text_enum(enum_number("VkResult"), VK_ERROR_DEVICE_LOST), "VK_ERROR_DEVICE_LOST");
    CHECK_STR(lap_text_enum(enum_number("VkResult"), VK_ERROR_OUT_OF_DATE_KHR), "VK_ERROR_OUT_OF_DATE_KHR");
    CHECK(lap_text_enum(enum_number("VkFormat"), 123456789) == NULL);
}

UNIT_TEST(flags_are_printed_by_name)
{
    char text[LAP_TEXT_FLAGS_MAX];
    uint32_t stages = enum_number("VkShaderStageFlags");

    lap_text_flags(stages, 0, text);
    CHECK_STR(text, "0");
    lap_text_flags(stages, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, text);
    CHECK_STR(text, "VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT");
    lap_text_flags(stages, VK_SHADER_STAGE_ALL_GRAPHICS, text);
    CHECK_STR(text, "VK_SHADER_STAGE_ALL_GRAPHICS");
    lap_text_flags(stages, VK_SHADER_STAGE_VERTEX_BIT | 0x40000000u, text);
    CHECK_STR(text, "VK_SHADER_STAGE_VERTEX_BIT | 0x40000000");
    lap_text_flags(enum_number("VkInstanceCreateFlags"), UINT64_MAX, text);
    CHECK(strstr(text, "0xffff") != NULL);
}

UNIT_TEST(integers_are_printed_whole)
{
    char text[LAP_TEXT_NUMBER_MAX];

    CHECK(lap_text_number(0, text) == text + 1);
    CHECK_STR(text, "0");
    lap_text_number(1020, text);
    CHECK_STR(text, "1020");
    lap_text_number(UINT64_MAX, text);
    CHECK_STR(text, "18446744073709551615");
}

UNIT_TEST(floats_are_printed_exactly)
{
    static const double values[] = {0,        1,        0.1,         1.0 / 3, 1e-40,  3.4e38,
                                    16777216, 16777217, -123456.789, FLT_MIN, DBL_MAX};
    char text[LAP_TEXT_NUMBER_MAX];

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        lap_text_float(values[i], 8, text);
        CHECK(strtod(text, NULL) == values[i]);
        if (values[i] < 1e39 && values[i] > -1e39) {
            lap_text_float((double)(float)values[i], 4, text);
            CHECK(strtof(text, NULL) == (float)values[i]);
        }
    }
    lap_text_float((double)0.1f, 4, text);
    CHECK_STR(text, "0.1");
    lap_text_float((double)NAN, 4, text);
    CHECK_STR(text, "NaN");
    lap_text_float(-HUGE_VAL, 8, text);
    CHECK_STR(text, "-Infinity");
}

UNIT_TEST(strings_become_utf8)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"plain", "plain"},
                 {"\xc3\xa4", "\xc3\xa4"},
                 {"\xe2\x82\xac!", "\xe2\x82\xac!"},
                 {"\xf0\x9f\x8c\x8b", "\xf0\x9f\x8c\x8b"},
                 {"a\xff", "a\xef\xbf\xbd"},
                 {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
                 {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
                 {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}};                /* cut */

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = lap_utf8(cases[i].in, strlen(cases[i].in));
        CHECK_STR(text, cases[i].out);
        free(text);
    }
}

UNIT_TEST(characters_that_would_change_a_terminal_are_replaced)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8b", "plain \xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8b"},
                 {"\x1b[2J\x7f", "?[2J?"},
                 {"\xc2\x9b"
                  "31m",
                  "?31m"},                                 /* CSI, in one character */
                 {"gpj.\xe2\x80\xae.png", "gpj.?.png"},    /* U+202E: from right to left */
                 {"\xef\xbb\xbf\xf3\xa0\x81\xa1x", "??x"}, /* U+FEFF, U+E0061 */
                 {"\xff\xc2\xed\xa0\x80\xe2\x82", "???"
                                                  "????"}, /* no UTF-8 */
                 {"a\tb\nc", "a?b\nc"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char printed[64] = "", clean[64];
        FILE *out = fmemopen(printed, sizeof printed, "w");

        lap_utf8_print(out, cases[i].in, strlen(cases[i].in), '?', "\n");
        (void)fclose(out);
        CHECK_STR(printed, cases[i].out);
        snprintf(clean, sizeof clean, "%s", cases[i].in);
        CHECK_EQ_U64(lap_utf8_clean(clean, '?'), strlen(clean));
        CHECK(strchr(clean, '\n') == NULL && strlen(clean) == strlen(printed));
    }
}

UNIT_MAIN();
