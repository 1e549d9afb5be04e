/* SPDX-License-Identifier: MIT */
/* What synchronizes, in traces that no program makes. */
#include "inspector/state/sync.h"

#include "gen_decode.h"
#include "inspector/state/sync_change.h"
#include "tests/unit/sample_trace.h"

#define PUT(s, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet((s), GEN_##command, 0), __VA_ARGS__), lap_packet_end((s)->stream))

static struct sync *find(struct sample *s)
{
    struct sync *sync = sync_create();
    struct lap_reader *reader = NULL;
    struct trace_visitor visitor;

    sample_end(s);
    CHECK(sync);
    sync_visitor(sync, 0, NULL, &visitor);
    CHECK_EQ_INT(lap_reader_open(s->path, NULL, &reader), LAP_OK);
    CHECK_EQ_INT(trace_pass_run(reader, 0, &visitor, 1), LAP_OK);
    lap_reader_close(&reader);
    return sync;
}

UNIT_TEST(pools_of_too_many_queries_are_not_followed)
{
    const uint32_t counts[] = {UINT32_MAX, 1u << 21, 64};
    struct sample s;
    struct sync *sync;
    VkDevice device;
    CHECK(sample_begin(&s));
    device = gen_VkDevice(sample_handle(&s, GEN_HANDLE_VkDevice, 1));
    for (unsigned i = 0; i < 3; i++) {
        VkQueryPool pool = gen_VkQueryPool(sample_handle(&s, GEN_HANDLE_VkQueryPool, i + 1));
        const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                            .queryType = VK_QUERY_TYPE_OCCLUSION,
                                            .queryCount = counts[i]};
        PUT(&s, vkCreateQueryPool, device, &info, NULL, &pool, VK_SUCCESS);
        PUT(&s, vkResetQueryPool, device, pool, 60, UINT32_MAX);
    }
    sync = find(&s);
    CHECK(sync_pool(sync, 1)->lost && sync_pool(sync, 2)->lost && !sync_pool(sync, 3)->lost);
    CHECK(!sync_pool(sync, 1)->queries && !sync_pool(sync, 4));
    CHECK_EQ_INT(sync_pool(sync, 3)->queries[59].state, SYNC_QUERY_UNDEFINED);
    CHECK_EQ_INT(sync_pool(sync, 3)->queries[63].state, SYNC_QUERY_RESET);
    sync_destroy(sync);
    sample_finish(&s);
}

UNIT_TEST(work_is_over_where_work_of_another_queue_is_that_waited_for_it)
{
    struct sample s;
    struct sync *sync;
    VkDevice device;
    VkQueue queues[2];
    VkSemaphore semaphore;
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    CHECK(sample_begin(&s));
    device = gen_VkDevice(sample_handle(&s, GEN_HANDLE_VkDevice, 1));
    semaphore = gen_VkSemaphore(sample_handle(&s, GEN_HANDLE_VkSemaphore, 1));
    for (unsigned i = 0; i < 2; i++) {
        queues[i] = gen_VkQueue(sample_handle(&s, GEN_HANDLE_VkQueue, i + 1));
        PUT(&s, vkGetDeviceQueue, device, i, 0, &queues[i]);
    }
    PUT(&s, vkCreateSemaphore, device, &info, NULL, &semaphore, VK_SUCCESS);
    const VkSubmitInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &semaphore};
    const VkSubmitInfo wait = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .waitSemaphoreCount = 1,
                               .pWaitSemaphores = &semaphore,
                               .pWaitDstStageMask = &stages};
    PUT(&s, vkQueueSubmit, queues[0], 1, &signal, VK_NULL_HANDLE);
    PUT(&s, vkQueueSubmit, queues[0], 1, &(VkSubmitInfo){.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO}, VK_NULL_HANDLE);
    PUT(&s, vkQueueSubmit, queues[1], 1, &wait, VK_NULL_HANDLE);
    PUT(&s, vkQueueWaitIdle, queues[1], VK_SUCCESS);
    sync = find(&s);
    CHECK_EQ_U64(sync_queue(sync, 1)->given, 2);
    CHECK_EQ_U64(sync_queue(sync, 1)->over, 1);
    CHECK_EQ_U64(sync_queue(sync, 2)->over, 1);
    CHECK_EQ_INT(sync_semaphore(sync, 1)->state, SYNC_UNSIGNALED);
    sync_destroy(sync);
    sample_finish(&s);
}

/* A copy is a sync file: it takes the signal along, and the program may see that. */
UNIT_TEST(payloads_that_are_shared_are_not_known)
{
    for (uint32_t copies = 0; copies < 2; copies++) {
        const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
        struct sample s;
        struct sync *sync;
        CHECK(sample_begin(&s));
        VkDevice device = gen_VkDevice(sample_handle(&s, GEN_HANDLE_VkDevice, 1));
        VkQueue queue = gen_VkQueue(sample_handle(&s, GEN_HANDLE_VkQueue, 1));
        VkSemaphore semaphore = gen_VkSemaphore(sample_handle(&s, GEN_HANDLE_VkSemaphore, 1));
        const VkSubmitInfo signal = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .signalSemaphoreCount = 1, .pSignalSemaphores = &semaphore};
        PUT(&s, vkGetDeviceQueue, device, 0, 0, &queue);
        PUT(&s, vkCreateSemaphore, device, &info, NULL, &semaphore, VK_SUCCESS);
        PUT(&s, vkQueueSubmit, queue, 1, &signal, VK_NULL_HANDLE);
        PUT(&s, lapilliExportSync, device, semaphore, VK_NULL_HANDLE, copies, 7);
        PUT(&s, lapilliSeenSync, device, 7);
        sync = find(&s);
        CHECK_EQ_U64(sync_queue(sync, 1)->over, copies);
        CHECK_EQ_INT(sync_semaphore(sync, 1)->state, copies ? SYNC_UNSIGNALED : SYNC_NOT_KNOWN);
        sync_destroy(sync);
        sample_finish(&s);
    }
}

/* No command that ends a pass leaves its views behind, whatever its version. */
UNIT_TEST(a_query_behind_any_end_of_a_pass_counts_in_one_view)
{
    static const unsigned char nothing[GEN_ARGS_MAX_BYTES];
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO, .viewMask = 7};
    const struct gen_args_vkCmdBeginRendering rendering = {.pRenderingInfo = &info};
    const struct gen_args_vkCmdEndQuery query = {.queryPool = gen_VkQueryPool(1)};
    const struct trace_call begins = {.command = GEN_vkCmdBeginRendering, .args = &rendering},
                            asks = {.command = GEN_vkCmdEndQuery, .args = &query};
    struct creation_facts facts;

    creation_facts_init(&facts);
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++) {
        const struct trace_call ends = {.command = i, .args = nothing};
        struct sync_views views = {0};
        struct sync_change change;
        if (strncmp(gen_command_names[i], "vkCmdEndRender", 14) != 0)
            continue;
        CHECK(!sync_change_of(&views, &facts, &begins, &change));
        CHECK(sync_change_of(&views, &facts, &asks, &change));
        CHECK_EQ_INT(change.count, 3);
        CHECK(!sync_change_of(&views, &facts, &ends, &change));
        CHECK(sync_change_of(&views, &facts, &asks, &change));
        if (change.count != 1)
            UNIT_FAIL("%s leaves %u views behind", gen_command_names[i], (unsigned)change.count);
    }
    creation_facts_finish(&facts);
}

UNIT_MAIN();
