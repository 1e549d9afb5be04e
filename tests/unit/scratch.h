/* SPDX-License-Identifier: MIT */
/* scratch: a folder of a test program's own under /tmp, and the paths of what is in it. */
#ifndef LAP_TESTS_UNIT_SCRATCH_H
#define LAP_TESTS_UNIT_SCRATCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char scratch[] = "/tmp/lapilli-unit-XXXXXX";

/* Once more where the last one has been removed. */
static inline bool scratch_make(void)
{
    memcpy(scratch + sizeof scratch - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
    return mkdtemp(scratch) != NULL;
}

/* Good until the next call. */
static inline const char *inside(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return path;
}

#endif
