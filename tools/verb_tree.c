/* SPDX-License-Identifier: MIT */
/* lapilli-tree: shows the frames, submits, command buffers, render passes, labels and work of a trace. */
#include "tools/tree.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspector/position/find.h"
#include "tools/calls.h"
#include "tools/progress.h"
#include "tools/tool.h"
#include "trace/reader.h"

#define PROGRAM     "lapilli-tree"
#define FRAME_DEPTH 4u /* inside a frame: to the render passes */

static const char help[] =
    "usage: lapilli tree [options] FILE\n"
    "Shows what a trace consists of: frames, submits, command buffers, render passes, labels, and draws, dispatches "
    "and\n"
    "other work, each with its position and with counts of what is in it.\n"
    "\n"
    "  --at POSITION   only this: FRAME, FRAME.SUBMIT, FRAME.SUBMIT.BUFFER, FRAME.SUBMIT.BUFFER.COMMAND, and behind a\n"
    "                  vkCmdExecuteCommands .BUFFER.COMMAND again; or #PACKET, #PACKET.COMMAND as lapilli print has\n"
    "                  them. Frames, submits and command buffers count from 1, commands from 0\n"
    "  --depth N       so many levels below it. Default: 1 for a whole trace, which are its frames; 4 for a frame, 3\n"
    "                  for a submit, else all\n"
    "  --children A-B  of its direct children, or of the frames of a whole trace, only these, counted from 1; also A, "
    "A-\n"
    "                  and -B\n"
    "  --all           every command of a command buffer, also those that only set state\n"
    "  --quick         look at nothing in command buffers: their sizes are the only counts\n"
    "  --json          one JSON object\n"
    "  --color WHEN    auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage, or the trace has no such position; 3 no "
    "readable\n"
    "trace; 4 the trace is incomplete.\n";

struct options {
    struct position at; /* count 0: the whole */
    bool json, quick, all, has_depth;
    unsigned depth;
    uint64_t first_child, last_child; /* from 1 */
    int colour;                       /* -1: automatic */
    const char *path;
};

static int usage(const char *what)
{
    fprintf(stderr, PROGRAM ": %s. Try 'lapilli tree --help'.\n", what);
    return LAP_TOOL_USAGE;
}

static bool parse_depth(const char *text, struct options *options)
{
    char *end;
    unsigned long depth;

    errno = 0;
    depth = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || depth == 0)
        return false;
    options->depth = depth > 1000 ? 1000 : (unsigned)depth; /* everything */
    options->has_depth = true;
    return true;
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {{"at", required_argument, NULL, 'a'},
                                          {"depth", required_argument, NULL, 'd'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"children", required_argument, NULL, 'n'},
                                          {"all", no_argument, NULL, 'l'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {"color", required_argument, NULL, 'c'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;

    *options = (struct options){.colour = -1, .first_child = 1, .last_child = UINT64_MAX};
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (option) {
        case 'a':
            if (position_parse(optarg, &options->at) != LAP_OK)
                return usage(lap_error_message());
            break;
        case 'd':
            if (!parse_depth(optarg, options))
                return usage("--depth wants a number, from 1");
            break;
        case 'n':
            if (!lap_tool_frames(optarg, &options->first_child, &options->last_child))
                return usage("--children wants A-B with 1 <= A <= B");
            break;
        case 'l':
            options->all = true;
            break;
        case 'q':
            options->quick = true;
            break;
        case 'j':
            options->json = true;
            break;
        case 'c':
            if (!lap_tool_parse_colour(optarg, &options->colour))
                return usage("--color wants auto, always or never");
            break;
        case 'h':
            return lap_tool_help(PROGRAM, help);
        default:
            return usage("wrong usage");
        }
    }
    if (options->all && options->quick)
        return usage("--all or --quick, not both");
    if (optind + 1 != argc)
        return usage(optind < argc ? "one FILE at a time" : "a FILE is missing");
    options->path = argv[optind];
    return -1;
}

static unsigned default_depth(const struct options *options)
{
    return !options->at.count ? 1 : options->at.count <= POSITION_SUBMIT ? FRAME_DEPTH + 1 - options->at.count : 1000;
}

struct output {
    struct lap_tree_printer printer;
    struct lap_progress progress;
    bool json;
    uint64_t frames;
};

static enum lap_status put(void *user, const struct tree_node *node)
{
    struct output *output = user;

    lap_progress_show(&output->progress, node->position.numbers[0], output->frames);
    return output->json ? lap_tree_json(&output->printer, node) : lap_tree_text(&output->printer, node);
}

static enum lap_status show(const struct options *options, const struct lap_reader *trace)
{
    struct position_found found;
    bool colour = lap_tool_has_colour(options->colour);
    struct output output = {
        .printer = {.out = stdout, .colour = colour, .first = options->first_child, .last = options->last_child},
        .json = options->json,
        .frames = lap_reader_summary(trace)->frames};
    struct options of = *options;
    struct tree_wish wish = {
        .quick = of.quick, .all = of.all, .first_child = of.first_child, .last_child = of.last_child};
    enum lap_status status = LAP_OK;

    if (of.at.count) {
        status = position_find(trace, &of.at, &found);
        of.at = found.position;
        output.printer.at = &of.at;
    }
    if (status != LAP_OK)
        return status;
    wish.at = output.printer.at;
    wish.depth = of.has_depth ? of.depth : default_depth(&of);
    if (of.json)
        lap_tree_json_begin(&output.printer);
    lap_progress_begin_beside(&output.progress, "reading");
    status = tree_walk(trace, &wish, put, &output, &output.printer.children);
    lap_progress_clear(&output.progress);
    if (of.json)
        lap_tree_json_end(&output.printer);
    else if (status == LAP_OK)
        lap_tree_text_end(&output.printer);
    return status;
}

int main(int argc, char **argv)
{
    struct options options;
    struct lap_reader *trace;
    enum lap_status status;
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread, and many small pieces */
    status = lap_reader_open(options.path, NULL, &trace);
    if (status != LAP_OK)
        return lap_calls_report_open(PROGRAM, options.path, status);
    status = show(&options, trace);
    code = lap_tool_end_output(PROGRAM, LAP_TOOL_OK);
    if (code == LAP_TOOL_OK && !ferror(stdout)) /* else the walk ended since its reader went */
        code = lap_calls_report_end(PROGRAM, options.path, trace, status);
    lap_reader_close(&trace);
    return code;
}
