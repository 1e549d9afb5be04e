/* SPDX-License-Identifier: MIT */
/*
 * raypipe: ray-tracing pipelines and shader binding tables. Launches call shaders through tables whose records have
 * data of their own, addresses among it. The tables are written by the host, copied from staging memory, or put
 * together by the device from handles that lie elsewhere; their order changes with each frame. Rays are traced
 * directly, with indirect extents and, where there is such a command, with indirect tables; in secondary command
 * buffers, too. Some shaders come from a pipeline library, pipelines are created deferred, and a compute pipeline that
 * was bound before the rays is used behind them. A replay has other handles, and maybe others sizes and alignments.
 */
#include "common/app.h"
#include "shaders/raypipe_count_comp.h"
#include "shaders/raypipe_follow_rcall.h"
#include "shaders/raypipe_mix_rcall.h"
#include "shaders/raypipe_rgen.h"
#include "shaders/raypipe_scale_rcall.h"

#define CALLABLES 7u
#define LAUNCHES  56u
#define WORDS     8u
#define RUNS      2u /* of rays in one command buffer, each with tables of its own */
#define MOST      256u

enum kind { RAYGEN, SCALE, MIX, FOLLOW, GROUPS };

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct functions {
    PFN_vkGetRayTracingShaderGroupHandlesKHR get_handles;
    PFN_vkGetRayTracingShaderGroupStackSizeKHR get_stack_size;
    PFN_vkCreateRayTracingPipelinesKHR create;
    PFN_vkCmdTraceRaysKHR trace;
    PFN_vkCmdTraceRaysIndirectKHR trace_indirect;
    PFN_vkCmdTraceRaysIndirect2KHR trace_indirect2;
    PFN_vkCmdSetRayTracingPipelineStackSizeKHR set_stack_size;
    PFN_vkCreateDeferredOperationKHR create_operation;
    PFN_vkDestroyDeferredOperationKHR destroy_operation;
    PFN_vkDeferredOperationJoinKHR join;
    PFN_vkGetDeferredOperationResultKHR get_result;
};

/* Where the tables of a run lie in a buffer, from its first aligned byte on. */
struct layout {
    VkDeviceSize raygen_bytes, callable, stride, bytes;
};

struct job {
    struct functions vk;
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays;
    bool indirect, indirect2, libraries;
    struct place words, staging, handles, mapped_table, table, extents, result;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline, library, count;
    uint32_t stack_bytes;
    uint8_t group_handles[GROUPS * MOST];
    struct layout tables;
    VkCommandBuffer secondary;
};

static bool use_deferred, use_library;

/* ---- the device ---- */

static void create_device(struct app *app, struct job *job)
{
    const char *extensions[8] = {VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME,
                                 VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
                                 VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME};
    uint32_t count = 3;
    VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR maintenance = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR};
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR, .pNext = NULL};
    VkPhysicalDeviceRayTracingPipelineFeaturesKHR rays = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR, .pNext = &structures};
    VkPhysicalDeviceVulkan12Features core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             .pNext = &rays};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &core};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &job->rays};
    struct app_device_request request = {.extensions = extensions};

    if (app->api_version < VK_API_VERSION_1_2)
        app_skip(app, "no Vulkan 1.2");
    for (uint32_t i = 0; i < count; i++)
        if (!app_has_extension(app, extensions[i]))
            app_skip(app, "no ray-tracing pipelines");
    if (app_has_extension(app, VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME)) {
        extensions[count++] = VK_KHR_RAY_TRACING_MAINTENANCE_1_EXTENSION_NAME;
        structures.pNext = &maintenance;
    }
    job->libraries = use_library && app_has_extension(app, VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME);
    if (job->libraries)
        extensions[count++] = VK_KHR_PIPELINE_LIBRARY_EXTENSION_NAME;
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!rays.rayTracingPipeline || !core.bufferDeviceAddress || !structures.accelerationStructure)
        app_skip(app, "no ray-tracing pipelines");
    job->indirect = rays.rayTracingPipelineTraceRaysIndirect;
    job->indirect2 = maintenance.rayTracingPipelineTraceRaysIndirect2;
    job->rays.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    CHECK(job->rays.shaderGroupHandleSize <= MOST);
    rays = (VkPhysicalDeviceRayTracingPipelineFeaturesKHR){.sType = rays.sType,
                                                           &structures,
                                                           .rayTracingPipeline = VK_TRUE,
                                                           .rayTracingPipelineTraceRaysIndirect = job->indirect};
    structures = (VkPhysicalDeviceAccelerationStructureFeaturesKHR){
        .sType = structures.sType, structures.pNext, .accelerationStructure = VK_TRUE};
    core = (VkPhysicalDeviceVulkan12Features){.sType = core.sType, core.pNext, .bufferDeviceAddress = VK_TRUE};
    features.features = (VkPhysicalDeviceFeatures){0};
    request.extension_count = count;
    request.next = &features;
    app_device_create(app, &request);
}

