/* SPDX-License-Identifier: MIT */
#include "tools/record/finish_recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/record/finish.h"
#include "trace/format/codec.h"
#include "trace/format/info.h"
#include "trace/read/reader.h"
#include "trace/send/address.h"
#include "trace/write/writer.h"

#define FAILED_MARK '!' /* in front of a path: the recording failed (layer/core/recording.c) */
#define STREAM_MARK '@' /* in front of an address: a receiver writes the trace */
#define BEGUN_MARK  '>' /* the same: of each trace, when it begins */
#define ENDED_MARK  '<' /* and when its receiver has all of it */
#define STEP_NS     INT64_C(50000000)
#define MOST_STEPS  20u /* for all traces: processes that ended with the program may take a moment longer */

struct traces {
    char **paths; /* in the order in which they were begun; NULL: already reported */
    size_t count;
    size_t streamed; /* traces that receivers write */
    bool any;        /* a process used Vulkan */
    bool failed;     /* it could not be recorded, and has reported that */
    size_t open;     /* streamed traces without an end */
    char lack[512];  /* what was not recorded, the first of it; "": nothing is known */
};

static void note_lack(struct traces *traces, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note_lack(struct traces *traces, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!traces->lack[0])
        (void)vsnprintf(traces->lack, sizeof traces->lack, format, arguments);
    va_end(arguments);
}

/* Successive recordings may reuse a name: the file is that of the later one. */
static void forget_earlier(struct traces *traces, const char *line)
{
    size_t at = 0;

    while (at < traces->count && strcmp(traces->paths[at], line) != 0)
        at++;
    if (at == traces->count)
        return;
    free(traces->paths[at]);
    memmove(&traces->paths[at], &traces->paths[at + 1], (--traces->count - at) * sizeof *traces->paths);
}

/* Adds a line of the report, and takes it in any case. False: out of memory. */
static bool add_line(struct traces *traces, char *line)
{
    static const char marks[] = {FAILED_MARK, STREAM_MARK, BEGUN_MARK, ENDED_MARK, 0};
    char **paths;

    traces->any = true;
    traces->failed |= *line == FAILED_MARK;
    traces->streamed += *line == STREAM_MARK;
    traces->open += *line == BEGUN_MARK;
    traces->open -= *line == ENDED_MARK;
    forget_earlier(traces, line);
    if (strchr(marks, *line) || (access(line, F_OK) != 0 && errno == ENOENT)) { /* no instance: the trace is gone */
        free(line);
        return true;
    }
    paths = realloc(traces->paths, (traces->count + 1) * sizeof *paths);
    if (!paths) {
        free(line);
        return false;
    }
    traces->paths = paths;
    paths[traces->count++] = line;
    return true;
}

static void read_report(struct traces *traces, const char *report)
{
    FILE *file = fopen(report, "re");
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    ssize_t length;

    while (file && good && (length = getline(&line, &capacity, file)) > 0) {
        if (line[length - 1] == '\n')
            line[length - 1] = 0;
        if (!*line)
            continue;
        good = add_line(traces, line);
        line = NULL;
        capacity = 0;
    }
    free(line);
    if (file)
        fclose(file);
}

/* Finishes the traces that their processes have not ended. The program may record several traces, before and after
 * it executes another one; its exit applies to the last of them. */
static void finish_all(const char *program, struct traces *traces, const struct lap_launched *launched, bool quiet)
{
    struct lap_finish_job job = {.program = program, .quiet = quiet, .drops = true};
    unsigned steps = 0;

    job.options =
        (struct lap_finish_options){.how = launched->signal ? LAP_ENDED_SIGNAL : LAP_ENDED_STATUS,
                                    .number = (uint32_t)(launched->signal ? launched->signal : launched->status),
                                    .by = LAP_ENDED_BY_CAPTURE,
                                    .fresh = true,
                                    .process = launched->process,
                                    .packer = &lap_codec_lz4};
    for (size_t i = traces->count; i-- > 0;) {
        struct lap_finish_report report;
        for (;;) {
            job.path = traces->paths[i];
            (void)lap_finish_file(&job, &report);
            if (report.result.outcome != LAP_FINISH_RECORDING || steps++ >= MOST_STEPS)
                break;
            nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        }
        if (report.result.process && report.result.process == job.options.process)
            job.options.process = 0;
        if (report.result.outcome != LAP_FINISH_RECORDING && report.result.outcome != LAP_FINISH_NOTHING)
            continue;
        note_lack(traces, "%s %s", job.path,
                  report.result.outcome == LAP_FINISH_NOTHING ? "had just begun" : "is still being recorded");
        if (!quiet && report.result.outcome == LAP_FINISH_NOTHING)
            fprintf(stderr, "%s: %s is deleted: its process had just begun it when it ended\n", program, job.path);
        else if (!quiet)
            fprintf(stderr, "%s: %s is still being recorded; lapilli repair ends it, should its process not do so\n",
                    program, job.path);
        free(traces->paths[i]);
        traces->paths[i] = NULL;
    }
}

