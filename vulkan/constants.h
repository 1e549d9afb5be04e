/* SPDX-License-Identifier: MIT */
/*
 * constants: finds words of 8 bytes among the specialization constants of a shader that may be device addresses. A word
 * is one constant of 8 bytes, or two adjacent constants of 4 bytes, for shaders without 64-bit integers.
 */
#ifndef LAP_VULKAN_CONSTANTS_H
#define LAP_VULKAN_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

/* A word, and the offsets of its halves in pData: high is low + 4, except where two constants of 4 bytes have the
 * upper half first; then low == high + 4. */
struct lap_constant_word {
    uint64_t word;
    uint32_t low, high;
};

/* Classes of a word: no address, an address within an object, an address at the start of an object. */
enum lap_constant_fit { LAP_CONSTANT_NONE, LAP_CONSTANT_WITHIN, LAP_CONSTANT_BEGIN };

/* Upper halves below this value are common among numbers of any kind. With such a half, two constants are an address
 * only at the start of an object. */
#define LAP_TELLING_UPPER 0x100u

/* Calls `take` for the words that `fit` classifies as addresses. Where several candidates share bytes, a
 * constant of 8 bytes goes before two of 4 bytes, the start of an object before its inside, and the lower half
 * first before the upper half first. Skips entries outside of pData; NULL is fine. False: out of memory,
 * without a message. Any thread. */
bool lap_constants_visit(const VkSpecializationInfo *info, enum lap_constant_fit (*fit)(void *user, uint64_t word),
                         void (*take)(void *user, const struct lap_constant_word *word), void *user);

#endif
