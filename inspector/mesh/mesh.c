/* SPDX-License-Identifier: MIT */
#include "inspector/mesh/mesh.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan/texel/texel_values.h"

#ifdef VK_KHR_index_type_uint8
#define INDEX_TYPE_UINT8 VK_INDEX_TYPE_UINT8_KHR
#else
#define INDEX_TYPE_UINT8 VK_INDEX_TYPE_UINT8_EXT
#endif

static enum lap_status no_memory(void)
{
    return lap_no_memory("the vertices of a draw");
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- what a draw finds ---- */

/* The bytes of a binding: up to its size, or to the end of the buffer. */
static void set_range(const struct mesh_source *source, const struct bound_buffer *b, uint64_t *buffer, uint64_t *begin,
                      uint64_t *end)
{
    const uint64_t size = b->command == BOUND_NO_COMMAND ? 0 : source->size(source->user, b->buffer);

    *buffer = size ? b->buffer : 0;
    *begin = least(b->offset, size);
    *end = b->size < size - *begin ? *begin + b->size : size;
}

static int by_location(const void *one, const void *other)
{
    const struct mesh_attribute *a = one, *b = other;

    return (a->location > b->location) - (a->location < b->location);
}

static enum lap_status list_attributes(struct mesh *m, const struct bound *bound, const struct mesh_source *source,
                                       struct lap_arena *arena)
{
    const uint32_t count = m->input.attribute_count;

    m->attributes = lap_arena_zalloc(arena, count + 1, sizeof *m->attributes, 8);
    m->data = lap_arena_zalloc(arena, count + 1, sizeof *m->data, 8);
    m->data_begin = lap_arena_zalloc(arena, count + 1, sizeof *m->data_begin, 8);
    m->data_end = lap_arena_zalloc(arena, count + 1, sizeof *m->data_end, 8);
    if (!m->attributes || !m->data || !m->data_begin || !m->data_end)
        return no_memory();
    for (uint32_t i = 0; i < count; i++) {
        const VkVertexInputAttributeDescription *from = &m->input.attributes[i];
        const struct vertex_binding *binding = vertex_binding_of(&m->input, from->binding);
        struct mesh_attribute *a = &m->attributes[i];
        *a = (struct mesh_attribute){.location = from->location,
                                     .binding = from->binding,
                                     .offset = from->offset,
                                     .format = from->format,
                                     .texels = lap_texel_format(from->format, VK_IMAGE_ASPECT_COLOR_BIT)};
        if (binding) {
            a->stride = binding->stride;
            a->divisor = binding->divisor;
            a->per_instance = binding->per_instance;
        }
        if (binding && from->binding < bound->vertex_count)
            set_range(source, &bound->vertex[from->binding], &a->buffer, &a->begin, &a->end);
    }
    qsort(m->attributes, count, sizeof *m->attributes, by_location);
    return LAP_OK;
}

static uint32_t bytes_of_index(VkIndexType type)
{
    return type == VK_INDEX_TYPE_UINT16 ? 2 : type == VK_INDEX_TYPE_UINT32 ? 4 : type == INDEX_TYPE_UINT8 ? 1 : 0;
}

enum lap_status mesh_begin(struct mesh *out, const struct bound_visit *visit, const struct vertex_inputs *inputs,
                           const struct mesh_source *source, struct lap_arena *arena, const char **out_why)
{
    const struct bound *bound = visit->bound;
    enum lap_status status;

    *out_why = draw_source_of(visit->command, visit->args, &out->source);
    if (*out_why)
        return LAP_OK;
    status = vertex_input_of(inputs, bound, arena, &out->input);
    if (status != LAP_OK)
        return status;
    if (!out->input.is_known) {
        *out_why = "nothing creates its pipeline";
        return LAP_OK;
    }
    if (out->source.is_indexed) {
        out->index_bytes = bytes_of_index(bound->index_type);
        set_range(source, &bound->index, &out->index_buffer, &out->index_begin, &out->index_end);
        if (!out->index_buffer || !out->index_bytes)
            *out_why = "no index buffer is bound";
    }
    if (!out->source.buffer && out->draw < out->source.count)
        out->call = draw_call_of(visit->command, visit->args, out->draw);
    return list_attributes(out, bound, source, arena);
}

/* ---- reading ---- */

static bool restarts(const struct mesh *m, uint32_t index)
{
    return m->input.restarts && index == UINT32_MAX >> (32 - 8 * m->index_bytes);
}

/* The bytes of a buffer that a command names. */
static enum lap_status read_named(const struct mesh_source *source, uint64_t buffer, uint64_t at, uint32_t bytes,
                                  const char *what, const uint8_t **out)
{
    const uint64_t size = source->size(source->user, buffer);

    return at > size || bytes > size - at
               ? lap_fail(LAP_ERROR_ARGUMENT, "%s is outside of VkBuffer:%" PRIu64, what, buffer)
               : source->read(source->user, buffer, at, at + bytes, out);
}

/* Of an indirect draw. *out_known: false: it waits for bytes. */
static enum lap_status find_call(struct mesh *m, const struct mesh_source *source, bool *out_known)
{
    const struct draw_source *s = &m->source;
    const uint64_t at = s->offset + (uint64_t)m->draw * s->stride;
    const uint8_t *count = NULL, *call = NULL;
    enum lap_status status = LAP_OK;

