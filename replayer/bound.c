/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/follow.h"
#include "replayer/format.h"
#include "replayer/player.h"
#include "replayer/renamed.h"

void replay_bound_clear(struct replay_bound *bound)
{
    bound->pipeline.dec.source = bound->condition.dec.source = NULL;
    bound->count = 0;
}

void replay_bound_finish(struct replay_bound *bound)
{
    free(bound->sets);
    *bound = (struct replay_bound){0};
}

/* Which sets a command binds at the compute bind point. */
struct sets {
    uint32_t first, count;
    bool pushes;
};

static bool pushes_to_compute(struct replay *r, VkDescriptorUpdateTemplate handle)
{
    const struct replay_image_uses *uses = &r->formats->uses;
    uint64_t index =
        replay_object_index(r, GEN_HANDLE_VkDescriptorUpdateTemplate, gen_u64_VkDescriptorUpdateTemplate(handle));
    size_t low = 0, high = uses->template_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (uses->push_templates[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < uses->template_count && uses->push_templates[low] == index;
}

static struct sets bound_sets(struct replay *r, uint32_t command, const void *args)
{
    if (command == GEN_vkCmdBindDescriptorSets) {
        const struct gen_args_vkCmdBindDescriptorSets *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            return (struct sets){a->firstSet, a->descriptorSetCount, false};
    } else if (command == GEN_vkCmdPushDescriptorSetKHR) {
        const struct gen_args_vkCmdPushDescriptorSetKHR *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            return (struct sets){a->set, 1, true};
    } else if (command == GEN_vkCmdPushDescriptorSetWithTemplateKHR) {
        const struct gen_args_vkCmdPushDescriptorSetWithTemplateKHR *a = args;
        if (pushes_to_compute(r, a->descriptorUpdateTemplate))
            return (struct sets){a->set, 1, true};
    }
#ifdef VK_KHR_maintenance6
    if (command == GEN_vkCmdBindDescriptorSets2KHR) {
        const VkBindDescriptorSetsInfoKHR *info =
            ((const struct gen_args_vkCmdBindDescriptorSets2KHR *)args)->pBindDescriptorSetsInfo;
        if (info->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT)
            return (struct sets){info->firstSet, info->descriptorSetCount, false};
    } else if (command == GEN_vkCmdPushDescriptorSet2KHR) {
        const VkPushDescriptorSetInfoKHR *info =
            ((const struct gen_args_vkCmdPushDescriptorSet2KHR *)args)->pPushDescriptorSetInfo;
        if (info->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT)
            return (struct sets){info->set, 1, true};
    } else if (command == GEN_vkCmdPushDescriptorSetWithTemplate2KHR) {
        const VkPushDescriptorSetWithTemplateInfoKHR *info =
            ((const struct gen_args_vkCmdPushDescriptorSetWithTemplate2KHR *)args)->pPushDescriptorSetWithTemplateInfo;
        if (pushes_to_compute(r, info->descriptorUpdateTemplate))
            return (struct sets){info->set, 1, true};
    }
#endif
    return (struct sets){0, 0, false};
}

/* Commands of which nothing is left are forgotten. */
static void drop_covered(struct replay_bound *bound, const struct sets *sets)
{
    size_t left = 0;

    for (size_t i = 0; i < bound->count; i++) {
        const struct replay_bound_command *old = &bound->sets[i];
        bool covered = !sets->pushes && old->first >= sets->first &&
                       (uint64_t)old->first + old->count <= (uint64_t)sets->first + sets->count;
        if (!covered)
            bound->sets[left++] = *old;
    }
    bound->count = left;
}

enum lap_status replay_bound_note(struct replay *r, struct replay_bound *bound, const struct lap_block *before,
                                  uint32_t command, const void *args)
{
    struct sets sets;

    if (command == GEN_vkCmdBindPipeline) {
        const struct gen_args_vkCmdBindPipeline *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            bound->pipeline = *before;
        return LAP_OK;
    }
    if (command == GEN_vkCmdBeginConditionalRenderingEXT)
        bound->condition = *before;
    if (command == GEN_vkCmdEndConditionalRenderingEXT)
        bound->condition.dec.source = NULL;
    if (command == GEN_vkCmdExecuteCommands)
        replay_bound_clear(bound); /* what is bound is undefined from now on */
    sets = bound_sets(r, command, args);
    if (!sets.count)
        return LAP_OK;
    drop_covered(bound, &sets);
    if (bound->count == bound->capacity) {
        size_t capacity = bound->capacity ? 2 * bound->capacity : 8;
        struct replay_bound_command *more = realloc(bound->sets, capacity * sizeof *more);
        if (!more)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for what is bound");
        bound->sets = more;
        bound->capacity = capacity;
    }
    bound->sets[bound->count++] = (struct replay_bound_command){*before, sets.first, sets.count, sets.pushes};
    return LAP_OK;
}

void replay_bound_suspend(struct replay_device *dev, VkCommandBuffer commands, const struct replay_bound *bound)
{
    if (bound->condition.dec.source && dev->vk.CmdEndConditionalRenderingEXT)
        dev->vk.CmdEndConditionalRenderingEXT(commands);
}

/* Of a command for several bind points only what is for this one: it may be old for others. */
static void narrow(uint32_t command, void *args)
{
#ifdef VK_KHR_maintenance6
    if (command == GEN_vkCmdBindDescriptorSets2KHR)
        ((VkBindDescriptorSetsInfoKHR *)(uintptr_t)((struct gen_args_vkCmdBindDescriptorSets2KHR *)args)
             ->pBindDescriptorSetsInfo)
            ->stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    else if (command == GEN_vkCmdPushDescriptorSet2KHR)
        ((VkPushDescriptorSetInfoKHR *)(uintptr_t)((struct gen_args_vkCmdPushDescriptorSet2KHR *)args)
             ->pPushDescriptorSetInfo)
            ->stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
#endif
}

static enum lap_status again(struct replay *r, struct replay_device *dev, const struct lap_block *at)
{
    uint32_t current = r->command;
    struct lap_block block = *at;
    struct lap_args args;
    enum lap_status status;

    if (!at->dec.source)
        return LAP_OK;
    status = lap_block_next(&block, &r->command, &args);
    if (status == LAP_OK) {
        narrow(r->command, args.bytes);
        status = gen_replay_table[r->command].call(r, dev, args.bytes);
    }
    r->command = current;
    return status;
}

enum lap_status replay_bound_restore(struct replay *r, struct replay_device *dev, const struct replay_bound *bound)
{
    enum lap_status status = again(r, dev, &bound->pipeline);

    for (size_t i = 0; i < bound->count && status == LAP_OK; i++)
        status = again(r, dev, &bound->sets[i].at);
    return status == LAP_OK ? again(r, dev, &bound->condition) : status;
}
