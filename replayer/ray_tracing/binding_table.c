/* SPDX-License-Identifier: MIT */
/*
 * binding_table: copies of shader binding tables, made by the device before each command that reads them (see
 * shaders/binding_table.comp). A command buffer that executes several times at once has one copy for each of its
 * commands: a run begins with a barrier behind the rays of the run before it, as conversions of texels do
 * (docs/architecture.md, "Formats").
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "binding_table_comp.h"
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/ray_tracing/internal.h"
#include "replayer/sync/deferred_destroy.h"

#define GROUP       64u                 /* invocations of a workgroup */
#define MOST_GROUPS 256u                /* in a row: the rest follows in a loop */
#define MOST_BYTES  ((uint64_t)1 << 30) /* of all tables of a command */
#define TABLES      4u

/* ---- data that the shader reads ---- */

struct table {
    uint64_t from, to;
    uint32_t records, from_stride, to_stride, from_size, room, spare;
};

struct plan {
    uint64_t groups, command_from, command_to;
    uint32_t group_count, from_handle, to_handle, alignment, failed, spare;
    struct table tables[TABLES];
};
_Static_assert(sizeof(struct table) == 40 && offsetof(struct plan, tables) == 48, "as in binding_table.comp");

/* ---- copies of a command buffer ---- */

struct copy {
    struct replay_ray_tracing_buffer plan, tables;
    bool indirect; /* the device may find that there is no room */
    VkDescriptorPool pool;
    VkDescriptorSet set;
};

struct copies {
    struct copy *items;
    size_t count, capacity, used;
};

/* Reports once that the device found no room: rays of these commands are missing. */
static void look_for_failure(struct replay_device *dev, struct copy *copy)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;
    const void *data = copy->plan.place.host;
    struct plan plan;
    enum lap_status status;

    if (!copy->indirect || rays->warned)
        return;
    copy->indirect = false;
    status = data ? replay_memory_place_invalidate(rays->r, dev, &copy->plan.place, 0, sizeof plan)
                  : replay_memory_read_back(rays->r, dev, copy->plan.buffer, 0, sizeof plan, &data);
    if (status != LAP_OK)
        return;
    memcpy(&plan, data, sizeof plan);
    rays->warned = plan.failed;
    if (plan.failed)
        lap_log(
            rays->r->log, LAP_LOG_ERROR,
            "a binding table of vkCmdTraceRaysIndirect2KHR is larger than every buffer for such tables, or invalid: "
            "its rays were not traced");
}

static void free_copy(struct replay_device *dev, struct copy *copy)
{
    look_for_failure(dev, copy);
    if (copy->pool)
        replay_destroy(dev, GEN_HANDLE_VkDescriptorPool, gen_u64_VkDescriptorPool(copy->pool));
    replay_ray_tracing_buffer_free(dev, &copy->plan);
    replay_ray_tracing_buffer_free(dev, &copy->tables);
    *copy = (struct copy){0};
}

static void free_copies(struct replay_device *dev, struct copies *copies)
{
    for (size_t i = 0; i < copies->count; i++)
        free_copy(dev, &copies->items[i]);
    free(copies->items);
    free(copies);
}

void replay_ray_tracing_reuse(struct replay_device *dev, VkCommandBuffer commands)
{
    struct copies *copies =
        dev->rays.tracing ? lap_map_get(&dev->rays.tracing->copies, gen_u64_VkCommandBuffer(commands)) : NULL;
    if (copies)
        copies->used = 0;
}

void replay_ray_tracing_forget(struct replay_device *dev, VkCommandBuffer commands)
{
    struct copies *copies =
        dev->rays.tracing ? lap_map_remove(&dev->rays.tracing->copies, gen_u64_VkCommandBuffer(commands)) : NULL;
    if (copies)
        free_copies(dev, copies);
}

static void end_copies(void *dev, uint64_t commands, void *copies)
{
    free_copies(dev, copies);
}

void replay_ray_tracing_copies_finish(struct replay_device *dev)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;

    lap_map_each(&rays->copies, end_copies, dev);
    if (rays->pipeline)
        dev->vk.DestroyPipeline(dev->live, rays->pipeline, NULL);
    if (rays->layout)
        dev->vk.DestroyPipelineLayout(dev->live, rays->layout, NULL);
    if (rays->set_layout)
        dev->vk.DestroyDescriptorSetLayout(dev->live, rays->set_layout, NULL);
}

