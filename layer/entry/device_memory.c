/* SPDX-License-Identifier: MIT */
/*
 * Device memory: allocation, mapping and binding. The calls themselves are recorded as information; a replay uses
 * lapilliBind* and lapilliUpdate* packets instead.
 *
 * Memory tracking holds its mutex while it writes packets, so it is never called with a packet open.
 */
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "gen_renamed.h"
#include "layer/core/hardware_functions.h"
#include "layer/core/records.h"
#include "layer/core/unseen.h"
#include "layer/entry/resource.h"
#include "layer/image/hardware_buffer.h"
#include "layer/image/image_rows.h"
#include "layer/memory/backing.h"
#include "layer/memory/capture_address.h"
#include "layer/memory/host_import.h"
#include "layer/memory/payload.h"
#include "layer/memory/sparse_places.h"
#include "layer/memory/unmapped_read.h"
#include "layer/submit/change_checks.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/memory_checks.h"
#include "layer/submit/sparse.h"
#include "memtrack/diff.h"
#include "vulkan/chain.h"
#include "vulkan/layout.h"
#include "vulkan/modifier.h"

#define PAGE_BYTES          4096u

#define FAILED_FLAG(result) ((result) < 0 ? LAP_PACKET_FAILED : 0u)

/* ---- allocation ---- */

/* Memory imported from an exporter has contents of the exporter; new memory has undefined contents. */
static bool is_imported(const void *chain)
{
    static const VkStructureType imports[] = {
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR,
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_NV,
        VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID,
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_ZIRCON_HANDLE_INFO_FUCHSIA,
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_BUFFER_COLLECTION_FUCHSIA,
    };
    for (size_t i = 0; i < sizeof imports / sizeof imports[0]; i++)
        if (lap_chain_find(chain, imports[i]))
            return true;
    return false;
}

