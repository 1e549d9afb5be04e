/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/state/attachments.h"
#include "inspector/state/bound_labels.h"
#include "tools/show/bound_print.h"
#include "tools/show/descriptor_print.h"
#include "tools/show/print.h"
#include "tools/show/text.h"

#define NAME_COLOUR       "\033[1;36m"
#define DIM_COLOUR        "\033[2m"
#define NO_COLOUR         "\033[0m"
#define SHOWN_BYTES       64u /* of push constants */
#define SHOWN_DESCRIPTORS 32u /* of a set */

static const char *const points[BOUND_POINTS] = {"graphics", "compute", "ray tracing", "other"};

struct text {
    FILE *out;
    const struct bound_visit *visit;
    const struct lap_bound_names *names; /* NULL: none */
    struct lap_arena arena;
};

static void head(struct text *t, const char *what)
{
    fprintf(t->out, "%-10s ", what);
}

static void put_handle(struct text *t, const char *before, uint32_t type, uint64_t index)
{
    char text[LAP_TEXT_HANDLE_MAX];
    const char *name = t->names && index ? t->names->find(t->names->user, type, index) : NULL;

    fprintf(t->out, "%s%s%s", before, lap_bound_handle(type, index, text), name ? " " : "");
    if (name)
        lap_text_quoted(t->out, name, strlen(name));
}

static void text_labels(struct text *t)
{
    struct bound_labels labels;
    const char *label;
    bool first = true;

    bound_labels_begin(&labels, t->visit->bound);
    while ((label = bound_labels_next(&labels))) {
        head(t, first ? "labels" : "");
        lap_text_quoted(t->out, label, strlen(label));
        fputc('\n', t->out);
        first = false;
    }
}

static void text_attachment(struct text *t, const struct attachment *attachment)
{
    const char *format = lap_text_named("VkFormat", attachment->format);
    char name[40];

    snprintf(name, sizeof name, "%s %" PRIu32, attachment_role_name(attachment->role), attachment->number);
    if (attachment->role > ATTACHMENT_RESOLVE && attachment->role != ATTACHMENT_INPUT) /* there is only one */
        snprintf(name, sizeof name, "%s", attachment_role_name(attachment->role));
    fprintf(t->out, "  %-14s ", name);
    if (attachment->view)
        put_handle(t, "", GEN_HANDLE_VkImageView, attachment->view);
    else
        fputs("a view that is not known", t->out);
    if (attachment->image)
        put_handle(t, " of ", GEN_HANDLE_VkImage, attachment->image);
    if (attachment->format)
        fprintf(t->out, "  %s", format ? format : "another format");
    if (attachment->range.levelCount) {
        fprintf(t->out, "  level %" PRIu32, attachment->range.baseMipLevel);
        fprintf(t->out, attachment->range.layerCount == 1 ? " layer %" PRIu32 : " layers from %" PRIu32,
                attachment->range.baseArrayLayer);
    }
    fputc('\n', t->out);
}

static enum lap_status text_pass(struct text *t)
{
    const struct bound_pass *pass = &t->visit->bound->pass;
    const struct fact_render_pass *fact = fact_of_render_pass(t->visit->bound->facts, pass->render_pass);
    const struct lap_args *args;
    struct attachment *attachments;
    char text[POSITION_TEXT_BYTES];
    uint32_t command;
    size_t count;
    enum lap_status status = attachments_of(t->visit->bound, &t->arena, &attachments, &count, &args, &command);

    if (status != LAP_OK || pass->kind == BOUND_NO_PASS)
        return status;
    head(t, "pass");
    if (pass->kind == BOUND_RENDER_PASS) {
        put_handle(t, "", GEN_HANDLE_VkRenderPass, pass->render_pass);
        fprintf(t->out, " subpass %" PRIu32, pass->subpass);
        if (fact)
            fprintf(t->out, " of %" PRIu32, fact->subpass_count);
        put_handle(t, ", ", GEN_HANDLE_VkFramebuffer, pass->framebuffer);
    } else {
        fputs("dynamic rendering", t->out);
    }
    fprintf(t->out, ", begun by %s %s\n", lap_bound_pass_position(t->visit, text), gen_command_names[command]);
    for (size_t i = 0; i < count; i++)
        text_attachment(t, &attachments[i]);
    return LAP_OK;
}

