/* SPDX-License-Identifier: MIT */
/* Acceleration structures: a replay builds them again from the program's inputs. Bottom levels come first, since top
 * levels name them by address. A top level that names a destroyed one can't be traced any more, but may be updated: it
 * gets another one in its place. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "gen_encode_block.h"
#include "layer/command/build_inputs.h"
#include "layer/core/records.h"
#include "layer/part/live_objects.h"
#include "layer/part/readback.h"
#include "layer/part/state.h"

const char *layer_state_structures_fault(struct layer_device *dev)
{
    struct layer_live_objects structures;
    const char *fault = NULL;

    if (layer_live_objects_of(dev, GEN_HANDLE_VkAccelerationStructureKHR, &structures) != LAP_OK)
        return "out of memory";
    for (size_t i = 0; i < structures.count && !fault; i++)
        fault = layer_structure_fault((const struct layer_structure *)structures.items[i]);
    layer_live_objects_finish(&structures);
    return fault;
}

struct building {
    struct layer_device *dev;
    struct layer_live_objects structures;
    struct layer_readback reading;
    struct layer_state_commands commands;
    struct lap_map bottoms; /* those that are built, by address */
    uint64_t some_bottom;   /* the address of one of them; 0: there is none */
    enum lap_status status;
};

/* ---- copies in the trace ---- */

static void begin_buffer(struct layer_device *dev, struct layer_copy_chunk *chunk)
{
    const VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = chunk->bytes, .usage = chunk->usage};
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .pNext = &flags,
                                           .allocationSize = chunk->memory_bytes,
                                           .memoryTypeIndex = chunk->shown_type};
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = chunk->buffer};
    const VkMemoryPropertyFlags shown = dev->physical_device->types.shown[chunk->shown_type].flags;
    struct lap_enc *enc;

    if ((enc = layer_packet_begin(&dev->tables, GEN_vkCreateBuffer, 0))) {
        gen_encode_vkCreateBuffer(enc, dev->handle, &create, NULL, &chunk->buffer, VK_SUCCESS);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkAllocateMemory, 0))) {
        gen_encode_vkAllocateMemory(enc, dev->handle, &allocate, NULL, &chunk->memory, VK_SUCCESS);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_lapilliBindBuffer, 0))) {
        gen_encode_lapilliBindBuffer(enc, chunk->buffer, chunk->memory, 0, chunk->bytes, shown);
        layer_packet_end();
    }
    layer_count(LAP_COUNTER_BINDS, 1);
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkGetBufferDeviceAddress, 0))) {
        gen_encode_vkGetBufferDeviceAddress(enc, dev->handle, &which, chunk->address);
        layer_packet_end();
    }
}

static bool begin_chunk(struct layer_device *dev, struct layer_copy_chunk *chunk)
{
    if (chunk->in_trace)
        return true;
    if (!LAYER_ADD(dev, VkBuffer, chunk->buffer))
        return false;
    if (!LAYER_ADD(dev, VkDeviceMemory, chunk->memory)) {
        layer_object_remove(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(chunk->buffer));
        return false;
    }
    chunk->in_trace = true;
    begin_buffer(dev, chunk);
    return true;
}

static void end_chunk(struct layer_device *dev, struct layer_copy_chunk *chunk)
{
    struct lap_enc *enc;

    if (!chunk->in_trace)
        return;
    chunk->in_trace = false;
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkDestroyBuffer, 0))) {
        gen_encode_vkDestroyBuffer(enc, dev->handle, chunk->buffer, NULL);
        layer_packet_end();
    }
    if ((enc = layer_packet_begin(&dev->tables, GEN_vkFreeMemory, 0))) {
        gen_encode_vkFreeMemory(enc, dev->handle, chunk->memory, NULL);
        layer_packet_end();
    }
    layer_object_remove(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(chunk->buffer));
    layer_object_remove(dev, GEN_HANDLE_VkDeviceMemory, gen_u64_VkDeviceMemory(chunk->memory));
}