static bool has_addresses(const void *chain)
{
    const VkMemoryAllocateFlagsInfo *info = lap_chain_find(chain, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    return info && info->flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
}

static bool is_visible(VkMemoryPropertyFlags flags)
{
    return flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
}

/* Whether the host's writes need no flush. A program flushes no memory of a type that is not host-visible. */
static bool is_coherent(const struct layer_memory *memory)
{
    return memory->real_flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT || !is_visible(memory->real_flags);
}

static uint32_t flags_if_mapped(const struct layer_memory *memory, const void *chain)
{
    VkMemoryPropertyFlags shown = is_visible(memory->shown_flags) ? memory->shown_flags : memory->real_flags;
    uint32_t flags = memory->import || is_imported(chain) ? 0 : LAP_MEM_FRESH;
    if (is_coherent(memory))
        flags |= LAP_MEM_HOST_COHERENT;
    if (has_addresses(chain) && shown & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
        flags |= LAP_MEM_READ_BACK;
    return flags | LAP_MEM_HOST_VISIBLE;
}

/* A type that is shown without HOST_VISIBLE counts as never mapped, even if the driver's type is host-visible, until
 * the program maps it (show_hidden). */
static uint32_t tracking_flags(const struct layer_memory *memory, const void *chain)
{
    if (layer_payload_is_read(memory->payload)) /* the file shows host writes without a flush */
        return LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT;
    return is_visible(memory->shown_flags) ? flags_if_mapped(memory, chain) : 0;
}

/* New memory has undefined contents, and work that leaves some of it unwritten would give other results in a replay,
 * where objects begin as zeroes. Only where results are compared. */
static void begin_as_zeroes(struct layer_device *dev, struct layer_memory *memory, VkDeviceMemory handle)
{
    const VkMappedMemoryRange all = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = handle, .size = VK_WHOLE_SIZE};
    size_t left = (size_t)memory->bytes, part;
    void *mapped = NULL;

    if (dev->vk.MapMemory(dev->handle, handle, 0, VK_WHOLE_SIZE, 0, &mapped) < 0)
        return;
    /* Pages that were never written have no storage and get none. Uncached memory is faster to write than to read. */
    for (unsigned char *at = mapped; left; at += part, left -= part) {
        part = left < PAGE_BYTES ? left : PAGE_BYTES;
        if (!(memory->real_flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) || !lap_diff_is_zero(at, part))
            memset(at, 0, part);
    }
    if (!(memory->real_flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        (void)dev->vk.FlushMappedMemoryRanges(dev->handle, 1, &all);
    memory->cleared = true;
    dev->vk.UnmapMemory(dev->handle, handle);
}

/* The same for memory that the program can't map. Exported memory, and dedicated allocations that the layer can't map
 * either, are left as they are. */
static void begin_unmapped(struct layer_device *dev, struct layer_memory *memory, const VkMemoryAllocateInfo *info,
                           VkDeviceMemory handle)
{
    const VkMemoryPropertyFlags refused = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;

    if (memory->import || memory->payload || memory->backing || is_imported(info->pNext) ||
        memory->real_flags & refused || lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO))
        return;
    if (memory->real_flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
        begin_as_zeroes(dev, memory, handle);
    else if (!lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO))
        memory->cleared = layer_verify_all_clear(dev, handle, memory->bytes, memory->real_type);
}

/* Pages that the program imports are its own, and it may write them from now on: mapped until they are freed. */
static void track(struct layer_device *dev, struct layer_memory *memory, const void *chain)
{
    uint32_t flags = tracking_flags(memory, chain);
    enum lap_status status;
    if (memory->payload)
        status = layer_payload_track(memory->payload, flags, &memory->mem);
    else if (memory->import && flags)
        status = layer_host_import_track(memory->import, flags, &memory->mem);
    else
        status = lap_mem_create(dev->memtrack, memory->bytes, flags, &memory->mem);
    layer_tracking_result(status);
}

/* Pages whose memory gets no record are not given back: the driver has them. */
static void remember_memory(struct layer_device *dev, const VkMemoryAllocateInfo *info, uint32_t real_type,
                            const struct layer_memory *made, VkDeviceMemory handle)
{
    const struct layer_physical_device *gpu = dev->physical_device;
    const VkMemoryDedicatedAllocateInfo *dedicated =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    struct layer_memory *memory = LAYER_ADD(dev, VkDeviceMemory, handle);
    if (!memory || memory->object.aliases) {
        layer_host_import_end(made->import);
        layer_payload_end(made->payload);
        return;
    }
    memory->backing = made->backing;
    memory->import = made->import;
    memory->payload = made->payload;
    memory->bytes = info->allocationSize;
    if (info->memoryTypeIndex < gpu->types.shown_count)
        memory->shown_flags = gpu->types.shown[info->memoryTypeIndex].flags;
    memory->shown_type = info->memoryTypeIndex;
    memory->real_type = real_type;
    memory->capturable = made->capturable;
    if (dedicated)
        memory->dedicated = gen_u64_VkBuffer(dedicated->buffer);
    if (real_type < gpu->memory.memoryTypeCount)
        memory->real_flags = gpu->memory.memoryTypes[real_type].propertyFlags;
    memory->mapped_flags = flags_if_mapped(memory, info->pNext);
    if (!dev->memtrack || !layer_is_recording())
        return;
    if (layer.options.verify_all && !(tracking_flags(memory, info->pNext) & LAP_MEM_HOST_VISIBLE))
        begin_unmapped(dev, memory, info, handle);
    if (layer.options.verify && !memory->backing && tracking_flags(memory, info->pNext) & LAP_MEM_FRESH &&
        memory->real_flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
        begin_as_zeroes(dev, memory, handle);
    track(dev, memory, info->pNext);
}

/* A replay must know that objects bound to memories of one space may share bytes. */
static void tell_sharing(struct layer_device *dev, VkDeviceMemory handle)
{
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, handle);
    uint64_t space, offset = 0;
    struct lap_enc *enc;

    if (!memory || (!memory->import && !memory->payload))
        return;
    if (memory->payload)
        space = layer_payload_space(memory->payload);
    else
        layer_host_import_place(memory->import, &space, &offset);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliSharedMemory, 0);
    if (enc) {
        gen_encode_lapilliSharedMemory(enc, handle, space, offset);
        layer_packet_end();
    }
}

/* The parts of a memory record that are made before the driver's vkAllocateMemory. */
static VkResult prepare(struct layer_device *dev, const VkMemoryAllocateInfo *info, struct layer_memory *made)
{
    VkResult result = layer_host_import_begin(dev, info, &made->import);
    if (result >= 0 && !made->import && !layer_payload_begin(dev, info, &made->payload))
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    return result;
}

/* The driver's call, with the flag for the same address in a replay, and without it if that fails. */
static VkResult allocate(struct layer_device *dev, const VkMemoryAllocateInfo *asked,
                         const VkAllocationCallbacks *allocator, VkDeviceMemory *out_memory, struct layer_memory *made,
                         uint32_t *out_real_type)
{
    struct layer_address_memory request;
    const VkMemoryAllocateInfo *info = layer_address_memory_info(dev, asked, &request);
    VkResult result = layer_backing_allocate(dev, info, allocator, out_memory, &made->backing, out_real_type);

    made->capturable = info != asked && result >= 0;
    if (info != asked && result < 0)
        result = layer_backing_allocate(dev, asked, allocator, out_memory, &made->backing, out_real_type);
    layer_address_memory_finish(&request);
    return result;
}

/* Memory that is exported as an AHardwareBuffer has one from the beginning, and the driver says its size. */
static VkResult know_buffer(struct layer_device *dev, VkDeviceMemory memory, const struct layer_memory *made,
                            VkMemoryAllocateInfo *info)
{
    const VkExportMemoryAllocateInfo *export =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const VkMemoryGetAndroidHardwareBufferInfoANDROID get = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_ANDROID_HARDWARE_BUFFER_INFO_ANDROID, .memory = memory};
    VkAndroidHardwareBufferPropertiesANDROID is = {.sType =
                                                       VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID};
    struct AHardwareBuffer *buffer = NULL;
    VkResult result;

    if (!made->payload || !export ||
        !(export->handleTypes & VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID) ||
        !layer_hardware_exists() || !dev->vk.GetMemoryAndroidHardwareBufferANDROID)
        return VK_SUCCESS;
    result = dev->vk.GetMemoryAndroidHardwareBufferANDROID(dev->handle, &get, &buffer);
    if (result < 0)
        return result;
    result = dev->vk.GetAndroidHardwareBufferPropertiesANDROID(dev->handle, buffer, &is);
    if (result >= 0 && !layer_payload_is_buffer(made->payload, buffer, is.allocationSize))
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    layer_hardware_buffer_release(buffer);
    if (result >= 0)
        info->allocationSize = is.allocationSize;
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *pAllocateInfo,
                                                      const VkAllocationCallbacks *pAllocator, VkDeviceMemory *pMemory)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct layer_memory made = {0};
    VkMemoryAllocateInfo known = *pAllocateInfo;
    uint32_t real_type;
    VkResult result = prepare(dev, pAllocateInfo, &made);

    if (result >= 0)
        result = allocate(dev, pAllocateInfo, pAllocator, pMemory, &made, &real_type);
    if (result >= 0 && (result = know_buffer(dev, *pMemory, &made, &known)) < 0)
        dev->vk.FreeMemory(device, *pMemory, pAllocator);
    if (result >= 0) {
        remember_memory(dev, &known, real_type, &made, *pMemory);
    } else {
        layer_host_import_end(made.import);
        layer_payload_end(made.payload);
    }
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkAllocateMemory, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkAllocateMemory(enc, device, &known, pAllocator, pMemory, result);
        layer_packet_end();
    }
    if (result >= 0)
        tell_sharing(dev, *pMemory);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetMemoryFdKHR(VkDevice device, const VkMemoryGetFdInfoKHR *pGetFdInfo, int *pFd)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, pGetFdInfo->memory);
    VkResult result = dev->vk.GetMemoryFdKHR(device, pGetFdInfo, pFd);

    if (result >= 0 && memory)
        layer_payload_exported(memory->payload, pGetFdInfo->handleType, *pFd);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetMemoryFdKHR, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkGetMemoryFdKHR(enc, device, pGetFdInfo, pFd, result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetMemoryAndroidHardwareBufferANDROID(
    VkDevice device, const VkMemoryGetAndroidHardwareBufferInfoANDROID *pInfo, struct AHardwareBuffer **pBuffer)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, pInfo->memory);
    VkResult result = dev->vk.GetMemoryAndroidHardwareBufferANDROID(device, pInfo, pBuffer);

    if (result >= 0 && memory)
        layer_payload_exported(memory->payload, VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID, -1);
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkGetMemoryAndroidHardwareBufferANDROID, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkGetMemoryAndroidHardwareBufferANDROID(enc, device, pInfo, pBuffer, result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR void VKAPI_CALL capture_FreeMemory(VkDevice device, VkDeviceMemory memory,
                                              const VkAllocationCallbacks *pAllocator)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    struct layer_backing *backing = NULL;
    struct layer_host_import *import = NULL;
    struct layer_payload_user *payload = NULL;
    struct lap_enc *enc;

    /* Freeing unmaps, and the watch must be off before the pages go. */
    if (record && !record->object.aliases) {
        layer_host_import_untrack(record->import);
        layer_payload_untrack(record->payload);
        lap_mem_destroy(&record->mem);
        backing = record->backing;
        record->backing = NULL;
        layer_sparse_freed(dev, record);
        import = record->import;
        record->import = NULL;
        payload = record->payload;
        record->payload = NULL;
    }
    enc = layer_packet_begin(&dev->tables, GEN_vkFreeMemory, 0);
    if (enc) {
        gen_encode_vkFreeMemory(enc, device, memory, pAllocator);
        layer_packet_end();
    }
    layer_object_remove(dev, GEN_HANDLE_VkDeviceMemory, gen_u64_VkDeviceMemory(memory));
    dev->vk.FreeMemory(device, memory, pAllocator);
    layer_backing_free(dev, backing);
    layer_host_import_end(import);
    layer_payload_end(payload);
}

