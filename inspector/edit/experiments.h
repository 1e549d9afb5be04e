/* SPDX-License-Identifier: MIT */
/*
 * experiments: a user's wishes for a replay that differs from the trace. They become edits (trace/read/edits.h) before
 * anything plays, so a replay sees an ordinary trace. One thread.
 */
#ifndef LAP_INSPECTOR_EXPERIMENTS_H
#define LAP_INSPECTOR_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"
#include "inspector/edit/after.h"
#include "inspector/edit/replace_shader.h"
#include "inspector/position/position.h"
#include "inspector/question/each.h"
#include "inspector/question/mesh_values.h"
#include "inspector/question/overdraw.h"
#include "inspector/question/shader_values.h"
#include "inspector/question/stamps.h"
#include "inspector/question/texel_history.h"
#include "inspector/state/picture_list.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

struct edit_positions {
    struct position *at;
    size_t count, capacity;
};

struct edit_experiments {
    struct edit_positions skip, only; /* inspector/edit/leave_out.h */
    bool has_most_draws;
    uint64_t most_draws;
    bool wireframe, null_fragment, tiny_viewport; /* inspector/edit/fixed_state.h, shader_code.h */
    struct replaced_shader *shaders;              /* inspector/edit/replace_shader.h; the words are ours */
    size_t shader_count, shader_capacity;
};

/* A trace that is changed, and the log of the changes. */
struct edit_work {
    const struct edit_experiments *wanted;
    const struct lap_log *log;
    uint64_t last_frame;           /* that is played; 0: all are */
    struct position *after;        /* count 0, or where the trace ends, with pictures to take (inspector/edit/after.h):
                                      becomes exact */
    const struct after_wish *wish; /* with `after`: what is wanted there; NULL: the attachments */
    const struct each_request *each; /* NULL, or with at.count 0; or where pictures of all draws are to be taken */
    struct picture_list *pictures;   /* with `after` and `each`: gets them */
    const struct texel_wish *texel;  /* NULL, or the one whose history is wanted (inspector/question/texel_history.h) */
    struct texel_history *history;   /* with `texel`: gets it */
    const struct stamps_wish *timed; /* NULL, or with first_frame 0; or the frames whose work is timed */
    struct stamps *stamps;           /* with `timed`: gets what is timed (inspector/question/stamps.h) */
    const struct overdraw_wish *counted; /* NULL, or with at.count 0; or the fragments that are counted */
    struct overdraw *counts;             /* with `counted`: gets where the counts are (inspector/question/overdraw.h) */
    const struct values_wish *debugged;  /* NULL, or with at.count 0; or the values of a shader that are wanted */
    struct shader_values *values;        /* with `debugged`: gets them (inspector/question/shader_values.h) */
    const struct mesh_wish *meshed;      /* NULL, or with at.count 0; or the vertices that are wanted */
    struct mesh_values *vertices;        /* with `meshed`: gets them (inspector/question/mesh_values.h) */
    bool will_debug;                     /* values may be wanted later, when devices are there */
    struct lap_reader *reader;           /* is given for the reader of the edited trace */
    struct lap_edits *edits;             /* of that; NULL at first. Destroyed behind the reader */
};

/* Adds positions with commas between them. LAP_ERROR_ARGUMENT with a sentence, LAP_ERROR_MEMORY. */
enum lap_status edit_positions_parse(const char *text, struct edit_positions *out) LAP_MUST_CHECK;

/* Adds HASH=FILE, and reads the file. */
enum lap_status edit_experiments_parse_shader(const char *text, struct edit_experiments *out) LAP_MUST_CHECK;
/* Lets SPIRV-Tools look at the code of all files. LAP_ERROR_ARGUMENT: it is invalid. */
enum lap_status edit_experiments_judge(const struct edit_experiments *experiments,
                                       enum lap_status (*judge)(const uint32_t *words,
                                                                size_t word_count)) LAP_MUST_CHECK;

void edit_experiments_finish(struct edit_experiments *experiments);

bool edit_experiments_are_wanted(const struct edit_experiments *experiments);

/* Makes the edits. work->reader, which does not read ahead, is given for one with these options. Logs the differences.
 * LAP_ERROR_ARGUMENT: a wish can't be had from this trace; others are the reader's. */
enum lap_status edit_experiments_apply(struct edit_work *work, const struct lap_reader_options *options) LAP_MUST_CHECK;

#endif
