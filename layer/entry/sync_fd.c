/* SPDX-License-Identifier: MIT */
/* sync_fd: semaphores and fences as file descriptors (submit/external_sync.h). */
#include "gen_layer.h"
#include "layer/submit/external_sync.h"

VKAPI_ATTR VkResult VKAPI_CALL capture_GetSemaphoreFdKHR(VkDevice device, const VkSemaphoreGetFdInfoKHR *pGetFdInfo,
                                                         int *pFd)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const struct layer_external_sync_object object = {.device = dev, .semaphore = pGetFdInfo->semaphore};
    VkResult result = dev->vk.GetSemaphoreFdKHR(device, pGetFdInfo, pFd);

    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetSemaphoreFdKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetSemaphoreFdKHR(enc, device, pGetFdInfo, pFd, result);
        layer_packet_end();
    }
    if (result >= 0)
        layer_external_sync_export(&object, pGetFdInfo->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
                                   *pFd);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_ImportSemaphoreFdKHR(VkDevice device,
                                                            const VkImportSemaphoreFdInfoKHR *pImportSemaphoreFdInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const VkImportSemaphoreFdInfoKHR *info = pImportSemaphoreFdInfo;
    const struct layer_external_sync_object object = {.device = dev, .semaphore = info->semaphore};
    struct layer_external_sync_import import;
    VkResult result;

    layer_external_sync_find(&object, info->handleType == VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT,
                             info->flags & VK_SEMAPHORE_IMPORT_TEMPORARY_BIT, info->fd, &import);
    result = dev->vk.ImportSemaphoreFdKHR(device, info);
    struct lap_enc *enc =
        layer_packet_begin(&dev->tables, GEN_vkImportSemaphoreFdKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkImportSemaphoreFdKHR(enc, device, info, result);
        layer_packet_end();
    }
    if (result >= 0)
        layer_external_sync_imported(&object, &import);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetFenceFdKHR(VkDevice device, const VkFenceGetFdInfoKHR *pGetFdInfo, int *pFd)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const struct layer_external_sync_object object = {.device = dev, .fence = pGetFdInfo->fence};
    VkResult result = dev->vk.GetFenceFdKHR(device, pGetFdInfo, pFd);

    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetFenceFdKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkGetFenceFdKHR(enc, device, pGetFdInfo, pFd, result);
        layer_packet_end();
    }
    if (result >= 0)
        layer_external_sync_export(&object, pGetFdInfo->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT, *pFd);
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_ImportFenceFdKHR(VkDevice device,
                                                        const VkImportFenceFdInfoKHR *pImportFenceFdInfo)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    const VkImportFenceFdInfoKHR *info = pImportFenceFdInfo;
    const struct layer_external_sync_object object = {.device = dev, .fence = info->fence};
    struct layer_external_sync_import import;
    VkResult result;

    layer_external_sync_find(&object, info->handleType == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT,
                             info->flags & VK_FENCE_IMPORT_TEMPORARY_BIT, info->fd, &import);
    result = dev->vk.ImportFenceFdKHR(device, info);
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkImportFenceFdKHR, result < 0 ? LAP_PACKET_FAILED : 0);
    if (enc) {
        gen_encode_vkImportFenceFdKHR(enc, device, info, result);
        layer_packet_end();
    }
    if (result >= 0)
        layer_external_sync_imported(&object, &import);
    return result;
}
