/* SPDX-License-Identifier: MIT */
#include "replayer/verify/mesh.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gen_ids.h"
#include "replayer/verify/json_line.h"
#include "replayer/verify/mesh_internal.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"

#define WIDTH 12 /* of a number in a table */

double replay_mesh_number(const struct instrument_result *result, const uint32_t *words, uint32_t number)
{
    const uint32_t *at = &words[number * (result->bits == 64 ? 2 : 1)];
    const uint64_t wide = result->bits == 64 ? at[0] | (uint64_t)at[1] << 32 : at[0];
    float single;
    double twice;

    memcpy(&single, at, sizeof single);
    memcpy(&twice, &wide, sizeof twice);
    if (result->type == INSTRUMENT_FLOAT)
        return result->bits == 64 ? twice : (double)single;
    if (result->type == INSTRUMENT_INT)
        return result->bits == 64 ? (double)(int64_t)wide : (double)(int32_t)at[0];
    return (double)wide;
}

/* ---- columns ---- */

/* An attribute, or an output. */
struct column {
    const struct mesh_attribute *attribute; /* or NULL */
    const struct instrument_result *result; /* of an output */
    uint32_t number, at;                    /* of the attribute; the word of the output */
    unsigned count;
    char name[128];
};

struct print {
    const struct mesh_values *v;
    struct column *columns;
    uint32_t count;
    uint32_t first, last; /* rows */
};

static const char *built_in_name(uint32_t number)
{
    return number == 0    ? "gl_Position"
           : number == 1  ? "gl_PointSize"
           : number == 3  ? "gl_ClipDistance"
           : number == 4  ? "gl_CullDistance"
           : number == 9  ? "gl_Layer"
           : number == 10 ? "gl_ViewportIndex"
                          : "built-in";
}

static void name_output(const struct instrument_result *result, char out[128])
{
    if (result->built_in != UINT32_MAX)
        snprintf(out, 128, "%s", built_in_name(result->built_in));
    else if (result->name)
        snprintf(out, 128, "%.100s", result->name);
    else
        snprintf(out, 128, "location %" PRIu32, result->location);
    if (result->part)
        snprintf(out + strlen(out), 128 - strlen(out), "+%" PRIu32, result->part);
}

static enum lap_status list_columns(struct replay *r, struct print *p)
{
    const struct mesh_values *v = p->v;
    const uint32_t inputs = v->wish.sides == MESH_OUT ? 0 : v->mesh.input.attribute_count;
    uint32_t outputs, at = 0;
    const struct instrument_result *results = replay_mesh_outputs(v, &outputs);

    p->columns = lap_arena_zalloc(&r->arena, (size_t)inputs + outputs + 1, sizeof *p->columns, 8);
    if (!p->columns)
        return lap_no_memory("the vertices of a draw");
    for (uint32_t i = 0; i < inputs; i++) {
        struct column *c = &p->columns[p->count++];
        *c = (struct column){.attribute = &v->mesh.attributes[i], .number = i};
        c->count = c->attribute->texels ? c->attribute->texels->count : 0;
        if (c->attribute->name)
            snprintf(c->name, sizeof c->name, "%.100s", c->attribute->name);
        else
            snprintf(c->name, sizeof c->name, "location %" PRIu32, c->attribute->location);
    }
    for (uint32_t i = 0; i < outputs; i++) {
        struct column *c = &p->columns[p->count++];
        *c = (struct column){.result = &results[i], .at = at, .count = results[i].count};
        name_output(c->result, c->name);
        at += results[i].words;
    }
    return LAP_OK;
}

/* Digits that tell all of its values apart. */
static int digits_of(const struct column *c)
{
    const unsigned bits = c->result ? c->result->bits
                          : c->attribute->texels && c->attribute->texels->count
                              ? c->attribute->texels->components[0].bits
                              : 0;

    return bits == 64 ? 17 : 9;
}

/* How many values there are, at most `most`; 0: none. */
static unsigned values_of(const struct print *p, const struct column *c, const struct mesh_row *row, unsigned most,
                          double *out)
{
    const uint32_t *words;

    if (c->attribute)
        return mesh_input_of(&p->v->mesh, c->number, row, out);
    words = row->restarts || row->is_missing ? NULL : mesh_output_of(p->v, row->vertex);
    for (unsigned i = 0; words && i < c->count && i < most; i++)
        out[i] = replay_mesh_number(c->result, words + c->at, i);
    return words ? (c->count < most ? c->count : most) : 0;
}
#define MOST_VALUES 64u

