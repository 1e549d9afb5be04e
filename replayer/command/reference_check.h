/* SPDX-License-Identifier: MIT */
/*
 * reference_check: checks that the objects to which recorded command buffers, framebuffers and views refer still exist
 * when the driver uses them. Decoders check the parameters of calls; but a command buffer is submitted later.
 *
 * A command buffer that refers to a destroyed object is invalid (Vulkan, "Command Buffer Lifecycle"), so the replay
 * refuses its submit. It also refuses a command buffer whose secondary ones were recorded again or reset, or that was
 * never recorded. Layouts and templates may be destroyed, since drivers copy them. Descriptors are not checked: a set
 * may refer to destroyed objects, as long as no shader uses these descriptors.
 *
 * The playback of commands stores no references. The check decodes a block once more to find them, and only when an
 * object has ended between its recording and its submit. All command buffers from one block share its references, which
 * stay as long as one of them does. Their total number is limited; a block beyond the limit is decoded again for each
 * such submit.
 *
 * The check also notes which submissions have a command buffer, with its secondary ones, since it finds them in the
 * same way.
 *
 * One thread, except replay_reference_check_look and replay_reference_check_executes, which several threads call while
 * no thread writes (parallel.h).
 */
#ifndef LAP_REPLAYER_COMMAND_REFERENCE_CHECK_H
#define LAP_REPLAYER_COMMAND_REFERENCE_CHECK_H

#include "gen_ids.h"
#include "replayer/core/replay.h"

/* Call it after the end of all objects. */
void replay_reference_check_finish(struct replay *r);

/* Call it after a call r->at.command of those below: notes the references of a new object, or that a reset command
 * buffer is not recorded any more. */
enum lap_status replay_reference_check_note(struct replay *r, const void *args) LAP_MUST_CHECK;
static inline bool replay_reference_check_is_noted(uint32_t command)
{
    return command == GEN_vkCreateImageView || command == GEN_vkCreateFramebuffer ||
           command == GEN_vkResetCommandBuffer || command == GEN_vkResetCommandPool;
}

/* Call it before a command buffer is begun again or reset: waits for the work that has it and is not known to be
 * over (submission.h). */
enum lap_status replay_reference_check_begin(struct replay *r, struct replay_device *dev,
                                             VkCommandBuffer commands) LAP_MUST_CHECK;
/* Notes, while a command buffer is recorded, that it executes others. Any thread. */
void replay_reference_check_executes(struct replay *r, VkCommandBuffer commands);
/* Notes that a command buffer was recorded from this block. */
enum lap_status replay_reference_check_record(struct replay *r, VkCommandBuffer commands,
                                              uint64_t block) LAP_MUST_CHECK;

/* Call it before a command of a block is played: checks its implicit references. For the commands below. */
enum lap_status replay_reference_check_look(struct replay *r, uint32_t command, const void *args) LAP_MUST_CHECK;
static inline bool replay_reference_check_matters(uint32_t command)
{
    return command == GEN_vkCmdBeginRenderPass || command == GEN_vkCmdBeginRenderPass2 ||
           command == GEN_vkCmdBeginRendering || command == GEN_vkCmdExecuteCommands;
}

/* Checks a command buffer before the driver gets it. since: the context's next_order when the trace submitted it
 * (UINT64_MAX: now). It may not have been freed or recorded again after that. */
enum lap_status replay_reference_check_submit(struct replay *r, VkCommandBuffer commands,
                                              uint64_t since) LAP_MUST_CHECK;
/* Notes that the next work on a queue has the command buffer, and those that it executes. */
enum lap_status replay_reference_check_use(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                           VkQueue queue) LAP_MUST_CHECK;

/* Call it before the host resets queries: waits for the work that has command buffers with this pool. It searches
 * all command buffers of unfinished work, which costs time only while the device is busy. */
enum lap_status replay_reference_check_reset_queries(struct replay *r, struct replay_device *dev,
                                                     VkQueryPool pool) LAP_MUST_CHECK;

#endif
