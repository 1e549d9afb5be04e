/* SPDX-License-Identifier: MIT */
/* What a wait tells about submitted work. */
#include "tests/unit/submission.h"

static struct layer_point point(uint64_t semaphore, uint64_t value, bool partial)
{
    return (struct layer_point){
        .semaphore = semaphore, .handle = 0x300 + semaphore - 1, .value = value, .partial = partial};
}

/* A batch that writes 16 bytes at `offset`. */
static struct layer_submission *submit(VkQueue queue, uint64_t offset)
{
    struct layer_submission *submission;
    struct layer_written written = {layer_resource_of_buffer(&buffer), offset, 16, true};
    dev->submit.serial++;
    submission = layer_submission_begin(dev, queue);
    CHECK(submission != NULL);
    CHECK(layer_submission_wrote(submission, written));
    layer_submission_end(dev);
    return submission;
}

UNIT_TEST(a_fence_tells_of_all_that_was_submitted_before_on_its_queue)
{
    begin();
    submit(QUEUE(0), 0);
    submit(QUEUE(1), 16);
    submit(QUEUE(0), 32)->fence = fences[0].object.index;
    submit(QUEUE(0), 48);
    layer_work_finished_fence(dev, FENCE(1));
    CHECK_EQ_U64(outstanding(), 4);
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(outstanding(), 2);
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_U64(checked_bytes, 32);
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(checks, 2);
    layer_work_finished_queue(dev, QUEUE(1));
    CHECK_EQ_U64(outstanding(), 1);
    layer_work_finished_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 4);
    end();
}

UNIT_TEST(a_fence_that_was_reset_tells_nothing)
{
    begin();
    submit(QUEUE(0), 0)->fence = fences[0].object.index;
    layer_forget_fence(dev, FENCE(0));
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(outstanding(), 1);
    end();
}

UNIT_TEST(a_semaphore_value_tells_of_smaller_signals)
{
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), point(semaphores[0].object.index, 5, false)));
    CHECK(layer_submission_signal(submit(QUEUE(0), 16), point(semaphores[0].object.index, 7, false)));
    layer_work_finished_semaphore(dev, SEMAPHORE(0), 4);
    CHECK_EQ_U64(outstanding(), 2);
    layer_work_finished_semaphore(dev, SEMAPHORE(1), 9);
    CHECK_EQ_U64(outstanding(), 2);
    layer_work_finished_semaphore(dev, SEMAPHORE(0), 6);
    CHECK_EQ_U64(outstanding(), 1);
    layer_work_finished_semaphore(dev, SEMAPHORE(0), 7);
    CHECK_EQ_U64(outstanding(), 0);
    end();
}

/* Queue 2 waited for queue 1, which waited for queue 0: one fence tells of all three. */
UNIT_TEST(what_finished_work_waited_for_is_finished)
{
    struct layer_submission *s;
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), point(semaphores[0].object.index, 1, false)));
    s = submit(QUEUE(1), 16);
    CHECK(layer_submission_wait(s, point(semaphores[0].object.index, 1, false)));
    CHECK(layer_submission_signal(s, point(semaphores[1].object.index, 1, false)));
    submit(QUEUE(0), 32);
    s = submit(QUEUE(2), 48);
    CHECK(layer_submission_wait(s, point(semaphores[1].object.index, 1, false)));
    s->fence = fences[2].object.index;
    layer_work_finished_fence(dev, FENCE(2));
    CHECK_EQ_U64(outstanding(), 1);
    CHECK(dev->submit.first->queue == QUEUE(0));
    CHECK(dev->submit.first == dev->submit.last);
    end();
}

UNIT_TEST(a_signal_of_some_stages_is_no_reason_to_check)
{
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), point(semaphores[0].object.index, 1, true)));
    layer_work_finished_semaphore(dev, SEMAPHORE(0), 1);
    CHECK_EQ_U64(checks, 0);
    CHECK_EQ_U64(sent_after_store(0), 1); /* the program may know that it is done with this byte */
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checked_bytes, 15);
    end();
}

UNIT_TEST(bytes_that_later_work_writes_are_not_checked)
{
    begin();
    submit(QUEUE(0), 0)->fence = fences[0].object.index;
    submit(QUEUE(0), 8);
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(checks, 0);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 1);
    end();
}

