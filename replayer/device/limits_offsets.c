/* SPDX-License-Identifier: MIT */
/* Offsets and ranges of buffers in descriptors. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_renamed.h"
#include "replayer/analysis/analysis.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/core/device.h"
#include "replayer/device/limits_internal.h"
#include "vulkan/set_layout.h"

/* More dynamic descriptors than any device allows in one layout. Larger layouts of a trace are not checked. */
#define MAX_DYNAMIC 256u

/* The dynamic descriptors of a set layout, or those of a pipeline layout's sets in set order. */
struct layout {
    bool known;
    uint32_t set_count; /* of a pipeline layout */
    uint32_t *ends;     /* [set]: the number of dynamic descriptors up to its end */
    uint32_t count;
    bool storage[MAX_DYNAMIC]; /* true: a storage buffer; false: a uniform buffer */
};

static void free_layout(void *raw)
{
    struct layout *layout = raw;

    if (layout)
        free(layout->ends);
    free(layout);
}

static void visit_layout(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    free_layout(value);
}

void limits_offsets_finish(struct replay_limits *limits)
{
    lap_map_each(&limits->sets, visit_layout, NULL);
    lap_map_each(&limits->pipelines, visit_layout, NULL);
    lap_map_finish(&limits->sets);
    lap_map_finish(&limits->pipelines);
}

/* Most drivers accept such offsets. On the others shaders read other bytes. */
static void look_at_offset(const struct limits_look *look, const char *limit, VkDeviceSize alignment, const char *what,
                           VkDeviceSize offset)
{
    struct limits_misaligned *misaligned = &look->limits->misaligned;

    if (!alignment || offset % alignment == 0)
        return;
    if (!misaligned->count++)
        snprintf(misaligned->first, sizeof misaligned->first,
                 "in frame %" PRIu64 ", packet %" PRIu64 ": %s is %" PRIu64 " and %s of this GPU is %" PRIu64,
                 look->place->frame + 1, look->place->ticket, what, (uint64_t)offset, limit, (uint64_t)alignment);
    limits_report(look, REPLAY_AREA_LIMIT, REPLAY_IGNORED, limit,
                  "%s is %" PRIu64 ", which is no multiple of %" PRIu64 ", as the GPU wants it", what, (uint64_t)offset,
                  (uint64_t)alignment);
}

static void look_at_buffer_offset(const struct limits_look *look, bool storage, const char *what, VkDeviceSize offset)
{
    if (storage)
        look_at_offset(look, "minStorageBufferOffsetAlignment", look->gpu->minStorageBufferOffsetAlignment, what,
                       offset);
    else
        look_at_offset(look, "minUniformBufferOffsetAlignment", look->gpu->minUniformBufferOffsetAlignment, what,
                       offset);
}

/* ---- layouts: the kinds of dynamic descriptors ---- */

/* The map takes ownership of the layout. */
static enum lap_status keep_layout(struct lap_map *map, uint64_t index, struct layout *layout)
{
    void *old = NULL;
    enum lap_status status = lap_map_put(map, index, layout, &old);

    if (status != LAP_OK)
        free_layout(layout);
    free_layout(old);
    return status == LAP_ERROR_MEMORY ? status : LAP_OK;
}

static struct layout *new_layout(uint32_t set_count)
{
    struct layout *layout = calloc(1, sizeof *layout);

    if (!layout)
        return NULL;
    layout->known = true;
    layout->set_count = set_count;
    layout->ends = calloc((size_t)set_count + 1, sizeof *layout->ends);
    if (layout->ends)
        return layout;
    free(layout);
    return NULL;
}

static int compare_bindings(const void *a, const void *b)
{
    uint32_t x = ((const VkDescriptorSetLayoutBinding *)a)->binding;
    uint32_t y = ((const VkDescriptorSetLayoutBinding *)b)->binding;
    return x < y ? -1 : x > y;
}

