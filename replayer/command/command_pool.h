/* SPDX-License-Identifier: MIT */
/*
 * command_pool: command pools and the command buffers that end with them.
 */
#ifndef LAP_REPLAYER_COMMAND_COMMAND_POOL_H
#define LAP_REPLAYER_COMMAND_COMMAND_POOL_H

#include "replayer/core/device.h"

/* The index of the command buffer's pool; 0: unknown. *out_secondary: its level. */
uint64_t replay_command_buffer_pool(struct replay *r, VkCommandBuffer command_buffer, bool *out_secondary);
/* Whether secondary command buffers were ever allocated from a pool, by its index. */
bool replay_command_pool_has_secondary(struct replay *r, uint64_t index);

/* Notes that the submission of this number to a queue (an index into dev->queues.all) has command buffers of the pool.
 * And waits for all such work that is not known to be over (submission.h). index: of the pool. */
void replay_command_pool_use(struct replay *r, uint64_t index, uint32_t queue, uint64_t number);
enum lap_status replay_command_pool_await(struct replay *r, struct replay_device *dev, uint64_t index) LAP_MUST_CHECK;

/* The recorded queue family of the command buffer's pool; UINT32_MAX: unknown. */
uint32_t replay_command_buffer_family(struct replay *r, VkCommandBuffer command_buffer);

#endif
