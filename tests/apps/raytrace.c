/* SPDX-License-Identifier: MIT */
/*
 * raytrace: rays through acceleration structures, with all kinds of shader groups: triangles with any-hit shaders,
 * boxes with intersection shaders, misses that the ray chooses, and a hit group without a shader. Each instance has a
 * record of its own in the hit table, and the host writes the tables anew for each frame.
 */
#include "common/app.h"
#include "shaders/raytrace_box_rchit.h"
#include "shaders/raytrace_box_rint.h"
#include "shaders/raytrace_flat_rahit.h"
#include "shaders/raytrace_flat_rchit.h"
#include "shaders/raytrace_rgen.h"
#include "shaders/raytrace_rmiss.h"

#define INSTANCES 8u
#define CELLS     (2 * INSTANCES) /* of which every other one has an instance */
#define MISSES    2u
#define SILENT    4u /* an instance whose hit group has no shader */
#define IGNORED   6u /* one that the any-hit shader leaves out */
#define MOST      256u

enum group { RAYGEN, MISS, FLAT, BOX, GROUPS };

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct structure {
    VkAccelerationStructureKHR handle;
    struct place storage;
    VkDeviceAddress address;
};

struct functions {
    PFN_vkCreateAccelerationStructureKHR create;
    PFN_vkDestroyAccelerationStructureKHR destroy;
    PFN_vkGetAccelerationStructureBuildSizesKHR get_sizes;
    PFN_vkGetAccelerationStructureDeviceAddressKHR get_address;
    PFN_vkCmdBuildAccelerationStructuresKHR build;
    PFN_vkCreateRayTracingPipelinesKHR create_pipelines;
    PFN_vkGetRayTracingShaderGroupHandlesKHR get_handles;
    PFN_vkCmdTraceRaysKHR trace;
};

struct job {
    struct functions vk;
    VkPhysicalDeviceRayTracingPipelinePropertiesKHR rays;
    VkDeviceSize scratch_alignment;
    struct place vertices, box, instances, table;
    struct app_buffer result;
    struct structure meshes[2], scene; /* a square and a box */
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    uint8_t handles[GROUPS * MOST];
    VkDeviceSize stride, miss, hit; /* of records; where tables begin */
};

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

static void fill(const struct app *app, struct place *place, const void *data, size_t bytes)
{
    memcpy(place->buffer.mapped, data, bytes);
    app_buffer_flush(app, &place->buffer, 0, bytes);
}

/* ---- structures ---- */

static void build(const struct app *app, struct job *job, struct structure *structure,
                  VkAccelerationStructureTypeKHR type, const VkAccelerationStructureGeometryKHR *geometry,
                  uint32_t primitives)
{
    VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = type,
        .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
        .geometryCount = 1,
        .pGeometries = geometry};
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    VkAccelerationStructureCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR,
                                                   .type = type};
    VkAccelerationStructureDeviceAddressInfoKHR asked = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR};
    const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = primitives};
    const VkAccelerationStructureBuildRangeInfoKHR *const ranges = &range;
    VkCommandBuffer commands = app_begin(app);
    struct place scratch;

    job->vk.get_sizes(app->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &primitives, &sizes);
    create_place(app, &structure->storage, sizes.accelerationStructureSize,
                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR, APP_DEVICE);
    create_place(app, &scratch, sizes.buildScratchSize + job->scratch_alignment, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                 APP_DEVICE);
    create.buffer = structure->storage.buffer.buffer;
    create.size = sizes.accelerationStructureSize;
    CHECK_VK(job->vk.create(app->device, &create, NULL, &structure->handle));
    asked.accelerationStructure = structure->handle;
    structure->address = job->vk.get_address(app->device, &asked);
    info.dstAccelerationStructure = structure->handle;
    info.scratchData.deviceAddress = align(scratch.address, job->scratch_alignment);
    job->vk.build(commands, 1, &info, &ranges);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
                       VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR,
                       VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR |
                           VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR,
                       VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR);
    app_run(app, commands);
    app_buffer_destroy(app, &scratch.buffer);
}

