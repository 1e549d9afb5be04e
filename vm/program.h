/* SPDX-License-Identifier: MIT */
/*
 * program: a replay program in memory: code of a stack machine, with the constants, functions, resources and labels
 * that it names. docs/vm.md has the instruction set, the meaning of each part, and the file (vm/program_file.h).
 *
 * Knows no Vulkan: functions are names with the types of their arguments. A program from a file is as hostile as a
 * trace; vm/verify.h checks one before its first instruction.
 */
#ifndef LAP_VM_PROGRAM_H
#define LAP_VM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- instructions: 32 bits, of which the 6 highest are the code ---- */

enum lap_vm_code {
    LAP_VM_CALL,
    LAP_VM_PUSH_I,
    LAP_VM_LOAD_C,
    LAP_VM_LOAD_V,
    LAP_VM_LOAD,
    LAP_VM_POP,
    LAP_VM_STORE_V,
    LAP_VM_STORE,
    LAP_VM_RESOURCE,
    LAP_VM_POST,
    LAP_VM_COPY,
    LAP_VM_CLONE,
    LAP_VM_STRCPY,
    LAP_VM_EXTEND,
    LAP_VM_ADD,
    LAP_VM_LABEL,
    LAP_VM_CODE_COUNT
};

enum lap_vm_type {
    LAP_VM_BOOL,
    LAP_VM_INT8,
    LAP_VM_INT16,
    LAP_VM_INT32,
    LAP_VM_INT64,
    LAP_VM_UINT8,
    LAP_VM_UINT16,
    LAP_VM_UINT32,
    LAP_VM_UINT64,
    LAP_VM_FLOAT,
    LAP_VM_DOUBLE,
    LAP_VM_ABSOLUTE, /* pointers: to memory of the host, */
    LAP_VM_CONSTANT, /* into the constants, */
    LAP_VM_VOLATILE, /* and into volatile memory */
    LAP_VM_TYPE_COUNT,
    LAP_VM_POINTER = LAP_VM_TYPE_COUNT, /* of an argument: any of the three */
    LAP_VM_NOTHING                      /* of a result */
};

/* The width of the data fields, and the places of the others. */
#define LAP_VM_DATA_BITS    26u
#define LAP_VM_ADDRESS_BITS 20u /* behind a type: PUSH_I, LOAD_C, LOAD_V */
#define LAP_VM_DATA_MASK    ((1u << LAP_VM_DATA_BITS) - 1)
#define LAP_VM_ADDRESS_MASK ((1u << LAP_VM_ADDRESS_BITS) - 1)

static inline enum lap_vm_code lap_vm_code_of(uint32_t instruction)
{
    return (enum lap_vm_code)(instruction >> LAP_VM_DATA_BITS);
}

static inline uint32_t lap_vm_data_of(uint32_t instruction)
{
    return instruction & LAP_VM_DATA_MASK;
}

/* Of PUSH_I, LOAD_C, LOAD_V and LOAD; may be no type. */
static inline unsigned lap_vm_type_of(uint32_t instruction)
{
    return instruction >> LAP_VM_ADDRESS_BITS & 0x3f;
}

static inline uint32_t lap_vm_address_of(uint32_t instruction)
{
    return instruction & LAP_VM_ADDRESS_MASK;
}

/* Of CALL. */
static inline bool lap_vm_pushes_return(uint32_t instruction)
{
    return instruction >> 24 & 1;
}

static inline unsigned lap_vm_api_of(uint32_t instruction)
{
    return instruction >> 16 & 0xf;
}

static inline unsigned lap_vm_function_of(uint32_t instruction)
{
    return instruction & 0xffff;
}

static inline uint32_t lap_vm_instruction(enum lap_vm_code code, uint32_t data)
{
    return (uint32_t)code << LAP_VM_DATA_BITS | (data & LAP_VM_DATA_MASK);
}

static inline uint32_t lap_vm_typed_instruction(enum lap_vm_code code, enum lap_vm_type type, uint32_t address)
{
    return lap_vm_instruction(code, (uint32_t)type << LAP_VM_ADDRESS_BITS | (address & LAP_VM_ADDRESS_MASK));
}

