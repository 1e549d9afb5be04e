/* SPDX-License-Identifier: MIT */
#include "tools/bound_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/state/attachments.h"
#include "tools/print.h"
#include "tools/text.h"

#define NAME_COLOUR "\033[1;36m"
#define DIM_COLOUR  "\033[2m"
#define NO_COLOUR   "\033[0m"
#define SHOWN_BYTES 64u /* of push constants, in text */

static const char *const points[BOUND_POINTS] = {"graphics", "compute", "ray tracing", "other"};
static const char *const point_members[BOUND_POINTS] = {"graphics", "compute", "rayTracing", "other"};

/* ---- labels ---- */

void lap_labels_begin(struct lap_label_list *labels, const struct bound *bound)
{
    *labels = (struct lap_label_list){.depth = 0};
    for (const struct bound *b = bound; b && labels->count < POSITION_MOST_PLACES; b = b->outer)
        labels->bounds[labels->count++] = b;
}

const char *lap_labels_next(struct lap_label_list *labels)
{
    for (; labels->depth < labels->count; labels->depth++, labels->next = 0) {
        const struct bound *bound = labels->bounds[labels->count - 1 - labels->depth];
        if (labels->next < bound->label_count)
            return bound->labels[labels->next++].text;
    }
    return NULL;
}

/* ---- what is relevant ---- */

/* The bind point of a draw, a dispatch or a ray trace; BOUND_POINTS: all are shown. */
static enum bound_point point_of(const struct bound_visit *visit)
{
    switch (visit->work) {
    case POSITION_DRAW:
        return BOUND_GRAPHICS;
    case POSITION_DISPATCH:
        return BOUND_COMPUTE;
    case POSITION_TRACE:
        return BOUND_RAYS;
    default:
        return BOUND_POINTS;
    }
}

static bool shows_point(const struct bound_visit *visit, unsigned point)
{
    const struct bound_pipeline *p = &visit->bound->points[point];
    enum bound_point only = point_of(visit);

    if (only != BOUND_POINTS && only != point)
        return false;
    for (size_t i = 0; i < p->set_count; i++)
        if (p->sets[i].kind)
            return true;
    return p->pipeline != 0;
}

static bool shows_graphics(const struct bound_visit *visit)
{
    enum bound_point only = point_of(visit);
    return only == BOUND_POINTS || only == BOUND_GRAPHICS;
}

static bool shows_shader(const struct bound_visit *visit, unsigned bit)
{
    bool is_compute = (1u << bit) == VK_SHADER_STAGE_COMPUTE_BIT;
    enum bound_point only = point_of(visit);

    return visit->bound->shaders[bit].shader &&
           (only == BOUND_POINTS || (only == BOUND_COMPUTE ? is_compute : only == BOUND_GRAPHICS && !is_compute));
}

/* Whether the layout of the bound pipeline, if that is known, has another set there. */
static bool is_incompatible(const struct bound *bound, const struct bound_pipeline *point, uint32_t number)
{
    const struct fact_pipeline *pipeline = fact_of_pipeline(bound->facts, point->pipeline);
    const struct fact_pipeline_layout *layout =
        pipeline ? fact_of_pipeline_layout(bound->facts, pipeline->layout) : NULL;

    return layout && number < layout->set_count &&
           !facts_are_compatible(bound->facts, pipeline->layout, point->sets[number].layout, number);
}

const char *lap_bound_pass_position(const struct bound_visit *visit, char out[POSITION_TEXT_BYTES])
{
    struct position position = visit->position;

    for (const struct bound *b = visit->bound; b->pass.inherited && b->outer && position.count > POSITION_COMMAND;
         b = b->outer)
        position.count -= 2;
    position.numbers[position.count - 1] = visit->bound->pass.command;
    return position_text(&position, out);
}

static enum lap_status decode(const struct bound_setting *setting, struct lap_arena *arena, uint32_t *out_command,
                              struct lap_args *out_args)
{
    struct lap_block at = setting->at;

