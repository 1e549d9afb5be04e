/* SPDX-License-Identifier: MIT */
/* Work is finished when it is submitted: what it signals is signalled then. What waits for a later submit waits. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "tests/null/machine.h"

static _Atomic uint64_t *value_of(uint64_t id)
{
    struct null_thing *thing = null_thing_of(id);
    return thing ? (_Atomic uint64_t *)&thing->bytes : NULL;
}

static struct null_thing *new_value(uint64_t value)
{
    struct null_thing *thing = calloc(1, sizeof *thing);
    if (thing)
        thing->bytes = value;
    return thing;
}

static void set(uint64_t id, uint64_t value)
{
    _Atomic uint64_t *at = value_of(id);
    if (at)
        atomic_store_explicit(at, value, memory_order_release);
}

void null_signal(uint64_t id)
{
    set(id, 1);
}

static uint64_t get(uint64_t id)
{
    _Atomic uint64_t *at = value_of(id);
    return at ? atomic_load_explicit(at, memory_order_acquire) : 0;
}

/* ---- fences ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateFence(VkDevice device, const VkFenceCreateInfo *pCreateInfo,
                                                const VkAllocationCallbacks *pAllocator, VkFence *pFence)
{
    struct null_thing *thing = new_value(pCreateInfo->flags & VK_FENCE_CREATE_SIGNALED_BIT ? 1 : 0);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pFence = (VkFence)null_make(NULL_TYPE_VkFence, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_ResetFences(VkDevice device, uint32_t fenceCount, const VkFence *pFences)
{
    for (uint32_t i = 0; i < fenceCount; i++)
        set((uint64_t)pFences[i], 0);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetFenceStatus(VkDevice device, VkFence fence)
{
    return get((uint64_t)fence) ? VK_SUCCESS : VK_NOT_READY;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_WaitForFences(VkDevice device, uint32_t fenceCount, const VkFence *pFences,
                                                  VkBool32 waitAll, uint64_t timeout)
{
    const uint64_t begin = now_ns();
    for (;;) {
        uint32_t done = 0;
        for (uint32_t i = 0; i < fenceCount; i++)
            done += get((uint64_t)pFences[i]) != 0;
        if (done == fenceCount || (done && !waitAll))
            return VK_SUCCESS;
        if (now_ns() - begin >= timeout)
            return VK_TIMEOUT;
        sched_yield();
    }
}

/* ---- semaphores ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator, VkSemaphore *pSemaphore)
{
    uint64_t initial = 0;
    for (const VkBaseInStructure *s = pCreateInfo->pNext; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            initial = ((const VkSemaphoreTypeCreateInfo *)s)->initialValue;
    struct null_thing *thing = new_value(initial);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pSemaphore = (VkSemaphore)null_make(NULL_TYPE_VkSemaphore, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *pValue)
{
    *pValue = get((uint64_t)semaphore);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_SignalSemaphore(VkDevice device, const VkSemaphoreSignalInfo *pSignalInfo)
{
    set((uint64_t)pSignalInfo->semaphore, pSignalInfo->value);
    return VK_SUCCESS;
}

/* ---- submits ---- */

static void signal_all(const void *chain, uint32_t count, const VkSemaphore *semaphores)
{
    const VkTimelineSemaphoreSubmitInfo *values = NULL;
    for (const VkBaseInStructure *s = chain; s; s = s->pNext)
        if (s->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            values = (const VkTimelineSemaphoreSubmitInfo *)s;
    for (uint32_t i = 0; i < count; i++)
        if (values && values->pSignalSemaphoreValues && i < values->signalSemaphoreValueCount)
            set((uint64_t)semaphores[i], values->pSignalSemaphoreValues[i]);
}

VKAPI_ATTR VkResult VKAPI_CALL hand_QueueSubmit(VkQueue queue, uint32_t submitCount, const VkSubmitInfo *pSubmits,
                                                VkFence fence)
{
    for (uint32_t i = 0; i < submitCount; i++)
        signal_all(pSubmits[i].pNext, pSubmits[i].signalSemaphoreCount, pSubmits[i].pSignalSemaphores);
    set((uint64_t)fence, 1);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_QueueSubmit2(VkQueue queue, uint32_t submitCount, const VkSubmitInfo2 *pSubmits,
                                                 VkFence fence)
{
    for (uint32_t i = 0; i < submitCount; i++)
        for (uint32_t k = 0; k < pSubmits[i].signalSemaphoreInfoCount; k++)
            set((uint64_t)pSubmits[i].pSignalSemaphoreInfos[k].semaphore, pSubmits[i].pSignalSemaphoreInfos[k].value);
    set((uint64_t)fence, 1);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_QueueBindSparse(VkQueue queue, uint32_t bindInfoCount,
                                                    const VkBindSparseInfo *pBindInfo, VkFence fence)
{
    for (uint32_t i = 0; i < bindInfoCount; i++)
        signal_all(pBindInfo[i].pNext, pBindInfo[i].signalSemaphoreCount, pBindInfo[i].pSignalSemaphores);
    set((uint64_t)fence, 1);
    return VK_SUCCESS;
}

/* ---- events: what the host sets. Commands that set one run at no time ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateEvent(VkDevice device, const VkEventCreateInfo *pCreateInfo,
                                                const VkAllocationCallbacks *pAllocator, VkEvent *pEvent)
{
    struct null_thing *thing = new_value(0);
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pEvent = (VkEvent)null_make(NULL_TYPE_VkEvent, thing);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_SetEvent(VkDevice device, VkEvent event)
{
    set((uint64_t)event, 1);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_ResetEvent(VkDevice device, VkEvent event)
{
    set((uint64_t)event, 0);
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetEventStatus(VkDevice device, VkEvent event)
{
    return get((uint64_t)event) ? VK_EVENT_SET : VK_EVENT_RESET;
}
