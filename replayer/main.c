/* SPDX-License-Identifier: MIT */
/* lapilli-replay: plays a trace. replay_options_help documents the options and the exit status. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"
#include "base/file/output.h"
#include "base/version.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/core/crash.h"
#include "replayer/core/handles.h"
#include "replayer/core/invalid_calls.h"
#include "replayer/core/progress.h"
#include "replayer/core/report.h"
#include "replayer/core/result.h"
#include "replayer/device/gpu_choice.h"
#include "replayer/device/shader_validation.h"
#include "replayer/device/validation.h"
#include "replayer/elsewhere.h"
#include "replayer/memory/memory.h"
#include "replayer/options.h"
#include "replayer/play/check_trace.h"
#include "replayer/play/measure.h"
#include "replayer/play/player.h"
#include "replayer/play/waiting.h"
#include "replayer/present/window_system.h"
#include "replayer/receive.h"
#include "replayer/sandbox.h"
#include "replayer/sync/watchdog.h"
#include "replayer/verify/contents.h"
#include "replayer/verify/ignore_list.h"
#include "replayer/verify/mesh.h"
#include "replayer/verify/overdraw.h"
#include "replayer/verify/pictures.h"
#include "replayer/verify/profile.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/shader_values.h"
#include "replayer/verify/texel_history.h"
#include "replayer/verify/verify.h"
#include "replayer/vm/remote_trace.h"
#include "trace/format/info.h"
#include "vm/blocks.h"
#include "vm/frame.h"

enum exit_code { EXIT_GOOD, EXIT_FAILED, EXIT_USAGE, EXIT_NO_TRACE, EXIT_INCOMPLETE, EXIT_UNSUPPORTED, EXIT_TOO_LATE };

/* For --report: what is gathered while the replay is there. */
struct outcome {
    struct replay_result result;
    uint8_t uuid[16];
    char object[40];
    char *gpu;
    uint64_t began_ms;
    bool by_checks; /* the exit status is that of --verify */
    bool stuck;     /* the driver may still be executing work: do not unload it */
};

/* The first message of an error, by any thread. */
static struct {
    atomic_bool taken;
    char text[2048];
} first_error;

static const struct lap_log terminal = {.fd = STDERR_FILENO, .level = LAP_LOG_DEBUG, .prefix = "lapilli-replay: "};

static void write_and_note(enum lap_log_level level, const char *message)
{
    lap_log(&terminal, level, "%s", message);
    if (level == LAP_LOG_ERROR && !atomic_exchange(&first_error.taken, true))
        snprintf(first_error.text, sizeof first_error.text, "%s", message);
}

static int say(const struct lap_log *log, int code)
{
    lap_log(log, LAP_LOG_ERROR, "%s", lap_error_message());
    return code;
}

static const char *why_nothing(const struct replay *r, const struct replay_check_summary *summary)
{
    const char *info = lap_reader_summary(r->reader)->info;

    if (summary->ignored)
        return "all checks that could be made are in the file of --ignore-checks";
    if (summary->unclear)
        return "the replay's device changed none of the bytes that shaders may have stored through addresses";
    if (summary->skipped)
        return "none of the checks in the trace could be made";
    if (!lap_info_flag(info, "verify"))
        return "the trace was recorded without --verify";
    return "the trace was recorded with --verify, but there is nothing in it that could be compared";
}