    at.dec.arena = arena;
    return lap_block_next(&at, out_command, out_args);
}

/* ---- text ---- */

static const char *handle(uint32_t type, uint64_t index, char out[LAP_TEXT_HANDLE_MAX])
{
    if (!index)
        return "VK_NULL_HANDLE";
    lap_text_handle(type, index, out);
    return out;
}

/* Older registries lack it. */
static uint32_t shader_type(void)
{
    return gen_handle_by_name("VkShaderEXT");
}

static void head(FILE *out, const char *what)
{
    fprintf(out, "%-10s ", what);
}

static void text_labels(FILE *out, const struct bound *bound)
{
    struct lap_label_list labels;
    const char *label;
    bool first = true;

    lap_labels_begin(&labels, bound);
    while ((label = lap_labels_next(&labels))) {
        head(out, first ? "labels" : "");
        lap_text_quoted(out, label, strlen(label));
        fputc('\n', out);
        first = false;
    }
}

static void text_attachment(FILE *out, const struct attachment *attachment)
{
    char view[LAP_TEXT_HANDLE_MAX], image[LAP_TEXT_HANDLE_MAX];
    const char *format = lap_text_named("VkFormat", attachment->format);

    fprintf(out, "  %-8s ", attachment_role_name(attachment->role));
    if (attachment->role <= ATTACHMENT_RESOLVE || attachment->role == ATTACHMENT_INPUT)
        fprintf(out, "%" PRIu32 " ", attachment->number);
    fputs(attachment->view ? handle(GEN_HANDLE_VkImageView, attachment->view, view) : "a view that is not known", out);
    if (attachment->image)
        fprintf(out, " of %s", handle(GEN_HANDLE_VkImage, attachment->image, image));
    if (attachment->format)
        fprintf(out, "  %s", format ? format : "another format");
    if (attachment->range.levelCount) {
        fprintf(out, "  level %" PRIu32, attachment->range.baseMipLevel);
        fprintf(out, attachment->range.layerCount == 1 ? " layer %" PRIu32 : " layers from %" PRIu32,
                attachment->range.baseArrayLayer);
    }
    fputc('\n', out);
}

static enum lap_status text_pass(FILE *out, const struct bound_visit *visit, struct lap_arena *arena)
{
    const struct bound_pass *pass = &visit->bound->pass;
    const struct fact_render_pass *fact = fact_of_render_pass(visit->bound->facts, pass->render_pass);
    const struct lap_args *args;
    struct attachment *attachments;
    char text[POSITION_TEXT_BYTES];
    uint32_t command;
    size_t count;
    enum lap_status status = attachments_of(visit->bound, arena, &attachments, &count, &args, &command);

    if (status != LAP_OK || pass->kind == BOUND_NO_PASS)
        return status;
    head(out, "pass");
    if (pass->kind == BOUND_RENDER_PASS) {
        fprintf(out, "%s subpass %" PRIu32, handle(GEN_HANDLE_VkRenderPass, pass->render_pass, text), pass->subpass);
        if (fact)
            fprintf(out, " of %" PRIu32, fact->subpass_count);
        fprintf(out, ", %s", handle(GEN_HANDLE_VkFramebuffer, pass->framebuffer, text));
    } else {
        fputs("dynamic rendering", out);
    }
    fprintf(out, ", begun by %s %s\n", lap_bound_pass_position(visit, text), gen_command_names[command]);
    for (size_t i = 0; i < count; i++)
        text_attachment(out, &attachments[i]);
    return LAP_OK;
}

static enum lap_status text_pushes(FILE *out, const struct bound_visit *visit, unsigned point, uint32_t number,
                                   struct lap_arena *arena)
{
    const struct bound *bound = visit->bound;
    struct lap_args args;
    uint32_t command;

    for (size_t i = 0; i < bound->pushes_count; i++) {
        enum lap_status status;
        if (bound->pushes[i].point != point || bound->pushes[i].first != number)
            continue;
        status = decode(&bound->pushes[i], arena, &command, &args);
        if (status != LAP_OK)
            return status;
        fprintf(out, "  %" PRIu32 " %s(", bound->pushes[i].index, gen_command_names[command]);
        lap_print_text_args(out, command, args.bytes);
        fputs(")\n", out);
    }
    return LAP_OK;
}

