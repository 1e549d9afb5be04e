/* SPDX-License-Identifier: MIT */
/* Gives each fragment entry point of a module a new function, which stores constants to the outputs and returns. What
 * was there before stays in the module, and nothing calls it. */
#include "inspector/edit/shader_code.h"
#include "inspector/spirv/spirv.h"
#include "inspector/spirv/spirv_write.h"
#include "vulkan/shader/spirv.h"

struct patch {
    struct spirv spirv;
    struct spirv_writer out;
    uint32_t next_id;
};

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
        SPIRV_PUT(&p->out, SPIRV_CONSTANT, type, p->next_id, low, high);
    else
        SPIRV_PUT(&p->out, SPIRV_CONSTANT, type, p->next_id, low);
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
            spirv_put(&p->out, head, 3);
            spirv_put(&p->out, parts, t[3]);
            return p->next_id++;
        }
    }
    id = put_number(p, type, true);
    if (id)
        return id;
    SPIRV_PUT(&p->out, SPIRV_CONSTANT_NULL, type, p->next_id);
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
    size_t at = p->out.count;

    spirv_put(&p->out, entry, interface);
    for (uint32_t i = interface; i < length; i++)
        if (is_colour(&p->spirv, entry[i]))
            spirv_put(&p->out, &entry[i], 1);
    if (p->out.failed)
        return;
    p->out.words[at] = (uint32_t)(p->out.count - at) << 16 | SPIRV_ENTRY_POINT;
    p->out.words[at + 2] = function;
}

static void put_function(struct patch *p, const uint32_t *entry, uint32_t number, const uint32_t *colours)
{
    const uint32_t *function = spirv_instruction(&p->spirv, entry[2]);
    const uint32_t length = entry[0] >> 16, end = 1u << 16;

    SPIRV_PUT(&p->out, SPIRV_FUNCTION, function[1], number, 0, function[4]);
    SPIRV_PUT(&p->out, SPIRV_LABEL, p->next_id++);
    for (uint32_t i = spirv_interface(entry); i < length; i++)
        if (is_colour(&p->spirv, entry[i]))
            SPIRV_PUT(&p->out, SPIRV_STORE, entry[i], colours[entry[i]]);
    spirv_put(&p->out, &(uint32_t){end | SPIRV_RETURN}, 1);
    spirv_put(&p->out, &(uint32_t){end | SPIRV_FUNCTION_END}, 1);
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

    spirv_put(&p->out, s->words, LAP_SPIRV_HEADER_WORDS);
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
            spirv_put(&p->out, instruction, instruction[0] >> 16);
        entries += op == SPIRV_ENTRY_POINT;
        for (uint32_t i = 0; op == SPIRV_ENTRY_POINT && entries == s->entry_count && i < entries; i++)
            if (is_fragment(s->entries[i]))
                SPIRV_PUT(&p->out, SPIRV_EXECUTION_MODE, first_function + i, SPIRV_MODE_ORIGIN_UPPER_LEFT);
    }
    for (uint32_t i = 0; i < s->entry_count; i++)
        if (is_fragment(s->entries[i]))
            put_function(p, s->entries[i], first_function + i, colours);
    if (!p->out.failed)
        p->out.words[3] = p->next_id;
}

static enum lap_status change(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct patch p = {.out.arena = arena};
    uint32_t *colours, fragments = 0, first_function;
    enum lap_status status = spirv_read(&p.spirv, arena, *words, *bytes);

    if (status != LAP_OK)
        return status == LAP_ERROR_FORMAT ? LAP_OK : status; /* whatever it is, it stays */
    for (uint32_t i = 0; i < p.spirv.entry_count; i++)
        fragments += is_fragment(p.spirv.entries[i]);
    if (!fragments)
        return LAP_OK;
    colours = lap_arena_zalloc(arena, p.spirv.bound, sizeof *colours, sizeof *colours);
    if (!colours)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    first_function = p.spirv.bound;
    p.next_id = p.spirv.bound + p.spirv.entry_count;
    put_all(&p, first_function, colours);
    if (p.out.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *words = p.out.words;
    *bytes = p.out.count * sizeof *p.out.words;
    return LAP_OK;
}

enum lap_status edit_null_fragment(const struct lap_reader *trace, struct lap_edits *edits,
                                   struct shader_code_result *out)
{
    return edit_shader_code(trace, change, NULL, edits, out);
}
