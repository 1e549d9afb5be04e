/* SPDX-License-Identifier: MIT */
/* lapilli-report: what is wrong or wasteful in a trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspector/report/report.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/replay_child.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "tools/report/show.h"

#define PROGRAM    "lapilli-report"
#define MOST_BYTES ((off_t)256 << 20) /* of a file or an output that is joined */

static const char help[] =
    "usage: lapilli report [options] FILE\n"
    "Shows what is wrong or wasteful in a trace, without a GPU: images in other layouts than the trace says, binds of "
    "what\n"
    "is bound, work and barriers that do nothing, objects that nothing uses or that are left; and what memory and "
    "frames\n"
    "have. Each kind is counted, and the first 100 of each are kept. Findings are no failure.\n"
    "\n"
    "  --frames A-B       only these frames, counted from 1; also A, A- and -B\n"
    "  --all              all findings that are kept, not only the first ones\n"
    "  --json             one JSON object\n"
    "  --html NEW         also write a page to this new file, which needs no network\n"
    "  --server URL       positions on the page lead there: the address of the trace on the page of lapilli serve,\n"
    "                     like http://localhost:8080/#/ID\n"
    "  --profile FILE.json  add times from a file of lapilli profile -o\n"
    "  --validate         add messages of the Khronos validation layer; this plays the trace\n"
    "  --messages N       with --validate: so many messages of each VUID; 10 without it. All are counted\n"
    "  --gpu GPU          with --validate: as for lapilli replay\n"
    "  --sandbox HOW      with --validate: as for lapilli replay\n"
    "  --wait-limit SECONDS  with --validate: as for lapilli replay\n"
    "  --progress FD      with --validate: as for lapilli replay\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed, also of the replay; 2 wrong usage; 3 no readable trace; 4 the "
    "trace\n"
    "is incomplete; 5 this machine can't play it, or lacks the validation layer.\n";

struct options {
    const char *path, *html, *server, *profile, *gpu, *sandbox, *wait_limit, *messages, *progress;
    uint64_t frames[2];
    bool json, all, validate;
};

/* A file that is in memory. */
struct bytes {
    char *data;
    size_t bytes;
};

struct job {
    const struct options *options;
    struct bytes profile, messages;
    struct whole_file html;
    struct lap_progress progress;
};

static const struct lap_verb verb = {PROGRAM, help};

static int check(const struct options *options)
{
    if (options->server && !options->html)
        return lap_usage(&verb, "--server is for --html");
    if (options->server && !strstr(options->server, "#/"))
        return lap_usage(&verb, "--server wants the address of a trace's page, like http://localhost:8080/#/ID");
    if (options->server && strncmp(options->server, "http://", 7) != 0 && strncmp(options->server, "https://", 8) != 0)
        return lap_usage(&verb, "--server wants http:// or https://");
    if ((options->gpu || options->sandbox || options->wait_limit || options->messages || options->progress) &&
        !options->validate)
        return lap_usage(&verb, "--messages, --gpu, --sandbox, --wait-limit and --progress need --validate");
    return -1;
}

static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("frames", options->frames, lap_take_range),
                                        LAP_FLAG("all", &options->all),
                                        LAP_FLAG("json", &options->json),
                                        LAP_VALUE("html", &options->html, lap_take_some_text),
                                        LAP_VALUE("server", &options->server, lap_take_some_text),
                                        LAP_TEXT("profile", &options->profile),
                                        LAP_FLAG("validate", &options->validate),
                                        LAP_TEXT("messages", &options->messages),
                                        LAP_TEXT("gpu", &options->gpu),
                                        LAP_CHOICE("sandbox", &options->sandbox, "on", "off", "auto"),
                                        LAP_TEXT("wait-limit", &options->wait_limit),
                                        LAP_TEXT("progress", &options->progress),
                                        LAP_FILE(&options->path)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options);
}

/* ---- what is joined ---- */

/* Returns -1, or an exit status after a message. */
static int read_all(int fd, const char *what, struct bytes *out)
{
    struct stat is;
    ssize_t got = 0;

    if (fd < 0 || fstat(fd, &is) != 0) {
        fprintf(stderr, PROGRAM ": %s can't be read: %s\n", what, strerror(errno));
        return LAP_TOOL_USAGE;
    }
    if (!S_ISREG(is.st_mode) || is.st_size > MOST_BYTES) {
        fprintf(stderr, PROGRAM ": %s is no regular file of less than 256 MiB\n", what);
        return LAP_TOOL_USAGE;
    }
    out->data = malloc((size_t)is.st_size + 1);
    for (; out->data && out->bytes < (size_t)is.st_size; out->bytes += (size_t)got) {
        got = pread(fd, out->data + out->bytes, (size_t)is.st_size - out->bytes, (off_t)out->bytes);
        if (got <= 0)
            break;
    }
    if (out->data)
        return -1;
    fprintf(stderr, PROGRAM ": out of memory\n");
    return LAP_TOOL_FAILED;
}

