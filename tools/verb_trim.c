/* SPDX-License-Identifier: MIT */
/*
 * lapilli-trim: writes a part of a trace, with the work it depends on.
 *
 * A child process does the work in a sandbox, with the new file open and no other rights
 * (tools/common/sandboxed_work.h).
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/frames.h"
#include "base/process/sandbox.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"
#include "inspector/slice/cut.h"
#include "inspector/slice/slice.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "tools/trim_replay.h"
#include "trace/format/info.h"
#include "trace/read/reader.h"

#define PROGRAM    "lapilli-trim"
#define LEVEL      12 /* of Zstandard, as in lapilli compress */
#define BEST_LEVEL 19

static const char help[] =
    "usage: lapilli trim [options] (--frames A-B | --submits A-B | --draw POSITION) -o NEW FILE\n"
    "Writes some frames, some submits, or one command of a trace as a trace of its own, with the objects that they\n"
    "use and the earlier work that made what they read; or, where a GPU can play the trace, its results.\n"
    "\n"
    "  -o, --output NEW   the new file; it must not exist\n"
    "  --frames A-B       these frames, counted from 1; also A, A- and -B\n"
    "  --submits A-B      these calls of vkQueueSubmit and vkQueueSubmit2, counted from 1; also A, A- and -B\n"
    "  --draw POSITION    this draw, dispatch or other command, FRAME.SUBMIT.BUFFER.COMMAND as lapilli tree shows it:\n"
    "                     the submit ends behind it, and so does the trace. Takes nothing from a replay\n"
    "  --gpu[=GPU]        contents that work before the part made are read from a replay, and that work is left out.\n"
    "                     GPU: as lapilli replay takes it. Without this option: where that is possible\n"
    "  --no-gpu           contents are made by that work\n"
    "  --sandbox HOW      on: end if the kernel has no full sandbox; off: use none; auto (default): use what the\n"
    "                     kernel has (SECURITY.md)\n"
    "  --json             report the result as one JSON object\n"
    "  --quiet            print only errors\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 the new file can't be written, or the sandbox not be had; 2 wrong usage, or the trace has no\n"
    "such part; 3 no readable trace, or one that this build can't cut; 4 FILE is incomplete: the part was written;\n"
    "5 with --gpu: no replay here reads the contents.\n";

enum gpu_wish { GPU_AUTO, GPU_ON, GPU_OFF };

/* The answer to the parent from the child that finds the contents to read. */
struct found {
    bool done;
    int error;       /* errno if the list can't be written */
    uint64_t packet; /* the last one in front of the part; 0: none is there */
    uint64_t lines, contents;
};

/* The result, from the child that cuts. */
struct done {
    uint64_t bytes_before, bytes_after;
    bool copied, with_contents;
    enum lack { LACK_NOTHING, LACK_REPLAY, LACK_LARGER, LACK_CANT_CUT } lack; /* why not with contents */
    struct cut_result result;
};

struct job {
    const char *from, *to;
    struct whole_file new;
    struct lap_frame_range range;
    struct position draw; /* count 0: another part */
    bool submits, json, quiet;
    enum lap_sandbox_wish sandbox;
    enum gpu_wish wish;
    const char *gpu;           /* NULL: any */
    struct done *done;         /* shared with the child */
    struct found *found;       /* not NULL: only finds the contents to read, and lists them in replay.list */
    struct trim_replay replay; /* replay.contents is -1 where nothing is taken, and replay.reason may give the cause */
};

/* ---- the packets of the part ---- */

struct search {
    struct lap_frame_range range;
    uint64_t submits, last_ticket;
    uint64_t first, last; /* the part; 0: nothing */
    uint64_t first_frame; /* from 0 */
    struct position_found draw;
    bool to_end; /* no frame or submit comes after the part */
};

static enum lap_status see_submit(void *state, const struct trace_call *call)
{
    struct search *search = state;