static enum lap_status text_set(FILE *out, const struct bound_visit *visit, unsigned point, uint32_t number,
                                struct lap_arena *arena)
{
    const struct bound_pipeline *p = &visit->bound->points[point];
    const struct bound_set *set = &p->sets[number];
    char text[LAP_TEXT_HANDLE_MAX], name[24];

    snprintf(name, sizeof name, "set %" PRIu32, number);
    head(out, name);
    switch (set->kind) {
    case BOUND_SET_PUSHED:
        fputs("pushed", out);
        break;
    case BOUND_SET_OFFSET:
        fprintf(out, "descriptor buffer %" PRIu32 " at %" PRIu64, set->buffer, set->offset);
        break;
    case BOUND_SET_EMBEDDED:
        fputs("embedded samplers", out);
        break;
    default:
        fputs(handle(GEN_HANDLE_VkDescriptorSet, set->set, text), out);
        break;
    }
    for (uint32_t i = 0; i < set->offset_count; i++)
        fprintf(out, "%s%" PRIu32, i ? ", " : ", dynamic offsets ", set->offsets[i]);
    fprintf(out, ", %s, command %" PRIu32 "%s\n", handle(GEN_HANDLE_VkPipelineLayout, set->layout, text), set->command,
            is_incompatible(visit->bound, p, number) ? ", not compatible with the pipeline's layout" : "");
    return set->kind == BOUND_SET_PUSHED ? text_pushes(out, visit, point, number, arena) : LAP_OK;
}

static enum lap_status text_point(FILE *out, const struct bound_visit *visit, unsigned point, struct lap_arena *arena)
{
    const struct bound_pipeline *p = &visit->bound->points[point];
    char text[LAP_TEXT_HANDLE_MAX];
    enum lap_status status = LAP_OK;

    head(out, "pipeline");
    if (p->pipeline)
        fprintf(out, "%s (%s), command %" PRIu32 "\n", handle(GEN_HANDLE_VkPipeline, p->pipeline, text), points[point],
                p->command);
    else
        fprintf(out, "none (%s)\n", points[point]);
    for (size_t i = 0; i < p->set_count && status == LAP_OK; i++)
        if (p->sets[i].kind)
            status = text_set(out, visit, point, (uint32_t)i, arena);
    return status;
}

static void text_buffer(FILE *out, const char *name, const struct bound_buffer *buffer, const char *more)
{
    char text[LAP_TEXT_HANDLE_MAX];

    if (buffer->command == BOUND_NO_COMMAND)
        return;
    head(out, name);
    fprintf(out, "%s at %" PRIu64, handle(GEN_HANDLE_VkBuffer, buffer->buffer, text), buffer->offset);
    if (buffer->size != UINT64_MAX)
        fprintf(out, ", %" PRIu64 " bytes", buffer->size);
    if (buffer->stride != UINT64_MAX)
        fprintf(out, ", stride %" PRIu64, buffer->stride);
    fprintf(out, "%s%s, command %" PRIu32 "\n", more ? ", " : "", more ? more : "", buffer->command);
}

static void text_buffers(FILE *out, const struct bound_visit *visit)
{
    const struct bound *bound = visit->bound;
    const char *type = lap_text_named("VkIndexType", bound->index_type);
    char name[40];

    for (size_t i = 0; i < bound->vertex_count; i++) {
        snprintf(name, sizeof name, "vertex %zu", i);
        text_buffer(out, name, &bound->vertex[i], NULL);
    }
    text_buffer(out, "index", &bound->index, type ? type : "another type");
    for (size_t i = 0; i < sizeof bound->feedback / sizeof *bound->feedback; i++) {
        snprintf(name, sizeof name, "feedback %zu", i);
        text_buffer(out, name, &bound->feedback[i], bound->feedback_command == BOUND_NO_COMMAND ? NULL : "active");
    }
}

