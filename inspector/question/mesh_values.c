/* SPDX-License-Identifier: MIT */
#include "inspector/question/mesh_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/fragments/raster_state.h"
#include "inspector/memory/memory_state.h"
#include "inspector/position/find.h"
#include "inspector/question/pass_targets.h"
#include "inspector/question/probe_plan.h"
#include "inspector/spirv/spirv_inputs.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/weave.h"

#define MODEL_VERTEX 0u
#define ALIGNMENT    256u
/* All devices bind so many bytes of a storage buffer (the limit maxStorageBufferRange). */
#define MOST_REGION_BYTES ((uint64_t)128 << 20)
#define ROOM_BYTES        ((uint64_t)32 << 20) /* where it is not known how many vertices there are */
/* A vertex is shaded as often as a device likes: so many times more than it is drawn, or so many times at least. */
#define MOST_TIMES 2u
#define LEAST_KEPT 1024u

struct planner {
    struct mesh_values *out;
    struct vertex_inputs inputs;
    struct raster_facts raster;
    struct memory_state *memory;
    struct lap_arena decoding;
    struct probe probe;
    struct probe_use use;
    struct position begin; /* of the command that begins the render pass */
    const char *why;       /* it has no vertices */
    uint64_t ticket;       /* of its submit */
    bool found;
    struct weave_bytes *copies;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("the vertices of a draw");
}

/* ---- bytes ---- */

static enum lap_status add_range(struct mesh_values *v, uint64_t buffer, uint64_t begin, uint64_t end,
                                 const uint8_t *data)
{
    uint64_t bytes = end - begin;

    for (size_t i = 0; i < v->range_count; i++)
        bytes += v->ranges[i].end - v->ranges[i].begin;
    if (bytes > MESH_MOST_BYTES)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "its vertices are in more than %u MiB of buffers",
                        (unsigned)(MESH_MOST_BYTES >> 20));
    if (!lap_array_grow(&v->ranges, sizeof *v->ranges, &v->range_capacity, v->range_count + 1))
        return no_memory();
    v->ranges[v->range_count++] = (struct mesh_range){buffer, begin, end, data, 0};
    return LAP_OK;
}

static const struct mesh_range *range_with(const struct mesh_values *v, uint64_t buffer, uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < v->range_count; i++)
        if (v->ranges[i].buffer == buffer && v->ranges[i].begin <= begin && end <= v->ranges[i].end)
            return &v->ranges[i];
    return NULL;
}

/* Out of what was read before. */
static enum lap_status read_ranges(void *user, uint64_t buffer, uint64_t begin, uint64_t end, const uint8_t **out)
{
    const struct mesh_range *range = range_with(user, buffer, begin, end);

    *out = range && range->data ? range->data + (begin - range->begin) : NULL;
    return LAP_OK;
}

static uint64_t size_of(void *user, uint64_t buffer)
{
    const struct planner *p = user;
    uint64_t size;

    return memory_buffer_size(p->memory, buffer, &size) ? size : 0;
}

/* Out of the trace alone. */
static enum lap_status read_trace(void *user, uint64_t buffer, uint64_t begin, uint64_t end, const uint8_t **out)
{
    const struct planner *p = user;
    struct mesh_values *v = p->out;
    struct memory_answer answer = {.parts = NULL};
    uint8_t *data;
    bool known;
    enum lap_status status;

    if (range_with(v, buffer, begin, end))
        return read_ranges(v, buffer, begin, end, out);
    status = add_range(v, buffer, begin, end, NULL);
    data = status == LAP_OK ? lap_arena_alloc(&v->arena, end - begin, 8) : NULL;
    if (status == LAP_OK && !data)
        status = no_memory();
    if (status == LAP_OK)
        status = memory_of_buffer(p->memory, buffer, begin, end - begin, data, &answer);
    if (status != LAP_OK)
        return status;
    known = !answer.not_followed;
    for (size_t i = 0; i < answer.count; i++)
        known &= answer.parts[i].known == MEMORY_KNOWN || answer.parts[i].known == MEMORY_NOBODY;
    memory_answer_finish(&answer);
    if (known)
        *out = v->ranges[v->range_count - 1].data = data;
    return LAP_OK;
}

