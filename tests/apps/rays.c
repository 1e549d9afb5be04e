/* SPDX-License-Identifier: MIT */
/*
 * rays: a compute shader asks with ray queries what lies below each cell of a grid. Acceleration structures of
 * triangles and boxes lie side by side in one buffer; some are compacted, cloned, destroyed and built again in the same
 * bytes. The instances of the scene name them by address, and come from the host, from a copy, from a shader that gets
 * the addresses as push constants, or through pointers. Each frame the scene is built anew, or updated, in place or
 * into another structure. A recorder whose replay has other addresses and structures of another size must follow all
 * that.
 */
#include "common/app.h"
#include "shaders/ray_instances_comp.h"
#include "shaders/ray_query_comp.h"

#define GRID      16u
#define INSTANCES 20u
#define MESHES    4u
#define SKY       32.0f
#define POOL      (1u << 20) /* bytes for all structures */
#define PLACE     256u       /* alignment of structures in a buffer */
#define UPDATES                                                                                                        \
    (VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR | VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_BUILD_BIT_KHR)

/* A square of indexed triangles; one of twice the size by a transform; two boxes; two geometries at two heights. */
enum { SQUARE, WIDE, BOXES, STAIRS };

struct functions {
    PFN_vkCreateAccelerationStructureKHR create;
    PFN_vkDestroyAccelerationStructureKHR destroy;
    PFN_vkGetAccelerationStructureBuildSizesKHR get_sizes;
    PFN_vkGetAccelerationStructureDeviceAddressKHR get_address;
    PFN_vkCmdBuildAccelerationStructuresKHR build;
    PFN_vkCmdBuildAccelerationStructuresIndirectKHR build_indirect;
    PFN_vkCmdCopyAccelerationStructureKHR copy;
    PFN_vkCmdCopyAccelerationStructureToMemoryKHR serialize;
    PFN_vkCmdCopyMemoryToAccelerationStructureKHR deserialize;
    PFN_vkCmdWriteAccelerationStructuresPropertiesKHR write_properties;
    PFN_vkGetDeviceAccelerationStructureCompatibilityKHR is_compatible;
};

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct structure {
    VkAccelerationStructureKHR handle;
    VkDeviceAddress address;
    VkDeviceSize offset, bytes; /* in the pool */
};

struct item {
    uint32_t x, y, mesh, custom, mask;
    float height;
    bool active;
};

struct push {
    uint32_t grid, mask, first;
};

struct fill {
    VkDeviceAddress meshes[MESHES];
    uint32_t count;
};

struct job {
    struct functions vk;
    struct place vertices, indices, transform, boxes, ranges; /* inputs of builds */
    struct place pool, scratch, instances, staged, pointers, plan, serialized;
    struct app_buffer result;
    VkDeviceSize pool_used, scratch_alignment;
    struct structure meshes[MESHES], scenes[2];
    VkDeviceSize scene_scratch;
    struct item items[INSTANCES];
    VkDescriptorSetLayout set_layout, fill_set_layout;
    VkPipelineLayout layout, fill_layout;
    VkPipeline pipeline, fill_pipeline;
    VkDescriptorPool descriptors;
    VkDescriptorSet sets[2], fill_set;
    VkQueryPool queries;
};

static bool use_copy, use_shader, use_pointers, use_indirect, use_serialized, use_mapped, use_inactive, use_more,
    use_template, use_fleeting;

/* ---- memory ---- */

static void create_place(const struct app *app, struct place *place, VkDeviceSize size, VkBufferUsageFlags usage,
                         enum app_memory kind)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size};
    VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;
    void *mapped = NULL;

    create.usage = usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    *buffer = (struct app_buffer){.size = size};
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    allocate.allocationSize = buffer->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    address.buffer = buffer->buffer;
    place->address = vkGetBufferDeviceAddress(app->device, &address);
    CHECK(place->address || app->no_check);
    if (kind == APP_DEVICE)
        return;
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = mapped;
    memset(mapped, 0, size);
    app_buffer_flush(app, buffer, 0, size);
}

static void write_place(const struct app *app, struct place *place, VkDeviceSize offset, const void *data, size_t bytes)
{
    memcpy(place->buffer.mapped + offset, data, bytes);
    app_buffer_flush(app, &place->buffer, offset, bytes);
}

/* ---- structures ---- */

/* Another one at the end of the pool, or where one lay that is gone. */
static void create_structure(const struct app *app, struct job *job, struct structure *structure,
                             VkAccelerationStructureTypeKHR type, VkDeviceSize bytes, VkDeviceSize offset)
{
    VkAccelerationStructureCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_CREATE_INFO_KHR};
    VkAccelerationStructureDeviceAddressInfoKHR address = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_DEVICE_ADDRESS_INFO_KHR};

    if (offset == UINT64_MAX) {
        offset = job->pool_used;
        job->pool_used += (bytes + PLACE - 1) / PLACE * PLACE;
        CHECK(job->pool_used <= POOL);
    }
    structure->offset = create.offset = offset;
    structure->bytes = create.size = bytes;
    create.buffer = job->pool.buffer.buffer;
    create.type = type;
    CHECK_VK(job->vk.create(app->device, &create, NULL, &structure->handle));
    address.accelerationStructure = structure->handle;
    structure->address = job->vk.get_address(app->device, &address);
    CHECK(structure->address || app->no_check);
}

