/* SPDX-License-Identifier: MIT */
/* What the player makes of traces, and what it refuses to play. */
#include "gen_reflect.h"
#include "replayer/analysis/recorded_machine.h"
#include "tests/unit/player_program.h"

PLAYER_TEST(a_clean_program_computes_the_same)
{
    put_start(p);
    put_fill(p);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

/* The other tests take silence for good. */
UNIT_TEST(the_validation_layer_is_heard)
{
    NEED_DEVICE();
    struct program p;
    struct result result;
    if (access(VALIDATION_MANIFEST, R_OK) != 0)
        SKIP("no validation layer here");
    CHECK(program_begin(&p));
    put_start(&p);
    block_begin(&p);
    COMMAND(&p, vkCmdFillBuffer, p.buffer, 0, 3, PATTERN); /* not a multiple of four */
    block_end(&p, 0);
    put_ends(&p);
    expect_messages = true;
    result = play(&p, false);
    expect_messages = false;
    CHECK_EQ_INT(result.status, LAP_OK);
    CHECK(result.validation_bytes > 0);
}

PLAYER_TEST(a_difference_is_found)
{
    put_start(p);
    put_fill(p);
    put_check(p, PATTERN + 1);
    put_ends(p);
    check_played(p, 1, 1);
}

/* Of buffers that share memory create infos are decoded apart from their calls. An array that is not there, because
 * nobody reads it, may have a count. */
PLAYER_TEST(families_that_are_ignored_are_not_followed)
{
    const VkQueueFlags flags[] = {VK_QUEUE_TRANSFER_BIT,
                                  VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = BYTES,
                               .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                               .queueFamilyIndexCount = 5};
    VkBuffer buffers[2];

    p->family = 1;
    put_instance(p);
    put_families(p, 2, flags);
    put_device(p);
    put_objects(p);
    for (unsigned i = 0; i < 2; i++) {
        buffers[i] = gen_VkBuffer(sample_handle(&p->s, GEN_HANDLE_VkBuffer, 2 + i));
        PUT(p, vkCreateBuffer, p->device, &info, NULL, &buffers[i], VK_SUCCESS);
        PUT(p, lapilliBindBuffer, buffers[i], p->memory, BYTES, BYTES, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    }
    put_fill(p);
    put_check(p, PATTERN);
    for (unsigned i = 0; i < 2; i++)
        PUT(p, vkDestroyBuffer, p->device, buffers[i], NULL);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(host_updates_reach_buffers)
{
    uint32_t words[BYTES / 4];
    put_start(p);
    for (unsigned i = 0; i < BYTES / 4; i++)
        words[i] = PATTERN;
    PUT(p, lapilliUpdateBuffer, p->buffer, 0, BYTES, words); /* a blob */
    PUT(p, lapilliUpdateBuffer, p->buffer, 16, 32, words);
    block_begin(p);
    block_end(p, 0);
    put_submit(p);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(what_a_program_leaves_is_destroyed)
{
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    VkDescriptorPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    VkDescriptorSetLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 1, .pBindings = &binding};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    VkDescriptorPool pool;
    VkDescriptorSetLayout layout;
    VkDescriptorSet set;
    pool = gen_VkDescriptorPool(sample_handle(&p->s, GEN_HANDLE_VkDescriptorPool, 1));
    layout = gen_VkDescriptorSetLayout(sample_handle(&p->s, GEN_HANDLE_VkDescriptorSetLayout, 1));
    set = gen_VkDescriptorSet(sample_handle(&p->s, GEN_HANDLE_VkDescriptorSet, 1));
    allocate.descriptorPool = pool;
    allocate.pSetLayouts = &layout;
    put_start(p);
    PUT(p, vkCreateDescriptorSetLayout, p->device, &layout_info, NULL, &layout, VK_SUCCESS);
    PUT(p, vkCreateDescriptorPool, p->device, &pool_info, NULL, &pool, VK_SUCCESS);
    PUT(p, vkAllocateDescriptorSets, p->device, &allocate, &set, VK_SUCCESS);
    put_fill(p);
    check_played(p, 0, 0);
}

PLAYER_TEST(a_dead_object_is_named_with_its_place)
{
    struct result result;
    put_start(p);
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    lap_writer_frame(p->s.writer);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkBuffer:1 is not alive");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "frame 2, packet 11 (lapilliBlock");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCmdFillBuffer");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

PLAYER_TEST(a_block_of_another_length_is_damaged)
{
    struct result result;
    put_start(p);
    block_begin(p);
    block_end(p, 1);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_FORMAT, "has 2 commands, its packet says 3");
}

PLAYER_TEST(what_is_freed_from_another_pool_is_refused)
{
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = p->family};
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = p->pool, .commandBufferCount = 1};
    VkCommandPool pool = gen_VkCommandPool(sample_handle(&p->s, GEN_HANDLE_VkCommandPool, 2));
    VkCommandBuffer commands = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, 2));
    struct result result;

    put_start(p);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &commands, VK_SUCCESS);
    PUT(p, vkCreateCommandPool, p->device, &info, NULL, &pool, VK_SUCCESS);
    PUT(p, vkFreeCommandBuffers, p->device, pool, 1, &commands);
    PUT(p, vkFreeCommandBuffers, p->device, p->pool, 1, &p->commands);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:2 is freed from a pool that it is not of");
}

