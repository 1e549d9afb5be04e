/* SPDX-License-Identifier: MIT */
/*
 * block: a recorded command buffer, from vkBeginCommandBuffer to vkEndCommandBuffer.
 */
#ifndef LAP_REPLAYER_BLOCK_H
#define LAP_REPLAYER_BLOCK_H

#include "replayer/context.h"

struct replay_block {
    struct replay_device *dev;
    VkCommandBuffer commands;
    uint64_t number; /* of its blob */
    uint32_t command_count;
    const uint8_t *data;
    size_t bytes;
};

/* Plays it with r's arena, source and place. Several threads may do so at once, for command buffers of different pools
 * and each with a copy of the context of its own, while nobody else plays anything: see parallel.h. */
enum lap_status replay_block_play(struct replay *r, const struct replay_block *block) LAP_MUST_CHECK;

#endif
