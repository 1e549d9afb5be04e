/* SPDX-License-Identifier: MIT */
/*
 * fixed_state: edits that draw the same differently: lines for the edges of triangles, or viewports of a pixel. They
 * change pipelines, and the commands that set the same state. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_FIXED_STATE_H
#define LAP_INSPECTOR_EDIT_FIXED_STATE_H

#include <stdint.h>

#include "base/status.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct fixed_state_result {
    uint64_t pipelines; /* that changed */
    uint64_t unchanged; /* that can't, since they come as binaries of a driver */
    uint64_t commands;  /* in distinct recordings, that changed */
};

/* Triangles become lines. Devices get the feature fillModeNonSolid. rewrite.h has the errors of all of these. */
enum lap_status edit_wireframe(const struct lap_reader *trace, struct lap_edits *edits,
                               struct fixed_state_result *out) LAP_MUST_CHECK;

/* Viewports and scissors become the pixel at 0, 0; ranges of depth, and the direction of y, stay. */
enum lap_status edit_tiny_viewport(const struct lap_reader *trace, struct lap_edits *edits,
                                   struct fixed_state_result *out) LAP_MUST_CHECK;

#endif
