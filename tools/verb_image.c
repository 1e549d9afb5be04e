/* SPDX-License-Identifier: MIT */
/* lapilli-image: pictures of the attachments behind a command, for which it becomes lapilli-replay; and of what was
 * uploaded into an image (image_at.c). */
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "tools/show/image_at.h"

#define PROGRAM "lapilli-image"

static const char help[] =
    "usage: lapilli image [options] FILE --after POSITION -o DIR\n"
    "       lapilli image [options] FILE --after POSITION --image VkImage:N[,LEVEL[,LAYER]] -o DIR\n"
    "       lapilli image [options] FILE --each POSITION -o DIR\n"
    "       lapilli image [options] FILE --overdraw POSITION -o DIR\n"
    "       lapilli image [options] FILE --at POSITION VkImage:N -o PICTURE\n"
    "With --after: writes the attachments behind a command as PNG: DIR/POSITION-color0.png, DIR/POSITION-depth.png and "
    "so\n"
    "on. A replay on a GPU of this machine plays the trace up to there. With --image: that image instead, whatever "
    "wrote "
    "it.\n"
    "With --each: the same behind each draw of a render pass, a label, a command buffer or another place, by one "
    "replay.\n"
    "With --overdraw: how many fragments each texel has, as a picture with a colour for each count: DIR/POSITION-shaded"
    ".png.\n"
    "With --at: writes the texels that were uploaded into an image, as one PNG, from the trace alone. It names the\n"
    "command that computed other texels.\n"
    "\n"
    "  --after POSITION    a draw or another command, as lapilli tree has it; of a frame or another place its last "
    "draw\n"
    "  --image VkImage:N   with --after: this one, behind any command; also with ,LEVEL or ,LEVEL,LAYER (or a slice)\n"
    "  --each POSITION     the command that begins a render pass or a label, or any other place\n"
    "  --thumbs N          with --each: only what a draw changed, at most N pixels wide and high, of one attachment\n"
    "  --picture-memory MIB\n"
    "                      with --each: so much memory for one replay's pictures, 512 without it; more replays have "
    "the\n"
    "                      rest\n"
    "  --overdraw POSITION\n"
    "                      as --each: the draws whose fragments are counted, those for which a shader runs\n"
    "  --rasterized        with --overdraw: also those that fail tests in front of it: DIR/POSITION-rasterized.png\n"
    "  --at POSITION       after this has happened\n"
    "  -o, --output PATH   the folder, created if missing; or the picture\n"
    "  --targets NAMES     only these, separated by commas: color0,depth\n"
    "  --mip N             with --at: the level; default: 0\n"
    "  --layer N           with --at: the layer; default: 0\n"
    "  --slice N           with --at: the slice of a 3D image; default: 0\n"
    "  --aspect NAME       with --at and --image: color, depth, stencil, plane0 to plane2\n"
    "  --range A,B         A is black and B is white; default: the range of the values\n"
    "  --channels WHICH    rgba, or one of r, g, b, a in grey; default: without alpha\n"
    "  --raw[=also]        the bytes of the texels instead, as copies to buffers have them; with --after also: "
    "besides\n"
    "                      the PNG\n"
    "  --skip P,…          leave out draws and other work, as in lapilli replay\n"
    "  --only P,…          leave out all draws but these\n"
    "  --wireframe         draw the edges of triangles; these four also as in lapilli replay\n"
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
    "  --json              a JSON object a line for each picture\n"
    "  --quiet             print only errors and results\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0; 1 the replay or an output failed; 2 wrong usage, or the trace has no such position, target or "
    "image;\n"
    "3 no readable trace; 4 the trace is incomplete; 5 this machine can't play it, or no picture can be made.\n";

static const struct lap_verb verb = {PROGRAM, help};

