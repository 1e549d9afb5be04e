/* SPDX-License-Identifier: MIT */
#include "replayer/options.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/command/parallel.h"
#include "replayer/present/window_system.h"

#define DEFAULT_AHEAD_BYTES ((uint64_t)32 << 20) /* larger windows keep allocating fresh memory */
#define MAX_NUMBER          UINT64_C(1000000000)

enum id {
    OPTION_VERIFY,
    OPTION_LISTEN,
    OPTION_TOKEN_FILE,
    OPTION_MISMATCH_DIR,
    OPTION_TOLERANCE,
    OPTION_IGNORE_CHECKS,
    OPTION_DUMP_CHECKS,
    OPTION_SCREENSHOT,
    OPTION_SCREENSHOT_DIR,
    OPTION_PRESENT,
    OPTION_WINDOW_SYSTEM,
    OPTION_GPU,
    OPTION_LIST_GPUS,
    OPTION_CHECK,
    OPTION_JSON,
    OPTION_LAST_FRAME,
    OPTION_STOP_AT,
    OPTION_READ,
    OPTION_READ_TO,
    OPTION_PICTURES,
    OPTION_AFTER,
    OPTION_PICTURE_LIST,
    OPTION_TARGETS,
    OPTION_RANGE,
    OPTION_CHANNELS,
    OPTION_RAW,
    OPTION_WAIT,
    OPTION_LIST_OBJECTS,
    OPTION_SKIP,
    OPTION_ONLY,
    OPTION_AT_MOST_DRAWS,
    OPTION_WIREFRAME,
    OPTION_NULL_FRAGMENT,
    OPTION_TINY_VIEWPORT,
    OPTION_REPLACE_SHADER,
    OPTION_RESOURCES,
    OPTION_THREADS,
    OPTION_MEASURE,
    OPTION_ADDRESSES,
    OPTION_NEW_MEMORY,
    OPTION_FRAMES,
    OPTION_WARM_UP,
    OPTION_PRELOAD,
    OPTION_AHEAD,
    OPTION_WAIT_LIMIT,
    OPTION_BLACKHOLE,
    OPTION_SANDBOX,
    OPTION_VALIDATE,
    OPTION_VALIDATE_SHADERS,
    OPTION_STRICT,
    OPTION_FORCE,
    OPTION_PROGRESS,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const struct {
    /* value: [=X] is optional and follows =; [X] may also be the next word if that ends in .json. */
    const char *name, *value, *help;
} options_table[OPTION_COUNT] = {
    [OPTION_VERIFY] = {"--verify", NULL, "compare with the hashes that capture --verify recorded"},
    [OPTION_LISTEN] = {"--listen", "ADDRESS",
                       "instead of FILE: receive the trace of a program, then play it (unix:PATH, tcp://HOST:PORT)"},
    [OPTION_TOKEN_FILE] = {"--token-file", "FILE",
                           "with --listen: only from a program with the same token; needed for other machines"},
    [OPTION_MISMATCH_DIR] = {"--mismatch-dir", "DIR",
                             "with --verify: write the first image that differs as PNG; created if missing"},
    [OPTION_TOLERANCE] =
        {"--tolerance", "N",
         "with --verify: texels may be N steps of their format away from those of capture --keep-bytes"},
    [OPTION_IGNORE_CHECKS] = {"--ignore-checks", "FILE",
                              "with --verify: leave out the checks in it (lapilli compare-checks)"},
    [OPTION_DUMP_CHECKS] = {"--dump-checks", "DIR",
                            "with --verify: write all compared bytes: checks.bin with its index checks.ndjson"},
    [OPTION_SCREENSHOT] = {"--screenshot", "FRAMES", "write presented images as PNG: 1,50-60 (frames count from 1)"},
    [OPTION_SCREENSHOT_DIR] = {"--screenshot-dir", "DIR",
                               "where screenshots go; created if missing (default: the current folder)"},
    [OPTION_PRESENT] = {"--present", "HOW",
                        "window, headless (draw, show nothing) or off; default: a window if there is a display"},
    [OPTION_WINDOW_SYSTEM] =
        {"--window-system", "NAME",
         "show a window, on wayland, xcb or a headless-surface of the driver; default: the first that answers"},
    [OPTION_GPU] = {"--gpu", "GPU", "the GPU to use: its number, a part of its name, or its UUID"},
    [OPTION_LIST_GPUS] = {"--list-gpus", NULL, "show the GPUs of this machine"},
    [OPTION_CHECK] = {"--check", NULL, "play nothing: predict a replay on this machine (lapilli check)"},
    [OPTION_JSON] =
        {"--json", NULL,
         "with --check or --list-gpus: one JSON object; with --validate or --pictures: a JSON line for each "
         "message or picture"},
    [OPTION_LAST_FRAME] = {"--last-frame", "N", "stop after this frame"},
    [OPTION_STOP_AT] = {"--stop-at", "PACKET", "stop behind this packet, by its number (lapilli print)"},
    [OPTION_READ] = {"--read", "LIST", "with --stop-at: read what is in the objects of this list then (docs/cli.md)"},
    [OPTION_READ_TO] = {"--read-to", "FILE", "with --read: where that goes"},
    [OPTION_PICTURES] = {"--pictures", "DIR",
                         "write images as they are where the replay ends as PNG (lapilli image); created if missing"},
    [OPTION_AFTER] = {"--after", "POSITION", "with --pictures: the attachments behind this command"},
    [OPTION_PICTURE_LIST] = {"--picture-list", "LIST", "with --pictures: the images of this list (docs/cli.md)"},
    [OPTION_TARGETS] = {"--targets", "NAMES", "with --pictures: only these, separated by commas: color0,depth"},
    [OPTION_RANGE] = {"--range", "A,B", "with --pictures: A is black and B is white; default: the range of the values"},
    [OPTION_CHANNELS] = {"--channels", "WHICH", "with --pictures: rgba, or one of r, g, b, a in grey"},
    [OPTION_RAW] =
        {"--raw", "[=also]",
         "with --pictures: the bytes of the texels instead, as copies to buffers have them; also: besides the PNG"},
    [OPTION_WAIT] = {"--wait", "FRAME",
                     "play what is in front of this frame, then wait until stdin says how to go on (docs/cli.md)"},
    [OPTION_LIST_OBJECTS] = {"--list-objects", NULL, "print the objects that live where the replay ends"},
    [OPTION_SKIP] = {"--skip", "P,…",
                     "leave out draws, dispatches and transfers, by their positions; also all in a pass"},
    [OPTION_ONLY] = {"--only", "P,…", "leave out all draws but these"},
    [OPTION_AT_MOST_DRAWS] = {"--at-most-draws", "N", "leave out all draws behind the first N of the trace"},
    [OPTION_WIREFRAME] = {"--wireframe", NULL, "draw the edges of triangles"},
    [OPTION_NULL_FRAGMENT] = {"--null-fragment", NULL, "fragment shaders do nothing but write one colour"},
    [OPTION_TINY_VIEWPORT] = {"--tiny-viewport", NULL, "viewports and scissors are one pixel"},
    [OPTION_REPLACE_SHADER] = {"--replace-shader", "HASH=FILE",
                               "SPIR-V or GLSL for the shader whose code lapilli print shows with this hash"},
    [OPTION_RESOURCES] = {"--resources", "FROM",
                          "of a replay program: the folder with the resources that it lacks, or fd:N, a socket "
                          "(docs/vm.md)"},
    [OPTION_THREADS] = {"--threads", "N|all",
                        "how many threads play command buffers; default: all processors if the program had several"},
    [OPTION_MEASURE] = {"--measure", "[FILE.json]",
                        "report memory and time of the replay: on stdout, or as JSON in a file"},
    [OPTION_ADDRESSES] = {"--addresses", "HOW",
                          "device addresses: auto (keep them on the recorded driver; the default) or translate"},
    [OPTION_NEW_MEMORY] = {"--new-memory", "HOW",
                           "unwritten bytes of new objects: zero (the default) or leave (as allocated)"},
    [OPTION_FRAMES] = {"--frames", "A-B", "with --measure: measure frames A to B (A-: to the end); stop after them"},
    [OPTION_WARM_UP] = {"--warm-up", "N", "with --measure: without the first N of them"},
    [OPTION_PRELOAD] = {"--preload", NULL,
                        "read and unpack the whole trace, or half of memory of it, before the first frame"},
    [OPTION_AHEAD] = {"--ahead", "MIB", "read and unpack so far ahead on a thread of its own (default: 32; 0: don't)"},
    [OPTION_WAIT_LIMIT] = {"--wait-limit", "SECONDS",
                           "end when a wait for the device takes longer (default: 60; an hour where the "
                           "driver computes on the CPU)"},
    [OPTION_BLACKHOLE] = {"--blackhole", NULL,
                          "submit no commands, only waits and signals, to see the host's part; shows nothing"},
    [OPTION_SANDBOX] = {"--sandbox", "HOW",
                        "off; on: end without one; default: as far as the kernel can (SECURITY.md)"},
    [OPTION_VALIDATE] = {"--validate", "[=gpu,sync]",
                         "play under the Khronos validation layer, and place its messages at the commands of the "
                         "trace; gpu: also check shaders while they run; sync: also find hazards"},
    [OPTION_VALIDATE_SHADERS] = {"--validate-shaders", NULL,
                                 "check the code of shaders before the driver gets it, and end where it is invalid"},
    [OPTION_STRICT] = {"--strict", NULL,
                       "end at an invalid call (a null handle, a destroyed object); default: leave it out"},
    [OPTION_FORCE] = {"--force", NULL, "go on without features and extensions that the GPU lacks"},
    [OPTION_PROGRESS] = {"--progress", "FD", "write how far the replay is, as lines of JSON, to this open descriptor"},
    [OPTION_QUIET] = {"--quiet", NULL, "print only errors and results"},
    [OPTION_HELP] = {"--help", NULL, "show this"},
    [OPTION_VERSION] = {"--version", NULL, "show the version"},
};

void replay_options_help(void)
{
    puts("Usage: lapilli-replay [options] FILE\n       lapilli-replay [options] --listen ADDRESS\n\n"
         "Plays a trace, or a replay program, on a GPU of this machine.\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s%s%s", options_table[i].name,
                 options_table[i].value && options_table[i].value[1] != '=' ? " " : "",
                 options_table[i].value ? options_table[i].value : "");
        printf("  %-22s %s\n", left, options_table[i].help);
    }
    puts(
        "\nExit status: 0 all is well; 1 replay failed, or --verify found differences or nothing to compare, or "
        "--validate\nfound errors; 2 wrong usage; 3 no readable trace; 4 the trace is incomplete (its readable part "
        "was "
        "played);\n"
        "5 this machine can't play it, or lacks the layer of --validate; 6 with --wait: what is asked for changes what "
        "was\nplayed already, so a replay from the beginning has to do it.");
}

