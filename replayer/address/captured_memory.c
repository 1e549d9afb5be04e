/* SPDX-License-Identifier: MIT */
#include "replayer/address/captured_memory.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/device.h"
#include "replayer/memory/allocation.h"

#define ADDRESS_FLAGS                                                                                                  \
    ((VkMemoryAllocateFlags)(VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT |                                                   \
                             VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT))

struct replay_address_memory {
    struct replay_memory_holder holder;
    struct lap_tree_node node; /* in replay_preserved_addresses.memories while listed */
    bool listed;
    VkDeviceSize bytes;
    uint32_t type;
    uint64_t address; /* opaque; 0: none is requested */
    VkBuffer dedicated;
    VkDeviceMemory live; /* null: not allocated */
    uint8_t *host;
    uint64_t users;
};

#define OF_NODE(n) ((struct replay_address_memory *)((char *)(n)-offsetof(struct replay_address_memory, node)))

/* ---- the recorded driver ---- */

bool replay_address_is_recorded_driver(const struct replay_device *dev,
                                       const struct gen_args_lapilliCaptureDevice *args)
{
    const struct replay_instance *instance = dev->instance;
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
    const uint64_t recorded[2] = {args->driverLow, args->driverHigh};

    if (instance->api_version < VK_API_VERSION_1_1 || instance->properties.apiVersion < VK_API_VERSION_1_1 ||
        !instance->vk.GetPhysicalDeviceProperties2)
        return false;
    instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &properties);
    return memcmp(ids.driverUUID, recorded, sizeof recorded) == 0 && instance->properties.vendorID == args->vendorID &&
           instance->properties.deviceID == args->deviceID && instance->properties.driverVersion == args->driverVersion;
}

enum lap_status replay_lapilliCaptureDevice(struct replay *r, struct replay_device *dev,
                                            struct gen_args_lapilliCaptureDevice *args)
{
    dev->recorded.same_driver = replay_address_is_recorded_driver(dev, args);
    dev->addresses.preserved.active = dev->addresses.preserved.possible && dev->recorded.same_driver;
    return LAP_OK;
}

/* ---- memories ---- */

static struct replay_address_memory *find(const struct replay_device *dev, uint64_t index)
{
    struct lap_tree_node *node = index ? lap_tree_first(dev->addresses.preserved.memories, index, index + 1) : NULL;
    return node ? OF_NODE(node) : NULL;
}

enum lap_status replay_lapilliCaptureMemory(struct replay *r, struct replay_device *dev,
                                            struct gen_args_lapilliCaptureMemory *args)
{
    uint64_t index = gen_u64_VkDeviceMemory(args->memory);
    struct replay_address_memory *memory = find(dev, index);

    if (!dev->addresses.preserved.active || !index || index == UINT64_MAX || (memory && memory->live))
        return LAP_OK;
    if (!memory) {
        memory = calloc(1, sizeof *memory);
        if (!memory)
            return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for a memory"));
        memory->node.begin = index;
        memory->node.end = index + 1;
        memory->node.order = ++dev->addresses.preserved.order;
        memory->listed = true;
        lap_tree_insert(&dev->addresses.preserved.memories, &memory->node);
    }
    memory->bytes = args->size;
    memory->type = args->memoryTypeIndex;
    memory->address = args->opaqueAddress;
    memory->dedicated = args->dedicated;
    return LAP_OK;
}

static void end(struct replay_device *dev, struct replay_address_memory *memory)
{
    if (memory->live) {
        replay_memory_release(dev, memory->type, memory->live, memory->bytes);
        if (memory->listed)
            dev->addresses.preserved.allocated_bytes -= memory->bytes;
    }
    if (memory->listed)
        lap_tree_remove(&dev->addresses.preserved.memories, &memory->node);
    free(memory);
}

static void leave(struct replay_device *dev, struct replay_memory_holder *holder)
{
    struct replay_address_memory *memory = (struct replay_address_memory *)holder;

    if (--memory->users == 0)
        end(dev, memory);
}

void replay_address_memory_finish(struct replay_device *dev)
{
    while (dev->addresses.preserved.memories)
        end(dev, OF_NODE(dev->addresses.preserved.memories));
}

/* A driver has the same requirements for the same buffer, but the trace may be invalid. */
static bool suits(const struct replay_device *dev, const struct replay_address_memory *memory, VkDeviceSize offset,
                  const struct replay_memory_needs *needs)
{
    const VkMemoryRequirements *wants = &needs->requirements;

    return memory->type < dev->instance->memory.memoryTypeCount && wants->memoryTypeBits >> memory->type & 1 &&
           offset % wants->alignment == 0 && offset <= memory->bytes && wants->size <= memory->bytes - offset &&
           (!needs->alone || memory->dedicated == needs->buffer) &&
           (!memory->dedicated || memory->dedicated == needs->buffer);
}

