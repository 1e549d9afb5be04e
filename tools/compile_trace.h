/* SPDX-License-Identifier: MIT */
/*
 * compile_trace: makes a replay program of a trace, for `lapilli compile` and `lapilli export`, which have these
 * options in common. One thread; call compile_trace in a sandbox (tools/sandboxed_work.h).
 */
#ifndef LAP_TOOLS_COMPILE_TRACE_H
#define LAP_TOOLS_COMPILE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/edit/experiments.h"
#include "vm/program.h"

enum {
    COMPILE_FRAMES = 512,
    COMPILE_AT,
    COMPILE_SKIP,
    COMPILE_ONLY,
    COMPILE_AT_MOST_DRAWS,
    COMPILE_WIREFRAME,
    COMPILE_NULL_FRAGMENT,
    COMPILE_TINY_VIEWPORT,
    COMPILE_REPLACE_SHADER,
};

/* For getopt_long. */
#define COMPILE_LONGS                                                                                                  \
    {"frames", required_argument, NULL, COMPILE_FRAMES}, {"at", required_argument, NULL, COMPILE_AT},                  \
        {"skip", required_argument, NULL, COMPILE_SKIP}, {"only", required_argument, NULL, COMPILE_ONLY},              \
        {"at-most-draws", required_argument, NULL, COMPILE_AT_MOST_DRAWS},                                             \
        {"wireframe", no_argument, NULL, COMPILE_WIREFRAME},                                                           \
        {"null-fragment", no_argument, NULL, COMPILE_NULL_FRAGMENT},                                                   \
        {"tiny-viewport", no_argument, NULL, COMPILE_TINY_VIEWPORT},                                                   \
    {                                                                                                                  \
        "replace-shader", required_argument, NULL, COMPILE_REPLACE_SHADER                                              \
    }

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
    uint64_t first_frame, last_frame; /* 0: no part was asked for */
    struct position at;               /* count 0: none */
    struct edit_experiments experiments;
};

/* What was made. Has no pointers, so it can lie in memory that processes share. */
struct compiled {
    uint64_t instructions, initial, constant_bytes, volatile_bytes, resources;
    uint64_t packets, commands;
};

/* Takes one of these options. LAP_ERROR_ARGUMENT with a sentence, LAP_ERROR_MEMORY. */
enum lap_status compile_option(struct compile_options *options, int option, const char *value) LAP_MUST_CHECK;
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