static void text_constants(FILE *out, const struct bound *bound)
{
    char stages[LAP_TEXT_FLAGS_MAX];

    for (size_t from = 0, to; from < bound->push_bytes; from = to) {
        for (to = from; to < bound->push_bytes && bound->push_known[to] == bound->push_known[from];)
            to++;
        if (!bound->push_known[from])
            continue;
        lap_text_named_flags("VkShaderStageFlagBits", bound->push_stages, stages);
        head(out, "push");
        fprintf(out, "%zu to %zu, %s:", from, to, stages);
        for (size_t i = from; i < to && i < from + SHOWN_BYTES; i++)
            fprintf(out, "%s%02x", (i - from) % 4 ? "" : " ", bound->push[i]);
        fputs(to - from > SHOWN_BYTES ? " …\n" : "\n", out);
    }
}

static enum lap_status text_settings(FILE *out, const struct bound *bound, struct lap_arena *arena)
{
    struct lap_args args;
    uint32_t command;

    for (size_t i = 0; i < bound->setting_count; i++) {
        enum lap_status status = decode(&bound->settings[i], arena, &command, &args);
        if (status != LAP_OK)
            return status;
        head(out, i ? "" : "dynamic");
        fprintf(out, "%s(", gen_command_names[command]);
        lap_print_text_args(out, command, args.bytes);
        fprintf(out, "), command %" PRIu32 "\n", bound->settings[i].index);
    }
    return LAP_OK;
}

static void text_queries(FILE *out, const struct bound *bound)
{
    char text[LAP_TEXT_HANDLE_MAX];

    for (const struct bound *b = bound; b; b = b->outer)
        for (size_t i = 0; i < b->query_count; i++) {
            head(out, "query");
            fprintf(out, "%s query %" PRIu32, handle(GEN_HANDLE_VkQueryPool, b->queries[i].pool, text),
                    b->queries[i].query);
            if (b->queries[i].index)
                fprintf(out, " index %" PRIu32, b->queries[i].index);
            fputs(b == bound ? "\n" : ", begun by the command buffer that executes this one\n", out);
        }
    text_buffer(out, "condition", &bound->condition, NULL);
}

enum lap_status lap_bound_text(FILE *out, bool colour, const struct bound_visit *visit)
{
    const struct bound *bound = visit->bound;
    struct lap_arena arena;
    char text[POSITION_TEXT_BYTES];
    enum lap_status status;

    lap_arena_init(&arena, 0);
    fprintf(out, "%s%s%s %s%s%s(", colour ? DIM_COLOUR : "", position_text(&visit->position, text),
            colour ? NO_COLOUR : "", colour ? NAME_COLOUR : "", gen_command_names[visit->command],
            colour ? NO_COLOUR : "");
    lap_print_text_args(out, visit->command, visit->args);
    fputs(")\n", out);
    text_labels(out, bound);
    status = text_pass(out, visit, &arena);
    for (unsigned i = 0; i < BOUND_POINTS && status == LAP_OK; i++)
        if (shows_point(visit, i))
            status = text_point(out, visit, i, &arena);
    for (unsigned bit = 0; bit < BOUND_STAGES && status == LAP_OK; bit++)
        if (shows_shader(visit, bit)) {
            const char *stage = lap_text_named("VkShaderStageFlagBits", INT64_C(1) << bit);
            head(out, "shader");
            fprintf(out, "%s, %s, command %" PRIu32 "\n", handle(shader_type(), bound->shaders[bit].shader, text),
                    stage ? stage : "another stage", bound->shaders[bit].command);
        }
    if (status == LAP_OK && shows_graphics(visit))
        text_buffers(out, visit);
    if (status == LAP_OK) {
        text_constants(out, bound);
        status = text_settings(out, bound, &arena);
        text_queries(out, bound);
    }
    lap_arena_finish(&arena);
    return status;
}

/* ---- JSON ---- */

