/* SPDX-License-Identifier: MIT */
/*
 * device: the loader's device chain, queues, and the description of the recording machine in a trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_layer.h"
#include "layer/core/description.h"
#include "layer/core/extensions.h"
#include "layer/core/records.h"
#include "layer/entry/descriptor_buffer.h"
#include "layer/entry/descriptor_heap.h"
#include "layer/memory/address_range.h"
#include "layer/memory/backing.h"
#include "layer/memory/capture_address.h"
#include "layer/memory/copies.h"
#include "layer/part/part.h"
#include "layer/shader/code.h"
#include "layer/submit/external_sync.h"
#include "vulkan/chain.h"

#define MAX_FAMILIES 64u

static VkLayerDeviceCreateInfo *device_chain(const VkDeviceCreateInfo *info, VkLayerFunction function)
{
    for (const VkBaseInStructure *s = info->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
            ((const VkLayerDeviceCreateInfo *)s)->function == function)
            return (VkLayerDeviceCreateInfo *)(uintptr_t)s;
    return NULL;
}

/* Features with which shaders follow addresses. */
static bool enables_addresses(const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceVulkan12Features *core =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeatures *address =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
    const VkPhysicalDeviceBufferDeviceAddressFeaturesEXT *address_ext =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES_EXT);
    return (core && core->bufferDeviceAddress) || (address && address->bufferDeviceAddress) ||
           (address_ext && address_ext->bufferDeviceAddress);
}

/* Adds nothing if the driver is too old to report it. */
static void add_uuid(struct layer_description *description, struct cJSON *object, const char *key,
                     const uint8_t uuid[VK_UUID_SIZE])
{
    static const uint8_t none[VK_UUID_SIZE];
    char text[2 * VK_UUID_SIZE + 1];

    for (unsigned i = 0; i < VK_UUID_SIZE; i++)
        snprintf(text + (size_t)2 * i, 3, "%02x", uuid[i]);
    if (memcmp(uuid, none, sizeof none) != 0)
        layer_describe_text(description, object, key, text);
}

static void describe_device(const struct layer_device *dev)
{
    const VkPhysicalDeviceProperties *p = &dev->physical_device->properties;
    struct layer_description description = layer_describe_begin();
    struct cJSON *machine = layer_describe_object(&description, "recorded_on");
    char version[VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE], backing[160];
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};

    layer_describe_text(&description, machine, "device", p->deviceName);
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
    const uint32_t version_of_both =
        p->apiVersion < dev->instance->api_version ? p->apiVersion : dev->instance->api_version;
    if (version_of_both >= VK_API_VERSION_1_2 ||
        layer_device_has_extension(dev->physical_device, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME))
        ids.pNext = &driver;
    /* Backing has enabled the extension for programs of Vulkan 1.0. */
    if (dev->instance->vk.GetPhysicalDeviceProperties2 &&
        (version_of_both >= VK_API_VERSION_1_1 || dev->instance->knows_imports))
        dev->instance->vk.GetPhysicalDeviceProperties2(gen_VkPhysicalDevice(dev->physical_device->object.handle),
                                                       &properties2);
    if (driver.driverName[0])
        snprintf(version, sizeof version, "%s%s%s", driver.driverName, driver.driverInfo[0] ? " " : "",
                 driver.driverInfo);
    else
        snprintf(version, sizeof version, "0x%x", p->driverVersion);
    layer_describe_text(&description, machine, "driver", version);
    snprintf(version, sizeof version, "%u.%u.%u", VK_API_VERSION_MAJOR(p->apiVersion),
             VK_API_VERSION_MINOR(p->apiVersion), VK_API_VERSION_PATCH(p->apiVersion));
    layer_describe_text(&description, machine, "api_version", version);
    add_uuid(&description, machine, "device_uuid", ids.deviceUUID);
    add_uuid(&description, machine, "driver_uuid", ids.driverUUID);
    layer_describe_number(&description, machine, "vendor_id", p->vendorID);
    layer_describe_number(&description, machine, "device_id", p->deviceID);
    layer_describe_text(&description, NULL, "write_watch", lap_memtrack_watch_name(dev->memtrack));
    layer_describe_text(&description, NULL, "write_watch_reason", lap_memtrack_watch_reason(dev->memtrack));
    layer_backing_describe(dev, backing, sizeof backing);
    layer_describe_text(&description, NULL, "backing", backing);
    layer_describe_text(&description, NULL, "backing_reason", dev->backing.plan.reason);
    layer_describe_end(&description, "the device");
}

