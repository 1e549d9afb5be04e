/* SPDX-License-Identifier: MIT */
#include "inspector/fragments/fragment_tests.h"

#include <math.h>
#include <string.h>

#include "vulkan/texel/texel_codes.h"
#include "vulkan/texel/texel_values.h"

#define NARROW_BITS 24u /* components with fewer bits are rounded by devices; others are kept */

/* ---- places ---- */

static bool is_in_rect(const VkRect2D *rect, const struct fragment_place *place)
{
    return place->x >= rect->offset.x && place->x < (int64_t)rect->offset.x + rect->extent.width &&
           place->y >= rect->offset.y && place->y < (int64_t)rect->offset.y + rect->extent.height;
}

/* In that of any viewport: which one is chosen is not known. */
static bool is_in_scissors(const struct raster_shape *shape, const struct fragment_place *place)
{
    for (uint32_t i = 0; i < shape->scissor_count; i++)
        if (is_in_rect(&shape->scissors[i], place))
            return true;
    return !shape->scissor_count;
}

static bool is_in_viewport(const VkViewport *v, const struct fragment_place *place)
{
    const double left = v->x, top = v->height < 0 ? (double)v->y + v->height : v->y;

    return (double)place->x + 1 > left && (double)place->x < left + v->width && (double)place->y + 1 > top &&
           (double)place->y < top + fabs((double)v->height);
}

static bool is_in_viewports(const struct raster_shape *shape, const struct fragment_place *place)
{
    for (uint32_t i = 0; i < shape->viewport_count; i++)
        if (is_in_viewport(&shape->viewports[i], place))
            return true;
    return !shape->viewport_count;
}

/* ---- comparisons ---- */

static bool holds(VkCompareOp op, double a, double b)
{
    switch (op) {
    case VK_COMPARE_OP_LESS:
        return a < b;
    case VK_COMPARE_OP_EQUAL:
        return a == b;
    case VK_COMPARE_OP_LESS_OR_EQUAL:
        return a <= b;
    case VK_COMPARE_OP_GREATER:
        return a > b;
    case VK_COMPARE_OP_NOT_EQUAL:
        return a != b;
    case VK_COMPARE_OP_GREATER_OR_EQUAL:
        return a >= b;
    case VK_COMPARE_OP_ALWAYS:
        return true;
    default:
        return false;
    }
}

static bool needs_stored(VkCompareOp op)
{
    return op != VK_COMPARE_OP_ALWAYS && op != VK_COMPARE_OP_NEVER;
}

/* ---- depth and stencil ---- */

static double depth_value(const struct gen_format *format, uint64_t code)
{
    unsigned char texel[FRAGMENT_TEXEL_BYTES] = {0};
    double values[4] = {0};

    lap_texel_put_code(format, 0, code, texel);
    lap_texel_values(format, texel, values);
    return values[0];
}

/* With one viewport; of several, the first one has the range. */
static uint64_t depth_code(const struct raster_state *state, const struct fragment_place *place,
                           const struct fragment *fragment)
{
    const struct raster_shape *shape = &state->shape;
    const VkViewport *viewport = &shape->viewports[0];
    bool is_own = fragment->writes_depth && !place->early;
    double value = is_own ? (double)fragment->own_depth : (double)fragment->depth;

    if (shape->clamps_depth) {
        const float a = shape->has_clamp_range ? shape->clamp_range[0] : viewport->minDepth;
        const float b = shape->has_clamp_range ? shape->clamp_range[1] : viewport->maxDepth;
        value = fmin(fmax(value, fmin((double)a, (double)b)), fmax((double)a, (double)b));
    }
    return lap_texel_code_of(place->depth, 0, value);
}

static uint8_t stencil_after(VkStencilOp op, uint8_t stored, uint8_t reference)
{
    switch (op) {
    case VK_STENCIL_OP_ZERO:
        return 0;
    case VK_STENCIL_OP_REPLACE:
        return reference;
    case VK_STENCIL_OP_INCREMENT_AND_CLAMP:
        return stored < UINT8_MAX ? (uint8_t)(stored + 1) : stored;
    case VK_STENCIL_OP_DECREMENT_AND_CLAMP:
        return stored ? (uint8_t)(stored - 1) : stored;
    case VK_STENCIL_OP_INVERT:
        return (uint8_t)~stored;
    case VK_STENCIL_OP_INCREMENT_AND_WRAP:
        return (uint8_t)(stored + 1);
    case VK_STENCIL_OP_DECREMENT_AND_WRAP:
        return (uint8_t)(stored - 1);
    default:
        return stored;
    }
}