/* ---- objects of all copies ---- */

static enum lap_status need_pipeline(struct replay *r, struct replay_device *dev)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;
    VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                            .descriptorCount = 1,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    /* None is used; see gpu_convert.c. */
    VkPushConstantRange constants = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = dev->instance->properties.limits.maxPushConstantsSize / 4 * 4};
    VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                         .setLayoutCount = 1,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &constants};
    VkShaderModuleCreateInfo module = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                       .codeSize = sizeof binding_table_comp,
                                       .pCode = binding_table_comp};
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .pName = "main"}};
    VkResult result = VK_SUCCESS;

    if (rays->pipeline)
        return LAP_OK;
    if (!rays->set_layout)
        result = dev->vk.CreateDescriptorSetLayout(dev->live, &set, NULL, &rays->set_layout);
    layout.pSetLayouts = &rays->set_layout;
    if (result >= 0 && !rays->layout)
        result = dev->vk.CreatePipelineLayout(dev->live, &layout, NULL, &rays->layout);
    if (result >= 0)
        result = dev->vk.CreateShaderModule(dev->live, &module, NULL, &info.stage.module);
    if (result < 0)
        return replay_result(r, result);
    info.layout = rays->layout;
    result = dev->vk.CreateComputePipelines(dev->live, VK_NULL_HANDLE, 1, &info, NULL, &rays->pipeline);
    dev->vk.DestroyShaderModule(dev->live, info.stage.module, NULL);
    return replay_result(r, result);
}

static enum lap_status make_set(struct replay *r, struct replay_device *dev, struct copy *copy)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &dev->rays.tracing->set_layout};
    VkDescriptorBufferInfo buffer = {.buffer = copy->plan.buffer, .range = VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};
    VkResult result = dev->vk.CreateDescriptorPool(dev->live, &pool, NULL, &copy->pool);

    allocate.descriptorPool = copy->pool;
    if (result >= 0)
        result = dev->vk.AllocateDescriptorSets(dev->live, &allocate, &copy->set);
    if (result < 0)
        return replay_result(r, result);
    write.dstSet = copy->set;
    dev->vk.UpdateDescriptorSets(dev->live, 1, &write, 0, NULL);
    return LAP_OK;
}

/* The next copy of a command buffer, with room for tables of so many bytes. */
static enum lap_status take_copy(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                 VkDeviceSize bytes, struct copy **out)
{
    struct replay_ray_tracing *rays = dev->rays.tracing;
    struct copies *copies = lap_map_get(&rays->copies, gen_u64_VkCommandBuffer(commands));
    enum lap_status status = LAP_OK;
    struct copy *copy;
    void *old = NULL;

