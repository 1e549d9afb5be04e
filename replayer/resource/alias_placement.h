/* SPDX-License-Identifier: MIT */
/*
 * alias_placement: places the objects of an alias group (alias_groups.h) in one allocation of the replay device. The
 * bind of the first object creates objects like the others, gets their requirements and destroys them, so that the
 * allocation suits all. An object that can't share the allocation gets memory of its own, with a warning about the
 * effect. One thread.
 */
#ifndef LAP_REPLAYER_RESOURCE_ALIAS_PLACEMENT_H
#define LAP_REPLAYER_RESOURCE_ALIAS_PLACEMENT_H

#include "replayer/memory/memory.h"

/* A place for an object of the trace: in the group's allocation, which ends with the last member in it, or else one
 * that the planner chooses (replay_memory_place_alloc). On failure *out_place is zeroed. */
enum lap_status replay_alias_place(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                   uint64_t index, const struct replay_memory_needs *needs,
                                   struct replay_memory_place *out_place) LAP_MUST_CHECK;

#endif
