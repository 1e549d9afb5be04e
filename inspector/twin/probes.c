/* SPDX-License-Identifier: MIT */
#include "inspector/twin/probes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "vulkan/chain.h"

#define MOST_STAGES 8u

/* What decoders gave may change. */
#define CHANGEABLE(type, pointer) ((type *)(uintptr_t)(pointer))

enum lap_status probes_init(struct probes *probes, const struct probe *wanted, size_t count)
{
    *probes = (struct probes){.wanted = wanted, .count = count, .twins = calloc(count + 1, sizeof *probes->twins)};
    lap_map_init(&probes->modules);
    return probes->twins ? LAP_OK : lap_no_memory("pipelines with other code");
}

void probes_finish(struct probes *probes)
{
    if (probes->twins)
        lap_map_finish(&probes->modules);
    free(probes->twins);
}

/* ---- the trace ---- */

static void see_pipelines(struct probes *p, const struct trace_call *call, const VkPipeline *pipelines, uint32_t count)
{
    for (uint32_t i = 0; pipelines && i < count; i++) {
        const uint64_t number = gen_u64_VkPipeline(pipelines[i]);
        p->last_pipeline = number > p->last_pipeline ? number : p->last_pipeline;
        for (size_t k = 0; number && k < p->count; k++)
            if (p->wanted[k].pipeline == number) {
                p->twins[k].pipeline_ticket = call->packet->ticket;
                p->twins[k].index = i;
            }
    }
}

static void see_layout(struct probes *p, const struct trace_call *call, const VkPipelineLayout *layout)
{
    const uint64_t number = layout ? gen_u64_VkPipelineLayout(*layout) : 0;

    p->last_layout = number > p->last_layout ? number : p->last_layout;
    for (size_t k = 0; number && k < p->count; k++)
        if (p->wanted[k].layout == number)
            p->twins[k].layout_ticket = call->packet->ticket;
}

static enum lap_status see_module(struct probes *p, const struct trace_call *call, const VkShaderModule *module)
{
    const uint64_t number = module ? gen_u64_VkShaderModule(*module) : 0;

    p->last_module = number > p->last_module ? number : p->last_module;
    return number ? lap_map_put(&p->modules, number, (void *)(uintptr_t)call->packet->ticket, NULL) : LAP_OK;
}

static void see_sets(struct probes *p, const struct gen_args_vkAllocateDescriptorSets *a)
{
    for (uint32_t i = 0; a->pAllocateInfo && a->pDescriptorSets && i < a->pAllocateInfo->descriptorSetCount; i++) {
        const uint64_t number = gen_u64_VkDescriptorSet(a->pDescriptorSets[i]);
        p->last_set = number > p->last_set ? number : p->last_set;
    }
}

/* The largest number of what a call creates. */
#define SEE_LARGEST(last, type, name, call)                                                                            \
    do {                                                                                                               \
        const struct gen_args_vkCreate##name *a = (call)->args;                                                        \
        const uint64_t number = a->p##type ? gen_u64_Vk##type(*a->p##type) : 0;                                        \
        *(last) = number > *(last) ? number : *(last);                                                                 \
    } while (0)

