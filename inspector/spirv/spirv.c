/* SPDX-License-Identifier: MIT */
#include "inspector/spirv/spirv.h"

#include <string.h>

#include "vulkan/shader/spirv.h"

#define MAGIC      0x07230203u
#define MOST_BOUND 0x400000u /* the specification's limit */

/* Which word of an instruction has the id that it declares; 0: it declares none that matters here. */
static uint32_t result_word(uint32_t op)
{
    switch (op) {
    case SPIRV_CONSTANT:
    case SPIRV_SPEC_CONSTANT:
    case SPIRV_FUNCTION:
    case SPIRV_VARIABLE:
        return 2;
    default:
        return (op >= SPIRV_TYPE_VOID && op <= SPIRV_TYPE_POINTER) || op == SPIRV_TYPE_ACCELERATION_STRUCTURE ? 1 : 0;
    }
}

/* The words that this module looks at. */
static uint32_t least_words(uint32_t op)
{
    switch (op) {
    case SPIRV_CONSTANT:
    case SPIRV_SPEC_CONSTANT:
    case SPIRV_VARIABLE:
    case SPIRV_TYPE_VECTOR:
    case SPIRV_TYPE_MATRIX:
    case SPIRV_TYPE_ARRAY:
    case SPIRV_TYPE_POINTER:
    case SPIRV_TYPE_INT:
    case SPIRV_ENTRY_POINT:
        return 4;
    case SPIRV_FUNCTION:
        return 5;
    case SPIRV_TYPE_IMAGE:
        return 9;
    case SPIRV_TYPE_FLOAT:
    case SPIRV_TYPE_RUNTIME_ARRAY:
    case SPIRV_TYPE_SAMPLED_IMAGE:
    case SPIRV_EXECUTION_MODE:
    case SPIRV_EXECUTION_MODE_ID:
    case SPIRV_DECORATE:
        return 3;
    case SPIRV_MEMBER_DECORATE:
        return 4;
    default:
        return result_word(op) + 1;
    }
}

static void decorate(struct spirv_id *id, uint32_t decoration, uint32_t value)
{
    switch (decoration) {
    case SPIRV_DECORATION_LOCATION:
        id->has_location = true;
        id->location = value;
        break;
    case SPIRV_DECORATION_COMPONENT:
        id->component = (uint8_t)value;
        break;
    case SPIRV_DECORATION_INDEX:
        id->index = (uint8_t)value;
        break;
    case SPIRV_DECORATION_BUILT_IN:
        id->is_built_in = true;
        id->built_in = value;
        break;
    case SPIRV_DECORATION_BUFFER_BLOCK:
        id->is_buffer_block = true;
        break;
    case SPIRV_DECORATION_BINDING:
        id->is_bound = true;
        id->binding = value;
        break;
    case SPIRV_DECORATION_DESCRIPTOR_SET:
        id->set = value;
        break;
    case SPIRV_DECORATION_ARRAY_STRIDE:
        id->array_stride = value;
        break;
    default:
        break;
    }
}

/* False: it is not well made. */
static bool see(struct spirv *s, size_t at, bool in_function)
{
    const uint32_t *words = &s->words[at];
    const uint32_t op = words[0] & 0xffff, length = words[0] >> 16, result = result_word(op);

    if (length < least_words(op) || (result && (!words[result] || words[result] >= s->bound)))
        return false;
    if (result && !(in_function && op == SPIRV_VARIABLE))
        s->ids[words[result]].at = (uint32_t)at;
    if (op == SPIRV_DECORATE && words[1] < s->bound)
        decorate(&s->ids[words[1]], words[2], length > 3 ? words[3] : 0);
    if (op == SPIRV_ENTRY_POINT) {
        if (s->entry_count == SPIRV_MOST_ENTRIES || words[2] >= s->bound || spirv_interface(words) > length)
            return false;
        for (uint32_t i = spirv_interface(words); i < length; i++)
            if (words[i] >= s->bound)
                return false;
        s->entries[s->entry_count++] = words;
    }
    for (uint32_t i = 1; in_function && i < length; i++)
        if (words[i] < s->bound)
            s->ids[words[i]].is_used = true;
    return true;
}

enum lap_status spirv_read(struct spirv *out, struct lap_arena *arena, const uint32_t *words, size_t bytes)
{
    const size_t count = bytes / sizeof *words;
    bool in_function = false, good = count > LAP_SPIRV_HEADER_WORDS && bytes % sizeof *words == 0 &&
                                     words[0] == MAGIC && words[3] && words[3] <= MOST_BOUND;

    *out = (struct spirv){.words = words, .count = count, .bound = good ? words[3] : 0};
    if (!good)
        return lap_fail(LAP_ERROR_FORMAT, "it is no SPIR-V");
    out->ids = lap_arena_zalloc(arena, out->bound, sizeof *out->ids, _Alignof(struct spirv_id));
    if (!out->ids)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count && good; at += words[at] >> 16) {
        const uint32_t length = words[at] >> 16, op = words[at] & 0xffff;
        in_function |= op == SPIRV_FUNCTION;
        good = length && length <= count - at && see(out, at, in_function);
        in_function &= op != SPIRV_FUNCTION_END;
    }
    for (uint32_t i = 0; i < out->entry_count && good; i++) {
        const uint32_t *function = spirv_instruction(out, out->entries[i][2]);
        good = function && (function[0] & 0xffff) == SPIRV_FUNCTION;
    }
    return good ? LAP_OK : lap_fail(LAP_ERROR_FORMAT, "its SPIR-V is not well made");
}

const uint32_t *spirv_instruction(const struct spirv *spirv, uint32_t id)
{
    return id < spirv->bound && spirv->ids[id].at ? &spirv->words[spirv->ids[id].at] : NULL;
}

uint32_t spirv_number(const struct spirv *spirv, size_t at)
{
    uint32_t number = 0;

    for (size_t i = LAP_SPIRV_HEADER_WORDS; i < at; i += spirv->words[i] >> 16)
        number++;
    return number;
}

uint32_t spirv_pointee(const struct spirv *spirv, uint32_t type)
{
    const uint32_t *pointer = spirv_instruction(spirv, type);
    return pointer && (pointer[0] & 0xffff) == SPIRV_TYPE_POINTER ? pointer[3] : 0;
}

uint32_t spirv_interface(const uint32_t *entry)
{
    const uint32_t length = entry[0] >> 16;
    uint32_t at = 3;

    /* The word that has the end of the name has a byte that is 0. */
    while (at < length && ((entry[at] - 0x01010101u) & ~entry[at] & 0x80808080u) == 0)
        at++;
    return at + 1;
}

const char *spirv_entry_name(const uint32_t *entry)
{
    return (const char *)&entry[3];
}

uint32_t spirv_member_decoration(const struct spirv *spirv, uint32_t type, uint32_t member, uint32_t decoration,
                                 uint32_t fallback)
{
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < spirv->count; at += spirv->words[at] >> 16) {
        const uint32_t *words = &spirv->words[at];
        if ((words[0] & 0xffff) == SPIRV_FUNCTION)
            break;
        if ((words[0] & 0xffff) == SPIRV_MEMBER_DECORATE && words[1] == type && words[2] == member &&
            words[3] == decoration)
            return words[0] >> 16 > 4 ? words[4] : 1;
    }
    return fallback;
}
