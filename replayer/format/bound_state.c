/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/array.h"
#include "gen_renamed.h"
#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"
#include "replayer/format/format_copies.h"

/* Forgets the bound state; the memory is reused. */
static void clear(struct replay_format_bound_state *bound)
{
    bound->pipeline.dec.source = bound->condition.dec.source = NULL;
    bound->count = 0;
}

void replay_format_bound_finish(struct replay_format_bound_state *bound)
{
    free(bound->sets);
    *bound = (struct replay_format_bound_state){0};
}

/* The sets that a command binds at the compute bind point. */
struct sets {
    uint32_t first, count;
    bool pushes;
};

static struct sets bound_sets(uint32_t command, const void *args)
{
    if (command == GEN_vkCmdBindDescriptorSets) {
        const struct gen_args_vkCmdBindDescriptorSets *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            return (struct sets){a->firstSet, a->descriptorSetCount, false};
    } else if (command == GEN_vkCmdPushDescriptorSetKHR) {
        const struct gen_args_vkCmdPushDescriptorSetKHR *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            return (struct sets){a->set, 1, true};
    }
#ifdef VK_EXT_descriptor_buffer
    if (command == GEN_vkCmdSetDescriptorBufferOffsetsEXT) {
        const struct gen_args_vkCmdSetDescriptorBufferOffsetsEXT *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            return (struct sets){a->firstSet, a->setCount, false};
    }
#endif
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
    }
#endif
#if defined(VK_KHR_maintenance6) && defined(VK_EXT_descriptor_buffer)
    if (command == GEN_vkCmdSetDescriptorBufferOffsets2EXT) {
        const VkSetDescriptorBufferOffsetsInfoEXT *info =
            ((const struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *)args)->pSetDescriptorBufferOffsetsInfo;
        if (info->stageFlags & VK_SHADER_STAGE_COMPUTE_BIT)
            return (struct sets){info->firstSet, info->setCount, false};
    }
#endif
    return (struct sets){0, 0, false};
}

/* Drops earlier commands all of whose sets are bound again. */
static void drop_covered(struct replay_format_bound_state *bound, const struct sets *sets)
{
    size_t left = 0;

    for (size_t i = 0; i < bound->count; i++) {
        const struct replay_format_bound_command *old = &bound->sets[i];
        bool covered = !sets->pushes && old->first >= sets->first &&
                       (uint64_t)old->first + old->count <= (uint64_t)sets->first + sets->count;
        if (!covered)
            bound->sets[left++] = *old;
    }
    bound->count = left;
}

#ifdef VK_EXT_shader_object
/* The element of a command that binds the shader of compute; UINT32_MAX: none. */
static uint32_t compute_of(const struct gen_args_vkCmdBindShadersEXT *args)
{
    for (uint32_t i = 0; i < args->stageCount; i++)
        if (args->pStages[i] == VK_SHADER_STAGE_COMPUTE_BIT)
            return i;
    return UINT32_MAX;
}
#endif

enum lap_status replay_format_bound_note(struct replay *r, struct replay_format_bound_state *bound,
                                         const struct lap_block *before, uint32_t command, const void *args)
{
    struct sets sets;

    if (command == GEN_vkCmdBindPipeline) {
        const struct gen_args_vkCmdBindPipeline *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_COMPUTE)
            bound->pipeline = *before;
        return LAP_OK;
    }
#ifdef VK_EXT_shader_object
    if (command == GEN_vkCmdBindShadersEXT && compute_of(args) != UINT32_MAX)
        bound->pipeline = *before; /* a shader object substitutes the pipeline, and the reverse */
#endif
    if (command == GEN_vkCmdBeginConditionalRenderingEXT)
        bound->condition = *before;
#ifdef VK_KHR_device_address_commands
    if (command == GEN_vkCmdBeginConditionalRendering2EXT)
        bound->condition = *before;
#endif
    if (command == GEN_vkCmdEndConditionalRenderingEXT)
        bound->condition.dec.source = NULL;
    if (command == GEN_vkCmdExecuteCommands)
        clear(bound); /* this leaves the bound state undefined */
    sets = bound_sets(command, args);
    if (!sets.count)
        return LAP_OK;
    drop_covered(bound, &sets);
    if (!lap_array_grow(&bound->sets, sizeof *bound->sets, &bound->capacity, bound->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for bound state");
    bound->sets[bound->count++] = (struct replay_format_bound_command){*before, sets.first, sets.count, sets.pushes};
    return LAP_OK;
}

void replay_format_bound_suspend(struct replay_device *dev, VkCommandBuffer commands,
                                 const struct replay_format_bound_state *bound)
{
    if (bound->condition.dec.source && dev->vk.CmdEndConditionalRenderingEXT)
        dev->vk.CmdEndConditionalRenderingEXT(commands);
}

/* Restricts a command for several bind points to compute: for the others it may be out of date. */
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
#if defined(VK_KHR_maintenance6) && defined(VK_EXT_descriptor_buffer)
    if (command == GEN_vkCmdSetDescriptorBufferOffsets2EXT)
        ((VkSetDescriptorBufferOffsetsInfoEXT *)(uintptr_t)((struct gen_args_vkCmdSetDescriptorBufferOffsets2EXT *)args)
             ->pSetDescriptorBufferOffsetsInfo)
            ->stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
#endif
#ifdef VK_EXT_shader_object
    if (command == GEN_vkCmdBindShadersEXT) {
        struct gen_args_vkCmdBindShadersEXT *a = args;
        uint32_t element = compute_of(a);
        a->stageCount = 1;
        a->pStages += element;
        if (a->pShaders)
            a->pShaders += element;
    }
#endif
}

static enum lap_status again(struct replay *r, struct replay_device *dev, const struct lap_block *at)
{
    uint32_t current = r->at.command;
    struct lap_block block = *at;
    struct lap_args args;
    enum lap_status status;

    if (!at->dec.source)
        return LAP_OK;
    status = lap_block_next(&block, &r->at.command, &args);
    if (status == LAP_OK) {
        narrow(r->at.command, args.bytes);
        status = gen_replay_table[r->at.command].call(r, dev, args.bytes);
    }
    r->at.command = current;
    return status;
}

enum lap_status replay_format_bound_restore(struct replay *r, struct replay_device *dev,
                                            const struct replay_format_bound_state *bound)
{
    enum lap_status status = again(r, dev, &bound->pipeline);

    for (size_t i = 0; i < bound->count && status == LAP_OK; i++)
        status = again(r, dev, &bound->sets[i].at);
    return status == LAP_OK ? again(r, dev, &bound->condition) : status;
}
