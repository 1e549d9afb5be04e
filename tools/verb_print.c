/* SPDX-License-Identifier: MIT */
#include "tools/common/arguments.h"
#include "tools/show/print.h"

#include <inttypes.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_ids.h"
#include "inspector/position/find.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"

#define PROGRAM "lapilli-print"

static const char help[] =
    "usage: lapilli print [options] FILE\n"
    "Prints the calls of a trace, one a line, in the order of their tickets.\n"
    "\n"
    "  --json         one JSON object a line (below)\n"
    "  --frames A-B   only these frames, counted from 1; also A, A- and -B\n"
    "  --at POSITION  only what is there, in the same lines: a frame, a submit, a command buffer with its commands, "
    "one\n"
    "                 command; positions as for lapilli tree. #PACKET may be any packet, #PACKET.COMMAND any command\n"
    "  --data HASH    instead of lines the first data there with this hash, as they are\n"
    "  --no-blocks    leave out the commands inside command buffers\n"
    "  --color WHEN   auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
    "  --help         this text\n"
    "\n"
    "Calls that had not returned when the program crashed or was killed stand at the end.\n"
    "\n"
    "Text: #index thread ticket frame name(parameter = value, ...) = result. Commands of a command buffer follow the\n"
    "lapilliBlock that names it, as #index.command. Handles are TYPE:number, where numbers count the objects of a "
    "type;\n"
    "data is shown as <size, XXH3-64>. An empty pNext, and allocators and callbacks, which are never recorded, are "
    "left\n"
    "out.\n"
    "\n"
    "JSON: index, thread, ticket, frame, flags, name, args and, where one was recorded, result. Commands of a command\n"
    "buffer have block, command and commandBuffer instead of flags. Handles are \"VkBuffer:12\" or null; enums are "
    "names;\n"
    "flags are one string, \"A | B\", \"0\" for none; pNext is an array of structures with sType, or null; data is\n"
    "{\"bytes\", \"hash\"}; addresses are \"0x...\"; integers beyond 2^53, NaN and infinities are strings. Unions "
    "whose\n"
    "meaning depends on another object show every reading. Calls that did not return have inFlight instead of index,\n"
    "frame and flags: {\"guilty\", whether their own thread got the signal; \"signal\", or null}; args may be null.\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 usage, or the trace has no such position; 3 no readable "
    "trace;\n"
    "4 the trace is incomplete.\n";

static const struct lap_verb verb = {PROGRAM, help};

struct options {
    struct position at; /* count 0: everything */
    bool json, blocks, has_data;
    uint64_t data;      /* the hash of bytes that are written instead */
    int colour;         /* -1: automatic */
    uint64_t frames[2]; /* the first and the last one, from 1 */
    const char *path;
};

static enum lap_status take_data(const struct lap_argument *row, const char *value)
{
    struct options *options = row->out;

    options->has_data = true;
    options->data = strtoull(value, NULL, 16);
    return strlen(value) == 16 && strspn(value, "0123456789abcdefABCDEF") == 16
               ? LAP_OK
               : lap_argument_wants(row, "a hash of 16 hexadecimal digits");
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_FLAG("json", &options->json),
                                        LAP_VALUE("frames", options->frames, lap_take_range),
                                        LAP_NO_FLAG("no-blocks", &options->blocks),
                                        LAP_VALUE("color", &options->colour, lap_take_colour),
                                        LAP_VALUE("at", &options->at, lap_take_position),
                                        LAP_VALUE("data", options, take_data),
                                        LAP_FILE(&options->path)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (options->at.count && lap_range_is_given(options->frames))
        return lap_usage(&verb, "--at and --frames exclude each other");
    return -1;
}

static enum lap_status print_line(const struct options *options, struct lap_printer *printer,
                                  const struct lap_line *line)
{
    if (options->has_data)
        return lap_print_data(printer, line, options->data);
    if (options->json)
        return lap_print_json(printer, line);
    lap_print_text(printer, line);
    return LAP_OK;
}

/* The commands of the current call's block; of_command: only this one, or NULL. */
static enum lap_status print_block(const struct options *options, struct lap_printer *printer, struct lap_calls *calls,
                                   const uint64_t *of_command)
{
    const struct gen_args_lapilliBlock *args = (const void *)calls->args.bytes;
    struct lap_line line = {.packet = &calls->packet,
                            .index = calls->index,
                            .in_block = true,
                            .block = args->block,
                            .command_buffer = gen_u64_VkCommandBuffer(args->commandBuffer),
                            .args = calls->block_args.bytes};
    enum lap_status status = lap_calls_block_begin(calls);

    while (status == LAP_OK && (status = lap_calls_block_next(calls)) == LAP_OK) {
        line.command = calls->block_command;
        line.command_index = calls->block.index - 1;
        line.name = gen_command_names[line.command];
        if (!of_command || line.command_index == *of_command)
            status = print_line(options, printer, &line);
        if (of_command && line.command_index == *of_command)
            return status;
    }
    if (status == LAP_END && of_command)
        return lap_fail(LAP_ERROR_ARGUMENT, "packet #%" PRIu64 " has the commands 0 to %" PRIu32, calls->index,
                        line.command_index);
    return status == LAP_END ? LAP_OK : status;
}

