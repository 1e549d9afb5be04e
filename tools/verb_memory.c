/* SPDX-License-Identifier: MIT */
/* lapilli-memory: the bytes of a buffer at a position of a trace, and who wrote them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "gen_ids.h"
#include "inspector/memory/memory_state.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/replay_child.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/show/memory_print.h"
#include "tools/show/memory_types.h"
#include "tools/show/moment.h"
#include "tools/show/text.h"

#define PROGRAM    "lapilli-memory"
#define SHOWN      ((uint64_t)4096)    /* bytes, where no size is given */
#define PIECE      ((uint64_t)4 << 20) /* that are read at once */
#define LINE       16u
#define DIM_COLOUR "\033[2m"
#define NO_COLOUR  "\033[0m"

static const char help[] =
    "usage: lapilli memory [options] --at POSITION FILE VkBuffer:N [OFFSET [SIZE]]\n"
    "       lapilli memory [options] --after POSITION FILE VkBuffer:N [OFFSET [SIZE]]\n"
    "Shows the bytes of a buffer at a position of a trace, without a GPU, and who wrote them: the host, fills, and "
    "copies\n"
    "of such bytes. Of bytes that the device computed it names the command that may have written them last.\n"
    "With --after instead of --at a replay on a GPU of this machine tells all bytes, also those.\n"
    "\n"
    "  --at POSITION      after this has happened: FRAME, FRAME.SUBMIT, #PACKET and so on (lapilli tree)\n"
    "  --after POSITION   behind a command of a command buffer, or the last one of another place, by a replay\n"
    "  --as TYPE,…        as numbers: u8 to u64, i8 to i64, f16 to f64, x8 to x64 (hexadecimal), with a count like\n"
    "                     f32x3; or float, half, double, int, uint, vec2 to vec4, ivec…, uvec…, mat2 to mat4. Several\n"
    "                     describe a structure: vec3,vec3,vec2\n"
    "  --stride N         bytes from one element to the next; default: the size of TYPE\n"
    "  --parts            only which range was written by whom\n"
    "  -o, --output FILE  the bytes, into a new file; zeroes where they are not known\n"
    "  --json             one JSON object\n"
    "  --color WHEN       auto (default: on a terminal, unless NO_COLOR is set), always, never\n"
    "  --gpu GPU          with --after: as for lapilli replay; so are the next three\n"
    "  --wait-limit SECONDS  with --after\n"
    "  --sandbox HOW      with --after\n"
    "  --progress FD      with --after\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 out of memory, or output or the replay failed; 2 wrong usage, or the trace has no such "
    "position\n"
    "or buffer; 3 no readable trace; 4 the trace is incomplete; 5 with -o: some bytes are not known; with --after: "
    "this\n"
    "machine can't play it, or can't read the buffer.\n";

struct options {
    struct position at, behind; /* behind: that of --after, which then is `at`, too */
    struct lap_memory_type type;
    bool has_type, parts, json;
    int colour;
    uint64_t stride, offset, size, index; /* size 0: not given */
    const char *path, *output;
    const char *after, *gpu, *wait_limit, *sandbox, *progress; /* after: the text of `at`; NULL: no replay is wanted */
    int fd;                                                    /* of output */
    int replayed; /* bytes from the offset on, as a replay has them; -1: not wanted */
};

static const struct lap_verb verb = {PROGRAM, help};

static enum lap_status take_buffer(const struct lap_argument *row, const char *value)
{
    uint32_t type;
    char name[LAP_OBJECT_NAME_MAX];
    enum lap_status status = lap_object_parse(value, &type, row->out, name);

    if (status == LAP_OK && type == GEN_HANDLE_VkImage)
        return lap_fail(LAP_ERROR_ARGUMENT, "texels are shown by lapilli image FILE --at POSITION VkImage:N");
    if (status == LAP_OK && type != GEN_HANDLE_VkBuffer)
        return lap_fail(LAP_ERROR_ARGUMENT, "only buffers have bytes to show, like VkBuffer:2");
    return status;
}

static enum lap_status take_after(const struct lap_argument *row, const char *value)
{
    struct options *options = row->out;

    options->after = value;
    return position_parse(value, &options->behind);
}

static int check(struct options *options)
{
    if (!options->at.count == !options->after)
        return lap_usage(&verb, options->after ? "--at or --after, not both" : "--at or --after is missing");
    if (options->after)
        options->at = options->behind;
    if ((options->gpu || options->wait_limit || options->sandbox || options->progress) && !options->after)
        return lap_usage(&verb, "--gpu, --wait-limit, --sandbox and --progress are for --after");
    if (options->stride && !options->has_type)
        return lap_usage(&verb, "--stride is for --as");
    if (options->stride && options->stride < options->type.bytes)
        return lap_usage(&verb, "--stride is smaller than the TYPE");
    if (options->output && (options->has_type || options->json || options->parts))
        return lap_usage(&verb, "-o writes the bytes alone");
    if (options->parts && options->has_type)
        return lap_usage(&verb, "--parts or --as, not both");
    if (!options->stride)
        options->stride = options->type.bytes;
    return -1;
}