UNIT_TEST(a_refused_submit_leaves_nothing)
{
    begin();
    submit(QUEUE(0), 0);
    submit(QUEUE(0), 16);
    submit(QUEUE(0), 32);
    layer_submission_cancel(dev, 2, 3);
    CHECK_EQ_U64(outstanding(), 1);
    CHECK(dev->submit.last == dev->submit.first);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checked_bytes, 16);
    end();
}

/* Many batches of which the program never asks, and one fence at the end. */
UNIT_TEST(the_list_stays_short_and_nothing_is_forgotten)
{
    uint64_t sent = 0;
    begin();
    for (uint64_t i = 0; i < 5000; i++) {
        submit(QUEUE(i % 3), i % 200 * 16);
        CHECK(outstanding() <= 257);
    }
    memset(store, 1, 200 * 16); /* the device's work */
    layer_work_finished_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, count_bytes, NULL, &sent, NULL), LAP_OK);
    CHECK_EQ_U64(sent, 0);
    store[0] = 2; /* the host's */
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, count_bytes, NULL, &sent, NULL), LAP_OK);
    CHECK_EQ_U64(sent, 1);
    end();
}

UNIT_TEST(a_buffer_that_is_gone_is_passed_over)
{
    begin();
    submit(QUEUE(0), 0);
    layer_resource_remove(dev, layer_resource_of_buffer(&buffer));
    lap_memobj_destroy(&buffer.memobj);
    layer_work_finished_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 0);
    end();
}

static struct layer_submission *submit_busy(VkQueue queue, uint64_t offset)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, buffer.memobj, offset, 16, true));
    lap_memtrack_device_busy(dev->memtrack, &touched, false);
    lap_touched_finish(&touched);
    return submit(queue, offset);
}

static struct lap_object event, pool;

static struct layer_submission *submit_telling(uint64_t offset, struct layer_progress_query tell)
{
    struct layer_submission *s = submit_busy(QUEUE(0), offset);
    CHECK(layer_progress_queries_add(&s->progress_queries, tell));
    return s;
}

static struct layer_progress_query queries(uint32_t first, uint32_t count)
{
    return layer_progress_query_of_queries(dev, gen_VkQueryPool(0x600), first, count);
}

static void begin_telling(void)
{
    begin();
    add_record(GEN_HANDLE_VkEvent, 0x500, 3, &event);
    add_record(GEN_HANDLE_VkQueryPool, 0x600, 3, &pool);
}

UNIT_TEST(a_query_tells_of_the_submission_that_it_is_in)
{
    begin_telling();
    submit_busy(QUEUE(0), 0);
    submit_telling(32, queries(4, 2));
    submit_telling(64, queries(6, 1));
    layer_work_finished_indirectly(dev, queries(0, 4));
    layer_work_finished_indirectly(dev, layer_progress_query_of_event(dev, gen_VkEvent(0x500)));
    CHECK_EQ_U64(sent_after_store(0), 0);
    store[0] = 0;
    layer_work_finished_indirectly(dev, queries(5, 1));
    CHECK_EQ_U64(sent_after_store(1), 1);
    CHECK_EQ_U64(sent_after_store(33), 1);
    CHECK_EQ_U64(sent_after_store(65), 0);
    CHECK_EQ_U64(checks, 0); /* a replay has not waited for all of it */
    store[65] = 0;
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checked_bytes, 1 + 14 + 1 + 14 + 16); /* two bytes are the host's by now */
    end();
}

UNIT_TEST(an_event_tells_in_the_middle_of_a_submission)
{
    begin_telling();
    submit_telling(0, layer_progress_query_of_event(dev, gen_VkEvent(0x500)))->fence = fences[0].object.index;
    layer_work_finished_indirectly(dev, layer_progress_query_of_event(dev, gen_VkEvent(0x501))); /* of the host's own */
    CHECK_EQ_U64(sent_after_store(0), 0);
    store[0] = 0;
    layer_work_finished_indirectly(dev, layer_progress_query_of_event(dev, gen_VkEvent(0x500)));
    CHECK_EQ_U64(checks, 0);
    CHECK_EQ_U64(sent_after_store(0), 1);
    layer_work_finished_fence(dev, FENCE(0));
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 1);
    CHECK_EQ_U64(checked_from, 1);
    CHECK_EQ_U64(checked_bytes, 15);
    layer.options.verify = false; /* then nobody keeps what was seen */
    submit_telling(16, layer_progress_query_of_event(dev, gen_VkEvent(0x500)));
    layer_work_finished_indirectly(dev, layer_progress_query_of_event(dev, gen_VkEvent(0x500)));
    CHECK_EQ_U64(outstanding(), 0);
    end();
}

