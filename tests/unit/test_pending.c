/* SPDX-License-Identifier: MIT */
/* What ends while work is under way. The driver is a few functions that count work as under way until it is waited for,
 * or until the test says that it is over, and look at what is destroyed meanwhile. */
#include "replayer/pending.h"

#include "replayer/player.h"
#include "replayer/submit.h"
#include "replayer/wait.h"
#include "tests/unit/unit.h"

#define MOST_FENCES 64u
#define QUEUES      2u
#define SAMPLERS    70000u

static struct {
    uint64_t given[QUEUES], over[QUEUES]; /* work */
    struct {
        unsigned queue;
        uint64_t given; /* signalled when that is over; 0: not under way */
        bool signalled, alive;
    } fences[MOST_FENCES];
    bool is_done; /* with all that it gets at once, and so are its fences */
    uint64_t fence_count, destroyed, early, waits, submits;
    uint64_t last;                       /* that was destroyed */
    uint64_t used[SAMPLERS + 1][QUEUES]; /* when each sampler ended in the trace: work that may use it */
} driver;

struct scene {
    struct replay r;
    struct replay_device dev;
    struct replay_queue queues[QUEUES];
    struct lap_log log;
};

static bool busy(void)
{
    return driver.given[0] != driver.over[0] || driver.given[1] != driver.over[1];
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

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    unsigned number = number_of(queue);

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

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkDevice device)
{
    let_be_over(0, driver.given[0]);
    let_be_over(1, driver.given[1]);
    return VK_SUCCESS;
}

static void destroy(uint64_t live)
{
    driver.destroyed++;
    CHECK(live > driver.last); /* in the order in which it ended */
    driver.last = live;
}

static VKAPI_ATTR void VKAPI_CALL destroy_sampler(VkDevice device, VkSampler sampler,
                                                  const VkAllocationCallbacks *allocator)
{
    const uint64_t *used = driver.used[gen_u64_VkSampler(sampler) - 0x100];

    driver.early += used[0] > driver.over[0] || used[1] > driver.over[1];
    destroy(gen_u64_VkSampler(sampler));
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *allocator)
{
    driver.early += busy();
    destroy(gen_u64_VkCommandPool(pool));
}

static VKAPI_ATTR VkResult VKAPI_CALL free_sets(VkDevice device, VkDescriptorPool pool, uint32_t count,
                                                const VkDescriptorSet *sets)
{
    driver.early += busy();
    destroy(gen_u64_VkDescriptorSet(sets[0]));
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
    driver.early += driver.fences[gen_u64_VkFence(fence)].given != 0;
}

static void begin(struct scene *s)
{
    memset(s, 0, sizeof *s);
    memset(&driver, 0, sizeof driver);
    s->log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    s->r.log = &s->log;
    lap_map_init(&s->r.block_names);
    lap_arena_init(&s->r.arena, (size_t)1 << 20);
    replay_tables_show(&s->r);
    for (uint32_t i = 0; i < QUEUES; i++)
        s->queues[i].live = gen_VkQueue(i + 1);
    s->dev.queues = s->queues;
    s->dev.queue_count = QUEUES;
    s->dev.vk = (struct gen_device_dispatch){.CreateFence = create_fence,
                                             .DestroyFence = destroy_fence,
                                             .GetFenceStatus = get_status,
                                             .WaitForFences = wait_for,
                                             .ResetFences = reset,
                                             .QueueSubmit = queue_submit,
                                             .DeviceWaitIdle = wait_idle,
                                             .DestroySampler = destroy_sampler,
                                             .FreeDescriptorSets = free_sets,
                                             .DestroyCommandPool = destroy_pool};
}

static void finish(struct scene *s)
{
    wait_idle(s->dev.live);
    replay_pending_finish(&s->dev);
    CHECK_EQ_U64(driver.early, 0);
    CHECK_EQ_U64(s->r.alive, 0);
    replay_tables_finish(&s->r);
    lap_arena_finish(&s->r.arena);
}