static void build_meshes(const struct app *app, struct job *job)
{
    const VkBufferUsageFlags input = VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
    static const float square[6][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const VkAabbPositionsKHR box = {0, 0, 0, 1, 1, 1};
    VkAccelerationStructureGeometryKHR geometry = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};

    create_place(app, &job->vertices, sizeof square, input, APP_UPLOAD);
    fill(app, &job->vertices, square, sizeof square);
    create_place(app, &job->box, sizeof box, input, APP_UPLOAD);
    fill(app, &job->box, &box, sizeof box);
    geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
    geometry.geometry.triangles = (VkAccelerationStructureGeometryTrianglesDataKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR,
        .vertexFormat = VK_FORMAT_R32G32B32_SFLOAT,
        .vertexData = {.deviceAddress = job->vertices.address},
        .vertexStride = sizeof square[0],
        .maxVertex = 5,
        .indexType = VK_INDEX_TYPE_NONE_KHR};
    build(app, job, &job->meshes[0], VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry, 2);
    geometry.geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
    geometry.geometry.aabbs = (VkAccelerationStructureGeometryAabbsDataKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR,
        .data = {.deviceAddress = job->box.address},
        .stride = sizeof box};
    build(app, job, &job->meshes[1], VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &geometry, 1);
}

static void build_scene(const struct app *app, struct job *job)
{
    VkAccelerationStructureInstanceKHR instances[INSTANCES];
    VkAccelerationStructureGeometryKHR geometry = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR,
                                                   .geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR};

    for (uint32_t i = 0; i < INSTANCES; i++)
        instances[i] =
            (VkAccelerationStructureInstanceKHR){.transform = {{{1, 0, 0, 2 * (float)i}, {0, 1, 0, 0}, {0, 0, 1, 0}}},
                                                 .instanceCustomIndex = i,
                                                 .mask = 0xff,
                                                 .instanceShaderBindingTableRecordOffset = i,
                                                 .accelerationStructureReference = job->meshes[i % 2].address};
    create_place(app, &job->instances, sizeof instances,
                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR, APP_UPLOAD);
    fill(app, &job->instances, instances, sizeof instances);
    geometry.geometry.instances = (VkAccelerationStructureGeometryInstancesDataKHR){
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR,
        .data = {.deviceAddress = job->instances.address}};
    build(app, job, &job->scene, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, &geometry, INSTANCES);
}

/* ---- the pipeline ---- */

static void create_pipeline(const struct app *app, struct job *job)
{
    const struct {
        VkShaderStageFlagBits stage;
        const uint32_t *words;
        size_t bytes;
    } shaders[] = {
        {VK_SHADER_STAGE_RAYGEN_BIT_KHR, raytrace_rgen, sizeof(raytrace_rgen)},
        {VK_SHADER_STAGE_MISS_BIT_KHR, raytrace_rmiss, sizeof(raytrace_rmiss)},
        {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, raytrace_flat_rchit, sizeof(raytrace_flat_rchit)},
        {VK_SHADER_STAGE_ANY_HIT_BIT_KHR, raytrace_flat_rahit, sizeof(raytrace_flat_rahit)},
        {VK_SHADER_STAGE_CLOSEST_HIT_BIT_KHR, raytrace_box_rchit, sizeof(raytrace_box_rchit)},
        {VK_SHADER_STAGE_INTERSECTION_BIT_KHR, raytrace_box_rint, sizeof(raytrace_box_rint)},
    };
    VkPipelineShaderStageCreateInfo stages[COUNT_OF(shaders)];
    VkRayTracingShaderGroupCreateInfoKHR groups[GROUPS];
    VkRayTracingPipelineCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR};

    for (uint32_t i = 0; i < COUNT_OF(shaders); i++)
        stages[i] = (VkPipelineShaderStageCreateInfo){.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = shaders[i].stage,
                                                      .module = app_shader(app, shaders[i].words, shaders[i].bytes),
                                                      .pName = "main"};
    for (uint32_t i = 0; i < GROUPS; i++)
        groups[i] = (VkRayTracingShaderGroupCreateInfoKHR){
            .sType = VK_STRUCTURE_TYPE_RAY_TRACING_SHADER_GROUP_CREATE_INFO_KHR,
            .type = i == FLAT  ? VK_RAY_TRACING_SHADER_GROUP_TYPE_TRIANGLES_HIT_GROUP_KHR
                    : i == BOX ? VK_RAY_TRACING_SHADER_GROUP_TYPE_PROCEDURAL_HIT_GROUP_KHR
                               : VK_RAY_TRACING_SHADER_GROUP_TYPE_GENERAL_KHR,
            .generalShader = i < FLAT ? i : VK_SHADER_UNUSED_KHR,
            .closestHitShader = i == FLAT  ? 2
                                : i == BOX ? 4
                                           : VK_SHADER_UNUSED_KHR,
            .anyHitShader = i == FLAT ? 3 : VK_SHADER_UNUSED_KHR,
            .intersectionShader = i == BOX ? 5 : VK_SHADER_UNUSED_KHR};
    info.stageCount = COUNT_OF(shaders);
    info.pStages = stages;
    info.groupCount = GROUPS;
    info.pGroups = groups;
    info.maxPipelineRayRecursionDepth = 1;
    info.layout = job->layout;
    CHECK_VK(job->vk.create_pipelines(app->device, VK_NULL_HANDLE, VK_NULL_HANDLE, 1, &info, NULL, &job->pipeline));
    for (uint32_t i = 0; i < COUNT_OF(shaders); i++)
        vkDestroyShaderModule(app->device, stages[i].module, NULL);
    CHECK_VK(job->vk.get_handles(app->device, job->pipeline, 0, GROUPS, GROUPS * job->rays.shaderGroupHandleSize,
                                 job->handles));
}