/* The result of --verify; the line on stdout is for scripts. */
static int report_checks(const struct replay *r, const struct lap_log *log, bool complete)
{
    struct replay_check_summary summary = replay_check_summary(r);

    if (summary.skipped)
        lap_log(log, LAP_LOG_WARNING, "%" PRIu64 " checks could not be made", summary.skipped);
    if (summary.different && summary.first_frame)
        lap_log(log, LAP_LOG_ERROR, "frame %" PRIu64 " is the first that differs", summary.first_frame);
    if (summary.checks == 0 && complete)
        lap_log(log, LAP_LOG_ERROR, "there was nothing to compare: %s", why_nothing(r, &summary));
    if (summary.unclear && summary.checks)
        lap_log(log, LAP_LOG_INFO,
                "%" PRIu64
                " changes, where shaders may store through addresses, were not made by this device: they may "
                "be the host's",
                summary.unclear);
    if (summary.ignored)
        lap_log(log, LAP_LOG_INFO, "%" PRIu64 " checks were left out (--ignore-checks)", summary.ignored);
    if (r->options.has_tolerance && summary.different &&
        !lap_info_flag(lap_reader_summary(r->reader)->info, "verify_bytes"))
        lap_log(log, LAP_LOG_WARNING, "the trace has only hashes, so --tolerance does nothing (capture --keep-bytes)");
    if (r->options.has_tolerance)
        printf("verify: %" PRIu64 " checks, %" PRIu64 " within, %" PRIu64 " different\n", summary.checks,
               summary.within, summary.different);
    else
        printf("verify: %" PRIu64 " checks, %" PRIu64 " different\n", summary.checks, summary.different);
    return summary.different || (summary.checks == 0 && complete) ? EXIT_FAILED : EXIT_GOOD;
}

static bool has_results(const struct replay_options *options)
{
    return options->pictures.folder || options->texel.wanted || options->profile.wish.first_frame ||
           options->debug.wish.at.count || options->mesh.wish.at.count || options->pictures.wish.kind == AFTER_BUFFER;
}

/* With --after the pictures are wanted that the changed code makes. */
static bool prints_values(const struct replay_options *options)
{
    return options->debug.wish.at.count && !options->pictures.after.count;
}

/* --pictures, --overdraw, --pixel, --profile, --debug, --mesh. */
static int write_results(struct replay *r, const struct lap_log *log)
{
    switch (r->options.texel.wanted                         ? replay_print_texel_history(r)
            : r->options.overdraw.wish.at.count             ? replay_write_overdraw(r)
            : r->options.mesh.wish.at.count                 ? replay_print_mesh(r)
            : r->options.pictures.wish.kind == AFTER_BUFFER ? replay_write_buffer(r)
            : prints_values(&r->options)                    ? replay_print_shader_values(r)
            : r->options.profile.wish.first_frame           ? replay_print_profile(r)
                                                            : replay_write_pictures(r)) {
    case LAP_OK:
        return EXIT_GOOD;
    case LAP_ERROR_UNSUPPORTED:
        return say(log, EXIT_UNSUPPORTED);
    case LAP_ERROR_ARGUMENT:
        return say(log, EXIT_USAGE);
    default:
        return say(log, EXIT_FAILED);
    }
}

/* Warns about requested screenshots of frames that the trace does not have. */
static void report_pictures(const struct replay *r, const struct lap_log *log)
{
    const struct replay_summary *summary = &r->summary;
    char presented[80] = "0 frames";

    if (summary->first_frame)
        snprintf(presented, sizeof presented, "frames %" PRIu64 " to %" PRIu64, summary->first_frame,
                 summary->last_frame);
    for (uint32_t i = 0; i < r->options.screenshots.count; i++) {
        uint64_t last = r->options.screenshots.ranges[i].last;
        if (last < summary->first_frame || last > summary->last_frame)
            lap_log(log, LAP_LOG_WARNING, "there is no picture of frame %" PRIu64 ": %s were presented", last,
                    presented);
    }
}

