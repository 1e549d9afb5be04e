/* SPDX-License-Identifier: MIT */
#include "inspector/question/texel_fragments.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "inspector/question/pipeline_code.h"
#include "inspector/question/probe_plan.h"
#include "vulkan/texel/texel_codes.h"

#define MODEL_FRAGMENT 4u
#define MOST_WORDS     64u /* of the log of one fragment: all outputs of any device */

enum { BUILT_IN_SAMPLE_MASK = 20, BUILT_IN_FRAG_DEPTH = 22, BUILT_IN_FRAG_STENCIL = 5014 };

static enum lap_status no_memory(void)
{
    return lap_no_memory("the fragments of a texel");
}

/* ---- draws ---- */

void texel_probes_init(struct texel_probes *p)
{
    *p = (struct texel_probes){.draw_count = 0};
    raster_facts_init(&p->facts);
}

void texel_probes_finish(struct texel_probes *p)
{
    raster_facts_finish(&p->facts);
    free(p->draws);
    free(p->probes);
    free(p->uses);
}

/* Whether the attachments of dynamic rendering have other locations than their numbers. */
static bool has_locations(const struct bound *bound)
{
#ifdef VK_KHR_dynamic_rendering_local_read
    for (size_t i = 0; i < bound->setting_count; i++)
        if (bound->settings[i].command == GEN_vkCmdSetRenderingAttachmentLocationsKHR)
            return true;
#else
    (void)bound;
#endif
    return false;
}

static bool has_condition(const struct bound *bound)
{
    for (size_t i = 0; i < bound->setting_count; i++)
        if (bound->facts->states.replaces[bound->settings[i].command] == DYNAMIC_BINDS_CONDITION)
            return true;
    return bound->condition.command != BOUND_NO_COMMAND || (bound->outer && has_condition(bound->outer));
}

enum lap_status texel_probes_add(struct texel_probes *p, const struct bound_visit *visit, struct texel_draw *out,
                                 struct lap_arena *arena, struct lap_arena *decoding)
{
    enum lap_status status = raster_state_of(&p->facts, visit->bound, decoding, &out->state);

    out->draw.counts = draw_counts_of(visit->command, visit->args);
    out->draw.has_condition = has_condition(visit->bound);
    out->location = has_locations(visit->bound) ? UINT32_MAX : out->place.target;
    if (status != LAP_OK || out->why)
        return status;
    if (!out->state.is_known) {
        out->why = "nothing creates its pipeline";
        return LAP_OK;
    }
    if (!out->state.shades) {
        out->why = "it has no fragment shader";
        return LAP_OK;
    }
    out->probe.stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    status = probe_plan_command(visit, arena, &out->probe, &out->use, &out->why);
    if (status != LAP_OK || out->why)
        return status;
    if (!lap_array_grow(&p->draws, sizeof *p->draws, &p->draw_capacity, p->draw_count + 1))
        return no_memory();
    p->draws[p->draw_count++] = out;
    return LAP_OK;
}

/* ---- code ---- */

/* A pipeline, with what all its draws have in common. */
struct shared {
    size_t number; /* in the list of codes; later that of its probe */
    bool has_probe;
    const char *why;
    struct instrument_code code;
};

static const char *sentence(struct lap_arena *arena, const char *text)
{
    char *copy = lap_arena_alloc(arena, strlen(text) + 1, 1);

    return copy ? strcpy(copy, text) : NULL;
}

/* Code that can't be changed is no failure. */
static enum lap_status change_code(const struct pipeline_code *of, const struct texel_draw *draw,
                                   struct lap_arena *arena, struct shared *out)
{
    const struct instrument_wish wish = {.kind = INSTRUMENT_OUTPUTS,
                                         .model = MODEL_FRAGMENT,
                                         .entry = of->entry,
                                         .set = draw->probe.set,
                                         .invocation = {(uint32_t)draw->place.x, (uint32_t)draw->place.y},
                                         .primitive = of->has_primitive,
                                         .most_invocations = TEXEL_MOST_FRAGMENTS,
                                         .most_words = MOST_WORDS};
    enum lap_status status;

