/* SPDX-License-Identifier: MIT */
/*
 * text: numbers and names for people. Any thread.
 */
#ifndef LAP_TOOLS_SHOW_TEXT_H
#define LAP_TOOLS_SHOW_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vulkan/walk.h"

/* The name of an enum's value; NULL: the registry has none. type: index into gen_enums. */
const char *lap_text_enum(uint32_t type, int64_t value);

#define LAP_TEXT_FLAGS_MAX 4096
/* "A | B | 0x40": the names of all known bits, the rest as a number; "0" for none. */
void lap_text_flags(uint32_t type, uint64_t value, char out[LAP_TEXT_FLAGS_MAX]);

/* The same, of an enum by its name, such as "VkFormat" and "VkShaderStageFlagBits". */
const char *lap_text_named(const char *enum_name, int64_t value);
void lap_text_named_flags(const char *enum_name, uint64_t value, char out[LAP_TEXT_FLAGS_MAX]);

#define LAP_TEXT_NUMBER_MAX 40
/* The shortest decimal text that reads back as the same float (width 4) or double (width 8); NaN, Infinity,
 * -Infinity. */
void lap_text_float(double value, uint32_t width, char out[LAP_TEXT_NUMBER_MAX]);

/* Decimal, for which printf is slow. out: LAP_TEXT_NUMBER_MAX. Returns the end of it, a zero. */
char *lap_text_number(uint64_t value, char *out);

#define LAP_TEXT_HANDLE_MAX 96
/* "VkBuffer:12". */
void lap_text_handle(uint32_t type, uint64_t index, char out[LAP_TEXT_HANDLE_MAX]);

/* In quotes, with escapes for everything but printable ASCII. */
void lap_text_quoted(FILE *out, const char *text, size_t bytes);

/* As a JSON string; "null" for NULL and without memory. */
void lap_text_put_json(FILE *out, const char *text);

#endif
