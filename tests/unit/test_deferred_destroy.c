/* SPDX-License-Identifier: MIT */
/* What ends while work is under way. The driver looks at what is destroyed meanwhile. */
#include "replayer/sync/deferred_destroy.h"

#include "replayer/memory/policy.h"
#include "replayer/submit/submit.h"
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "tests/unit/working_driver.h"

#define SAMPLERS 70000u

static struct {
    uint64_t destroyed;
    uint64_t last;                           /* that was destroyed */
    uint64_t used[SAMPLERS + 1][QUEUES + 1]; /* when each sampler ended in the trace: work that may use it */
} gone;

struct scene {
    struct replay r;
    struct replay_device dev;
    struct replay_queue queues[QUEUES];
    struct lap_log log;
};

static void destroy(uint64_t live)
{
    gone.destroyed++;
    CHECK(live > gone.last); /* in the order in which it ended */
    gone.last = live;
}

static VKAPI_ATTR void VKAPI_CALL destroy_sampler(VkDevice device, VkSampler sampler,
                                                  const VkAllocationCallbacks *allocator)
{
    const uint64_t *used = gone.used[gen_u64_VkSampler(sampler) - 0x100];

    driver.early += used[0] > driver.over[0] || used[1] > driver.over[1] || used[BINDS] > driver.over[BINDS];
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
    CHECK_EQ_U64(gen_u64_VkDescriptorPool(pool), gen_u64_VkDescriptorSet(sets[0]) - 0x2f0);
    destroy(gen_u64_VkDescriptorSet(sets[0]));
    return VK_SUCCESS;
}