void replay_options_check_help(void)
{
    puts("usage: lapilli check [--json] [--gpu GPU] FILE\n"
         "Predicts a replay of the trace on a GPU of this machine, and plays nothing.\n\n"
         "  --json            one JSON object\n"
         "  --gpu GPU         the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
         "  --present HOW     as in a replay: it decides which extensions for windows are wanted\n"
         "  --window-system NAME  as in a replay\n"
         "  --last-frame N    only up to this frame\n"
         "  --addresses HOW   as in a replay\n"
         "  --sandbox HOW     as in a replay\n"
         "  --force           as a replay with --force: leave out missing features\n"
         "  --help            this text\n\n"
         "Each requirement of the trace that the GPU lacks is\n"
         "  mapped    the replay device has something that does the same\n"
         "  dropped   the replay does without it\n"
         "  ignored   the driver gets it as recorded: most drivers accept it\n"
         "  may fail  the same, but the driver need not accept it\n"
         "  refused   the replay ends there\n\n"
         "It reports damage at its position, and does not read the contents of buffers and images.\n\n"
         "Exit status: 0 nothing is refused (some of it may fail); 1 it can't be replayed; 2 wrong usage; 3 no "
         "readable trace.");
}

static enum lap_status parse_present(const char *text, struct replay_options *out)
{
    static const char *const names[] = {"auto", "window", "headless", "off"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0) {
            out->present = (enum replay_present)i;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "--present wants window, headless or off, not \"%s\"", text);
}

