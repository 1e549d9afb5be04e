/* SPDX-License-Identifier: MIT */
/*
 * constants: words of 8 bytes among the specialization constants of a shader, where device addresses come to it: as one
 * constant of 8 bytes, or as two of 4 bytes, side by side, for shaders without integers of 64 bits.
 */
#ifndef LAP_CODEGEN_CONSTANTS_H
#define LAP_CODEGEN_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* A word, and at which offsets of pData its halves stand: high is low + 4 but where two constants of 4 bytes have the
 * upper half first, with low == high + 4. */
struct lap_constant_word {
    uint64_t word;
    uint32_t low, high;
};

/* What a word may be: no address, one in the middle of something, one that something begins at. */
enum lap_constant_fit { LAP_CONSTANT_NONE, LAP_CONSTANT_WITHIN, LAP_CONSTANT_BEGIN };

/* Upper halves below it are found among numbers of any kind: with one of them two constants are an address only if
 * something begins there. */
#define LAP_TELLING_UPPER 0x100u

/* Calls `take` for the words that `fit` takes for addresses. Where several could be one, since the same bytes are in
 * them, it is a constant of 8 bytes before two of 4 bytes, what something begins at before what lies in it, and what
 * has the lower half first. Entries outside of pData are left out; NULL is fine. False: out of memory, and no sentence.
 * Any thread. */
bool lap_constants_visit(const VkSpecializationInfo *info, enum lap_constant_fit (*fit)(void *user, uint64_t word),
                         void (*take)(void *user, const struct lap_constant_word *word), void *user);

#endif
