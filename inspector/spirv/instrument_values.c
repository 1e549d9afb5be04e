/* SPDX-License-Identifier: MIT */
#include "inspector/spirv/instrument_parts.h"

#define MOST_DEPTH   8u  /* of types within types */
#define MOST_MEMBERS 64u /* of a block of outputs */

enum { OP_CONVERT_U = 113, OP_CONVERT_S = 114, OP_CONVERT_F = 115 };

struct scalar {
    enum instrument_type type;
    uint32_t bits;
};

uint32_t maker_put(struct maker *m, uint32_t op, uint32_t type, const uint32_t *operands, uint32_t count)
{
    const uint32_t head[] = {(count + 3) << 16 | op, type, maker_id(m)};

    spirv_put(&m->functions, head, 3);
    spirv_put(&m->functions, operands, count);
    return head[2];
}

/* ---- shapes ---- */

/* False: the type is no scalar, or a strange one. */
static bool scalar_of(const uint32_t *type, struct scalar *out)
{
    switch (type ? spirv_op(type) : 0) {
    case SPIRV_TYPE_BOOL:
        *out = (struct scalar){INSTRUMENT_BOOL, 1};
        return true;
    case SPIRV_TYPE_INT:
        *out = (struct scalar){type[3] ? INSTRUMENT_INT : INSTRUMENT_UINT, type[2]};
        return type[2] == 8 || type[2] == 16 || type[2] == 32 || type[2] == 64;
    case SPIRV_TYPE_FLOAT: /* with more words it has an encoding of its own */
        *out = (struct scalar){INSTRUMENT_FLOAT, type[2]};
        return spirv_length(type) == 3 && (type[2] == 16 || type[2] == 32 || type[2] == 64);
    default:
        return false;
    }
}

/* Whether a module may only convert such scalars, not take them out of something. */
static bool is_limited(const struct maker *m, const struct scalar *s)
{
    if (s->type == INSTRUMENT_FLOAT)
        return s->bits == 16 && !m->has_float16;
    return (s->bits == 8 && !m->has_int8) || (s->bits == 16 && !m->has_int16);
}

static bool add_scalars(const struct maker *m, const uint32_t *type, uint32_t count, bool nested, uint32_t most,
                        struct value_shape *out)
{
    struct value_part *part = out->part_count ? &out->parts[out->part_count - 1] : NULL;
    struct scalar s;
    uint32_t words;

    if (!scalar_of(type, &s) || (nested && is_limited(m, &s)))
        return false;
    words = s.bits == 64 ? count * 2 : count;
    if (words > most - out->words)
        return false;
    if (!part || part->type != s.type || part->bits != s.bits) {
        part = &out->parts[out->part_count++];
        *part = (struct value_part){.type = s.type, .bits = s.bits};
    }
    part->count += count;
    part->words += words;
    out->words += words;
    return true;
}

/* How many parts a matrix, an array or a struct has; 0: it is none, or has no size here. */
static uint32_t parts_of(const struct maker *m, const uint32_t *type)
{
    const uint32_t *length;

    switch (spirv_op(type)) {
    case SPIRV_TYPE_MATRIX:
        return type[3];
    case SPIRV_TYPE_ARRAY:
        length = spirv_instruction(&m->spirv, type[3]);
        return length && spirv_op(length) == SPIRV_CONSTANT ? length[3] : 0;
    case SPIRV_TYPE_STRUCT:
        return spirv_length(type) - 2;
    default:
        return 0;
    }
}

static uint32_t part_type(const uint32_t *type, uint32_t part)
{
    return spirv_op(type) == SPIRV_TYPE_STRUCT ? type[2 + part] : type[2];
}

/* Each part adds at least a word, so that this ends soon. */
static bool add_type(const struct maker *m, uint32_t id, unsigned depth, uint32_t most, struct value_shape *out)
{
    const uint32_t *type = spirv_instruction(&m->spirv, id);
    uint32_t parts;

    if (!type || depth == MOST_DEPTH)
        return false;
    if (spirv_op(type) == SPIRV_TYPE_VECTOR)
        return type[3] >= 2 && type[3] <= 4 &&
               add_scalars(m, spirv_instruction(&m->spirv, type[2]), type[3], depth > 0, most, out);
    parts = parts_of(m, type);
    if (!parts)
        return add_scalars(m, type, 1, depth > 0, most, out);
    for (uint32_t i = 0; i < parts; i++)
        if (!add_type(m, part_type(type, i), depth + 1, most, out))
            return false;
    return true;
}

