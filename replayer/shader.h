/* SPDX-License-Identifier: MIT */
/*
 * shader: what a SPIR-V module says of itself that a device must allow. Knows no Vulkan and trusts no word of the code.
 */
#ifndef LAP_REPLAYER_SHADER_H
#define LAP_REPLAYER_SHADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codegen/support/needs.h"

/* More than any module has; what comes after is not looked at. */
#define REPLAY_SHADER_CAPABILITIES 96u
#define REPLAY_SHADER_EXTENSIONS   64u
#define REPLAY_SHADER_CONSTANTS    256u
#define REPLAY_NOT_SPECIALIZED     UINT32_MAX

/* The size of workgroups in one direction: what it is unless a pipeline gives the constant another value. */
struct replay_shader_size {
    uint32_t value, constant; /* the SpecId, or REPLAY_NOT_SPECIALIZED */
};

struct replay_shader {
    uint32_t capabilities[REPLAY_SHADER_CAPABILITIES];
    const char *extensions[REPLAY_SHADER_EXTENSIONS]; /* in the code; they end there */
    uint32_t capability_count, extension_count;
    bool stores[GEN_STORES_COUNT]; /* to memory that others see, from entry points of these kinds */
    bool has_size;
    struct replay_shader_size size[3]; /* of the first entry point that has one */
};

/* False for what is no module; *out is then empty. Also what was found before the code broke off is left out. */
bool replay_shader_read(const uint32_t *words, size_t word_count, struct replay_shader *out);

#endif
