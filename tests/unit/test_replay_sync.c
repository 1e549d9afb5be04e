/* SPDX-License-Identifier: MIT */
/* Waits for queries on a device that takes a while, and for what a device does with its last work. */
#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "tests/unit/replay_device.h"
#include "vulkan/block.h"

static uint32_t asked, unavailable;
static VkQueryResultFlags seen;

/* The query is not available the first few times; a part of its result always is. */
static VKAPI_ATTR VkResult VKAPI_CALL slow_results(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                   size_t bytes, void *data, VkDeviceSize stride,
                                                   VkQueryResultFlags flags)
{
    seen |= flags;
    return asked++ < unavailable && !(flags & VK_QUERY_RESULT_PARTIAL_BIT) ? VK_NOT_READY : VK_SUCCESS;
}

static uint32_t times_asked(struct unit_replay *u, VkQueryResultFlags flags)
{
    struct gen_args_vkGetQueryPoolResults args = {
        .queryCount = 1, .dataSize = 8, .stride = 8, .flags = flags, .result = VK_SUCCESS};
    asked = 0;
    seen = 0;
    unavailable = 3;
    CHECK_EQ_INT(replay_GetQueryPoolResults(&u->r, &u->dev, &args), LAP_OK);
    CHECK(!(seen & VK_QUERY_RESULT_WAIT_BIT)); /* it has no limit */
    return asked;
}

UNIT_TEST(available_queries_are_waited_for)
{
    struct unit_replay u;
    if (!unit_replay_init(&u, NULL))
        SKIP("no Vulkan driver");
    u.dev.vk.GetQueryPoolResults = slow_results;
    CHECK_EQ_INT(times_asked(&u, 0), 4);
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_WAIT_BIT), 4);
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_PARTIAL_BIT), 4);
    /* The program learnt nothing. */
    CHECK_EQ_INT(times_asked(&u, VK_QUERY_RESULT_PARTIAL_BIT), 1);
    unit_replay_finish(&u);
}

/* ---- a wait while something is held back ---- */

#define LIVE_SEMAPHORE 0x51u

/* Who sets the event that is waited for. */
enum setter { LAST_WORK, HELD_WORK, NOBODY };

/* A few functions that stand for a driver. Its last work, which is all but done, sets the event at the very moment at
 * which the replay asks whether the device is idle. */
static struct {
    enum setter setter;
    bool set;
    unsigned given; /* batches */
} fake;

struct scene {
    struct replay r;
    struct replay_device dev;
    struct replay_queue queue;
    struct lap_log log;
    uint8_t body; /* of the packets */
};

