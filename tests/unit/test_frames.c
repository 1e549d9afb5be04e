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

UNIT_MAIN();