    out->why = of->why;
    if (out->why)
        return LAP_OK;
    status = instrument(of->words, of->bytes, &wish, arena, &out->code);
    if (status != LAP_ERROR_FORMAT && status != LAP_ERROR_UNSUPPORTED)
        return status;
    out->why = sentence(arena, lap_error_message());
    return out->why ? LAP_OK : no_memory();
}

/* The different pipelines: *out_codes for each of them; by_pipeline: their struct shared. */
static enum lap_status list_pipelines(const struct texel_probes *p, struct lap_map *by_pipeline,
                                      struct lap_arena *arena, struct pipeline_code **out_codes, size_t *out_count)
{
    struct pipeline_code *codes = lap_arena_zalloc(arena, p->draw_count + 1, sizeof *codes, 8);
    size_t count = 0;

    *out_codes = codes;
    for (size_t i = 0; codes && i < p->draw_count; i++) {
        const uint64_t pipeline = p->draws[i]->probe.pipeline;
        struct shared *shared;
        if (lap_map_get(by_pipeline, pipeline))
            continue;
        shared = lap_arena_zalloc(arena, 1, sizeof *shared, 8);
        if (!shared || lap_map_put(by_pipeline, pipeline, shared, NULL) != LAP_OK)
            return no_memory();
        shared->number = count;
        codes[count++] = (struct pipeline_code){.pipeline = pipeline, .stage = VK_SHADER_STAGE_FRAGMENT_BIT};
    }
    *out_count = count;
    return codes ? LAP_OK : no_memory();
}

static enum lap_status change_codes(const struct texel_probes *p, const struct lap_reader *trace,
                                    struct lap_map *by_pipeline, struct lap_arena *arena)
{
    struct pipeline_code *codes;
    size_t count = 0;
    enum lap_status status = list_pipelines(p, by_pipeline, arena, &codes, &count);

    if (status == LAP_OK)
        status = pipeline_codes_find(trace, codes, count, arena);
    for (size_t i = 0; i < p->draw_count && status == LAP_OK; i++) {
        struct shared *shared = lap_map_get(by_pipeline, p->draws[i]->probe.pipeline);
        if (!shared->why && !shared->code.words)
            status = change_code(&codes[shared->number], p->draws[i], arena, shared);
    }
    return status;
}

/* ---- the plan ---- */

static uint64_t align(uint64_t at)
{
    return (at + PROBE_ALIGNMENT - 1) & ~(uint64_t)(PROBE_ALIGNMENT - 1);
}

/* A place for the results of a draw. */
static void place_draw(struct texel_probes *p, struct weave_plan *plan, struct texel_draw *draw, struct shared *shared)
{
    if (!shared->has_probe) {
        draw->probe.words = shared->code.words;
        draw->probe.bytes = shared->code.bytes;
        shared->number = plan->probe_count++;
        shared->has_probe = true;
        p->probes[shared->number] = draw->probe;
    }
    draw->code = &shared->code;
    draw->place.early = shared->code.early;
    draw->at = draw->use.at = plan->bytes = align(plan->bytes);
    draw->use.bytes = shared->code.region_bytes;
    draw->use.probe = shared->number;
    p->uses[plan->use_count++] = draw->use;
    plan->bytes += draw->use.bytes;
    if (plan->probe_range < draw->use.bytes)
        plan->probe_range = draw->use.bytes;
}

