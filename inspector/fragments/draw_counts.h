/* SPDX-License-Identifier: MIT */
/* draw_counts: how much a draw draws, as far as its command says. Any thread. */
#ifndef LAP_INSPECTOR_FRAGMENTS_DRAW_COUNTS_H
#define LAP_INSPECTOR_FRAGMENTS_DRAW_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define DRAW_COUNT_UNKNOWN UINT64_MAX /* it is in a buffer, or there are several */

struct draw_counts {
    uint64_t draws, vertices, instances; /* vertices: or indices, or groups of mesh shaders; of each draw */
};

/* Of another command nothing is known. */
struct draw_counts draw_counts_of(uint32_t command, const void *args);

static inline bool draw_counts_are_nothing(const struct draw_counts *counts)
{
    return !counts->draws || !counts->vertices || !counts->instances;
}

#endif