static void create_set(const struct app *app, struct job *job)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1, VK_SHADER_STAGE_RAYGEN_BIT_KHR, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_RAYGEN_BIT_KHR, NULL}};
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkWriteDescriptorSetAccelerationStructureKHR scene = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
        .accelerationStructureCount = 1,
        .pAccelerationStructures = &job->scene.handle};
    const VkDescriptorBufferInfo result = {job->result.buffer, 0, VK_WHOLE_SIZE};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkWriteDescriptorSet writes[2];

    job->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, 0, 0);
    pool.maxSets = 1;
    pool.poolSizeCount = COUNT_OF(sizes);
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    for (uint32_t i = 0; i < COUNT_OF(writes); i++)
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .pNext = i == 0 ? &scene : NULL,
                                           .dstSet = job->set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = bindings[i].descriptorType,
                                           .pBufferInfo = i == 1 ? &result : NULL};
    vkUpdateDescriptorSets(app->device, COUNT_OF(writes), writes, 0, NULL);
}

/* ---- frames ---- */

static void lay_out(const struct app *app, struct job *job)
{
    const VkDeviceSize base = job->rays.shaderGroupBaseAlignment;

    job->stride = align(job->rays.shaderGroupHandleSize + 4, job->rays.shaderGroupHandleAlignment);
    job->miss = align(job->stride, base);
    job->hit = align(job->miss + MISSES * job->stride, base);
    create_place(app, &job->table, base + job->hit + INSTANCES * job->stride,
                 VK_BUFFER_USAGE_SHADER_BINDING_TABLE_BIT_KHR, APP_UPLOAD);
}

static uint32_t miss_word(uint32_t frame, uint32_t number)
{
    return 500 + frame * 10 + number;
}

static uint32_t hit_word(uint32_t frame, uint32_t instance)
{
    return 100 + frame * 20 + instance;
}

static void write_record(const struct job *job, uint8_t *at, enum group group, uint32_t word)
{
    const uint32_t bytes = job->rays.shaderGroupHandleSize;

    if (group == GROUPS)
        memset(at, 0, bytes);
    else
        memcpy(at, job->handles + group * bytes, bytes);
    memcpy(at + bytes, &word, sizeof word);
}

static void write_tables(const struct app *app, struct job *job, VkDeviceSize begin, uint32_t frame)
{
    uint8_t *tables = job->table.buffer.mapped + begin;

    write_record(job, tables, RAYGEN, 0);
    for (uint32_t i = 0; i < MISSES; i++)
        write_record(job, tables + job->miss + i * job->stride, MISS, miss_word(frame, i));
    for (uint32_t i = 0; i < INSTANCES; i++)
        write_record(job, tables + job->hit + i * job->stride,
                     i == SILENT ? GROUPS
                     : i % 2     ? BOX
                                 : FLAT,
                     hit_word(frame, i));
    app_buffer_flush(app, &job->table.buffer, 0, job->table.buffer.size);
}

static uint32_t expected(uint32_t frame, uint32_t cell)
{
    uint32_t instance = cell / 2;

    if (cell % 2 || instance == IGNORED)
        return miss_word(frame, cell / 2 % 2);
    if (instance == SILENT)
        return 7; /* as the ray began */
    return instance % 2 ? hit_word(frame, instance) * 3 + 5 : hit_word(frame, instance) + instance * 1000;
}

