/* SPDX-License-Identifier: MIT */
#include "inspector/spirv/spirv_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inspector/spirv/spirv.h"
#include "vulkan/shader/spirv.h"

enum { OP_NAME = 5, MODEL_VERTEX = 0 };

/* Its text ends in its last word. */
static const char *name_of(const struct spirv *s, uint32_t id)
{
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < s->count && spirv_op(&s->words[at]) != SPIRV_FUNCTION;
         at += spirv_length(&s->words[at])) {
        const uint32_t *words = &s->words[at];
        const char *text = (const char *)&words[2];
        if (spirv_op(words) == OP_NAME && spirv_length(words) > 2 && words[1] == id &&
            memchr(text, 0, (spirv_length(words) - 2) * sizeof *words))
            return *text ? text : NULL;
    }
    return NULL;
}

/* How many locations a variable takes: of arrays and matrices of what takes one. 64-bit vectors with more than two
 * scalars take two. */
static uint32_t locations_of(const struct spirv *s, uint32_t type, unsigned depth)
{
    const uint32_t *t = spirv_instruction(s, type);
    const uint32_t *length = t && spirv_op(t) == SPIRV_TYPE_ARRAY ? spirv_instruction(s, t[3]) : NULL;
    const uint32_t *scalar = t && spirv_op(t) == SPIRV_TYPE_VECTOR ? spirv_instruction(s, t[2]) : NULL;

    if (depth < 4 && length && spirv_op(length) == SPIRV_CONSTANT && length[3] <= 64)
        return length[3] * locations_of(s, t[2], depth + 1);
    if (depth < 4 && t && spirv_op(t) == SPIRV_TYPE_MATRIX && t[3] <= 4)
        return t[3] * locations_of(s, t[2], depth + 1);
    return scalar && spirv_op(scalar) == SPIRV_TYPE_FLOAT && scalar[2] == 64 && t[3] > 2 ? 2 : 1;
}

static enum lap_status find_input(const struct spirv *s, const uint32_t *entry, uint32_t location,
                                  struct lap_arena *arena, const char **out)
{
    for (uint32_t i = spirv_interface(entry); i < spirv_length(entry); i++) {
        const uint32_t *variable = spirv_instruction(s, entry[i]);
        const struct spirv_id *id = &s->ids[entry[i]];
        const char *name;
        uint32_t count;
        char *text;
        if (!variable || spirv_op(variable) != SPIRV_VARIABLE || variable[3] != SPIRV_STORAGE_INPUT ||
            !id->has_location || location < id->location)
            continue;
        count = locations_of(s, spirv_pointee(s, variable[1]), 0);
        name = name_of(s, entry[i]);
        if (location - id->location >= count || !name)
            continue;
        text = lap_arena_alloc(arena, strlen(name) + 16, 1);
        if (!text)
            return lap_no_memory("the names of inputs");
        *out = text;
        if (count > 1)
            sprintf(text, "%s[%" PRIu32 "]", name, location - id->location);
        else
            strcpy(text, name);
        return LAP_OK;
    }
    return LAP_OK;
}

enum lap_status spirv_input_name(const uint32_t *words, size_t bytes, const char *entry, uint32_t location,
                                 struct lap_arena *arena, const char **out)
{
    struct spirv s;
    enum lap_status status = spirv_read(&s, arena, words, bytes);

    *out = NULL;
    for (uint32_t i = 0; status == LAP_OK && i < s.entry_count; i++)
        if (s.entries[i][1] == MODEL_VERTEX && strcmp(spirv_entry_name(s.entries[i]), entry) == 0)
            return find_input(&s, s.entries[i], location, arena, out);
    return status;
}