static void begin(struct scene *s)
{
    memset(s, 0, sizeof *s);
    memset(&gone, 0, sizeof gone);
    s->log = (struct lap_log){.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "};
    s->r.log = &s->log;
    lap_arena_init(&s->r.arena, (size_t)1 << 20);
    replay_tables_attach(&s->r);
    s->dev.vk = working_driver(s->queues);
    s->dev.vk.DestroySampler = destroy_sampler;
    s->dev.vk.FreeDescriptorSets = free_sets;
    s->dev.vk.DestroyCommandPool = destroy_pool;
    s->dev.queues.all = s->queues;
    s->dev.queues.count = QUEUES;
}

static void finish(struct scene *s)
{
    wait_idle(s->dev.live);
    replay_submission_finish(&s->dev);
    CHECK_EQ_U64(driver.early, 0);
    CHECK_EQ_U64(s->r.objects.alive, 0);
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

static void put_binds(struct scene *s, VkFence fence)
{
    const VkBindSparseInfo info = {.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO};
    struct gen_args_vkQueueBindSparse args = {
        .queue = s->queues[0].live, .bindInfoCount = 1, .pBindInfo = &info, .fence = fence};

    CHECK_EQ_INT(replay_submit_binds(&s->r, &s->dev, &args), LAP_OK);
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

    memcpy(gone.used[index], driver.given, sizeof driver.given);
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
        CHECK_EQ_U64(gone.destroyed, i);
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
    replay_destroy(&s.dev, GEN_HANDLE_VkCommandPool, 0x200);
    CHECK_EQ_U64(gone.destroyed, 0);
    put_wait(&s, fences[0]); /* the other queue is still at work */
    CHECK_EQ_U64(gone.destroyed, 0);
    put_wait(&s, fences[1]);
    CHECK_EQ_U64(gone.destroyed, 2);
    CHECK(!s.dev.busy);
    finish(&s);
}

/* Where the packet is decoded, as with several devices. */
UNIT_TEST(what_ends_meanwhile_by_a_whole_call_is_destroyed_later)
{
    struct gen_args_vkDestroySampler args = {.sampler = gen_VkSampler(0x101)};
    struct replay_object *object;
    struct scene s;
    begin(&s);
    put_submit(&s, 0, VK_NULL_HANDLE);
    memcpy(gone.used[1], driver.given, sizeof driver.given);
    CHECK_EQ_INT(replay_object_add(&s.r, GEN_HANDLE_VkSampler, 1, 0x101, &s.dev, &object), LAP_OK);
    CHECK_EQ_INT(gen_replay_table[GEN_vkDestroySampler].call(&s.r, &s.dev, &args), LAP_OK);
    CHECK(!replay_object_get(&s.r, GEN_HANDLE_VkSampler, 1));
    CHECK_EQ_U64(gone.destroyed, 0);
    finish(&s);
    CHECK_EQ_U64(gone.destroyed, 1);
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
            CHECK(gone.destroyed + 4 >= frame && driver.over[0] + 3 == frame);
    }
    CHECK_EQ_U64(driver.waits, 27);
    finish(&s);
    CHECK_EQ_U64(gone.destroyed, 30);
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
    CHECK(gone.destroyed >= 16);
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
    put_submit(&s, 0, twice); /* it was under way, and is signalled */
    CHECK_EQ_U64(driver.waits, 1);
    driver.fences[gen_u64_VkFence(twice)].given = 0;
    put_wait(&s, twice);
    end_sampler(&s, 2);
    CHECK_EQ_U64(gone.destroyed, 0);
    CHECK(busy());
    put_submit(&s, 0, VK_NULL_HANDLE);
    CHECK_EQ_INT(replay_wait_device(&s.r, &s.dev, "all"), LAP_OK);
    CHECK_EQ_U64(gone.destroyed, 2);
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
        CHECK(!s.dev.busy);
        end_sampler(&s, i);
        CHECK_EQ_U64(gone.destroyed, i);
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
    CHECK(!s.dev.busy);
    finish(&s);
}

/* Of a swapchain, say. */
UNIT_TEST(fences_that_are_given_alone_are_under_way)
{
    struct scene s;
    VkFence fences[2];
    begin(&s);
    fences[0] = new_fence(&s, 0);
    fences[1] = new_fence(&s, 0);
    driver.given[0]++; /* work of the replay's */
    CHECK_EQ_INT(replay_submission_signal(&s.r, &s.dev, s.queues[0].live, fences[0]), LAP_OK);
    CHECK_EQ_INT(replay_submission_signal(&s.r, &s.dev, s.queues[0].live, fences[1]), LAP_OK);
    replay_destroy(&s.dev, GEN_HANDLE_VkFence, gen_u64_VkFence(fences[0]));
    CHECK_EQ_U64(driver.early, 0);
    CHECK(s.dev.busy);
    put_reset(&s, fences[1]);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK(!s.dev.busy);
    finish(&s);
}

UNIT_TEST(binds_are_under_way_until_their_own_fence_tells)
{
    struct scene s;
    VkFence fence, binds;
    begin(&s);
    fence = new_fence(&s, 0);
    binds = new_fence(&s, 0);
    put_binds(&s, VK_NULL_HANDLE);
    end_sampler(&s, 1);
    put_binds(&s, binds);
    end_sampler(&s, 2);
    put_submit(&s, 0, fence); /* of the same queue */
    put_wait(&s, fence);
    CHECK_EQ_U64(gone.destroyed, 0);
    end_sampler(&s, 3);
    let_be_over(BINDS, 1);
    put_reset(&s, fence);
    put_submit(&s, 0, fence);
    put_wait(&s, fence);
    CHECK_EQ_U64(gone.destroyed, 1);
    put_reset(&s, binds); /* waits for it */
    CHECK_EQ_U64(gone.destroyed, 3);
    put_binds(&s, binds);
    end_sampler(&s, 4);
    CHECK_EQ_U64(gone.destroyed, 3);
    CHECK(replay_submission_await_all(&s.dev));
    CHECK_EQ_U64(gone.destroyed, 4);
    put_binds(&s, binds); /* signalled: it would tell nothing */
    end_sampler(&s, 5);
    CHECK_EQ_U64(gone.destroyed, 4);
    finish(&s);
    CHECK_EQ_U64(gone.destroyed, 5);
}

UNIT_TEST(binds_under_way_are_limited)
{
    struct scene s;
    begin(&s);
    for (uint64_t i = 1; i <= REPLAY_MOST_BINDS + 1; i++) {
        put_binds(&s, VK_NULL_HANDLE);
        end_sampler(&s, i);
    }
    CHECK_EQ_U64(gone.destroyed, REPLAY_MOST_BINDS);
    finish(&s);
    CHECK_EQ_U64(gone.destroyed, REPLAY_MOST_BINDS + 1);
}

static void free_set(struct replay *r, struct replay_device *dev, const struct replay_deferred *object)
{
    VkDescriptorSet set = gen_VkDescriptorSet(object->live);
    CHECK(r->log != NULL);
    CHECK_EQ_INT(dev->vk.FreeDescriptorSets(dev->live, gen_VkDescriptorPool(object->data), 1, &set), VK_SUCCESS);
}

UNIT_TEST(a_destroy_function_gets_what_it_was_put_aside_with)
{
    struct scene s;
    begin(&s);
    put_submit(&s, 0, VK_NULL_HANDLE);
    for (uint64_t i = 1; i <= 2; i++)
        replay_deferred_destroy_add(
            &s.dev, (struct replay_deferred){
                        .destroy = free_set, .type = GEN_HANDLE_VkDescriptorSet, .live = 0x300 + i, .data = 0x10 + i});
    CHECK_EQ_U64(replay_deferred_destroy_count(&s.dev), 2);
    CHECK(replay_deferred_destroy_has(&s.dev, GEN_HANDLE_VkDescriptorSet));
    CHECK(!replay_deferred_destroy_has(&s.dev, GEN_HANDLE_VkCommandBuffer));
    CHECK_EQ_U64(gone.destroyed, 0);
    CHECK(replay_submission_await_all(&s.dev));
    CHECK_EQ_U64(gone.destroyed, 2);
    CHECK(!replay_submission_await_all(&s.dev)); /* nothing is left */
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
    CHECK_EQ_U64(gone.destroyed, SAMPLERS);
    finish(&s);
}

/* ---- memory ---- */

#define MIB ((VkDeviceSize)1 << 20)

static struct {
    uint64_t count, bytes, most_bytes, most_count, made;
    uint64_t sizes[1024];
} memory;

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    CHECK(memory.made + 1 < sizeof memory.sizes / sizeof *memory.sizes);
    memory.sizes[++memory.made] = info->allocationSize;
    memory.bytes += info->allocationSize;
    memory.count++;
    memory.most_count = memory.count > memory.most_count ? memory.count : memory.most_count;
    *out = gen_VkDeviceMemory(memory.made);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory live, const VkAllocationCallbacks *allocator)
{
    memory.bytes -= memory.sizes[gen_u64_VkDeviceMemory(live)];
    memory.count--;
}

