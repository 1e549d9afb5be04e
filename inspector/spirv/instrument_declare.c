/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "inspector/spirv/instrument_parts.h"
#include "vulkan/shader/spirv.h"

#define MOST_BOUND       0x3fffffu /* the specification's limit */
#define VERSION_1_3      0x00010300u
#define VERSION_1_4      0x00010400u
#define DECORATION_BLOCK 2u
#define DECORATION_FLAT  14u

static const char STRANGE[] = "a built-in input of the shader has a type of its own";

void maker_refuse(struct maker *m, enum lap_status status, const char *sentence)
{
    if (m->status == LAP_OK)
        m->status = lap_fail(status, "%s", sentence);
}

bool maker_grow(struct maker *m, void **things, uint32_t count, uint32_t *capacity, size_t size)
{
    uint32_t more = *capacity ? *capacity * 2 : 64;
    void *grown;

    if (count < *capacity)
        return true;
    grown = lap_arena_alloc(m->arena, more * size, 8);
    if (!grown) {
        maker_refuse(m, LAP_ERROR_MEMORY, "out of memory");
        return false;
    }
    if (count)
        memcpy(grown, *things, count * size);
    *things = grown;
    *capacity = more;
    return true;
}

uint32_t maker_id(struct maker *m)
{
    if (m->next_id >= MOST_BOUND) {
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the shader is too large to have its values written");
        return m->next_id;
    }
    return m->next_id++;
}

/* 0: there is no such type. */
static uint32_t find(const uint32_t *words, size_t at, size_t end, uint32_t op, const uint32_t *operands,
                     uint32_t count)
{
    const uint32_t head = (count + 2) << 16 | op;

    for (; at < end; at += words[at] >> 16)
        if (words[at] == head && (!count || memcmp(&words[at + 2], operands, count * sizeof *operands) == 0))
            return words[at + 1];
    return 0;
}

static uint32_t new_type(struct maker *m, uint32_t op, const uint32_t *operands, uint32_t count)
{
    const uint32_t head[] = {(count + 2) << 16 | op, maker_id(m)};

    spirv_put(&m->declarations, head, 2);
    spirv_put(&m->declarations, operands, count);
    return head[1];
}

uint32_t maker_type(struct maker *m, uint32_t op, const uint32_t *operands, uint32_t count)
{
    uint32_t id = find(m->spirv.words, LAP_SPIRV_HEADER_WORDS, m->functions_at, op, operands, count);

    if (!id)
        id = find(m->declarations.words, 0, m->declarations.count, op, operands, count);
    return id ? id : new_type(m, op, operands, count);
}

uint32_t maker_pointer(struct maker *m, uint32_t storage, uint32_t type)
{
    return maker_type(m, SPIRV_TYPE_POINTER, (const uint32_t[]){storage, type}, 2);
}

static uint32_t vector_of(struct maker *m, uint32_t *types, uint32_t count)
{
    if (!types[count])
        types[count] = maker_type(m, SPIRV_TYPE_VECTOR, (const uint32_t[]){types[1], count}, 2);
    return types[count];
}

uint32_t maker_uints(struct maker *m, uint32_t count)
{
    if (!m->uints[1])
        m->uints[1] = maker_type(m, SPIRV_TYPE_INT, (const uint32_t[]){32, 0}, 2);
    return vector_of(m, m->uints, count);
}

uint32_t maker_floats(struct maker *m, uint32_t count)
{
    if (!m->floats[1])
        m->floats[1] = maker_type(m, SPIRV_TYPE_FLOAT, (const uint32_t[]){32}, 1);
    return vector_of(m, m->floats, count);
}

/* Constants need not be the only ones of their value. */
uint32_t maker_number(struct maker *m, uint32_t value)
{
    uint32_t id = value < MAKER_NUMBERS ? m->numbers[value] : 0;

    if (!id) {
        id = maker_id(m);
        SPIRV_PUT(&m->declarations, SPIRV_CONSTANT, maker_uints(m, 1), id, value);
        if (value < MAKER_NUMBERS)
            m->numbers[value] = id;
    }
    return id;
}

/* ---- variables ---- */

static void name_in_interface(struct maker *m, uint32_t variable)
{
    for (uint32_t i = 0; i < m->added_count; i++)
        if (m->added[i] == variable)
            return;
    if (m->added_count < MAKER_MOST_ADDED)
        m->added[m->added_count++] = variable;
}

static bool is_in_interface(const struct maker *m, uint32_t variable)
{
    for (uint32_t i = spirv_interface(m->entry); i < spirv_length(m->entry); i++)
        if (m->entry[i] == variable)
            return true;
    return false;
}

static uint32_t new_variable(struct maker *m, uint32_t storage, uint32_t type)
{
    const uint32_t pointer = maker_pointer(m, storage, type), id = maker_id(m);

    SPIRV_PUT(&m->declarations, SPIRV_VARIABLE, pointer, id, storage);
    if (storage == SPIRV_STORAGE_INPUT || m->spirv.words[1] >= VERSION_1_4)
        name_in_interface(m, id);
    return id;
}

