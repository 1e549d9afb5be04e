/* SPDX-License-Identifier: MIT */
/*
 * selection: a set of positions (position.h), and the part of it that lies in a place of a trace. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_SELECTION_H
#define LAP_INSPECTOR_EDIT_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/reader.h"

struct selected {
    struct position position; /* never of_packet */
    struct position given;    /* as the user gave it */
    bool found;               /* something of the trace is there */
};

struct selection {
    struct selected *at; /* in the order of the trace */
    size_t count;
};

/* Finds positions of packets. LAP_ERROR_ARGUMENT, with a sentence: the trace has no such packet, or it is no submit and
 * not submitted. */
enum lap_status selection_init(struct selection *selection, const struct lap_reader *trace,
                               const struct position *positions, size_t count) LAP_MUST_CHECK;
void selection_finish(struct selection *selection); /* also of a zeroed one */

/* The selected positions in a place, and whether the place itself is selected, or lies in one that is. */
struct selection_part {
    size_t first, end; /* in selection.at */
    bool whole;
};

struct selection_part selection_all(const struct selection *selection);
/* The part in the place's part with this number. depth: the numbers of the place. */
struct selection_part selection_in(const struct selection *selection, struct selection_part part, unsigned depth,
                                   uint64_t number);
static inline bool selection_is_empty(struct selection_part part)
{
    return part.first == part.end;
}

#endif
