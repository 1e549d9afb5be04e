/* SPDX-License-Identifier: MIT */
/* shader_file: reads the code of a shader from a file, or lets glslangValidator or spirv-as make it of text, each in a
 * sandbox. Before the caller's own sandbox, and while it has one thread. */
#ifndef LAP_INSPECTOR_SHADER_FILE_H
#define LAP_INSPECTOR_SHADER_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A file whose name ends with a stage (.vert, .frag.glsl, …) is GLSL, with .spvasm SPIR-V as text, any other one
 * SPIR-V. free(*out_words). Words of a compiler go to stderr. LAP_ERROR_ARGUMENT, with a sentence: there is no code
 * to be had. */
enum lap_status edit_shader_file_read(const char *path, uint32_t **out_words, size_t *out_bytes) LAP_MUST_CHECK;

#endif
