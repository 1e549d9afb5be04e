/* SPDX-License-Identifier: MIT */
/*
 * bindings: the bindings that the shaders of a pipeline load from, by their code. Where the code is not known, or has
 * several entry points, it loads from none. The module sees the trace's packets. One thread.
 */
#ifndef LAP_INSPECTOR_REPORT_BINDINGS_H
#define LAP_INSPECTOR_REPORT_BINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "inspector/analysis/trace_pass.h"

struct report_bindings;

struct report_bindings *report_bindings_create(void);           /* NULL: no memory */
void report_bindings_destroy(struct report_bindings *bindings); /* also for NULL */
enum lap_status report_bindings_see(struct report_bindings *bindings, const struct trace_call *call) LAP_MUST_CHECK;
bool report_binding_is_used(const struct report_bindings *bindings, uint64_t pipeline, uint32_t set, uint32_t binding);

#endif
