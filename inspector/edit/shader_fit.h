/* SPDX-License-Identifier: MIT */
/*
 * shader_fit: whether a SPIR-V module can stand where another one stood: it has the same entry points, and takes
 * nothing that the other did not take. Any thread.
 */
#ifndef LAP_INSPECTOR_EDIT_SHADER_FIT_H
#define LAP_INSPECTOR_EDIT_SHADER_FIT_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/spirv/spirv.h"

/* LAP_ERROR_ARGUMENT, with a sentence about `other`: it does not fit. LAP_ERROR_MEMORY. */
enum lap_status shader_fit(const struct spirv *one, const struct spirv *other, struct lap_arena *arena) LAP_MUST_CHECK;

/* The next capability that a module declares, from *at on, which begins with 0; UINT32_MAX: there are no more. */
uint32_t shader_capability(const struct spirv *spirv, size_t *at);

#endif