    if (!copies) {
        copies = calloc(1, sizeof *copies);
        status = copies ? lap_map_put(&rays->copies, gen_u64_VkCommandBuffer(commands), copies, &old)
                        : lap_fail(LAP_ERROR_MEMORY, "out of memory for binding tables");
        if (status != LAP_OK) {
            free(copies);
            return status;
        }
    }
    if (!lap_array_grow(&copies->items, sizeof *copies->items, &copies->capacity, copies->used + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for binding tables");
    if (copies->used == copies->count)
        copies->items[copies->count++] = (struct copy){0};
    copy = *out = &copies->items[copies->used++];
    look_for_failure(dev, copy);
    if (copy->set && copy->tables.bytes >= bytes)
        return LAP_OK;
    free_copy(dev, copy);
    status = replay_ray_tracing_buffer_make(r, dev, sizeof(struct plan), 0,
                                            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                            &copy->plan);
    if (status == LAP_OK)
        status = replay_ray_tracing_buffer_make(
            r, dev, bytes, VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
            VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &copy->tables);
    if (status == LAP_OK)
        status = make_set(r, dev, copy);
    if (status != LAP_OK)
        free_copy(dev, copy);
    return status;
}

/* ---- plans ---- */

static uint64_t round_up(uint64_t bytes, uint64_t alignment)
{
    return alignment > 1 ? (bytes + alignment - 1) / alignment * alignment : bytes;
}

/* The size of a record of this device that holds as much as a recorded one. */
static uint64_t record_bytes(const struct replay_ray_tracing *rays, const struct replay_ray_tracing_groups *groups,
                             uint64_t recorded)
{
    return round_up(recorded - groups->recorded_bytes + rays->properties.shaderGroupHandleSize,
                    rays->properties.shaderGroupHandleAlignment);
}

static bool is_aligned(uint64_t number, uint32_t alignment)
{
    return alignment < 2 || number % alignment == 0;
}

static bool is_usable(const struct replay_ray_tracing *rays, const VkStridedDeviceAddressRegionKHR *table)
{
    return !table || !table->size || !table->deviceAddress ||
           (is_aligned(table->deviceAddress, rays->properties.shaderGroupBaseAlignment) &&
            is_aligned(table->stride, rays->properties.shaderGroupHandleAlignment) &&
            table->stride <= rays->properties.maxShaderGroupStride);
}

/* Fills in one table, and the arguments of the live command; *at is the current end of the copies. */
static enum lap_status plan_table(struct replay *r, const struct replay_ray_tracing *rays,
                                  const struct replay_ray_tracing_groups *groups,
                                  const VkStridedDeviceAddressRegionKHR *recorded, uint64_t *at, struct table *table,
                                  VkStridedDeviceAddressRegionKHR *live)
{
    uint64_t stride = recorded->stride ? recorded->stride : recorded->size, count, bytes;

    *table = (struct table){0};
    *live = (VkStridedDeviceAddressRegionKHR){0};
    if (!recorded->size || !recorded->deviceAddress)
        return LAP_OK;
    if (recorded->size > MOST_BYTES || stride < groups->recorded_bytes || stride % 4 != 0 || stride > MOST_BYTES)
        return replay_refuse(r, "a binding table of %" PRIu64 " bytes in steps of %" PRIu64 " is not to be copied",
                             (uint64_t)recorded->size, (uint64_t)recorded->stride);
    count = (recorded->size + stride - 1) / stride;
    bytes = record_bytes(rays, groups, stride);
    if (recorded->stride && bytes > rays->properties.maxShaderGroupStride)
        return replay_refuse(r, "the records of a binding table have %" PRIu64 " bytes on this device, which takes %u",
                             bytes, rays->properties.maxShaderGroupStride);
    *at = round_up(*at, rays->properties.shaderGroupBaseAlignment);
    *table = (struct table){.from = recorded->deviceAddress,
                            .to = *at,
                            .records = (uint32_t)count,
                            .from_stride = (uint32_t)(stride / 4),
                            .to_stride = (uint32_t)(bytes / 4),
                            .from_size = (uint32_t)(recorded->size / 4)};
    *live = (VkStridedDeviceAddressRegionKHR){*at, recorded->stride ? bytes : 0, bytes * count};
    *at += bytes * count;
    return *at <= MOST_BYTES ? LAP_OK : replay_refuse(r, "the binding tables of a command take more than 1 GiB");
}

static void barrier(const struct replay_device *dev, VkCommandBuffer commands, VkPipelineStageFlags source,
                    VkAccessFlags written, VkPipelineStageFlags target, VkAccessFlags access)
{
    VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = access};
    dev->vk.CmdPipelineBarrier(commands, source, target, 0, 1, &memory, 0, NULL, 0, NULL);
}

/* Data that the program made available to the rays is available to the copy, too, and the rays of an earlier run are
 * complete. */
static enum lap_status copy_tables(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                   const struct replay_format_bound_state *bound, const struct copy *copy,
                                   uint32_t records)
{
    const VkPipelineStageFlags rays =
        VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
    uint32_t groups = (records + GROUP - 1) / GROUP;

    replay_format_bound_suspend(dev, commands, bound);
    barrier(dev, commands, rays, 0, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    dev->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dev->rays.tracing->pipeline);
    dev->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, dev->rays.tracing->layout, 0, 1, &copy->set,
                                  0, NULL);
    dev->vk.CmdDispatch(commands, groups < MOST_GROUPS ? groups : MOST_GROUPS, TABLES, 1);
    barrier(dev, commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT, rays,
            VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    dev->rays.tracing->copied++;
    return replay_format_bound_restore(r, dev, bound);
}

static struct plan begin_plan(const struct replay_ray_tracing *rays, const struct replay_ray_tracing_groups *groups)
{
    return (struct plan){.groups = groups->buffer.address,
                         .group_count = groups->count,
                         .from_handle = groups->recorded_bytes / 4,
                         .to_handle = rays->properties.shaderGroupHandleSize / 4,
                         .alignment = rays->properties.shaderGroupHandleAlignment > 4
                                          ? rays->properties.shaderGroupHandleAlignment / 4
                                          : 1};
}

/* The first address in the buffer at which tables may begin. */
static uint64_t base_of(const struct replay_ray_tracing *rays, const struct copy *copy)
{
    return round_up(copy->tables.address, rays->properties.shaderGroupBaseAlignment);
}

/* Replaces the four tables of a command, whose structures are the decoder's. */
static enum lap_status replace_tables(struct replay *r, struct replay_device *dev,
                                      const struct replay_ray_tracing_state *state,
                                      const struct replay_format_bound_state *bound,
                                      struct replay_ray_tracing_groups *groups,
                                      const VkStridedDeviceAddressRegionKHR *tables[TABLES])
{
    const struct replay_ray_tracing *rays = dev->rays.tracing;
    enum lap_status status = replay_ray_tracing_need_pairs(r, dev, groups);
    struct plan plan = begin_plan(rays, groups);
    VkStridedDeviceAddressRegionKHR live[TABLES];
    uint32_t records = 1;
    struct copy *copy;
    uint64_t end = 0;

    for (uint32_t i = 0; i < TABLES && status == LAP_OK; i++) {
        status = plan_table(r, rays, groups, tables[i], &end, &plan.tables[i], &live[i]);
        records = plan.tables[i].records > records ? plan.tables[i].records : records;
    }
    if (status == LAP_OK)
        status = need_pipeline(r, dev);
    if (status == LAP_OK)
        status = take_copy(r, dev, state->commands, end + rays->properties.shaderGroupBaseAlignment + 4, &copy);
    if (status != LAP_OK)
        return status;
    for (uint32_t i = 0; i < TABLES; i++) {
        if (!plan.tables[i].records)
            continue;
        plan.tables[i].to += base_of(rays, copy);
        live[i].deviceAddress += base_of(rays, copy);
        *(VkStridedDeviceAddressRegionKHR *)(uintptr_t)tables[i] = live[i];
    }
    status = replay_ray_tracing_buffer_write(r, dev, &copy->plan, &plan, sizeof plan);
    return status == LAP_OK ? copy_tables(r, dev, state->commands, bound, copy, records) : status;
}

#ifdef VK_KHR_ray_tracing_maintenance1
/* Only the device knows the sizes of the tables: there is room for copies of the largest buffer that may hold them. */
static enum lap_status replace_indirect(struct replay *r, struct replay_device *dev,
                                        const struct replay_ray_tracing_state *state,
                                        const struct replay_format_bound_state *bound,
                                        struct replay_ray_tracing_groups *groups, VkDeviceAddress *command)
{
    const struct replay_ray_tracing *rays = dev->rays.tracing;
    const uint64_t base = rays->properties.shaderGroupBaseAlignment;
    const uint64_t largest = dev->rays.largest_table_buffer < MOST_BYTES ? dev->rays.largest_table_buffer : MOST_BYTES;
    /* The smallest records grow most, and the last one of a table may be larger than the rest of it. */
    const uint64_t smallest = record_bytes(rays, groups, groups->recorded_bytes),
                   room = round_up((largest / groups->recorded_bytes + 1) * smallest + largest, base > 4 ? base : 4);
    enum lap_status status = replay_ray_tracing_need_pairs(r, dev, groups);
    struct plan plan = begin_plan(rays, groups);
    struct copy *copy;
    uint64_t to;