static VKAPI_ATTR VkResult VKAPI_CALL event_status(VkDevice device, VkEvent event)
{
    return fake.set ? VK_EVENT_SET : VK_EVENT_RESET;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_fence(VkDevice device, const VkFenceCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkFence *out)
{
    *out = gen_VkFence(1);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_fences(VkDevice device, uint32_t count, const VkFence *fences)
{
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for_fences(VkDevice device, uint32_t count, const VkFence *fences,
                                                      VkBool32 all, uint64_t limit_ns)
{
    fake.set |= fake.setter == LAST_WORK;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL fence_status(VkDevice device, VkFence fence)
{
    return wait_for_fences(device, 1, &fence, VK_TRUE, 0);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator, VkSemaphore *out)
{
    *out = gen_VkSemaphore(LIVE_SEMAPHORE);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                                    const VkAllocationCallbacks *allocator)
{
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    fake.given += count;
    fake.set |= count && fake.setter == HELD_WORK;
    return VK_SUCCESS;
}

static void begin(struct scene *s, enum setter setter)
{
    struct replay_object *object;

    memset(s, 0, sizeof *s);
    memset(&fake, 0, sizeof fake);
    fake.setter = setter;
    s->log = (struct lap_log){.fd = -1, .level = LAP_LOG_ERROR, .prefix = "test: "};
    s->r.log = &s->log;
    s->r.devices = &s->dev;
    s->r.at.packet = (struct lap_packet){.body = &s->body, .bytes = 1};
    lap_arena_init(&s->r.arena, (size_t)1 << 20);
    replay_tables_attach(&s->r);
    s->queue.live = gen_VkQueue(0x41);
    s->dev.live = gen_VkDevice(0x31);
    s->dev.queues.all = s->dev.queues.main = &s->queue;
    s->dev.queues.count = 1;
    s->dev.vk = (struct gen_device_dispatch){.CreateFence = create_fence,
                                             .DestroyFence = destroy_fence,
                                             .GetFenceStatus = fence_status,
                                             .WaitForFences = wait_for_fences,
                                             .ResetFences = reset_fences,
                                             .CreateSemaphore = create_semaphore,
                                             .DestroySemaphore = destroy_semaphore,
                                             .GetEventStatus = event_status,
                                             .QueueSubmit = queue_submit};
    CHECK_EQ_INT(replay_object_add(&s->r, GEN_HANDLE_VkQueue, 1, 0x41, &s->dev, &object), LAP_OK);
}

static void finish(struct scene *s)
{
    replay_submits_end(&s->dev);
    replay_objects_destroy_left(&s->r, &s->dev);
    replay_submission_finish(&s->dev);
    replay_tables_finish(&s->r);
    lap_arena_finish(&s->r.arena);
}

/* A submit that waits for a value which nobody signals. */
static void put_held(struct scene *s)
{
    static const uint64_t value = 1;
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    static const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                         .waitSemaphoreValueCount = 1,
                                                         .pWaitSemaphoreValues = &value};
    static VkSemaphore live;
    static VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                  .pNext = &values,
                                  .waitSemaphoreCount = 1,
                                  .pWaitSemaphores = &live,
                                  .pWaitDstStageMask = &stage}; /* like decoded ones, a replay may change it */
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore = gen_VkSemaphore(1);
    struct gen_args_vkCreateSemaphore create = {.pCreateInfo = &info, .pSemaphore = &semaphore};
    struct lap_args args = {{0}};

    live = gen_VkSemaphore(LIVE_SEMAPHORE);
    CHECK_EQ_INT(replay_CreateSemaphore(&s->r, &s->dev, &create), LAP_OK);
    *(struct gen_args_vkQueueSubmit *)(void *)args.bytes =
        (struct gen_args_vkQueueSubmit){.queue = s->queue.live, .submitCount = 1, .pSubmits = &submit};
    CHECK_EQ_INT(replay_QueueSubmit(&s->r, &s->dev, (void *)args.bytes), LAP_OK);
    CHECK_EQ_U64(fake.given, 0);
}

static void wait_for_event(struct scene *s)
{
    struct gen_args_vkGetEventStatus args = {.event = gen_VkEvent(0x61), .result = VK_EVENT_SET};

    CHECK_EQ_INT(replay_GetEventStatus(&s->r, &s->dev, &args), LAP_OK);
}

/* It is idle because it has done it: nobody is to be let go for that. */
UNIT_TEST(what_the_last_work_does_is_seen_before_anything_held_goes)
{
    struct scene s;
    begin(&s, LAST_WORK);
    put_held(&s);
    wait_for_event(&s);
    CHECK(fake.set);
    CHECK_EQ_U64(fake.given, 0);
    finish(&s);
}

UNIT_TEST(what_only_held_work_can_do_lets_it_go)
{
    struct scene s;
    begin(&s, HELD_WORK);
    put_held(&s);
    wait_for_event(&s);
    CHECK(fake.set);
    CHECK_EQ_U64(fake.given, 1);
    finish(&s);
}

/* Also behind what was held nobody did it. */
UNIT_TEST(what_nobody_does_is_given_up)
{
    struct scene s;
    begin(&s, NOBODY);
    put_held(&s);
    wait_for_event(&s);
    CHECK(!fake.set && s.r.summary.gave_up_waiting);
    CHECK_EQ_U64(fake.given, 1);
    finish(&s);
}

UNIT_MAIN();