static enum lap_status text_pushes(struct text *t, unsigned point, uint32_t number)
{
    const struct bound *bound = t->visit->bound;
    struct lap_args args;
    uint32_t command;

    for (size_t i = 0; i < bound->pushes_count; i++) {
        enum lap_status status;
        if (bound->pushes[i].point != point || bound->pushes[i].first != number)
            continue;
        status = bound_decode(&bound->pushes[i], &t->arena, &command, &args);
        if (status != LAP_OK)
            return status;
        fprintf(t->out, "  %" PRIu32 " %s(", bound->pushes[i].index, gen_command_names[command]);
        lap_print_text_args(t->out, command, args.bytes);
        fputs(")\n", t->out);
    }
    return LAP_OK;
}

static enum lap_status text_set(struct text *t, unsigned point, uint32_t number)
{
    const struct bound_pipeline *p = &t->visit->bound->points[point];
    const struct bound_set *set = &p->sets[number];
    char name[24];

    snprintf(name, sizeof name, "set %" PRIu32, number);
    head(t, name);
    switch (set->kind) {
    case BOUND_SET_PUSHED:
        fputs("pushed", t->out);
        break;
    case BOUND_SET_OFFSET:
        fprintf(t->out, "descriptor buffer %" PRIu32 " at %" PRIu64, set->buffer, set->offset);
        break;
    case BOUND_SET_EMBEDDED:
        fputs("embedded samplers", t->out);
        break;
    default:
        put_handle(t, "", GEN_HANDLE_VkDescriptorSet, set->set);
        break;
    }
    for (uint32_t i = 0; i < set->offset_count; i++)
        fprintf(t->out, "%s%" PRIu32, i ? ", " : ", dynamic offsets ", set->offsets[i]);
    put_handle(t, ", ", GEN_HANDLE_VkPipelineLayout, set->layout);
    fprintf(t->out, ", command %" PRIu32 "%s\n", set->command,
            lap_bound_is_incompatible(t->visit->bound, p, number) ? ", not compatible with the pipeline's layout" : "");
    if (t->visit->descriptors && set->kind == BOUND_SET) {
        const struct descriptor_set *contents = descriptors_of(t->visit->descriptors, set->set);
        if (contents)
            lap_descriptors_text(t->out, contents, t->visit->bound->facts, t->names, SHOWN_DESCRIPTORS);
    }
    return set->kind == BOUND_SET_PUSHED ? text_pushes(t, point, number) : LAP_OK;
}

static enum lap_status text_point(struct text *t, unsigned point)
{
    const struct bound_pipeline *p = &t->visit->bound->points[point];
    enum lap_status status = LAP_OK;

    head(t, "pipeline");
    if (p->pipeline) {
        put_handle(t, "", GEN_HANDLE_VkPipeline, p->pipeline);
        fprintf(t->out, " (%s), command %" PRIu32 "\n", points[point], p->command);
    } else {
        fprintf(t->out, "none (%s)\n", points[point]);
    }
    for (size_t i = 0; i < p->set_count && status == LAP_OK; i++)
        if (p->sets[i].kind)
            status = text_set(t, point, (uint32_t)i);
    return status;
}

static void text_buffer(struct text *t, const char *name, const struct bound_buffer *buffer, const char *more)
{
    if (buffer->command == BOUND_NO_COMMAND)
        return;
    head(t, name);
    put_handle(t, "", GEN_HANDLE_VkBuffer, buffer->buffer);
    fprintf(t->out, " at %" PRIu64, buffer->offset);
    if (buffer->size != UINT64_MAX)
        fprintf(t->out, ", %" PRIu64 " bytes", buffer->size);
    if (buffer->stride != UINT64_MAX)
        fprintf(t->out, ", stride %" PRIu64, buffer->stride);
    fprintf(t->out, "%s%s, command %" PRIu32 "\n", more ? ", " : "", more ? more : "", buffer->command);
}

static void text_buffers(struct text *t)
{
    const struct bound *bound = t->visit->bound;
    const char *type = lap_text_named("VkIndexType", bound->index_type);
    char name[40];

    for (size_t i = 0; i < bound->vertex_count; i++) {
        snprintf(name, sizeof name, "vertex %zu", i);
        text_buffer(t, name, &bound->vertex[i], NULL);
    }
    text_buffer(t, "index", &bound->index, type ? type : "another type");
    for (size_t i = 0; i < sizeof bound->feedback / sizeof *bound->feedback; i++) {
        snprintf(name, sizeof name, "feedback %zu", i);
        text_buffer(t, name, &bound->feedback[i], bound->feedback_command == BOUND_NO_COMMAND ? NULL : "active");
    }
}

