/* SPDX-License-Identifier: MIT */
#include "inspector/edit/shader_fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "trace/format/hash.h"
#include "vulkan/shader/spirv.h"

#define MOST_DEPTH 16u /* of types within types */

/* ---- types ---- */

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return lap_hash64_seeded(&value, sizeof value, sum);
}

static uint32_t op_of(const uint32_t *instruction)
{
    return instruction ? instruction[0] & 0xffff : 0;
}

/* The value of a constant; 0 for one that can't be told. */
static uint32_t constant(const struct spirv *s, uint32_t id)
{
    const uint32_t *c = spirv_instruction(s, id);
    return op_of(c) == SPIRV_CONSTANT || op_of(c) == SPIRV_SPEC_CONSTANT ? c[3] : 0;
}

/* Equal for equal types. */
static uint64_t sum_of(const struct spirv *s, uint32_t type, unsigned depth)
{
    const uint32_t *t = spirv_instruction(s, type);
    uint64_t sum = mix(0, op_of(t));

    if (!t || depth == MOST_DEPTH)
        return sum;
    switch (op_of(t)) {
    case SPIRV_TYPE_VECTOR:
    case SPIRV_TYPE_MATRIX:
        return mix(mix(sum, t[3]), sum_of(s, t[2], depth + 1));
    case SPIRV_TYPE_ARRAY:
        return mix(mix(sum, constant(s, t[3])), sum_of(s, t[2], depth + 1));
    case SPIRV_TYPE_RUNTIME_ARRAY:
    case SPIRV_TYPE_SAMPLED_IMAGE:
        return mix(sum, sum_of(s, t[2], depth + 1));
    case SPIRV_TYPE_STRUCT:
        for (uint32_t i = 2; i < t[0] >> 16 && i < 256; i++)
            sum = mix(sum, sum_of(s, t[i], depth + 4)); /* few levels: each may have many members */
        return sum;
    case SPIRV_TYPE_IMAGE: /* without the format, which a shader need not name */
        sum = mix(sum, sum_of(s, t[2], depth + 1));
        for (uint32_t i = 3; i < 8; i++)
            sum = mix(sum, t[i]);
        return sum;
    case SPIRV_TYPE_INT:
    case SPIRV_TYPE_FLOAT:
        for (uint32_t i = 2; i < t[0] >> 16; i++)
            sum = mix(sum, t[i]);
        return sum;
    default:
        return sum;
    }
}

static uint64_t bytes_of(const struct spirv *s, uint32_t type, unsigned depth);

/* Where the last member of a block ends. */
static uint64_t block_bytes(const struct spirv *s, uint32_t type, unsigned depth)
{
    const uint32_t *t = spirv_instruction(s, type);
    uint64_t most = 0;

    for (uint32_t i = 2; op_of(t) == SPIRV_TYPE_STRUCT && i < t[0] >> 16 && i < 256; i++) {
        const uint32_t *member = spirv_instruction(s, t[i]);
        uint64_t offset = spirv_member_decoration(s, type, i - 2, SPIRV_DECORATION_OFFSET, 0), end;
        if (op_of(member) == SPIRV_TYPE_MATRIX)
            end = offset +
                  (uint64_t)member[3] * spirv_member_decoration(s, type, i - 2, SPIRV_DECORATION_MATRIX_STRIDE, 16);
        else
            end = offset + bytes_of(s, t[i], depth + 4);
        most = end > most ? end : most;
    }
    return most;
}

static uint64_t bytes_of(const struct spirv *s, uint32_t type, unsigned depth)
{
    const uint32_t *t = spirv_instruction(s, type);

    if (!t || depth >= MOST_DEPTH)
        return 0;
    switch (op_of(t)) {
    case SPIRV_TYPE_INT:
    case SPIRV_TYPE_FLOAT:
        return t[2] / 8;
    case SPIRV_TYPE_VECTOR:
    case SPIRV_TYPE_MATRIX:
        return t[3] * bytes_of(s, t[2], depth + 1);
    case SPIRV_TYPE_ARRAY:
        return (uint64_t)constant(s, t[3]) * s->ids[type].array_stride;
    case SPIRV_TYPE_STRUCT:
        return block_bytes(s, type, depth);
    default:
        return 8; /* a pointer */
    }
}

/* ---- what a shader takes and gives ---- */

struct slot {
    uint64_t place; /* location with component and index, or set with binding */
    uint64_t type;  /* sum_of */
};

