/* SPDX-License-Identifier: MIT */
/*
 * lapilli-compile: makes a replay program of a trace (docs/vm.md).
 *
 * A child process does the work in a sandbox, with the new file open and no other rights
 * (tools/common/sandboxed_work.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file/folder.h"
#include "base/process/sandbox.h"
#include "tools/common/arguments.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "tools/program/compile_trace.h"

#define PROGRAM "lapilli-compile"

static const char help[] =
    "usage: lapilli compile [options] FILE -o PROG\n"
    "Makes a replay program of a trace: code of a stack machine that lapilli replay plays, many times, also where the\n"
    "trace is not.\n"
    "\n"
    "  -o, --output PROG  the program; it must not exist\n"
    "  --resources DIR    put the bytes of textures, meshes and shaders into this folder, a file for each, and not "
    "into\n"
    "                     the program; what is there stays. Created if missing\n"
    "  --post-checks      post what each check finds, in a replay with --verify (lapilli run --posts)\n"
    "  --no-resources     without the bytes of textures, meshes and shaders, which lapilli replay gets from "
    "elsewhere\n" COMPILE_HELP
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

struct job {
    const char *from, *to;
    const char *folder; /* for the resources; NULL: the program has them */
    struct whole_file new;
    struct compile_options options;
    enum lap_sandbox_wish sandbox;
    bool no_resources, post_checks, json, quiet;
};

static void say(const struct job *job, const struct compiled *made)
{
    struct stat file = {0};

    (void)fstat(job->new.fd, &file);
    if (job->json) {
        printf("{\"instructions\": %" PRIu64 ", \"initial\": %" PRIu64 ", \"constant_bytes\": %" PRIu64
               ", \"volatile_bytes\": %" PRIu64 ", \"resources\": %" PRIu64 ", \"packets\": %" PRIu64
               ", \"commands\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n",
               made->instructions, made->initial, made->constant_bytes, made->volatile_bytes, made->resources,
               made->packets, made->commands, (uint64_t)file.st_size);
    } else if (!job->quiet) {
        printf("%s: %" PRIu64 " instructions for %" PRIu64 " calls and %" PRIu64 " commands, %" PRIu64
               " resources, %" PRIu64 " bytes\n",
               job->to, made->instructions, made->packets, made->commands, made->resources, (uint64_t)file.st_size);
    }
}

static int compile(void *argument)
{
    const struct job *job = argument;
    struct compiled made;
    int code = compile_trace(&(struct compile_work){.program = PROGRAM,
                                                    .from = job->from,
                                                    .to = job->to,
                                                    .fd = job->new.fd,
                                                    .options = &job->options,
                                                    .folder = job->folder,
                                                    .no_resources = job->no_resources,
                                                    .post_checks = job->post_checks,
                                                    .quiet = job->quiet},
                             &made);

    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        return code;
    say(job, &made);
    return lap_tool_end_output(PROGRAM, code);
}

static int run(struct job *job)
{
    if ((job->folder && lap_folder_make(job->folder) != LAP_OK) || whole_file_open(&job->new, job->to) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    return whole_file_end(&job->new, PROGRAM, lap_sandboxed_work_in(PROGRAM, job->sandbox, job->folder, compile, job));
}

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    const struct lap_argument rows[] = {LAP_OUTPUT(&job->to),
                                        LAP_TEXT("resources", &job->folder),
                                        LAP_FLAG("post-checks", &job->post_checks),
                                        LAP_FLAG("no-resources", &job->no_resources),
                                        LAP_VALUE("sandbox", &job->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FLAG("quiet", &job->quiet),
                                        COMPILE_ARGUMENTS(&job->options),
                                        LAP_FILE(&job->from)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    return job->to ? -1 : lap_usage(&verb, "-o PROG is missing");
}

int main(int argc, char **argv)
{
    struct job job = {.options.frames = {0, UINT64_MAX}};
    int code = parse(argc, argv, &job);

    if (code < 0)
        code = run(&job);
    compile_options_finish(&job.options);
    return code;
}