/* Dynamic offsets follow the order of binding numbers; pBindings may have any order. */
static enum lap_status add_set_layout(const struct limits_look *look,
                                      const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    const VkDescriptorSetLayoutCreateInfo *info = args->pCreateInfo;
    VkDescriptorSetLayoutBinding *bindings;
    struct layout *layout;

    if (!info || !args->pSetLayout || (info->bindingCount && !info->pBindings))
        return LAP_OK;
    layout = new_layout(0);
    if (!layout)
        return lap_no_memory("limits");
    bindings = (VkDescriptorSetLayoutBinding *)(uintptr_t)info->pBindings; /* the decoder's own memory */
    if (info->bindingCount)
        qsort(bindings, info->bindingCount, sizeof *bindings, compare_bindings);
    for (uint32_t i = 0; i < info->bindingCount && layout->known; i++) {
        if (!lap_descriptor_is_dynamic(bindings[i].descriptorType))
            continue;
        layout->known = bindings[i].descriptorCount <= MAX_DYNAMIC - layout->count;
        for (uint32_t j = 0; j < bindings[i].descriptorCount && layout->known; j++)
            layout->storage[layout->count++] = bindings[i].descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    }
    return keep_layout(&look->limits->sets, gen_u64_VkDescriptorSetLayout(*args->pSetLayout), layout);
}

static enum lap_status add_pipeline_layout(const struct limits_look *look,
                                           const struct gen_args_vkCreatePipelineLayout *args)
{
    const VkPipelineLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout;

    if (!info || !args->pPipelineLayout)
        return LAP_OK;
    layout = new_layout(info->pSetLayouts ? info->setLayoutCount : 0);
    if (!layout)
        return lap_no_memory("limits");
    for (uint32_t i = 0; i < layout->set_count; i++) {
        uint64_t index = gen_u64_VkDescriptorSetLayout(info->pSetLayouts[i]);
        const struct layout *set = index ? lap_map_get(&look->limits->sets, index) : NULL;
        /* A pipeline layout of a library may omit sets. If a set layout is unknown, the pipeline layout is too. */
        if (index && (!set || !set->known || set->count > MAX_DYNAMIC - layout->count))
            layout->known = false;
        if (layout->known && set) {
            memcpy(layout->storage + layout->count, set->storage, set->count * sizeof *set->storage);
            layout->count += set->count;
        }
        layout->ends[i] = layout->count;
    }
    return keep_layout(&look->limits->pipelines, gen_u64_VkPipelineLayout(*args->pPipelineLayout), layout);
}

static void look_at_dynamic_offsets(const struct limits_look *look, VkPipelineLayout pipeline, uint32_t first_set,
                                    uint32_t set_count, uint32_t count, const uint32_t *offsets)
{
    const struct layout *layout = lap_map_get(&look->limits->pipelines, gen_u64_VkPipelineLayout(pipeline));
    uint32_t first, end;

    if (!layout || !layout->known || !offsets || first_set >= layout->set_count || set_count == 0 ||
        set_count > layout->set_count - first_set)
        return;
    first = first_set ? layout->ends[first_set - 1] : 0;
    end = layout->ends[first_set + set_count - 1];
    for (uint32_t i = 0; i < count && end - first == count; i++)
        look_at_buffer_offset(look, layout->storage[first + i], "a dynamic offset", offsets[i]);
}

/* ---- calls ---- */

static void look_at_writes(const struct limits_look *look, uint32_t count, const VkWriteDescriptorSet *writes)
{
    for (uint32_t i = 0; i < count && writes; i++) {
        VkDescriptorType type = writes[i].descriptorType;
        bool storage = type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
        if (!storage && type != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER && type != VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC)
            continue;
        for (uint32_t j = 0; j < writes[i].descriptorCount && writes[i].pBufferInfo; j++) {
            const VkDescriptorBufferInfo *info = &writes[i].pBufferInfo[j];
            if (!info->buffer)
                continue;
            look_at_buffer_offset(look, storage, "the offset of a descriptor", info->offset);
            if (info->range == VK_WHOLE_SIZE)
                continue;
            if (storage)
                LIMITS_EXCEEDS(look, maxStorageBufferRange, "the range of a descriptor", info->range);
            else
                LIMITS_EXCEEDS(look, maxUniformBufferRange, "the range of a descriptor", info->range);
        }
    }
}