/* NULL, "gpu", "sync", or both with a comma. */
static enum lap_status parse_validation(const char *text, struct replay_options *out)
{
    out->validate = true;
    for (const char *at = text; at;) {
        size_t length = strcspn(at, ",");
        if (length == 3 && strncmp(at, "gpu", length) == 0)
            out->validate_gpu = true;
        else if (length == 4 && strncmp(at, "sync", length) == 0)
            out->validate_sync = true;
        else
            return lap_fail(LAP_ERROR_ARGUMENT, "--validate takes =gpu, =sync or =gpu,sync, not \"%s\"", text);
        at = at[length] ? at + length + 1 : NULL;
    }
    return LAP_OK;
}

static enum lap_status check_validation(const struct replay_options *options, enum replay_action action)
{
    if (options->validate && action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "--validate is for a replay: --check plays nothing that could be validated");
    if (options->validate && options->threads > 1)
        return lap_fail(LAP_ERROR_ARGUMENT, "--validate plays with one thread: each message is placed at its command");
    if (options->validate && options->blackhole)
        return lap_fail(LAP_ERROR_ARGUMENT, "with --blackhole nothing is submitted that could be validated");
    if (options->validate && options->json && (options->verify || (options->measure && !options->measure_file)))
        return lap_fail(LAP_ERROR_ARGUMENT, "--validate --json has stdout to itself: use --verify without --json, and "
                                            "--measure with a file");
    return LAP_OK;
}