void layer_memory_finish(struct lap_object *object)
{
    struct layer_memory *memory = (struct layer_memory *)object;
    layer_backing_drop(memory->backing);
    layer_host_import_end(memory->import);
    layer_payload_untrack(memory->payload);
    layer_payload_end(memory->payload);
    if (memory->paged)
        layer_sparse_places_finish(memory->paged);
    free(memory->paged);
}

/* ---- mapping ---- */

static VkDeviceMemory driver_memory(struct layer_device *dev, VkDeviceMemory memory)
{
    return layer_backing_driver_memory(LAYER_GET(dev, VkDeviceMemory, memory), memory);
}

/* The host may write the object from now on. What was recorded of the object so far does not say where it is used. */
static void show_object(void *context, void *user)
{
    struct layer_device *dev = context;
    const struct lap_object *object = user;
    bool *device_only = object->type == GEN_HANDLE_VkBuffer ? &((struct layer_buffer *)user)->device_only
                                                            : &((struct layer_image *)user)->device_only;
    if (*device_only)
        atomic_store_explicit(&dev->misses_touched, true, memory_order_relaxed);
    *device_only = false;
}

/* The program took the type by its number, as on the driver without the layer, and the driver maps it. From now on it
 * is as memory of a type that is host-visible. */
static void show_hidden(struct layer_device *dev, struct layer_memory *memory)
{
    if (!memory->mem || is_visible(memory->shown_flags))
        return;
    if (!dev->maps_hidden)
        lap_log(
            &layer.log, LAP_LOG_WARNING,
            "the program maps memory of type %u, which is not host-visible (VUID-vkMapMemory-memory-00682). What it "
            "writes there is recorded all the same",
            memory->shown_type);
    dev->maps_hidden = true;
    memory->shown_flags |= VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    if (is_coherent(memory))
        memory->shown_flags |= VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    memory->real_flags |= memory->shown_flags;
    lap_mem_becomes_visible(memory->mem, memory->mapped_flags, show_object, dev);
}

