/* SPDX-License-Identifier: MIT */
/*
 * lapilli-compile: makes a replay program of a trace (docs/vm.md).
 *
 * A child process does the work in a sandbox, with the new file open and no other rights (tools/sandboxed_work.h).
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/sandbox.h"
#include "inspector/edit/experiments.h"
#include "inspector/program/build.h"
#include "tools/calls.h"
#include "tools/progress.h"
#include "tools/sandboxed_work.h"
#include "tools/tool.h"
#include "tools/whole_file.h"
#include "trace/reader.h"
#include "vm/program_file.h"
#include "vm/resources.h"
#include "vm/verify.h"

#define PROGRAM "lapilli-compile"

static const char help[] =
    "usage: lapilli compile [options] FILE -o PROG\n"
    "Makes a replay program of a trace: code of a stack machine that lapilli replay plays, many times, also where the\n"
    "trace is not.\n"
    "\n"
    "  -o, --output PROG  the program; it must not exist\n"
    "  --frames A-B       end behind frame B; what comes before frame A is the initial part. Also A, A- and -B\n"
    "  --resources DIR    put the bytes of textures, meshes and shaders into this folder, a file for each, and not "
    "into\n"
    "                     the program; what is there stays. Created if missing\n"
    "  --no-resources     without the bytes of textures, meshes and shaders, which lapilli replay gets from elsewhere\n"
    "  --post-checks      post what each check finds, in a replay with --verify (lapilli run --posts)\n"
    "  --skip P,…         leave out draws, dispatches, ray traces and transfers, as lapilli replay does; so do the\n"
    "                     next ones\n"
    "  --only P,…         leave out all draws but these\n"
    "  --at-most-draws N  leave out all draws behind the first N\n"
    "  --wireframe        draw the edges of triangles\n"
    "  --null-fragment    fragment shaders do nothing but write one colour\n"
    "  --tiny-viewport    viewports and scissors are the pixel at 0, 0\n"
    "  --replace-shader HASH=FILE\n"
    "                     other code for a shader: SPIR-V or GLSL. Several times for several shaders\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --json             report the result as one JSON object\n"
    "  --quiet            print only errors\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 the program can't be written, or the sandbox not be had; 2 wrong usage, or the trace has no\n"
    "such part; 3 no readable trace, or one that this build can't compile; 4 FILE is incomplete: its readable part "
    "was\n"
    "compiled.\n";

enum {
    OPTION_FRAMES = 256,
    OPTION_RESOURCES,
    OPTION_NO_RESOURCES,
    OPTION_POST_CHECKS,
    OPTION_SKIP,
    OPTION_ONLY,
    OPTION_AT_MOST_DRAWS,
    OPTION_WIREFRAME,
    OPTION_NULL_FRAGMENT,
    OPTION_TINY_VIEWPORT,
    OPTION_REPLACE_SHADER,
    OPTION_SANDBOX,
    OPTION_JSON,
    OPTION_QUIET
};

struct job {
    const char *from, *to;
    const char *folder; /* for the resources; NULL: the program has them */
    struct whole_file new;
    uint64_t first_frame, last_frame; /* 0: no part was asked for */
    struct edit_experiments experiments;
    enum lap_sandbox_wish sandbox;
    bool no_resources, post_checks, json, quiet;
};

static void say(const struct job *job, const struct lap_vm_program *program, const struct program_build_result *result)
{
    struct stat file = {0};

    (void)fstat(job->new.fd, &file);
    if (job->json) {
        printf("{\"instructions\": %zu, \"initial\": %zu, \"constant_bytes\": %" PRIu64 ", \"volatile_bytes\": %" PRIu64
               ", \"resources\": %zu, \"packets\": %" PRIu64 ", \"commands\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
               program->count, program->initial, program->constant_bytes, program->volatile_bytes,
               program->resource_count, result->packets, result->commands, (uint64_t)file.st_size);
    } else if (!job->quiet) {
        printf("%s: %zu instructions for %" PRIu64 " calls and %" PRIu64 " commands, %zu resources, %" PRIu64
               " bytes\n",
               job->to, program->count, result->packets, result->commands, program->resource_count,
               (uint64_t)file.st_size);
    }
}