enum lap_status probes_see(struct probes *p, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateShaderModule:
        return see_module(p, call, ((const struct gen_args_vkCreateShaderModule *)call->args)->pShaderModule);
    case GEN_vkCreateDescriptorSetLayout: {
        const struct gen_args_vkCreateDescriptorSetLayout *a = call->args;
        const uint64_t number = a->pSetLayout ? gen_u64_VkDescriptorSetLayout(*a->pSetLayout) : 0;
        p->last_set_layout = number > p->last_set_layout ? number : p->last_set_layout;
        return LAP_OK;
    }
    case GEN_vkCreateDescriptorPool:
        SEE_LARGEST(&p->last_pool, DescriptorPool, DescriptorPool, call);
        return LAP_OK;
    case GEN_vkAllocateDescriptorSets:
        see_sets(p, call->args);
        return LAP_OK;
    case GEN_vkCreatePipelineLayout:
        see_layout(p, call, ((const struct gen_args_vkCreatePipelineLayout *)call->args)->pPipelineLayout);
        return LAP_OK;
    case GEN_vkCreateGraphicsPipelines: {
        const struct gen_args_vkCreateGraphicsPipelines *a = call->args;
        see_pipelines(p, call, a->pPipelines, a->createInfoCount);
        return LAP_OK;
    }
    case GEN_vkCreateComputePipelines: {
        const struct gen_args_vkCreateComputePipelines *a = call->args;
        see_pipelines(p, call, a->pPipelines, a->createInfoCount);
        return LAP_OK;
    }
    case GEN_vkCreateRayTracingPipelinesKHR: {
        const struct gen_args_vkCreateRayTracingPipelinesKHR *a = call->args;
        see_pipelines(p, call, a->pPipelines, a->createInfoCount);
        return LAP_OK;
    }
    case GEN_vkCreateRayTracingPipelinesNV: {
        const struct gen_args_vkCreateRayTracingPipelinesNV *a = call->args;
        see_pipelines(p, call, a->pPipelines, a->createInfoCount);
        return LAP_OK;
    }
    default:
        return LAP_OK;
    }
}

/* ---- new objects ---- */

static enum lap_status put_set_layout(struct probes *p, struct twins *twins, const struct probes_place *place)
{
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                                  .descriptorCount = 1,
                                                  .stageFlags = VK_SHADER_STAGE_ALL};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetLayout handle = gen_VkDescriptorSetLayout(p->set_layout = ++p->last_set_layout);
    const struct gen_args_vkCreateDescriptorSetLayout create = {
        .device = gen_VkDevice(place->device), .pCreateInfo = &info, .pSetLayout = &handle};

    return twins_put_packet(twins, place->device_ticket, GEN_vkCreateDescriptorSetLayout, &create);
}

/* The set, from a pool of its own. */
static enum lap_status put_set(struct probes *p, struct twins *twins, const struct probes_place *place)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1};
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorPool pool = gen_VkDescriptorPool(++p->last_pool);
    const struct gen_args_vkCreateDescriptorPool create = {
        .device = gen_VkDevice(place->device), .pCreateInfo = &info, .pDescriptorPool = &pool};
    const VkDescriptorSetLayout layout = gen_VkDescriptorSetLayout(p->set_layout);
    const VkDescriptorSetAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = pool,
                                             .descriptorSetCount = 1,
                                             .pSetLayouts = &layout};
    VkDescriptorSet set = gen_VkDescriptorSet(p->set = ++p->last_set);
    const struct gen_args_vkAllocateDescriptorSets allocate = {
        .device = gen_VkDevice(place->device), .pAllocateInfo = &one, .pDescriptorSets = &set};
    enum lap_status status = twins_put_packet(twins, place->first, GEN_vkCreateDescriptorPool, &create);

    return status == LAP_OK ? twins_put_packet(twins, place->first, GEN_vkAllocateDescriptorSets, &allocate) : status;
}

static enum lap_status put_update(const struct probes *p, struct twins *twins, const struct probes_place *place)
{
    const VkDescriptorBufferInfo buffer = {.buffer = gen_VkBuffer(place->buffer), .range = place->range};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = gen_VkDescriptorSet(p->set),
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                        .pBufferInfo = &buffer};
    const struct gen_args_vkUpdateDescriptorSets update = {
        .device = gen_VkDevice(place->device), .descriptorWriteCount = 1, .pDescriptorWrites = &write};

    return twins_put_packet(twins, place->first, GEN_vkUpdateDescriptorSets, &update);
}

/* Probes with the same layout share a twin of it. */
static enum lap_status put_layout(struct probes *p, struct twins *twins, size_t number)
{
    struct probe_twin *twin = &p->twins[number];
    struct gen_args_vkCreatePipelineLayout *create;
    VkPipelineLayoutCreateInfo *info;
    VkDescriptorSetLayout *layouts;
    VkPipelineLayout handle;
    enum lap_status status;

