/* SPDX-License-Identifier: MIT */
/*
 * static_use: which descriptors the entry points of a SPIR-V module use: those of which some function that can be
 * called from there has an instruction that uses the variable (specification, "Static Use"), whatever constants and
 * branches make of it. Knows no Vulkan and trusts no word of the code.
 *
 * What is said to be used is. Uses through instructions that this build does not know are missed, and so are entry
 * points behind the first REPLAY_MOST_ENTRY_POINTS.
 */
#ifndef LAP_REPLAYER_STATIC_USE_H
#define LAP_REPLAYER_STATIC_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define REPLAY_MOST_ENTRY_POINTS 64u /* few modules have more than one */
#define REPLAY_MOST_USES         65536u

struct replay_use {
    uint32_t set, binding;
};

/* Sorted by set and binding, each once. */
struct replay_uses {
    struct replay_use *uses;
    size_t count, capacity;
};

struct replay_entry_point {
    uint32_t model; /* SPIR-V's execution model */
    char *name;
    struct replay_uses uses;
};

struct replay_entry_points {
    struct replay_entry_point *entries;
    size_t count;
};

/* LAP_OK also for what is no module, or breaks off: then there are none. Else LAP_ERROR_MEMORY, or
 * LAP_ERROR_UNSUPPORTED where an entry point uses more than REPLAY_MOST_USES variables. *out may be finished after any
 * outcome. */
enum lap_status replay_static_use(const uint32_t *words, size_t word_count,
                                  struct replay_entry_points *out) LAP_MUST_CHECK;
void replay_entry_points_finish(struct replay_entry_points *points);
/* NULL: there is none of this name and model. */
const struct replay_uses *replay_entry_point_uses(const struct replay_entry_points *points, uint32_t model,
                                                  const char *name);

/* All of `more` go into *to too. */
enum lap_status replay_uses_add(struct replay_uses *to, const struct replay_uses *more) LAP_MUST_CHECK;
bool replay_uses_have(const struct replay_uses *uses, struct replay_use use);
void replay_uses_finish(struct replay_uses *uses);

#endif
