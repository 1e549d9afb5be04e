/* SPDX-License-Identifier: MIT */
/* Which packets a part of a trace depends on. */
#include "tests/unit/slice_trace.h"

static uint64_t put_dispatch(struct written *w, unsigned commands, unsigned set)
{
    struct block b = begin_block(w);
    gen_encode_vkCmdBindDescriptorSets(command(&b, GEN_vkCmdBindDescriptorSets), VK_PIPELINE_BIND_POINT_COMPUTE,
                                       VK_NULL_HANDLE, 0, 1, &w->sets[set], 0, NULL);
    gen_encode_vkCmdDispatch(command(&b, GEN_vkCmdDispatch), 1, 1, 1);
    return end_block(&b, commands);
}

static uint64_t put_write(struct written *w, unsigned buffer, uint64_t offset, size_t bytes)
{
    static const char zeros[16];
    return PUT(w, lapilliUpdateBuffer, w->buffers[buffer], offset, bytes, zeros);
}

static void put_sets(struct written *w)
{
    const VkDescriptorSetLayoutBinding binding = {.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                  .descriptorCount = 1 << 25};
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetLayout layouts[SETS];
    const VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorSetCount = SETS, .pSetLayouts = layouts};
    for (unsigned i = 0; i < SETS; i++)
        layouts[i] = gen_VkDescriptorSetLayout(sample_handle(&w->s, GEN_HANDLE_VkDescriptorSetLayout, 1));
    PUT(w, vkCreateDescriptorSetLayout, w->device, &info, NULL, layouts, VK_SUCCESS);
    PUT(w, vkAllocateDescriptorSets, w->device, &allocate, w->sets, VK_SUCCESS);
}

static uint64_t put_descriptor(struct written *w, unsigned set, uint32_t element, unsigned buffer)
{
    VkDescriptorBufferInfo info = {w->buffers[buffer], 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstSet = w->sets[set],
                                  .dstArrayElement = element,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &info};
    return PUT(w, vkUpdateDescriptorSets, w->device, 1, &write, 0, NULL);
}

static uint64_t put_descriptor_copy(struct written *w, uint32_t from, uint32_t to, uint32_t count)
{
    VkCopyDescriptorSet copies = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                  .srcSet = w->sets[0],
                                  .srcArrayElement = from,
                                  .dstSet = w->sets[1],
                                  .dstArrayElement = to,
                                  .descriptorCount = count};
    return PUT(w, vkUpdateDescriptorSets, w->device, 0, NULL, 1, &copies);
}

UNIT_TEST(what_nothing_of_the_part_uses_is_left_out)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 4);
    uint64_t wanted = put_write(&w, 0, 0, 16), unwanted = put_write(&w, 2, 0, 16);
    uint64_t from = put_copy(&w, 0, 0, 1), away = put_copy(&w, 1, 2, 3);
    uint64_t submitted = put_submit(&w, 0);
    uint64_t beside = put_submit(&w, 1);
    uint64_t last = put_copy(&w, 2, 1, 0);
    uint64_t part = put_submit(&w, 2);

    CHECK_EQ_INT(find(&w, last), LAP_OK);
    CHECK(fate(&w, w.made[0]) == SLICE_KEPT && fate(&w, w.made[1]) == SLICE_KEPT);
    CHECK(fate(&w, wanted) == SLICE_KEPT && fate(&w, from) == SLICE_KEPT && fate(&w, submitted) == SLICE_KEPT);
    CHECK(fate(&w, w.made[2]) == SLICE_DROPPED && fate(&w, w.made[3]) == SLICE_DROPPED);
    CHECK_EQ_U64(slice_holes(w.slice), 0); /* above the highest number */
    CHECK(fate(&w, unwanted) == SLICE_DROPPED && fate(&w, away) != SLICE_KEPT);
    CHECK(fate(&w, last) == SLICE_KEPT && fate(&w, part) == SLICE_KEPT && fate(&w, part + 1) == SLICE_DROPPED);
    CHECK(fate(&w, beside) == SLICE_DROPPED && fate(&w, away) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(the_source_of_a_copy_is_not_written)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 3);
    uint64_t reads = put_copy(&w, 0, 0, 1);
    put_submit(&w, 0);
    uint64_t part = put_copy(&w, 1, 0, 2);
    put_submit(&w, 1);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, reads) != SLICE_KEPT && fate(&w, w.made[1]) == SLICE_DROPPED);
    end(&w);
}

