/* SPDX-License-Identifier: MIT */
/*
 * named: what recorded command buffers, framebuffers and views name has to be there still when a driver comes to follow
 * it. Parameters of calls are looked at when they are decoded; a command buffer is submitted later.
 *
 * A command buffer that names an object which was destroyed since is invalid (Vulkan, "Command Buffer Lifecycle"), so a
 * submit of one is refused, and so is one whose secondary command buffers were recorded anew or reset, or that was
 * never recorded. Layouts and templates may go, they are copied. What descriptors name is another question: programs
 * may leave in sets what is gone, as long as no shader uses it (reach.h).
 *
 * Nothing is written down while commands are played. What a block names is found by decoding it once more, and only
 * when something has ended between its recording and its submit. All command buffers that were recorded from a block
 * have that in common, and it is kept as long as there is one of them. What is kept of all blocks is limited; of what
 * has no room the block is decoded again for each such submit.
 *
 * Which work has a command buffer, with its secondary ones, is noted here as well, since it is found in the same way.
 * With --validate-descriptors, which has every block decoded for each submit in any case, also which work has a set.
 *
 * One thread, but for replay_named_look and replay_named_executes, which threads call while nobody else writes
 * (parallel.h).
 */
#ifndef LAP_REPLAYER_NAMED_H
#define LAP_REPLAYER_NAMED_H

#include "gen_ids.h"
#include "replayer/context.h"

/* What an object names (struct replay_object.named). */
struct replay_named;
/* When the object ends. */
void replay_named_free(struct replay *r, enum gen_handle_type type, struct replay_object *object);
/* When all objects have ended. */
void replay_named_finish(struct replay *r);

/* Whether the end of an object can make a command buffer invalid: then r->ends counts it. */
static inline bool replay_named_counts(enum gen_handle_type type, const struct replay_object *object)
{
    switch (type) {
    case GEN_HANDLE_VkCommandBuffer:
        return object->secondary;
    case GEN_HANDLE_VkCommandPool: /* these are copied, or no command buffer names them */
    case GEN_HANDLE_VkDescriptorPool:
    case GEN_HANDLE_VkDescriptorSetLayout:
    case GEN_HANDLE_VkDescriptorUpdateTemplate:
    case GEN_HANDLE_VkFence:
    case GEN_HANDLE_VkPipelineCache:
    case GEN_HANDLE_VkPipelineLayout:
    case GEN_HANDLE_VkSemaphore:
    case GEN_HANDLE_VkShaderModule:
        return false;
    default:
        return true;
    }
}

/* After the call r->command, if that is one of these: what was created names others, what was reset is not recorded any
 * more. */
enum lap_status replay_named_note(struct replay *r, const void *args) LAP_MUST_CHECK;
static inline bool replay_named_is_noted(uint32_t command)
{
    return command == GEN_vkCreateImageView || command == GEN_vkCreateFramebuffer ||
           command == GEN_vkResetCommandBuffer || command == GEN_vkResetCommandPool;
}

/* Before a command buffer is recorded anew or reset: waits for the work that has it, as far as that is not known to be
 * over (pending.h). */
enum lap_status replay_named_begin(struct replay *r, struct replay_device *dev,
                                   VkCommandBuffer commands) LAP_MUST_CHECK;
/* While it is recorded: it executes others. Any thread. */
void replay_named_executes(struct replay *r, VkCommandBuffer commands);
/* A command buffer was recorded, from this block. */
enum lap_status replay_named_record(struct replay *r, VkCommandBuffer commands, uint64_t block) LAP_MUST_CHECK;

/* Before a command of a block is played: what it names without saying so. For those commands that do. */
enum lap_status replay_named_look(struct replay *r, uint32_t command, const void *args) LAP_MUST_CHECK;
static inline bool replay_named_matters(uint32_t command)
{
    return command == GEN_vkCmdBeginRenderPass || command == GEN_vkCmdBeginRenderPass2 ||
           command == GEN_vkCmdBeginRendering || command == GEN_vkCmdExecuteCommands;
}

/* Whether an object is alive, with what it names itself; not one that came when the context's next_order was more than
 * `before`. */
enum lap_status replay_named_check(struct replay *r, enum gen_handle_type type, uint64_t index,
                                   uint64_t before) LAP_MUST_CHECK;

/* Before a driver gets a command buffer that was submitted when the context's next_order was `since` (UINT64_MAX: now):
 * it may not have been freed or recorded anew in the meantime. */
enum lap_status replay_named_submit(struct replay *r, VkCommandBuffer commands, uint64_t since) LAP_MUST_CHECK;
/* The work that is given to a queue next has it, those that it executes, and with --validate-descriptors their sets. */
enum lap_status replay_named_use(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 VkQueue queue) LAP_MUST_CHECK;

/* Before the host resets queries: waits for the work that has command buffers that name the pool. They are looked
 * through, which programs pay that do this while the device is at work. */
enum lap_status replay_named_reset_queries(struct replay *r, struct replay_device *dev,
                                           VkQueryPool pool) LAP_MUST_CHECK;

/* Before a vkUpdateDescriptorSets (its arguments), with --validate-descriptors: waits for the work that has the sets,
 * but where bindings may be written meanwhile. */
enum lap_status replay_named_write(struct replay *r, struct replay_device *dev, const void *args) LAP_MUST_CHECK;

#endif
