/* SPDX-License-Identifier: MIT */
/*
 * descriptor_buffers: descriptors that a program keeps in buffers (VK_EXT_descriptor_buffer), in a replay whose driver
 * has other bytes for them, elsewhere in a set (docs/memory.md, "Descriptor buffers"). Descriptor heaps have modules of
 * their own (heaps.h), which these functions call.
 *
 * The trace's buffers keep the recorded bytes. Each command buffer has buffers of its own for the sets that it binds,
 * laid out as this driver wants. Right before it, a command buffer of the replay's own reads the recorded bytes and
 * writes this driver's (translate.h). Command buffers of such a device are not played in parallel. One thread.
 */
#ifndef LAP_REPLAYER_DESCRIPTOR_DESCRIPTOR_BUFFERS_H
#define LAP_REPLAYER_DESCRIPTOR_DESCRIPTOR_BUFFERS_H

#include "replayer/core/device.h"

/* Call it with the device, after its functions are loaded and its memory planner is made; `info` created the device.
 * Sets dev->descriptors.buffers where descriptor buffers are enabled. */
enum lap_status replay_descriptor_buffers_create(struct replay *r, struct replay_device *dev,
                                                 const VkDeviceCreateInfo *info) LAP_MUST_CHECK;
/* Call it when the device is idle, after the end of the trace's objects. */
void replay_descriptor_buffers_destroy(struct replay *r, struct replay_device *dev);

/* A buffer was created: whether its usage is for descriptors. Nothing without dev->descriptors.buffers. */
bool replay_descriptor_buffers_note_buffer(struct replay_device *dev, uint64_t usage);

/* Layouts of sets and pipelines begin and end, by their index in the trace. Nothing without dev->descriptors.buffers.
 */
enum lap_status replay_descriptor_buffers_layout(struct replay *r, struct replay_device *dev, uint64_t index,
                                                 VkDescriptorSetLayout live,
                                                 const VkDescriptorSetLayoutCreateInfo *info) LAP_MUST_CHECK;
enum lap_status replay_descriptor_buffers_pipeline_layout(struct replay *r, struct replay_device *dev, uint64_t index,
                                                          const VkPipelineLayoutCreateInfo *info) LAP_MUST_CHECK;
void replay_descriptor_buffers_end_layout(struct replay_device *dev, uint64_t index);
void replay_descriptor_buffers_end_pipeline_layout(struct replay_device *dev, uint64_t index);

/* A command buffer (its live handle) is about to be played: frees the memory of its last recording. */
enum lap_status replay_descriptor_buffers_begin(struct replay *r, struct replay_device *dev,
                                                VkCommandBuffer commands) LAP_MUST_CHECK;
/* For a secondary one that inherits heaps: replaces them by the replay's own in `info`, which is in the decoder's
 * memory. */
enum lap_status replay_descriptor_buffers_inherit(struct replay *r, struct replay_device *dev,
                                                  const VkCommandBufferInheritanceInfo *info) LAP_MUST_CHECK;
/* Its current command was played. Notes copies into buffers, work, and executed command buffers. */
enum lap_status replay_descriptor_buffers_note(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                               uint32_t command, const void *args) LAP_MUST_CHECK;
/* All of it was played. family: the recorded one. */
enum lap_status replay_descriptor_buffers_end(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                              bool secondary, uint32_t family) LAP_MUST_CHECK;
/* The command buffer ends. */
void replay_descriptor_buffers_forget(struct replay *r, struct replay_device *dev, VkCommandBuffer commands);

/* Before command buffers are submitted: replaces *list, of *count, by one with the replay's own in front of each that
 * needs it. The new list is the replay's scratch memory. */
enum lap_status replay_descriptor_buffers_submit(struct replay *r, struct replay_device *dev, uint32_t *count,
                                                 const VkCommandBuffer **list) LAP_MUST_CHECK;

#endif