UNIT_TEST(what_tells_is_kept_when_submissions_are_folded)
{
    begin_telling();
    submit_telling(0, queries(9, 1));
    for (unsigned i = 0; i < 1000; i++)
        submit(QUEUE(0), 16);
    CHECK_EQ_U64(sent_after_store(0), 0);
    store[0] = 0;
    layer_work_finished_indirectly(dev, queries(9, 1));
    CHECK_EQ_U64(sent_after_store(0), 1);
    end();
}

UNIT_TEST(queries_in_a_row_are_one_item)
{
    struct layer_progress_queries progress_queries = {0};
    begin_telling();
    for (uint32_t i = 0; i < 100; i++)
        CHECK(layer_progress_queries_add(&progress_queries, queries(i + (i >= 50), 1)));
    CHECK_EQ_U64(progress_queries.count, 2);
    CHECK(layer_progress_queries_any(&progress_queries, queries(49, 1)));
    CHECK(!layer_progress_queries_any(&progress_queries, queries(50, 1)));
    CHECK(layer_progress_queries_any(&progress_queries, queries(50, UINT32_MAX)));
    CHECK(!layer_progress_queries_any(&progress_queries, queries(101, 1)));
    CHECK(layer_progress_queries_add(&progress_queries,
                                     layer_progress_query_of_event(dev, gen_VkEvent(0x7777)))); /* gone */
    CHECK_EQ_U64(progress_queries.count, 2);
    layer_progress_queries_finish(&progress_queries);
    end();
}

UNIT_TEST(what_varies_from_run_to_run_spoils_what_was_written_before)
{
    struct layer_written varying;
    struct layer_submission *s;
    begin();
    submit(QUEUE(0), 0);
    s = submit(QUEUE(0), 16);
    varying = (struct layer_written){layer_resource_of_buffer(&buffer), 8, 4, false};
    CHECK(layer_submission_wrote(s, varying));
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checked_bytes, 16);
    CHECK_EQ_U64(checked_from, 16);
    s = submit(QUEUE(0), 32);
    s->written[0].check = false;
    submit(QUEUE(0), 32); /* overwrites it */
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 2);
    end();
}

/* The program maps, or invalidates, after it has learnt that the work is finished. */
UNIT_TEST(what_can_not_be_seen_is_checked_when_it_is_shown)
{
    struct layer_memory memory = {.mem = mem};
    begin();
    memory.mem = mem;
    add_record(GEN_HANDLE_VkDeviceMemory, 0x500, 1, &memory.object);
    lap_mem_unmap(mem);
    submit(QUEUE(0), 0);
    submit(QUEUE(0), 64);
    submit(QUEUE(0), 128);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 0);
    submit(QUEUE(0), 128); /* again, and not finished */
    CHECK_EQ_INT(lap_mem_map(mem, store + 8, 8, BYTES - 8), LAP_OK);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 8, UINT64_MAX);
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_U64(checked_bytes, 8 + 16);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 8, UINT64_MAX);
    CHECK_EQ_U64(checks, 2); /* once */
    lap_mem_unmap(mem);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, 100), LAP_OK);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 0, 100);
    CHECK_EQ_U64(checks, 3); /* the first 8 bytes */
    CHECK_EQ_U64(checked_from, 0);
    layer_work_finished_queue(dev, QUEUE(0)); /* out of sight */
    CHECK_EQ_U64(checks, 3);
    lap_mem_unmap(mem);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, BYTES), LAP_OK);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 0, BYTES);
    CHECK_EQ_U64(checks, 4);
    CHECK_EQ_U64(checked_from, 128);
    end();
}

