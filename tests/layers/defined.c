/* SPDX-License-Identifier: MIT */
/*
 * defined: says to valgrind that what mapped memory holds was written, whoever wrote it. A driver on the CPU takes
 * memory from the heap, and fills it by code that valgrind can't always follow; a recorder has to send those bytes as
 * they are, and would be reported wherever it looks at them. Does nothing in a process that valgrind does not run.
 *
 * That is said when memory is mapped, and whenever a program may have learnt that work is done. So bytes that the
 * program itself stores there without having written them are still reported.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/layers/chain.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define DEFINE(begin, bytes) (void)VALGRIND_MAKE_MEM_DEFINED(begin, bytes)
#else
#define DEFINE(begin, bytes) (void)(bytes)
#endif

struct memory {
    struct memory *link;
    VkDevice device;
    VkDeviceMemory handle;
    VkDeviceSize bytes;
    void *mapped;
    VkDeviceSize mapped_bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;

static const struct gen_device_dispatch *next(const void *dispatchable)
{
    return &chain_device_of(dispatchable)->next;
}

/* Holds the mutex. */
static struct memory **find(VkDevice device, VkDeviceMemory handle)
{
    struct memory **at = &memories;
    while (*at && ((*at)->device != device || (*at)->handle != handle))
        at = &(*at)->link;
    return at;
}

static void note_map(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset, VkDeviceSize bytes, void *pointer)
{
    pthread_mutex_lock(&mutex);
    struct memory *memory = *find(device, handle);
    if (memory) {
        memory->mapped = pointer;
        memory->mapped_bytes = bytes == VK_WHOLE_SIZE ? memory->bytes - offset : bytes;
        DEFINE(pointer, memory->mapped_bytes);
    }
    pthread_mutex_unlock(&mutex);
}

static void note_unmap(VkDevice device, VkDeviceMemory handle)
{
    pthread_mutex_lock(&mutex);
    struct memory *memory = *find(device, handle);
    if (memory)
        memory->mapped = NULL;
    pthread_mutex_unlock(&mutex);
}

static void define_all(void)
{
    pthread_mutex_lock(&mutex);
    for (struct memory *memory = memories; memory; memory = memory->link)
        if (memory->mapped)
            DEFINE(memory->mapped, memory->mapped_bytes);
    pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    VkResult result = next(device)->AllocateMemory(device, info, allocator, out);
    struct memory *memory = result == VK_SUCCESS ? calloc(1, sizeof *memory) : NULL;
    if (memory) {
        pthread_mutex_lock(&mutex);
        *memory = (struct memory){memories, device, *out, info->allocationSize, NULL, 0};
        memories = memory;
        pthread_mutex_unlock(&mutex);
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice device, VkDeviceMemory handle,
                                             const VkAllocationCallbacks *allocator)
{
    pthread_mutex_lock(&mutex);
    struct memory **at = find(device, handle), *memory = *at;
    if (memory)
        *at = memory->link;
    pthread_mutex_unlock(&mutex);
    free(memory);
    next(device)->FreeMemory(device, handle, allocator);
}

static VKAPI_ATTR VkResult VKAPI_CALL MapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    VkResult result = next(device)->MapMemory(device, memory, offset, bytes, flags, out);
    if (result == VK_SUCCESS)
        note_map(device, memory, offset, bytes, *out);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL UnmapMemory(VkDevice device, VkDeviceMemory memory)
{
    note_unmap(device, memory);
    next(device)->UnmapMemory(device, memory);
}

/* ---- who learns that work is done ---- */

static VKAPI_ATTR VkResult VKAPI_CALL WaitForFences(VkDevice device, uint32_t number, const VkFence *fences,
                                                    VkBool32 all, uint64_t timeout)
{
    VkResult result = next(device)->WaitForFences(device, number, fences, all, timeout);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetFenceStatus(VkDevice device, VkFence fence)
{
    VkResult result = next(device)->GetFenceStatus(device, fence);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout)
{
    VkResult result = next(device)->WaitSemaphores(device, info, timeout);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice device, VkSemaphore semaphore, uint64_t *out)
{
    VkResult result = next(device)->GetSemaphoreCounterValue(device, semaphore, out);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetEventStatus(VkDevice device, VkEvent event)
{
    VkResult result = next(device)->GetEventStatus(device, event);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first,
                                                          uint32_t number, size_t bytes, void *data,
                                                          VkDeviceSize stride, VkQueryResultFlags flags)
{
    VkResult result = next(device)->GetQueryPoolResults(device, pool, first, number, bytes, data, stride, flags);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueWaitIdle(VkQueue queue)
{
    VkResult result = next(queue)->QueueWaitIdle(queue);
    define_all();
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice device)
{
    VkResult result = next(device)->DeviceWaitIdle(device);
    define_all();
    return result;
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {CHAIN_OWN(AllocateMemory),
                                                  CHAIN_OWN(FreeMemory),
                                                  CHAIN_OWN(MapMemory),
                                                  CHAIN_OWN(UnmapMemory),
                                                  CHAIN_OWN(WaitForFences),
                                                  CHAIN_OWN(GetFenceStatus),
                                                  CHAIN_OWN_2(WaitSemaphores),
                                                  CHAIN_OWN_2(GetSemaphoreCounterValue),
                                                  CHAIN_OWN(GetEventStatus),
                                                  CHAIN_OWN(GetQueryPoolResults),
                                                  CHAIN_OWN(QueueWaitIdle),
                                                  CHAIN_OWN(DeviceWaitIdle),
                                                  CHAIN_END};
    return i == 0 ? table : NULL;
}

const struct chain_layer chain_layer = {.device_bytes = sizeof(struct chain_device), .functions = functions};
