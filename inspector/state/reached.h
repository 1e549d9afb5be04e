/* SPDX-License-Identifier: MIT */
/*
 * reached: the descriptors that a command finds bound, in sets and pushed, with dynamic offsets applied. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_REACHED_H
#define LAP_INSPECTOR_STATE_REACHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/state/bound.h"
#include "inspector/state/descriptors.h"

struct reached {
    uint32_t set, binding, element; /* set: its number */
    VkDescriptorBindingFlags flags; /* of the binding; of a push 0 */
    bool alone;                     /* the binding has one descriptor */
    bool pushed;
    struct descriptor descriptor; /* offset: with the dynamic one */
};

/* LAP_END ends the visits, and is LAP_OK to the caller. */
typedef enum lap_status (*reached_fn)(void *user, const struct reached *reached);

/* Whether a binding of a set is of interest. NULL: all are. */
typedef bool (*reached_wants_fn)(void *user, uint32_t set, uint32_t binding);

/* Those of one bind point, in the order of sets, bindings and elements; later pushes after earlier ones. Inline uniform
 * blocks, descriptor buffers and heaps have none. The arena is for decoding. */
enum lap_status reached_each(const struct bound *bound, const struct descriptors *descriptors, enum bound_point point,
                             struct lap_arena *arena, reached_wants_fn wants, reached_fn visit,
                             void *user) LAP_MUST_CHECK;

#endif
