/* SPDX-License-Identifier: MIT */
/* What the driver says of itself: one GPU with two families of queues, two more for video, and four types of memory,
 * which promises everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/null/machine.h"

#define GPU_NAME "null"
#define MIB      ((VkDeviceSize)1 << 20)

/* ---- lists that are asked for twice ---- */

static VkResult give_extensions(const char *const *names, uint32_t count, uint32_t *out_count,
                                VkExtensionProperties *out)
{
    uint32_t room = *out_count;
    *out_count = count;
    if (!out)
        return VK_SUCCESS;
    *out_count = room < count ? room : count;
    for (uint32_t i = 0; i < *out_count; i++) {
        memset(&out[i], 0, sizeof out[i]);
        memcpy(out[i].extensionName, names[i], strlen(names[i]) + 1);
        out[i].specVersion = 1;
    }
    return room < count ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_EnumerateInstanceExtensionProperties(const char *pLayerName,
                                                                         uint32_t *pPropertyCount,
                                                                         VkExtensionProperties *pProperties)
{
    return give_extensions(null_instance_extensions, null_instance_extension_count, pPropertyCount, pProperties);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_EnumerateDeviceExtensionProperties(VkPhysicalDevice physicalDevice,
                                                                       const char *pLayerName, uint32_t *pPropertyCount,
                                                                       VkExtensionProperties *pProperties)
{
    return give_extensions(null_device_extensions, null_device_extension_count, pPropertyCount, pProperties);
}

/* It has no tools, and leaves the count unwritten, as some drivers do. */
VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceToolProperties(VkPhysicalDevice physicalDevice,
                                                                    uint32_t *pToolCount,
                                                                    VkPhysicalDeviceToolProperties *pToolProperties)
{
    return VK_SUCCESS;
}

/* The registry's newest version, but none whose commands map memory in other ways, unless NULL_NEWEST asks for it. */
static uint32_t api_version(void)
{
    const char *newest = getenv("NULL_NEWEST");

    return newest || VK_HEADER_VERSION_COMPLETE < VK_API_VERSION_1_3 + (1u << 12) ? VK_HEADER_VERSION_COMPLETE
                                                                                  : VK_API_VERSION_1_3;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_EnumerateInstanceVersion(uint32_t *pApiVersion)
{
    *pApiVersion = api_version();
    return VK_SUCCESS;
}

/* ---- features and properties ---- */

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceFeatures(VkPhysicalDevice physicalDevice,
                                                          VkPhysicalDeviceFeatures *pFeatures)
{
    VkBool32 *features = (VkBool32 *)pFeatures;
    for (size_t i = 0; i < sizeof *pFeatures / sizeof *features; i++)
        features[i] = VK_TRUE;
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceFeatures2(VkPhysicalDevice physicalDevice,
                                                           VkPhysicalDeviceFeatures2 *pFeatures)
{
    hand_GetPhysicalDeviceFeatures(physicalDevice, &pFeatures->features);
    null_fill_features(pFeatures->pNext);
}

/* Numbers large enough for anybody: counts and sizes, then those that have another sense. */
static void fill_limits(VkPhysicalDeviceLimits *l)
{
    uint32_t *words = (uint32_t *)l;
    for (size_t i = 0; i < sizeof *l / sizeof *words; i++)
        words[i] = 1u << 14;
    l->bufferImageGranularity = 1;
    l->sparseAddressSpaceSize = (VkDeviceSize)1 << 40;
    l->maxUniformBufferRange = 1u << 16;
    l->maxStorageBufferRange = 1u << 30;
    l->maxPushConstantsSize = 256;
    l->maxMemoryAllocationCount = 1u << 20;
    l->maxTexelBufferElements = 1u << 27;
    l->maxBoundDescriptorSets = 32;
    l->maxDrawIndexedIndexValue = l->maxDrawIndirectCount = UINT32_MAX;
    l->maxSamplerLodBias = 16.0f;
    l->maxSamplerAnisotropy = 16.0f;
    l->maxViewports = 16;
    l->viewportBoundsRange[0] = -32768.0f;
    l->viewportBoundsRange[1] = 32767.0f;
    l->viewportSubPixelBits = l->subPixelPrecisionBits = l->subTexelPrecisionBits = l->mipmapPrecisionBits = 8;
    l->minMemoryMapAlignment = 4096;
    l->minTexelBufferOffsetAlignment = l->minUniformBufferOffsetAlignment = l->minStorageBufferOffsetAlignment = 16;
    l->minTexelOffset = -8;
    l->maxTexelOffset = 7;
    l->minTexelGatherOffset = -32;
    l->maxTexelGatherOffset = 31;
    l->minInterpolationOffset = -0.5f;
    l->maxInterpolationOffset = 0.5f;
    l->subPixelInterpolationOffsetBits = 4;
    const VkSampleCountFlags samples = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT;
    l->framebufferColorSampleCounts = l->framebufferDepthSampleCounts = l->framebufferStencilSampleCounts = samples;
    l->framebufferNoAttachmentsSampleCounts = l->sampledImageColorSampleCounts = samples;
    l->sampledImageIntegerSampleCounts = l->sampledImageDepthSampleCounts = samples;
    l->sampledImageStencilSampleCounts = l->storageImageSampleCounts = samples;
    l->maxSampleMaskWords = 1;
    l->timestampComputeAndGraphics = l->strictLines = l->standardSampleLocations = VK_TRUE;
    l->timestampPeriod = 1.0f;
    l->maxColorAttachments = l->maxFragmentOutputAttachments = 8;
    l->maxClipDistances = l->maxCullDistances = l->maxCombinedClipAndCullDistances = 8;
    l->discreteQueuePriorities = 2;
    l->pointSizeRange[0] = l->lineWidthRange[0] = 1.0f;
    l->pointSizeRange[1] = l->lineWidthRange[1] = 64.0f;
    l->pointSizeGranularity = l->lineWidthGranularity = 0.125f;
    l->optimalBufferCopyOffsetAlignment = l->optimalBufferCopyRowPitchAlignment = 1;
    l->nonCoherentAtomSize = 64;
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceProperties(VkPhysicalDevice physicalDevice,
                                                            VkPhysicalDeviceProperties *pProperties)
{
    memset(pProperties, 0, sizeof *pProperties);
    pProperties->apiVersion = api_version();
    pProperties->driverVersion = 1;
    pProperties->vendorID = 0x10000; /* nobody's */
    pProperties->deviceType = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
    memcpy(pProperties->deviceName, GPU_NAME, sizeof GPU_NAME);
    fill_limits(&pProperties->limits);
}

#ifdef VK_EXT_host_image_copy
static void fill_layouts(VkPhysicalDeviceHostImageCopyPropertiesEXT *properties)
{
    static const VkImageLayout layouts[] = {VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
    const uint32_t count = sizeof layouts / sizeof layouts[0];
    uint32_t *counts[] = {&properties->copySrcLayoutCount, &properties->copyDstLayoutCount};
    VkImageLayout *lists[] = {properties->pCopySrcLayouts, properties->pCopyDstLayouts};

    for (size_t i = 0; i < 2; i++) {
        *counts[i] = lists[i] && *counts[i] < count ? *counts[i] : count;
        if (lists[i])
            memcpy(lists[i], layouts, *counts[i] * sizeof layouts[0]);
    }
}
#endif

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceProperties2(VkPhysicalDevice physicalDevice,
                                                             VkPhysicalDeviceProperties2 *pProperties)
{
    hand_GetPhysicalDeviceProperties(physicalDevice, &pProperties->properties);
    for (VkBaseOutStructure *s = pProperties->pNext; s; s = s->pNext) {
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) {
            VkPhysicalDeviceDriverProperties *driver = (VkPhysicalDeviceDriverProperties *)s;
            snprintf(driver->driverName, sizeof driver->driverName,
                     "a driver that does nothing, and says so at length");
            snprintf(driver->driverInfo, sizeof driver->driverInfo, "with a version that nobody could ever remember");
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT)
            ((VkPhysicalDeviceExternalMemoryHostPropertiesEXT *)s)->minImportedHostPointerAlignment = 4096;
#ifdef VK_EXT_map_memory_placed
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAP_MEMORY_PLACED_PROPERTIES_EXT)
            ((VkPhysicalDeviceMapMemoryPlacedPropertiesEXT *)s)->minPlacedMemoryMapAlignment = 4096;
#endif
#ifdef VK_EXT_host_image_copy
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_IMAGE_COPY_PROPERTIES_EXT)
            fill_layouts((VkPhysicalDeviceHostImageCopyPropertiesEXT *)s);
#endif
#ifdef VK_EXT_nested_command_buffer
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_PROPERTIES_EXT)
            ((VkPhysicalDeviceNestedCommandBufferPropertiesEXT *)s)->maxCommandBufferNestingLevel = UINT32_MAX;
#endif
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_RAY_TRACING_PIPELINE_PROPERTIES_KHR) {
            VkPhysicalDeviceRayTracingPipelinePropertiesKHR *p = (VkPhysicalDeviceRayTracingPipelinePropertiesKHR *)s;
            p->shaderGroupHandleSize = p->shaderGroupHandleAlignment = 32;
            p->shaderGroupBaseAlignment = 64;
            p->maxRayRecursionDepth = 31;
            p->maxShaderGroupStride = 4096;
            p->maxRayDispatchInvocationCount = 1u << 30;
            p->maxRayHitAttributeSize = 32;
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
            memset(((VkPhysicalDeviceIDProperties *)s)->deviceUUID, 0x4e, VK_UUID_SIZE);
            memset(((VkPhysicalDeviceIDProperties *)s)->driverUUID, 0x4f, VK_UUID_SIZE);
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_PROPERTIES_KHR) {
            VkPhysicalDeviceFragmentShadingRatePropertiesKHR *p = (VkPhysicalDeviceFragmentShadingRatePropertiesKHR *)s;
            const char *size = getenv("NULL_RATE_TEXELS");
            const uint32_t pixels = size ? (uint32_t)atoi(size) : 8;
            p->minFragmentShadingRateAttachmentTexelSize = (VkExtent2D){pixels, pixels};
            p->maxFragmentShadingRateAttachmentTexelSize = (VkExtent2D){pixels, pixels};
        }
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR)
            ((VkPhysicalDevicePerformanceQueryPropertiesKHR *)s)->allowCommandBufferQueryCopies = VK_TRUE;
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT)
            null_fill_descriptor_properties((VkPhysicalDeviceDescriptorBufferPropertiesEXT *)s);
#ifdef VK_EXT_descriptor_heap
        if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_HEAP_PROPERTIES_EXT)
            null_fill_heap_properties((VkPhysicalDeviceDescriptorHeapPropertiesEXT *)s);
