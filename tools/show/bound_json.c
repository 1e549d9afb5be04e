/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "inspector/state/attachments.h"
#include "inspector/state/bound_labels.h"
#include "tools/show/bound_print.h"
#include "tools/show/descriptor_print.h"
#include "tools/show/print.h"
#include "tools/show/text.h"

#define SHOWN_DESCRIPTORS 4096u /* of a set */

static const char *const point_members[BOUND_POINTS] = {"graphics", "compute", "rayTracing", "other"};

struct json {
    const struct bound_visit *visit;
    const struct lap_bound_names *names; /* NULL: none */
    cJSON *named;                        /* their names, by handle */
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

/* NULL: null */
static void add_text(struct json *j, cJSON *into, const char *key, const char *text)
{
    char *clean = text ? lap_utf8(text, strlen(text)) : NULL;

    if (text && !clean)
        j->failed = true;
    else
        add(j, into, key, text ? cJSON_CreateString(clean) : cJSON_CreateNull());
    free(clean);
}

static void add_handle(struct json *j, cJSON *into, const char *key, uint32_t type, uint64_t index)
{
    char text[LAP_TEXT_HANDLE_MAX];
    const char *name = j->names && index ? j->names->find(j->names->user, type, index) : NULL;

    add(j, into, key, index ? cJSON_CreateString(lap_bound_handle(type, index, text)) : cJSON_CreateNull());
    if (name && !cJSON_HasObjectItem(j->named, text)) {
        char *clean = lap_utf8(name, strlen(name));
        j->failed |= !clean || !cJSON_AddStringToObject(j->named, text, clean);
        free(clean);
    }
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
    j->status = bound_decode(setting, &j->arena, &command, &args);
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

static void json_contents(struct json *j, cJSON *item, uint64_t index)
{
    const struct descriptor_set *set = descriptors_of(j->visit->descriptors, index);

    add(j, item, "bindings",
        set ? lap_descriptors_json(set, j->visit->bound->facts, SHOWN_DESCRIPTORS) : cJSON_CreateNull());
}

/* The commands that push into a set, and the descriptors that they leave. */
static void json_pushes(struct json *j, cJSON *item, unsigned point, uint32_t number)
{
    const struct bound *bound = j->visit->bound;
    cJSON *list = add(j, item, "pushed", cJSON_CreateArray());
    struct lap_pushes pushes = {.count = 0};

    for (size_t i = 0; i < bound->pushes_count; i++) {
        const struct bound_setting *push = &bound->pushes[i];
        struct lap_args args;
        uint32_t command;
        if (push->point != point || push->first != number)
            continue;
        json_setting(j, list, push);
        if (j->status == LAP_OK && j->visit->descriptors)
            j->status = bound_decode(push, &j->arena, &command, &args);
        if (j->status == LAP_OK && j->visit->descriptors)
            j->status = lap_pushes_see(&pushes, command, args.bytes);
    }
    if (j->visit->descriptors)
        add(j, item, "bindings", lap_pushes_json(&pushes, bound->facts, SHOWN_DESCRIPTORS));
    free(pushes.items);
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
        if (j->visit->descriptors)
            json_contents(j, item, set->set);
    } else if (set->kind == BOUND_SET_OFFSET) {
        add_number(j, item, "descriptorBuffer", set->buffer);
        add_number(j, item, "offset", set->offset);
    } else if (set->kind == BOUND_SET_EMBEDDED) {
        add(j, item, "embeddedSamplers", cJSON_CreateTrue());
    } else {
        json_pushes(j, item, point, number);
    }
    add_handle(j, item, "layout", GEN_HANDLE_VkPipelineLayout, set->layout);
    add_number(j, item, "command", set->command);
    add(j, item, "compatible", cJSON_CreateBool(!lap_bound_is_incompatible(bound, p, number)));
}

static void json_points(struct json *j, cJSON *object)
{
    cJSON *all = add(j, object, "bound", cJSON_CreateObject());

    for (unsigned point = 0; point < BOUND_POINTS; point++) {
        const struct bound_pipeline *p = &j->visit->bound->points[point];
        cJSON *to, *sets;
        if (!lap_bound_shows_point(j->visit, point))
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
        if (lap_bound_shows_shader(j->visit, bit)) {
            cJSON *item = add(j, list, NULL, cJSON_CreateObject());
            add_text(j, item, "stage", lap_text_named("VkShaderStageFlagBits", INT64_C(1) << bit));
            add_handle(j, item, "shader", lap_bound_shader_type(), bound->shaders[bit].shader);
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

enum lap_status lap_bound_json(cJSON *object, const struct bound_visit *visit, const struct lap_bound_names *names)
{
    struct json j = {.visit = visit, .names = names, .named = names ? cJSON_CreateObject() : NULL};
    struct bound_labels labels;
    const char *label;
    cJSON *list;

    lap_arena_init(&j.arena, 0);
    add(&j, object, "args", lap_print_json_args(visit->command, visit->args));
    list = add(&j, object, "labels", cJSON_CreateArray());
    bound_labels_begin(&labels, visit->bound);
    while ((label = bound_labels_next(&labels)))
        add_text(&j, list, NULL, label);
    json_pass(&j, object);
    json_points(&j, object);
    json_shaders(&j, object);
    if (lap_bound_shows_graphics(visit))
        json_buffers(&j, object);
    json_constants(&j, object);
    list = add(&j, object, "dynamicState", cJSON_CreateArray());
    for (size_t i = 0; i < visit->bound->setting_count; i++)
        json_setting(&j, list, &visit->bound->settings[i]);
    json_queries(&j, object);
    if (names)
        add(&j, object, "names", j.named);
    lap_arena_finish(&j.arena);
    if (j.status == LAP_OK && j.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the JSON of %s", gen_command_names[visit->command]);
    return j.status;
}
