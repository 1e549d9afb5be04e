/* SPDX-License-Identifier: MIT */
/* lapilli-debug: the values that a shader computes, for which it becomes lapilli-replay. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/arguments.h"
#include "tools/common/tool.h"

#define PROGRAM "lapilli-debug"

static const char help[] =
    "usage: lapilli debug [options] FILE --at POSITION --texel X,Y\n"
    "       lapilli debug [options] FILE --at POSITION --vertex N [--instance M]\n"
    "       lapilli debug [options] FILE --at POSITION --invocation X,Y,Z\n"
    "Prints the code of a shader, and beside it the values that it computes: for a texel of a draw, a vertex of it, "
    "or\n"
    "an invocation of a dispatch. A replay on a GPU of this machine plays the trace up to that command, which runs "
    "with\n"
    "code that also writes what it computes. An instruction that runs several times has its values below each other.\n"
    "\n"
    "  --at POSITION       the draw or dispatch, as lapilli tree has it\n"
    "  --texel X,Y         the fragment shader, for this texel of the attachments\n"
    "  --vertex N          the vertex shader, for the vertex with this VertexIndex\n"
    "  --instance M        of this InstanceIndex; default: the draw's first one\n"
    "  --invocation X,Y,Z  the compute shader, for this GlobalInvocationId\n"
    "  --name NAME         a table of all values with this name, or of an id like %46\n"
    "  --all-fragments     the values of all fragments of the texel, not of the last one that came to its end\n"
    "  --wireframe         draw the edges of triangles; these four as in lapilli replay\n"
    "  --null-fragment     fragment shaders do nothing but write one colour\n"
    "  --tiny-viewport     viewports and scissors are one pixel\n"
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
    "Exit status: 0; 1 the replay or an output failed; 2 wrong usage, or the trace has no such command, or no value "
    "has\n"
    "such a name; 3 no readable trace; 4 the trace is incomplete; 5 this machine can't play it, or this shader can't "
    "be\nchanged.\n";

static const struct lap_verb verb = {PROGRAM, help};

/* But for the first one those of lapilli-replay, too. */
static const struct option longs[] = {{"at", required_argument, NULL, 0},
                                      {"texel", required_argument, NULL, 0},
                                      {"vertex", required_argument, NULL, 0},
                                      {"instance", required_argument, NULL, 0},
                                      {"invocation", required_argument, NULL, 0},
                                      {"name", required_argument, NULL, 0},
                                      {"all-fragments", no_argument, NULL, 0},
                                      {"wireframe", no_argument, NULL, 0},
                                      {"null-fragment", no_argument, NULL, 0},
                                      {"tiny-viewport", no_argument, NULL, 0},
                                      {"replace-shader", required_argument, NULL, 0},
                                      {"gpu", required_argument, NULL, 0},
                                      {"wait-limit", required_argument, NULL, 0},
                                      {"validate", optional_argument, NULL, 0},
                                      {"sandbox", required_argument, NULL, 0},
                                      {"progress", required_argument, NULL, 0},
                                      {"json", no_argument, NULL, 0},
                                      {"quiet", no_argument, NULL, 0},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, 'V'},
                                      {NULL, 0, NULL, 0}};

static int no_memory(void)
{
    fprintf(stderr, PROGRAM ": out of memory\n");
    return LAP_TOOL_FAILED;
}

/* Fills the words for lapilli-replay behind the first one, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, char **words)
{
    int option, at = 0;
    size_t count = 1;
    bool has_place = false, has_invocation = false;

    while ((option = getopt_long(argc, argv, "h", longs, &at)) != -1) {
        const char *name = longs[at].name;
        if (option == 'h')
            return lap_tool_help(PROGRAM, help);
        if (option == 'V')
            return lap_tool_version(PROGRAM);
        if (option == '?')
            return lap_usage(&verb, "wrong usage");
        has_place |= at == 0;
        has_invocation |= at == 1 || at == 2 || at == 4;
        if (asprintf(&words[count++], "--%s%s%s", at ? name : "debug", optarg ? "=" : "", optarg ? optarg : "") < 0)
            return no_memory();
    }
    if (!has_place)
        return lap_usage(&verb, "--at wants the POSITION of a draw or a dispatch");
    if (!has_invocation)
        return lap_usage(&verb, "--texel, --vertex or --invocation is missing");
    if (optind + 1 != argc)
        return lap_usage(&verb, optind + 1 < argc ? "one FILE at a time" : "FILE is missing");
    words[count++] = strdup("--");
    words[count] = strdup(argv[optind]);
    return words[count - 1] && words[count] ? -1 : no_memory();
}

int main(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 6, sizeof *words);
    int code;

    if (!words)
        return no_memory();
    words[0] = (char[]){"lapilli-replay"};
    code = parse(argc, argv, words);
    if (code < 0)
        code = lap_tool_become(PROGRAM, "lapilli-replay", (const char *const *)words);
    for (size_t i = 1; words[i]; i++)
        free(words[i]);
    free(words);
    return code;
}