struct geometry {
    VkAccelerationStructureGeometryKHR geometries[2];
    const VkAccelerationStructureGeometryKHR *pointers[2];
    VkAccelerationStructureBuildRangeInfoKHR ranges[2];
    uint32_t counts[2];
    VkAccelerationStructureBuildGeometryInfoKHR info;
    VkAccelerationStructureBuildSizesInfoKHR sizes;
};

static VkAccelerationStructureGeometryKHR triangles(const struct job *job, VkIndexType type)
{
    VkAccelerationStructureGeometryKHR geometry = {.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR};
    VkAccelerationStructureGeometryTrianglesDataKHR *data = &geometry.geometry.triangles;

    geometry.geometryType = VK_GEOMETRY_TYPE_TRIANGLES_KHR;
    geometry.flags = VK_GEOMETRY_OPAQUE_BIT_KHR;
    data->sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_TRIANGLES_DATA_KHR;
    data->vertexFormat = VK_FORMAT_R32G32B32_SFLOAT;
    data->vertexData.deviceAddress = job->vertices.address;
    data->vertexStride = 3 * sizeof(float);
    data->maxVertex = 15;
    data->indexType = type;
    if (type != VK_INDEX_TYPE_NONE_KHR)
        data->indexData.deviceAddress = job->indices.address;
    return geometry;
}

static void describe_mesh(const struct app *app, const struct job *job, uint32_t mesh, struct geometry *out)
{
    VkAccelerationStructureGeometryKHR *geometry = out->geometries;
    uint32_t count = mesh == STAIRS ? 2 : 1;

    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        out->ranges[i].primitiveCount = out->counts[i] = 2;
    switch (mesh) {
    case SQUARE:
        geometry[0] = triangles(job, VK_INDEX_TYPE_UINT16);
        break;
    case WIDE: /* three corners for each triangle, behind the four of the square */
        geometry[0] = triangles(job, VK_INDEX_TYPE_NONE_KHR);
        geometry[0].geometry.triangles.transformData.deviceAddress = job->transform.address;
        out->ranges[0].primitiveOffset = 4 * 3 * sizeof(float);
        break;
    case BOXES:
        geometry[0].sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR;
        geometry[0].geometryType = VK_GEOMETRY_TYPE_AABBS_KHR;
        geometry[0].geometry.aabbs.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_AABBS_DATA_KHR;
        geometry[0].geometry.aabbs.data.deviceAddress = job->boxes.address;
        geometry[0].geometry.aabbs.stride = sizeof(VkAabbPositionsKHR);
        break;
    default: /* the second square lies two above, one to the right */
        geometry[0] = triangles(job, VK_INDEX_TYPE_UINT16);
        geometry[1] = triangles(job, VK_INDEX_TYPE_UINT32);
        out->ranges[1].primitiveOffset = 16;
        geometry[1].geometry.triangles.vertexData.deviceAddress += 10 * 3 * sizeof(float);
        geometry[1].geometry.triangles.maxVertex = 3;
        break;
    }
    out->info.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR;
    out->info.type = VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR;
    out->info.flags =
        mesh == SQUARE || mesh == STAIRS ? VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_COMPACTION_BIT_KHR : UPDATES;
#ifdef VK_KHR_ray_tracing_position_fetch
    if (use_more)
        out->info.flags |= VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_DATA_ACCESS_KHR;
#endif
    out->info.geometryCount = count;
    for (uint32_t i = 0; i < count; i++)
        out->pointers[i] = &geometry[i];
    if (mesh == STAIRS)
        out->info.ppGeometries = out->pointers;
    else
        out->info.pGeometries = geometry;
    out->sizes.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR;
    job->vk.get_sizes(app->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &out->info, out->counts,
                      &out->sizes);
    CHECK(out->sizes.accelerationStructureSize || app->no_check);
}

static VkDeviceSize aligned(VkDeviceSize bytes, VkDeviceSize alignment)
{
    return (bytes + alignment - 1) / alignment * alignment;
}