bool value_shape(const struct maker *m, uint32_t type, uint32_t most_words, struct value_shape *out)
{
    out->words = out->part_count = 0;
    return add_type(m, type, 0, most_words, out);
}

/* ---- words ---- */

/* A scalar of 64 bits, or a bool. */
static uint32_t odd_words(struct maker *m, const struct scalar *s, uint32_t id, uint32_t *words)
{
    uint32_t pair;

    if (s->type == INSTRUMENT_BOOL) {
        words[0] = MAKER_PUT(m, OP_SELECT, maker_uints(m, 1), id, maker_number(m, 1), maker_number(m, 0));
        return 1;
    }
    pair = MAKER_PUT(m, OP_BITCAST, maker_uints(m, 2), id);
    words[0] = MAKER_PUT(m, OP_COMPOSITE_EXTRACT, maker_uints(m, 1), pair, 0);
    words[1] = MAKER_PUT(m, OP_COMPOSITE_EXTRACT, maker_uints(m, 1), pair, 1);
    return 2;
}

/* A scalar or a vector as one of uint: the whole vector, since some may not be taken apart before. */
static uint32_t as_uints(struct maker *m, const struct scalar *s, uint32_t count, uint32_t id)
{
    if (s->bits < 32 && s->type == INSTRUMENT_FLOAT)
        id = MAKER_PUT(m, OP_CONVERT_F, maker_floats(m, count), id);
    else if (s->bits < 32)
        return MAKER_PUT(m, s->type == INSTRUMENT_INT ? OP_CONVERT_S : OP_CONVERT_U, maker_uints(m, count), id);
    return s->type == INSTRUMENT_UINT ? id : MAKER_PUT(m, OP_BITCAST, maker_uints(m, count), id);
}

static uint32_t scalar_words(struct maker *m, const uint32_t *type, uint32_t count, uint32_t id, uint32_t *words)
{
    struct scalar s;
    uint32_t got = 0;

    if (!scalar_of(type, &s))
        return 0;
    if (s.type == INSTRUMENT_BOOL || s.bits == 64) {
        for (uint32_t i = 0; i < count; i++)
            got += odd_words(m, &s, count > 1 ? MAKER_PUT(m, OP_COMPOSITE_EXTRACT, type[1], id, i) : id, &words[got]);
        return got;
    }
    id = as_uints(m, &s, count, id);
    for (; got < count; got++)
        words[got] = count > 1 ? MAKER_PUT(m, OP_COMPOSITE_EXTRACT, maker_uints(m, 1), id, got) : id;
    return got;
}

uint32_t value_words(struct maker *m, uint32_t type_id, uint32_t id, uint32_t words[VALUE_MOST_WORDS])
{
    const uint32_t *type = spirv_instruction(&m->spirv, type_id);
    uint32_t parts, got = 0;

    if (spirv_op(type) == SPIRV_TYPE_VECTOR)
        return scalar_words(m, spirv_instruction(&m->spirv, type[2]), type[3], id, words);
    parts = parts_of(m, type);
    if (!parts)
        return scalar_words(m, type, 1, id, words);
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t part = part_type(type, i);
        got += value_words(m, part, MAKER_PUT(m, OP_COMPOSITE_EXTRACT, part, id, i), &words[got]);
    }
    return got;
}

/* ---- outputs ---- */

static bool is_full(const struct maker *m)
{
    return m->output_words == SEGMENT_MOST_WORDS;
}

