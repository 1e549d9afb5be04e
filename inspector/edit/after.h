/* SPDX-License-Identifier: MIT */
/*
 * after: edits after which a replay has done all up to a command of a command buffer and nothing behind it, so that the
 * attachments of its render pass can be read. Each command buffer on the way to the command gets a twin (twins.h) that
 * ends behind it; the render pass gets one that stores its attachments; and the submit, with the twin, is the last
 * packet. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_AFTER_H
#define LAP_INSPECTOR_EDIT_AFTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/state/picture_list.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct after_result {
    struct position position; /* of the command */
    char left_out[240];       /* the first attachment that can't be read, and why; "" none */
    bool in_early_subpass;    /* later subpasses need not keep what they don't use */
};

/* Adds to edits of the trace, and the attachments to the list: color0, depth, stencil and so on; each layer that is
 * drawn to is one, like color0-layer1; of one with several samples what it is resolved into. at: a command in a render
 * pass, or a place with draws, of which the last one is meant. LAP_ERROR_ARGUMENT: there is no such place, or it has no
 * draw. LAP_ERROR_UNSUPPORTED: with what stands in the way. */
enum lap_status edit_after(const struct lap_reader *trace, const struct position *at, struct lap_edits *edits,
                           struct picture_list *targets, struct after_result *result) LAP_MUST_CHECK;

#endif
