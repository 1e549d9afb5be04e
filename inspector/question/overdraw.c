/* SPDX-License-Identifier: MIT */
#include "inspector/question/overdraw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "inspector/question/pass_targets.h"
#include "inspector/question/pipeline_code.h"
#include "inspector/question/place_range.h"
#include "inspector/question/probe_plan.h"
#include "inspector/spirv/instrument.h"
#include "inspector/state/attachments.h"
#include "inspector/twin/weave.h"

#define MOST_BYTES     ((uint64_t)512 << 20)
#define MOST_DRAWS     65536u
#define FRAGMENT_MODEL 4u

/* A draw that may be counted. */
struct draw {
    struct position position;
    struct probe probe;
    struct probe_use use;
    size_t pass;
};

struct planner {
    struct overdraw *out;
    struct place_range range;
    struct image_infos images;
    struct lap_arena arena; /* of a visit */
    struct draw *draws;
    size_t draw_count, draw_capacity;
    struct pipeline_code *codes; /* of the pipelines of draws, each once */
    size_t code_count;
    VkExtent2D *sizes; /* of probes: what they count */
    struct weave_plan plan;
};

static enum lap_status no_memory(void)
{
    return lap_no_memory("counts of fragments");
}

static enum lap_status leave_out(struct planner *p, const char *why)
{
    if (!p->out->without++)
        p->out->why = why;
    return LAP_OK;
}

static bool is_same(const struct position *a, const struct position *b)
{
    return a->count == b->count && memcmp(a->numbers, b->numbers, a->count * sizeof *a->numbers) == 0;
}

/* ---- render passes ---- */

static uint32_t at_level(uint32_t size, uint32_t level)
{
    return level < 32 && size >> level ? size >> level : 1;
}

/* What all attachments have. */
static void size_of(const struct planner *p, const struct bound_visit *visit, const struct pass_targets *targets,
                    uint32_t *width, uint32_t *height)
{
    const struct fact_framebuffer *framebuffer =
        fact_of_framebuffer(visit->bound->facts, visit->bound->pass.framebuffer);

    *width = framebuffer ? framebuffer->width : 0;
    *height = framebuffer ? framebuffer->height : 0;
    for (size_t i = 0; i < targets->attachment_count; i++) {
        const struct attachment *a = &targets->attachments[i];
        const VkImageCreateInfo *info = a->image ? image_info_of(&p->images, a->image) : NULL;
        const uint32_t level = a->range.baseMipLevel;
        if (!info || a->role == ATTACHMENT_SHADING_RATE || a->role == ATTACHMENT_DENSITY_MAP)
            continue;
        if (!*width || at_level(info->extent.width, level) < *width)
            *width = at_level(info->extent.width, level);
        if (!*height || at_level(info->extent.height, level) < *height)
            *height = at_level(info->extent.height, level);
    }
}

static enum lap_status pass_of(struct planner *p, const struct bound_visit *visit, const struct pass_targets *targets,
                               size_t *out)
{
    struct overdraw *o = p->out;
    struct overdraw_pass pass = {.begin = pass_targets_begin(targets, &visit->position), .at = p->plan.bytes};

    for (*out = o->pass_count; *out > 0 && !is_same(&o->passes[*out - 1].begin, &pass.begin); --*out) {
    }
    if (*out > 0) {
        --*out;
        return LAP_OK;
    }
    size_of(p, visit, targets, &pass.width, &pass.height);
    if (!pass.width || !pass.height)
        return LAP_END;
    p->plan.bytes += ((uint64_t)pass.width * pass.height * sizeof(uint32_t) + PROBE_ALIGNMENT - 1) / PROBE_ALIGNMENT *
                     PROBE_ALIGNMENT;
    if (p->plan.bytes > MOST_BYTES)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the counts would take more than %u MiB: a smaller place takes less",
                        (unsigned)(MOST_BYTES >> 20));
    if (!lap_array_grow(&o->passes, sizeof *o->passes, &o->pass_capacity, o->pass_count + 1))
        return no_memory();
    *out = o->pass_count;
    o->passes[o->pass_count++] = pass;
    return LAP_OK;
}

/* ---- draws ---- */