static uint64_t put_fill(struct written *w, unsigned commands, unsigned buffer, uint64_t offset, uint64_t size)
{
    struct block b = begin_block(w);
    gen_encode_vkCmdFillBuffer(command(&b, GEN_vkCmdFillBuffer), w->buffers[buffer], offset, size, 7);
    return end_block(&b, commands);
}

UNIT_TEST(work_that_is_written_over_is_left_out)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 2);
    uint64_t early = put_fill(&w, 0, 0, 0, 16);
    put_submit(&w, 0);
    uint64_t whole = put_fill(&w, 1, 0, 0, VK_WHOLE_SIZE);
    put_submit(&w, 1);
    uint64_t rest = put_fill(&w, 2, 0, 4, VK_WHOLE_SIZE);
    put_submit(&w, 2);
    uint64_t part = put_copy(&w, 3, 0, 1);
    put_submit(&w, 3);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, whole) == SLICE_KEPT && fate(&w, rest) == SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, early), SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(command_buffers_nest_as_deep_as_they_like)
{
    struct written w;
    uint64_t blocks[DEPTH];
    begin(&w);
    put_buffers(&w, 3);
    uint64_t write = put_write(&w, 0, 0, 16);
    blocks[0] = put_copy(&w, 0, 0, 1);
    for (unsigned i = 1; i < DEPTH - 1; i++) {
        struct block b = begin_block(&w);
        /* Twice, so that a walk through all paths would not end. */
        VkCommandBuffer inner[2] = {w.commands[i - 1], w.commands[i - 1]};
        gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 2, inner);
        blocks[i] = end_block(&b, i);
    }
    put_submit(&w, DEPTH - 2);
    uint64_t part = put_copy(&w, DEPTH - 1, 1, 2);
    put_submit(&w, DEPTH - 1);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, write) == SLICE_KEPT && fate(&w, w.made[0]) == SLICE_KEPT);
    for (unsigned i = 0; i < DEPTH - 1; i++)
        CHECK_EQ_INT(fate(&w, blocks[i]), SLICE_KEPT);
    end(&w);
}

UNIT_TEST(a_primary_of_the_part_needs_what_it_executes)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 2);
    uint64_t inner = put_copy(&w, 0, 0, 1);
    struct block b = begin_block(&w);
    gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 1, &w.commands[0]);
    uint64_t outer = end_block(&b, 1); /* and it is not submitted */
    CHECK_EQ_INT(find(&w, outer), LAP_OK);
    CHECK_EQ_INT(fate(&w, inner), SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, w.made[1]), SLICE_KEPT);
    end(&w);
}

UNIT_TEST(host_writes_that_later_ones_replace_are_left_out)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 2);
    uint64_t first = put_write(&w, 0, 0, 16);
    uint64_t middle = put_write(&w, 0, 4, 8);
    uint64_t head = put_write(&w, 0, 0, 8);
    uint64_t tail = put_write(&w, 0, 10, 6);
    uint64_t part = put_copy(&w, 0, 0, 1);
    put_submit(&w, 0);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, head) == SLICE_KEPT && fate(&w, tail) == SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, middle), SLICE_KEPT); /* two bytes of it show */
    CHECK_EQ_INT(fate(&w, first), SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(a_set_is_what_it_was_at_each_submit)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 4);
    put_sets(&w);
    uint64_t to_first = put_descriptor(&w, 0, 0, 0);
    uint64_t early = put_dispatch(&w, 0, 0);
    put_submit(&w, 0); /* buffer 0 is written */
    uint64_t to_second = put_descriptor(&w, 0, 0, 1);
    uint64_t late = put_dispatch(&w, 1, 0);
    put_submit(&w, 1); /* buffer 1 is written, which nobody reads */
    uint64_t part = put_copy(&w, 2, 0, 2);
    put_submit(&w, 2);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, early) == SLICE_KEPT && fate(&w, to_first) == SLICE_KEPT);
    CHECK(fate(&w, late) != SLICE_KEPT && fate(&w, to_second) == SLICE_DROPPED);
    CHECK(fate(&w, w.made[1]) == SLICE_DROPPED && fate(&w, w.made[3]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(copies_of_descriptors_need_what_wrote_them)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 3);
    put_sets(&w);
    uint64_t unused = put_descriptor(&w, 0, 7, 2), used = put_descriptor(&w, 0, 1, 0);
    uint64_t copied = put_descriptor_copy(&w, 1, 5, 1);
    uint64_t dispatch = put_dispatch(&w, 0, 1);
    put_submit(&w, 0);
    uint64_t part = put_copy(&w, 1, 0, 1);
    put_submit(&w, 1);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, dispatch) == SLICE_KEPT && fate(&w, copied) == SLICE_KEPT && fate(&w, used) == SLICE_KEPT);
    CHECK(fate(&w, unused) == SLICE_DROPPED && fate(&w, w.made[2]) == SLICE_DROPPED);
    end(&w);

    begin(&w);
    put_buffers(&w, 4);
    part = put_copy(&w, 0, 1, 3);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK_EQ_U64(slice_holes(w.slice), 2); /* 1 and 3 of 4 */
    end(&w);
}

