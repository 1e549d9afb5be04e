/* SPDX-License-Identifier: MIT */
/*
 * command_pool: command pools and the command buffers that end with them.
 */
#ifndef LAP_REPLAYER_COMMAND_POOL_H
#define LAP_REPLAYER_COMMAND_POOL_H

#include "replayer/context.h"

/* The index of the command buffer's pool; 0 when it is not there. *out_secondary: its level. */
uint64_t replay_command_buffer_pool(struct replay *r, VkCommandBuffer command_buffer, bool *out_secondary);
/* Whether secondary command buffers were ever allocated from a pool, by its index. */
bool replay_command_pool_has_secondary(struct replay *r, uint64_t index);

/* The queue family that the trace gives the command buffer's pool; UINT32_MAX when it is not known. */
uint32_t replay_command_buffer_family(struct replay *r, VkCommandBuffer command_buffer);

#endif
