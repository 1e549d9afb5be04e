/* SPDX-License-Identifier: MIT */
/*
 * overdraw: edits with which a replay counts the fragments of each texel: draws of a place run with fragment shaders
 * that also count (instrument.h). The submit of the last one is the last packet. One thread.
 *
 * Rasterized fragments are all that cover a texel. Shaded ones are those for which the shader runs: where it changes
 * no result, tests come before it. It does where the shader discards, or writes depth or memory.
 */
#ifndef LAP_INSPECTOR_QUESTION_OVERDRAW_H
#define LAP_INSPECTOR_QUESTION_OVERDRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct overdraw_wish {
    struct position at; /* place_range.h; count 0: there is no wish */
    bool rasterized;    /* else shaded */
};

/* The counts of a render pass, of all its layers and views. */
struct overdraw_pass {
    struct position begin; /* of the command that begins it */
    uint32_t width, height;
    uint64_t at;    /* in the buffer: width * height uint32_t */
    uint64_t draws; /* that are counted */
};

struct overdraw {
    struct overdraw_wish wish; /* with the exact position */
    struct overdraw_pass *passes;
    size_t pass_count, pass_capacity;
    uint64_t without; /* draws that are not counted */
    const char *why;  /* of the first of these */
    uint64_t buffer;
    struct lap_arena arena;
};

/* An edit of its own in front of it enables features (probe_plan.h). Fills a zeroed `out`, which is finished after any
 * outcome. LAP_ERROR_ARGUMENT: there is no such place, or no draw in it. LAP_ERROR_UNSUPPORTED: a sentence has the
 * obstacle. */
enum lap_status edit_overdraw(const struct lap_reader *trace, const struct overdraw_wish *wish, struct lap_edits *edits,
                              struct overdraw *out) LAP_MUST_CHECK;
void overdraw_finish(struct overdraw *overdraw); /* also of a zeroed one */

#endif