static enum lap_status fill_folder(const struct job *job, const struct lap_vm_program *program,
                                   const struct lap_vm_resource_bytes *bytes)
{
    struct lap_vm_folder *folder = NULL;
    enum lap_status status = lap_vm_folder_open(job->folder, UINT64_MAX, &folder);

    for (size_t i = 0; status == LAP_OK && i < program->resource_count; i++) {
        const uint8_t *data;
        uint8_t *packed = NULL;
        size_t count;

        if (lap_vm_folder_has(folder, &program->resources[i]))
            continue;
        status = bytes->get(bytes->user, i, &data);
        if (status == LAP_OK)
            status = lap_vm_resource_pack(data, program->resources[i].bytes, &packed, &count);
        if (status == LAP_OK)
            status = lap_vm_folder_put(folder, &program->resources[i], packed, count);
        free(packed);
    }
    lap_vm_folder_close(&folder);
    return status;
}

static enum lap_status write_program(const struct job *job, struct program_build *build)
{
    struct lap_vm_resource_bytes bytes = program_build_resources(build);
    enum lap_status status =
        lap_vm_verify(program_built(build), UINT64_MAX); /* it is our own: a fault of the builder */

    if (status == LAP_OK && job->folder)
        status = fill_folder(job, program_built(build), &bytes);
    if (status != LAP_OK)
        return status;
    return lap_vm_program_write(program_built(build), job->no_resources || job->folder ? NULL : &bytes, job->new.fd);
}

static enum lap_status find_part(const struct job *job, const struct lap_reader *trace,
                                 struct program_build_options *options)
{
    uint64_t frames = lap_reader_summary(trace)->frames;

    if (!job->last_frame)
        return LAP_OK;
    if (job->first_frame > frames || (job->last_frame != UINT64_MAX && job->last_frame > frames))
        return lap_fail(LAP_ERROR_ARGUMENT, "it has %" PRIu64 " frames", frames);
    options->initial_last = job->first_frame > 1 ? lap_reader_frame_end(trace, job->first_frame - 2) : 0;
    options->last = job->last_frame == UINT64_MAX ? 0 : lap_reader_frame_end(trace, job->last_frame - 1);
    return LAP_OK;
}

static enum lap_status edit(const struct job *job, struct edit_work *work)
{
    static const struct lap_log log = {.fd = STDERR_FILENO, .level = LAP_LOG_INFO, .prefix = PROGRAM ": "};

    if (!edit_experiments_are_wanted(&job->experiments))
        return LAP_OK;
    work->wanted = &job->experiments;
    work->log = job->quiet ? NULL : &log;
    work->last_frame = job->last_frame == UINT64_MAX ? 0 : job->last_frame;
    return edit_experiments_apply(work, NULL);
}

static int compile(void *argument)
{
    const struct job *job = argument;
    struct edit_work work = {0};
    struct program_build *build = NULL;
    struct program_build_result result;
    struct lap_progress progress;
    struct program_build_options options = {
        .post_checks = job->post_checks, .progress = lap_progress_show, .user = &progress};
    enum lap_status status = lap_reader_open(job->from, NULL, &work.reader);
    bool complete;

    if (status != LAP_OK)
        return lap_calls_report_open(PROGRAM, job->from, status);
    complete = lap_reader_summary(work.reader)->complete;
    if (!complete)
        fprintf(stderr, PROGRAM ": %s is incomplete: %s\n", job->from, lap_reader_summary(work.reader)->stopped);
    status = find_part(job, work.reader, &options);
    if (status == LAP_OK)
        status = edit(job, &work);
    if (status == LAP_OK) {
        lap_progress_begin(&progress, "compiling", job->quiet);
        status = program_build(work.reader, &options, &build, &result);
        lap_progress_clear(&progress);
    }
    if (status == LAP_OK)
        status = write_program(job, build);
    if (status == LAP_OK)
        say(job, program_built(build), &result);
    else
        fprintf(stderr, PROGRAM ": %s: %s\n", job->from, lap_error_message());
    program_build_destroy(&build);
    lap_reader_close(&work.reader);
    lap_edits_destroy(&work.edits);
    if (status != LAP_OK)
        return status == LAP_ERROR_ARGUMENT                           ? LAP_TOOL_USAGE
               : status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO ? LAP_TOOL_FAILED
                                                                      : LAP_TOOL_NO_TRACE;
    return lap_tool_end_output(PROGRAM, complete ? LAP_TOOL_OK : LAP_TOOL_INCOMPLETE);
}

