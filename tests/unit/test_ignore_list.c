/* SPDX-License-Identifier: MIT */
#include "replayer/verify/ignore_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static struct replay_ignore_list ignored;

static enum lap_status load(const char *text)
{
    char path[] = "/tmp/lapilli-ignored-XXXXXX";
    int fd = mkstemp(path);
    enum lap_status status;

    CHECK(fd >= 0);
    CHECK_EQ_INT(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    status = replay_ignore_list_load(path, &ignored);
    unlink(path);
    return status;
}

UNIT_TEST(checks_are_counted_for_each_object)
{
    CHECK_EQ_INT(load("# what differs\n\nVkBuffer:3 2\n  VkImage:3\t*  # all of it\r\nVkSwapchainKHR:1 1"), LAP_OK);
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkBuffer, 3));
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkBuffer, 4));
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkBuffer, 4));
    CHECK(replay_ignore_list_has(&ignored, GEN_HANDLE_VkBuffer, 3));
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkBuffer, 3));
    for (int i = 0; i < 3; i++)
        CHECK(replay_ignore_list_has(&ignored, GEN_HANDLE_VkImage, 3));
    CHECK(replay_ignore_list_has(&ignored, GEN_HANDLE_VkSwapchainKHR, 1));
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkSwapchainKHR, 1));
    replay_ignore_list_finish(&ignored);
}

UNIT_TEST(what_is_no_check_is_refused_with_its_line)
{
    const char *const bad[] = {"VkBuffer:3",   "VkBuffer 3",     "VkBuffer:0 1",
                               "VkBuffer:3 0", "VkBuffer:3 1 2", "VkFence:3 1",
                               "VkBuffer:3 x", "VkBuffer:-3 1",  "VkBuffer:99999999999999999999 1",
                               ":1 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        snprintf(text, sizeof text, "VkImage:1 *\n%s\n", bad[i]);
        CHECK_EQ_INT(load(text), LAP_ERROR_ARGUMENT);
        CHECK(strstr(lap_error_message(), "line 2:") != NULL);
    }
    CHECK_EQ_INT(replay_ignore_list_load("/there/is/none", &ignored), LAP_ERROR_IO);
    CHECK_EQ_INT(load(""), LAP_OK);
    CHECK(!replay_ignore_list_has(&ignored, GEN_HANDLE_VkImage, 1));
    replay_ignore_list_finish(&ignored);
}

UNIT_MAIN();