static enum lap_status take_type(const struct lap_argument *row, const char *value)
{
    struct options *options = row->out;

    options->has_type = true;
    return lap_memory_type_parse(value, &options->type)
               ? LAP_OK
               : lap_argument_wants(row, "types like u32, f32x3, vec4 or mat4");
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("at", &options->at, lap_take_position),
                                        LAP_VALUE("after", options, take_after),
                                        LAP_TEXT("gpu", &options->gpu),
                                        LAP_TEXT("wait-limit", &options->wait_limit),
                                        LAP_CHOICE("sandbox", &options->sandbox, "on", "off", "auto"),
                                        LAP_TEXT("progress", &options->progress),
                                        LAP_VALUE("as", options, take_type),
                                        LAP_NUMBER("stride", &options->stride, 1, UINT64_MAX),
                                        LAP_FLAG("parts", &options->parts),
                                        LAP_OUTPUT(&options->output),
                                        LAP_FLAG("json", &options->json),
                                        LAP_VALUE("color", &options->colour, lap_take_colour),
                                        LAP_FILE(&options->path),
                                        LAP_WORD("VkBuffer:N", &options->index, take_buffer),
                                        LAP_MAYBE_NUMBER("OFFSET", &options->offset, 0, UINT64_MAX),
                                        LAP_MAYBE_NUMBER("SIZE", &options->size, 1, UINT64_MAX)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options);
}

/* ---- output ---- */

struct view {
    const struct options *options;
    struct memory_state *state;
    struct memory_answer parts;
    const char *at;
    uint64_t size; /* of the buffer */
    uint64_t begin, end;
    bool colour, unknown;
};

static enum lap_status read_replayed(const struct options *options, uint64_t at, uint64_t bytes, uint8_t *out)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(options->replayed, out + done, bytes - done, (off_t)(at - options->offset + done));
        if (got <= 0)
            return lap_fail(LAP_ERROR_IO, "the replay has other bytes than the trace says");
        done += (uint64_t)got;
    }
    return LAP_OK;
}

/* Calls `put` with the bytes of [begin, end) of the buffer, in pieces of whole `step`s. */
static enum lap_status each_piece(const struct view *view, uint64_t begin, uint64_t end, uint64_t step,
                                  enum lap_status (*put)(const struct view *view, uint64_t at, const uint8_t *data,
                                                         uint64_t bytes))
{
    uint64_t piece = step < PIECE ? PIECE / step * step : step;
    uint8_t *data = malloc((size_t)(piece < end - begin ? piece : end - begin) + 1);
    struct memory_answer answer = {.parts = NULL};
    enum lap_status status = data ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for the bytes");

    for (uint64_t at = begin; at < end && status == LAP_OK; at += piece) {
        uint64_t bytes = end - at < piece ? end - at : piece;
        status = view->options->replayed < 0
                     ? memory_of_buffer(view->state, view->options->index, at, bytes, data, &answer)
                     : read_replayed(view->options, at, bytes, data);
        if (status == LAP_OK)
            status = put(view, at, data, bytes);
    }
    memory_answer_finish(&answer);
    free(data);
    return status;
}

static const struct memory_part *part_at(const struct view *view, uint64_t at)
{
    size_t low = 0, high = view->parts.count;

    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (view->parts.parts[middle].begin <= at - view->begin)
            low = middle;
        else
            high = middle;
    }
    return &view->parts.parts[low];
}

static bool is_shown(const struct view *view, const struct memory_part *part)
{
    return part->known == MEMORY_KNOWN || part->known == MEMORY_NOBODY || view->options->replayed >= 0;
}

static enum lap_status put_hex(const struct view *view, uint64_t at, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i += LINE) {
        uint64_t count = bytes - i < LINE ? bytes - i : LINE;
        printf("%8" PRIu64 " ", at + i);
        for (uint64_t k = 0; k < LINE; k++)
            if (k < count)
                printf(k % 4 ? "%02x" : " %02x", data[i + k]);
            else
                fputs(k % 4 ? "  " : "   ", stdout);
        fputs("  ", stdout);
        for (uint64_t k = 0; k < count; k++)
            putchar(data[i + k] >= 0x20 && data[i + k] < 0x7f ? data[i + k] : '.');
        putchar('\n');
    }
    return LAP_OK;
}

static void put_part(const struct view *view, const struct memory_part *part)
{
    printf("%s%" PRIu64 " to %" PRIu64 "  ", view->colour ? DIM_COLOUR : "", view->begin + part->begin,
           view->begin + part->end);
    lap_memory_put_origin(stdout, part, view->parts.not_followed);
    printf("%s\n", view->colour ? NO_COLOUR : "");
}

