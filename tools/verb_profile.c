/* SPDX-License-Identifier: MIT */
/* lapilli-profile: times of frames, passes, labels and commands on the GPU, from several replays. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "tools/common/arguments.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/profile/profile_print.h"
#include "tools/profile/replays.h"

#define PROGRAM       "lapilli-profile"

#define DEFAULT_LOOPS 3u
#define DEFAULT_TOP   20u
#define MOST_OTHER    ((off_t)256 << 20) /* bytes of a JSON file */

static const char help[] =
    "usage: lapilli profile [options] FILE\n"
    "Prints how long the GPU works on a frame, on its passes, labels and commands, and how far the times of frames "
    "and\n"
    "replays lie apart. Several replays on a GPU of this machine play the trace, one after the other.\n"
    "\n"
    "  --frames A-B        these frames; default: all\n"
    "  --loops N           so many replays; default: 3\n"
    "  --draws             also the single draws and other commands of passes\n"
    "  --top N             a list of the N most expensive passes, labels and commands; with --draws of draws and "
    "other\n"
    "                      commands, default: 20\n"
    "  --sort HOW          order: as executed (default); or time: of a parent the most expensive one first\n"
    "  --all               also commands with less than 0.5 % of the frame, which otherwise share a line\n"
    "  --statistics        count vertices, primitives and invocations of shaders, by one more replay\n"
    "  --wireframe         draw the edges of triangles; these four as in lapilli replay, of FILE alone\n"
    "  --null-fragment     fragment shaders do nothing but write one colour\n"
    "  --tiny-viewport     viewports and scissors are one pixel\n"
    "  --replace-shader HASH=FILE\n"
    "                      SPIR-V, its text or GLSL for the shader with this hash\n"
    "  --compare OTHER     compare with another trace, or with a file of -o\n"
    "  -o, --output FILE.json\n"
    "                      write all of it as JSON\n"
    "  --trace FILE.json   write the last replay as Chrome's JSON, for ui.perfetto.dev\n"
    "  --gpu GPU           the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --wait-limit SECONDS\n"
    "                      as in lapilli replay\n"
    "  --sandbox HOW       as in lapilli replay\n"
    "  --progress FD       as in lapilli replay, of all replays\n"
    "  --json              one JSON object\n"
    "  --quiet             print only errors and results\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0; 1 a replay or an output failed; 2 wrong usage, or the trace has no such frame; 3 no readable "
    "trace;\n"
    "4 the trace is incomplete; 5 this machine can't play it, or the GPU has no timestamps.\n";

static const struct lap_verb verb = {PROGRAM, help};

struct options {
    struct profile_replays replays;
    uint64_t frames[2], loops, top, progress;
    const char *sort, *compare, *output, *chrome;
    bool json, all;
    enum lap_sandbox_wish sandbox;
};

struct work {
    const struct options *options;
    struct profile_output (*outputs)[PROFILE_OUTPUTS];
    int other; /* JSON; -1: none */
    FILE *output, *chrome;
    bool incomplete;
};

/* ---- options ---- */

static int check(struct options *options, char frames[48])
{
    struct profile_replays *replays = &options->replays;

    if (lap_range_is_given(options->frames) && (options->frames[0] == 0 || options->frames[1] == UINT64_MAX))
        return lap_usage(&verb, "--frames wants A-B, from 1");
    if (lap_range_is_given(options->frames))
        snprintf(frames, 48, "%" PRIu64 "-%" PRIu64, options->frames[0], options->frames[1]);
    if (options->progress && fcntl((int)options->progress, F_GETFD) < 0)
        return lap_usage(&verb, "--progress wants the number of an open descriptor, from 3");
    replays->program = PROGRAM;
    replays->frames = frames;
    replays->loops = options->loops;
    replays->progress_fd = (int)options->progress;
    replays->sandbox = lap_sandbox_wish_name(options->sandbox);
    if (replays->draws && !options->top)
        options->top = DEFAULT_TOP;
    return -1;
}

static enum lap_status take_shader(const struct lap_argument *row, const char *value)
{
    struct profile_replays *replays = row->out;

    if (replays->shader_count == PROFILE_SHADERS)
        return lap_fail(LAP_ERROR_ARGUMENT, "--%s is there more than %u times", row->name, PROFILE_SHADERS);
    replays->shaders[replays->shader_count++] = value;
    return LAP_OK;
}

