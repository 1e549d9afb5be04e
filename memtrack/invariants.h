/* SPDX-License-Identifier: MIT */
/* invariants: checks those of docs/memory.md, "Invariants", that can be computed from the sets. Only in builds with
 * LAP_ASSERTS. */
#ifndef LAP_MEMTRACK_INVARIANTS_H
#define LAP_MEMTRACK_INVARIANTS_H

struct lap_memtrack;

#ifdef LAP_ASSERTS
/* Aborts when one does not hold. The tracker's mutex is held. Takes time in proportion to the number of ranges. */
void lap_memtrack_check_invariants(const struct lap_memtrack *tracker);
#else
static inline void lap_memtrack_check_invariants(const struct lap_memtrack *tracker)
{
    (void)tracker;
}
#endif

#endif
