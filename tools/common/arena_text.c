/* SPDX-License-Identifier: MIT */
#include "tools/common/arena_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *lap_arena_print(struct lap_arena *arena, const char *format, ...)
{
    va_list list;
    char *text, *kept;
    int length;

    va_start(list, format);
    length = vasprintf(&text, format, list);
    va_end(list);
    if (length < 0)
        return NULL;
    kept = lap_arena_alloc(arena, (size_t)length + 1, 1);
    if (kept)
        memcpy(kept, text, (size_t)length + 1);
    free(text);
    return kept;
}
