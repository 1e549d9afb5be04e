/* SPDX-License-Identifier: MIT */
/*
 * instrument_parts: the parts of a change that instrument.c makes: what the module has (instrument_module.c),
 * declarations that it needs (instrument_declare.c), values as words of the log (instrument_values.c), and code that
 * writes them (instrument_log.c). A failure is kept in `status`, and what is put behind it is of no use.
 */
#ifndef LAP_INSPECTOR_SPIRV_INSTRUMENT_PARTS_H
#define LAP_INSPECTOR_SPIRV_INSTRUMENT_PARTS_H

#include "inspector/spirv/instrument.h"
#include "inspector/spirv/spirv.h"
#include "inspector/spirv/spirv_write.h"

/* SPIR-V's own numbers, of what is only used here. */
enum {
    OP_FUNCTION_CALL = 57,
    OP_LOAD = 61,
    OP_ACCESS_CHAIN = 65,
    OP_COMPOSITE_EXTRACT = 81,
    OP_BITCAST = 124,
    OP_IADD = 128,
    OP_SELECT = 169,
    OP_KILL = 252,
    OP_TERMINATE_INVOCATION = 4416,
    OP_DEMOTE = 5380,

    CAPABILITY_GEOMETRY = 2,
    MODE_EARLY = 9,
    STORAGE_PRIVATE = 6,
    MODEL_VERTEX = 0,
    MODEL_COMPUTE = 5,

    BUILT_IN_POSITION = 0,
    BUILT_IN_PRIMITIVE_ID = 7,
    BUILT_IN_FRAG_COORD = 15,
    BUILT_IN_FRONT_FACING = 17,
    BUILT_IN_SAMPLE_MASK = 20,
    BUILT_IN_FRAG_DEPTH = 22,
    BUILT_IN_GLOBAL_INVOCATION_ID = 28,
    BUILT_IN_VERTEX_INDEX = 42,
    BUILT_IN_INSTANCE_INDEX = 43,
    BUILT_IN_FRAG_STENCIL_REF = 5014
};

#define RESULT_MOST_WORDS  16u
#define VALUE_MOST_WORDS   64u /* of an output */
#define SEGMENT_MOST_WORDS 256u

struct value_part {
    enum instrument_type type;
    uint32_t bits, count, words;
};

/* A type as scalars in a row. */
struct value_shape {
    uint32_t words, part_count;
    struct value_part parts[VALUE_MOST_WORDS];
};

struct maker_value {
    uint32_t id, type, instruction;
};

struct maker_output {
    uint32_t type, pointer; /* the type of what leads to it */
    uint32_t member;        /* UINT32_MAX: it is none */
    struct instrument_result result;
};

#define MAKER_NUMBERS    256u
#define MAKER_MOST_ADDED 16u

struct maker {
    struct spirv spirv;
    const struct instrument_wish *wish;
    struct lap_arena *arena;
    struct instrument_code *out;
    enum lap_status status;
    const uint32_t *entry;
    size_t functions_at; /* word of the first function */
    bool *reached;       /* [bound]: a function that the entry point calls, or its own */
    bool *used;          /* [bound]: these functions name it */
    uint64_t *written;   /* [bound]: of an output: the members that these write */
    const char **names;  /* [bound]: OpName; NULL: it has none */
    bool has_int8, has_int16, has_float16, has_primitive, has_vulkan_memory;
    bool add_geometry;
    bool may_be_late; /* it discards, or changes what is tested */

    struct spirv_writer annotations, declarations, functions;
    uint32_t next_id;
    uint32_t bool_type, uints[5], floats[5]; /* by the number of components */
    uint32_t numbers[MAKER_NUMBERS];         /* constants of uint */
    uint32_t buffer, in_buffer;              /* the variable; the type of pointers to its words */
    uint32_t head, cursor, first;            /* variables of an invocation; the constant of instrument_code.first */
    uint32_t added[MAKER_MOST_ADDED], added_count; /* variables that the entry point must name */

    struct maker_value *pending; /* behind the last segment */
    uint32_t pending_count, pending_capacity, pending_words;
    uint32_t result_capacity, segment_capacity;
    uint32_t most_segment_words;
    struct maker_output outputs[SEGMENT_MOST_WORDS];
    uint32_t output_count, output_words;
    uint32_t place[3], place_count; /* of the invocation */
};

/* Keeps the first failure. */
void maker_refuse(struct maker *m, enum lap_status status, const char *sentence);
/* Makes room for one more thing. */
bool maker_grow(struct maker *m, void **things, uint32_t count, uint32_t *capacity, size_t size);

/* ---- instrument_module.c ---- */

void maker_see_declarations(struct maker *m);
void maker_see_functions(struct maker *m);
/* Behind both. */
void maker_see_variables(struct maker *m);
/* Of an output; member: of its block, UINT32_MAX: any part. */
bool maker_is_written(const struct maker *m, uint32_t variable, uint32_t member);
/* OpMemberName; NULL: it has none. */
const char *maker_member_name(struct maker *m, uint32_t type, uint32_t member);

/* ---- instrument_declare.c ---- */

uint32_t maker_id(struct maker *m);
/* The type, as it is declared, or will be. Not for arrays and structs. */
uint32_t maker_type(struct maker *m, uint32_t op, const uint32_t *operands, uint32_t count);
uint32_t maker_pointer(struct maker *m, uint32_t storage, uint32_t type);
uint32_t maker_uints(struct maker *m, uint32_t count);
uint32_t maker_floats(struct maker *m, uint32_t count);
uint32_t maker_number(struct maker *m, uint32_t value);
/* The result buffer, and the variables of an invocation. */
void maker_declare(struct maker *m);
/* Code that loads a built-in input: with a type; as a uint; and the first word of the mask of samples. */
uint32_t maker_built_in(struct maker *m, uint32_t built_in, uint32_t type);
uint32_t maker_built_in_number(struct maker *m, uint32_t built_in);
uint32_t maker_sample_mask(struct maker *m);

/* ---- instrument_values.c ---- */

/* Puts an instruction with a result into the functions. Gives its id. */
uint32_t maker_put(struct maker *m, uint32_t op, uint32_t type, const uint32_t *operands, uint32_t count);
#define MAKER_PUT(m, op, type, ...)                                                                                    \
    maker_put(m, op, type, (const uint32_t[]){__VA_ARGS__},                                                            \
              (uint32_t)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))
/* False: it has no value of at most so many words. */
bool value_shape(const struct maker *m, uint32_t type, uint32_t most_words, struct value_shape *out);
/* Finds the outputs that the code writes. */
void maker_find_outputs(struct maker *m);
/* The words of a value with a shape, each as the id of a uint. Gives their number. */
uint32_t value_words(struct maker *m, uint32_t type, uint32_t id, uint32_t words[VALUE_MOST_WORDS]);

/* ---- instrument_log.c ---- */

/* In front of the first instruction of the entry point. */
void log_begin(struct maker *m);
void log_count(struct maker *m);
/* A result, to be written by the next log_segments. */
void log_value(struct maker *m, uint32_t type, uint32_t id, uint32_t instruction);
bool log_is_full(const struct maker *m);
void log_segments(struct maker *m);
/* In front of a return of the entry point. */
void log_return(struct maker *m);

#endif
