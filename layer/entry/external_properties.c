/* SPDX-License-Identifier: MIT */
/*
 * external_properties: the reported import and export support of a physical device for memory, semaphores and fences of
 * other processes or APIs.
 *
 * Programs query it with commands of Vulkan 1.1 and use the reported handle types, some without checking the list of
 * extensions. So a handle type is hidden together with its extension.
 */
#include <string.h>

#include "gen_layer.h"
#include "layer/core/extensions.h"
#include "layer/memory/host_import.h"
#include "vulkan/chain.h"

struct handle_type {
    uint32_t bits;
    const char *extension;
};

static const struct handle_type memory_types[] = {
    {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, "VK_KHR_external_memory_fd"},
    {VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT, "VK_EXT_external_memory_dma_buf"},
    {LAYER_IMPORT_HANDLE_TYPES, "VK_EXT_external_memory_host"},
    {VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID,
     "VK_ANDROID_external_memory_android_hardware_buffer"},
    {VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_BIT | VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT |
         VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_TEXTURE_BIT | VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_TEXTURE_KMT_BIT |
         VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP_BIT | VK_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE_BIT,
     "VK_KHR_external_memory_win32"},
    {0, NULL},
};

static const struct handle_type semaphore_types[] = {
    {VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT | VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
     "VK_KHR_external_semaphore_fd"},
    {VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_BIT | VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT |
         VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE_BIT,
     "VK_KHR_external_semaphore_win32"},
    {0, NULL},
};

static const struct handle_type fence_types[] = {
    {VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT | VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT,
     "VK_KHR_external_fence_fd"},
    {VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_BIT | VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_WIN32_KMT_BIT,
     "VK_KHR_external_fence_win32"},
    {0, NULL},
};

/* The `bits` without a shown extension, or in no table. */
static uint32_t hidden_types(const struct handle_type *types, uint32_t bits)
{
    for (; types->extension; types++)
        if (layer_shows_extension(types->extension))
            bits &= ~types->bits;
    return bits;
}

bool layer_shows_memory_types(VkExternalMemoryHandleTypeFlags types)
{
    return !hidden_types(memory_types, types);
}

static void limit_memory(VkExternalMemoryHandleTypeFlags asked, VkExternalMemoryProperties *properties)
{
    if (hidden_types(memory_types, asked)) {
        memset(properties, 0, sizeof *properties);
    } else {
        properties->exportFromImportedHandleTypes &=
            ~hidden_types(memory_types, properties->exportFromImportedHandleTypes);
        properties->compatibleHandleTypes &= ~hidden_types(memory_types, properties->compatibleHandleTypes);
    }
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceExternalBufferProperties(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceExternalBufferInfo *pExternalBufferInfo,
    VkExternalBufferProperties *pExternalBufferProperties)
{
    struct layer_instance *instance = layer_instance_of_VkPhysicalDevice(physicalDevice);
    instance->vk.GetPhysicalDeviceExternalBufferProperties(physicalDevice, pExternalBufferInfo,
                                                           pExternalBufferProperties);
    limit_memory(pExternalBufferInfo->handleType, &pExternalBufferProperties->externalMemoryProperties);
    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkGetPhysicalDeviceExternalBufferProperties, 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceExternalBufferProperties(enc, physicalDevice, pExternalBufferInfo,
                                                               pExternalBufferProperties);
        layer_packet_end();
    }
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceExternalSemaphoreProperties(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceExternalSemaphoreInfo *pExternalSemaphoreInfo,
    VkExternalSemaphoreProperties *pExternalSemaphoreProperties)
{
    struct layer_instance *instance = layer_instance_of_VkPhysicalDevice(physicalDevice);
    VkExternalSemaphoreProperties *p = pExternalSemaphoreProperties;
    instance->vk.GetPhysicalDeviceExternalSemaphoreProperties(physicalDevice, pExternalSemaphoreInfo, p);
    p->exportFromImportedHandleTypes &= ~hidden_types(semaphore_types, p->exportFromImportedHandleTypes);
    p->compatibleHandleTypes &= ~hidden_types(semaphore_types, p->compatibleHandleTypes);
    if (hidden_types(semaphore_types, pExternalSemaphoreInfo->handleType))
        p->exportFromImportedHandleTypes = p->compatibleHandleTypes = p->externalSemaphoreFeatures = 0;
    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkGetPhysicalDeviceExternalSemaphoreProperties, 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceExternalSemaphoreProperties(enc, physicalDevice, pExternalSemaphoreInfo, p);
        layer_packet_end();
    }
}

VKAPI_ATTR void VKAPI_CALL capture_GetPhysicalDeviceExternalFenceProperties(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceExternalFenceInfo *pExternalFenceInfo,
    VkExternalFenceProperties *pExternalFenceProperties)
{
    struct layer_instance *instance = layer_instance_of_VkPhysicalDevice(physicalDevice);
    VkExternalFenceProperties *p = pExternalFenceProperties;
    instance->vk.GetPhysicalDeviceExternalFenceProperties(physicalDevice, pExternalFenceInfo, p);
    p->exportFromImportedHandleTypes &= ~hidden_types(fence_types, p->exportFromImportedHandleTypes);
    p->compatibleHandleTypes &= ~hidden_types(fence_types, p->compatibleHandleTypes);
    if (hidden_types(fence_types, pExternalFenceInfo->handleType))
        p->exportFromImportedHandleTypes = p->compatibleHandleTypes = p->externalFenceFeatures = 0;
    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkGetPhysicalDeviceExternalFenceProperties, 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceExternalFenceProperties(enc, physicalDevice, pExternalFenceInfo, p);
        layer_packet_end();
    }
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetPhysicalDeviceImageFormatProperties2(
    VkPhysicalDevice physicalDevice, const VkPhysicalDeviceImageFormatInfo2 *pImageFormatInfo,
    VkImageFormatProperties2 *pImageFormatProperties)
{
    struct layer_instance *instance = layer_instance_of_VkPhysicalDevice(physicalDevice);
    const VkPhysicalDeviceExternalImageFormatInfo *external =
        lap_chain_find(pImageFormatInfo->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    VkExternalImageFormatProperties *properties = (void *)(uintptr_t)lap_chain_find(
        pImageFormatProperties->pNext, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    VkResult result =
        instance->vk.GetPhysicalDeviceImageFormatProperties2(physicalDevice, pImageFormatInfo, pImageFormatProperties);
    if (result >= 0 && external && hidden_types(memory_types, external->handleType))
        result = VK_ERROR_FORMAT_NOT_SUPPORTED;
    if (result == VK_ERROR_FORMAT_NOT_SUPPORTED)
        memset(&pImageFormatProperties->imageFormatProperties, 0, sizeof pImageFormatProperties->imageFormatProperties);
    if (properties && external)
        limit_memory(external->handleType, &properties->externalMemoryProperties);
    struct lap_enc *enc = layer_packet_begin(&instance->tables, GEN_vkGetPhysicalDeviceImageFormatProperties2,
                                             result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetPhysicalDeviceImageFormatProperties2(enc, physicalDevice, pImageFormatInfo,
                                                             pImageFormatProperties, result);
        layer_packet_end();
    }
    return result;
}
