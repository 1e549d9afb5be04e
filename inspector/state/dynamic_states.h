/* SPDX-License-Identifier: MIT */
/*
 * dynamic_states: the commands that set state of a command buffer: vkCmdSet* and some others. Each command replaces the
 * state that it set before. The tables are made from the registry's names, so they hold for commands of later
 * registries. Read-only after creation; any thread.
 */
#ifndef LAP_INSPECTOR_STATE_DYNAMIC_STATES_H
#define LAP_INSPECTOR_STATE_DYNAMIC_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "gen_ids.h"

#define DYNAMIC_STATES_MOST 128u
#define DYNAMIC_STATE_NONE  INT32_MIN /* it is no dynamic state of pipelines */

/* States of pipelines, as a set. */
struct dynamic_mask {
    uint32_t words[DYNAMIC_STATES_MOST / 32];
};

enum dynamic_binding {
    DYNAMIC_BINDS_NONE,
    DYNAMIC_BINDS_VERTEX,
    DYNAMIC_BINDS_INDEX,
    DYNAMIC_BINDS_FEEDBACK,
    DYNAMIC_BINDS_CONDITION /* until conditional rendering ends */
};

struct dynamic_states {
    uint8_t numbers[GEN_COMMAND_COUNT];       /* of the state that a command sets, from 1; 0: none */
    uint8_t range_members[GEN_COMMAND_COUNT]; /* its parameter with the first element, or the faces; 0: none */
    uint8_t replaces[GEN_COMMAND_COUNT];      /* enum dynamic_binding: binds these by device address */
    int32_t values[DYNAMIC_STATES_MOST + 1];  /* [number]: VkDynamicState, or DYNAMIC_STATE_NONE */
    unsigned count;
};

void dynamic_states_init(struct dynamic_states *states);

/* The number of a VkDynamicState; 0: this build knows no command that sets it alone. */
unsigned dynamic_states_of(const struct dynamic_states *states, VkDynamicState value);

/* The elements that a command sets, for a state with elements: [*out_first, *out_end). Those of stencil are faces: the
 * front one is 0, the back one is 1. [0, 1) for a state without elements. */
void dynamic_states_range(const struct dynamic_states *states, uint32_t command, const void *args, uint64_t *out_first,
                          uint64_t *out_end);

static inline void dynamic_mask_add(struct dynamic_mask *mask, unsigned number)
{
    if (number)
        mask->words[(number - 1) / 32] |= 1u << (number - 1) % 32;
}

static inline bool dynamic_mask_has(const struct dynamic_mask *mask, unsigned number)
{
    return number && mask->words[(number - 1) / 32] >> (number - 1) % 32 & 1;
}

#endif