PLAYER_TEST(a_command_outside_of_a_block_is_damage)
{
    struct result result;
    put_start(p);
    PUT(p, vkCmdDraw, 3, 1, 0, 0);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_FORMAT, "vkCmdDraw stands outside of a block");
}

PLAYER_TEST(a_null_where_the_driver_follows_is_refused)
{
    struct result result;
    put_instance(p);
    put_device(p);
    PUT(p, vkCreateFence, p->device, NULL, NULL, &p->fence, VK_SUCCESS);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCreateFence has no pCreateInfo");
}

PLAYER_TEST(a_null_deep_in_a_call_is_refused)
{
    VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO, .subpassCount = 1};
    VkRenderPass pass = gen_VkRenderPass(sample_handle(&p->s, GEN_HANDLE_VkRenderPass, 1));
    struct result result;
    put_instance(p);
    put_device(p);
    PUT(p, vkCreateRenderPass, p->device, &info, NULL, &pass, VK_SUCCESS);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkRenderPassCreateInfo.pSubpasses is null");
}

PLAYER_TEST(a_null_string_in_a_list_is_refused)
{
    static const char *const names[] = {NULL};
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .enabledExtensionCount = 1, .ppEnabledExtensionNames = names};
    struct result result;
    PUT(p, vkCreateInstance, &info, NULL, &p->instance, VK_SUCCESS);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkInstanceCreateInfo.ppEnabledExtensionNames is null");
}

PLAYER_TEST(a_null_handle_deep_in_a_call_is_refused)
{
    VkBufferViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO, .format = VK_FORMAT_R8_UINT, .range = 4};
    VkBufferView view = gen_VkBufferView(sample_handle(&p->s, GEN_HANDLE_VkBufferView, 1));
    struct result result;
    put_start(p);
    PUT(p, vkCreateBufferView, p->device, &info, NULL, &view, VK_SUCCESS);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkBufferViewCreateInfo.buffer is null");
}

PLAYER_TEST(a_null_handle_in_a_list_is_refused)
{
    VkCommandBuffer none = VK_NULL_HANDLE;
    struct result result;
    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdExecuteCommands, 1, &none);
    block_end(p, 0);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "pCommandBuffers is null");
}

PLAYER_TEST(a_write_to_no_descriptor_set_is_refused)
{
    VkDescriptorBufferInfo buffer = {p->buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};
    struct result result;
    put_start(p);
    PUT(p, vkUpdateDescriptorSets, p->device, 1, &write, 0, NULL);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "pDescriptorWrites[i].dstSet");
}

PLAYER_TEST(a_write_of_no_descriptors_is_refused)
{
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
    struct result result;
    put_start(p);
    PUT(p, vkUpdateDescriptorSets, p->device, 1, &write, 0, NULL);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkWriteDescriptorSet.pBufferInfo is null");
}

PLAYER_TEST(a_secondary_command_buffer_inherits_something)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                            .commandBufferCount = 1};
    struct result result;
    put_start(p);
    p->commands = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, 2));
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &p->commands, VK_SUCCESS);
    block_begin(p);
    block_end(p, 0);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkBeginCommandBuffer has no pInheritanceInfo");
}

/* ---- calls that are not valid, and that a driver bore ---- */

static void put_fences_with_nulls(struct program *p)
{
    VkFence front[2] = {VK_NULL_HANDLE, p->fence}, back[2] = {p->fence, VK_NULL_HANDLE}, none[2] = {VK_NULL_HANDLE};
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &p->commands};

    put_start(p);
    put_fill(p);
    PUT(p, vkResetFences, p->device, 2, back);
    PUT(p, vkQueueSubmit, p->queue, 1, &submit, p->fence);
    PUT(p, vkWaitForFences, p->device, 2, front, VK_TRUE, UINT64_MAX, VK_SUCCESS);
    PUT(p, vkWaitForFences, p->device, 2, none, VK_TRUE, UINT64_MAX, VK_SUCCESS);
    PUT(p, vkWaitForFences, p->device, 2, front, VK_FALSE, UINT64_MAX, VK_SUCCESS);
    PUT(p, vkGetFenceStatus, p->device, VK_NULL_HANDLE, VK_SUCCESS);
    PUT(p, vkResetFences, p->device, 2, none);
    put_check(p, PATTERN);
    put_ends(p);
}

