/* SPDX-License-Identifier: MIT */
/*
 * stuck: makes of a device one that finishes nothing any more, from a chosen submit on.
 *
 *   LAPILLI_STUCK  the number of that submit, counted from 1 over all queues: vkQueueSubmit, vkQueueSubmit2 and
 * vkQueueBindSparse. At 0, or without it, no device gets stuck, and the number of submits is printed to stderr in the
 * end: "stuck: 12 submits".
 *
 *   LAPILLI_STUCK_IN  the name of a call that never returns: vkCreateComputePipelines, vkQueueSubmit or
 * vkDeviceWaitIdle.
 *
 * Whoever asks such a device is told that it is not ready, after the time that he wanted to wait. Who would wait for
 * ever, or destroys what is in use, ends the process with status 99 and a line that names the call. The driver itself
 * goes on.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/layers/chain.h"

#define LONGEST_NS 100000000u /* of a wait, in one call */
#define WRONG      99

static atomic_ulong submits;
static unsigned long at;
static const char *endless;

static void tell(void)
{
    fprintf(stderr, "stuck: %lu submits\n", atomic_load(&submits));
}

static void start(void)
{
    const char *text = getenv("LAPILLI_STUCK");
    at = text ? strtoul(text, NULL, 10) : 0;
    endless = getenv("LAPILLI_STUCK_IN");
    if (!at)
        atexit(tell);
}

static bool is_stuck(void)
{
    return at && atomic_load(&submits) >= at;
}

static void count(void)
{
    atomic_fetch_add(&submits, 1);
}

static void pause_for(uint64_t ns)
{
    const struct timespec pause = {0, (long)(ns < LONGEST_NS ? ns : LONGEST_NS)};
    nanosleep(&pause, NULL);
}

static void must_not(const char *what)
{
    if (!is_stuck())
        return;
    fprintf(stderr, "stuck: %s\n", what);
    _exit(WRONG);
}

static void may_never_return(const char *call)
{
    while (endless && !strcmp(endless, call))
        (void)pause();
}

static const struct gen_device_dispatch *next(const void *dispatchable)
{
    return &chain_device_of(dispatchable)->next;
}

/* ---- what is submitted ---- */

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t number, const VkSubmitInfo *infos,
                                                  VkFence fence)
{
    count();
    may_never_return("vkQueueSubmit");
    return next(queue)->QueueSubmit(queue, number, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue queue, uint32_t number, const VkSubmitInfo2 *infos,
                                                   VkFence fence)
{
    count();
    return next(queue)->QueueSubmit2(queue, number, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueBindSparse(VkQueue queue, uint32_t number, const VkBindSparseInfo *infos,
                                                      VkFence fence)
{
    count();
    return next(queue)->QueueBindSparse(queue, number, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t number,
                                                             const VkComputePipelineCreateInfo *infos,
                                                             const VkAllocationCallbacks *allocator, VkPipeline *out)
{
    may_never_return("vkCreateComputePipelines");
    return next(device)->CreateComputePipelines(device, cache, number, infos, allocator, out);
}

/* ---- who waits for it ---- */

static VKAPI_ATTR VkResult VKAPI_CALL WaitForFences(VkDevice device, uint32_t number, const VkFence *fences,
                                                    VkBool32 all, uint64_t timeout)
{
    if (!is_stuck())
        return next(device)->WaitForFences(device, number, fences, all, timeout);
    pause_for(timeout);
    return VK_TIMEOUT;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetFenceStatus(VkDevice device, VkFence fence)
{
    return is_stuck() ? VK_NOT_READY : next(device)->GetFenceStatus(device, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    if (!is_stuck())
        return next(device)->WaitSemaphores(device, info, timeout);
    pause_for(timeout);
    return VK_TIMEOUT;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first,
                                                          uint32_t number, size_t bytes, void *data,
                                                          VkDeviceSize stride, VkQueryResultFlags flags)
{
    if (flags & VK_QUERY_RESULT_WAIT_BIT)
        must_not("vkGetQueryPoolResults waits for ever");
    return is_stuck() ? VK_NOT_READY
                      : next(device)->GetQueryPoolResults(device, pool, first, number, bytes, data, stride, flags);
}

static VKAPI_ATTR VkResult VKAPI_CALL AcquireNextImageKHR(VkDevice device, VkSwapchainKHR swapchain, uint64_t timeout,
                                                          VkSemaphore semaphore, VkFence fence, uint32_t *image)
{
    if (!is_stuck())
        return next(device)->AcquireNextImageKHR(device, swapchain, timeout, semaphore, fence, image);
    if (timeout == UINT64_MAX)
        must_not("vkAcquireNextImageKHR waits for ever");
    pause_for(timeout);
    return timeout ? VK_TIMEOUT : VK_NOT_READY;
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueWaitIdle(VkQueue queue)
{
    must_not("vkQueueWaitIdle waits for ever");
    return next(queue)->QueueWaitIdle(queue);
}

static VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice device)
{
    must_not("vkDeviceWaitIdle waits for ever");
    may_never_return("vkDeviceWaitIdle");
    return next(device)->DeviceWaitIdle(device);
}

/* ---- who does not ---- */

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice device, VkDeviceMemory memory,
                                             const VkAllocationCallbacks *allocator)
{
    if (memory)
        must_not("vkFreeMemory while the device is at work");
    next(device)->FreeMemory(device, memory, allocator);
}

static VKAPI_ATTR void VKAPI_CALL DestroySwapchainKHR(VkDevice device, VkSwapchainKHR swapchain,
                                                      const VkAllocationCallbacks *allocator)
{
    if (swapchain)
        must_not("vkDestroySwapchainKHR while the device is at work");
    next(device)->DestroySwapchainKHR(device, swapchain, allocator);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {CHAIN_OWN(QueueSubmit),         CHAIN_OWN_2(QueueSubmit2),
                                                  CHAIN_OWN(QueueBindSparse),     CHAIN_OWN(CreateComputePipelines),
                                                  CHAIN_OWN(WaitForFences),       CHAIN_OWN(GetFenceStatus),
                                                  CHAIN_OWN_2(WaitSemaphores),    CHAIN_OWN(GetQueryPoolResults),
                                                  CHAIN_OWN(AcquireNextImageKHR), CHAIN_OWN(QueueWaitIdle),
                                                  CHAIN_OWN(DeviceWaitIdle),      CHAIN_OWN(FreeMemory),
                                                  CHAIN_OWN(DestroySwapchainKHR), CHAIN_END};
    return i == 0 ? table : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .start = start, .functions = functions};
