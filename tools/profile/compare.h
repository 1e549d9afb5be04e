/* SPDX-License-Identifier: MIT */
/*
 * compare: two profiles, part by part, by their keys. docs/cli.md has the rule by which a part has changed. Memory is
 * an arena's. One thread.
 */
#ifndef LAP_TOOLS_PROFILE_COMPARE_H
#define LAP_TOOLS_PROFILE_COMPARE_H

#include "tools/profile/parts.h"

enum profile_verdict { PROFILE_CHANGED, PROFILE_SAME, PROFILE_NOISY, PROFILE_ONLY_A, PROFILE_ONLY_B };

/* A part of one of both. */
struct profile_item {
    const char *key, *name, *position;
    enum profile_kind kind;
    struct profile_time gpu;
};

struct profile_items {
    struct profile_item *items;
    size_t count;
    struct profile_time frame;
    bool on_cpu; /* the driver computes there */
};

struct profile_change {
    const struct profile_item *a, *b; /* NULL: it has none */
    enum profile_verdict verdict;
};

struct profile_comparison {
    const char *other; /* its path */
    struct profile_items sides[2];
    struct profile_item frames[2];
    struct profile_change frame, *changes; /* the largest difference first */
    size_t count;
};

/* Which are to be compared. LAP_ERROR_FORMAT with a sentence: this is no JSON of a profile. LAP_ERROR_MEMORY. */
enum lap_status profile_items_of(struct profile_items *items, struct lap_arena *arena,
                                 const struct profile *profile) LAP_MUST_CHECK;
enum lap_status profile_items_parse(struct profile_items *items, struct lap_arena *arena,
                                    const char *json) LAP_MUST_CHECK;

/* Of both sides, which are there. LAP_ERROR_MEMORY. */
enum lap_status profile_compare(struct profile_comparison *comparison, struct lap_arena *arena) LAP_MUST_CHECK;

/* By how much b is longer than a, in milliseconds. */
double profile_difference(const struct profile_change *change);

const char *profile_verdict_name(enum profile_verdict verdict);

#endif