static enum lap_status parse_window_system(const char *text, struct replay_options *out)
{
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++)
        if (strcmp(replay_window_systems[i]->name, text) == 0) {
            out->window_system = replay_window_systems[i];
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "--window-system wants wayland, xcb or headless-surface, not \"%s\"", text);
}

static enum lap_status parse_threads(const char *text, struct replay_options *out)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);

    if (strcmp(text, "all") == 0) {
        count = replay_processors();
    } else if (*text < '1' || *text > '9' || *end || count > REPLAY_THREADS_MAX) {
        return lap_fail(LAP_ERROR_ARGUMENT, "--threads wants all or a number from 1 to %u, not \"%s\"",
                        REPLAY_THREADS_MAX, text);
    }
    out->threads = (unsigned)count;
    return LAP_OK;
}

static enum lap_status parse_addresses(const char *text, struct replay_options *out)
{
    out->translate_addresses = strcmp(text, "translate") == 0;
    if (out->translate_addresses || strcmp(text, "auto") == 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--addresses wants auto or translate, not \"%s\"", text);
}

static enum lap_status parse_new_memory(const char *text, struct replay_options *out)
{
    out->leave_new_memory = strcmp(text, "leave") == 0;
    if (out->leave_new_memory || strcmp(text, "zero") == 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--new-memory wants zero or leave, not \"%s\"", text);
}

static enum lap_status parse_number(const char *option, const char *text, uint64_t *out)
{
    uint64_t number = 0;

    if (strcmp(text, "0") == 0 || (lap_frame_parse(&text, &number) && !*text && number <= MAX_NUMBER)) {
        *out = number;
        return LAP_OK;
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a number up to %" PRIu64, option, MAX_NUMBER);
}

static enum lap_status parse_progress(const char *text, struct replay_options *out)
{
    uint64_t fd = 0;
    enum lap_status status = parse_number("--progress", text, &fd);
    int flags = status == LAP_OK && fd > STDERR_FILENO ? fcntl((int)fd, F_GETFL) : -1;