struct slots {
    struct slot *at;
    size_t count, capacity;
    struct lap_arena *arena;
    bool failed;
};

static void add(struct slots *slots, uint64_t place, uint64_t type)
{
    if (slots->count == slots->capacity) {
        size_t capacity = slots->capacity ? slots->capacity * 2 : 16;
        struct slot *more = lap_arena_alloc(slots->arena, capacity * sizeof *more, _Alignof(struct slot));
        if (!more) {
            slots->failed = true;
            return;
        }
        if (slots->count)
            memcpy(more, slots->at, slots->count * sizeof *more);
        slots->at = more;
        slots->capacity = capacity;
    }
    slots->at[slots->count++] = (struct slot){place, type};
}

static uint64_t place_of(uint32_t location, uint32_t component, uint32_t index)
{
    return (uint64_t)location << 16 | component << 8 | index;
}

/* Each member of a block that has a location. Arrays of blocks are those of vertices of a primitive. */
static bool add_members(struct slots *slots, const struct spirv *s, uint32_t type)
{
    const uint32_t *t = spirv_instruction(s, type);
    bool any = false;

    if (op_of(t) == SPIRV_TYPE_ARRAY)
        t = spirv_instruction(s, type = t[2]);
    for (uint32_t i = 2; op_of(t) == SPIRV_TYPE_STRUCT && i < t[0] >> 16 && i < 256; i++) {
        uint32_t location = spirv_member_decoration(s, type, i - 2, SPIRV_DECORATION_LOCATION, UINT32_MAX);
        if (location == UINT32_MAX)
            continue;
        any = true;
        add(slots, place_of(location, spirv_member_decoration(s, type, i - 2, SPIRV_DECORATION_COMPONENT, 0), 0),
            sum_of(s, t[i], 0));
    }
    return any;
}

static void add_interface(struct slots *slots, const struct spirv *s, const uint32_t *entry, uint32_t storage,
                          bool only_used)
{
    for (uint32_t i = spirv_interface(entry); i < entry[0] >> 16; i++) {
        const struct spirv_id *id = &s->ids[entry[i]];
        const uint32_t *variable = spirv_instruction(s, entry[i]);
        uint32_t type = op_of(variable) == SPIRV_VARIABLE ? spirv_pointee(s, variable[1]) : 0;
        if (!type || variable[3] != storage || id->is_built_in || (only_used && !id->is_used))
            continue;
        if (!add_members(slots, s, type) && id->has_location)
            add(slots, place_of(id->location, id->component, id->index), sum_of(s, type, 0));
    }
}

/* What a descriptor is, whatever array it is in. */
static uint64_t descriptor_kind(const struct spirv *s, uint32_t id, const uint32_t *variable)
{
    uint32_t type = spirv_pointee(s, variable[1]);
    const uint32_t *t = spirv_instruction(s, type);

    for (unsigned i = 0; i < MOST_DEPTH && (op_of(t) == SPIRV_TYPE_ARRAY || op_of(t) == SPIRV_TYPE_RUNTIME_ARRAY); i++)
        t = spirv_instruction(s, type = t[2]);
    if (variable[3] == SPIRV_STORAGE_UNIFORM_CONSTANT)
        return sum_of(s, type, 0);
    return variable[3] == SPIRV_STORAGE_STORAGE_BUFFER || (t && s->ids[type].is_buffer_block) ? 1 : 2;
}

static void add_descriptors(struct slots *slots, const struct spirv *s, bool only_used)
{
    for (uint32_t id = 1; id < s->bound; id++) {
        const uint32_t *variable = spirv_instruction(s, id);
        if (op_of(variable) == SPIRV_VARIABLE && s->ids[id].is_bound && (!only_used || s->ids[id].is_used))
            add(slots, (uint64_t)s->ids[id].set << 32 | s->ids[id].binding, descriptor_kind(s, id, variable));
    }
}

static uint64_t push_bytes(const struct spirv *s, bool only_used)
{
    uint64_t most = 0;

    for (uint32_t id = 1; id < s->bound; id++) {
        const uint32_t *variable = spirv_instruction(s, id);
        uint64_t bytes;
        if (op_of(variable) != SPIRV_VARIABLE || variable[3] != SPIRV_STORAGE_PUSH_CONSTANT ||
            (only_used && !s->ids[id].is_used))
            continue;
        bytes = block_bytes(s, spirv_pointee(s, variable[1]), 0);
        most = bytes > most ? bytes : most;
    }
    return most;
}

