/* SPDX-License-Identifier: MIT */
/*
 * lapilli-import: makes a trace of a file of gfxreconstruct. Its replayer plays the file, and is recorded.
 *
 * What is in the file and in the trace is read by child processes in a sandbox (tools/common/sandboxed_work.h). They
 * leave it in memory that they share with this one. gfxrecon-replay is in no sandbox.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process/signal_name.h"
#include "base/utf8.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/output_name.h"
#include "tools/common/progress.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/import_replay.h"
#include "tools/record/file_position.h"
#include "tools/record/finish_recording.h"
#include "tools/record/gfxr.h"
#include "tools/record/launch.h"
#include "tools/record/report.h"
#include "tools/record/trace_counts.h"
#include "tools/show/text.h"

#define PROGRAM    "lapilli-import"
#define PLAYER     "gfxrecon-replay"
#define MOST_TRIES 2u

static const char help[] =
    "usage: lapilli import [options] FILE.gfxr -o NEW [-- OPTIONS]\n"
    "Makes a trace of a file of gfxreconstruct. gfxrecon-replay plays FILE.gfxr, and is recorded; OPTIONS are for\n"
    "it. Then the calls of both are counted, and the trace is played once and verified.\n"
    "\n"
    "  -o, --output NEW   the trace; it must not exist\n"
    "  --gpu GPU          the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus).\n"
    "                     Default: the one that the file was recorded on, if it is there\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md). Not of gfxrecon-replay, which has none\n"
    "  --json             report the result as one JSON object\n"
    "  --quiet            print only errors\n"
    "  --help             this text\n"
    "\n"
    "Threads, times and allocations of the trace are those of gfxrecon-replay. The file has whole pages, so the trace\n"
    "does not say which bytes of them the program wrote.\n"
    "\n"
    "Exit status: 0; 1 the trace can't be written, or does not play as it was recorded (it is kept); 2 wrong usage;\n"
    "3 FILE.gfxr is no file of gfxreconstruct with Vulkan calls; 4 FILE.gfxr is cut, gfxrecon-replay crashed, or the "
    "trace has\n"
    "fewer calls (it is kept); 5 gfxrecon-replay or the GPU is not there, or no call was recorded.\n";

/* What the children have found out. */
struct found {
    struct lap_gfxr file;
    struct lap_gfxr_counts trace;
    uint64_t frames, checks;
    bool complete;
};

struct job {
    const char *from, *to, *gpu;
    char **words; /* for gfxrecon-replay */
    enum lap_sandbox_wish sandbox;
    bool json, quiet;

    struct found *found;  /* shared with the children */
    struct lap_gfxr file; /* what the first of them left there, where no other one writes */
    char manifests[PATH_MAX];
    char *pattern; /* of the trace's path */
    char *source;  /* JSON: what the trace is made of */
    struct import_replay replay;

    bool rebind;     /* the GPU is another one */
    char number[12]; /* of --gpu */
    unsigned tries;
    struct {
        bool good;
        char how[64]; /* else how it ended */
    } player;         /* its last run */
    bool recorded;
    struct import_verified verified;
};

/* ---- in the sandbox ---- */

struct reading {
    struct lap_progress progress;
    uint64_t all;
};

static void show_bytes(void *user, uint64_t done)
{
    struct reading *reading = user;
    lap_progress_show(&reading->progress, done, reading->all);
}

static int walk(void *argument)
{
    const struct job *job = argument;
    int fd = open(job->from, O_RDONLY | O_CLOEXEC);
    struct reading reading = {.all = 0};
    enum lap_status status;
    struct stat info;

    if (fd < 0) {
        fprintf(stderr, PROGRAM ": %s: %s\n", job->from, strerror(errno));
        return LAP_TOOL_NO_TRACE;
    }
    reading.all = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
    lap_progress_begin(&reading.progress, "reading", job->quiet);
    status = lap_gfxr_walk(fd, show_bytes, &reading, &job->found->file);
    lap_progress_clear(&reading.progress);
    close(fd);
    if (status == LAP_OK && !job->found->file.calls)
        status = lap_fail(LAP_ERROR_FORMAT, "%s",
                          job->found->file.whole ? "it has no Vulkan calls" : "it is cut in front of its first call");
    if (status == LAP_OK)
        return LAP_TOOL_OK;
    fprintf(stderr, PROGRAM ": %s: %s\n", job->from, lap_error_message());
    return status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : LAP_TOOL_NO_TRACE;
}

static enum lap_status count_reader(void *user, const struct lap_reader *trace)
{
    const struct job *job = user;
    const struct lap_reader_summary *summary = lap_reader_summary(trace);
    struct lap_progress progress;
    enum lap_status status;

