/* SPDX-License-Identifier: MIT */
/* Waits end: with a sentence when the device does not, and later where the driver is at work. */
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/wait.h"

#include "replayer/present/swapchain.h"
#include "tests/unit/replay_device.h"

static uint32_t idles;

static VKAPI_ATTR VkResult VKAPI_CALL never(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                            uint64_t timeout)
{
    CHECK(timeout <= REPLAY_WAIT_SLICE_NS);
    return VK_TIMEOUT;
}

static VKAPI_ATTR VkResult VKAPI_CALL count_queue_idle(VkQueue queue)
{
    idles++;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL count_device_idle(VkDevice device)
{
    idles++;
    return VK_SUCCESS;
}

UNIT_TEST(an_idle_minute_is_long_enough)
{
    struct replay_wait wait = {.now_ms = 1000, .cpu_ms = 50};
    CHECK(!replay_wait_count(&wait, 60000, 1000, 50, true)); /* no time at all */
    CHECK(!replay_wait_count(&wait, 60000, 41000, 60, true));
    CHECK(!replay_wait_count(&wait, 60000, 61000, 70, true));
    CHECK(replay_wait_count(&wait, 60000, 61200, 70, true));
}

UNIT_TEST(a_computing_driver_has_an_hour)
{
    struct replay_wait wait = {.now_ms = 1000};
    uint64_t now = 1000, cpu = 0;
    unsigned minutes = 0, left = 0;
    while (!replay_wait_count(&wait, 60000, now += 60000, cpu += 30000, true)) /* half of one processor */
        minutes++;
    CHECK_EQ_U64(minutes, 60);
    /* After half an hour it stops. */
    wait = (struct replay_wait){.now_ms = 1000};
    CHECK(!replay_wait_count(&wait, 60000, 1000 + 1800000, 1800000, true));
    now = 1000 + 1800000;
    while (!replay_wait_count(&wait, 60000, now += 1000, 1800000, true))
        left++;
    CHECK_EQ_U64(left, 30);
    /* One that looks for what the host does is not at work. */
    wait = (struct replay_wait){.now_ms = 1000};
    CHECK(replay_wait_count(&wait, 60000, 62000, 61000, false));
}

#define CHECK_SAID(status, text)                                                                                       \
    do {                                                                                                               \
        CHECK_EQ_INT(status, LAP_ERROR_REPLAY);                                                                        \
        if (!strstr(lap_error_message(), text))                                                                        \
            UNIT_FAIL("\"%s\" lacks \"%s\"", lap_error_message(), text);                                               \
    } while (0)

/* Everything that the replay waits for. */
UNIT_TEST(what_never_ends_is_named)
{
    const struct replay_options options = {.wait_limit_ms = 1};
    VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .size = 256,
                                      .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct unit_replay u;
    PFN_vkWaitForFences wait_for_fences;
    PFN_vkQueueWaitIdle queue_idle;
    PFN_vkDeviceWaitIdle device_idle;
    VkBuffer buffer = gen_VkBuffer(1);
    struct gen_args_vkCreateBuffer create = {.pCreateInfo = &buffer_info, .pBuffer = &buffer};
    struct gen_args_lapilliBindBuffer bind = {
        .size = 256, .propertyFlags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
    struct gen_args_vkQueueWaitIdle queue;
    struct gen_args_vkWaitForFences fences = {.fenceCount = 1, .waitAll = VK_TRUE, .result = VK_SUCCESS};
    const void *data;
    VkFence fence;
    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    CHECK_EQ_INT(u.dev.vk.CreateFence(u.dev.live, &fence_info, NULL, &fence), VK_SUCCESS);
    CHECK_EQ_INT(replay_CreateBuffer(&u.r, &u.dev, &create), LAP_OK);
    bind.buffer = gen_VkBuffer(replay_object_get(&u.r, GEN_HANDLE_VkBuffer, 1)->live);
    bind.memory = gen_VkDeviceMemory(1);
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u.r, &u.dev, &bind), LAP_OK);
    wait_for_fences = u.dev.vk.WaitForFences;
    queue_idle = u.dev.vk.QueueWaitIdle;
    device_idle = u.dev.vk.DeviceWaitIdle;
    u.dev.vk.WaitForFences = never;
    u.dev.vk.QueueWaitIdle = count_queue_idle;
    u.dev.vk.DeviceWaitIdle = count_device_idle;
    idles = 0;
    queue.queue = u.queue.live;
    CHECK_SAID(replay_QueueWaitIdle(&u.r, &u.dev, &queue), "0.001 s were not enough for what was submitted to a queue");
    CHECK_SAID(replay_DeviceWaitIdle(&u.r, &u.dev, NULL), "not enough for all that was submitted");
    CHECK_SAID(replay_DestroyDevice(&u.r, &u.dev, NULL), "not enough for all that was submitted");
    CHECK_SAID(replay_DestroyInstance(&u.r, &u.instance, NULL), "not enough for all that was submitted");
    fences.pFences = &fence;
    CHECK_SAID(replay_WaitForFences(&u.r, &u.dev, &fences), "not enough for a fence");
    CHECK_SAID(replay_memory_read_back(&u.r, &u.dev, bind.buffer, 0, 256, &data), "not enough for what is read back");
    CHECK_EQ_U64(idles, 0); /* none without an end */
    u.dev.vk.WaitForFences = wait_for_fences;
    CHECK_EQ_INT(replay_QueueWaitIdle(&u.r, &u.dev, &queue), LAP_OK);
    CHECK_EQ_U64(idles, 0);
    CHECK_EQ_INT(replay_DeviceWaitIdle(&u.r, &u.dev, NULL), LAP_OK);
    CHECK_EQ_U64(idles, 1); /* behind the fences */
    u.dev.vk.QueueWaitIdle = queue_idle;
    u.dev.vk.DeviceWaitIdle = device_idle;
    u.dev.vk.DestroyFence(u.dev.live, fence, NULL);
    unit_replay_finish(&u);
}

