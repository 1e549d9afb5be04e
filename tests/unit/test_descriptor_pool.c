/* SPDX-License-Identifier: MIT */
/* Descriptor pools that are reset or destroyed while work may use their sets. The driver looks whether it does. */
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/queue_progress.h"
#include "replayer/sync/submission.h"

#include "replayer/submit/submit.h"
#include "replayer/sync/deferred_destroy.h"
#include "tests/unit/player_program.h"
#include "tests/unit/working_driver.h"

#define MOST_POOLS 32u
#define MOST_SETS  2048u
#define CAPACITY   2u  /* of each pool, in sets */
#define RETIRED    8u  /* of a pool, when nobody waits */
#define TOO_MANY   300 /* kinds of descriptors: more than is kept of a pool */

static struct {
    struct {
        bool alive;
        uint32_t sets; /* in it */
    } pools[MOST_POOLS + 1];
    struct {
        uint64_t pool, work[QUEUES]; /* the last work that uses it; pool 0: it is gone */
    } sets[MOST_SETS + 1];
    uint64_t made, most, set_count; /* pools, and how many of them there can be */
    uint64_t resets, refused_resets, freed;
} pool_driver;

/* ---- the driver ---- */

static void end_set(uint64_t number)
{
    for (uint32_t i = 0; i < QUEUES; i++)
        driver.early += pool_driver.sets[number].work[i] > driver.over[i];
    pool_driver.pools[pool_driver.sets[number].pool].sets--;
    pool_driver.sets[number].pool = 0;
}

static void end_sets(uint64_t pool)
{
    CHECK(pool_driver.pools[pool].alive);
    for (uint64_t i = 1; i <= pool_driver.set_count; i++)
        if (pool_driver.sets[i].pool == pool)
            end_set(i);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *allocator, VkDescriptorPool *out)
{
    CHECK_EQ_U64(info->maxSets, CAPACITY);
    CHECK_EQ_U64(info->pPoolSizes[info->poolSizeCount - 1].descriptorCount, 3);
    if (pool_driver.made == pool_driver.most)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    pool_driver.pools[++pool_driver.made].alive = true;
    *out = gen_VkDescriptorPool(pool_driver.made);
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkDescriptorPool pool,
                                               const VkAllocationCallbacks *allocator)
{
    end_sets(gen_u64_VkDescriptorPool(pool));
    pool_driver.pools[gen_u64_VkDescriptorPool(pool)].alive = false;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice device, VkDescriptorPool pool,
                                                 VkDescriptorPoolResetFlags flags)
{
    pool_driver.resets++;
    if (pool_driver.refused_resets && pool_driver.refused_resets--)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    end_sets(gen_u64_VkDescriptorPool(pool));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                               VkDescriptorSet *out)
{
    uint64_t pool = gen_u64_VkDescriptorPool(info->descriptorPool);

    CHECK(pool_driver.pools[pool].alive && pool_driver.set_count < MOST_SETS);
    if (pool_driver.pools[pool].sets == CAPACITY)
        return VK_ERROR_OUT_OF_POOL_MEMORY;
    pool_driver.pools[pool].sets++;
    pool_driver.sets[++pool_driver.set_count].pool = pool;
    *out = gen_VkDescriptorSet(pool_driver.set_count);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL free_sets(VkDevice device, VkDescriptorPool pool, uint32_t count,
                                                const VkDescriptorSet *sets)
{
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ_U64(pool_driver.sets[gen_u64_VkDescriptorSet(sets[i])].pool, gen_u64_VkDescriptorPool(pool));
        end_set(gen_u64_VkDescriptorSet(sets[i]));
        pool_driver.freed++;
    }
    return VK_SUCCESS;
}

static uint64_t count_pools(void)
{
    uint64_t alive = 0;

    for (uint64_t i = 1; i <= pool_driver.made; i++)
        alive += pool_driver.pools[i].alive;
    return alive;
}

/* ---- the trace: pools 1 and 2 ---- */

struct scene {
    struct program p;
    struct replay r;
    struct replay_device dev;
    struct replay_queue queues[QUEUES];
    struct lap_log log;
    uint64_t next_set;
};

