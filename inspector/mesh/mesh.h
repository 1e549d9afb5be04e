/* SPDX-License-Identifier: MIT */
/*
 * mesh: the vertices of a draw, as its command takes them out of buffers ("Fixed-Function Vertex Processing"): rows in
 * the order of the draw, with the values of attributes, and the primitives that they make. Bytes come from the caller,
 * and are not trusted. One thread.
 */
#ifndef LAP_INSPECTOR_MESH_MESH_H
#define LAP_INSPECTOR_MESH_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "gen_formats.h"
#include "inspector/mesh/draw_call.h"
#include "inspector/mesh/vertex_input.h"
#include "inspector/state/bound_walk.h"

#define MESH_MOST_BYTES ((uint64_t)256 << 20) /* of all buffers of a draw */
#define MESH_MOST_ROWS  (UINT32_C(1) << 26)

struct mesh_attribute {
    uint32_t location, binding, offset;
    VkFormat format;
    const struct gen_format *texels; /* NULL: it can't be decoded */
    uint32_t stride, divisor;
    bool per_instance;
    uint64_t buffer, begin, end; /* of the binding's bytes in the buffer; buffer 0: none is bound */
    const char *name;            /* of the shader's input; NULL: not known */
};

struct mesh {
    struct draw_source source;
    uint32_t draw;         /* which one of the command */
    uint32_t draws;        /* that it has, once the call is known */
    struct draw_call call; /* of that one */
    bool is_known;         /* the call and the indices are */
    bool has_instance;     /* else it is the first one */
    uint32_t instance;     /* InstanceIndex */
    struct vertex_input input;
    uint64_t index_buffer, index_begin, index_end;
    uint32_t index_bytes;              /* 0: there are no indices */
    struct mesh_attribute *attributes; /* [input.attribute_count], in the order of their locations */
    const uint8_t *indices;            /* of the call */
    uint32_t index_count;              /* that there are bytes of */
    const uint8_t **data;              /* [attribute]: its bytes from data_begin on; NULL: there are none */
    uint64_t *data_begin, *data_end;   /* in the buffer */
};

/* The bytes [begin, end) of a buffer; *out NULL: they are not known yet. */
struct mesh_source {
    enum lap_status (*read)(void *user, uint64_t buffer, uint64_t begin, uint64_t end, const uint8_t **out);
    uint64_t (*size)(void *user, uint64_t buffer); /* 0: there is no such buffer */
    void *user;
};

/* All that a draw finds. *out_why: a clause with the reason why it has no list of vertices, or NULL. All of *out leads
 * into the arena. `draw` and the instance are set before. */
enum lap_status mesh_begin(struct mesh *out, const struct bound_visit *visit, const struct vertex_inputs *inputs,
                           const struct mesh_source *source, struct lap_arena *arena,
                           const char **out_why) LAP_MUST_CHECK;

/* Reads what it needs: parameters, indices, attributes. While something of it is not known, it asks for all that may be
 * needed behind it, and the mesh is not known. LAP_ERROR_ARGUMENT: there is no such draw or instance.
 * LAP_ERROR_UNSUPPORTED: the draw has more than MESH_MOST_ROWS. */
enum lap_status mesh_find(struct mesh *mesh, const struct mesh_source *source) LAP_MUST_CHECK;

/* ---- of a mesh that is known ---- */

struct mesh_row {
    uint32_t index;  /* as it is in the buffer; without indices the number of the row */
    uint32_t vertex; /* VertexIndex */
    bool restarts;   /* it is no vertex, but ends a strip */
    bool is_missing; /* the index is outside of the buffer */
};

/* There are mesh.call.count rows. */
struct mesh_row mesh_row_of(const struct mesh *mesh, uint32_t number);

/* The values of an attribute; how many there are: 0: its bytes are outside of the buffer, or its format is strange. */
unsigned mesh_input_of(const struct mesh *mesh, uint32_t attribute, const struct mesh_row *row, double out[4]);

/* Points, lines, triangles; patches as points: its rows. A status that is not LAP_OK ends it. */
typedef enum lap_status (*mesh_primitive_fn)(void *user, const uint32_t *rows, unsigned count);
enum lap_status mesh_primitives(const struct mesh *mesh, mesh_primitive_fn visit, void *user) LAP_MUST_CHECK;

#endif
