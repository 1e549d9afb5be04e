/* SPDX-License-Identifier: MIT */
/*
 * untranslated: finds device addresses that reach a shader in a form that a replay can't translate: as two halves that
 * are not adjacent, as a lower half alone, or at offsets that are no multiples of 4. Reports only numbers that are
 * hardly anything else: they must form the address of a live object. Small upper halves do not count, since they are
 * common in other numbers.
 */
#ifndef LAP_VULKAN_UNTRANSLATED_H
#define LAP_VULKAN_UNTRANSLATED_H

#include <stddef.h>

#include "vulkan/constants.h"

/* The upper halves of all addresses until now: only the first few, as most drivers have one or two. */
struct lap_upper_halves {
    uint32_t values[16];
    uint32_t count;
};
void lap_upper_halves_add(struct lap_upper_halves *halves, uint64_t address);

/* The live objects. */
struct lap_address_view {
    enum lap_constant_fit (*fit)(void *user, uint64_t word);
    void *user;
    const struct lap_upper_halves *halves;
};

enum lap_untranslated_kind {
    LAP_UNTRANSLATED_APART,
    LAP_UNTRANSLATED_LOW,
    LAP_UNTRANSLATED_ODD,
    LAP_UNTRANSLATED_SPLIT
};

struct lap_untranslated {
    enum lap_untranslated_kind kind;
    uint64_t address;
    uint64_t offset; /* in the data: of the lower half */
};

/* Whether a word is an address with little doubt. */
bool lap_untranslated_is_telling(const struct lap_address_view *view, uint64_t word);
/* For bytes in which words of 8 at multiples of 4 are translated: push constants, inline uniform blocks, the data of
 * vkCmdUpdateBuffer. True: *out is the first lost address. Any thread. */
bool lap_untranslated_in_words(const struct lap_address_view *view, const void *data, size_t bytes,
                               struct lap_untranslated *out);
/* The same for specialization constants; NULL is fine. */
bool lap_untranslated_in_constants(const struct lap_address_view *view, const VkSpecializationInfo *info,
                                   struct lap_untranslated *out);
/* A text for messages: "the halves of an address are not side by side". */
const char *lap_untranslated_text(enum lap_untranslated_kind kind);

#endif