static inline uint32_t lap_vm_call(bool pushes_return, unsigned api, unsigned function)
{
    return lap_vm_instruction(LAP_VM_CALL, (uint32_t)pushes_return << 24 | (api & 0xf) << 16 | (function & 0xffff));
}

static inline bool lap_vm_is_pointer(unsigned type)
{
    return type == LAP_VM_ABSOLUTE || type == LAP_VM_CONSTANT || type == LAP_VM_VOLATILE;
}

/* Bytes of a value in memory; 8 for pointers. type < LAP_VM_TYPE_COUNT. */
unsigned lap_vm_type_bytes(unsigned type);
const char *lap_vm_type_name(unsigned type); /* "Uint32"; also of LAP_VM_POINTER and LAP_VM_NOTHING */
const char *lap_vm_code_name(unsigned code); /* "PUSH_I"; code < LAP_VM_CODE_COUNT */

/* ---- values: as on the stack, the bits of their type and zeros above ---- */

/* EXTEND: shifts 26 bits in; in floats into the fraction. */
uint64_t lap_vm_extend(unsigned type, uint64_t value, uint32_t data);
/* ADD, of two. */
uint64_t lap_vm_sum(unsigned type, uint64_t a, uint64_t b);
/* PUSH_I. */
uint64_t lap_vm_pushed(unsigned type, uint32_t data);
/* All bits of a type. */
uint64_t lap_vm_mask(unsigned type);

/* ---- the program ---- */

enum {
    LAP_VM_APIS = 3,
    LAP_VM_ARGUMENTS = 32,             /* of a function, at most */
    LAP_VM_STACK = 256,                /* entries */
    LAP_VM_RESERVED_FUNCTION = 0xff00, /* and all above */
};

struct lap_vm_function {
    const char *name;
    uint8_t argument_count, result;      /* LAP_VM_NOTHING: none */
    uint8_t arguments[LAP_VM_ARGUMENTS]; /* enum lap_vm_type, or LAP_VM_POINTER */
};

/* Bytes that do not travel with the code. */
struct lap_vm_resource {
    uint64_t hash[2]; /* XXH3-128 of the bytes: low, high */
    uint64_t bytes;
};

/* What a LABEL's value names. */
struct lap_vm_label {
    uint64_t packet;  /* of the trace, from 1 as its tickets */
    uint32_t frame;   /* from 0 */
    uint32_t command; /* in a command buffer; UINT32_MAX: none */
    uint64_t thread;  /* that made the call */
};

/* Owned by its creator; all pointers of one from a file are its own (lap_vm_program_release). */
struct lap_vm_program {
    const uint32_t *code;
    size_t count;
    size_t initial; /* the instructions before this one are the initial part; the others run on request */
    const uint8_t *constants;
    uint64_t constant_bytes;
    uint64_t volatile_bytes;
    const struct lap_vm_function *functions[LAP_VM_APIS]; /* by the number in CALL */
    size_t function_counts[LAP_VM_APIS];
    const struct lap_vm_resource *resources; /* in the order of their first use */
    size_t resource_count;
    const struct lap_vm_label *labels;
    size_t label_count;
    const char *info; /* a JSON object in one line (lap_vm_is_info) */
    void *owned;      /* vm/program_file.c */
};

#define LAP_VM_BYTES_MAX (UINT64_MAX / 4) /* of volatile memory, and of a resource: sums don't overflow */

/* What a function may be called, and what `info` may be, which are printed: letters, digits and _; no control
 * characters, and no more than LAP_VM_INFO_BYTES. */
#define LAP_VM_INFO_BYTES ((size_t)1 << 20)
bool lap_vm_is_name(const char *text, size_t bytes);
bool lap_vm_is_info(const char *text, size_t bytes);

/* "instruction 12 (CALL vkQueueSubmit) at #34.5", for messages; labels are looked for in front of it. */
#define LAP_VM_PLACE_BYTES 192u
const char *lap_vm_place(const struct lap_vm_program *program, size_t instruction, char text[LAP_VM_PLACE_BYTES]);

#endif
