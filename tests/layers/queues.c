/* SPDX-License-Identifier: MIT */
/*
 * queues: a Vulkan layer, for tests only, that shows three families with five queues of a driver that has one queue:
 * one family for everything, one that computes, one that transfers. They are independent, as a GPU's are: each has a
 * thread that waits on the host for what a batch waits for, and only then gives it to the driver, so work that waits
 * for a later submit on another queue goes through. It is no model of the replayer's schedule: nobody here looks ahead.
 * What a command buffer waits for that the host sets (stage HOST) is waited for before the batch is given, too.
 *
 * It stands next to the driver, for programs without debug labels of queues, sparse objects and groups of devices.
 * Barriers name families that the driver does not have; one with a single family has no use for them.
 */
#include "tests/layers/chain.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAMILIES 3u
#define QUEUES   5u

static const struct {
    VkQueueFlags flags;
    uint32_t count;
} shown[FAMILIES] = {
    {VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 2},
    {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 2},
    {VK_QUEUE_TRANSFER_BIT, 1},
};

/* One batch, or (with neither info) a fence alone. */
struct batch {
    struct batch *link;
    VkSubmitInfo one;
    VkSubmitInfo2 two;
    bool has_one, has_two;
    VkFence fence;
    VkTimelineSemaphoreSubmitInfo values;
};

struct queue {
    void *loader; /* first: the loader's dispatch table, as in every dispatchable object */
    struct device *device;
    struct batch *first, *last;
    bool running; /* it has a thread */
    bool begun;   /* it has or had one, which is to be joined */
    pthread_t thread;
    struct queue *link; /* of all devices */
};

struct device {
    struct chain_device chain; /* first */
    VkQueue real;
    struct queue *queues; /* QUEUES of them; never freed, since a thread may be about to end (end_threads) */
};

/* A binary semaphore, and how many of its signals the driver has been given that nobody waited for. */
struct semaphore {
    struct semaphore *link;
    VkSemaphore handle;
    uint64_t signals;
};

/* A command buffer waits for an event of the host. */
struct host_wait {
    struct host_wait *link;
    VkCommandBuffer commands;
    VkEvent event;
};

static struct host_wait *host_waits;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* all of the above */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t driver_mutex = PTHREAD_MUTEX_INITIALIZER; /* the driver's queue */
static struct semaphore *semaphores;

static struct device *device_of(const void *dispatchable)
{
    return (struct device *)chain_device_of(dispatchable);
}

static struct queue *queue_of(VkQueue handle)
{
    return (struct queue *)(void *)handle;
}

/* ---- semaphores ---- */