PLAYER_TEST(null_fences_are_left_out_of_lists)
{
    struct result result;
    put_fences_with_nulls(p);
    leaves_out = true;
    result = play(p, false);
    leaves_out = false;
    CHECK_PLAYED(result);
    CHECK_EQ_U64(result.invalid, 6);
    CHECK_EQ_U64(result.checks.checks, 1);
    CHECK_EQ_U64(result.checks.different, 0);
}

PLAYER_TEST(a_strict_replay_ends_at_a_null_fence)
{
    struct result result;
    put_fences_with_nulls(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkResetFences), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "pFences is null");
    CHECK_EQ_U64(result.invalid, 0);
}

/* And what is done with what they did not make, as far as nobody waits for it. */
PLAYER_TEST(creations_that_are_not_valid_are_left_out)
{
    VkBufferViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO, .format = VK_FORMAT_R8_UINT, .range = 4};
    VkBufferView view = gen_VkBufferView(sample_handle(&p->s, GEN_HANDLE_VkBufferView, 1));
    VkBuffer buffer = gen_VkBuffer(sample_handle(&p->s, GEN_HANDLE_VkBuffer, 2));
    VkDevice device = gen_VkDevice(sample_handle(&p->s, GEN_HANDLE_VkDevice, 2));
    struct result result;

    put_start(p);
    PUT(p, vkCreateBufferView, p->device, &info, NULL, &view, VK_SUCCESS); /* 1 */
    PUT(p, vkCreateFence, p->device, NULL, NULL, &p->fence, VK_SUCCESS);   /* 2 */
    PUT(p, vkCreateBuffer, p->device, NULL, NULL, &buffer, VK_SUCCESS);    /* 3 */
    PUT(p, lapilliBindBuffer, buffer, p->memory, 0, BYTES, 0);             /* 4 */
    PUT(p, lapilliUpdateBuffer, buffer, 0, 4, "abc");                      /* 5 */
    put_fill(p);
    put_check(p, PATTERN);
    PUT(p, vkDestroyBufferView, p->device, view, NULL); /* 6 */
    PUT(p, vkDestroyBuffer, p->device, buffer, NULL);   /* 7 */
    PUT(p, vkDeviceWaitIdle, device, VK_SUCCESS);       /* 8 */
    put_ends(p);
    leaves_out = true;
    result = play(p, false);
    leaves_out = false;
    CHECK_PLAYED(result);
    CHECK_EQ_U64(result.invalid, 8);
    CHECK_EQ_U64(result.checks.different, 0);
}

/* What others wait for, and what is drawn, is not left out. */
PLAYER_TEST(submits_and_commands_that_are_not_valid_end_a_replay)
{
    VkCommandBuffer none = VK_NULL_HANDLE;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &none};
    struct result result;

    put_start(p);
    PUT(p, vkResetFences, p->device, 1, &(VkFence){VK_NULL_HANDLE});
    PUT(p, vkQueueSubmit, p->queue, 1, &submit, p->fence);
    leaves_out = true;
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkSubmitInfo.pCommandBuffers is null");
    CHECK_EQ_U64(result.invalid, 1);
    CHECK(program_begin(p));
    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, VK_NULL_HANDLE, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    put_ends(p);
    result = play(p, false);
    leaves_out = false;
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCmdFillBuffer");
    CHECK_EQ_U64(result.invalid, 0);
}

/* A null does not hide that the rest of a body can't be right. */
PLAYER_TEST(a_file_that_is_broken_is_not_left_out)
{
    struct lap_enc *enc;
    struct result result;

    put_start(p);
    enc = sample_packet(&p->s, GEN_vkResetFences, 0);
    gen_encode_vkResetFences(enc, p->device, 1, &(VkFence){VK_NULL_HANDLE});
    if (lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT))
        lap_put_u64(enc, 7);
    lap_packet_end(p->s.stream);
    leaves_out = true;
    result = play(p, false);
    leaves_out = false;
    CHECK_SAYS(result, LAP_ERROR_FORMAT, "more bytes than the command has members for");
    CHECK_EQ_U64(result.invalid, 0);
}

