/* SPDX-License-Identifier: MIT */
#include "inspector/question/shader_values.h"

#include <inttypes.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/find.h"
#include "inspector/question/probe_plan.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/weave.h"

/* A vertex is shaded as often as a device likes. */
#define MOST_FRAGMENTS 64u
#define MOST_VERTICES  4u
#define MOST_WORDS     65536u

struct planner {
    struct shader_values *out;
    struct probe probe;
    struct probe_use use;
    const char *why;
    bool found;
};

static const char *stage_name(VkShaderStageFlagBits stage)
{
    return stage == VK_SHADER_STAGE_FRAGMENT_BIT ? "fragment"
           : stage == VK_SHADER_STAGE_VERTEX_BIT ? "vertex"
                                                 : "compute";
}

/* ---- the command ---- */

static uint32_t first_instance(uint32_t command, const void *args)
{
    switch (command) {
    case GEN_vkCmdDraw:
        return ((const struct gen_args_vkCmdDraw *)args)->firstInstance;
    case GEN_vkCmdDrawIndexed:
        return ((const struct gen_args_vkCmdDrawIndexed *)args)->firstInstance;
    case GEN_vkCmdDrawMultiEXT:
        return ((const struct gen_args_vkCmdDrawMultiEXT *)args)->firstInstance;
    case GEN_vkCmdDrawMultiIndexedEXT:
        return ((const struct gen_args_vkCmdDrawMultiIndexedEXT *)args)->firstInstance;
    default:
        return 0;
    }
}

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct planner *p = user;
    struct values_wish *wish = &p->out->wish;
    const bool is_compute = wish->stage == VK_SHADER_STAGE_COMPUTE_BIT;
    char text[POSITION_TEXT_BYTES];

    position_text(&visit->position, text);
    if (visit->work != (is_compute ? POSITION_DISPATCH : POSITION_DRAW))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is %s, which has no %s shader", text, gen_command_names[visit->command],
                        stage_name(wish->stage));
    p->found = true;
    p->out->command = (uint16_t)visit->command;
    if (wish->stage == VK_SHADER_STAGE_VERTEX_BIT && !wish->has_instance)
        wish->invocation[1] = first_instance(visit->command, visit->args);
    return probe_plan_command(visit, &p->out->arena, &p->probe, &p->use, &p->why);
}

static enum lap_status find_command(struct planner *p, const struct lap_reader *trace)
{
    struct values_wish *wish = &p->out->wish;
    const struct bound_walk_options options = {.at = &wish->at};
    struct position_found found;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = position_find(trace, &wish->at, &found);

    if (status != LAP_OK)
        return status;
    if (!position_is_command(&found.position))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no command: a draw or a dispatch has values",
                        position_text(&wish->at, text));
    wish->at = found.position;
    position_text(&wish->at, text);
    status = bound_walk(trace, &options, see_command, p);
    if (status != LAP_OK)
        return status;
    if (!p->found)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no command that is run there", text);
    return p->why ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", text, p->why) : LAP_OK;
}

/* ---- the code ---- */

static uint32_t model_of(VkShaderStageFlagBits stage)
{
    return stage == VK_SHADER_STAGE_FRAGMENT_BIT ? 4 : stage == VK_SHADER_STAGE_VERTEX_BIT ? 0 : 5;
}

static enum lap_status change_code(struct planner *p, const struct lap_reader *trace)
{
    struct shader_values *out = p->out;
    const struct values_wish *wish = &out->wish;
    enum lap_status status;

    out->of = (struct pipeline_code){.pipeline = p->probe.pipeline, .stage = wish->stage};
    status = pipeline_codes_find(trace, &out->of, 1, &out->arena);
    if (status == LAP_OK && out->of.why)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "VkPipeline:%" PRIu64 ", %s shader: %s", out->of.pipeline,
                          stage_name(wish->stage), out->of.why);
    if (status != LAP_OK)
        return status;
    out->most_words = MOST_WORDS;
    out->most_invocations = wish->stage == VK_SHADER_STAGE_FRAGMENT_BIT ? MOST_FRAGMENTS
                            : wish->stage == VK_SHADER_STAGE_VERTEX_BIT ? MOST_VERTICES
                                                                        : 1;
    const struct instrument_wish how = {.kind = INSTRUMENT_LOG,
                                        .model = model_of(wish->stage),
                                        .entry = out->of.entry,
                                        .set = p->probe.set,
                                        .invocation = {wish->invocation[0], wish->invocation[1], wish->invocation[2]},
                                        .primitive = out->of.has_primitive,
                                        .most_invocations = out->most_invocations,
                                        .most_words = out->most_words};
    status = instrument(out->of.words, out->of.bytes, &how, &out->arena, &out->code);
    return status == LAP_OK ? status : lap_fail_context(status, "VkPipeline:%" PRIu64, out->of.pipeline);
}

/* ---- the whole ---- */

enum lap_status edit_shader_values(const struct lap_reader *trace, const struct values_wish *wish,
                                   struct lap_edits *edits, struct shader_values *out)
{
    struct planner p = {.out = out};
    struct weave_stop stop = {.kind = WEAVE_PROBE, .before = true};
    struct weave_plan plan = {
        .stops = &stop, .stop_count = 1, .probes = &p.probe, .probe_count = 1, .uses = &p.use, .ends = true};
    struct weave_result woven;
    enum lap_status status;

    lap_arena_init(&out->arena, 0);
    out->wish = *wish;
    status = find_command(&p, trace);
    if (status == LAP_OK)
        status = change_code(&p, trace);
    if (status != LAP_OK)
        return status;
    stop.position = out->wish.at;
    p.probe.stage = wish->stage;
    p.probe.words = out->code.words;
    p.probe.bytes = out->code.bytes;
    p.use.bytes = plan.bytes = plan.probe_range = out->code.region_bytes;
    status = edit_weave(trace, &plan, edits, &woven);
    out->buffer = woven.buffer;
    return status;
}

void shader_values_finish(struct shader_values *values)
{
    lap_arena_finish(&values->arena);
    *values = (struct shader_values){.buffer = 0};
}

/* ---- the results ---- */

uint32_t shader_values_kept(const struct shader_values *values, const uint32_t *results)
{
    return results[0] < values->most_invocations ? results[0] : values->most_invocations;
}

const uint32_t *shader_values_of(const struct shader_values *values, const uint32_t *results, uint32_t number)
{
    return &results[values->code.first + (size_t)number * values->code.stride];
}

void shader_log_begin(struct shader_log *log, const struct shader_values *values, const uint32_t *invocation)
{
    *log = (struct shader_log){.values = values, .words = invocation + INSTRUMENT_HEADER};
}

const struct instrument_result *shader_log_next(struct shader_log *log, const uint32_t **out_words)
{
    const struct instrument_code *code = &log->values->code;
    const uint32_t most = log->values->most_words;
    const struct instrument_result *result;

    while (log->result == log->end) {
        const uint32_t number = log->at < most ? log->words[log->at] - 1 : UINT32_MAX;
        if (number >= code->segment_count || most - log->at - 1 < code->segments[number].words)
            return NULL;
        log->next = &log->words[log->at + 1];
        log->at += 1 + code->segments[number].words;
        log->result = code->segments[number].first;
        log->end = log->result + code->segments[number].count;
    }
    result = &code->results[log->result++];
    *out_words = log->next;
    log->next += result->words;
    return result;
}
