/* SPDX-License-Identifier: MIT */
/*
 * `head` is where the header of an invocation is; for one that is not wanted, where the waste begins. `cursor` is how
 * many words its log wants; for one that is not wanted it is so many that nothing fits. It never goes back, so nothing
 * fits behind what did not fit.
 */
#include <string.h>

#include "inspector/spirv/instrument_parts.h"

#define CURSOR_FULL   0x80000000u /* it stays there */
#define SEGMENT_WORDS 64u         /* a segment that has so many ends: values need not be kept for long */
_Static_assert(SEGMENT_WORDS + RESULT_MOST_WORDS <= SEGMENT_MOST_WORDS, "a segment has room for one more value");

#define SCOPE_DEVICE       1u
#define SCOPE_QUEUE_FAMILY 5u

enum {
    OP_CONVERT_F_TO_U = 109,
    OP_IMUL = 132,
    OP_LOGICAL_AND = 167,
    OP_IEQUAL = 170,
    OP_UGREATER_EQUAL = 174,
    OP_ULESS = 176,
    OP_ULESS_EQUAL = 178,
    OP_ATOMIC_IADD = 234
};

static uint32_t word_type(struct maker *m)
{
    return maker_uints(m, 1);
}

static uint32_t add(struct maker *m, uint32_t value, uint32_t more)
{
    return more ? MAKER_PUT(m, OP_IADD, word_type(m), value, maker_number(m, more)) : value;
}

static uint32_t select(struct maker *m, uint32_t condition, uint32_t yes, uint32_t no)
{
    return MAKER_PUT(m, OP_SELECT, word_type(m), condition, yes, no);
}

static uint32_t word_pointer(struct maker *m, uint32_t index)
{
    return MAKER_PUT(m, OP_ACCESS_CHAIN, m->in_buffer, m->buffer, maker_number(m, 0), index);
}

static void store(struct maker *m, uint32_t index, uint32_t value)
{
    SPIRV_PUT(&m->functions, SPIRV_STORE, word_pointer(m, index), value);
}

/* Gives what the word was. */
static uint32_t atomic_add(struct maker *m, uint32_t index, uint32_t value)
{
    /* The scope of a device would be a capability of its own there. */
    const uint32_t scope = m->has_vulkan_memory ? SCOPE_QUEUE_FAMILY : SCOPE_DEVICE;
    const uint32_t pointer = word_pointer(m, index);

    return MAKER_PUT(m, OP_ATOMIC_IADD, word_type(m), pointer, maker_number(m, scope), maker_number(m, 0), value);
}

/* ---- the begin ---- */

/* FragCoord, and its texel. */
static uint32_t load_texel(struct maker *m, uint32_t texel[2])
{
    const uint32_t coordinates = maker_built_in(m, BUILT_IN_FRAG_COORD, maker_floats(m, 4));

    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = MAKER_PUT(m, OP_COMPOSITE_EXTRACT, maker_floats(m, 1), coordinates, i);
        texel[i] = MAKER_PUT(m, OP_CONVERT_F_TO_U, word_type(m), value);
    }
    return coordinates;
}

static void load_fragment(struct maker *m, uint32_t header[INSTRUMENT_HEADER])
{
    const uint32_t front = maker_built_in(m, BUILT_IN_FRONT_FACING, m->bool_type);
    uint32_t texel[2], coordinates = load_texel(m, texel);
    uint32_t depth = MAKER_PUT(m, OP_COMPOSITE_EXTRACT, maker_floats(m, 1), coordinates, 2);

    header[INSTRUMENT_FIRST] = MAKER_PUT(m, OP_BITCAST, word_type(m), depth);
    header[INSTRUMENT_SECOND] =
        m->out->primitive ? maker_built_in_number(m, BUILT_IN_PRIMITIVE_ID) : maker_number(m, UINT32_MAX);
    header[INSTRUMENT_THIRD] = select(m, front, maker_number(m, 1), maker_number(m, 0));
    header[INSTRUMENT_SAMPLES] = maker_sample_mask(m);
    memcpy(m->place, texel, sizeof texel);
    m->place_count = 2;
}