static void put_pools(struct program *p, uint32_t sizes)
{
    VkDescriptorPoolSize kinds[TOO_MANY];
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = CAPACITY,
                                       .poolSizeCount = sizes,
                                       .pPoolSizes = kinds};

    for (uint32_t i = 0; i < TOO_MANY; i++)
        kinds[i] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    for (uint64_t i = 1; i <= 2; i++) {
        VkDescriptorPool pool = gen_VkDescriptorPool(sample_handle(&p->s, GEN_HANDLE_VkDescriptorPool, i));
        PUT(p, vkCreateDescriptorPool, p->device, &info, NULL, &pool, VK_SUCCESS);
    }
}

static void scene_init_with(struct scene *s, uint32_t sizes)
{
    memset(s, 0, sizeof *s);
    memset(&pool_driver, 0, sizeof pool_driver);
    pool_driver.most = MOST_POOLS;
    CHECK(program_begin(&s->p));
    put_pools(&s->p, sizes);
    lap_writer_frame(s->p.s.writer);
    sample_end(&s->p.s);
    open_on_working_driver(&s->r, s->p.s.path, &s->dev, s->queues, &s->log);
    s->dev.vk.CreateDescriptorPool = create_pool;
    s->dev.vk.DestroyDescriptorPool = destroy_pool;
    s->dev.vk.ResetDescriptorPool = reset_pool;
    s->dev.vk.AllocateDescriptorSets = allocate;
    s->dev.vk.FreeDescriptorSets = free_sets;
    CHECK_EQ_INT(replay_object_add(&s->r, GEN_HANDLE_VkDevice, 1, 0x1000, &s->dev, NULL), LAP_OK);
    while (lap_reader_next(s->r.reader, &s->r.at.packet) == LAP_OK)
        CHECK_EQ_INT(replay_packet(&s->r), LAP_OK);
    CHECK_EQ_U64(pool_driver.made, 2);
}

static void scene_init(struct scene *s)
{
    scene_init_with(s, 1);
}

static VkDescriptorPool live(struct scene *s, uint64_t pool)
{
    return gen_VkDescriptorPool(replay_object_get(&s->r, GEN_HANDLE_VkDescriptorPool, pool)->live);
}

/* Returns the set's live handle, which the driver numbers. */
static uint64_t put_set(struct scene *s, uint64_t pool)
{
    VkDescriptorSetLayout layout = VK_NULL_HANDLE;
    VkDescriptorSet set = gen_VkDescriptorSet(++s->next_set);
    VkDescriptorSetAllocateInfo info = {
        .descriptorPool = live(s, pool), .descriptorSetCount = 1, .pSetLayouts = &layout};
    struct gen_args_vkAllocateDescriptorSets args = {.pAllocateInfo = &info, .pDescriptorSets = &set};

    CHECK_EQ_INT(replay_AllocateDescriptorSets(&s->r, &s->dev, &args), LAP_OK);
    return replay_object_get(&s->r, GEN_HANDLE_VkDescriptorSet, s->next_set)->live;
}

static void put_free(struct scene *s, uint64_t pool, uint64_t set)
{
    struct gen_args_vkFreeDescriptorSets args = {.descriptorPool = live(s, pool),
                                                 .descriptorSetCount = 1,
                                                 .pDescriptorSets = &(VkDescriptorSet){gen_VkDescriptorSet(set)}};

    CHECK_EQ_INT(replay_FreeDescriptorSets(&s->r, &s->dev, &args), LAP_OK);
}

static enum lap_status reset_of(struct scene *s, uint64_t pool)
{
    struct gen_args_vkResetDescriptorPool args = {.descriptorPool = live(s, pool)};

    return replay_ResetDescriptorPool(&s->r, &s->dev, &args);
}

static void put_reset_pool(struct scene *s, uint64_t pool)
{
    CHECK_EQ_INT(reset_of(s, pool), LAP_OK);
    CHECK(pool_driver.pools[gen_u64_VkDescriptorPool(live(s, pool))].alive);
    CHECK_EQ_U64(pool_driver.pools[gen_u64_VkDescriptorPool(live(s, pool))].sets, 0);
}

static void put_destroy(struct scene *s, uint64_t pool)
{
    struct gen_args_vkDestroyDescriptorPool args = {.descriptorPool = live(s, pool)};

    CHECK_EQ_INT(replay_DestroyDescriptorPool(&s->r, &s->dev, &args), LAP_OK);
}

