/* SPDX-License-Identifier: MIT */
#include "tools/import_replay.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/progress.h"
#include "tools/common/tool.h"

#define OUTPUT_BYTES 65536u

/* A process, its output, and a pipe from it. */
struct run {
    int output;      /* a file without a name; -1: none */
    int progress[2]; /* -1: none */
    char text[OUTPUT_BYTES];
};

static int failed(const struct import_replay *replay)
{
    fprintf(stderr, "%s: no replay can be started: %s\n", replay->program, strerror(errno));
    return LAP_TOOL_FAILED;
}

/* In the child. */
static void execute(const struct import_replay *replay, const struct run *run, const char *path,
                    const char *const *words, pid_t parent)
{
    if (lap_tool_end_with(parent) && dup2(run->output, STDOUT_FILENO) >= 0) {
        if (run->progress[1] >= 0)
            (void)fcntl(run->progress[1], F_SETFD, 0); /* the replay knows its number */
        environ = replay->environment;
        execv(path, (char *const *)(uintptr_t)words);
    }
    _exit(LAP_TOOL_NOT_STARTED);
}

static void show_line(struct lap_progress *progress, const char *line)
{
    cJSON *all = cJSON_Parse(line);
    double done = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(all, "done"));
    double whole = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(all, "all"));

    if (done >= 0 && whole >= done && whole < 1e18)
        lap_progress_show(progress, (uint64_t)done, (uint64_t)whole);
    cJSON_Delete(all);
}

/* Until the replay closes its end. */
static void show_progress(const struct import_replay *replay, int from)
{
    FILE *lines = fdopen(from, "r");
    struct lap_progress progress;
    char *line = NULL;
    size_t room = 0;

    lap_progress_begin(&progress, "replaying", replay->quiet);
    while (lines && getline(&line, &room, lines) > 0)
        show_line(&progress, line);
    lap_progress_clear(&progress);
    free(line);
    if (lines)
        (void)fclose(lines);
    else
        close(from);
}

/* Returns the exit status, 128 + n for signal n, or -1 after a message. run->text has its output. */
static int wait_for(const struct import_replay *replay, struct run *run, pid_t child)
{
    ssize_t got;
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return failed(replay), -1;
    got = pread(run->output, run->text, sizeof run->text - 1, 0);
    run->text[got > 0 ? got : 0] = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int execute_and_wait(const struct import_replay *replay, struct run *run, const char *const *words)
{
    char path[PATH_MAX];
    pid_t child, parent = getpid();

    if (!lap_tool_find_beside("lapilli-replay", path)) {
        fprintf(stderr, "%s: lapilli-replay is not beside this program\n", replay->program);
        return -1;
    }
    fflush(NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    child = fork();
    if (child == 0)
        execute(replay, run, path, words, parent);
    if (run->progress[1] >= 0)
        close(run->progress[1]);
    if (run->progress[0] >= 0)
        show_progress(replay, run->progress[0]);
    run->progress[0] = run->progress[1] = -1;
    return child > 0 ? wait_for(replay, run, child) : (failed(replay), -1);
}

static bool begin(const struct import_replay *replay, struct run *run)
{
    run->progress[0] = run->progress[1] = -1;
    run->output = memfd_create("lapilli-import", MFD_CLOEXEC);
    if (run->output < 0)
        (void)failed(replay);
    return run->output >= 0;
}

int import_replay_gpu(const struct import_replay *replay, const char *name, struct import_gpu *out)
{
    const char *const words[] = {"lapilli-replay", "--list-gpus", "--json", replay->gpu ? "--gpu" : NULL,
                                 replay->gpu,      NULL};
    struct run *run = malloc(sizeof *run);
    cJSON *all = NULL;
    const cJSON *gpu;
    int code = LAP_TOOL_FAILED;

    *out = (struct import_gpu){.number = 0};
    if (run && begin(replay, run)) {
        code = execute_and_wait(replay, run, words);
        close(run->output);
        all = code == LAP_TOOL_OK ? cJSON_Parse(run->text) : NULL;
    }
    cJSON_ArrayForEach(gpu, cJSON_GetObjectItemCaseSensitive(all, "gpus"))
    {
        const char *its = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(gpu, "name"));
        const cJSON *number = cJSON_GetObjectItemCaseSensitive(gpu, "number");
        out->number = cJSON_IsNumber(number) ? (unsigned)number->valueint : 0;
        out->recorded |= its && strcmp(its, name) == 0;
    }
    cJSON_Delete(all);
    free(run);
    return code < 0 ? LAP_TOOL_FAILED : code;
}

/* The last line of its output. */
static bool parse_result(const char *text, struct import_verified *out)
{
    static const char before[] = "verify: ", between[] = " checks, ";
    const char *last = NULL, *at = text;
    char *end;

    while ((at = strstr(at, before)))
        last = at += sizeof before - 1;
    if (!last)
        return false;
    out->checks = strtoull(last, &end, 10);
    if (strncmp(end, between, sizeof between - 1) != 0)
        return false;
    out->different = strtoull(end + sizeof between - 1, NULL, 10);
    return true;
}

int import_replay_verify(const struct import_replay *replay, const char *trace, bool has_checks,
                         struct import_verified *out)
{
    struct run *run = malloc(sizeof *run);
    char number[12] = "";
    const char *words[16] = {"lapilli-replay", "--quiet",       "--present",  "headless",
                             "--sandbox",      replay->sandbox, "--progress", number};
    size_t count = 8;
    int code = -1;

    *out = (struct import_verified){.played = false};
    if (has_checks)
        words[count++] = "--verify";
    if (replay->gpu) {
        words[count++] = "--gpu";
        words[count++] = replay->gpu;
    }
    words[count++] = "--";
    words[count] = trace;
    if (run && begin(replay, run)) {
        if (pipe2(run->progress, O_CLOEXEC) == 0) {
            snprintf(number, sizeof number, "%d", run->progress[1]);
            code = execute_and_wait(replay, run, words);
        } else {
            (void)failed(replay);
        }
        close(run->output);
        if (has_checks && code >= 0 && !parse_result(run->text, out))
            *out = (struct import_verified){.played = false};
        out->played = code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE || out->different;
    }
    free(run);
    if (code == LAP_TOOL_NOT_STARTED)
        fprintf(stderr, "%s: lapilli-replay can't be started\n", replay->program);
    return code < 0 || code == LAP_TOOL_NOT_STARTED ? LAP_TOOL_FAILED : LAP_TOOL_OK;
}