uint32_t shader_capability(const struct spirv *s, size_t *at)
{
    *at = *at ? *at : LAP_SPIRV_HEADER_WORDS;
    if (*at + 1 >= s->count || (s->words[*at] & 0xffff) != SPIRV_CAPABILITY)
        return UINT32_MAX;
    *at += 2;
    return s->words[*at - 1];
}

/* ---- comparing ---- */

/* The first of `these` that is not among `those` with the same type; NULL: all are. */
static const struct slot *missing(const struct slots *these, const struct slots *those, bool *out_other_type)
{
    for (size_t i = 0; i < these->count; i++) {
        bool found = false;
        *out_other_type = false;
        for (size_t k = 0; k < those->count && !found; k++)
            if (those->at[k].place == these->at[i].place) {
                found = those->at[k].type == these->at[i].type;
                *out_other_type = !found;
            }
        if (!found)
            return &these->at[i];
    }
    return NULL;
}

static const uint32_t *entry_like(const struct spirv *s, const uint32_t *entry)
{
    for (uint32_t i = 0; i < s->entry_count; i++)
        if (s->entries[i][1] == entry[1] && strcmp(spirv_entry_name(s->entries[i]), spirv_entry_name(entry)) == 0)
            return s->entries[i];
    return NULL;
}

static const char *model_name(uint32_t model)
{
    static const char *const names[] = {
        "vertex", "tessellation control", "tessellation evaluation", "geometry", "fragment", "compute"};
    return model < sizeof names / sizeof *names ? names[model] : "other";
}

static enum lap_status compare_entry(const struct spirv *one, const uint32_t *old, const struct spirv *other,
                                     struct lap_arena *arena)
{
    const uint32_t *new = entry_like(other, old);
    const struct slot *lacking;
    char name[60];
    bool other_type, is_read = old[1] != SPIRV_MODEL_FRAGMENT; /* its outputs are, by the next stage */

    if (!new) {
        snprintf(name, sizeof name, "%s", spirv_entry_name(old));
        (void)lap_utf8_clean(name, '?');
        return lap_fail(LAP_ERROR_ARGUMENT, "it has no entry point %s for the %s stage", name, model_name(old[1]));
    }
    for (unsigned i = 0; i < 2; i++) {
        struct slots before = {.arena = arena}, behind = {.arena = arena};
        uint32_t storage = i ? SPIRV_STORAGE_OUTPUT : SPIRV_STORAGE_INPUT;
        bool swap = i && is_read;
        add_interface(&before, one, old, storage, false);
        add_interface(&behind, other, new, storage, !i);
        if (before.failed || behind.failed)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        lacking = swap ? missing(&before, &behind, &other_type) : missing(&behind, &before, &other_type);
        if (!lacking)
            continue;
        if (other_type)
            return lap_fail(LAP_ERROR_ARGUMENT, "its %s at location %" PRIu64 " has another type",
                            i ? "output" : "input", lacking->place >> 16);
        return lap_fail(LAP_ERROR_ARGUMENT,
                        swap ? "it lacks the %s at location %" PRIu64 " of the one before"
                             : "it has an %s at location %" PRIu64 ", where the one before has none",
                        i ? "output" : "input", lacking->place >> 16);
    }
    return LAP_OK;
}

enum lap_status shader_fit(const struct spirv *one, const struct spirv *other, struct lap_arena *arena)
{
    struct slots before = {.arena = arena}, behind = {.arena = arena};
    const struct slot *lacking;
    enum lap_status status = LAP_OK;
    bool other_type;

    for (uint32_t i = 0; i < one->entry_count && status == LAP_OK; i++)
        status = compare_entry(one, one->entries[i], other, arena);
    if (status != LAP_OK)
        return status;
    add_descriptors(&before, one, false);
    add_descriptors(&behind, other, true);
    if (before.failed || behind.failed)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    lacking = missing(&behind, &before, &other_type);
    if (lacking)
        return lap_fail(LAP_ERROR_ARGUMENT, "it uses set %" PRIu64 ", binding %" PRIu64 ", %s", lacking->place >> 32,
                        lacking->place & UINT32_MAX,
                        other_type ? "as another type of descriptor" : "which the one before does not declare");
    if (push_bytes(other, true) > push_bytes(one, false))
        return lap_fail(LAP_ERROR_ARGUMENT, "it has %" PRIu64 " bytes of push constants, the one before %" PRIu64,
                        push_bytes(other, true), push_bytes(one, false));
    return LAP_OK;
}