/* One range in four pieces of two memories, which are mapped one after the other. */
UNIT_TEST(each_piece_is_checked_when_its_memory_is_mapped)
{
    enum { QUARTER = BYTES / 4 };
    struct layer_memory memories[2] = {{.mem = NULL}, {.mem = NULL}};
    struct layer_written whole = {0, 0, BYTES, true};
    struct lap_mem *other = NULL;
    unsigned char *other_store = calloc(1, BYTES);
    begin();
    CHECK_EQ_INT(lap_mem_create(dev->memtrack, BYTES, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &other), LAP_OK);
    memories[0].mem = mem;
    memories[1].mem = other;
    add_record(GEN_HANDLE_VkDeviceMemory, 0x500, 1, &memories[0].object);
    add_record(GEN_HANDLE_VkDeviceMemory, 0x501, 2, &memories[1].object);
    CHECK_EQ_INT(lap_memobj_bind_sparse(buffer.memobj, QUARTER, other, 0, QUARTER), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind_sparse(buffer.memobj, 3 * QUARTER, other, 2 * QUARTER, QUARTER), LAP_OK);
    lap_mem_unmap(mem);
    dev->submit.serial++;
    whole.resource = layer_resource_of_buffer(&buffer);
    CHECK(layer_submission_wrote(layer_submission_begin(dev, QUEUE(0)), whole));
    lap_touched_reset(&dev->submit.batch.ranges);
    CHECK(lap_touched_add(&dev->submit.batch.ranges, buffer.memobj, 0, BYTES, true));
    lap_memtrack_device_busy(dev->memtrack, &dev->submit.batch.ranges, false);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 0);
    CHECK_EQ_INT(lap_mem_map(other, other_store, 0, BYTES), LAP_OK);
    layer_check_visible(dev, gen_VkDeviceMemory(0x501), 0, BYTES);
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_U64(checked_bytes, 2 * QUARTER);
    CHECK_EQ_U64(checked_from, 3 * QUARTER);
    layer_check_visible(dev, gen_VkDeviceMemory(0x501), 0, BYTES);
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, BYTES), LAP_OK);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 0, BYTES);
    CHECK_EQ_U64(checks, 4);
    CHECK_EQ_U64(checked_bytes, BYTES);
    CHECK_EQ_U64(checked_from, 0); /* the newest ranges come first */
    CHECK_EQ_U64(dev->submit.unseen.count, 0);
    lap_mem_destroy(&other);
    free(other_store);
    end();
}

UNIT_TEST(without_coherence_an_invalidate_shows_it)
{
    struct layer_memory memory = {.mem = mem};
    begin();
    memory.mem = mem;
    add_record(GEN_HANDLE_VkDeviceMemory, 0x500, 1, &memory.object);
    buffer.non_coherent = true;
    submit(QUEUE(0), 64);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 0);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 0, 64);
    CHECK_EQ_U64(checks, 0);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 68, 4);
    CHECK_EQ_U64(checked_bytes, 4);
    layer_check_visible(dev, gen_VkDeviceMemory(0x500), 0, UINT64_MAX);
    CHECK_EQ_U64(checks, 3);
    CHECK_EQ_U64(checked_bytes, 16);
    end();
}

UNIT_TEST(an_idle_queue_tells_of_what_its_presents_waited_for)
{
    VkSemaphore semaphore = SEMAPHORE(1);
    VkPresentInfoKHR info = {.waitSemaphoreCount = 1, .pWaitSemaphores = &semaphore};
    begin();
    semaphores[1].signals = 3;
    CHECK(layer_submission_signal(submit_busy(QUEUE(0), 0), point(semaphores[1].object.index, 3, false)));
    layer_submit_present(dev, QUEUE(1), &info);
    CHECK_EQ_U64(outstanding(), 2);
    layer_work_finished_queue(dev, QUEUE(1));
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(sent_after_store(0), 1);
    layer_submit_present(dev, QUEUE(1), &info); /* nothing to tell of */
    CHECK_EQ_U64(outstanding(), 0);
    end();
}

/* VK_EXT_swapchain_maintenance1: of what the present waited for, but not of what else was submitted before it, nor of
 * another present that may take longer. */