#endif
    }
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceFormatProperties(VkPhysicalDevice physicalDevice, VkFormat format,
                                                                  VkFormatProperties *pFormatProperties)
{
    const VkFormatFeatureFlags video = 0x1e000000; /* decoded, decoding and encoding reference, encoded */
    const VkFormatFeatureFlags all =
        0x1ffff | video | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    *pFormatProperties = (VkFormatProperties){0};
    if (format != VK_FORMAT_UNDEFINED)
        *pFormatProperties = (VkFormatProperties){all, all, all};
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceFormatProperties2(VkPhysicalDevice physicalDevice, VkFormat format,
                                                                   VkFormatProperties2 *pFormatProperties)
{
    hand_GetPhysicalDeviceFormatProperties(physicalDevice, format, &pFormatProperties->formatProperties);
    for (VkBaseOutStructure *s = pFormatProperties->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3) {
            VkFormatProperties3 *p = (VkFormatProperties3 *)s;
            p->linearTilingFeatures = p->optimalTilingFeatures = p->bufferFeatures =
                pFormatProperties->formatProperties.optimalTilingFeatures;
        }
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceImageFormatProperties(
    VkPhysicalDevice physicalDevice, VkFormat format, VkImageType type, VkImageTiling tiling, VkImageUsageFlags usage,
    VkImageCreateFlags flags, VkImageFormatProperties *pImageFormatProperties)
{
    *pImageFormatProperties = (VkImageFormatProperties){.maxExtent = {16384, 16384, 2048},
                                                        .maxMipLevels = 15,
                                                        .maxArrayLayers = 2048,
                                                        .sampleCounts = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT,
                                                        .maxResourceSize = (VkDeviceSize)1 << 34};
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceImageFormatInfo2 *pImageFormatInfo,
    VkImageFormatProperties2 *pImageFormatProperties)
{
    return hand_GetPhysicalDeviceImageFormatProperties(
        physicalDevice, pImageFormatInfo->format, pImageFormatInfo->type, pImageFormatInfo->tiling,
        pImageFormatInfo->usage, pImageFormatInfo->flags, &pImageFormatProperties->imageFormatProperties);
}

/* ---- memory and queues ---- */

static const VkMemoryPropertyFlags memory_flags[] = {
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
};
#define MEMORY_TYPES (uint32_t)(sizeof memory_flags / sizeof memory_flags[0])

uint32_t null_memory_types(void)
{
    return (1u << MEMORY_TYPES) - 1;
}

bool null_memory_is_visible(uint32_t type)
{
    return type < MEMORY_TYPES && memory_flags[type] & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice physicalDevice,
                                                                  VkPhysicalDeviceMemoryProperties *pMemoryProperties)
{
    memset(pMemoryProperties, 0, sizeof *pMemoryProperties);
    pMemoryProperties->memoryHeapCount = 2;
    pMemoryProperties->memoryHeaps[0] = (VkMemoryHeap){64 * 1024 * MIB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    pMemoryProperties->memoryHeaps[1] = (VkMemoryHeap){64 * 1024 * MIB, 0};
    pMemoryProperties->memoryTypeCount = MEMORY_TYPES;
    for (uint32_t i = 0; i < MEMORY_TYPES; i++)
        pMemoryProperties->memoryTypes[i] =
            (VkMemoryType){memory_flags[i], memory_flags[i] & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? 0 : 1};
}

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice physicalDevice,
                                                                   VkPhysicalDeviceMemoryProperties2 *pMemoryProperties)
{
    hand_GetPhysicalDeviceMemoryProperties(physicalDevice, &pMemoryProperties->memoryProperties);
}

static const VkQueueFamilyProperties families[NULL_FAMILIES] = {
    {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT,
     NULL_QUEUES,
     64,
     {1, 1, 1}},
    {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, NULL_QUEUES, 64, {1, 1, 1}},
    {NULL_QUEUE_DECODE, NULL_QUEUES, 64, {1, 1, 1}}, /* no copies: as some GPUs have it */
    {NULL_QUEUE_ENCODE | VK_QUEUE_TRANSFER_BIT, NULL_QUEUES, 64, {1, 1, 1}},
};

VKAPI_ATTR void VKAPI_CALL hand_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice physicalDevice,
                                                                       uint32_t *pQueueFamilyPropertyCount,
                                                                       VkQueueFamilyProperties *pQueueFamilyProperties)
{
    if (pQueueFamilyProperties && *pQueueFamilyPropertyCount < NULL_FAMILIES)
        memcpy(pQueueFamilyProperties, families, *pQueueFamilyPropertyCount * sizeof families[0]);
    else if (pQueueFamilyProperties)
        memcpy(pQueueFamilyProperties, families, sizeof families);
    if (!pQueueFamilyProperties || *pQueueFamilyPropertyCount > NULL_FAMILIES)
        *pQueueFamilyPropertyCount = NULL_FAMILIES;
}

VKAPI_ATTR void VKAPI_CALL
hand_GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice physicalDevice, uint32_t *pQueueFamilyPropertyCount,
                                             VkQueueFamilyProperties2 *pQueueFamilyProperties)
{
    if (!pQueueFamilyProperties || *pQueueFamilyPropertyCount > NULL_FAMILIES)
        *pQueueFamilyPropertyCount = NULL_FAMILIES;
    for (uint32_t i = 0; pQueueFamilyProperties && i < *pQueueFamilyPropertyCount; i++) {
        pQueueFamilyProperties[i].queueFamilyProperties = families[i];
        null_fill_video_family(families[i].queueFlags, pQueueFamilyProperties[i].pNext);
    }
}