static VKAPI_ATTR VkResult VKAPI_CALL CreateSemaphore(VkDevice handle, const VkSemaphoreCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkSemaphore *out)
{
    const VkSemaphoreTypeCreateInfo *type = chain_find(info->pNext, VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
    VkResult result = device_of(handle)->chain.next.CreateSemaphore(handle, info, allocator, out);
    struct semaphore *semaphore;
    if (result < 0 || (type && type->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE))
        return result;
    semaphore = calloc(1, sizeof *semaphore);
    if (!semaphore)
        abort();
    semaphore->handle = *out;
    pthread_mutex_lock(&mutex);
    semaphore->link = semaphores;
    semaphores = semaphore;
    pthread_mutex_unlock(&mutex);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroySemaphore(VkDevice handle, VkSemaphore gone,
                                                   const VkAllocationCallbacks *allocator)
{
    struct semaphore **at = &semaphores, *semaphore;
    pthread_mutex_lock(&mutex);
    while (*at && (*at)->handle != gone)
        at = &(*at)->link;
    semaphore = *at;
    if (semaphore)
        *at = semaphore->link;
    pthread_mutex_unlock(&mutex);
    free(semaphore);
    device_of(handle)->chain.next.DestroySemaphore(handle, gone, allocator);
}

/* NULL: a timeline. Under the mutex. */
static struct semaphore *binary(VkSemaphore handle)
{
    struct semaphore *semaphore = semaphores;
    while (semaphore && semaphore->handle != handle)
        semaphore = semaphore->link;
    return semaphore;
}

static void wait_for(struct device *device, VkSemaphore handle, uint64_t value)
{
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &handle, .pValues = &value};
    struct semaphore *semaphore;
    pthread_mutex_lock(&mutex);
    semaphore = binary(handle);
    while (semaphore && !semaphore->signals)
        pthread_cond_wait(&changed, &mutex);
    if (semaphore)
        semaphore->signals--;
    pthread_mutex_unlock(&mutex);
    if (!semaphore)
        (void)device->chain.next.WaitSemaphores(device->chain.handle, &info, UINT64_MAX);
}

static void signalled(VkSemaphore handle)
{
    struct semaphore *semaphore;
    pthread_mutex_lock(&mutex);
    semaphore = binary(handle);
    if (semaphore)
        semaphore->signals++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static struct queue *all_queues;

/* ---- events ---- */

static void note_wait(VkCommandBuffer commands, VkEvent event)
{
    struct host_wait *wait = calloc(1, sizeof *wait);
    if (!wait)
        abort();
    wait->commands = commands;
    wait->event = event;
    pthread_mutex_lock(&mutex);
    wait->link = host_waits;
    host_waits = wait;
    pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info)
{
    pthread_mutex_lock(&mutex);
    for (struct host_wait **at = &host_waits; *at;) {
        struct host_wait *wait = *at;
        if (wait->commands != commands) {
            at = &wait->link;
            continue;
        }
        *at = wait->link;
        free(wait);
    }
    pthread_mutex_unlock(&mutex);
    return device_of(commands)->chain.next.BeginCommandBuffer(commands, info);
}

static VKAPI_ATTR void VKAPI_CALL CmdWaitEvents(VkCommandBuffer commands, uint32_t count, const VkEvent *events,
                                                VkPipelineStageFlags before, VkPipelineStageFlags after,
                                                uint32_t memory_count, const VkMemoryBarrier *memory,
                                                uint32_t buffer_count, const VkBufferMemoryBarrier *buffer,
                                                uint32_t image_count, const VkImageMemoryBarrier *image)
{
    for (uint32_t i = 0; i < count && before & VK_PIPELINE_STAGE_HOST_BIT; i++)
        note_wait(commands, events[i]);
    device_of(commands)->chain.next.CmdWaitEvents(commands, count, events, before, after, memory_count, memory,
                                                  buffer_count, buffer, image_count, image);
}

static VKAPI_ATTR void VKAPI_CALL CmdWaitEvents2(VkCommandBuffer commands, uint32_t count, const VkEvent *events,
                                                 const VkDependencyInfo *infos)
{
    for (uint32_t i = 0; i < count; i++)
        if (infos[i].memoryBarrierCount && infos[i].pMemoryBarriers->srcStageMask & VK_PIPELINE_STAGE_2_HOST_BIT)
            note_wait(commands, events[i]);
    device_of(commands)->chain.next.CmdWaitEvents2(commands, count, events, infos);
}

/* The next event that a command buffer waits for and that is not set; a null handle: there is none. */
static VkEvent missing_event(struct device *device, VkCommandBuffer commands)
{
    VkEvent missing = VK_NULL_HANDLE;
    pthread_mutex_lock(&mutex);
    for (const struct host_wait *wait = host_waits; wait && !missing; wait = wait->link)
        if (wait->commands == commands &&
            device->chain.next.GetEventStatus(device->chain.handle, wait->event) == VK_EVENT_RESET)
            missing = wait->event;
    pthread_mutex_unlock(&mutex);
    return missing;
}

static void wait_for_host(struct device *device, VkCommandBuffer commands)
{
    const struct timespec pause = {0, 200000};
    while (missing_event(device, commands))
        nanosleep(&pause, NULL);
}

/* ---- a queue's thread ---- */

/* What comes before a command buffer that waits for the host need not wait; what is left of the batch stays. */
static void run_early(struct device *device, VkSubmitInfo *rest, VkTimelineSemaphoreSubmitInfo *values, uint32_t count)
{
    VkTimelineSemaphoreSubmitInfo early_values = *values;
    VkSubmitInfo early = *rest;
    early_values.signalSemaphoreValueCount = 0;
    early.pNext = rest->pNext ? &early_values : NULL;
    early.commandBufferCount = count;
    early.signalSemaphoreCount = 0;
    pthread_mutex_lock(&driver_mutex);
    (void)device->chain.next.QueueSubmit(device->real, 1, &early, VK_NULL_HANDLE);
    pthread_mutex_unlock(&driver_mutex);
    rest->waitSemaphoreCount = values->waitSemaphoreValueCount = 0;
    rest->pCommandBuffers += count;
    rest->commandBufferCount -= count;
}

static void run_one(struct device *device, const struct batch *batch)
{
    VkTimelineSemaphoreSubmitInfo values = batch->values;
    VkSubmitInfo rest = batch->one, *one = &rest;
    uint32_t next = 0;
    if (rest.pNext)
        rest.pNext = &values;
    for (uint32_t i = 0; i < one->waitSemaphoreCount; i++)
        wait_for(device, one->pWaitSemaphores[i],
                 i < batch->values.waitSemaphoreValueCount ? batch->values.pWaitSemaphoreValues[i] : 0);
    for (; next < one->commandBufferCount; next++) {
        if (next && missing_event(device, one->pCommandBuffers[next])) {
            run_early(device, one, &values, next);
            next = 0;
        }
        wait_for_host(device, one->pCommandBuffers[next]);
    }
    pthread_mutex_lock(&driver_mutex);
    (void)device->chain.next.QueueSubmit(device->real, batch->has_one ? 1 : 0, one, batch->fence);
    pthread_mutex_unlock(&driver_mutex);
    for (uint32_t i = 0; i < one->signalSemaphoreCount; i++)
        signalled(one->pSignalSemaphores[i]);
}

static void run_two(struct device *device, const struct batch *batch)
{
    VkSubmitInfo2 rest = batch->two, early, *two = &rest;
    uint32_t next = 0;
    for (uint32_t i = 0; i < two->waitSemaphoreInfoCount; i++)
        wait_for(device, two->pWaitSemaphoreInfos[i].semaphore, two->pWaitSemaphoreInfos[i].value);
    for (; next < two->commandBufferInfoCount; next++) {
        if (next && missing_event(device, two->pCommandBufferInfos[next].commandBuffer)) {
            early = rest;
            early.commandBufferInfoCount = next;
            early.signalSemaphoreInfoCount = 0;
            pthread_mutex_lock(&driver_mutex);
            (void)device->chain.next.QueueSubmit2(device->real, 1, &early, VK_NULL_HANDLE);
            pthread_mutex_unlock(&driver_mutex);
            rest.waitSemaphoreInfoCount = 0;
            rest.pCommandBufferInfos += next;
            rest.commandBufferInfoCount -= next;
            next = 0;
        }
        wait_for_host(device, two->pCommandBufferInfos[next].commandBuffer);
    }
    pthread_mutex_lock(&driver_mutex);
    (void)device->chain.next.QueueSubmit2(device->real, 1, two, batch->fence);
    pthread_mutex_unlock(&driver_mutex);
    for (uint32_t i = 0; i < two->signalSemaphoreInfoCount; i++)
        signalled(two->pSignalSemaphoreInfos[i].semaphore);
}

static void free_batch(struct batch *batch)
{
    free((void *)(uintptr_t)batch->one.pWaitSemaphores);
    free((void *)(uintptr_t)batch->one.pWaitDstStageMask);
    free((void *)(uintptr_t)batch->one.pCommandBuffers);
    free((void *)(uintptr_t)batch->one.pSignalSemaphores);
    free((void *)(uintptr_t)batch->values.pWaitSemaphoreValues);
    free((void *)(uintptr_t)batch->values.pSignalSemaphoreValues);
    free((void *)(uintptr_t)batch->two.pWaitSemaphoreInfos);
    free((void *)(uintptr_t)batch->two.pCommandBufferInfos);
    free((void *)(uintptr_t)batch->two.pSignalSemaphoreInfos);
    free(batch);
}

/* Until the queue is empty. */
static void *run_queue(void *argument)
{
    struct queue *queue = argument;
    struct batch *batch;
    pthread_mutex_lock(&mutex);
    while ((batch = queue->first)) {
        pthread_mutex_unlock(&mutex);
        if (batch->has_two)
            run_two(queue->device, batch);
        else
            run_one(queue->device, batch);
        pthread_mutex_lock(&mutex);
        queue->first = batch->link;
        free_batch(batch);
        pthread_cond_broadcast(&changed);
    }
    queue->last = NULL;
    queue->running = false;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* ---- submits ---- */

static void *copy_of(const void *array, uint32_t count, size_t bytes)
{
    void *copy = count && array ? malloc(count * bytes) : NULL;
    if (copy)
        memcpy(copy, array, count * bytes);
    else if (count && array)
        abort();
    return copy;
}

static struct batch *new_batch(VkFence fence)
{
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch)
        abort();
    batch->fence = fence;
    return batch;
}

static void put(struct queue *queue, struct batch *batch)
{
    pthread_mutex_lock(&mutex);
    if (queue->first)
        queue->last->link = batch;
    else
        queue->first = batch;
    queue->last = batch;
    if (!queue->running) {
        if (queue->begun)
            pthread_join(queue->thread, NULL); /* it needs nothing any more */
        queue->running = queue->begun = true;
        if (pthread_create(&queue->thread, NULL, run_queue, queue))
            abort();
    }
    pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue handle, uint32_t count, const VkSubmitInfo *infos,
                                                  VkFence fence)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo *info = &infos[i];
        const VkTimelineSemaphoreSubmitInfo *values =
            chain_find(info->pNext, VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
        struct batch *batch = new_batch(i + 1 == count ? fence : VK_NULL_HANDLE);
        batch->has_one = true;
        batch->one = *info;
        batch->one.pNext = values ? &batch->values : NULL;
        batch->one.pWaitSemaphores = copy_of(info->pWaitSemaphores, info->waitSemaphoreCount, sizeof(VkSemaphore));
        batch->one.pWaitDstStageMask =
            copy_of(info->pWaitDstStageMask, info->waitSemaphoreCount, sizeof(VkPipelineStageFlags));
        batch->one.pCommandBuffers = copy_of(info->pCommandBuffers, info->commandBufferCount, sizeof(VkCommandBuffer));
        batch->one.pSignalSemaphores =
            copy_of(info->pSignalSemaphores, info->signalSemaphoreCount, sizeof(VkSemaphore));
        if (values) {
            batch->values = *values;
            batch->values.pNext = NULL;
            batch->values.pWaitSemaphoreValues =
                copy_of(values->pWaitSemaphoreValues, values->waitSemaphoreValueCount, sizeof(uint64_t));
            batch->values.pSignalSemaphoreValues =
                copy_of(values->pSignalSemaphoreValues, values->signalSemaphoreValueCount, sizeof(uint64_t));
        }
        put(queue_of(handle), batch);
    }
    if (!count)
        put(queue_of(handle), new_batch(fence));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit2(VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos,
                                                   VkFence fence)
{
    for (uint32_t i = 0; i < count; i++) {
        const VkSubmitInfo2 *info = &infos[i];
        struct batch *batch = new_batch(i + 1 == count ? fence : VK_NULL_HANDLE);
        batch->has_two = true;
        batch->two = *info;
        batch->two.pNext = NULL;
        batch->two.pWaitSemaphoreInfos =
            copy_of(info->pWaitSemaphoreInfos, info->waitSemaphoreInfoCount, sizeof(VkSemaphoreSubmitInfo));
        batch->two.pCommandBufferInfos =
            copy_of(info->pCommandBufferInfos, info->commandBufferInfoCount, sizeof(VkCommandBufferSubmitInfo));
        batch->two.pSignalSemaphoreInfos =
            copy_of(info->pSignalSemaphoreInfos, info->signalSemaphoreInfoCount, sizeof(VkSemaphoreSubmitInfo));
        put(queue_of(handle), batch);
    }
    if (!count)
        put(queue_of(handle), new_batch(fence));
    return VK_SUCCESS;
}

static void wait_until_given(const struct queue *queue)
{
    pthread_mutex_lock(&mutex);
    while (queue->first)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static VkResult wait_idle(struct device *device)
{
    VkResult result;
    pthread_mutex_lock(&driver_mutex);
    result = device->chain.next.QueueWaitIdle(device->real);
    pthread_mutex_unlock(&driver_mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueWaitIdle(VkQueue handle)
{
    wait_until_given(queue_of(handle));
    return wait_idle(queue_of(handle)->device);
}

static VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice handle)
{
    struct device *device = device_of(handle);
    for (uint32_t i = 0; i < QUEUES; i++)
        wait_until_given(&device->queues[i]);
    return wait_idle(device);
}

/* ---- windows ---- */

/* On the caller's thread: when the driver has what signals the semaphores. */
static VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info)
{
    struct device *device = queue_of(handle)->device;
    VkResult result;
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        wait_for(device, info->pWaitSemaphores[i], 0);
    pthread_mutex_lock(&driver_mutex);
    result = device->chain.next.QueuePresentKHR(device->real, info);
    pthread_mutex_unlock(&driver_mutex);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL AcquireNextImageKHR(VkDevice handle, VkSwapchainKHR swapchain, uint64_t limit_ns,
                                                          VkSemaphore semaphore, VkFence fence, uint32_t *out)
{
    VkResult result =
        device_of(handle)->chain.next.AcquireNextImageKHR(handle, swapchain, limit_ns, semaphore, fence, out);
    if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
        signalled(semaphore);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice gpu, uint32_t family,
                                                                         VkSurfaceKHR surface, VkBool32 *out)
{
    (void)family;
    return chain_instance_of(gpu)->next.GetPhysicalDeviceSurfaceSupportKHR(gpu, 0, surface, out);
}

/* ---- families ---- */

static void show(VkQueueFamilyProperties *properties, uint32_t family)
{
    properties->queueFlags = shown[family].flags;
    properties->queueCount = shown[family].count;
    properties->minImageTransferGranularity = (VkExtent3D){1, 1, 1};
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice gpu, uint32_t *count,
                                                                         VkQueueFamilyProperties *out)
{
    uint32_t room = !out || *count > FAMILIES ? FAMILIES : *count;
    for (uint32_t i = 0; out && i < room; i++) {
        chain_instance_of(gpu)->next.GetPhysicalDeviceQueueFamilyProperties(gpu, &(uint32_t){1}, &out[i]);
        show(&out[i], i);
    }
    *count = room;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice gpu, uint32_t *count,
                                                                          VkQueueFamilyProperties2 *out)
{
    uint32_t room = !out || *count > FAMILIES ? FAMILIES : *count;
    for (uint32_t i = 0; out && i < room; i++) {
        chain_instance_of(gpu)->next.GetPhysicalDeviceQueueFamilyProperties2(gpu, &(uint32_t){1}, &out[i]);
        show(&out[i].queueFamilyProperties, i);
    }
    *count = room;
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t number, VkQueue *out)
{
    uint32_t place = number;
    for (uint32_t i = 0; i < family; i++)
        place += shown[i].count;
    *out = (VkQueue)(void *)&device_of(handle)->queues[place];
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    GetDeviceQueue(handle, info->queueFamilyIndex, info->queueIndex, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    VkCommandPoolCreateInfo real = *info;
    real.queueFamilyIndex = 0;
    return device_of(handle)->chain.next.CreateCommandPool(handle, &real, allocator, out);
}

/* ---- the layer ---- */

static VkResult create_device(struct chain_device *chain, PFN_vkCreateDevice create, const VkDeviceCreateInfo *info,
                              const VkAllocationCallbacks *allocator, VkDevice *out)
{
    static const float priority = 1;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkDeviceCreateInfo real = *info;
    real.queueCreateInfoCount = 1;
    real.pQueueCreateInfos = &queue;
    return create(chain->gpu, &real, allocator, out);
}

static void device_created(struct chain_device *chain)
{
    struct device *device = (struct device *)chain;
    device->queues = calloc(QUEUES, sizeof *device->queues);
    if (!device->queues)
        abort();
    chain->next.GetDeviceQueue(chain->handle, 0, 0, &device->real);
    for (uint32_t i = 0; i < QUEUES; i++) {
        device->queues[i].loader = *(void **)(void *)chain->handle;
        device->queues[i].device = device;
        pthread_mutex_lock(&mutex);
        device->queues[i].link = all_queues;
        all_queues = &device->queues[i];
        pthread_mutex_unlock(&mutex);
    }
}

static bool is_running(struct queue *queue)
{
    bool running;
    pthread_mutex_lock(&mutex);
    running = queue->running;
    pthread_mutex_unlock(&mutex);
    return running;
}

/* When the layer is unloaded no thread may be in its code. What waits for ever ends with the process. */
__attribute__((destructor)) static void end_threads(void)
{
    const struct timespec pause = {0, 10000000};
    unsigned rounds = 0;
    for (struct queue *queue = all_queues; queue; queue = queue->link) {
        while (is_running(queue) && rounds++ < 100)
            nanosleep(&pause, NULL);
        if (queue->begun && !is_running(queue))
            pthread_join(queue->thread, NULL);
    }
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function own[] = {
        CHAIN_OWN(GetPhysicalDeviceQueueFamilyProperties),
        CHAIN_OWN_2(GetPhysicalDeviceQueueFamilyProperties2),
        CHAIN_OWN(GetDeviceQueue),
        CHAIN_OWN(GetDeviceQueue2),
        CHAIN_OWN(CreateCommandPool),
        CHAIN_OWN(BeginCommandBuffer),
        CHAIN_OWN(CmdWaitEvents),
        CHAIN_OWN_2(CmdWaitEvents2),
        CHAIN_OWN(CreateSemaphore),
        CHAIN_OWN(DestroySemaphore),
        CHAIN_OWN(QueueSubmit),
        CHAIN_OWN_2(QueueSubmit2),
        CHAIN_OWN(QueuePresentKHR),
        CHAIN_OWN(AcquireNextImageKHR),
        CHAIN_OWN(GetPhysicalDeviceSurfaceSupportKHR),
        CHAIN_OWN(QueueWaitIdle),
        CHAIN_OWN(DeviceWaitIdle),
        CHAIN_END,
    };
    return i == 0 ? own : NULL;
}

const struct chain_layer chain_layer = {.device_bytes = sizeof(struct device),
                                        .create_device = create_device,
                                        .device_created = device_created,
                                        .functions = functions};
