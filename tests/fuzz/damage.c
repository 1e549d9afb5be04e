/* SPDX-License-Identifier: MIT */
/*
 * damage TRACE OTHER [PART PARTS]: damages a trace in every way of a list (damage_change.h), OTHER giving what does not
 * belong there, or in the PARTth of PARTS shares of all these, counted from 0, and says what came of it. Each is played
 * on a driver that looks at everything it is given (driver.h), and read by one of the programs that read traces
 * (damage_program.h); by which, its number says.
 *
 * Of each replay must hold: it ends by itself, soon, and gives back what it took; it ends with an error, or says that
 * the trace is incomplete, both with the place in the file, or it says what is damaged and the driver saw the same
 * calls as without; and all frames that end in front of the damage were played. A TRACE may have no end: then the
 * driver must have seen the same calls, or be told of fewer. Exit status 1: one did not, and is named.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/sanitizers.h"
#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/fuzz/damage_change.h"
#include "tests/fuzz/damage_program.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/forge.h"
#include "trace/format/chunk.h"

#if LAP_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

#define LONGEST_S     60u /* of one replay: far more than any takes */
#define MAX_FAILURES  20u
#define WARM_UP_PLAYS 3u
#define ONE_IN        4u /* of the flips and cuts are for programs */

static struct damage_trace file, other;
static FILE *report; /* stdout, before it is caught */

static _Noreturn void die(const char *text)
{
    fprintf(report, "damage: %s\n", text);
    exit(2);
}

/* ---- playing it ---- */

struct outcome {
    enum lap_status status;
    bool complete, repaired;
    char message[512]; /* of the error, or why it is incomplete */
    uint64_t frames, digest;
    size_t left, memory; /* objects of the driver, bytes that are allocated */
};

/* The driver stands for the loader (module.mk). */
void *driver_dlopen(const char *path, int flags);
void *driver_dlsym(void *library, const char *name);

void *driver_dlopen(const char *path, int flags)
{
    static char library;
    return &library;
}

void *driver_dlsym(void *library, const char *name)
{
    return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (void *)driver_get_instance_proc_addr : NULL;
}

static struct outcome play(const uint8_t *data, size_t bytes)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options = {.file = forge_place(data, bytes),
                                     .quiet = true,
                                     .strict = true, /* damage is no call of a program */
                                     .verify = true,
                                     .present = REPLAY_PRESENT_OFF,
                                     .screenshot_dir = ".",
                                     .threads = 1};
    struct outcome out = {.complete = false};
    struct replay r;
    uint64_t handle;
    size_t at = 0;

    out.status = replay_open(&r, &options, &log);
    if (out.status == LAP_OK) {
        const struct lap_reader_summary *summary = lap_reader_summary(r.reader);
        out.complete = summary->complete;
        out.frames = summary->frames;
        snprintf(out.message, sizeof out.message, "%s", summary->stopped ? summary->stopped : "");
        out.status = replay_run(&r);
        out.repaired = summary->repaired != NULL;
    }
    if (out.status != LAP_OK) {
        const char *frame = strstr(lap_error_message(), "frame ");
        snprintf(out.message, sizeof out.message, "%s", lap_error_message());
        out.frames = frame ? strtoull(frame + strlen("frame "), NULL, 10) : 0;
        out.frames -= out.frames > 0; /* it is within that frame */
    }
    if (!replay_close(&r))
        snprintf(out.message, sizeof out.message, "the replay did not end its devices");
    out.digest = driver_digest();
    while (driver_object_next(&at, &handle))
        out.left++;
    driver_reset();
    out.memory = damage_taken();
    return out;
}

/* ---- what must hold ---- */

static struct outcome good;