    search->submits++;
    if (search->submits == search->range.first) {
        search->first = call->packet->ticket;
        search->first_frame = call->packet->frame;
    }
    if (search->submits - 1 == search->range.last) {
        search->last = call->packet->ticket - 1;
        return LAP_END;
    }
    return LAP_OK;
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct search *search = state;
    search->last_ticket = packet->ticket;
}

static enum lap_status find_submits(const struct lap_reader *trace, struct search *search)
{
    static const uint16_t commands[] = {GEN_vkQueueSubmit, GEN_vkQueueSubmit2, 0};
    const struct trace_visitor visitor = {
        .commands = commands, .visit = see_submit, .see_packet = see_packet, .state = search};
    enum lap_status status = trace_pass_run(trace, 0, &visitor, 1);

    if (!search->last)
        search->last = search->last_ticket;
    return status;
}

static enum lap_status see_state(void *state, const struct trace_call *call)
{
    const struct gen_args_lapilliState *a = call->args;

    if (!a->begins)
        ((struct search *)state)->first = call->packet->ticket + 1;
    return LAP_OK;
}

/* The state with which a part of a run begins is in its first frame, but not all of it need be needed. */
static enum lap_status leave_out_state(const struct lap_reader *trace, struct search *search)
{
    static const uint16_t commands[] = {GEN_lapilliState, 0};
    const struct trace_visitor visitor = {
        .commands = commands, .information = true, .visit = see_state, .state = search};
    enum lap_status status;

    if (search->first > 1 || !lap_info_has(lap_reader_summary(trace)->info, "part"))
        return LAP_OK;
    status = trace_pass_run(trace, 1, &visitor, 1);
    if (search->first > search->last)
        search->first = 1;
    return status;
}

static enum lap_status find_frames(const struct lap_reader *trace, struct search *search)
{
    uint64_t frames = lap_reader_summary(trace)->frames, last = search->range.last;

    if (search->range.first > frames || (last != UINT64_MAX && last > frames))
        return LAP_OK;
    last = last == UINT64_MAX ? frames : last;
    search->first = search->range.first > 1 ? lap_reader_frame_end(trace, search->range.first - 2) + 1 : 1;
    search->last = lap_reader_frame_end(trace, last - 1);
    search->first_frame = search->range.first - 1;
    return leave_out_state(trace, search);
}

static enum lap_status find_draw(const struct lap_reader *trace, const struct position *position, struct search *search)
{
    enum lap_status status = position_find(trace, position, &search->draw);

    if (status == LAP_OK && !position_is_command(&search->draw.position))
        status = lap_fail(LAP_ERROR_ARGUMENT, "--draw takes a command, FRAME.SUBMIT.BUFFER.COMMAND");
    search->first = search->last = search->draw.ticket;
    search->first_frame = search->draw.frame;
    return status;
}

/* ---- the report ---- */

/* Why there are no contents; NULL: nobody asked. */
static const char *reason_of(const struct job *job)
{
    if (job->done->with_contents)
        return NULL;
    switch (job->done->lack) {
    case LACK_REPLAY:
        return job->replay.reason;
    case LACK_LARGER:
        return "with those of a replay it would be larger than the whole";
    case LACK_CANT_CUT:
        return "the trace is one that can't be cut with those of a replay";
    default:
        return NULL;
    }
}

static void say_contents(const struct job *job)
{
    const char *reason = reason_of(job);

    if (job->done->with_contents)
        printf("; %" PRIu64 " of %" PRIu64 " contents were taken from a replay", job->done->result.contents_taken,
               job->done->result.contents_wanted);
    else if (reason)
        printf("; earlier work makes all contents: %s", reason);
    else
        printf("; earlier work makes all contents");
}

static void say_text(const struct job *job)
{
    const struct cut_result *result = &job->done->result;

    if (job->done->copied) {
        printf("%s: a copy of %s: leaving calls out would not make it smaller\n", job->to, job->from);
        return;
    }
    printf("%s: %" PRIu64 " of %" PRIu64 " bytes; of %" PRIu64 " packets before the part %" PRIu64
           " are needed; it begins with frame %" PRIu64,
           job->to, job->done->bytes_after, job->done->bytes_before, result->packets_before, result->packets_kept,
           result->first_frame);
    say_contents(job);
    printf("\n");
}

