/* SPDX-License-Identifier: MIT */
/* utf8: text of unknown encoding, such as a program's debug names, made valid and harmless. Any thread. */
#ifndef LAP_BASE_UTF8_H
#define LAP_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A heap copy with U+FFFD for bytes that are not UTF-8; NULL: out of memory. */
char *lap_utf8(const char *text, size_t bytes);

/* The bytes of the character at the text, which has some: 1 where it is not UTF-8. *out_shown: it may go to a terminal
 * and into the name of a file. No control character may, nor one that changes the direction or the place of others. */
size_t lap_utf8_step(const char *text, size_t bytes, bool *out_shown);

/* Replaces each character that may not be shown; returns the new length. */
size_t lap_utf8_clean(char *text, char instead);

/* Prints the text with `instead` for each character that may not be shown and is not in `kept`. */
void lap_utf8_print(FILE *out, const char *text, size_t bytes, char instead, const char *kept);

#endif
