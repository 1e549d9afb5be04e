/* SPDX-License-Identifier: MIT */
/* Layouts of descriptors and what is written into them: how many there are, and offsets into buffers. */
#include <stdlib.h>

#include "codegen/support/set_layout.h"
#include "replayer/limits_internal.h"
#include "replayer/renamed.h"

/* More dynamic descriptors than any device has in one layout; a trace that says so is not followed. */
#define MAX_DYNAMIC 1024u
#define STAGES      14u /* bits of VkShaderStageFlagBits: vertex to callable */

enum kind { SAMPLERS, UNIFORM_BUFFERS, STORAGE_BUFFERS, SAMPLED_IMAGES, STORAGE_IMAGES, INPUT_ATTACHMENTS, KINDS };

struct counts {
    uint64_t stage[STAGES][KINDS], all[KINDS], dynamic_uniform, dynamic_storage;
};

/* Of a set layout, or of all sets of a pipeline layout in their order. */
struct layout {
    bool known;
    bool updates_late;  /* of a set layout: its sets are for pools of descriptors that are updated after binding */
    uint32_t set_count; /* of a pipeline layout */
    uint32_t *ends;     /* [set]: how many dynamic descriptors there are up to its end */
    uint32_t count;
    bool *storage; /* [dynamic descriptor]: of a storage buffer; otherwise of a uniform buffer */
    struct counts counts;
};

void limits_layout_destroy(void *raw)
{
    struct layout *layout = raw;

    if (layout) {
        free(layout->ends);
        free(layout->storage);
    }
    free(layout);
}

/* The layout becomes the map's. */
static enum lap_status keep_layout(struct lap_map *map, uint64_t index, struct layout *layout)
{
    void *old = NULL;
    enum lap_status status = lap_map_put(map, index, layout, &old);

    if (status != LAP_OK)
        limits_layout_destroy(layout);
    limits_layout_destroy(old);
    return status == LAP_ERROR_MEMORY ? status : LAP_OK;
}

static int compare_bindings(const void *a, const void *b)
{
    uint32_t x = ((const VkDescriptorSetLayoutBinding *)a)->binding;
    uint32_t y = ((const VkDescriptorSetLayoutBinding *)b)->binding;
    return x < y ? -1 : x > y;
}

/* ---- counting ---- */

static void count_kind(struct counts *counts, enum kind kind, const VkDescriptorSetLayoutBinding *binding)
{
    counts->all[kind] += binding->descriptorCount;
    for (uint32_t stage = 0; stage < STAGES; stage++)
        if (binding->stageFlags >> stage & 1)
            counts->stage[stage][kind] += binding->descriptorCount;
}

static void count_binding(struct counts *counts, const VkDescriptorSetLayoutBinding *binding)
{
    switch ((int)binding->descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        count_kind(counts, SAMPLERS, binding);
        break;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        count_kind(counts, SAMPLERS, binding);
        count_kind(counts, SAMPLED_IMAGES, binding);
        break;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        count_kind(counts, SAMPLED_IMAGES, binding);
        break;
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        count_kind(counts, STORAGE_IMAGES, binding);
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
        counts->dynamic_uniform += binding->descriptorCount;
        count_kind(counts, UNIFORM_BUFFERS, binding);
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
        count_kind(counts, UNIFORM_BUFFERS, binding);
        break;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        counts->dynamic_storage += binding->descriptorCount;
        count_kind(counts, STORAGE_BUFFERS, binding);
        break;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
        count_kind(counts, STORAGE_BUFFERS, binding);
        break;
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        count_kind(counts, INPUT_ATTACHMENTS, binding);
        break;
    default:
        break;
    }
}

static void add_counts(struct counts *to, const struct counts *more)
{
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        to->all[kind] += more->all[kind];
        for (uint32_t stage = 0; stage < STAGES; stage++)
            to->stage[stage][kind] += more->stage[stage][kind];
    }
    to->dynamic_uniform += more->dynamic_uniform;
    to->dynamic_storage += more->dynamic_storage;
}

static uint64_t most_in_a_stage(const struct counts *counts, enum kind kind)
{
    uint64_t most = 0;

    for (uint32_t stage = 0; stage < STAGES; stage++)
        most = counts->stage[stage][kind] > most ? counts->stage[stage][kind] : most;
    return most;
}