    if (status == LAP_OK && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH))
        return lap_fail(LAP_ERROR_ARGUMENT, "--progress wants a descriptor from 3 on that is open for writing, not %s",
                        text);
    out->progress_fd = (int)fd;
    return status;
}

static enum lap_status parse_tolerance(const char *text, struct replay_options *out)
{
    uint64_t steps = 0;
    enum lap_status status = parse_number("--tolerance", text, &steps);

    out->has_tolerance = true;
    out->tolerance = steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX;
    return status;
}

/* "A", "A-" or "A-B": a range of frames. */
static enum lap_status parse_frames(const char *text, struct replay_options *out)
{
    bool good = lap_frame_parse(&text, &out->first_measured);

    if (good && !*text)
        out->last_frame = out->first_measured;
    else if (good && strcmp(text, "-") != 0)
        good = *text++ == '-' && lap_frame_parse(&text, &out->last_frame) && !*text &&
               out->last_frame >= out->first_measured;
    return good ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "--frames wants A-B, A- or A, from 1 on");
}

static enum lap_status parse_range(const char *text, struct lap_picture_options *out)
{
    if (lap_picture_parse_range(text, out))
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--range wants two different numbers A,B, not \"%s\"", text);
}

static enum lap_status parse_channels(const char *text, struct lap_picture_options *out)
{
    out->channels = text;
    return lap_picture_has_channels(text)
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "--channels wants rgba, r, g, b or a, not \"%s\"", text);
}

static enum lap_status parse_raw(const char *text, struct replay_pictures *out)
{
    out->raw = true;
    out->also_png = text != NULL;
    return !text || strcmp(text, "also") == 0 ? LAP_OK
                                              : lap_fail(LAP_ERROR_ARGUMENT, "--raw takes =also, not \"%s\"", text);
}

static enum lap_status check_pictures(const struct replay_options *options, enum replay_action action)
{
    const struct replay_pictures *pictures = &options->pictures;

    if (!pictures->folder && (pictures->after.count || pictures->list_file || pictures->names || pictures->raw ||
                              pictures->how.has_range || pictures->how.channels))
        return lap_fail(LAP_ERROR_ARGUMENT, "--after, --picture-list, --targets, --range, --channels and --raw are for "
                                            "--pictures");
    if (options->wait && (pictures->list_file || options->stop_at || options->listen || action == REPLAY_ACTION_CHECK ||
                          (options->last_frame && (pictures->folder || options->last_frame < options->wait))))
        return lap_fail(LAP_ERROR_ARGUMENT, "--wait is for a replay of a file that goes on behind that frame, without "
                                            "--picture-list and --stop-at");
    if (!pictures->folder)
        return LAP_OK;
    if (!pictures->after.count == !pictures->list_file && !options->wait)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pictures wants --after, or else --picture-list");
    if (pictures->raw && !pictures->also_png && (pictures->how.has_range || pictures->how.channels))
        return lap_fail(LAP_ERROR_ARGUMENT, "--raw writes all bytes as they are: without --range and --channels");
    if (options->listen || options->verify || options->blackhole || options->measure || options->read_list ||
        options->list_objects || action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pictures is for a replay of a file, alone");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --pictures or for --validate, not for both");
    return LAP_OK;
}

static enum lap_status apply(enum id id, const char *value, struct replay_options *out, enum replay_action *action)
{
    enum lap_status status;