    for (size_t i = 0; i < number; i++)
        if (p->wanted[i].layout == p->wanted[number].layout) {
            twin->layout = p->twins[i].layout;
            return LAP_OK;
        }
    status = position_packet_read(&twins->packet, twin->layout_ticket);
    if (status != LAP_OK)
        return status;
    create = (void *)twins->packet.args.bytes;
    info = CHANGEABLE(VkPipelineLayoutCreateInfo, create->pCreateInfo);
    layouts = lap_arena_zalloc(&twins->packet.arena, (size_t)info->setLayoutCount + 1, sizeof *layouts, 8);
    if (!layouts)
        return lap_no_memory("pipelines with other code");
    for (uint32_t i = 0; i < info->setLayoutCount; i++)
        layouts[i] = info->pSetLayouts[i];
    layouts[info->setLayoutCount++] = gen_VkDescriptorSetLayout(p->set_layout);
    info->pSetLayouts = layouts;
    handle = gen_VkPipelineLayout(twin->layout = ++p->last_layout);
    create->pPipelineLayout = &handle;
    return twins_put_packet(twins, twin->layout_ticket, GEN_vkCreatePipelineLayout, create);
}

/* A stage of a pipeline. */
struct stage {
    VkShaderStageFlagBits bit;
    uint64_t module; /* that it has; 0: none */
    uint64_t twin;   /* its new one; 0: it keeps what it has */
};

static enum lap_status put_other_code(struct probes *p, struct twins *twins, size_t number, VkDevice device)
{
    const VkShaderModuleCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                           .codeSize = p->wanted[number].bytes,
                                           .pCode = p->wanted[number].words};
    VkShaderModule handle = gen_VkShaderModule(p->last_module);
    const struct gen_args_vkCreateShaderModule create = {
        .device = device, .pCreateInfo = &info, .pShaderModule = &handle};

    return twins_put_packet(twins, p->twins[number].pipeline_ticket, GEN_vkCreateShaderModule, &create);
}

static enum lap_status put_same_code(struct probes *p, struct twins *twins, size_t number, uint64_t ticket)
{
    struct gen_args_vkCreateShaderModule *create = (void *)twins->packet.args.bytes;
    VkShaderModule handle = gen_VkShaderModule(p->last_module);
    enum lap_status status = position_packet_read(&twins->packet, ticket);

    if (status != LAP_OK)
        return status;
    create->pShaderModule = &handle;
    return twins_put_packet(twins, p->twins[number].pipeline_ticket, GEN_vkCreateShaderModule, create);
}

static enum lap_status put_modules(struct probes *p, struct twins *twins, size_t number, VkDevice device,
                                   struct stage *stages, size_t count)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        const void *made = stages[i].module ? lap_map_get(&p->modules, stages[i].module) : NULL;
        const bool is_wanted = stages[i].bit == p->wanted[number].stage;
        if (!is_wanted && !made)
            continue;
        stages[i].twin = ++p->last_module;
        status = is_wanted ? put_other_code(p, twins, number, device)
                           : put_same_code(p, twins, number, (uint64_t)(uintptr_t)made);
    }
    return status;
}

static void change_stage(const VkPipelineShaderStageCreateInfo *stage, const struct stage *change)
{
    static const VkStructureType code[] = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    VkPipelineShaderStageCreateInfo *changed = CHANGEABLE(VkPipelineShaderStageCreateInfo, stage);

    if (!change->twin)
        return;
    lap_chain_drop(&changed->pNext, code, 1);
    changed->module = gen_VkShaderModule(change->twin);
}

/* It derives from nothing, and is compiled if it must be. */
static VkPipelineCreateFlags change_flags(VkPipelineCreateFlags flags, const void *chain)
{
    const VkPipelineCreateFlags not_wanted =
        VK_PIPELINE_CREATE_DERIVATIVE_BIT | VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;

#ifdef VK_KHR_maintenance5
    VkPipelineCreateFlags2CreateInfoKHR *more =
        CHANGEABLE(VkPipelineCreateFlags2CreateInfoKHR,
                   lap_chain_find(chain, VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR));
    if (more)
        more->flags &= ~(VkPipelineCreateFlags2KHR)not_wanted;
#else
    (void)chain;
#endif
    return flags & ~not_wanted;
}