static enum lap_status see_draw(struct planner *p, const struct bound_visit *visit)
{
    struct pass_targets targets;
    struct draw draw = {.position = visit->position, .probe = {.stage = VK_SHADER_STAGE_FRAGMENT_BIT}};
    const char *why;
    enum lap_status status = probe_plan_command(visit, &p->out->arena, &draw.probe, &draw.use, &why);

    if (status != LAP_OK || why)
        return status == LAP_OK ? leave_out(p, why) : status;
    status = pass_targets_find(visit, &p->arena, &targets);
    if (status == LAP_OK && targets.kind == BOUND_NO_PASS)
        return leave_out(p, "nothing begins its render pass");
    if (status == LAP_OK)
        status = pass_of(p, visit, &targets, &draw.pass);
    if (status == LAP_END)
        return leave_out(p, "its render pass has no attachments");
    if (status != LAP_OK)
        return status;
    if (p->draw_count >= MOST_DRAWS)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "there are more than %u draws: a smaller place has fewer", MOST_DRAWS);
    if (!lap_array_grow(&p->draws, sizeof *p->draws, &p->draw_capacity, p->draw_count + 1))
        return no_memory();
    p->draws[p->draw_count++] = draw;
    return LAP_OK;
}

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct planner *p = user;

    if (!place_range_has(&p->range, visit))
        return place_range_is_over(&p->range) ? LAP_END : LAP_OK;
    lap_arena_reset(&p->arena);
    return visit->work == POSITION_DRAW ? see_draw(p, visit) : LAP_OK;
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    return image_infos_see(&((struct planner *)user)->images, call);
}

static enum lap_status walk(struct planner *p, const struct lap_reader *trace, const struct position *at)
{
    static const uint16_t calls[] = {IMAGE_INFOS_COMMANDS, GEN_COMMAND_NONE};
    struct bound_walk_options options = {.visit_call = see_call, .calls = calls};
    enum lap_status status = place_range_begin(&p->range, trace, at, &options);
    char text[POSITION_TEXT_BYTES];

    if (status != LAP_OK)
        return status;
    p->out->wish.at = p->range.position;
    status = bound_walk(trace, &options, see_command, p);
    if (status != LAP_OK || p->draw_count)
        return status;
    position_text(at, text);
    return p->out->without ? lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %s", text, p->out->why)
                           : lap_fail(LAP_ERROR_ARGUMENT, "%s has no draw", text);
}

/* ---- code ---- */

static const struct pipeline_code *code_of(const struct planner *p, uint64_t pipeline)
{
    for (size_t i = 0; i < p->code_count; i++)
        if (p->codes[i].pipeline == pipeline)
            return &p->codes[i];
    return NULL;
}

static enum lap_status find_codes(struct planner *p, const struct lap_reader *trace)
{
    p->codes = lap_arena_zalloc(&p->out->arena, p->draw_count, sizeof *p->codes, 8);
    if (!p->codes)
        return no_memory();
    for (size_t i = 0; i < p->draw_count; i++)
        if (!code_of(p, p->draws[i].probe.pipeline))
            p->codes[p->code_count++] =
                (struct pipeline_code){.pipeline = p->draws[i].probe.pipeline, .stage = VK_SHADER_STAGE_FRAGMENT_BIT};
    return pipeline_codes_find(trace, p->codes, p->code_count, &p->out->arena);
}

/* The probe of a draw's pipeline that counts for a pass of this size; SIZE_MAX: there is none yet. */
static size_t probe_of(const struct planner *p, const struct draw *draw)
{
    const struct overdraw_pass *pass = &p->out->passes[draw->pass];

    for (size_t i = 0; i < p->plan.probe_count; i++)
        if (p->plan.probes[i].pipeline == draw->probe.pipeline && p->sizes[i].width == pass->width &&
            p->sizes[i].height == pass->height)
            return i;
    return SIZE_MAX;
}

/* *out_why: this draw can't be counted. */
static enum lap_status make_probe(struct planner *p, size_t number, struct probe *probes, const char **out_why)
{
    struct draw *draw = &p->draws[number];
    const struct overdraw_pass *pass = &p->out->passes[draw->pass];
    const struct pipeline_code *code = code_of(p, draw->probe.pipeline);
    struct instrument_wish wish = {.kind = INSTRUMENT_COUNT,
                                   .model = FRAGMENT_MODEL,
                                   .set = draw->probe.set,
                                   .early = !p->out->wish.rasterized,
                                   .width = pass->width,
                                   .height = pass->height};
    struct instrument_code made;
    enum lap_status status;

