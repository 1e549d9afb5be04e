/* SPDX-License-Identifier: MIT */
/* structure: creates acceleration structures, with storage for all builds and copies of the trace into them. */
#include <inttypes.h>
#include <stdlib.h>

#include "replayer/acceleration/acceleration.h"
#include "replayer/acceleration/build_scratch.h"
#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/ownership_transfer.h"

/* ---- buffers of the replay's own ---- */

enum lap_status replay_acceleration_buffer(struct replay *r, struct replay_device *dev, VkBufferUsageFlags usage,
                                           VkDeviceSize bytes, VkBuffer *out_buffer,
                                           struct replay_memory_place *out_place)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    struct replay_memory_needs needs;
    enum lap_status status;

    *out_buffer = VK_NULL_HANDLE;
    *out_place = (struct replay_memory_place){0};
    status = replay_objects_reserve(r, 1);
    if (status != LAP_OK)
        return status;
    replay_share_buffer(dev, &info);
    status = replay_result(r, dev->vk.CreateBuffer(dev->live, &info, NULL, out_buffer));
    if (status != LAP_OK) {
        *out_buffer = VK_NULL_HANDLE;
        replay_objects_release(r, 1);
        return status;
    }
    replay_memory_buffer_needs(dev, *out_buffer, &needs);
    needs.wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    status = replay_memory_place_alloc(r, dev, &needs, out_place);
    if (status == LAP_OK)
        status =
            replay_result(r, dev->vk.BindBufferMemory(dev->live, *out_buffer, out_place->memory, out_place->offset));
    if (status != LAP_OK) {
        replay_acceleration_buffer_destroy(dev, *out_buffer, out_place);
        *out_buffer = VK_NULL_HANDLE;
        replay_objects_release(r, 1);
    }
    return status;
}

void replay_acceleration_buffer_destroy(struct replay_device *dev, VkBuffer buffer, struct replay_memory_place *place)
{
    if (buffer)
        replay_destroy(dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer));
    replay_memory_place_free(dev, place);
}

/* ---- storage of destroyed structures ---- */

#define MOST_KEPT       1024u
#define MOST_KEPT_BYTES ((VkDeviceSize)64 << 20)

/* With --verify, memory may still have the address of a structure that was destroyed. The comparison uses its recorded
 * address, so no other structure gets the same recorded address too soon. */
struct replay_kept_structures {
    struct replay *r;
    struct {
        VkBuffer buffer;
        struct replay_memory_place place;
    } items[MOST_KEPT]; /* a ring */
    uint32_t first, count;
    VkDeviceSize bytes;
};

static void drop_oldest(struct replay_device *dev)
{
    struct replay_kept_structures *kept = dev->rays.kept_structures;
    uint32_t at = kept->first;

    kept->bytes -= kept->items[at].place.bytes;
    kept->first = (at + 1) % MOST_KEPT;
    kept->count--;
    replay_acceleration_buffer_destroy(dev, kept->items[at].buffer, &kept->items[at].place);
    replay_objects_release(kept->r, 1);
}

/* Takes over the buffer. */
static bool keep(struct replay *r, struct replay_device *dev, const struct replay_structure *structure)
{
    struct replay_kept_structures *kept = dev->rays.kept_structures;
    uint32_t at;

    if (!r->check || structure->place.bytes > MOST_KEPT_BYTES)
        return false;
    if (!kept)
        kept = dev->rays.kept_structures = calloc(1, sizeof *kept);
    if (!kept)
        return false;
    kept->r = r;
    while (kept->count && (kept->count == MOST_KEPT || kept->bytes > MOST_KEPT_BYTES - structure->place.bytes))
        drop_oldest(dev);
    at = (kept->first + kept->count++) % MOST_KEPT;
    kept->items[at].buffer = structure->buffer;
    kept->items[at].place = structure->place;
    kept->bytes += structure->place.bytes;
    return true;
}

void replay_acceleration_finish(struct replay_device *dev)
{
    while (dev->rays.kept_structures && dev->rays.kept_structures->count)
        drop_oldest(dev);
    free(dev->rays.kept_structures);
    dev->rays.kept_structures = NULL;
    replay_build_scratch_destroy(dev);
}