UNIT_TEST(a_fence_of_a_present_tells_of_what_the_present_waited_for)
{
    VkSemaphore semaphore_list[2] = {SEMAPHORE(1), SEMAPHORE(0)};
    VkFence fence_list[2] = {FENCE(1), FENCE(2)};
    VkSwapchainPresentFenceInfoEXT present_fences[2];
    VkPresentInfoKHR infos[2];
    begin();
    for (uint32_t i = 0; i < 2; i++) {
        present_fences[i] =
            (VkSwapchainPresentFenceInfoEXT){.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_PRESENT_FENCE_INFO_EXT,
                                             .swapchainCount = 1,
                                             .pFences = &fence_list[i]};
        infos[i] = (VkPresentInfoKHR){
            .pNext = &present_fences[i], .waitSemaphoreCount = 1, .pWaitSemaphores = &semaphore_list[i]};
    }
    semaphores[1].signals = semaphores[0].signals = 3;
    CHECK(layer_submission_signal(submit_busy(QUEUE(0), 0), point(semaphores[1].object.index, 3, false)));
    CHECK(layer_submission_signal(submit_busy(QUEUE(2), 32), point(semaphores[0].object.index, 3, false)));
    submit_busy(QUEUE(1), 64);
    layer_submit_present(dev, QUEUE(1), &infos[1]);
    layer_submit_present(dev, QUEUE(1), &infos[0]);
    CHECK_EQ_U64(outstanding(), 7);
    layer_work_finished_fence(dev, FENCE(1));
    CHECK_EQ_U64(outstanding(), 5); /* the work that signalled, and what stood for the fence */
    CHECK_EQ_U64(sent_after_store(0), 1);
    CHECK_EQ_U64(sent_after_store(32), 0);
    CHECK_EQ_U64(sent_after_store(64), 0);
    layer_work_finished_fence(dev, FENCE(2));
    CHECK_EQ_U64(outstanding(), 3); /* that of queue 1, and its presents */
    CHECK_EQ_U64(sent_after_store(33), 1);
    layer_work_finished_queue(dev, QUEUE(1));
    CHECK_EQ_U64(outstanding(), 0);
    end();
}

static void submit_timeline(VkQueue queue, bool signal, uint64_t value)
{
    VkSemaphore semaphore = SEMAPHORE(2);
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &value,
                                            .signalSemaphoreValueCount = 1,
                                            .pSignalSemaphoreValues = &value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = &values,
                         .waitSemaphoreCount = !signal,
                         .pWaitSemaphores = &semaphore,
                         .signalSemaphoreCount = signal,
                         .pSignalSemaphores = &semaphore};
    sends = 0;
    sent_everything = false;
    CHECK_EQ_INT(capture_QueueSubmit(queue, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
}

/* Half of the buffer gets other memory while a job that writes across the border is under way. */
UNIT_TEST(work_goes_on_writing_where_a_sparse_object_lay)
{
    begin();
    struct lap_mem *other = NULL;
    unsigned char *other_store = calloc(1, BYTES);
    struct layer_written whole = {layer_resource_of_buffer(&buffer), 0, BYTES, true};
    struct layer_written half = {layer_resource_of_buffer(&buffer), BYTES / 2, BYTES / 2, false};
    CHECK_EQ_INT(lap_mem_create(dev->memtrack, BYTES, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &other), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(other, other_store, 0, BYTES), LAP_OK);
    dev->submit.serial++;
    CHECK(layer_submission_wrote(layer_submission_begin(dev, QUEUE(0)), whole));
    layer_submission_moves(dev, &half);
    CHECK_EQ_U64(dev->submit.snapshots.count, 1);
    CHECK_EQ_INT(lap_memobj_bind_sparse(buffer.memobj, BYTES / 2, other, 0, BYTES / 2), LAP_OK);
    memset(store, 3, BYTES); /* the device */
    other_store[10] = 4;     /* the host */
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(dev->submit.snapshots.count, 0);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checked_bytes, BYTES / 2);
    other_store[11] = 5;
    CHECK_EQ_U64(sent_after_store(0), 2 + 1); /* both stores of the host, and the new one */
    /* A page that comes back holds what the device wrote, and nothing else is sent of it. */
    CHECK_EQ_INT(lap_memobj_bind_sparse(buffer.memobj, BYTES / 2, mem, BYTES / 2, BYTES / 2), LAP_OK);
    CHECK_EQ_U64(sent_after_store(BYTES / 2 + 100), 1);
    /* Work that nobody waits for until the device goes. */
    dev->submit.serial++;
    CHECK(layer_submission_wrote(layer_submission_begin(dev, QUEUE(0)), whole));
    layer_submission_moves(dev, &half);
    CHECK_EQ_U64(dev->submit.snapshots.count, 1);
    lap_mem_destroy(&other);
    free(other_store);
    end();
}

