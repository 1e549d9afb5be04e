/* SPDX-License-Identifier: MIT */
/*
 * after: edits with which a replay ends behind a command of a command buffer, so that the attachments of its render
 * pass can be read, or any other image. Each command buffer on the way to the command gets a twin (twins.h) that ends
 * behind the command. The render pass gets a twin that stores its attachments. The submit, with the twins, is the last
 * packet. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_AFTER_H
#define LAP_INSPECTOR_EDIT_AFTER_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

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

/* A wish for what is behind the command. */
struct after_wish {
    enum { AFTER_ATTACHMENTS, AFTER_IMAGE, AFTER_BUFFER } kind;
    uint64_t index;               /* of the image or the buffer */
    uint32_t level, layer;        /* layer: of a volume the slice */
    VkImageAspectFlagBits aspect; /* or plane; 0: the first one that the format has */
    uint64_t offset, bytes;       /* of the buffer; bytes 0: to its end */
};

/* Adds to edits of the trace, and the attachments to the list: color0, depth, stencil and so on; each layer that is
 * drawn to is one, like color0-layer1. An attachment with several samples stands for the image that it is resolved
 * into. at: a command in a render pass, or a place with draws, which means its last one.
 *
 * With an image it alone is in the list, like image7-mip1-layer2, with a buffer nothing; and `at` is any command, or a
 * place, which means its last one. LAP_ERROR_ARGUMENT: there is no such place, draw, command or image.
 * LAP_ERROR_UNSUPPORTED: a sentence has the obstacle. */
enum lap_status edit_after(const struct lap_reader *trace, const struct position *at, const struct after_wish *wish,
                           struct lap_edits *edits, struct picture_list *targets,
                           struct after_result *result) LAP_MUST_CHECK;

#endif
