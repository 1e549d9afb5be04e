/* SPDX-License-Identifier: MIT */
/*
 * json_page: JSON for an assistant, who reads all of it: without members that say nothing, and in parts that are JSON
 * again. It works on text, so numbers stay as they are written. The text was printed by our own verbs. No
 * shared state.
 */
#ifndef LAP_TOOLS_SHOW_JSON_PAGE_H
#define LAP_TOOLS_SHOW_JSON_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* In place: values, one behind the other, become one a line, without blanks, and without members that are null, 0, or
 * an empty text, array or object. Elements of arrays stay. without: names of more members that go, of the values
 * themselves, with NULL behind; or NULL. False: it is no JSON, or has more than 2000 levels; then the text is of no
 * use. */
bool lap_json_compact(char *text, const char *const *without);

/* A part of compact text: from the byte `from` on, up to about `most` bytes. A value that began in front of it has
 * its first short members again, which say what it is, and arrays begin where the part in front ended. A value of up to
 * a half of `most` is not cut. *next: where the next part begins; 0: nothing is left. From malloc; NULL: out of memory.
 */
char *lap_json_page(const char *text, size_t from, size_t most, size_t *next);

#endif