static enum lap_status allocate(struct replay_device *dev, struct replay_address_memory *memory,
                                const struct replay_memory_needs *needs)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = memory->dedicated};
    VkMemoryOpaqueCaptureAddressAllocateInfo address = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO,
        .pNext = memory->dedicated && needs->requirements.size == memory->bytes ? &dedicated : NULL,
        .opaqueCaptureAddress = memory->address};

    replay_memory_wait_for_room(dev, memory->bytes, memory->bytes);
    return replay_memory_allocate(dev, memory->type, memory->bytes, &address, ADDRESS_FLAGS, &memory->live,
                                  &memory->host);
}

static void take_place(struct replay_device *dev, struct replay_address_memory *memory, VkDeviceSize offset,
                       const struct replay_memory_needs *needs, struct replay_memory_place *out_place)
{
    VkDeviceSize alignment = needs->requirements.alignment, bytes = needs->requirements.size;

    replay_memory_place_fill(dev, memory->type, memory->live, memory->bytes, memory->host, offset, bytes, out_place);
    out_place->used_bytes = (bytes + alignment - 1) & ~(alignment - 1);
    if (out_place->used_bytes > memory->bytes - offset)
        out_place->used_bytes = memory->bytes - offset;
    out_place->holder = &memory->holder;
    out_place->holder->leave = leave;
    out_place->not_zeroed = true;
    memory->users++;
    replay_memory_place_count(dev, out_place);
}

/* Places a buffer in its recorded memory at the recorded address. LAP_END: that is impossible. */
static enum lap_status place_again(struct replay *r, struct replay_device *dev, uint64_t index, VkDeviceSize offset,
                                   const struct replay_memory_needs *needs, struct replay_memory_place *out_place)
{
    struct replay_preserved_addresses *preserved = &dev->addresses.preserved;
    struct replay_address_memory *memory = find(dev, index);
    enum lap_status status;

    if (!memory)
        return LAP_END;
    if (!suits(dev, memory, offset, needs)) {
        lap_log(r->log, preserved->counts.refused_memories ? LAP_LOG_DEBUG : LAP_LOG_INFO,
                "a buffer of %" PRIu64 " bytes at %" PRIu64 " wants other memory than VkDeviceMemory:%" PRIu64
                ", of %" PRIu64 " bytes of type %u",
                (uint64_t)needs->requirements.size, (uint64_t)offset, index, (uint64_t)memory->bytes, memory->type);
        preserved->counts.refused_memories++;
        return LAP_END;
    }
    if (!memory->live) {
        status = allocate(dev, memory, needs);
        if (status == LAP_ERROR_MEMORY) {
            lap_log(r->log, preserved->counts.refused_memories ? LAP_LOG_DEBUG : LAP_LOG_INFO,
                    "VkDeviceMemory:%" PRIu64 " can't lie where it lay: %s", index, lap_error_message());
            preserved->counts.refused_memories++;
            return LAP_END;
        }
        if (status != LAP_OK)
            return replay_place(r, status);
        preserved->counts.memories++;
        preserved->allocated_bytes += memory->bytes;
        if (preserved->allocated_bytes > preserved->counts.bytes)
            preserved->counts.bytes = preserved->allocated_bytes;
    }
    take_place(dev, memory, offset, needs, out_place);
    return LAP_OK;
}

enum lap_status replay_address_place(struct replay *r, struct replay_device *dev, uint64_t index, VkDeviceSize offset,
                                     const struct replay_memory_needs *needs, struct replay_memory_place *out_place)
{
    uint32_t types[VK_MAX_MEMORY_TYPES], count;
    struct replay_address_memory *memory;
    enum lap_status status;

    *out_place = (struct replay_memory_place){0};
    status = place_again(r, dev, index, offset, needs, out_place);
    if (status != LAP_END)
        return status;
    /* Its own memory, with the flag that such a buffer needs (VUID-vkBindBufferMemory-...-09200). */
    memory = calloc(1, sizeof *memory);
    if (!memory)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for a memory"));
    memory->bytes = needs->requirements.size;
    memory->dedicated = needs->dedicated ? needs->buffer : VK_NULL_HANDLE;
    count = replay_memory_rank_types(&dev->instance->memory, needs, types);
    status = LAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < count && status == LAP_ERROR_MEMORY; i++) {
        memory->type = types[i];
        status = allocate(dev, memory, needs);
    }
    if (status == LAP_OK) {
        take_place(dev, memory, 0, needs, out_place);
        return LAP_OK;
    }
    free(memory);
    if (count == 0)
        return replay_refuse(r, "the device has no memory type for this object (of %#x)",
                             needs->requirements.memoryTypeBits);
    return status == LAP_ERROR_MEMORY ? replay_memory_shortage(r, dev, needs, types, count) : replay_place(r, status);
}