/* What builds wrote is read by later ones, copies and queries. */
static void built(VkCommandBuffer commands)
{
    app_memory_barrier(commands,
                       VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR | VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
}

/* All meshes that `which` has, by one command, with scratch memory side by side. */
static void build_meshes(const struct app *app, struct job *job, VkCommandBuffer commands, uint32_t which,
                         const VkDeviceSize offsets[MESHES])
{
    static struct geometry geometries[MESHES];
    VkAccelerationStructureBuildGeometryInfoKHR infos[MESHES];
    const VkAccelerationStructureBuildRangeInfoKHR *ranges[MESHES];
    VkDeviceAddress scratch = aligned(job->scratch.address, job->scratch_alignment), indirect[MESHES];
    const uint32_t *counts[MESHES];
    uint32_t strides[MESHES], count = 0;

    for (uint32_t mesh = 0; mesh < MESHES; mesh++) {
        struct geometry *geometry = &geometries[mesh];
        if (!(which >> mesh & 1))
            continue;
        describe_mesh(app, job, mesh, geometry);
        create_structure(app, job, &job->meshes[mesh], VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR,
                         geometry->sizes.accelerationStructureSize, offsets ? offsets[mesh] : UINT64_MAX);
        geometry->info.dstAccelerationStructure = job->meshes[mesh].handle;
        geometry->info.scratchData.deviceAddress = scratch;
        scratch += aligned(geometry->sizes.buildScratchSize, job->scratch_alignment);
        CHECK(scratch <= job->scratch.address + job->scratch.buffer.size);
        infos[count] = geometry->info;
        ranges[count] = geometry->ranges;
        counts[count] = geometry->counts;
        strides[count] = sizeof *ranges[count];
        indirect[count] = job->ranges.address + mesh * sizeof geometry->ranges;
        if (use_indirect)
            write_place(app, &job->ranges, mesh * sizeof geometry->ranges, geometry->ranges, sizeof geometry->ranges);
        count++;
    }
    if (use_indirect)
        job->vk.build_indirect(commands, count, infos, indirect, strides, counts);
    else
        job->vk.build(commands, count, infos, ranges);
    built(commands);
}

static void create_inputs(const struct app *app, struct job *job)
{
    const VkBufferUsageFlags input = VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;

    static const float vertices[][3] = {
        {0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0},                       /* the square */
        {0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 0, 0}, {1, 1, 0}, {0, 1, 0}, /* the same without indices */
        {1, 0, 2}, {2, 0, 2}, {2, 1, 2}, {1, 1, 2},                       /* the upper stair */
        {0, 0, 0}, {0, 0, 0},
    };
    static const uint16_t short_indices[] = {0, 1, 2, 0, 2, 3, 0, 0};
    static const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    static const VkTransformMatrixKHR twice = {.matrix = {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 1, 0}}};
    static const VkAabbPositionsKHR boxes[] = {{0, 0, 0, 1, 1, 1}, {2, 0, 0, 3, 1, 1}};

    create_place(app, &job->vertices, 256, input, APP_UPLOAD);
    create_place(app, &job->indices, 256, input, APP_UPLOAD);
    create_place(app, &job->transform, 256, input, APP_UPLOAD);
    create_place(app, &job->boxes, 256, input, APP_UPLOAD);
    write_place(app, &job->vertices, 0, vertices, sizeof vertices);
    write_place(app, &job->indices, 0, short_indices, sizeof short_indices);
    write_place(app, &job->indices, sizeof short_indices, indices, sizeof indices);
    write_place(app, &job->transform, 0, &twice, sizeof twice);
    write_place(app, &job->boxes, 0, boxes, sizeof boxes);
}

/* What structures were built from is theirs no more. */
static void drop_inputs(const struct app *app, struct job *job)
{
    struct place *places[] = {&job->vertices, &job->indices, &job->transform, &job->boxes};

    for (uint32_t i = 0; i < COUNT_OF(places); i++) {
        memset(places[i]->buffer.mapped, 0, places[i]->buffer.size);
        app_buffer_destroy(app, &places[i]->buffer);
        *places[i] = (struct place){0};
    }
}

