/* SPDX-License-Identifier: MIT */
/*
 * shaders_print: writes the codes of a trace's shaders (inspector/state/shader_list.h), what uses them, and what was
 * found in them, as text or as JSON. One thread.
 */
#ifndef LAP_TOOLS_SHOW_SHADERS_PRINT_H
#define LAP_TOOLS_SHOW_SHADERS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "inspector/state/shader_list.h"

struct lap_shaders_view {
    FILE *out;
    const struct shader_list *list;
    bool json;
};

/* The names of the columns of text. */
void lap_shaders_header(const struct lap_shaders_view *view);
/* A line of columns, or an object. */
void lap_shaders_row(const struct lap_shaders_view *view, const struct shader_code *code);

/* One code with all that uses it. data: the code itself, for the types of specialization constants. text: NULL: it has
 * none. glsl: which language that is; what uses the code stands in comments of it. */
void lap_shaders_one(const struct lap_shaders_view *view, const struct shader_code *code, const void *data,
                     const char *text, bool glsl);

struct lap_shaders_search {
    const char *wanted;
    bool ignore_case;
    size_t found; /* lines, so far */
};
/* Writes the lines that have it: names and entry points as line 0, then those of `text` (NULL: there is none). */
void lap_shaders_found(const struct lap_shaders_view *view, const struct shader_code *code, const char *text,
                       struct lap_shaders_search *search);

#endif