static void load(const struct app *app, struct job *job)
{
    struct functions *vk = &job->vk;
#define LOAD(member, name) vk->member = (PFN_vk##name)app_device_function(app, "vk" #name)
    LOAD(get_handles, GetRayTracingShaderGroupHandlesKHR);
    LOAD(get_stack_size, GetRayTracingShaderGroupStackSizeKHR);
    LOAD(create, CreateRayTracingPipelinesKHR);
    LOAD(trace, CmdTraceRaysKHR);
    LOAD(trace_indirect, CmdTraceRaysIndirectKHR);
    if (job->indirect2)
        LOAD(trace_indirect2, CmdTraceRaysIndirect2KHR);
    LOAD(set_stack_size, CmdSetRayTracingPipelineStackSizeKHR);
    LOAD(create_operation, CreateDeferredOperationKHR);
    LOAD(destroy_operation, DestroyDeferredOperationKHR);
    LOAD(join, DeferredOperationJoinKHR);
    LOAD(get_result, GetDeferredOperationResultKHR);
#undef LOAD
}

/* ---- buffers ---- */

static VkDeviceSize align(VkDeviceSize bytes, VkDeviceSize alignment)
{
    return alignment ? (bytes + alignment - 1) / alignment * alignment : bytes;
}

static void create_place(const struct app *app, struct place *place, VkDeviceSize size, VkBufferUsageFlags usage,
                         enum app_memory kind)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size};
    VkBufferDeviceAddressInfo asked = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;
    void *mapped = NULL;

    info.usage = usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    buffer->size = size;
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    allocate.allocationSize = buffer->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    asked.buffer = buffer->buffer;
    place->address = vkGetBufferDeviceAddress(app->device, &asked);
    CHECK(place->address || app->no_check);
    if (kind == APP_DEVICE)
        return;
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = mapped;
    memset(mapped, 0, size);
    app_buffer_flush(app, buffer, 0, size);
}

/* A record has the handle and two words. */
static void lay_out(struct job *job)
{
    const VkPhysicalDeviceRayTracingPipelinePropertiesKHR *rays = &job->rays;
    struct layout *tables = &job->tables;

    tables->raygen_bytes = align(rays->shaderGroupHandleSize + 8, rays->shaderGroupHandleAlignment);
    tables->stride = align(rays->shaderGroupHandleSize + 8, rays->shaderGroupHandleAlignment);
    tables->callable = align(tables->raygen_bytes, rays->shaderGroupBaseAlignment);
    tables->bytes = align(tables->callable + CALLABLES * tables->stride, rays->shaderGroupBaseAlignment);
}

