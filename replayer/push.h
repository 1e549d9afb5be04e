/* SPDX-License-Identifier: MIT */
/*
 * push: descriptors that command buffers push (VK_KHR_push_descriptor), on a device that can't. Set layouts that are
 * for pushing are made like any other, and each push becomes a set of the replay's own that is bound: with what was
 * pushed there before and is not pushed over, since descriptors that are pushed stay until others come to their place
 * (specification, "Push Descriptor Updates").
 *
 * Sets are allocated from pools that belong to one command buffer and one layout, so they last as long as what was
 * recorded may run: they are given back when the command buffer is recorded anew, and their pools end with it. Command
 * buffers of such a device are not played in parallel. One thread.
 */
#ifndef LAP_REPLAYER_PUSH_H
#define LAP_REPLAYER_PUSH_H

#include "replayer/context.h"

/* With the device, after its functions are loaded: dev->push, where it has no such function and the program had. */
enum lap_status replay_push_create(struct replay *r, struct replay_device *dev,
                                   const VkDeviceCreateInfo *recorded) LAP_MUST_CHECK;
/* When the device is idle, and the trace's objects are gone. */
void replay_push_destroy(struct replay_device *dev);

/* Whether the extension, or the feature of Vulkan 1.4, is one that this stands for. */
bool replay_push_stands_for(const char *name);

/* A command buffer (its live handle) is begun, or a part of it (events.h): nothing is pushed yet, and the sets of its
 * last recording are free, with which no work is under way. */
enum lap_status replay_push_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands) LAP_MUST_CHECK;
/* What is pushed is undefined from now on: vkCmdExecuteCommands. */
void replay_push_clear(struct replay_device *dev);
/* The command buffer ends. */
void replay_push_forget(struct replay_device *dev, VkCommandBuffer commands);

#endif
