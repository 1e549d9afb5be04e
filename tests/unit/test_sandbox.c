/* SPDX-License-Identifier: MIT */
/* Each sandbox is entered in a process of its own; test_sandbox_calls.c asks what it says to each call, and
 * tests/e2e/sandbox.py tries what a replay would do. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/sandbox.h"
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

static bool can_read(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static const char memory_name[] = "/lapilli-unit-sandbox";

static int all_but_devices_is_read(void)
{
    static const char *const readable[] = {"/dev/null", "/dev/urandom", "/dev", "/",   "/proc/self/maps",
                                           "/bin/sh",   "/etc/passwd",  "/sys", "/tmp"};
    struct lap_sandbox sandbox;
    char memory[64];

    snprintf(memory, sizeof memory, "/dev/shm%s", memory_name);
    if (!can_read("/dev/ptmx") || !can_read(memory))
        return NOT_HERE;
    enter(&sandbox);
    if (sandbox.state != LAP_SANDBOX_ON)
        return NOT_HERE;
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
        if (!can_read(readable[i]))
            return dprintf(STDOUT_FILENO, "%s: %s\n", readable[i], strerror(errno)), SHUTS_OUT;
    return can_read("/dev/ptmx") || errno != EACCES ? LEAKS : can_read(memory) ? HOLDS : SHUTS_OUT;
}

/* One of the lines "CapPrm:" and so on. */
static uint64_t capabilities(const char *which)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    uint64_t set = 0;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, which, strlen(which)) == 0)
            set = strtoull(line + strlen(which), NULL, 16);
    if (file)
        fclose(file);
    return set;
}

static int root_is_nobody_in_particular(void)
{
    const uint64_t kept = 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_SYS_NICE;
    struct lap_sandbox sandbox;

    if (!can_write("open/of-somebody") || chown(inside("open/of-somebody"), 4321, 4321) != 0)
        return NOT_HERE;
    enter(&sandbox);
    if (sandbox.state != LAP_SANDBOX_ON)
        return NOT_HERE;
    if ((capabilities("CapPrm:") | capabilities("CapEff:")) & ~kept)
        return LEAKS;
    return can_read(inside("open/of-somebody")) ? HOLDS : SHUTS_OUT;
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

UNIT_TEST(devices_are_not_opened)
{
    int memory = shm_open(memory_name, O_RDWR | O_CREAT, 0600), came;

    came = in_child(all_but_devices_is_read);
    if (memory >= 0)
        CHECK(close(memory) == 0 && shm_unlink(memory_name) == 0);
    if (came == NOT_HERE)
        SKIP("the kernel has no Landlock or no seccomp, or there is no terminal to be had");
    CHECK_EQ_INT(came, HOLDS);
}

UNIT_TEST(privileges_of_root_are_given_up)
{
    int came;

    if (!(capabilities("CapEff:") & 1 << CAP_CHOWN) || !(capabilities("CapEff:") & 1 << CAP_DAC_OVERRIDE))
        SKIP("there are none");
    CHECK(scratch_make() && mkdir(inside("open"), 0700) == 0);
    came = in_child(root_is_nobody_in_particular);
    (void)unlink(inside("open/of-somebody"));
    CHECK(rmdir(inside("open")) == 0 && rmdir(scratch) == 0);
    if (came == NOT_HERE)
        SKIP("the kernel has no Landlock or no seccomp");
    CHECK_EQ_INT(came, HOLDS);
}

UNIT_TEST(threads_that_are_there_already_are_told_of)
{
    CHECK_EQ_INT(in_child(other_threads_are_told_of), HOLDS);
}

UNIT_MAIN();