static int play(struct replay *r, const struct lap_log *log, struct outcome *outcome)
{
    const struct lap_reader_summary *summary = lap_reader_summary(r->reader);
    enum lap_status status = replay_run(r);
    int code = EXIT_GOOD;

    if (status != LAP_OK)
        code = say(log, status == LAP_ERROR_UNSUPPORTED ? EXIT_UNSUPPORTED
                        : status == LAP_ERROR_FORMAT    ? EXIT_NO_TRACE
                                                        : EXIT_FAILED);
    if (status == LAP_OK && r->options.list_objects)
        replay_objects_print(r, stdout);
    if (replay_check_finish(r) != LAP_OK && code == EXIT_GOOD)
        code = say(log, EXIT_FAILED);
    if (status == LAP_OK && has_results(&r->options))
        code = write_results(r, log);
    if (status == LAP_OK)
        replay_progress_end(r);
    if (status == LAP_ERROR_UNSUPPORTED)
        lap_log(log, LAP_LOG_INFO, "lapilli check lists all that this trace needs and the GPU lacks");
    if (r->summary.skipped_structs)
        lap_log(log, LAP_LOG_WARNING, "%" PRIu64 " structures that this build does not know were left out",
                r->summary.skipped_structs);
    replay_invalid_calls_summary(r);
    if (code == EXIT_GOOD)
        report_pictures(r, log);
    if (summary->repaired)
        lap_log(log, LAP_LOG_WARNING, "%s", summary->repaired);
    if (code == EXIT_GOOD && !summary->complete) {
        lap_log(log, LAP_LOG_ERROR, "the trace is incomplete (%s); %" PRIu64 " frames of it were played",
                summary->stopped ? summary->stopped : "it was cut", summary->frames);
        code = EXIT_INCOMPLETE;
    }
    if (r->measure && replay_measure_write(r) != LAP_OK) {
        int failed = say(log, EXIT_FAILED);
        code = code == EXIT_GOOD || code == EXIT_INCOMPLETE ? failed : code;
    }
    if (r->options.verify) {
        int checks = report_checks(r, log, code == EXIT_GOOD);
        if (checks != EXIT_GOOD && (code == EXIT_GOOD || code == EXIT_INCOMPLETE)) {
            code = checks;
            outcome->by_checks = true;
        }
    }
    return code;
}

/* --wait. */
static int wait_and_play(struct replay *r, struct replay_options *options, struct replay_request *request,
                         const struct lap_log *log, struct outcome *outcome)
{
    enum lap_status status = replay_wait(r);

    if (status == LAP_OK)
        status = replay_request_read(STDIN_FILENO, request);
    if (status == LAP_END)
        return EXIT_GOOD;
    if (status == LAP_OK)
        status = replay_options_ask(request->count, request->words, options);
    if (status == LAP_OK)
        status = replay_wait_end(r, options);
    switch (status) {
    case LAP_OK:
        return play(r, log, outcome);
    case LAP_AGAIN:
        return say(log, EXIT_TOO_LATE);
    case LAP_ERROR_ARGUMENT:
        return say(log, EXIT_USAGE);
    case LAP_ERROR_FORMAT:
        return say(log, EXIT_NO_TRACE);
    case LAP_ERROR_UNSUPPORTED:
        return say(log, EXIT_UNSUPPORTED);
    default:
        return say(log, EXIT_FAILED);
    }
}

/* The rest of the pictures of --each, which take more memory than one replay has for them. */
static int play_again(struct replay *r, const struct replay_options *options, const struct lap_log *log,
                      struct outcome *outcome, int code)
{
    struct picture_list *pictures = options->pictures.list;

    while (pictures->next && (code == EXIT_GOOD || code == EXIT_INCOMPLETE)) {
        enum lap_status status;
        pictures->first = pictures->next;
        pictures->count = 0;
        if (!replay_close(r)) {
            outcome->stuck = true;
            return EXIT_FAILED;
        }
        replay_crash_watch(&r->at);
        status = replay_open(r, options, log);
        if (status == LAP_OK)
            replay_watchdog_begin(r);
        code = status == LAP_OK ? play(r, log, outcome)
                                : say(log, status == LAP_ERROR_UNSUPPORTED ? EXIT_UNSUPPORTED : EXIT_FAILED);
    }
    return code;
}

static enum lap_status make_validation(struct replay_options *options)
{
    const struct replay_validation_options wanted = {.gpu = options->validate_gpu,
                                                     .synchronization = options->validate_sync,
                                                     .json = options->json ? stdout : NULL,
                                                     .shown = options->messages ? options->messages
                                                                                : REPLAY_VALIDATION_SHOWN};