static void say_contents_json(const struct job *job)
{
    const char *why = reason_of(job);
    cJSON *reason = why ? cJSON_CreateString(why) : NULL;
    char *text = reason ? cJSON_PrintUnformatted(reason) : NULL;

    printf(", \"contents\": {\"gpu\": %s, \"wanted\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"reason\": %s}",
           job->done->with_contents ? "true" : "false", job->done->result.contents_wanted,
           job->done->result.contents_taken, text ? text : "null");
    cJSON_free(text);
    cJSON_Delete(reason);
}

static void say(const struct job *job)
{
    const struct cut_result *result = &job->done->result;
    const char *between = "";

    if (!job->json) {
        if (!job->quiet)
            say_text(job);
        return;
    }
    printf("{\"frames\": %" PRIu64 ", \"first_frame\": %" PRIu64 ", \"packets\": %" PRIu64
           ", \"packets_before\": %" PRIu64 ", \"packets_kept\": %" PRIu64 ", \"emptied\": %" PRIu64
           ", \"bytes_before\": %" PRIu64 ", \"bytes_after\": %" PRIu64 ", \"copied\": %s",
           result->frames, result->first_frame, result->packets, result->packets_before, result->packets_kept,
           result->emptied, job->done->bytes_before, job->done->bytes_after, job->done->copied ? "true" : "false");
    say_contents_json(job);
    printf(", \"commands\": {");
    for (uint32_t i = 0; i < GEN_COMMAND_COUNT; i++) {
        if (!result->commands[i].before)
            continue;
        printf("%s\"%s\": {\"before\": %" PRIu64 ", \"kept\": %" PRIu64 "}", between,
               i ? gen_command_names[i] : "unknown", result->commands[i].before, result->commands[i].kept);
        between = ", ";
    }
    printf("}}\n");
}

/* ---- the work, in the sandbox ---- */

struct work {
    const struct job *job;
    const struct lap_reader *trace;
    const struct search *search;
    char note[POSITION_TEXT_BYTES + 128];
    const struct contents_file *contents; /* NULL: none */
    struct done *done;
};

static enum lap_status no_room(const char *path)
{
    return lap_fail(LAP_ERROR_IO, "can't write %s: %s", path, strerror(errno));
}

static enum lap_status cut_at_level(struct work *work, int level)
{
    struct lap_codec packer = lap_codec_zstd;
    struct lap_progress progress;
    const struct cut_options options = {.first = work->search->first,
                                        .last = work->search->last,
                                        .first_frame = work->search->first_frame,
                                        .draw = work->job->draw.count ? &work->search->draw : NULL,
                                        .note = work->note,
                                        .contents = work->contents,
                                        .packer = &packer,
                                        .progress = lap_progress_show,
                                        .user = &progress};
    struct stat after;
    enum lap_status status;
    int fd;

    packer.level = level;
    if (ftruncate(work->job->new.fd, 0) != 0 || lseek(work->job->new.fd, 0, SEEK_SET) != 0 ||
        (fd = fcntl(work->job->new.fd, F_DUPFD_CLOEXEC, 0)) < 0)
        return no_room(work->job->to);
    lap_progress_begin(&progress, "trimming", work->job->quiet);
    status = cut_write(work->trace, fd, work->job->to, &options, &work->done->result);
    lap_progress_clear(&progress);
    if (status == LAP_OK && fstat(work->job->new.fd, &after) != 0)
        status = no_room(work->job->to);
    work->done->bytes_after = status == LAP_OK ? (uint64_t)after.st_size : 0;
    return status;
}

static enum lap_status copy_source(struct work *work)
{
    static uint8_t bytes[1 << 16];
    int from = open(work->job->from, O_RDONLY | O_CLOEXEC), to = work->job->new.fd;
    ssize_t got = -1;