static enum lap_status text_bytes(const struct view *view)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < view->parts.count && status == LAP_OK; i++) {
        const struct memory_part *part = &view->parts.parts[i];
        put_part(view, part);
        if (!view->options->parts && part->known != MEMORY_NOBODY && is_shown(view, part))
            status = each_piece(view, view->begin + part->begin, view->begin + part->end, LINE, put_hex);
    }
    return status;
}

/* An element is known if all its bytes are; the origin is shown where another one begins. */
static bool knows(const struct view *view, uint64_t at)
{
    const struct memory_part *part = part_at(view, at);
    const struct memory_part *last = part_at(view, at + view->options->type.bytes - 1);

    for (; part <= last; part++)
        if (!is_shown(view, part))
            return false;
    return true;
}

static enum lap_status put_elements(const struct view *view, uint64_t at, const uint8_t *data, uint64_t bytes)
{
    const struct options *options = view->options;

    for (uint64_t i = 0; i < bytes && bytes - i >= options->type.bytes; i += options->stride) {
        const struct memory_part *part = part_at(view, at + i);
        bool first = at + i - view->begin < part->begin + options->stride;
        printf("%" PRIu64 "\t", at + i);
        if (knows(view, at + i))
            lap_memory_type_put(stdout, &options->type, data + i, "\t", false);
        else
            putchar('?');
        if (first) {
            printf("\t%s", view->colour ? DIM_COLOUR : "");
            lap_memory_put_origin(stdout, part, view->parts.not_followed);
            fputs(view->colour ? NO_COLOUR : "", stdout);
        }
        putchar('\n');
    }
    return LAP_OK;
}

static enum lap_status put_text(const struct view *view)
{
    enum lap_status status = view->options->has_type
                                 ? each_piece(view, view->begin, view->end, view->options->stride, put_elements)
                                 : text_bytes(view);
    if (view->end < view->size && !view->options->size)
        fprintf(stderr, PROGRAM ": %" PRIu64 " of %" PRIu64 " bytes are shown; give OFFSET and SIZE for others\n",
                view->end - view->begin, view->size);
    return status;
}

static enum lap_status json_hex(const struct view *view, uint64_t at, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        printf("%02x", data[i]);
    return LAP_OK;
}

static enum lap_status json_elements(const struct view *view, uint64_t at, const uint8_t *data, uint64_t bytes)
{
    const struct options *options = view->options;

    for (uint64_t i = 0; i < bytes && bytes - i >= options->type.bytes; i += options->stride) {
        fputs(at + i > view->begin ? ", " : "", stdout);
        if (!knows(view, at + i)) {
            fputs("null", stdout);
            continue;
        }
        putchar('[');
        lap_memory_type_put(stdout, &options->type, data + i, ", ", true);
        putchar(']');
    }
    return LAP_OK;
}

static enum lap_status put_json(const struct view *view)
{
    const struct options *options = view->options;
    enum lap_status status = LAP_OK;

    printf("{\"at\": \"%s\", \"object\": \"VkBuffer:%" PRIu64 "\", \"size\": %" PRIu64 ", \"offset\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"replayed\": %s, \"not_followed\": ",
           view->at, options->index, view->size, view->begin, view->end - view->begin,
           options->replayed >= 0 ? "true" : "false");
    lap_text_put_json(stdout, view->parts.not_followed);
    fputs(", \"parts\": [", stdout);
    for (size_t i = 0; i < view->parts.count; i++) {
        const struct memory_part *part = &view->parts.parts[i];
        printf("%s{\"begin\": %" PRIu64 ", \"end\": %" PRIu64 ", ", i ? ", " : "", view->begin + part->begin,
               view->begin + part->end);
        lap_memory_put_json(stdout, part);
        putchar('}');
    }
    putchar(']');
    if (options->has_type) {
        fputs(", \"elements\": [", stdout);
        status = each_piece(view, view->begin, view->end, options->stride, json_elements);
        putchar(']');
    } else if (!options->parts) {
        fputs(", \"hex\": \"", stdout);
        status = each_piece(view, view->begin, view->end, LINE, json_hex);
        putchar('"');
    }
    fputs("}\n", stdout);
    return status;
}

static enum lap_status write_bytes(const struct view *view, uint64_t at, const uint8_t *data, uint64_t bytes)
{
    while (bytes) {
        ssize_t done = write(view->options->fd, data, bytes);
        if (done <= 0)
            return lap_fail(LAP_ERROR_IO, "%s can't be written: %s", view->options->output, strerror(errno));
        data += done;
        bytes -= (uint64_t)done;
    }
    return LAP_OK;
}

/* ---- the work ---- */

static enum lap_status choose_range(struct view *view)
{
    const struct options *options = view->options;

