/* SPDX-License-Identifier: MIT */
/* lapilli-pixel: the history of a texel, for which it becomes lapilli-replay. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/arguments.h"
#include "tools/common/tool.h"

#define PROGRAM "lapilli-pixel"

static const char help[] =
    "usage: lapilli pixel [options] FILE --at FRAME|POSITION X,Y\n"
    "Prints which draws, clears, copies, blits, resolves and stores of a frame change a texel, and from what to what,\n"
    "with depth and stencil beside it. A replay on a GPU of this machine plays the trace up to the last of them.\n"
    "\n"
    "  --at POSITION       the frame, as lapilli tree has it; or another place: up to the end of that\n"
    "  --target VkImage:N[,LEVEL[,LAYER]]\n"
    "                      the image; default: the one that the frame presents\n"
    "  --aspect NAME       color, depth or stencil; default: the first one that the format has\n"
    "  --all               also those that do not change it\n"
    "  --fragments         also the fragments of draws there, with the tests that they fail, or why there is none\n"
    "  --wireframe         draw the edges of triangles; these four as in lapilli replay\n"
    "  --null-fragment     fragment shaders do nothing but write one colour\n"
    "  --tiny-viewport     viewports and scissors are one pixel\n"
    "  --replace-shader HASH=FILE\n"
    "                      SPIR-V, its text or GLSL for the shader with this hash\n"
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
    "Exit status: 0; 1 the replay or an output failed; 2 wrong usage, or the trace has no such position, image or "
    "texel;\n"
    "3 no readable trace; 4 the trace is incomplete; 5 this machine can't play it, or such a texel can't be read.\n";

static const struct lap_verb verb = {PROGRAM, help};

/* But for the first one those of lapilli-replay, too. */
static const struct option longs[] = {
    {"at", required_argument, NULL, 0},       {"target", required_argument, NULL, 0},
    {"aspect", required_argument, NULL, 0},   {"all", no_argument, NULL, 0},
    {"fragments", no_argument, NULL, 0},      {"skip", required_argument, NULL, 0},
    {"wireframe", no_argument, NULL, 0},      {"null-fragment", no_argument, NULL, 0},
    {"tiny-viewport", no_argument, NULL, 0},  {"replace-shader", required_argument, NULL, 0},
    {"gpu", required_argument, NULL, 0},      {"wait-limit", required_argument, NULL, 0},
    {"validate", optional_argument, NULL, 0}, {"sandbox", required_argument, NULL, 0},
    {"progress", required_argument, NULL, 0}, {"json", no_argument, NULL, 0},
    {"quiet", no_argument, NULL, 0},          {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0}};

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
    bool has_place = false;

    while ((option = getopt_long(argc, argv, "h", longs, &at)) != -1) {
        const char *name = longs[at].name;
        if (option == 'h')
            return lap_tool_help(PROGRAM, help);
        if (option == 'V')
            return lap_tool_version(PROGRAM);
        if (option == '?')
            return lap_usage(&verb, "wrong usage");
        has_place |= at == 0;
        if (asprintf(&words[count++], "--%s%s%s", at ? name : "pixel-at", optarg ? "=" : "", optarg ? optarg : "") < 0)
            return no_memory();
    }
    if (!has_place)
        return lap_usage(&verb, "--at wants a frame or another POSITION");
    if (optind + 2 != argc)
        return lap_usage(&verb, optind + 2 < argc ? "one FILE at a time"
                                : optind < argc   ? "the texel is missing, like 400,300"
                                                  : "FILE is missing");
    if (asprintf(&words[count++], "--pixel=%s", argv[optind + 1]) < 0)
        return no_memory();
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
