/* SPDX-License-Identifier: MIT */
/*
 * lapilli-capture: runs a program with the layer, finishes traces that the program could not end, and lists the traces.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/frames.h"
#include "base/key.h"
#include "base/pattern.h"
#include "base/version.h"
#include "tools/common/arguments.h"
#include "tools/common/output_name.h"
#include "tools/common/tool.h"
#include "tools/record/control_server.h"
#include "tools/record/finish_recording.h"
#include "tools/record/launch.h"
#include "tools/record/report.h"
#include "trace/send/address.h"
#include "trace/send/greeting.h"

#define PROGRAM "lapilli-capture"

static const char help[] =
    "usage: lapilli capture [options] [--] PROGRAM [ARGUMENTS]\n"
    "Runs a program and records its Vulkan calls, one trace for each process that uses Vulkan.\n"
    "\n"
    "  -o, --output FILE        the trace; " LAP_PATTERN_HELP ".\n"
    "                           Default: PROGRAM.lapilli. Nothing is overwritten: a number is added instead.\n"
    "                           Or an address, unix:PATH, unix:@NAME or tcp://HOST:PORT, where lapilli receive\n"
    "                           writes the trace\n"
    "      --no-wait            with an address: if nobody receives, the program runs and is not recorded. Otherwise\n"
    "                           it waits before its first Vulkan call\n"
    "      --control ADDRESS    take the commands of lapilli control there, as long as the program runs:\n"
    "                           unix:PATH, unix:@NAME, tcp://HOST:PORT (PORT 0: any). Streamed traces need it not\n"
    "      --token-file FILE    with an address: the token of lapilli receive; needed for other machines. With\n"
    "                           --control: of lapilli control\n"
    "      --frames LIST        record these frames, each range into a trace of its own: 500-510,900. Counted from 1;\n"
    "                           frames of programs without windows are submits, or end where the program says so\n"
    "                           (VK_EXT_frame_boundary)\n"
    "      --submits LIST       the same by submits\n"
    "      --seconds LIST       the same by seconds since the program's first Vulkan call: 60-62.5\n"
    "      --trigger HOW        record frames when the program gets SIGUSR2 (signal),\n"
    "                           when the file PATH appears (file:PATH; it is removed), when F11 is pressed in a "
    "window\n"
    "                           of the program on X or Wayland (key; another one: key:NAME, " LAP_KEY_HELP "),\n"
    "                           or from lapBeginCapture to lapEndCapture in the program (call; include/lapilli.h).\n"
    "                           With --control, or an address: when lapilli control says so (control)\n"
    "      --trigger-frames N   how many frames --trigger records (default: 1)\n"
    "      --keep-last LENGTH   keep the end of the run: 10s, 300f (frames), 64MiB. Two recordings in turn; when the\n"
    "                           newer one has this length, the older one is deleted. With --trigger signal, key or\n"
    "                           file:PATH, or by lapilli control, both are kept then, and the next ones begin\n"
    "      --exit-after         end the program with SIGTERM when the last part is recorded\n"
    "      --verify             store hashes of presented images and of device writes to memory that\n"
    "                           the program can map, for lapilli replay --verify\n"
    "      --verify=all         and of all other device writes, read back after each submit: slow\n"
    "      --keep-bytes         with --verify: store checked texels, too, for lapilli replay --tolerance\n"
    "      --screenshot N,M-L   write these frames (counted from 1) as frame_N.png\n"
    "      --screenshot-dir DIR\n"
    "                           into this folder, created if missing (default: the current one)\n"
    "      --compression HOW    lz4 (default), lz4hc (smaller, slower) or none\n"
    "      --memory-types HOW   virtual (default) or real: show the program the device's own memory types\n"
    "      --write-watch HOW    auto (default), pagemap, mprotect or compare: how to find host writes\n"
    "      --backing HOW        auto (default), host or off: whose pages back host-visible memory\n"
    "      --log LEVEL          error, warning (default), info or debug\n"
    "      --must-record        exit with 3 if nothing was recorded, or less than was asked for, and say why\n"
    "  -q, --quiet              do not name the traces at the end\n"
    "      --help               this text\n"
    "\n"
    "If a process crashes or is killed, its trace is finished: it ends with the last recorded call, and says how the\n"
    "process ended. Traces of processes that outlive PROGRAM are left alone (lapilli repair finishes them).\n"
    "\n"
    "The exit status is that of the program, 128 + n when signal n ended it, 127 when it could not be started;\n"
    "2 when the options are wrong or the trace could not be written where it should be. With --must-record: 3 when\n"
    "nothing was recorded, or the recording failed or was cut short, whatever the program's status.\n";

struct options {
    const char *output, *screenshots, *screenshot_dir, *compression, *memory_types, *write_watch, *backing, *log;
    const char *verify; /* NULL: off */
    const char *frames, *submits, *seconds, *trigger, *trigger_frames, *keep_last;
    bool keep_bytes, quiet, no_wait, exit_after, must_record;
    const char *control, *token_file;
    char **argv;
};

