/* SPDX-License-Identifier: MIT */
/*
 * texel_history: edits with which a replay keeps a texel of an image as it is behind each command of a frame that may
 * write it: draws and clears in render passes, copies, blits, resolves, clears, and shaders that store into it through
 * descriptors. In render passes it keeps the depth and the stencil beside it, too, and where that is wanted the
 * fragments of the draws. Where in a buffer these are is in the history (weave.h). Stores through addresses, descriptor
 * buffers and heaps, and copies by the host are not seen. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_TEXEL_HISTORY_H
#define LAP_INSPECTOR_QUESTION_TEXEL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/position/position.h"
#include "inspector/question/texel_fragments.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct texel_wish {
    struct position at; /* a frame, or the last place in its frame; count 0: there is no wish */
    uint64_t image;     /* 0: the one that the frame presents last */
    uint32_t x, y;
    uint32_t level, layer;        /* layer: of a volume the slice */
    VkImageAspectFlagBits aspect; /* 0: color, or else depth, or else stencil */
    bool fragments;               /* of draws are kept, too: the device wants the features of edit_enable_stores */
};

enum texel_kind { TEXEL_BEGIN, TEXEL_DRAW, TEXEL_CLEAR, TEXEL_COPY, TEXEL_BLIT, TEXEL_RESOLVE, TEXEL_STORE };
#define TEXEL_NOWHERE UINT64_MAX

/* A texel in front of a command and behind it: offsets in the buffer, or TEXEL_NOWHERE. */
struct texel_change {
    uint64_t image; /* 0: there is none */
    VkFormat format;
    uint64_t before, after;
};

/* A command that may write. */
struct texel_row {
    struct position position;
    uint16_t command; /* enum gen_command */
    enum texel_kind kind;
    VkAttachmentLoadOp load; /* of TEXEL_BEGIN */
    uint64_t pipeline;       /* 0: none */
    uint32_t from_type;      /* of the source of a copy, a blit or a resolve: enum gen_handle_type */
    uint64_t from;           /* 0: none */
    const char *label;       /* all that are open, with '/' between them; NULL: none is */
    struct texel_change value, depth, stencil;
    const struct texel_draw *draw; /* of a draw in a render pass, whose fragments are wanted; NULL: it is none */
};

struct texel_history {
    struct texel_wish wish; /* with the image and the aspect that are meant, and the exact position */
    bool presented;
    VkFormat format;
    uint32_t width, height; /* of the level */
    struct texel_row *rows; /* in the order of submission */
    size_t row_count, row_capacity;
    const char **left_out; /* sentences */
    size_t left_out_count, left_out_capacity;
    uint64_t buffer, bytes; /* its number */
    struct lap_arena arena;
};

/* Fills a zeroed history, which is finished after any outcome. LAP_ERROR_ARGUMENT: there is no such place, image or
 * texel, or nothing up to there writes the image. LAP_ERROR_UNSUPPORTED: a sentence has the obstacle. */
enum lap_status edit_texel_history(const struct lap_reader *trace, const struct texel_wish *wish,
                                   struct lap_edits *edits, struct texel_history *history) LAP_MUST_CHECK;
void texel_history_finish(struct texel_history *history); /* also of a zeroed one */

#endif