    job->found->frames = summary->frames;
    job->found->complete = summary->complete;
    lap_progress_begin(&progress, "counting", job->quiet);
    status = lap_trace_counts(trace, lap_progress_show, &progress, &job->found->trace, &job->found->checks);
    lap_progress_clear(&progress);
    return status;
}

static int count(void *argument)
{
    struct job *job = argument;
    return lap_read_trace(PROGRAM, job->to, count_reader, job);
}

/* ---- before the recording ---- */

/* Whether PATH has the program. */
static bool has_player(void)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];

    while (path && *path) {
        size_t length = strcspn(path, ":");
        int bytes = snprintf(file, sizeof file, "%.*s%s" PLAYER, (int)length, path, length ? "/" : "");
        if (bytes < (int)sizeof file && access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    fprintf(stderr, PROGRAM ": " PLAYER " is not in PATH; Debian's package gfxreconstruct has it\n");
    return false;
}

/* Whether the user's options have one of these. */
static bool is_given(const struct job *job, const char *a, const char *b)
{
    for (char **word = job->words; *word; word++)
        if (strcmp(*word, a) == 0 || strcmp(*word, b) == 0)
            return true;
    return false;
}

static int choose_gpu(struct job *job)
{
    struct import_gpu gpu;
    int code = import_replay_gpu(&job->replay, job->file.device, &gpu);

    if (code != LAP_TOOL_OK)
        return code;
    job->rebind = *job->file.device && !gpu.recorded;
    snprintf(job->number, sizeof job->number, "%u", gpu.number);
    return LAP_TOOL_OK;
}

/* What INFO gets. */
static bool describe_source(struct job *job)
{
    const struct lap_gfxr *file = &job->file;
    cJSON *source = cJSON_CreateObject();
    char version[32];

    snprintf(version, sizeof version, "%" PRIu32 ".%" PRIu32, file->major, file->minor);
    if (cJSON_AddStringToObject(source, "kind", "gfxr") && cJSON_AddStringToObject(source, "version", version) &&
        cJSON_AddStringToObject(source, "hash", file->hash) &&
        (!*file->device || cJSON_AddStringToObject(source, "device", file->device)) &&
        (!*file->recorder || cJSON_AddStringToObject(source, "recorder", file->recorder)))
        job->source = cJSON_PrintUnformatted(source);
    cJSON_Delete(source);
    if (!job->source)
        fprintf(stderr, PROGRAM ": out of memory\n");
    return job->source != NULL;
}

/* ---- the recording ---- */

/* The words of the command; the caller frees them, and *out_path. NULL: out of memory. */
static const char **make_words(const struct job *job, char **out_path)
{
    size_t given = 0, at = 0;
    const char **words;

    while (job->words[given])
        given++;
    words = calloc(given + 8, sizeof *words);
    if (!words || asprintf(out_path, "%s%s", *job->from == '-' ? "./" : "", job->from) < 0) {
        free(words);
        return NULL;
    }
    words[at++] = PLAYER;
    if (!is_given(job, "-m", "--memory-translation")) {
        words[at++] = "-m";
        words[at++] = job->rebind ? "rebind" : "none";
    }
    if (job->gpu && !is_given(job, "--gpu", "--gpu-group")) {
        words[at++] = "--gpu";
        words[at++] = job->number;
    }
    for (size_t i = 0; i < given; i++)
        words[at++] = job->words[i];
    words[at] = *out_path;
    return words;
}

/* Parts, screenshots and commands that the user's environment or settings file asks for are not for this. */
static bool set_environment(const struct job *job, const char *report)
{
    const struct lap_layer_option options[] = {
        {"LAPILLI_MEMORY_TYPES", "real"}, {"LAPILLI_VERIFY", "1"},    {"LAPILLI_IMPORTED_FROM", job->source},
        {"LAPILLI_SCREENSHOT", ""},       {"LAPILLI_CONTROL", ""},    {"LAPILLI_FRAMES", ""},
        {"LAPILLI_SUBMITS", ""},          {"LAPILLI_SECONDS", ""},    {"LAPILLI_TRIGGER", ""},
        {"LAPILLI_KEEP_LAST", ""},        {"LAPILLI_EXIT_AFTER", "0"}};

    return lap_launch_environment(PROGRAM, job->manifests, job->pattern, report, options,
                                  sizeof options / sizeof *options);
}

/* How far it has read the file. */
struct watch {
    struct lap_progress progress;
    struct stat file;
};

static void show_position(void *user, pid_t process)
{
    struct watch *watch = user;
    uint64_t done;

    if (lap_file_position(process, &watch->file, &done))
        lap_progress_show(&watch->progress, done, (uint64_t)watch->file.st_size);
}

/* Runs it with its output on stderr, or nowhere: stdout is for the result. */
static struct lap_launched launch(const struct job *job, char *const *words)
{
    int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int other = job->quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : STDERR_FILENO;
    struct lap_launched launched;
    struct watch watch;

    fflush(NULL);
    lap_progress_begin(&watch.progress, "recording", job->quiet || stat(job->from, &watch.file) != 0);
    if (own >= 0 && other >= 0)
        (void)dup2(other, STDOUT_FILENO);
    launched = lap_launch_watch(words, watch.progress.wanted ? show_position : NULL, &watch);
    lap_progress_clear(&watch.progress);
    if (own >= 0 && other >= 0)
        (void)dup2(own, STDOUT_FILENO);
    if (other >= 0 && other != STDERR_FILENO)
        close(other);
    if (own >= 0)
        close(own);
    return launched;
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define PASSED_COUNT (sizeof passed / sizeof *passed)

static bool is_passed(int number)
{
    for (size_t i = 0; i < PASSED_COUNT; i++)
        if (passed[i] == number)
            return true;
    return false;
}

/* *out_again: it ended as programs don't that could play the file. */
static int record_once(struct job *job, const char *const *words, bool *out_again)
{
    char *const *command = (char *const *)(uintptr_t)words;
    struct lap_report report = {.path = NULL};
    struct lap_launched launched;
    char name[LAP_SIGNAL_NAME_MAX];

    *out_again = false;
    lap_report_for(PROGRAM, job->pattern, &report);
    if (!set_environment(job, report.path)) {
        lap_report_end(&report);
        return LAP_TOOL_FAILED;
    }
    launched = launch(job, command);
    if (launched.error)
        fprintf(stderr, PROGRAM ": " PLAYER " can't be started: %s\n", strerror(launched.error));
    else if (report.path)
        (void)lap_finish_recording(PROGRAM, report.path, command, &launched, job->quiet, false);
    lap_report_end(&report);
    if (launched.error)
        return LAP_TOOL_UNSUPPORTED;
    job->player.good = launched.status == 0;
    if (launched.signal)
        snprintf(job->player.how, sizeof job->player.how, "signal %s",
                 lap_signal_name((uint32_t)launched.signal, name));
    else
        snprintf(job->player.how, sizeof job->player.how, "status %d", launched.status);
    *out_again = !job->player.good && !is_passed(launched.signal);
    return LAP_TOOL_OK;
}

/* Removes what the first try has recorded. */
static bool forget(const struct job *job)
{
    if (unlink(job->to) == 0 || errno == ENOENT)
        return true;
    fprintf(stderr, PROGRAM ": %s can't be removed: %s\n", job->to, strerror(errno));
    return false;
}

/* gfxrecon-replay may crash by itself in one of several runs. */
static int record_all(struct job *job)
{
    char *path = NULL;
    const char **words = make_words(job, &path);
    int code = words ? LAP_TOOL_OK : LAP_TOOL_FAILED;
    bool again = words != NULL;

    if (!words)
        fprintf(stderr, PROGRAM ": out of memory\n");
    while (code == LAP_TOOL_OK && again && job->tries < MOST_TRIES) {
        if (job->tries++) {
            fprintf(stderr, PROGRAM ": " PLAYER " ended with %s; once more\n", job->player.how);
            if (!forget(job))
                code = LAP_TOOL_FAILED;
        }
        if (code == LAP_TOOL_OK)
            code = record_once(job, words, &again);
    }
    free(words);
    free(path);
    return code;
}

static int record(struct job *job)
{
    struct sigaction before[PASSED_COUNT];
    int code;

    for (size_t i = 0; i < PASSED_COUNT; i++)
        sigaction(passed[i], NULL, &before[i]);
    code = record_all(job);
    for (size_t i = 0; i < PASSED_COUNT; i++) /* lap_launch_run keeps them */
        sigaction(passed[i], &before[i], NULL);
    if (code != LAP_TOOL_OK)
        return code;
    job->recorded = access(job->to, F_OK) == 0;
    if (job->recorded)
        return LAP_TOOL_OK;
    fprintf(stderr, PROGRAM ": " PLAYER " ended with %s, and nothing was recorded\n", job->player.how);
    return LAP_TOOL_UNSUPPORTED;
}

/* ---- the result ---- */

static bool has_all(const struct lap_gfxr_counts *a, const struct lap_gfxr_counts *b)
{
    return a->presents >= b->presents && a->submits >= b->submits && a->draws >= b->draws &&
           a->dispatches >= b->dispatches;
}

static void print_counts(FILE *out, const char *name, const struct lap_gfxr_counts *counts)
{
    fprintf(out,
            "%s: presents %" PRIu64 ", submits %" PRIu64 ", draws %" PRIu64 ", dispatches and ray traces %" PRIu64 "\n",
            name, counts->presents, counts->submits, counts->draws, counts->dispatches);
}

static void print_name(FILE *out, const char *before, const char *name)
{
    fputs(before, out);
    lap_utf8_print(out, name, strlen(name), '?', "");
}

static void say_file(const struct job *job)
{
    const struct lap_gfxr *file = &job->file;

    if (!job->quiet && !job->json) {
        printf("%s: version %" PRIu32 ".%" PRIu32 ", compression %s", job->from, file->major, file->minor,
               lap_gfxr_compression_name(file->compression));
        if (*file->recorder)
            print_name(stdout, ", recorded by gfxreconstruct ", file->recorder);
        if (*file->device)
            print_name(stdout, " on ", file->device);
        putchar('\n');
        print_counts(stdout, job->from, &file->counts);
    }
    if (!file->whole)
        fprintf(stderr, PROGRAM ": %s is cut: the block at byte %" PRIu64 " of %" PRIu64 " is not whole\n", job->from,
                file->cut_at, file->bytes);
    if (file->unknown)
        fprintf(stderr, PROGRAM ": %s: blocks of unknown kinds: %" PRIu64 " of %" PRIu64 "\n", job->from, file->unknown,
                file->blocks);
    if (file->blind)
        fprintf(stderr,
                PROGRAM ": %s does not show on which of several GPUs it was recorded: calls with compression %s can't "
                        "be looked into\n",
                job->from, lap_gfxr_compression_name(file->compression));
}

static const char *member_name(unsigned i)
{
    static const char *const names[] = {"presents", "submits", "draws", "dispatches"};
    return names[i];
}

static void put_counts(const struct lap_gfxr_counts *counts)
{
    const uint64_t all[] = {counts->presents, counts->submits, counts->draws, counts->dispatches};

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        printf(", \"%s\": %" PRIu64, member_name(i), all[i]);
}

static void say_json(const struct job *job)
{
    const struct lap_gfxr *file = &job->file;

    printf("{\"file\": {\"version\": \"%" PRIu32 ".%" PRIu32 "\", \"compression\": \"%s\", \"recorder\": ", file->major,
           file->minor, lap_gfxr_compression_name(file->compression));
    lap_text_put_json(stdout, *file->recorder ? file->recorder : NULL);
    printf(", \"device\": ");
    lap_text_put_json(stdout, *file->device ? file->device : NULL);
    printf(", \"hash\": ");
    lap_text_put_json(stdout, file->hash);
    printf(", \"whole\": %s, \"bytes\": %" PRIu64 ", \"blocks\": %" PRIu64 ", \"unknown_blocks\": %" PRIu64
           ", \"calls\": %" PRIu64,
           file->whole ? "true" : "false", file->bytes, file->blocks, file->unknown, file->calls);
    put_counts(&file->counts);
    printf("}, \"tries\": %u, \"rebind\": %s, \"player\": ", job->tries, job->rebind ? "true" : "false");
    lap_text_put_json(stdout, job->player.good || !job->tries ? NULL : job->player.how);
    printf(", \"trace\": ");
    if (!job->recorded) {
        printf("null}\n");
        return;
    }
    printf("{\"complete\": %s, \"frames\": %" PRIu64, job->found->complete ? "true" : "false", job->found->frames);
    put_counts(&job->found->trace);
    printf(", \"played\": %s, \"checks\": %" PRIu64 ", \"different\": %" PRIu64 "}}\n",
           job->verified.played ? "true" : "false", job->verified.checks, job->verified.different);
}

/* Returns the exit status. */
static int judge(const struct job *job)
{
    const struct lap_gfxr_counts *of_file = &job->file.counts, *of_trace = &job->found->trace;
    const bool same = has_all(of_trace, of_file);

    if (!job->quiet && !job->json) {
        print_counts(stdout, job->to, of_trace);
        printf("%s: %" PRIu64 " checks, %" PRIu64 " different\n", job->to, job->verified.checks,
               job->verified.different);
    }
    if (!job->player.good)
        fprintf(stderr, PROGRAM ": " PLAYER " ended with %s; %s has what it played until then\n", job->player.how,
                job->to);
    if (!same) {
        fprintf(stderr, PROGRAM ": the trace has less than the file\n");
        print_counts(stderr, PROGRAM ": file", of_file);
        print_counts(stderr, PROGRAM ": trace", of_trace);
    }
    if (!job->verified.played)
        fprintf(stderr, PROGRAM ": %s can't be played to its end\n", job->to);
    else if (job->verified.different)
        fprintf(stderr, PROGRAM ": %s: %" PRIu64 " of %" PRIu64 " checks differ when it is played\n", job->to,
                job->verified.different, job->verified.checks);
    else if (!job->verified.checks)
        fprintf(stderr, PROGRAM ": %s has nothing that could be compared\n", job->to);
    if (!job->verified.played || job->verified.different)
        return LAP_TOOL_FAILED;
    return job->file.whole && job->player.good && job->found->complete && same ? LAP_TOOL_OK : LAP_TOOL_INCOMPLETE;
}

/* ---- in order ---- */

/* Behind the walk. */
static int import(struct job *job)
{
    int code;

    say_file(job);
    if (!has_player())
        return LAP_TOOL_UNSUPPORTED;
    code = choose_gpu(job);
    if (code == LAP_TOOL_OK && !describe_source(job))
        code = LAP_TOOL_FAILED;
    if (code == LAP_TOOL_OK)
        code = record(job);
    if (code != LAP_TOOL_OK)
        return code;
    code = lap_sandboxed_work(PROGRAM, job->sandbox, count, job);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        return code;
    code = import_replay_verify(&job->replay, job->to, job->found->checks != 0, &job->verified);
    return code == LAP_TOOL_OK ? judge(job) : code;
}

static int run(struct job *job)
{
    struct lap_gfxr *file = &job->file;
    int code;

    job->found = mmap(NULL, sizeof *job->found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->found == MAP_FAILED) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return LAP_TOOL_FAILED;
    }
    code = lap_sandboxed_work(PROGRAM, job->sandbox, walk, job);
    *file = job->found->file;
    file->device[sizeof file->device - 1] = file->recorder[sizeof file->recorder - 1] = 0;
    file->hash[sizeof file->hash - 1] = 0;
    if (code != LAP_TOOL_OK)
        return code;
    code = import(job);
    if (job->json)
        say_json(job);
    return lap_tool_end_output(PROGRAM, code);
}

/* What is set for gfxrecon-replay is not for the programs that are started without the layer. */
static char **copy_environment(void)
{
    size_t count = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = calloc(count + 1, sizeof *copy);
    if (copy)
        memcpy(copy, environ, count * sizeof *copy);
    return copy;
}

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    const struct lap_argument rows[] = {LAP_OUTPUT(&job->to),
                                        LAP_TEXT("gpu", &job->gpu),
                                        LAP_VALUE("sandbox", &job->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FLAG("quiet", &job->quiet),
                                        LAP_FILE(&job->from),
                                        LAP_WORDS(&job->words)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (!job->to)
        return lap_usage(&verb, "-o NEW is missing");
    return *job->words && **job->words != '-' ? lap_usage(&verb, "one FILE at a time") : -1;
}

/* Whether the trace can be made. */
static bool check_output(struct job *job)
{
    struct stat info;

    job->pattern = lap_output_path(job->to);
    if (!job->pattern) {
        fprintf(stderr, PROGRAM ": the current folder can't be used: %s\n", strerror(errno));
        return false;
    }
    if (lstat(job->to, &info) == 0) {
        fprintf(stderr, PROGRAM ": can't create %s: %s\n", job->to, strerror(EEXIST));
        return false;
    }
    return lap_output_name_check(PROGRAM, job->pattern);
}

int main(int argc, char **argv)
{
    struct job job = {.from = NULL};
    int code = parse(argc, argv, &job);

    if (code >= 0)
        return code;
#ifdef __ANDROID__ /* its loader reads neither manifests nor VK_INSTANCE_LAYERS */
    fprintf(stderr, PROGRAM ": Android takes layers from its settings: import on another machine\n");
    return LAP_TOOL_USAGE;
#endif
    job.replay = (struct import_replay){.program = PROGRAM,
                                        .environment = copy_environment(),
                                        .gpu = job.gpu,
                                        .sandbox = lap_sandbox_wish_name(job.sandbox),
                                        .quiet = job.quiet};
    code = LAP_TOOL_FAILED;
    if (job.replay.environment && check_output(&job) && lap_launch_find_layer(PROGRAM, job.manifests))
        code = run(&job);
    cJSON_free(job.source);
    free(job.pattern);
    free(job.replay.environment);
    return code;
}