/* ---- what orders work ---- */

static VkSemaphore put_semaphore(struct written *w, uint64_t number, bool timeline)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = timeline ? &type : NULL};
    VkSemaphore semaphore = gen_VkSemaphore(sample_handle(&w->s, GEN_HANDLE_VkSemaphore, number));
    PUT(w, vkCreateSemaphore, w->device, &info, NULL, &semaphore, VK_SUCCESS);
    return semaphore;
}

struct point {
    VkSemaphore semaphore;
    uint64_t value;
};

static uint64_t put_ordered(struct written *w, struct point wait, struct point signal, VkFence fence)
{
    VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = wait.semaphore != VK_NULL_HANDLE,
                                            .pWaitSemaphoreValues = &wait.value,
                                            .signalSemaphoreValueCount = signal.semaphore != VK_NULL_HANDLE,
                                            .pSignalSemaphoreValues = &signal.value};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = wait.value || signal.value ? &values : NULL,
                         .waitSemaphoreCount = wait.semaphore != VK_NULL_HANDLE,
                         .pWaitSemaphores = &wait.semaphore,
                         .pWaitDstStageMask = &stages,
                         .signalSemaphoreCount = signal.semaphore != VK_NULL_HANDLE,
                         .pSignalSemaphores = &signal.semaphore};
    return PUT(w, vkQueueSubmit, w->queue, 1, &info, fence);
}

#define NOTHING ((struct point){VK_NULL_HANDLE, 0})

