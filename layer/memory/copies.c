/* SPDX-License-Identifier: MIT */
#include "layer/memory/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "layer/core/layer.h"
#include "layer/core/thread.h"

#define CHUNK_BYTES   ((VkDeviceSize)4 << 20)
#define MOST_FAMILIES 16u
/* Other memory types need features or permissions. */
#define PLAIN_FLAGS                                                                                                    \
    (VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |                                       \
     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT)

/* ---- chunks ---- */

struct families {
    const struct layer_device *dev;
    uint32_t items[MOST_FAMILIES], count;
};

static void add_family(void *user, uint64_t handle, void *record)
{
    struct families *families = user;
    const struct layer_queue *queue = record;

    if (queue->device != families->dev || families->count == MOST_FAMILIES)
        return;
    for (uint32_t i = 0; i < families->count; i++)
        if (families->items[i] == queue->family)
            return;
    families->items[families->count++] = queue->family;
}

/* The driver's memory type: of the device where there is one. */
static uint32_t choose_type(const struct layer_physical_device *gpu, uint32_t mask)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = gpu->memory.memoryTypeCount; i-- > 0;) {
        const VkMemoryPropertyFlags flags = gpu->memory.memoryTypes[i].propertyFlags;
        if (!(mask >> i & 1) || flags & ~PLAIN_FLAGS)
            continue;
        if (best == UINT32_MAX || flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            best = i;
    }
    return best;
}

static uint32_t shown_type(const struct layer_physical_device *gpu, uint32_t real)
{
    for (uint32_t i = 0; i < gpu->types.shown_count; i++)
        if (lap_virtual_types_real_index(&gpu->types, i) == real)
            return i;
    return real;
}

static bool create_memory(struct layer_device *dev, struct layer_copy_chunk *chunk)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = chunk->buffer};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    VkMemoryRequirements requirements;

    dev->vk.GetBufferMemoryRequirements(dev->handle, chunk->buffer, &requirements);
    allocate.allocationSize = chunk->memory_bytes = requirements.size;
    allocate.memoryTypeIndex = choose_type(dev->physical_device, requirements.memoryTypeBits);
    if (allocate.memoryTypeIndex == UINT32_MAX ||
        dev->vk.AllocateMemory(dev->handle, &allocate, NULL, &chunk->memory) != VK_SUCCESS)
        return false;
    chunk->shown_type = shown_type(dev->physical_device, allocate.memoryTypeIndex);
    if (dev->vk.BindBufferMemory(dev->handle, chunk->buffer, chunk->memory, 0) != VK_SUCCESS)
        return false;
    chunk->address = dev->vk.GetBufferDeviceAddress(dev->handle, &which);
    return chunk->address != 0;
}

static void free_chunk(struct layer_device *dev, struct layer_copy_chunk *chunk)
{
    dev->vk.DestroyBuffer(dev->handle, chunk->buffer, NULL);
    dev->vk.FreeMemory(dev->handle, chunk->memory, NULL);
    free(chunk->free);
    free(chunk);
}

static struct layer_copy_chunk *create_chunk(struct layer_device *dev, VkDeviceSize bytes)
{
    struct layer_copy_chunk *chunk = calloc(1, sizeof *chunk);
    struct families families = {.dev = dev};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = bytes};

    if (!chunk)
        return NULL;
    chunk->bytes = bytes;
    chunk->usage = create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                                  VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                  VK_BUFFER_USAGE_ACCELERATION_STRUCTURE_BUILD_INPUT_READ_ONLY_BIT_KHR;
    lap_map_each(dev->maps[GEN_HANDLE_VkQueue], add_family, &families);
    if (families.count > 1) {
        create.sharingMode = VK_SHARING_MODE_CONCURRENT;
        create.queueFamilyIndexCount = families.count;
        create.pQueueFamilyIndices = families.items;
    }
    if (!dev->vk.GetBufferDeviceAddress ||
        !lap_array_grow_u32(&chunk->free, sizeof *chunk->free, &chunk->free_capacity, 1) ||
        dev->vk.CreateBuffer(dev->handle, &create, NULL, &chunk->buffer) != VK_SUCCESS || !create_memory(dev, chunk)) {
        free_chunk(dev, chunk);
        return NULL;
    }
    chunk->free[chunk->free_count++] = (struct layer_copy_span){0, bytes};
    return chunk;
}

