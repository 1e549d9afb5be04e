/* SPDX-License-Identifier: MIT */
/* Gives each fragment entry point of a module a new function, which stores constants to the outputs and returns. What
 * was there before stays in the module, and nothing calls it. */
#include "inspector/edit/shader_code.h"
#include "inspector/edit/spirv.h"
#include "vulkan/shader/spirv.h"

struct patch {
    struct spirv spirv;
    struct lap_arena *arena;
    uint32_t *out;
    size_t count, capacity;
    uint32_t next_id;
    bool failed;
};

static void put(struct patch *p, const uint32_t *words, size_t count)
{
    if (p->failed || p->count + count > p->capacity) {
        p->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        p->out[p->count++] = words[i];
}

#define PUT(p, op, ...)                                                                                                \
    do {                                                                                                               \
        const uint32_t operands[] = {__VA_ARGS__};                                                                     \
        uint32_t head = (uint32_t)(sizeof operands / sizeof *operands + 1) << 16 | (op);                               \
        put(p, &head, 1);                                                                                              \
        put(p, operands, sizeof operands / sizeof *operands);                                                          \
    } while (0)

/* 1 or 0 as a number of a type. 0: it is no number, or a strange one. */
static uint32_t put_number(struct patch *p, uint32_t type, bool one)
{
    const uint32_t *t = spirv_instruction(&p->spirv, type);
    uint32_t low = one, high = 0;

    if (!t || ((t[0] & 0xffff) != SPIRV_TYPE_INT && t[0] != (3u << 16 | SPIRV_TYPE_FLOAT)))
        return 0;
    if ((t[0] & 0xffff) == SPIRV_TYPE_FLOAT && one) {
        low = t[2] == 32 ? 0x3f800000u : t[2] == 16 ? 0x3c00u : 0;
        high = t[2] == 64 ? 0x3ff00000u : 0;
    }
    if (t[2] == 64)
        PUT(p, SPIRV_CONSTANT, type, p->next_id, low, high);
    else
        PUT(p, SPIRV_CONSTANT, type, p->next_id, low);
    return p->next_id++;
}

/* Magenta; zeros where the type is none of a colour. */
static uint32_t put_colour(struct patch *p, uint32_t type)
{
    const uint32_t *t = spirv_instruction(&p->spirv, type);
    uint32_t one, zero, id;

    if (t && (t[0] & 0xffff) == SPIRV_TYPE_VECTOR && t[3] >= 2 && t[3] <= 4) {
        one = put_number(p, t[2], true);
        zero = put_number(p, t[2], false);
        if (one && zero) {
            const uint32_t parts[4] = {one, zero, one, one};
            const uint32_t head[] = {(3 + t[3]) << 16 | SPIRV_CONSTANT_COMPOSITE, type, p->next_id};
            put(p, head, 3);
            put(p, parts, t[3]);
            return p->next_id++;
        }
    }
    id = put_number(p, type, true);
    if (id)
        return id;
    PUT(p, SPIRV_CONSTANT_NULL, type, p->next_id);
    return p->next_id++;
}

static bool is_fragment(const uint32_t *entry)
{
    return entry[1] == SPIRV_MODEL_FRAGMENT;
}

/* Whether an id of an interface is an output at a location. */
static bool is_colour(const struct spirv *spirv, uint32_t id)
{
    const uint32_t *variable = spirv_instruction(spirv, id);
    return variable && (variable[0] & 0xffff) == SPIRV_VARIABLE && variable[3] == SPIRV_STORAGE_OUTPUT &&
           spirv_pointee(spirv, variable[1]) && spirv->ids[id].has_location;
}

static void put_entry(struct patch *p, const uint32_t *entry, uint32_t function)
{
    const uint32_t length = entry[0] >> 16, interface = spirv_interface(entry);
    size_t at = p->count;

    put(p, entry, interface);
    for (uint32_t i = interface; i < length; i++)
        if (is_colour(&p->spirv, entry[i]))
            put(p, &entry[i], 1);
    if (p->failed)
        return;
    p->out[at] = (uint32_t)(p->count - at) << 16 | SPIRV_ENTRY_POINT;
    p->out[at + 2] = function;
}

static void put_function(struct patch *p, const uint32_t *entry, uint32_t number, const uint32_t *colours)
{
    const uint32_t *function = spirv_instruction(&p->spirv, entry[2]);
    const uint32_t length = entry[0] >> 16, end = 1u << 16;

    PUT(p, SPIRV_FUNCTION, function[1], number, 0, function[4]);
    PUT(p, SPIRV_LABEL, p->next_id++);
    for (uint32_t i = spirv_interface(entry); i < length; i++)
        if (is_colour(&p->spirv, entry[i]))
            PUT(p, SPIRV_STORE, entry[i], colours[entry[i]]);
    put(p, &(uint32_t){end | SPIRV_RETURN}, 1);
    put(p, &(uint32_t){end | SPIRV_FUNCTION_END}, 1);
}

/* Modes of the entry points that get new functions are left out. */
static bool is_mode_of(const struct patch *p, const uint32_t *instruction)
{
    uint32_t op = instruction[0] & 0xffff;

    if (op != SPIRV_EXECUTION_MODE && op != SPIRV_EXECUTION_MODE_ID)
        return false;
    for (uint32_t i = 0; i < p->spirv.entry_count; i++)
        if (is_fragment(p->spirv.entries[i]) && p->spirv.entries[i][2] == instruction[1])
            return true;
    return false;
}

static void put_constants(struct patch *p, uint32_t *colours)
{
    for (uint32_t i = 0; i < p->spirv.entry_count; i++) {
        const uint32_t *entry = p->spirv.entries[i];
        for (uint32_t k = spirv_interface(entry); is_fragment(entry) && k < entry[0] >> 16; k++)
            if (is_colour(&p->spirv, entry[k]) && !colours[entry[k]])
                colours[entry[k]] = put_colour(p, spirv_pointee(&p->spirv, spirv_instruction(&p->spirv, entry[k])[1]));
    }
}

static void put_all(struct patch *p, uint32_t first_function, uint32_t *colours)
{
    const struct spirv *s = &p->spirv;
    uint32_t entries = 0;
    bool in_functions = false;

    put(p, s->words, LAP_SPIRV_HEADER_WORDS);
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < s->count; at += s->words[at] >> 16) {
        const uint32_t *instruction = &s->words[at];
        uint32_t op = instruction[0] & 0xffff;
        if (op == SPIRV_FUNCTION && !in_functions) {
            in_functions = true;
            put_constants(p, colours);
        }
        if (op == SPIRV_ENTRY_POINT && is_fragment(instruction))
            put_entry(p, instruction, first_function + entries);
        else if (!is_mode_of(p, instruction))
            put(p, instruction, instruction[0] >> 16);
        entries += op == SPIRV_ENTRY_POINT;
        for (uint32_t i = 0; op == SPIRV_ENTRY_POINT && entries == s->entry_count && i < entries; i++)
            if (is_fragment(s->entries[i]))
                PUT(p, SPIRV_EXECUTION_MODE, first_function + i, SPIRV_MODE_ORIGIN_UPPER_LEFT);
    }
    for (uint32_t i = 0; i < s->entry_count; i++)
        if (is_fragment(s->entries[i]))
            put_function(p, s->entries[i], first_function + i, colours);
    if (!p->failed)
        p->out[3] = p->next_id;
}

