/* SPDX-License-Identifier: MIT */
#include "layer/command/build_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "layer/command/touched.h"
#include "layer/core/records.h"
#include "layer/memory/address_range.h"

#define PIECE_ALIGNMENT   64u
#define INSTANCE_BYTES    sizeof(VkAccelerationStructureInstanceKHR)
#define MOST_VERTEX_BYTES 32u /* of the largest format */

/* ---- inputs of a geometry ---- */

/* Bytes that are copied: from a buffer of the program's to an offset in the copy. */
struct piece {
    VkDeviceAddress *address; /* in the geometry: the program's, and then that of the copy */
    VkBuffer buffer;          /* null: nothing is copied */
    VkDeviceSize offset, bytes, at;
};

struct pieces {
    struct piece *items;
    size_t count, capacity;
    VkDeviceSize bytes; /* together, in the copy */
    const char *fault;
};

/* An array of `count` elements, some of which are read. whole: all of them are. */
static void add_piece(struct pieces *pieces, struct layer_device *dev, VkDeviceAddress *address, uint64_t offset,
                      uint64_t count, uint64_t stride, uint64_t element_bytes, bool whole)
{
    struct piece piece = {.address = address, .at = pieces->bytes};
    VkDeviceSize there = 0;

    if (pieces->fault)
        return;
    if (!lap_array_grow(&pieces->items, sizeof *pieces->items, &pieces->capacity, pieces->count + 1)) {
        pieces->fault = "there was no memory for the inputs of acceleration structures";
        return;
    }
    if (count) {
        const uint64_t wanted = (count - 1) * stride + element_bytes; /* 32 bits by 32 bits, or by less */
        if (!layer_address_range_readable(dev, *address + offset, &piece.buffer, &piece.offset, &there) ||
            (whole && there < wanted)) {
            pieces->fault = "an acceleration structure was built from memory that can't be read";
            return;
        }
        piece.bytes = there < wanted ? there : wanted;
    }
    pieces->bytes += (piece.bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
    pieces->items[pieces->count++] = piece;
}

static uint64_t index_bytes(VkIndexType type)
{
    switch (type) {
    case VK_INDEX_TYPE_UINT16:
        return 2;
    case VK_INDEX_TYPE_UINT32:
        return 4;
    case VK_INDEX_TYPE_UINT8_EXT:
        return 1;
    default:
        return 0;
    }
}

/* Only the device knows the indices, so all vertices up to maxVertex are copied. maxVertex may exceed the buffer. */
static void add_triangles(struct pieces *pieces, struct layer_device *dev,
                          VkAccelerationStructureGeometryTrianglesDataKHR *data,
                          const VkAccelerationStructureBuildRangeInfoKHR *range)
{
    const uint64_t vertices = (uint64_t)range->primitiveCount * 3, first = range->firstVertex * data->vertexStride;
    const uint64_t bytes = index_bytes(data->indexType);

    if (data->pNext || (!bytes && data->indexType != VK_INDEX_TYPE_NONE_KHR)) {
        pieces->fault = "an acceleration structure was built from the input of an extension";
        return;
    }
    if (bytes) {
        add_piece(pieces, dev, &data->vertexData.deviceAddress, first, vertices ? (uint64_t)data->maxVertex + 1 : 0,
                  data->vertexStride, MOST_VERTEX_BYTES, false);
        add_piece(pieces, dev, &data->indexData.deviceAddress, range->primitiveOffset, vertices, bytes, bytes, true);
    } else {
        add_piece(pieces, dev, &data->vertexData.deviceAddress, range->primitiveOffset + first, vertices,
                  data->vertexStride, MOST_VERTEX_BYTES, false);
    }
    if (data->transformData.deviceAddress)
        add_piece(pieces, dev, &data->transformData.deviceAddress, range->transformOffset, vertices ? 1 : 0, 0,
                  sizeof(VkTransformMatrixKHR), true);
}

static void add_geometry(struct pieces *pieces, struct layer_device *dev, VkAccelerationStructureGeometryKHR *geometry,
                         const VkAccelerationStructureBuildRangeInfoKHR *range)
{
    VkAccelerationStructureGeometryAabbsDataKHR *aabbs = &geometry->geometry.aabbs;
    VkAccelerationStructureGeometryInstancesDataKHR *instances = &geometry->geometry.instances;

    if (geometry->pNext) {
        pieces->fault = "an acceleration structure was built from the input of an extension";
        return;
    }
    switch (geometry->geometryType) {
    case VK_GEOMETRY_TYPE_TRIANGLES_KHR:
        add_triangles(pieces, dev, &geometry->geometry.triangles, range);
        return;
    case VK_GEOMETRY_TYPE_AABBS_KHR:
        if (aabbs->pNext)
            break;
        add_piece(pieces, dev, &aabbs->data.deviceAddress, range->primitiveOffset, range->primitiveCount, aabbs->stride,
                  sizeof(VkAabbPositionsKHR), true);
        return;
    case VK_GEOMETRY_TYPE_INSTANCES_KHR:
        if (instances->pNext)
            break;
        if (instances->arrayOfPointers)
            pieces->fault = "an acceleration structure was built from instances that pointers on the device name";
        else
            add_piece(pieces, dev, &instances->data.deviceAddress, range->primitiveOffset, range->primitiveCount,
                      INSTANCE_BYTES, INSTANCE_BYTES, true);
        return;
    default:
        break;
    }
    pieces->fault = "an acceleration structure was built from the input of an extension";
}

/* ---- builds ---- */

static void release(struct layer_build *build)
{
    if (!build || atomic_fetch_sub_explicit(&build->users, 1, memory_order_acq_rel) != 1)
        return;
    layer_copies_give(build->dev, &build->copy);
    free(build->ranges);
    free(build);
}

static struct layer_build *use(struct layer_build *build)
{
    if (build)
        atomic_fetch_add_explicit(&build->users, 1, memory_order_relaxed);
    return build;
}

static bool is_of_extension(const VkAccelerationStructureBuildGeometryInfoKHR *info)
{
    const VkBuildAccelerationStructureFlagsKHR known = VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_UPDATE_BIT_KHR |
                                                       VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_COMPACTION_BIT_KHR |
#ifdef VK_KHR_ray_tracing_position_fetch
                                                       VK_BUILD_ACCELERATION_STRUCTURE_ALLOW_DATA_ACCESS_KHR |
#endif
                                                       VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_TRACE_BIT_KHR |
                                                       VK_BUILD_ACCELERATION_STRUCTURE_PREFER_FAST_BUILD_BIT_KHR |
                                                       VK_BUILD_ACCELERATION_STRUCTURE_LOW_MEMORY_BIT_KHR;
    return info->pNext || info->flags & ~known;
}

/* Sets the addresses of the copies. */
static void place(struct layer_build *build, const struct pieces *pieces)
{
    const VkDeviceAddress begin = build->copy.chunk->address + build->copy.offset;

    for (size_t i = 0; i < pieces->count; i++)
        *pieces->items[i].address = begin + pieces->items[i].at;
    for (uint32_t i = 0; i < build->geometry_count; i++)
        build->ranges[i] =
            (VkAccelerationStructureBuildRangeInfoKHR){.primitiveCount = build->ranges[i].primitiveCount};
}

/* NULL: out of memory. pieces: the ranges to copy to build->copy, unless it has a fault. */
static struct layer_build *describe(struct layer_device *dev, const VkAccelerationStructureBuildGeometryInfoKHR *info,
                                    const VkAccelerationStructureBuildRangeInfoKHR *ranges, struct pieces *pieces)
{
    struct layer_build *build = calloc(1, sizeof *build + info->geometryCount * sizeof *build->geometries);

    if (!build)
        return NULL;
    build->ranges = calloc((size_t)info->geometryCount + 1, sizeof *build->ranges);
    if (!build->ranges) {
        free(build);
        return NULL;
    }
    atomic_init(&build->users, 1);
    build->dev = dev;
    build->type = info->type;
    build->flags = info->flags;
    build->geometry_count = info->geometryCount;
    if (is_of_extension(info))
        pieces->fault = "an acceleration structure was built from the input of an extension";
    for (uint32_t i = 0; i < info->geometryCount && !pieces->fault; i++) {
        build->geometries[i] = info->pGeometries ? info->pGeometries[i] : *info->ppGeometries[i];
        build->ranges[i] = ranges[i];
        add_geometry(pieces, dev, &build->geometries[i], &ranges[i]);
    }
    if (!pieces->fault && !layer_copies_take(dev, pieces->bytes ? pieces->bytes : 1, &build->copy))
        pieces->fault = "the device has no memory for copies of the inputs of acceleration structures";
    build->fault = pieces->fault;
    if (!build->fault)
        place(build, pieces);
    return build;
}

/* ---- commands ---- */

/* Before the copies: they see earlier writes. After them: later commands may write the sources. */
static void barrier(const struct layer_cmdbuf *cb, bool begins)
{
    const VkMemoryBarrier before = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
    const VkMemoryBarrier behind = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};

    cb->device->vk.CmdPipelineBarrier(cb->handle,
                                      begins ? VK_PIPELINE_STAGE_ALL_COMMANDS_BIT : VK_PIPELINE_STAGE_TRANSFER_BIT,
                                      begins ? VK_PIPELINE_STAGE_TRANSFER_BIT : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                                      1, begins ? &before : &behind, 0, NULL, 0, NULL);
}

