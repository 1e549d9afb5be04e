/* SPDX-License-Identifier: MIT */
#include "tools/profile/replays.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"

#define MOST_OUTPUT ((size_t)256 << 20)
#define MOST_ERRORS ((size_t)1 << 20) /* what is more is dropped */
#define MOST_LINE   ((size_t)4096)    /* of progress */
#define STEPS       1000u             /* of a replay, in lines of progress */
#define MOST_WORDS  (24u + 3 + 2 * PROFILE_SHADERS)

enum { OUTPUT, ERRORS, PROGRESS, PIPES };

struct text {
    char *bytes;
    size_t count, capacity;
};

struct run {
    struct profile_replays *replays;
    unsigned number, all; /* of replays, from 0 */
    struct lap_progress progress;
    char what[64];
    uint64_t told; /* steps, of all replays */
    sigset_t before;
    int signals; /* signalfd */
    /* Of one replay. */
    int pipes[PIPES];
    struct text texts[PIPES];
    bool counts; /* statistics */
    bool too_much;
};

/* ---- the process ---- */

static size_t add_experiments(const struct profile_replays *replays, const char **words)
{
    size_t count = 0;

    if (replays->wireframe)
        words[count++] = "--wireframe";
    if (replays->null_fragment)
        words[count++] = "--null-fragment";
    if (replays->tiny_viewport)
        words[count++] = "--tiny-viewport";
    for (size_t i = 0; i < replays->shader_count; i++) {
        words[count++] = "--replace-shader";
        words[count++] = replays->shaders[i];
    }
    return count;
}

static void make_words(const struct run *run, const char *trace, char number[12], const char *words[MOST_WORDS])
{
    const struct profile_replays *replays = run->replays;
    const char *const all[][2] = {{"--profile", replays->frames},
                                  {"--present", "headless"},
                                  {"--progress", number},
                                  {"--gpu", replays->gpu},
                                  {"--wait-limit", replays->wait_limit},
                                  {"--sandbox", replays->sandbox}};
    size_t count = 0;

    words[count++] = "lapilli-replay";
    words[count++] = "--quiet";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i][1])
            continue;
        words[count++] = all[i][0];
        words[count++] = all[i][1];
    }
    if (replays->draws)
        words[count++] = "--profile-draws";
    if (run->counts)
        words[count++] = "--profile-statistics";
    if (trace == replays->traces[0])
        count += add_experiments(replays, words + count);
    words[count++] = "--";
    words[count++] = trace;
    words[count] = NULL;
}

/* In the child. */
static void become(const struct run *run, const char *path, const char *trace, const int ends[PIPES], pid_t parent)
{
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC), progress = fcntl(ends[PROGRESS], F_DUPFD, 3);
    const char *words[MOST_WORDS];
    char number[12];

    snprintf(number, sizeof number, "%d", progress); /* without FD_CLOEXEC */
    make_words(run, trace, number, words);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &run->before, NULL);
    if (lap_tool_end_with(parent) && progress >= 0 && none >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
        dup2(ends[OUTPUT], STDOUT_FILENO) >= 0 && dup2(ends[ERRORS], STDERR_FILENO) >= 0)
        execv(path, (char *const *)(uintptr_t)words);
    _exit(LAP_TOOL_NOT_STARTED);
}

static void close_all(int ends[PIPES])
{
    for (size_t i = 0; i < PIPES; i++) {
        if (ends[i] >= 0)
            close(ends[i]);
        ends[i] = -1;
    }
}

/* Returns its number, or -1. */
static pid_t start(struct run *run, const char *path, const char *trace)
{
    int ends[PIPES] = {-1, -1, -1};
    pid_t child = -1, parent = getpid();
    bool good = true;

    for (size_t i = 0; i < PIPES; i++)
        run->pipes[i] = -1;
    for (size_t i = 0; good && i < PIPES; i++) {
        int both[2];
        good = pipe2(both, O_CLOEXEC) == 0;
        run->pipes[i] = good ? both[0] : -1;
        ends[i] = good ? both[1] : -1;
        good = good && fcntl(both[0], F_SETFL, O_NONBLOCK) == 0;
    }
    if (good) {
        fflush(NULL);
        child = fork();
    }
    if (child == 0)
        become(run, path, trace, ends, parent);
    if (child < 0)
        fprintf(stderr, "%s: no replay can be started: %s\n", run->replays->program, strerror(errno));
    close_all(ends);
    if (child < 0)
        close_all(run->pipes);
    return child;
}