/* Also gives the stops the numbers of their uses in the plan. */
static void place_draws(struct texel_probes *p, struct weave_plan *plan, const struct lap_map *by_pipeline)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->stop_count; i++) {
        struct weave_stop stop = plan->stops[i];
        if (stop.kind == WEAVE_PROBE) {
            struct texel_draw *draw = p->draws[stop.first];
            struct shared *shared = lap_map_get(by_pipeline, draw->probe.pipeline);
            draw->why = shared->why;
            if (draw->why)
                continue;
            stop.first = plan->use_count;
            place_draw(p, plan, draw, shared);
        }
        plan->stops[kept++] = stop;
    }
    plan->stop_count = kept;
    plan->bytes += plan->probe_range; /* the device sees that much behind each place */
}

enum lap_status texel_probes_plan(struct texel_probes *p, const struct lap_reader *trace, struct weave_plan *plan,
                                  struct lap_arena *arena)
{
    struct lap_map by_pipeline;
    enum lap_status status;

    if (!p->draw_count)
        return LAP_OK;
    lap_map_init(&by_pipeline);
    status = change_codes(p, trace, &by_pipeline, arena);
    p->probes = calloc(p->draw_count, sizeof *p->probes);
    p->uses = calloc(p->draw_count, sizeof *p->uses);
    if (status == LAP_OK && (!p->probes || !p->uses))
        status = no_memory();
    if (status == LAP_OK) {
        place_draws(p, plan, &by_pipeline);
        plan->probes = p->probes;
        plan->uses = p->uses;
    }
    lap_map_finish(&by_pipeline);
    return status;
}

/* ---- results ---- */

/* Of a fragment: its region, of which all words are there. */
struct log {
    const struct texel_draw *draw;
    const uint32_t *words;
};

/* Where the outputs are in the log; NULL: they are not. */
static const uint32_t *outputs_of(const struct log *log)
{
    const struct instrument_code *code = log->draw->code;
    const uint32_t *words = &log->words[INSTRUMENT_HEADER];

    return code->outputs != UINT32_MAX && code->segments[code->outputs].words < MOST_WORDS &&
                   words[0] == code->outputs + 1
               ? words + 1
               : NULL;
}

/* Arrays take a location for each element: of vectors of four the place of an element is known. */
static bool has_location(const struct instrument_result *result, uint32_t location)
{
    if (location == UINT32_MAX || result->index || result->location > location)
        return false;
    return result->location == location ||
           (result->count % 4 == 0 && (location - result->location) * UINT64_C(4) < result->count);
}

