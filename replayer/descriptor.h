/* SPDX-License-Identifier: MIT */
/*
 * descriptor: descriptor pools, and the sets that end with them or with their reset. A reset frees sets, which work
 * that is under way may still use (pending.h). The driver's pool is then *retired*: it is put aside, and the trace's
 * goes on with another one of the driver's, which is made as it was made, or is a spare: a retired one that the driver
 * has reset when the work was over. So a program that resets a pool with each frame has two or three of the driver's
 * and waits for nothing; a pool that has many retired ones waits for the oldest work. One thread.
 */
#ifndef LAP_REPLAYER_DESCRIPTOR_H
#define LAP_REPLAYER_DESCRIPTOR_H

#include "replayer/context.h"

/* Of one pool of the trace's; it lives as long as that, and as long as one of its retired ones is put aside. */
struct replay_descriptor_pool;

/* All work that may use the sets of a retired pool is over. */
void replay_descriptor_pool_over(struct replay_device *dev, struct replay_descriptor_pool *pool, VkDescriptorPool live);

#endif
