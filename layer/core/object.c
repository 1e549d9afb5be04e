/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "layer/core/layer.h"
#include "layer/core/records.h"

static struct lap_map *map_of(struct layer_device *device, enum gen_handle_type type)
{
    return gen_handle_global[type] || !device ? &layer.maps[type] : &device->own_maps[type];
}

static uint64_t next_index(enum gen_handle_type type)
{
    return atomic_fetch_add_explicit(&layer.next_index[type], 1, memory_order_relaxed) + 1;
}

static struct lap_object *add(struct layer_device *device, enum gen_handle_type type, uint64_t handle, bool created)
{
    struct lap_map *map = map_of(device, type);
    size_t bytes = layer.record_types[type].bytes;
    struct lap_object *object;

    pthread_mutex_lock(&layer.object_mutex[type]);
    object = lap_map_get(map, handle);
    if (object) {
        /* The driver shares equal objects by reference count: the replay gets one object for each creation. */
        struct lap_object_alias *alias = created ? malloc(sizeof *alias) : NULL;
        if (alias) {
            alias->index = next_index(type);
            alias->older = object->aliases;
            object->aliases = alias;
        } else if (created) {
            layer_stop("out of memory");
        }
    } else {
        object = calloc(1, bytes ? bytes : sizeof *object);
        if (object) {
            object->index = next_index(type);
            object->handle = handle;
            object->type = type;
            if (lap_map_put(map, handle, object, NULL) != LAP_OK) {
                free(object);
                object = NULL;
            }
        }
        if (!object)
            layer_stop("out of memory");
    }
    pthread_mutex_unlock(&layer.object_mutex[type]);
    if (type == GEN_HANDLE_VkSurfaceKHR)
        atomic_store(&layer.has_surface, true);
    return object;
}

struct lap_object *layer_object_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle)
{
    return add(device, type, handle, true);
}

struct lap_object *layer_object_find_or_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle)
{
    struct lap_object *object = lap_map_get(map_of(device, type), handle);
    return object ? object : add(device, type, handle, false);
}

struct lap_object *layer_object_prepare(enum gen_handle_type type)
{
    size_t bytes = layer.record_types[type].bytes;
    return lap_map_reserve(&layer.maps[type]) == LAP_OK ? calloc(1, bytes ? bytes : sizeof(struct lap_object)) : NULL;
}

bool layer_object_adopt(struct lap_object *object, enum gen_handle_type type, uint64_t handle)
{
    bool put;
    pthread_mutex_lock(&layer.object_mutex[type]);
    object->index = next_index(type);
    object->handle = handle;
    object->type = type;
    put = lap_map_put(&layer.maps[type], handle, object, NULL) == LAP_OK;
    pthread_mutex_unlock(&layer.object_mutex[type]);
    return put;
}

static void free_record(struct lap_object *object)
{
    const struct layer_record_type *type = &layer.record_types[object->type];
    if (type->finish)
        type->finish(object);
    for (struct lap_object_alias *alias = object->aliases, *older; alias; alias = older) {
        older = alias->older;
        free(alias);
    }
    free(object);
}

void layer_object_remove(struct layer_device *device, enum gen_handle_type type, uint64_t handle)
{
    struct lap_map *map = map_of(device, type);
    struct lap_object *object, *dead = NULL;

    if (!handle)
        return;
    layer_parts_enter(); /* a part that begins has found all records that it reads */
    pthread_mutex_lock(&layer.object_mutex[type]);
    object = lap_map_get(map, handle);
    if (object && object->aliases) {
        struct lap_object_alias *alias = object->aliases;
        object->aliases = alias->older;
        free(alias);
    } else if (object) {
        dead = lap_map_remove(map, handle);
    }
    pthread_mutex_unlock(&layer.object_mutex[type]);
    layer_parts_leave();
    if (dead)
        free_record(dead);
}

#define OWNED_AT_ONCE 64u

struct owned {
    bool (*is)(const void *record, const void *owner);
    const void *owner;
    uint64_t handles[OWNED_AT_ONCE];
    size_t count;
};

static void collect_owned(void *user, uint64_t key, void *value)
{
    struct owned *owned = user;
    if (owned->count < OWNED_AT_ONCE && owned->is(value, owned->owner))
        owned->handles[owned->count++] = key;
}