static uint64_t most_resources(const struct counts *counts)
{
    uint64_t most = 0;

    for (uint32_t stage = 0; stage < STAGES; stage++) {
        uint64_t sum = 0;
        for (uint32_t kind = UNIFORM_BUFFERS; kind < KINDS; kind++) /* samplers count for themselves */
            sum += counts->stage[stage][kind];
        most = sum > most ? sum : most;
    }
    return most;
}

#define IN_A_STAGE "the number of descriptors of one stage of a layout"
#define IN_ALL     "the number of descriptors of a layout"

static void compare_counts(const struct limits_look *look, const struct counts *counts)
{
    LIMITS_EXCEEDS(look, maxPerStageDescriptorSamplers, IN_A_STAGE, most_in_a_stage(counts, SAMPLERS));
    LIMITS_EXCEEDS(look, maxPerStageDescriptorUniformBuffers, IN_A_STAGE, most_in_a_stage(counts, UNIFORM_BUFFERS));
    LIMITS_EXCEEDS(look, maxPerStageDescriptorStorageBuffers, IN_A_STAGE, most_in_a_stage(counts, STORAGE_BUFFERS));
    LIMITS_EXCEEDS(look, maxPerStageDescriptorSampledImages, IN_A_STAGE, most_in_a_stage(counts, SAMPLED_IMAGES));
    LIMITS_EXCEEDS(look, maxPerStageDescriptorStorageImages, IN_A_STAGE, most_in_a_stage(counts, STORAGE_IMAGES));
    LIMITS_EXCEEDS(look, maxPerStageDescriptorInputAttachments, IN_A_STAGE, most_in_a_stage(counts, INPUT_ATTACHMENTS));
    LIMITS_EXCEEDS(look, maxPerStageResources, IN_A_STAGE, most_resources(counts));
    LIMITS_EXCEEDS(look, maxDescriptorSetSamplers, IN_ALL, counts->all[SAMPLERS]);
    LIMITS_EXCEEDS(look, maxDescriptorSetUniformBuffers, IN_ALL, counts->all[UNIFORM_BUFFERS]);
    LIMITS_EXCEEDS(look, maxDescriptorSetUniformBuffersDynamic, IN_ALL, counts->dynamic_uniform);
    LIMITS_EXCEEDS(look, maxDescriptorSetStorageBuffers, IN_ALL, counts->all[STORAGE_BUFFERS]);
    LIMITS_EXCEEDS(look, maxDescriptorSetStorageBuffersDynamic, IN_ALL, counts->dynamic_storage);
    LIMITS_EXCEEDS(look, maxDescriptorSetSampledImages, IN_ALL, counts->all[SAMPLED_IMAGES]);
    LIMITS_EXCEEDS(look, maxDescriptorSetStorageImages, IN_ALL, counts->all[STORAGE_IMAGES]);
    LIMITS_EXCEEDS(look, maxDescriptorSetInputAttachments, IN_ALL, counts->all[INPUT_ATTACHMENTS]);
}

/* Layouts with sets that are updated after they were bound have limits of their own, for all sets together. */
static void compare_late_counts(const struct limits_look *look, const struct counts *counts)
{
    const VkPhysicalDeviceDescriptorIndexingProperties *late = &look->limits->indexing;
#define LATE(limit, what, number) limits_exceeds(look, #limit, what, number, late->limit)

    LATE(maxPerStageDescriptorUpdateAfterBindSamplers, IN_A_STAGE, most_in_a_stage(counts, SAMPLERS));
    LATE(maxPerStageDescriptorUpdateAfterBindUniformBuffers, IN_A_STAGE, most_in_a_stage(counts, UNIFORM_BUFFERS));
    LATE(maxPerStageDescriptorUpdateAfterBindStorageBuffers, IN_A_STAGE, most_in_a_stage(counts, STORAGE_BUFFERS));
    LATE(maxPerStageDescriptorUpdateAfterBindSampledImages, IN_A_STAGE, most_in_a_stage(counts, SAMPLED_IMAGES));
    LATE(maxPerStageDescriptorUpdateAfterBindStorageImages, IN_A_STAGE, most_in_a_stage(counts, STORAGE_IMAGES));
    LATE(maxPerStageDescriptorUpdateAfterBindInputAttachments, IN_A_STAGE, most_in_a_stage(counts, INPUT_ATTACHMENTS));
    LATE(maxPerStageUpdateAfterBindResources, IN_A_STAGE, most_resources(counts));
    LATE(maxDescriptorSetUpdateAfterBindSamplers, IN_ALL, counts->all[SAMPLERS]);
    LATE(maxDescriptorSetUpdateAfterBindUniformBuffers, IN_ALL, counts->all[UNIFORM_BUFFERS]);
    LATE(maxDescriptorSetUpdateAfterBindUniformBuffersDynamic, IN_ALL, counts->dynamic_uniform);
    LATE(maxDescriptorSetUpdateAfterBindStorageBuffers, IN_ALL, counts->all[STORAGE_BUFFERS]);
    LATE(maxDescriptorSetUpdateAfterBindStorageBuffersDynamic, IN_ALL, counts->dynamic_storage);
    LATE(maxDescriptorSetUpdateAfterBindSampledImages, IN_ALL, counts->all[SAMPLED_IMAGES]);
    LATE(maxDescriptorSetUpdateAfterBindStorageImages, IN_ALL, counts->all[STORAGE_IMAGES]);
    LATE(maxDescriptorSetUpdateAfterBindInputAttachments, IN_ALL, counts->all[INPUT_ATTACHMENTS]);
#undef LATE
}

