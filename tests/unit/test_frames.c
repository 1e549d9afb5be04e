/* SPDX-License-Identifier: MIT */
#include "base/frames.h"
#include "tests/unit/unit.h"

UNIT_TEST(frames_are_numbers_and_ranges)
{
    struct lap_frames frames = {NULL, 0};

    CHECK_EQ_INT(lap_frames_parse("7,50-60,1", &frames), LAP_OK);
    CHECK_EQ_INT(frames.count, 3);
    CHECK(lap_frames_have(&frames, 1) && lap_frames_have(&frames, 7));
    CHECK(lap_frames_have(&frames, 50) && lap_frames_have(&frames, 60));
    CHECK(!lap_frames_have(&frames, 0) && !lap_frames_have(&frames, 2));
    CHECK(!lap_frames_have(&frames, 49) && !lap_frames_have(&frames, 61));
    CHECK_EQ_INT(lap_frames_parse("3-18446744073709551609", &frames), LAP_OK);
    CHECK_EQ_INT(frames.count, 4);
    CHECK(lap_frames_have(&frames, 1000000000000) && lap_frames_have(&frames, 1) && !lap_frames_have(&frames, 2));
    lap_frames_finish(&frames);
    CHECK(!lap_frames_have(&frames, 3));
    lap_frames_finish(&frames);
}

UNIT_TEST(what_is_no_list_of_frames_leaves_the_list_alone)
{
    static const char *const wrong[] = {"",      "0",   "1,", ",1",    "1,,2",
                                        "3-",    "5-4", "x",  "1-2-3", "-1",
                                        "1 - 2", " 1",  "+1", "1;",    "99999999999999999999999"};
    struct lap_frames frames = {NULL, 0};

    CHECK_EQ_INT(lap_frames_parse("4", &frames), LAP_OK);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ_INT(lap_frames_parse(wrong[i], &frames), LAP_ERROR_ARGUMENT);
        CHECK(frames.count == 1 && lap_frames_have(&frames, 4));
    }
    lap_frames_finish(&frames);
}

UNIT_TEST(lengths_have_units)
{
    static const struct {
        const char *text;
        struct lap_length length;
    } good[] = {{"10s", {LAP_LENGTH_MILLISECONDS, 10000}},
                {"0.25s", {LAP_LENGTH_MILLISECONDS, 250}},
                {"300f", {LAP_LENGTH_FRAMES, 300}},
                {"64MiB", {LAP_LENGTH_BYTES, UINT64_C(64) << 20}},
                {"2GiB", {LAP_LENGTH_BYTES, UINT64_C(2) << 30}},
                {"0.5GiB", {LAP_LENGTH_BYTES, UINT64_C(512) << 20}}};
    static const char *const wrong[] = {"",     "10",   "s",   "0s",    "0f",
                                        "0MiB", "1.5f", "-1s", "1 s",   "1ss",
                                        "1kiB", "1mib", "+1f", "1s,2f", "99999999999999999999s"};
    struct lap_length length = {LAP_LENGTH_FRAMES, 7};

    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ_INT(lap_length_parse(wrong[i], &length), LAP_ERROR_ARGUMENT);
        CHECK(length.unit == LAP_LENGTH_FRAMES && length.amount == 7);
    }
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK_EQ_INT(lap_length_parse(good[i].text, &length), LAP_OK);
        CHECK(length.unit == good[i].length.unit && length.amount == good[i].length.amount);
    }
}

UNIT_TEST(lengths_are_written_as_they_are_read)
{
    static const char *const texts[] = {"10s", "0.250s", "300f", "64MiB", "2048MiB"};
    char text[LAP_LENGTH_TEXT_BYTES];
    struct lap_length length = {LAP_LENGTH_NONE, 0};

    lap_length_text(&length, text);
    CHECK_STR(text, "off");
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK_EQ_INT(lap_length_parse(texts[i], &length), LAP_OK);
        lap_length_text(&length, text);
        CHECK_STR(text, texts[i]);
    }
    lap_length_text(&(struct lap_length){LAP_LENGTH_BYTES, 1536 << 10}, text);
    CHECK_STR(text, "1.500MiB");
}

UNIT_MAIN();