/* What does not hold of it, or NULL. first: the first byte that is not what it was; whole: frames in front of it. */
static const char *judge(const struct outcome *out, size_t first, size_t whole)
{
    bool same = out->status == LAP_OK && out->complete;

    if (out->left)
        return "objects of the driver are left";
    if (out->memory > good.memory)
        return "memory is left";
    if (!good.complete && out->status == LAP_OK && out->frames == good.frames)
        return out->digest == good.digest ? NULL : "the driver saw other calls, and nobody was told";
    if (same && !out->repaired)
        return "nobody was told";
    if (same)
        return out->digest == good.digest && out->frames == good.frames
                   ? NULL
                   : "the driver saw other calls, and nobody was told";
    if (!out->message[0])
        return "nothing says why";
    if (first >= LAP_FILE_HEADER_BYTES && !strstr(out->message, "offset "))
        return "nothing says where";
    if (out->status != LAP_OK && whole > 0 && !strstr(out->message, "frame "))
        return "nothing says in which frame";
    return out->frames < whole ? "frames that end in front of the damage are missing" : NULL;
}

/* ---- all of it ---- */

#define READERS (1 + DAMAGE_PROGRAMS) /* the replay is the first */

static struct shared {
    size_t number; /* of the change that is tried */
    const char *reader;
    uint64_t ways[DAMAGE_WAYS][DAMAGE_RESULTS], readers[READERS][DAMAGE_RESULTS];
    unsigned failures;
} * shared;

static void name_failure(const char *why, const char *message)
{
    struct damage_change change = damage_change(&file, &other, shared->number);

    if (++shared->failures > MAX_FAILURES)
        return;
    fprintf(report, "FAILED %zu: %s at byte %zu (of %zu, %zu bytes", shared->number, damage_way_names[change.way],
            change.piece.at, file.bytes, change.piece.bytes);
    if (change.with.bytes)
        fprintf(report, ", with %zu bytes from byte %zu", change.with.bytes, change.with.at);
    if (change.way == DAMAGE_FLIP)
        fprintf(report, ", bit %u", change.bit);
    fprintf(report, "): %s: %s%s%s\n", shared->reader, why, message[0] ? ": " : "", message);
    fflush(report);
}

static void count(enum damage_way way, unsigned reader, enum damage_result result)
{
    shared->ways[way][result]++;
    shared->readers[reader][result]++;
}

static void try_replay(enum damage_way way, const uint8_t *data, size_t bytes, size_t first, size_t whole)
{
    struct outcome outcome;
    const char *why;

    shared->reader = "replay";
    outcome = play(data, bytes);
    count(way, 0,
          outcome.status != LAP_OK                                             ? DAMAGE_REFUSED
          : outcome.complete == good.complete && outcome.frames == good.frames ? DAMAGE_SAME
                                                                               : DAMAGE_SHORTER);
    why = judge(&outcome, first, whole);
    if (why)
        name_failure(why, outcome.message);
}

/* One of them, so that neighbouring numbers have others; or none: there are many bits, and each chunk has a lot. */
static void try_program(enum damage_way way, const uint8_t *data, size_t bytes, size_t first, size_t whole)
{
    uint64_t lot = shared->number * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    unsigned program = (unsigned)(lot % DAMAGE_PROGRAMS);
    enum damage_result result;
    const char *why;

    if (way <= DAMAGE_CUT && lot / DAMAGE_PROGRAMS % ONE_IN != 0)
        return;
    shared->reader = damage_program_names[program];
    why = damage_program_try(program, data, bytes, first, whole, &result);
    count(way, 1 + program, result);
    if (why)
        name_failure(why, damage_program_said());
}

static void try(uint8_t *out)
{
    struct damage_change change = damage_change(&file, &other, shared->number);
    size_t whole = 0, first, bytes = damage_apply(&file, &other, &change, out, &first);

    if (first == bytes && bytes == file.bytes)
        return; /* it is what it was */
    while (whole < file.frame_count && file.frames[whole].bytes <= first)
        whole++;
    try_replay(change.way, out, bytes, first, whole);
    try_program(change.way, out, bytes, first, whole);
}

static void learn(void)
{
    const char *why;

    for (unsigned i = 0; i < WARM_UP_PLAYS; i++)
        good = play(file.data, file.bytes);
    if (good.status != LAP_OK || good.left || good.frames != file.frame_count)
        die(good.message[0] ? good.message : "the trace is not whole as it is");
    why = damage_programs_learn(file.data, file.bytes, file.frame_count);
    if (why)
        die(why);
}