/* checks: under dev->submit.mutex. */
static void remember_mapping(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                             void **pointer, bool checks)
{
    struct layer_changes *changes;
    struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && record->import) { /* the program's own mapping: stores through another are not seen */
        *pointer = layer_host_import_pointer(record->import, offset);
        return;
    }
    if (record && record->payload) { /* all of it was mapped */
        layer_payload_map(record->payload, *pointer);
        *pointer = (char *)*pointer + offset;
        return;
    }
    *pointer = layer_backing_map(dev, record, offset, *pointer);
    if (record) {
        show_hidden(dev, record);
        record->mapped = *pointer;
        record->mapped_offset = offset;
        record->mapped_bytes = size;
    }
    if (!record || !record->mem || !layer_is_recording())
        return;
    changes = checks ? layer_changes_begin(dev, layer_submission_stores_anywhere(dev)) : NULL;
    layer_tracking_result(lap_mem_map(record->mem, *pointer, offset, size)); /* VK_WHOLE_SIZE is UINT64_MAX */
    layer_changes_end(changes);
}

/* Of a payload all is mapped: it is read there for the objects of all its memories. */
static void widen_mapping(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize *offset, VkDeviceSize *size)
{
    const struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (!record || !record->payload)
        return;
    *offset = 0;
    *size = VK_WHOLE_SIZE;
}

/* A map makes device writes visible; for non-coherent memory an invalidate does. */
static void check_mapping(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size)
{
    const struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && (record->real_flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT))
        layer_check_visible(dev, memory, offset, size);
}

/* Behind the packet of a map. */
static void mapped(struct layer_device *dev, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size)
{
    check_mapping(dev, memory, offset, size);
    layer_device_note_mapping(dev);
}

/* Before the driver unmaps: the written bytes can still be read. */
static void forget_mapping(struct layer_device *dev, VkDeviceMemory memory)
{
    struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && record->payload)
        layer_payload_unmap(record->payload);
    else if (record && record->mem && !record->import)
        lap_mem_unmap(record->mem);
    layer_backing_unmap(dev, record);
}

#ifdef VK_KHR_map_memory2
/* The driver could not keep the range reserved, so the memory is mapped as before. */
static void remember_again(struct layer_device *dev, VkDeviceMemory memory)
{
    struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    if (record && record->mem && !record->payload && !record->import && !record->backing && layer_is_recording())
        layer_tracking_result(lap_mem_map(record->mem, record->mapped, record->mapped_offset, record->mapped_bytes));
}

/* The layer always maps all of a payload, so a placed map by the program must be of all of it, too. */
static bool can_place(struct layer_device *dev, const VkMemoryMapInfoKHR *info)
{
#ifdef VK_EXT_map_memory_placed
    const struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, info->memory);
    if (!(info->flags & VK_MEMORY_MAP_PLACED_BIT_EXT) || !record || !record->payload ||
        (!info->offset && (info->size == VK_WHOLE_SIZE || info->size == record->bytes)))
        return true;
    lap_log(&layer.log, LAP_LOG_WARNING,
            "a part of memory that is exported or imported can't be mapped at an address while it is recorded");
    return false;
#else
    (void)dev, (void)info;
    return true;
#endif
}
#endif

/* While the program maps and unmaps, the layer does not (unmapped_read.h). It never maps memory of a payload, whose
 * maps take a lock that comes earlier. */