/* Work that uses a set. */
static void give(struct scene *s, unsigned queue, uint64_t set)
{
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    struct gen_args_vkQueueSubmit args = {.queue = s->queues[queue].live, .submitCount = 1, .pSubmits = &info};

    CHECK_EQ_INT(replay_QueueSubmit(&s->r, &s->dev, &args), LAP_OK);
    CHECK(pool_driver.sets[set].pool);
    pool_driver.sets[set].work[queue] = driver.given[queue];
}

static void scene_finish(struct scene *s)
{
    for (uint64_t i = 1; i <= 2; i++)
        if (replay_object_get(&s->r, GEN_HANDLE_VkDescriptorPool, i))
            put_destroy(s, i);
    CHECK_EQ_U64(driver.early, 0);
    wait_idle(s->dev.live);
    replay_submission_finish(&s->dev);
    CHECK_EQ_U64(driver.early, 0);
    CHECK_EQ_U64(count_pools(), 0);
    CHECK_EQ_U64(s->r.objects.alive, 1); /* the device */
    CHECK(replay_close(&s->r));
    sample_finish(&s->p.s);
}

UNIT_TEST(a_pool_whose_work_is_over_is_reset)
{
    struct scene s;
    scene_init(&s);
    put_reset_pool(&s, 1);
    give(&s, 0, put_set(&s, 1));
    let_be_over(0, driver.given[0]); /* nobody has told the replay so far */
    put_reset_pool(&s, 1);
    give(&s, 0, put_set(&s, 2));
    put_reset_pool(&s, 1); /* it has had no sets since */
    CHECK_EQ_U64(pool_driver.resets, 3);
    CHECK_EQ_U64(pool_driver.made, 2);
    CHECK_EQ_U64(driver.waits, 0);
    scene_finish(&s);
}

UNIT_TEST(a_pool_that_work_uses_is_retired)
{
    struct scene s;
    uint64_t first, second;
    scene_init(&s);
    first = put_set(&s, 1);
    (void)put_set(&s, 1);
    give(&s, 1, first);
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(pool_driver.resets, 0);
    CHECK_EQ_U64(gen_u64_VkDescriptorPool(live(&s, 1)), 3);
    CHECK(!replay_object_get(&s.r, GEN_HANDLE_VkDescriptorSet, 1));
    second = put_set(&s, 1);
    CHECK_EQ_U64(pool_driver.sets[second].pool, 3);
    put_free(&s, 1, second);
    (void)put_set(&s, 1);
    let_be_over(1, driver.given[1]);
    CHECK(!replay_submission_poll(&s.dev));
    CHECK_EQ_U64(pool_driver.resets, 1); /* it is a spare now */
    CHECK_EQ_U64(count_pools(), 3);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(gen_u64_VkDescriptorPool(live(&s, 1)), 1);
    CHECK_EQ_U64(pool_driver.made, 3);
    CHECK_EQ_U64(driver.waits, 0);
    scene_finish(&s);
}

/* Where pools are found by the driver's handles, the new one is found and the old one is not. */
UNIT_TEST(the_pool_is_found_by_its_new_handle)
{
    struct scene s;
    scene_init(&s);
    CHECK_EQ_U64(replay_object_index(&s.r, GEN_HANDLE_VkDescriptorPool, 0x777), 0);
    s.r.objects.tables[GEN_HANDLE_VkDescriptorPool].live.last = 0;
    CHECK_EQ_U64(replay_object_index(&s.r, GEN_HANDLE_VkDescriptorPool, 1), 1);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    s.r.objects.tables[GEN_HANDLE_VkDescriptorPool].live.last = 0;
    CHECK_EQ_U64(replay_object_index(&s.r, GEN_HANDLE_VkDescriptorPool, 1), 0);
    CHECK_EQ_U64(replay_object_index(&s.r, GEN_HANDLE_VkDescriptorPool, 2), 2);
    CHECK_EQ_U64(replay_object_index(&s.r, GEN_HANDLE_VkDescriptorPool, 3), 1);
    CHECK_EQ_U64(s.r.objects.live[GEN_HANDLE_VkDescriptorPool]->pages[0]->live[1], 3); /* decoders look there */
    scene_finish(&s);
}