/* ---- text ---- */

static const char *topology_name(const struct mesh *m)
{
    const char *name = replay_enum_name("VkPrimitiveTopology", m->input.topology);

    return name ? name + strlen("VK_PRIMITIVE_TOPOLOGY_") : "unknown";
}

static void print_head(const struct print *p)
{
    const struct mesh_values *v = p->v;
    const struct draw_call *c = &v->mesh.call;
    char text[POSITION_TEXT_BYTES];

    printf("%s  %s", position_text(&v->wish.at, text), gen_command_names[v->command]);
    if (v->mesh.draws > 1)
        printf("  draw %" PRIu32 " of %" PRIu32, v->mesh.draw, v->mesh.draws);
    printf("  %s  %" PRIu32 " %s", topology_name(&v->mesh), c->count, v->mesh.index_bytes ? "indices" : "vertices");
    printf("  instance %" PRIu32 " of %" PRIu32 " from %" PRIu32, v->mesh.instance, c->instances, c->first_instance);
    if (v->of.pipeline)
        printf("  VkPipeline:%" PRIu64, v->of.pipeline);
    printf("\n%6s %8s %8s", "row", "index", "vertex");
    for (uint32_t i = 0; i < p->count; i++) {
        const struct column *column = &p->columns[i];
        printf("  %s %-*s", column->attribute ? "in " : "out", (int)(column->count * WIDTH) - 4, column->name);
    }
    printf("\n");
}

static void print_row(const struct print *p, uint32_t number)
{
    const struct mesh_row row = mesh_row_of(&p->v->mesh, number);
    double values[MOST_VALUES];

    printf("%6" PRIu32 " ", number);
    if (row.is_missing)
        printf("%8s %8s", "-", "-");
    else if (row.restarts)
        printf("%8" PRIu32 "  restart", row.index);
    else
        printf("%8" PRIu32 " %8" PRIu32, row.index, row.vertex);
    for (uint32_t i = 0; i < p->count && !row.restarts; i++) {
        const struct column *column = &p->columns[i];
        const unsigned count = values_of(p, column, &row, MOST_VALUES, values);
        printf("  ");
        for (unsigned k = 0; k < column->count; k++)
            if (k < count)
                printf("%*.6g", WIDTH, values[k]);
            else
                printf("%*s", WIDTH, "-");
    }
    printf("\n");
}

/* ---- CSV ---- */

static void print_csv_head(const struct print *p)
{
    printf("row,index,vertex");
    for (uint32_t i = 0; i < p->count; i++)
        for (unsigned k = 0; k < p->columns[i].count; k++)
            printf(",%s %s.%u", p->columns[i].attribute ? "in" : "out", p->columns[i].name, k);
    printf("\n");
}

static void print_csv_row(const struct print *p, uint32_t number)
{
    const struct mesh_row row = mesh_row_of(&p->v->mesh, number);
    double values[MOST_VALUES];

    printf("%" PRIu32 ",", number);
    if (!row.is_missing)
        printf("%" PRIu32, row.index);
    printf(",");
    if (!row.is_missing && !row.restarts)
        printf("%" PRIu32, row.vertex);
    for (uint32_t i = 0; i < p->count; i++) {
        const unsigned count = values_of(p, &p->columns[i], &row, MOST_VALUES, values);
        for (unsigned k = 0; k < p->columns[i].count; k++)
            if (k < count)
                printf(",%.*g", digits_of(&p->columns[i]), values[k]);
            else
                printf(",");
    }
    printf("\n");
}

/* ---- JSON ---- */