static int read_profile(struct job *job)
{
    int fd = open(job->options->profile, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = read_all(fd, job->options->profile, &job->profile);

    if (fd >= 0)
        close(fd);
    return code;
}

/* Returns -1, or an exit status after a message, which may be the replay's. */
static int play(struct job *job)
{
    const struct options *options = job->options;
    const char *words[20] = {"lapilli-replay", "--validate", "--json", "--quiet", "--present", "headless"};
    const char *const optional[] = {
        "--gpu",      options->gpu,      "--wait-limit", options->wait_limit, "--sandbox", options->sandbox,
        "--messages", options->messages, "--progress",   options->progress,   NULL};
    unsigned count = 6;
    int output, code;

    for (size_t i = 0; optional[i]; i += 2)
        if (optional[i + 1]) {
            words[count++] = optional[i];
            words[count++] = optional[i + 1];
        }
    words[count++] = "--";
    words[count] = options->path;
    code = lap_replay_child(PROGRAM, words, &output);
    /* Errors that were found make it LAP_TOOL_FAILED; its last line says whether it came to the end. */
    if (code == LAP_TOOL_OK || code == LAP_TOOL_INCOMPLETE || code == LAP_TOOL_FAILED)
        code = read_all(output, "the output of the replay", &job->messages);
    if (output >= 0)
        close(output);
    return code;
}

/* ---- the report ---- */

static enum lap_status put_html(struct job *job, const struct report_view *view)
{
    int fd = dup(job->html.fd);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good;

    if (!out) {
        if (fd >= 0)
            close(fd);
        return lap_fail(LAP_ERROR_IO, "%s can't be written: %s", job->options->html, strerror(errno));
    }
    report_put_html(view, out);
    good = !ferror(out);
    if (fclose(out) != 0 || !good)
        return lap_fail(LAP_ERROR_IO, "%s can't be written: %s", job->options->html, strerror(errno));
    return LAP_OK;
}

static enum lap_status show(void *user, const struct lap_reader *trace)
{
    struct job *job = user;
    const struct options *options = job->options;
    const struct report_wish wish = {.first_frame = options->frames[0],
                                     .last_frame = options->frames[1],
                                     .progress = lap_progress_show,
                                     .user = &job->progress};
    struct report_view view = {.trace = trace, .path = options->path, .all = options->all, .server = options->server};
    struct report_times times = {.count = 0};
    struct report *report;
    enum lap_status status, joined = LAP_OK;

    lap_progress_begin(&job->progress, "looking", false);
    status = report_make(trace, &wish, &report);
    lap_progress_clear(&job->progress);
    if (!report)
        return status;
    view.report = report;
    if (options->validate)
        joined = report_join_messages(report, trace, job->messages.data, job->messages.bytes);
    if (joined == LAP_OK && options->profile) {
        joined = report_join_profile(report, job->profile.data, job->profile.bytes, &times);
        if (joined == LAP_ERROR_ARGUMENT)
            joined = lap_fail(LAP_ERROR_ARGUMENT, "%s is no file of lapilli profile -o", options->profile);
        view.times = &times;
    }
    if (joined == LAP_OK && options->json)
        report_put_json(&view, stdout);
    else if (joined == LAP_OK)
        report_put_text(&view, stdout);
    if (joined == LAP_OK && options->html)
        joined = put_html(job, &view);
    report_times_finish(&times);
    report_free(&report);
    return joined == LAP_OK ? status : joined;
}

static int work(void *argument)
{
    struct job *job = argument;
    return lap_read_trace(PROGRAM, job->options->path, show, job);
}

int main(int argc, char **argv)
{
    struct options options = {.frames = {0, UINT64_MAX}};
    struct job job = {.options = &options};
    int code = parse(argc, argv, &options);

    if (code < 0 && options.profile)
        code = read_profile(&job);
    if (code < 0 && options.validate)
        code = play(&job);
    if (code >= 0)
        return code;
    if (!options.html) {
        lap_calls_enter_sandbox();
        code = work(&job);
    } else if (whole_file_open(&job.html, options.html) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        code = LAP_TOOL_FAILED;
    } else {
        code = whole_file_end(&job.html, PROGRAM, lap_sandboxed_work(PROGRAM, LAP_SANDBOX_WISH_AUTO, work, &job));
    }
    free(job.profile.data);
    free(job.messages.data);
    return code;
}