UNIT_TEST(a_signal_that_earlier_work_waits_for_sends_everything)
{
    begin();
    semaphores[2].timeline = true;
    submit_timeline(QUEUE(0), false, 2);
    CHECK_EQ_U64(outstanding(), 1);
    submit_timeline(QUEUE(1), true, 1); /* not enough */
    CHECK(!sent_everything);
    submit_timeline(QUEUE(1), true, 2);
    CHECK(sent_everything);
    CHECK_EQ_U64(sends, 1);
    layer_work_finished_device(dev);
    submit_timeline(QUEUE(0), false, 2); /* signalled before: nobody has to be told */
    CHECK_EQ_U64(outstanding(), 0);
    submit_timeline(QUEUE(1), true, 3);
    CHECK(!sent_everything);
    end();
}

/* ---- what can't be known ---- */

static bool sends_everything(bool unknown)
{
    VkCommandBuffer handle = COMMANDS;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &handle};
    layer_touch_reset(&cmdbuf);
    cmdbuf.state = LAYER_CMDBUF_RECORDING;
    layer_touch_buffer(&cmdbuf, gen_VkBuffer(0x400), 0, 16, LAYER_READS);
    if (unknown)
        layer_touch_unknown(&cmdbuf);
    sent_everything = !unknown;
    CHECK_EQ_INT(capture_QueueSubmit(QUEUE(0), 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
    return sent_everything;
}

UNIT_TEST(only_submits_of_commands_that_reach_unknown_memory_touch_everything)
{
    begin();
    dev->device_addresses = true; /* that the program may is no reason */
    CHECK(!sends_everything(false));
    CHECK(sends_everything(true));
    CHECK(!sends_everything(false));
    layer_touch_finish(&cmdbuf);
    end();
}

UNIT_TEST(what_may_be_stored_anywhere_is_looked_for_when_it_has_finished)
{
    begin();
    (void)sends_everything(true);
    sends = 0;
    sent_everything = false;
    layer_work_finished_queue(dev, QUEUE(1)); /* of another queue */
    CHECK_EQ_U64(sends, 0);
    layer_work_finished_queue(dev, QUEUE(0));
    CHECK_EQ_U64(sends, 1);
    CHECK(sent_everything);
    layer_work_finished_queue(dev, QUEUE(0));
    (void)sends_everything(false);
    sends = 0;
    layer_work_finished_device(dev); /* nothing of that kind any more */
    CHECK_EQ_U64(sends, 0);
    CHECK_EQ_U64(outstanding(), 0);
    layer_touch_finish(&cmdbuf);
    end();
}

/* ---- what is checked ---- */

static struct layer_image image;

/* Where the image lies in the upper half of the buffer it has another's bytes. */
static void begin_image(uint64_t offset)
{
    begin();
    memset(&image, 0, sizeof image);
    add_record(GEN_HANDLE_VkImage, 0x500, 1, &image.object);
    image.info.tiling = VK_IMAGE_TILING_LINEAR;
    if (offset == 0)
        lap_memobj_unbind(buffer.memobj, 0, BYTES);
    CHECK_EQ_INT(lap_memobj_create(dev->memtrack, &image, BYTES / 2, true, &image.memobj), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(image.memobj, 0, mem, offset, BYTES / 2), LAP_OK);
    CHECK(layer_resource_add(dev, layer_resource_of_image(&image), image.memobj));
}

/* Submits work that writes 16 bytes of the image, and says whether they will be checked. */
static bool checks_image(uint64_t offset, enum layer_touch how)
{
    VkCommandBuffer handle = COMMANDS;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &handle};
    CHECK(layer_touched_add(&cmdbuf.touched, image.memobj, offset, 16, how));
    CHECK_EQ_INT(capture_QueueSubmit(QUEUE(0), 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
    layer_touch_reset(&cmdbuf);
    for (uint32_t i = 0; i < dev->submit.last->written_count; i++)
        if (dev->submit.last->written[i].offset == offset)
            return dev->submit.last->written[i].check;
    UNIT_FAIL("the range is not written");
    return false;
}

UNIT_TEST(what_is_written_in_part_is_checked_while_the_rest_is_known)
{
    begin_image(0);
    CHECK(checks_image(0, LAYER_WRITES));
    CHECK(checks_image(0, LAYER_WRITES_PARTLY));
    CHECK(!checks_image(256, LAYER_WRITES_VARYING));
    CHECK(!checks_image(0, LAYER_WRITES_PARTLY)); /* it may be what that left */
    CHECK(checks_image(0, LAYER_WRITES));
    layer_touch_finish(&cmdbuf);
    end();
}

UNIT_TEST(what_is_written_in_part_is_not_checked_with_what_varies_in_the_same_batch)
{
    begin_image(0);
    CHECK(layer_touched_add(&cmdbuf.touched, image.memobj, 512, 16, LAYER_WRITES_VARYING));
    CHECK(!checks_image(0, LAYER_WRITES_PARTLY));
    CHECK(layer_touched_add(&cmdbuf.touched, image.memobj, 8, 16, LAYER_WRITES_VARYING));
    CHECK(!checks_image(0, LAYER_WRITES));
    layer_touch_finish(&cmdbuf);
    end();
}

UNIT_TEST(what_is_written_in_part_is_not_checked_where_others_lie)
{
    begin_image(BYTES / 2);
    CHECK(!checks_image(0, LAYER_WRITES_PARTLY));
    CHECK(checks_image(0, LAYER_WRITES));
    layer_touch_finish(&cmdbuf);
    end();
    begin_image(0);
    image.info.flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT;
    CHECK(!checks_image(0, LAYER_WRITES_PARTLY));
    layer_touch_finish(&cmdbuf);
    end();
}

/* ---- pushed descriptors ---- */

static void dispatch(const struct lap_spirv_access *writes)
{
    struct layer_bound *bound = &cmdbuf.bound[LAYER_BIND_COMPUTE];
    bound->access = writes;
    bound->stale = writes;
    layer_touch_work(&cmdbuf, LAYER_BIND_COMPUTE);
}

UNIT_TEST(a_pipeline_that_is_bound_after_a_push_stores_to_what_was_pushed)
{
    struct lap_spirv_access writes = {.stores = {lap_spirv_bit(1)}};
    begin();
    cmdbuf.state = LAYER_CMDBUF_RECORDING;
    dispatch(NULL);
    push(0, 0);
    push(1, 16);
    push(1, 32); /* in its place */
    dispatch(NULL);
    CHECK(!stores_to(0, 32));
    dispatch(&writes);
    CHECK(!stores_to(0, 0));
    CHECK(!stores_to(0, 16));
    CHECK(stores_to(0, 32));
    push(1, 80); /* with the storing pipeline bound */
    CHECK(!stores_to(0, 80));
    layer_touch_work(&cmdbuf, LAYER_BIND_COMPUTE);
    CHECK(stores_to(0, 80));
    CHECK(stores_to(0, 32));
    layer_touch_finish(&cmdbuf);
    end();
}

/* ---- capture --verify=all: what may be waited for behind its submit ---- */

UNIT_TEST(what_is_not_mapped_is_read_back_when_the_layer_has_waited)
{
    begin();
    layer.options.verify_all = true;
    lap_mem_unmap(mem);
    read_back = 0;
    submit(QUEUE(0), 0);
    submit(QUEUE(1), 16);
    layer_submission_waited(dev, QUEUE(0));
    CHECK_EQ_U64(read_back, 1);
    CHECK_EQ_U64(outstanding(), 1);
    layer_submission_waited(dev, QUEUE(1));
    CHECK_EQ_U64(read_back, 2);
    CHECK_EQ_U64(checks, 0);
    layer.options.verify_all = false;
    end();
}

UNIT_MAIN();
