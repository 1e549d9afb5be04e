/* SPDX-License-Identifier: MIT */
#include "inspector/mesh/mesh.h"

#include <string.h>

#include "tests/unit/unit.h"

/* One buffer. Its last reading is noted. */
struct buffer {
    uint8_t bytes[64];
    uint64_t size, begin, end;
};

static enum lap_status read_bytes(void *user, uint64_t buffer, uint64_t begin, uint64_t end, const uint8_t **out)
{
    struct buffer *b = user;

    (void)buffer;
    CHECK(begin <= end && end <= b->size); /* what the contract of contents asks for */
    b->begin = begin;
    b->end = end;
    *out = b->bytes + begin;
    return LAP_OK;
}

static uint64_t size_of(void *user, uint64_t buffer)
{
    return buffer == 1 ? ((const struct buffer *)user)->size : 0;
}

static struct mesh_source source_of(struct buffer *buffer)
{
    return (struct mesh_source){read_bytes, size_of, buffer};
}

UNIT_TEST(counts_and_parameters_lie_in_their_buffers)
{
    struct buffer buffer = {.size = 32};
    const struct mesh_source source = source_of(&buffer);
    const uint64_t far[] = {29, 32, UINT64_MAX - 1};

    for (unsigned i = 0; i < 3; i++) {
        struct mesh count = {.source = {.count = 1, .buffer = 1, .count_buffer = 1, .count_offset = far[i]}};
        struct mesh call = {.source = {.count = 1, .buffer = 1, .offset = far[i]}};
        CHECK(mesh_find(&count, &source) == LAP_ERROR_ARGUMENT);
        CHECK(mesh_find(&call, &source) == LAP_ERROR_ARGUMENT);
    }
    struct mesh unknown = {.source = {.count = 1, .buffer = 2}};
    CHECK(mesh_find(&unknown, &source) == LAP_ERROR_ARGUMENT);
}

UNIT_TEST(garbage_for_a_count_is_refused)
{
    const uint32_t draw[] = {UINT32_MAX, 1, 0, 0};
    struct buffer buffer = {.size = 32};
    const struct mesh_source source = source_of(&buffer);
    struct mesh mesh = {.source = {.count = 1, .buffer = 1}};

    memcpy(buffer.bytes, draw, sizeof draw);
    CHECK(mesh_find(&mesh, &source) == LAP_ERROR_UNSUPPORTED);
}

UNIT_TEST(indices_beyond_their_buffer_are_missing)
{
    struct buffer buffer = {.size = 8, .bytes = {1, 0, 2, 0, 0xff, 0xff, 3, 0}};
    const struct mesh_source source = source_of(&buffer);
    struct mesh mesh = {.source = {.is_indexed = true, .count = 1},
                        .call = {.first = 1, .count = 6, .vertex_offset = -2, .instances = 1},
                        .input.restarts = true,
                        .index_buffer = 1,
                        .index_end = 8,
                        .index_bytes = 2};

    CHECK(mesh_find(&mesh, &source) == LAP_OK);
    CHECK(mesh.is_known && buffer.begin == 2 && buffer.end == 8);
    CHECK(mesh_row_of(&mesh, 0).vertex == 0 && mesh_row_of(&mesh, 1).restarts);
    CHECK(mesh_row_of(&mesh, 2).vertex == 1 && mesh_row_of(&mesh, 3).is_missing && mesh_row_of(&mesh, 5).is_missing);
}

UNIT_MAIN();