/* The tests of one fragment. */
struct run {
    const struct raster_state *state;
    const struct fragment_place *place;
    const struct fragment *fragment;
    struct fragment_texel *texel;
    struct fragment_result *out;
    uint8_t reference;
};

static const VkStencilOpState *face_of(const struct run *r)
{
    return &r->state->tests.faces[r->fragment->front ? 0 : 1];
}

static void change_stencil(const struct run *r, VkStencilOp op)
{
    const VkStencilOpState *face = face_of(r);
    const uint8_t stored = r->texel->stencil, mask = (uint8_t)face->writeMask;

    r->texel->stencil = (uint8_t)((stored & ~mask) | (stencil_after(op, stored, r->reference) & mask));
}

static bool fail(const struct run *r, enum fragment_fate fate, VkCompareOp op, double own, double stored)
{
    r->out->fate = fate;
    r->out->op = op;
    r->out->own = own;
    r->out->stored = stored;
    return false;
}

static bool has_stencil_test(const struct run *r)
{
    return r->state->tests.stencil && r->place->stencil;
}

static bool has_depth_test(const struct run *r)
{
    return r->state->tests.depth && r->place->depth;
}

static bool passes_bounds(const struct run *r)
{
    const struct raster_tests *t = &r->state->tests;
    double stored;

    if (!t->bounds || !r->place->depth)
        return true;
    if (!r->texel->has_depth)
        return fail(r, FRAGMENT_UNCERTAIN, VK_COMPARE_OP_ALWAYS, 0, 0);
    stored = depth_value(r->place->depth, r->texel->depth);
    return (stored >= (double)t->least && stored <= (double)t->most) ||
           fail(r, FRAGMENT_BOUNDS, VK_COMPARE_OP_ALWAYS, 0, stored);
}

static bool passes_stencil(struct run *r)
{
    const VkStencilOpState *face = face_of(r);
    const uint8_t mask = (uint8_t)face->compareMask;
    bool is_own = r->fragment->writes_stencil && !r->place->early;

    if (!has_stencil_test(r))
        return true;
    r->reference = (uint8_t)(is_own ? r->fragment->own_stencil : face->reference);
    if (!r->texel->has_stencil && needs_stored(face->compareOp))
        return fail(r, FRAGMENT_UNCERTAIN, face->compareOp, r->reference & mask, 0);
    if (holds(face->compareOp, r->reference & mask, r->texel->stencil & mask))
        return true;
    fail(r, FRAGMENT_STENCIL, face->compareOp, r->reference & mask, r->texel->stencil & mask);
    change_stencil(r, face->failOp);
    return false;
}

static bool passes_depth(struct run *r)
{
    const struct raster_tests *t = &r->state->tests;
    const double own = r->out->depth;
    double stored;

    if (!has_depth_test(r))
        return true;
    if (!r->texel->has_depth && needs_stored(t->compare))
        return fail(r, FRAGMENT_UNCERTAIN, t->compare, 0, 0);
    stored = r->texel->has_depth ? depth_value(r->place->depth, r->texel->depth) : 0;
    if (!holds(t->compare, own, stored))
        return fail(r, FRAGMENT_DEPTH, t->compare, own, stored);
    if (t->writes_depth) {
        r->texel->depth = depth_code(r->state, r->place, r->fragment);
        r->texel->has_depth = true;
    }
    return true;
}

/* Depth bounds, stencil and depth. */
static bool passes_tests(struct run *r)
{
    const VkStencilOpState *face = face_of(r);
    bool passes;

    if (!passes_bounds(r) || !passes_stencil(r))
        return false;
    passes = passes_depth(r);
    if (has_stencil_test(r) && r->out->fate != FRAGMENT_UNCERTAIN)
        change_stencil(r, passes ? face->passOp : face->depthFailOp);
    return passes;
}

/* ---- color ---- */