static void copy(const struct layer_cmdbuf *cb, const struct layer_build *build, const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        const VkBufferCopy region = {piece->offset, build->copy.offset + piece->at, piece->bytes};
        if (piece->bytes)
            cb->device->vk.CmdCopyBuffer(cb->handle, piece->buffer, build->copy.chunk->buffer, 1, &region);
    }
}

static bool add_step(struct layer_structure_steps *steps, const struct layer_structure_step *step)
{
    if (!lap_array_grow_u32(&steps->items, sizeof *steps->items, &steps->capacity, (size_t)steps->count + 1))
        return false;
    steps->items[steps->count++] = *step;
    return true;
}

static void note(struct layer_cmdbuf *cb, VkAccelerationStructureKHR handle, struct layer_structure_step step)
{
    const struct layer_structure *structure = LAYER_GET(cb->device, VkAccelerationStructureKHR, handle);

    if (structure) {
        step.structure = structure->object.handle;
        step.index = structure->object.index;
    }
    if (!structure || !add_step(&cb->structure_steps, &step)) {
        release(step.build);
        if (structure)
            layer_touch_failed(cb);
    }
}

static bool is_wanted(const struct layer_cmdbuf *cb)
{
    return layer.options.parts.on && cb->state == LAYER_CMDBUF_RECORDING;
}

