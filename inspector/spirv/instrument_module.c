/* SPDX-License-Identifier: MIT */
/* What a module has, and what the functions do that an entry point reaches. */
#include <string.h>

#include "inspector/spirv/instrument_parts.h"
#include "vulkan/shader/spirv.h"

#define MEMORY_MODEL_VULKAN 3u
#define MODE_EARLY_AND_LATE 5017u

enum {
    OP_NAME = 5,
    OP_MEMBER_NAME = 6,
    OP_MEMORY_MODEL = 14,
    OP_COPY_MEMORY = 63,
    OP_COPY_MEMORY_SIZED = 64,
    OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    OP_GROUP_DECORATE = 74,
    OP_GROUP_MEMBER_DECORATE = 75,
    OP_COPY_OBJECT = 83,

    CAPABILITY_TESSELLATION = 3,
    CAPABILITY_FLOAT16 = 9,
    CAPABILITY_INT16 = 22,
    CAPABILITY_INT8 = 39
};

/* ---- declarations ---- */

static void see_capability(struct maker *m, uint32_t capability)
{
    m->has_int8 |= capability == CAPABILITY_INT8;
    m->has_int16 |= capability == CAPABILITY_INT16;
    m->has_float16 |= capability == CAPABILITY_FLOAT16;
    m->has_primitive |= capability == CAPABILITY_GEOMETRY || capability == CAPABILITY_TESSELLATION;
}

static void see_mode(struct maker *m, const uint32_t *mode)
{
    if (mode[1] == m->entry[2]) {
        m->out->early |= mode[2] == MODE_EARLY;
        m->may_be_late |= mode[2] == MODE_EARLY_AND_LATE;
    }
}

/* A copy of a string that ends in its instruction. */
static const char *text_of(struct maker *m, const uint32_t *words, uint32_t first)
{
    const char *text = (const char *)&words[first];
    const size_t bytes = (spirv_length(words) - first) * sizeof *words;
    const char *end = memchr(text, 0, bytes);
    char *copy = end && end > text ? lap_arena_alloc(m->arena, (size_t)(end - text) + 1, 1) : NULL;

    return copy ? memcpy(copy, text, (size_t)(end - text) + 1) : NULL;
}

/* In front of the functions. */
static void see_declaration(struct maker *m, const uint32_t *words)
{
    const uint32_t length = spirv_length(words);

    switch (spirv_op(words)) {
    case SPIRV_CAPABILITY:
        see_capability(m, length > 1 ? words[1] : 0);
        break;
    case OP_MEMORY_MODEL:
        m->has_vulkan_memory = length > 2 && words[2] == MEMORY_MODEL_VULKAN;
        break;
    case SPIRV_EXECUTION_MODE:
        see_mode(m, words);
        break;
    case OP_NAME:
        if (length > 2 && words[1] < m->spirv.bound)
            m->names[words[1]] = text_of(m, words, 2);
        break;
    case OP_GROUP_DECORATE:
    case OP_GROUP_MEMBER_DECORATE:
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the shader has groups of decorations");
        break;
    default:
        break;
    }
}

void maker_see_declarations(struct maker *m)
{
    const struct spirv *s = &m->spirv;
    size_t at = LAP_SPIRV_HEADER_WORDS;

    for (; at < s->count && spirv_op(&s->words[at]) != SPIRV_FUNCTION; at += spirv_length(&s->words[at]))
        see_declaration(m, &s->words[at]);
    m->functions_at = at;
}

const char *maker_member_name(struct maker *m, uint32_t type, uint32_t member)
{
    const struct spirv *s = &m->spirv;

    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < m->functions_at; at += spirv_length(&s->words[at])) {
        const uint32_t *words = &s->words[at];
        if (spirv_op(words) == OP_MEMBER_NAME && spirv_length(words) > 3 && words[1] == type && words[2] == member)
            return text_of(m, words, 3);
    }
    return NULL;
}

/* ---- functions ---- */

static void write_part(struct maker *m, uint32_t variable, uint64_t parts)
{
    if (variable < m->spirv.bound)
        m->written[variable] |= parts;
}

