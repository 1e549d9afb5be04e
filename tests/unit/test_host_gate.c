/* SPDX-License-Identifier: MIT */
/* Submitted work that can't begin before the host does something: whose what it writes is until then. */
#include "layer/submit/host_gate.h"

#include "tests/unit/submission.h"

enum { EVENTS = 3 };
static struct layer_event events[EVENTS];
static struct lap_object pool;
#define QUERIES  gen_VkQueryPool(0x600)
#define EVENT(n) gen_VkEvent(0x700 + (n))

static void begin_gated(void)
{
    begin();
    collects = true;
    semaphores[2].timeline = true;
    memset(events, 0, sizeof events);
    for (uint32_t i = 0; i < EVENTS; i++)
        add_record(GEN_HANDLE_VkEvent, 0x700 + i, 7 + i, &events[i].object);
}

static void end_gated(void)
{
    layer_work_finished_device(dev);
    CHECK_EQ_U64(dev->submit.gated_count, 0);
    CHECK_EQ_U64(outstanding(), 0);
    layer_touch_finish(&cmdbuf);
    end();
}

static void record_write(uint64_t offset)
{
    cmdbuf.state = LAYER_CMDBUF_RECORDING;
    layer_touch_buffer(&cmdbuf, gen_VkBuffer(0x400), offset, 16, LAYER_WRITES);
}

static void record_step(struct layer_cmdbuf *cb, uint32_t number, enum layer_event_kind kind)
{
    const VkEvent handle = EVENT(number);
    cb->state = LAYER_CMDBUF_RECORDING;
    if (kind == LAYER_EVENT_SET)
        hook_after_CmdSetEvent(cb, COMMANDS, handle, 0);
    else if (kind == LAYER_EVENT_RESET)
        hook_after_CmdResetEvent(cb, COMMANDS, handle, 0);
    else
        hook_after_CmdWaitEvents(cb, COMMANDS, 1, &handle, 0, 0, 0, NULL, 0, NULL, 0, NULL);
}

/* What was recorded, waiting for one semaphore and signalling another one; UINT32_MAX: none. */
static void submit_recorded(VkQueue queue, uint32_t wait, uint64_t wait_value, uint32_t signal, uint64_t signal_value)
{
    VkCommandBuffer handle = COMMANDS;
    VkSemaphore wait_semaphore = SEMAPHORE(wait), signal_semaphore = SEMAPHORE(signal);
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &wait_value,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &signal_value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = wait != UINT32_MAX,
                         .pWaitSemaphores = &wait_semaphore,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &handle,
                         .signalSemaphoreCount = signal != UINT32_MAX,
                         .pSignalSemaphores = &signal_semaphore};
    CHECK_EQ_INT(capture_QueueSubmit(queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
    layer_touch_reset(&cmdbuf);
}

static void submit_write(VkQueue queue, uint64_t offset, uint32_t wait, uint64_t wait_value, uint32_t signal,
                         uint64_t signal_value)
{
    record_write(offset);
    submit_recorded(queue, wait, wait_value, signal, signal_value);
}

#define NONE UINT32_MAX, 0

static void host_signals(uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = SEMAPHORE(2), .value = value};
    hook_before_SignalSemaphore(dev, VK_NULL_HANDLE, &info);
}

/* A store is the host's, and sent; else the device may be at work there, and it is left alone. */
static bool is_the_hosts(uint64_t offset)
{
    uint64_t sent = sent_after_store(offset);
    if (!sent)
        store[offset]--;
    return sent;
}

UNIT_TEST(what_gated_work_will_write_is_the_hosts_until_the_signal)
{
    begin_gated();
    submit_write(QUEUE(0), 0, 2, 2, NONE);
    CHECK(is_the_hosts(0));
    host_signals(1);
    CHECK(is_the_hosts(0));
    store[3] = 7;
    store[200] = 8;
    updates = 0;
    host_signals(2);
    CHECK_EQ_U64(updates, 2);
    CHECK(!is_the_hosts(0));
    CHECK(is_the_hosts(200));
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK(is_the_hosts(0));
    submit_write(QUEUE(0), 0, 2, 2, NONE); /* signalled long ago */
    CHECK(!is_the_hosts(0));
    end_gated();
}

