/* SPDX-License-Identifier: MIT */
/*
 * push_descriptors: emulates pushed descriptors (VK_KHR_push_descriptor) on a device without them. Set layouts for
 * pushing become normal ones. Each push binds a set of the replay's own. The set includes earlier pushed descriptors
 * that this push does not replace, since pushed descriptors stay until then (specification, "Push Descriptor Updates").
 *
 * Each pool of sets belongs to one command buffer and one layout, so sets last as long as the recorded commands may
 * run: the pool is reset when the command buffer is begun again, and ends with it. Command buffers of such a device are
 * not played in parallel. One thread.
 */
#ifndef LAP_REPLAYER_RESOURCE_PUSH_DESCRIPTORS_H
#define LAP_REPLAYER_RESOURCE_PUSH_DESCRIPTORS_H

#include "replayer/core/device.h"

/* Whether the program enabled pushed descriptors, by the extension or by Vulkan 1.4's feature. Ask before what the GPU
 * lacks is switched off in `recorded`. */
bool replay_push_descriptors_are_enabled(const VkDeviceCreateInfo *recorded);
/* Call it with the device, after its functions are loaded. Sets dev->descriptors.push where the program had pushed
 * descriptors
 * (`enabled`) and the device lacks them. */
enum lap_status replay_push_descriptors_create(struct replay *r, struct replay_device *dev,
                                               bool enabled) LAP_MUST_CHECK;
/* Call it when the device is idle, after the end of the trace's objects. */
void replay_push_descriptors_destroy(struct replay_device *dev);

/* Begins a command buffer (its live handle): forgets pushed descriptors, and frees the sets of its last recording,
 * which no unfinished work uses. */
enum lap_status replay_push_descriptors_begin(struct replay *r, struct replay_device *dev,
                                              VkCommandBuffer commands) LAP_MUST_CHECK;
/* Makes pushed descriptors undefined, after vkCmdExecuteCommands. */
void replay_push_descriptors_clear(struct replay_device *dev);
/* The command buffer ends. */
void replay_push_descriptors_forget(struct replay_device *dev, VkCommandBuffer commands);

#endif