static void create_places(const struct app *app, struct job *job)
{
    const VkBufferUsageFlags table = VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    VkDeviceSize bytes;

    lay_out(job);
    bytes = job->rays.shaderGroupBaseAlignment + RUNS * job->tables.bytes;
    create_place(app, &job->words, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->staging, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    create_place(app, &job->handles, sizeof job->group_handles, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    create_place(app, &job->mapped_table, bytes, table, APP_UPLOAD);
    create_place(app, &job->table, bytes, table, APP_DEVICE);
    create_place(app, &job->extents, 256 * RUNS, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->result, (RUNS * LAUNCHES + 1) * 4,
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                     VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                 APP_READBACK);
}

/* ---- pipelines ---- */

static VkResult finish(const struct app *app, const struct job *job, VkDeferredOperationKHR operation, VkResult result)
{
    if (result == VK_OPERATION_DEFERRED_KHR) {
        do
            result = job->vk.join(app->device, operation);
        while (result == VK_THREAD_IDLE_KHR);
        CHECK(result == VK_SUCCESS || result == VK_THREAD_DONE_KHR);
        do
            result = job->vk.get_result(app->device, operation);
        while (result == VK_NOT_READY);
    }
    return result == VK_OPERATION_NOT_DEFERRED_KHR ? VK_SUCCESS : result;
}

static VkPipeline create_rays(const struct app *app, const struct job *job,
                              const VkRayTracingPipelineCreateInfoKHR *info)
{
    VkDeferredOperationKHR operation = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkResult result;

    if (use_deferred)
        CHECK_VK(job->vk.create_operation(app->device, NULL, &operation));
    result = job->vk.create(app->device, operation, VK_NULL_HANDLE, 1, info, NULL, &pipeline);
    CHECK_VK(finish(app, job, operation, result));
    job->vk.destroy_operation(app->device, operation, NULL);
    CHECK(pipeline);
    return pipeline;
}

static VkPipelineShaderStageCreateInfo stage_of(const struct app *app, VkShaderStageFlagBits stage,
                                                const uint32_t *words, size_t bytes)
{
    return (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                             .stage = stage,
                                             .module = app_shader(app, words, bytes),
                                             .pName = "main"};
}

static void create_pipelines(const struct app *app, struct job *job)
{
    const VkShaderStageFlagBits callable = VK_SHADER_STAGE_CALLABLE_BIT_KHR;
    const VkDynamicState dynamic = VK_DYNAMIC_STATE_RAY_TRACING_PIPELINE_STACK_SIZE_KHR;
    const VkPipelineDynamicStateCreateInfo state = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                    .dynamicStateCount = 1,
                                                    .pDynamicStates = &dynamic};
    const VkRayTracingPipelineInterfaceCreateInfoKHR interface = {
        .sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_INTERFACE_CREATE_INFO_KHR,
        .maxPipelineRayPayloadSize = 4,
        .maxPipelineRayHitAttributeSize = 8};
    VkPipelineShaderStageCreateInfo stages[GROUPS] = {
        stage_of(app, VK_SHADER_STAGE_RAYGEN_BIT_KHR, raypipe_rgen, sizeof(raypipe_rgen)),
        stage_of(app, callable, raypipe_scale_rcall, sizeof(raypipe_scale_rcall)),
        stage_of(app, callable, raypipe_mix_rcall, sizeof(raypipe_mix_rcall)),
        stage_of(app, callable, raypipe_follow_rcall, sizeof(raypipe_follow_rcall))};
    VkRayTracingShaderGroupCreateInfoKHR groups[GROUPS];
    VkRayTracingPipelineCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR};
    VkPipelineLibraryCreateInfoKHR libraries = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR};

    for (uint32_t i = 0; i < GROUPS; i++)
        groups[i] =
            (VkRayTracingShaderGroupCreateInfoKHR){.sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
                                                   .type = VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR,
                                                   .generalShader = i,
                                                   .closestHitShader = VK_SHADER_UNUSED_KHR,
                                                   .anyHitShader = VK_SHADER_UNUSED_KHR,
                                                   .intersectionShader = VK_SHADER_UNUSED_KHR};
    info.pStages = stages;
    info.pGroups = groups;
    info.stageCount = info.groupCount = job->libraries ? MIX : GROUPS;
    info.maxPipelineRayRecursionDepth = 1;
    info.layout = job->layout;
    info.pDynamicState = &state;
    if (job->libraries) { /* the other groups, which come behind */
        VkRayTracingPipelineCreateInfoKHR other = info;
        other.flags = VK_PIPELINE_CREATE_LIBRARY_BIT_KHR;
        other.pStages = stages + MIX;
        other.stageCount = other.groupCount = GROUPS - MIX;
        other.pLibraryInterface = info.pLibraryInterface = &interface;
        job->library = create_rays(app, job, &other);
        libraries.libraryCount = 1;
        libraries.pLibraries = &job->library;
        info.pLibraryInfo = &libraries;
    }
    job->pipeline = create_rays(app, job, &info);
    for (uint32_t i = 0; i < GROUPS; i++)
        vkDestroyShaderModule(app->device, stages[i].module, NULL);
    job->count = app_compute_pipeline(app, raypipe_count_comp, sizeof(raypipe_count_comp), job->layout);
}

