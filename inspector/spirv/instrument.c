/* SPDX-License-Identifier: MIT */
#include "inspector/spirv/instrument.h"

#include <string.h>

#include "inspector/spirv/instrument_parts.h"
#include "vulkan/shader/spirv.h"

#define MOST_REGION_WORDS 0x3fffffffu /* 4 GiB */
#define FUNCTION_PURE     0xcu        /* bits of a function that writes nothing, or whose calls may be left out */

enum {
    OP_STRING = 7,
    OP_LINE = 8,
    OP_EXTENSION = 10,
    OP_EXT_INST_IMPORT = 11,
    OP_EXT_INST = 12,
    OP_MEMORY_MODEL = 14,
    OP_GROUP_MEMBER_DECORATE = 75,
    OP_PHI = 245,
    OP_LOOP_MERGE = 246,
    OP_SELECTION_MERGE = 247,
    OP_BRANCH = 249,
    OP_RETURN_VALUE = 254,
    OP_UNREACHABLE = 255,
    OP_NO_LINE = 317,
    OP_MODULE_PROCESSED = 330,
    OP_DECORATE_ID = 332,
    OP_DECORATE_STRING = 5632,
    OP_MEMBER_DECORATE_STRING = 5633
};

/* ---- the functions, changed ---- */

/* A function being changed. */
struct body {
    size_t code_at; /* the first instruction behind the variables; 0: there is no code */
    bool is_reached, is_entry;
};

/* Variables come first, in the first block. */
static size_t find_code(const struct spirv *s, size_t at)
{
    size_t code = 0;

    for (at += spirv_length(&s->words[at]); at < s->count; at += spirv_length(&s->words[at])) {
        const uint32_t op = spirv_op(&s->words[at]);
        if (op == SPIRV_FUNCTION || op == SPIRV_FUNCTION_END || (code && op == SPIRV_LABEL) ||
            (op >= OP_BRANCH && op <= OP_UNREACHABLE))
            break;
        if ((op == SPIRV_LABEL && !code) || op == SPIRV_VARIABLE)
            code = at + spirv_length(&s->words[at]);
    }
    return code;
}

static struct body begin_function(struct maker *m, size_t at)
{
    const uint32_t *words = &m->spirv.words[at];
    const uint32_t id = words[2];
    struct body body = {
        .code_at = find_code(&m->spirv, at), .is_reached = m->reached[id], .is_entry = id == m->entry[2]};

    if (body.is_entry && !body.code_at)
        maker_refuse(m, LAP_ERROR_FORMAT, "the entry point has no code");
    if (body.is_reached) {
        const uint32_t changed[] = {words[0], words[1], words[2], words[3] & ~FUNCTION_PURE};
        spirv_put(&m->functions, changed, 4);
        spirv_put(&m->functions, &words[4], spirv_length(words) - 4);
    } else {
        spirv_put(&m->functions, words, spirv_length(words));
    }
    m->pending_count = m->pending_words = 0;
    return body;
}

/* Behind this a block has no more of its own; or another function writes, or nothing more is written. */
static bool ends_segment(uint32_t op)
{
    return (op >= OP_LOOP_MERGE && op <= OP_SELECTION_MERGE) || (op >= OP_BRANCH && op <= OP_UNREACHABLE) ||
           op == OP_FUNCTION_CALL || op == OP_DEMOTE || op == OP_TERMINATE_INVOCATION;
}

/* Nothing may be put in front of these: they are phis, or may lie between phis. */
static bool stays_in_front(uint32_t op)
{
    return op == OP_PHI || op == OP_LINE || op == OP_NO_LINE || op == OP_EXT_INST || op == SPIRV_LABEL;
}

/* In front of an instruction of a function that is reached. */
static void put_in_front(struct maker *m, const struct body *body, uint32_t op, size_t at)
{
    const bool logs = m->wish->kind == INSTRUMENT_LOG;

    if (body->is_entry && at == body->code_at) {
        if (m->wish->kind == INSTRUMENT_COUNT)
            log_count(m);
        else
            log_begin(m);
    }
    if (logs && at >= body->code_at && (ends_segment(op) || (log_is_full(m) && !stays_in_front(op))))
        log_segments(m);
    if (m->wish->kind != INSTRUMENT_COUNT && body->is_entry && (op == SPIRV_RETURN || op == OP_RETURN_VALUE))
        log_return(m);
}

