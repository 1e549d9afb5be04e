/* SPDX-License-Identifier: MIT */
/*
 * command_pool: command pools and the command buffers that end with them.
 */
#ifndef LAP_REPLAYER_COMMAND_POOL_H
#define LAP_REPLAYER_COMMAND_POOL_H

#include "replayer/context.h"

/* The queue family that the trace gives the command buffer's pool; UINT32_MAX when it is not known. */
uint32_t replay_command_buffer_family(struct replay *r, VkCommandBuffer command_buffer);

#endif
