/* SPDX-License-Identifier: MIT */
#include "replayer/verify/texel_fragments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "vulkan/texel/texel_codes.h"

#define TEXT_BYTES 200u

static const char *const fate_names[] = {
    [FRAGMENT_PASSED] = "passed",   [FRAGMENT_DISCARDED] = "discarded",     [FRAGMENT_SCISSOR] = "scissor",
    [FRAGMENT_STENCIL] = "stencil", [FRAGMENT_SAMPLE_MASK] = "sample_mask", [FRAGMENT_COVERAGE] = "coverage",
    [FRAGMENT_DEPTH] = "depth",     [FRAGMENT_BOUNDS] = "depth_bounds",     [FRAGMENT_UNCERTAIN] = "unknown"};

static const struct {
    const char *name, *text;
} absences[] = {[FRAGMENTS_NOT_COVERED] = {"not_covered", "no primitive covers the texel, or it is culled"},
                [FRAGMENTS_NO_VERTICES] = {"no_vertices", "it draws no vertices or no instances"},
                [FRAGMENTS_RASTERIZER_DISCARD] = {"rasterizer_discard", "the rasterizer discards all primitives"},
                [FRAGMENTS_RENDER_AREA] = {"render_area", "the render area leaves the texel out"},
                [FRAGMENTS_SCISSOR] = {"scissor", "the scissor leaves the texel out"},
                [FRAGMENTS_VIEWPORT] = {"viewport", "the viewport leaves the texel out"},
                [FRAGMENTS_CULLED] = {"culled", "the cull mode is FRONT_AND_BACK"},
                [FRAGMENTS_SAMPLE_MASK] = {"sample_mask", "the sample mask leaves the texel out"},
                [FRAGMENTS_CONDITION] = {"condition", "conditional rendering is on, or no primitive covers the texel"},
                [FRAGMENTS_EARLY] = {"early", "no primitive covers the texel, or tests in front of the shader failed"}};

static const struct {
    VkImageAspectFlagBits aspect;
    const char *name;
} aspects[] = {{VK_IMAGE_ASPECT_COLOR_BIT, "color"},
               {VK_IMAGE_ASPECT_DEPTH_BIT, "depth"},
               {VK_IMAGE_ASPECT_STENCIL_BIT, "stencil"}};

static const char *op_name(VkCompareOp op)
{
    static const char *const names[] = {
        "NEVER", "LESS", "EQUAL", "LESS_OR_EQUAL", "GREATER", "NOT_EQUAL", "GREATER_OR_EQUAL", "ALWAYS"};

    return (unsigned)op < sizeof names / sizeof *names ? names[op] : "?";
}

/* ---- what was measured ---- */

static bool code_at(const struct texel_results *results, VkFormat format, VkImageAspectFlagBits aspect, uint64_t at,
                    uint64_t *out)
{
    struct texel_value value;

    if (!texel_value_at(results, format, aspect, at, &value))
        return false;
    *out = lap_texel_code(value.format, 0, value.bytes);
    return true;
}

static const struct texel_change *change_of(const struct texel_history *h, const struct texel_row *row,
                                            VkImageAspectFlagBits aspect)
{
    return h->wish.aspect == aspect                ? &row->value
           : aspect == VK_IMAGE_ASPECT_DEPTH_BIT   ? &row->depth
           : aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? &row->stencil
                                                   : NULL;
}

static struct fragment_texel measured(const struct texel_history *h, const struct texel_row *row,
                                      const struct texel_results *results, bool after)
{
    const struct fragment_place *place = &row->draw->place;
    const struct texel_change *color = change_of(h, row, VK_IMAGE_ASPECT_COLOR_BIT),
                              *depth = change_of(h, row, VK_IMAGE_ASPECT_DEPTH_BIT),
                              *stencil = change_of(h, row, VK_IMAGE_ASPECT_STENCIL_BIT);
    struct fragment_texel out = {.has_depth = false};
    struct texel_value value;
    uint64_t code = 0;

    if (place->color && color &&
        texel_value_at(results, color->format, h->wish.aspect, after ? color->after : color->before, &value)) {
        out.has_color = true;
        memcpy(out.color, value.bytes, sizeof out.color);
    } else if (place->color) {
        out.unknown = (uint8_t)((1u << place->color->count) - 1);
    }
    out.has_depth =
        place->depth && depth->image &&
        code_at(results, depth->format, VK_IMAGE_ASPECT_DEPTH_BIT, after ? depth->after : depth->before, &out.depth);
    out.has_stencil =
        place->stencil && stencil->image &&
        code_at(results, stencil->format, VK_IMAGE_ASPECT_STENCIL_BIT, after ? stencil->after : stencil->before, &code);
    out.stencil = (uint8_t)code;
    return out;
}

