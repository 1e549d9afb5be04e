/* SPDX-License-Identifier: MIT */
/*
 * queues: the queues of a replay's device, and what decoded arguments say about queue families. What is planned stands
 * in families.h; what is submitted goes through submit.h.
 */
#ifndef LAP_REPLAYER_QUEUES_H
#define LAP_REPLAYER_QUEUES_H

#include <stdbool.h>

#include "replayer/context.h"

struct replay_recorded_gpu; /* match.h */

/* Finds families and queues for those of the recorded device: dev->queue_plan. Where they can't be as they were, the
 * trace is read once for what it does with them. recorded_gpu may be NULL. */
enum lap_status replay_queues_plan(struct replay *r, struct replay_device *dev,
                                   const struct replay_recorded_gpu *recorded_gpu,
                                   const VkDeviceCreateInfo *recorded) LAP_MUST_CHECK;
/* Puts what was planned into the create info for this device; it lies in the arena. */
enum lap_status replay_queues_ask(struct replay *r, struct replay_device *dev, const VkDeviceCreateInfo *recorded,
                                  VkDeviceCreateInfo *out) LAP_MUST_CHECK;
/* Gets the queues of the device that was made with it, and a pool for the replay's own copies. */
enum lap_status replay_queues_take(struct replay *r, struct replay_device *dev,
                                   const VkDeviceCreateInfo *info) LAP_MUST_CHECK;

/* NULL: the device has no such queue. */
struct replay_queue *replay_queue_find(const struct replay_device *dev, VkQueue live);

/* For generated code, where families have other numbers here, or there are several. The family here for a recorded one;
 * values that name no family (IGNORED, EXTERNAL, FOREIGN) stay. */
uint32_t replay_map_family(struct replay *r, const struct replay_device *dev, uint32_t family);
/* Maps a list of families in place and leaves out what is double; the new count. */
uint32_t replay_map_families(struct replay *r, const struct replay_device *dev, uint32_t *families, uint32_t count);

/* Maps the families of a barrier. It stays a transfer of ownership, or is none (NONE); or, where both families are one
 * here or all families share what it is about, it was half of a transfer of which a plain barrier is left. The
 * releasing half makes available and does what there is to be done to the layout; the acquiring one makes visible. */
enum replay_half { REPLAY_HALF_NONE, REPLAY_HALF_RELEASE, REPLAY_HALF_ACQUIRE };
enum replay_half replay_map_transfer(struct replay *r, const struct replay_device *dev, uint32_t *source,
                                     uint32_t *destination, bool shared);
/* Whether all families share such a buffer or image here (replay_share_buffer, replay_share_image). */
bool replay_shares_buffers(const struct replay_device *dev);
bool replay_shares_image(struct replay *r, const struct replay_device *dev, VkImage image);

/* The replay's own copies read and write on queues of any family, whoever owns what the host reads and writes: where
 * there are several families they share all buffers, and all images of linear tiling. */
void replay_share_buffer(const struct replay_device *dev, VkBufferCreateInfo *info);
void replay_share_image(const struct replay_device *dev, VkImageCreateInfo *info);

#endif