/* The first ones are those of lapilli-replay, too. */
static const struct option longs[] = {{"after", required_argument, NULL, 0},
                                      {"image", required_argument, NULL, 0},
                                      {"each", required_argument, NULL, 0},
                                      {"overdraw", required_argument, NULL, 0},
                                      {"rasterized", no_argument, NULL, 0},
                                      {"thumbs", required_argument, NULL, 0},
                                      {"picture-memory", required_argument, NULL, 0},
                                      {"range", required_argument, NULL, 0},
                                      {"channels", required_argument, NULL, 0},
                                      {"raw", optional_argument, NULL, 0},
                                      {"json", no_argument, NULL, 0},
                                      {"quiet", no_argument, NULL, 0},
                                      {"targets", required_argument, NULL, 0},
                                      {"skip", required_argument, NULL, 0},
                                      {"only", required_argument, NULL, 0},
                                      {"gpu", required_argument, NULL, 0},
                                      {"wait-limit", required_argument, NULL, 0},
                                      {"validate", optional_argument, NULL, 0},
                                      {"sandbox", required_argument, NULL, 0},
                                      {"progress", required_argument, NULL, 0},
                                      {"wireframe", no_argument, NULL, 0},
                                      {"null-fragment", no_argument, NULL, 0},
                                      {"tiny-viewport", no_argument, NULL, 0},
                                      {"replace-shader", required_argument, NULL, 0},
                                      {"at", required_argument, NULL, 0},
                                      {"mip", required_argument, NULL, 0},
                                      {"layer", required_argument, NULL, 0},
                                      {"slice", required_argument, NULL, 0},
                                      {"aspect", required_argument, NULL, 0},
                                      {"output", required_argument, NULL, 'o'},
                                      {"help", no_argument, NULL, 'h'},
                                      {"version", no_argument, NULL, 'V'},
                                      {NULL, 0, NULL, 0}};

enum {
    AFTER,
    IMAGE,
    EACH,
    OVERDRAW,
    RASTERIZED,
    THUMBS,
    PICTURE_MEMORY,
    RANGE,
    CHANNELS,
    RAW,
    JSON,
    QUIET,
    TARGETS,
    OF_REPLAYS = 24,
    AT = OF_REPLAYS,
    MIP,
    LAYER,
    SLICE,
    ASPECT,
    LONGS = sizeof longs / sizeof *longs
};

struct options {
    bool given[LONGS];
    const char *values[LONGS]; /* NULL: none */
    const char *output, *path, *object;
    char **words; /* of those options that lapilli-replay has, as given, from the first on: --NAME=VALUE; ours */
    size_t word_count;
};

static int check(const struct options *options)
{
    if (options->given[AFTER] + options->given[EACH] + options->given[OVERDRAW] + options->given[AT] != 1)
        return lap_usage(&verb, options->given[AFTER] || options->given[EACH] || options->given[OVERDRAW]
                                    ? "only one of --after, --each, --overdraw and --at"
                                    : "--after, --each, --overdraw or --at wants a POSITION");
    if (options->given[RASTERIZED] && !options->given[OVERDRAW])
        return lap_usage(&verb, "--rasterized is for --overdraw");
    if (options->given[IMAGE] && !options->given[AFTER])
        return lap_usage(&verb, "--image is for --after");
    for (size_t i = THUMBS; i <= PICTURE_MEMORY; i++)
        if (options->given[i] && !options->given[EACH])
            return lap_usage(&verb, "--thumbs and --picture-memory are for --each");
    if (!options->output)
        return lap_usage(&verb, options->given[AT] ? "-o wants the name of the picture" : "-o wants a folder");
    for (size_t i = TARGETS; i < ASPECT + 1; i++)
        if (options->given[i] && !(i == ASPECT && options->given[IMAGE]) && (i < OF_REPLAYS) == options->given[AT] &&
            i != AT) {
            static char text[80];
            snprintf(text, sizeof text, "--%s is for --%s", longs[i].name, i < OF_REPLAYS ? "after" : "at");
            return lap_usage(&verb, text);
        }
    if (options->given[AT] && options->values[RAW])
        return lap_usage(&verb, "--raw=also is for --after");
    if (options->given[AT] && !options->object)
        return lap_usage(&verb, "an image is missing, like VkImage:2");
    return !options->given[AT] && options->object ? lap_usage(&verb, "one FILE at a time") : -1;
}