void texel_fragments_find(const struct texel_history *history, const struct texel_row *row,
                          const struct texel_results *results, struct texel_fragments *out)
{
    const struct fragment_texel before = measured(history, row, results, false),
                                after = measured(history, row, results, true);

    texel_fragments_of(row->draw, results->data, results->bytes, &before, &after, out);
}

void texel_fragments_count(const struct texel_fragments *fragments, struct texel_shares *shares)
{
    shares->draws += fragments->matched != 0;
    shares->computed += fragments->matched && fragments->computed;
    shares->equal += fragments->matched && fragments->computed && !fragments->differs;
}

/* ---- text ---- */

static double depth_of(const struct fragment_place *place, uint64_t code)
{
    unsigned char texel[TEXEL_VALUE_MOST_BYTES] = {0};
    struct texel_value value;

    lap_texel_put_code(place->depth, 0, code, texel);
    texel_value_of(place->depth, texel, &value);
    return value.values[0];
}

static const char *fate_text(const struct fragment_result *result, char out[TEXT_BYTES])
{
    switch (result->fate) {
    case FRAGMENT_PASSED:
        return "passed";
    case FRAGMENT_DISCARDED:
        return "discarded by the shader";
    case FRAGMENT_SCISSOR:
        return "failed: scissor";
    case FRAGMENT_SAMPLE_MASK:
        return "failed: sample mask";
    case FRAGMENT_COVERAGE:
        return "failed: coverage by alpha";
    case FRAGMENT_UNCERTAIN:
        return "not computed";
    case FRAGMENT_BOUNDS:
        snprintf(out, TEXT_BYTES, "failed: depth bounds (%.9g is there)", result->stored);
        return out;
    case FRAGMENT_STENCIL:
        snprintf(out, TEXT_BYTES, "failed: stencil (%.0f %s %.0f)", result->own, op_name(result->op), result->stored);
        return out;
    case FRAGMENT_DEPTH:
        snprintf(out, TEXT_BYTES, "failed: depth (%s %.9g)", op_name(result->op), result->stored);
        return out;
    }
    return "";
}

static double output_value(const struct fragment *fragment, uint32_t number)
{
    const uint32_t word = fragment->output[number];
    float value;

    memcpy(&value, &word, sizeof value);
    return fragment->scalar == FRAGMENT_FLOAT ? (double)value
           : fragment->scalar == FRAGMENT_INT ? (double)(int32_t)word
                                              : (double)word;
}

static void after_text(const struct texel_draw *draw, const struct fragment_result *result, char out[TEXT_BYTES])
{
    struct texel_value value;
    size_t length;

    out[0] = 0;
    if (!draw->place.color || result->fate != FRAGMENT_PASSED)
        return;
    if (!result->writes) {
        snprintf(out, TEXT_BYTES, "writes no color");
    } else if (result->after.unknown) {
        snprintf(out, TEXT_BYTES, result->blends ? "blended" : "-> not computed");
    } else {
        texel_value_of(draw->place.color, result->after.color, &value);
        length = (size_t)snprintf(out, TEXT_BYTES, "-> ");
        texel_value_text(&value, out + length, TEXT_BYTES - length);
    }
}

