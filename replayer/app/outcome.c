/* SPDX-License-Identifier: MIT */
#include "replayer/app/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL_STATUS 128 /* and the signal's number */

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};

#define SIGNALS (sizeof signals / sizeof *signals)

/* A handler has no other way to them. */
static char status_file[PATH_MAX], unfinished[PATH_MAX];
static struct sigaction before[SIGNALS];
static pid_t process; /* not its children */
static atomic_flag begun = ATOMIC_FLAG_INIT;
static atomic_bool written;

_Noreturn void __wrap__exit(int code);
_Noreturn void __real__exit(int code);

/* Only calls that a handler may make. */
void app_outcome_end(int code)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    char text[8] = {(char)('0' + code / 100 % 10), (char)('0' + code / 10 % 10), (char)('0' + code % 10), '\n'};
    size_t zeros = code < 10 ? 2 : code < 100 ? 1 : 0;
    int fd;

    if (!process || getpid() != process)
        return;
    if (atomic_flag_test_and_set(&begun)) {
        for (int i = 0; i < 100 && !atomic_load(&written); i++) /* another thread is about to */
            (void)nanosleep(&moment, NULL);
        return;
    }
    fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, text + zeros, 4 - zeros) == (ssize_t)(4 - zeros))
        (void)rename(unfinished, status_file);
    if (fd >= 0)
        (void)close(fd);
    atomic_store(&written, true);
}

void __wrap__exit(int code)
{
    app_outcome_end(code & 0xff);
    __real__exit(code);
}

/* After the replay's own handler, which says where. Android's, which is the next, writes a tombstone. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    app_outcome_end(SIGNAL_STATUS + number);
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            (void)sigaction(number, &before[i], NULL);
    /* What was sent does not come again by itself, nor what is behind its instruction. */
    if (info->si_code <= 0 || number == SIGTRAP)
        (void)raise(number);
}

static enum lap_status redirect(const char *name, const char *ending, int to)
{
    char file[NAME_MAX];
    int fd;

    snprintf(file, sizeof file, "%s.%s", name, ending);
    fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        return lap_fail(LAP_ERROR_IO, "%s can't be written: %s", file, strerror(errno));
    (void)close(fd);
    return LAP_OK;
}

enum lap_status app_outcome_begin(const char *folder, const char *name)
{
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    enum lap_status status;

    if (chdir(folder) != 0)
        return lap_fail(LAP_ERROR_IO, "%s can't be entered: %s", folder, strerror(errno));
    if (snprintf(status_file, sizeof status_file, "%s/%s.status", folder, name) >= (int)sizeof status_file ||
        snprintf(unfinished, sizeof unfinished, "%s.tmp", status_file) >= (int)sizeof unfinished)
        return lap_fail(LAP_ERROR_IO, "%s is too long a name", folder);
    (void)unlink(status_file);
    status = redirect(name, "out", STDOUT_FILENO);
    if (status == LAP_OK)
        status = redirect(name, "err", STDERR_FILENO);
    if (status != LAP_OK)
        return status;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* others read it while the replay runs */
    process = getpid();
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        (void)sigaction(signals[i], &ours, &before[i]);
    return LAP_OK;
}