/* Many programs ask for neither, and a replay needs the GPU's name and the kinds of each family. */
static void describe_gpu(const struct layer_device *dev)
{
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(dev->physical_device->object.handle);
    PFN_vkGetPhysicalDeviceQueueFamilyProperties get = dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties;
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_lapilliPhysicalDevice, 0);

    if (!enc)
        return;
    get(gpu, &count, families);
    gen_encode_lapilliPhysicalDevice(enc, gpu, &dev->physical_device->properties, count, families);
    layer_packet_end();
}

static void describe_mappings(const struct layer_device *dev)
{
    const char *reason;
    struct lap_watch_counts counts = lap_memtrack_watch_counts(dev->memtrack, &reason);
    struct layer_description description = layer_describe_begin();

    layer_describe_number(&description, NULL, "mappings", (double)counts.mappings);
    layer_describe_number(&description, NULL, "mappings_small", (double)counts.small);
    layer_describe_number(&description, NULL, "mappings_compared", (double)counts.compared);
    if (reason)
        layer_describe_text(&description, NULL, "mappings_compared_reason", reason);
    layer_describe_end(&description, "mappings");
}

/* Comparing this many bytes takes about as long as one kernel query, and saves a page fault for each page. */
#define SMALL_BYTES (16u << 10)

/* Each time that they have doubled, since many programs end without destroying their device. The final number is
 * recorded when it is destroyed; the packets have the number of all mappings. */
void layer_device_note_mapping(struct layer_device *dev)
{
    uint64_t compared = dev->memtrack ? lap_memtrack_watch_counts(dev->memtrack, NULL).compared : 0;
    uint64_t reported = atomic_load_explicit(&dev->compared_reported, memory_order_relaxed);

    if (compared && compared >= 2 * reported &&
        atomic_compare_exchange_strong(&dev->compared_reported, &reported, compared) && layer_is_recording())
        describe_mappings(dev);
}

static bool enables(const VkDeviceCreateInfo *info, const char *extension)
{
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], extension) == 0)
            return true;
    return false;
}

static bool device_init(struct layer_device *dev, VkDevice handle, struct layer_physical_device *gpu,
                        PFN_vkGetDeviceProcAddr next, const VkDeviceCreateInfo *info)
{
    struct lap_memtrack_options options = {
        .watch = layer.options.write_watch,
        .non_coherent_atom_bytes = gpu->properties.limits.nonCoherentAtomSize,
        /* mprotect is used only on request, and a watch that begins later may find another handler of SIGSEGV */
        .small_bytes = layer.options.write_watch == LAP_WATCH_MPROTECT ? 0 : SMALL_BYTES,
        .log = &layer.log,
    };
    const VkDeviceGroupDeviceCreateInfo *group =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO);
    const VkPhysicalDeviceBlendOperationAdvancedFeaturesEXT *advanced =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BLEND_OPERATION_ADVANCED_FEATURES_EXT);

    dev->handle = handle;
    dev->instance = gpu->instance;
    dev->physical_device = gpu;
    dev->loader.next_get_proc_addr = next;
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        if (!gen_handle_global[type])
            lap_map_init(&dev->own_maps[type]);
        dev->maps[type] = gen_handle_global[type] ? &layer.maps[type] : &dev->own_maps[type];
    }
    dev->tables.maps = dev->maps;
    dev->tables.inherited = gpu->instance->tables.inherited;
    dev->tables.blends_coherently = advanced && advanced->advancedBlendCoherentOperations;
    layer_mutex_init(&dev->submit.mutex);
    layer_mutex_init(&dev->descriptors.mutex);
    layer_mutex_init(&dev->map_mutex);
    layer_mutex_init(&dev->verify.mutex);
    layer_mutex_init(&dev->backing.mutex);
    layer_address_ranges_init(dev, info);
    layer_copies_init(dev);
    dev->device_addresses = enables_addresses(info);
    if (!layer.pass_through &&
        (enables(info, "VK_KHR_pipeline_binary") || enables(info, VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME)))
        layer_code_keep(dev);
    dev->is_group = group && group->physicalDeviceCount > 1;
    gen_load_device_dispatch(&dev->vk, next, handle,
                             gpu->properties.apiVersion < gpu->instance->api_version ? gpu->properties.apiVersion
                                                                                     : gpu->instance->api_version);
    gen_load_missing_device_dispatch(&dev->vk, gpu->instance->next_get_proc_addr, gpu->instance->handle);
    /* A watch makes system calls, and may take over SIGSEGV: only in a program that is recorded. */
    if (!layer.pass_through && lap_memtrack_create(&options, &dev->memtrack) != LAP_OK)
        return false;
    return true;
}

/* Calls down with the additions of backing, and without them if that fails. The chain's link is the next layer's. */
static VkResult create_backed(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, PFN_vkCreateDevice create, VkDevice *out,
                              struct layer_backing_request *backing)
{
    VkPhysicalDevice handle = gen_VkPhysicalDevice(gpu->object.handle);
    VkLayerDeviceCreateInfo *link = device_chain(info, VK_LAYER_LINK_INFO);
    VkLayerDeviceLink *next = link->u.pLayerInfo;

