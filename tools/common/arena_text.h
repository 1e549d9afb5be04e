/* SPDX-License-Identifier: MIT */
/* arena_text: texts in an arena's memory. One thread. */
#ifndef LAP_TOOLS_COMMON_ARENA_TEXT_H
#define LAP_TOOLS_COMMON_ARENA_TEXT_H

#include "base/arena.h"
#include "base/status.h"

/* As printf makes it. NULL: out of memory. */
const char *lap_arena_print(struct lap_arena *arena, const char *format, ...) LAP_PRINTF(2, 3);

#endif
