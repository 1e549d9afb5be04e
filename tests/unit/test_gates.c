/* SPDX-License-Identifier: MIT */
/* Work that waits for the host, in orders that need more queues than some drivers have. */
#include "inspector/memory/gates.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "tests/unit/unit.h"

static struct gates gates;

static void see(uint32_t command, const void *args)
{
    const struct lap_packet packet = {.ticket = 1};
    const struct trace_call call = {.command = command, .args = args, .packet = &packet};

    CHECK_EQ_INT(gates_see(&gates, &call), LAP_OK);
}

static void create(uint64_t semaphore)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore made = gen_VkSemaphore(semaphore);

    see(GEN_vkCreateSemaphore, &(struct gen_args_vkCreateSemaphore){.pCreateInfo = &info, .pSemaphore = &made});
}

/* One batch; value 0: none. */
static void submit(uint64_t queue, uint64_t wait, uint64_t signal)
{
    VkSemaphore semaphore = gen_VkSemaphore(1);
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait != 0,
                                                  .pWaitSemaphoreValues = &wait,
                                                  .signalSemaphoreValueCount = signal != 0,
                                                  .pSignalSemaphoreValues = &signal};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = wait != 0,
                               .pWaitSemaphores = &semaphore,
                               .signalSemaphoreCount = signal != 0,
                               .pSignalSemaphores = &semaphore};

    see(GEN_vkQueueSubmit,
        &(struct gen_args_vkQueueSubmit){.queue = gen_VkQueue(queue), .submitCount = 1, .pSubmits = &info});
}

static void signal_by_host(uint64_t value)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = gen_VkSemaphore(1), .value = value};

    see(GEN_vkSignalSemaphore, &(struct gen_args_vkSignalSemaphore){.pSignalInfo = &info});
    CHECK_EQ_INT(gates_settle(&gates), LAP_OK);
}

/* What waits is submitted before what it waits for, and the host lets the last one go. */
UNIT_TEST(signals_of_work_that_waits_open_nothing)
{
    gates_init(&gates);
    create(1);
    submit(1, 3, 4);
    submit(2, 2, 3);
    submit(3, 1, 2);
    CHECK_EQ_INT(gates_settle(&gates), LAP_OK);
    CHECK_EQ_INT(gates.closed_count, 3);
    submit(3, 0, 0); /* behind the one before in its queue */
    CHECK_EQ_INT(gates_settle(&gates), LAP_OK);
    CHECK_EQ_INT(gates.closed_count, 3);
    signal_by_host(1);
    CHECK_EQ_INT(gates.closed_count, 0);
    CHECK_EQ_INT(gates.opened, 3);
    gates_finish(&gates);
}

UNIT_TEST(work_behind_other_work_of_its_queue_signals_later)
{
    gates_init(&gates);
    create(1);
    submit(1, 1, 0);
    submit(1, 0, 2);
    submit(2, 2, 0);
    CHECK_EQ_INT(gates_settle(&gates), LAP_OK);
    CHECK_EQ_INT(gates.closed_count, 2);
    signal_by_host(1);
    CHECK_EQ_INT(gates.closed_count, 0);
    submit(2, 2, 5);
    submit(1, 5, 0);
    CHECK_EQ_INT(gates_settle(&gates), LAP_OK);
    CHECK_EQ_INT(gates.closed_count, 0);
    gates_finish(&gates);
}

UNIT_TEST(what_late_work_does_to_events_counts_when_it_runs)
{
    const struct gen_args_vkSetEvent set = {.event = gen_VkEvent(1)};

    gates_init(&gates);
    for (unsigned round = 0; round < 2; round++) {
        submit(1, 0, 0);
        CHECK_EQ_INT(gates_wait(&gates, 1), LAP_OK);
        CHECK_EQ_INT(gates.closed_count, 1);
        CHECK_EQ_INT(gates_set(&gates, 1, false), LAP_OK); /* behind the wait */
        see(GEN_vkSetEvent, &set);
        CHECK_EQ_INT(gates.closed_count, 0);
    }
    gates_finish(&gates);
}

UNIT_MAIN();