/* Tries each step-th from shared->number on, in a process of its own. */
static int work(size_t end, size_t step)
{
    pid_t child = fork();
    int status = 0;

    if (child < 0)
        die("can't fork");
    if (child == 0) {
        uint8_t *out = malloc(damage_room(&file, &other));
        if (!out)
            die("out of memory");
        learn();
        for (; shared->number < end; shared->number += step) {
            alarm(LONGEST_S);
            try(out);
        }
        free(out);
        damage_unload(&file);
        damage_unload(&other);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child)
        die("can't wait");
    return status;
}

/* Each thread keeps some of what it freed for itself, which would count as allocated. There are no windows. */
static void begin_without_cache(char **argv)
{
    static const char setting[] = "glibc.malloc.tcache_count=0", variable[] = "GLIBC_TUNABLES";
    const char *now = getenv(variable);

    if (now && strcmp(now, setting) == 0)
        return;
    if (unsetenv("DISPLAY") != 0 || unsetenv("WAYLAND_DISPLAY") != 0 || setenv(variable, setting, 1) != 0 ||
        (execv("/proc/self/exe", argv), true))
        die("can't begin anew");
}

#if LAP_ADDRESS_SANITIZER
static int report_fd;

static void tell_sanitizer(void)
{
    __sanitizer_set_report_fd((void *)(intptr_t)report_fd); // NOLINT
}
#endif

/* What is said goes on to where it went. */
static void catch_programs(void)
{
    static char lines[BUFSIZ], reported[BUFSIZ]; /* so that the first one takes no memory */
    const char *why;
    int fd = dup(STDOUT_FILENO);

#if LAP_ADDRESS_SANITIZER
    report_fd = dup(STDERR_FILENO);
    if (pthread_atfork(NULL, NULL, tell_sanitizer) != 0) /* it forgets where to report to */
        _exit(2);
#endif
    setvbuf(stdout, lines, _IOFBF, sizeof lines);
    why = damage_programs_catch();
    report = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!report || setvbuf(report, reported, _IOFBF, sizeof reported) != 0 || why)
        _exit(2);
}

static void say_counts(const char *name, const uint64_t counts[DAMAGE_RESULTS])
{
    static const char *const results[DAMAGE_RESULTS] = {"made up for", "end earlier and say so", "refused",
                                                        "not looked at"};
    uint64_t all = 0;

    for (unsigned i = 0; i < DAMAGE_RESULTS; i++)
        all += counts[i];
    if (!all)
        return;
    fprintf(report, "%-11s %" PRIu64 ":", name, all);
    for (unsigned i = 0; i < DAMAGE_RESULTS; i++)
        fprintf(report, "%s %" PRIu64 " %s", i ? "," : "", counts[i], results[i]);
    fputc('\n', report);
}

static void load(const char *path, struct damage_trace *out)
{
    const char *why = damage_load(path, out);
    if (why)
        die(why);
}

int main(int argc, char **argv)
{
    size_t part = 0, parts = 1, end;

    report = stderr;
    if (argc != 3 && argc != 5)
        die("damage TRACE OTHER [PART PARTS]");
    if (argc == 5) {
        part = strtoul(argv[3], NULL, 10);
        parts = strtoul(argv[4], NULL, 10);
    }
    begin_without_cache(argv);
    if (part >= parts)
        die("there is no such part");
    load(argv[1], &file);
    load(argv[2], &other);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("out of memory");
    catch_programs();
    shared->number = part;
    shared->reader = "";
    end = damage_count(&file, &other);
    while (shared->number < end && shared->failures < MAX_FAILURES) {
        int status = work(end, parts);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
            return 2;
        if (shared->number >= end) {
            shared->failures++; /* a leak, which has been told */
            break;
        }
        name_failure(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the process was ended",
                     damage_program_said());
        shared->number += parts;
    }
    for (unsigned i = 0; i < DAMAGE_WAYS; i++)
        say_counts(damage_way_names[i], shared->ways[i]);
    for (unsigned i = 0; i < READERS; i++) {
        char name[40];
        snprintf(name, sizeof name, "by %s", i ? damage_program_names[i - 1] : "replay");
        say_counts(name, shared->readers[i]);
    }
    fclose(report);
    return shared->failures != 0;
}
