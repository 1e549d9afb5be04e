/* SPDX-License-Identifier: MIT */
/*
 * build: makes a replay program (vm/program.h) of a trace, which may be edited. Each packet, and each command of a
 * command buffer, becomes a call of a function (inspector/program/signature.h), with a label in front.
 *
 * Parameters lie in memory as Vulkan has them, with the trace's numbers for handles. Pieces without pointers are
 * constant, and equal ones are there once. Other pieces are copied from a template into volatile memory and get their
 * pointers there; equal ones stay there for later calls. Long runs of bytes are resources: the trace's blobs.
 */
#ifndef LAP_INSPECTOR_BUILD_H
#define LAP_INSPECTOR_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/read/reader.h"
#include "vm/program.h"
#include "vm/program_file.h"

struct program_build_options {
    uint64_t initial_last; /* the initial part ends behind the packet with this ticket; 0: it is all */
    bool post_checks;      /* it posts the results of checks */
    uint64_t last;         /* the program ends behind this one; 0: with the trace */
    void (*progress)(void *user, uint64_t done, uint64_t all); /* may be NULL */
    void *user;
};

struct program_build_result {
    uint64_t packets, commands, left_out; /* left_out: that a replay would leave out, too */
};

struct program_build; /* a program, and the trace that has its resources */

/* trace: is not moved, and outlives the build. LAP_ERROR_UNSUPPORTED: the trace has commands or structures that this
 * build does not know. */
enum lap_status program_build(const struct lap_reader *trace, const struct program_build_options *options,
                              struct program_build **out, struct program_build_result *out_result) LAP_MUST_CHECK;
void program_build_destroy(struct program_build **build); /* also for NULL */

const struct lap_vm_program *program_built(const struct program_build *build);
/* Reads the resources from the trace. */
struct lap_vm_resource_bytes program_build_resources(struct program_build *build);

#endif
