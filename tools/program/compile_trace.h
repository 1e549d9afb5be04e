/* SPDX-License-Identifier: MIT */
/*
 * compile_trace: makes a replay program of a trace, for `lapilli compile` and `lapilli export`, which have these
 * options in common. One thread; call compile_trace in a sandbox (tools/common/sandboxed_work.h).
 */
#ifndef LAP_TOOLS_PROGRAM_COMPILE_TRACE_H
#define LAP_TOOLS_PROGRAM_COMPILE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/edit/experiments.h"
#include "tools/common/arguments.h"
#include "vm/program.h"

/* Rows of arguments; o: struct compile_options *. */
#define COMPILE_ARGUMENTS(o)                                                                                           \
    LAP_VALUE("frames", (o)->frames, lap_take_range), LAP_VALUE("at", &(o)->at, lap_take_position),                    \
        LAP_VALUE("skip", &(o)->experiments.skip, compile_take_positions),                                             \
        LAP_VALUE("only", &(o)->experiments.only, compile_take_positions),                                             \
        LAP_VALUE("at-most-draws", &(o)->experiments, compile_take_most_draws),                                        \
        LAP_FLAG("wireframe", &(o)->experiments.wireframe),                                                            \
        LAP_FLAG("null-fragment", &(o)->experiments.null_fragment),                                                    \
        LAP_FLAG("tiny-viewport", &(o)->experiments.tiny_viewport),                                                    \
        LAP_VALUE("replace-shader", &(o)->experiments, compile_take_shader)

#define COMPILE_HELP                                                                                                    \
    "  --frames A-B       end behind frame B; what comes before frame A is the initial part. Also A, A- and -B\n"       \
    "  --at P             end behind this position, as lapilli image --after; its frame is what comes behind the "      \
    "initial\n"                                                                                                         \
    "                     part\n"                                                                                       \
    "  --skip P,…         leave out draws, dispatches, ray traces and transfers, as lapilli replay does; so do the\n" \
    "                     next ones\n"                                                                                  \
    "  --only P,…         leave out all draws but these\n"                                                            \
    "  --at-most-draws N  leave out all draws behind the first N\n"                                                     \
    "  --wireframe        draw the edges of triangles\n"                                                                \
    "  --null-fragment    fragment shaders do nothing but write one colour\n"                                           \
    "  --tiny-viewport    viewports and scissors are the pixel at 0, 0\n"                                               \
    "  --replace-shader HASH=FILE\n"                                                                                    \
    "                     other code for a shader: SPIR-V or GLSL. Several times for several shaders\n"

struct compile_options {
    uint64_t frames[2]; /* {0, UINT64_MAX}: all */
    struct position at; /* count 0: none */
    struct edit_experiments experiments;
};

/* What was made. Has no pointers, so it can lie in memory that processes share. */
struct compiled {
    uint64_t instructions, initial, constant_bytes, volatile_bytes, resources;
    uint64_t packets, commands;
};

lap_take_fn compile_take_positions;  /* struct edit_positions */
lap_take_fn compile_take_most_draws; /* struct edit_experiments */
lap_take_fn compile_take_shader;     /* struct edit_experiments */
bool compile_options_are_given(const struct compile_options *options);
void compile_options_finish(struct compile_options *options);

struct compile_work {
    const char *program; /* for messages: "lapilli-compile" */
    const char *from, *to;
    int fd; /* of `to`: open and empty */
    const struct compile_options *options;
    const char *folder; /* for the resources; NULL: the program has them */
    bool no_resources, post_checks, quiet;
    void (*look)(void *user, const struct lap_vm_program *made); /* at the program; may be NULL */
    void *user;
};

/* Reads, edits, builds, verifies, writes. Returns an exit status, after a message. */
int compile_trace(const struct compile_work *work, struct compiled *out);

#endif
