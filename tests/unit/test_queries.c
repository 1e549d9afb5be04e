/* SPDX-License-Identifier: MIT */
/* Queries that the host resets while work has them: no program does that, and a driver that computes on the CPU would
 * follow what is gone. The driver gets its reset when the work is over, as the validation layer sees. */
#include "tests/unit/player_program.h"

#define QUERIES  2u
#define COMMANDS 3u
#define FILLS    4000u

static VkPhysicalDeviceHostQueryResetFeatures feature = {
    .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES, .hostQueryReset = VK_TRUE};

static VkQueryPool put_queries(struct program *p)
{
    VkQueryPool queries = gen_VkQueryPool(sample_handle(&p->s, GEN_HANDLE_VkQueryPool, 1));
    VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_OCCLUSION, .queryCount = QUERIES};

    p->device_info.pNext = &feature;
    put_start(p);
    PUT(p, vkCreateQueryPool, p->device, &info, NULL, &queries, VK_SUCCESS);
    PUT(p, vkResetQueryPool, p->device, queries, 0, QUERIES);
    return queries;
}

static void put_commands(struct program *p, VkCommandBuffer commands[COMMANDS])
{
    VkCommandBufferAllocateInfo more = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = p->pool,
                                        .commandBufferCount = COMMANDS - 1};

    commands[0] = p->commands;
    for (uint32_t i = 1; i < COMMANDS; i++)
        commands[i] = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, i + 1));
    PUT(p, vkAllocateCommandBuffers, p->device, &more, commands + 1, VK_SUCCESS);
}

/* And nobody waits for it. */
static void put_work(struct program *p, VkCommandBuffer commands, VkQueryPool queries)
{
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    VkMemoryBarrier writes = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                              .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                              .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT};

    p->commands = commands;
    block_begin(p);
    for (uint32_t i = 0; i < FILLS; i++) {
        COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
        COMMAND(p, vkCmdPipelineBarrier, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &writes,
                0, NULL, 0, NULL);
    }
    for (uint32_t i = 0; i < QUERIES; i++) {
        COMMAND(p, vkCmdBeginQuery, queries, i, 0);
        COMMAND(p, vkCmdEndQuery, queries, i);
    }
    block_end(p, 0);
    PUT(p, vkQueueSubmit, p->queue, 1, &submit, VK_NULL_HANDLE);
}

/* frees: nobody knows then what the command buffers name. */
static void put_resets(struct program *p, bool frees)
{
    VkQueryPool queries = put_queries(p);
    VkCommandBuffer commands[COMMANDS];

    put_commands(p, commands);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        put_work(p, commands[i], queries);
        if (frees)
            PUT(p, vkFreeCommandBuffers, p->device, p->pool, 1, &commands[i]);
        PUT(p, vkResetQueryPool, p->device, queries, 0, QUERIES);
    }
    PUT(p, vkDestroyQueryPool, p->device, queries, NULL);
    put_ends(p);
}

PLAYER_TEST(queries_are_reset_when_no_work_has_them)
{
    put_resets(p, false);
    check_played(p, 0, 0);
}

PLAYER_TEST(command_buffers_that_were_freed_may_have_them)
{
    put_resets(p, true);
    check_played(p, 0, 0);
}

UNIT_MAIN();