/* The header, and what is compared with the invocation that is wanted. */
static void load_place(struct maker *m, uint32_t header[INSTRUMENT_HEADER])
{
    uint32_t global;

    m->place_count = 0;
    if (m->wish->model == SPIRV_MODEL_FRAGMENT) {
        load_fragment(m, header);
        return;
    }
    if (m->wish->model == MODEL_VERTEX) {
        m->place[m->place_count++] = maker_built_in_number(m, BUILT_IN_VERTEX_INDEX);
        m->place[m->place_count++] = maker_built_in_number(m, BUILT_IN_INSTANCE_INDEX);
    } else {
        global = maker_built_in(m, BUILT_IN_GLOBAL_INVOCATION_ID, maker_uints(m, 3));
        while (m->place_count < 3) {
            m->place[m->place_count] = MAKER_PUT(m, OP_COMPOSITE_EXTRACT, word_type(m), global, m->place_count);
            m->place_count++;
        }
    }
    memcpy(&header[INSTRUMENT_FIRST], m->place, m->place_count * sizeof *m->place);
}

/* Whether it is the invocation that is wanted; 0: any is. */
static uint32_t is_wanted(struct maker *m)
{
    uint32_t all = 0;

    for (uint32_t i = m->wish->any; i < m->place_count; i++) {
        uint32_t wanted = maker_number(m, m->wish->invocation[i]);
        uint32_t same = MAKER_PUT(m, OP_IEQUAL, m->bool_type, m->place[i], wanted);
        all = all ? MAKER_PUT(m, OP_LOGICAL_AND, m->bool_type, all, same) : same;
    }
    return all;
}

void log_begin(struct maker *m)
{
    const struct instrument_wish *wish = m->wish;
    const uint32_t one = maker_number(m, 1), zero = maker_number(m, 0);
    uint32_t header[INSTRUMENT_HEADER] = {0}, wanted, number, fits, at, head, cursor;

    load_place(m, header);
    header[INSTRUMENT_STATE] = maker_number(m, INSTRUMENT_BEGAN);
    wanted = is_wanted(m);
    number = atomic_add(m, zero, wanted ? select(m, wanted, one, zero) : one);
    fits = MAKER_PUT(m, OP_ULESS, m->bool_type, number, maker_number(m, wish->most_invocations));
    if (wanted)
        fits = MAKER_PUT(m, OP_LOGICAL_AND, m->bool_type, fits, wanted);
    at = MAKER_PUT(m, OP_IMUL, word_type(m), number, maker_number(m, m->out->stride));
    at = MAKER_PUT(m, OP_IADD, word_type(m), at, m->first);
    head = select(m, fits, at, maker_number(m, INSTRUMENT_WASTE));
    cursor = select(m, fits, zero, maker_number(m, CURSOR_FULL));
    SPIRV_PUT(&m->functions, SPIRV_STORE, m->head, head);
    SPIRV_PUT(&m->functions, SPIRV_STORE, m->cursor, cursor);
    for (uint32_t i = 0; i < INSTRUMENT_HEADER; i++)
        if (header[i])
            store(m, add(m, head, i), header[i]);
}

void log_count(struct maker *m)
{
    const uint32_t most[] = {m->wish->width - 1, m->wish->height - 1};
    uint32_t texel[2], row;

    load_texel(m, texel);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t last = maker_number(m, most[i]);
        texel[i] = select(m, MAKER_PUT(m, OP_ULESS, m->bool_type, texel[i], last), texel[i], last);
    }
    row = MAKER_PUT(m, OP_IMUL, word_type(m), texel[1], maker_number(m, m->wish->width));
    atomic_add(m, MAKER_PUT(m, OP_IADD, word_type(m), row, texel[0]), maker_number(m, 1));
}

/* ---- segments ---- */

/* Values behind each other in the log. */
struct segment {
    uint32_t words[SEGMENT_MOST_WORDS], count;
};

static void put_segment(struct maker *m, uint32_t number, const struct segment *segment)
{
    const uint32_t word = word_type(m), words = segment->count + 1;
    const uint32_t cursor = MAKER_PUT(m, OP_LOAD, word, m->cursor), head = MAKER_PUT(m, OP_LOAD, word, m->head);
    const uint32_t behind = add(m, cursor, words);
    const uint32_t most = maker_number(m, m->wish->most_words);
    const uint32_t fits = MAKER_PUT(m, OP_ULESS_EQUAL, m->bool_type, behind, most);
    uint32_t at = MAKER_PUT(m, OP_IADD, word, add(m, head, INSTRUMENT_HEADER), cursor), full, next;

    at = select(m, fits, at, maker_number(m, INSTRUMENT_WASTE));
    store(m, at, maker_number(m, number + 1));
    for (uint32_t i = 0; i < segment->count; i++)
        store(m, add(m, at, i + 1), segment->words[i]);
    full = MAKER_PUT(m, OP_UGREATER_EQUAL, m->bool_type, cursor, maker_number(m, CURSOR_FULL));
    next = select(m, full, cursor, behind);
    SPIRV_PUT(&m->functions, SPIRV_STORE, m->cursor, next);
    store(m, head, next);
    if (words > m->most_segment_words)
        m->most_segment_words = words;
}

