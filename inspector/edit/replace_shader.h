/* SPDX-License-Identifier: MIT */
/*
 * replace_shader: edits that give shaders the code of files. A shader is named by the first digits of its code's hash,
 * as lapilli print shows it. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_REPLACE_SHADER_H
#define LAP_INSPECTOR_EDIT_REPLACE_SHADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/edit/shader_code.h"

#define REPLACE_SHADER_LEAST_DIGITS 8u

struct replaced_shader {
    uint64_t hash;    /* its first digits, at the front */
    unsigned digits;  /* of 16 */
    const char *name; /* of the file, for messages */
    const uint32_t *words;
    size_t bytes;
};

/* LAP_ERROR_ARGUMENT: text does not begin with enough digits, or more. *out_end: behind them. */
enum lap_status replaced_shader_parse(const char *text, struct replaced_shader *out,
                                      const char **out_end) LAP_MUST_CHECK;

/* LAP_ERROR_ARGUMENT, with a sentence: no code has such a hash, or several have; the new one does not fit
 * (shader_fit.h), or needs a capability that no shader of the trace needs. Others as in rewrite.h. */
enum lap_status edit_replace_shaders(const struct lap_reader *trace, const struct replaced_shader *shaders,
                                     size_t count, struct lap_edits *edits,
                                     struct shader_code_result *out) LAP_MUST_CHECK;

#endif