/* An extension that no GPU has is a nuisance only when the trace uses it. */
PLAYER_TEST(unused_extensions_are_dropped)
{
    p->extensions[0] = "VK_HUAWEI_subpass_shading";
    put_start(p);
    put_fill(p);
    put_ends(p);
    check_played(p, 0, 0);
}

PLAYER_TEST(missing_extensions_are_named_together)
{
    struct result result;
    p->extensions[0] = "VK_HUAWEI_subpass_shading";
    p->extensions[1] = "VK_NV_shading_rate_image";
    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdSubpassShadingHUAWEI);
    COMMAND(p, vkCmdBindShadingRateImageNV, VK_NULL_HANDLE, VK_IMAGE_LAYOUT_GENERAL);
    block_end(p, 0);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, "VK_HUAWEI_subpass_shading, VK_NV_shading_rate_image");
    CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, "(vkCreateDevice)");
}

static void put_with_feature(struct program *p)
{
    p->features.sparseResidency16Samples = VK_TRUE; /* hardly any GPU, and no software one */
    put_start(p);
    put_fill(p);
    put_ends(p);
}

PLAYER_TEST(missing_features_are_named_or_forced_away)
{
    struct result result;
    put_with_feature(p);
    result = play(p, false);
    if (result.status == LAP_OK)
        SKIP("this GPU has sparseResidency16Samples");
    CHECK_SAYS(result, LAP_ERROR_UNSUPPORTED, "lacks requirements of the trace: sparseResidency16Samples");
    CHECK(program_begin(p));
    put_with_feature(p);
    result = play(p, true);
    CHECK_PLAYED(result);
}

/* The recorded machine had a family for copies only, then one for everything; an ownership transfer goes to and fro. */
PLAYER_TEST(queue_families_are_mapped)
{
    static const VkQueueFlags flags[3] = {VK_QUEUE_TRANSFER_BIT, VK_QUEUE_TRANSFER_BIT,
                                          VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT};
    VkBufferMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                     .dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .srcQueueFamilyIndex = 1,
                                     .dstQueueFamilyIndex = 2,
                                     .size = VK_WHOLE_SIZE};
    p->family = 2;
    barrier.buffer = p->buffer;
    put_instance(p);
    put_families(p, 3, flags);
    put_device(p);
    put_objects(p);
    block_begin(p);
    COMMAND(p, vkCmdPipelineBarrier, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 1,
            &barrier, 0, NULL);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    put_submit(p);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

/* A driver that does nothing says that everything is done. */
PLAYER_TEST(a_wait_that_nothing_can_end_is_given_up)
{
    put_start(p);
    PUT(p, vkGetFenceStatus, p->device, p->fence, VK_SUCCESS);
    put_fill(p);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(failed_calls_and_information_are_passed_over)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    put_start(p);
    gen_encode_vkCreateFence(sample_packet(&p->s, GEN_vkCreateFence, LAP_PACKET_FAILED), p->device, &info, NULL,
                             &p->fence, VK_ERROR_OUT_OF_HOST_MEMORY);
    lap_packet_end(p->s.stream);
    PUT(p, vkGetFenceStatus, p->device, p->fence, VK_NOT_READY);
    PUT(p, vkWaitForFences, p->device, 1, &p->fence, VK_TRUE, 0, VK_TIMEOUT);
    put_fill(p);
    PUT(p, vkGetFenceStatus, p->device, p->fence, VK_SUCCESS);
    PUT(p, vkDeviceWaitIdle, p->device, VK_SUCCESS);
    PUT(p, vkQueueWaitIdle, p->queue, VK_SUCCESS);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

/* ---- work that waits for a later signal ---- */

struct timeline {
    VkQueue queue; /* another one of the program's */
    VkSemaphore semaphore, binary;
};

/* A device with two queues of one family, and semaphores. */
static void put_timeline(struct program *p, struct timeline *t)
{
    VkPhysicalDeviceTimelineSemaphoreFeatures features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                      .initialValue = 3};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};

    t->queue = gen_VkQueue(sample_handle(&p->s, GEN_HANDLE_VkQueue, 2));
    t->semaphore = gen_VkSemaphore(sample_handle(&p->s, GEN_HANDLE_VkSemaphore, 1));
    t->binary = gen_VkSemaphore(sample_handle(&p->s, GEN_HANDLE_VkSemaphore, 2));
    p->device_info.pNext = &features;
    put_start(p);
    PUT(p, vkGetDeviceQueue, p->device, p->family, 0, &t->queue);
    PUT(p, vkCreateSemaphore, p->device, &info, NULL, &t->semaphore, VK_SUCCESS);
    info.pNext = NULL;
    PUT(p, vkCreateSemaphore, p->device, &info, NULL, &t->binary, VK_SUCCESS);
}