void layer_object_remove_owned(enum gen_handle_type type, bool (*is)(const void *record, const void *owner),
                               const void *owner)
{
    struct owned owned = {.is = is, .owner = owner};
    do {
        owned.count = 0;
        lap_map_each(&layer.maps[type], collect_owned, &owned);
        for (size_t i = 0; i < owned.count; i++)
            layer_object_remove(NULL, type, owned.handles[i]);
    } while (owned.count == OWNED_AT_ONCE);
}

static void free_visited(void *user, uint64_t key, void *value)
{
    free_record(value);
}

void layer_objects_finish(struct layer_device *device)
{
    for (uint32_t type = 1; type < GEN_HANDLE_COUNT; type++) {
        if (gen_handle_global[type])
            continue;
        lap_map_each(&device->own_maps[type], free_visited, NULL);
        lap_map_finish(&device->own_maps[type]);
    }
}

struct layer_instance *layer_instance_of_VkInstance(VkInstance handle)
{
    return lap_map_get(&layer.maps[GEN_HANDLE_VkInstance], gen_u64_VkInstance(handle));
}

struct layer_instance *layer_instance_of_VkPhysicalDevice(VkPhysicalDevice handle)
{
    /* The loader gives an instance and its physical devices the same dispatch table pointer. */
    return lap_map_get(&layer.instances_by_table, (uint64_t)(uintptr_t) * (void **)handle);
}

struct layer_physical_device *layer_physical_device_add(struct layer_instance *instance, VkPhysicalDevice handle)
{
    struct layer_physical_device *gpu = (struct layer_physical_device *)layer_object_find_or_add(
        NULL, GEN_HANDLE_VkPhysicalDevice, gen_u64_VkPhysicalDevice(handle));
    struct lap_type types[LAP_TYPES_MAX];
    struct lap_heaps heaps = {0};

    if (!gpu || atomic_load_explicit(&gpu->instance, memory_order_acquire))
        return gpu;
    pthread_mutex_lock(&layer.recording_mutex);
    if (gpu->instance) /* another thread was first */
        goto out;
    instance->vk.GetPhysicalDeviceProperties(handle, &gpu->properties);
    instance->vk.GetPhysicalDeviceMemoryProperties(handle, &gpu->memory);
    for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++)
        types[i] = (struct lap_type){gpu->memory.memoryTypes[i].propertyFlags, gpu->memory.memoryTypes[i].heapIndex};
    heaps.count = gpu->memory.memoryHeapCount;
    for (uint32_t i = 0; i < gpu->memory.memoryHeapCount; i++)
        heaps.local |= (gpu->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? 1u : 0) << i;
    lap_virtual_types_init(&gpu->types, types, gpu->memory.memoryTypeCount, heaps,
                           layer.options.real_memory_types || layer.pass_through);
    atomic_store_explicit(&gpu->instance, instance, memory_order_release);
out:
    pthread_mutex_unlock(&layer.recording_mutex);
    return gpu;
}

struct layer_physical_device *layer_physical_device_of(VkPhysicalDevice handle)
{
    struct layer_physical_device *record =
        lap_map_get(&layer.maps[GEN_HANDLE_VkPhysicalDevice], gen_u64_VkPhysicalDevice(handle));
    return record && atomic_load_explicit(&record->instance, memory_order_acquire)
               ? record
               : layer_physical_device_add(layer_instance_of_VkPhysicalDevice(handle), handle);
}

struct layer_device *layer_device_of_VkDevice(VkDevice handle)
{
    return lap_map_get(&layer.maps[GEN_HANDLE_VkDevice], gen_u64_VkDevice(handle));
}

struct layer_queue *layer_queue_of(VkQueue handle)
{
    return lap_map_get(&layer.maps[GEN_HANDLE_VkQueue], gen_u64_VkQueue(handle));
}

struct layer_device *layer_device_of_VkQueue(VkQueue handle)
{
    return layer_queue_of(handle)->device;
}

struct layer_device *layer_device_of_VkCommandBuffer(VkCommandBuffer handle)
{
    return layer_cmdbuf_of(handle)->device;
}