    if (layer_backing_request(gpu, info, backing)) {
        VkResult result = create(handle, &backing->info, allocator, out);
        layer_backing_request_finish(backing);
        if (result == VK_SUCCESS)
            return result;
        backing->reason = "the driver does not create the device with VK_EXT_external_memory_host";
        link->u.pLayerInfo = next; /* layers below have advanced it */
    }
    return create(handle, info, allocator, out);
}

/* The same with the additions for addresses, and without them if that fails. */
static VkResult create_device(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkLayerDeviceCreateInfo *link,
                              PFN_vkCreateDevice create, VkDevice *out, struct layer_backing_request *backing,
                              struct layer_address_request *addresses)
{
    VkLayerDeviceLink *next = link->u.pLayerInfo->pNext;

    link->u.pLayerInfo = next;
    if (layer_address_request(gpu, info, addresses)) {
        VkResult result = create_backed(gpu, &addresses->info, allocator, create, out, backing);
        if (result == VK_SUCCESS)
            return result;
        layer_address_request_finish(addresses);
        addresses->reason = "the driver does not create the device with bufferDeviceAddressCaptureReplay";
        link->u.pLayerInfo = next;
    }
    return create_backed(gpu, info, allocator, create, out, backing);
}

/* False: out of memory. */
static bool queue_found(struct layer_device *dev, VkQueue handle, uint32_t family, uint32_t number)
{
    struct layer_queue *queue;
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;

    if (!handle)
        return true;
    queue = (struct layer_queue *)layer_object_find_or_add(NULL, GEN_HANDLE_VkQueue, gen_u64_VkQueue(handle));
    if (!queue || queue->device)
        return queue != NULL;
    queue->handle = handle;
    queue->family = family;
    queue->number = number;
    dev->instance->vk.GetPhysicalDeviceQueueFamilyProperties(gen_VkPhysicalDevice(dev->physical_device->object.handle),
                                                             &count, families);
    queue->flags = family < count ? families[family].queueFlags : 0;
    queue->device = dev;
    if (!dev->verify.clearing_queue && queue->flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT))
        dev->verify.clearing_queue = handle;
    return true;
}

/* vkGetDeviceQueue can't fail, and without its record no call could be passed on: so all queues have one from the
 * start.
 */
static bool find_queues(struct layer_device *dev, const VkDeviceCreateInfo *info)
{
    for (uint32_t i = 0; i < info->queueCreateInfoCount; i++) {
        const VkDeviceQueueCreateInfo *queues = &info->pQueueCreateInfos[i];
        for (uint32_t number = 0; number < queues->queueCount; number++) {
            const VkDeviceQueueInfo2 wanted = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_INFO_2,
                                               .flags = queues->flags,
                                               .queueFamilyIndex = queues->queueFamilyIndex,
                                               .queueIndex = number};
            VkQueue queue = VK_NULL_HANDLE;
            if (!queues->flags)
                dev->vk.GetDeviceQueue(dev->handle, wanted.queueFamilyIndex, number, &queue);
            else if (dev->vk.GetDeviceQueue2)
                dev->vk.GetDeviceQueue2(dev->handle, &wanted, &queue);
            if (!queue_found(dev, queue, wanted.queueFamilyIndex, number))
                return false;
        }
    }
    return true;
}

static bool is_queue_of(const void *record, const void *device)
{
    return ((const struct layer_queue *)record)->device == device;
}

static bool is_cmdbuf_of(const void *record, const void *device)
{
    return ((const struct layer_cmdbuf *)record)->device == device;
}

/* Queues, command buffers whose pool the program did not destroy, and all that is the device's own. */
static void free_records(struct layer_device *dev)
{
    layer_object_remove_owned(GEN_HANDLE_VkCommandBuffer, is_cmdbuf_of, dev);
    layer_object_remove_owned(GEN_HANDLE_VkQueue, is_queue_of, dev);
    layer_objects_finish(dev);
}

