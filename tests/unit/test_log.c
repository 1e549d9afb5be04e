/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "tests/unit/unit.h"

/* Runs what a test logs into a pipe and gives back what came out. */
static int ends[2];

static struct lap_log open_log(enum lap_log_level level)
{
    if (pipe(ends) != 0)
        abort();
    return (struct lap_log){.fd = ends[1], .level = level, .prefix = "lapilli: "};
}

static const char *close_log(void)
{
    static char text[65536];
    size_t used = 0;
    ssize_t got;
    close(ends[1]);
    while ((got = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    close(ends[0]);
    return text;
}

UNIT_TEST(messages_have_prefix_and_level)
{
    struct lap_log log = open_log(LAP_LOG_DEBUG);
    lap_log(&log, LAP_LOG_ERROR, "a %d", 1);
    lap_log(&log, LAP_LOG_WARNING, "b");
    lap_log(&log, LAP_LOG_INFO, "c");
    lap_log(&log, LAP_LOG_DEBUG, "d");
    CHECK_STR(close_log(), "lapilli: error: a 1\nlapilli: warning: b\nlapilli: c\nlapilli: debug: d\n");
}

UNIT_TEST(messages_below_the_level_are_left_out)
{
    struct lap_log log = open_log(LAP_LOG_WARNING);
    lap_log(&log, LAP_LOG_WARNING, "kept");
    lap_log(&log, LAP_LOG_INFO, "dropped");
    CHECK_STR(close_log(), "lapilli: warning: kept\n");
}

UNIT_TEST(a_log_without_file_writes_nothing)
{
    struct lap_log log = {.fd = -1, .level = LAP_LOG_DEBUG};
    errno = EDOM;
    lap_log(&log, LAP_LOG_ERROR, "x");
    lap_log(NULL, LAP_LOG_ERROR, "x");
    CHECK_EQ_INT(errno, EDOM);
}

static enum lap_log_level told_level;
static char told[64];

static void tell(enum lap_log_level level, const char *message)
{
    told_level = level;
    snprintf(told, sizeof told, "%s", message);
    errno = EIO;
}

UNIT_TEST(another_log_gets_the_message_alone)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_WARNING, .prefix = "p: ", .write = tell};
    errno = ENOENT;
    lap_log(&log, LAP_LOG_INFO, "too much");
    CHECK_STR(told, "");
    lap_log(&log, LAP_LOG_WARNING, "two\nlines: %m");
    CHECK_STR(told, "two?lines: No such file or directory");
    CHECK_EQ_INT(told_level, LAP_LOG_WARNING);
    CHECK_EQ_INT(errno, ENOENT);
}

UNIT_TEST(errno_is_kept)
{
    struct lap_log log = {.fd = 9999, .level = LAP_LOG_DEBUG, .prefix = "p: "};
    errno = ENOENT;
    lap_log(&log, LAP_LOG_ERROR, "into a closed file");
    CHECK_EQ_INT(errno, ENOENT);
}

UNIT_TEST(long_messages_are_cut_and_end_with_a_newline)
{
    struct lap_log log = open_log(LAP_LOG_DEBUG);
    char text[5000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    lap_log(&log, LAP_LOG_INFO, "%s", text);
    const char *out = close_log();
    CHECK(strlen(out) > 1000 && strlen(out) < 5000);
    CHECK_EQ_INT(out[strlen(out) - 1], '\n');
}

UNIT_TEST(control_characters_are_not_printed)
{
    struct lap_log log = open_log(LAP_LOG_DEBUG);
    lap_log(&log, LAP_LOG_INFO, "no %s here", "VK_\033[2J\r\n\x7f_\xc3\xa4\xe2\x80\xae\xc2\x9b\xff");
    CHECK_STR(close_log(), "lapilli: no VK_?[2J???_\xc3\xa4??? here\n");
}

static void *write_lines(void *log)
{
    for (int i = 0; i < 200; i++)
        lap_log(log, LAP_LOG_INFO, "0123456789012345678901234567890123456789");
    return NULL;
}

UNIT_TEST(lines_of_several_threads_do_not_mix)
{
    struct lap_log log = open_log(LAP_LOG_INFO);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, write_lines, &log);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    const char *out = close_log(), *line = "lapilli: 0123456789012345678901234567890123456789\n";
    int lines = 0;
    while (strncmp(out, line, strlen(line)) == 0)
        out += strlen(line), lines++;
    CHECK_EQ_INT(lines, 800);
    CHECK_STR(out, "");
}

UNIT_TEST(levels_are_parsed)
{
    enum lap_log_level level = LAP_LOG_DEBUG;
    CHECK(lap_log_parse_level("error", &level) && level == LAP_LOG_ERROR);
    CHECK(lap_log_parse_level("warning", &level) && level == LAP_LOG_WARNING);
    CHECK(lap_log_parse_level("info", &level) && level == LAP_LOG_INFO);
    CHECK(lap_log_parse_level("debug", &level) && level == LAP_LOG_DEBUG);
    level = LAP_LOG_WARNING;
    CHECK(!lap_log_parse_level("Debug", &level) && level == LAP_LOG_WARNING);
    CHECK(!lap_log_parse_level("", &level) && !lap_log_parse_level(NULL, &level));
}

UNIT_MAIN();
