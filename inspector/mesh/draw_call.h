/* SPDX-License-Identifier: MIT */
/* draw_call: which vertices a draw has, as far as its command says: the rest is in buffers. Any thread. */
#ifndef LAP_INSPECTOR_MESH_DRAW_CALL_H
#define LAP_INSPECTOR_MESH_DRAW_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* One draw. */
struct draw_call {
    uint32_t first, count; /* vertices, or indices */
    int32_t vertex_offset; /* that is added to an index */
    uint32_t first_instance, instances;
};

/* The draws of a command. */
struct draw_source {
    bool is_indexed;
    uint32_t count; /* draws, at most */
    /* Of indirect draws; buffer 0: it is none. */
    uint64_t buffer, offset;
    uint32_t stride;
    uint64_t count_buffer, count_offset; /* with the count as a uint32_t; count_buffer 0: there is none */
};

/* A clause with the reason why such a draw has no list of vertices; NULL: it has one. */
const char *draw_source_of(uint32_t command, const void *args, struct draw_source *out);

/* A draw of a command that is not indirect; number < count. */
struct draw_call draw_call_of(uint32_t command, const void *args, uint32_t number);

/* The bytes of a draw in the buffer of an indirect one (VkDrawIndirectCommand, VkDrawIndexedIndirectCommand). */
uint32_t draw_call_bytes(const struct draw_source *source);
struct draw_call draw_call_read(const struct draw_source *source, const void *bytes);

#endif
