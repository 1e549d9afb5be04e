/* SPDX-License-Identifier: MIT */
/*
 * command_playback: plays the block of a recorded command buffer, from vkBeginCommandBuffer to vkEndCommandBuffer.
 */
#ifndef LAP_REPLAYER_COMMAND_COMMAND_PLAYBACK_H
#define LAP_REPLAYER_COMMAND_COMMAND_PLAYBACK_H

#include "replayer/core/replay.h"

struct replay_command_playback {
    struct replay_device *dev;
    VkCommandBuffer commands;
    uint64_t number; /* of its blob */
    uint32_t command_count;
    const uint8_t *data;
    size_t bytes;
};

/* Plays the block with r's arena, source and position. Several threads may call it at once, each with a copy of the
 * context, for command buffers of different pools, while no other packet is played: see parallel.h. */
enum lap_status replay_command_playback_run(struct replay *r,
                                            const struct replay_command_playback *block) LAP_MUST_CHECK;

#endif