    if (!options->validate)
        return LAP_OK;
    options->validation = replay_validation_create(&wanted);
    return options->validation ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for --validate");
}

/* The result of --validate. Destroying the replay's objects can cause messages too, so this comes after it. */
static int end_validation(const struct replay_options *options, const struct lap_log *log, int code)
{
    uint64_t errors = 0;
    bool good = code == EXIT_GOOD || code == EXIT_INCOMPLETE;

    if (!options->validation)
        return code;
    if (replay_validation_report(options->validation, log, &errors) != LAP_OK) {
        say(log, EXIT_FAILED);
        return good ? EXIT_FAILED : code;
    }
    return good && errors ? EXIT_FAILED : code;
}

/* Reports output that was lost. */
static int end_output(const struct lap_log *log, int code)
{
    if (lap_output_flush() == LAP_OK)
        return code;
    lap_log(log, LAP_LOG_ERROR, "%s", lap_error_message());
    return code == EXIT_GOOD ? EXIT_FAILED : code;
}

/* As on any device: what this one lacks, the replay's own checks say. */
static enum lap_status judge_shader(const uint32_t *words, size_t word_count)
{
    const struct replay_spirv_target target = {.api_version = VK_API_VERSION_1_3,
                                               .spirv_1_4 = true,
                                               .relaxed_blocks = true,
                                               .standard_uniforms = true,
                                               .scalar_blocks = true,
                                               .scalar_workgroup_blocks = true,
                                               .local_size_id = true};
    return replay_spirv_tools(&target, words, word_count);
}

/* The state that is set up before the trace is opened. */
struct ready {
    struct replay_displays displays;
    struct lap_sandbox sandbox;
};

static enum lap_status make_ready(struct ready *ready, struct replay_options *options)
{
    replay_displays_connect(&ready->displays, options);
    options->displays = &ready->displays;
    return replay_sandbox_enter(options, &ready->sandbox);
}

/* Runs before playback, so that a long replay does not fail at its end for lack of an output folder. */
static enum lap_status make_folders(const struct replay_options *options)
{
    enum lap_status status = LAP_OK;
    if ((options->screenshots.count || options->screenshot_of_last) && options->screenshot_dir)
        status = lap_folder_make(options->screenshot_dir);
    if (status == LAP_OK && options->mismatch_dir)
        status = lap_folder_make(options->mismatch_dir);
    if (status == LAP_OK && options->dump_dir)
        status = lap_folder_make(options->dump_dir);
    if (status == LAP_OK && options->pictures.folder)
        status = lap_folder_make(options->pictures.folder);
    return status;
}

/* Writes the reason why nothing is played to the statistics file too. */
static int say_in_file(const struct lap_log *log, const struct replay_options *options, int code)
{
    say(log, code);
    if (options->measure_fd >= 0 && replay_measure_none(options, lap_error_message()) != LAP_OK)
        say(log, code);
    return code;
}

static enum lap_status opened(const char *file, int fd)
{
    return fd >= 0 ? LAP_OK
                   : lap_fail(LAP_ERROR_IO, "%s can't be written: %s", file,
                              errno == ELOOP ? "it is a symbolic link" : strerror(errno));
}