/* Two frames are always under way, each with a pool, which a program resets when that frame is over. */
UNIT_TEST(pools_of_frames_are_used_again)
{
    struct scene s;
    scene_init(&s);
    for (uint64_t frame = 0; frame < 500; frame++) {
        uint64_t pool = 1 + frame % 2;
        if (frame >= 2)
            let_be_over(0, driver.given[0] - 1);
        put_reset_pool(&s, pool);
        for (unsigned i = 0; i < CAPACITY; i++)
            give(&s, 0, put_set(&s, pool));
        CHECK(frame < 2 || driver.over[0] < driver.given[0]);
    }
    CHECK_EQ_U64(driver.waits, 0);
    CHECK_EQ_U64(pool_driver.made, 4);
    scene_finish(&s);
}

/* As many as that a program has that waits; more have to wait. */
UNIT_TEST(retired_pools_are_limited)
{
    struct scene s;
    scene_init(&s);
    for (uint64_t i = 0; i < 20; i++) {
        give(&s, i % QUEUES, put_set(&s, 1));
        put_reset_pool(&s, 1);
        CHECK_EQ_U64(driver.waits != 0, i >= RETIRED);
    }
    CHECK(count_pools() <= RETIRED + 2);
    scene_finish(&s);
}

static bool always(const struct replay_device *dev)
{
    return dev->sync.awaits_host == always;
}