/* The operand of an instruction in a function is a type only if the instruction has a result. */
static void see_result(struct maker *m, const uint32_t *words, uint32_t instruction)
{
    if (spirv_length(words) < 3 || words[2] >= m->spirv.bound || spirv_op(words) == SPIRV_FUNCTION ||
        spirv_op(words) == SPIRV_VARIABLE)
        return;
    log_value(m, words[1], words[2], instruction);
}

static void change_functions(struct maker *m)
{
    const struct spirv *s = &m->spirv;
    uint32_t instruction = spirv_number(s, m->functions_at);
    struct body body = {.code_at = 0};

    for (size_t at = m->functions_at; at < s->count && m->status == LAP_OK; at += spirv_length(&s->words[at])) {
        const uint32_t *words = &s->words[at];
        if (spirv_op(words) == SPIRV_FUNCTION) {
            body = begin_function(m, at);
        } else {
            if (body.is_reached)
                put_in_front(m, &body, spirv_op(words), at);
            if (spirv_op(words) == SPIRV_LABEL && at >= body.code_at)
                m->pending_count = m->pending_words = 0; /* of a block that did not end */
            spirv_put(&m->functions, words, spirv_length(words));
        }
        if (spirv_op(words) == SPIRV_FUNCTION_END)
            body = (struct body){.code_at = 0};
        else if (body.is_reached && m->wish->kind == INSTRUMENT_LOG)
            see_result(m, words, instruction);
        instruction++;
    }
}

/* ---- the module, changed ---- */

/* In front of the annotations, or one of them. */
static bool is_preamble(uint32_t op)
{
    switch (op) {
    case OP_EXTENSION:
    case OP_EXT_INST_IMPORT:
    case OP_MEMORY_MODEL:
    case SPIRV_ENTRY_POINT:
    case SPIRV_EXECUTION_MODE:
    case SPIRV_EXECUTION_MODE_ID:
    case SPIRV_CAPABILITY:
    case OP_MODULE_PROCESSED:
    case OP_DECORATE_ID:
    case OP_DECORATE_STRING:
    case OP_MEMBER_DECORATE_STRING:
        return true;
    default: /* OpNop; sources, names and strings; decorations */
        return op <= OP_STRING || (op >= SPIRV_DECORATE && op <= OP_GROUP_MEMBER_DECORATE);
    }
}

static void put_entry(struct maker *m, struct spirv_writer *w, bool add_early)
{
    const uint32_t length = spirv_length(m->entry) + m->added_count;

    if (length > UINT16_MAX)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the entry point has too many variables");
    spirv_put(w, &(uint32_t){length << 16 | SPIRV_ENTRY_POINT}, 1);
    spirv_put(w, &m->entry[1], spirv_length(m->entry) - 1);
    spirv_put(w, m->added, m->added_count);
    if (add_early)
        SPIRV_PUT(w, SPIRV_EXECUTION_MODE, m->entry[2], MODE_EARLY);
}

/* Other entry points are left out: they may need what the new code has not. */
static bool is_of_other_entry(const struct maker *m, const uint32_t *words)
{
    const uint32_t op = spirv_op(words);

    return op == SPIRV_ENTRY_POINT ||
           ((op == SPIRV_EXECUTION_MODE || op == SPIRV_EXECUTION_MODE_ID) && words[1] != m->entry[2]);
}

static void put_module(struct maker *m, struct spirv_writer *w, bool add_early)
{
    const struct spirv *s = &m->spirv;
    bool in_preamble = true;

    spirv_put(w, s->words, LAP_SPIRV_HEADER_WORDS);
    if (m->add_geometry)
        SPIRV_PUT(w, SPIRV_CAPABILITY, CAPABILITY_GEOMETRY);
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < m->functions_at; at += spirv_length(&s->words[at])) {
        const uint32_t *words = &s->words[at];
        if (in_preamble && !is_preamble(spirv_op(words))) {
            in_preamble = false;
            spirv_put(w, m->annotations.words, m->annotations.count);
        }
        if (words == m->entry)
            put_entry(m, w, add_early);
        else if (!is_of_other_entry(m, words))
            spirv_put(w, words, spirv_length(words));
    }
    if (in_preamble)
        spirv_put(w, m->annotations.words, m->annotations.count);
    spirv_put(w, m->declarations.words, m->declarations.count);
    spirv_put(w, m->functions.words, m->functions.count);
    if (w->failed || m->annotations.failed || m->declarations.failed || m->functions.failed)
        maker_refuse(m, LAP_ERROR_MEMORY, "out of memory");
    else
        w->words[3] = m->next_id;
}

/* ---- one module ---- */