static void add_output(struct maker *m, const struct maker_output *output)
{
    struct maker_output *to = &m->outputs[m->output_count];
    struct value_shape shape;

    if (!value_shape(m, output->type, VALUE_MOST_WORDS, &shape) || shape.words > SEGMENT_MOST_WORDS - m->output_words)
        return;
    m->output_words += shape.words;
    m->output_count++;
    if (output->result.built_in == BUILT_IN_POSITION) /* the first one */
        for (; to > m->outputs; to--)
            *to = to[-1];
    *to = *output;
    to->pointer = maker_pointer(m, SPIRV_STORAGE_OUTPUT, output->type);
    to->result.is_output = true;
    to->result.instruction = spirv_number(&m->spirv, m->spirv.ids[output->result.id].at);
}

/* How many locations a type takes. */
static uint32_t locations_of(const struct maker *m, uint32_t id, unsigned depth)
{
    const uint32_t *type = spirv_instruction(&m->spirv, id);
    struct scalar s;
    uint32_t sum = 0;

    if (!type || depth == MOST_DEPTH / 2)
        return 0;
    switch (spirv_op(type)) {
    case SPIRV_TYPE_MATRIX:
    case SPIRV_TYPE_ARRAY:
        return parts_of(m, type) * locations_of(m, type[2], depth + 1);
    case SPIRV_TYPE_STRUCT:
        for (uint32_t i = 2; i < spirv_length(type) && i < MOST_MEMBERS; i++)
            sum += locations_of(m, type[i], depth + 1);
        return sum;
    case SPIRV_TYPE_VECTOR:
        return type[3] > 2 && scalar_of(spirv_instruction(&m->spirv, type[2]), &s) && s.bits == 64 ? 2 : 1;
    default:
        return 1;
    }
}

/* Of a block: each member for itself. */
static void add_members(struct maker *m, uint32_t variable, uint32_t type)
{
    const struct spirv *s = &m->spirv;
    const uint32_t *block = spirv_instruction(s, type);
    uint32_t next = s->ids[variable].has_location ? s->ids[variable].location : UINT32_MAX;

    for (uint32_t i = 0; i < MOST_MEMBERS && i + 2 < spirv_length(block) && !is_full(m); i++) {
        struct maker_output output = {.type = block[2 + i], .member = i, .result.id = variable};
        struct instrument_result *r = &output.result;
        r->location = spirv_member_decoration(s, type, i, SPIRV_DECORATION_LOCATION, next);
        r->has_location = r->location != UINT32_MAX;
        next = r->has_location ? r->location + locations_of(m, block[2 + i], 0) : UINT32_MAX;
        if (!maker_is_written(m, variable, i))
            continue;
        r->component = spirv_member_decoration(s, type, i, SPIRV_DECORATION_COMPONENT, 0);
        r->index = spirv_member_decoration(s, type, i, SPIRV_DECORATION_INDEX, 0);
        r->built_in = spirv_member_decoration(s, type, i, SPIRV_DECORATION_BUILT_IN, UINT32_MAX);
        r->name = maker_member_name(m, type, i);
        add_output(m, &output);
    }
}

static void add_variable(struct maker *m, const uint32_t *variable)
{
    const uint32_t id = variable[2], type = spirv_pointee(&m->spirv, variable[1]);
    const struct spirv_id *about = &m->spirv.ids[id];
    const uint32_t *t = spirv_instruction(&m->spirv, type);

    if (t && spirv_op(t) == SPIRV_TYPE_STRUCT)
        add_members(m, id, type);
    else if (maker_is_written(m, id, UINT32_MAX))
        add_output(m,
                   &(struct maker_output){.type = type,
                                          .member = UINT32_MAX,
                                          .result = {.id = id,
                                                     .name = m->names[id],
                                                     .has_location = about->has_location,
                                                     .location = about->location,
                                                     .component = about->component,
                                                     .index = about->index,
                                                     .built_in = about->is_built_in ? about->built_in : UINT32_MAX}});
}

void maker_find_outputs(struct maker *m)
{
    for (uint32_t i = spirv_interface(m->entry); i < spirv_length(m->entry) && !is_full(m); i++) {
        const uint32_t *variable = spirv_instruction(&m->spirv, m->entry[i]);
        if (variable && spirv_op(variable) == SPIRV_VARIABLE && variable[3] == SPIRV_STORAGE_OUTPUT)
            add_variable(m, variable);
    }
}
