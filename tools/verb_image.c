/* SPDX-License-Identifier: MIT */
/* lapilli-image: pictures of the attachments behind a command. It becomes lapilli-replay, which reads the trace. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/tool.h"

#define PROGRAM "lapilli-image"

static const char help[] =
    "usage: lapilli image [options] FILE --after POSITION -o DIR\n"
    "Writes the attachments behind a command as PNG: DIR/POSITION-color0.png, DIR/POSITION-depth.png and so on. A "
    "replay\n"
    "on a GPU of this machine plays the trace up to there.\n"
    "\n"
    "  --after POSITION    a draw or another command, as lapilli tree has it; of a frame or another place its last "
    "draw\n"
    "  -o, --output DIR    the folder; created if missing\n"
    "  --targets NAMES     only these, separated by commas: color0,depth\n"
    "  --range A,B         A is black and B is white; default: the range of the values\n"
    "  --channels WHICH    rgba, or one of r, g, b, a in grey; default: without alpha\n"
    "  --raw               the bytes of the texels instead, as copies to buffers have them\n"
    "  --skip P,…          leave out draws and other work, as in lapilli replay\n"
    "  --only P,…          leave out all draws but these\n"
    "  --gpu GPU           the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
    "  --validate[=HOW]    play under the Khronos validation layer; as in lapilli replay\n"
    "  --sandbox HOW       as in lapilli replay\n"
    "  --json              a JSON object a line for each picture\n"
    "  --quiet             print only errors and results\n"
    "  --help              this text\n"
    "\n"
    "Exit status: 0; 1 the replay or an output failed; 2 wrong usage, or the trace has no such position or target; 3 "
    "no\n"
    "readable trace; 4 the trace is incomplete; 5 this machine can't play it, or no picture can be made.\n";

static int usage(const char *what)
{
    fprintf(stderr, PROGRAM ": %s. Try 'lapilli image --help'.\n", what);
    return LAP_TOOL_USAGE;
}

/* Each is one of lapilli-replay, too, but for the last two. */
static const struct option longs[] = {{"after", required_argument, NULL, 0},
                                      {"targets", required_argument, NULL, 0},
                                      {"range", required_argument, NULL, 0},
                                      {"channels", required_argument, NULL, 0},
                                      {"raw", no_argument, NULL, 0},
                                      {"skip", required_argument, NULL, 0},
                                      {"only", required_argument, NULL, 0},
                                      {"gpu", required_argument, NULL, 0},
                                      {"validate", optional_argument, NULL, 0},
                                      {"sandbox", required_argument, NULL, 0},
                                      {"json", no_argument, NULL, 0},
                                      {"quiet", no_argument, NULL, 0},
                                      {"output", required_argument, NULL, 'o'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

enum { AFTER, LONGS = sizeof longs / sizeof *longs };

struct options {
    bool given[LONGS];
    const char *values[LONGS]; /* NULL: none */
    const char *folder, *path;
};

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    int option, at = 0;

    *options = (struct options){.folder = NULL};
    while ((option = getopt_long(argc, argv, "ho:", longs, &at)) != -1) {
        if (option == 'h')
            return lap_tool_help(PROGRAM, help);
        if (option == '?')
            return usage("wrong usage");
        if (option == 'o') {
            options->folder = optarg;
            continue;
        }
        options->given[at] = true;
        options->values[at] = optarg;
    }
    if (!options->given[AFTER])
        return usage("--after wants a POSITION");
    if (!options->folder)
        return usage("-o wants a folder");
    if (optind + 1 != argc)
        return usage(optind < argc ? "one FILE at a time" : "a FILE is missing");
    options->path = argv[optind];
    return -1;
}

/* Becomes lapilli-replay; returns an exit status where that fails. */
static int become_replay(const struct options *options)
{
    const char *words[2 * LONGS + 8] = {"lapilli-replay", "--pictures", options->folder, "--present", "headless"};
    char program[PATH_MAX], validate[64];
    char names[LONGS][24];
    size_t count = 5;

    for (size_t i = 0; longs[i].name; i++) {
        if (!options->given[i])
            continue;
        snprintf(names[i], sizeof names[i], "--%s", longs[i].name);
        words[count++] = names[i];
        if (options->values[i] && longs[i].has_arg == optional_argument) {
            snprintf(validate, sizeof validate, "--%s=%s", longs[i].name, options->values[i]);
            words[count - 1] = validate;
        } else if (options->values[i]) {
            words[count++] = options->values[i];
        }
    }
    words[count++] = "--";
    words[count] = options->path;
    if (!lap_tool_find_beside("lapilli-replay", program)) {
        fprintf(stderr, PROGRAM ": lapilli-replay is not beside this program\n");
        return LAP_TOOL_NOT_STARTED;
    }
    execv(program, (char *const *)(uintptr_t)words);
    fprintf(stderr, PROGRAM ": %s can't be started: %s\n", program, strerror(errno));
    return LAP_TOOL_NOT_STARTED;
}

int main(int argc, char **argv)
{
    struct options options;
    int code = parse(argc, argv, &options);

    return code >= 0 ? code : become_replay(&options);
}
