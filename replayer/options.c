/* SPDX-License-Identifier: MIT */
#include "replayer/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/parallel.h"
#include "replayer/window_system.h"

#define DEFAULT_AHEAD_BYTES ((uint64_t)32 << 20) /* more would be new memory again and again */
#define MAX_NUMBER          UINT64_C(1000000000)

enum id {
    OPTION_VERIFY,
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
    OPTION_VALIDATE_SHADERS,
    OPTION_VALIDATE_DESCRIPTORS,
    OPTION_STRICT,
    OPTION_FORCE,
    OPTION_QUIET,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const struct {
    const char *name, *value, *help; /* a value in brackets: after =, or as the next word if that ends in .json */
} options_table[OPTION_COUNT] = {
    [OPTION_VERIFY] = {"--verify", NULL, "compare with the hashes that capture --verify recorded"},
    [OPTION_MISMATCH_DIR] = {"--mismatch-dir", "DIR",
                             "with --verify: write the first image that differs as PNG; made if it is not there"},
    [OPTION_TOLERANCE] =
        {"--tolerance", "N",
         "with --verify: texels may be N steps of their format away from those of capture --keep-bytes"},
    [OPTION_IGNORE_CHECKS] = {"--ignore-checks", "FILE",
                              "with --verify: leave out the checks that are in it (lapilli compare-checks)"},
    [OPTION_DUMP_CHECKS] = {"--dump-checks", "DIR",
                            "with --verify: write all that is compared: checks.bin and, what it is, checks.ndjson"},
    [OPTION_SCREENSHOT] = {"--screenshot", "FRAMES", "write presented images as PNG: 1,50-60 (frames count from 1)"},
    [OPTION_SCREENSHOT_DIR] = {"--screenshot-dir", "DIR",
                               "where screenshots go; made if it is not there (default: the current folder)"},
    [OPTION_PRESENT] = {"--present", "HOW",
                        "window, headless (draw, show nothing) or off; default: a window if there is a display"},
    [OPTION_WINDOW_SYSTEM] =
        {"--window-system", "NAME",
         "show a window, on wayland, xcb or a headless-surface of the driver; default: what answers"},
    [OPTION_GPU] = {"--gpu", "GPU", "the GPU to use: its number, a part of its name, or its UUID"},
    [OPTION_LIST_GPUS] = {"--list-gpus", NULL, "show the GPUs of this machine"},
    [OPTION_CHECK] = {"--check", NULL, "play nothing: say what a replay would do here (lapilli check)"},
    [OPTION_JSON] = {"--json", NULL, "with --check: the report as one JSON object"},
    [OPTION_LAST_FRAME] = {"--last-frame", "N", "stop after this frame"},
    [OPTION_THREADS] = {"--threads", "N|all",
                        "how many threads play command buffers; default: all processors if the program had several"},
    [OPTION_MEASURE] = {"--measure", "[FILE.json]",
                        "say what memory and time the replay took: on stdout, or as JSON in a file"},
    [OPTION_ADDRESSES] = {"--addresses", "HOW",
                          "device addresses: auto (keep them on the recorded driver; the default) or translate"},
    [OPTION_NEW_MEMORY] = {"--new-memory", "HOW",
                           "what new objects hold that nobody wrote: zero (the default) or leave (as it comes)"},
    [OPTION_FRAMES] = {"--frames", "A-B", "with --measure: what frames A to B take (A-: to the end); stop after them"},
    [OPTION_WARM_UP] = {"--warm-up", "N", "with --measure: less the first N of them"},
    [OPTION_PRELOAD] = {"--preload", NULL,
                        "read and unpack the whole trace, or half of memory of it, before the first frame"},
    [OPTION_AHEAD] = {"--ahead", "MIB", "read and unpack so far ahead on a thread of its own (default: 32; 0: don't)"},
    [OPTION_WAIT_LIMIT] = {"--wait-limit", "SECONDS",
                           "end when the device takes longer for what is waited for (default: 60; an hour where the "
                           "driver computes on the CPU)"},
    [OPTION_BLACKHOLE] = {"--blackhole", NULL,
                          "submit no commands, only waits and signals: what is left is the host's part; shows nothing"},
    [OPTION_SANDBOX] = {"--sandbox", "HOW",
                        "off; on: refuse to go on without; default: what the kernel has (SECURITY.md)"},
    [OPTION_VALIDATE_SHADERS] = {"--validate-shaders", NULL,
                                 "check the code of shaders before the driver gets it, and end where it is not valid"},
    [OPTION_VALIDATE_DESCRIPTORS] = {"--validate-descriptors", "WHAT",
                                     "used: end before the driver gets work whose shaders use descriptors of what is "
                                     "gone; bound: of any in sets that are bound, which programs may have"},
    [OPTION_STRICT] = {"--strict", NULL,
                       "end at a call that is not valid (a null, an object that is gone); default: leave it out"},
    [OPTION_FORCE] = {"--force", NULL, "go on without features and extensions that the GPU lacks"},
    [OPTION_QUIET] = {"--quiet", NULL, "say nothing but errors and results"},
    [OPTION_HELP] = {"--help", NULL, "show this"},
    [OPTION_VERSION] = {"--version", NULL, "show the version"},
};

void replay_options_help(void)
{
    puts("Usage: lapilli-replay [options] FILE\n\nPlays a trace on a GPU of this machine.\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[40];
        snprintf(left, sizeof left, "%s%s%s", options_table[i].name, options_table[i].value ? " " : "",
                 options_table[i].value ? options_table[i].value : "");
        printf("  %-22s %s\n", left, options_table[i].help);
    }
    puts("\nExit status: 0 all is well; 1 replay failed, or --verify found differences or nothing to compare; 2 wrong "
         "usage;\n"
         "3 no readable trace; 4 the trace is incomplete (what there is was played); 5 this machine can't play it.");
}

void replay_options_check_help(void)
{
    puts("usage: lapilli check [--json] [--gpu GPU] FILE\n"
         "Says what a replay of the trace would do on a GPU of this machine, and plays nothing.\n\n"
         "  --json            one JSON object\n"
         "  --gpu GPU         the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
         "  --present HOW     as in a replay: it decides which extensions for windows are wanted\n"
         "  --window-system NAME  as in a replay\n"
         "  --last-frame N    only what is needed up to this frame\n"
         "  --addresses HOW   as in a replay\n"
         "  --sandbox HOW     as in a replay\n"
         "  --force           as a replay with --force: what is lacking is left out\n"
         "  --help            this text\n\n"
         "Each thing that the trace needs and the GPU does not have as it was is\n"
         "  mapped    to something here that does the same\n"
         "  dropped   because the replay does without it\n"
         "  ignored   the replay hands it to the driver as recorded: drivers mostly take it\n"
         "  may fail  the same, but it can't work unless the driver does more than it says\n"
         "  refused   the replay ends there\n\n"
         "Damage is told where it is met; the contents of buffers and images are not read.\n\n"
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

static enum lap_status parse_validation(const char *text, struct replay_options *out)
{
    if (strcmp(text, "used") != 0 && strcmp(text, "bound") != 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "--validate-descriptors wants used or bound, not \"%s\"", text);
    out->validate_descriptors = text[0] == 'u' ? REPLAY_VALIDATE_USED : REPLAY_VALIDATE_BOUND;
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

static enum lap_status parse_tolerance(const char *text, struct replay_options *out)
{
    uint64_t steps = 0;
    enum lap_status status = parse_number("--tolerance", text, &steps);

    out->has_tolerance = true;
    out->tolerance = steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX;
    return status;
}

/* "A", "A-" or "A-B". */
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

static enum lap_status apply(enum id id, const char *value, struct replay_options *out, enum replay_action *action)
{
    enum lap_status status;

    switch (id) {
    case OPTION_VERIFY:
        out->verify = true;
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
    case OPTION_VALIDATE_DESCRIPTORS:
        return parse_validation(value, out);
    case OPTION_STRICT:
        out->strict = true;
        break;
    case OPTION_FORCE:
        out->force = true;
        break;
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

/* --name VALUE, --name=VALUE or --name; *at moves over what was taken. */
static enum lap_status parse_option(int argc, char **argv, int *at, struct replay_options *out,
                                    enum replay_action *action)
{
    const char *text = argv[*at], *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);

    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *value = equals ? equals + 1 : NULL;
        if (strlen(options_table[i].name) != length || strncmp(options_table[i].name, text, length) != 0)
            continue;
        if (options_table[i].value && options_table[i].value[0] == '[') {
            if (!value && *at + 1 < argc && ends_in_json(argv[*at + 1]))
                value = argv[++*at];
        } else if (options_table[i].value && !value) {
            if (*at + 1 >= argc)
                return lap_fail(LAP_ERROR_ARGUMENT, "%s wants %s", options_table[i].name, options_table[i].value);
            value = argv[++*at];
        }
        if (!options_table[i].value && value)
            return lap_fail(LAP_ERROR_ARGUMENT, "%s takes no value", options_table[i].name);
        return apply((enum id)i, value, out, action);
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "there is no option %.*s; --help shows all", (int)length, text);
}

/* What a replay of a trace that is larger may take of the machine's memory. */
static uint64_t preload_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : DEFAULT_AHEAD_BYTES;
}

enum lap_status replay_options_parse(int argc, char **argv, struct replay_options *out, enum replay_action *out_action)
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
    if (out->json && *out_action == REPLAY_ACTION_PLAY)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --check");
    if (out->has_tolerance && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--tolerance is for --verify");
    if (out->ignored_file && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--ignore-checks is for --verify");
    if (out->dump_dir && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--dump-checks is for --verify");
    if ((*out_action == REPLAY_ACTION_PLAY || *out_action == REPLAY_ACTION_CHECK) && !out->file)
        return lap_fail(LAP_ERROR_ARGUMENT, "no trace is named; --help shows the usage");
    return LAP_OK;
}

void replay_options_finish(struct replay_options *options)
{
    lap_frames_finish(&options->screenshots);
}
