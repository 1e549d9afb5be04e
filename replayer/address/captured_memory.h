/* SPDX-License-Identifier: MIT */
/*
 * captured_memory: allocates memory at its recorded address, so that the buffers in it have their recorded addresses
 * (docs/memory.md, "Device addresses"). This needs the recorded driver, and the opaque addresses that the layer
 * recorded. An allocation has the recorded size, and lasts as long as it holds a buffer. Where the driver refuses it,
 * the buffer gets memory of its own, and the replay translates its address. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_CAPTURED_MEMORY_H
#define LAP_REPLAYER_ADDRESS_CAPTURED_MEMORY_H

#include "replayer/memory/memory.h"

struct gen_args_lapilliCaptureDevice;

/* Whether the device's driver is the recorded one. */
bool replay_address_is_recorded_driver(const struct replay_device *dev,
                                       const struct gen_args_lapilliCaptureDevice *args);

/* A place for a buffer that was created with its recorded address: in the memory `index` of the trace, which a
 * lapilliCaptureMemory packet describes, or else in memory of its own. On failure *out_place is zeroed. */
enum lap_status replay_address_place(struct replay *r, struct replay_device *dev, uint64_t index, VkDeviceSize offset,
                                     const struct replay_memory_needs *needs,
                                     struct replay_memory_place *out_place) LAP_MUST_CHECK;
/* Call it after the device's last object. */
void replay_address_memory_finish(struct replay_device *dev);

#endif