static enum lap_status open_files(struct replay_options *options)
{
    if (options->hashes_file) {
        enum lap_status status;
        options->hashes_fd = lap_new_file(options->hashes_file);
        status = opened(options->hashes_file, options->hashes_fd);
        if (status != LAP_OK)
            return status;
    }
    if (!options->measure_file)
        return LAP_OK;
    options->measure_fd = open(options->measure_file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    return opened(options->measure_file, options->measure_fd);
}

/* --check: reports what a replay would do, without playing the trace. */
static int check(struct replay_options *options, struct lap_log *log)
{
    struct replay_report report = {.count = 0};
    struct replay replay = {.log = log};
    struct ready ready;
    enum lap_status status;
    int code;

    log->level = LAP_LOG_ERROR; /* the report covers the rest */
    options->verify = false;
    options->ahead_bytes = 0; /* a check reads few of the blobs */
    if (make_ready(&ready, options) != LAP_OK)
        return say(log, EXIT_FAILED);
    replay_crash_watch(&replay.at);
    status = replay_open(&replay, options, log);
    replay.report = &report;
    if (status == LAP_OK)
        status = replay_check_trace(&replay);
    else if (status == LAP_ERROR_UNSUPPORTED)
        status = replay_report_refusal(&replay, status);
    if (status == LAP_OK)
        status = replay_report_write(&report, &replay, stdout);
    code = status == LAP_OK ? (report.refusal[0] ? EXIT_FAILED : EXIT_GOOD)
                            : say(log, status == LAP_ERROR_MEMORY     ? EXIT_FAILED
                                       : status == LAP_ERROR_ARGUMENT ? EXIT_USAGE
                                                                      : EXIT_NO_TRACE);
    code = end_output(log, code);
    if (!replay_close(&replay))
        _exit(code);
    replay_displays_disconnect(&ready.displays);
    replay_report_finish(&report);
    replay_options_finish(options);
    return code;
}

/* ---- --report ---- */

static void gather(struct replay *r, struct outcome *outcome)
{
    const struct replay_check_summary found = replay_check_summary(r);
    struct replay_result *result = &outcome->result;

    outcome->gpu = r->summary.gpu_json;
    r->summary.gpu_json = NULL;
    result->gpu = outcome->gpu;
    result->frames = r->summary.frames;
    result->peak_bytes = r->summary.peak_bytes;
    for (const struct replay_device *dev = r->devices; dev; dev = dev->next)
        if (replay_memory_peak_bytes(dev) > result->peak_bytes)
            result->peak_bytes = replay_memory_peak_bytes(dev);
    if (r->reader && !r->program) {
        memcpy(outcome->uuid, lap_reader_summary(r->reader)->uuid, sizeof outcome->uuid);
        result->uuid = outcome->uuid;
    }
    if (!r->options.verify || !r->check)
        return;
    memcpy(outcome->object, found.first_object, sizeof outcome->object);
    result->has_verify = true;
    result->verify = (struct replay_result_verify){.checks = found.checks,
                                                   .within = found.within,
                                                   .different = found.different,
                                                   .left_out = found.skipped + found.ignored,
                                                   .kind = found.first_kind,
                                                   .object = outcome->object,
                                                   .frame = found.first_frame,
                                                   .packet = found.first_packet};
}

static const char *outcome_name(const struct outcome *outcome, int code)
{
    const struct replay_result *result = &outcome->result;

    switch (code) {
    case EXIT_GOOD:
        return !result->has_verify ? "played" : result->verify.within ? "within" : "same";
    case EXIT_NO_TRACE:
        return "unreadable";
    case EXIT_INCOMPLETE:
        return "incomplete";
    case EXIT_UNSUPPORTED:
        return "unsupported";
    default:
        if (!outcome->by_checks)
            return "failed";
        return result->verify.different ? "different" : "nothing_to_verify";
    }
}

static int write_report(const struct replay_options *options, const struct lap_log *log, struct outcome *outcome,
                        int code)
{
    struct replay_result *result = &outcome->result;
    struct rusage usage = {0};

    if (options->report_fd < 0)
        return code;
    (void)getrusage(RUSAGE_SELF, &usage);
    result->code = code;
    result->outcome = outcome_name(outcome, code);
    result->error = code == EXIT_GOOD ? NULL : first_error.text;
    result->host_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
    result->wall_ms = (double)(replay_now_ms() - outcome->began_ms);
    if (replay_result_write(options->report_fd, options->report_file, result) == LAP_OK)
        return code;
    return code == EXIT_GOOD ? say(log, EXIT_FAILED) : say(log, code);
}

/* ---- a replay ---- */

/* A trace of another machine. */
static enum lap_status open_remote(struct replay_options *options, struct replay_remote **out)
{
    return options->resources && lap_vm_blocks_are_in(options->file)
               ? replay_remote_open(options->file, options->resources, out, &options->from)
               : LAP_OK;
}

static int run(struct replay_options *options, const struct lap_log *log, struct outcome *outcome)
{
    static struct replay_receive receive;
    struct replay_ignore_list ignored = {0};
    struct replay_reading reading = {.fd = -1};
    struct picture_list pictures = {.at = NULL};
    struct texel_history history = {.row_count = 0};
    struct stamps stamps = {.count = 0};
    struct shader_values values = {.buffer = 0};
    struct overdraw counts = {.pass_count = 0};
    struct mesh_values vertices = {.buffer = 0};
    struct replay_request request = {.text = NULL};
    struct replay_remote *remote = NULL;
    struct replay replay = {.log = log};
    struct ready ready;
    enum lap_status status;
    bool began;
    int code;

    if (options->validate_shaders && !replay_spirv_tools) {
        lap_log(log, LAP_LOG_ERROR, "--validate-shaders: this lapilli-replay was built without SPIRV-Tools");
        return EXIT_USAGE;
    }
    if (options->progress_fd)
        (void)signal(SIGPIPE, SIG_IGN);
    options->judge = options->validate_shaders ? replay_spirv_tools : NULL;
    options->text = replay_spirv_tools_text;
    if (make_folders(options) != LAP_OK || (options->listen && replay_receive_prepare(&receive, options) != LAP_OK))
        return say(log, EXIT_USAGE);
    if (options->ignored_file) {
        if (replay_ignore_list_load(options->ignored_file, &ignored) != LAP_OK)
            return say(log, EXIT_USAGE);
        options->ignored = &ignored;
    }
    if (options->read_list) {
        status = replay_reading_open(options->read_list, options->read_to, &reading);
        if (status != LAP_OK)
            return say(log, status == LAP_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED);
        options->reading = &reading;
    }
    options->pictures.list = &pictures;
    options->texel.history = &history;
    options->profile.stamps = &stamps;
    options->debug.values = &values;
    options->overdraw.counts = &counts;
    options->mesh.values = &vertices;
    if (options->pictures.list_file && (status = replay_pictures_read_list(&options->pictures)) != LAP_OK) {
        picture_list_finish(&pictures);
        return say(log, status == LAP_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED);
    }
    if (open_files(options) != LAP_OK)
        return say(log, EXIT_FAILED);
    if (options->listen) {
        status = replay_receive_run(&receive, options, log);
        if (status != LAP_OK)
            return say_in_file(log, options, status == LAP_ERROR_UNSUPPORTED ? EXIT_UNSUPPORTED : EXIT_FAILED);
    }
    if (make_validation(options) != LAP_OK)
        return say(log, EXIT_FAILED);
    if (make_ready(&ready, options) != LAP_OK)
        return say_in_file(log, options, EXIT_UNSUPPORTED);
    replay_crash_watch(&replay.at);
    status = open_remote(options, &remote);
    if (status == LAP_OK)
        status = replay_open(&replay, options, log);
    began = status == LAP_OK;
    if (began)
        replay_watchdog_begin(&replay);
    if (status == LAP_OK && options->sandboxed && options->sandboxed->lack[0])
        lap_log(log, LAP_LOG_WARNING, "the sandbox is %s: %s", lap_sandbox_state_name(options->sandboxed->state),
                options->sandboxed->lack);
    if (status == LAP_OK && replay_has_nothing_to_play(&replay))
        code = write_results(&replay, log);
    else if (status == LAP_OK)
        code = options->wait ? wait_and_play(&replay, options, &request, log, outcome) : play(&replay, log, outcome);
    else
        code = say_in_file(log, options,
                           status == LAP_ERROR_UNSUPPORTED ? EXIT_UNSUPPORTED
                           : status == LAP_ERROR_ARGUMENT  ? EXIT_USAGE
                           : status == LAP_ERROR_MEMORY    ? EXIT_FAILED
                                                           : EXIT_NO_TRACE);
    if (began)
        code = play_again(&replay, options, log, outcome, code);
#ifndef LAP_COVERAGE_FOLDER /* whose counts are written at exit */
    /* The pictures are there, and somebody waits: no object is destroyed first. */
    if (request.count && (code == EXIT_GOOD || code == EXIT_INCOMPLETE) && !options->validation)
        _exit(end_output(log, code));
#endif
    if (!outcome->stuck) {
        gather(&replay, outcome);
        outcome->stuck = !replay_close(&replay);
    }
    if (began)
        code = end_validation(options, log, code);
    code = end_output(log, code);
    if (outcome->stuck)
        return code;
    replay_remote_close(&remote);
    replay_displays_disconnect(&ready.displays);
    replay_validation_destroy(options->validation);
    replay_ignore_list_finish(&ignored);
    replay_reading_close(&reading);
    picture_list_finish(&pictures);
    texel_history_finish(&history);
    stamps_finish(&stamps);
    shader_values_finish(&values);
    overdraw_finish(&counts);
    mesh_values_finish(&vertices);
    replay_request_finish(&request);
    return code;
}

static int run_and_report(struct replay_options *options, struct lap_log *log)
{
    struct outcome outcome = {.began_ms = replay_now_ms()};
    int code;

    if (options->report_file) {
        options->report_fd = lap_new_file(options->report_file);
        if (opened(options->report_file, options->report_fd) != LAP_OK)
            return say(log, EXIT_FAILED);
        log->write = write_and_note;
    }
    code = write_report(options, log, &outcome, run(options, log, &outcome));
    if (outcome.stuck)
        _exit(code);
    free(outcome.gpu); /* no hooks of cJSON */
    return code;
}

int main(int argc, char **argv)
{
    struct lap_log log = {.fd = STDERR_FILENO, .level = LAP_LOG_INFO, .prefix = terminal.prefix};
    struct replay_options options;
    enum replay_action action;
    enum lap_status status = replay_options_parse(argc, argv, &options, &action);
    int code = EXIT_GOOD;

    if (status != LAP_OK)
        return say(&log, EXIT_USAGE);
    if (options.quiet)
        log.level = LAP_LOG_ERROR;
    if (replay_spirv_tools && edit_experiments_judge(&options.experiments, judge_shader) != LAP_OK) {
        replay_options_finish(&options);
        return say(&log, EXIT_USAGE);
    }
    switch (action) {
    case REPLAY_ACTION_HELP:
        replay_options_help();
        return end_output(&log, EXIT_GOOD);
    case REPLAY_ACTION_VERSION:
        puts("lapilli-replay " LAPILLI_VERSION);
        return end_output(&log, EXIT_GOOD);
    case REPLAY_ACTION_LIST_GPUS:
        if (replay_is_elsewhere(&options)) {
            lap_log(&log, LAP_LOG_ERROR,
                    "replays are played on another machine (" LAP_VM_ON "), whose GPUs can't be listed from here");
            return EXIT_UNSUPPORTED;
        }
        status = replay_gpu_list(options.gpu, options.json);
        return status == LAP_OK ? end_output(&log, EXIT_GOOD)
                                : say(&log, status == LAP_ERROR_MEMORY ? EXIT_FAILED : EXIT_UNSUPPORTED);
    case REPLAY_ACTION_CHECK_HELP:
        replay_options_check_help();
        return end_output(&log, EXIT_GOOD);
    case REPLAY_ACTION_CHECK:
        return check(&options, &log);
    case REPLAY_ACTION_PLAY:
        if (replay_is_elsewhere(&options) && options.file)
            code = replay_become_elsewhere(argv, &options) == LAP_OK ? EXIT_GOOD : say(&log, EXIT_FAILED);
        else
            code = run_and_report(&options, &log);
    }
    replay_options_finish(&options);
    return code;
}