/* The current call, and the commands of its block. */
static enum lap_status print_call(const struct options *options, struct lap_printer *printer, struct lap_calls *calls)
{
    struct lap_line line = {.packet = &calls->packet,
                            .index = calls->index,
                            .name = calls->name,
                            .command = calls->command,
                            .args = calls->args.bytes,
                            .has_result = calls->has_result};
    enum lap_status status = print_line(options, printer, &line);

    if (status == LAP_OK && options->blocks && calls->command == GEN_lapilliBlock)
        status = print_block(options, printer, calls, NULL);
    return status;
}

static enum lap_status print_all(const struct options *options, struct lap_printer *printer, struct lap_calls *calls)
{
    uint64_t packets = lap_reader_summary(calls->reader)->packets;
    struct lap_progress progress;
    enum lap_status status;

    lap_progress_begin_beside(&progress, "printing");
    while ((status = lap_calls_next(calls)) == LAP_OK && !ferror(printer->out) && !printer->has_data) {
        lap_progress_show(&progress, calls->index, packets);
        if (calls->packet.frame + 1 > options->frames[1])
            status = LAP_END;
        else if (calls->packet.frame + 1 >= options->frames[0])
            status = print_call(options, printer, calls);
        if (status != LAP_OK)
            break;
    }
    lap_progress_clear(&progress);
    return status;
}

/* ---- a position ---- */

/* The packet, or of a lapilliBlock one command. */
static enum lap_status print_packet(const struct options *options, struct lap_printer *printer, struct lap_calls *calls,
                                    uint64_t ticket, const uint64_t *command)
{
    enum lap_status status = lap_calls_seek(calls, ticket);

    if (status == LAP_OK)
        status = lap_calls_next(calls);
    if (status != LAP_OK || !command)
        return status == LAP_OK ? print_call(options, printer, calls) : status;
    if (calls->command != GEN_lapilliBlock)
        return lap_fail(LAP_ERROR_ARGUMENT, "packet #%" PRIu64 " is no command buffer", calls->index);
    return print_block(options, printer, calls, command);
}

/* Prints what is at options->at. LAP_ERROR_ARGUMENT: there is no such position. */
static enum lap_status print_at(struct options *options, struct lap_printer *printer, struct lap_calls *calls)
{
    const struct position *at = &options->at;
    struct position_found found;
    enum lap_status status = LAP_END;

    if (at->of_packet && at->numbers[0] < UINT64_MAX) /* also one that is in no submit */
        status = print_packet(options, printer, calls, at->numbers[0] + 1, at->count > 1 ? &at->numbers[1] : NULL);
    if (status != LAP_END)
        return status;
    status = position_find(calls->reader, at, &found);
    if (status != LAP_OK)
        return status;
    if (at->count >= POSITION_BUFFER)
        found.ticket = found.places[found.place_count - 1].recorded;
    if (at->count > POSITION_FRAME)
        return print_packet(options, printer, calls, found.ticket,
                            position_is_command(at) ? &at->numbers[at->count - 1] : NULL);
    options->frames[0] = options->frames[1] = at->numbers[0];
    status = lap_calls_seek(calls, found.ticket);
    return status == LAP_OK ? print_all(options, printer, calls) : status;
}

/* Prints the calls that did not return, behind the last call. */
static enum lap_status print_in_flight(const struct options *options, struct lap_printer *printer,
                                       struct lap_calls *calls)
{
    const struct lap_reader_summary *summary = lap_reader_summary(calls->reader);
    enum lap_status status = LAP_END;

    for (size_t i = 0; status == LAP_END && i < summary->in_flight_count; i++) {
        bool known = lap_calls_in_flight(calls, &summary->in_flight[i]);
        struct lap_line line = {.in_flight = &summary->in_flight[i],
                                .name = calls->name,
                                .command = calls->command,
                                .args = calls->args.bytes,
                                .bare = !known};
        status = print_line(options, printer, &line);
        if (status == LAP_OK)
            status = LAP_END;
    }
    return status;
}

static enum lap_status print(void *user, struct lap_calls *calls)
{
    struct options *options = user;
    struct lap_printer printer = {.out = stdout, .colour = lap_tool_has_colour(options->colour)};
    uint64_t frames = lap_reader_summary(calls->reader)->frames;
    enum lap_status status;

    if (options->frames[0] > frames + 1) /* calls may follow the last frame */
        fprintf(stderr, PROGRAM ": %s: there is no frame %" PRIu64 ": the trace has %" PRIu64 "\n", options->path,
                options->frames[0], frames);
    status = options->at.count ? print_at(options, &printer, calls) : print_all(options, &printer, calls);
    if (status == LAP_END && !options->at.count && options->frames[1] == UINT64_MAX)
        status = print_in_flight(options, &printer, calls);
    if (options->has_data && (status == LAP_END || status == LAP_OK) && !printer.has_data)
        status = lap_fail(LAP_ERROR_ARGUMENT, "no data there have the hash %016" PRIx64, options->data);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.blocks = true, .colour = -1, .frames = {0, UINT64_MAX}};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    __fsetlocking(stdout, FSETLOCKING_BYCALLER); /* one thread, and many small pieces */
    lap_calls_enter_sandbox();
    return lap_read_calls(PROGRAM, options.path, print, &options);
}
