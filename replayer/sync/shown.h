/* SPDX-License-Identifier: MIT */
/*
 * shown: which buffers, views and samplers the living descriptor sets show. A valid program may destroy such an object,
 * and still use the set, if no shader uses that binding. A driver that computes on the CPU may look at it all the same,
 * into freed memory. So on such a device the driver's object stays until no set shows it any more: its descriptors are
 * written again, or the sets end. Its memory is given back at once. One thread.
 */
#ifndef LAP_REPLAYER_SYNC_SHOWN_H
#define LAP_REPLAYER_SYNC_SHOWN_H

#include "gen_replay.h"
#include "replayer/core/device.h"

/* After the device was created: dev->shown stays NULL where it is no CPU, and without memory. */
void replay_shown_create(struct replay_device *dev);
/* When all else is destroyed, and no work is under way: destroys what was kept. */
void replay_shown_destroy(struct replay_device *dev);

/* With dev->shown. The set is a live handle. */
void replay_shown_set_end(struct replay_device *dev, VkDescriptorSet set);

/* With dev->shown, before an object of the trace is destroyed. True: it is destroyed later. */
bool replay_shown_keep(struct replay_device *dev, enum gen_handle_type type, uint64_t live);

#endif