struct mapping_lock {
    bool map, submit;
};

/* checks: a map may leave checks of what the device stored, unless work is under way. */
static struct mapping_lock lock_mapping(struct layer_device *dev, VkDeviceMemory memory, bool checks)
{
    const struct layer_memory *record = LAYER_GET(dev, VkDeviceMemory, memory);
    struct mapping_lock lock = {0};
    if (record && record->payload)
        return lock;
    lock.submit =
        checks && layer.options.verify && atomic_load_explicit(&dev->submit.stored_anywhere, memory_order_relaxed);
    if (lock.submit)
        pthread_mutex_lock(&dev->submit.mutex);
    lock.map = true;
    pthread_mutex_lock(&dev->map_mutex);
    return lock;
}

static void unlock_mapping(struct layer_device *dev, struct mapping_lock lock)
{
    if (lock.map)
        pthread_mutex_unlock(&dev->map_mutex);
    if (lock.submit)
        pthread_mutex_unlock(&dev->submit.mutex);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_MapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                 VkDeviceSize size, VkMemoryMapFlags flags, void **ppData)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkDeviceSize from = offset, bytes = size;
    struct mapping_lock locked = lock_mapping(dev, memory, true);
    VkResult result;

    widen_mapping(dev, memory, &from, &bytes);
    result = dev->vk.MapMemory(device, driver_memory(dev, memory), from, bytes, flags, ppData);
    if (result >= 0)
        remember_mapping(dev, memory, offset, size, ppData, locked.submit);
    unlock_mapping(dev, locked);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkMapMemory, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkMapMemory(enc, device, memory, offset, size, flags, ppData, result);
        layer_packet_end();
    }
    if (result >= 0)
        mapped(dev, memory, offset, size);
    return result;
}

VKAPI_ATTR void VKAPI_CALL capture_UnmapMemory(VkDevice device, VkDeviceMemory memory)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct mapping_lock locked = lock_mapping(dev, memory, false);
    forget_mapping(dev, memory);
    dev->vk.UnmapMemory(device, driver_memory(dev, memory));
    unlock_mapping(dev, locked);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkUnmapMemory, 0);
    if (enc) {
        gen_encode_vkUnmapMemory(enc, device, memory);
        layer_packet_end();
    }
    layer_read_unmapped(dev, memory);
}

/* The same calls with extensible parameters. */
#ifdef VK_KHR_map_memory2
VKAPI_ATTR VkResult VKAPI_CALL capture_MapMemory2KHR(VkDevice device, const VkMemoryMapInfoKHR *pMemoryMapInfo,
                                                     void **ppData)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryMapInfoKHR info = *pMemoryMapInfo;
    VkResult result;
    struct mapping_lock locked;

    widen_mapping(dev, info.memory, &info.offset, &info.size);
    info.memory = driver_memory(dev, info.memory);
    locked = lock_mapping(dev, pMemoryMapInfo->memory, true);
    result = can_place(dev, pMemoryMapInfo) ? dev->vk.MapMemory2KHR(device, &info, ppData) : VK_ERROR_MEMORY_MAP_FAILED;
    if (result >= 0)
        remember_mapping(dev, pMemoryMapInfo->memory, pMemoryMapInfo->offset, pMemoryMapInfo->size, ppData,
                         locked.submit);
    unlock_mapping(dev, locked);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkMapMemory2KHR, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkMapMemory2KHR(enc, device, pMemoryMapInfo, ppData, result);
        layer_packet_end();
    }
    if (result >= 0)
        mapped(dev, pMemoryMapInfo->memory, pMemoryMapInfo->offset, pMemoryMapInfo->size);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_UnmapMemory2KHR(VkDevice device, const VkMemoryUnmapInfoKHR *pMemoryUnmapInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkMemoryUnmapInfoKHR info = *pMemoryUnmapInfo;
    VkResult result;
    struct mapping_lock locked;

    locked = lock_mapping(dev, info.memory, false);
    forget_mapping(dev, info.memory);
    info.memory = driver_memory(dev, info.memory);
    result = dev->vk.UnmapMemory2KHR(device, &info);
    if (result < 0)
        remember_again(dev, pMemoryUnmapInfo->memory);
    unlock_mapping(dev, locked);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkUnmapMemory2KHR, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkUnmapMemory2KHR(enc, device, pMemoryUnmapInfo, result);
        layer_packet_end();
    }
    if (result >= 0)
        layer_read_unmapped(dev, pMemoryUnmapInfo->memory);
    return result;
}
#endif

/* The driver's own memory may stand in for some of these. One range after the other then. */
static bool taken_over(struct layer_device *dev, uint32_t count, const VkMappedMemoryRange *ranges)
{
    for (uint32_t i = 0; i < count && dev->backing.plan.types; i++)
        if (driver_memory(dev, ranges[i].memory) != ranges[i].memory)
            return true;
    return false;
}

