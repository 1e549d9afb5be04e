/* SPDX-License-Identifier: MIT */
/*
 * bionic: what the C library of Android 11 lacks. Every source of a build for Android begins with this file; no other
 * build has it. It makes no system calls of its own: an app is ended at a call that its Android does not list.
 */
#ifndef LAP_BASE_BIONIC_H
#define LAP_BASE_BIONIC_H

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/heap_sort.h"

static inline char *lap_secure_getenv(const char *name)
{
    return getauxval(AT_SECURE) ? NULL : getenv(name);
}

static inline void lap_explicit_bzero(void *memory, size_t bytes)
{
    memset(memory, 0, bytes);
    __asm__ volatile("" : : "r"(memory) : "memory"); /* so that the compiler takes it for read */
}

#define secure_getenv  lap_secure_getenv
#define explicit_bzero lap_explicit_bzero
#define qsort_r        lap_heap_sort

#endif