static void print_fragment(const struct texel_draw *draw, const struct fragment *fragment,
                           const struct fragment_result *result, const int widths[3])
{
    char primitive[TEXT_BYTES] = "", fate[TEXT_BYTES], after[TEXT_BYTES], output[TEXT_BYTES] = "";
    size_t length = 0;

    if (fragment->primitive != FRAGMENT_UNKNOWN)
        snprintf(primitive, sizeof primitive, "primitive %" PRIu32, fragment->primitive);
    for (uint32_t i = 0; i < fragment->count && length < sizeof output; i++)
        length += (size_t)snprintf(output + length, sizeof output - length, "%s%.6g", i ? " " : "output ",
                                   output_value(fragment, i));
    after_text(draw, result, after);
    printf("    %-*s%s%-5s  depth %-11.9g  %-*s", widths[0], primitive, widths[0] ? "  " : "",
           fragment->front ? "front" : "back", result->depth, output[0] || after[0] ? widths[1] : 0,
           fate_text(result, fate));
    if (output[0] || after[0])
        printf("  %-*s", after[0] ? widths[2] : 0, output);
    if (after[0])
        printf("  %s", after);
    putchar('\n');
}

static void widen(int *width, int length)
{
    *width = *width > length ? *width : length;
}

static void print_fragments(const struct texel_row *row, const struct texel_fragments *f)
{
    int widths[3] = {0, 0, 0};
    char text[TEXT_BYTES];

    for (size_t i = 0; i < f->count; i++) {
        int length = 7;
        if (f->fragments[i].primitive != FRAGMENT_UNKNOWN)
            widen(&widths[0], snprintf(NULL, 0, "primitive %" PRIu32, f->fragments[i].primitive));
        widen(&widths[1], (int)strlen(fate_text(&f->results[i], text)));
        for (uint32_t k = 0; k < f->fragments[i].count; k++)
            length += snprintf(NULL, 0, "%s%.6g", k ? " " : "", output_value(&f->fragments[i], k));
        widen(&widths[2], f->fragments[i].count ? length : 0);
    }
    for (size_t i = 0; i < f->count; i++)
        print_fragment(row->draw, &f->fragments[i], &f->results[i], widths);
}

/* The computed value of an aspect. */
static void end_text(const struct texel_draw *draw, const struct fragment_texel *end, VkImageAspectFlagBits aspect,
                     char out[TEXT_BYTES])
{
    struct texel_value value;

    out[0] = 0;
    if (aspect == VK_IMAGE_ASPECT_DEPTH_BIT) {
        snprintf(out, TEXT_BYTES, " %.9g", depth_of(&draw->place, end->depth));
    } else if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT) {
        snprintf(out, TEXT_BYTES, " %u", (unsigned)end->stencil);
    } else if (!end->unknown) {
        texel_value_of(draw->place.color, end->color, &value);
        out[0] = ' ';
        texel_value_text(&value, out + 1, TEXT_BYTES - 1);
    }
}

static void print_end(const struct texel_draw *draw, const struct texel_fragments *f)
{
    const char *separator = "";
    char text[TEXT_BYTES];

    if (!f->differs)
        return;
    if (!f->count) {
        puts("    but it was changed");
        return;
    }
    printf("    but computed: ");
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (f->differs & aspects[i].aspect) {
            end_text(draw, &f->results[f->count - 1].after, aspects[i].aspect, text);
            printf("%s%s%s", separator, aspects[i].name, text);
            separator = ", ";
        }
    puts(f->ordered ? "" : "; the order of these fragments is not known");
}

void texel_fragments_text(const struct texel_row *row, const struct texel_fragments *f)
{
    enum fragment_absence absence;

    if (row->draw->why && texel_draw_is_absent(row->draw, &absence))
        printf("  no fragment: %s\n", absences[absence].text);
    else if (row->draw->why)
        printf("  its fragments are not known: %s\n", row->draw->why);
    else if (!f->matched)
        printf("  no fragment: %s\n", absences[f->absence].text);
    else if (f->matched == 1 && f->count == 1 && f->results[0].fate == FRAGMENT_DISCARDED)
        puts("  1 fragment, discarded by the shader");
    else if (f->count < f->matched)
        printf("  %" PRIu64 " fragments; these are the first %zu\n", f->matched, f->count);
    else
        printf("  %" PRIu64 " fragment%s\n", f->matched, f->matched == 1 ? "" : "s");
    if (f->count > 1 || (f->count == 1 && f->results[0].fate != FRAGMENT_DISCARDED))
        print_fragments(row, f);
    print_end(row->draw, f);
}

/* ---- JSON ---- */