struct json {
    const struct bound_visit *visit;
    struct lap_arena arena;
    bool failed; /* no memory */
    enum lap_status status;
};

static cJSON *add(struct json *j, cJSON *into, const char *key, cJSON *item)
{
    bool added = into && item && (key ? cJSON_AddItemToObjectCS(into, key, item) : cJSON_AddItemToArray(into, item));

    if (added)
        return item;
    cJSON_Delete(item);
    j->failed = true;
    return NULL;
}

static void add_number(struct json *j, cJSON *into, const char *key, uint64_t value)
{
    add(j, into, key, lap_print_json_number(value));
}

static void add_handle(struct json *j, cJSON *into, const char *key, uint32_t type, uint64_t index)
{
    char text[LAP_TEXT_HANDLE_MAX];

    add(j, into, key, index ? cJSON_CreateString(handle(type, index, text)) : cJSON_CreateNull());
}

/* NULL: null */
static void add_text(struct json *j, cJSON *into, const char *key, const char *text)
{
    char *clean = text ? lap_text_utf8(text, strlen(text)) : NULL;

    if (text && !clean)
        j->failed = true;
    else
        add(j, into, key, text ? cJSON_CreateString(clean) : cJSON_CreateNull());
    free(clean);
}

static void json_pass(struct json *j, cJSON *object)
{
    const struct bound_pass *pass = &j->visit->bound->pass;
    const struct lap_args *begin;
    struct attachment *attachments;
    char text[POSITION_TEXT_BYTES], aspects[LAP_TEXT_FLAGS_MAX];
    uint32_t command;
    size_t count;
    cJSON *to, *list;

    j->status = attachments_of(j->visit->bound, &j->arena, &attachments, &count, &begin, &command);
    if (j->status != LAP_OK)
        return;
    if (pass->kind == BOUND_NO_PASS) {
        add(j, object, "pass", cJSON_CreateNull());
        return;
    }
    to = add(j, object, "pass", cJSON_CreateObject());
    add_text(j, to, "begin", lap_bound_pass_position(j->visit, text));
    add_text(j, to, "name", gen_command_names[command]);
    add(j, to, "args", lap_print_json_args(command, begin->bytes));
    add_handle(j, to, "renderPass", GEN_HANDLE_VkRenderPass, pass->render_pass);
    add_handle(j, to, "framebuffer", GEN_HANDLE_VkFramebuffer, pass->framebuffer);
    add_number(j, to, "subpass", pass->subpass);
    list = add(j, to, "attachments", cJSON_CreateArray());
    for (size_t i = 0; i < count; i++) {
        const struct attachment *a = &attachments[i];
        cJSON *item = add(j, list, NULL, cJSON_CreateObject());
        add_text(j, item, "role", attachment_role_name(a->role));
        add_number(j, item, "number", a->number);
        add_handle(j, item, "view", GEN_HANDLE_VkImageView, a->view);
        add_handle(j, item, "image", GEN_HANDLE_VkImage, a->image);
        add_text(j, item, "format", a->format ? lap_text_named("VkFormat", a->format) : NULL);
        if (!a->range.levelCount)
            continue;
        lap_text_named_flags("VkImageAspectFlagBits", a->range.aspectMask, aspects);
        add_text(j, item, "aspects", aspects);
        add_number(j, item, "level", a->range.baseMipLevel);
        add_number(j, item, "layer", a->range.baseArrayLayer);
        add_number(j, item, "layers", a->range.layerCount);
    }
}

/* A command whose effects hold. */
static void json_setting(struct json *j, cJSON *list, const struct bound_setting *setting)
{
    struct lap_args args;
    uint32_t command;
    cJSON *item;

    if (j->status != LAP_OK)
        return;
    j->status = decode(setting, &j->arena, &command, &args);
    if (j->status != LAP_OK)
        return;
    item = add(j, list, NULL, cJSON_CreateObject());
    add_number(j, item, "command", setting->index);
    add_text(j, item, "name", gen_command_names[command]);
    add(j, item, "args", lap_print_json_args(command, args.bytes));
    if (j->visit->bound->facts->states.range_members[command]) {
        cJSON *elements = add(j, item, "elements", cJSON_CreateArray());
        add_number(j, elements, NULL, setting->first);
        add_number(j, elements, NULL, setting->end);
    }
}