static void begin_memory(struct scene *s, struct replay_instance *instance, uint32_t most_allocations)
{
    begin(s);
    memset(&memory, 0, sizeof memory);
    *instance = (struct replay_instance){.memory = {.memoryTypeCount = 1, .memoryHeapCount = 1}};
    instance->memory.memoryTypes[0].propertyFlags = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    instance->memory.memoryHeaps[0].size = 8192 * MIB;
    instance->properties.limits.maxMemoryAllocationCount = most_allocations;
    s->dev.instance = instance;
    s->dev.vk.AllocateMemory = allocate;
    s->dev.vk.FreeMemory = release;
    CHECK_EQ_INT(replay_memory_planner_create(&s->r, &s->dev), LAP_OK);
}

/* What is there of it as the driver sees it, and as the figures say; within the bound. */
static void look_at_memory(struct scene *s)
{
    struct replay_memory_stats stats = replay_memory_stats(&s->dev);

    CHECK_EQ_U64(stats.allocated_bytes, memory.bytes);
    CHECK_EQ_U64(stats.allocations, memory.count);
    CHECK_EQ_U64(stats.types[0].allocated_bytes, memory.bytes);
    CHECK(memory.bytes <= replay_memory_bound(stats.used_bytes > MIB ? stats.used_bytes : MIB));
}

static void place(struct scene *s, VkDeviceSize bytes, struct replay_memory_place *out)
{
    struct replay_memory_needs needs = {
        .requirements = {.size = bytes, .alignment = 256, .memoryTypeBits = 1}, .linear = true, .alone = true};

    CHECK_EQ_INT(replay_memory_place_alloc(&s->r, &s->dev, &needs, out), LAP_OK);
    look_at_memory(s);
}

static void end_memory(struct scene *s)
{
    wait_idle(s->dev.live);
    for (uint32_t i = 0; i < QUEUES; i++)
        replay_submission_queue_idle(&s->dev, &s->queues[i]);
    CHECK_EQ_U64(memory.bytes, 0);
    replay_memory_planner_destroy(&s->r, &s->dev);
    finish(s);
}

