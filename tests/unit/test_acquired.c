/* SPDX-License-Identifier: MIT */
/* What comes of the semaphores that acquiring an image signals. The driver writes down what its queues get. */
#include "replayer/submit/acquired_images.h"

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define QUEUE(n)     ((VkQueue)(uintptr_t)(0x100 + (n)))
#define SEMAPHORE(n) gen_VkSemaphore(0x200 + (n))

enum { MOST = 32 };

static struct {
    VkQueue queue;
    VkSemaphore signal;
} signals[MOST];
static uint32_t signal_count;

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    CHECK(count == 1 && infos->signalSemaphoreCount == 1 && infos->waitSemaphoreCount == 0 &&
          infos->commandBufferCount == 0 && !fence && signal_count < MOST);
    signals[signal_count].queue = queue;
    signals[signal_count++].signal = infos->pSignalSemaphores[0];
    return VK_SUCCESS;
}

struct scene {
    struct lap_log log;
    struct replay r;
    struct replay_device dev;
    struct replay_queue queues[2];
};

static void begin(struct scene *s)
{
    *s = (struct scene){.log = {.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "}};
    s->r.log = &s->log;
    s->dev.vk.QueueSubmit = queue_submit;
    s->queues[0].live = QUEUE(0);
    s->queues[1].live = QUEUE(1);
    signal_count = 0;
}

static void signal_later(struct scene *s, uint32_t queue, uint32_t semaphore)
{
    CHECK_EQ_INT(replay_acquired_images_signal_later(&s->r, &s->dev, &s->queues[queue], SEMAPHORE(semaphore)), LAP_OK);
}

static bool is_signal(uint32_t at, uint32_t queue, uint32_t semaphore)
{
    return at < signal_count && signals[at].queue == QUEUE(queue) && signals[at].signal == SEMAPHORE(semaphore);
}

static const VkPipelineStageFlags stage_of[] = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                VK_PIPELINE_STAGE_VERTEX_INPUT_BIT};

/* A call whose one batch waits for three semaphores, each with a stage, a value and a device of its own. */
struct old_call {
    VkSemaphore waits[3];
    VkPipelineStageFlags stages[3];
    uint64_t values[3];
    uint32_t devices[3];
    VkTimelineSemaphoreSubmitInfo timeline;
    VkDeviceGroupSubmitInfo group;
    VkSubmitInfo info;
    struct gen_args_vkQueueSubmit args;
};

static void old_call_init(struct old_call *c, uint32_t queue)
{
    for (uint32_t i = 0; i < 3; i++) {
        c->waits[i] = SEMAPHORE(i);
        c->stages[i] = stage_of[i];
        c->values[i] = 10 + i;
        c->devices[i] = 20 + i;
    }
    c->timeline = (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .pNext = &c->group,
                                                  .waitSemaphoreValueCount = 3,
                                                  .pWaitSemaphoreValues = c->values};
    c->group = (VkDeviceGroupSubmitInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO,
                                         .waitSemaphoreCount = 3,
                                         .pWaitSemaphoreDeviceIndices = c->devices};
    c->info = (VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                             .pNext = &c->timeline,
                             .waitSemaphoreCount = 3,
                             .pWaitSemaphores = c->waits,
                             .pWaitDstStageMask = c->stages};
    c->args = (struct gen_args_vkQueueSubmit){.queue = QUEUE(queue), .submitCount = 1, .pSubmits = &c->info};
}

static enum lap_status before(struct scene *s, struct old_call *c)
{
    return replay_acquired_images_before(&s->r, &s->dev, GEN_vkQueueSubmit, &c->args, 0, c->args.submitCount);
}

UNIT_TEST(the_same_queue_needs_neither_signal_nor_wait)
{
    struct scene s;
    struct old_call c;

    begin(&s);
    signal_later(&s, 0, 1);
    CHECK_EQ_U64(signal_count, 0);
    old_call_init(&c, 0);
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(signal_count, 0);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 2);
    CHECK_EQ_U64(c.timeline.waitSemaphoreValueCount, 2);
    CHECK_EQ_U64(c.group.waitSemaphoreCount, 2);
    for (uint32_t i = 0; i < 2; i++) { /* the first and the last are left, each with what is its own */
        CHECK(c.waits[i] == SEMAPHORE(2 * i) && c.stages[i] == stage_of[2 * i]);
        CHECK(c.values[i] == 10 + 2 * i && c.devices[i] == 20 + 2 * i);
    }
    old_call_init(&c, 0); /* the next wait is for somebody else's signal */
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 3);
    CHECK_EQ_U64(signal_count, 0);
    replay_acquired_images_finish(&s.dev);
}

UNIT_TEST(values_and_devices_that_are_not_given_stay_away)
{
    struct scene s;
    struct old_call c;

    begin(&s);
    signal_later(&s, 0, 0);
    old_call_init(&c, 0);
    c.timeline.waitSemaphoreValueCount = c.group.waitSemaphoreCount = 0;
    c.timeline.pWaitSemaphoreValues = NULL;
    c.group.pWaitSemaphoreDeviceIndices = NULL;
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 2);
    CHECK_EQ_U64(c.timeline.waitSemaphoreValueCount, 0);
    CHECK_EQ_U64(c.group.waitSemaphoreCount, 0);
    replay_acquired_images_finish(&s.dev);
}

