/* SPDX-License-Identifier: MIT */
/* spirv_inputs: the names of the inputs of a vertex shader, by their locations. Trusts no word. Any thread. */
#ifndef LAP_INSPECTOR_SPIRV_SPIRV_INPUTS_H
#define LAP_INSPECTOR_SPIRV_SPIRV_INPUTS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

/* *out: the name of the input at the location, in the arena: of a matrix, or an array, with the number of the column or
 * element: "m[1]". NULL: the shader has no such input, or it has no name. LAP_ERROR_FORMAT: it is no module. */
enum lap_status spirv_input_name(const uint32_t *words, size_t bytes, const char *entry, uint32_t location,
                                 struct lap_arena *arena, const char **out) LAP_MUST_CHECK;

#endif
