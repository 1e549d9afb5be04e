/* SPDX-License-Identifier: MIT */
#include "replayer/core/experiments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/edit/after.h"
#include "inspector/edit/leave_out.h"
#include "replayer/core/replay.h"

enum lap_status replay_positions_parse(const char *text, struct replay_positions *out)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        char one[POSITION_TEXT_BYTES];
        enum lap_status status;
        if (length >= sizeof one)
            return lap_fail(LAP_ERROR_ARGUMENT, "%.40s… is no position", text);
        memcpy(one, text, length);
        one[length] = 0;
        if (!lap_array_grow(&out->at, sizeof *out->at, &out->capacity, out->count + 1))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for positions");
        status = position_parse(one, &out->at[out->count]);
        if (status != LAP_OK)
            return status;
        out->count++;
        if (!text[length])
            return LAP_OK;
        text += length + 1;
    }
}

void replay_experiments_finish(struct replay_experiments *experiments)
{
    free(experiments->skip.at);
    free(experiments->only.at);
    *experiments = (struct replay_experiments){.has_most_draws = false};
}

bool replay_experiments_are_wanted(const struct replay_options *options)
{
    const struct replay_experiments *e = &options->experiments;

    return e->skip.count || e->only.count || e->has_most_draws || options->pictures.after.count;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- single experiments ---- */

static enum lap_status leave_some_out(struct replay *r, struct lap_edits *edits)
{
    const struct replay_experiments *e = &r->options.experiments;
    const struct leave_out_options options = {.skip = e->skip.at,
                                              .skip_count = e->skip.count,
                                              .only = e->only.at,
                                              .only_count = e->only.count,
                                              .has_most_draws = e->has_most_draws,
                                              .most_draws = e->most_draws,
                                              .last_frame = r->options.last_frame};
    struct leave_out_result result;
    enum lap_status status;

    if (!e->skip.count && !e->only.count && !e->has_most_draws)
        return LAP_OK;
    status = leave_out(r->reader, &options, edits, &result);
    if (status == LAP_OK)
        lap_log(r->log, LAP_LOG_INFO, "%" PRIu64 " command%s left out in %" PRIu64 " command buffer%s", result.commands,
                plural(result.commands), result.buffers, plural(result.buffers));
    return status;
}

static enum lap_status end_after(struct replay *r, struct lap_edits *edits)
{
    struct replay_pictures *pictures = &r->options.pictures;
    struct after_result result;
    enum lap_status status;

    if (!pictures->after.count)
        return LAP_OK;
    status = edit_after(r->reader, &pictures->after, edits, pictures->list, &result);
    if (status == LAP_OK && result.left_out[0])
        lap_log(r->log, LAP_LOG_WARNING, "there is no picture of an attachment: %s", result.left_out);
    pictures->after = result.position;
    return status;
}

/* ---- all of them ---- */

typedef enum lap_status (*experiment_fn)(struct replay *r, struct lap_edits *edits);

/* Each sees the trace as those before it have left it. Commands keep their numbers up to the last one. */
static const experiment_fn all[] = {end_after, leave_some_out};

static enum lap_status run(struct replay *r, experiment_fn experiment)
{
    struct lap_reader *reader = NULL;
    struct lap_edits *edits;
    enum lap_status status = lap_edits_create(r->reader, &edits);

    if (status == LAP_OK)
        status = experiment(r, edits);
    if (status == LAP_OK)
        status = lap_edits_seal(edits);
    if (status == LAP_OK)
        status = lap_reader_open_edited(r->reader, NULL, edits, &reader);
    if (status != LAP_OK) {
        lap_edits_destroy(&edits);
        return status;
    }
    lap_reader_close(&r->reader);
    lap_edits_destroy(&r->edits);
    r->reader = reader;
    r->edits = edits;
    return LAP_OK;
}

enum lap_status replay_experiments_apply(struct replay *r, const struct lap_reader_options *options)
{
    struct lap_reader *reader = NULL;
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < sizeof all / sizeof *all && status == LAP_OK; i++)
        status = run(r, all[i]);
    if (status == LAP_OK)
        status = lap_reader_open_again(r->reader, options, &reader);
    if (status != LAP_OK)
        return status;
    lap_reader_close(&r->reader);
    r->reader = reader;
    return LAP_OK;
}