static VkResult call_on_ranges(struct layer_device *dev, PFN_vkFlushMappedMemoryRanges call, uint32_t count,
                               const VkMappedMemoryRange *ranges)
{
    VkResult result = VK_SUCCESS;
    if (!taken_over(dev, count, ranges))
        return call(dev->handle, count, ranges);
    for (uint32_t i = 0; i < count && result >= 0; i++) {
        VkMappedMemoryRange range = ranges[i];
        range.memory = driver_memory(dev, range.memory);
        result = call(dev->handle, 1, &range);
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_FlushMappedMemoryRanges(VkDevice device, uint32_t memoryRangeCount,
                                                               const VkMappedMemoryRange *pMemoryRanges)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result;

    for (uint32_t i = 0; i < memoryRangeCount; i++) {
        struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, pMemoryRanges[i].memory);
        if (memory && memory->payload)
            layer_payload_flush(memory->payload, pMemoryRanges[i].offset, pMemoryRanges[i].size);
        else if (memory && memory->mem && layer_is_recording())
            lap_mem_flush(memory->mem, pMemoryRanges[i].offset, pMemoryRanges[i].size);
    }
    result = call_on_ranges(dev, dev->vk.FlushMappedMemoryRanges, memoryRangeCount, pMemoryRanges);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkFlushMappedMemoryRanges, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkFlushMappedMemoryRanges(enc, device, memoryRangeCount, pMemoryRanges, result);
        layer_packet_end();
    }
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_InvalidateMappedMemoryRanges(VkDevice device, uint32_t memoryRangeCount,
                                                                    const VkMappedMemoryRange *pMemoryRanges)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = call_on_ranges(dev, dev->vk.InvalidateMappedMemoryRanges, memoryRangeCount, pMemoryRanges);

    for (uint32_t i = 0; i < memoryRangeCount && result >= 0; i++) {
        struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, pMemoryRanges[i].memory);
        if (memory && memory->mem && layer_is_recording())
            lap_mem_invalidate(memory->mem, pMemoryRanges[i].offset, pMemoryRanges[i].size);
    }
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkInvalidateMappedMemoryRanges, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkInvalidateMappedMemoryRanges(enc, device, memoryRangeCount, pMemoryRanges, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < memoryRangeCount && result >= 0; i++)
        layer_check_visible(dev, pMemoryRanges[i].memory, pMemoryRanges[i].offset, pMemoryRanges[i].size);
    return result;
}

/* ---- binding ---- */

/* Some binds of a failing call may succeed: VkBindMemoryStatus has each result, if it is in the chain. */
static bool has_succeeded(const void *chain, VkResult result)
{
#if defined(VK_VERSION_1_4) || defined(VK_KHR_maintenance6)
    const VkBindMemoryStatusKHR *status = lap_chain_find(chain, VK_STRUCTURE_TYPE_BIND_MEMORY_STATUS_KHR);
    if (status && status->pResult)
        return *status->pResult >= 0;
#endif
    return result >= 0;
}

static bool is_device_only(const struct layer_memory *memory)
{
    return !layer.options.reads_back && !(memory->shown_flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
           !layer_payload_is_read(memory->payload);
}

/* A replay need not search for aliases in a trace without them, nor after the last one. Only the first piece of an
 * object is checked. The packet has been written. */
static void count_bind(const struct lap_memobj *object, bool plane)
{
    struct lap_memobj_place place = {0};

    if (!layer_is_writing())
        return;
    if (object && !plane)
        place = lap_memobj_place(object);
    layer_count(LAP_COUNTER_BINDS, 1);
    if (!place.mem || place.aliased) {
        layer_count(LAP_COUNTER_ALIASED_BINDS, 1);
        layer_note_ticket(LAP_COUNTER_LAST_ALIASED);
    }
}

/* The memory for the driver to bind. The handle types of the buffer or image decide whether it can be imported
 * pages. */
static VkDeviceMemory buffer_memory(struct layer_device *dev, VkBuffer handle, VkDeviceMemory memory)
{
    struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, handle);
    return buffer ? layer_backing_bind_memory(dev, LAYER_GET(dev, VkDeviceMemory, memory), memory, &buffer->backing)
                  : memory;
}

static VkDeviceMemory image_memory(struct layer_device *dev, VkImage handle, VkDeviceMemory memory)
{
    struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    return image ? layer_backing_bind_memory(dev, LAYER_GET(dev, VkDeviceMemory, memory), memory, &image->backing)
                 : memory;
}

/* The packet comes first: as soon as memory tracking knows the place, a submission of another thread may send updates.
 */