UNIT_TEST(binary_semaphores_are_signalled_and_waited_for_in_pairs)
{
    struct written w;
    uint64_t signal[3], wait[3];
    begin(&w);
    struct point semaphore = {put_semaphore(&w, 1, false), 0};
    for (int i = 0; i < 3; i++) {
        signal[i] = put_ordered(&w, NOTHING, semaphore, VK_NULL_HANDLE);
        wait[i] = put_ordered(&w, semaphore, NOTHING, VK_NULL_HANDLE);
    }
    CHECK_EQ_INT(find(&w, wait[2]), LAP_OK);
    CHECK(fate(&w, signal[2]) == SLICE_KEPT && fate(&w, wait[2]) == SLICE_KEPT);
    for (int i = 0; i < 2; i++)
        CHECK(fate(&w, signal[i]) == SLICE_DROPPED && fate(&w, wait[i]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(a_fence_stays_with_its_waits_and_resets)
{
    struct written w;
    uint64_t submit[4], wait[4], reset[4];
    begin(&w);
    put_buffers(&w, 2);
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = gen_VkFence(sample_handle(&w.s, GEN_HANDLE_VkFence, 1));
    PUT(&w, vkCreateFence, w.device, &info, NULL, &fence, VK_SUCCESS);
    uint64_t work = put_copy(&w, 0, 0, 1), early = put_submit(&w, 0);
    for (int i = 0; i < 4; i++) {
        submit[i] = put_ordered(&w, NOTHING, NOTHING, fence);
        wait[i] = PUT(&w, vkWaitForFences, w.device, 1, &fence, VK_TRUE, UINT64_MAX, VK_SUCCESS);
        reset[i] = PUT(&w, vkResetFences, w.device, 1, &fence);
    }
    uint64_t part = put_copy(&w, 1, 1, 0);
    put_submit(&w, 1);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    /* The fence behind the work shows that it is done; later ones show nothing new. */
    CHECK(fate(&w, work) == SLICE_KEPT && fate(&w, early) == SLICE_KEPT);
    CHECK(fate(&w, submit[0]) == SLICE_KEPT && fate(&w, wait[0]) == SLICE_KEPT && fate(&w, reset[0]) == SLICE_KEPT);
    for (int i = 1; i < 4; i++)
        CHECK(fate(&w, submit[i]) == SLICE_DROPPED && fate(&w, wait[i]) == SLICE_DROPPED &&
              fate(&w, reset[i]) == SLICE_DROPPED);
    /* A wait of the part is for the last signal, behind the last reset. */
    CHECK_EQ_INT(find(&w, wait[3]), LAP_OK);
    CHECK(fate(&w, submit[3]) == SLICE_KEPT && fate(&w, reset[2]) == SLICE_KEPT);
    CHECK(fate(&w, submit[1]) == SLICE_DROPPED && fate(&w, submit[2]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(a_value_needs_the_signal_that_reaches_it)
{
    struct written w;
    uint64_t signal[6];
    begin(&w);
    VkSemaphore timeline = put_semaphore(&w, 1, true), other = put_semaphore(&w, 2, true);
    uint64_t waits = put_ordered(&w, (struct point){timeline, 25}, (struct point){other, 1}, VK_NULL_HANDLE);
    for (uint64_t i = 0; i < 6; i++)
        signal[i] = put_ordered(&w, NOTHING, (struct point){timeline, 10 * (i + 1)}, VK_NULL_HANDLE);
    VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &timeline};
    info.pValues = (uint64_t[]){45};
    uint64_t host = PUT(&w, vkWaitSemaphores, w.device, &info, UINT64_MAX, VK_SUCCESS);
    uint64_t part = put_ordered(&w, (struct point){other, 1}, NOTHING, VK_NULL_HANDLE);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, waits) == SLICE_KEPT && fate(&w, signal[2]) == SLICE_KEPT); /* to 30 */
    CHECK(fate(&w, host) == SLICE_KEPT && fate(&w, signal[4]) == SLICE_KEPT);  /* to 50, which the host waited for */
    CHECK(fate(&w, signal[0]) == SLICE_DROPPED && fate(&w, signal[1]) == SLICE_DROPPED);
    CHECK(fate(&w, signal[3]) == SLICE_DROPPED && fate(&w, signal[5]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(work_stays_with_the_next_wait_for_all)
{
    struct written w;
    uint64_t idle[3];
    begin(&w);
    put_buffers(&w, 2);
    idle[0] = PUT(&w, vkDeviceWaitIdle, w.device, VK_SUCCESS);
    put_copy(&w, 0, 0, 1);
    put_submit(&w, 0);
    idle[1] = PUT(&w, vkQueueWaitIdle, w.queue, VK_SUCCESS);
    idle[2] = PUT(&w, vkDeviceWaitIdle, w.device, VK_SUCCESS);
    uint64_t part = put_copy(&w, 1, 1, 0);
    put_submit(&w, 1);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, idle[1]) == SLICE_KEPT && fate(&w, idle[0]) == SLICE_DROPPED && fate(&w, idle[2]) == SLICE_DROPPED);
    end(&w);
}

/* ---- parts that end with a command ---- */

static enum lap_status find_command(struct written *w, const char *text)
{
    static struct position_found found;
    struct position position;
    enum lap_status status;

    begin_search(w);
    CHECK_EQ_INT(position_parse(text, &position), LAP_OK);
    CHECK_EQ_INT(position_find(w->reader, &position, &found), LAP_OK);
    status = slice_find(w->reader, found.ticket, found.ticket, &found, NULL, NULL, &w->slice);
    CHECK((status == LAP_OK) == (w->slice != NULL));
    return status;
}

static uint64_t put_submit_of(struct written *w, uint32_t count, const VkCommandBuffer *commands)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = count, .pCommandBuffers = commands};
    return PUT(w, vkQueueSubmit, w->queue, 1, &info, VK_NULL_HANDLE);
}

UNIT_TEST(what_stands_behind_the_command_is_not_needed)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 6);
    struct block b = begin_block(&w);
    copy(&b, 0, 1);
    copy(&b, 2, 3);
    uint64_t recorded = end_block(&b, 0);
    uint64_t behind = put_copy(&w, 1, 4, 5);
    uint64_t part = put_submit_of(&w, 2, w.commands);

    CHECK_EQ_INT(find_command(&w, "1.1.1.1"), LAP_OK);
    CHECK(fate(&w, w.made[0]) == SLICE_KEPT && fate(&w, w.made[1]) == SLICE_KEPT);
    for (unsigned i = 2; i < 6; i++)
        CHECK_EQ_INT(fate(&w, w.made[i]), SLICE_DROPPED);
    CHECK(fate(&w, part) == SLICE_KEPT && fate(&w, behind) == SLICE_DROPPED);
    CHECK_EQ_INT(fate(&w, recorded), SLICE_DROPPED); /* another one takes its place */
    CHECK_EQ_INT(find_command(&w, "1.1.1.2"), LAP_OK);
    CHECK(fate(&w, w.made[3]) == SLICE_KEPT && fate(&w, w.made[4]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(command_buffers_before_the_command_stay_if_it_needs_them)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 4);
    uint64_t needed = put_copy(&w, 0, 0, 1), other = put_copy(&w, 1, 2, 3);
    put_copy(&w, 2, 1, 0);
    put_submit_of(&w, 3, w.commands);

    CHECK_EQ_INT(find_command(&w, "1.1.3.1"), LAP_OK);
    CHECK_EQ_INT(fate(&w, needed), SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, other), SLICE_EMPTIED);
    CHECK(fate(&w, w.made[0]) == SLICE_KEPT && fate(&w, w.made[2]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(earlier_submits_of_the_same_command_buffer_stay_whole)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 3);
    struct block b = begin_block(&w);
    copy(&b, 1, 2);
    copy(&b, 0, 1);
    uint64_t recorded = end_block(&b, 0);
    uint64_t earlier = put_submit(&w, 0);
    put_submit(&w, 0);

    CHECK_EQ_INT(find_command(&w, "1.2.1.1"), LAP_OK); /* reads what the second copy wrote before */
    CHECK(fate(&w, recorded) == SLICE_KEPT && fate(&w, earlier) == SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, w.made[0]), SLICE_KEPT);
    end(&w);
}