static void see_use(struct maker *m, const uint32_t *words)
{
    const uint32_t length = spirv_length(words);
    const uint32_t *index;

    for (uint32_t i = 1; i < length; i++)
        if (words[i] < m->spirv.bound)
            m->used[words[i]] = true;
    switch (spirv_op(words)) {
    case OP_ACCESS_CHAIN:
    case OP_IN_BOUNDS_ACCESS_CHAIN:
        if (length < 5)
            break;
        index = spirv_instruction(&m->spirv, words[4]);
        write_part(m, words[3], index && spirv_op(index) == SPIRV_CONSTANT ? lap_spirv_bit(index[3]) : UINT64_MAX);
        break;
    case SPIRV_STORE:
    case OP_COPY_MEMORY:
    case OP_COPY_MEMORY_SIZED:
        write_part(m, length > 1 ? words[1] : 0, UINT64_MAX);
        break;
    case OP_COPY_OBJECT:
        write_part(m, length > 3 ? words[3] : 0, UINT64_MAX);
        break;
    case OP_FUNCTION_CALL:
        for (uint32_t i = 4; i < length; i++)
            write_part(m, words[i], UINT64_MAX);
        break;
    case OP_KILL:
    case OP_TERMINATE_INVOCATION:
    case OP_DEMOTE:
        m->may_be_late = true;
        break;
    default:
        break;
    }
}

bool maker_is_written(const struct maker *m, uint32_t variable, uint32_t member)
{
    const uint64_t parts = member == UINT32_MAX ? UINT64_MAX : lap_spirv_bit(member);

    /* With one word more a variable has a value at the start. */
    return (m->written[variable] & parts) != 0 || spirv_length(spirv_instruction(&m->spirv, variable)) > 4;
}

/* Visits each function once that the entry point reaches. */
void maker_see_functions(struct maker *m)
{
    const struct spirv *s = &m->spirv;
    uint32_t count = 0, capacity = 0, *waiting = NULL;
    void *grown = NULL;

    if (!maker_grow(m, &grown, 0, &capacity, sizeof *waiting))
        return;
    waiting = grown;
    waiting[count++] = m->entry[2];
    m->reached[m->entry[2]] = true;
    while (count) {
        size_t at = s->ids[waiting[--count]].at;
        for (at += spirv_length(&s->words[at]); at < s->count; at += spirv_length(&s->words[at])) {
            const uint32_t *words = &s->words[at], op = spirv_op(words), length = spirv_length(words);
            const uint32_t callee = op == OP_FUNCTION_CALL && length > 3 ? words[3] : 0;
            const uint32_t *function = callee ? spirv_instruction(s, callee) : NULL;
            if (op == SPIRV_FUNCTION || op == SPIRV_FUNCTION_END)
                break;
            see_use(m, words);
            if (!function || spirv_op(function) != SPIRV_FUNCTION || m->reached[callee])
                continue;
            grown = waiting;
            if (!maker_grow(m, &grown, count, &capacity, sizeof *waiting))
                return;
            waiting = grown;
            waiting[count++] = callee;
            m->reached[callee] = true;
        }
    }
}

void maker_see_variables(struct maker *m)
{
    const struct spirv *s = &m->spirv;

    for (uint32_t id = 1; id < s->bound; id++)
        if (m->used[id] && s->ids[id].is_bound && s->ids[id].set == m->wish->set)
            maker_refuse(m, LAP_ERROR_UNSUPPORTED,
                         "the shader uses the descriptor set that its values would be written to");
    for (uint32_t i = spirv_interface(m->entry); i < spirv_length(m->entry); i++) {
        const uint32_t *variable = spirv_instruction(s, m->entry[i]);
        const struct spirv_id *about = &s->ids[m->entry[i]];
        const uint32_t built_in = about->is_built_in ? about->built_in : UINT32_MAX;
        if (variable && spirv_op(variable) == SPIRV_VARIABLE && variable[3] == SPIRV_STORAGE_OUTPUT)
            m->may_be_late |= built_in == BUILT_IN_FRAG_DEPTH || built_in == BUILT_IN_SAMPLE_MASK ||
                              built_in == BUILT_IN_FRAG_STENCIL_REF;
    }
}
