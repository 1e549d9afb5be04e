/* SPDX-License-Identifier: MIT */
/*
 * spirv: numbers of SPIR-V, and the first steps, that whoever looks into shaders needs: "Physical Layout of a SPIR-V
 * Module and Instruction" and the tables of the SPIR-V specification, of version 1.6 and its extensions.
 */
#ifndef LAP_CODEGEN_SPIRV_H
#define LAP_CODEGEN_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIRV_MAGIC        0x07230203u
#define SPIRV_HEADER_WORDS 5u
#define SPIRV_MOST_IDS     (1u << 22) /* of a module that is looked into */

enum {
    OP_EXTENSION = 10,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    OP_FUNCTION_CALL = 57,
    OP_VARIABLE = 59,
    OP_IMAGE_TEXEL_POINTER = 60,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_COPY_MEMORY = 63,
    OP_COPY_MEMORY_SIZED = 64,
    OP_ACCESS_CHAIN = 65,
    OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    OP_PTR_ACCESS_CHAIN = 67,
    OP_ARRAY_LENGTH = 68,
    OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70,
    OP_DECORATE = 71,
    OP_COMPOSITE_CONSTRUCT = 80,
    OP_COMPOSITE_INSERT = 82,
    OP_COPY_OBJECT = 83,
    OP_IMAGE_WRITE = 99,
    OP_SELECT = 169,
    OP_ATOMIC_LOAD = 227,
    OP_ATOMIC_STORE = 228,
    OP_ATOMIC_EXCHANGE = 229, /* the first of those that give the old value */
    OP_ATOMIC_XOR = 242,      /* the last of them */
    OP_PHI = 245,
    OP_RETURN_VALUE = 254,
    OP_ATOMIC_FLAG_TEST_AND_SET = 318,
    OP_ATOMIC_FLAG_CLEAR = 319,
    OP_EXECUTION_MODE_ID = 331,
    OP_COPY_LOGICAL = 400,
    OP_TYPE_UNTYPED_POINTER = 4417, /* SPV_KHR_untyped_pointers */
    OP_UNTYPED_VARIABLE = 4418,
    OP_UNTYPED_ACCESS_CHAIN = 4419,
    OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN = 4420,
    OP_UNTYPED_PTR_ACCESS_CHAIN = 4423,
    OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN = 4424,
    OP_COOPERATIVE_MATRIX_STORE = 4458,
    OP_COOPERATIVE_MATRIX_STORE_NV = 5360,
    OP_RAW_ACCESS_CHAIN_NV = 5398,
    OP_ATOMIC_F_MIN_EXT = 5614,
    OP_ATOMIC_F_MAX_EXT = 5615,
    OP_ATOMIC_F_ADD_EXT = 6035,
};

enum {
    CAPABILITY_PHYSICAL_STORAGE_BUFFER_ADDRESSES = 5347,
};

enum {
    DECORATION_SPEC_ID = 1,
    DECORATION_BUILTIN = 11,
    DECORATION_BINDING = 33,
    DECORATION_DESCRIPTOR_SET = 34,
};

enum {
    STORAGE_UNIFORM_CONSTANT = 0,
    STORAGE_UNIFORM = 2, /* blocks that can be stored to were of this class once */
    STORAGE_IMAGE = 11,
    STORAGE_STORAGE_BUFFER = 12,
    STORAGE_PHYSICAL = 5349,
};

enum {
    MODEL_VERTEX = 0,
    MODEL_TESSELLATION_CONTROL = 1,
    MODEL_TESSELLATION_EVALUATION = 2,
    MODEL_GEOMETRY = 3,
    MODEL_FRAGMENT = 4,
    MODEL_COMPUTE = 5,
    MODEL_TASK_NV = 5267,
    MODEL_MESH_NV = 5268,
    MODEL_TASK_EXT = 5364,
    MODEL_MESH_EXT = 5365,
};

enum {
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
};

enum {
    BUILTIN_WORKGROUP_SIZE = 25,
};

/* Whether code begins as a module does, with no more ids than anybody looks at: words[3] is one more than the largest.
 */
static inline bool lap_spirv_is_module(const uint32_t *words, size_t word_count)
{
    return words && word_count >= SPIRV_HEADER_WORDS && words[0] == SPIRV_MAGIC && words[3] != 0 &&
           words[3] <= SPIRV_MOST_IDS;
}

/* How many words the instruction at `at` has; 0: the module breaks off there. */
static inline uint32_t lap_spirv_words_at(const uint32_t *words, size_t word_count, size_t at)
{
    uint32_t count = words[at] >> 16;
    return count <= word_count - at ? count : 0;
}

/* Which descriptors a variable stands for, as far as it was decorated so far. */
struct lap_spirv_descriptor {
    uint32_t set, binding;
    bool has_set, has_binding;
};

/* An OpDecorate of four words or more. */
static inline void lap_spirv_decorate(struct lap_spirv_descriptor *descriptor, const uint32_t *w)
{
    if (w[2] == DECORATION_BINDING) {
        descriptor->binding = w[3];
        descriptor->has_binding = true;
    } else if (w[2] == DECORATION_DESCRIPTOR_SET) {
        descriptor->set = w[3];
        descriptor->has_set = true;
    }
}

#endif