UNIT_TEST(of_executed_command_buffers_those_before_the_command_stay)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 6);
    uint64_t before = put_copy(&w, 0, 0, 1), cut = put_copy(&w, 1, 2, 3), behind = put_copy(&w, 2, 4, 5);
    struct block b = begin_block(&w);
    gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 3, w.commands);
    end_block(&b, 3);
    put_submit(&w, 3);

    CHECK_EQ_INT(find_command(&w, "1.1.1.1.2.1"), LAP_OK);
    CHECK_EQ_INT(fate(&w, before), SLICE_KEPT);
    CHECK(fate(&w, cut) == SLICE_DROPPED && fate(&w, behind) == SLICE_DROPPED);
    CHECK(fate(&w, w.made[2]) == SLICE_KEPT && fate(&w, w.made[3]) == SLICE_KEPT);
    CHECK(fate(&w, w.made[4]) == SLICE_DROPPED && fate(&w, w.made[5]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(work_that_waits_for_what_comes_behind_is_refused)
{
    struct written w;
    begin(&w);
    VkEvent event = gen_VkEvent(sample_handle(&w.s, GEN_HANDLE_VkEvent, 1));
    VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    PUT(&w, vkCreateEvent, w.device, &info, NULL, &event, VK_SUCCESS);
    put_buffers(&w, 2);
    struct block b = begin_block(&w);
    copy(&b, 0, 1);
    gen_encode_vkCmdWaitEvents(command(&b, GEN_vkCmdWaitEvents), 1, &event, VK_PIPELINE_STAGE_HOST_BIT,
                               VK_PIPELINE_STAGE_TRANSFER_BIT, 0, NULL, 0, NULL, 0, NULL);
    copy(&b, 1, 0);
    gen_encode_vkCmdResetEvent(command(&b, GEN_vkCmdResetEvent), event, VK_PIPELINE_STAGE_TRANSFER_BIT);
    end_block(&b, 0);
    put_submit(&w, 0);
    PUT(&w, vkSetEvent, w.device, event);
    put_submit(&w, 0);
    PUT(&w, vkSetEvent, w.device, event);
    PUT(&w, vkSetEvent, w.device, event);
    put_submit(&w, 0);

    CHECK_EQ_INT(find_command(&w, "1.1.1.1"), LAP_OK);
    CHECK_EQ_INT(find_command(&w, "1.1.1.3"), LAP_ERROR_UNSUPPORTED);
    CHECK_EQ_INT(find_command(&w, "1.2.1.1"), LAP_OK);
    CHECK_EQ_INT(find_command(&w, "1.2.1.2"), LAP_ERROR_UNSUPPORTED); /* it was reset */
    CHECK_EQ_INT(find_command(&w, "1.3.1.3"), LAP_OK);                /* it was set before */
    end(&w);
}

/* ---- dynamic rendering in several command buffers ---- */

static void rendering(struct block *b, VkRenderingFlags flags)
{
    VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO, .flags = flags, .layerCount = 1};
    gen_encode_vkCmdBeginRendering(command(b, GEN_vkCmdBeginRendering), &info);
    gen_encode_vkCmdEndRendering(command(b, GEN_vkCmdEndRendering));
}

static uint64_t put_rendering(struct written *w, unsigned commands, VkRenderingFlags flags, unsigned from, unsigned to)
{
    struct block b = begin_block(w);
    if (flags & VK_RENDERING_SUSPENDING_BIT)
        copy(&b, from, to);
    rendering(&b, flags);
    if (!(flags & VK_RENDERING_SUSPENDING_BIT))
        copy(&b, from, to);
    return end_block(&b, commands);
}

/* Command buffers 0 to 3 render together; the one with number 1 only stands between. */
static void put_suspended(struct written *w, uint64_t blocks[4])
{
    struct block b;
    blocks[0] = put_rendering(w, 0, VK_RENDERING_SUSPENDING_BIT, 0, 1);
    b = begin_block(w);
    blocks[1] = end_block(&b, 1);
    b = begin_block(w);
    rendering(&b, VK_RENDERING_RESUMING_BIT | VK_RENDERING_SUSPENDING_BIT);
    blocks[2] = end_block(&b, 2);
    blocks[3] = put_rendering(w, 3, VK_RENDERING_RESUMING_BIT, 2, 3);
}

static void check_fences(const struct written *w, uint64_t ticket, bool front, bool behind)
{
    struct slice_fences fences = slice_fences_of(w->slice, ticket);
    CHECK(fences.front == front && fences.behind == behind);
}

UNIT_TEST(command_buffers_of_one_rendering_stay_together)
{
    for (unsigned read = 1; read <= 5; read += 2) {
        struct written w;
        uint64_t blocks[4];
        begin(&w);
        put_buffers(&w, 6);
        put_suspended(&w, blocks);
        uint64_t before = put_copy(&w, 4, 4, 5), behind = put_copy(&w, 5, 4, 5);
        VkCommandBuffer all[] = {w.commands[4], w.commands[0], w.commands[1],
                                 w.commands[2], w.commands[3], w.commands[5]};
        put_submit_of(&w, 6, all);
        /* 1: what the first one copied, 3: what the last one did, 5: others */
        uint64_t part = put_copy(&w, 6, read, 0);
        put_submit(&w, 6);

        CHECK_EQ_INT(find(&w, part), LAP_OK);
        for (unsigned i = 0; i < 4; i++)
            CHECK_EQ_INT(fate(&w, blocks[i]), read == 5 ? SLICE_EMPTIED : SLICE_KEPT);
        CHECK_EQ_INT(fate(&w, before), read == 5 ? SLICE_KEPT : SLICE_EMPTIED);
        CHECK_EQ_INT(fate(&w, behind), read == 5 ? SLICE_KEPT : SLICE_EMPTIED);
        if (read != 5) {
            check_fences(&w, blocks[0], true, false);
            check_fences(&w, blocks[1], false, false);
            check_fences(&w, blocks[2], false, false);
            check_fences(&w, blocks[3], false, true);
        } else {
            check_fences(&w, before, true, true);
        }
        end(&w);
    }
}

static uint32_t suspended_at(const struct written *w, unsigned place)
{
    uint64_t block;
    uint32_t command;
    return slice_is_suspended(w->slice, place, &block, &command) ? command : 0;
}

UNIT_TEST(what_is_suspended_in_front_of_the_command_is_known)
{
    struct written w;
    uint64_t blocks[4];
    begin(&w);
    put_buffers(&w, 4);
    put_suspended(&w, blocks);
    put_submit_of(&w, 4, w.commands);

    CHECK_EQ_INT(find_command(&w, "1.1.1.3"), LAP_OK);
    CHECK_EQ_U64(suspended_at(&w, 0), 0);
    CHECK_EQ_INT(find_command(&w, "1.1.2.0"), LAP_OK);
    CHECK_EQ_U64(suspended_at(&w, 0), 2); /* behind the beginning and a copy */
    CHECK_EQ_INT(fate(&w, blocks[0]), SLICE_KEPT);
    check_fences(&w, blocks[0], true, false);
    CHECK_EQ_INT(find_command(&w, "1.1.4.3"), LAP_OK);
    CHECK_EQ_U64(suspended_at(&w, 0), 1);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ_INT(fate(&w, blocks[i]), SLICE_KEPT);
    end(&w);
}

UNIT_TEST(secondary_command_buffers_suspend_and_resume)
{
    struct written w;
    uint64_t block = 0;
    uint32_t begins = 0;
    begin(&w);
    put_buffers(&w, 4);
    struct block b = begin_block(&w);
    copy(&b, 0, 1);
    copy(&b, 0, 1);
    rendering(&b, VK_RENDERING_SUSPENDING_BIT);
    uint64_t suspends = end_block(&b, 0);
    b = begin_block(&w);
    uint64_t between = end_block(&b, 1);
    uint64_t resumes = put_rendering(&w, 2, VK_RENDERING_RESUMING_BIT, 2, 3);
    b = begin_block(&w);
    gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 1, &w.commands[0]);
    uint64_t first = end_block(&b, 3);
    b = begin_block(&w);
    gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 2, &w.commands[1]);
    uint64_t second = end_block(&b, 4);
    put_submit_of(&w, 2, &w.commands[3]);
    b = begin_block(&w); /* all in one */
    gen_encode_vkCmdExecuteCommands(command(&b, GEN_vkCmdExecuteCommands), 3, w.commands);
    end_block(&b, 5);
    put_submit(&w, 5);
    uint64_t part = put_copy(&w, 6, 3, 0);
    put_submit(&w, 6);

    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, suspends) == SLICE_KEPT && fate(&w, resumes) == SLICE_KEPT && fate(&w, between) == SLICE_KEPT);
    CHECK(fate(&w, first) == SLICE_KEPT && fate(&w, second) == SLICE_KEPT);
    check_fences(&w, first, true, false);
    check_fences(&w, second, false, true);
    CHECK_EQ_INT(find_command(&w, "1.1.1.1.1.4"), LAP_OK);
    CHECK(suspended_at(&w, 0) == 0 && suspended_at(&w, 1) == 0);
    CHECK_EQ_INT(find_command(&w, "1.1.2.1.1.0"), LAP_OK);
    CHECK(suspended_at(&w, 0) == 3 && suspended_at(&w, 1) == 3);
    CHECK_EQ_INT(find_command(&w, "1.1.2.1.2.0"), LAP_OK);
    CHECK(suspended_at(&w, 0) == 3 && suspended_at(&w, 1) == 3);
    CHECK_EQ_INT(find_command(&w, "1.1.2.2"), LAP_OK);
    CHECK_EQ_U64(suspended_at(&w, 0), 3);
    CHECK_EQ_INT(slice_leaves_executed(w.slice, 0, 0, 1, &block, &begins), SLICE_LEAVES_AS_IT_WAS);
    CHECK_EQ_INT(slice_leaves_executed(w.slice, 0, 0, 2, &block, &begins), SLICE_LEAVES_RESUMED);
    CHECK_EQ_INT(find_command(&w, "1.1.1.1"), LAP_OK);
    CHECK_EQ_INT(slice_leaves_executed(w.slice, 0, 0, 1, &block, &begins), SLICE_LEAVES_SUSPENDED);
    CHECK(block != 0 && begins == 3);
    CHECK_EQ_INT(find_command(&w, "1.2.1.1.2.0"), LAP_OK);
    CHECK(suspended_at(&w, 0) == 0 && suspended_at(&w, 1) == 3);
    end(&w);
}

