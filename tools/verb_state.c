/* SPDX-License-Identifier: MIT */
/* lapilli-state: shows the objects that live at a position of a trace, one of them, or what changed between two. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "tools/show/moment.h"
#include "tools/show/state_print.h"

#define PROGRAM "lapilli-state"
#define WIDTH   100u /* of a line where there is no terminal */
#define NARROW  40u

static const char help[] =
    "usage: lapilli state [options] --at POSITION FILE [OBJECT]\n"
    "       lapilli state [options] --diff POSITION POSITION FILE\n"
    "Shows the objects that live at a position of a trace, without a GPU. Of a command in a command buffer it shows\n"
    "the bound state: pipeline, sets, buffers, push constants, dynamic state, attachments. With OBJECT, like "
    "VkImage:2,\n"
    "it shows where the object begins and ends, its memory, its contents, the objects that are made of it, and the\n"
    "call that made it.\n"
    "\n"
    "  --at POSITION   after this has happened: FRAME, FRAME.SUBMIT, #PACKET and so on (lapilli tree). Objects at a\n"
    "                  command buffer or a command are those at its submit\n"
    "  --diff P1 P2    the objects that were made, ended or changed behind P1, up to P2\n"
    "  --type TYPE     only objects of this type, like VkImage\n"
    "  --count         how many there are of each type, alone\n"
    "  --list          the objects that live there, also at a command\n"
    "  --json          one JSON object\n"
    "  --color WHEN    auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage, or the trace has no such position or object; 3\n"
    "no readable trace; 4 the trace is incomplete.\n";

struct options {
    struct position at; /* count 0: missing */
    struct pair {
        struct position at[2];
        unsigned count;
    } diff;
    bool json, count, list;
    int colour; /* -1: automatic */
    unsigned width;
    const char *type, *path, *object;
};

static const struct lap_verb verb = {PROGRAM, help};

/* Called for each of both. */
static enum lap_status take_diff(const struct lap_argument *row, const char *value)
{
    struct pair *diff = row->out;

    return diff->count < 2 ? position_parse(value, &diff->at[diff->count++]) : lap_argument_wants(row, "two positions");
}

static int check(const struct options *options)
{
    if (options->at.count && options->diff.count)
        return lap_usage(&verb, "--at or --diff, not both");
    if (!options->at.count && !options->diff.count)
        return lap_usage(&verb, "--at or --diff is missing");
    if (options->diff.count && options->object)
        return lap_usage(&verb, "--diff is of all objects");
    if (options->object && (options->type || options->count || options->list))
        return lap_usage(&verb, "--type, --count and --list are for several objects");
    if (options->diff.count && (options->count || options->list))
        return lap_usage(&verb, "--count and --list are for one position");
    return -1;
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("at", &options->at, lap_take_position),
                                        {"diff", &options->diff, take_diff, .kind = LAP_ARGUMENT_PAIR},
                                        LAP_TEXT("type", &options->type),
                                        LAP_FLAG("count", &options->count),
                                        LAP_FLAG("list", &options->list),
                                        LAP_FLAG("json", &options->json),
                                        LAP_VALUE("color", &options->colour, lap_take_colour),
                                        LAP_FILE(&options->path),
                                        LAP_MAYBE_WORD("OBJECT", &options->object, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options);
}

static enum lap_status show(const struct options *options, struct lap_state_view *view, uint32_t type, uint64_t index)
{
    if (options->object)
        return lap_state_object(view, type, index);
    if (!options->diff.count && !options->type && !options->count && !options->list &&
        position_is_command(&view->found.position))
        return lap_state_bound(view);
    return options->diff.count ? lap_state_diff(view) : lap_state_list(view);
}

/* An error may come behind what was shown. */
static enum lap_status read_and_show(void *user, const struct lap_reader *trace)
{
    const struct options *options = user;
    struct lap_state_view view = {.out = stdout,
                                  .trace = trace,
                                  .json = options->json,
                                  .counts = options->count,
                                  .width = options->width,
                                  .colour = lap_tool_has_colour(options->colour)};
    struct lap_progress progress;
    struct state_wish wish = {.to_end = options->object != NULL,
                              .lives_alone = options->count,
                              .progress = lap_progress_show,
                              .user = &progress};
    struct state_objects *objects = NULL;
    char name[LAP_OBJECT_NAME_MAX] = "";
    struct position_found first;
    uint64_t index = 0;
    const struct position *last = options->diff.count ? &options->diff.at[1] : &options->at;
    enum lap_status status = lap_moment_find(view.trace, last, &view.last, view.at[1], &view.found), shown;

    if (status == LAP_OK && options->diff.count)
        status = lap_moment_find(view.trace, &options->diff.at[0], &view.first, view.at[0], &first);
    if (status == LAP_OK && view.first > view.last)
        status = lap_fail(LAP_ERROR_ARGUMENT, "%s is behind %s", view.at[0], view.at[1]);
    if (status == LAP_OK && options->object)
        status = lap_object_parse(options->object, &wish.used_type, &index, name);
    if (status != LAP_OK)
        return status;
    wish.first = view.first;
    wish.last = view.last;
    wish.used_index = index;
    view.type = options->type ? gen_handle_by_name(options->type) : GEN_HANDLE_NONE;
    lap_progress_begin(&progress, "reading", false);
    status = state_objects_find(view.trace, &wish, &objects);
    lap_progress_clear(&progress);
    view.objects = objects;
    view.damaged = status != LAP_OK;
    if (!objects)
        return status;
    if (options->object ? !wish.used_type : options->type && !view.type)
        shown = lap_state_no_type(&view, options->object ? name : options->type);
    else
        shown = show(options, &view, wish.used_type, index);
    state_objects_free(&objects);
    return shown == LAP_OK ? status : shown;
}

/* Of the terminal. */
static unsigned width(void)
{
    struct winsize size = {.ws_col = 0};

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return WIDTH;
    return size.ws_col < NARROW ? NARROW : size.ws_col;
}

int main(int argc, char **argv)
{
    struct options options = {.colour = -1, .width = width()};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    return lap_read_trace(PROGRAM, options.path, read_and_show, &options);
}