    switch (id) {
    case OPTION_VERIFY:
        out->verify = true;
        break;
    case OPTION_LISTEN:
        out->listen = value;
        break;
    case OPTION_TOKEN_FILE:
        out->token_file = value;
        break;
    case OPTION_MISMATCH_DIR:
        out->mismatch_dir = value;
        break;
    case OPTION_TOLERANCE:
        return parse_tolerance(value, out);
    case OPTION_IGNORE_CHECKS:
        out->ignored_file = value;
        break;
    case OPTION_DUMP_CHECKS:
        out->dump_dir = value;
        break;
    case OPTION_SCREENSHOT:
        status = lap_frames_parse(value, &out->screenshots);
        return status == LAP_OK ? status : lap_fail_context(status, "--screenshot");
    case OPTION_SCREENSHOT_DIR:
        out->screenshot_dir = value;
        break;
    case OPTION_PRESENT:
        return parse_present(value, out);
    case OPTION_WINDOW_SYSTEM:
        return parse_window_system(value, out);
    case OPTION_GPU:
        out->gpu = value;
        break;
    case OPTION_LIST_GPUS:
        *action = REPLAY_ACTION_LIST_GPUS;
        break;
    case OPTION_LAST_FRAME:
        if (!lap_frame_parse(&value, &out->last_frame) || *value)
            return lap_fail(LAP_ERROR_ARGUMENT, "--last-frame wants a number from 1 on");
        break;
    case OPTION_STOP_AT:
        if (!lap_frame_parse(&value, &out->stop_at) || *value)
            return lap_fail(LAP_ERROR_ARGUMENT, "--stop-at wants a number from 1 on");
        break;
    case OPTION_READ:
        out->read_list = value;
        break;
    case OPTION_READ_TO:
        out->read_to = value;
        break;
    case OPTION_PICTURES:
        out->pictures.folder = value;
        break;
    case OPTION_AFTER:
        status = position_parse(value, &out->pictures.after);
        return status == LAP_OK ? status : lap_fail_context(status, "--after");
    case OPTION_PICTURE_LIST:
        out->pictures.list_file = value;
        break;
    case OPTION_TARGETS:
        out->pictures.names = value;
        break;
    case OPTION_RANGE:
        return parse_range(value, &out->pictures.how);
    case OPTION_CHANNELS:
        return parse_channels(value, &out->pictures.how);
    case OPTION_RAW:
        return parse_raw(value, &out->pictures);
    case OPTION_WAIT:
        if (!lap_frame_parse(&value, &out->wait) || *value)
            return lap_fail(LAP_ERROR_ARGUMENT, "--wait wants a number from 1 on");
        break;
    case OPTION_LIST_OBJECTS:
        out->list_objects = true;
        break;
    case OPTION_SKIP:
        return edit_positions_parse(value, &out->experiments.skip);
    case OPTION_ONLY:
        return edit_positions_parse(value, &out->experiments.only);
    case OPTION_AT_MOST_DRAWS:
        out->experiments.has_most_draws = true;
        return parse_number("--at-most-draws", value, &out->experiments.most_draws);
    case OPTION_WIREFRAME:
        out->experiments.wireframe = true;
        break;
    case OPTION_NULL_FRAGMENT:
        out->experiments.null_fragment = true;
        break;
    case OPTION_TINY_VIEWPORT:
        out->experiments.tiny_viewport = true;
        break;
    case OPTION_REPLACE_SHADER:
        return edit_experiments_parse_shader(value, &out->experiments);
    case OPTION_RESOURCES:
        out->resources = value;
        break;
    case OPTION_THREADS:
        return parse_threads(value, out);
    case OPTION_MEASURE:
        out->measure = true;
        out->measure_file = value;
        break;
    case OPTION_ADDRESSES:
        return parse_addresses(value, out);
    case OPTION_NEW_MEMORY:
        return parse_new_memory(value, out);
    case OPTION_FRAMES:
        return parse_frames(value, out);
    case OPTION_WARM_UP:
        return parse_number("--warm-up", value, &out->warm_up);
    case OPTION_PRELOAD:
        out->preload = true;
        break;
    case OPTION_AHEAD:
        status = parse_number("--ahead", value, &out->ahead_bytes);
        out->ahead_bytes <<= 20;
        return status;
    case OPTION_WAIT_LIMIT:
        status = parse_number("--wait-limit", value, &out->wait_limit_ms);
        if (status == LAP_OK && !out->wait_limit_ms)
            return lap_fail(LAP_ERROR_ARGUMENT, "--wait-limit wants a number of seconds from 1 on");
        out->wait_limit_ms *= 1000;
        return status;
    case OPTION_BLACKHOLE:
        out->blackhole = true;
        break;
    case OPTION_SANDBOX:
        return lap_sandbox_wish_parse(value, &out->sandbox);
    case OPTION_VALIDATE_SHADERS:
        out->validate_shaders = true;
        break;
    case OPTION_VALIDATE:
        return parse_validation(value, out);
    case OPTION_STRICT:
        out->strict = true;
        break;
    case OPTION_FORCE:
        out->force = true;
        break;
    case OPTION_PROGRESS:
        return parse_progress(value, out);
    case OPTION_QUIET:
        out->quiet = true;
        break;
    case OPTION_CHECK:
        if (*action == REPLAY_ACTION_PLAY)
            *action = REPLAY_ACTION_CHECK;
        break;
    case OPTION_JSON:
        out->json = true;
        break;
    case OPTION_HELP:
        *action = *action == REPLAY_ACTION_CHECK ? REPLAY_ACTION_CHECK_HELP : REPLAY_ACTION_HELP;
        break;
    case OPTION_VERSION:
        *action = REPLAY_ACTION_VERSION;
        break;
    case OPTION_COUNT:
        break;
    }
    return LAP_OK;
}

