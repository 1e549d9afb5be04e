/* SPDX-License-Identifier: MIT */
#include "replayer/acceleration/build_scratch.h"

#include <stdlib.h>

#include "base/array.h"
#include "replayer/acceleration/acceleration.h"
#include "replayer/core/handles.h"

#define HEADS 256u

struct piece {
    VkBuffer buffer;
    struct replay_memory_place place;
    VkDeviceAddress address, recorded;
    VkDeviceSize bytes; /* from the address on */
    bool taken;
};

/* The pieces of one command buffer. */
struct pieces {
    VkCommandBuffer commands;
    struct piece *items;
    size_t count, capacity;
    struct pieces *next;
};

struct replay_build_scratch {
    struct replay *r;
    VkDeviceSize alignment;
    struct pieces *heads[HEADS];
};

static enum lap_status need_scratch(struct replay *r, struct replay_device *dev)
{
    VkPhysicalDeviceAccelerationStructurePropertiesKHR properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ACCELERATION_STRUCTURE_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &properties};

    if (dev->rays.build_scratch)
        return LAP_OK;
    if (!dev->instance->vk.GetPhysicalDeviceProperties2)
        return replay_refuse(r, "the device does not say how scratch memory is aligned");
    dev->rays.build_scratch = calloc(1, sizeof *dev->rays.build_scratch);
    if (!dev->rays.build_scratch)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for scratch memory");
    dev->rays.build_scratch->r = r;
    dev->instance->vk.GetPhysicalDeviceProperties2(dev->gpu, &all);
    dev->rays.build_scratch->alignment = properties.minAccelerationStructureScratchOffsetAlignment
                                             ? properties.minAccelerationStructureScratchOffsetAlignment
                                             : 1;
    return LAP_OK;
}

static struct pieces **find_list(struct replay_build_scratch *scratch, VkCommandBuffer commands)
{
    uint64_t key = gen_u64_VkCommandBuffer(commands);
    struct pieces **at = &scratch->heads[(key >> 4 ^ key >> 12) % HEADS];

    while (*at && (*at)->commands != commands)
        at = &(*at)->next;
    return at;
}

static void free_piece(struct replay_device *dev, struct piece *piece)
{
    if (piece->buffer) {
        replay_acceleration_buffer_destroy(dev, piece->buffer, &piece->place);
        replay_objects_release(dev->rays.build_scratch->r, 1);
    }
    *piece = (struct piece){0};
}

static void free_list(struct replay_device *dev, struct pieces *list)
{
    for (size_t i = 0; i < list->count; i++)
        free_piece(dev, &list->items[i]);
    free(list->items);
    free(list);
}

static enum lap_status make_piece(struct replay *r, struct replay_device *dev, VkDeviceSize bytes, struct piece *piece)
{
    VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    VkDeviceSize rest = dev->rays.build_scratch->alignment - 1;
    VkDeviceAddress address;
    enum lap_status status;

    if (bytes > UINT64_MAX - rest)
        return replay_refuse(r, "no memory has room for the scratch memory of a build");
    status = replay_acceleration_buffer(r, dev, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, bytes + rest, &piece->buffer,
                                        &piece->place);
    if (status != LAP_OK)
        return status;
    info.buffer = piece->buffer;
    address = dev->vk.GetBufferDeviceAddress ? dev->vk.GetBufferDeviceAddress(dev->live, &info) : 0;
    piece->address = address % (rest + 1) ? address + (rest + 1 - address % (rest + 1)) : address;
    piece->bytes = bytes;
    if (address)
        return LAP_OK;
    free_piece(dev, piece);
    return replay_refuse(r, "scratch memory has no address on this device");
}

enum lap_status replay_build_scratch_take(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                          VkDeviceAddress recorded, VkDeviceSize bytes, VkDeviceAddress *out_address)
{
    struct piece *piece = NULL, *spare = NULL;
    struct pieces **at, *list;
    enum lap_status status = need_scratch(r, dev);

    if (status != LAP_OK)
        return status;
    at = find_list(dev->rays.build_scratch, commands);
    list = *at;
    if (!list) {
        list = *at = calloc(1, sizeof *list);
        if (!list)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for scratch memory");
        list->commands = commands;
    }
    for (size_t i = 0; i < list->count && !piece; i++) {
        struct piece *item = &list->items[i];
        if (item->taken ? item->recorded == recorded && item->bytes >= bytes : item->bytes >= bytes)
            piece = item;
        else if (!item->taken)
            spare = item;
    }
    if (!piece && !spare) {
        if (!lap_array_grow(&list->items, sizeof *list->items, &list->capacity, list->count + 1))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory for scratch memory");
        spare = &list->items[list->count++];
        *spare = (struct piece){0};
    }
    if (!piece) {
        free_piece(dev, spare);
        status = make_piece(r, dev, bytes ? bytes : 1, spare);
        if (status != LAP_OK)
            return status;
        piece = spare;
    }
    piece->taken = true;
    piece->recorded = recorded;
    *out_address = piece->address;
    return LAP_OK;
}

void replay_build_scratch_reuse(struct replay_device *dev, VkCommandBuffer commands)
{
    struct pieces *list = dev->rays.build_scratch ? *find_list(dev->rays.build_scratch, commands) : NULL;

    for (size_t i = 0; list && i < list->count; i++)
        list->items[i].taken = false;
}

void replay_build_scratch_forget(struct replay_device *dev, VkCommandBuffer commands)
{
    struct pieces **at = dev->rays.build_scratch ? find_list(dev->rays.build_scratch, commands) : NULL,
                  *list = at ? *at : NULL;

    if (!list)
        return;
    *at = list->next;
    free_list(dev, list);
}

void replay_build_scratch_destroy(struct replay_device *dev)
{
    for (size_t i = 0; dev->rays.build_scratch && i < HEADS; i++)
        while (dev->rays.build_scratch->heads[i]) {
            struct pieces *list = dev->rays.build_scratch->heads[i];
            dev->rays.build_scratch->heads[i] = list->next;
            free_list(dev, list);
        }
    free(dev->rays.build_scratch);
    dev->rays.build_scratch = NULL;
}
