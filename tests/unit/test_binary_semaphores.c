/* SPDX-License-Identifier: MIT */
/* Signals and waits of binary semaphores on their way to the driver alternate. */
#include "replayer/submit/binary_semaphores.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "tests/unit/unit.h"

#define SEMAPHORE(n) gen_VkSemaphore(0x200 + (n))

enum { COUNT = 3 };

struct scene {
    struct lap_log log;
    struct replay r;
    struct replay_device dev;
};

static void begin(struct scene *s)
{
    *s = (struct scene){.log = {.fd = 2, .level = LAP_LOG_ERROR, .prefix = "test: "}};
    s->r.log = &s->log;
    s->r.devices = &s->dev;
    replay_tables_attach(&s->r);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_EQ_INT(
            replay_object_keep(&s->r, GEN_HANDLE_VkSemaphore, &s->dev, i + 1, gen_u64_VkSemaphore(SEMAPHORE(i))),
            LAP_OK);
}

static void finish(struct scene *s)
{
    for (uint32_t i = 0; i < COUNT; i++)
        free(replay_object_get(&s->r, GEN_HANDLE_VkSemaphore, i + 1)->record);
    replay_tables_finish(&s->r);
}

UNIT_TEST(a_second_signal_is_left_out_with_all_that_is_its_own)
{
    VkSemaphore signals[COUNT] = {SEMAPHORE(0), SEMAPHORE(1), SEMAPHORE(2)};
    uint64_t values[COUNT] = {10, 11, 12};
    uint32_t devices[COUNT] = {20, 21, 22};
    VkDeviceGroupSubmitInfo group = {.sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_SUBMIT_INFO,
                                     .signalSemaphoreCount = COUNT,
                                     .pSignalSemaphoreDeviceIndices = devices};
    VkTimelineSemaphoreSubmitInfo timeline = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                              .pNext = &group,
                                              .signalSemaphoreValueCount = COUNT,
                                              .pSignalSemaphoreValues = values};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &timeline,
                         .signalSemaphoreCount = COUNT,
                         .pSignalSemaphores = signals};
    struct gen_args_vkQueueSubmit args = {.submitCount = 1, .pSubmits = &info};
    struct scene s;

    begin(&s);
    CHECK(replay_binary_semaphores_may_signal(&s.r, &s.dev, SEMAPHORE(1)));
    CHECK_EQ_INT(replay_binary_semaphores_before(&s.r, &s.dev, GEN_vkQueueSubmit, &args, 0, 1), LAP_OK);
    CHECK(info.signalSemaphoreCount == 2 && timeline.signalSemaphoreValueCount == 2 && group.signalSemaphoreCount == 2);
    CHECK(signals[0] == SEMAPHORE(0) && signals[1] == SEMAPHORE(2));
    CHECK(values[0] == 10 && values[1] == 12 && devices[0] == 20 && devices[1] == 22);
    finish(&s);
}

UNIT_TEST(a_wait_is_for_one_signal)
{
    VkSemaphoreSubmitInfo signals[] = {
        {.semaphore = SEMAPHORE(0)}, {.semaphore = SEMAPHORE(0)}, {.semaphore = SEMAPHORE(1)}};
    const VkSemaphoreSubmitInfo wait = {.semaphore = SEMAPHORE(0)};
    VkSubmitInfo2 infos[] = {{.signalSemaphoreInfoCount = 3, .pSignalSemaphoreInfos = signals},
                             {.waitSemaphoreInfoCount = 1, .pWaitSemaphoreInfos = &wait}};
    struct gen_args_vkQueueSubmit2 args = {.submitCount = 2, .pSubmits = infos};
    const VkSemaphore never = SEMAPHORE(2);
    struct scene s;

    begin(&s);
    CHECK_EQ_INT(replay_binary_semaphores_before(&s.r, &s.dev, GEN_vkQueueSubmit2, &args, 0, 2), LAP_OK);
    CHECK(infos[0].signalSemaphoreInfoCount == 2 && signals[1].semaphore == SEMAPHORE(1));
    CHECK_EQ_INT(replay_binary_semaphores_before(&s.r, &s.dev, GEN_vkQueueSubmit2, &args, 1, 1), LAP_ERROR_REPLAY);
    CHECK_STR(lap_error_message(), "VkSemaphore:1 is waited for, but nothing has signalled it since the last wait");
    CHECK_EQ_INT(replay_binary_semaphores_wait(&s.r, &s.dev, 1, &never), LAP_ERROR_REPLAY);
    CHECK_STR(lap_error_message(), "VkSemaphore:3 is waited for, but nothing has signalled it");
    CHECK(replay_binary_semaphores_may_signal(&s.r, &s.dev, SEMAPHORE(0)));
    CHECK_EQ_INT(replay_binary_semaphores_before(&s.r, &s.dev, GEN_vkQueueSubmit2, &args, 1, 1), LAP_OK);
    finish(&s);
}

UNIT_MAIN();