static void get_groups(const struct app *app, struct job *job)
{
    const uint32_t bytes = job->rays.shaderGroupHandleSize;
    uint32_t most = 0;

    /* In two calls, the later groups first. */
    CHECK_VK(job->vk.get_handles(app->device, job->pipeline, 1, GROUPS - 1, (GROUPS - 1) * bytes,
                                 job->group_handles + bytes));
    CHECK_VK(job->vk.get_handles(app->device, job->pipeline, 0, 1, bytes, job->group_handles));
    for (uint32_t i = SCALE; i < GROUPS; i++) {
        uint32_t size =
            (uint32_t)job->vk.get_stack_size(app->device, job->pipeline, i, VK_SHADER_GROUP_SHADER_GENERAL_KHR);
        most = size > most ? size : most;
    }
    job->stack_bytes = most * 2 + (uint32_t)job->vk.get_stack_size(app->device, job->pipeline, RAYGEN,
                                                                   VK_SHADER_GROUP_SHADER_GENERAL_KHR);
}

static void create(const struct app *app, struct job *job)
{
    const VkShaderStageFlags stages =
        VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR | VK_SHADER_STAGE_COMPUTE_BIT;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stages, NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    VkCommandBufferAllocateInfo secondary = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};

    create_places(app, job);
    job->set_layout = app_set_layout(app, 1, &binding);
    pool.maxSets = pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    write.dstSet = job->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &(VkDescriptorBufferInfo){job->result.buffer.buffer, 0, VK_WHOLE_SIZE};
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, stages, 4);
    create_pipelines(app, job);
    get_groups(app, job);
    memcpy(job->handles.buffer.mapped, job->group_handles, sizeof job->group_handles);
    app_buffer_flush(app, &job->handles.buffer, 0, sizeof job->group_handles);
    secondary.commandPool = app->pool;
    secondary.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    secondary.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &secondary, &job->secondary));
}

/* ---- tables ---- */

static enum kind kind_of(uint32_t frame, uint32_t run, uint32_t callable)
{
    return (enum kind)(SCALE + (callable + frame + run) % 3);
}

struct record {
    uint32_t words[2];
};

static struct record record_of(const struct job *job, uint32_t frame, uint32_t run, uint32_t callable)
{
    switch (kind_of(frame, run, callable)) {
    case SCALE:
        return (struct record){{callable + 2, frame * 10 + run}};
    case MIX:
        return (struct record){{0x10 + frame + callable, 1 + run}};
    default:
        return (struct record){{(uint32_t)job->words.address, (uint32_t)(job->words.address >> 32)}};
    }
}

static struct record raygen_record(uint32_t frame, uint32_t run)
{
    return (struct record){{1000 * frame + 7 * run, CALLABLES}};
}

static uint32_t expected(uint32_t frame, uint32_t run, uint32_t launch)
{
    uint32_t callable = launch % CALLABLES, value = launch;

    switch (kind_of(frame, run, callable)) {
    case SCALE:
        value = value * (callable + 2) + frame * 10 + run;
        break;
    case MIX:
        value = (value ^ (0x10 + frame + callable)) << (1 + run);
        break;
    default:
        value += frame * 100 + value % WORDS;
        break;
    }
    return value + 1000 * frame + 7 * run;
}

/* The byte of a buffer where the tables of a run begin. */
static VkDeviceSize begin_of(const struct job *job, const struct place *place, uint32_t run)
{
    return align(place->address, job->rays.shaderGroupBaseAlignment) - place->address + run * job->tables.bytes;
}

static VkDeviceSize record_at(const struct job *job, uint32_t number)
{
    return number == 0 ? 0 : job->tables.callable + (number - 1) * job->tables.stride;
}

static struct record record_number(const struct job *job, uint32_t frame, uint32_t run, uint32_t number)
{
    return number == 0 ? raygen_record(frame, run) : record_of(job, frame, run, number - 1);
}