/* Prints the number of checks for a replay. */
static void say_checks(const struct lap_reader_summary *summary)
{
    static const struct {
        enum lap_counter counter;
        const char *name;
    } kinds[] = {{LAP_COUNTER_PRESENT_CHECKS, "presents"},
                 {LAP_COUNTER_BUFFER_CHECKS, "buffers"},
                 {LAP_COUNTER_IMAGE_CHECKS, "images"}};
    const char *separator = ": ";
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        all += summary->counters[kinds[i].counter];
    if (!all) {
        fputs(", no checks: there was nothing that could be compared", stderr);
        fputs(lap_info_flag(summary->info, "verify_all") ? " (lapilli info lists what was left out)"
                                                         : "; --verify=all compares what is not mapped, too",
              stderr);
        return;
    }
    /* Those behind the last frame mark of a program that did not end are not counted. */
    fprintf(stderr, ", %s%" PRIu64 " check%s", summary->ended || !summary->complete ? "at least " : "", all,
            all == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t count = summary->counters[kinds[i].counter];
        if (count)
            fprintf(stderr, "%s%" PRIu64 " of %s", separator, count, kinds[i].name);
        separator = count ? ", " : separator;
    }
}

static void name_trace(const char *program, const char *path, const struct lap_reader_summary *summary)
{
    fprintf(stderr, "%s: %s: %" PRIu64 " frame%s, ", program, path, summary->frames, summary->frames == 1 ? "" : "s");
    if (summary->file_bytes < 1024 * 1024)
        fprintf(stderr, "%.1f KiB", (double)summary->file_bytes / 1024);
    else
        fprintf(stderr, "%.1f MiB", (double)summary->file_bytes / (1024 * 1024));
    if (lap_info_flag(summary->info, "verify"))
        say_checks(summary);
    if (!summary->complete)
        fprintf(stderr, ", incomplete: %s\n", summary->stopped ? summary->stopped : "no end");
    else
        fprintf(stderr, "%s%s\n", summary->ended ? "; " : "", summary->ended ? summary->ended : "");
}

static void look_at_trace(const char *program, struct traces *traces, const char *path, bool quiet)
{
    const struct lap_reader_summary *summary;
    struct lap_reader *reader;

    if (lap_reader_open(path, NULL, &reader) != LAP_OK) {
        note_lack(traces, "%s can't be read back: %s", path, lap_error_message());
        if (!quiet)
            fprintf(stderr, "%s: %s can't be read back: %s\n", program, path, lap_error_message());
        return;
    }
    summary = lap_reader_summary(reader);
    if (!summary->complete)
        note_lack(traces, "%s is incomplete: %s", path, summary->stopped ? summary->stopped : "no end");
    if (!quiet)
        name_trace(program, path, summary);
    lap_reader_close(&reader);
}

/* Prints the command in one line. */
static void print_command(char *const argv[])
{
    fputc('`', stderr);
    for (size_t i = 0; argv[i]; i++)
        fprintf(stderr, "%s%s", i ? " " : "", argv[i]);
    fputc('`', stderr);
}

/* Whether parts of the run were requested (layer/core/options.c). */
static bool has_parts(void)
{
    static const char *const names[] = {"LAPILLI_FRAMES", "LAPILLI_SUBMITS", "LAPILLI_SECONDS", "LAPILLI_TRIGGER"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) && *getenv(names[i]))
            return true;
    return false;
}

static void say_nothing(const char *program, const struct traces *traces, char *const argv[])
{
    fprintf(stderr, "%s: there is no trace: ", program);
    print_command(argv);
    if (has_parts())
        fprintf(stderr, " used no Vulkan with the layer, or ended before a part began that was asked for\n");
    else if (!traces->any && getenv("LAPILLI_FILE") && lap_address_is(getenv("LAPILLI_FILE")))
        fprintf(stderr, " used no Vulkan with the layer, or ended before there was a receiver\n");
    else
        fprintf(stderr, traces->any ? " tried to use Vulkan, but got no instance\n"
                                    : " started no process that used Vulkan with the layer\n");
}

bool lap_finish_recording(const char *program, const char *report, char *const argv[],
                          const struct lap_launched *launched, bool quiet, bool must_record)
{
    struct traces traces = {.paths = NULL};

    read_report(&traces, report);
    finish_all(program, &traces, launched, quiet);
    for (size_t i = 0; i < traces.count; i++) {
        if (traces.paths[i] && (!quiet || must_record))
            look_at_trace(program, &traces, traces.paths[i], quiet);
        free(traces.paths[i]);
    }
    free(traces.paths);
    if (traces.streamed && !quiet)
        fprintf(stderr, "%s: %zu process%s streamed to the receiver at %s\n", program, traces.streamed,
                traces.streamed == 1 ? "" : "es", getenv("LAPILLI_FILE"));
    if (!traces.count && !traces.failed && !traces.streamed) {
        say_nothing(program, &traces, argv);
        return false;
    }
    if (traces.failed)
        note_lack(&traces, "a process, or a part of its run, could not be recorded (the log says why)");
    if (traces.open)
        note_lack(&traces, "the receiver has not got all of a trace");
    if (must_record && traces.lack[0])
        fprintf(stderr, "%s: not all was recorded: %s\n", program, traces.lack);
    return !traces.lack[0];
}