static bool add_word(struct options *options, const char *name, const char *value)
{
    char **word = &options->words[options->word_count];

    if (asprintf(word, "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
        return false;
    options->word_count++;
    return true;
}

static int no_memory(void)
{
    fprintf(stderr, PROGRAM ": out of memory\n");
    return LAP_TOOL_FAILED;
}

static void finish(struct options *options)
{
    for (size_t i = 0; i < options->word_count; i++)
        free(options->words[i]);
    free(options->words);
}

/* Fills *options, which finish frees, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    int option, at = 0;

    *options = (struct options){.words = calloc((size_t)argc, sizeof(char *))};
    if (!options->words)
        return no_memory();
    while ((option = getopt_long(argc, argv, "ho:", longs, &at)) != -1) {
        if (option == 'h')
            return lap_tool_help(PROGRAM, help);
        if (option == 'V')
            return lap_tool_version(PROGRAM);
        if (option == '?')
            return lap_usage(&verb, "wrong usage");
        if (option == 'o') {
            options->output = optarg;
            continue;
        }
        options->given[at] = true;
        options->values[at] = optarg;
        if (at < OF_REPLAYS && !add_word(options, longs[at].name, optarg))
            return no_memory();
        if (at == ASPECT && !add_word(options, "image-aspect", optarg))
            return no_memory();
    }
    if (optind + 1 != argc && optind + 2 != argc)
        return lap_usage(&verb, optind < argc ? "one FILE at a time" : "FILE is missing");
    options->path = argv[optind];
    options->object = argv[optind + 1]; /* or NULL */
    return check(options);
}

/* ---- --at ---- */

static bool parse_number(const char *text, uint32_t *out)
{
    unsigned long number;
    char *end;

    errno = 0;
    number = text ? strtoul(text, &end, 10) : 0;
    *out = (uint32_t)number;
    return !text || (text[0] >= '0' && text[0] <= '9' && !*end && !errno && number <= UINT32_MAX);
}

static int show_at(const struct options *options)
{
    struct lap_image_at at = {.path = options->path,
                              .object = options->object,
                              .output = options->output,
                              .raw = options->given[RAW],
                              .json = options->given[JSON],
                              .how.channels = options->values[CHANNELS]};

    if (position_parse(options->values[AT], &at.at) != LAP_OK)
        return lap_usage(&verb, lap_error_message());
    if (!parse_number(options->values[MIP], &at.level) || !parse_number(options->values[LAYER], &at.layer) ||
        !parse_number(options->values[SLICE], &at.slice))
        return lap_usage(&verb, "--mip, --layer and --slice want a number");
    if (options->given[ASPECT] && !lap_image_at_aspect(options->values[ASPECT], &at.aspect))
        return lap_usage(&verb, "--aspect wants color, depth, stencil, plane0, plane1 or plane2");
    if (options->given[CHANNELS] && !lap_picture_has_channels(options->values[CHANNELS]))
        return lap_usage(&verb, "--channels wants rgba, r, g, b or a");
    if (options->given[RANGE] && !lap_picture_parse_range(options->values[RANGE], &at.how))
        return lap_usage(&verb, "--range wants two different numbers A,B");
    return lap_image_at_run(PROGRAM, &at);
}

/* ---- --after ---- */

/* Becomes lapilli-replay; returns an exit status where that fails. */
static int become_replay(const struct options *options)
{
    const char *before[] = {"lapilli-replay", "--pictures", options->output, "--present", "headless"};
    const size_t before_count = sizeof before / sizeof *before;
    const char **words = calloc(before_count + options->word_count + 3, sizeof *words);
    int code;

    if (!words)
        return no_memory();
    memcpy(words, before, sizeof before);
    memcpy(words + before_count, options->words, options->word_count * sizeof *words);
    words[before_count + options->word_count] = "--";
    words[before_count + options->word_count + 1] = options->path;
    code = lap_tool_become(PROGRAM, "lapilli-replay", words);
    free(words);
    return code;
}

int main(int argc, char **argv)
{
    struct options options;
    int code = parse(argc, argv, &options);

    if (code < 0)
        code = options.given[AT] ? show_at(&options) : become_replay(&options);
    finish(&options);
    return code;
}
