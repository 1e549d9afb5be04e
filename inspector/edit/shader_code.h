/* SPDX-License-Identifier: MIT */
/*
 * shader_code: edits that give shaders other code, wherever a program passes SPIR-V: to modules, in stages of pipelines
 * and to shader objects. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_SHADER_CODE_H
#define LAP_INSPECTOR_EDIT_SHADER_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

/* Sees some code; gives other code for it, which the arena may hold, or leaves *words and *bytes as they are. */
typedef enum lap_status (*shader_code_fn)(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes);

struct shader_code_result {
    uint64_t modules;   /* that got other code, or stages with code of their own */
    uint64_t objects;   /* the same for shader objects */
    uint64_t pipelines; /* that have such a module */
    uint64_t opaque;    /* pipelines and shader objects without code: by an identifier, or as a driver's binary */
};

/* edits: NULL: nothing changes, and the function only looks. rewrite.h has the errors. */
enum lap_status edit_shader_code(const struct lap_reader *trace, shader_code_fn change, void *user,
                                 struct lap_edits *edits, struct shader_code_result *out) LAP_MUST_CHECK;

/* Fragment shaders write one colour, magenta, and nothing else: they read nothing, discard nothing, and the depth is
 * that of the primitive. */
enum lap_status edit_null_fragment(const struct lap_reader *trace, struct lap_edits *edits,
                                   struct shader_code_result *out) LAP_MUST_CHECK;

#endif