/* Functions below do nothing for NULL; cJSON takes NULL for an object. */
static void add_test(cJSON *object, const struct fragment_result *result)
{
    cJSON *test;

    if (result->fate != FRAGMENT_DEPTH && result->fate != FRAGMENT_STENCIL && result->fate != FRAGMENT_BOUNDS) {
        (void)cJSON_AddNullToObject(object, "test");
        return;
    }
    test = cJSON_AddObjectToObject(object, "test");
    if (result->fate == FRAGMENT_BOUNDS) {
        (void)cJSON_AddNullToObject(test, "op");
        (void)cJSON_AddNullToObject(test, "own");
    } else {
        (void)cJSON_AddStringToObject(test, "op", op_name(result->op));
        (void)cJSON_AddNumberToObject(test, "own", result->own);
    }
    (void)cJSON_AddNumberToObject(test, "stored", result->stored);
}

static void add_after(cJSON *object, const struct fragment_place *place, const struct fragment_texel *after)
{
    struct texel_value value;

    if (place->color && !after->unknown) {
        texel_value_of(place->color, after->color, &value);
        (void)cJSON_AddItemToObject(object, "after", texel_value_json(&value));
    } else {
        (void)cJSON_AddNullToObject(object, "after");
    }
    (void)(after->has_depth ? cJSON_AddNumberToObject(object, "depth_after", depth_of(place, after->depth))
                            : cJSON_AddNullToObject(object, "depth_after"));
    (void)(after->has_stencil ? cJSON_AddNumberToObject(object, "stencil_after", after->stencil)
                              : cJSON_AddNullToObject(object, "stencil_after"));
}

static cJSON *fragment_json(const struct texel_draw *draw, const struct fragment *fragment,
                            const struct fragment_result *result)
{
    cJSON *object = cJSON_CreateObject(), *output;

    (void)(fragment->primitive != FRAGMENT_UNKNOWN ? cJSON_AddNumberToObject(object, "primitive", fragment->primitive)
                                                   : cJSON_AddNullToObject(object, "primitive"));
    (void)cJSON_AddBoolToObject(object, "front", fragment->front);
    (void)cJSON_AddNumberToObject(object, "depth", result->depth);
    (void)cJSON_AddStringToObject(object, "result", fate_names[result->fate]);
    add_test(object, result);
    if (fragment->count) {
        output = cJSON_AddArrayToObject(object, "output");
        for (uint32_t i = 0; i < fragment->count; i++)
            (void)cJSON_AddItemToArray(output, cJSON_CreateNumber(output_value(fragment, i)));
    } else {
        (void)cJSON_AddNullToObject(object, "output");
    }
    (void)cJSON_AddBoolToObject(object, "writes", result->writes);
    add_after(object, &draw->place, &result->after);
    return object;
}

static cJSON *reason_json(const struct texel_draw *draw, const struct texel_fragments *f)
{
    enum fragment_absence absence;

    if (draw->why && !texel_draw_is_absent(draw, &absence))
        return cJSON_CreateNull();
    return f->matched ? cJSON_CreateNull() : cJSON_CreateString(absences[f->absence].name);
}

cJSON *texel_fragments_json(const struct texel_row *row, const struct texel_fragments *f)
{
    cJSON *object = cJSON_CreateObject(), *list;
    bool is_known = !row->draw->why;

    (void)(is_known ? cJSON_AddNumberToObject(object, "count", (double)f->matched)
                    : cJSON_AddNullToObject(object, "count"));
    (void)cJSON_AddItemToObject(object, "none", reason_json(row->draw, f));
    (void)(is_known ? cJSON_AddNullToObject(object, "why") : cJSON_AddStringToObject(object, "why", row->draw->why));
    (void)cJSON_AddBoolToObject(object, "ordered", f->ordered);
    (void)(f->computed ? cJSON_AddBoolToObject(object, "equal", !f->differs) : cJSON_AddNullToObject(object, "equal"));
    list = cJSON_AddArrayToObject(object, "differs");
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (f->differs & aspects[i].aspect)
            (void)cJSON_AddItemToArray(list, cJSON_CreateString(aspects[i].name));
    list = cJSON_AddArrayToObject(object, "list");
    for (size_t i = 0; i < f->count; i++)
        (void)cJSON_AddItemToArray(list, fragment_json(row->draw, &f->fragments[i], &f->results[i]));
    return object;
}