void maker_declare(struct maker *m)
{
    const bool modern = m->spirv.words[1] >= VERSION_1_3;
    const uint32_t storage = modern ? SPIRV_STORAGE_STORAGE_BUFFER : SPIRV_STORAGE_UNIFORM;
    const uint32_t word = maker_uints(m, 1);
    const uint32_t array = new_type(m, SPIRV_TYPE_RUNTIME_ARRAY, &word, 1);
    const uint32_t block = new_type(m, SPIRV_TYPE_STRUCT, &array, 1);

    m->bool_type = maker_type(m, SPIRV_TYPE_BOOL, NULL, 0);
    SPIRV_PUT(&m->annotations, SPIRV_DECORATE, array, SPIRV_DECORATION_ARRAY_STRIDE, sizeof(uint32_t));
    SPIRV_PUT(&m->annotations, SPIRV_MEMBER_DECORATE, block, 0, SPIRV_DECORATION_OFFSET, 0);
    SPIRV_PUT(&m->annotations, SPIRV_DECORATE, block, modern ? DECORATION_BLOCK : SPIRV_DECORATION_BUFFER_BLOCK);
    m->buffer = new_variable(m, storage, block);
    m->in_buffer = maker_pointer(m, storage, word);
    SPIRV_PUT(&m->annotations, SPIRV_DECORATE, m->buffer, SPIRV_DECORATION_DESCRIPTOR_SET, m->wish->set);
    SPIRV_PUT(&m->annotations, SPIRV_DECORATE, m->buffer, SPIRV_DECORATION_BINDING, 0);
    if (m->wish->kind != INSTRUMENT_COUNT) {
        m->head = new_variable(m, STORAGE_PRIVATE, word);
        m->cursor = new_variable(m, STORAGE_PRIVATE, word);
        m->first = maker_id(m);
    }
}

/* NULL: it is no input with this decoration. */
static const uint32_t *as_built_in(const struct maker *m, uint32_t id, uint32_t built_in)
{
    const uint32_t *variable = spirv_instruction(&m->spirv, id);
    const bool is_input = variable && spirv_op(variable) == SPIRV_VARIABLE && variable[3] == SPIRV_STORAGE_INPUT;

    return is_input && m->spirv.ids[id].is_built_in && m->spirv.ids[id].built_in == built_in ? variable : NULL;
}

/* That of the entry point, or any. NULL: there is none. */
static const uint32_t *find_built_in(const struct maker *m, uint32_t built_in)
{
    const uint32_t *found = NULL;

    for (uint32_t i = spirv_interface(m->entry); i < spirv_length(m->entry) && !found; i++)
        found = as_built_in(m, m->entry[i], built_in);
    for (uint32_t id = 1; id < m->spirv.bound && !found; id++)
        found = as_built_in(m, id, built_in);
    return found;
}

/* A variable that the code has must be used: there may be one of a kind. */
static uint32_t built_in_variable(struct maker *m, uint32_t built_in, uint32_t type, uint32_t *out_type)
{
    const uint32_t *variable = find_built_in(m, built_in);
    uint32_t id;

    if (variable) {
        *out_type = spirv_pointee(&m->spirv, variable[1]);
        if (!is_in_interface(m, variable[2]))
            name_in_interface(m, variable[2]);
        return variable[2];
    }
    *out_type = type;
    id = new_variable(m, SPIRV_STORAGE_INPUT, type);
    SPIRV_PUT(&m->annotations, SPIRV_DECORATE, id, SPIRV_DECORATION_BUILT_IN, built_in);
    if (built_in == BUILT_IN_PRIMITIVE_ID || built_in == BUILT_IN_SAMPLE_MASK)
        SPIRV_PUT(&m->annotations, SPIRV_DECORATE, id, DECORATION_FLAT);
    return id;
}

uint32_t maker_built_in(struct maker *m, uint32_t built_in, uint32_t type)
{
    uint32_t found, variable = built_in_variable(m, built_in, type, &found);

    if (found != type)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, STRANGE);
    return MAKER_PUT(m, OP_LOAD, type, variable);
}

/* The other type that it may have; 0: it is not declared. */
static uint32_t signed_type(const struct maker *m)
{
    return find(m->spirv.words, LAP_SPIRV_HEADER_WORDS, m->functions_at, SPIRV_TYPE_INT, (const uint32_t[]){32, 1}, 2);
}

static uint32_t load_number(struct maker *m, uint32_t type, uint32_t pointer)
{
    const uint32_t word = maker_uints(m, 1);
    uint32_t value;

    if (!type || (type != word && type != signed_type(m))) {
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, STRANGE);
        return 0;
    }
    value = MAKER_PUT(m, OP_LOAD, type, pointer);
    return type == word ? value : MAKER_PUT(m, OP_BITCAST, word, value);
}

uint32_t maker_built_in_number(struct maker *m, uint32_t built_in)
{
    uint32_t type, variable = built_in_variable(m, built_in, maker_uints(m, 1), &type);

    return load_number(m, type, variable);
}

uint32_t maker_sample_mask(struct maker *m)
{
    const uint32_t word = maker_uints(m, 1), operands[] = {word, maker_number(m, 1)};
    const uint32_t made = new_type(m, SPIRV_TYPE_ARRAY, operands, 2);
    uint32_t found, variable = built_in_variable(m, BUILT_IN_SAMPLE_MASK, made, &found);
    const uint32_t *array = spirv_instruction(&m->spirv, found);
    const uint32_t type = found == made ? word : array && spirv_op(array) == SPIRV_TYPE_ARRAY ? array[2] : 0;
    const uint32_t pointer = maker_pointer(m, SPIRV_STORAGE_INPUT, type);

    return load_number(m, type, MAKER_PUT(m, OP_ACCESS_CHAIN, pointer, variable, maker_number(m, 0)));
}
