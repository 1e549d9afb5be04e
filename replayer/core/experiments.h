/* SPDX-License-Identifier: MIT */
/*
 * experiments: what a user wants to be different from the trace. All of it becomes edits (trace/edits.h) before
 * anything plays, so the rest of the replay sees an ordinary trace. One thread.
 */
#ifndef LAP_REPLAYER_CORE_EXPERIMENTS_H
#define LAP_REPLAYER_CORE_EXPERIMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/edit/replace_shader.h"
#include "inspector/position/position.h"
#include "trace/edits.h"
#include "trace/reader.h"

struct replay;
struct replay_options;

struct replay_positions {
    struct position *at;
    size_t count, capacity;
};

/* A part of the options. */
struct replay_experiments {
    struct replay_positions skip, only; /* inspector/edit/leave_out.h */
    bool has_most_draws;
    uint64_t most_draws;
    bool wireframe, null_fragment, tiny_viewport; /* inspector/edit/fixed_state.h, shader_code.h */
    struct replaced_shader *shaders;              /* inspector/edit/replace_shader.h; the words are ours */
    size_t shader_count, shader_capacity;
};

/* Adds positions with commas between them. LAP_ERROR_ARGUMENT with a sentence, LAP_ERROR_MEMORY. */
enum lap_status replay_positions_parse(const char *text, struct replay_positions *out) LAP_MUST_CHECK;

/* Adds HASH=FILE, and reads the file. */
enum lap_status replay_shaders_parse(const char *text, struct replay_experiments *out) LAP_MUST_CHECK;
/* Lets SPIRV-Tools look at the code of all files. LAP_ERROR_ARGUMENT: it is invalid. */
enum lap_status replay_shaders_judge(const struct replay_experiments *experiments,
                                     enum lap_status (*judge)(const uint32_t *words, size_t word_count)) LAP_MUST_CHECK;

void replay_experiments_finish(struct replay_experiments *experiments);

bool replay_experiments_are_wanted(const struct replay_options *options);

/* Makes the edits that r->options wants, and gives r->reader, which does not read ahead, for one of the edited trace
 * with these options. Says what is different. LAP_ERROR_ARGUMENT: something of it can't be had from this trace; others
 * are the reader's. */
enum lap_status replay_experiments_apply(struct replay *r, const struct lap_reader_options *options) LAP_MUST_CHECK;

#endif