/* The address of a receiver, or for commands. The layer checks this too, but then the program runs on. */
static bool check_address(const struct options *options, const char *text)
{
    struct lap_address address;
    struct lap_token token = {.count = 0};
    enum lap_status status = lap_address_parse(text, &address);

    if (status == LAP_OK && options->token_file)
        status = lap_token_read(options->token_file, &token);
    if (status == LAP_OK && !address.local && !token.count && !getenv("LAPILLI_TOKEN_FILE"))
        status = lap_fail(LAP_ERROR_ARGUMENT, "other machines need --token-file");
    explicit_bzero(&token, sizeof token);
    if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    return status == LAP_OK;
}

static bool is_streamed(const struct options *options)
{
    return options->output && lap_address_is(options->output);
}

/* Whether the program takes commands. */
static bool is_commanded(const struct options *options)
{
    const char *control = getenv("LAPILLI_CONTROL");
    return is_streamed(options) || options->control || (control && *control);
}

static bool check_output(const struct options *options)
{
    const char *pattern = options->output, *fault;

    if (options->control && !check_address(options, options->control))
        return false;
    if (is_streamed(options))
        return check_address(options, pattern);
    if (options->no_wait || (options->token_file && !options->control)) {
        fprintf(stderr, PROGRAM ": --no-wait and --token-file are for traces that are streamed: -o ADDRESS; "
                                "--token-file is for --control, too\n");
        return false;
    }
    fault = pattern ? lap_pattern_fault(pattern) : NULL;
    if (fault)
        fprintf(stderr,
                PROGRAM ": --output can't be '%s': there is no '%.2s'; "
                        "%s.\n",
                pattern, fault, LAP_PATTERN_HELP);
    return !fault;
}

/* The layer checks these too, but then the program runs on. */
static bool is_list(const char *option, const char *text, enum lap_status (*parse)(const char *, struct lap_frames *))
{
    struct lap_frames list = {NULL, 0};
    enum lap_status status = text ? parse(text, &list) : LAP_OK;

    lap_frames_finish(&list);
    if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": --%s: %s\n", option, lap_error_message());
    return status == LAP_OK;
}

/* Whether the trigger begins a part whose end --trigger-frames gives. */
static bool is_moment(const char *trigger)
{
    return strcmp(trigger, "signal") == 0 || lap_key_trigger(trigger) ||
           (strncmp(trigger, "file:", 5) == 0 && trigger[5]);
}

static bool check_keep_last(const struct options *options)
{
    struct lap_length length;

    if (!options->keep_last)
        return true;
    if (lap_length_parse(options->keep_last, &length) != LAP_OK) {
        fprintf(stderr, PROGRAM ": --keep-last: %s\n", lap_error_message());
        return false;
    }
    if (options->frames || options->submits || options->seconds || options->exit_after || options->trigger_frames ||
        (options->trigger && strcmp(options->trigger, "call") == 0)) {
        fprintf(stderr, PROGRAM ": --keep-last records all the time: besides it there can be --trigger signal, key, "
                                "file:PATH or control alone, not what else asks for parts\n");
        return false;
    }
    return true;
}