/* Its number; its results are those that will be added. */
static uint32_t new_segment(struct maker *m)
{
    struct instrument_code *out = m->out;
    void *segments = out->segments;

    if (!maker_grow(m, &segments, out->segment_count, &m->segment_capacity, sizeof *out->segments))
        return 0;
    out->segments = segments;
    out->segments[out->segment_count] = (struct instrument_segment){.first = out->result_count};
    return out->segment_count++;
}

static void add_result(struct maker *m, const struct instrument_result *result)
{
    struct instrument_code *out = m->out;
    struct instrument_segment *segment = &out->segments[out->segment_count - 1];
    void *results = out->results;

    if (!maker_grow(m, &results, out->result_count, &m->result_capacity, sizeof *out->results))
        return;
    out->results = results;
    out->results[out->result_count++] = *result;
    segment->count++;
    segment->words += result->words;
}

/* A result for each part of a value. */
static void add_results(struct maker *m, const struct value_shape *shape, struct instrument_result result)
{
    for (uint32_t i = 0; i < shape->part_count && m->status == LAP_OK; i++) {
        const struct value_part *part = &shape->parts[i];
        result.type = part->type;
        result.bits = part->bits;
        result.count = part->count;
        result.words = part->words;
        add_result(m, &result);
        result.part += part->count;
    }
}

void log_value(struct maker *m, uint32_t type, uint32_t id, uint32_t instruction)
{
    struct value_shape shape;
    void *pending = m->pending;

    if (!value_shape(m, type, RESULT_MOST_WORDS, &shape) ||
        !maker_grow(m, &pending, m->pending_count, &m->pending_capacity, sizeof *m->pending))
        return;
    m->pending = pending;
    m->pending[m->pending_count++] = (struct maker_value){.id = id, .type = type, .instruction = instruction};
    m->pending_words += shape.words;
}

bool log_is_full(const struct maker *m)
{
    return m->pending_words >= SEGMENT_WORDS;
}

void log_segments(struct maker *m)
{
    for (uint32_t i = 0; i < m->pending_count && m->status == LAP_OK;) {
        const uint32_t number = new_segment(m);
        struct segment segment = {.count = 0};
        while (i < m->pending_count && segment.count < SEGMENT_WORDS && m->status == LAP_OK) {
            const struct maker_value *value = &m->pending[i++];
            struct value_shape shape;
            if (!value_shape(m, value->type, RESULT_MOST_WORDS, &shape))
                continue;
            segment.count += value_words(m, value->type, value->id, &segment.words[segment.count]);
            add_results(m, &shape,
                        (struct instrument_result){.instruction = value->instruction,
                                                   .id = value->id,
                                                   .name = m->names[value->id],
                                                   .built_in = UINT32_MAX});
        }
        put_segment(m, number, &segment);
    }
    m->pending_count = m->pending_words = 0;
}

/* ---- the end ---- */

/* Its number, with its results; all returns write the same. */
static uint32_t outputs_segment(struct maker *m)
{
    if (m->out->outputs == UINT32_MAX) {
        m->out->outputs = new_segment(m);
        for (uint32_t i = 0; i < m->output_count && m->status == LAP_OK; i++) {
            struct value_shape shape;
            if (value_shape(m, m->outputs[i].type, VALUE_MOST_WORDS, &shape))
                add_results(m, &shape, m->outputs[i].result);
        }
    }
    return m->out->outputs;
}

static uint32_t load_output(struct maker *m, const struct maker_output *output)
{
    uint32_t pointer = output->result.id;

    if (output->member != UINT32_MAX)
        pointer = MAKER_PUT(m, OP_ACCESS_CHAIN, output->pointer, pointer, maker_number(m, output->member));
    return MAKER_PUT(m, OP_LOAD, output->type, pointer);
}

void log_return(struct maker *m)
{
    const uint32_t state = maker_number(m, INSTRUMENT_BEGAN | INSTRUMENT_RETURNED);
    struct segment segment = {.count = 0};

    for (uint32_t i = 0; i < m->output_count; i++) {
        const struct maker_output *output = &m->outputs[i];
        segment.count += value_words(m, output->type, load_output(m, output), &segment.words[segment.count]);
    }
    if (m->output_count)
        put_segment(m, outputs_segment(m), &segment);
    store(m, add(m, MAKER_PUT(m, OP_LOAD, word_type(m), m->head), INSTRUMENT_STATE), state);
}