static void bind_buffer(struct layer_device *dev, VkBuffer handle, VkDeviceMemory memory_handle, VkDeviceSize offset)
{
    struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, handle);
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, memory_handle);
    struct lap_enc *enc;

    if (!buffer || !memory)
        return;
    buffer->device_only = is_device_only(memory);
    buffer->cleared = memory->cleared;
    buffer->non_coherent = !is_coherent(memory);
    layer_address_record_memory(dev, buffer, memory);
    enc = layer_packet_begin(&dev->tables, GEN_lapilliBindBuffer, 0);
    if (enc) {
        gen_encode_lapilliBindBuffer(enc, handle, memory_handle, offset, buffer->bytes, memory->shown_flags);
        layer_packet_end();
    }
    if (buffer->memobj && memory->mem)
        layer_tracking_result(lap_memobj_bind(buffer->memobj, 0, memory->mem, offset, buffer->bytes));
    count_bind(buffer->memobj, false);
    layer_read_unmapped(dev, memory_handle);
}

static uint32_t plane_number(VkImageAspectFlags plane)
{
    switch (plane) {
    case VK_IMAGE_ASPECT_PLANE_1_BIT:
    case VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT:
        return 1;
    case VK_IMAGE_ASPECT_PLANE_2_BIT:
    case VK_IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT:
        return 2;
    case VK_IMAGE_ASPECT_MEMORY_PLANE_3_BIT_EXT:
        return 3;
    default:
        return 0;
    }
}

/* A replay creates an image with a modifier as one without. Of memory planes that are not format planes it only knows
 * the first, and binds all of the image with it. False: the bind of this plane is not recorded. */
static bool recorded_plane(const struct layer_image *image, VkImageAspectFlags *plane)
{
    bool first = plane_number(*plane) == 0;
    if (!image->memory_planes || !*plane)
        return true;
    *plane = image->info.tiling == VK_IMAGE_TILING_LINEAR && image->memory_planes > 1
                 ? lap_modifier_format_aspect(image->info.format, *plane)
                 : 0;
    return *plane || first;
}

/* Which buffer an image was created for is known when it is bound: where the CPU can't read that, the image stays what
 * it is to the driver, and its record is not linear any more. Returns what the image's rows are in the trace. */
static uint64_t know_rows(struct layer_image *image, const struct layer_memory *memory)
{
    uint64_t pitch = image->pitch;

    if (pitch &&
        (!layer_payload_has_buffer(memory->payload) || !layer_payload_has_rows(memory->payload, &image->info, pitch))) {
        image->info.tiling = VK_IMAGE_TILING_OPTIMAL;
        image->pitch = 0;
    }
    return pitch;
}

static void bind_image(struct layer_device *dev, VkImage handle, VkDeviceMemory memory_handle, VkDeviceSize offset,
                       VkImageAspectFlags plane)
{
    struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    const struct layer_memory *memory = LAYER_GET(dev, VkDeviceMemory, memory_handle);
    VkDeviceSize object_offset = 0, bytes;
    VkImageAspectFlags shown = plane;
    uint64_t layout;
    struct lap_enc *enc;

    if (!image || !memory)
        return;
    layout = know_rows(image, memory);
    if (!image->bytes)
        layer_image_track(dev, image);
    bytes = image->bytes;
    /* Planes may lie in different memories: one plane does not decide for the image. */
    image->device_only = !plane && is_device_only(memory);
    image->cleared = memory->cleared;
    image->non_coherent = image->non_coherent || !is_coherent(memory);
    if (plane) {
        struct layer_image_planes planes;
        uint32_t number = plane_number(plane);
        layer_image_planes(dev, image, &planes);
        if (number < planes.count) {
            object_offset = planes.offsets[number];
            bytes = planes.bytes[number];
        }
    }
    /* If another object shares the bytes, a replay must know whether its rows have the same layout. */
    enc = NULL;
    if (recorded_plane(image, &shown)) {
        if (!layout && image->info.tiling == VK_IMAGE_TILING_LINEAR)
            layout = lap_layout_hash(dev->handle, dev->vk.GetImageSubresourceLayout, handle, &image->info, shown,
                                     image->memory_planes != 0);
        enc = layer_packet_begin(&dev->tables, GEN_lapilliBindImage, 0);
    }
    if (enc) {
        gen_encode_lapilliBindImage(enc, handle, shown, memory_handle, offset, bytes, memory->shown_flags, layout,
                                    VK_NULL_HANDLE, 0);
        layer_packet_end();
    }
    if (image->memobj && memory->mem)
        layer_tracking_result(lap_memobj_bind(image->memobj, object_offset, memory->mem, offset, bytes));
    if ((image->memory_planes || layer_payload_is_read(memory->payload)) &&
        image->info.tiling != VK_IMAGE_TILING_LINEAR)
        layer_payload_hides(memory->payload);
    if (image->info.initialLayout == VK_IMAGE_LAYOUT_PREINITIALIZED && image->info.tiling != VK_IMAGE_TILING_LINEAR &&
        memory->shown_flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT && layer_is_recording())
        layer_note_unseen(LAP_UNSEEN_TILED_BYTES);
    count_bind(image->memobj, plane != 0);
    layer_read_unmapped(dev, memory_handle);
}