UNIT_TEST(what_comes_behind_gated_work_on_its_queue_is_gated)
{
    begin_gated();
    submit_write(QUEUE(0), 0, 2, 2, NONE);
    submit_write(QUEUE(0), 16, NONE, NONE);
    submit_write(QUEUE(1), 32, NONE, NONE);
    submit_write(QUEUE(0), 48, 2, 3, NONE);
    CHECK(is_the_hosts(0));
    CHECK(is_the_hosts(16));
    CHECK(!is_the_hosts(32));
    host_signals(2);
    CHECK(!is_the_hosts(0));
    CHECK(!is_the_hosts(16));
    CHECK(is_the_hosts(48));
    layer_work_finished_queue(dev, QUEUE(1));
    CHECK(is_the_hosts(32));
    CHECK(!is_the_hosts(0));
    host_signals(3);
    CHECK(!is_the_hosts(48));
    end_gated();
}

UNIT_TEST(what_waits_for_gated_work_is_gated)
{
    begin_gated();
    submit_write(QUEUE(0), 0, 2, 2, 0, 0);
    submit_write(QUEUE(1), 16, 0, 0, 1, 0); /* by binary semaphores */
    submit_write(QUEUE(2), 32, 1, 0, NONE);
    CHECK(is_the_hosts(0) && is_the_hosts(16) && is_the_hosts(32));
    host_signals(2);
    CHECK(!is_the_hosts(0) && !is_the_hosts(16) && !is_the_hosts(32));
    layer_work_finished_queue(dev, QUEUE(2)); /* and all that led to it */
    CHECK(is_the_hosts(0) && is_the_hosts(16) && is_the_hosts(32));
    CHECK_EQ_U64(outstanding(), 0);
    end_gated();
}

/* The one that waits is submitted first, and so is the one that waits for that. */
UNIT_TEST(submitted_work_opens_gates_too)
{
    begin_gated();
    submit_write(QUEUE(0), 0, 2, 2, 2, 3);
    submit_write(QUEUE(1), 16, 2, 3, NONE);
    submit_write(QUEUE(2), 32, 2, 1, 2, 2); /* gated itself */
    CHECK(is_the_hosts(0) && is_the_hosts(16) && is_the_hosts(32));
    store[0] = 99;
    updates = 0;
    submit_write(QUEUE(3), 48, NONE, 2, 1);
    CHECK_EQ_U64(updates, 1);
    CHECK(!is_the_hosts(0) && !is_the_hosts(16) && !is_the_hosts(32) && !is_the_hosts(48));
    end_gated();
}

UNIT_TEST(only_what_stands_behind_a_wait_for_an_event_is_gated)
{
    begin_gated();
    record_write(0);
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(16);
    record_step(&cmdbuf, 1, LAYER_EVENT_WAITED_FOR);
    record_step(&cmdbuf, 2, LAYER_EVENT_WAITED_FOR); /* for both, then */
    record_write(32);
    CHECK_EQ_U64(cmdbuf.part_count, 2);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK_EQ_U64(outstanding(), 3);
    CHECK(!is_the_hosts(0));
    CHECK(is_the_hosts(16));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(1));
    CHECK(is_the_hosts(16) && is_the_hosts(32));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    CHECK(!is_the_hosts(16) && is_the_hosts(32));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(2));
    CHECK(!is_the_hosts(32));
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK(is_the_hosts(0) && is_the_hosts(16) && is_the_hosts(32));
    end_gated();
}

