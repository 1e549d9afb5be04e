/* SPDX-License-Identifier: MIT */
/*
 * codes: code of shaders that clients have sent, for replays with other shaders than the trace's. Kept in memory by the
 * hash of its bytes; those that were not used for the longest are forgotten. Any thread.
 */
#ifndef LAP_SERVER_CODES_H
#define LAP_SERVER_CODES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define LAP_CODE_BYTES      ((size_t)256 << 10) /* of one, at most */
#define LAP_CODES_MOST      64u
#define LAP_CODE_NAME_BYTES 32u

struct lap_codes;

/* NULL: out of memory. */
struct lap_codes *lap_codes_new(void);
void lap_codes_free(struct lap_codes **codes);

/* Keeps bytes. kind: frag, vert and so on for GLSL, spvasm for SPIR-V as text, spv for SPIR-V. out: its name,
 * HASH.kind, which is the name of a file, too. LAP_ERROR_ARGUMENT, with a sentence: there is no such kind, nothing in
 * it, too much, or it includes files. LAP_ERROR_MEMORY. */
enum lap_status lap_codes_put(struct lap_codes *codes, const char *kind, const void *data, size_t bytes,
                              char out[LAP_CODE_NAME_BYTES]) LAP_MUST_CHECK;

/* Whether it looks like a name that lap_codes_put gave. */
bool lap_code_is_name(const char *name);

/* Writes it into a new file with its name. LAP_ERROR_ARGUMENT: it is not there (any more). LAP_ERROR_IO. */
enum lap_status lap_codes_write(struct lap_codes *codes, const char *name, const char *folder) LAP_MUST_CHECK;

#endif
