/* SPDX-License-Identifier: MIT */
/*
 * shared_libraries: which shared libraries a program of ours needs, by the answer of this machine's dynamic linker: it
 * is asked as ldd asks it, so nothing of the program runs. For a program with one thread.
 */
#ifndef LAP_TOOLS_PROGRAM_SHARED_LIBRARIES_H
#define LAP_TOOLS_PROGRAM_SHARED_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct shared_library {
    const char *name, *path; /* "libzstd.so.1" */
};

struct shared_libraries {
    struct shared_library *all; /* without those of the C library, and without `loader` */
    size_t count;
    const char *loader; /* the path of libvulkan.so.1; NULL: this machine has none */
    char *text;         /* has the names and paths */
};

/* program: its path. LAP_ERROR_IO: the answer can't be had, or one is missing; LAP_ERROR_MEMORY. */
enum lap_status shared_libraries_find(const char *program, struct shared_libraries *out) LAP_MUST_CHECK;
void shared_libraries_release(struct shared_libraries *libraries); /* also a zeroed one */

#endif