    m->draws = s->count;
    if (s->count_buffer) {
        status =
            read_named(source, s->count_buffer, s->count_offset, sizeof m->draws, "the number of its draws", &count);
        if (status == LAP_OK && count) {
            memcpy(&m->draws, count, sizeof m->draws);
            m->draws = m->draws < s->count ? m->draws : s->count;
        }
    }
    *out_known = !s->count_buffer || count;
    if (status == LAP_OK && *out_known && m->draw >= m->draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "the command has %" PRIu32 " draw%s: there is no draw %" PRIu32, m->draws,
                        m->draws == 1 ? "" : "s", m->draw);
    if (status != LAP_OK || !s->buffer)
        return status;
    status = read_named(source, s->buffer, at, draw_call_bytes(s), "what it draws", &call);
    if (call)
        m->call = draw_call_read(s, call);
    *out_known &= call != NULL;
    return status;
}

static enum lap_status choose_instance(struct mesh *m)
{
    const struct draw_call *c = &m->call;

    if (c->count > MESH_MOST_ROWS)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "it has %" PRIu32 " vertices, and at most %" PRIu32 " are listed",
                        c->count, MESH_MOST_ROWS);
    if (!m->has_instance)
        m->instance = c->first_instance;
    return !m->has_instance || m->instance - c->first_instance < c->instances
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT,
                          "there is no instance %" PRIu32 ": the draw has %" PRIu32 " from %" PRIu32 " on", m->instance,
                          c->instances, c->first_instance);
}

/* has_call: only what it needs. */
static enum lap_status find_indices(struct mesh *m, const struct mesh_source *source, bool has_call, bool *out_known)
{
    const uint64_t most = (m->index_end - m->index_begin) / (m->index_bytes ? m->index_bytes : 1);
    const uint64_t first = has_call ? least(m->call.first, most) : 0;
    const uint64_t count = has_call ? least(m->call.count, most - first) : most;
    const uint64_t begin = m->index_begin + first * m->index_bytes;
    enum lap_status status = LAP_OK;

    *out_known = true;
    if (!m->index_bytes || !count)
        return LAP_OK;
    status = source->read(source->user, m->index_buffer, begin, begin + count * m->index_bytes, &m->indices);
    *out_known = m->indices != NULL;
    m->index_count = m->indices ? (uint32_t)count : 0;
    return status;
}

/* The vertices that the draw has; false: none. */
static bool find_vertices(const struct mesh *m, uint32_t *out_first, uint32_t *out_last)
{
    bool any = false;

    if (!m->index_bytes && m->call.count) {
        *out_first = m->call.first;
        *out_last = UINT32_MAX - m->call.first < m->call.count - 1 ? UINT32_MAX : m->call.first + m->call.count - 1;
        return true;
    }
    for (uint32_t i = 0; m->index_bytes && i < m->call.count; i++) {
        const struct mesh_row row = mesh_row_of(m, i);
        if (row.restarts || row.is_missing)
            continue;
        *out_first = any && *out_first < row.vertex ? *out_first : row.vertex;
        *out_last = any && *out_last > row.vertex ? *out_last : row.vertex;
        any = true;
    }
    return any;
}

/* The element of an attribute that a vertex has, where it is one of instances. */
static uint64_t element_of_instance(const struct mesh *m, const struct mesh_attribute *a)
{
    return m->call.first_instance + (a->divisor ? (m->instance - m->call.first_instance) / (uint64_t)a->divisor : 0);
}

/* has_rows: only the elements of these. */
static enum lap_status find_attribute(struct mesh *m, const struct mesh_source *source, uint32_t number, bool has_rows,
                                      uint32_t first, uint32_t last)
{
    const struct mesh_attribute *a = &m->attributes[number];
    uint64_t from = has_rows ? first : 0, to = has_rows ? last : UINT32_MAX;
    uint64_t begin, end;

    if (has_rows && a->per_instance)
        from = to = element_of_instance(m, a);
    if (!a->buffer || !a->texels)
        return LAP_OK;
    begin = a->begin + from * a->stride + a->offset;
    end = least(a->begin + to * a->stride + a->offset + a->texels->bytes, a->end);
    if (begin >= end)
        return LAP_OK;
    m->data_begin[number] = begin;
    m->data_end[number] = end;
    return source->read(source->user, a->buffer, begin, end, &m->data[number]);
}

enum lap_status mesh_find(struct mesh *mesh, const struct mesh_source *source)
{
    bool has_call, has_indices = false;
    uint32_t first = 0, last = 0;
    enum lap_status status = find_call(mesh, source, &has_call);