/* ---- layouts ---- */

static void look_at_set_layout(const struct limits_look *look, const VkDescriptorSetLayoutCreateInfo *info)
{
    uint64_t descriptors = 0;

    for (uint32_t i = 0; i < info->bindingCount; i++)
        descriptors += info->pBindings[i].descriptorCount;
    if (look->limits->maintenance3.maxPerSetDescriptors)
        limits_exceeds(look, "maxPerSetDescriptors", "the number of descriptors of a set", descriptors,
                       look->limits->maintenance3.maxPerSetDescriptors);
}

/* Dynamic offsets come in the order of the bindings' numbers, whatever the order here. */
static enum lap_status add_set_layout(struct limits_look *look, const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    const VkDescriptorSetLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout;
    VkDescriptorSetLayoutBinding *bindings;

    if (!info || !args->pSetLayout || (info->bindingCount && !info->pBindings))
        return LAP_OK;
    layout = calloc(1, sizeof *layout);
    if (!layout)
        return limits_no_memory();
    look_at_set_layout(look, info);
    layout->known = true;
    layout->updates_late = info->flags & VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT;
    layout->storage = calloc(MAX_DYNAMIC, sizeof *layout->storage);
    if (!layout->storage) {
        limits_layout_destroy(layout);
        return limits_no_memory();
    }
    bindings = (VkDescriptorSetLayoutBinding *)(uintptr_t)info->pBindings; /* the decoder's own memory */
    if (info->bindingCount)
        qsort(bindings, info->bindingCount, sizeof *bindings, compare_bindings);
    for (uint32_t i = 0; i < info->bindingCount && layout->known; i++) {
        count_binding(&layout->counts, &bindings[i]);
        if (!lap_descriptor_is_dynamic(bindings[i].descriptorType))
            continue;
        layout->known = bindings[i].descriptorCount <= MAX_DYNAMIC - layout->count;
        for (uint32_t j = 0; j < bindings[i].descriptorCount && layout->known; j++)
            layout->storage[layout->count++] = bindings[i].descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    }
    if (!layout->count) {
        free(layout->storage);
        layout->storage = NULL;
    }
    return keep_layout(&look->limits->sets, gen_u64_VkDescriptorSetLayout(*args->pSetLayout), layout);
}

static enum lap_status add_pipeline_layout(struct limits_look *look, const struct gen_args_vkCreatePipelineLayout *args)
{
    const VkPipelineLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout = calloc(1, sizeof *layout);
    struct counts early = {.dynamic_uniform = 0};
    bool late = false;

    if (!layout)
        return limits_no_memory();
    layout->known = true;
    layout->set_count = info->pSetLayouts ? info->setLayoutCount : 0;
    layout->ends = calloc((size_t)layout->set_count + 1, sizeof *layout->ends);
    layout->storage = calloc(MAX_DYNAMIC, sizeof *layout->storage);
    if (!layout->ends || !layout->storage) {
        limits_layout_destroy(layout);
        return limits_no_memory();
    }
    for (uint32_t i = 0; i < layout->set_count; i++) {
        uint64_t index = gen_u64_VkDescriptorSetLayout(info->pSetLayouts[i]);
        const struct layout *set = index ? lap_map_get(&look->limits->sets, index) : NULL;
        /* A layout of a library may leave sets out; one that was not seen is not known. */
        if (index && (!set || !set->known || set->count > MAX_DYNAMIC - layout->count))
            layout->known = false;
        for (uint32_t j = 0; layout->known && set && j < set->count; j++)
            layout->storage[layout->count++] = set->storage[j];
        layout->ends[i] = layout->count;
        if (set && !set->updates_late)
            add_counts(&early, &set->counts);
        if (set)
            add_counts(&layout->counts, &set->counts);
        late = late || (set && set->updates_late);
    }
    compare_counts(look, &early);
    /* Where it is an extension a GPU that has it says at least so many. */
    if (late &&
        (look->api_version >= VK_API_VERSION_1_2 || look->limits->indexing.maxUpdateAfterBindDescriptorsInAllPools))
        compare_late_counts(look, &layout->counts);
    return keep_layout(&look->limits->pipelines, gen_u64_VkPipelineLayout(*args->pPipelineLayout), layout);
}