static void add_attribute(cJSON *array, const struct mesh_attribute *a)
{
    const char *format = replay_enum_name("VkFormat", a->format);
    cJSON *object = cJSON_CreateObject();

    replay_json_text(object, "name", a->name);
    (void)cJSON_AddNumberToObject(object, "location", a->location);
    replay_json_text(object, "format", format);
    (void)cJSON_AddNumberToObject(object, "components", a->texels ? a->texels->count : 0);
    (void)cJSON_AddNumberToObject(object, "binding", a->binding);
    (void)cJSON_AddNumberToObject(object, "offset", a->offset);
    (void)cJSON_AddNumberToObject(object, "stride", a->stride);
    (void)cJSON_AddStringToObject(object, "rate", a->per_instance ? "instance" : "vertex");
    (void)cJSON_AddNumberToObject(object, "divisor", a->per_instance ? a->divisor : 1);
    if (a->buffer)
        replay_json_handle(object, "buffer", GEN_HANDLE_VkBuffer, a->buffer);
    else
        (void)cJSON_AddNullToObject(object, "buffer");
    (void)cJSON_AddNumberToObject(object, "begin", (double)a->begin);
    (void)cJSON_AddItemToArray(array, object);
}

static void add_output(cJSON *array, const struct instrument_result *result)
{
    static const char *const types[] = {"bool", "int", "uint", "float"};
    cJSON *object = cJSON_CreateObject();
    char name[128];

    name_output(result, name);
    (void)cJSON_AddStringToObject(object, "name", name);
    (void)(result->has_location ? cJSON_AddNumberToObject(object, "location", result->location)
                                : cJSON_AddNullToObject(object, "location"));
    (void)(result->has_location ? cJSON_AddNullToObject(object, "built_in")
                                : cJSON_AddNumberToObject(object, "built_in", result->built_in));
    (void)cJSON_AddNumberToObject(object, "component", result->component);
    (void)cJSON_AddStringToObject(object, "type", types[result->type]);
    (void)cJSON_AddNumberToObject(object, "bits", result->bits);
    (void)cJSON_AddNumberToObject(object, "components", result->count);
    (void)cJSON_AddItemToArray(array, object);
}

static void add_call(const struct mesh_values *v, cJSON *head)
{
    const struct mesh *m = &v->mesh;
    cJSON *viewport;

    (void)cJSON_AddNumberToObject(head, "draw", m->draw);
    (void)cJSON_AddNumberToObject(head, "draws", m->draws);
    (void)cJSON_AddStringToObject(head, "topology", topology_name(m));
    (void)cJSON_AddNumberToObject(head, "patch_points", m->input.patch_points);
    (void)cJSON_AddBoolToObject(head, "restarts", m->input.restarts && m->index_bytes);
    (void)cJSON_AddNumberToObject(head, "index_bytes", m->index_bytes);
    (void)cJSON_AddNumberToObject(head, "first", m->call.first);
    (void)cJSON_AddNumberToObject(head, "count", m->call.count);
    (void)cJSON_AddNumberToObject(head, "vertex_offset", m->call.vertex_offset);
    (void)cJSON_AddNumberToObject(head, "first_instance", m->call.first_instance);
    (void)cJSON_AddNumberToObject(head, "instances", m->call.instances);
    (void)cJSON_AddNumberToObject(head, "instance", m->instance);
    if (v->viewport.width == 0) {
        (void)cJSON_AddNullToObject(head, "viewport");
        return;
    }
    viewport = cJSON_AddObjectToObject(head, "viewport");
    (void)cJSON_AddNumberToObject(viewport, "x", (double)v->viewport.x);
    (void)cJSON_AddNumberToObject(viewport, "y", (double)v->viewport.y);
    (void)cJSON_AddNumberToObject(viewport, "width", (double)v->viewport.width);
    (void)cJSON_AddNumberToObject(viewport, "height", (double)v->viewport.height);
    (void)cJSON_AddNumberToObject(viewport, "min_depth", (double)v->viewport.minDepth);
    (void)cJSON_AddNumberToObject(viewport, "max_depth", (double)v->viewport.maxDepth);
}

static enum lap_status print_json_head(const struct replay *r, const struct print *p)
{
    const struct mesh_values *v = p->v;
    cJSON *line = cJSON_CreateObject(), *head = cJSON_AddObjectToObject(line, "mesh"), *inputs, *outputs;
    char text[POSITION_TEXT_BYTES];

