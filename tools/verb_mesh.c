/* SPDX-License-Identifier: MIT */
/* lapilli-mesh: the vertices of a draw, for which it becomes lapilli-replay, or runs one into a new file. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"

#define PROGRAM "lapilli-mesh"

static const char help[] =
    "usage: lapilli mesh [options] FILE --at POSITION [-o FILE.csv|FILE.obj]\n"
    "Prints the vertices of a draw in the order in which it takes them: the attributes that its vertex shader gets, "
    "out "
    "of\n"
    "vertex and index buffers, and the outputs that the shader writes. A replay on a GPU of this machine plays the "
    "trace\n"
    "up to that draw, which runs with code that also writes its outputs. For the attributes alone no GPU is needed, "
    "unless\n"
    "the device wrote these buffers.\n"
    "\n"
    "  --at POSITION       the draw, as lapilli tree has it\n"
    "  --in                only the attributes\n"
    "  --out               only the outputs\n"
    "  --draw N            which draw of a command that has several, from 0; default: 0\n"
    "  --instance N        of this InstanceIndex; default: the first one of the draw\n"
    "  --rows A-B          only these rows, from 0; also N, or A-\n"
    "  -o, --output FILE   into a new file: a table where its name ends in .csv; vertices and primitives, where it "
    "ends "
    "in\n"
    "                      .obj: Position divided by w, or with --in an attribute\n"
    "  --clip              with .obj: Position as the shader writes it, not divided by w\n"
    "  --position NAME     with .obj: the attribute with this name or location; default with --in: one whose name has\n"
    "                      pos in it, or the first one\n"
    "  --replace-shader HASH=FILE\n"
    "                      SPIR-V or GLSL for the shader with this hash\n"
    "  --gpu GPU           the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --wait-limit SECONDS\n"
    "                      as in lapilli replay\n"
    "  --validate[=HOW]    play under the Khronos validation layer; as in lapilli replay\n"
    "  --sandbox HOW       as in lapilli replay\n"
    "  --progress FD       as in lapilli replay\n"
    "  --json              JSON objects, one a line\n"
    "  --quiet             print only errors and results\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0; 1 the replay or an output failed; 2 wrong usage, or the trace has no such draw, instance or "
    "attribute;\n"
    "3 no readable trace; 4 the trace is incomplete; 5 this machine can't play it, or this draw has no such "
    "vertices.\n";

static const struct lap_verb verb = {PROGRAM, help};

/* Those that lapilli-replay has with another name, first. */
enum { AT, IN, OUT, DRAW, INSTANCE, ROWS, CLIP, POSITION, OUTPUT, JSON };
static const char *const theirs[] = {"mesh",          "mesh-side=in", "mesh-side=out", "mesh-draw",
                                     "mesh-instance", "mesh-rows",    "mesh-clip",     "mesh-position"};
static const struct option longs[] = {[AT] = {"at", required_argument, NULL, 0},
                                      [IN] = {"in", no_argument, NULL, 0},
                                      [OUT] = {"out", no_argument, NULL, 0},
                                      [DRAW] = {"draw", required_argument, NULL, 0},
                                      [INSTANCE] = {"instance", required_argument, NULL, 0},
                                      [ROWS] = {"rows", required_argument, NULL, 0},
                                      [CLIP] = {"clip", no_argument, NULL, 0},
                                      [POSITION] = {"position", required_argument, NULL, 0},
                                      [OUTPUT] = {"output", required_argument, NULL, 'o'},
                                      [JSON] = {"json", no_argument, NULL, 0},
                                      {"replace-shader", required_argument, NULL, 0},
                                      {"gpu", required_argument, NULL, 0},
                                      {"wait-limit", required_argument, NULL, 0},
                                      {"validate", optional_argument, NULL, 0},
                                      {"sandbox", required_argument, NULL, 0},
                                      {"progress", required_argument, NULL, 0},
                                      {"quiet", no_argument, NULL, 0},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, 'V'},
                                      {NULL, 0, NULL, 0}};

