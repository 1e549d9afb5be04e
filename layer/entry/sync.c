/* SPDX-License-Identifier: MIT */
/*
 * sync: calls from which the program learns about submitted work. Only the result is recorded: unsuccessful polling
 * leaves no packet, and a wait for any of several objects is recorded as a wait for those that were signalled, so that
 * the replay waits for the same ones.
 */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/submit/submit.h"

/* Lists that are usually short. */
#define FEW 16u

/* ---- fences ---- */

static void record_fences(struct layer_device *dev, VkDevice device, uint32_t count, const VkFence *fences,
                          uint64_t timeout)
{
    struct lap_enc *enc;
    if (count == 0)
        return;
    enc = layer_packet_begin(&dev->tables, GEN_vkWaitForFences, 0);
    if (enc) {
        gen_encode_vkWaitForFences(enc, device, count, fences, VK_TRUE, timeout, VK_SUCCESS);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < count; i++)
        layer_work_finished_fence(dev, fences[i]);
}

VKAPI_ATTR VkResult VKAPI_CALL capture_WaitForFences(VkDevice device, uint32_t fenceCount, const VkFence *pFences,
                                                     VkBool32 waitAll, uint64_t timeout)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.WaitForFences(device, fenceCount, pFences, waitAll, timeout);
    VkFence few[FEW], *signalled = few;
    uint32_t count = 0;

    if (result != VK_SUCCESS || !layer_is_recording())
        return result;
    if (waitAll || fenceCount <= 1) {
        record_fences(dev, device, fenceCount, pFences, timeout);
        layer_waited();
        return result;
    }
    if (fenceCount > FEW)
        signalled = malloc(fenceCount * sizeof *signalled);
    if (!signalled) {
        layer_stop("out of memory");
        return result;
    }
    for (uint32_t i = 0; i < fenceCount; i++)
        if (pFences[i] && dev->vk.GetFenceStatus(device, pFences[i]) == VK_SUCCESS) /* tolerates VK_NULL_HANDLE */
            signalled[count++] = pFences[i];
    record_fences(dev, device, count, signalled, timeout);
    if (signalled != few)
        free(signalled);
    layer_waited();
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetFenceStatus(VkDevice device, VkFence fence)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.GetFenceStatus(device, fence);

    if (result != VK_SUCCESS)
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetFenceStatus, 0);
    if (enc) {
        gen_encode_vkGetFenceStatus(enc, device, fence, result);
        layer_packet_end();
    }
    if (layer_is_recording())
        layer_work_finished_fence(dev, fence);
    layer_waited();
    return result;
}

void hook_before_ResetFences(struct layer_device *dev, VkDevice device, uint32_t fenceCount, const VkFence *pFences)
{
    for (uint32_t i = 0; i < fenceCount; i++)
        layer_forget_fence(dev, pFences[i]);
}

/* ---- timeline semaphores ---- */

