/* SPDX-License-Identifier: MIT */
/*
 * micromaps: a square of two triangles, of which an opacity micromap makes one transparent. The micromap is built,
 * copied and destroyed before the square is traced. One ray goes through, the other does not.
 */
#include "common/app.h"
#include "shaders/ray_query_comp.h"

#define BYTES (1u << 20) /* of each buffer */
#define PLACE 256u       /* alignment in buffers */

/* Where things lie in the input buffer. */
enum { VERTICES = 0, OPACITY = 256, TRIANGLES = 512, INSTANCES = 1024 };

struct functions {
    PFN_vkCreateMicromapEXT create_micromap;
    PFN_vkDestroyMicromapEXT destroy_micromap;
    PFN_vkGetMicromapBuildSizesEXT get_micromap_sizes;
    PFN_vkCmdBuildMicromapsEXT build_micromaps;
    PFN_vkCmdCopyMicromapEXT copy_micromap;
    PFN_vkCreateAccelerationStructureKHR create;
    PFN_vkDestroyAccelerationStructureKHR destroy;
    PFN_vkGetAccelerationStructureBuildSizesKHR get_sizes;
    PFN_vkGetAccelerationStructureDeviceAddressKHR get_address;
    PFN_vkCmdBuildAccelerationStructuresKHR build;
};

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct job {
    struct functions vk;
    struct place input, storage, scratch;
    struct app_buffer result;
    VkDeviceSize used, alignment;
    VkMicromapEXT micromaps[2];
    VkAccelerationStructureKHR square, scene;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
};

struct push {
    uint32_t grid, mask, first;
};

static const VkMicromapUsageEXT usage = {
    .count = 2, .subdivisionLevel = 0, .format = VK_OPACITY_MICROMAP_FORMAT_2_STATE_EXT};

static void create_place(const struct app *app, struct place *place, VkBufferUsageFlags kind, bool mapped)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES};
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;
    void *data = NULL;

    create.usage = kind | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    buffer->size = BYTES;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    allocate.allocationSize = buffer->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, mapped ? APP_UPLOAD : APP_DEVICE);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    address.buffer = buffer->buffer;
    place->address = vkGetBufferDeviceAddress(app->device, &address);
    if (mapped) {
        CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &data));
        buffer->mapped = data;
        memset(data, 0, BYTES);
    }
}

static VkDeviceSize take(struct job *job, VkDeviceSize bytes)
{
    VkDeviceSize offset = job->used;
    job->used += (bytes + PLACE - 1) / PLACE * PLACE;
    CHECK(job->used <= BYTES);
    return offset;
}

static VkDeviceAddress scratch(const struct job *job)
{
    return (job->scratch.address + job->alignment - 1) / job->alignment * job->alignment;
}