static enum lap_status change(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct patch p = {.arena = arena};
    uint32_t *colours, fragments = 0, first_function;
    enum lap_status status = spirv_read(&p.spirv, arena, *words, *bytes);

    if (status != LAP_OK)
        return status == LAP_ERROR_FORMAT ? LAP_OK : status; /* whatever it is, it stays */
    for (uint32_t i = 0; i < p.spirv.entry_count; i++)
        fragments += is_fragment(p.spirv.entries[i]);
    if (!fragments)
        return LAP_OK;
    /* For each word of an interface at most: a composite with two constants, and a store. */
    p.capacity = p.spirv.count + 32 + (size_t)p.spirv.entry_count * 16 + p.spirv.interface_words * 24;
    p.out = lap_arena_alloc(arena, p.capacity * sizeof *p.out, sizeof *p.out);
    colours = lap_arena_zalloc(arena, p.spirv.bound, sizeof *colours, sizeof *colours);
    if (!p.out || !colours)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    first_function = p.spirv.bound;
    p.next_id = p.spirv.bound + p.spirv.entry_count;
    put_all(&p, first_function, colours);
    if (p.failed)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a fragment shader is too strange to be replaced");
    *words = p.out;
    *bytes = p.count * sizeof *p.out;
    return LAP_OK;
}

enum lap_status edit_null_fragment(const struct lap_reader *trace, struct lap_edits *edits,
                                   struct shader_code_result *out)
{
    return edit_shader_code(trace, change, NULL, edits, out);
}