static enum kind kind_number(uint32_t frame, uint32_t run, uint32_t number)
{
    return number == 0 ? RAYGEN : kind_of(frame, run, number - 1);
}

static void fill(const struct job *job, uint8_t *tables, uint32_t frame, uint32_t run)
{
    const uint32_t bytes = job->rays.shaderGroupHandleSize;

    for (uint32_t i = 0; i <= CALLABLES; i++) {
        const struct record record = record_number(job, frame, run, i);
        uint8_t *at = tables + record_at(job, i);
        memcpy(at, job->group_handles + kind_number(frame, run, i) * bytes, bytes);
        memcpy(at + bytes, &record, sizeof record);
    }
}

/* Handles are copied from where they lie, and the rest is in the command buffer. */
static void gather(const struct job *job, VkCommandBuffer commands, uint32_t frame, uint32_t run)
{
    const uint32_t bytes = job->rays.shaderGroupHandleSize;
    const VkDeviceSize begin = begin_of(job, &job->table, run);

    for (uint32_t i = 0; i <= CALLABLES; i++) {
        const struct record record = record_number(job, frame, run, i);
        const VkBufferCopy copy = {kind_number(frame, run, i) * bytes, begin + record_at(job, i), bytes};
        vkCmdCopyBuffer(commands, job->handles.buffer.buffer, job->table.buffer.buffer, 1, &copy);
        vkCmdUpdateBuffer(commands, job->table.buffer.buffer, copy.dstOffset + bytes, sizeof record, &record);
    }
}

enum making { MAPPED, STAGED, GATHERED, MAKINGS };

/* Returns where the tables are. */
static const struct place *make_tables(const struct app *app, struct job *job, VkCommandBuffer commands,
                                       enum making making, uint32_t frame)
{
    struct place *to = making == MAPPED ? &job->mapped_table : &job->table;

    for (uint32_t run = 0; run < RUNS; run++) {
        VkDeviceSize begin = begin_of(job, to, run);
        if (making == MAPPED)
            fill(job, job->mapped_table.buffer.mapped + begin, frame, run);
        else if (making == STAGED)
            fill(job, job->staging.buffer.mapped + run * job->tables.bytes, frame, run);
        else
            gather(job, commands, frame, run);
    }
    app_buffer_flush(app, &job->mapped_table.buffer, 0, job->mapped_table.buffer.size);
    app_buffer_flush(app, &job->staging.buffer, 0, job->staging.buffer.size);
    if (making == STAGED)
        vkCmdCopyBuffer(commands, job->staging.buffer.buffer, job->table.buffer.buffer, 1,
                        &(VkBufferCopy){0, begin_of(job, &job->table, 0), RUNS * job->tables.bytes});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
    return to;
}

/* ---- a frame ---- */

enum way { DIRECT, INDIRECT, INDIRECT2, WAYS };

static void trace(const struct app *app, struct job *job, VkCommandBuffer commands, enum way way,
                  const struct place *tables, uint32_t run)
{
    const VkDeviceAddress begin = tables->address + begin_of(job, tables, run);
    const VkStridedDeviceAddressRegionKHR none = {0},
                                          raygen = {begin, job->tables.raygen_bytes, job->tables.raygen_bytes},
                                          callable = {begin + job->tables.callable, job->tables.stride,
                                                      CALLABLES * job->tables.stride};
    const VkTraceRaysIndirectCommandKHR extent = {LAUNCHES / 4, 4, 1};
    const VkTraceRaysIndirectCommand2KHR command = {.raygenShaderRecordAddress = raygen.deviceAddress,
                                                    .raygenShaderRecordSize = raygen.size,
                                                    .callableShaderBindingTableAddress = callable.deviceAddress,
                                                    .callableShaderBindingTableSize = callable.size,
                                                    .callableShaderBindingTableStride = callable.stride,
                                                    .width = LAUNCHES / 4,
                                                    .height = 4,
                                                    .depth = 1};
    uint8_t *extents = job->extents.buffer.mapped + run * 256;
    const uint32_t first = run * LAUNCHES;

    vkCmdPushConstants(commands, job->layout,
                       VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR | VK_SHADER_STAGE_COMPUTE_BIT,
                       0, sizeof first, &first);
    if (way == INDIRECT2)
        memcpy(extents, &command, sizeof command);
    else
        memcpy(extents, &extent, sizeof extent);
    app_buffer_flush(app, &job->extents.buffer, 0, job->extents.buffer.size);
    if (way == DIRECT)
        job->vk.trace(commands, &raygen, &none, &none, &callable, extent.width, extent.height, extent.depth);
    else if (way == INDIRECT)
        job->vk.trace_indirect(commands, &raygen, &none, &none, &callable, job->extents.address + run * 256);
    else
        job->vk.trace_indirect2(commands, job->extents.address + run * 256);
}

