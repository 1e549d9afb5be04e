/* SPDX-License-Identifier: MIT */
/* The reported properties of a physical device: hidden features, memory types as shown, and the layer's name as a
 * tool. */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "gen_layer.h"
#include "layer/core/extensions.h"
#include "layer/entry/descriptor_heap.h"
#include "layer/memory/backing.h"

#define RECORD(command, gpu, ...)                                                                                      \
    do {                                                                                                               \
        struct lap_enc *enc =                                                                                          \
            layer_packet_begin(&layer_instance_of_VkPhysicalDevice(gpu)->tables, GEN_vk##command, 0);                  \
        if (enc) {                                                                                                     \
            gen_encode_vk##command(enc, gpu, __VA_ARGS__);                                                             \
            layer_packet_end();                                                                                        \
        }                                                                                                              \
    } while (0)

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceFeatures(VkPhysicalDevice physicalDevice,
                                                             VkPhysicalDeviceFeatures *pFeatures)
{
    layer_instance_of_VkPhysicalDevice(physicalDevice)->vk.GetPhysicalDeviceFeatures(physicalDevice, pFeatures);
    gen_hide_features(pFeatures, NULL);
    RECORD(GetPhysicalDeviceFeatures, physicalDevice, pFeatures);
}

/* Of extensions that are the layer's own: drivers that don't know them pass their structures over. */
static void add_own_features(void *chain)
{
#ifdef VK_EXT_frame_boundary
    for (VkBaseOutStructure *s = chain; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAME_BOUNDARY_FEATURES_EXT)
            ((VkPhysicalDeviceFrameBoundaryFeaturesEXT *)s)->frameBoundary = VK_TRUE;
#endif
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceFeatures2(VkPhysicalDevice physicalDevice,
                                                              VkPhysicalDeviceFeatures2 *pFeatures)
{
    layer_instance_of_VkPhysicalDevice(physicalDevice)->vk.GetPhysicalDeviceFeatures2(physicalDevice, pFeatures);
    gen_hide_features(&pFeatures->features, pFeatures->pNext);
    add_own_features(pFeatures->pNext);
    RECORD(GetPhysicalDeviceFeatures2, physicalDevice, pFeatures);
}

/* A heap that is shown a second time has its real size. */
static void show_types(VkPhysicalDevice physical_device, VkPhysicalDeviceMemoryProperties *properties)
{
    const struct layer_physical_device *record = layer_physical_device_of(physical_device);
    if (!record)
        return;
    memset(properties->memoryTypes, 0, sizeof properties->memoryTypes);
    properties->memoryTypeCount = record->types.shown_count;
    for (uint32_t i = 0; i < record->types.shown_count; i++) {
        properties->memoryTypes[i].propertyFlags = record->types.shown[i].flags;
        properties->memoryTypes[i].heapIndex = record->types.shown[i].heap;
    }
    for (uint32_t i = properties->memoryHeapCount; i < record->types.shown_heap_count; i++) {
        properties->memoryHeaps[i] = properties->memoryHeaps[record->types.real_heap_of[i]];
        properties->memoryHeaps[i].flags &= ~(VkMemoryHeapFlags)VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
        properties->memoryHeapCount = i + 1;
    }
}

static void adjust_budget(VkPhysicalDevice physical_device, void *chain)
{
    struct layer_physical_device *record = layer_physical_device_of(physical_device);
    if (record)
        layer_backing_adjust_budget(record, chain);
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceMemoryProperties(
    VkPhysicalDevice physicalDevice, VkPhysicalDeviceMemoryProperties *pMemoryProperties)
{
    struct layer_instance *instance_record = layer_instance_of_VkPhysicalDevice(physicalDevice);
    instance_record->vk.GetPhysicalDeviceMemoryProperties(physicalDevice, pMemoryProperties);
    show_types(physicalDevice, pMemoryProperties);
    RECORD(GetPhysicalDeviceMemoryProperties, physicalDevice, pMemoryProperties);
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceMemoryProperties2(
    VkPhysicalDevice physicalDevice, VkPhysicalDeviceMemoryProperties2 *pMemoryProperties)
{
    struct layer_instance *instance_record = layer_instance_of_VkPhysicalDevice(physicalDevice);
    instance_record->vk.GetPhysicalDeviceMemoryProperties2(physicalDevice, pMemoryProperties);
    show_types(physicalDevice, &pMemoryProperties->memoryProperties);
    adjust_budget(physicalDevice, pMemoryProperties->pNext);
    RECORD(GetPhysicalDeviceMemoryProperties2, physicalDevice, pMemoryProperties);
}

VKAPI_ATTR void VKAPI_CALL capture_GetDeviceGroupPeerMemoryFeatures(VkDevice device, uint32_t heapIndex,
                                                                    uint32_t localDeviceIndex,
                                                                    uint32_t remoteDeviceIndex,
                                                                    VkPeerMemoryFeatureFlags *pPeerMemoryFeatures)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    struct lap_enc *enc;

    dev->vk.GetDeviceGroupPeerMemoryFeatures(device,
                                             lap_virtual_types_real_heap(&dev->physical_device->types, heapIndex),
                                             localDeviceIndex, remoteDeviceIndex, pPeerMemoryFeatures);
    enc = layer_packet_begin(&dev->tables, GEN_vkGetDeviceGroupPeerMemoryFeatures, 0);
    if (enc) {
        gen_encode_vkGetDeviceGroupPeerMemoryFeatures(enc, device, heapIndex, localDeviceIndex, remoteDeviceIndex,
                                                      pPeerMemoryFeatures);
        layer_packet_end();
    }
}

static void describe_us(VkPhysicalDeviceToolProperties *tool)
{
    snprintf(tool->name, sizeof tool->name, "Lapilli");
    snprintf(tool->version, sizeof tool->version, "%s", LAPILLI_VERSION);
    tool->purposes = VK_TOOL_PURPOSE_TRACING_BIT;
    snprintf(tool->description, sizeof tool->description, "%s", LAPILLI_LAYER_DESCRIPTION);
    snprintf(tool->layer, sizeof tool->layer, "%s", LAPILLI_LAYER_NAME);
}

/* The tools of lower layers come first. Some drivers have none and leave the count unwritten, so their number is asked
 * for first. */
static VkResult tools_with_us(const struct layer_instance *instance, VkPhysicalDevice physical_device, uint32_t *count,
                              VkPhysicalDeviceToolProperties *tools)
{
    const PFN_vkGetPhysicalDeviceToolProperties get = instance->vk.GetPhysicalDeviceToolProperties;
    VkResult result = VK_SUCCESS;
    uint32_t room = *count, there = 0, others;

    if (get)
        result = get(physical_device, &there, NULL);
    if (result < 0)
        return result;
    if (!tools) {
        *count = there + 1;
        return VK_SUCCESS;
    }
    others = there < room ? there : room;
    if (others)
        result = get(physical_device, &others, tools);
    if (result < 0)
        return result;
    *count = others;
    if (others >= room)
        return VK_INCOMPLETE;
    describe_us(&tools[others]);
    *count = others + 1;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetPhysicalDeviceToolProperties(VkPhysicalDevice physicalDevice,
                                                                       uint32_t *pToolCount,
                                                                       VkPhysicalDeviceToolProperties *pToolProperties)
{
    struct layer_instance *instance_record = layer_instance_of_VkPhysicalDevice(physicalDevice);
    VkResult result = tools_with_us(instance_record, physicalDevice, pToolCount, pToolProperties);
    struct lap_enc *enc = layer_packet_begin(&instance_record->tables, GEN_vkGetPhysicalDeviceToolProperties,
                                             result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceToolProperties(enc, physicalDevice, pToolCount, pToolProperties, result);
        layer_packet_end();
    }
    return result;
}

#ifdef VK_KHR_calibrated_timestamps
/* Older loaders know only the older name. They return functions for unknown names, too, but these may not reach the
 * driver. A call without the extension ends the process. */
static PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR time_domains(const struct layer_physical_device *gpu)
{
    const struct layer_instance *instance = gpu->instance;

    return instance->older_time_domains && layer_device_has_extension(gpu, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)
               ? (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR)instance->older_time_domains
               : instance->vk.GetPhysicalDeviceCalibrateableTimeDomainsKHR;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetPhysicalDeviceCalibrateableTimeDomainsKHR(VkPhysicalDevice physicalDevice,
                                                                                    uint32_t *pTimeDomainCount,
                                                                                    VkTimeDomainKHR *pTimeDomains)
{
    const struct layer_physical_device *gpu = layer_physical_device_of(physicalDevice);
    VkResult result =
        gpu ? time_domains(gpu)(physicalDevice, pTimeDomainCount, pTimeDomains) : VK_ERROR_OUT_OF_HOST_MEMORY;
    struct lap_enc *enc =
        layer_packet_begin(&layer_instance_of_VkPhysicalDevice(physicalDevice)->tables,
                           GEN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR(enc, physicalDevice, pTimeDomainCount, pTimeDomains,
                                                                  result);
        layer_packet_end();
    }
    return result;
}
#endif

/* Core commands of a version that this registry does not know could not be recorded: the device is shown as one of the
 * newest version that it knows. */
static void cap_version(uint32_t *api_version)
{
    const uint32_t known = VK_HEADER_VERSION_COMPLETE;
    if (layer_is_recording() && VK_API_VERSION_VARIANT(*api_version) == 0 &&
        (*api_version >> 12) > (known >> 12)) /* major and minor */
        *api_version = known;
}

void hook_after_GetPhysicalDeviceProperties(struct layer_instance *instance_record, VkPhysicalDevice physicalDevice,
                                            VkPhysicalDeviceProperties *pProperties)
{
    cap_version(&pProperties->apiVersion);
}

void hook_after_GetPhysicalDeviceProperties2(struct layer_instance *instance_record, VkPhysicalDevice physicalDevice,
                                             VkPhysicalDeviceProperties2 *pProperties)
{
    cap_version(&pProperties->properties.apiVersion);
    layer_descriptor_heaps_properties(instance_record, physicalDevice, pProperties);
}
