/* SPDX-License-Identifier: MIT */
/*
 * lost: device addresses that come to a shader in a way that a replay with other addresses does not follow: in two
 * halves that are not side by side, as a lower half alone, at offsets that are no multiples of 4. Only what can't well
 * be anything else is found: the numbers must make an address of something that is alive, and upper halves that are
 * small, as those of numbers that have nothing to do with addresses, count for nothing.
 */
#ifndef LAP_CODEGEN_LOST_H
#define LAP_CODEGEN_LOST_H

#include <stddef.h>

#include "codegen/support/constants.h"

/* The upper halves of addresses that there were: the first few, of which drivers mostly have one or two. */
struct lap_upper_halves {
    uint32_t values[16];
    uint32_t count;
};
void lap_upper_halves_add(struct lap_upper_halves *halves, uint64_t address);

/* What is alive. */
struct lap_address_view {
    enum lap_constant_fit (*fit)(void *user, uint64_t word);
    void *user;
    const struct lap_upper_halves *halves;
};

enum lap_lost_kind { LAP_LOST_APART, LAP_LOST_LOW, LAP_LOST_ODD };

struct lap_lost {
    enum lap_lost_kind kind;
    uint64_t address;
    uint64_t offset; /* in the data: of the lower half */
};

/* Whether a word is an address that can't well be anything else. */
bool lap_lost_is_telling(const struct lap_address_view *view, uint64_t word);
/* Bytes that words of 8 at multiples of 4 are translated in: push constants, inline uniform blocks, what
 * vkCmdUpdateBuffer writes. True: *out is the first that is lost. Any thread. */
bool lap_lost_in_words(const struct lap_address_view *view, const void *data, size_t bytes, struct lap_lost *out);
/* The same for specialization constants; NULL is fine. */
bool lap_lost_in_constants(const struct lap_address_view *view, const VkSpecializationInfo *info, struct lap_lost *out);
/* What is the matter: "the halves of an address are not side by side". */
const char *lap_lost_text(enum lap_lost_kind kind);

#endif