/* A blend whose result is the output. */
static bool is_replacing(const VkPipelineColorBlendAttachmentState *b)
{
    return b->srcColorBlendFactor == VK_BLEND_FACTOR_ONE && b->dstColorBlendFactor == VK_BLEND_FACTOR_ZERO &&
           b->colorBlendOp == VK_BLEND_OP_ADD && b->srcAlphaBlendFactor == VK_BLEND_FACTOR_ONE &&
           b->dstAlphaBlendFactor == VK_BLEND_FACTOR_ZERO && b->alphaBlendOp == VK_BLEND_OP_ADD;
}

static bool is_float(const struct gen_format *format)
{
    return format->numeric == GEN_NUMERIC_SFLOAT || format->numeric == GEN_NUMERIC_UFLOAT ||
           format->numeric == GEN_NUMERIC_SRGB;
}

/* Whether the output alone decides on the color. */
static bool is_computed(const struct raster_output *o, const struct raster_target *target,
                        const struct gen_format *format)
{
    if (format->exponent)
        return false;
    if (o->has_logic_op)
        return is_float(format) || o->logic_op == VK_LOGIC_OP_COPY;
    return !target->blend.blendEnable || lap_texel_has_integers(format) || is_replacing(&target->blend);
}

static int number_of(char channel)
{
    return channel == 'R' ? 0 : channel == 'G' ? 1 : channel == 'B' ? 2 : 3;
}

static double float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* False: the output says nothing about the component. */
static bool component_code(const struct run *r, unsigned component, uint64_t *out)
{
    const struct gen_format *format = r->place->color;
    const struct fragment *f = r->fragment;
    const uint32_t number = (uint32_t)number_of(format->components[component].channel);
    bool is_one = r->state->output.alpha_to_one && number == 3;

    if (lap_texel_has_integers(format) != (f->scalar != FRAGMENT_FLOAT) || (number >= f->count && !is_one))
        return false;
    if (f->scalar != FRAGMENT_FLOAT) {
        *out = f->scalar == FRAGMENT_INT ? (uint64_t)(int64_t)(int32_t)f->output[number] : f->output[number];
        return true;
    }
    if (!is_one && isnan(float_of(f->output[number])))
        return false;
    *out = lap_texel_code_of(format, component, is_one ? 1 : float_of(f->output[number]));
    return true;
}

static void write_color(const struct run *r)
{
    const struct gen_format *format = r->place->color;
    const struct raster_output *o = &r->state->output;
    const struct raster_target *target;

    if (!format || r->place->target >= o->target_count)
        return;
    target = &o->targets[r->place->target];
    for (unsigned i = 0; i < format->count && !target->is_off; i++) {
        uint64_t code;
        if (!(target->blend.colorWriteMask >> number_of(format->components[i].channel) & 1))
            continue;
        r->out->writes = true;
        r->out->blends = !is_computed(o, target, format);
        r->texel->unknown |= (uint8_t)(1u << i);
        if (r->out->blends || !component_code(r, i, &code))
            continue;
        lap_texel_put_code(format, i, code, r->texel->color);
        r->texel->unknown &= (uint8_t) ~(1u << i);
    }
}

/* ---- the whole ---- */

static void set_uncertain(const struct run *r)
{
    const struct gen_format *format = r->place->color;

    r->texel->has_depth = r->texel->has_stencil = false;
    r->texel->unknown = format ? (uint8_t)((1u << format->count) - 1) : 0;
    r->out->fate = FRAGMENT_UNCERTAIN;
}

/* Coverage by alpha: only of 0 and 1 it is sure. */
static enum fragment_fate covers(const struct run *r)
{
    const struct fragment *f = r->fragment;
    double alpha;

    if (!r->state->output.alpha_to_coverage)
        return FRAGMENT_PASSED;
    if (f->scalar != FRAGMENT_FLOAT || f->count < 4 || r->place->target != 0)
        return FRAGMENT_UNCERTAIN;
    alpha = float_of(f->output[3]);
    return alpha >= 1 ? FRAGMENT_PASSED : alpha <= 0 ? FRAGMENT_COVERAGE : FRAGMENT_UNCERTAIN;
}

/* Behind the code: what it has left of the coverage. */
static enum fragment_fate shaded(const struct run *r)
{
    const struct fragment *f = r->fragment;

