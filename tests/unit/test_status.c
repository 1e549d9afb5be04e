/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "base/status.h"
#include "tests/unit/unit.h"

UNIT_TEST(every_status_has_a_text)
{
    CHECK_STR(lap_status_text(LAP_OK), "ok");
    CHECK_STR(lap_status_text(LAP_END), "end of stream");
    CHECK_STR(lap_status_text(LAP_ERROR_LIMIT), "a stated limit was exceeded");
    CHECK_STR(lap_status_text((enum lap_status)1234), "unknown status");
}

UNIT_TEST(a_failure_keeps_its_message)
{
    CHECK_EQ_INT(lap_fail(LAP_ERROR_IO, "can't read %s", "x"), LAP_ERROR_IO);
    CHECK_STR(lap_error_message(), "can't read x");
    CHECK_EQ_INT(lap_fail_context(LAP_ERROR_FORMAT, "file %d", 7), LAP_ERROR_FORMAT);
    CHECK_STR(lap_error_message(), "file 7: can't read x");
}

UNIT_TEST(a_message_may_contain_the_one_before)
{
    (void)lap_fail(LAP_ERROR_IO, "inner");
    (void)lap_fail(LAP_ERROR_IO, "outer (%s)", lap_error_message());
    CHECK_STR(lap_error_message(), "outer (inner)");
}

UNIT_TEST(long_messages_are_cut)
{
    char text[2000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    (void)lap_fail(LAP_ERROR_IO, "%s", text);
    CHECK_EQ_U64(strlen(lap_error_message()), 1535);
    (void)lap_fail_context(LAP_ERROR_IO, "front");
    CHECK_EQ_U64(strlen(lap_error_message()), 1535);
    CHECK(strncmp(lap_error_message(), "front: aaa", 10) == 0);
    (void)lap_fail_context(LAP_ERROR_IO, "%s", text);
    CHECK_EQ_U64(strlen(lap_error_message()), 1535);
}

static void *look(void *out)
{
    *(int *)out = lap_error_message()[0] == 0;
    (void)lap_fail(LAP_ERROR_IO, "of the other thread");
    return NULL;
}

UNIT_TEST(messages_belong_to_threads)
{
    pthread_t thread;
    int empty = 0;
    (void)lap_fail(LAP_ERROR_IO, "mine");
    CHECK_EQ_INT(pthread_create(&thread, NULL, look, &empty), 0);
    pthread_join(thread, NULL);
    CHECK(empty);
    CHECK_STR(lap_error_message(), "mine");
}

UNIT_MAIN();