UNIT_TEST(traces_that_ask_for_too_much_are_refused)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 1);
    put_sets(&w);
    put_descriptor_copy(&w, 0, 0, UINT32_MAX);
    CHECK_EQ_INT(find(&w, w.ticket), LAP_ERROR_LIMIT);
    CHECK(strstr(lap_error_message(), "descriptors") != NULL);
    end(&w);

    begin(&w);
    VkBuffer far = gen_VkBuffer(sample_handle(&w.s, GEN_HANDLE_VkBuffer, UINT64_C(1) << 40));
    PUT(&w, vkDestroyBuffer, w.device, far, NULL);
    CHECK_EQ_INT(find(&w, w.ticket), LAP_ERROR_LIMIT);
    CHECK(strstr(lap_error_message(), "VkBuffer") != NULL);
    end(&w);
}

static void put_memory(struct written *w, unsigned buffer, uint64_t offset)
{
    static VkDeviceMemory memory;
    if (buffer == 0)
        memory = gen_VkDeviceMemory(sample_handle(&w->s, GEN_HANDLE_VkDeviceMemory, 1));
    PUT(w, lapilliBindBuffer, w->buffers[buffer], memory, offset, 16, 0);
}

UNIT_TEST(contents_that_a_replay_gives_need_no_earlier_work)
{
    struct contents_place places[2] = {{2, 0, 16, true}, {4, 0, 16, true}};
    struct contents_file file = {.places = places, .count = 2};
    struct written w;
    uint64_t wanted, taken;
    begin(&w);
    put_buffers(&w, 5);
    for (unsigned i = 0; i < 5; i++)
        put_memory(&w, i, 16 * i);
    uint64_t source = put_write(&w, 0, 0, 16), by_host = put_write(&w, 2, 0, 16);
    uint64_t first = put_copy(&w, 0, 0, 1), second = put_copy(&w, 1, 0, 3);
    uint64_t submitted = put_submit(&w, 0), other = put_submit(&w, 1);
    uint64_t part = put_copy(&w, 2, 1, 4);
    put_copy(&w, 3, 2, 4);
    put_copy(&w, 4, 3, 4);
    for (unsigned i = 2; i < 5; i++)
        put_submit(&w, i);

    CHECK_EQ_INT(find_with_contents(&w, part, NULL), LAP_OK);
    CHECK_EQ_U64(slice_contents(w.slice)->count, 2); /* what the host wrote stays as it was written */
    for (unsigned i = 0; i < 2; i++)
        CHECK(slice_contents(w.slice)->at[i].kind == CONTENT_BUFFER && slice_contents(w.slice)->at[i].bytes == 16 &&
              slice_contents(w.slice)->at[i].index == 2 + 2 * i);

    CHECK_EQ_INT(find_with_contents(&w, part, &file), LAP_OK);
    slice_count_contents(w.slice, &wanted, &taken);
    CHECK(wanted == 2 && taken == 2 && slice_takes_content(w.slice, 0) && slice_takes_content(w.slice, 1));
    CHECK(fate(&w, source) == SLICE_DROPPED && fate(&w, submitted) == SLICE_DROPPED &&
          fate(&w, other) == SLICE_DROPPED);
    CHECK(fate(&w, first) == SLICE_DROPPED && fate(&w, second) == SLICE_DROPPED && fate(&w, by_host) == SLICE_KEPT);
    CHECK(fate(&w, w.made[1]) == SLICE_KEPT && fate(&w, w.made[0]) == SLICE_DROPPED);
    CHECK(slice_unused_number(w.slice, GEN_HANDLE_VkCommandBuffer) == 6);

    places[1].was_read = false; /* then the work that made it stays */
    CHECK_EQ_INT(find_with_contents(&w, part, &file), LAP_OK);
    slice_count_contents(w.slice, &wanted, &taken);
    CHECK(wanted == 2 && taken == 1 && slice_takes_content(w.slice, 0) && !slice_takes_content(w.slice, 1));
    CHECK(fate(&w, source) == SLICE_KEPT && fate(&w, second) == SLICE_KEPT && fate(&w, first) == SLICE_DROPPED);

    places[1] = (struct contents_place){4, 0, 12, true}; /* not all of it */
    CHECK_EQ_INT(find_with_contents(&w, part, &file), LAP_OK);
    CHECK(!slice_takes_content(w.slice, 1));
    end(&w);
}

