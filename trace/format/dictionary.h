/* SPDX-License-Identifier: MIT */
/*
 * dictionary: the names that a file uses numbers for (docs/format.md, "Dictionary").
 */
#ifndef LAP_TRACE_FORMAT_DICTIONARY_H
#define LAP_TRACE_FORMAT_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/write/writer.h"

enum lap_dictionary_list {
    LAP_DICTIONARY_COMMANDS,
    LAP_DICTIONARY_STRUCTS,
    LAP_DICTIONARY_HANDLE_TYPES,
    LAP_DICTIONARY_LISTS
};

struct lap_dictionary {
    struct {
        const char **names; /* [number] */
        uint32_t count;
    } lists[LAP_DICTIONARY_LISTS];
    char *text; /* the memory of the names */
};

/* The payload of a dictionary chunk; the caller frees *out_payload. LAP_ERROR_ARGUMENT for a name that a file can't
 * have. */
enum lap_status lap_dictionary_encode(const struct lap_writer_options *options, uint8_t **out_payload,
                                      size_t *out_bytes) LAP_MUST_CHECK;

/* Reads such a payload and checks every name. On failure *out is empty. */
enum lap_status lap_dictionary_decode(const uint8_t *payload, size_t bytes, struct lap_dictionary *out) LAP_MUST_CHECK;
void lap_dictionary_finish(struct lap_dictionary *dictionary);

#endif