static void text_constants(struct text *t)
{
    const struct bound *bound = t->visit->bound;
    char stages[LAP_TEXT_FLAGS_MAX];

    for (size_t from = 0, to; from < bound->push_bytes; from = to) {
        for (to = from; to < bound->push_bytes && bound->push_known[to] == bound->push_known[from];)
            to++;
        if (!bound->push_known[from])
            continue;
        lap_text_named_flags("VkShaderStageFlagBits", bound->push_stages, stages);
        head(t, "push");
        fprintf(t->out, "%zu to %zu, %s:", from, to, stages);
        for (size_t i = from; i < to && i < from + SHOWN_BYTES; i++)
            fprintf(t->out, "%s%02x", (i - from) % 4 ? "" : " ", bound->push[i]);
        fputs(to - from > SHOWN_BYTES ? " …\n" : "\n", t->out);
    }
}

static enum lap_status text_settings(struct text *t)
{
    const struct bound *bound = t->visit->bound;
    struct lap_args args;
    uint32_t command;

    for (size_t i = 0; i < bound->setting_count; i++) {
        enum lap_status status = bound_decode(&bound->settings[i], &t->arena, &command, &args);
        if (status != LAP_OK)
            return status;
        head(t, i ? "" : "dynamic");
        fprintf(t->out, "%s(", gen_command_names[command]);
        lap_print_text_args(t->out, command, args.bytes);
        fprintf(t->out, "), command %" PRIu32 "\n", bound->settings[i].index);
    }
    return LAP_OK;
}

static void text_queries(struct text *t)
{
    const struct bound *bound = t->visit->bound;
    for (const struct bound *b = bound; b; b = b->outer)
        for (size_t i = 0; i < b->query_count; i++) {
            head(t, "query");
            put_handle(t, "", GEN_HANDLE_VkQueryPool, b->queries[i].pool);
            fprintf(t->out, " query %" PRIu32, b->queries[i].query);
            if (b->queries[i].index)
                fprintf(t->out, " index %" PRIu32, b->queries[i].index);
            fputs(b == bound ? "\n" : ", begun by the command buffer that executes this one\n", t->out);
        }
    text_buffer(t, "condition", &bound->condition, NULL);
}

static void text_shader(struct text *t, unsigned bit)
{
    const char *stage = lap_text_named("VkShaderStageFlagBits", INT64_C(1) << bit);

    head(t, "shader");
    put_handle(t, "", lap_bound_shader_type(), t->visit->bound->shaders[bit].shader);
    fprintf(t->out, ", %s, command %" PRIu32 "\n", stage ? stage : "another stage",
            t->visit->bound->shaders[bit].command);
}

enum lap_status lap_bound_text(FILE *out, bool colour, const struct bound_visit *visit,
                               const struct lap_bound_names *names)
{
    struct text t = {.out = out, .visit = visit, .names = names};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    lap_arena_init(&t.arena, 0);
    fprintf(out, "%s%s%s %s%s%s(", colour ? DIM_COLOUR : "", position_text(&visit->position, text),
            colour ? NO_COLOUR : "", colour ? NAME_COLOUR : "", gen_command_names[visit->command],
            colour ? NO_COLOUR : "");
    lap_print_text_args(out, visit->command, visit->args);
    fputs(")\n", out);
    text_labels(&t);
    status = text_pass(&t);
    for (unsigned i = 0; i < BOUND_POINTS && status == LAP_OK; i++)
        if (lap_bound_shows_point(visit, i))
            status = text_point(&t, i);
    for (unsigned bit = 0; bit < BOUND_STAGES && status == LAP_OK; bit++)
        if (lap_bound_shows_shader(visit, bit))
            text_shader(&t, bit);
    if (status == LAP_OK && lap_bound_shows_graphics(visit))
        text_buffers(&t);
    if (status == LAP_OK) {
        text_constants(&t);
        status = text_settings(&t);
        text_queries(&t);
    }
    lap_arena_finish(&t.arena);
    return status;
}
