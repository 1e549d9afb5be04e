/* SPDX-License-Identifier: MIT */
/*
 * spirv: the instructions of a SPIR-V module that declare something, by their ids, and its entry points. For modules
 * that change, or are compared. Trusts no word. Any thread.
 */
#ifndef LAP_INSPECTOR_SPIRV_SPIRV_H
#define LAP_INSPECTOR_SPIRV_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* SPIR-V's own numbers. */
enum {
    SPIRV_ENTRY_POINT = 15,
    SPIRV_EXECUTION_MODE = 16,
    SPIRV_CAPABILITY = 17,
    SPIRV_TYPE_VOID = 19,
    SPIRV_TYPE_BOOL = 20,
    SPIRV_TYPE_INT = 21,
    SPIRV_TYPE_FLOAT = 22,
    SPIRV_TYPE_VECTOR = 23,
    SPIRV_TYPE_MATRIX = 24,
    SPIRV_TYPE_IMAGE = 25,
    SPIRV_TYPE_SAMPLER = 26,
    SPIRV_TYPE_SAMPLED_IMAGE = 27,
    SPIRV_TYPE_ARRAY = 28,
    SPIRV_TYPE_RUNTIME_ARRAY = 29,
    SPIRV_TYPE_STRUCT = 30,
    SPIRV_TYPE_POINTER = 32,
    SPIRV_CONSTANT = 43,
    SPIRV_CONSTANT_COMPOSITE = 44,
    SPIRV_CONSTANT_NULL = 46,
    SPIRV_SPEC_CONSTANT = 50,
    SPIRV_FUNCTION = 54,
    SPIRV_FUNCTION_END = 56,
    SPIRV_VARIABLE = 59,
    SPIRV_STORE = 62,
    SPIRV_DECORATE = 71,
    SPIRV_MEMBER_DECORATE = 72,
    SPIRV_LABEL = 248,
    SPIRV_RETURN = 253,
    SPIRV_EXECUTION_MODE_ID = 331,
    SPIRV_TYPE_ACCELERATION_STRUCTURE = 5341,

    SPIRV_MODEL_FRAGMENT = 4,
    SPIRV_MODE_ORIGIN_UPPER_LEFT = 7,
    SPIRV_STORAGE_UNIFORM_CONSTANT = 0,
    SPIRV_STORAGE_INPUT = 1,
    SPIRV_STORAGE_UNIFORM = 2,
    SPIRV_STORAGE_OUTPUT = 3,
    SPIRV_STORAGE_PUSH_CONSTANT = 9,
    SPIRV_STORAGE_STORAGE_BUFFER = 12,
    SPIRV_DECORATION_BUFFER_BLOCK = 3,
    SPIRV_DECORATION_ARRAY_STRIDE = 6,
    SPIRV_DECORATION_MATRIX_STRIDE = 7,
    SPIRV_DECORATION_BUILT_IN = 11,
    SPIRV_DECORATION_LOCATION = 30,
    SPIRV_DECORATION_COMPONENT = 31,
    SPIRV_DECORATION_INDEX = 32,
    SPIRV_DECORATION_BINDING = 33,
    SPIRV_DECORATION_DESCRIPTOR_SET = 34,
    SPIRV_DECORATION_OFFSET = 35
};

#define SPIRV_MOST_ENTRIES 64u

struct spirv_id {
    uint32_t at; /* of the instruction; 0: it declares no type, constant, variable or function */
    bool has_location, is_built_in, is_buffer_block, is_bound, is_used; /* is_used: in a function */
    uint8_t component, index;
    uint32_t location, built_in, set, binding, array_stride;
};

struct spirv {
    const uint32_t *words;
    size_t count;
    uint32_t bound;
    struct spirv_id *ids; /* [bound] */
    const uint32_t *entries[SPIRV_MOST_ENTRIES];
    uint32_t entry_count;
};

/* Of an instruction: its opcode; its words. */
static inline uint32_t spirv_op(const uint32_t *instruction)
{
    return instruction[0] & 0xffff;
}

static inline uint32_t spirv_length(const uint32_t *instruction)
{
    return instruction[0] >> 16;
}

/* The pointers of *out lead into the arena. LAP_ERROR_FORMAT: it is no module, or one that is not well made. */
enum lap_status spirv_read(struct spirv *out, struct lap_arena *arena, const uint32_t *words,
                           size_t bytes) LAP_MUST_CHECK;

/* The instruction that declares a type, a constant, a variable or a function, whole; NULL: none does. */
const uint32_t *spirv_instruction(const struct spirv *spirv, uint32_t id);
/* Of the instruction at a word: the first one behind the header is 0. */
uint32_t spirv_number(const struct spirv *spirv, size_t at);
/* The type that a type of pointers leads to; 0: none. */
uint32_t spirv_pointee(const struct spirv *spirv, uint32_t type);
/* Of an entry point: the first word behind its name. */
uint32_t spirv_interface(const uint32_t *entry);
const char *spirv_entry_name(const uint32_t *entry);
/* The value of a decoration of a member; `fallback` where it has none. */
uint32_t spirv_member_decoration(const struct spirv *spirv, uint32_t type, uint32_t member, uint32_t decoration,
                                 uint32_t fallback);

#endif
