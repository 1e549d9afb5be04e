/* SPDX-License-Identifier: MIT */
/*
 * address_memory: memory that is allocated where it lay when the trace was recorded, so that the buffers in it have the
 * addresses that they had (docs/memory.md, "Device addresses"). The driver must be the recorded one; it is told by what
 * the layer wrote down. An allocation is as large as the recorded one was, and lasts as long as a buffer lies in it.
 * Where the driver refuses it the buffer gets memory of its own, and an address that is translated. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_MEMORY_H
#define LAP_REPLAYER_ADDRESS_MEMORY_H

#include "replayer/memory.h"

struct gen_args_lapilliCaptureDevice;

/* Whether the device is driven by what the trace was recorded on. */
bool replay_is_recorded_driver(const struct replay_device *dev, const struct gen_args_lapilliCaptureDevice *args);

/* A place for a buffer that was created for its address: in the memory `index` of the trace, of which
 * lapilliCaptureMemory told, or else in memory of its own. On failure *out_place is zeroed. */
enum lap_status replay_address_place(struct replay *r, struct replay_device *dev, uint64_t index, VkDeviceSize offset,
                                     const struct replay_needs *needs, struct replay_place *out_place) LAP_MUST_CHECK;
/* For replay_place_free. */
void replay_address_leave(struct replay_device *dev, struct replay_address_memory *memory);
/* When the device has no objects any more. */
void replay_kept_finish(struct replay_device *dev);

#endif
