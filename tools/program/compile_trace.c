/* SPDX-License-Identifier: MIT */
#include "tools/program/compile_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "inspector/position/find.h"
#include "inspector/program/build.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "trace/read/reader.h"
#include "vm/program_file.h"
#include "vm/resources.h"
#include "vm/verify.h"

enum lap_status compile_take_positions(const struct lap_argument *row, const char *value)
{
    return edit_positions_parse(value, row->out);
}

enum lap_status compile_take_most_draws(const struct lap_argument *row, const char *value)
{
    struct edit_experiments *e = row->out;

    e->has_most_draws = true;
    return lap_take_number(&LAP_NUMBER(row->name, &e->most_draws, 0, UINT64_MAX), value);
}

enum lap_status compile_take_shader(const struct lap_argument *row, const char *value)
{
    return edit_experiments_parse_shader(value, row->out);
}

bool compile_options_are_given(const struct compile_options *options)
{
    return lap_range_is_given(options->frames) || options->at.count ||
           edit_experiments_are_wanted(&options->experiments);
}

void compile_options_finish(struct compile_options *options)
{
    edit_experiments_finish(&options->experiments);
}

static enum lap_status fill_folder(const char *path, const struct lap_vm_program *program,
                                   const struct lap_vm_resource_bytes *bytes)
{
    struct lap_vm_folder *folder = NULL;
    enum lap_status status = lap_vm_folder_open(path, UINT64_MAX, &folder);

    for (size_t i = 0; status == LAP_OK && i < program->resource_count; i++) {
        const uint8_t *data;
        uint8_t *packed = NULL;
        size_t count;

        if (lap_vm_folder_has(folder, &program->resources[i]))
            continue;
        status = bytes->get(bytes->user, i, &data);
        if (status == LAP_OK)
            status = lap_vm_resource_pack(data, program->resources[i].bytes, &packed, &count);
        if (status == LAP_OK)
            status = lap_vm_folder_put(folder, &program->resources[i], packed, count);
        free(packed);
    }
    lap_vm_folder_close(&folder);
    return status;
}

static enum lap_status write_program(const struct compile_work *work, struct program_build *build)
{
    struct lap_vm_resource_bytes bytes = program_build_resources(build);
    enum lap_status status =
        lap_vm_verify(program_built(build), UINT64_MAX); /* it is our own: a fault of the builder */

    if (status == LAP_OK && work->folder)
        status = fill_folder(work->folder, program_built(build), &bytes);
    if (status != LAP_OK)
        return status;
    return lap_vm_program_write(program_built(build), work->no_resources || work->folder ? NULL : &bytes, work->fd);
}

/* cut: becomes the position if it ends in a command buffer, which is then cut there. */
static enum lap_status find_end(const struct lap_reader *trace, const struct position *at,
                                struct program_build_options *options, struct position *cut)
{
    uint64_t frames = lap_reader_summary(trace)->frames;
    struct position_found found;
    enum lap_status status = position_end(trace, at, &options->last, &found);

    if (status != LAP_OK)
        return status;
    for (uint64_t i = 0; i < frames && lap_reader_frame_end(trace, i) < options->last; i++)
        options->initial_last = lap_reader_frame_end(trace, i);
    if (found.position.count >= POSITION_BUFFER)
        *cut = *at;
    return LAP_OK;
}

static enum lap_status find_part(const struct compile_options *wanted, const struct lap_reader *trace,
                                 struct program_build_options *options, struct position *cut)
{
    uint64_t frames = lap_reader_summary(trace)->frames;