static bool ends_in_json(const char *text)
{
    size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".json") == 0;
}

/* OPTION_COUNT: there is none. */
static enum id find_option(const char *text)
{
    size_t length = strcspn(text, "=");

    for (int i = 0; i < OPTION_COUNT; i++)
        if (strlen(options_table[i].name) == length && strncmp(options_table[i].name, text, length) == 0)
            return (enum id)i;
    return OPTION_COUNT;
}

/* --name VALUE, --name=VALUE or --name. Advances *at past the arguments it consumes. */
static enum lap_status parse_option(int argc, char **argv, int *at, struct replay_options *out,
                                    enum replay_action *action)
{
    const char *text = argv[*at], *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 : NULL;
    enum id id = find_option(text);

    if (id == OPTION_COUNT)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no option %.*s; --help shows all", (int)strcspn(text, "="), text);
    if (options_table[id].value && options_table[id].value[0] == '[') {
        if (!value && options_table[id].value[1] != '=' && *at + 1 < argc && ends_in_json(argv[*at + 1]))
            value = argv[++*at];
    } else if (options_table[id].value && !value) {
        if (*at + 1 >= argc)
            return lap_fail(LAP_ERROR_ARGUMENT, "%s wants %s", options_table[id].name, options_table[id].value);
        value = argv[++*at];
    }
    if (!options_table[id].value && value)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s takes no value", options_table[id].name);
    return apply(id, value, out, action);
}

/* The share of this machine's memory that preloading may use for a larger trace. */
static uint64_t preload_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : DEFAULT_AHEAD_BYTES;
}

static enum lap_status parse(int argc, char **argv, struct replay_options *out, enum replay_action *out_action)
{
    bool only_files = false;

