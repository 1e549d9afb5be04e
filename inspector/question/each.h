/* SPDX-License-Identifier: MIT */
/*
 * each: edits with which one replay has the attachments behind each draw of a place: copies of them in a buffer
 * (weave.h). The submit of the last one is the last packet. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_EACH_H
#define LAP_INSPECTOR_QUESTION_EACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/question/pass_targets.h"
#include "inspector/state/picture_list.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

#define EACH_MOST_BYTES ((uint64_t)512 << 20) /* of copies in one replay; the first command has them in any case */

struct each_request {
    struct position at;  /* a command that begins a render pass or a label, which mean all in these; any other command
                            or place. count 0: nothing is requested */
    const char *names;   /* only these targets, with commas between them; NULL: all */
    bool one;            /* only one target of each command: the first one */
    uint64_t most_bytes; /* 0: EACH_MOST_BYTES */
};

struct each_result {
    uint64_t commands;                          /* of the place, with pictures; also of other replays */
    uint64_t without;                           /* of the place: there is no way to pictures */
    char why[PASS_TARGETS_LEFT_OUT_BYTES];      /* of the first of these */
    char left_out[PASS_TARGETS_LEFT_OUT_BYTES]; /* the first attachment that can't be read, and why; "" none */
    uint32_t queries;                           /* weave.h */
};

/* Adds to edits of the trace, and to the list, whose pictures->first commands other replays have had. pictures->next is
 * 0, or where another replay goes on. Behind the names of targets in a command stand the pictures in front of it, to
 * compare with. LAP_ERROR_ARGUMENT: there is no such place, no draw in it, or no such target. LAP_ERROR_UNSUPPORTED: a
 * sentence has the obstacle. */
enum lap_status edit_each(const struct lap_reader *trace, const struct each_request *request, struct lap_edits *edits,
                          struct picture_list *pictures, struct each_result *result) LAP_MUST_CHECK;

#endif