    (void)cJSON_AddStringToObject(head, "position", position_text(&v->wish.at, text));
    (void)cJSON_AddStringToObject(head, "command", gen_command_names[v->command]);
    if (v->of.pipeline)
        replay_json_handle(head, "pipeline", GEN_HANDLE_VkPipeline, v->of.pipeline);
    else
        (void)cJSON_AddNullToObject(head, "pipeline");
    add_call(v, head);
    inputs = cJSON_AddArrayToObject(head, "inputs");
    outputs = cJSON_AddArrayToObject(head, "outputs");
    for (uint32_t i = 0; i < p->count; i++)
        if (p->columns[i].attribute)
            add_attribute(inputs, p->columns[i].attribute);
        else
            add_output(outputs, p->columns[i].result);
    replay_json_text(head, "no_outputs", v->why);
    replay_json_text(head, "gpu", v->replays ? r->summary.gpu : NULL);
    return replay_json_line(line);
}

/* JSON has no such numbers: they are texts. */
static void print_json_number(double value, int digits)
{
    if (isnan(value))
        printf("\"nan\"");
    else if (isinf(value))
        printf(value > 0 ? "\"inf\"" : "\"-inf\"");
    else
        printf("%.*g", digits, value);
}

static void print_json_side(const struct print *p, const struct mesh_row *row, bool inputs, const char *name)
{
    bool first = true;

    printf(",\"%s\":[", name);
    for (uint32_t i = 0; i < p->count; i++) {
        double values[MOST_VALUES];
        unsigned count;
        if ((p->columns[i].attribute != NULL) != inputs)
            continue;
        count = values_of(p, &p->columns[i], row, MOST_VALUES, values);
        printf("%s%s", first ? "" : ",", count ? "[" : "null");
        first = false;
        for (unsigned k = 0; k < count; k++) {
            if (k)
                putchar(',');
            print_json_number(values[k], digits_of(&p->columns[i]));
        }
        if (count)
            putchar(']');
    }
    putchar(']');
}

static void print_json_row(const struct print *p, uint32_t number)
{
    const struct mesh_row row = mesh_row_of(&p->v->mesh, number);

    printf("{\"row\":%" PRIu32, number);
    if (row.is_missing)
        printf(",\"index\":null,\"vertex\":null");
    else if (row.restarts)
        printf(",\"index\":%" PRIu32 ",\"vertex\":null,\"restart\":true", row.index);
    else
        printf(",\"index\":%" PRIu32 ",\"vertex\":%" PRIu32, row.index, row.vertex);
    if (!row.restarts && p->v->wish.sides != MESH_OUT)
        print_json_side(p, &row, true, "in");
    if (!row.restarts && p->v->has_outputs)
        print_json_side(p, &row, false, "out");
    puts("}");
}

/* ---- the whole ---- */

static enum lap_status print_rows(struct replay *r, struct print *p)
{
    enum lap_status status = list_columns(r, p);

    if (status == LAP_OK && r->options.json)
        status = print_json_head(r, p);
    else if (status == LAP_OK && r->options.mesh.as == REPLAY_MESH_CSV)
        print_csv_head(p);
    else if (status == LAP_OK)
        print_head(p);
    for (uint32_t i = p->first; i <= p->last && i < p->v->mesh.call.count && status == LAP_OK && !ferror(stdout); i++) {
        if (r->options.json)
            print_json_row(p, i);
        else if (r->options.mesh.as == REPLAY_MESH_CSV)
            print_csv_row(p, i);
        else
            print_row(p, i);
    }
    return status;
}

enum lap_status replay_print_mesh(struct replay *r)
{
    struct mesh_values *v = r->options.mesh.values;
    struct print p = {.v = v, .first = r->options.mesh.first, .last = r->options.mesh.last};
    const void *data = NULL;
    enum lap_status status = v->replays ? replay_settle(r) : LAP_OK;

    if (status == LAP_OK && v->replays)
        status = replay_read_buffer(r, v->buffer, 0, v->bytes, &data);
    if (status == LAP_OK)
        status = mesh_values_take(v, data);
    if (status != LAP_OK)
        return status;
    if (v->why)
        lap_log(r->log, LAP_LOG_WARNING, "there are no outputs: %s", v->why);
    if (v->has_outputs && v->shaded > v->most_invocations)
        lap_log(r->log, LAP_LOG_WARNING, "the shader ran %" PRIu64 " times, and %" PRIu32 " of these were kept",
                v->shaded, v->most_invocations);
    return !r->options.json && r->options.mesh.as == REPLAY_MESH_OBJ ? replay_print_mesh_obj(r, v) : print_rows(r, &p);
}
