/* SPDX-License-Identifier: MIT */
/*
 * verdict: whether a condition holds by the facts (facts.h). It reads files that programs wrote who may have been
 * compromised by a trace, and pictures of strangers: call it in a sandbox. One thread.
 */
#ifndef LAP_TOOLS_ASSERT_VERDICT_H
#define LAP_TOOLS_ASSERT_VERDICT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/assert/facts.h"

enum verdict_kind { VERDICT_HOLDS, VERDICT_FAILS, VERDICT_UNKNOWN };

struct verdict {
    enum verdict_kind kind;
    bool is_number;
    double number;
    char found[320]; /* empty: nothing. No control characters */
    char note[400];  /* why nothing is known; or more about what was found. Empty: nothing */
};

/* A picture that was read; zeroed is none. */
struct picture {
    char path[PATH_MAX];
    uint8_t *rgba;
    uint32_t width, height;
};

struct judge {
    struct facts *facts;
    struct picture replayed; /* the last one */
};

void verdict_find(struct judge *judge, const struct condition *condition, struct verdict *out);
/* Writes the replayed pictures of all conditions into a folder, as far as there are some. False: after a message. */
bool judge_write(struct judge *judge, const struct conditions *conditions, const char *folder);
void judge_finish(struct judge *judge);

#endif
