/* SPDX-License-Identifier: MIT */
/*
 * Recorded numbers that this device does not allow: a replay hands them to the driver as they are, because shaders and
 * data of the trace were made for them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "replayer/examine.h"

/* Vulkan 1.4 made push descriptors core, and the registry's main name of the command changed with it. */
#ifdef VK_VERSION_1_4
#define PUSH_COMMAND GEN_vkCmdPushDescriptorSet
#define PUSH_ARGS    struct gen_args_vkCmdPushDescriptorSet
#else
#define PUSH_COMMAND GEN_vkCmdPushDescriptorSetKHR
#define PUSH_ARGS    struct gen_args_vkCmdPushDescriptorSetKHR
#endif

/* More dynamic descriptors than any device has in one layout; a trace that says so is not followed. */
#define MAX_DYNAMIC 1024u

/* Of a set layout, or of all sets of a pipeline layout in their order. */
struct layout {
    bool known;
    uint32_t set_count; /* of a pipeline layout */
    uint32_t *ends;     /* [set]: how many dynamic descriptors there are up to its end */
    uint32_t count;
    bool *storage; /* [dynamic descriptor]: of a storage buffer; otherwise of a uniform buffer */
};

struct replay_limits {
    struct lap_map sets, pipelines; /* struct layout by index; they may be used after they are destroyed */
};

struct replay_limits *replay_limits_create(void)
{
    struct replay_limits *limits = calloc(1, sizeof *limits);

    if (limits) {
        lap_map_init(&limits->sets);
        lap_map_init(&limits->pipelines);
    }
    return limits;
}

static void destroy_layout(struct layout *layout)
{
    if (layout) {
        free(layout->ends);
        free(layout->storage);
    }
    free(layout);
}

static void visit_layout(void *user, uint64_t key, void *value)
{
    (void)user, (void)key;
    destroy_layout(value);
}

void replay_limits_destroy(struct replay_limits *limits)
{
    if (!limits)
        return;
    lap_map_each(&limits->sets, visit_layout, NULL);
    lap_map_each(&limits->pipelines, visit_layout, NULL);
    lap_map_finish(&limits->sets);
    lap_map_finish(&limits->pipelines);
    free(limits);
}

/* The layout becomes the map's. */
static enum lap_status keep_layout(struct lap_map *map, uint64_t index, struct layout *layout)
{
    void *old = NULL;
    enum lap_status status = lap_map_put(map, index, layout, &old);

    if (status != LAP_OK)
        destroy_layout(layout);
    destroy_layout(old);
    return status == LAP_ERROR_MEMORY ? status : LAP_OK;
}

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for the report");
}

static int compare_bindings(const void *a, const void *b)
{
    uint32_t x = ((const VkDescriptorSetLayoutBinding *)a)->binding;
    uint32_t y = ((const VkDescriptorSetLayoutBinding *)b)->binding;
    return x < y ? -1 : x > y;
}