    if (wanted->at.count && lap_range_is_given(wanted->frames))
        return lap_fail(LAP_ERROR_ARGUMENT, "--at and --frames are two ways to say where it ends");
    if (wanted->at.count)
        return find_end(trace, &wanted->at, options, cut);
    if (!lap_range_is_given(wanted->frames))
        return LAP_OK;
    if (wanted->frames[0] > frames || (wanted->frames[1] != UINT64_MAX && wanted->frames[1] > frames))
        return lap_fail(LAP_ERROR_ARGUMENT, "it has %" PRIu64 " frames", frames);
    options->initial_last = wanted->frames[0] > 1 ? lap_reader_frame_end(trace, wanted->frames[0] - 2) : 0;
    options->last = wanted->frames[1] == UINT64_MAX ? 0 : lap_reader_frame_end(trace, wanted->frames[1] - 1);
    return LAP_OK;
}

static enum lap_status edit(const struct compile_work *work, struct edit_work *edits)
{
    char prefix[64];
    struct lap_log log = {.fd = STDERR_FILENO, .level = LAP_LOG_INFO, .prefix = prefix};
    struct picture_list attachments = {0}; /* that a replay of the trace would write */
    enum lap_status status;

    if (!edit_experiments_are_wanted(&work->options->experiments) && !edits->after->count)
        return LAP_OK;
    snprintf(prefix, sizeof prefix, "%s: ", work->program);
    edits->wanted = &work->options->experiments;
    edits->log = work->quiet ? NULL : &log;
    edits->last_frame = work->options->frames[1] == UINT64_MAX ? 0 : work->options->frames[1];
    edits->pictures = &attachments;
    status = edit_experiments_apply(edits, NULL);
    picture_list_finish(&attachments);
    edits->log = NULL;
    edits->pictures = NULL;
    return status;
}

static void tell(const struct compile_work *work, const struct lap_vm_program *made,
                 const struct program_build_result *result, struct compiled *out)
{
    *out = (struct compiled){.instructions = made->count,
                             .initial = made->initial,
                             .constant_bytes = made->constant_bytes,
                             .volatile_bytes = made->volatile_bytes,
                             .resources = made->resource_count,
                             .packets = result->packets,
                             .commands = result->commands};
    if (work->look)
        work->look(work->user, made);
}

int compile_trace(const struct compile_work *work, struct compiled *out)
{
    struct position cut = {.count = 0};
    struct edit_work edits = {.after = &cut};
    struct program_build *build = NULL;
    struct program_build_result result;
    struct lap_progress progress;
    struct program_build_options options = {
        .post_checks = work->post_checks, .progress = lap_progress_show, .user = &progress};
    enum lap_status status = lap_reader_open(work->from, NULL, &edits.reader);
    const char *where = work->from; /* of an error */
    bool complete;

    if (status != LAP_OK)
        return lap_calls_report_open(work->program, work->from, status);
    complete = lap_reader_summary(edits.reader)->complete;
    if (!complete)
        fprintf(stderr, "%s: %s is incomplete: %s\n", work->program, work->from,
                lap_reader_summary(edits.reader)->stopped);
    status = find_part(work->options, edits.reader, &options, &cut);
    if (status == LAP_OK)
        status = edit(work, &edits);
    if (status == LAP_OK) {
        lap_progress_begin(&progress, "compiling", work->quiet);
        status = program_build(edits.reader, &options, &build, &result);
        lap_progress_clear(&progress);
    }
    if (status == LAP_OK) {
        status = write_program(work, build);
        where = status == LAP_ERROR_IO ? work->to : work->from;
    }
    if (status == LAP_OK)
        tell(work, program_built(build), &result, out);
    else
        fprintf(stderr, "%s: %s: %s\n", work->program, where, lap_error_message());
    program_build_destroy(&build);
    lap_reader_close(&edits.reader);
    lap_edits_destroy(&edits.edits);
    if (status == LAP_OK)
        return complete ? LAP_TOOL_OK : LAP_TOOL_INCOMPLETE;
    return status == LAP_ERROR_ARGUMENT                           ? LAP_TOOL_USAGE
           : status == LAP_ERROR_MEMORY || status == LAP_ERROR_IO ? LAP_TOOL_FAILED
                                                                  : LAP_TOOL_NO_TRACE;
}
