/* SPDX-License-Identifier: MIT */
#include "inspector/spirv/spirv_write.h"

#include <string.h>

#define FIRST_CAPACITY 1024u

static bool make_room(struct spirv_writer *w, size_t count)
{
    size_t capacity = w->capacity ? w->capacity : FIRST_CAPACITY;
    uint32_t *words;

    if (count <= w->capacity - w->count)
        return true;
    while (capacity - w->count < count)
        capacity *= 2;
    words = lap_arena_alloc(w->arena, capacity * sizeof *words, sizeof *words);
    if (!words)
        return false;
    if (w->count)
        memcpy(words, w->words, w->count * sizeof *words);
    w->words = words;
    w->capacity = capacity;
    return true;
}

void spirv_put(struct spirv_writer *w, const uint32_t *words, size_t count)
{
    w->failed = w->failed || !make_room(w, count);
    if (!w->failed && count) {
        memcpy(&w->words[w->count], words, count * sizeof *words);
        w->count += count;
    }
}

void spirv_put_op(struct spirv_writer *w, uint32_t op, const uint32_t *operands, size_t count)
{
    const uint32_t head = (uint32_t)(count + 1) << 16 | op;

    spirv_put(w, &head, 1);
    spirv_put(w, operands, count);
}
