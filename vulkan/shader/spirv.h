/* SPDX-License-Identifier: MIT */
/*
 * spirv: the declarations of a SPIR-V module, and the targets of its stores. The layer uses it for the descriptors that
 * a shader writes, a replay for the features and limits that a shader needs. One walk over the module finds all of it.
 *
 * Types and decorations do not show which memory a shader writes ("readonly" is optional), so the walk looks for
 * stores, atomics and image writes. Knows no Vulkan and trusts no word of the code. Any thread.
 */
#ifndef LAP_VULKAN_SHADER_SPIRV_H
#define LAP_VULKAN_SHADER_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAP_SPIRV_HEADER_WORDS 5u
#define LAP_SPIRV_SETS         32u
/* More than any module has; further ones are ignored. */
#define LAP_SPIRV_CAPABILITIES  96u
#define LAP_SPIRV_EXTENSIONS    64u
#define LAP_SPIRV_UNSPECIALIZED UINT32_MAX

/* The memory that all entry points together access. */
struct lap_spirv_access {
    uint64_t stores[LAP_SPIRV_SETS]; /* bit n of a set: binding n is written; bit 63: some binding from 63 on */
    bool addresses;                  /* it accesses memory without a descriptor (PhysicalStorageBufferAddresses) */
    bool address_stores;             /* and may store there */
};

static inline uint64_t lap_spirv_bit(uint32_t binding)
{
    return (uint64_t)1 << (binding < 63 ? binding : 63);
}

/* The size of workgroups in one direction, unless a pipeline specializes the constant. */
struct lap_spirv_size {
    uint32_t value, constant; /* the SpecId, or LAP_SPIRV_UNSPECIALIZED */
};

struct lap_spirv_module {
    uint32_t capabilities[LAP_SPIRV_CAPABILITIES];
    const char *extensions[LAP_SPIRV_EXTENSIONS]; /* pointers into the code, NUL-terminated */
    uint32_t capability_count, extension_count;
    /* Whether an instruction stores to memory that others can read, and entry points exist before or behind the
     * rasterizer. */
    bool stores_in_vertex, stores_in_fragment;
    bool has_size;
    struct lap_spirv_size size[3]; /* of the first entry point that has one */
    struct lap_spirv_access access;
};

/* False: no module, a truncated module, or out of memory. Then *out declares nothing and accesses everything. */
bool lap_spirv_read(const uint32_t *words, size_t word_count, struct lap_spirv_module *out);

/* The memory accesses alone. Pointers that are passed to functions, selected at run time or stored in variables
 * count as written. */
void lap_spirv_find_access(const uint32_t *words, size_t word_count, struct lap_spirv_access *out);
/* For unknown code: every bit, and addresses. */
void lap_spirv_access_all(struct lap_spirv_access *out);
void lap_spirv_access_add(struct lap_spirv_access *to, const struct lap_spirv_access *more);
/* False when the shader only reads, and only through descriptors. */
bool lap_spirv_access_any(const struct lap_spirv_access *access);

#endif
