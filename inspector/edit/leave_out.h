/* SPDX-License-Identifier: MIT */
/*
 * leave_out: edits that leave draws and other work of a trace out. Everything else stays: state, barriers, render
 * passes with their clears. A command that is left out in one submit stays in the others, also where these run the same
 * recording. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_LEAVE_OUT_H
#define LAP_INSPECTOR_EDIT_LEAVE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct leave_out_options {
    const struct position *skip; /* draws, dispatches, ray traces and transfers; or places: all of these in there. A
                                    place is a frame, a submit, a command buffer, an execution of secondary ones, a
                                    render pass or a label, both by the command that begins them */
    size_t skip_count;
    const struct position *only; /* draws, or places: all other draws are left out. With only_count 0 none */
    size_t only_count;
    bool has_most_draws;
    uint64_t most_draws; /* only the first draws of the trace stay */
    uint64_t last_frame; /* work behind it does not matter; 0: all work does */
};

struct leave_out_result {
    uint64_t commands; /* left out, as often as submits run them */
    uint64_t buffers;  /* command buffers of submits where some are left out */
    uint64_t twins;    /* recordings that were made twice, since some submits run them as they were */
};

/* Adds to edits of the trace. LAP_ERROR_ARGUMENT, with a sentence: there is nothing at a position, or nothing that can
 * be left out. */
enum lap_status leave_out(const struct lap_reader *trace, const struct leave_out_options *options,
                          struct lap_edits *edits, struct leave_out_result *result) LAP_MUST_CHECK;

#endif
