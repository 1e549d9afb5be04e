/* SPDX-License-Identifier: MIT */
#include "inspector/edit/experiments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inspector/edit/after.h"
#include "inspector/edit/fixed_state.h"
#include "inspector/edit/leave_out.h"
#include "inspector/edit/shader_code.h"
#include "inspector/edit/shader_file.h"
#include "inspector/question/probe_plan.h"

enum lap_status edit_positions_parse(const char *text, struct edit_positions *out)
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

enum lap_status edit_experiments_parse_shader(const char *text, struct edit_experiments *out)
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
    status = edit_shader_file_read(shader.name, &words, &shader.bytes);
    if (status != LAP_OK)
        return status;
    shader.words = words;
    out->shaders[out->shader_count++] = shader;
    return LAP_OK;
}

enum lap_status edit_experiments_judge(const struct edit_experiments *experiments,
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

void edit_experiments_finish(struct edit_experiments *experiments)
{
    free(experiments->skip.at);
    free(experiments->only.at);
    for (size_t i = 0; i < experiments->shader_count; i++)
        free((uint32_t *)(uintptr_t)experiments->shaders[i].words);
    free(experiments->shaders);
    *experiments = (struct edit_experiments){.has_most_draws = false};
}

bool edit_experiments_are_wanted(const struct edit_experiments *e)
{
    return e->skip.count || e->only.count || e->has_most_draws || e->wireframe || e->null_fragment ||
           e->tiny_viewport || e->shader_count;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- single experiments ---- */

static enum lap_status leave_some_out(struct edit_work *work, struct lap_edits *edits)
{
    const struct edit_experiments *e = work->wanted;
    const struct leave_out_options options = {.skip = e->skip.at,
                                              .skip_count = e->skip.count,
                                              .only = e->only.at,
                                              .only_count = e->only.count,
                                              .has_most_draws = e->has_most_draws,
                                              .most_draws = e->most_draws,
                                              .last_frame = work->last_frame};
    struct leave_out_result result;
    enum lap_status status;

    if (!e->skip.count && !e->only.count && !e->has_most_draws)
        return LAP_OK;
    status = leave_out(work->reader, &options, edits, &result);
    if (status == LAP_OK)
        lap_log(work->log, LAP_LOG_INFO, "%" PRIu64 " command%s left out in %" PRIu64 " command buffer%s",
                result.commands, plural(result.commands), result.buffers, plural(result.buffers));
    return status;
}

static enum lap_status end_after(struct edit_work *work, struct lap_edits *edits)
{
    static const struct after_wish attachments = {.kind = AFTER_ATTACHMENTS};
    struct after_result result;
    enum lap_status status;

    if (!work->after || !work->after->count)
        return LAP_OK;
    status =
        edit_after(work->reader, work->after, work->wish ? work->wish : &attachments, edits, work->pictures, &result);
    if (status == LAP_OK && result.left_out[0])
        lap_log(work->log, LAP_LOG_WARNING, "not all is in the pictures: %s", result.left_out);
    if (status == LAP_OK && result.in_early_subpass)
        lap_log(work->log, LAP_LOG_WARNING,
                "later subpasses follow: a driver need not keep the attachments that they do not use");
    *work->after = result.position;
    return status;
}

static enum lap_status copy_each(struct edit_work *work, struct lap_edits *edits)
{
    struct each_result result;
    enum lap_status status;

    if (!work->each || !work->each->at.count)
        return LAP_OK;
    status = edit_each(work->reader, work->each, edits, work->pictures, &result);
    if (status != LAP_OK || work->pictures->first)
        return status;
    lap_log(work->log, LAP_LOG_INFO, "%" PRIu64 " command%s with pictures", result.commands, plural(result.commands));
    if (result.without)
        lap_log(work->log, LAP_LOG_WARNING, "%" PRIu64 " draw%s without pictures: %s", result.without,
                plural(result.without), result.why);
    if (result.left_out[0])
        lap_log(work->log, LAP_LOG_WARNING, "not all is in the pictures: %s", result.left_out);
    if (result.queries)
        lap_log(work->log, LAP_LOG_WARNING,
                "queries are open between the pictures: they count only what is behind the last one, and what depends "
                "on them may differ");
    return LAP_OK;
}

static enum lap_status keep_texel(struct edit_work *work, struct lap_edits *edits)
{
    return work->texel ? edit_texel_history(work->reader, work->texel, edits, work->history) : LAP_OK;
}

static enum lap_status enable_statistics(struct edit_work *work, struct lap_edits *edits)
{
    return work->timed && work->timed->statistics ? edit_enable_statistics(work->reader, edits) : LAP_OK;
}

static enum lap_status write_timestamps(struct edit_work *work, struct lap_edits *edits)
{
    return work->timed && work->timed->first_frame ? edit_stamps(work->reader, work->timed, edits, work->stamps)
                                                   : LAP_OK;
}

static enum lap_status enable_stores(struct edit_work *work, struct lap_edits *edits)
{
    const VkShaderStageFlags later = work->will_debug ? VK_SHADER_STAGE_FRAGMENT_BIT | VK_SHADER_STAGE_VERTEX_BIT : 0;
    const VkShaderStageFlags values = work->debugged && work->debugged->at.count ? work->debugged->stage : 0;
    const bool counts = work->counted && work->counted->at.count, tests = work->texel && work->texel->fragments;
    const bool meshes = work->meshed && work->meshed->at.count && work->meshed->sides != MESH_IN;
    const VkShaderStageFlags now =
        values | (counts || tests ? VK_SHADER_STAGE_FRAGMENT_BIT : 0) | (meshes ? VK_SHADER_STAGE_VERTEX_BIT : 0);

    return now | later ? edit_enable_stores(work->reader, now | later, edits) : LAP_OK;
}

static enum lap_status keep_values(struct edit_work *work, struct lap_edits *edits)
{
    return work->debugged && work->debugged->at.count
               ? edit_shader_values(work->reader, work->debugged, edits, work->values)
               : LAP_OK;
}

static enum lap_status count_fragments(struct edit_work *work, struct lap_edits *edits)
{
    return work->counted && work->counted->at.count ? edit_overdraw(work->reader, work->counted, edits, work->counts)
                                                    : LAP_OK;
}

static enum lap_status keep_vertices(struct edit_work *work, struct lap_edits *edits)
{
    return work->meshed && work->meshed->at.count ? edit_mesh(work->reader, work->meshed, edits, work->vertices)
                                                  : LAP_OK;
}

/* What they say of pipelines whose code is not in the trace. */
static void say_opaque(const struct edit_work *work, uint64_t count)
{
    if (count)
        lap_log(work->log, LAP_LOG_WARNING,
                "%" PRIu64 " shader%s or pipeline%s come%s by an identifier or as a driver's binary and did not change",
                count, plural(count), plural(count), count == 1 ? "s" : "");
}

static void say_state(const struct edit_work *work, const struct fixed_state_result *result, const char *how)
{
    lap_log(work->log, LAP_LOG_INFO, "%" PRIu64 " pipeline%s and %" PRIu64 " command%s draw %s", result->pipelines,
            plural(result->pipelines), result->commands, plural(result->commands), how);
    say_opaque(work, result->unchanged);
}

static void say_code(const struct edit_work *work, const struct shader_code_result *result)
{
    if (result->objects)
        lap_log(work->log, LAP_LOG_INFO, "%" PRIu64 " shader object%s replaced", result->objects,
                plural(result->objects));
    if (result->modules || !result->objects)
        lap_log(work->log, LAP_LOG_INFO, "%" PRIu64 " shader module%s replaced, %" PRIu64 " pipeline%s use%s %s",
                result->modules, plural(result->modules), result->pipelines, plural(result->pipelines),
                result->pipelines == 1 ? "s" : "", result->modules == 1 ? "it" : "them");
    say_opaque(work, result->opaque);
}

static enum lap_status draw_lines(struct edit_work *work, struct lap_edits *edits)
{
    struct fixed_state_result result;
    enum lap_status status = work->wanted->wireframe ? edit_wireframe(work->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_state(work, &result, "lines");
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status draw_a_pixel(struct edit_work *work, struct lap_edits *edits)
{
    struct fixed_state_result result;
    enum lap_status status = work->wanted->tiny_viewport ? edit_tiny_viewport(work->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_state(work, &result, "into one pixel");
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status replace_shaders(struct edit_work *work, struct lap_edits *edits)
{
    const struct edit_experiments *e = work->wanted;
    struct shader_code_result result;
    enum lap_status status =
        e->shader_count ? edit_replace_shaders(work->reader, e->shaders, e->shader_count, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_code(work, &result);
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status draw_one_colour(struct edit_work *work, struct lap_edits *edits)
{
    struct shader_code_result result;
    enum lap_status status = work->wanted->null_fragment ? edit_null_fragment(work->reader, edits, &result) : LAP_END;

    if (status == LAP_OK)
        say_code(work, &result);
    return status == LAP_END ? LAP_OK : status;
}

/* ---- all of them ---- */

typedef enum lap_status (*experiment_fn)(struct edit_work *work, struct lap_edits *edits);

/* Each sees the trace as those before it have left it. Those that change packets where these are come first, since they
 * do not see what others put behind packets. Commands keep their numbers up to the last one. */
static const experiment_fn all[] = {replace_shaders,   draw_one_colour, draw_lines,      draw_a_pixel,
                                    enable_statistics, enable_stores,   end_after,       copy_each,
                                    keep_texel,        keep_values,     count_fragments, keep_vertices,
                                    write_timestamps,  leave_some_out};

static enum lap_status run(struct edit_work *work, experiment_fn experiment)
{
    struct lap_reader *reader = NULL;
    struct lap_edits *edits;
    enum lap_status status = lap_edits_create(work->reader, &edits);

    if (status == LAP_OK)
        status = experiment(work, edits);
    if (status == LAP_OK)
        status = lap_edits_seal(edits);
    if (status == LAP_OK)
        status = lap_reader_open_edited(work->reader, NULL, edits, &reader);
    if (status != LAP_OK) {
        lap_edits_destroy(&edits);
        return status;
    }
    lap_reader_close(&work->reader);
    lap_edits_destroy(&work->edits);
    work->reader = reader;
    work->edits = edits;
    return LAP_OK;
}

enum lap_status edit_experiments_apply(struct edit_work *work, const struct lap_reader_options *options)
{
    struct lap_reader *reader = NULL;
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < sizeof all / sizeof *all && status == LAP_OK; i++)
        status = run(work, all[i]);
    if (status == LAP_OK)
        status = lap_reader_open_again(work->reader, options, &reader);
    if (status != LAP_OK)
        return status;
    lap_reader_close(&work->reader);
    work->reader = reader;
    return LAP_OK;
}