    *out = (struct replay_options){
        .present = REPLAY_PRESENT_AUTO, .screenshot_dir = ".", .measure_fd = -1, .ahead_bytes = DEFAULT_AHEAD_BYTES};
    *out_action = REPLAY_ACTION_PLAY;
    for (int i = 1; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
            enum lap_status status = parse_option(argc, argv, &i, out, out_action);
            if (status != LAP_OK)
                return status;
        } else if (out->file) {
            return lap_fail(LAP_ERROR_ARGUMENT, "one trace at a time: %s and %s", out->file, argv[i]);
        } else {
            out->file = argv[i];
        }
    }
    if (out->window_system && out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_WINDOW;
    if (out->window_system && out->present != REPLAY_PRESENT_WINDOW)
        return lap_fail(LAP_ERROR_ARGUMENT, "--window-system is for --present window");
    if (out->blackhole && (out->verify || out->screenshots.count || out->present == REPLAY_PRESENT_WINDOW))
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "with --blackhole nothing is drawn that could be compared, shown or written");
    if (out->blackhole && out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_HEADLESS;
    if (!out->measure && (out->first_measured || out->warm_up))
        return lap_fail(LAP_ERROR_ARGUMENT, "--frames and --warm-up are for --measure");
    if (out->preload)
        out->ahead_bytes = preload_bytes();
    if (out->json && *out_action == REPLAY_ACTION_PLAY && !out->validate && !out->pictures.folder)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --check, --list-gpus, --validate and --pictures");
    if (out->progress_fd && *out_action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--progress is for a replay");
    if (out->has_tolerance && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--tolerance is for --verify");
    if (out->ignored_file && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--ignore-checks is for --verify");
    if (out->dump_dir && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--dump-checks is for --verify");
    if (!out->read_list != !out->read_to || (out->read_list && !out->stop_at))
        return lap_fail(LAP_ERROR_ARGUMENT, "--stop-at, --read and --read-to belong together");
    if (out->stop_at && (out->blackhole || out->listen || *out_action == REPLAY_ACTION_CHECK))
        return lap_fail(LAP_ERROR_ARGUMENT, "--stop-at is for a replay of a file");
    if (out->pictures.folder && out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_HEADLESS;
    if (check_pictures(out, *out_action) != LAP_OK || check_validation(out, *out_action) != LAP_OK)
        return LAP_ERROR_ARGUMENT;
    if (out->listen && (out->file || *out_action == REPLAY_ACTION_CHECK))
        return lap_fail(LAP_ERROR_ARGUMENT, "--listen is for a replay, and instead of a file");
    if (out->token_file && !out->listen)
        return lap_fail(LAP_ERROR_ARGUMENT, "--token-file is for --listen");
    if ((*out_action == REPLAY_ACTION_PLAY || *out_action == REPLAY_ACTION_CHECK) && !out->file && !out->listen)
        return lap_fail(LAP_ERROR_ARGUMENT, "no trace is named; --help shows the usage");
    return LAP_OK;
}

enum lap_status replay_options_parse(int argc, char **argv, struct replay_options *out, enum replay_action *out_action)
{
    enum lap_status status = parse(argc, argv, out, out_action);

    if (status != LAP_OK)
        replay_options_finish(out);
    return status;
}

static bool may_be_asked_for(enum id id)
{
    return id == OPTION_AFTER || id == OPTION_TARGETS || id == OPTION_RANGE || id == OPTION_CHANNELS ||
           id == OPTION_RAW || id == OPTION_JSON || (id >= OPTION_SKIP && id <= OPTION_TINY_VIEWPORT);
}

enum lap_status replay_options_ask(int argc, char **argv, struct replay_options *options)
{
    enum replay_action action = REPLAY_ACTION_PLAY;

    if (!options->pictures.folder)
        return argc ? lap_fail(LAP_ERROR_ARGUMENT, "a replay without --pictures can't be asked for %s", argv[0])
                    : LAP_OK;
    for (int i = 0; i < argc; i++) {
        enum lap_status status;
        enum id id = argv[i][0] == '-' ? find_option(argv[i]) : OPTION_COUNT;
        if (!may_be_asked_for(id))
            return lap_fail(LAP_ERROR_ARGUMENT, "a replay that waits can't be asked for %s", argv[i]);
        status = parse_option(argc, argv, &i, options, &action);
        if (status != LAP_OK)
            return status;
    }
    if (!options->pictures.after.count)
        return lap_fail(LAP_ERROR_ARGUMENT, "a replay that waits wants --after");
    return check_pictures(options, action);
}

void replay_options_finish(struct replay_options *options)
{
    lap_frames_finish(&options->screenshots);
    edit_experiments_finish(&options->experiments);
}