/* ---- the draw ---- */

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct planner *p = user;
    struct mesh_values *v = p->out;
    const struct mesh_source source = {read_trace, size_of, p};
    struct raster_state raster;
    struct pass_targets targets;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    if (visit->work != POSITION_DRAW)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is %s, which has no vertices", position_text(&visit->position, text),
                        gen_command_names[visit->command]);
    p->found = true;
    p->ticket = visit->ticket;
    v->command = (uint16_t)visit->command;
    v->mesh.draw = v->wish.draw;
    v->mesh.has_instance = v->wish.has_instance;
    v->mesh.instance = v->wish.instance;
    v->of = (struct pipeline_code){.pipeline = visit->bound->points[BOUND_GRAPHICS].pipeline,
                                   .stage = VK_SHADER_STAGE_VERTEX_BIT};
    status = mesh_begin(&v->mesh, visit, &p->inputs, &source, &v->arena, &p->why);
    if (status != LAP_OK || p->why)
        return status;
    status = mesh_find(&v->mesh, &source);
    if (status == LAP_OK)
        status = raster_state_of(&p->raster, visit->bound, &p->decoding, &raster);
    if (status == LAP_OK && raster.shape.viewport_count)
        v->viewport = raster.shape.viewports[0];
    if (status == LAP_OK)
        status = pass_targets_find(visit, &p->decoding, &targets);
    if (status == LAP_OK && targets.kind != BOUND_NO_PASS)
        p->begin = pass_targets_begin(&targets, &visit->position);
    return status == LAP_OK ? probe_plan_command(visit, &v->arena, &p->probe, &p->use, &v->why) : status;
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct planner *p = user;
    enum lap_status status = vertex_inputs_see(&p->inputs, call);

    return status == LAP_OK ? raster_facts_see(&p->raster, call) : status;
}

static enum lap_status find_draw(struct planner *p, const struct lap_reader *trace)
{
    static const uint16_t calls[] = {VERTEX_INPUTS_COMMANDS, GEN_COMMAND_NONE};
    struct mesh_wish *wish = &p->out->wish;
    const struct bound_walk_options options = {.at = &wish->at, .visit_call = see_call, .calls = calls};
    struct memory_wish memory = {.until = &wish->at};
    struct position_found found;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status = position_find(trace, &wish->at, &found);

    if (status != LAP_OK)
        return status;
    if (!position_is_command(&found.position))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no command: a draw has vertices", position_text(&wish->at, text));
    wish->at = found.position;
    memory.last_ticket = found.ticket;
    position_text(&wish->at, text);
    status = memory_state_find(trace, &memory, &p->memory);
    if (status == LAP_OK)
        status = bound_walk(trace, &options, see_command, p);
    if (status != LAP_OK)
        return status;
    if (!p->found)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no command that is run there", text);
    return p->why ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", text, p->why) : LAP_OK;
}

/* ---- the code ---- */

static enum lap_status name_inputs(struct mesh_values *v)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; v->of.words && i < v->mesh.input.attribute_count && status == LAP_OK; i++) {
        struct mesh_attribute *a = &v->mesh.attributes[i];
        status = spirv_input_name(v->of.words, v->of.bytes, v->of.entry, a->location, &v->arena, &a->name);
        if (status == LAP_ERROR_FORMAT)
            status = LAP_OK;
    }
    return status;
}

/* How many invocations are kept: as many as the draws may have, as far as there is room. */
static void choose_most(struct mesh_values *v)
{
    const struct mesh *m = &v->mesh;
    const uint64_t bytes = m->is_known ? MOST_REGION_BYTES : ROOM_BYTES;
    const uint64_t room = (bytes / sizeof(uint32_t) - v->code.first) / v->code.stride;
    const uint64_t wanted = (uint64_t)m->call.count * MOST_TIMES * (m->source.count ? m->source.count : 1) + LEAST_KEPT;

    v->most_invocations = (uint32_t)(m->is_known && wanted < room ? wanted : room);
}