UNIT_MAIN();

/* ---- queues ---- */

static VkQueue stuck_queue;
static VkFence stuck_fence;
static PFN_vkQueueSubmit really_submit;
static PFN_vkWaitForFences really_wait;

static VKAPI_ATTR VkResult VKAPI_CALL submit_or_stick(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                                      VkFence fence)
{
    if (queue != stuck_queue)
        return really_submit(queue, count, submits, fence);
    stuck_fence = fence;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_or_stick(VkDevice device, uint32_t count, const VkFence *fences,
                                                    VkBool32 all, uint64_t timeout)
{
    return fences[0] == stuck_fence ? VK_TIMEOUT : really_wait(device, count, fences, all, timeout);
}

/* What waits for the host may stand on one queue while the program waits for another. */
UNIT_TEST(a_stuck_queue_does_not_hold_up_another)
{
    const struct replay_options options = {.wait_limit_ms = 1};
    struct unit_replay u;
    struct replay_queue queues[2];

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    stuck_queue = (VkQueue)(uintptr_t)64;
    queues[0] = (struct replay_queue){.live = stuck_queue, .family = u.queue.family};
    queues[1] = u.queue;
    u.dev.queues.all = queues;
    u.dev.queues.count = 2;
    u.dev.queues.main = &queues[1];
    really_submit = u.dev.vk.QueueSubmit;
    really_wait = u.dev.vk.WaitForFences;
    u.dev.vk.QueueSubmit = submit_or_stick;
    u.dev.vk.WaitForFences = wait_or_stick;
    CHECK(!replay_device_finishes(&u.dev, 1000));
    CHECK(queues[0].progress->idle_pending);
    CHECK_EQ_INT(replay_wait_queue(&u.r, &u.dev, u.queue.live, "a queue"), LAP_OK);
    CHECK_EQ_INT(replay_wait_queue(&u.r, &u.dev, stuck_queue, "a queue"), LAP_ERROR_REPLAY);
    stuck_fence = VK_NULL_HANDLE;
    u.dev.vk.DestroyFence(u.dev.live, queues[0].progress->idle_fence, NULL);
    queues[0].progress->idle_fence = VK_NULL_HANDLE;
    unit_replay_finish(&u);
}
