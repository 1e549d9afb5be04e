/* SPDX-License-Identifier: MIT */
/*
 * queues: creates the queues of a replay's device, and maps queue families in decoded arguments. queue_families.h has
 * the plan; submit.h does submits.
 */
#ifndef LAP_REPLAYER_DEVICE_QUEUES_H
#define LAP_REPLAYER_DEVICE_QUEUES_H

#include <stdbool.h>

#include "replayer/core/device.h"

struct replay_recorded_gpu; /* recorded_machine.h */

/* Finds families and queues for those of the recorded device: dev->queues.plan. Where the same numbers are
 * impossible, it reads the trace once for the use of queues. recorded_gpu may be NULL. */
enum lap_status replay_queues_plan(struct replay *r, struct replay_device *dev,
                                   const struct replay_recorded_gpu *recorded_gpu,
                                   const VkDeviceCreateInfo *recorded) LAP_MUST_CHECK;
/* Puts the planned queues into the create info for this device, in the arena. */
enum lap_status replay_queues_request(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded,
                                      VkDeviceCreateInfo *out) LAP_MUST_CHECK;
/* Gets the queues of the device that was created with info, and creates a pool for the replay's own copies. */
enum lap_status replay_queues_get(struct replay *r, struct replay_device *dev,
                                  const VkDeviceCreateInfo *info) LAP_MUST_CHECK;

/* NULL: the device has no such queue. */
struct replay_queue *replay_queue_find(const struct replay_device *dev, VkQueue live);

/* For generated code, where families have other numbers on the replay device, or there are several. The replay
 * device's family for a recorded one; IGNORED, EXTERNAL and FOREIGN stay. */
uint32_t replay_queue_map_family(struct replay *r, const struct replay_device *dev, uint32_t family);
/* Maps a list of families in place and removes duplicates. Returns the new count. */
uint32_t replay_queue_map_families(struct replay *r, const struct replay_device *dev, uint32_t *families,
                                   uint32_t count);

#endif