static void change_graphics(const struct probes *p, size_t number, const struct stage *stages,
                            struct gen_args_vkCreateGraphicsPipelines *create, VkPipeline *handle)
{
    VkGraphicsPipelineCreateInfo *info =
        CHANGEABLE(VkGraphicsPipelineCreateInfo, &create->pCreateInfos[p->twins[number].index]);

    for (uint32_t i = 0; i < info->stageCount && i < MOST_STAGES; i++)
        change_stage(&info->pStages[i], &stages[i]);
    info->layout = gen_VkPipelineLayout(p->twins[number].layout);
    info->flags = change_flags(info->flags, info->pNext);
    info->basePipelineHandle = VK_NULL_HANDLE;
    info->basePipelineIndex = -1;
    create->pCreateInfos = info;
    create->createInfoCount = 1;
    create->pipelineCache = VK_NULL_HANDLE;
    create->pPipelines = handle;
}

static void change_compute(const struct probes *p, size_t number, const struct stage *stages,
                           struct gen_args_vkCreateComputePipelines *create, VkPipeline *handle)
{
    VkComputePipelineCreateInfo *info =
        CHANGEABLE(VkComputePipelineCreateInfo, &create->pCreateInfos[p->twins[number].index]);

    change_stage(&info->stage, &stages[0]);
    info->layout = gen_VkPipelineLayout(p->twins[number].layout);
    info->flags = change_flags(info->flags, info->pNext);
    info->basePipelineHandle = VK_NULL_HANDLE;
    info->basePipelineIndex = -1;
    create->pCreateInfos = info;
    create->createInfoCount = 1;
    create->pipelineCache = VK_NULL_HANDLE;
    create->pPipelines = handle;
}

/* The stages of the pipeline that the packet makes; their number. */
static size_t list_stages(const struct position_packet *packet, uint32_t index, struct stage stages[MOST_STAGES])
{
    const struct gen_args_vkCreateGraphicsPipelines *graphics = (const void *)packet->args.bytes;
    const struct gen_args_vkCreateComputePipelines *compute = (const void *)packet->args.bytes;
    const bool is_graphics = packet->command == GEN_vkCreateGraphicsPipelines;
    const VkPipelineShaderStageCreateInfo *list =
        is_graphics ? graphics->pCreateInfos[index].pStages : &compute->pCreateInfos[index].stage;
    const uint32_t all = is_graphics ? graphics->pCreateInfos[index].stageCount : 1;
    size_t count = 0;

    for (; list && count < all && count < MOST_STAGES; count++)
        stages[count] = (struct stage){.bit = list[count].stage, .module = gen_u64_VkShaderModule(list[count].module)};
    return count;
}

static enum lap_status put_pipeline(struct probes *p, struct twins *twins, size_t number, uint64_t device)
{
    struct probe_twin *twin = &p->twins[number];
    struct stage stages[MOST_STAGES] = {{.module = 0}};
    void *args = twins->packet.args.bytes;
    VkPipeline handle = gen_VkPipeline(twin->pipeline = ++p->last_pipeline);
    enum lap_status status = position_packet_read(&twins->packet, twin->pipeline_ticket);

    if (status == LAP_OK)
        status = put_modules(p, twins, number, gen_VkDevice(device), stages,
                             list_stages(&twins->packet, twin->index, stages));
    if (status == LAP_OK)
        status = position_packet_read(&twins->packet, twin->pipeline_ticket);
    if (status != LAP_OK)
        return status;
    if (twins->packet.command == GEN_vkCreateGraphicsPipelines)
        change_graphics(p, number, stages, args, &handle);
    else
        change_compute(p, number, stages, args, &handle);
    return twins_put_packet(twins, twin->pipeline_ticket, twins->packet.command, args);
}