static bool is_dynamic(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

/* Dynamic offsets come in the order of the bindings' numbers, whatever the order here. */
static enum lap_status add_set_layout(struct replay_limits *limits,
                                      const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    const VkDescriptorSetLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout;
    VkDescriptorSetLayoutBinding *bindings;

    if (!info || !args->pSetLayout || (info->bindingCount && !info->pBindings))
        return LAP_OK;
    layout = calloc(1, sizeof *layout);
    if (!layout)
        return no_memory();
    layout->known = true;
    layout->storage = calloc(MAX_DYNAMIC, sizeof *layout->storage);
    if (!layout->storage) {
        destroy_layout(layout);
        return no_memory();
    }
    bindings = (VkDescriptorSetLayoutBinding *)(uintptr_t)info->pBindings; /* the decoder's own memory */
    if (info->bindingCount)
        qsort(bindings, info->bindingCount, sizeof *bindings, compare_bindings);
    for (uint32_t i = 0; i < info->bindingCount && layout->known; i++) {
        if (!is_dynamic(bindings[i].descriptorType))
            continue;
        layout->known = bindings[i].descriptorCount <= MAX_DYNAMIC - layout->count;
        for (uint32_t j = 0; j < bindings[i].descriptorCount && layout->known; j++)
            layout->storage[layout->count++] = bindings[i].descriptorType == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
    }
    if (!layout->count) {
        free(layout->storage);
        layout->storage = NULL;
    }
    return keep_layout(&limits->sets, gen_u64_VkDescriptorSetLayout(*args->pSetLayout), layout);
}

static enum lap_status add_pipeline_layout(struct replay_limits *limits,
                                           const struct gen_args_vkCreatePipelineLayout *args)
{
    const VkPipelineLayoutCreateInfo *info = args->pCreateInfo;
    struct layout *layout = calloc(1, sizeof *layout);

    if (!layout)
        return no_memory();
    layout->known = true;
    layout->set_count = info->pSetLayouts ? info->setLayoutCount : 0;
    layout->ends = calloc((size_t)layout->set_count + 1, sizeof *layout->ends);
    layout->storage = calloc(MAX_DYNAMIC, sizeof *layout->storage);
    if (!layout->ends || !layout->storage) {
        destroy_layout(layout);
        return no_memory();
    }
    for (uint32_t i = 0; i < layout->set_count; i++) {
        uint64_t index = gen_u64_VkDescriptorSetLayout(info->pSetLayouts[i]);
        const struct layout *set = index ? lap_map_get(&limits->sets, index) : NULL;
        /* A layout of a library may leave sets out; one that was not seen is not known. */
        if (index && (!set || !set->known || set->count > MAX_DYNAMIC - layout->count))
            layout->known = false;
        for (uint32_t j = 0; layout->known && set && j < set->count; j++)
            layout->storage[layout->count++] = set->storage[j];
        layout->ends[i] = layout->count;
    }
    return keep_layout(&limits->pipelines, gen_u64_VkPipelineLayout(*args->pPipelineLayout), layout);
}

/* ---- comparing ---- */

#define PLACE "frame %" PRIu64 ", packet %" PRIu64 ": "

static void exceeds(struct replay *r, const char *limit, const char *what, uint64_t recorded, uint64_t most)
{
    if (recorded > most)
        replay_report_add(r->report, REPLAY_AREA_LIMIT, REPLAY_IGNORED, limit,
                          PLACE "%s is %" PRIu64 ", the GPU allows %" PRIu64, r->packet.frame + 1, r->packet.ticket,
                          what, recorded, most);
}

static void aligned(struct replay *r, const char *limit, const char *what, VkDeviceSize offset, VkDeviceSize alignment)
{
    if (alignment && offset % alignment)
        replay_report_add(r->report, REPLAY_AREA_LIMIT, REPLAY_IGNORED, limit,
                          PLACE "%s is %" PRIu64 ", which is no multiple of %" PRIu64 ", as the GPU wants it",
                          r->packet.frame + 1, r->packet.ticket, what, (uint64_t)offset, (uint64_t)alignment);
}

static void look_at_offset(struct replay *r, const VkPhysicalDeviceLimits *gpu, bool storage, const char *what,
                           VkDeviceSize offset)
{
    if (storage)
        aligned(r, "minStorageBufferOffsetAlignment", what, offset, gpu->minStorageBufferOffsetAlignment);
    else
        aligned(r, "minUniformBufferOffsetAlignment", what, offset, gpu->minUniformBufferOffsetAlignment);
}

static void look_at_writes(struct replay *r, const VkPhysicalDeviceLimits *gpu, uint32_t count,
                           const VkWriteDescriptorSet *writes)
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
            look_at_offset(r, gpu, storage, "the offset of a descriptor", info->offset);
            if (info->range != VK_WHOLE_SIZE)
                exceeds(r, storage ? "maxStorageBufferRange" : "maxUniformBufferRange", "the range of a descriptor",
                        info->range, storage ? gpu->maxStorageBufferRange : gpu->maxUniformBufferRange);
        }
    }
}

static void look_at_dynamic_offsets(const struct replay_limits *limits, struct replay *r,
                                    const VkPhysicalDeviceLimits *gpu,
                                    const struct gen_args_vkCmdBindDescriptorSets *args)
{
    const struct layout *layout = lap_map_get(&limits->pipelines, gen_u64_VkPipelineLayout(args->layout));
    uint32_t first, end;

    if (!layout || !layout->known || !args->pDynamicOffsets || args->firstSet >= layout->set_count ||
        args->descriptorSetCount == 0 || args->descriptorSetCount > layout->set_count - args->firstSet)
        return;
    first = args->firstSet ? layout->ends[args->firstSet - 1] : 0;
    end = layout->ends[args->firstSet + args->descriptorSetCount - 1];
    if (end - first != args->dynamicOffsetCount)
        return;
    for (uint32_t i = 0; i < args->dynamicOffsetCount; i++)
        look_at_offset(r, gpu, layout->storage[first + i], "a dynamic offset", args->pDynamicOffsets[i]);
}