    *out_why = code->why;
    draw->use.probe = probe_of(p, draw);
    if (code->why || draw->use.probe != SIZE_MAX)
        return LAP_OK;
    wish.entry = code->entry;
    status = instrument(code->words, code->bytes, &wish, &p->out->arena, &made);
    if (status == LAP_ERROR_UNSUPPORTED || status == LAP_ERROR_FORMAT) {
        *out_why = "its fragment shader can't be changed";
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    draw->probe.words = made.words;
    draw->probe.bytes = made.bytes;
    draw->use.probe = p->plan.probe_count;
    p->sizes[p->plan.probe_count] = (VkExtent2D){pass->width, pass->height};
    probes[p->plan.probe_count++] = draw->probe;
    return LAP_OK;
}

/* ---- the whole ---- */

static enum lap_status add_stop(struct planner *p, size_t number)
{
    struct draw *draw = &p->draws[number];
    struct overdraw_pass *pass = &p->out->passes[draw->pass];
    const uint64_t bytes = (uint64_t)pass->width * pass->height * sizeof(uint32_t);

    draw->use.at = pass->at;
    draw->use.bytes = pass->draws++ ? 0 : bytes;
    if (bytes > p->plan.probe_range)
        p->plan.probe_range = bytes;
    p->plan.uses[p->plan.use_count] = draw->use;
    p->plan.stops[p->plan.stop_count++] = (struct weave_stop){
        .kind = WEAVE_PROBE, .position = draw->position, .before = true, .first = p->plan.use_count++};
    return LAP_OK;
}

static enum lap_status plan_draws(struct planner *p)
{
    struct probe *probes = lap_arena_zalloc(&p->out->arena, p->draw_count, sizeof *probes, 8);
    enum lap_status status = LAP_OK;

    p->plan.probes = probes;
    p->plan.uses = lap_arena_zalloc(&p->out->arena, p->draw_count, sizeof *p->plan.uses, 8);
    p->plan.stops = lap_arena_zalloc(&p->out->arena, p->draw_count, sizeof *p->plan.stops, 8);
    p->sizes = lap_arena_zalloc(&p->out->arena, p->draw_count, sizeof *p->sizes, 8);
    if (!probes || !p->sizes || !p->plan.uses || !p->plan.stops)
        return no_memory();
    for (size_t i = 0; i < p->draw_count && status == LAP_OK; i++) {
        const char *why;
        status = make_probe(p, i, probes, &why);
        if (status == LAP_OK)
            status = why ? leave_out(p, why) : add_stop(p, i);
    }
    if (status == LAP_OK && !p->plan.stop_count)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "no draw can be counted: %s", p->out->why);
    p->plan.bytes += p->plan.probe_range; /* that fits behind each place */
    return status;
}

enum lap_status edit_overdraw(const struct lap_reader *trace, const struct overdraw_wish *wish, struct lap_edits *edits,
                              struct overdraw *out)
{
    struct planner p = {.out = out, .plan = {.ends = true}};
    struct weave_result woven = {.buffer = 0};
    enum lap_status status;

    out->wish = *wish;
    lap_arena_init(&out->arena, 0);
    lap_arena_init(&p.arena, 0);
    image_infos_init(&p.images);
    status = walk(&p, trace, &wish->at);
    if (status == LAP_OK)
        status = find_codes(&p, trace);
    if (status == LAP_OK)
        status = plan_draws(&p);
    if (status == LAP_OK)
        status = edit_weave(trace, &p.plan, edits, &woven);
    out->buffer = woven.buffer;
    image_infos_finish(&p.images);
    lap_arena_finish(&p.arena);
    free(p.draws);
    return status;
}

void overdraw_finish(struct overdraw *overdraw)
{
    free(overdraw->passes);
    lap_arena_finish(&overdraw->arena);
    *overdraw = (struct overdraw){.pass_count = 0};
}