/* Scalars of the output to the target, which several variables may share. */
static void take_output(const struct log *log, const struct instrument_result *result, const uint32_t *words,
                        uint32_t *known, struct fragment *out)
{
    const uint32_t each = result->bits == 64 ? 2 : 1;
    const uint32_t skipped = (log->draw->location - result->location) * 4;

    for (uint32_t i = 0; i + skipped < result->count && result->component + i < 4 && each == 1; i++) {
        out->output[result->component + i] = words[i + skipped];
        *known |= 1u << (result->component + i);
    }
    out->scalar = result->type == INSTRUMENT_FLOAT ? FRAGMENT_FLOAT
                  : result->type == INSTRUMENT_INT ? FRAGMENT_INT
                                                   : FRAGMENT_UINT;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void take_built_in(uint32_t built_in, uint32_t word, struct fragment *out)
{
    switch (built_in) {
    case BUILT_IN_FRAG_DEPTH:
        out->writes_depth = true;
        out->own_depth = float_of(word);
        break;
    case BUILT_IN_FRAG_STENCIL:
        out->writes_stencil = true;
        out->own_stencil = word;
        break;
    case BUILT_IN_SAMPLE_MASK:
        out->writes_samples = true;
        out->own_samples = word;
        break;
    default:
        break;
    }
}

static void take_outputs(const struct log *log, const uint32_t *words, struct fragment *out)
{
    const struct instrument_code *code = log->draw->code;
    const struct instrument_segment *segment = &code->segments[code->outputs];
    const uint32_t location = log->draw->location;
    uint32_t known = 0;

    for (uint32_t i = 0; i < segment->count; words += code->results[segment->first + i++].words) {
        const struct instrument_result *result = &code->results[segment->first + i];
        if (!result->has_location)
            take_built_in(result->built_in, words[0], out);
        else if (has_location(result, location))
            take_output(log, result, words, &known, out);
    }
    while (out->count < 4 && known >> out->count & 1)
        out->count++;
}

/* False: nothing was written there. */
static bool read_fragment(const struct log *log, struct fragment *out)
{
    const uint32_t *header = log->words, *outputs = outputs_of(log);

    *out = (struct fragment){.depth = float_of(header[INSTRUMENT_FIRST]),
                             .primitive = log->draw->code->primitive ? header[INSTRUMENT_SECOND] : FRAGMENT_UNKNOWN,
                             .front = header[INSTRUMENT_THIRD] != 0,
                             .returned = header[INSTRUMENT_STATE] & INSTRUMENT_RETURNED};
    if (out->returned && outputs)
        take_outputs(log, outputs, out);
    return header[INSTRUMENT_STATE] & INSTRUMENT_BEGAN;
}

static void read_fragments(const struct texel_draw *draw, const unsigned char *buffer, uint64_t bytes,
                           struct texel_fragments *out)
{
    const struct instrument_code *code = draw->code;
    const uint32_t *words = (const void *)(buffer + draw->at);

    if (draw->at > bytes || bytes - draw->at < code->region_bytes)
        return;
    out->matched = words[0];
    for (size_t i = 0; i < out->matched && i < TEXEL_MOST_FRAGMENTS; i++) {
        const struct log log = {draw, &words[code->first + i * code->stride]};
        out->count += read_fragment(&log, &out->fragments[out->count]);
    }
}

/* What is known of both. */
static void compare(const struct fragment_place *place, const struct fragment_texel *computed,
                    const struct fragment_texel *measured, struct texel_fragments *out)
{
    if (place->color && measured->has_color && computed->unknown != (1u << place->color->count) - 1) {
        out->computed |= VK_IMAGE_ASPECT_COLOR_BIT;
        if (fragment_colors_differ(place->color, computed, measured->color))
            out->differs |= VK_IMAGE_ASPECT_COLOR_BIT;
    }
    if (computed->has_depth && measured->has_depth) {
        const uint64_t steps = lap_texel_steps_between(place->depth, 0, computed->depth, measured->depth);
        out->computed |= VK_IMAGE_ASPECT_DEPTH_BIT;
        if (steps > (place->depth->numeric == GEN_NUMERIC_UNORM ? 1 : 0))
            out->differs |= VK_IMAGE_ASPECT_DEPTH_BIT;
    }
    if (computed->has_stencil && measured->has_stencil) {
        out->computed |= VK_IMAGE_ASPECT_STENCIL_BIT;
        if (computed->stencil != measured->stencil)
            out->differs |= VK_IMAGE_ASPECT_STENCIL_BIT;
    }
}

void texel_fragments_of(const struct texel_draw *draw, const unsigned char *buffer, uint64_t bytes,
                        const struct fragment_texel *before, const struct fragment_texel *after,
                        struct texel_fragments *out)
{
    struct fragment_texel texel = *before;

    *out = (struct texel_fragments){.absence = fragments_absence(&draw->state, &draw->place, &draw->draw)};
    if (draw->why)
        return;
    read_fragments(draw, buffer, bytes, out);
    out->ordered = fragments_sort(&draw->draw.counts, out->fragments, out->count);
    for (size_t i = 0; i < out->count; i++)
        fragment_tests_run(&draw->state, &draw->place, &out->fragments[i], &texel, &out->results[i]);
    if (out->count == out->matched)
        compare(&draw->place, &texel, after, out);
}

bool texel_draw_is_absent(const struct texel_draw *draw, enum fragment_absence *out)
{
    *out = fragments_absence(&draw->state, &draw->place, &draw->draw);
    return *out != FRAGMENTS_NOT_COVERED && *out != FRAGMENTS_CONDITION && *out != FRAGMENTS_EARLY;
}