/* The driver has no memory for another one, or how it was made is not kept. */
UNIT_TEST(where_there_is_no_other_pool_the_work_is_waited_for)
{
    struct scene s;
    scene_init(&s);
    pool_driver.most = 2;
    for (uint64_t i = 1; i <= 3; i++) {
        give(&s, 0, put_set(&s, 1));
        put_reset_pool(&s, 1);
        CHECK_EQ_U64(driver.waits, i);
        CHECK_EQ_U64(pool_driver.resets, i);
        CHECK_EQ_U64(gen_u64_VkDescriptorPool(live(&s, 1)), 1);
    }
    s.dev.sync.awaits_host = always; /* nor does the device finish */
    give(&s, 0, put_set(&s, 1));
    CHECK_EQ_INT(reset_of(&s, 1), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VK_ERROR_OUT_OF_DEVICE_MEMORY"));
    CHECK_EQ_U64(pool_driver.resets, 3);
    scene_finish(&s);
    scene_init_with(&s, TOO_MANY);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(pool_driver.made, 2);
    scene_finish(&s);
}

/* Nor can anything be put aside where as many objects are alive as can be. */
UNIT_TEST(where_nothing_can_be_put_aside_the_work_is_waited_for)
{
    struct scene s;
    uint64_t alive;
    scene_init(&s);
    give(&s, 0, put_set(&s, 1));
    alive = s.r.objects.alive;
    s.r.objects.alive = REPLAY_MOST_OBJECTS;
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(driver.waits, 1);
    CHECK_EQ_U64(gen_u64_VkDescriptorPool(live(&s, 1)), 1);
    CHECK_EQ_U64(count_pools(), 2);
    CHECK_EQ_U64(s.r.objects.alive, REPLAY_MOST_OBJECTS - 1); /* the set is gone */
    s.r.objects.alive = alive - 1;
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    s.r.objects.alive += REPLAY_MOST_OBJECTS;
    wait_idle(s.dev.live);
    CHECK(!replay_submission_poll(&s.dev)); /* nor is a spare kept */
    CHECK_EQ_U64(count_pools(), 2);
    s.r.objects.alive -= REPLAY_MOST_OBJECTS;
    scene_finish(&s);
}

UNIT_TEST(retired_pools_end_with_theirs)
{
    struct scene s;
    scene_init(&s);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    let_be_over(0, driver.given[0] - 1);
    CHECK(replay_submission_poll(&s.dev)); /* there is a spare, and a retired one */
    give(&s, 1, put_set(&s, 1));
    put_destroy(&s, 1);
    CHECK_EQ_U64(count_pools(), 3); /* the spare is gone, and two are put aside */
    give(&s, 0, put_set(&s, 2));
    let_be_over(0, driver.given[0]);
    let_be_over(1, driver.given[1]);
    CHECK(!replay_submission_poll(&s.dev));
    CHECK_EQ_U64(count_pools(), 1);
    CHECK_EQ_U64(pool_driver.resets, 1);
    scene_finish(&s);
}

/* The recorded driver's pool had room for more. */
UNIT_TEST(sets_that_do_not_fit_come_from_another_pool)
{
    struct scene s;
    uint64_t sets[6];
    scene_init(&s);
    for (unsigned i = 0; i < 5; i++)
        sets[i] = put_set(&s, 1);
    CHECK_EQ_U64(pool_driver.made, 4);
    CHECK_EQ_U64(pool_driver.sets[sets[2]].pool, 3);
    CHECK_EQ_U64(pool_driver.sets[sets[4]].pool, 4);
    CHECK_EQ_U64(gen_u64_VkDescriptorPool(live(&s, 1)), 1);
    put_free(&s, 1, sets[2]);
    put_free(&s, 1, sets[0]); /* the driver looks at the pool */
    give(&s, 0, sets[3]);
    put_free(&s, 1, sets[4]); /* later */
    CHECK_EQ_U64(pool_driver.freed, 2);
    sets[5] = put_set(&s, 1);
    CHECK_EQ_U64(pool_driver.sets[sets[5]].pool, 1);
    put_reset_pool(&s, 1);
    CHECK_EQ_U64(pool_driver.sets[sets[3]].pool, 3); /* work uses it */
    let_be_over(0, driver.given[0]);
    CHECK(!replay_submission_poll(&s.dev));
    CHECK_EQ_U64(count_pools(), 3);
    (void)put_set(&s, 1);
    (void)put_set(&s, 1);
    (void)put_set(&s, 1);
    put_destroy(&s, 1);
    scene_finish(&s);
}

/* Which the driver's pool frees before it is reset. */
UNIT_TEST(sets_that_were_freed_before_end_with_their_own_pool)
{
    struct scene s;
    uint64_t set;
    scene_init(&s);
    set = put_set(&s, 1);
    give(&s, 0, set);
    put_free(&s, 1, set);
    put_reset_pool(&s, 1);
    put_free(&s, 1, put_set(&s, 1));
    CHECK_EQ_U64(pool_driver.freed, 0);
    wait_idle(s.dev.live);
    CHECK(!replay_submission_poll(&s.dev));
    CHECK_EQ_U64(pool_driver.freed, 2);
    CHECK_EQ_U64(pool_driver.resets, 1);
    scene_finish(&s);
}

UNIT_TEST(what_is_freed_twice_is_refused)
{
    for (unsigned busy = 0; busy < 2; busy++) {
        struct scene s;
        uint64_t set;
        scene_init(&s);
        set = put_set(&s, 1);
        if (busy)
            give(&s, 0, set);
        VkDescriptorSet sets[2] = {gen_VkDescriptorSet(set), gen_VkDescriptorSet(set)};
        struct gen_args_vkFreeDescriptorSets args = {
            .descriptorPool = live(&s, 1), .descriptorSetCount = 2, .pDescriptorSets = sets};
        CHECK_EQ_INT(replay_FreeDescriptorSets(&s.r, &s.dev, &args), LAP_ERROR_REPLAY);
        CHECK(strstr(lap_error_message(), "is freed twice"));
        CHECK_EQ_U64(pool_driver.freed, 0);
        put_free(&s, 1, set);
        wait_idle(s.dev.live);
        CHECK(!replay_submission_poll(&s.dev));
        CHECK_EQ_U64(pool_driver.freed, 1);
        scene_finish(&s);
    }
}

/* The pool is full of what is put aside. */
UNIT_TEST(sets_that_are_put_aside_make_room)
{
    struct scene s;
    scene_init(&s);
    for (unsigned i = 0; i < CAPACITY; i++) {
        uint64_t set = put_set(&s, 1);
        give(&s, 0, set);
        put_free(&s, 1, set);
    }
    (void)put_set(&s, 1);
    CHECK_EQ_U64(driver.waits, 1);
    scene_finish(&s);
}

UNIT_TEST(a_pool_that_the_driver_does_not_reset_is_no_spare)
{
    struct scene s;
    scene_init(&s);
    give(&s, 0, put_set(&s, 1));
    put_reset_pool(&s, 1);
    wait_idle(s.dev.live);
    pool_driver.refused_resets = 1;
    CHECK(!replay_submission_poll(&s.dev));
    CHECK_EQ_U64(count_pools(), 2);
    pool_driver.refused_resets = 1;
    (void)put_set(&s, 1);
    CHECK_EQ_INT(reset_of(&s, 1), LAP_ERROR_REPLAY); /* as the program's would be */
    scene_finish(&s);
}

UNIT_MAIN();