static void json_set(struct json *j, cJSON *list, unsigned point, uint32_t number)
{
    const struct bound *bound = j->visit->bound;
    const struct bound_pipeline *p = &bound->points[point];
    const struct bound_set *set = &p->sets[number];
    cJSON *item = add(j, list, NULL, cJSON_CreateObject()), *inner;

    add_number(j, item, "number", number);
    if (set->kind == BOUND_SET) {
        add_handle(j, item, "set", GEN_HANDLE_VkDescriptorSet, set->set);
        inner = add(j, item, "dynamicOffsets", cJSON_CreateArray());
        for (uint32_t i = 0; i < set->offset_count; i++)
            add_number(j, inner, NULL, set->offsets[i]);
    } else if (set->kind == BOUND_SET_OFFSET) {
        add_number(j, item, "descriptorBuffer", set->buffer);
        add_number(j, item, "offset", set->offset);
    } else if (set->kind == BOUND_SET_EMBEDDED) {
        add(j, item, "embeddedSamplers", cJSON_CreateTrue());
    } else {
        inner = add(j, item, "pushed", cJSON_CreateArray());
        for (size_t i = 0; i < bound->pushes_count; i++)
            if (bound->pushes[i].point == point && bound->pushes[i].first == number)
                json_setting(j, inner, &bound->pushes[i]);
    }
    add_handle(j, item, "layout", GEN_HANDLE_VkPipelineLayout, set->layout);
    add_number(j, item, "command", set->command);
    add(j, item, "compatible", cJSON_CreateBool(!is_incompatible(bound, p, number)));
}

static void json_points(struct json *j, cJSON *object)
{
    cJSON *all = add(j, object, "bound", cJSON_CreateObject());

    for (unsigned point = 0; point < BOUND_POINTS; point++) {
        const struct bound_pipeline *p = &j->visit->bound->points[point];
        cJSON *to, *sets;
        if (!shows_point(j->visit, point))
            continue;
        to = add(j, all, point_members[point], cJSON_CreateObject());
        add_handle(j, to, "pipeline", GEN_HANDLE_VkPipeline, p->pipeline);
        add(j, to, "command", p->pipeline ? lap_print_json_number(p->command) : cJSON_CreateNull());
        sets = add(j, to, "sets", cJSON_CreateArray());
        for (size_t i = 0; i < p->set_count; i++)
            if (p->sets[i].kind)
                json_set(j, sets, point, (uint32_t)i);
    }
}

static void json_shaders(struct json *j, cJSON *object)
{
    const struct bound *bound = j->visit->bound;
    cJSON *list = add(j, object, "shaders", cJSON_CreateArray());

    for (unsigned bit = 0; bit < BOUND_STAGES; bit++)
        if (shows_shader(j->visit, bit)) {
            cJSON *item = add(j, list, NULL, cJSON_CreateObject());
            add_text(j, item, "stage", lap_text_named("VkShaderStageFlagBits", INT64_C(1) << bit));
            add_handle(j, item, "shader", shader_type(), bound->shaders[bit].shader);
            add_number(j, item, "command", bound->shaders[bit].command);
        }
}

static cJSON *json_buffer(struct json *j, const struct bound_buffer *buffer)
{
    cJSON *item = cJSON_CreateObject();

    add_handle(j, item, "buffer", GEN_HANDLE_VkBuffer, buffer->buffer);
    add_number(j, item, "offset", buffer->offset);
    add(j, item, "size", buffer->size == UINT64_MAX ? cJSON_CreateNull() : lap_print_json_number(buffer->size));
    add(j, item, "stride", buffer->stride == UINT64_MAX ? cJSON_CreateNull() : lap_print_json_number(buffer->stride));
    add_number(j, item, "command", buffer->command);
    return item;
}