static enum lap_status change_code(struct planner *p)
{
    struct mesh_values *v = p->out;
    struct instrument_wish how = {.kind = INSTRUMENT_OUTPUTS,
                                  .model = MODEL_VERTEX,
                                  .entry = v->of.entry,
                                  .set = p->probe.set,
                                  .any = 1,
                                  .invocation = {0, v->mesh.instance},
                                  .most_invocations = 1,
                                  .most_words = INSTRUMENT_HEADER};
    enum lap_status status;

    /* The instance is not known before an indirect draw's parameters are. */
    if (!v->mesh.is_known && !v->mesh.has_instance && v->mesh.source.buffer)
        how.any = 2;
    status = instrument(v->of.words, v->of.bytes, &how, &v->arena, &v->code);
    if (status == LAP_OK && v->code.outputs != UINT32_MAX) {
        how.most_words = v->code.segments[v->code.outputs].words + 1;
        v->code.stride = INSTRUMENT_HEADER + how.most_words;
        choose_most(v);
        how.most_invocations = v->most_invocations;
        status = instrument(v->of.words, v->of.bytes, &how, &v->arena, &v->code);
    }
    return status == LAP_OK ? status : lap_fail_context(status, "VkPipeline:%" PRIu64, v->of.pipeline);
}

static enum lap_status find_code(struct planner *p, const struct lap_reader *trace)
{
    struct mesh_values *v = p->out;
    enum lap_status status = LAP_OK;
    char *why;

    if (v->of.pipeline)
        status = pipeline_codes_find(trace, &v->of, 1, &v->arena);
    if (status == LAP_OK)
        status = name_inputs(v);
    if (status != LAP_OK || v->wish.sides == MESH_IN) {
        v->why = NULL;
        return status;
    }
    v->why = v->why ? v->why : v->of.why;
    if (!v->why) {
        status = change_code(p);
        if (status == LAP_ERROR_UNSUPPORTED || status == LAP_ERROR_FORMAT) {
            why = lap_arena_alloc(&v->arena, strlen(lap_error_message()) + 1, 1);
            v->why = why ? strcpy(why, lap_error_message()) : NULL;
            status = why ? LAP_OK : no_memory();
        } else if (status == LAP_OK && v->code.outputs == UINT32_MAX) {
            v->why = "the vertex shader writes no outputs";
        }
    }
    if (status != LAP_OK || !v->why) {
        v->has_outputs = status == LAP_OK;
        return status;
    }
    return v->wish.sides == MESH_OUT ? lap_fail(LAP_ERROR_UNSUPPORTED, "there are no outputs: %s", v->why) : LAP_OK;
}

/* ---- the whole ---- */

/* Places for the bytes that the trace does not know, behind the outputs. */
static enum lap_status place_ranges(struct planner *p, struct weave_plan *plan, struct weave_stop *stop)
{
    struct mesh_values *v = p->out;