/* ---- ranges ---- */

static bool take_from(struct layer_copy_chunk *chunk, VkDeviceSize bytes, struct layer_copy *out)
{
    for (uint32_t i = 0; i < chunk->free_count; i++) {
        struct layer_copy_span *span = &chunk->free[i];
        if (span->bytes < bytes)
            continue;
        *out = (struct layer_copy){chunk, span->offset, bytes};
        span->offset += bytes;
        span->bytes -= bytes;
        if (!span->bytes)
            memmove(span, span + 1, (--chunk->free_count - i) * sizeof *span);
        return true;
    }
    return false;
}

bool layer_copies_take(struct layer_device *dev, VkDeviceSize bytes, struct layer_copy *out)
{
    struct layer_copies *copies = &dev->copies;
    bool found = false;

    *out = (struct layer_copy){0};
    if (bytes > UINT64_MAX - LAYER_COPY_ALIGNMENT)
        return false;
    bytes = (bytes + LAYER_COPY_ALIGNMENT - 1) / LAYER_COPY_ALIGNMENT * LAYER_COPY_ALIGNMENT;
    pthread_mutex_lock(&copies->mutex);
    for (struct layer_copy_chunk *chunk = copies->chunks; chunk && !found; chunk = chunk->next)
        found = take_from(chunk, bytes, out);
    if (!found) {
        struct layer_copy_chunk *chunk = create_chunk(dev, bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
        if (chunk) {
            chunk->next = copies->chunks;
            copies->chunks = chunk;
            found = take_from(chunk, bytes, out);
        }
    }
    pthread_mutex_unlock(&copies->mutex);
    return found;
}

/* Out of memory: the range stays allocated as long as its chunk. */
static void give_to(struct layer_copy_chunk *chunk, const struct layer_copy *copy)
{
    struct layer_copy_span *spans = chunk->free;
    uint32_t at = 0;
    bool meets_last, meets_next;

    while (at < chunk->free_count && spans[at].offset < copy->offset)
        at++;
    meets_last = at && spans[at - 1].offset + spans[at - 1].bytes == copy->offset;
    meets_next = at < chunk->free_count && copy->offset + copy->bytes == spans[at].offset;
    if (meets_last) {
        spans[at - 1].bytes += copy->bytes + (meets_next ? spans[at].bytes : 0);
        if (meets_next)
            memmove(&spans[at], &spans[at + 1], (--chunk->free_count - at) * sizeof *spans);
    } else if (meets_next) {
        spans[at].offset = copy->offset;
        spans[at].bytes += copy->bytes;
    } else if (lap_array_grow_u32(&chunk->free, sizeof *chunk->free, &chunk->free_capacity,
                                  (size_t)chunk->free_count + 1)) {
        memmove(&chunk->free[at + 1], &chunk->free[at], (chunk->free_count++ - at) * sizeof *chunk->free);
        chunk->free[at] = (struct layer_copy_span){copy->offset, copy->bytes};
    }
}

static bool is_empty(const struct layer_copy_chunk *chunk)
{
    return chunk->free_count == 1 && chunk->free[0].bytes == chunk->bytes;
}

void layer_copies_give(struct layer_device *dev, struct layer_copy *copy)
{
    struct layer_copies *copies = &dev->copies;
    struct layer_copy_chunk *chunk = copy->chunk, **at = &copies->chunks;

    if (!copy->bytes)
        return;
    pthread_mutex_lock(&copies->mutex);
    give_to(chunk, copy);
    if (is_empty(chunk) && (copies->chunks != chunk || chunk->next)) { /* the last one stays */
        while (*at != chunk)
            at = &(*at)->next;
        *at = chunk->next;
        free_chunk(dev, chunk);
    }
    pthread_mutex_unlock(&copies->mutex);
    *copy = (struct layer_copy){0};
}

void layer_copies_init(struct layer_device *dev)
{
    layer_mutex_init(&dev->copies.mutex);
}

void layer_copies_finish(struct layer_device *dev)
{
    while (dev->copies.chunks) {
        struct layer_copy_chunk *chunk = dev->copies.chunks;
        dev->copies.chunks = chunk->next;
        free_chunk(dev, chunk);
    }
    pthread_mutex_destroy(&dev->copies.mutex);
}
