/* SPDX-License-Identifier: MIT */
/* memory_print: writes where the bytes of a buffer or an image come from (inspector/memory/memory_state.h). */
#ifndef LAP_TOOLS_MEMORY_PRINT_H
#define LAP_TOOLS_MEMORY_PRINT_H

#include <stdio.h>

#include "inspector/memory/memory_state.h"

/* "host, #134 lapilliUpdateBuffer", without a line's end. reason: why nothing is followed, or NULL. */
void lap_memory_put_origin(FILE *out, const struct memory_part *part, const char *reason);
/* Members of a JSON object: "known", "by", "copied". */
void lap_memory_put_json(FILE *out, const struct memory_part *part);

#endif