/* ---- structures ---- */

enum lap_status replay_CreateAccelerationStructureKHR(struct replay *r, struct replay_device *dev,
                                                      struct gen_args_vkCreateAccelerationStructureKHR *args)
{
    VkAccelerationStructureCreateInfoKHR info = *args->pCreateInfo;
    uint64_t index = gen_u64_VkAccelerationStructureKHR(*args->pAccelerationStructure);
    VkAccelerationStructureKHR live = VK_NULL_HANDLE;
    struct replay_structure *structure;
    enum lap_status status;

    if (!index)
        return LAP_OK; /* the recorded call failed */
    if (!dev->vk.GetAccelerationStructureBuildSizesKHR)
        return replay_missing(r, GEN_vkGetAccelerationStructureBuildSizesKHR);
    structure = calloc(1, sizeof *structure);
    if (!structure)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an acceleration structure");
    status = replay_acceleration_find_size(r, dev, GEN_HANDLE_VkAccelerationStructureKHR, index, info.size,
                                           &structure->bytes);
    if (status == LAP_OK)
        status = replay_acceleration_buffer(r, dev, VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_STORAGE_BIT_KHR,
                                            structure->bytes, &structure->buffer, &structure->place);
    if (status != LAP_OK) {
        free(structure);
        return status;
    }
    info.createFlags = 0; /* recorded addresses are translated */
    info.deviceAddress = 0;
    info.buffer = structure->buffer;
    info.offset = 0;
    info.size = structure->bytes;
    status = replay_result(r, dev->vk.CreateAccelerationStructureKHR(dev->live, &info, NULL, &live));
    if (status == LAP_OK)
        status = gen_keep_VkAccelerationStructureKHR(r, dev, args->pAccelerationStructure, &live, 1);
    if (status == LAP_OK) {
        replay_object_get(r, GEN_HANDLE_VkAccelerationStructureKHR, index)->record = structure;
        return LAP_OK;
    }
    replay_acceleration_buffer_destroy(dev, structure->buffer, &structure->place);
    replay_objects_release(r, 1);
    free(structure);
    return status;
}

enum lap_status replay_end_VkAccelerationStructureKHR(struct replay *r, struct replay_device *dev, uint64_t index,
                                                      struct replay_object *object)
{
    struct replay_structure *structure = object->record;

    replay_destroy(dev, GEN_HANDLE_VkAccelerationStructureKHR, object->live);
    if (structure) {
        bool has_address = structure->range != NULL;
        if (has_address)
            replay_address_structure_end(dev, structure->range);
        if (!has_address || !keep(r, dev, structure)) {
            replay_acceleration_buffer_destroy(dev, structure->buffer, &structure->place);
            replay_objects_release(r, 1);
        }
        free(structure);
    }
    replay_object_end(r, GEN_HANDLE_VkAccelerationStructureKHR, index, object);
    return LAP_OK;
}

enum lap_status
replay_GetAccelerationStructureDeviceAddressKHR(struct replay *r, struct replay_device *dev,
                                                struct gen_args_vkGetAccelerationStructureDeviceAddressKHR *args)
{
    uint64_t index;
    const struct replay_object *object =
        replay_object_of(r, GEN_HANDLE_VkAccelerationStructureKHR,
                         gen_u64_VkAccelerationStructureKHR(args->pInfo->accelerationStructure), &index);
    VkDeviceAddress live;

    if (!object || !object->record)
        return replay_invalid(r, "the address of an acceleration structure that is not alive");
    if (!args->result || ((struct replay_structure *)object->record)->range)
        return LAP_OK; /* its address does not change */
    live = dev->vk.GetAccelerationStructureDeviceAddressKHR(dev->live, args->pInfo);
    if (!live)
        return replay_refuse(r, "VkAccelerationStructureKHR:%" PRIu64 " has no address in this replay", index);
    return replay_address_structure(r, dev, index, args->result, live,
                                    &((struct replay_structure *)object->record)->range);
}