static void check_wish(struct maker *m)
{
    const struct instrument_wish *w = m->wish;
    const bool counts = w->kind == INSTRUMENT_COUNT;

    if (w->model != MODEL_VERTEX && w->model != SPIRV_MODEL_FRAGMENT && w->model != MODEL_COMPUTE)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "values are only known of vertex, fragment and compute shaders");
    if (counts && w->model != SPIRV_MODEL_FRAGMENT)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "only fragment shaders can be counted");
    if (counts && (!w->width || !w->height || w->height > MOST_REGION_WORDS / w->width))
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "there are no texels to count for, or more than 4 GiB of them");
    if (!counts && w->most_words > MOST_REGION_WORDS)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the log would have more than 4 GiB");
}

static void find_entry(struct maker *m)
{
    for (uint32_t i = 0; i < m->spirv.entry_count && !m->entry; i++)
        if (m->spirv.entries[i][1] == m->wish->model &&
            strcmp(spirv_entry_name(m->spirv.entries[i]), m->wish->entry) == 0)
            m->entry = m->spirv.entries[i];
    if (!m->entry)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the shader has no such entry point");
}

static void measure(struct maker *m)
{
    const struct instrument_wish *w = m->wish;
    struct instrument_code *out = m->out;
    uint64_t words = (uint64_t)w->width * w->height;

    if (w->kind != INSTRUMENT_COUNT) {
        const uint32_t waste = m->most_segment_words > INSTRUMENT_HEADER ? m->most_segment_words : INSTRUMENT_HEADER;
        out->first = INSTRUMENT_WASTE + waste;
        words = out->first + (uint64_t)w->most_invocations * out->stride;
        SPIRV_PUT(&m->declarations, SPIRV_CONSTANT, maker_uints(m, 1), m->first, out->first);
    }
    if (words > MOST_REGION_WORDS)
        maker_refuse(m, LAP_ERROR_UNSUPPORTED, "the log would have more than 4 GiB");
    out->region_bytes = words * sizeof(uint32_t);
}

/* Whether tests that come before the code change neither what it writes nor which fragments are left. */
static bool may_be_early(const struct maker *m)
{
    struct lap_spirv_module about;

    return !m->may_be_late && lap_spirv_read(m->spirv.words, m->spirv.count, &about) && !about.stores_in_fragment;
}

static void change(struct maker *m, struct spirv_writer *w)
{
    const struct instrument_wish *wish = m->wish;
    bool add_early;

    maker_see_declarations(m);
    maker_see_functions(m);
    maker_see_variables(m);
    add_early = wish->kind == INSTRUMENT_COUNT && wish->early && !m->out->early && may_be_early(m);
    m->out->early |= add_early;
    m->out->primitive = wish->model == SPIRV_MODEL_FRAGMENT && wish->kind != INSTRUMENT_COUNT && wish->primitive;
    m->add_geometry = m->out->primitive && !m->has_primitive;
    m->out->stride = wish->kind == INSTRUMENT_COUNT ? 0 : INSTRUMENT_HEADER + wish->most_words;
    maker_declare(m);
    maker_find_outputs(m);
    change_functions(m);
    measure(m);
    if (m->status == LAP_OK)
        put_module(m, w, add_early);
}

enum lap_status instrument(const uint32_t *words, size_t bytes, const struct instrument_wish *wish,
                           struct lap_arena *arena, struct instrument_code *out)
{
    struct spirv_writer w = {.arena = arena};
    struct maker m = {.wish = wish,
                      .arena = arena,
                      .out = out,
                      .annotations.arena = arena,
                      .declarations.arena = arena,
                      .functions.arena = arena};
    enum lap_status status = spirv_read(&m.spirv, arena, words, bytes);

    *out = (struct instrument_code){.outputs = UINT32_MAX};
    if (status != LAP_OK)
        return status;
    m.next_id = m.spirv.bound;
    m.reached = lap_arena_zalloc(arena, m.spirv.bound, sizeof *m.reached, 8);
    m.used = lap_arena_zalloc(arena, m.spirv.bound, sizeof *m.used, 8);
    m.written = lap_arena_zalloc(arena, m.spirv.bound, sizeof *m.written, 8);
    m.names = lap_arena_zalloc(arena, m.spirv.bound, sizeof *m.names, 8);
    if (!m.reached || !m.used || !m.written || !m.names)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    check_wish(&m);
    find_entry(&m);
    if (m.status == LAP_OK)
        change(&m, &w);
    out->words = w.words;
    out->bytes = w.count * sizeof *w.words;
    return m.status;
}
