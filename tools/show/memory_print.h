/* SPDX-License-Identifier: MIT */
/* memory_print: writes where the bytes of a buffer or an image come from (inspector/memory/memory_state.h). */
#ifndef LAP_TOOLS_SHOW_MEMORY_PRINT_H
#define LAP_TOOLS_SHOW_MEMORY_PRINT_H

#include <stdio.h>

#include "inspector/memory/memory_state.h"

/* The contents at a position, with progress on stderr. at_text: POSITION_TEXT_BYTES. Errors are those of position_find
 * and memory_state_find; *out may be usable in spite of an error. */
enum lap_status lap_memory_find(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                                char *at_text, struct memory_state **out) LAP_MUST_CHECK;

/* "host, #134 lapilliUpdateBuffer", without a line's end. reason: why nothing is followed, or NULL. */
void lap_memory_put_origin(FILE *out, const struct memory_part *part, const char *reason);
/* Members of a JSON object: "known", "by", "copied". */
void lap_memory_put_json(FILE *out, const struct memory_part *part);

#endif