void layer_builds_note(struct layer_cmdbuf *cb, uint32_t count,
                       const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                       const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
    struct pieces pieces = {0};
    bool copies = false;

    for (uint32_t i = 0; i < count && is_wanted(cb); i++) {
        struct layer_build *build;
        if (!ranges) {
            layer_builds_note_lost(cb, infos[i].dstAccelerationStructure,
                                   "an acceleration structure was built as bytes on the device said");
            continue;
        }
        pieces.count = 0;
        pieces.bytes = 0;
        pieces.fault = NULL;
        build = describe(cb->device, &infos[i], ranges[i], &pieces);
        if (!build) {
            layer_touch_failed(cb);
            break;
        }
        if (!build->fault && !copies)
            barrier(cb, true);
        copies |= !build->fault;
        if (!build->fault)
            copy(cb, build, &pieces);
        note(cb, infos[i].dstAccelerationStructure, (struct layer_structure_step){.build = build});
    }
    if (copies)
        barrier(cb, false);
    free(pieces.items);
}

void layer_builds_note_copy(struct layer_cmdbuf *cb, VkAccelerationStructureKHR from, VkAccelerationStructureKHR to)
{
    if (is_wanted(cb))
        note(cb, to, (struct layer_structure_step){.source = gen_u64_VkAccelerationStructureKHR(from)});
}

void layer_builds_note_lost(struct layer_cmdbuf *cb, VkAccelerationStructureKHR structure, const char *why)
{
    if (is_wanted(cb))
        note(cb, structure, (struct layer_structure_step){.fault = why});
}

/* ---- command buffers ---- */

bool layer_builds_append(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary)
{
    for (uint32_t i = 0; i < secondary->structure_steps.count; i++) {
        if (!add_step(&cb->structure_steps, &secondary->structure_steps.items[i]))
            return false;
        use(secondary->structure_steps.items[i].build);
    }
    return true;
}

void layer_builds_reset(struct layer_cmdbuf *cb)
{
    for (uint32_t i = 0; i < cb->structure_steps.count; i++)
        release(cb->structure_steps.items[i].build);
    cb->structure_steps.count = 0;
}

void layer_builds_finish(struct layer_cmdbuf *cb)
{
    layer_builds_reset(cb);
    free(cb->structure_steps.items);
    cb->structure_steps = (struct layer_structure_steps){0};
}

/* ---- submits ---- */

static void set(struct layer_structure *structure, struct layer_build *build, uint64_t execution, const char *fault)
{
    struct layer_build *last = structure->build;

    structure->build = use(build);
    structure->execution = execution;
    structure->fault = fault;
    release(last);
}

void layer_builds_apply(struct layer_device *dev, const struct layer_cmdbuf *cb)
{
    for (uint32_t i = 0; i < cb->structure_steps.count; i++) {
        const struct layer_structure_step *step = &cb->structure_steps.items[i];
        struct layer_structure *structure =
            layer_object_get(&dev->tables, GEN_HANDLE_VkAccelerationStructureKHR, step->structure);
        const struct layer_structure *source =
            layer_object_get(&dev->tables, GEN_HANDLE_VkAccelerationStructureKHR, step->source);
        if (step->build)
            step->build->executions++;
        if (!structure || structure->object.index != step->index)
            continue;
        if (source)
            set(structure, source->build, source->execution, source->fault);
        else
            set(structure, step->build, step->build ? step->build->executions : 0, step->fault);
    }
}

/* ---- structures ---- */

void layer_structure_finish(struct lap_object *object)
{
    release(((struct layer_structure *)object)->build);
}

const char *layer_structure_fault(const struct layer_structure *structure)
{
    if (structure->fault || !structure->build)
        return structure->fault;
    if (structure->build->fault)
        return structure->build->fault;
    return structure->execution == structure->build->executions
               ? NULL
               : "an acceleration structure is a copy of one that the same commands have built again";
}
