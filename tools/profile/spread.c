/* SPDX-License-Identifier: MIT */
#include "tools/profile/spread.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const double *one = a, *other = b;

    return (*one > *other) - (*one < *other);
}

static void sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

double profile_quantile(const double *sorted, size_t count, double part)
{
    double place = part * (double)(count - 1);
    size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;

    return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

/* The medians of loops, from the fastest to the slowest one. */
static void of_loops(double *values, size_t loops, size_t count, struct profile_time *out)
{
    double second = 0;

    out->fastest = out->slowest = 0;
    for (size_t i = 0; i < loops; i++) {
        double median;
        sort(values + i * count, count);
        median = profile_quantile(values + i * count, count, 0.5);
        if (i == 0 || median < out->fastest)
            out->fastest = median;
        if (i == 0 || median >= out->slowest) {
            second = i ? out->slowest : median;
            out->slowest = median;
        } else if (median > second) {
            second = median;
        }
    }
    out->typical = loops < PROFILE_MANY_LOOPS ? out->slowest : second;
}

void profile_spread(double *values, size_t loops, size_t count, struct profile_time *out)
{
    size_t all = loops * count;

    out->loops = loops;
    of_loops(values, loops, count, out);
    sort(values, all);
    out->median = profile_quantile(values, all, 0.5);
    out->p10 = profile_quantile(values, all, 0.1);
    out->p90 = profile_quantile(values, all, 0.9);
    out->least = values[0];
    out->most = values[all - 1];
    out->spread = (out->p90 - out->p10) / 2;
}