UNIT_TEST(of_objects_that_share_memory_only_those_that_stay_get_contents)
{
    struct contents_place places[2] = {{2, 0, 16, true}, {3, 0, 16, true}};
    struct contents_file file = {.places = places, .count = 2};
    struct written w;
    begin(&w);
    put_buffers(&w, 4);
    put_memory(&w, 0, 0);
    put_memory(&w, 1, 16);
    put_memory(&w, 2, 24); /* over the end of the one before */
    put_memory(&w, 3, 64);
    uint64_t first = put_copy(&w, 0, 0, 1), second = put_copy(&w, 1, 0, 2);
    put_submit(&w, 0);
    put_submit(&w, 1);
    uint64_t part = put_copy(&w, 2, 1, 3);
    put_submit(&w, 2);

    CHECK_EQ_INT(find_with_contents(&w, part, NULL), LAP_OK);
    CHECK_EQ_U64(slice_contents(w.slice)->count, 2);
    CHECK_EQ_INT(find_with_contents(&w, part, &file), LAP_OK);
    CHECK(fate(&w, first) == SLICE_DROPPED && fate(&w, second) == SLICE_DROPPED);
    CHECK(fate(&w, w.made[1]) == SLICE_KEPT && fate(&w, w.made[2]) == SLICE_DROPPED);
    CHECK(slice_takes_content(w.slice, 0) && !slice_takes_content(w.slice, 1));
    end(&w);
}

UNIT_MAIN();
