/* SPDX-License-Identifier: MIT */
/*
 * place_range: the commands that a position stands for in an edit: those in a frame, a submit or a command buffer; of a
 * command that begins a render pass or a label all up to its end; of another command itself. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_PLACE_RANGE_H
#define LAP_INSPECTOR_QUESTION_PLACE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/state/bound_walk.h"

enum place_range_kind { PLACE_RANGE_ALL, PLACE_RANGE_PASS, PLACE_RANGE_LABEL, PLACE_RANGE_IS_OVER };

struct place_range {
    struct position position; /* never of a packet */
    struct position at;       /* what the walk goes through */
    enum place_range_kind kind;
    bool inside;    /* of a pass or label */
    uint32_t depth; /* of labels in it */
};

/* Finds the position, and sets the walk's place and whether it visits work alone. `range` stays as long as the walk
 * goes. LAP_ERROR_ARGUMENT: there is no such place, or it is not submitted. */
enum lap_status place_range_begin(struct place_range *range, const struct lap_reader *trace,
                                  const struct position *position, struct bound_walk_options *walk) LAP_MUST_CHECK;

/* For each visited command, in their order. A pass or a label that does not end in its command buffer has all the rest.
 */
bool place_range_has(struct place_range *range, const struct bound_visit *visit);
bool place_range_is_over(const struct place_range *range);

#endif