UNIT_TEST(an_event_that_the_device_sets_is_no_gate)
{
    begin_gated();
    record_step(&cmdbuf, 0, LAYER_EVENT_SET);
    record_write(0);
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(16);
    CHECK_EQ_U64(cmdbuf.part_count, 0);
    submit_recorded(QUEUE(0), NONE, NONE);
    record_write(32);
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(48);
    CHECK_EQ_U64(cmdbuf.part_count, 1);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK_EQ_U64(dev->submit.gated_count, 0);
    CHECK(!is_the_hosts(0) && !is_the_hosts(16) && !is_the_hosts(32) && !is_the_hosts(48));
    record_step(&cmdbuf, 0, LAYER_EVENT_RESET);
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(64);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK(is_the_hosts(64));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    CHECK(!is_the_hosts(64));
    layer_work_finished_device(dev);
    hook_before_ResetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(64);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK(is_the_hosts(64));
    end_gated();
}

/* Command buffers that reset the event behind themselves, two of them under way. */
UNIT_TEST(each_wait_for_an_event_takes_a_set_of_its_own)
{
    begin_gated();
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    for (uint32_t i = 0; i < 3; i++) {
        record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
        record_write(16 * i);
        record_step(&cmdbuf, 0, LAYER_EVENT_RESET);
        submit_recorded(QUEUE(0), NONE, NONE);
    }
    CHECK(!is_the_hosts(0) && is_the_hosts(16) && is_the_hosts(32));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    CHECK(!is_the_hosts(16) && is_the_hosts(32));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    CHECK(!is_the_hosts(32));
    layer_work_finished_device(dev);
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0)); /* it is set already */
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(0);
    record_step(&cmdbuf, 0, LAYER_EVENT_RESET);
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    record_write(16);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK(!is_the_hosts(0) && is_the_hosts(16));
    end_gated();
}

UNIT_TEST(a_secondary_command_buffer_brings_its_parts_along)
{
    struct layer_cmdbuf secondary = {.device = NULL};
    begin_gated();
    secondary.device = dev;
    secondary.state = LAYER_CMDBUF_RECORDING;
    layer_touch_buffer(&secondary, gen_VkBuffer(0x400), 16, 16, LAYER_WRITES);
    record_step(&secondary, 0, LAYER_EVENT_WAITED_FOR);
    layer_touch_buffer(&secondary, gen_VkBuffer(0x400), 32, 16, LAYER_WRITES);
    record_write(0);
    layer_touch_secondary(&cmdbuf, &secondary);
    record_write(48);
    CHECK_EQ_U64(cmdbuf.part_count, 1);
    submit_recorded(QUEUE(0), NONE, NONE);
    CHECK(!is_the_hosts(0) && !is_the_hosts(16) && is_the_hosts(32) && is_the_hosts(48));
    record_step(&cmdbuf, 0, LAYER_EVENT_SET); /* then it waits for nobody */
    layer_touch_secondary(&cmdbuf, &secondary);
    CHECK_EQ_U64(cmdbuf.part_count, 0);
    layer_touch_finish(&secondary);
    end_gated();
}

/* A fence tells of it, so it did begin, whatever that was. */
UNIT_TEST(gated_work_that_has_finished_lets_others_go)
{
    begin_gated();
    submit_write(QUEUE(0), 0, 2, 2, 0, 0);
    dev->submit.first->fence = fences[0].object.index;
    submit_write(QUEUE(0), 16, NONE, NONE);
    submit_write(QUEUE(1), 32, 0, 0, NONE);
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(dev->submit.gated_count, 0);
    CHECK(is_the_hosts(0));
    CHECK(!is_the_hosts(16) && !is_the_hosts(32));
    end_gated();
}

/* It has changed nothing yet, here and in a replay. */
UNIT_TEST(what_gated_work_will_write_is_checked_until_then)
{
    begin_gated();
    submit_write(QUEUE(0), 0, NONE, NONE);
    submit_write(QUEUE(1), 0, 2, 2, NONE);
    submit_write(QUEUE(0), 32, NONE, NONE);
    submit_write(QUEUE(2), 32, NONE, NONE);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 1);
    CHECK_EQ_U64(checked_from, 0);
    CHECK_EQ_U64(checked_bytes, 16);
    host_signals(2);
    layer_work_finished_queue(dev, QUEUE(1));
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_U64(checked_from, 0);
    end_gated();
}