UNIT_TEST(another_queue_waits_for_a_signal)
{
    struct scene s;
    struct old_call c;

    begin(&s);
    signal_later(&s, 0, 1);
    old_call_init(&c, 1);
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 3);
    CHECK_EQ_U64(signal_count, 1);
    CHECK(is_signal(0, 0, 1));
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(signal_count, 1);
    replay_acquired_images_finish(&s.dev);
}

/* Its work may wait for what depends on the signal. */
UNIT_TEST(a_signal_comes_before_other_work_of_its_queue)
{
    struct scene s;
    struct old_call c;

    begin(&s);
    signal_later(&s, 0, 1);
    signal_later(&s, 0, 7);
    signal_later(&s, 1, 8);
    old_call_init(&c, 0);
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 2);
    CHECK_EQ_U64(signal_count, 1);
    CHECK(is_signal(0, 0, 7));
    old_call_init(&c, 1);
    c.args.submitCount = 0;
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(signal_count, 2);
    CHECK(is_signal(1, 1, 8));
    replay_acquired_images_finish(&s.dev);
}

UNIT_TEST(the_newer_submit_is_like_the_older)
{
    struct scene s;
    VkSemaphoreSubmitInfo waits[3];
    VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2, .waitSemaphoreInfoCount = 3, .pWaitSemaphoreInfos = waits};
    struct gen_args_vkQueueSubmit2 args = {.queue = QUEUE(0), .submitCount = 1, .pSubmits = &info};

    begin(&s);
    signal_later(&s, 0, 0);
    signal_later(&s, 1, 1);
    for (uint32_t i = 0; i < 3; i++)
        waits[i] = (VkSemaphoreSubmitInfo){.semaphore = SEMAPHORE(i), .value = i, .stageMask = stage_of[i]};
    CHECK_EQ_INT(replay_acquired_images_before(&s.r, &s.dev, GEN_vkQueueSubmit2, &args, 0, 1), LAP_OK);
    CHECK_EQ_U64(signal_count, 1);
    CHECK(is_signal(0, 1, 1));
    CHECK_EQ_U64(info.waitSemaphoreInfoCount, 2);
    CHECK(waits[0].semaphore == SEMAPHORE(1) && waits[0].stageMask == stage_of[1]);
    CHECK(waits[1].semaphore == SEMAPHORE(2) && waits[1].stageMask == stage_of[2]);
    replay_acquired_images_finish(&s.dev);
}

/* Binds are not ordered behind what their queue has. */
UNIT_TEST(binds_and_presents_wait_for_signals)
{
    struct scene s;
    const VkSemaphore waits[] = {SEMAPHORE(1), SEMAPHORE(2)};
    VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .waitSemaphoreCount = 1, .pWaitSemaphores = waits};
    struct gen_args_vkQueueBindSparse args = {.queue = QUEUE(0), .bindInfoCount = 1, .pBindInfo = &info};

    begin(&s);
    signal_later(&s, 0, 1);
    signal_later(&s, 1, 2);
    CHECK_EQ_INT(replay_acquired_images_before(&s.r, &s.dev, GEN_vkQueueBindSparse, &args, 0, 1), LAP_OK);
    CHECK_EQ_U64(info.waitSemaphoreCount, 1);
    CHECK_EQ_U64(signal_count, 1);
    CHECK(is_signal(0, 0, 1));
    CHECK_EQ_INT(replay_acquired_images_signal(&s.r, &s.dev, 2, waits), LAP_OK);
    CHECK_EQ_U64(signal_count, 2);
    CHECK(is_signal(1, 1, 2));
    replay_acquired_images_finish(&s.dev);
}

UNIT_TEST(many_are_signalled_later_and_none_is_lost)
{
    struct scene s;
    struct old_call c;

    begin(&s);
    for (uint32_t i = 0; i < REPLAY_ACQUIRED_MOST + 3; i++)
        signal_later(&s, 0, 10 + i);
    CHECK_EQ_U64(signal_count, 3);
    replay_acquired_images_forget(&s.dev,
                                  SEMAPHORE(10 + REPLAY_ACQUIRED_MOST)); /* destroyed, and its handle comes again */
    old_call_init(&c, 0);
    CHECK_EQ_INT(before(&s, &c), LAP_OK);
    CHECK_EQ_U64(c.info.waitSemaphoreCount, 3);
    CHECK_EQ_U64(signal_count, 3 + REPLAY_ACQUIRED_MOST - 1);
    for (uint32_t i = 0; i < REPLAY_ACQUIRED_MOST + 3; i++) {
        uint32_t found = 0;
        for (uint32_t j = 0; j < signal_count; j++)
            found += is_signal(j, 0, 10 + i);
        CHECK_EQ_U64(found, i != REPLAY_ACQUIRED_MOST);
    }
    replay_acquired_images_finish(&s.dev);
}

UNIT_TEST(what_is_acquired_again_is_signalled_first)
{
    struct scene s;

    begin(&s);
    signal_later(&s, 0, 1);
    signal_later(&s, 1, 1);
    CHECK_EQ_U64(signal_count, 1);
    CHECK(is_signal(0, 0, 1));
    CHECK_EQ_INT(replay_acquired_images_signal(&s.r, &s.dev, 1, (const VkSemaphore[]){SEMAPHORE(1)}), LAP_OK);
    CHECK_EQ_INT(replay_acquired_images_signal(&s.r, &s.dev, 1, (const VkSemaphore[]){SEMAPHORE(1)}), LAP_OK);
    CHECK_EQ_U64(signal_count, 2);
    CHECK(is_signal(1, 1, 1));
    replay_acquired_images_finish(&s.dev);
}

UNIT_MAIN();
