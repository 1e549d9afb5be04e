/* SPDX-License-Identifier: MIT */
/* spread: times that were measured several times, as a median and how far they lie apart. Any thread. */
#ifndef LAP_TOOLS_PROFILE_SPREAD_H
#define LAP_TOOLS_PROFILE_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

/* All in milliseconds. */
struct profile_time {
    double median, p10, p90, least, most;
    double spread;                    /* half of p10 to p90 */
    double fastest, slowest, typical; /* of the medians of loops: the first, the last, and the last but the slowest loop
                                         where there are PROFILE_MANY_LOOPS or more */
    size_t loops;
};
#define PROFILE_MANY_LOOPS 5u

/* Of sorted values, from 0 to 1; between two of them in proportion. count: not 0. */
double profile_quantile(const double *sorted, size_t count, double part);

/* Of `count` values of each loop, one loop behind the other. Both not 0. Sorts the values. */
void profile_spread(double *values, size_t loops, size_t count, struct profile_time *out);

#endif