UNIT_TEST(an_event_that_somebody_else_has_set_counts)
{
    begin_gated();
    for (uint32_t i = 0; i < 2; i++) {
        record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
        record_write(0);
        record_step(&cmdbuf, 0, LAYER_EVENT_RESET);
        submit_recorded(QUEUE(0), NONE, NONE);
        CHECK(is_the_hosts(0));
        if (i == 0)
            layer_work_finished_queue(dev, QUEUE(0));
        else
            hook_before_SetEvent(dev, VK_NULL_HANDLE, EVENT(0));
    }
    CHECK(!is_the_hosts(0));
    end_gated();
}

UNIT_TEST(a_query_says_nothing_of_gated_work_that_will_end_it)
{
    begin_gated();
    add_record(GEN_HANDLE_VkQueryPool, 0x600, 3, &pool);
    record_write(0);
    CHECK(layer_progress_queries_add(&cmdbuf.progress_queries, layer_progress_query_of_queries(dev, QUERIES, 4, 2)));
    submit_recorded(QUEUE(0), 2, 2, NONE);
    CHECK(is_the_hosts(0));
    store[1] = 77;
    layer_work_finished_indirectly(dev, layer_progress_query_of_queries(dev, QUERIES, 4, 1)); /* ended before */
    updates = 0;
    host_signals(2);
    CHECK_EQ_U64(updates, 1);
    layer_work_finished_indirectly(dev, layer_progress_query_of_queries(dev, QUERIES, 4, 1));
    CHECK(is_the_hosts(0));
    end_gated();
}

UNIT_TEST(a_present_of_gated_work_holds_nothing_up)
{
    VkSemaphore semaphore = SEMAPHORE(0);
    VkPresentInfoKHR info = {.waitSemaphoreCount = 1, .pWaitSemaphores = &semaphore};
    begin_gated();
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    submit_write(QUEUE(0), 0, NONE, 0, 0);
    layer_submit_present(dev, QUEUE(1), &info);
    submit_write(QUEUE(1), 16, NONE, NONE);
    CHECK(is_the_hosts(0) && !is_the_hosts(16));
    layer_work_finished_queue(dev, QUEUE(1)); /* the present has waited for the work, so that has begun, too */
    CHECK_EQ_U64(outstanding(), 0);
    end_gated();
}

UNIT_TEST(gated_work_is_never_folded)
{
    begin_gated();
    for (uint32_t i = 0; i < 400; i++)
        submit_write(QUEUE(0), 16 * (i % 200), 2, 1 + i / 200, NONE);
    submit_write(QUEUE(1), 3200, NONE, NONE);
    CHECK_EQ_U64(dev->submit.gated_count, 400);
    CHECK(is_the_hosts(0) && !is_the_hosts(3200));
    host_signals(1);
    CHECK_EQ_U64(dev->submit.gated_count, 200);
    CHECK(!is_the_hosts(0));
    host_signals(2);
    CHECK_EQ_U64(dev->submit.gated_count, 0);
    submit_write(QUEUE(0), 0, NONE, NONE);
    CHECK(outstanding() <= 402);
    end_gated();
}

UNIT_TEST(what_is_bound_before_a_wait_is_stored_to_behind_it)
{
    struct lap_spirv_access writes = {.stores = {lap_spirv_bit(1) | lap_spirv_bit(2)}};
    begin_gated();
    cmdbuf.state = LAYER_CMDBUF_RECORDING;
    push(1, 16);
    push(2, 32);
    layer_touch_work(&cmdbuf, LAYER_BIND_COMPUTE);
    cmdbuf.bound[LAYER_BIND_COMPUTE].access = &writes;
    record_step(&cmdbuf, 0, LAYER_EVENT_WAITED_FOR);
    CHECK_EQ_U64(cmdbuf.part_count, 1);
    push(2, 48); /* in its place */
    layer_touch_work(&cmdbuf, LAYER_BIND_COMPUTE);
    CHECK(!stores_to(0, 16) && !stores_to(0, 32) && !stores_to(0, 48));
    CHECK(stores_to(1, 16) && !stores_to(1, 32) && stores_to(1, 48));
    layer_touch_finish(&cmdbuf);
    end();
}

UNIT_MAIN();