static void look_at_pipeline_layout(struct replay *r, const VkPhysicalDeviceLimits *gpu,
                                    const VkPipelineLayoutCreateInfo *info)
{
    exceeds(r, "maxBoundDescriptorSets", "the number of sets of a layout", info->setLayoutCount,
            gpu->maxBoundDescriptorSets);
    for (uint32_t i = 0; i < info->pushConstantRangeCount && info->pPushConstantRanges; i++)
        exceeds(r, "maxPushConstantsSize", "the end of a range of push constants",
                (uint64_t)info->pPushConstantRanges[i].offset + info->pPushConstantRanges[i].size,
                gpu->maxPushConstantsSize);
}

static void look_at_framebuffer(struct replay *r, const VkPhysicalDeviceLimits *gpu,
                                const VkFramebufferCreateInfo *info)
{
    exceeds(r, "maxFramebufferWidth", "the width of a framebuffer", info->width, gpu->maxFramebufferWidth);
    exceeds(r, "maxFramebufferHeight", "the height of a framebuffer", info->height, gpu->maxFramebufferHeight);
    exceeds(r, "maxFramebufferLayers", "the layers of a framebuffer", info->layers, gpu->maxFramebufferLayers);
}

static void look_at_dispatch(struct replay *r, const VkPhysicalDeviceLimits *gpu,
                             const struct gen_args_vkCmdDispatch *args)
{
    const uint32_t counts[] = {args->groupCountX, args->groupCountY, args->groupCountZ};

    for (int i = 0; i < 3; i++)
        exceeds(r, "maxComputeWorkGroupCount", "a number of workgroups", counts[i], gpu->maxComputeWorkGroupCount[i]);
}

/* A texel buffer of either kind: with VK_EXT_texel_buffer_alignment, or Vulkan 1.3, less than this may do. */
static void look_at_buffer_view(struct replay *r, const VkPhysicalDeviceLimits *gpu, uint32_t api_version,
                                const VkBufferViewCreateInfo *info)
{
    if (api_version < VK_API_VERSION_1_3)
        aligned(r, "minTexelBufferOffsetAlignment", "the offset of a texel buffer", info->offset,
                gpu->minTexelBufferOffsetAlignment);
}

enum lap_status replay_limits_look(struct replay_limits *limits, struct replay *r, const struct replay_device *dev,
                                   const void *args)
{
    const VkPhysicalDeviceLimits *gpu = &dev->instance->properties.limits;

    switch (r->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return add_set_layout(limits, args);
    case GEN_vkCreatePipelineLayout: {
        const struct gen_args_vkCreatePipelineLayout *create = args;
        if (!create->pCreateInfo || !create->pPipelineLayout)
            return LAP_OK;
        look_at_pipeline_layout(r, gpu, create->pCreateInfo);
        return add_pipeline_layout(limits, create);
    }
    case GEN_vkUpdateDescriptorSets: {
        const struct gen_args_vkUpdateDescriptorSets *update = args;
        look_at_writes(r, gpu, update->descriptorWriteCount, update->pDescriptorWrites);
        break;
    }
    case PUSH_COMMAND: {
        const PUSH_ARGS *push = args;
        look_at_writes(r, gpu, push->descriptorWriteCount, push->pDescriptorWrites);
        break;
    }
    case GEN_vkCmdBindDescriptorSets:
        look_at_dynamic_offsets(limits, r, gpu, args);
        break;
    case GEN_vkCmdDispatch:
        look_at_dispatch(r, gpu, args);
        break;
    case GEN_vkCreateBufferView: {
        const struct gen_args_vkCreateBufferView *create = args;
        if (create->pCreateInfo)
            look_at_buffer_view(r, gpu, dev->instance->properties.apiVersion, create->pCreateInfo);
        break;
    }
    case GEN_vkCreateFramebuffer: {
        const struct gen_args_vkCreateFramebuffer *create = args;
        if (create->pCreateInfo)
            look_at_framebuffer(r, gpu, create->pCreateInfo);
        break;
    }
    case GEN_vkCreateSampler: {
        const struct gen_args_vkCreateSampler *create = args;
        if (create->pCreateInfo && create->pCreateInfo->anisotropyEnable && create->pCreateInfo->maxAnisotropy > 0 &&
            create->pCreateInfo->maxAnisotropy < 1e6f)
            exceeds(r, "maxSamplerAnisotropy", "the anisotropy of a sampler",
                    (uint64_t)create->pCreateInfo->maxAnisotropy, (uint64_t)gpu->maxSamplerAnisotropy);
        break;
    }
    default:
        break;
    }
    return LAP_OK;
}