/* ---- progress ---- */

/* Of all replays; a reader that falls behind misses lines. */
static void tell(struct run *run, uint64_t step)
{
    struct pollfd to = {.fd = run->replays->progress_fd, .events = POLLOUT};
    uint64_t done = (uint64_t)run->number * STEPS + step, all = (uint64_t)run->all * STEPS;
    char line[80];
    int length;

    if (done <= run->told && run->told)
        return;
    run->told = done;
    lap_progress_show(&run->progress, step, STEPS);
    length = snprintf(line, sizeof line, "{\"done\":%" PRIu64 ",\"all\":%" PRIu64 "}\n", done, all);
    if (to.fd && poll(&to, 1, 0) > 0 && (to.revents & POLLOUT))
        (void)!write(to.fd, line, (size_t)length);
}

/* A line of a replay, whose last one is not yet the end of this program's work. */
static void take_line(struct run *run, const char *line)
{
    cJSON *object = cJSON_Parse(line);
    double done = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, "done"));
    double all = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, "all"));

    if (done >= 0 && all >= done && all > 0 && all < 1e18)
        tell(run, (uint64_t)(done / all * (STEPS - 1)));
    cJSON_Delete(object);
}

static void take_lines(struct run *run)
{
    struct text *text = &run->texts[PROGRESS];
    size_t begin = 0;

    for (size_t i = 0; i < text->count; i++)
        if (text->bytes[i] == '\n') {
            text->bytes[i] = 0;
            take_line(run, text->bytes + begin);
            begin = i + 1;
        }
    if (begin) {
        memmove(text->bytes, text->bytes + begin, text->count - begin);
        text->count -= begin;
    }
    if (text->count > MOST_LINE)
        text->count = 0;
}

/* ---- what it prints ---- */

/* Keeps a zero behind the text. False: out of memory, or too much. */
static bool keep(struct run *run, unsigned which, const char *bytes, size_t count)
{
    struct text *text = &run->texts[which];
    const size_t most = which == OUTPUT ? MOST_OUTPUT : MOST_ERRORS;

    if (count > most - text->count) {
        run->too_much |= which == OUTPUT;
        return which != OUTPUT;
    }
    if (!lap_array_grow(&text->bytes, 1, &text->capacity, text->count + count + 1))
        return false;
    memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = 0;
    return true;
}

/* All that is there. False: out of memory, or too much. */
static bool read_pipe(struct run *run, unsigned which)
{
    static char bytes[65536];
    ssize_t got;

    while (run->pipes[which] >= 0) {
        got = read(run->pipes[which], bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            close(run->pipes[which]);
            run->pipes[which] = -1;
        } else if (!keep(run, which, bytes, (size_t)got)) {
            return false;
        } else if (which == PROGRESS) {
            take_lines(run);
        }
    }
    return true;
}

static void take_signals(struct run *run, pid_t child)
{
    struct signalfd_siginfo came;

    while (read(run->signals, &came, sizeof came) == (ssize_t)sizeof came)
        if (came.ssi_signo != SIGCHLD) {
            run->replays->ended_by = (int)came.ssi_signo;
            (void)kill(child, SIGKILL);
        }
}

/* Until it has ended. Returns its status as of waitpid. *out_good: all of its output is there. */
static int listen_to(struct run *run, pid_t child, bool *out_good)
{
    int status = 0;
    bool ended;

    *out_good = true;
    do {
        struct pollfd all[PIPES + 1];
        for (unsigned i = 0; i < PIPES; i++)
            all[i] = (struct pollfd){.fd = run->pipes[i], .events = POLLIN};
        all[PIPES] = (struct pollfd){.fd = run->signals, .events = POLLIN};
        (void)poll(all, PIPES + 1, -1);
        take_signals(run, child);
        ended = waitpid(child, &status, WNOHANG) == child; /* what it wrote is in the pipes then */
        for (unsigned i = 0; i < PIPES && *out_good; i++)
            *out_good = read_pipe(run, i);
        if (!*out_good && !ended)
            (void)kill(child, SIGKILL);
        if (!*out_good)
            close_all(run->pipes);
    } while (!ended);
    close_all(run->pipes);
    return status;
}

/* ---- all of them ---- */