/* What a compact copy of a structure would need, in another way, and what it needs now. */
static void ask_sizes(const struct app *app, struct job *job, VkAccelerationStructureKHR structure,
                      VkDeviceSize compact_bytes, VkDeviceSize created_bytes)
{
    const VkMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                      .srcStageMask = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
                                      .srcAccessMask = VK_ACCESS_2_ACCELERATION_STRUCTURE_WRITE_BIT_KHR,
                                      .dstStageMask = VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_COPY_BIT_KHR,
                                      .dstAccessMask = VK_ACCESS_2_ACCELERATION_STRUCTURE_READ_BIT_KHR};
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
    VkQueryPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryCount = 1};
    PFN_vkCmdPipelineBarrier2KHR pipeline_barrier2 =
        (PFN_vkCmdPipelineBarrier2KHR)app_device_function(app, "vkCmdPipelineBarrier2KHR");
    VkCommandBuffer commands = app_begin(app);
    VkDeviceSize bytes = 0;
    VkQueryPool queries;

    create.queryType = VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SIZE_KHR;
    CHECK_VK(vkCreateQueryPool(app->device, &create, NULL, &queries));
    vkCmdResetQueryPool(commands, queries, 0, 1);
    pipeline_barrier2(commands, &dependency);
    job->vk.write_properties(commands, 1, &structure, create.queryType, queries, 0);
    app_run(app, commands);
    CHECK_VK(vkGetQueryPoolResults(app->device, queries, 0, 1, sizeof bytes, &bytes, sizeof bytes,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    CHECK((bytes >= compact_bytes && bytes <= created_bytes) || app->no_check);
    vkDestroyQueryPool(app->device, queries, NULL);
}

/* Compact copies of those meshes that allow it; what they were copied from goes, and its bytes are used again. */
static void compact_meshes(const struct app *app, struct job *job)
{
    const uint32_t which[] = {SQUARE, STAIRS};
    VkAccelerationStructureKHR handles[2];
    struct structure compact[2];
    VkDeviceSize sizes[2];
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < 2; i++)
        handles[i] = job->meshes[which[i]].handle;
    vkCmdResetQueryPool(commands, job->queries, 0, 2);
    job->vk.write_properties(commands, 2, handles, VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR,
                             job->queries, 0);
    app_run(app, commands);
    CHECK_VK(vkGetQueryPoolResults(app->device, job->queries, 0, 2, sizeof sizes, sizes, sizeof *sizes,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    if (use_more)
        ask_sizes(app, job, handles[0], sizes[0], job->meshes[which[0]].bytes);
    commands = app_begin(app);
    for (uint32_t i = 0; i < 2; i++) {
        VkCopyAccelerationStructureInfoKHR copy = {.sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_INFO_KHR};
        CHECK((sizes[i] && sizes[i] <= job->meshes[which[i]].bytes) || app->no_check);
        if (app->no_check && !sizes[i])
            sizes[i] = job->meshes[which[i]].bytes;
        create_structure(app, job, &compact[i], VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, sizes[i], UINT64_MAX);
        copy.src = handles[i];
        copy.dst = compact[i].handle;
        copy.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_COMPACT_KHR;
        job->vk.copy(commands, &copy);
    }
    built(commands);
    app_run(app, commands);
    for (uint32_t i = 0; i < 2; i++) {
        job->vk.destroy(app->device, handles[i], NULL);
        job->meshes[which[i]] = compact[i];
    }
}

/* A copy of the same size, which takes the place of its source. */
static void clone_mesh(const struct app *app, struct job *job, uint32_t mesh)
{
    VkCopyAccelerationStructureInfoKHR copy = {.sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_INFO_KHR};
    VkCommandBuffer commands = app_begin(app);
    struct structure clone;

    create_structure(app, job, &clone, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, job->meshes[mesh].bytes,
                     UINT64_MAX);
    copy.src = job->meshes[mesh].handle;
    copy.dst = clone.handle;
    copy.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_CLONE_KHR;
    job->vk.copy(commands, &copy);
    built(commands);
    app_run(app, commands);
    job->vk.destroy(app->device, job->meshes[mesh].handle, NULL);
    job->meshes[mesh] = clone;
}

/* Out of a structure into bytes, and back into another one. */
static void pass_through_bytes(const struct app *app, struct job *job, uint32_t mesh)
{
    VkCopyAccelerationStructureToMemoryInfoKHR out = {
        .sType = VK_STRUCTURE_TYPE_COPY_ACCELERATION_STRUCTURE_TO_MEMORY_INFO_KHR};
    VkCopyMemoryToAccelerationStructureInfoKHR in = {
        .sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_ACCELERATION_STRUCTURE_INFO_KHR};
    VkAccelerationStructureVersionInfoKHR version = {.sType =
                                                         VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_VERSION_INFO_KHR};
    VkAccelerationStructureCompatibilityKHR compatible;
    VkQueryPoolCreateInfo create = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryCount = 1};
    VkQueryPool queries;
    VkDeviceSize bytes = 0;
    uint64_t header[5] = {0};
    VkCommandBuffer commands = app_begin(app);
    struct structure fresh;

    create.queryType = VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR;
    CHECK_VK(vkCreateQueryPool(app->device, &create, NULL, &queries));
    vkCmdResetQueryPool(commands, queries, 0, 1);
    job->vk.write_properties(commands, 1, &job->meshes[mesh].handle, create.queryType, queries, 0);
    app_run(app, commands);
    CHECK_VK(vkGetQueryPoolResults(app->device, queries, 0, 1, sizeof bytes, &bytes, sizeof bytes,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    create_place(app, &job->serialized, bytes + PLACE, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    commands = app_begin(app);
    out.src = job->meshes[mesh].handle;
    out.dst.deviceAddress = aligned(job->serialized.address, PLACE);
    out.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_SERIALIZE_KHR;
    job->vk.serialize(commands, &out);
    built(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->serialized.buffer, 0, job->serialized.buffer.size);
    memcpy(header, job->serialized.buffer.mapped + (out.dst.deviceAddress - job->serialized.address), sizeof header);
    version.pVersionData = (const uint8_t *)header;
    job->vk.is_compatible(app->device, &version, &compatible);
    CHECK(compatible == VK_ACCELERATION_STRUCTURE_COMPATIBILITY_COMPATIBLE_KHR || app->no_check);
    EXPECT_EQ(app, header[4], bytes);
    commands = app_begin(app);
    create_structure(app, job, &fresh, VK_ACCELERATION_STRUCTURE_TYPE_BOTTOM_LEVEL_KHR, job->meshes[mesh].bytes,
                     UINT64_MAX);
    in.src.deviceAddress = out.dst.deviceAddress;
    in.dst = fresh.handle;
    in.mode = VK_COPY_ACCELERATION_STRUCTURE_MODE_DESERIALIZE_KHR;
    job->vk.deserialize(commands, &in);
    built(commands);
    app_run(app, commands);
    job->vk.destroy(app->device, job->meshes[mesh].handle, NULL);
    job->meshes[mesh] = fresh;
    vkDestroyQueryPool(app->device, queries, NULL);
}

/* ---- the scene ---- */

static void arrange(struct job *job, uint32_t frame)
{
    uint32_t state = frame + 1;

    for (uint32_t i = 0; i < INSTANCES; i++) {
        struct item *item = &job->items[i];
        item->mesh = i % MESHES;
        item->x = app_random(&state) % (GRID - 3);
        item->y = app_random(&state) % (GRID - 2);
        item->height = 0.3f * (float)i; /* no two tops are at one height */
        item->custom = i + 100;
        item->mask = i % 5 == 3 ? 2 : 1;
        item->active = !use_inactive || i % 7 != 6;
    }
}

static VkAccelerationStructureInstanceKHR instance_of(const struct job *job, const struct item *item)
{
    VkAccelerationStructureInstanceKHR instance = {
        .transform.matrix = {{1, 0, 0, (float)item->x}, {0, 1, 0, (float)item->y}, {0, 0, 1, item->height}},
        .instanceCustomIndex = item->custom,
        .mask = item->mask,
        .accelerationStructureReference = item->active ? job->meshes[item->mesh].address : 0};
    return instance;
}

static void write_instances(const struct app *app, struct job *job)
{
    struct place *place = use_copy ? &job->staged : &job->instances;

    for (uint32_t i = 0; i < INSTANCES; i++) {
        const struct item *item = &job->items[i];
        VkAccelerationStructureInstanceKHR instance = instance_of(job, item);
        uint32_t plan[4] = {item->x | item->y << 16, 0, item->active ? item->mesh : UINT32_MAX,
                            item->custom | item->mask << 24};
        uint32_t back = INSTANCES - 1 - i;
        VkDeviceAddress pointer = job->instances.address + back * sizeof instance;
        memcpy(&plan[1], &item->height, sizeof item->height);
        if (use_shader)
            write_place(app, &job->plan, i * sizeof plan, plan, sizeof plan);
        else
            write_place(app, place, (use_pointers ? back : i) * sizeof instance, &instance, sizeof instance);
        if (use_pointers)
            write_place(app, &job->pointers, i * sizeof pointer, &pointer, sizeof pointer);
    }
}

/* Instances that do not come straight from the host. */
static void fill_instances(struct job *job, VkCommandBuffer commands)
{
    if (use_copy) {
        const VkBufferCopy all = {0, 0, INSTANCES * sizeof(VkAccelerationStructureInstanceKHR)};
        vkCmdCopyBuffer(commands, job->staged.buffer.buffer, job->instances.buffer.buffer, 1, &all);
    } else if (use_shader) {
        struct fill fill = {.count = INSTANCES};
        for (uint32_t i = 0; i < MESHES; i++)
            fill.meshes[i] = job->meshes[i].address;
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->fill_pipeline);
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->fill_layout, 0, 1, &job->fill_set, 0,
                                NULL);
        vkCmdPushConstants(commands, job->fill_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof fill, &fill);
        vkCmdDispatch(commands, (INSTANCES + 31) / 32, 1, 1);
    }
    built(commands);
}

static void describe_scene(const struct job *job, struct geometry *out)
{
    VkAccelerationStructureGeometryKHR *geometry = out->geometries;

    memset(out, 0, sizeof *out);
    geometry->sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_KHR;
    geometry->geometryType = VK_GEOMETRY_TYPE_INSTANCES_KHR;
    geometry->geometry.instances.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_GEOMETRY_INSTANCES_DATA_KHR;
    geometry->geometry.instances.arrayOfPointers = use_pointers;
    geometry->geometry.instances.data.deviceAddress = use_pointers ? job->pointers.address : job->instances.address;
    out->ranges[0].primitiveCount = out->counts[0] = INSTANCES;
    out->info.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR;
    out->info.type = VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;
    out->info.flags = UPDATES;
    out->info.geometryCount = 1;
    out->info.pGeometries = geometry;
    out->sizes.sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR;
}

/* Frames 0, 4, ...: built. 1: updated in place. 2: updated into the other one. 3: the other one, in place. */
static uint32_t build_scene(struct job *job, VkCommandBuffer commands, uint32_t frame)
{
    const VkAccelerationStructureBuildRangeInfoKHR *ranges;
    struct geometry geometry;
    uint32_t target = frame % 4 >= 2;

    describe_scene(job, &geometry);
    ranges = geometry.ranges;
    geometry.info.dstAccelerationStructure = job->scenes[target].handle;
    geometry.info.scratchData.deviceAddress = aligned(job->scratch.address, job->scratch_alignment);
    if (frame % 4) {
        geometry.info.mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_UPDATE_KHR;
        geometry.info.srcAccelerationStructure = job->scenes[frame % 4 == 3].handle;
    }
    job->vk.build(commands, 1, &geometry.info, &ranges);
    built(commands);
    return target;
}

static void ask(struct job *job, VkCommandBuffer commands, uint32_t scene)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->sets[scene], 0, NULL);
    for (uint32_t mask = 1; mask <= 2; mask++) {
        struct push push = {GRID, mask, (mask - 1) * GRID * GRID};
        vkCmdPushConstants(commands, job->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        vkCmdDispatch(commands, (GRID + 7) / 8, (GRID + 7) / 8, 1);
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* What a ray finds that comes down in the square from (left, bottom) on. */
struct hit {
    uint32_t what;
    float top;
};

static void meet(struct hit *hit, float x, float y, float left, float bottom, float size, float top, uint32_t what,
                 bool triangles_there)
{
    x -= left;
    y -= bottom;
    if (x <= 0 || y <= 0 || x >= size || y >= size || top <= hit->top)
        return;
    hit->top = top;
    hit->what = what | (triangles_there && y > x ? 1u : 0u);
}

static struct hit expected(const struct job *job, uint32_t column, uint32_t row, uint32_t mask)
{
    float x = (float)column + 0.25f, y = (float)row + 0.5f;
    struct hit hit = {UINT32_MAX, -1};

    for (uint32_t i = 0; i < INSTANCES; i++) {
        const struct item *item = &job->items[i];
        float left = (float)item->x, bottom = (float)item->y, top = item->height;
        uint32_t what = item->custom << 16;
        if (!item->active || !(item->mask & mask))
            continue;
        if (item->mesh == BOXES) {
            meet(&hit, x, y, left, bottom, 1, top + 1, what, false);
            meet(&hit, x, y, left + 2, bottom, 1, top + 1, what | 1, false);
            continue;
        }
        meet(&hit, x, y, left, bottom, item->mesh == WIDE ? 2 : 1, top, what, true);
        if (item->mesh == STAIRS)
            meet(&hit, x, y, left + 1, bottom, 1, top + 2, what | 1 << 8, true);
    }
    return hit;
}

static void check(const struct app *app, struct job *job)
{
    const uint32_t *words = (const uint32_t *)job->result.mapped;

    app_buffer_invalidate(app, &job->result, 0, job->result.size);
    for (uint32_t i = 0; i < 2 * GRID * GRID; i++) {
        struct hit hit = expected(job, i % GRID, i / GRID % GRID, i / (GRID * GRID) + 1);
        EXPECT_EQ(app, words[2 * i], hit.what);
        EXPECT_EQ(app, words[2 * i + 1], hit.what == UINT32_MAX ? 0 : (uint32_t)((SKY - hit.top) * 16 + 0.5f));
    }
}

/* ---- the program ---- */

static void create_pipelines(const struct app *app, struct job *job)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 2, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorSetLayoutBinding fill[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR, 4},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4}};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 3};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryCount = 2};
    VkDescriptorSetLayout layouts[3];
    VkDescriptorSet sets[3];

    job->set_layout = layouts[0] = layouts[1] = app_set_layout(app, 2, bindings);
    job->fill_set_layout = layouts[2] = app_set_layout(app, 2, fill);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
    job->fill_layout =
        app_pipeline_layout(app, 1, &job->fill_set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct fill));
    job->pipeline = app_compute_pipeline(app, ray_query_comp, sizeof ray_query_comp, job->layout);
    job->fill_pipeline = app_compute_pipeline(app, ray_instances_comp, sizeof ray_instances_comp, job->fill_layout);
    pool.poolSizeCount = 2;
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->descriptors));
    allocate.descriptorPool = job->descriptors;
    allocate.descriptorSetCount = 3;
    allocate.pSetLayouts = layouts;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, sets));
    memcpy(job->sets, sets, sizeof job->sets);
    job->fill_set = sets[2];
    queries.queryType = VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR;
    CHECK_VK(vkCreateQueryPool(app->device, &queries, NULL, &job->queries));
}