static void built(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

static void write_input(const struct app *app, struct job *job, VkDeviceAddress square)
{
    static const float vertices[][3] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const uint8_t opacity[] = {1, 0}; /* the first triangle, the second one */
    static const VkMicromapTriangleEXT triangles[] = {{0, 0, VK_OPACITY_MICROMAP_FORMAT_2_STATE_EXT},
                                                      {1, 0, VK_OPACITY_MICROMAP_FORMAT_2_STATE_EXT}};
    /* As it is, and beside it from the other side. */
    const VkAccelerationStructureInstanceKHR instances[] = {
        {.transform.matrix = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
         .instanceCustomIndex = 1,
         .mask = 1,
         .accelerationStructureReference = square},
        {.transform.matrix = {{-1, 0, 0, 2}, {0, 1, 0, 0}, {0, 0, 1, 0}},
         .instanceCustomIndex = 2,
         .mask = 1,
         .accelerationStructureReference = square}};

    memcpy(job->input.buffer.mapped + VERTICES, vertices, sizeof vertices);
    memcpy(job->input.buffer.mapped + OPACITY, opacity, sizeof opacity);
    memcpy(job->input.buffer.mapped + TRIANGLES, triangles, sizeof triangles);
    memcpy(job->input.buffer.mapped + INSTANCES, instances, sizeof instances);
    app_buffer_flush(app, &job->input.buffer, 0, BYTES);
}

/* The second one is a copy of the first, which ends then. */
static void build_micromaps(const struct app *app, struct job *job)
{
    VkMicromapCreateInfoEXT create = {.sType = VK_STRUCTURE_TYPE_MICROMAP_CREATE_INFO_EXT};
    VkMicromapBuildInfoEXT info = {.sType = VK_STRUCTURE_TYPE_MICROMAP_BUILD_INFO_EXT};
    VkMicromapBuildSizesInfoEXT sizes = {.sType = VK_STRUCTURE_TYPE_MICROMAP_BUILD_SIZES_INFO_EXT};
    VkCopyMicromapInfoEXT copy = {.sType = VK_STRUCTURE_TYPE_COPY_MICROMAP_INFO_EXT};
    VkCommandBuffer commands = app_begin(app);

    info.type = VK_MICROMAP_TYPE_OPACITY_MICROMAP_EXT;
    info.mode = VK_BUILD_MICROMAP_MODE_BUILD_EXT;
    info.usageCountsCount = 1;
    info.pUsageCounts = &usage;
    job->vk.get_micromap_sizes(app->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &sizes);
    create.buffer = job->storage.buffer.buffer;
    create.size = sizes.micromapSize;
    create.type = info.type;
    for (uint32_t i = 0; i < 2; i++) {
        create.offset = take(job, sizes.micromapSize);
        CHECK_VK(job->vk.create_micromap(app->device, &create, NULL, &job->micromaps[i]));
    }
    info.dstMicromap = job->micromaps[0];
    info.data.deviceAddress = job->input.address + OPACITY;
    info.triangleArray.deviceAddress = job->input.address + TRIANGLES;
    info.triangleArrayStride = sizeof(VkMicromapTriangleEXT);
    info.scratchData.deviceAddress = scratch(job);
    CHECK(sizes.buildScratchSize < BYTES - job->alignment);
    job->vk.build_micromaps(commands, 1, &info);
    built(commands);
    copy.src = job->micromaps[0];
    copy.dst = job->micromaps[1];
    copy.mode = VK_COPY_MICROMAP_MODE_CLONE_EXT;
    job->vk.copy_micromap(commands, &copy);
    app_run(app, commands);
    job->vk.destroy_micromap(app->device, job->micromaps[0], NULL);
}

static VkDeviceAddress build(const struct app *app, struct job *job, VkAccelerationStructureTypeKHR type,
                             const VkAccelerationStructureGeometryKHR *geometry, VkAccelerationStructureKHR *out)
{
    const VkAccelerationStructureBuildRangeInfoKHR range = {.primitiveCount = 2}, *ranges = &range;
    VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .geometryCount = 1,
        .pGeometries = geometry};
    VkAccelerationStructureBuildSizesInfoKHR sizes = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
    VkAccelerationStructureCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR};
    VkAccelerationStructureDeviceAddressInfoKHR address = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR};
    VkCommandBuffer commands = app_begin(app);

    info.type = create.type = type;
    job->vk.get_sizes(app->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &info, &range.primitiveCount,
                      &sizes);
    create.buffer = job->storage.buffer.buffer;
    create.size = sizes.accelerationStructureSize;
    create.offset = take(job, create.size);
    CHECK_VK(job->vk.create(app->device, &create, NULL, out));
    info.dstAccelerationStructure = address.accelerationStructure = *out;
    info.scratchData.deviceAddress = scratch(job);
    CHECK(sizes.buildScratchSize < BYTES - job->alignment);
    job->vk.build(commands, 1, &info, &ranges);
    built(commands);
    app_run(app, commands);
    return job->vk.get_address(app->device, &address);
}

static void build_scene(const struct app *app, struct job *job)
{
    VkAccelerationStructureTrianglesOpacityMicromapEXT micromap = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_TRIANGLES_OPACITY_MICROMAP_EXT};
    VkAccelerationStructureGeometryKHR square = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR},
                                       instances = square;
    VkAccelerationStructureGeometryTrianglesDataKHR *triangles = &square.geometry.triangles;

    write_input(app, job, 0);
    build_micromaps(app, job);
    micromap.indexType = VK_INDEX_TYPE_NONE_KHR;
    micromap.usageCountsCount = 1;
    micromap.pUsageCounts = &usage;
    micromap.micromap = job->micromaps[1];
    square.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
    triangles->sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR;
    triangles->pNext = &micromap;
    triangles->vertexFormat = VK_FORMAT_R32G32B32_SFLOAT;
    triangles->vertexData.deviceAddress = job->input.address + VERTICES;
    triangles->vertexStride = 3 * sizeof(float);
    triangles->maxVertex = 5;
    triangles->indexType = VK_INDEX_TYPE_NONE_KHR;
    write_input(app, job, build(app, job, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, &square, &job->square));
    instances.geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
    instances.geometry.instances.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR;
    instances.geometry.instances.data.deviceAddress = job->input.address + INSTANCES;
    build(app, job, VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR, &instances, &job->scene);
}

static void create_pipeline(const struct app *app, struct job *job)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1}};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 2, .pPoolSizes = sizes};
    const VkDescriptorBufferInfo result = {job->result.buffer, 0, VK_WHOLE_SIZE};
    const VkWriteDescriptorSetAccelerationStructureKHR scene = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
        .accelerationStructureCount = 1,
        .pAccelerationStructures = &job->scene};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .pNext = &scene},
                                      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .pBufferInfo = &result}};

    job->set_layout = app_set_layout(app, 2, bindings);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
    job->pipeline = app_compute_pipeline(app, ray_query_comp, sizeof ray_query_comp, job->layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->descriptors));
    allocate.descriptorPool = job->descriptors;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    for (uint32_t i = 0; i < 2; i++) {
        writes[i].dstSet = job->set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = sizes[i].type;
    }
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
}