/* Undoes device_init. */
static void finish(struct layer_device *dev)
{
    lap_memtrack_destroy(&dev->memtrack);
    layer_backing_finish(dev);
    layer_copies_finish(dev);
    layer_address_ranges_finish(dev);
    pthread_mutex_destroy(&dev->submit.mutex);
    pthread_mutex_destroy(&dev->descriptors.mutex);
    pthread_mutex_destroy(&dev->map_mutex);
    pthread_mutex_destroy(&dev->verify.mutex);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateDevice(VkPhysicalDevice physicalDevice,
                                                    const VkDeviceCreateInfo *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator, VkDevice *pDevice)
{
    struct layer_physical_device *gpu = layer_physical_device_of(physicalDevice);
    VkLayerDeviceCreateInfo *link = device_chain(pCreateInfo, VK_LAYER_LINK_INFO);
    VkLayerDeviceCreateInfo *callback = device_chain(pCreateInfo, VK_LOADER_DATA_CALLBACK);
    PFN_vkGetInstanceProcAddr next_instance;
    PFN_vkGetDeviceProcAddr next_device;
    PFN_vkCreateDevice create;
    struct layer_backing_request backing;
    struct layer_address_request addresses;
    struct layer_device *dev;
    VkResult result;

    layer_hidden_arrived();
    if (!gpu || !gpu->instance || !link || !link->u.pLayerInfo)
        return VK_ERROR_INITIALIZATION_FAILED;
    next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    create = (PFN_vkCreateDevice)next_instance(gpu->instance->handle, "vkCreateDevice");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    result = create_device(gpu, pCreateInfo, pAllocator, link, create, pDevice, &backing, &addresses);
    if (result != VK_SUCCESS)
        return result;

    dev = LAYER_ADD(NULL, VkDevice, *pDevice);
    if (!dev || !device_init(dev, *pDevice, gpu, next_device, pCreateInfo) ||
        (!layer.pass_through && !find_queues(dev, pCreateInfo))) {
        PFN_vkDestroyDevice destroy = (PFN_vkDestroyDevice)next_device(*pDevice, "vkDestroyDevice");
        if (dev) {
            free_records(dev);
            finish(dev);
            layer_object_remove(NULL, GEN_HANDLE_VkDevice, gen_u64_VkDevice(*pDevice));
        }
        if (destroy)
            destroy(*pDevice, pAllocator);
        layer_address_request_finish(&addresses);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    layer_fork_add(dev);
    dev->loader.set_data = callback ? callback->u.pfnSetDeviceLoaderData : NULL;
    dev->backing.enabled_behind = !backing.reason && !enables(pCreateInfo, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    layer_backing_init(dev, pCreateInfo, backing.reason);
    layer_address_init(dev, &addresses);
    layer_descriptor_buffers_init(dev, pCreateInfo);
    if (layer_is_recording())
        describe_device(dev);
    describe_gpu(dev);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkCreateDevice, 0);
    if (enc) {
        gen_encode_vkCreateDevice(enc, physicalDevice, pCreateInfo, pAllocator, pDevice, result);
        layer_packet_end();
    }
    if (layer_is_recording()) {
        layer_address_describe(dev);
        layer_descriptor_heaps_describe(dev, pCreateInfo);
    }
    layer_address_request_finish(&addresses);
    return result;
}

VKAPI_ATTR void VKAPI_CALL capture_DestroyDevice(VkDevice device, const VkAllocationCallbacks *pAllocator)
{
    struct layer_device *dev;
    PFN_vkDestroyDevice destroy;

    if (!device || !(dev = layer_device_of_VkDevice(device)))
        return;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkDestroyDevice, 0);
    if (enc) {
        gen_encode_vkDestroyDevice(enc, device, pAllocator);
        layer_packet_end();
    }
    destroy = dev->vk.DestroyDevice;
    layer_external_sync_end_device(dev);
    layer_fork_remove(dev);
    layer_submit_finish(dev);
    layer_part_device_ends(dev);
    layer_verify_finish(dev);
    free_records(dev);
    layer_code_finish(dev);
    if (dev->memtrack)
        describe_mappings(dev);
    finish(dev);
    layer_object_remove(NULL, GEN_HANDLE_VkDevice, gen_u64_VkDevice(device));
    destroy(device, pAllocator);
}

VKAPI_ATTR void VKAPI_CALL capture_GetDeviceQueue(VkDevice device, uint32_t queueFamilyIndex, uint32_t queueIndex,
                                                  VkQueue *pQueue)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);

    dev->vk.GetDeviceQueue(device, queueFamilyIndex, queueIndex, pQueue);
    queue_found(dev, *pQueue, queueFamilyIndex, queueIndex);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetDeviceQueue, 0);
    if (enc) {
        gen_encode_vkGetDeviceQueue(enc, device, queueFamilyIndex, queueIndex, pQueue);
        layer_packet_end();
    }
}

VKAPI_ATTR void VKAPI_CALL capture_GetDeviceQueue2(VkDevice device, const VkDeviceQueueInfo2 *pQueueInfo,
                                                   VkQueue *pQueue)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);

    dev->vk.GetDeviceQueue2(device, pQueueInfo, pQueue);
    queue_found(dev, *pQueue, pQueueInfo->queueFamilyIndex, pQueueInfo->queueIndex);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetDeviceQueue2, 0);
    if (enc) {
        gen_encode_vkGetDeviceQueue2(enc, device, pQueueInfo, pQueue);
        layer_packet_end();
    }
}
