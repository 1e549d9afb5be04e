/* SPDX-License-Identifier: MIT */
/* utf8: text of unknown encoding, such as a program's debug names, made valid. Any thread. */
#ifndef LAP_BASE_UTF8_H
#define LAP_BASE_UTF8_H

#include <stddef.h>

/* A heap copy with U+FFFD for bytes that are not UTF-8; NULL: out of memory. */
char *lap_utf8(const char *text, size_t bytes);

#endif