    if (from >= 0 && ftruncate(to, 0) == 0 && lseek(to, 0, SEEK_SET) == 0)
        while ((got = read(from, bytes, sizeof bytes)) > 0)
            for (ssize_t at = 0, put; at < got; at += put)
                if ((put = write(to, bytes + at, (size_t)(got - at))) <= 0) {
                    close(from);
                    return no_room(work->job->to);
                }
    if (from >= 0)
        close(from);
    if (got < 0)
        return lap_fail(LAP_ERROR_IO, "can't copy %s: %s", work->job->from, strerror(errno));
    work->done->copied = true;
    work->done->bytes_after = work->done->bytes_before;
    return LAP_OK;
}

/* A part is never larger than the whole. If the source was packed well and all of it is needed, the new file may need
 * the best packing, too, or be a copy of the source. */
static enum lap_status cut_small(struct work *work)
{
    const struct lap_reader_summary *summary = lap_reader_summary(work->trace);
    struct stat source;
    enum lap_status status = cut_at_level(work, LEVEL);
    uint64_t at_first = work->done->bytes_after;

    if (stat(work->job->from, &source) == 0)
        work->done->bytes_before = (uint64_t)source.st_size;
    if (work->contents) /* if it is too large, there is a cut without them */
        return status;
    if (status == LAP_OK && work->done->bytes_after > work->done->bytes_before)
        status = cut_at_level(work, BEST_LEVEL);
    if (status == LAP_OK && work->done->bytes_after > at_first) /* the better level may give larger small files */
        status = cut_at_level(work, LEVEL);
    if (status == LAP_OK && work->done->bytes_after > work->done->bytes_before && summary->complete &&
        work->search->to_end)
        status = copy_source(work);
    return status;
}

/* A part with earlier work may be smaller than one with the contents of a replay, and contents of a replay may be
 * impossible to cut. They are then used only on request. */
static enum lap_status cut_smallest(struct work *work, struct contents_file *file)
{
    enum lap_status status;

    if (work->job->replay.contents >= 0) {
        status = contents_open(work->job->replay.contents, file);
        if (status != LAP_OK)
            return status;
        work->contents = file;
    }
    status = cut_small(work);
    if (!work->contents || work->job->wish == GPU_ON)
        return status;
    if (status == LAP_ERROR_UNSUPPORTED || status == LAP_ERROR_LIMIT ||
        (status == LAP_OK && (work->done->copied || work->done->bytes_after > work->done->bytes_before))) {
        work->done->lack = status == LAP_OK ? LACK_LARGER : LACK_CANT_CUT;
        work->contents = NULL;
        work->done->copied = false;
        status = cut_small(work);
    }
    return status;
}

/* Lists the contents for a replay to read, instead of a cut. */
static int list(const struct job *job, const struct lap_reader *trace, const struct search *search)
{
    struct slice *slice = NULL;
    struct lap_progress progress;
    enum lap_status status = LAP_OK;
    FILE *to = fdopen(fcntl(job->replay.list, F_DUPFD_CLOEXEC, 0), "w");
    uint64_t none;

    if (!to)
        return LAP_TOOL_FAILED;
    lap_progress_begin(&progress, "looking", job->quiet);
    if (search->first > 1)
        status =
            slice_find_with_contents(trace, search->first, search->last, NULL, lap_progress_show, &progress, &slice);
    lap_progress_clear(&progress);
    if (status == LAP_OK && slice) {
        status = contents_write_list(slice_contents(slice), to);
        job->found->error = status == LAP_OK ? 0 : errno;
        job->found->lines = slice_contents(slice)->count;
        slice_count_contents(slice, &job->found->contents, &none);
    }
    (void)fclose(to);
    slice_destroy(&slice);
    if (status == LAP_OK) /* else the cut reports it */
        *job->found = (struct found){true, 0, search->first - 1, job->found->lines, job->found->contents};
    return LAP_TOOL_OK;
}