    p->copies = lap_arena_zalloc(&v->arena, v->range_count + 1, sizeof *p->copies, 8);
    if (!p->copies)
        return no_memory();
    for (size_t i = 0; i < v->range_count; i++) {
        struct mesh_range *range = &v->ranges[i];
        if (range->data)
            continue;
        range->at = plan->bytes;
        p->copies[stop->count++] =
            (struct weave_bytes){range->buffer, range->begin, range->end - range->begin, range->at};
        plan->bytes += (range->end - range->begin + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    plan->buffer_bytes = p->copies;
    return LAP_OK;
}

static enum lap_status weave(struct planner *p, const struct lap_reader *trace, struct lap_edits *edits)
{
    struct mesh_values *v = p->out;
    struct weave_stop stops[2];
    struct weave_plan plan = {.stops = stops, .probes = &p->probe, .uses = &p->use, .ends = true};
    struct weave_stop bytes = {.kind = WEAVE_BYTES, .position = p->begin, .before = true};
    struct weave_result woven;
    enum lap_status status;

    if (v->has_outputs)
        plan.probe_range = plan.bytes = (v->code.region_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    status = place_ranges(p, &plan, &bytes);
    if (status != LAP_OK)
        return status;
    if (!v->has_outputs && !bytes.count) { /* a replay that waits ends there */
        lap_edits_end_at(edits, p->ticket);
        return LAP_OK;
    }
    if (bytes.count && !p->begin.count)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the device wrote its vertices, and nothing begins its render pass");
    if (bytes.count)
        stops[plan.stop_count++] = bytes;
    if (v->has_outputs) {
        stops[plan.stop_count++] = (struct weave_stop){.kind = WEAVE_PROBE, .position = v->wish.at, .before = true};
        p->probe.stage = VK_SHADER_STAGE_VERTEX_BIT;
        p->probe.words = v->code.words;
        p->probe.bytes = v->code.bytes;
        p->use.bytes = v->code.region_bytes;
        plan.probe_count = plan.use_count = 1;
    }
    v->replays = true;
    v->bytes = plan.bytes;
    status = edit_weave(trace, &plan, edits, &woven);
    v->buffer = woven.buffer;
    return status;
}

enum lap_status edit_mesh(const struct lap_reader *trace, const struct mesh_wish *wish, struct lap_edits *edits,
                          struct mesh_values *out)
{
    struct planner p = {.out = out};
    enum lap_status status;

    lap_arena_init(&out->arena, 0);
    lap_arena_init(&p.decoding, 0);
    lap_map_init(&out->by_vertex);
    vertex_inputs_init(&p.inputs);
    raster_facts_init(&p.raster);
    out->wish = *wish;
    status = find_draw(&p, trace);
    if (status == LAP_OK)
        status = find_code(&p, trace);
    if (status == LAP_OK)
        status = weave(&p, trace, edits);
    memory_state_free(&p.memory);
    vertex_inputs_finish(&p.inputs);
    raster_facts_finish(&p.raster);
    lap_arena_finish(&p.decoding);
    return status;
}

void mesh_values_finish(struct mesh_values *values)
{
    free(values->ranges);
    lap_map_finish(&values->by_vertex);
    lap_arena_finish(&values->arena);
    *values = (struct mesh_values){.buffer = 0};
}

/* ---- the results ---- */

static uint64_t no_size(void *user, uint64_t buffer)
{
    const struct mesh_values *v = user;
    uint64_t size = 0;

    for (size_t i = 0; i < v->range_count; i++)
        if (v->ranges[i].buffer == buffer && v->ranges[i].end > size)
            size = v->ranges[i].end;
    return size;
}

static enum lap_status list_outputs(struct mesh_values *v, const uint32_t *region)
{
    const uint32_t kept = region[0] < v->most_invocations ? region[0] : v->most_invocations;
    enum lap_status status = LAP_OK;

    v->shaded = region[0];
    for (uint32_t i = 0; i < kept && status == LAP_OK; i++) {
        const uint32_t *words = &region[v->code.first + (size_t)i * v->code.stride];
        if (words[INSTRUMENT_STATE] & INSTRUMENT_RETURNED && words[INSTRUMENT_SECOND] == v->mesh.instance &&
            words[INSTRUMENT_HEADER] == v->code.outputs + 1)
            status = lap_map_put(&v->by_vertex, (uint64_t)words[INSTRUMENT_FIRST] + 1, (void *)(uintptr_t)words, NULL);
    }
    return status == LAP_OK ? status : no_memory();
}

enum lap_status mesh_values_take(struct mesh_values *values, const uint8_t *results)
{
    const struct mesh_source source = {read_ranges, no_size, values};
    enum lap_status status;

    for (size_t i = 0; results && i < values->range_count; i++)
        if (!values->ranges[i].data)
            values->ranges[i].data = results + values->ranges[i].at;
    status = mesh_find(&values->mesh, &source);
    if (status == LAP_OK && results && values->has_outputs)
        status = list_outputs(values, (const uint32_t *)(const void *)results);
    return status;
}

const uint32_t *mesh_output_of(const struct mesh_values *values, uint32_t vertex)
{
    const uint32_t *words = lap_map_get(&values->by_vertex, (uint64_t)vertex + 1);

    return words ? words + INSTRUMENT_HEADER + 1 : NULL;
}
