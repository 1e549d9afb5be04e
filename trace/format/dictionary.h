/* SPDX-License-Identifier: MIT */
/*
 * dictionary: the names that a file uses numbers for (docs/format.md, "Dictionary").
 */
#ifndef LAP_TRACE_FORMAT_DICTIONARY_H
#define LAP_TRACE_FORMAT_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Names of a file that is written. */
struct lap_name_list {
    const char *const *names; /* [number]; a number's name never changes within a file; entry 0 may be "" */
    uint32_t count;
};

struct lap_names {
    struct lap_name_list commands, structs, handle_types;
};

enum lap_dictionary_list {
    LAP_DICTIONARY_COMMANDS,
    LAP_DICTIONARY_STRUCTS,
    LAP_DICTIONARY_HANDLE_TYPES,
    LAP_DICTIONARY_LISTS
};

struct lap_name_table {
    struct {
        const char **names; /* [number] */
        uint32_t count;
    } lists[LAP_DICTIONARY_LISTS];
    char *text; /* the memory of the names */
};

/* The payload of a dictionary chunk; the caller frees *out_payload. LAP_ERROR_ARGUMENT for a name that a file can't
 * have. */
enum lap_status lap_dictionary_encode(const struct lap_names *names, uint8_t **out_payload,
                                      size_t *out_bytes) LAP_MUST_CHECK;

/* Reads such a payload and checks every name. On failure *out is empty. */
enum lap_status lap_dictionary_decode(const uint8_t *payload, size_t bytes, struct lap_name_table *out) LAP_MUST_CHECK;
void lap_dictionary_finish(struct lap_name_table *dictionary);

#endif