static int cut(const struct job *job, const struct lap_reader *trace, const struct search *search)
{
    struct work work = {.job = job, .trace = trace, .search = search, .done = job->done};
    struct contents_file file = {.fd = -1};
    const uint8_t *id = lap_reader_summary(trace)->uuid;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;
    int at;

    if (job->draw.count)
        at = snprintf(work.note, sizeof work.note, "{\"trimmed\": \"command %s of ",
                      position_text(&search->draw.position, text));
    else
        at = snprintf(work.note, sizeof work.note, "{\"trimmed\": \"%s %" PRIu64 " to %" PRIu64 " of ",
                      job->submits ? "submits" : "frames", search->range.first, search->range.last);
    for (unsigned i = 0; i < 16; i++)
        at += snprintf(work.note + at, sizeof work.note - (size_t)at, "%02x", id[i]);
    snprintf(work.note + at, sizeof work.note - (size_t)at, "\"}");
    job->done->lack = job->replay.reason[0] ? LACK_REPLAY : LACK_NOTHING;
    status = cut_smallest(&work, &file);
    job->done->with_contents = work.contents != NULL;
    if (status == LAP_OK && job->done->copied)
        job->done->result.first_frame = search->first_frame + 1;
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s can't be trimmed: %s\n", job->from, lap_error_message());
        return status == LAP_ERROR_FORMAT || status == LAP_ERROR_UNSUPPORTED || status == LAP_ERROR_LIMIT
                   ? LAP_TOOL_NO_TRACE
                   : LAP_TOOL_FAILED;
    }
    contents_close(&file);
    return LAP_TOOL_OK;
}

/* Reports why a part was not found, or the trace's own range. */
static int no_part(const struct job *job, const struct lap_reader *trace, const struct search *search,
                   enum lap_status status)
{
    if (status == LAP_ERROR_ARGUMENT)
        fprintf(stderr, PROGRAM ": %s: %s\n", job->from, lap_error_message());
    else if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    else
        fprintf(stderr, PROGRAM ": %s has %" PRIu64 " %s\n", job->from,
                job->submits ? search->submits : lap_reader_summary(trace)->frames,
                job->submits ? "submits" : "frames");
    return status == LAP_OK || status == LAP_ERROR_ARGUMENT ? LAP_TOOL_USAGE : LAP_TOOL_NO_TRACE;
}

static int look_and_cut(void *argument)
{
    const struct job *job = argument;
    struct search search = {.range = job->range};
    struct lap_reader *trace;
    enum lap_status status = lap_reader_open(job->from, NULL, &trace);
    bool complete;
    int code;

    if (status != LAP_OK)
        return lap_calls_report_open(PROGRAM, job->from, status);
    complete = lap_reader_summary(trace)->complete;
    if (!complete && !job->found)
        fprintf(stderr, PROGRAM ": %s is incomplete: %s\n", job->from, lap_reader_summary(trace)->stopped);
    status = job->draw.count ? find_draw(trace, &job->draw, &search)
             : job->submits  ? find_submits(trace, &search)
                             : find_frames(trace, &search);
    if (status != LAP_OK || !search.first || search.last < search.first ||
        (job->submits && job->range.last != UINT64_MAX && search.submits < job->range.last)) {
        code = no_part(job, trace, &search, status);
    } else {
        uint64_t all = job->submits ? search.submits : lap_reader_summary(trace)->frames;
        if (search.range.last == UINT64_MAX)
            search.range.last = all;
        search.to_end = !job->draw.count && search.range.last == all;
        code = job->found ? list(job, trace, &search) : cut(job, trace, &search);
    }
    lap_reader_close(&trace);
    return code == LAP_TOOL_OK && !complete ? LAP_TOOL_INCOMPLETE : code;
}