/* Shaders use the first structure; the other one is the same, or none. */
static void write_by_template(const struct app *app, const struct job *job, VkDescriptorSet set,
                              VkAccelerationStructureKHR scene)
{
    const VkAccelerationStructureKHR data[] = {VK_NULL_HANDLE, scene, VK_NULL_HANDLE};
    /* One descriptor each: validation layers of Debian 12 take an array for a fault. */
    VkDescriptorUpdateTemplateEntry entries[2] = {{.descriptorCount = 1,
                                                   .descriptorType = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR,
                                                   .offset = sizeof *data}};
    VkDescriptorUpdateTemplateCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                   .descriptorUpdateEntryCount = 2,
                                                   .pDescriptorUpdateEntries = entries,
                                                   .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET};
    VkDescriptorUpdateTemplate template;

    entries[1] = entries[0];
    entries[1].dstArrayElement = 1;
    entries[1].offset = 2 * sizeof *data;
    create.descriptorSetLayout = job->set_layout;
    CHECK_VK(vkCreateDescriptorUpdateTemplate(app->device, &create, NULL, &template));
    vkUpdateDescriptorSetWithTemplate(app->device, set, template, data);
    vkDestroyDescriptorUpdateTemplate(app->device, template, NULL);
}

static void write_sets(const struct app *app, struct job *job)
{
    const VkDescriptorBufferInfo result = {job->result.buffer, 0, VK_WHOLE_SIZE};
    const VkDescriptorBufferInfo fill[2] = {{job->plan.buffer.buffer, 0, VK_WHOLE_SIZE},
                                            {job->instances.buffer.buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};

    for (uint32_t i = 0; i < 2; i++) {
        const VkAccelerationStructureKHR handles[] = {job->scenes[i].handle, job->scenes[i].handle};
        const VkWriteDescriptorSetAccelerationStructureKHR structures = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_ACCELERATION_STRUCTURE_KHR,
            .accelerationStructureCount = 2,
            .pAccelerationStructures = handles};
        write.pNext = &structures;
        write.dstSet = job->sets[i];
        write.dstBinding = 0;
        write.descriptorCount = 2;
        write.descriptorType = VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR;
        if (use_template)
            write_by_template(app, job, job->sets[i], job->scenes[i].handle);
        else
            vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
        write.pNext = NULL;
        write.descriptorCount = 1;
        write.dstBinding = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &result;
        vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    }
    write.dstSet = job->fill_set;
    write.dstBinding = 0;
    write.descriptorCount = 2;
    write.pBufferInfo = fill;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void create_buffers(const struct app *app, struct job *job)
{
    const VkBufferUsageFlags input = VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
    const VkDeviceSize bytes = INSTANCES * sizeof(VkAccelerationStructureInstanceKHR);

    create_place(app, &job->ranges, 256, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->instances, bytes,
                 input | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                 use_copy || use_shader ? APP_DEVICE : APP_UPLOAD);
    create_place(app, &job->staged, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    create_place(app, &job->pointers, INSTANCES * sizeof(VkDeviceAddress), input, APP_UPLOAD);
    create_place(app, &job->plan, INSTANCES * 16, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->pool, POOL, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR,
                 use_mapped ? APP_READBACK : APP_DEVICE);
    create_place(app, &job->scratch, POOL, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_DEVICE);
    app_buffer_create(app, &job->result, (VkDeviceSize)2 * GRID * GRID * 8, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_READBACK);
}

static void create(const struct app *app, struct job *job)
{
    struct geometry scene;
    VkCommandBuffer commands;

    create_buffers(app, job);
    create_pipelines(app, job);
    create_inputs(app, job);
    commands = app_begin(app);
    build_meshes(app, job, commands, (1u << MESHES) - 1, NULL);
    app_run(app, commands);
    if (use_fleeting)
        drop_inputs(app, job);
    describe_scene(job, &scene);
    job->vk.get_sizes(app->device, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &scene.info, scene.counts,
                      &scene.sizes);
    for (uint32_t i = 0; i < 2; i++)
        create_structure(app, job, &job->scenes[i], VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR,
                         scene.sizes.accelerationStructureSize, UINT64_MAX);
    write_sets(app, job);
}

/* The scene names what is gone, until it is updated. */
static void replace_mesh(const struct app *app, struct job *job, uint32_t mesh)
{
    VkCommandBuffer commands = app_begin(app);

    job->vk.destroy(app->device, job->meshes[mesh].handle, NULL);
    create_inputs(app, job);
    build_meshes(app, job, commands, 1u << mesh, NULL);
    app_run(app, commands);
    drop_inputs(app, job);
}

static void run_frame(const struct app *app, struct job *job, uint32_t frame)
{
    VkCommandBuffer commands;
    uint32_t scene;

    if (use_fleeting && frame % 4 == 1)
        replace_mesh(app, job, frame == 5 ? BOXES : WIDE);

    if (frame == 4) {
        compact_meshes(app, job);
        clone_mesh(app, job, BOXES);
        if (use_serialized)
            pass_through_bytes(app, job, STAIRS);
    }
    commands = app_begin(app);
    if (frame == 8) { /* the same bytes once more */
        VkDeviceSize offsets[MESHES] = {0};
        offsets[WIDE] = job->meshes[WIDE].offset;
        job->vk.destroy(app->device, job->meshes[WIDE].handle, NULL);
        if (use_fleeting)
            create_inputs(app, job);
        build_meshes(app, job, commands, 1u << WIDE, offsets);
    }
    arrange(job, frame);
    write_instances(app, job);
    fill_instances(job, commands);
    scene = build_scene(job, commands, frame);
    ask(job, commands, scene);
    app_run(app, commands);
    if (use_fleeting && job->vertices.buffer.buffer)
        drop_inputs(app, job);
    check(app, job);
}

static void destroy(const struct app *app, struct job *job)
{
    struct place *places[] = {&job->vertices, &job->indices,  &job->transform, &job->boxes,
                              &job->ranges,   &job->pool,     &job->scratch,   &job->instances,
                              &job->staged,   &job->pointers, &job->plan,      &job->serialized};

    for (uint32_t i = 0; i < MESHES; i++)
        job->vk.destroy(app->device, job->meshes[i].handle, NULL);
    for (uint32_t i = 0; i < 2; i++)
        job->vk.destroy(app->device, job->scenes[i].handle, NULL);
    vkDestroyQueryPool(app->device, job->queries, NULL);
    vkDestroyPipeline(app->device, job->pipeline, NULL);
    vkDestroyPipeline(app->device, job->fill_pipeline, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyPipelineLayout(app->device, job->fill_layout, NULL);
    vkDestroyDescriptorPool(app->device, job->descriptors, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->fill_set_layout, NULL);
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        if (places[i]->buffer.buffer)
            app_buffer_destroy(app, &places[i]->buffer);
    app_buffer_destroy(app, &job->result);
}

static void load(const struct app *app, struct functions *vk)
{
#define LOAD(member, name) vk->member = (PFN_##name)app_device_function(app, #name)
    LOAD(create, vkCreateAccelerationStructureKHR);
    LOAD(destroy, vkDestroyAccelerationStructureKHR);
    LOAD(get_sizes, vkGetAccelerationStructureBuildSizesKHR);
    LOAD(get_address, vkGetAccelerationStructureDeviceAddressKHR);
    LOAD(build, vkCmdBuildAccelerationStructuresKHR);
    LOAD(build_indirect, vkCmdBuildAccelerationStructuresIndirectKHR);
    LOAD(copy, vkCmdCopyAccelerationStructureKHR);
    LOAD(serialize, vkCmdCopyAccelerationStructureToMemoryKHR);
    LOAD(deserialize, vkCmdCopyMemoryToAccelerationStructureKHR);
    LOAD(write_properties, vkCmdWriteAccelerationStructuresPropertiesKHR);
    LOAD(is_compatible, vkGetDeviceAccelerationStructureCompatibilityKHR);
#undef LOAD
}

/* What a device is made with. */
struct request {
    const char *extensions[8];
    uint32_t extension_count;
    VkPhysicalDeviceVulkan12Features core;
    VkPhysicalDeviceAccelerationStructureFeaturesKHR structures;
    VkPhysicalDeviceRayQueryFeaturesKHR queries;
    VkPhysicalDeviceRobustness2FeaturesEXT robustness;
    VkPhysicalDeviceRayTracingMaintenance1FeaturesKHR maintenance;
    VkPhysicalDeviceSynchronization2Features synchronization;
#ifdef VK_KHR_ray_tracing_position_fetch
    VkPhysicalDeviceRayTracingPositionFetchFeaturesKHR fetch;
#endif
};

static void need_extension(const struct app *app, struct request *request, const char *name)
{
    if (!app_has_extension(app, name))
        app_skip(app, "the device lacks an extension of ray queries");
    request->extensions[request->extension_count++] = name;
}

/* The extensions of the options that were given, with their features, which the device has. */
static void need_more(const struct app *app, struct request *request)
{
    void **end = &request->queries.pNext;

    if (use_template) {
        need_extension(app, request, "VK_EXT_robustness2");
        request->robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
        request->robustness.nullDescriptor = VK_TRUE;
        *end = &request->robustness;
        end = &request->robustness.pNext;
    }
    if (!use_more)
        return;
    need_extension(app, request, "VK_KHR_ray_tracing_maintenance1");
    need_extension(app, request, "VK_KHR_synchronization2");
    request->maintenance.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_MAINTENANCE_1_FEATURES_KHR;
    request->maintenance.rayTracingMaintenance1 = VK_TRUE;
    request->synchronization.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES;
    request->synchronization.synchronization2 = VK_TRUE;
    *end = &request->maintenance;
    request->maintenance.pNext = &request->synchronization;
#ifdef VK_KHR_ray_tracing_position_fetch
    need_extension(app, request, "VK_KHR_ray_tracing_position_fetch");
    request->fetch.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_POSITION_FETCH_FEATURES_KHR;
    request->fetch.rayTracingPositionFetch = VK_TRUE;
    request->synchronization.pNext = &request->fetch;
#endif
}

static void choose(const struct app *app, struct request *request)
{
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};

    if (app->api_version < VK_API_VERSION_1_2)
        app_skip(app, "ray queries need Vulkan 1.2");
    need_extension(app, request, "VK_KHR_deferred_host_operations");
    need_extension(app, request, "VK_KHR_acceleration_structure");
    need_extension(app, request, "VK_KHR_ray_query");
    request->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    request->structures.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_FEATURES_KHR;
    request->queries.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_QUERY_FEATURES_KHR;
    features.pNext = &request->core;
    request->core.pNext = &request->structures;
    request->structures.pNext = &request->queries;
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!request->core.bufferDeviceAddress || !request->structures.accelerationStructure || !request->queries.rayQuery)
        app_skip(app, "the device has no acceleration structures or no ray queries");
    if (use_indirect && !request->structures.accelerationStructureIndirectBuild)
        app_skip(app, "the device builds nothing indirectly");
    request->core = (VkPhysicalDeviceVulkan12Features){
        .sType = request->core.sType, .pNext = &request->structures, .bufferDeviceAddress = VK_TRUE};
    request->structures =
        (VkPhysicalDeviceAccelerationStructureFeaturesKHR){.sType = request->structures.sType,
                                                           .pNext = &request->queries,
                                                           .accelerationStructure = VK_TRUE,
                                                           .accelerationStructureIndirectBuild = use_indirect};
    need_more(app, request);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--copy", "instances are copied to the device", &use_copy, NULL},
        {"--shader", "a shader writes the instances", &use_shader, NULL},
        {"--pointers", "instances are named by an array of pointers", &use_pointers, NULL},
        {"--indirect", "how much is built stands in a buffer", &use_indirect, NULL},
        {"--serialize", "one structure goes through its serialized bytes", &use_serialized, NULL},
        {"--inactive", "some instances have no structure", &use_inactive, NULL},
        {"--template", "a template writes the descriptors, of which some name nothing", &use_template, NULL},
        {"--more", "uses what later extensions brought", &use_more, NULL},
        {"--fleeting", "what structures are built from goes at once", &use_fleeting, NULL},
        {"--mapped", "the host can map the structures", &use_mapped, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "rays",
        .what = "Builds acceleration structures, and asks with ray queries what is in them.",
        .frames = 12,
        .options = options,
    };
    VkPhysicalDeviceAccelerationStructurePropertiesKHR limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &limits};
    struct app_device_request device = {0};
    static struct request request;
    static struct job job;
    struct app app;

    app_init(&app, argc, argv, &program);
    choose(&app, &request);
    device.extensions = request.extensions;
    device.extension_count = request.extension_count;
    device.next = &request.core;
    vkGetPhysicalDeviceProperties2(app.physical, &properties);
    app_device_create(&app, &device);
    load(&app, &job.vk);
    job.scratch_alignment = limits.minAccelerationStructureScratchOffsetAlignment
                                ? limits.minAccelerationStructureScratchOffsetAlignment
                                : 1;
    create(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&app, &job, frame);
    destroy(&app, &job);
    return app_finish(&app);
}