/* True when the value was not recorded yet. */
static bool is_news(struct layer_device *dev, VkSemaphore semaphore, uint64_t value)
{
    struct layer_semaphore *record = LAYER_GET(dev, VkSemaphore, semaphore);
    uint64_t known = record ? atomic_load_explicit(&record->known, memory_order_relaxed) : 0;
    while (record && value > known)
        if (atomic_compare_exchange_weak_explicit(&record->known, &known, value, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static void record_semaphores(struct layer_device *dev, VkDevice device, const VkSemaphoreWaitInfo *info,
                              uint64_t timeout)
{
    struct lap_enc *enc;
    if (info->semaphoreCount == 0)
        return;
    enc = layer_packet_begin(&dev->tables, GEN_vkWaitSemaphores, 0);
    if (enc) {
        gen_encode_vkWaitSemaphores(enc, device, info, timeout, VK_SUCCESS);
        layer_packet_end();
    }
    for (uint32_t i = 0; i < info->semaphoreCount; i++) {
        is_news(dev, info->pSemaphores[i], info->pValues[i]);
        layer_work_finished_semaphore(dev, info->pSemaphores[i], info->pValues[i]);
    }
}

static bool reached(struct layer_device *dev, VkDevice device, VkSemaphore semaphore, uint64_t value)
{
    uint64_t now = 0;
    return dev->vk.GetSemaphoreCounterValue(device, semaphore, &now) == VK_SUCCESS && now >= value;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *pWaitInfo,
                                                      uint64_t timeout)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.WaitSemaphores(device, pWaitInfo, timeout);
    VkSemaphoreWaitInfo info = *pWaitInfo;
    VkSemaphore few_semaphores[FEW], *semaphores = few_semaphores;
    uint64_t few_values[FEW], *values = few_values;

    if (result != VK_SUCCESS || !layer_is_recording())
        return result;
    if (!(info.flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info.semaphoreCount <= 1) {
        record_semaphores(dev, device, pWaitInfo, timeout);
        layer_waited();
        return result;
    }
    if (info.semaphoreCount > FEW) {
        semaphores = malloc(info.semaphoreCount * sizeof *semaphores);
        values = malloc(info.semaphoreCount * sizeof *values);
    }
    info.semaphoreCount = 0;
    for (uint32_t i = 0; semaphores && values && i < pWaitInfo->semaphoreCount; i++)
        if (reached(dev, device, pWaitInfo->pSemaphores[i], pWaitInfo->pValues[i])) {
            semaphores[info.semaphoreCount] = pWaitInfo->pSemaphores[i];
            values[info.semaphoreCount++] = pWaitInfo->pValues[i];
        }
    info.flags &= ~(VkSemaphoreWaitFlags)VK_SEMAPHORE_WAIT_ANY_BIT;
    info.pSemaphores = semaphores;
    info.pValues = values;
    if (semaphores && values)
        record_semaphores(dev, device, &info, timeout);
    else
        layer_stop("out of memory");
    if (pWaitInfo->semaphoreCount > FEW) {
        free(semaphores);
        free(values);
    }
    layer_waited();
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore,
                                                                uint64_t *pValue)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.GetSemaphoreCounterValue(device, semaphore, pValue);

    if (result != VK_SUCCESS || !layer_is_recording() || !is_news(dev, semaphore, *pValue))
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetSemaphoreCounterValue, 0);
    if (enc) {
        gen_encode_vkGetSemaphoreCounterValue(enc, device, semaphore, pValue, result);
        layer_packet_end();
    }
    layer_work_finished_semaphore(dev, semaphore, *pValue);
    layer_waited();
    return result;
}

/* ---- events and queries ---- */

VKAPI_ATTR VkResult VKAPI_CALL capture_GetEventStatus(VkDevice device, VkEvent event)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.GetEventStatus(device, event);

    if (result != VK_EVENT_SET)
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetEventStatus, 0);
    if (enc) {
        gen_encode_vkGetEventStatus(enc, device, event, result);
        layer_packet_end();
    }
    if (layer_is_recording())
        layer_work_finished_indirectly(dev, layer_progress_query_of_event(dev, event));
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_GetQueryPoolResults(VkDevice device, VkQueryPool queryPool, uint32_t firstQuery,
                                                           uint32_t queryCount, size_t dataSize, void *pData,
                                                           VkDeviceSize stride, VkQueryResultFlags flags)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result =
        dev->vk.GetQueryPoolResults(device, queryPool, firstQuery, queryCount, dataSize, pData, stride, flags);

    if (result != VK_SUCCESS)
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkGetQueryPoolResults, 0);
    if (enc) {
        gen_encode_vkGetQueryPoolResults(enc, device, queryPool, firstQuery, queryCount, dataSize, pData, stride, flags,
                                         result);
        layer_packet_end();
    }
    /* A part of a result says nothing. */
    if (layer_is_recording() && (!(flags & VK_QUERY_RESULT_PARTIAL_BIT) || (flags & VK_QUERY_RESULT_WAIT_BIT)))
        layer_work_finished_indirectly(dev, layer_progress_query_of_queries(dev, queryPool, firstQuery, queryCount));
    return result;
}

/* ---- idle ---- */

VKAPI_ATTR VkResult VKAPI_CALL capture_QueueWaitIdle(VkQueue queue)
{
    struct layer_device *dev = layer_device_of_VkQueue(queue);
    VkResult result = dev->vk.QueueWaitIdle(queue);

    if (result != VK_SUCCESS)
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkQueueWaitIdle, 0);
    if (enc) {
        gen_encode_vkQueueWaitIdle(enc, queue, result);
        layer_packet_end();
    }
    if (layer_is_recording())
        layer_work_finished_queue(dev, queue);
    layer_waited();
    return result;
}

VKAPI_ATTR VkResult VKAPI_CALL capture_DeviceWaitIdle(VkDevice device)
{
    struct layer_device *dev = layer_device_of_VkDevice(device);
    VkResult result = dev->vk.DeviceWaitIdle(device);

    if (result != VK_SUCCESS)
        return result;
    struct lap_enc *enc = layer_packet_begin(&dev->tables, GEN_vkDeviceWaitIdle, 0);
    if (enc) {
        gen_encode_vkDeviceWaitIdle(enc, device, result);
        layer_packet_end();
    }
    if (layer_is_recording())
        layer_work_finished_device(dev);
    layer_waited();
    return result;
}