static bool check_parts(const struct options *options)
{
    const char *trigger = options->trigger, *number = options->trigger_frames;
    uint64_t frames;

    if (trigger && !is_moment(trigger) && strcmp(trigger, "call") != 0 && strcmp(trigger, "control") != 0) {
        fprintf(stderr,
                PROGRAM ": --trigger can't be '%s': it is signal, call, control, file:PATH, key or key:NAME, and NAME "
                        "is " LAP_KEY_HELP "\n",
                trigger);
        return false;
    }
    if (trigger && strcmp(trigger, "control") == 0 && !is_commanded(options)) {
        fprintf(stderr,
                PROGRAM ": --trigger control needs --control ADDRESS, or a trace that is streamed: -o ADDRESS\n");
        return false;
    }
    if (number && (!lap_frame_parse(&number, &frames) || *number)) {
        fprintf(stderr, PROGRAM ": --trigger-frames takes a number from 1 on, not '%s'\n", options->trigger_frames);
        return false;
    }
    if (number && (!trigger || !is_moment(trigger))) {
        fprintf(stderr, PROGRAM ": --trigger-frames is for --trigger signal, key or file:PATH\n");
        return false;
    }
    if (options->exit_after && !options->frames && !options->submits && !options->seconds && !trigger) {
        fprintf(stderr, PROGRAM ": --exit-after is for parts: --frames, --submits, --seconds or --trigger\n");
        return false;
    }
    return check_keep_last(options) && is_list("frames", options->frames, lap_frames_parse) &&
           is_list("submits", options->submits, lap_frames_parse) &&
           is_list("seconds", options->seconds, lap_seconds_parse);
}

static bool check_values(const struct options *options)
{
    return is_list("screenshot", options->screenshots, lap_frames_parse) && check_parts(options) &&
           check_output(options);
}

static const struct lap_verb verb = {PROGRAM, help};

