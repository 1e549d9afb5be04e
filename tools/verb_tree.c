/* SPDX-License-Identifier: MIT */
/* lapilli-tree: shows the frames, submits, command buffers, render passes, labels and work of a trace. */
#include "tools/show/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspector/position/find.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "trace/read/reader.h"

#define PROGRAM     "lapilli-tree"
#define FRAME_DEPTH 4u /* inside a frame: to the render passes */
#define EVERYTHING  1000u

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
    bool json, quick, all;
    uint64_t depth;       /* 0: the usual one */
    uint64_t children[2]; /* the first and the last one, from 1 */
    int colour;           /* -1: automatic */
    const char *path;
};

static const struct lap_verb verb = {PROGRAM, help};

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("at", &options->at, lap_take_position),
                                        LAP_NUMBER("depth", &options->depth, 1, UINT64_MAX),
                                        LAP_VALUE("children", options->children, lap_take_range),
                                        LAP_FLAG("all", &options->all),
                                        LAP_FLAG("quick", &options->quick),
                                        LAP_FLAG("json", &options->json),
                                        LAP_VALUE("color", &options->colour, lap_take_colour),
                                        LAP_FILE(&options->path)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    return options->all && options->quick ? lap_usage(&verb, "--all or --quick, not both") : -1;
}

static unsigned default_depth(const struct options *options)
{
    return !options->at.count                     ? 1
           : options->at.count <= POSITION_SUBMIT ? FRAME_DEPTH + 1 - options->at.count
                                                  : EVERYTHING;
}

struct output {
    struct lap_tree_printer printer;
    struct lap_progress progress;
    bool json;
};

static enum lap_status put(void *user, const struct tree_node *node)
{
    struct output *output = user;

    lap_progress_show(&output->progress, node->position.numbers[0], output->printer.frames);
    return output->json ? lap_tree_json(&output->printer, node) : lap_tree_text(&output->printer, node);
}

static enum lap_status show(void *user, const struct lap_reader *trace)
{
    const struct options *options = user;
    struct position_found found;
    bool colour = lap_tool_has_colour(options->colour);
    struct output output = {.printer = {.out = stdout,
                                        .colour = colour,
                                        .frames = lap_reader_summary(trace)->frames,
                                        .first = options->children[0],
                                        .last = options->children[1]},
                            .json = options->json};
    struct options of = *options;
    struct tree_wish wish = {
        .quick = of.quick, .all = of.all, .first_child = of.children[0], .last_child = of.children[1]};
    enum lap_status status = LAP_OK;

    if (of.at.count) {
        status = position_find(trace, &of.at, &found);
        of.at = found.position;
        output.printer.at = &of.at;
    }
    if (status != LAP_OK)
        return status;
    wish.at = output.printer.at;
    wish.depth = of.depth ? (unsigned)(of.depth < EVERYTHING ? of.depth : EVERYTHING) : default_depth(&of);
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
    struct options options = {.colour = -1, .children = {1, UINT64_MAX}};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread, and many small pieces */
    lap_calls_enter_sandbox();
    return lap_read_trace(PROGRAM, options.path, show, &options);
}