/* ---- instances ---- */

/* Copies of instances contain only instances, and each piece has whole instances. */
static void edit_instances(void *user, void *data, size_t bytes)
{
    const struct building *b = user;
    VkAccelerationStructureInstanceKHR instance;

    for (size_t at = 0; at + sizeof instance <= bytes; at += sizeof instance) {
        memcpy(&instance, (char *)data + at, sizeof instance);
        if (!instance.accelerationStructureReference ||
            lap_map_get(&b->bottoms, instance.accelerationStructureReference))
            continue;
        instance.accelerationStructureReference = b->some_bottom;
        memcpy((char *)data + at, &instance, sizeof instance);
    }
}

static VkDeviceSize instance_bytes(const struct layer_build *build)
{
    VkDeviceSize bytes = 0;
    for (uint32_t i = 0; i < build->geometry_count; i++)
        bytes += build->ranges[i].primitiveCount * sizeof(VkAccelerationStructureInstanceKHR);
    return bytes;
}

/* ---- builds ---- */

static bool is_top(const struct layer_build *build)
{
    return build->type == VK_ACCELERATION_STRUCTURE_TYPE_TOP_LEVEL_KHR;
}

static enum lap_status read_inputs(struct building *b, struct layer_build *build)
{
    const struct layer_copy *copy = &build->copy;
    const VkDeviceSize bytes = is_top(build) ? instance_bytes(build) : copy->bytes;

    if (build->in_trace) /* another structure was copied from this one */
        return LAP_OK;
    build->in_trace = true;
    if (!begin_chunk(b->dev, copy->chunk))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return layer_readback_range(&b->reading, copy, copy->chunk->buffer, copy->offset, bytes,
                                is_top(build) ? edit_instances : NULL, b);
}

/* Builds are serialised: a barrier makes their writes, also to scratch memory, available to the next one. */
static void build_one(struct building *b, const struct layer_structure *structure)
{
    const struct layer_build *build = structure->build;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR |
                                                      VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR,
                                     .dstAccessMask = VK_ACCESS_ACCELERATION_STRUCTURE_WRITE_BIT_KHR |
                                                      VK_ACCESS_ACCELERATION_STRUCTURE_READ_BIT_KHR};
    const VkAccelerationStructureBuildGeometryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_GEOMETRY_INFO_KHR,
        .type = build->type,
        .flags = build->flags,
        .mode = VK_BUILD_ACCELERATION_STRUCTURE_MODE_BUILD_KHR,
        .dstAccelerationStructure = gen_VkAccelerationStructureKHR(structure->object.handle),
        .geometryCount = build->geometry_count,
        .pGeometries = build->geometries};
    const VkAccelerationStructureBuildRangeInfoKHR *const ranges = build->ranges;
    struct lap_enc *enc = layer_state_command(&b->commands, GEN_vkCmdBuildAccelerationStructuresKHR);

    if (enc)
        gen_encode_vkCmdBuildAccelerationStructuresKHR(enc, 1, &info, &ranges);
    enc = layer_state_command(&b->commands, GEN_vkCmdPipelineBarrier);
    if (enc)
        gen_encode_vkCmdPipelineBarrier(enc, VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
                                        VK_PIPELINE_STAGE_ACCELERATION_STRUCTURE_BUILD_BIT_KHR, 0, 1, &barrier, 0, NULL,
                                        0, NULL);
}

static void build_level(struct building *b, bool top)
{
    for (size_t i = 0; i < b->structures.count && b->status == LAP_OK; i++) {
        struct layer_structure *structure = (struct layer_structure *)b->structures.items[i];
        const uint64_t address = atomic_load_explicit(&structure->address, memory_order_relaxed);
        if (!structure->build || is_top(structure->build) != top)
            continue;
        b->status = read_inputs(b, structure->build);
        build_one(b, structure);
        if (top || !address || b->status != LAP_OK)
            continue;
        b->some_bottom = address;
        b->status = lap_map_put(&b->bottoms, address, structure, NULL);
    }
}

