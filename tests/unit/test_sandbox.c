/* SPDX-License-Identifier: MIT */
/* Each sandbox is entered in a process of its own; tests/e2e/sandbox.py tries all that it refuses. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sandbox.h"
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

static bool can_write(const char *name)
{
    int fd = open(inside(name), O_WRONLY | O_CREAT, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* What a process of its own ends with; -1 if it ends in another way. */
static int in_child(int (*run)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { HOLDS, LEAKS, NOT_HERE, SHUTS_OUT };

static void enter(struct lap_sandbox *sandbox)
{
    char folder[256];
    const char *folders[] = {folder, "/no/such/folder"};
    struct lap_sandbox_options options = {.folders = folders, .folder_count = 2};
    snprintf(folder, sizeof folder, "%s", inside("open"));
    lap_sandbox_enter(&options, sandbox);
}

static void *write_outside(void *unused)
{
    return can_write("outside-by-thread") ? scratch : NULL;
}

static int only_the_folder_is_open(void)
{
    struct lap_sandbox sandbox;
    pthread_t thread;
    void *wrote;

    enter(&sandbox);
    if (sandbox.state != LAP_SANDBOX_ON)
        return sandbox.lack[0] ? NOT_HERE : LEAKS;
    if (sandbox.lack[0] || can_write("outside") || access(inside("."), R_OK) != 0)
        return LEAKS;
    if (!can_write("open/new") || mkdir(inside("open/folder"), 0700) != 0 || !can_write("open/folder/new") ||
        unlink(inside("open/folder/new")) != 0 || rmdir(inside("open/folder")) != 0)
        return SHUTS_OUT;
    if (pthread_create(&thread, NULL, write_outside, NULL) != 0 || pthread_join(thread, &wrote) != 0)
        return SHUTS_OUT;
    return wrote ? LEAKS : HOLDS;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_mutex(void *unused)
{
    pthread_mutex_lock(&held);
    return NULL;
}

static int other_threads_are_told_of(void)
{
    struct lap_sandbox sandbox;
    pthread_t thread;

    pthread_mutex_lock(&held);
    if (pthread_create(&thread, NULL, wait_for_mutex, NULL) != 0)
        return SHUTS_OUT;
    enter(&sandbox);
    return sandbox.state != LAP_SANDBOX_ON && strstr(sandbox.lack, "other threads") ? HOLDS : LEAKS;
}

UNIT_TEST(only_what_is_named_can_be_written)
{
    int came;

    CHECK(scratch_make());
    CHECK(mkdir(inside("open"), 0700) == 0);
    came = in_child(only_the_folder_is_open);
    if (came == NOT_HERE)
        SKIP("the kernel has no Landlock or no seccomp");
    CHECK_EQ_INT(came, HOLDS);
    CHECK(can_write("outside")); /* here it is none of ours */
    CHECK(strcmp(lap_sandbox_state_name(LAP_SANDBOX_PARTIAL), "partial") == 0);
    CHECK(unlink(inside("outside")) == 0 && unlink(inside("open/new")) == 0 && rmdir(inside("open")) == 0);
    CHECK(rmdir(scratch) == 0);
}

UNIT_TEST(threads_that_are_there_already_are_told_of)
{
    CHECK_EQ_INT(in_child(other_threads_are_told_of), HOLDS);
}

UNIT_MAIN();
