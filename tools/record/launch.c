/* SPDX-License-Identifier: MIT */
#include "tools/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/version.h"
#include "tools/common/tool.h"

#define MANIFEST "VkLayer_lapilli.json"
/* The manifests of 32 and 64 bits lie in one folder, where they are not the same. */
#define MANIFEST_32 "VkLayer_lapilli_32.json"

#define WATCH_NS    INT64_C(20000000)

static bool has_item(const char *list, const char *item)
{
    size_t length = strlen(item);
    for (const char *p = list; p && *p;) {
        size_t here = strcspn(p, ":");
        if (here == length && memcmp(p, item, length) == 0)
            return true;
        p += here + (p[here] == ':');
    }
    return false;
}

bool lap_launch_add(const char *variable, const char *item, bool last)
{
    const char *list = getenv(variable);
    char *joined;
    bool done;

    if (!list || !*list)
        return setenv(variable, item, 1) == 0;
    if (has_item(list, item))
        return true;
    if (asprintf(&joined, "%s:%s", last ? list : item, last ? item : list) < 0)
        return false;
    done = setenv(variable, joined, 1) == 0;
    free(joined);
    return done;
}

bool lap_launch_layer(const char *folder)
{
    const char *path = getenv("VK_LAYER_PATH");

    /* VK_LAYER_PATH replaces the loader's folders, and the loader then ignores VK_ADD_LAYER_PATH. So it is changed
     * only where the user has set it. Neither variable has a quote for a colon. */
    if (strchr(folder, ':'))
        return errno = EINVAL, false;
    if (path && *path && !lap_launch_add("VK_LAYER_PATH", folder, true))
        return false;
    return lap_launch_add("VK_ADD_LAYER_PATH", folder, true) &&
           lap_launch_add("VK_INSTANCE_LAYERS", LAPILLI_LAYER_NAME, false);
}

/* The same when installed and in a build folder. */
bool lap_launch_find_layer(const char *program, char out[PATH_MAX])
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length > 0) {
        path[length] = 0;
        for (int up = 0; up < 2 && strrchr(path, '/'); up++)
            *strrchr(path, '/') = 0;
        for (int i = UINTPTR_MAX == UINT32_MAX ? 0 : 1; i < 2; i++) {
            length = snprintf(out, PATH_MAX, "%s/share/vulkan/explicit_layer.d/%s", path, i ? MANIFEST : MANIFEST_32);
            if (length < PATH_MAX && access(out, R_OK) == 0) {
                *strrchr(out, '/') = 0;
                return true;
            }
        }
    }
    fprintf(stderr,
            "%s: the layer's manifest share/vulkan/explicit_layer.d/" MANIFEST
            " is not where it should be, beside the folder of this program\n",
            program);
    return false;
}

static bool set(const char *variable, const char *value)
{
    return !value || setenv(variable, value, 1) == 0;
}

bool lap_launch_environment(const char *program, const char *folder, const char *file, const char *report,
                            const struct lap_layer_option *options, size_t count)
{
    if (strchr(folder, ':')) {
        fprintf(stderr, "%s: %s: the loader can't be given a folder with a colon in its name\n", program, folder);
        return false;
    }
    bool good = (report || unsetenv("LAPILLI_REPORT") == 0) && lap_launch_layer(folder) &&
                set("LAPILLI_CAPTURE", "1") && set("LAPILLI_FILE", file) && set("LAPILLI_REPORT", report) &&
                unsetenv("DISABLE_LAPILLI_CAPTURE") == 0;
    for (size_t i = 0; i < count && good; i++)
        good = set(options[i].variable, options[i].value);
    if (!good)
        fprintf(stderr, "%s: the environment can't be set: %s\n", program, strerror(errno));
    return good;
}

static volatile sig_atomic_t child;

static void pass_on(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    /* si_code is positive for signals from the kernel to a whole process group, such as Ctrl-C at a terminal. */
    if (child > 0 && info->si_code <= 0)
        kill((pid_t)child, number);
    errno = saved;
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define PASSED_COUNT (sizeof passed / sizeof passed[0])

static void start(char *const argv[], int report, const struct sigaction old[PASSED_COUNT], const sigset_t *mask)
{
    ssize_t written;

    for (size_t i = 0; i < PASSED_COUNT; i++)
        sigaction(passed[i], &old[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    written = write(report, &errno, sizeof errno);
    (void)written;
    _exit(LAP_TOOL_NOT_STARTED);
}

/* Returns its status, as waitpid has it. */
static int wait_for(pid_t pid, void (*watch)(void *user, pid_t process), void *user)
{
    pid_t ended = 0;
    int status = 0;

    while (watch && (ended = waitpid(pid, &status, WNOHANG)) == 0) {
        watch(user, pid);
        nanosleep(&(struct timespec){.tv_nsec = WATCH_NS}, NULL);
    }
    while (ended != pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

struct lap_launched lap_launch_run(char *const argv[])
{
    return lap_launch_watch(argv, NULL, NULL);
}

struct lap_launched lap_launch_watch(char *const argv[], void (*watch)(void *user, pid_t process), void *user)
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART}, old[PASSED_COUNT], ended;
    sigset_t block, mask;
    int report[2], status = 0, failure = 0;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) != 0)
        return (struct lap_launched){.error = errno, .status = LAP_TOOL_NOT_STARTED};
    sigemptyset(&block);
    for (size_t i = 0; i < PASSED_COUNT; i++)
        sigaddset(&block, passed[i]);
    sigprocmask(SIG_BLOCK, &block, &mask);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        sigaction(passed[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) /* nohup and background jobs keep ignoring it */
            sigaction(passed[i], &action, NULL);
    }
    sigaction(SIGCHLD, NULL, &ended);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    pid = fork();
    if (pid == 0) {
        sigaction(SIGCHLD, &ended, NULL);
        start(argv, report[1], old, &mask);
    }
    failure = pid < 0 ? errno : 0;
    child = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    while (pid > 0 && read(report[0], &failure, sizeof failure) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (pid > 0)
        status = wait_for(pid, watch, user);
    sigaction(SIGCHLD, &ended, NULL);
    child = 0;
    if (failure)
        return (struct lap_launched){.error = failure, .status = LAP_TOOL_NOT_STARTED};
    if (WIFSIGNALED(status))
        return (struct lap_launched){.process = pid, .signal = WTERMSIG(status), .status = 128 + WTERMSIG(status)};
    return (struct lap_launched){.process = pid, .status = WEXITSTATUS(status)};
}
