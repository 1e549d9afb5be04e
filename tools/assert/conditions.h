/* SPDX-License-Identifier: MIT */
/*
 * conditions: what `lapilli assert` is asked, one condition a line: WHAT COMPARISON VALUE [+- TOLERANCE] [# comment].
 * Reads text alone. One thread.
 */
#ifndef LAP_TOOLS_ASSERT_CONDITIONS_H
#define LAP_TOOLS_ASSERT_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum condition_kind {
    CONDITION_INFO,   /* frames, info.MEMBER: of the whole trace */
    CONDITION_FRAMES, /* draws(FRAMES) */
    CONDITION_STATE,  /* state(POSITION).MEMBER, state(POSITION, OBJECT).MEMBER */
    CONDITION_PIXEL,  /* pixel(FRAME, X,Y), texel(POSITION, TARGET, X,Y) */
    CONDITION_IMAGE,  /* image(FRAME), image(POSITION, TARGET) */
    CONDITION_REPLAY, /* messages, errors, warnings, different */
    CONDITION_TIME    /* gpu_ms(FRAMES).p90 */
};

enum condition_comparison {
    CONDITION_EQUAL,
    CONDITION_NOT_EQUAL,
    CONDITION_LESS,
    CONDITION_AT_MOST,
    CONDITION_MORE,
    CONDITION_AT_LEAST
};

struct condition {
    const char *text; /* as it was written, without spaces around it and its comment */
    unsigned line;    /* from 1 */
    enum condition_kind kind;
    const char *member; /* a path of JSON: bytes.file; of frames a member of `lapilli tree`; of times gpu_ms.p90 */
    uint64_t frames[2]; /* the first and the last one, from 1; 0: from the first; UINT64_MAX: to the last. Of a picture
                           both are its frame; 0: it is of a position */
    const char *position, *object, *target;
    uint32_t x, y;
    enum condition_comparison comparison;
    bool may_be_text; /* the value */
    bool is_number;
    double numbers[3];             /* of a pixel three, else one */
    const char *word;              /* the value as it was written, without quotes */
    double tolerance, most_beyond; /* most_beyond: percent of the texels that may be further away */

    size_t fact; /* facts.h */
};

struct conditions {
    struct condition *items;
    size_t count, capacity;
    struct lap_arena arena; /* memory of all texts. Zeroed is empty */
};

/* Adds the condition of a line, if there is one. LAP_ERROR_ARGUMENT: it can't be parsed; the sentence has the column,
 * from 1. LAP_ERROR_MEMORY. */
enum lap_status conditions_add(struct conditions *conditions, const char *line, unsigned number) LAP_MUST_CHECK;
void conditions_finish(struct conditions *conditions);

#endif