/* The image is bound to a swapchain image: its memory is not the program's. */
static void bind_image_to_swapchain(struct layer_device *dev, VkImage handle,
                                    const VkBindImageMemorySwapchainInfoKHR *info)
{
    struct layer_image *image = LAYER_GET(dev, VkImage, handle);
    struct lap_enc *enc;

    if (!image)
        return;
    image->swapchain = info->swapchain;
    enc = layer_packet_begin(&dev->tables, GEN_lapilliBindImage, 0);
    if (enc) {
        gen_encode_lapilliBindImage(enc, handle, 0, VK_NULL_HANDLE, 0, 0, 0, 0, info->swapchain, info->imageIndex);
        layer_packet_end();
    }
}

VKAPI_ATTR VkResult VKAPI_CALL capture_BindBufferMemory(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                                        VkDeviceSize memoryOffset)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.BindBufferMemory(device, buffer, buffer_memory(dev, buffer, memory), memoryOffset);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkBindBufferMemory, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkBindBufferMemory(enc, device, buffer, memory, memoryOffset, result);
        layer_packet_end();
    }
    if (result >= 0)
        bind_buffer(dev, buffer, memory, memoryOffset);
    return result;
}

static VkResult bind_buffers(struct layer_device *dev, uint32_t count, const VkBindBufferMemoryInfo *infos)
{
    VkBindBufferMemoryInfo few[16] = {{0}}, *changed = few;
    VkResult result;

    if (!dev->backing.plan.types)
        return dev->vk.BindBufferMemory2(dev->handle, count, infos);
    if (count > sizeof few / sizeof *few)
        changed = malloc(count * sizeof *changed);
    if (!changed)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        changed[i] = infos[i];
        changed[i].memory = buffer_memory(dev, infos[i].buffer, infos[i].memory);
    }
    result = dev->vk.BindBufferMemory2(dev->handle, count, changed);
    if (changed != few)
        free(changed);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_BindBufferMemory2(VkDevice device, uint32_t bindInfoCount,
                                                         const VkBindBufferMemoryInfo *pBindInfos)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = bind_buffers(dev, bindInfoCount, pBindInfos);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkBindBufferMemory2, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkBindBufferMemory2(enc, device, bindInfoCount, pBindInfos, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < bindInfoCount; i++)
        if (has_succeeded(pBindInfos[i].pNext, result))
            bind_buffer(dev, pBindInfos[i].buffer, pBindInfos[i].memory, pBindInfos[i].memoryOffset);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_BindImageMemory(VkDevice device, VkImage image, VkDeviceMemory memory,
                                                       VkDeviceSize memoryOffset)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.BindImageMemory(device, image, image_memory(dev, image, memory), memoryOffset);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkBindImageMemory, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkBindImageMemory(enc, device, image, memory, memoryOffset, result);
        layer_packet_end();
    }
    if (result >= 0)
        bind_image(dev, image, memory, memoryOffset, 0);
    return result;
}

static VkResult bind_images(struct layer_device *dev, uint32_t count, const VkBindImageMemoryInfo *infos)
{
    VkBindImageMemoryInfo few[16] = {{0}}, *changed = few;
    VkResult result;

    if (!dev->backing.plan.types)
        return dev->vk.BindImageMemory2(dev->handle, count, infos);
    if (count > sizeof few / sizeof *few)
        changed = malloc(count * sizeof *changed);
    if (!changed)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        changed[i] = infos[i];
        changed[i].memory = image_memory(dev, infos[i].image, infos[i].memory);
    }
    result = dev->vk.BindImageMemory2(dev->handle, count, changed);
    if (changed != few)
        free(changed);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_BindImageMemory2(VkDevice device, uint32_t bindInfoCount,
                                                        const VkBindImageMemoryInfo *pBindInfos)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = bind_images(dev, bindInfoCount, pBindInfos);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkBindImageMemory2, FAILED_FLAG(result));
    if (enc) {
        gen_encode_vkBindImageMemory2(enc, device, bindInfoCount, pBindInfos, result);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < bindInfoCount; i++) {
        const VkBindImageMemoryInfo *bind = &pBindInfos[i];
        const VkBindImageMemorySwapchainInfoKHR *swapchain =
            lap_chain_find(bind->pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_MEMORY_SWAPCHAIN_INFO_KHR);
        const VkBindImagePlaneMemoryInfo *plane =
            lap_chain_find(bind->pNext, VK_STRUCTURE_TYPE_BIND_IMAGE_PLANE_MEMORY_INFO);
        if (!has_succeeded(bind->pNext, result))
            continue;
        if (swapchain && swapchain->swapchain != VK_NULL_HANDLE)
            bind_image_to_swapchain(dev, bind->image, swapchain);
        else
            bind_image(dev, bind->image, bind->memory, bind->memoryOffset, plane ? plane->planeAspect : 0);
    }
    return result;
}