/* Submits nothing but a wait or a signal, or both, of values (0: none). */
static void put_step(struct program *p, const struct timeline *t, VkQueue queue, uint64_t wait, uint64_t signal,
                     VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = wait != 0,
                                            .pWaitSemaphoreValues = &wait,
                                            .signalSemaphoreValueCount = signal != 0,
                                            .pSignalSemaphoreValues = &signal};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &values,
                           .waitSemaphoreCount = wait != 0,
                           .pWaitSemaphores = &t->semaphore,
                           .pWaitDstStageMask = &stage,
                           .signalSemaphoreCount = signal != 0,
                           .pSignalSemaphores = &t->semaphore};

    PUT(p, vkQueueSubmit, queue, 1, &submit, fence);
}

static void put_binary(struct program *p, const struct timeline *t, VkQueue queue, bool wait)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .waitSemaphoreCount = wait,
                           .pWaitSemaphores = &t->binary,
                           .pWaitDstStageMask = &stage,
                           .signalSemaphoreCount = !wait,
                           .pSignalSemaphores = &t->binary};

    PUT(p, vkQueueSubmit, queue, 1, &submit, VK_NULL_HANDLE);
}

static void put_signal(struct program *p, const struct timeline *t, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = t->semaphore, .value = value};

    PUT(p, vkSignalSemaphore, p->device, &info);
}

static void put_timeline_ends(struct program *p, const struct timeline *t)
{
    PUT(p, vkDestroySemaphore, p->device, t->semaphore, NULL);
    PUT(p, vkDestroySemaphore, p->device, t->binary, NULL);
    put_ends(p);
}

/* The fill, its wait and what the wait brings stand in front of the work that they need, on one queue here. */
PLAYER_TEST(queues_that_are_one_wait_for_each_other)
{
    struct timeline t;
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &p->commands};

    put_timeline(p, &t);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    put_step(p, &t, p->queue, 5, 0, VK_NULL_HANDLE);
    PUT(p, vkQueueSubmit, p->queue, 1, &submit, p->fence);
    put_check(p, 0); /* it has not begun */
    put_step(p, &t, t.queue, 4, 5, VK_NULL_HANDLE);
    put_check(p, 0);
    put_signal(p, &t, 4);
    PUT(p, vkWaitForFences, p->device, 1, &p->fence, VK_TRUE, UINT64_MAX, VK_SUCCESS);
    put_check(p, PATTERN);
    put_timeline_ends(p, &t);
    check_played(p, 3, 0);
}

PLAYER_TEST(idle_queues_have_all_that_was_submitted)
{
    struct timeline t;

    put_timeline(p, &t);
    for (uint64_t round = 0; round < 3; round++) {
        put_step(p, &t, p->queue, 5 + 2 * round, 0, VK_NULL_HANDLE);
        put_binary(p, &t, p->queue, false);
        put_step(p, &t, t.queue, 4 + 2 * round, 5 + 2 * round, VK_NULL_HANDLE);
        put_signal(p, &t, 4 + 2 * round);
        put_binary(p, &t, t.queue, true);
        PUT(p, vkQueueWaitIdle, t.queue, VK_SUCCESS);
    }
    PUT(p, vkDeviceWaitIdle, p->device, VK_SUCCESS);
    put_timeline_ends(p, &t);
    check_played(p, 0, 0);
}

PLAYER_TEST(a_trace_may_end_before_a_signal)
{
    struct timeline t;

    put_timeline(p, &t);
    put_step(p, &t, p->queue, 4, 0, p->fence);
    check_played(p, 0, 0);
}

PLAYER_TEST(what_is_held_must_stay_alive)
{
    struct timeline t;
    struct result result;

    put_timeline(p, &t);
    put_step(p, &t, p->queue, 4, 0, p->fence);
    PUT(p, vkDestroyFence, p->device, p->fence, NULL);
    put_signal(p, &t, 4);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkFence:1 is not alive");
}

PLAYER_TEST(semaphores_that_are_waited_for_must_stay_alive)
{
    struct timeline t;
    struct result result;

    put_timeline(p, &t);
    put_step(p, &t, p->queue, 4, 0, VK_NULL_HANDLE);
    PUT(p, vkDestroySemaphore, p->device, t.semaphore, NULL);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkSemaphore:1 is destroyed before the work");
}

UNIT_MAIN();
