/* SPDX-License-Identifier: MIT */
#include "tools/trim_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "base/utf8.h"
#include "tools/common/tool.h"

/* ---- files ---- */

static int open_file(struct trim_replay *replay)
{
    const char *folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int fd;

    if (!folder || *folder != '/' || strlen(folder) > sizeof path - 32)
        folder = "/var/tmp"; /* on a disk: contents may be large */
    fd = lap_nameless_file(folder);
    if (fd >= 0)
        return fd;
    snprintf(path, sizeof path, "%s/lapilli-trim-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) {
        snprintf(replay->reason, sizeof replay->reason, "no file can be made in %.100s (TMPDIR): %s", folder,
                 strerror(errno));
        return -1;
    }
    (void)unlink(path);
    return fd;
}

bool trim_replay_begin(struct trim_replay *replay)
{
    *replay = (struct trim_replay){.contents = -1};
    replay->list = open_file(replay);
    if (replay->list >= 0)
        replay->contents = open_file(replay);
    return replay->contents >= 0;
}

void trim_replay_end(struct trim_replay *replay)
{
    if (replay->list >= 0)
        close(replay->list);
    if (replay->contents >= 0)
        close(replay->contents);
    replay->list = replay->contents = -1;
}

/* ---- the process ---- */

struct arguments {
    char list[32], contents[32], packet[24];
    const char *words[20];
};

static void make_arguments(struct arguments *a, const struct trim_replay *replay, const char *trace, uint64_t packet,
                           const char *gpu, const char *sandbox)
{
    size_t count = 0;

    snprintf(a->list, sizeof a->list, "/proc/self/fd/%d", replay->list);
    snprintf(a->contents, sizeof a->contents, "/proc/self/fd/%d", replay->contents);
    snprintf(a->packet, sizeof a->packet, "%" PRIu64, packet);
    const char *const always[] = {"lapilli-replay", "--stop-at", a->packet,  "--read",    a->list, "--read-to",
                                  a->contents,      "--present", "headless", "--sandbox", sandbox, "--quiet"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        a->words[count++] = always[i];
    if (gpu) {
        a->words[count++] = "--gpu";
        a->words[count++] = gpu;
    }
    a->words[count++] = "--";
    a->words[count++] = trace;
    a->words[count] = NULL;
}

static void execute(const struct trim_replay *replay, const char *program, const char *const *words, int say_to,
                    pid_t parent)
{
    if (!lap_tool_end_with(parent))
        _exit(LAP_TOOL_NOT_STARTED);
    (void)dup2(say_to, STDERR_FILENO);
    (void)dup2(say_to, STDOUT_FILENO);
    (void)fcntl(replay->list, F_SETFD, 0); /* the replay opens both by their numbers */
    (void)fcntl(replay->contents, F_SETFD, 0);
    execv(program, (char *const *)(uintptr_t)words);
    _exit(LAP_TOOL_NOT_STARTED);
}

static const char *without(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : text;
}

/* Returns the last line of its output. */
static void listen_to(int from, char *out, size_t bytes)
{
    char line[512], c;
    size_t length = 0;
    ssize_t got;

    *out = 0;
    while ((got = read(from, &c, 1)) > 0 || (got < 0 && errno == EINTR)) {
        if (got < 0)
            continue;
        if (c != '\n') {
            if (length < sizeof line - 1)
                line[length++] = c ? c : '?';
            continue;
        }
        line[length] = 0;
        if (lap_utf8_clean(line, '?'))
            snprintf(out, bytes, "%.*s", (int)(bytes - 1), without(without(line, "lapilli-replay: "), "error: "));
        length = 0;
    }
}

bool trim_replay_run(struct trim_replay *replay, const char *trace, uint64_t packet, const char *gpu,
                     const char *sandbox)
{
    char program[PATH_MAX];
    struct arguments arguments;
    int ends[2], status = 0;
    pid_t child, parent;

    if (!lap_tool_find_beside("lapilli-replay", program)) {
        snprintf(replay->reason, sizeof replay->reason, "lapilli-replay is not beside this program");
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(replay->reason, sizeof replay->reason, "no replay can be started: %s", strerror(errno));
        return false;
    }
    make_arguments(&arguments, replay, trace, packet, gpu, sandbox);
    fflush(NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    parent = getpid();
    child = fork();
    if (child == 0)
        execute(replay, program, arguments.words, ends[1], parent);
    close(ends[1]);
    if (child > 0)
        listen_to(ends[0], replay->reason, sizeof replay->reason);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        snprintf(replay->reason, sizeof replay->reason, "no replay can be started: %s", strerror(errno));
        return false;
    }
    if (WIFEXITED(status) && (WEXITSTATUS(status) == LAP_TOOL_OK || WEXITSTATUS(status) == LAP_TOOL_INCOMPLETE))
        return true;
    if (WIFSIGNALED(status))
        snprintf(replay->reason, sizeof replay->reason, "the replay was ended: %s", strsignal(WTERMSIG(status)));
    else if (!replay->reason[0])
        snprintf(replay->reason, sizeof replay->reason, "the replay ends with status %d", WEXITSTATUS(status));
    return false;
}