    if (options->offset >= view->size)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkBuffer:%" PRIu64 " has %" PRIu64 " bytes", options->index, view->size);
    if (options->size > view->size - options->offset)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkBuffer:%" PRIu64 " has %" PRIu64 " bytes behind %" PRIu64,
                        options->index, view->size - options->offset, options->offset);
    view->begin = options->offset;
    view->end = options->size ? options->offset + options->size : view->size;
    if (!options->size && !options->output && !options->parts && view->end - view->begin > SHOWN)
        view->end = view->begin + SHOWN;
    return LAP_OK;
}

static enum lap_status show(struct view *view, const struct lap_reader *trace, uint64_t ticket)
{
    const struct options *options = view->options;
    enum lap_status status;

    if (!memory_buffer_size(view->state, options->index, &view->size)) {
        status = lap_object_lives(trace, ticket, view->at, GEN_HANDLE_VkBuffer, options->index);
        return status != LAP_OK
                   ? status
                   : lap_fail(LAP_ERROR_ARGUMENT, "of VkBuffer:%" PRIu64 " nothing is known", options->index);
    }
    status = choose_range(view);
    if (status == LAP_OK)
        status =
            memory_of_buffer(view->state, options->index, view->begin, view->end - view->begin, NULL, &view->parts);
    for (size_t i = 0; i < view->parts.count; i++)
        view->unknown |= !is_shown(view, &view->parts.parts[i]);
    if (status != LAP_OK)
        return status;
    if (options->output)
        return each_piece(view, view->begin, view->end, 1, write_bytes);
    return options->json ? put_json(view) : put_text(view);
}

static enum lap_status find_and_show(void *user, const struct lap_reader *trace)
{
    struct view *view = user;
    char text[POSITION_TEXT_BYTES];
    uint64_t ticket;
    enum lap_status status = lap_memory_find(trace, &view->options->at, &ticket, text, &view->state), shown;

    if (!view->state)
        return status;
    view->at = text;
    shown = show(view, trace, ticket);
    memory_answer_finish(&view->parts);
    memory_state_free(&view->state);
    return shown == LAP_OK ? status : shown;
}

static int work(void *argument)
{
    const struct options *options = argument;
    struct view view = {.options = options, .colour = lap_tool_has_colour(options->colour)};
    int code = lap_read_trace(PROGRAM, options->path, find_and_show, &view);

    if (code == LAP_TOOL_OK && options->output && view.unknown) {
        fprintf(stderr, PROGRAM ": some bytes are not known, and are zeroes in %s; --parts shows which\n",
                options->output);
        code = LAP_TOOL_UNSUPPORTED;
    }
    return code;
}

/* The file is made before the trace is read, and goes again where there is nothing to write. */
static int write_file(struct options *options)
{
    int code;

    options->fd = lap_new_file(options->output);
    if (options->fd < 0) {
        fprintf(stderr, PROGRAM ": %s can't be written: %s\n", options->output, strerror(errno));
        return LAP_TOOL_FAILED;
    }
    code = lap_sandboxed_work(PROGRAM, LAP_SANDBOX_WISH_AUTO, work, options);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_UNSUPPORTED && code != LAP_TOOL_INCOMPLETE)
        lap_tool_remove_output(options->fd, options->output);
    close(options->fd);
    return code;
}

/* Returns -1, or an exit status after a message, which may be the replay's. */
static int play(struct options *options)
{
    const uint64_t bytes = options->size ? options->size : options->output ? 0 : SHOWN;
    const char *words[20] = {"lapilli-replay", "--quiet",      "--present", "headless",
                             "--after",        options->after, "--buffer"};
    const char *const optional[] = {"--gpu",     options->gpu,     "--wait-limit", options->wait_limit,
                                    "--sandbox", options->sandbox, "--progress",   options->progress,
                                    NULL};
    char buffer[96];
    unsigned count = 7;
    int code;

    snprintf(buffer, sizeof buffer, "VkBuffer:%" PRIu64 ",%" PRIu64 ",%" PRIu64, options->index, options->offset,
             bytes);
    words[count++] = buffer;
    for (size_t i = 0; optional[i]; i += 2)
        if (optional[i + 1]) {
            words[count++] = optional[i];
            words[count++] = optional[i + 1];
        }
    words[count++] = "--";
    words[count] = options->path;
    code = lap_replay_child(PROGRAM, words, &options->replayed);
    return code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE ? -1 : code;
}

int main(int argc, char **argv)
{
    struct options options = {.colour = -1, .fd = -1, .replayed = -1};
    int code = parse(argc, argv, &options);

    if (code < 0 && options.after)
        code = play(&options);
    if (code >= 0)
        return code;
    if (options.output)
        return write_file(&options);
    lap_calls_enter_sandbox();
    return work(&options);
}