    if (status == LAP_OK && has_call)
        status = choose_instance(mesh);
    if (status == LAP_OK)
        status = find_indices(mesh, source, has_call, &has_indices);
    if (status != LAP_OK)
        return status;
    mesh->is_known = has_call && has_indices;
    if (mesh->is_known && !find_vertices(mesh, &first, &last))
        return LAP_OK;
    for (uint32_t i = 0; i < mesh->input.attribute_count && status == LAP_OK; i++) {
        status = find_attribute(mesh, source, i, mesh->is_known, first, last);
        mesh->is_known &= mesh->data[i] || !mesh->data_end[i];
    }
    return status;
}

/* ---- rows ---- */

static uint32_t index_at(const struct mesh *m, uint32_t number)
{
    const uint8_t *at = m->indices + (size_t)number * m->index_bytes;
    uint32_t index = 0;

    memcpy(&index, at, m->index_bytes); /* little-endian, as all that the replayer runs on */
    return index;
}

struct mesh_row mesh_row_of(const struct mesh *mesh, uint32_t number)
{
    struct mesh_row row = {.index = number};

    if (!mesh->index_bytes) {
        row.vertex = mesh->call.first + number;
    } else if (number >= mesh->index_count) {
        row.is_missing = true;
    } else {
        row.index = index_at(mesh, number);
        row.restarts = restarts(mesh, row.index);
        row.vertex = row.index + (uint32_t)mesh->call.vertex_offset;
    }
    return row;
}

unsigned mesh_input_of(const struct mesh *mesh, uint32_t attribute, const struct mesh_row *row, double out[4])
{
    const struct mesh_attribute *a = &mesh->attributes[attribute];
    const uint64_t element = a->per_instance ? element_of_instance(mesh, a) : row->vertex;
    const uint64_t at = a->begin + element * a->stride + a->offset;
    static const char channels[] = "RGBA"; /* x, y, z, w: formats may have their components in another order */
    double values[4];

    if (!a->texels || !mesh->data[attribute] || row->restarts || row->is_missing || at < mesh->data_begin[attribute] ||
        at > mesh->data_end[attribute] || a->texels->bytes > mesh->data_end[attribute] - at)
        return 0;
    lap_texel_values(a->texels, mesh->data[attribute] + (at - mesh->data_begin[attribute]), values);
    for (unsigned i = 0; i < a->texels->count; i++) {
        const char *place = strchr(channels, a->texels->components[i].channel);
        out[place ? place - channels : (ptrdiff_t)i] = values[i];
    }
    return a->texels->count;
}

/* ---- primitives ---- */

/* How a topology makes primitives of the rows between two restarts ("Drawing Commands"): primitive i begins at row
 * i * step, and has the rows `at` behind that. */
struct shape {
    unsigned step, rows, count; /* rows: that must be there */
    uint8_t at[3];
    bool turns; /* in every second one the last two rows change places */
};

static struct shape shape_of(const struct mesh *m)
{
    switch (m->input.topology) {
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
        return (struct shape){2, 2, 2, {0, 1}, false};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP:
        return (struct shape){1, 2, 2, {0, 1}, false};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
        return (struct shape){3, 3, 3, {0, 1, 2}, false};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP:
        return (struct shape){1, 3, 3, {0, 1, 2}, true};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN:
        return (struct shape){1, 3, 3, {1, 2, 0}, false};
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
        return (struct shape){4, 4, 2, {1, 2}, false};
    case VK_PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY:
        return (struct shape){1, 4, 2, {1, 2}, false};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
        return (struct shape){6, 6, 3, {0, 2, 4}, false};
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY:
        return (struct shape){2, 6, 3, {0, 2, 4}, true};
    default:
        return (struct shape){1, 1, 1, {0}, false};
    }
}

static enum lap_status visit_strip(const struct mesh *m, uint32_t begin, uint32_t end, mesh_primitive_fn visit,
                                   void *user)
{
    const struct shape shape = shape_of(m);
    const bool is_fan = m->input.topology == VK_PRIMITIVE_TOPOLOGY_TRIANGLE_FAN;
    enum lap_status status = LAP_OK;

    for (uint64_t at = begin, i = 0; at + shape.rows <= end && status == LAP_OK; at += shape.step, i++) {
        uint32_t rows[3];
        for (unsigned k = 0; k < shape.count; k++)
            rows[k] = (uint32_t)at + shape.at[shape.turns && i % 2 && k ? 3 - k : k];
        if (is_fan)
            rows[2] = begin;
        status = visit(user, rows, shape.count);
    }
    return status;
}

enum lap_status mesh_primitives(const struct mesh *mesh, mesh_primitive_fn visit, void *user)
{
    uint32_t begin = 0;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < mesh->call.count && status == LAP_OK; i++) {
        const struct mesh_row row = mesh_row_of(mesh, i);
        if (!row.restarts && !row.is_missing)
            continue;
        status = visit_strip(mesh, begin, i, visit, user);
        begin = i + 1;
    }
    return status == LAP_OK ? visit_strip(mesh, begin, mesh->call.count, visit, user) : status;
}