/* ---- offsets and ranges ---- */

static void look_at_offset(const struct limits_look *look, bool storage, const char *what, VkDeviceSize offset)
{
    if (storage)
        limits_aligned(look, "minStorageBufferOffsetAlignment", what, offset,
                       look->gpu->minStorageBufferOffsetAlignment);
    else
        limits_aligned(look, "minUniformBufferOffsetAlignment", what, offset,
                       look->gpu->minUniformBufferOffsetAlignment);
}

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
            look_at_offset(look, storage, "the offset of a descriptor", info->offset);
            if (info->range == VK_WHOLE_SIZE)
                continue;
            if (storage)
                LIMITS_EXCEEDS(look, maxStorageBufferRange, "the range of a descriptor", info->range);
            else
                LIMITS_EXCEEDS(look, maxUniformBufferRange, "the range of a descriptor", info->range);
        }
    }
}

static void look_at_dynamic_offsets(const struct limits_look *look, const struct gen_args_vkCmdBindDescriptorSets *args)
{
    const struct layout *layout = lap_map_get(&look->limits->pipelines, gen_u64_VkPipelineLayout(args->layout));
    uint32_t first, end;

    if (!layout || !layout->known || !args->pDynamicOffsets || args->firstSet >= layout->set_count ||
        args->descriptorSetCount == 0 || args->descriptorSetCount > layout->set_count - args->firstSet)
        return;
    first = args->firstSet ? layout->ends[args->firstSet - 1] : 0;
    end = layout->ends[args->firstSet + args->descriptorSetCount - 1];
    if (end - first != args->dynamicOffsetCount)
        return;
    for (uint32_t i = 0; i < args->dynamicOffsetCount; i++)
        look_at_offset(look, layout->storage[first + i], "a dynamic offset", args->pDynamicOffsets[i]);
}

static void look_at_pipeline_layout(const struct limits_look *look, const VkPipelineLayoutCreateInfo *info)
{
    LIMITS_EXCEEDS(look, maxBoundDescriptorSets, "the number of sets of a layout", info->setLayoutCount);
    for (uint32_t i = 0; i < info->pushConstantRangeCount && info->pPushConstantRanges; i++)
        LIMITS_EXCEEDS(look, maxPushConstantsSize, "the end of a range of push constants",
                       (uint64_t)info->pPushConstantRanges[i].offset + info->pPushConstantRanges[i].size);
}

/* A texel buffer of either kind: with VK_EXT_texel_buffer_alignment, or Vulkan 1.3, less than this may do. */
static void look_at_buffer_view(const struct limits_look *look, const VkBufferViewCreateInfo *info)
{
    if (look->api_version < VK_API_VERSION_1_3)
        limits_aligned(look, "minTexelBufferOffsetAlignment", "the offset of a texel buffer", info->offset,
                       look->gpu->minTexelBufferOffsetAlignment);
}

enum lap_status limits_look_at_layouts(struct limits_look *look, const void *raw)
{
    switch (look->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return add_set_layout(look, raw);
    case GEN_vkCreatePipelineLayout: {
        const struct gen_args_vkCreatePipelineLayout *args = raw;
        if (!args->pCreateInfo || !args->pPipelineLayout)
            return LAP_OK;
        look_at_pipeline_layout(look, args->pCreateInfo);
        return add_pipeline_layout(look, args);
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
    case GEN_vkCmdBindDescriptorSets:
        look_at_dynamic_offsets(look, raw);
        break;
    case GEN_vkCreateBufferView: {
        const struct gen_args_vkCreateBufferView *args = raw;
        if (args->pCreateInfo)
            look_at_buffer_view(look, args->pCreateInfo);
        break;
    }
    default:
        break;
    }
    return LAP_OK;
}