/* The rays, and behind them a dispatch that counts. */
static void record(const struct app *app, struct job *job, VkCommandBuffer commands, enum way way,
                   const struct place *tables)
{
    const VkShaderStageFlags stages =
        VK_SHADER_STAGE_RAYGEN_BIT_KHR | VK_SHADER_STAGE_CALLABLE_BIT_KHR | VK_SHADER_STAGE_COMPUTE_BIT;
    const uint32_t counted = RUNS * LAUNCHES;

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->count);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, job->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, job->layout, 0, 1, &job->set, 0, NULL);
    job->vk.set_stack_size(commands, job->stack_bytes);
    for (uint32_t run = 0; run < RUNS; run++)
        trace(app, job, commands, way, tables, run);
    vkCmdPushConstants(commands, job->layout, stages, 0, sizeof counted, &counted);
    vkCmdDispatch(commands, 1, 1, 1);
}

static void frame(const struct app *app, struct job *job, uint32_t number)
{
    const enum making making = (enum making)(number % MAKINGS);
    enum way way = (enum way)(number / MAKINGS % WAYS);
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer commands = app_begin(app);
    const uint32_t *result = (const uint32_t *)job->result.buffer.mapped;
    const struct place *tables;

    if ((way == INDIRECT && !job->indirect) || (way == INDIRECT2 && !job->indirect2))
        way = DIRECT;
    for (uint32_t i = 0; i < WORDS; i++)
        ((uint32_t *)job->words.buffer.mapped)[i] = number * 100 + i;
    app_buffer_flush(app, &job->words.buffer, 0, WORDS * 4);
    vkCmdFillBuffer(commands, job->result.buffer.buffer, 0, VK_WHOLE_SIZE, number);
    tables = make_tables(app, job, commands, making, number);
    if (number % 2) {
        begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
        begin.pInheritanceInfo = &inherits;
        CHECK_VK(vkBeginCommandBuffer(job->secondary, &begin));
        record(app, job, job->secondary, way, tables);
        CHECK_VK(vkEndCommandBuffer(job->secondary));
        vkCmdExecuteCommands(commands, 1, &job->secondary);
    } else {
        record(app, job, commands, way, tables);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->result.buffer, 0, job->result.buffer.size);
    for (uint32_t run = 0; run < RUNS; run++)
        for (uint32_t i = 0; i < LAUNCHES; i++)
            EXPECT_EQ(app, result[run * LAUNCHES + i], expected(number, run, i));
    EXPECT_EQ(app, result[RUNS * LAUNCHES], number + 1);
}

static void destroy(const struct app *app, struct job *job)
{
    struct place *places[] = {&job->words, &job->staging, &job->handles, &job->mapped_table,
                              &job->table, &job->extents, &job->result};

    vkDestroyPipeline(app->device, job->count, NULL);
    vkDestroyPipeline(app->device, job->pipeline, NULL);
    vkDestroyPipeline(app->device, job->library, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyDescriptorPool(app->device, job->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        app_buffer_destroy(app, &places[i]->buffer);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--deferred", "create pipelines with a deferred operation", &use_deferred, NULL},
        {"--library", "link some shaders from a pipeline library", &use_library, NULL},
        {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "raypipe", .what = "ray-tracing pipelines and shader binding tables", .frames = 9, .options = options};
    struct app app;
    struct job job = {0};

    app_init(&app, argc, argv, &program);
    create_device(&app, &job);
    load(&app, &job);
    create(&app, &job);
    for (uint32_t i = 0; i < app.frames; i++)
        frame(&app, &job, i);
    destroy(&app, &job);
    return app_finish(&app);
}