static void json_list(struct json *j, cJSON *object, const char *key, const struct bound_buffer *buffers, size_t count)
{
    cJSON *list = add(j, object, key, cJSON_CreateArray());

    for (size_t i = 0; i < count; i++)
        if (buffers[i].command != BOUND_NO_COMMAND)
            add_number(j, add(j, list, NULL, json_buffer(j, &buffers[i])), "binding", i);
}

static void json_buffers(struct json *j, cJSON *object)
{
    const struct bound *bound = j->visit->bound;

    json_list(j, object, "vertexBuffers", bound->vertex, bound->vertex_count);
    if (bound->index.command == BOUND_NO_COMMAND)
        add(j, object, "indexBuffer", cJSON_CreateNull());
    else
        add_text(j, add(j, object, "indexBuffer", json_buffer(j, &bound->index)), "type",
                 lap_text_named("VkIndexType", bound->index_type));
    json_list(j, object, "transformFeedbackBuffers", bound->feedback, sizeof bound->feedback / sizeof *bound->feedback);
    add(j, object, "transformFeedback", cJSON_CreateBool(bound->feedback_command != BOUND_NO_COMMAND));
}

static void json_constants(struct json *j, cJSON *object)
{
    const struct bound *bound = j->visit->bound;
    cJSON *list = add(j, object, "pushConstants", cJSON_CreateArray());

    for (size_t from = 0, to; from < bound->push_bytes; from = to) {
        char *hex;
        cJSON *item;
        for (to = from; to < bound->push_bytes && bound->push_known[to] == bound->push_known[from];)
            to++;
        hex = bound->push_known[from] ? lap_arena_alloc(&j->arena, (to - from) * 2 + 1, 1) : NULL;
        if (!hex) {
            j->failed |= bound->push_known[from] != 0;
            continue;
        }
        for (size_t i = from; i < to; i++)
            snprintf(hex + (i - from) * 2, 3, "%02x", bound->push[i]);
        item = add(j, list, NULL, cJSON_CreateObject());
        add_number(j, item, "offset", from);
        add_number(j, item, "size", to - from);
        add_text(j, item, "bytes", hex);
    }
}

static void json_queries(struct json *j, cJSON *object)
{
    const struct bound *bound = j->visit->bound;
    cJSON *list = add(j, object, "queries", cJSON_CreateArray());

    for (const struct bound *b = bound; b; b = b->outer)
        for (size_t i = 0; i < b->query_count; i++) {
            cJSON *item = add(j, list, NULL, cJSON_CreateObject());
            add_handle(j, item, "pool", GEN_HANDLE_VkQueryPool, b->queries[i].pool);
            add_number(j, item, "query", b->queries[i].query);
            add_number(j, item, "index", b->queries[i].index);
        }
    add(j, object, "condition",
        bound->condition.command == BOUND_NO_COMMAND ? cJSON_CreateNull() : json_buffer(j, &bound->condition));
}

enum lap_status lap_bound_json(cJSON *object, const struct bound_visit *visit)
{
    struct json j = {.visit = visit};
    struct lap_label_list labels;
    const char *label;
    cJSON *list;

    lap_arena_init(&j.arena, 0);
    add(&j, object, "args", lap_print_json_args(visit->command, visit->args));
    list = add(&j, object, "labels", cJSON_CreateArray());
    lap_labels_begin(&labels, visit->bound);
    while ((label = lap_labels_next(&labels)))
        add_text(&j, list, NULL, label);
    json_pass(&j, object);
    json_points(&j, object);
    json_shaders(&j, object);
    if (shows_graphics(visit))
        json_buffers(&j, object);
    json_constants(&j, object);
    list = add(&j, object, "dynamicState", cJSON_CreateArray());
    for (size_t i = 0; i < visit->bound->setting_count; i++)
        json_setting(&j, list, &visit->bound->settings[i]);
    json_queries(&j, object);
    lap_arena_finish(&j.arena);
    if (j.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the JSON of %s", gen_command_names[visit->command]);
    return j.status;
}
