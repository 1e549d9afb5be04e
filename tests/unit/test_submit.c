/* SPDX-License-Identifier: MIT */
/* Submits that are held: what they name has to be what it was, and nothing else with its number. */
#include "tests/unit/player_program.h"

#define SECOND 2u /* another command buffer */

struct held {
    VkSemaphore semaphore; /* a timeline: 1 lets the first batch's end be seen, 2 lets the second one go */
    VkCommandBuffer second;
    VkPhysicalDeviceTimelineSemaphoreFeatures feature;
};

static void put_commands(struct program *p, VkCommandBuffer commands, uint32_t pattern)
{
    VkCommandBuffer own = p->commands;

    p->commands = commands;
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, pattern);
    block_end(p, 0);
    p->commands = own;
}

/* Everything up to a submit of two batches, of which the second one waits for a signal of the host's. */
static void put_held(struct program *p, struct held *h)
{
    static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool, .commandBufferCount = 1};
    const uint64_t one = 1, two = 2;
    const VkTimelineSemaphoreSubmitInfo signals = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                   .signalSemaphoreValueCount = 1,
                                                   .pSignalSemaphoreValues = &one};
    const VkTimelineSemaphoreSubmitInfo waits = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                 .waitSemaphoreValueCount = 1,
                                                 .pWaitSemaphoreValues = &two};
    const VkSemaphoreWaitInfo wait = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &h->semaphore,
                                      .pValues = &one};

    h->semaphore = gen_VkSemaphore(sample_handle(&p->s, GEN_HANDLE_VkSemaphore, 1));
    h->second = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, SECOND));
    h->feature = (VkPhysicalDeviceTimelineSemaphoreFeatures){
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    p->device_info.pNext = &h->feature;
    put_start(p);
    PUT(p, vkCreateSemaphore, p->device, &info, NULL, &h->semaphore, VK_SUCCESS);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &h->second, VK_SUCCESS);
    put_commands(p, p->commands, PATTERN + 1);
    put_commands(p, h->second, PATTERN);
    const VkSubmitInfo batches[] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &signals,
                                     .commandBufferCount = 1,
                                     .pCommandBuffers = &p->commands,
                                     .signalSemaphoreCount = 1,
                                     .pSignalSemaphores = &h->semaphore},
                                    {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &waits,
                                     .waitSemaphoreCount = 1,
                                     .pWaitSemaphores = &h->semaphore,
                                     .pWaitDstStageMask = &stage,
                                     .commandBufferCount = 1,
                                     .pCommandBuffers = &h->second}};
    PUT(p, vkQueueSubmit, p->queue, 2, batches, p->fence);
    PUT(p, vkWaitSemaphores, p->device, &wait, UINT64_MAX, VK_SUCCESS);
}

/* Lets the second batch go, and waits for it. */
static void put_answer(struct program *p, const struct held *h)
{
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = h->semaphore, .value = 2};

    PUT(p, vkSignalSemaphore, p->device, &info);
    PUT(p, vkWaitForFences, p->device, 1, &p->fence, VK_TRUE, UINT64_MAX, VK_SUCCESS);
}

static void put_fence(struct program *p)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    PUT(p, vkCreateFence, p->device, &info, NULL, &p->fence, VK_SUCCESS);
}

/* What a batch that was given names may go, though a later one of the same call is held. */
PLAYER_TEST(what_has_run_may_go)
{
    struct held h;
    put_held(p, &h);
    PUT(p, vkFreeCommandBuffers, p->device, p->pool, 1, &p->commands);
    put_answer(p, &h);
    put_check(p, PATTERN);
    PUT(p, vkDestroySemaphore, p->device, h.semaphore, NULL);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(a_fence_with_the_number_of_another_is_refused)
{
    struct held h;
    struct result result;
    put_held(p, &h);
    PUT(p, vkDestroyFence, p->device, p->fence, NULL);
    put_fence(p);
    put_answer(p, &h);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkFence:1 is not alive any more, another one has its number");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

PLAYER_TEST(commands_with_the_number_of_others_are_refused)
{
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool, .commandBufferCount = 1};
    struct held h;
    struct result result;
    put_held(p, &h);
    PUT(p, vkFreeCommandBuffers, p->device, p->pool, 1, &h.second);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &h.second, VK_SUCCESS);
    put_commands(p, h.second, PATTERN);
    put_answer(p, &h);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "not alive any more");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

PLAYER_TEST(commands_that_are_freed_are_refused)
{
    struct held h;
    struct result result;
    put_held(p, &h);
    PUT(p, vkFreeCommandBuffers, p->device, p->pool, 1, &h.second);
    put_answer(p, &h);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "a command buffer that was submitted is not alive any more");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

PLAYER_TEST(commands_that_are_recorded_anew_are_refused)
{
    struct held h;
    struct result result;
    put_held(p, &h);
    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    put_commands(p, h.second, PATTERN + 2);
    put_answer(p, &h);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:2 was recorded anew");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

PLAYER_TEST(a_semaphore_that_is_named_is_not_destroyed)
{
    struct held h;
    struct result result;
    put_held(p, &h);
    PUT(p, vkDestroySemaphore, p->device, h.semaphore, NULL);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkSemaphore:1 is destroyed before the work that waits for it");
}

UNIT_MAIN();