static int parse(int argc, char **argv, struct options *options, char frames[48])
{
    struct profile_replays *replays = &options->replays;
    const struct lap_argument rows[] = {LAP_VALUE("frames", options->frames, lap_take_range),
                                        LAP_NUMBER("loops", &options->loops, 1, PROFILE_MOST_LOOPS),
                                        LAP_FLAG("draws", &replays->draws),
                                        LAP_NUMBER("top", &options->top, 1, UINT32_MAX),
                                        LAP_CHOICE("sort", &options->sort, "order", "time"),
                                        LAP_FLAG("all", &options->all),
                                        LAP_FLAG("statistics", &replays->statistics),
                                        LAP_FLAG("wireframe", &replays->wireframe),
                                        LAP_FLAG("null-fragment", &replays->null_fragment),
                                        LAP_FLAG("tiny-viewport", &replays->tiny_viewport),
                                        LAP_VALUE("replace-shader", replays, take_shader),
                                        LAP_VALUE("compare", &options->compare, lap_take_some_text),
                                        LAP_OUTPUT(&options->output),
                                        LAP_VALUE("trace", &options->chrome, lap_take_some_text),
                                        LAP_TEXT("gpu", &replays->gpu),
                                        LAP_TEXT("wait-limit", &replays->wait_limit),
                                        LAP_VALUE("sandbox", &options->sandbox, lap_take_sandbox),
                                        LAP_NUMBER("progress", &options->progress, 3, INT32_MAX),
                                        LAP_FLAG("json", &options->json),
                                        LAP_FLAG("quiet", &replays->quiet),
                                        LAP_FILE(&replays->traces[0])};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code < 0 ? check(options, frames) : code;
}

/* ---- the work ---- */

static enum lap_status read_other(int fd, char **out)
{
    struct stat is;
    ssize_t got;

    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size > MOST_OTHER)
        return lap_fail(LAP_ERROR_FORMAT, "it is no file, or has more than 256 MiB");
    *out = malloc((size_t)is.st_size + 1);
    if (!*out)
        return lap_no_memory(NULL);
    got = pread(fd, *out, (size_t)is.st_size, 0);
    (*out)[got > 0 ? got : 0] = 0;
    return LAP_OK;
}

/* raws: of all loops; they and the profile live on. */
static enum lap_status gather(struct profile *profile, struct lap_arena *arena, struct profile_output *outputs,
                              size_t loops, bool statistics)
{
    struct profile_raw *raws = lap_arena_zalloc(arena, loops + 1, sizeof *raws, 8);
    enum lap_status status = raws ? LAP_OK : lap_no_memory(NULL);

    *profile = (struct profile){.raws = raws};
    for (size_t i = 0; status == LAP_OK && i < loops + statistics; i++) {
        status = profile_raw_parse(&raws[i], arena, outputs[i].text, outputs[i].bytes);
        if (status == LAP_ERROR_FORMAT)
            status = lap_fail_context(status, "the answer of replay %zu can't be used", i + 1);
    }
    return status == LAP_OK ? profile_gather(profile, arena, raws, loops, statistics ? &raws[loops] : NULL) : status;
}

static void forget(struct profile *profile, size_t loops)
{
    for (size_t i = 0; profile->raws && i <= loops; i++)
        profile_raw_finish(&profile->raws[i]);
    profile_finish(profile);
}

static enum lap_status compare(const struct work *work, struct lap_arena *arena, const struct profile *profile,
                               struct profile *other, struct profile_comparison *comparison)
{
    enum lap_status status = profile_items_of(&comparison->sides[0], arena, profile);
    char *json = NULL;

    comparison->other = work->options->compare;
    if (status == LAP_OK && work->other < 0) {
        status = gather(other, arena, work->outputs[1], work->options->loops, false);
        if (status == LAP_OK)
            status = profile_items_of(&comparison->sides[1], arena, other);
    } else if (status == LAP_OK) {
        status = read_other(work->other, &json);
        if (status == LAP_OK)
            status = profile_items_parse(&comparison->sides[1], arena, json);
        free(json);
    }
    if (status == LAP_ERROR_FORMAT)
        status = lap_fail_context(status, "%s", work->options->compare);
    return status == LAP_OK ? profile_compare(comparison, arena) : status;
}

/* False: an output failed, after a message. */
static bool close_output(FILE *file, const char *path)
{
    bool good = !file || (fflush(file) == 0 && !ferror(file));

    if (!good)
        fprintf(stderr, PROGRAM ": %s: %s\n", path, strerror(errno));
    return good;
}

