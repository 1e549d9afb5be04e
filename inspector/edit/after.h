/* SPDX-License-Identifier: MIT */
/*
 * after: edits with which a replay ends behind a command of a command buffer, so that the attachments of its render
 * pass can be read. Each command buffer on the way to the command gets a twin (twins.h) that ends behind the command.
 * The render pass gets a twin that stores its attachments. The submit, with the twins, is the last packet. One thread.
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
 * drawn to is one, like color0-layer1. An attachment with several samples stands for the image that it is resolved
 * into. at: a command in a render pass, or a place with draws, which means its last one. LAP_ERROR_ARGUMENT: there is
 * no such place, or it has no draw. LAP_ERROR_UNSUPPORTED: a sentence has the obstacle. */
enum lap_status edit_after(const struct lap_reader *trace, const struct position *at, struct lap_edits *edits,
                           struct picture_list *targets, struct after_result *result) LAP_MUST_CHECK;

#endif
