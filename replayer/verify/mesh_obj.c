/* SPDX-License-Identifier: MIT */
/* Vertices as a Wavefront OBJ file: v, and p, l or f. A vertex that several rows have is one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "replayer/verify/mesh_internal.h"

#define POSITION 0u /* the built-in */

struct obj {
    const struct mesh_values *v;
    bool clips;         /* all four numbers of Position, not divided by w */
    uint32_t attribute; /* with the positions; UINT32_MAX: the output Position has them */
    const struct instrument_result *result;
    uint32_t at;             /* its word */
    struct lap_map vertices; /* by VertexIndex + 1: their numbers in the file */
    uint32_t *numbers;       /* [row]; 0: it has no vertex */
    uint64_t count, without; /* vertices; primitives that lack one */
};

/* ---- where positions come from ---- */

static bool has_text(const char *name, const char *text)
{
    for (; name && *name; name++)
        if (strncasecmp(name, text, strlen(text)) == 0)
            return true;
    return false;
}

static enum lap_status find_attribute(struct obj *o, const char *name)
{
    const struct mesh *m = &o->v->mesh;
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < m->input.attribute_count; i++) {
        const struct mesh_attribute *a = &m->attributes[i];
        char location[16];
        snprintf(location, sizeof location, "%" PRIu32, a->location);
        if (name ? (a->name && strcmp(a->name, name) == 0) || strcmp(location, name) == 0
                 : has_text(a->name, "pos") && a->texels && a->texels->count > 1) {
            o->attribute = i;
            return LAP_OK;
        }
        if (found == UINT32_MAX && a->texels && a->texels->count > 1)
            found = i;
    }
    if (name)
        return lap_fail(LAP_ERROR_ARGUMENT, "the draw has no attribute %s", name);
    o->attribute = found;
    return found == UINT32_MAX ? lap_fail(LAP_ERROR_ARGUMENT, "the draw has no attribute with positions") : LAP_OK;
}

static enum lap_status find_output(struct obj *o)
{
    uint32_t count;
    const struct instrument_result *results = replay_mesh_outputs(o->v, &count);

    for (uint32_t i = 0; i < count; i++) {
        if (results[i].built_in == POSITION && results[i].type == INSTRUMENT_FLOAT && results[i].count == 4) {
            o->result = &results[i];
            return LAP_OK;
        }
        o->at += results[i].words;
    }
    return lap_fail(LAP_ERROR_UNSUPPORTED, "the vertex shader writes no Position%s%s", o->v->why ? ": " : "",
                    o->v->why ? o->v->why : "");
}

/* ---- vertices ---- */

/* False: it has none. */
static bool print_vertex(const struct obj *o, const struct mesh_row *row)
{
    const uint32_t *words;
    double p[4] = {0, 0, 0, 1};

    if (!o->result) {
        if (!mesh_input_of(&o->v->mesh, o->attribute, row, p))
            return false;
        printf("v %.9g %.9g %.9g\n", p[0], p[1], p[2]);
        return true;
    }
    words = mesh_output_of(o->v, row->vertex);
    for (unsigned i = 0; words && i < 4; i++)
        p[i] = replay_mesh_number(o->result, words + o->at, i);
    if (words && o->clips)
        printf("v %.9g %.9g %.9g %.9g\n", p[0], p[1], p[2], p[3]);
    else if (words)
        printf("v %.9g %.9g %.9g\n", p[0] / p[3], p[1] / p[3], p[2] / p[3]);
    return words != NULL;
}

static enum lap_status print_vertices(struct obj *o)
{
    const struct mesh *m = &o->v->mesh;

    for (uint32_t i = 0; i < m->call.count && !ferror(stdout); i++) {
        const struct mesh_row row = mesh_row_of(m, i);
        uintptr_t number = 0;
        if (row.restarts || row.is_missing)
            continue;
        number = (uintptr_t)lap_map_get(&o->vertices, (uint64_t)row.vertex + 1);
        if (!number && print_vertex(o, &row)) {
            number = (uintptr_t)++o->count;
            if (lap_map_put(&o->vertices, (uint64_t)row.vertex + 1, (void *)number, NULL) != LAP_OK)
                return lap_no_memory("the vertices of a draw");
        }
        o->numbers[i] = (uint32_t)number;
    }
    return LAP_OK;
}

static enum lap_status print_primitive(void *user, const uint32_t *rows, unsigned count)
{
    struct obj *o = user;

    for (unsigned i = 0; i < count; i++)
        if (!o->numbers[rows[i]]) {
            o->without++;
            return LAP_OK;
        }
    putchar(count == 3 ? 'f' : count == 2 ? 'l' : 'p');
    for (unsigned i = 0; i < count; i++)
        printf(" %" PRIu32, o->numbers[rows[i]]);
    putchar('\n');
    return LAP_OK;
}

enum lap_status replay_print_mesh_obj(struct replay *r, const struct mesh_values *v)
{
    const struct replay_mesh *wish = &r->options.mesh;
    struct obj o = {.v = v, .clips = wish->clips, .attribute = UINT32_MAX};
    char text[POSITION_TEXT_BYTES];
    enum lap_status status =
        v->wish.sides == MESH_IN || wish->position ? find_attribute(&o, wish->position) : find_output(&o);

    if (status != LAP_OK)
        return status;
    lap_map_init(&o.vertices);
    o.numbers = calloc((size_t)v->mesh.call.count + 1, sizeof *o.numbers);
    status = o.numbers ? LAP_OK : lap_no_memory("the vertices of a draw");
    printf("# %s, instance %" PRIu32 ", %s\n", position_text(&v->wish.at, text), v->mesh.instance,
           !o.result     ? "an attribute"
           : wish->clips ? "clip coordinates"
                         : "normalized device coordinates: y goes down");
    if (status == LAP_OK)
        status = print_vertices(&o);
    if (status == LAP_OK)
        status = mesh_primitives(&v->mesh, print_primitive, &o);
    if (status == LAP_OK && o.without)
        lap_log(r->log, LAP_LOG_WARNING, "%" PRIu64 " primitives lack a vertex and are left out", o.without);
    free(o.numbers);
    lap_map_finish(&o.vertices);
    return status;
}