    if (room > MOST_BYTES / TABLES)
        return replay_refuse(r, "binding tables that only the device knows may take more than 1 GiB");
    if (status == LAP_OK)
        status = need_pipeline(r, dev);
    if (status == LAP_OK)
        status = take_copy(r, dev, state->commands,
                           TABLES * room + base + round_up(sizeof(VkTraceRaysIndirectCommand2KHR), 8), &copy);
    if (status != LAP_OK)
        return status;
    to = base_of(rays, copy);
    for (uint32_t i = 0; i < TABLES; i++, to += room)
        plan.tables[i] = (struct table){.to = to, .room = (uint32_t)(room / 4)};
    copy->indirect = true;
    plan.command_from = *command;
    plan.command_to = *command = to;
    status = replay_ray_tracing_buffer_write(r, dev, &copy->plan, &plan, sizeof plan);
    return status == LAP_OK ? copy_tables(r, dev, state->commands, bound, copy, GROUP * MOST_GROUPS) : status;
}
#endif

/* ---- commands ---- */

static enum lap_status call(struct replay *r, struct replay_device *dev, void *args)
{
    return gen_replay_table[r->at.command].call(r, dev, args);
}

static enum lap_status trace(struct replay *r, struct replay_device *dev, const struct replay_ray_tracing_state *state,
                             const struct replay_format_bound_state *bound, void *args,
                             const VkStridedDeviceAddressRegionKHR *tables[TABLES])
{
    struct replay_ray_tracing_groups *groups =
        lap_map_get(&dev->rays.tracing->groups, gen_u64_VkPipeline(state->pipeline));
    bool usable = true;
    enum lap_status status;

    for (uint32_t i = 0; i < TABLES; i++) {
        if (!tables[i])
            return LAP_END; /* the generated function refuses it */
        usable &= is_usable(dev->rays.tracing, tables[i]);
    }
    if (!groups || !groups->pairs || (!groups->differ && usable))
        return LAP_END;
    status = replace_tables(r, dev, state, bound, groups, tables);
    return status == LAP_OK ? call(r, dev, args) : status;
}

enum lap_status replay_ray_tracing_record(struct replay *r, struct replay_device *dev,
                                          struct replay_ray_tracing_state *state,
                                          const struct replay_format_bound_state *bound, void *args)
{
    if (r->at.command == GEN_vkCmdBindPipeline) {
        const struct gen_args_vkCmdBindPipeline *a = args;
        if (a->pipelineBindPoint == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR)
            state->pipeline = a->pipeline;
    } else if (r->at.command == GEN_vkCmdExecuteCommands) {
        state->pipeline = VK_NULL_HANDLE;
    } else if (r->at.command == GEN_vkCmdSetRayTracingPipelineStackSizeKHR) {
        struct gen_args_vkCmdSetRayTracingPipelineStackSizeKHR *a = args;
        a->pipelineStackSize = replay_ray_tracing_stack_size(dev, a->pipelineStackSize);
    } else if (!state->pipeline) {
        return LAP_END;
    } else if (r->at.command == GEN_vkCmdTraceRaysKHR) {
        const struct gen_args_vkCmdTraceRaysKHR *a = args;
        return trace(r, dev, state, bound, args,
                     (const VkStridedDeviceAddressRegionKHR *[TABLES]){
                         a->pRaygenShaderBindingTable, a->pMissShaderBindingTable, a->pHitShaderBindingTable,
                         a->pCallableShaderBindingTable});
    } else if (r->at.command == GEN_vkCmdTraceRaysIndirectKHR) {
        const struct gen_args_vkCmdTraceRaysIndirectKHR *a = args;
        return trace(r, dev, state, bound, args,
                     (const VkStridedDeviceAddressRegionKHR *[TABLES]){
                         a->pRaygenShaderBindingTable, a->pMissShaderBindingTable, a->pHitShaderBindingTable,
                         a->pCallableShaderBindingTable});
    }
#ifdef VK_KHR_ray_tracing_maintenance1
    else if (r->at.command == GEN_vkCmdTraceRaysIndirect2KHR) {
        struct gen_args_vkCmdTraceRaysIndirect2KHR *a = args;
        struct replay_ray_tracing_groups *groups =
            lap_map_get(&dev->rays.tracing->groups, gen_u64_VkPipeline(state->pipeline));
        enum lap_status status;

        if (!groups || !groups->pairs || (!groups->differ && !groups->stricter))
            return LAP_END;
        status = replace_indirect(r, dev, state, bound, groups, &a->indirectDeviceAddress);
        return status == LAP_OK ? call(r, dev, args) : status;
    }
#endif
    return LAP_END;
}
