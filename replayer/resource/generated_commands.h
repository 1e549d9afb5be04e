/* SPDX-License-Identifier: MIT */
/*
 * generated_commands: VK_EXT_ and VK_NV_device_generated_commands in a replay.
 *
 * Nothing is preprocessed by a command of its own: vkCmdPreprocessGeneratedCommandsEXT takes the state of a second
 * command buffer in the middle of its recording, and a replay records command buffers one by one. So layouts are made
 * without EXPLICIT_PREPROCESS, and each execution preprocesses. It reads the same data as a separate preprocess: the
 * program may not change these in between.
 *
 * This driver sets the size of the memory that an execution needs. Where the program's is too small, or not aligned, a
 * buffer of the replay's own replaces it: one for each place of the program's, since the program orders executions that
 * share a place. They last as long as the device. Command buffers of such a device are not played in parallel. One
 * thread.
 */
#ifndef LAP_REPLAYER_RESOURCE_GENERATED_COMMANDS_H
#define LAP_REPLAYER_RESOURCE_GENERATED_COMMANDS_H

#include "replayer/core/device.h"

/* Call it when the device is idle. */
void replay_generated_commands_destroy(struct replay_device *dev);

#endif
