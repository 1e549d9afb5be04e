/* SPDX-License-Identifier: MIT */
/*
 * spirv: what a shader reaches: which descriptors it stores to, and whether it follows addresses. A storage buffer that
 * shaders only read is no different from a uniform buffer to memory tracking; one that they write must be announced.
 * Types and decorations don't tell ("readonly" is optional), so the code is searched for stores, atomics and image
 * writes. Knows no Vulkan and trusts no word of the code.
 */
#ifndef LAP_LAYER_SPIRV_H
#define LAP_LAYER_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAP_SPIRV_SETS 32u

/* All entry points together. */
struct lap_spirv_reach {
    uint64_t stores[LAP_SPIRV_SETS]; /* bit n of a set: binding n is written; bit 63: some binding from 63 on */
    bool addresses;                  /* memory is reached that no descriptor names (PhysicalStorageBufferAddresses) */
};

static inline uint64_t lap_spirv_bit(uint32_t binding)
{
    return (uint64_t)1 << (binding < 63 ? binding : 63);
}

/* Code that can't be read, and memory that is short, give lap_spirv_reach_all. Pointers that are handed to functions,
 * chosen at run time or kept in variables count as written. */
void lap_spirv_find_reach(const uint32_t *words, size_t word_count, struct lap_spirv_reach *out);

/* What is known of nothing: every bit, and addresses. */
void lap_spirv_reach_all(struct lap_spirv_reach *out);
void lap_spirv_reach_add(struct lap_spirv_reach *to, const struct lap_spirv_reach *more);
/* False when the shader only reads, and only through descriptors. */
bool lap_spirv_reach_any(const struct lap_spirv_reach *reach);

#endif