/* LAP_TOOL_OK: go on, with contents or without. */
static int read_contents(struct job *job)
{
    struct found *found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool done = found != MAP_FAILED && trim_replay_begin(&job->replay);
    int code = LAP_TOOL_OK;

    if (done) {
        job->found = found;
        code = lap_sandboxed_work(PROGRAM, job->sandbox, look_and_cut, job);
        job->found = NULL;
    }
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        return code;
    if (done && found->error)
        snprintf(job->replay.reason, sizeof job->replay.reason, "the list of contents can't be written (TMPDIR): %s",
                 strerror(found->error));
    if (done && !found->done)
        done = false;
    else if (done && found->lines)
        done = trim_replay_run(&job->replay, job->from, found->packet, job->gpu, lap_sandbox_wish_name(job->sandbox));
    else if (done && job->wish != GPU_ON) {
        done = false; /* there is nothing to read */
        snprintf(job->replay.reason, sizeof job->replay.reason, "%s",
                 found->contents ? "a replay can give none of them" : "the part needs none that such work made");
    }
    if (found != MAP_FAILED)
        (void)munmap(found, sizeof *found);
    if (done)
        return LAP_TOOL_OK;
    trim_replay_end(&job->replay);
    if (job->wish != GPU_ON || !job->replay.reason[0]) /* if it can't be cut, the cut reports that */
        return LAP_TOOL_OK;
    fprintf(stderr, PROGRAM ": --gpu: %s can't be played up to the part: %s\n", job->from, job->replay.reason);
    return LAP_TOOL_UNSUPPORTED;
}

static int run(struct job *job)
{
    int code;

    job->done = mmap(NULL, sizeof *job->done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->done == MAP_FAILED) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        return LAP_TOOL_FAILED;
    }
    if (whole_file_open(&job->new, job->to) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    code = job->wish == GPU_OFF ? LAP_TOOL_OK : read_contents(job);
    if (code == LAP_TOOL_OK)
        code = lap_sandboxed_work(PROGRAM, job->sandbox, look_and_cut, job);
    trim_replay_end(&job->replay);
    code = whole_file_end(&job->new, PROGRAM, code);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        return code;
    say(job);
    return lap_tool_end_output(PROGRAM, code);
}

static const struct lap_verb verb = {PROGRAM, help};

static enum lap_status take_gpu(const struct lap_argument *row, const char *value)
{
    struct job *job = row->out;

    job->wish = row->kind == LAP_ARGUMENT_FLAG ? GPU_OFF : GPU_ON;
    job->gpu = value;
    return LAP_OK;
}

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct job *job)
{
    uint64_t frames[2] = {0, UINT64_MAX}, submits[2] = {0, UINT64_MAX}, *range;
    const struct lap_argument rows[] = {LAP_OUTPUT(&job->to),
                                        LAP_VALUE("frames", frames, lap_take_range),
                                        LAP_VALUE("submits", submits, lap_take_range),
                                        LAP_VALUE("draw", &job->draw, lap_take_position),
                                        {"gpu", job, take_gpu, .kind = LAP_ARGUMENT_MAYBE_VALUE},
                                        {"no-gpu", job, take_gpu, .kind = LAP_ARGUMENT_FLAG},
                                        LAP_VALUE("sandbox", &job->sandbox, lap_take_sandbox),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FLAG("quiet", &job->quiet),
                                        LAP_FILE(&job->from)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (job->draw.count && job->wish == GPU_ON)
        return lap_usage(&verb, "--gpu is not for --draw");
    if (job->draw.count)
        job->wish = GPU_OFF;
    job->submits = lap_range_is_given(submits);
    if (lap_range_is_given(frames) + job->submits + (job->draw.count > 0) != 1)
        return lap_usage(&verb, "one of --frames, --submits and --draw, once");
    range = job->submits ? submits : frames;
    job->range = (struct lap_frame_range){range[0] ? range[0] : 1, range[1]};
    return job->to ? -1 : lap_usage(&verb, "-o NEW is missing");
}

int main(int argc, char **argv)
{
    struct job job = {.replay = {.list = -1, .contents = -1}};
    int code = parse(argc, argv, &job);

    return code >= 0 ? code : run(&job);
}