static enum lap_status take_verify(const struct lap_argument *row, const char *value)
{
    return lap_take_choice(row, value ? value : "1");
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {
        LAP_OUTPUT(&options->output),
        {"verify", &options->verify, take_verify, .kind = LAP_ARGUMENT_MAYBE_VALUE,
         .choices = LAP_CHOICES("all", "1", "0")},
        LAP_FLAG("keep-bytes", &options->keep_bytes),
        LAP_TEXT("screenshot", &options->screenshots),
        LAP_TEXT("screenshot-dir", &options->screenshot_dir),
        LAP_CHOICE("compression", &options->compression, "lz4", "lz4hc", "none"),
        LAP_CHOICE("memory-types", &options->memory_types, "virtual", "real"),
        LAP_CHOICE("write-watch", &options->write_watch, "auto", "pagemap", "mprotect", "compare"),
        LAP_CHOICE("backing", &options->backing, "auto", "host", "off"),
        LAP_CHOICE("log", &options->log, "error", "warning", "info", "debug"),
        LAP_FLAG("no-wait", &options->no_wait),
        LAP_TEXT("token-file", &options->token_file),
        LAP_TEXT("control", &options->control),
        LAP_TEXT("frames", &options->frames),
        LAP_TEXT("submits", &options->submits),
        LAP_TEXT("seconds", &options->seconds),
        LAP_TEXT("trigger", &options->trigger),
        LAP_TEXT("trigger-frames", &options->trigger_frames),
        LAP_FLAG("exit-after", &options->exit_after),
        LAP_FLAG("must-record", &options->must_record),
        LAP_TEXT("keep-last", &options->keep_last),
        {"quiet", &options->quiet, .sets = true, .letter = 'q'},
        LAP_COMMAND(&options->argv)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (!*options->argv)
        return lap_usage(&verb, "PROGRAM is missing");
    return check_values(options) ? -1 : LAP_TOOL_USAGE;
}

/* ---- the recording ---- */

/* Sets the layer's options; layer/core/options.c reads them. */
static bool set_environment(const struct options *options, const char *pattern, const char *report,
                            const char *manifests)
{
    const struct lap_layer_option all[] = {{"LAPILLI_VERIFY", options->verify},
                                           {"LAPILLI_VERIFY_BYTES", options->keep_bytes ? "1" : NULL},
                                           {"LAPILLI_SCREENSHOT", options->screenshots},
                                           {"LAPILLI_SCREENSHOT_DIR", options->screenshot_dir},
                                           {"LAPILLI_COMPRESSION", options->compression},
                                           {"LAPILLI_MEMORY_TYPES", options->memory_types},
                                           {"LAPILLI_WRITE_WATCH", options->write_watch},
                                           {"LAPILLI_BACKING", options->backing},
                                           {"LAPILLI_LOG", options->log},
                                           {"LAPILLI_STREAM_WAIT", options->no_wait ? "0" : NULL},
                                           {"LAPILLI_TOKEN_FILE", options->token_file},
                                           {"LAPILLI_CONTROL", options->control},
                                           {"LAPILLI_FRAMES", options->frames},
                                           {"LAPILLI_SUBMITS", options->submits},
                                           {"LAPILLI_SECONDS", options->seconds},
                                           {"LAPILLI_TRIGGER", options->trigger},
                                           {"LAPILLI_TRIGGER_FRAMES", options->trigger_frames},
                                           {"LAPILLI_EXIT_AFTER", options->exit_after ? "1" : NULL},
                                           {"LAPILLI_KEEP_LAST", options->keep_last}};

    return lap_launch_environment(PROGRAM, manifests, pattern, report, all, sizeof all / sizeof *all);
}

static int run(const struct options *given, const char *pattern, const char *report, const char *manifests)
{
    struct options options = *given;
    struct lap_launched launched;
    struct lap_control_server commanded = {.process = 0};
    char address[LAP_ADDRESS_TEXT_BYTES];

    if (options.control) {
        if (!lap_control_server_begin(&commanded, PROGRAM, options.control, options.token_file, options.quiet))
            return LAP_TOOL_USAGE;
        lap_address_text(&commanded.address, address);
        options.control = address;
    }
    if (!set_environment(&options, pattern, report, manifests)) {
        lap_control_server_end(&commanded);
        return LAP_TOOL_USAGE;
    }
    launched = lap_launch_run(options.argv);
    lap_control_server_end(&commanded);
    if (launched.error)
        fprintf(stderr, PROGRAM ": %s can't be started: %s\n", options.argv[0], strerror(launched.error));
    else if (!(report &&
               lap_finish_recording(PROGRAM, report, options.argv, &launched, options.quiet, options.must_record)) &&
             options.must_record)
        return LAP_TOOL_NO_TRACE;
    return launched.status;
}

int main(int argc, char **argv)
{
    char manifests[PATH_MAX], screenshots[PATH_MAX], token[PATH_MAX];
    struct options options = {.output = NULL};
    struct lap_address address;
    char *pattern = NULL, *control = NULL;
    struct lap_report report = {.path = NULL};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
#ifdef __ANDROID__ /* its loader reads neither manifests nor VK_INSTANCE_LAYERS */
    fprintf(stderr, PROGRAM ": Android takes layers from its settings, or from debug.vulkan.layers: docs/android.md\n");
    return LAP_TOOL_USAGE;
#endif
    code = LAP_TOOL_USAGE;
    bool streamed = is_streamed(&options);
    pattern = streamed ? lap_address_absolute(options.output) : lap_output_name(options.output, options.argv[0]);
    if (!pattern) {
        fprintf(stderr, PROGRAM ": the current folder can't be used: %s\n", strerror(errno));
        return LAP_TOOL_USAGE;
    }
    if (streamed && lap_address_parse(pattern, &address) != LAP_OK) { /* its path may be too long now */
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        goto out;
    }
    if (!lap_launch_find_layer(PROGRAM, manifests) || (!streamed && !lap_output_name_check(PROGRAM, pattern)))
        goto out;
    /* The program may change its folder. */
    if (options.control && !(options.control = control = lap_address_absolute(options.control))) {
        fprintf(stderr, PROGRAM ": the current folder can't be used: %s\n", strerror(errno));
        goto out;
    }
    if (options.token_file)
        options.token_file = realpath(options.token_file, token);
    if (options.screenshot_dir) {
        if (lap_folder_make(options.screenshot_dir) != LAP_OK) {
            fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
            goto out;
        }
        if (!realpath(options.screenshot_dir, screenshots)) {
            fprintf(stderr, PROGRAM ": %s: %s\n", options.screenshot_dir, strerror(errno));
            goto out;
        }
        if (!lap_output_folder_check(PROGRAM, screenshots, "screenshots"))
            goto out;
        options.screenshot_dir = screenshots;
    } else if (options.screenshots) {
        options.screenshot_dir = getcwd(screenshots, sizeof screenshots);
    }
    lap_report_for(PROGRAM, streamed ? NULL : pattern, &report);
    code = run(&options, pattern, report.path, manifests);
out:
    lap_report_end(&report);
    free(pattern);
    free(control);
    return code;
}