static int run(struct job *job)
{
    int code;

    if ((job->folder && lap_folder_make(job->folder) != LAP_OK) || whole_file_open(&job->new, job->to) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    code = lap_sandboxed_work_in(PROGRAM, job->sandbox, job->folder, compile, job);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE) {
        whole_file_drop(&job->new);
    } else if (whole_file_keep(&job->new) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        code = LAP_TOOL_FAILED;
    }
    return code;
}

static int usage(const char *what)
{
    fprintf(stderr, PROGRAM ": %s. Try 'lapilli compile --help'.\n", what);
    return LAP_TOOL_USAGE;
}

/* An exit status, or -1. */
static int set_experiment(struct job *job, int option, const char *value)
{
    struct edit_experiments *e = &job->experiments;
    enum lap_status status = LAP_OK;
    char *end;

    switch (option) {
    case OPTION_SKIP:
        status = edit_positions_parse(value, &e->skip);
        break;
    case OPTION_ONLY:
        status = edit_positions_parse(value, &e->only);
        break;
    case OPTION_AT_MOST_DRAWS:
        errno = 0;
        e->has_most_draws = true;
        e->most_draws = strtoull(value, &end, 10);
        if (*value < '0' || *value > '9' || *end || errno)
            return usage("--at-most-draws takes a number");
        break;
    case OPTION_WIREFRAME:
        e->wireframe = true;
        break;
    case OPTION_NULL_FRAGMENT:
        e->null_fragment = true;
        break;
    case OPTION_TINY_VIEWPORT:
        e->tiny_viewport = true;
        break;
    default:
        status = edit_experiments_parse_shader(value, e);
        break;
    }
    return status == LAP_OK ? -1 : status == LAP_ERROR_MEMORY ? LAP_TOOL_FAILED : usage(lap_error_message());
}

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                          {"frames", required_argument, NULL, OPTION_FRAMES},
                                          {"resources", required_argument, NULL, OPTION_RESOURCES},
                                          {"no-resources", no_argument, NULL, OPTION_NO_RESOURCES},
                                          {"post-checks", no_argument, NULL, OPTION_POST_CHECKS},
                                          {"skip", required_argument, NULL, OPTION_SKIP},
                                          {"only", required_argument, NULL, OPTION_ONLY},
                                          {"at-most-draws", required_argument, NULL, OPTION_AT_MOST_DRAWS},
                                          {"wireframe", no_argument, NULL, OPTION_WIREFRAME},
                                          {"null-fragment", no_argument, NULL, OPTION_NULL_FRAGMENT},
                                          {"tiny-viewport", no_argument, NULL, OPTION_TINY_VIEWPORT},
                                          {"replace-shader", required_argument, NULL, OPTION_REPLACE_SHADER},
                                          {"sandbox", required_argument, NULL, OPTION_SANDBOX},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"quiet", no_argument, NULL, OPTION_QUIET},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option, code;

    while ((option = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
        switch (option) {
        case 'o':
            job->to = optarg;
            break;
        case OPTION_FRAMES:
            if (!lap_tool_frames(optarg, &job->first_frame, &job->last_frame))
                return usage("--frames takes A-B, A, A- or -B");
            break;
        case OPTION_RESOURCES:
            job->folder = optarg;
            break;
        case OPTION_NO_RESOURCES:
            job->no_resources = true;
            break;
        case OPTION_POST_CHECKS:
            job->post_checks = true;
            break;
        case OPTION_SANDBOX:
            if (lap_sandbox_wish_parse(optarg, &job->sandbox) != LAP_OK)
                return usage(lap_error_message());
            break;
        case OPTION_JSON:
            job->json = true;
            break;
        case OPTION_QUIET:
            job->quiet = true;
            break;
        case 'h':
            return lap_tool_help(PROGRAM, help);
        case '?':
            return usage("wrong usage");
        default:
            code = set_experiment(job, option, optarg);
            if (code >= 0)
                return code;
        }
    }
    if (optind + 1 != argc)
        return usage(optind < argc ? "one FILE at a time" : "a FILE is missing");
    if (!job->to)
        return usage("-o PROG is missing");
    job->from = argv[optind];
    return -1;
}

int main(int argc, char **argv)
{
    struct job job = {0};
    int code = parse(argc, argv, &job);

    if (code < 0)
        code = run(&job);
    edit_experiments_finish(&job.experiments);
    return code;
}