static VkFence new_fence(struct scene *s, VkFenceCreateFlags flags)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = flags};
    VkFence fence;

    CHECK_EQ_INT(create_fence(s->dev.live, &info, NULL, &fence), VK_SUCCESS);
    return fence;
}

static void put_submit(struct scene *s, unsigned queue, VkFence fence)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    struct gen_args_vkQueueSubmit args = {
        .queue = s->queues[queue].live, .submitCount = 1, .pSubmits = &info, .fence = fence};

    CHECK_EQ_INT(replay_QueueSubmit(&s->r, &s->dev, &args), LAP_OK);
}

static void put_wait(struct scene *s, VkFence fence)
{
    struct gen_args_vkWaitForFences args = {
        .fenceCount = 1, .pFences = &fence, .waitAll = VK_TRUE, .result = VK_SUCCESS};

    CHECK_EQ_INT(replay_WaitForFences(&s->r, &s->dev, &args), LAP_OK);
}

static void put_reset(struct scene *s, VkFence fence)
{
    struct gen_args_vkResetFences args = {.fenceCount = 1, .pFences = &fence};

    CHECK_EQ_INT(replay_ResetFences(&s->r, &s->dev, &args), LAP_OK);
}

/* As a packet does. */
static void end_sampler(struct scene *s, uint64_t index)
{
    struct replay_object *object;

    memcpy(driver.used[index], driver.given, sizeof driver.given);
    CHECK_EQ_INT(replay_object_add(&s->r, GEN_HANDLE_VkSampler, index, 0x100 + index, &s->dev, &object), LAP_OK);
    CHECK_EQ_INT(gen_replay_table[GEN_vkDestroySampler].end(&s->r, &s->dev, index, object), LAP_OK);
    CHECK(!replay_object_get(&s->r, GEN_HANDLE_VkSampler, index));
}

UNIT_TEST(what_ends_after_a_wait_is_destroyed_at_once)
{
    struct scene s;
    VkFence fence;
    begin(&s);
    fence = new_fence(&s, 0);
    for (uint64_t i = 1; i <= 5; i++) {
        put_submit(&s, 0, fence);
        put_wait(&s, fence);
        end_sampler(&s, i);
        CHECK_EQ_U64(driver.destroyed, i);
        put_reset(&s, fence);
    }
    CHECK_EQ_U64(driver.waits, 5); /* the program's */
    CHECK_EQ_U64(driver.submits, 5);
    finish(&s);
}

UNIT_TEST(what_ends_meanwhile_is_destroyed_later)
{
    struct scene s;
    VkFence fences[2];
    begin(&s);
    fences[0] = new_fence(&s, 0);
    fences[1] = new_fence(&s, 0);
    put_submit(&s, 0, fences[0]);
    put_submit(&s, 1, fences[1]);
    end_sampler(&s, 1);
    replay_pending_destroy(&s.dev, GEN_HANDLE_VkCommandPool, 0x200);
    CHECK_EQ_U64(driver.destroyed, 0);
    put_wait(&s, fences[0]); /* the other queue is still at work */
    CHECK_EQ_U64(driver.destroyed, 0);
    put_wait(&s, fences[1]);
    CHECK_EQ_U64(driver.destroyed, 2);
    CHECK(!s.dev.pending.busy);
    finish(&s);
}

/* Some frames are always under way: what ends waits for those, and the replay for none. */
UNIT_TEST(nobody_waits_for_frames_that_are_under_way)
{
    struct scene s;
    VkFence fences[3];
    begin(&s);
    for (int i = 0; i < 3; i++)
        fences[i] = new_fence(&s, 0);
    for (uint64_t frame = 1; frame <= 30; frame++) {
        VkFence fence = fences[frame % 3];
        if (frame > 3) {
            put_wait(&s, fence);
            put_reset(&s, fence);
        }
        end_sampler(&s, frame);
        put_submit(&s, 0, fence);
        if (frame > 4)
            CHECK(driver.destroyed + 4 >= frame && driver.over[0] + 3 == frame);
    }
    CHECK_EQ_U64(driver.waits, 27);
    finish(&s);
    CHECK_EQ_U64(driver.destroyed, 30);
}