static bool has_builds(const struct layer_live_objects *structures)
{
    for (size_t i = 0; i < structures->count; i++)
        if (((const struct layer_structure *)structures->items[i])->build)
            return true;
    return false;
}

/* The commands are submitted after everything that they read. */
static enum lap_status build_all(struct building *b)
{
    enum lap_status ended;

    build_level(b, false);
    build_level(b, true);
    if (b->status == LAP_OK)
        b->status = layer_readback_flush(&b->reading);
    if (b->status == LAP_OK && b->reading.left_out)
        b->status = lap_fail(LAP_ERROR_UNSUPPORTED, "what acceleration structures were built from can't be read");
    ended = layer_state_commands_end(&b->commands);
    for (size_t i = 0; i < b->structures.count; i++) {
        struct layer_build *build = ((const struct layer_structure *)b->structures.items[i])->build;
        if (build && build->in_trace)
            end_chunk(b->dev, build->copy.chunk);
        if (build)
            build->in_trace = false;
    }
    return b->status == LAP_OK ? ended : b->status;
}

static enum lap_status read_and_build(struct building *b)
{
    enum lap_status status = layer_readback_init(&b->reading, b->dev);

    if (status == LAP_OK)
        status = layer_state_commands_begin(b->dev, VK_QUEUE_COMPUTE_BIT, &b->commands);
    if (status == LAP_OK && !b->commands.queue)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "there is no queue that builds acceleration structures");
    if (status == LAP_OK)
        status = build_all(b);
    layer_readback_finish(&b->reading);
    return status;
}

enum lap_status layer_state_structures(struct layer_device *dev)
{
    struct building b = {.dev = dev};
    enum lap_status status = layer_live_objects_of(dev, GEN_HANDLE_VkAccelerationStructureKHR, &b.structures);

    lap_map_init(&b.bottoms);
    if (status == LAP_OK && has_builds(&b.structures))
        status = read_and_build(&b);
    lap_map_finish(&b.bottoms);
    layer_live_objects_finish(&b.structures);
    return status;
}

/* ---- queries ---- */

bool layer_state_asks_structures(VkQueryType type)
{
    switch ((int)type) {
    case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR:
    case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_SIZE_KHR:
#ifdef VK_KHR_ray_tracing_maintenance1
    case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SERIALIZATION_BOTTOM_LEVEL_POINTERS_KHR:
    case VK_QUERY_TYPE_ACCELERATION_STRUCTURE_SIZE_KHR:
#endif
        return true;
    default:
        return false;
    }
}

void layer_state_structure_query(struct layer_state_commands *commands, VkQueryPool pool, VkQueryType type,
                                 uint32_t query)
{
    const bool compacts = type == VK_QUERY_TYPE_ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR;
    VkAccelerationStructureKHR found = VK_NULL_HANDLE;
    struct layer_live_objects structures;
    struct lap_enc *enc;

    if (layer_live_objects_of(commands->dev, GEN_HANDLE_VkAccelerationStructureKHR, &structures) != LAP_OK)
        return;
    for (size_t i = 0; i < structures.count && !found; i++) {
        const struct layer_build *build = ((const struct layer_structure *)structures.items[i])->build;
        if (build && (!compacts || build->flags & VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_COMPACTION_BIT_KHR))
            found = gen_VkAccelerationStructureKHR(structures.items[i]->handle);
    }
    layer_live_objects_finish(&structures);
    if (found && (enc = layer_state_command(commands, GEN_vkCmdWriteAccelerationStructuresPropertiesKHR)))
        gen_encode_vkCmdWriteAccelerationStructuresPropertiesKHR(enc, 1, &found, type, pool, query);
}
