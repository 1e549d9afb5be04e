/* SPDX-License-Identifier: MIT */
/*
 * walk: visits everything in a decoded command or structure, with the reflection tables. Only the visitor acts on the
 * values.
 *
 * Walks only decoded data. The decoders have checked counts and depth, and members that were not recorded are NULL. Any
 * thread.
 */
#ifndef LAP_VULKAN_WALK_H
#define LAP_VULKAN_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vulkan/reflect.h"

#define LAP_WALK_MAX_DEPTH 96 /* of nested structures and arrays; the decoders stop long before */

enum lap_value_kind {
    LAP_VALUE_UNSIGNED,
    LAP_VALUE_SIGNED,
    LAP_VALUE_FLOAT,
    LAP_VALUE_BOOL,
    LAP_VALUE_ENUM,   /* type: index into gen_enums; i */
    LAP_VALUE_FLAGS,  /* type: index into gen_enums; u */
    LAP_VALUE_HANDLE, /* type: enum gen_handle_type; u: the trace index, 0 for VK_NULL_HANDLE */
    LAP_VALUE_STRING, /* data, bytes: without the NUL; not checked for encoding */
    LAP_VALUE_BYTES,  /* data, bytes */
    LAP_VALUE_ADDRESS /* u: an address of the recorded program */
};

struct lap_value {
    enum lap_value_kind kind;
    uint32_t type;
    uint32_t width; /* bytes of a number */
    uint64_t u;
    int64_t i;
    double f;
    const void *data;
    size_t bytes;
};

/* Where the walk is. */
struct lap_place {
    const struct gen_member *member; /* NULL for the structure at the start of the walk */
    const void *owner;               /* the structure or parameters with the member */
    const void *at;                  /* the element itself; NULL for bit-fields */
    uint64_t index;                  /* in its array */
    bool in_array;                   /* an element of an array, row or chain */
};

/* Any callback may be NULL. The begin callbacks return whether to enter; after false there is no end callback. */
struct lap_visitor {
    bool (*begin_struct)(void *user, const struct lap_place *place, uint32_t struct_number);
    void (*end_struct)(void *user, const struct lap_place *place, uint32_t struct_number);
    /* An array, or a chain (place->member->shape is GEN_SHAPE_PNEXT and its elements are structures). */
    bool (*begin_array)(void *user, const struct lap_place *place, uint64_t count);
    void (*end_array)(void *user, const struct lap_place *place);
    void (*null)(void *user, const struct lap_place *place); /* a NULL pointer */
    void (*value)(void *user, const struct lap_place *place, const struct lap_value *value);
    void *user;
};

/* Visits the parameters in order. With with_result it then visits a recorded result (member name "result"). */
void lap_walk_command(uint32_t command, const void *args, bool with_result, const struct lap_visitor *visitor);

void lap_walk_struct(uint32_t struct_number, const void *data, const struct lap_visitor *visitor);

/* The number of elements of a member of `owner`; `members`: all members of the owner. Not for rows and strings. */
uint64_t lap_walk_count(const struct gen_member *members, const struct gen_member *member, const void *owner);
/* The value of the member at `index`, a number. */
uint64_t lap_walk_number(const struct gen_member *members, uint8_t index, const void *owner);

/* The result of a command; NULL: none is recorded. */
const struct gen_member *lap_walk_result_member(uint32_t command);

#endif