static void run_frame(const struct app *app, struct job *job, uint32_t frame)
{
    const VkDeviceAddress tables = align(job->table.address, job->rays.shaderGroupBaseAlignment);
    const VkStridedDeviceAddressRegionKHR raygen = {tables, job->stride, job->stride},
                                          miss = {tables + job->miss, job->stride, MISSES * job->stride},
                                          hit = {tables + job->hit, job->stride, INSTANCES * job->stride}, none = {0};
    VkCommandBuffer commands = app_begin(app);

    write_tables(app, job, tables - job->table.address, frame);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, job->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR, job->layout, 0, 1, &job->set, 0, NULL);
    job->vk.trace(commands, &raygen, &miss, &hit, &none, CELLS, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_RAY_TRACING_SHADER_BIT_KHR, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < CELLS; i++)
        EXPECT_EQ(app, ((const uint32_t *)job->result.mapped)[i], expected(frame, i));
}

/* ---- the device ---- */

static void create_device(struct app *app, struct job *job)
{
    static const char *const extensions[] = {VK_KHR_RAY_TRACING_PIPELINE_EXTENSION_NAME,
                                             VK_KHR_ACCELERATION_STRUCTURE_EXTENSION_NAME,
                                             VK_KHR_DEFERRED_HOST_OPERATIONS_EXTENSION_NAME};
    VkPhysicalDeviceAccelerationStructurePropertiesKHR limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &job->rays};
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
        .accelerationStructure = VK_TRUE};
    VkPhysicalDeviceRayTracingPipelineFeaturesKHR rays = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_FEATURES_KHR,
        .pNext = &structures,
        .rayTracingPipeline = VK_TRUE};
    VkPhysicalDeviceVulkan12Features core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &rays, .bufferDeviceAddress = VK_TRUE};
    struct app_device_request request = {
        .extensions = extensions, .extension_count = COUNT_OF(extensions), .next = &core};

    if (app->api_version < VK_API_VERSION_1_2)
        app_skip(app, "no Vulkan 1.2");
    for (uint32_t i = 0; i < COUNT_OF(extensions); i++)
        if (!app_has_extension(app, extensions[i]))
            app_skip(app, "no ray-tracing pipelines");
    job->rays.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR;
    job->rays.pNext = &limits;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    CHECK(job->rays.shaderGroupHandleSize <= MOST);
    job->scratch_alignment = limits.minAccelerationStructureScratchOffsetAlignment;
    app_device_create(app, &request);
#define LOAD(member, name) job->vk.member = (PFN_vk##name)app_device_function(app, "vk" #name)
    LOAD(create, CreateAccelerationStructureKHR);
    LOAD(destroy, DestroyAccelerationStructureKHR);
    LOAD(get_sizes, GetAccelerationStructureBuildSizesKHR);
    LOAD(get_address, GetAccelerationStructureDeviceAddressKHR);
    LOAD(build, CmdBuildAccelerationStructuresKHR);
    LOAD(create_pipelines, CreateRayTracingPipelinesKHR);
    LOAD(get_handles, GetRayTracingShaderGroupHandlesKHR);
    LOAD(trace, CmdTraceRaysKHR);
#undef LOAD
}

static void destroy(const struct app *app, struct job *job)
{
    struct structure *structures[] = {&job->scene, &job->meshes[0], &job->meshes[1]};
    struct place *places[] = {&job->vertices, &job->box, &job->instances, &job->table};

    vkDestroyPipeline(app->device, job->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyDescriptorPool(app->device, job->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    for (uint32_t i = 0; i < COUNT_OF(structures); i++) {
        job->vk.destroy(app->device, structures[i]->handle, NULL);
        app_buffer_destroy(app, &structures[i]->storage.buffer);
    }
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        app_buffer_destroy(app, &places[i]->buffer);
    app_buffer_destroy(app, &job->result);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "raytrace", .what = "rays through acceleration structures, with hit groups and misses", .frames = 4};
    struct app app;
    struct job job = {0};

    app_init(&app, argc, argv, &program);
    create_device(&app, &job);
    app_buffer_create(&app, &job.result, CELLS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    build_meshes(&app, &job);
    build_scene(&app, &job);
    create_set(&app, &job);
    create_pipeline(&app, &job);
    lay_out(&app, &job);
    for (uint32_t i = 0; i < app.frames; i++)
        run_frame(&app, &job, i);
    destroy(&app, &job);
    return app_finish(&app);
}
