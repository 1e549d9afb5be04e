/* SPDX-License-Identifier: MIT */
/*
 * shader_text: the text of a shader's code, by SPIRV-Tools and SPIRV-Cross. Only lapilli-shaders and lapilli-find link
 * shader_text.c: these libraries are large, and a build may lack them. One thread.
 */
#ifndef LAP_TOOLS_SHOW_SHADER_TEXT_H
#define LAP_TOOLS_SHOW_SHADER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* *out: the text, from malloc, with lines that end. LAP_ERROR_UNSUPPORTED, with the library's sentence: it has none. */
typedef enum lap_status (*lap_shader_text_fn)(const uint32_t *words, size_t bytes, char **out);

/* SPIR-V as spirv-dis prints it, with words for what the library does not know, which comments in front of it name;
 * GLSL for Vulkan, entry point by entry point. NULL: this build lacks the library. */
extern const lap_shader_text_fn lap_shader_spirv, lap_shader_glsl;

#endif