/* Messages of replays stand once, unless it fails. Returns -1, or an exit status. */
static int judge(struct run *run, int status, bool good, bool first)
{
    const struct text *errors = &run->texts[ERRORS];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    lap_progress_clear(&run->progress);
    if (run->replays->ended_by)
        return LAP_TOOL_FAILED;
    if (errors->count && (first || (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)))
        fwrite(errors->bytes, 1, errors->count, stderr);
    if (!good)
        fprintf(stderr, "%s: %s\n", run->replays->program,
                run->too_much ? "a replay prints more than 256 MiB" : "out of memory");
    else if (code < 0)
        fprintf(stderr, "%s: the replay was ended: %s\n", run->replays->program, strsignal(WTERMSIG(status)));
    else if (code == LAP_TOOL_NOT_STARTED)
        fprintf(stderr, "%s: lapilli-replay can't be started\n", run->replays->program);
    if (!good || code < 0)
        return LAP_TOOL_FAILED;
    return code == LAP_TOOL_OK ? -1 : code;
}

/* Returns -1, or an exit status after a message. */
static int play(struct run *run, const char *path, size_t side, size_t loop, struct profile_output *out)
{
    const struct profile_replays *replays = run->replays;
    int status, code = LAP_TOOL_FAILED;
    bool good;
    pid_t child;

    run->counts = loop == replays->loops;
    if (run->counts)
        snprintf(run->what, sizeof run->what, "statistics");
    else
        snprintf(run->what, sizeof run->what, "loop %zu of %zu%s", loop + 1, replays->loops, side ? ", the other" : "");
    lap_progress_begin(&run->progress, run->what, replays->quiet);
    run->too_much = false;
    child = start(run, path, replays->traces[side]);
    if (child > 0) {
        status = listen_to(run, child, &good);
        code = judge(run, status, good, loop == 0);
        if (code < 0 || code == LAP_TOOL_INCOMPLETE)
            tell(run, run->number + 1 < run->all ? STEPS - 1 : STEPS);
    }
    *out = (struct profile_output){run->texts[OUTPUT].bytes, run->texts[OUTPUT].count};
    free(run->texts[ERRORS].bytes);
    free(run->texts[PROGRESS].bytes);
    memset(run->texts, 0, sizeof run->texts);
    run->number++;
    return code;
}

static int play_all(struct run *run, const char *path, struct profile_output outputs[PROFILE_SIDES][PROFILE_OUTPUTS])
{
    const unsigned sides = run->replays->traces[1] ? 2 : 1;
    int result = -1;

    run->all = sides * (unsigned)run->replays->loops + run->replays->statistics;
    for (size_t loop = 0; loop < run->replays->loops; loop++)
        for (size_t turn = 0; turn < sides; turn++) {
            size_t side = loop % 2 ? sides - 1 - turn : turn;
            int code = play(run, path, side, loop, &outputs[side][loop]);
            if (code >= 0 && code != LAP_TOOL_INCOMPLETE)
                return code;
            result = code > result ? code : result;
        }
    if (run->replays->statistics) {
        int code = play(run, path, 0, run->replays->loops, &outputs[0][run->replays->loops]);
        if (code >= 0 && code != LAP_TOOL_INCOMPLETE)
            return code;
    }
    return result;
}

int profile_replays_run(struct profile_replays *replays, struct profile_output outputs[PROFILE_SIDES][PROFILE_OUTPUTS])
{
    static const int held[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct run run = {.replays = replays};
    char path[PATH_MAX];
    sigset_t set;
    int code = LAP_TOOL_FAILED;

    if (!lap_tool_find_beside("lapilli-replay", path)) {
        fprintf(stderr, "%s: lapilli-replay is not beside this program\n", replays->program);
        return LAP_TOOL_NOT_STARTED;
    }
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        sigaddset(&set, held[i]);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    (void)signal(SIGPIPE, SIG_IGN); /* nobody may read the progress any more */
    (void)sigprocmask(SIG_BLOCK, &set, &run.before);
    run.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run.signals >= 0)
        code = play_all(&run, path, outputs);
    else
        fprintf(stderr, "%s: no replay can be started: %s\n", replays->program, strerror(errno));
    if (run.signals >= 0)
        close(run.signals);
    if (!replays->ended_by)
        (void)sigprocmask(SIG_SETMASK, &run.before, NULL);
    return code;
}

void profile_replays_end(const struct profile_replays *replays)
{
    sigset_t set;

    if (!replays->ended_by)
        return;
    sigemptyset(&set);
    sigaddset(&set, replays->ended_by);
    (void)signal(replays->ended_by, SIG_DFL);
    (void)raise(replays->ended_by);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
