/* SPDX-License-Identifier: MIT */
/* working_driver: a few functions of a driver that count work as under way until it is waited for, or until the test
 * says that it is over. */
#ifndef LAP_TESTS_WORKING_DRIVER_H
#define LAP_TESTS_WORKING_DRIVER_H

#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define MOST_FENCES 256u
#define QUEUES      2u
#define BINDS       QUEUES /* in the place of a queue: sparse binds, of which no fence behind submits tells */

static struct {
    uint64_t given[QUEUES + 1], over[QUEUES + 1]; /* work */
    struct {
        unsigned queue;
        uint64_t given; /* signalled when that is over; 0: not under way */
        bool signalled, alive;
    } fences[MOST_FENCES];
    bool is_done; /* with all that it gets at once, and so are its fences */
    uint64_t fence_count, waits, submits;
    uint64_t early; /* what was done to what is under way */
} driver;

static inline bool busy(void)
{
    return driver.given[0] != driver.over[0] || driver.given[1] != driver.over[1] ||
           driver.given[BINDS] != driver.over[BINDS];
}

static unsigned number_of(VkQueue queue)
{
    return (unsigned)gen_u64_VkQueue(queue) - 1;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_fence(VkDevice device, const VkFenceCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkFence *out)
{
    CHECK(driver.fence_count + 1 < MOST_FENCES);
    driver.fences[++driver.fence_count].alive = true;
    driver.fences[driver.fence_count].signalled = info->flags & VK_FENCE_CREATE_SIGNALED_BIT;
    *out = gen_VkFence(driver.fence_count);
    return VK_SUCCESS;
}

static void let_be_over(unsigned queue, uint64_t work)
{
    driver.over[queue] = work > driver.over[queue] ? work : driver.over[queue];
    for (uint64_t i = 1; i <= driver.fence_count; i++)
        if (driver.fences[i].given && driver.fences[i].given <= driver.over[driver.fences[i].queue]) {
            driver.fences[i].given = 0;
            driver.fences[i].signalled = true;
        }
}

static VKAPI_ATTR VkResult VKAPI_CALL get_status(VkDevice device, VkFence fence)
{
    return driver.is_done || driver.fences[gen_u64_VkFence(fence)].signalled ? VK_SUCCESS : VK_NOT_READY;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                               uint64_t limit_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t fence = gen_u64_VkFence(fences[i]);
        driver.waits += driver.fences[fence].given != 0;
        let_be_over(driver.fences[fence].queue, driver.fences[fence].given);
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset(VkDevice device, uint32_t count, const VkFence *fences)
{
    for (uint32_t i = 0; i < count; i++) {
        driver.early += driver.fences[gen_u64_VkFence(fences[i])].given != 0;
        driver.fences[gen_u64_VkFence(fences[i])].signalled = false;
    }
    return VK_SUCCESS;
}

static VkResult take_work(unsigned number, uint32_t count, VkFence fence)
{
    driver.submits++;
    driver.given[number] += count != 0;
    if (fence) {
        driver.fences[gen_u64_VkFence(fence)].queue = number;
        driver.fences[gen_u64_VkFence(fence)].given = driver.given[number];
        let_be_over(number, 0);
    }
    if (driver.is_done)
        let_be_over(number, driver.given[number]);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    return take_work(number_of(queue), count, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence)
{
    return take_work(BINDS, count, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device)
{
    let_be_over(0, driver.given[0]);
    let_be_over(1, driver.given[1]);
    let_be_over(BINDS, driver.given[BINDS]);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
    driver.early += driver.fences[gen_u64_VkFence(fence)].given != 0;
}

/* Its queues, and what there is of it. */
static struct gen_device_dispatch working_driver(struct replay_queue *queues)
{
    memset(&driver, 0, sizeof driver);
    for (uint32_t i = 0; i < QUEUES; i++)
        queues[i].live = gen_VkQueue(i + 1);
    return (struct gen_device_dispatch){.CreateFence = create_fence,
                                        .DestroyFence = destroy_fence,
                                        .GetFenceStatus = get_status,
                                        .WaitForFences = wait_for,
                                        .ResetFences = reset,
                                        .QueueSubmit = queue_submit,
                                        .QueueBindSparse = bind_sparse,
                                        .DeviceWaitIdle = wait_idle};
}

/* Opens a trace for a device of that driver. */
static inline void open_on_working_driver(struct replay *r, const char *path, struct replay_device *dev,
                                          struct replay_queue *queues, struct lap_log *log)
{
    struct replay_options options = {.file = path, .strict = true, .threads = 1};

    CHECK_EQ_INT(replay_open(r, &options, NULL), LAP_OK);
    *log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    r->log = log;
    dev->vk = working_driver(queues);
    dev->queues.all = queues;
    dev->queues.count = QUEUES;
}

#endif