enum lap_status limits_look_at_offsets(const struct limits_look *look, const void *raw)
{
    switch (look->place->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return add_set_layout(look, raw);
    case GEN_vkCreatePipelineLayout:
        return add_pipeline_layout(look, raw);
    case GEN_vkCmdBindDescriptorSets: {
        const struct gen_args_vkCmdBindDescriptorSets *args = raw;
        look_at_dynamic_offsets(look, args->layout, args->firstSet, args->descriptorSetCount, args->dynamicOffsetCount,
                                args->pDynamicOffsets);
        break;
    }
    case GEN_vkUpdateDescriptorSets: {
        const struct gen_args_vkUpdateDescriptorSets *args = raw;
        look_at_writes(look, args->descriptorWriteCount, args->pDescriptorWrites);
        break;
    }
    case GEN_vkCmdPushDescriptorSetKHR: {
        const struct gen_args_vkCmdPushDescriptorSetKHR *args = raw;
        look_at_writes(look, args->descriptorWriteCount, args->pDescriptorWrites);
        break;
    }
#ifdef VK_KHR_maintenance6
    case GEN_vkCmdBindDescriptorSets2KHR: {
        const VkBindDescriptorSetsInfoKHR *info =
            ((const struct gen_args_vkCmdBindDescriptorSets2KHR *)raw)->pBindDescriptorSetsInfo;
        if (info)
            look_at_dynamic_offsets(look, info->layout, info->firstSet, info->descriptorSetCount,
                                    info->dynamicOffsetCount, info->pDynamicOffsets);
        break;
    }
    case GEN_vkCmdPushDescriptorSet2KHR: {
        const VkPushDescriptorSetInfoKHR *info =
            ((const struct gen_args_vkCmdPushDescriptorSet2KHR *)raw)->pPushDescriptorSetInfo;
        if (info)
            look_at_writes(look, info->descriptorWriteCount, info->pDescriptorWrites);
        break;
    }
#endif
    case GEN_vkCreateBufferView: {
        const VkBufferViewCreateInfo *info = ((const struct gen_args_vkCreateBufferView *)raw)->pCreateInfo;
        /* with VK_EXT_texel_buffer_alignment or Vulkan 1.3, a smaller alignment may suffice */
        if (info && look->api_version < VK_API_VERSION_1_3)
            look_at_offset(look, "minTexelBufferOffsetAlignment", look->gpu->minTexelBufferOffsetAlignment,
                           "the offset of a texel buffer", info->offset);
        break;
    }
    default:
        break;
    }
    return LAP_OK;
}

/* ---- all offsets of a trace ---- */

/* Every multiple of the recorded alignment is a multiple of the actual one. */
static bool is_as_lenient(VkDeviceSize recorded, VkDeviceSize actual)
{
    return actual <= 1 || (recorded && recorded % actual == 0);
}

struct replay_limits_offsets {
    struct replay_limits *limits;
    const struct replay_instance *instance;
    bool failed; /* out of memory: nothing is reported */
};

static enum lap_status visit_offsets(void *state, const struct trace_call *call)
{
    struct replay_limits_offsets *offsets = state;
    const struct replay_limits_place place = {call->command, call->packet->frame, call->packet->ticket};

    offsets->failed = replay_limits_check(offsets->limits, offsets->instance, NULL, &place, call->args) != LAP_OK;
    return offsets->failed ? LAP_END : LAP_OK;
}

enum lap_status replay_limits_offsets_await(struct replay *r, const struct replay_instance *instance,
                                            const struct replay_recorded_gpu *recorded,
                                            struct replay_limits_offsets **out)
{
    const VkPhysicalDeviceLimits *actual = &instance->properties.limits;
    struct replay_limits_offsets *offsets;
    struct trace_visitor visitor = {.all_commands = true, .visit = visit_offsets, .visit_in_block = visit_offsets};

    *out = NULL;
    if (is_as_lenient(recorded ? recorded->uniform_alignment : 0, actual->minUniformBufferOffsetAlignment) &&
        is_as_lenient(recorded ? recorded->storage_alignment : 0, actual->minStorageBufferOffsetAlignment))
        return LAP_OK;
    *out = offsets = calloc(1, sizeof *offsets);
    if (!offsets)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for offsets into buffers");
    offsets->instance = instance;
    offsets->limits = replay_limits_create();
    if (!offsets->limits)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for offsets into buffers");
    visitor.state = offsets;
    return replay_analysis_await(r, &visitor);
}

void replay_limits_offsets_warn(struct replay *r, const struct replay_limits_offsets *offsets)
{
    const struct limits_misaligned *misaligned = offsets ? &offsets->limits->misaligned : NULL;

    if (misaligned && !offsets->failed && misaligned->count)
        lap_log(r->log, LAP_LOG_WARNING,
                "offsets into buffers are no multiples of what %s wants: %" PRIu64 ", the first %s; they stay as they "
                "are, and the driver's results are undefined",
                offsets->instance->properties.deviceName, misaligned->count, misaligned->first);
}

void replay_limits_offsets_destroy(struct replay *r, struct replay_limits_offsets **offsets)
{
    if (!*offsets)
        return;
    replay_analysis_cancel(r, *offsets);
    if ((*offsets)->limits)
        replay_limits_destroy((*offsets)->limits);
    free(*offsets);
    *offsets = NULL;
}