static int print_all(const struct work *work, struct profile_printer *printer)
{
    const struct options *options = work->options;
    enum lap_status status = LAP_OK;
    bool good;

    if (work->output) {
        printer->out = work->output;
        profile_print_json(printer);
    }
    if (work->chrome) {
        printer->out = work->chrome;
        profile_print_trace(printer);
    }
    good = close_output(work->output, options->output);
    good &= close_output(work->chrome, options->chrome);
    printer->out = stdout;
    if (options->json)
        profile_print_json(printer);
    else
        status = profile_print_text(printer);
    if (!options->json && !options->replays.quiet) {
        fflush(stdout);
        profile_print_notes(printer, PROGRAM, stderr);
    }
    if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    return lap_tool_end_output(PROGRAM, !good || status != LAP_OK ? LAP_TOOL_FAILED
                                        : work->incomplete        ? LAP_TOOL_INCOMPLETE
                                                                  : LAP_TOOL_OK);
}

/* In a sandbox: all that replays and files of others say is looked at here. */
static int tell_all(void *argument)
{
    const struct work *work = argument;
    const struct options *options = work->options;
    struct profile profile, other = {.raws = NULL};
    struct profile_comparison comparison = {.other = NULL};
    struct profile_printer printer = {.trace = options->replays.traces[0],
                                      .profile = &profile,
                                      .comparison = options->compare ? &comparison : NULL,
                                      .draws = options->replays.draws,
                                      .by_time = options->sort && strcmp(options->sort, "time") == 0,
                                      .all = options->all,
                                      .top = options->top};
    struct lap_arena arena;
    enum lap_status status;
    int code = LAP_TOOL_FAILED;

    (void)signal(SIGPIPE, SIG_IGN); /* a reader of stdout that wants no more changes no result */
    lap_arena_init(&arena, 0);
    status = gather(&profile, &arena, work->outputs[0], options->loops, options->replays.statistics);
    if (status == LAP_OK && options->compare)
        status = compare(work, &arena, &profile, &other, &comparison);
    if (status == LAP_OK)
        code = print_all(work, &printer);
    else
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    forget(&profile, options->loops);
    forget(&other, options->loops);
    lap_arena_finish(&arena);
    return code;
}

/* ---- files ---- */

/* Whether it is JSON: then it is open. Returns -1, or an exit status. */
static int open_other(struct options *options, struct work *work)
{
    char first = 0;
    int fd;

    if (!options->compare)
        return -1;
    fd = open(options->compare, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        fprintf(stderr, PROGRAM ": %s: %s\n", options->compare, strerror(errno));
        return LAP_TOOL_NO_TRACE;
    }
    if (pread(fd, &first, 1, 0) == 1 && first == '{') {
        work->other = fd;
        return -1;
    }
    close(fd);
    options->replays.traces[1] = options->compare;
    return -1;
}

static FILE *open_output(const char *path)
{
    int fd = lap_new_file(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file)
        fprintf(stderr, PROGRAM ": %s: %s\n", path, errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    return file;
}

/* What is written, so that an error comes before the work. False: after a message. */
static bool open_outputs(struct work *work)
{
    const struct options *options = work->options;

    if (options->output && !(work->output = open_output(options->output)))
        return false;
    return !options->chrome || (work->chrome = open_output(options->chrome));
}

static void end_output(FILE *file, const char *path, int code)
{
    if (!file)
        return;
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        lap_tool_remove_output(fileno(file), path);
    (void)fclose(file);
}

int main(int argc, char **argv)
{
    static struct profile_output outputs[PROFILE_SIDES][PROFILE_OUTPUTS];
    char frames[48] = "all";
    struct options options = {.frames = {0, UINT64_MAX}, .loops = DEFAULT_LOOPS};
    struct work work = {.options = &options, .outputs = outputs, .other = -1};
    int code = parse(argc, argv, &options, frames);

    if (code >= 0)
        return code;
    code = open_other(&options, &work);
    if (code < 0 && !open_outputs(&work))
        code = LAP_TOOL_FAILED;
    if (code < 0)
        code = profile_replays_run(&options.replays, outputs);
    work.incomplete = code == LAP_TOOL_INCOMPLETE;
    if (code < 0 || work.incomplete)
        code = lap_sandboxed_work(PROGRAM, options.sandbox, tell_all, &work);
    end_output(work.output, options.output, code);
    end_output(work.chrome, options.chrome, code);
    for (size_t i = 0; i < PROFILE_SIDES * PROFILE_OUTPUTS; i++)
        free(outputs[i / PROFILE_OUTPUTS][i % PROFILE_OUTPUTS].text);
    if (work.other >= 0)
        close(work.other);
    profile_replays_end(&options.replays);
    return code;
}
