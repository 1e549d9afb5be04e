/* SPDX-License-Identifier: MIT */
#include "replayer/core/experiments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/edit/after.h"
#include "inspector/edit/fixed_state.h"
#include "inspector/edit/leave_out.h"
#include "inspector/edit/shader_code.h"
#include "replayer/core/replay.h"
#include "replayer/core/shader_file.h"

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

enum lap_status replay_shaders_parse(const char *text, struct replay_experiments *out)
{
    struct replaced_shader shader = {.digits = 0};
    const char *behind;
    uint32_t *words;
    enum lap_status status = replaced_shader_parse(text, &shader, &behind);

    if (status == LAP_OK && (behind[0] != '=' || !behind[1]))
        status = lap_fail(LAP_ERROR_ARGUMENT, "--replace-shader wants HASH=FILE, not '%s'", text);
    if (status != LAP_OK)
        return status;
    shader.name = behind + 1;
    if (!lap_array_grow(&out->shaders, sizeof *out->shaders, &out->shader_capacity, out->shader_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for shaders");
    status = replay_shader_file_read(shader.name, &words, &shader.bytes);
    if (status != LAP_OK)
        return status;
    shader.words = words;
    out->shaders[out->shader_count++] = shader;
    return LAP_OK;
}

enum lap_status replay_shaders_judge(const struct replay_experiments *experiments,
                                     enum lap_status (*judge)(const uint32_t *words, size_t word_count))
{
    for (size_t i = 0; i < experiments->shader_count; i++) {
        const struct replaced_shader *shader = &experiments->shaders[i];
        enum lap_status status = judge(shader->words, shader->bytes / sizeof *shader->words);
        if (status == LAP_ERROR_REPLAY)
            return lap_fail(LAP_ERROR_ARGUMENT, "%s is no valid SPIR-V: %s", shader->name, lap_error_message());
        if (status == LAP_ERROR_MEMORY)
            return status;
    }
    return LAP_OK;
}

void replay_experiments_finish(struct replay_experiments *experiments)
{
    free(experiments->skip.at);
    free(experiments->only.at);
    for (size_t i = 0; i < experiments->shader_count; i++)
        free((uint32_t *)(uintptr_t)experiments->shaders[i].words);
    free(experiments->shaders);
    *experiments = (struct replay_experiments){.has_most_draws = false};
}

bool replay_experiments_are_wanted(const struct replay_options *options)
{
    const struct replay_experiments *e = &options->experiments;

    return e->skip.count || e->only.count || e->has_most_draws || e->wireframe || e->null_fragment ||
           e->tiny_viewport || e->shader_count || options->pictures.after.count;
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
        lap_log(r->log, LAP_LOG_WARNING, "not all is in the pictures: %s", result.left_out);
    if (status == LAP_OK && result.in_early_subpass)
        lap_log(r->log, LAP_LOG_WARNING,
                "later subpasses follow: a driver need not keep the attachments that they do not use");
    pictures->after = result.position;
    return status;
}

/* What they say of pipelines whose code is not in the trace. */
static void say_opaque(const struct replay *r, uint64_t count)
{
    if (count)
        lap_log(r->log, LAP_LOG_WARNING,
                "%" PRIu64 " shader%s or pipeline%s come%s by an identifier or as a driver's binary and did not change",
                count, plural(count), plural(count), count == 1 ? "s" : "");
}

static void say_state(const struct replay *r, const struct fixed_state_result *result, const char *how)
{
    lap_log(r->log, LAP_LOG_INFO, "%" PRIu64 " pipeline%s and %" PRIu64 " command%s draw %s", result->pipelines,
            plural(result->pipelines), result->commands, plural(result->commands), how);
    say_opaque(r, result->unchanged);
}

static void say_code(const struct replay *r, const struct shader_code_result *result)
{
    if (result->objects)
        lap_log(r->log, LAP_LOG_INFO, "%" PRIu64 " shader object%s replaced", result->objects, plural(result->objects));
    if (result->modules || !result->objects)
        lap_log(r->log, LAP_LOG_INFO, "%" PRIu64 " shader module%s replaced, %" PRIu64 " pipeline%s use%s %s",
                result->modules, plural(result->modules), result->pipelines, plural(result->pipelines),
                result->pipelines == 1 ? "s" : "", result->modules == 1 ? "it" : "them");
    say_opaque(r, result->opaque);
}

static enum lap_status draw_lines(struct replay *r, struct lap_edits *edits)
{
    struct fixed_state_result result;
    enum lap_status status = r->options.experiments.wireframe ? edit_wireframe(r->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_state(r, &result, "lines");
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status draw_a_pixel(struct replay *r, struct lap_edits *edits)
{
    struct fixed_state_result result;
    enum lap_status status =
        r->options.experiments.tiny_viewport ? edit_tiny_viewport(r->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_state(r, &result, "into one pixel");
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status replace_shaders(struct replay *r, struct lap_edits *edits)
{
    const struct replay_experiments *e = &r->options.experiments;
    struct shader_code_result result;
    enum lap_status status =
        e->shader_count ? edit_replace_shaders(r->reader, e->shaders, e->shader_count, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_code(r, &result);
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status draw_one_colour(struct replay *r, struct lap_edits *edits)
{
    struct shader_code_result result;
    enum lap_status status =
        r->options.experiments.null_fragment ? edit_null_fragment(r->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_code(r, &result);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- all of them ---- */

typedef enum lap_status (*experiment_fn)(struct replay *r, struct lap_edits *edits);

/* Each sees the trace as those before it have left it. Those that change packets where these are come first, since they
 * do not see what others put behind packets. Commands keep their numbers up to the last one. */
static const experiment_fn all[] = {replace_shaders, draw_one_colour, draw_lines,
                                    draw_a_pixel,    end_after,       leave_some_out};
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