    if (!f->returned)
        return FRAGMENT_DISCARDED;
    if (f->writes_samples && !(f->own_samples & 1))
        return FRAGMENT_SAMPLE_MASK;
    return covers(r);
}

static enum fragment_fate in_front(const struct run *r)
{
    if (!is_in_scissors(&r->state->shape, r->place))
        return FRAGMENT_SCISSOR;
    return r->state->output.sample_mask & 1 ? FRAGMENT_PASSED : FRAGMENT_SAMPLE_MASK;
}

static void run(struct run *r)
{
    struct fragment_result *out = r->out;

    out->fate = in_front(r);
    if (out->fate != FRAGMENT_PASSED || (r->place->early && !passes_tests(r)))
        return;
    out->fate = shaded(r);
    if (out->fate != FRAGMENT_PASSED || (!r->place->early && !passes_tests(r)))
        return;
    write_color(r);
}

void fragment_tests_run(const struct raster_state *state, const struct fragment_place *place,
                        const struct fragment *fragment, struct fragment_texel *texel, struct fragment_result *out)
{
    struct run r = {.state = state, .place = place, .fragment = fragment, .texel = texel, .out = out};

    *out = (struct fragment_result){.fate = FRAGMENT_UNCERTAIN, .depth = (double)fragment->depth};
    if (state->is_known && place->depth)
        out->depth = depth_value(place->depth, depth_code(state, place, fragment));
    if (state->is_known)
        run(&r);
    if (out->fate == FRAGMENT_UNCERTAIN)
        set_uncertain(&r);
    out->after = *texel;
}

bool fragments_sort(const struct draw_counts *counts, struct fragment *fragments, size_t count)
{
    bool is_known = counts->draws == 1 && counts->instances == 1;

    for (size_t i = 0; i < count; i++)
        is_known &= fragments[i].primitive != FRAGMENT_UNKNOWN;
    for (size_t i = 1; is_known && i < count; i++) {
        const struct fragment moved = fragments[i];
        size_t at = i;
        for (; at && fragments[at - 1].primitive > moved.primitive; at--)
            fragments[at] = fragments[at - 1];
        fragments[at] = moved;
    }
    for (size_t i = 1; i < count; i++) /* geometry shaders may give one number to several */
        is_known &= fragments[i].primitive != fragments[i - 1].primitive;
    return is_known || count < 2;
}

unsigned fragment_colors_differ(const struct gen_format *color, const struct fragment_texel *computed,
                                const unsigned char *measured)
{
    unsigned differ = 0;

    for (unsigned i = 0; i < color->count; i++) {
        const uint64_t least = !lap_texel_has_integers(color) && color->components[i].bits < NARROW_BITS ? 1 : 0;
        if (!(computed->unknown >> i & 1))
            differ += lap_texel_steps_between(color, i, lap_texel_code(color, i, computed->color),
                                              lap_texel_code(color, i, measured)) > least;
    }
    return differ;
}

/* ---- draws without fragments ---- */

static bool is_triangles(VkPrimitiveTopology topology)
{
    switch (topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
        return false;
    default:
        return true;
    }
}

enum fragment_absence fragments_absence(const struct raster_state *state, const struct fragment_place *place,
                                        const struct fragment_draw *draw)
{
    const struct raster_shape *shape = &state->shape;
    const VkExtent2D area = draw->area.extent;

    if (draw_counts_are_nothing(&draw->counts))
        return FRAGMENTS_NO_VERTICES;
    if (state->is_known && shape->discards)
        return FRAGMENTS_RASTERIZER_DISCARD;
    if (area.width && area.height && !is_in_rect(&draw->area, place))
        return FRAGMENTS_RENDER_AREA;
    if (state->is_known && !is_in_scissors(shape, place))
        return FRAGMENTS_SCISSOR;
    if (state->is_known && !is_in_viewports(shape, place))
        return FRAGMENTS_VIEWPORT;
    if (state->is_known && shape->cull == VK_CULL_MODE_FRONT_AND_BACK && is_triangles(state->topology))
        return FRAGMENTS_CULLED;
    if (state->is_known && !(state->output.sample_mask & 1))
        return FRAGMENTS_SAMPLE_MASK;
    if (draw->has_condition)
        return FRAGMENTS_CONDITION;
    return place->early ? FRAGMENTS_EARLY : FRAGMENTS_NOT_COVERED;
}