/* A fence of the replay's own tells then. */
UNIT_TEST(work_without_fences_is_known_to_be_over)
{
    struct scene s;
    begin(&s);
    for (uint64_t i = 1; i <= 20; i++) {
        put_submit(&s, i % 2, VK_NULL_HANDLE);
        end_sampler(&s, i);
        let_be_over(0, driver.given[0]);
        let_be_over(1, driver.given[1]);
    }
    CHECK(driver.destroyed >= 16);
    CHECK_EQ_U64(driver.waits, 0);
    finish(&s);
}

UNIT_TEST(fences_that_tell_nothing_are_not_believed)
{
    struct scene s;
    VkFence fence, twice;
    begin(&s);
    fence = new_fence(&s, VK_FENCE_CREATE_SIGNALED_BIT);
    twice = new_fence(&s, 0);
    put_submit(&s, 0, fence); /* it is signalled already */
    driver.fences[gen_u64_VkFence(fence)].given = 0;
    put_wait(&s, fence);
    end_sampler(&s, 1);
    put_submit(&s, 1, twice);
    put_submit(&s, 0, twice); /* it is under way */
    let_be_over(0, driver.given[0]);
    put_wait(&s, twice);
    end_sampler(&s, 2);
    CHECK_EQ_U64(driver.destroyed, 0);
    CHECK(busy());
    put_submit(&s, 0, VK_NULL_HANDLE);
    CHECK_EQ_INT(replay_wait_device(&s.r, &s.dev, "all"), LAP_OK);
    CHECK_EQ_U64(driver.destroyed, 2);
    finish(&s);
}

/* A fence that it resets is signalled again at once, so it is not the program's fence that tells. */
UNIT_TEST(nothing_is_put_aside_where_a_driver_is_done_at_once)
{
    struct scene s;
    VkFence fence;
    begin(&s);
    driver.is_done = true;
    fence = new_fence(&s, 0);
    for (uint64_t i = 1; i <= 5; i++) {
        put_reset(&s, fence);
        put_submit(&s, 0, fence);
        put_wait(&s, fence);
        CHECK(!s.dev.pending.busy);
        end_sampler(&s, i);
        CHECK_EQ_U64(driver.destroyed, i);
    }
    CHECK_EQ_U64(driver.waits, 0);
    finish(&s);
}

/* A program does not do that; the replay waits. */
UNIT_TEST(a_fence_that_is_under_way_is_not_reset)
{
    struct scene s;
    VkFence fence;
    begin(&s);
    fence = new_fence(&s, 0);
    put_submit(&s, 0, fence);
    put_reset(&s, fence);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK(!s.dev.pending.busy);
    finish(&s);
}

/* A pool that is reset has freed its sets, and is full of those that are put aside. */
UNIT_TEST(sets_are_freed_once)
{
    struct scene s;
    begin(&s);
    put_submit(&s, 0, VK_NULL_HANDLE);
    replay_pending_end(&s.dev, GEN_HANDLE_VkDescriptorSet, 0x301, 0x11);
    replay_pending_end(&s.dev, GEN_HANDLE_VkDescriptorSet, 0x302, 0x12);
    replay_pending_end(&s.dev, GEN_HANDLE_VkDescriptorSet, 0x303, 0x11);
    replay_pending_reset_pool(&s.dev, gen_VkDescriptorPool(0x11));
    CHECK_EQ_U64(driver.destroyed, 0);
    CHECK(replay_pending_settle(&s.dev));
    CHECK_EQ_U64(driver.destroyed, 1);
    CHECK_EQ_U64(driver.last, 0x302);
    CHECK(!replay_pending_settle(&s.dev)); /* nothing is left */
    finish(&s);
}

/* Whoever never learns that work is over does not keep all that ends. */
UNIT_TEST(what_is_put_aside_is_limited)
{
    struct scene s;
    begin(&s);
    put_submit(&s, 0, VK_NULL_HANDLE);
    for (uint64_t i = 1; i <= SAMPLERS; i++)
        end_sampler(&s, i);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(driver.destroyed, SAMPLERS);
    finish(&s);
}

UNIT_MAIN();