static void ask(const struct app *app, struct job *job)
{
    const struct push push = {2, 1, 0};
    const uint32_t *found = (const uint32_t *)job->result.mapped;
    VkCommandBuffer commands = app_begin(app);

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, 1, 1, 1);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->result, 0, job->result.size);
    EXPECT_EQ(app, found[0], UINT32_MAX); /* through the second triangle */
    EXPECT_EQ(app, found[2], 2 << 16);
    EXPECT_EQ(app, found[3], 32 * 16);
}

static void destroy(const struct app *app, struct job *job)
{
    job->vk.destroy(app->device, job->scene, NULL);
    job->vk.destroy(app->device, job->square, NULL);
    job->vk.destroy_micromap(app->device, job->micromaps[1], NULL);
    vkDestroyPipeline(app->device, job->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyDescriptorPool(app->device, job->descriptors, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    app_buffer_destroy(app, &job->input.buffer);
    app_buffer_destroy(app, &job->storage.buffer);
    app_buffer_destroy(app, &job->scratch.buffer);
    app_buffer_destroy(app, &job->result);
}

static void load(const struct app *app, struct functions *vk)
{
#define LOAD(member, name) vk->member = (PFN_##name)app_device_function(app, #name)
    LOAD(create_micromap, vkCreateMicromapEXT);
    LOAD(destroy_micromap, vkDestroyMicromapEXT);
    LOAD(get_micromap_sizes, vkGetMicromapBuildSizesEXT);
    LOAD(build_micromaps, vkCmdBuildMicromapsEXT);
    LOAD(copy_micromap, vkCmdCopyMicromapEXT);
    LOAD(create, vkCreateAccelerationStructureKHR);
    LOAD(destroy, vkDestroyAccelerationStructureKHR);
    LOAD(get_sizes, vkGetAccelerationStructureBuildSizesKHR);
    LOAD(get_address, vkGetAccelerationStructureDeviceAddressKHR);
    LOAD(build, vkCmdBuildAccelerationStructuresKHR);
#undef LOAD
}

int main(int argc, char **argv)
{
    static const char *const extensions[] = {"VK_KHR_deferred_host_operations", "VK_KHR_acceleration_structure",
                                             "VK_KHR_ray_query", "VK_KHR_synchronization2", "VK_EXT_opacity_micromap"};
    static const struct app_program program = {
        .name = "micromaps", .what = "Traces a square that an opacity micromap makes half transparent.", .frames = 3};
    VkPhysicalDeviceAccelerationStructurePropertiesKHR limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &limits};
    VkPhysicalDeviceOpacityMicromapFeaturesEXT micromaps = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_OPACITY_MICROMAP_FEATURES_EXT, .micromap = VK_TRUE};
    VkPhysicalDeviceSynchronization2Features synchronization = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        .pNext = &micromaps,
        .synchronization2 = VK_TRUE};
    VkPhysicalDeviceRayQueryFeaturesKHR queries = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR,
                                                   .pNext = &synchronization,
                                                   .rayQuery = VK_TRUE};
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR,
        .pNext = &queries,
        .accelerationStructure = VK_TRUE};
    VkPhysicalDeviceVulkan12Features core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             .pNext = &structures,
                                             .bufferDeviceAddress = VK_TRUE};
    const struct app_device_request request = {
        .extensions = extensions, .extension_count = COUNT_OF(extensions), .next = &core};
    static struct job job;
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_2)
        app_skip(&app, "ray queries need Vulkan 1.2");
    for (uint32_t i = 0; i < COUNT_OF(extensions); i++)
        if (!app_has_extension(&app, extensions[i]))
            app_skip(&app, "the device has no micromaps, or no ray queries");
    vkGetPhysicalDeviceProperties2(app.physical, &properties);
    app_device_create(&app, &request);
    load(&app, &job.vk);
    job.alignment = limits.minAccelerationStructureScratchOffsetAlignment
                        ? limits.minAccelerationStructureScratchOffsetAlignment
                        : 1;
    create_place(&app, &job.input,
                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR |
                     VK_BUFFER_USAGE_MICROMAP_BUILD_INPUT_READ_ONLY_BIT_EXT,
                 true);
    create_place(&app, &job.storage,
                 VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR | VK_BUFFER_USAGE_MICROMAP_STORAGE_BIT_EXT,
                 false);
    create_place(&app, &job.scratch, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, false);
    app_buffer_create(&app, &job.result, 64, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    build_scene(&app, &job);
    create_pipeline(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        ask(&app, &job);
    destroy(&app, &job);
    return app_finish(&app);
}
