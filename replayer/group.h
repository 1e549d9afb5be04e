/* SPDX-License-Identifier: MIT */
/*
 * group: places the objects of an alias group (alias.h) in one allocation of this host. When the first of them is
 * bound, objects like the others are made, asked what they need and destroyed again, so that the allocation suits all
 * of them. Who can't lie with the others gets memory of its own, and a sentence in the log says what that means. One
 * thread.
 */
#ifndef LAP_REPLAYER_GROUP_H
#define LAP_REPLAYER_GROUP_H

#include "replayer/memory.h"

/* Gives *out_place what belongs to a member of a group; LAP_END: the object shares nothing here, and *out_place is
 * zeroed.
 */
enum lap_status replay_group_place(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                   uint64_t index, const struct replay_needs *needs,
                                   struct replay_place *out_place) LAP_MUST_CHECK;
/* The allocation ends with the last member that is in it. */
void replay_group_leave(struct replay_device *dev, struct replay_shared *shared);

#endif