/* As at the end of a device, whose planner ends before the record of what is under way. No fence is signalled. */
UNIT_TEST(a_device_that_is_lost_leaves_no_memory_behind)
{
    struct replay_memory_place place_of_pages;
    struct replay_instance instance;
    struct scene s;

    begin_memory(&s, &instance, 4096);
    place(&s, MIB, &place_of_pages);
    put_submit(&s, 0, VK_NULL_HANDLE);
    put_binds(&s, VK_NULL_HANDLE);
    replay_memory_place_free(&s.dev, &place_of_pages);
    CHECK_EQ_U64(memory.bytes, MIB);
    replay_submission_all_over(&s.dev);
    CHECK(!s.dev.busy);
    CHECK_EQ_U64(memory.bytes, 0);
    replay_memory_planner_destroy(&s.r, &s.dev);
    driver.early = 0; /* fences of a lost device may end before they are signalled */
    finish(&s);
}

/* Two frames are always under way. Nobody waits as long as what they hold is within the bound. */
UNIT_TEST(memory_that_is_put_aside_is_counted)
{
    enum { OBJECTS = 64 };
    struct replay_instance instance;
    struct replay_memory_place places[OBJECTS] = {{0}};
    struct scene s;
    begin_memory(&s, &instance, 4096);
    for (unsigned i = 0; i < OBJECTS; i++)
        place(&s, MIB, &places[i]);
    for (unsigned frame = 0; frame < 200; frame++) {
        replay_memory_place_free(&s.dev, &places[frame % OBJECTS]);
        look_at_memory(&s);
        place(&s, MIB, &places[frame % OBJECTS]);
        put_submit(&s, 0, VK_NULL_HANDLE);
        if (frame > 2)
            let_be_over(0, driver.given[0] - 2);
        CHECK(memory.count <= OBJECTS + 4);
        if (frame > 2)
            CHECK(memory.count > OBJECTS);
    }
    CHECK_EQ_U64(driver.waits, 0);
    for (unsigned i = 0; i < OBJECTS; i++)
        replay_memory_place_free(&s.dev, &places[i]);
    end_memory(&s);
}

/* Where it would pass the bound the oldest work is waited for, and only as much of it as is needed. */
UNIT_TEST(memory_that_is_put_aside_is_within_the_bound)
{
    struct replay_instance instance;
    struct replay_memory_place places[4] = {{0}};
    struct scene s;
    begin_memory(&s, &instance, 4096);
    for (unsigned i = 0; i < 4; i++)
        place(&s, MIB, &places[i]);
    put_submit(&s, 0, VK_NULL_HANDLE);
    replay_memory_place_free(&s.dev, &places[0]);
    look_at_memory(&s);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(memory.count, 3);
    place(&s, MIB, &places[0]);
    put_submit(&s, 0, VK_NULL_HANDLE);
    replay_memory_place_free(&s.dev, &places[0]);
    CHECK_EQ_U64(driver.waits, 2);
    put_submit(&s, 0, VK_NULL_HANDLE);
    put_submit(&s, 0, VK_NULL_HANDLE);
    let_be_over(0, driver.given[0] - 1);
    place(&s, 16 * MIB, &places[0]);
    replay_memory_place_free(&s.dev, &places[1]);
    place(&s, 16 * MIB, &places[1]);
    put_submit(&s, 1, VK_NULL_HANDLE);
    replay_memory_place_free(&s.dev, &places[2]);
    replay_memory_place_free(&s.dev, &places[3]);
    CHECK_EQ_U64(driver.waits, 2);
    CHECK_EQ_U64(memory.bytes, 35 * MIB);
    for (unsigned i = 0; i < 2; i++)
        replay_memory_place_free(&s.dev, &places[i]);
    end_memory(&s);
}

UNIT_TEST(allocations_that_are_put_aside_are_limited)
{
    enum { MOST = 100 };
    struct replay_instance instance;
    struct replay_memory_place places[MOST] = {{0}};
    struct scene s;
    begin_memory(&s, &instance, MOST);
    for (unsigned i = 0; i < MOST; i++)
        place(&s, MIB, &places[i]);
    put_submit(&s, 0, VK_NULL_HANDLE);
    for (unsigned i = 0; i < 5; i++)
        replay_memory_place_free(&s.dev, &places[i]);
    CHECK_EQ_U64(driver.waits, 0);
    CHECK_EQ_U64(memory.count, MOST);
    for (unsigned i = 0; i < 5; i++)
        place(&s, MIB, &places[i]);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(memory.most_count, MOST);
    for (unsigned i = 0; i < MOST; i++)
        replay_memory_place_free(&s.dev, &places[i]);
    end_memory(&s);
}

UNIT_MAIN();
