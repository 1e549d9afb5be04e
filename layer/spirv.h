/* SPDX-License-Identifier: MIT */
/*
 * spirv: which descriptors a shader stores to. A storage buffer that shaders only read is no different from a uniform
 * buffer to memory tracking; one that they write must be announced. Types and decorations don't tell ("readonly" is
 * optional), so the code is searched for stores, atomics and image writes. Knows no Vulkan and trusts no word of the
 * code.
 */
#ifndef LAP_LAYER_SPIRV_H
#define LAP_LAYER_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAP_SPIRV_SETS 32u

/* Bit n of a set: binding n is written; bit 63 stands for all bindings from 63 on. All entry points together. */
struct lap_spirv_writes {
    uint64_t sets[LAP_SPIRV_SETS];
};

static inline uint64_t lap_spirv_bit(uint32_t binding)
{
    return (uint64_t)1 << (binding < 63 ? binding : 63);
}

/* Code that can't be read, and memory that is short, give all bits: then nothing is known. Pointers that are handed to
 * functions or chosen at run time count as written. */
void lap_spirv_find_writes(const uint32_t *words, size_t word_count, struct lap_spirv_writes *out);

/* True when some bit is set. */
bool lap_spirv_writes_any(const struct lap_spirv_writes *writes);

#endif