struct job {
    char **words; /* for lapilli-replay, behind the first one */
    size_t count;
    const char *output;
    bool has[JSON + 1];
};

static int no_memory(void)
{
    fprintf(stderr, PROGRAM ": out of memory\n");
    return LAP_TOOL_FAILED;
}

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);

    return length > end && strcasecmp(text + length - end, ending) == 0;
}

/* Options that do not fit together; -1: all do. */
static int check(struct job *job)
{
    const bool is_obj = job->output && ends_with(job->output, ".obj");

    if (!job->has[AT])
        return lap_usage(&verb, "--at wants the POSITION of a draw");
    if (job->has[IN] && job->has[OUT])
        return lap_usage(&verb, "--in or --out, not both: without them there are both");
    if (job->output && !is_obj && !ends_with(job->output, ".csv"))
        return lap_usage(&verb, "-o wants a name that ends in .csv or .obj");
    if (job->output && job->has[JSON])
        return lap_usage(&verb, "--json goes to standard output, without -o");
    if ((job->has[CLIP] || job->has[POSITION]) && !is_obj)
        return lap_usage(&verb, "--clip and --position are for -o FILE.obj");
    if (job->has[ROWS] && is_obj)
        return lap_usage(&verb, "--rows is not for .obj, which has all");
    if (!job->output)
        return -1;
    job->words[job->count++] = strdup(is_obj ? "--mesh-as=obj" : "--mesh-as=csv");
    return job->words[job->count - 1] ? -1 : no_memory();
}

/* Fills the job, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct job *job)
{
    int option, at = 0, code;

    while ((option = getopt_long(argc, argv, "o:h", longs, &at)) != -1) {
        if (option == 'h')
            return lap_tool_help(PROGRAM, help);
        if (option == 'V')
            return lap_tool_version(PROGRAM);
        if (option == '?')
            return lap_usage(&verb, "wrong usage");
        if (option == 'o') {
            job->output = optarg;
            continue;
        }
        if (at <= JSON)
            job->has[at] = true;
        if (asprintf(&job->words[job->count++], "--%s%s%s", at < OUTPUT ? theirs[at] : longs[at].name,
                     optarg ? "=" : "", optarg ? optarg : "") < 0)
            return no_memory();
    }
    code = check(job);
    if (code >= 0)
        return code;
    if (optind + 1 != argc)
        return lap_usage(&verb, optind + 1 < argc ? "one FILE at a time" : "FILE is missing");
    job->words[job->count++] = strdup("--");
    job->words[job->count] = strdup(argv[optind]);
    return job->words[job->count - 1] && job->words[job->count] ? -1 : no_memory();
}

static int become(const struct job *job)
{
    return lap_tool_become(PROGRAM, "lapilli-replay", (const char *const *)job->words);
}

/* A child whose standard output is the new file. */
static int write_file(const struct job *job)
{
    struct whole_file file;
    const pid_t parent = getpid();
    int status = 0, code = LAP_TOOL_FAILED;
    pid_t child;

    if (whole_file_open(&file, job->output) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    child = fork();
    if (child == 0)
        _exit(lap_tool_end_with(parent) && dup2(file.fd, STDOUT_FILENO) >= 0 ? become(job) : LAP_TOOL_FAILED);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0)
        fprintf(stderr, PROGRAM ": %s\n", strerror(errno));
    else if (WIFEXITED(status))
        code = WEXITSTATUS(status);
    return whole_file_end(&file, PROGRAM, code);
}

int main(int argc, char **argv)
{
    struct job job = {.words = calloc((size_t)argc + 6, sizeof *job.words), .count = 1};
    int code;

    if (!job.words)
        return no_memory();
    job.words[0] = (char[]){"lapilli-replay"};
    code = parse(argc, argv, &job);
    if (code < 0)
        code = job.output ? write_file(&job) : become(&job);
    for (size_t i = 1; job.words[i]; i++)
        free(job.words[i]);
    free(job.words);
    return code;
}
