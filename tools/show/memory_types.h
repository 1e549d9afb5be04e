/* SPDX-License-Identifier: MIT */
/* memory_types: numbers in a row of bytes, as a user describes them: "vec3,u8x4". Little-endian. */
#ifndef LAP_TOOLS_SHOW_MEMORY_TYPES_H
#define LAP_TOOLS_SHOW_MEMORY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LAP_MEMORY_FIELDS 64u

struct lap_memory_field {
    char kind;      /* u, i, f, or x: hexadecimal */
    unsigned width; /* bytes of a number: 1, 2, 4, 8 */
    unsigned count;
};

struct lap_memory_type {
    struct lap_memory_field fields[LAP_MEMORY_FIELDS];
    unsigned count;
    size_t bytes; /* together, without padding */
};

/* False: `text` describes none. */
bool lap_memory_type_parse(const char *text, struct lap_memory_type *out);
/* The numbers of one element, with `separator` between them. json: NaN and infinities are strings, and numbers beyond
 * 2^53, too. */
void lap_memory_type_put(FILE *out, const struct lap_memory_type *type, const uint8_t *bytes, const char *separator,
                         bool json);

#endif
