/* SPDX-License-Identifier: MIT */
#include "replayer/options.h"
#include "replayer/present/window_system.h"
#include "tests/unit/unit.h"

static struct replay_options options;
static enum replay_action action;

static enum lap_status parse(const char *a, const char *b, const char *c)
{
    char *argv[] = {(char *)"lapilli-replay", (char *)a, (char *)b, (char *)c};
    int argc = 1 + (a != NULL) + (b != NULL) + (c != NULL);

    replay_options_finish(&options);
    return replay_options_parse(argc, argv, &options, &action);
}

UNIT_TEST(a_file_alone_has_defaults)
{
    CHECK_EQ_INT(parse("x.lapilli", NULL, NULL), LAP_OK);
    CHECK_EQ_INT(action, REPLAY_ACTION_PLAY);
    CHECK_STR(options.file, "x.lapilli");
    CHECK_EQ_INT(options.present, REPLAY_PRESENT_AUTO);
    CHECK_STR(options.screenshot_dir, ".");
    CHECK(!options.verify && !options.force && !options.strict && !options.quiet && !options.gpu &&
          !options.screenshots.count);
}

UNIT_TEST(what_is_read_needs_a_place_and_a_file)
{
    CHECK_EQ_INT(parse("--stop-at=7", "--read=list", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--read=list", "--read-to=file", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--stop-at=0", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--stop-at=7", "--blackhole", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--stop-at=7", "f", NULL), LAP_OK);
    CHECK(options.stop_at == 7 && !options.read_list && !options.reading);
    CHECK_EQ_INT(parse("--stop-at=#0", "f", NULL), LAP_OK);
    CHECK_EQ_U64(options.stop_at, 1); /* the first packet's ticket */
    CHECK_EQ_INT(parse("--stop-at=#", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--stop-at=#7.1", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--stop-at=#18446744073709551615", "f", NULL), LAP_ERROR_ARGUMENT);
}

UNIT_TEST(values_stand_behind_a_space_or_an_equals_sign)
{
    CHECK_EQ_INT(parse("--gpu", "llvm", "f"), LAP_OK);
    CHECK_STR(options.gpu, "llvm");
    CHECK_STR(options.file, "f");
    CHECK_EQ_INT(parse("--gpu=1", "f", "--verify"), LAP_OK);
    CHECK_STR(options.gpu, "1");
    CHECK(options.verify);
    CHECK_EQ_INT(parse("--present=off", "f", NULL), LAP_OK);
    CHECK_EQ_INT(options.present, REPLAY_PRESENT_OFF);
    CHECK_EQ_INT(parse("--window-system", "xcb", "f"), LAP_OK);
    CHECK(options.window_system == &replay_window_xcb);
    CHECK_EQ_INT(options.present, REPLAY_PRESENT_WINDOW);
    CHECK_EQ_INT(parse("--window-system=xcb", "--present=off", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--window-system=mir", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--validate", "f.json", NULL), LAP_OK);
    CHECK(options.validate && !options.validate_gpu && !options.validate_sync);
    CHECK_STR(options.file, "f.json");
    CHECK_EQ_INT(parse("--validate=gpu", "f", NULL), LAP_OK);
    CHECK(options.validate && options.validate_gpu && !options.validate_sync);
    CHECK_EQ_INT(parse("--validate=sync,gpu", "--json", "f"), LAP_OK);
    CHECK(options.validate_gpu && options.validate_sync && options.json);
    CHECK_EQ_INT(parse("--validate=all", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--validate=gpu,", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--validate", "--threads=2", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--validate", "--blackhole", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--validate", "--check", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--check", "--validate", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--last-frame", "12", "f"), LAP_OK);
    CHECK_EQ_U64(options.last_frame, 12);
    CHECK_EQ_INT(parse("--", "--verify", NULL), LAP_OK);
    CHECK_STR(options.file, "--verify");
}

UNIT_TEST(frames_are_numbers_and_ranges)
{
    CHECK_EQ_INT(parse("--screenshot", "1,50-60,7", "f"), LAP_OK);
    CHECK_EQ_INT(options.screenshots.count, 3);
    CHECK(lap_frames_have(&options.screenshots, 55) && !lap_frames_have(&options.screenshots, 6));
    static const char *const wrong[] = {"", "0", "1,", "3-", "5-4", "x", "1-2-3", "-1", "99999999999999999999999"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ_INT(parse("--screenshot", wrong[i], "f"), LAP_ERROR_ARGUMENT);
        CHECK(strstr(lap_error_message(), "--screenshot") != NULL);
    }
    replay_options_finish(&options);
}

UNIT_TEST(wrong_usage_is_named)
{
    CHECK_EQ_INT(parse(NULL, NULL, NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("a", "b", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--gpu", NULL, NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--verify=yes", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--present", "tv", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--last-frame", "0", "f"), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(parse("--verif", "f", NULL), LAP_ERROR_ARGUMENT);
    CHECK(strstr(lap_error_message(), "--verif;") != NULL);
}

UNIT_TEST(actions_need_no_file)
{
    CHECK_EQ_INT(parse("--help", NULL, NULL), LAP_OK);
    CHECK_EQ_INT(action, REPLAY_ACTION_HELP);
    CHECK_EQ_INT(parse("--version", NULL, NULL), LAP_OK);
    CHECK_EQ_INT(action, REPLAY_ACTION_VERSION);
    CHECK_EQ_INT(parse("--list-gpus", NULL, NULL), LAP_OK);
    CHECK_EQ_INT(action, REPLAY_ACTION_LIST_GPUS);
}

UNIT_MAIN();