enum lap_status probes_put(struct probes *p, struct twins *twins, const struct probes_place *place)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < p->count && status == LAP_OK; i++)
        if (!p->twins[i].pipeline_ticket)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates VkPipeline:%" PRIu64, p->wanted[i].pipeline);
        else if (!p->twins[i].layout_ticket)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "nothing creates the layout of VkPipeline:%" PRIu64,
                              p->wanted[i].pipeline);
    if (status == LAP_OK)
        status = put_set_layout(p, twins, place);
    if (status == LAP_OK)
        status = put_set(p, twins, place);
    if (status == LAP_OK)
        status = put_update(p, twins, place);
    for (size_t i = 0; i < p->count && status == LAP_OK; i++) {
        status = put_layout(p, twins, i);
        if (status == LAP_OK)
            status = put_pipeline(p, twins, i, place->device);
    }
    return status;
}

/* ---- commands ---- */

enum lap_status probes_fill(struct twins *twins, const struct probe_use *use, uint64_t buffer)
{
    const struct gen_args_vkCmdFillBuffer fill = {
        .dstBuffer = gen_VkBuffer(buffer), .dstOffset = use->at, .size = use->bytes};

    return twins_add_command(twins, GEN_vkCmdFillBuffer, &fill);
}

enum lap_status probes_wait(struct twins *twins)
{
    const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    const struct gen_args_vkCmdPipelineBarrier barrier = {.srcStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                                          .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                          .memoryBarrierCount = 1,
                                                          .pMemoryBarriers = &memory};

    return twins_add_command(twins, GEN_vkCmdPipelineBarrier, &barrier);
}

static VkPipelineBindPoint point_of(const struct probes *p, const struct probe_use *use)
{
    return p->wanted[use->probe].stage == VK_SHADER_STAGE_COMPUTE_BIT ? VK_PIPELINE_BIND_POINT_COMPUTE
                                                                      : VK_PIPELINE_BIND_POINT_GRAPHICS;
}

static enum lap_status put_bind(const struct probes *p, struct twins *twins, const struct probe_use *use,
                                uint64_t pipeline)
{
    const struct gen_args_vkCmdBindPipeline bind = {.pipelineBindPoint = point_of(p, use),
                                                    .pipeline = gen_VkPipeline(pipeline)};

    return twins_add_command(twins, GEN_vkCmdBindPipeline, &bind);
}

static enum lap_status put_bind_set(const struct probes *p, struct twins *twins, const struct probe_use *use,
                                    const struct probe_rebind *set)
{
    const VkDescriptorSet handle = gen_VkDescriptorSet(set->descriptor_set);
    const struct gen_args_vkCmdBindDescriptorSets bind = {.pipelineBindPoint = point_of(p, use),
                                                          .layout = gen_VkPipelineLayout(set->layout),
                                                          .firstSet = set->set,
                                                          .descriptorSetCount = 1,
                                                          .pDescriptorSets = &handle,
                                                          .dynamicOffsetCount = set->offset_count,
                                                          .pDynamicOffsets = set->offsets};

    return twins_add_command(twins, GEN_vkCmdBindDescriptorSets, &bind);
}

enum lap_status probes_bind(const struct probes *p, struct twins *twins, const struct probe_use *use)
{
    const uint32_t offset = (uint32_t)use->at;
    const struct probe_rebind set = {.layout = p->twins[use->probe].layout,
                                     .descriptor_set = p->set,
                                     .set = p->wanted[use->probe].set,
                                     .offsets = &offset,
                                     .offset_count = 1};
    enum lap_status status = put_bind(p, twins, use, p->twins[use->probe].pipeline);

    return status == LAP_OK ? put_bind_set(p, twins, use, &set) : status;
}

enum lap_status probes_restore(const struct probes *p, struct twins *twins, const struct probe_use *use)
{
    enum lap_status status = put_bind(p, twins, use, p->wanted[use->probe].pipeline);

    for (size_t i = 0; i < use->rebind_count && status == LAP_OK; i++)
        status = put_bind_set(p, twins, use, &use->rebinds[i]);
    return status;
}
