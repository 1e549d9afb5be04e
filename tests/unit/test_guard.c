/* SPDX-License-Identifier: MIT */
/* What a replay refuses of traces that somebody made to do harm, and how it says where. */
#include "replayer/device/shader_validation.h"
#include "tests/unit/peak.h"
#include "tests/unit/player_program.h"
#include "tests/unit/trace_file.h"
#include "trace/format/bytes.h"
#include "vulkan/conditions.h"

#define MOST_BYTES (((size_t)256 << 20) + PEAK_MORE_BYTES) /* that any of these traces may take */

/* ---- numbers ---- */

/* Fences whose numbers are so far apart. */
static void put_sparse(struct program *p, uint64_t step, unsigned count)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    struct lap_object *object = lap_map_get(&p->s.maps[GEN_HANDLE_VkFence], gen_u64_VkFence(p->fence));

    for (unsigned i = 1; i <= count; i++) {
        object->index = 1 + i * step;
        PUT(p, vkCreateFence, p->device, &info, NULL, &p->fence, VK_SUCCESS);
    }
}

PLAYER_TEST(numbers_far_apart_take_no_memory)
{
    static const uint64_t steps[] = {64, 100, 4096, 1000001, UINT64_MAX / 2};
    struct result result;
    size_t before = 0;

    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        CHECK(i == 0 || program_begin(p));
        put_start(p);
        put_sparse(p, steps[i], 20000);
        if (i == 0)
            before = peak_bytes();
        result = play(p, false);
        CHECK_SAYS(result, LAP_ERROR_REPLAY, "can't be right: the trace has had ");
        CHECK_SAYS(result, LAP_ERROR_REPLAY, "frame 1, packet ");
    }
    if (peak_bytes() > before + MOST_BYTES)
        UNIT_FAIL("%zu MiB", (peak_bytes() - before) >> 20);
}

/* Other threads may have taken numbers, and memory that is not replayed takes none. */
PLAYER_TEST(numbers_with_some_holes_are_fine)
{
    put_start(p);
    put_sparse(p, 40, 1000);
    check_played(p, 0, 0);
}

/* Each is held with all that it names until the signal comes. */
PLAYER_TEST(work_that_waits_for_ever_is_limited)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    VkPhysicalDeviceTimelineSemaphoreFeatures features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, .timelineSemaphore = VK_TRUE};
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore = gen_VkSemaphore(sample_handle(&p->s, GEN_HANDLE_VkSemaphore, 1));
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = 1,
                                            .pWaitSemaphoreValues = &(uint64_t){1}};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = &values,
                           .waitSemaphoreCount = 1,
                           .pWaitSemaphores = &semaphore,
                           .pWaitDstStageMask = &stage};
    struct result result;
    size_t before;

    p->device_info.pNext = &features;
    put_start(p);
    PUT(p, vkCreateSemaphore, p->device, &info, NULL, &semaphore, VK_SUCCESS);
    for (unsigned i = 0; i < 20000; i++)
        PUT(p, vkQueueSubmit, p->queue, 1, &submit, VK_NULL_HANDLE);
    before = peak_bytes();
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_LIMIT, "work that waits for later signals takes more than 256 MiB");
    if (peak_bytes() > before + 2 * MOST_BYTES)
        UNIT_FAIL("%zu MiB", (peak_bytes() - before) >> 20);
}

/* ---- places ---- */

/* What a sentence says of a place leads to the very packet. */
PLAYER_TEST(a_failure_says_where_it_stands_in_the_file)
{
    uint64_t offset = 0, byte = 0;
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    struct file_bytes file;
    struct result result;
    const char *place;

    put_start(p);
    lap_writer_frame(p->s.writer);
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    lap_writer_frame(p->s.writer);
    lap_writer_destroy(&p->s.writer);
    file = load_file(p->s.path);
    CHECK_EQ_INT(lap_reader_open(p->s.path, NULL, &reader), LAP_OK);
    do
        CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
    while (packet.frame == 0);
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
    result = play_file(
        &(struct replay_options){.file = p->s.path, .present = REPLAY_PRESENT_OFF, .strict = true, .threads = 1});
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "frame 2, packet 11 (vkDestroyBuffer), chunk at offset ");
    place = strstr(result.error, "chunk at offset ");
    CHECK(place &&
          sscanf(place, "chunk at offset %" SCNu64 ", byte %" SCNu64 ": VkBuffer:1 is not alive", &offset, &byte) == 2);
    CHECK_EQ_U64(offset, packet.file_offset);
    CHECK_EQ_U64(byte, packet.chunk_byte);
    CHECK(offset + 4 < file.bytes && lap_load_u32(file.data + offset) == LAP_CHUNK_MAGIC);
    free(file.data);
    lap_reader_close(&reader);
    sample_finish(&p->s);
}

/* ---- ends ---- */

/* A command that ends one object, and what stands behind its members. */
static void put_end(struct program *p, uint32_t command, uint64_t index, unsigned more)
{
    struct lap_enc *enc = sample_packet(&p->s, command, 0);

    CHECK(lap_enc_reserve(enc, 32));
    lap_put_u64(enc, 1); /* the device */
    lap_put_u64(enc, index);
    while (more--)
        lap_put_u8(enc, 0);
    lap_packet_end(p->s.stream);
}

/* Of what is ended by generated functions, by those of a topic, and of a kind that others name. */
PLAYER_TEST(what_ends_was_there_and_ends_once)
{
    static const uint32_t commands[] = {GEN_vkDestroyFence, GEN_vkDestroySemaphore, GEN_vkDestroyBuffer};
    static const char *const names[] = {"VkFence:1", "VkSemaphore:1", "VkBuffer:1"};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    char expected[64];

    for (unsigned i = 0; i < 3; i++)
        for (unsigned more = 0; more < 2; more++) {
            CHECK((i == 0 && more == 0) || program_begin(p));
            VkSemaphore semaphore = gen_VkSemaphore(sample_handle(&p->s, GEN_HANDLE_VkSemaphore, 1));
            put_start(p);
            PUT(p, vkCreateSemaphore, p->device, &info, NULL, &semaphore, VK_SUCCESS);
            put_end(p, commands[i], 0, 0); /* nothing ends */
            put_end(p, commands[i], 1, more);
            put_end(p, commands[i], 1, 0);
            struct result result = play(p, false);
            snprintf(expected, sizeof expected, "%s is not alive", names[i]);
            CHECK_SAYS(result, more ? LAP_ERROR_FORMAT : LAP_ERROR_REPLAY,
                       more ? "more bytes than the command has members for" : expected);
        }
}

/* ---- whose objects they are ---- */

struct second {
    VkDevice device;
    VkFence fence;
    VkBuffer buffer;
};

static void put_second(struct program *p, struct second *s)
{
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                     .queueFamilyIndex = p->family,
                                     .queueCount = 1,
                                     .pQueuePriorities = &priority};
    VkDeviceCreateInfo device = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
    VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkBufferCreateInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};

    s->device = gen_VkDevice(sample_handle(&p->s, GEN_HANDLE_VkDevice, 2));
    s->fence = gen_VkFence(sample_handle(&p->s, GEN_HANDLE_VkFence, 2));
    s->buffer = gen_VkBuffer(sample_handle(&p->s, GEN_HANDLE_VkBuffer, 2));
    put_start(p);
    PUT(p, vkCreateDevice, p->gpu, &device, NULL, &s->device, VK_SUCCESS);
    PUT(p, vkCreateFence, s->device, &fence, NULL, &s->fence, VK_SUCCESS);
    PUT(p, vkCreateBuffer, s->device, &buffer, NULL, &s->buffer, VK_SUCCESS);
    PUT(p, lapilliBindBuffer, s->buffer, p->memory, 0, BYTES, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
}

PLAYER_TEST(two_devices_have_objects_of_their_own)
{
    struct second s;

    put_second(p, &s);
    PUT(p, vkGetFenceStatus, s.device, s.fence, VK_NOT_READY);
    put_fill(p);
    put_check(p, PATTERN);
    PUT(p, vkResetFences, s.device, 1, &s.fence);
    PUT(p, vkDestroyFence, s.device, s.fence, NULL);
    PUT(p, vkDestroyBuffer, s.device, s.buffer, NULL);
    PUT(p, vkDestroyDevice, s.device, NULL);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(an_object_of_another_device_is_refused)
{
    struct second s;
    struct result result;

    put_second(p, &s);
    PUT(p, vkResetFences, p->device, 1, &s.fence);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkFence:2 is of another device or instance");
}

PLAYER_TEST(an_object_of_another_device_does_not_end)
{
    struct second s;
    struct result result;

    put_second(p, &s);
    PUT(p, vkDestroyFence, p->device, s.fence, NULL);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkFence:2 is of another device or instance");
}

PLAYER_TEST(an_object_of_another_device_is_refused_in_a_block)
{
    struct second s;
    struct result result;

    put_second(p, &s);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, s.buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkBuffer:2 is of another device or instance");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCmdFillBuffer");
}

PLAYER_TEST(an_object_of_another_instance_is_refused)
{
    VkInstance instance = gen_VkInstance(sample_handle(&p->s, GEN_HANDLE_VkInstance, 2));
    VkPhysicalDevice gpu = gen_VkPhysicalDevice(sample_handle(&p->s, GEN_HANDLE_VkPhysicalDevice, 2));
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    VkDeviceGroupDeviceCreateInfo group = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO, .physicalDeviceCount = 1, .pPhysicalDevices = &gpu};
    struct result result;

    put_instance(p);
    PUT(p, vkEnumeratePhysicalDevices, p->instance, &(uint32_t){1}, &p->gpu, VK_SUCCESS);
    PUT(p, vkCreateInstance, &info, NULL, &instance, VK_SUCCESS);
    PUT(p, vkEnumeratePhysicalDevices, instance, &(uint32_t){1}, &gpu, VK_SUCCESS);
    p->device_info.pNext = &group;
    put_device(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkPhysicalDevice:2 is of another device or instance");
}

/* ---- what is named ---- */

/* Records, destroys what was named, and submits. */
PLAYER_TEST(a_command_buffer_may_not_name_what_is_gone)
{
    struct result result;

    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkQueueSubmit), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:1 (block 1): VkBuffer:1 is not alive any more");
    CHECK_EQ_INT(result.validation_bytes, 0);
}

/* A number that is given again is another object. */
PLAYER_TEST(a_new_object_does_not_stand_for_one_that_is_gone)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    struct result result;

    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
    PUT(p, vkCreateBuffer, p->device, &info, NULL, &p->buffer, VK_SUCCESS);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkBuffer:1 is not alive any more");
}

/* What ends meanwhile and is not named, or is only copied, changes nothing. */
PLAYER_TEST(other_objects_may_go_before_a_submit)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
    VkPipelineLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                              .pushConstantRangeCount = 1,
                                              .pPushConstantRanges = &range};
    VkPipelineLayout layout = gen_VkPipelineLayout(sample_handle(&p->s, GEN_HANDLE_VkPipelineLayout, 1));
    VkBuffer other = gen_VkBuffer(sample_handle(&p->s, GEN_HANDLE_VkBuffer, 2));

    put_start(p);
    PUT(p, vkCreatePipelineLayout, p->device, &layout_info, NULL, &layout, VK_SUCCESS);
    PUT(p, vkCreateBuffer, p->device, &info, NULL, &other, VK_SUCCESS);
    block_begin(p);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    COMMAND(p, vkCmdPushConstants, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &(uint32_t){7});
    block_end(p, 0);
    PUT(p, vkDestroyBuffer, p->device, other, NULL);
    PUT(p, vkDestroyPipelineLayout, p->device, layout, NULL);
    put_submit(p);
    put_check(p, PATTERN);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(a_command_buffer_is_recorded_before_it_is_submitted)
{
    struct result result;

    put_start(p);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:1 is used and was not recorded");
    CHECK(program_begin(p));
    put_start(p);
    block_begin(p);
    block_end(p, 0);
    PUT(p, vkResetCommandPool, p->device, p->pool, 0);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:1 is used and was reset with its pool");
}

struct secondary {
    VkCommandPool pool;
    VkCommandBuffer primary, commands;
};

/* A primary command buffer that executes a secondary one. */
static void put_execute(struct program *p, struct secondary *s)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                    .queueFamilyIndex = p->family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                            .commandBufferCount = 1};

    s->primary = p->commands;
    allocate.commandPool = s->pool = gen_VkCommandPool(sample_handle(&p->s, GEN_HANDLE_VkCommandPool, 2));
    s->commands = gen_VkCommandBuffer(sample_handle(&p->s, GEN_HANDLE_VkCommandBuffer, 2));
    put_start(p);
    PUT(p, vkCreateCommandPool, p->device, &pool, NULL, &s->pool, VK_SUCCESS);
    PUT(p, vkAllocateCommandBuffers, p->device, &allocate, &s->commands, VK_SUCCESS);
}

static void put_secondary(struct program *p, struct secondary *s)
{
    VkCommandBufferInheritanceInfo inherited = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .pInheritanceInfo = &inherited};

    p->commands = s->commands;
    lap_enc_init(&p->block, &p->s.tables);
    lap_enc_use_writer(&p->block, p->s.writer);
    p->block.scratch[COND_SCRATCH_SECONDARY] = 1;
    p->block_commands = 0;
    COMMAND(p, vkBeginCommandBuffer, &begin);
    COMMAND(p, vkCmdFillBuffer, p->buffer, 0, VK_WHOLE_SIZE, PATTERN);
    block_end(p, 0);
    p->commands = s->primary;
}

static void put_primary(struct program *p, struct secondary *s)
{
    block_begin(p);
    COMMAND(p, vkCmdExecuteCommands, 1, &s->commands);
    block_end(p, 0);
}

PLAYER_TEST(secondary_command_buffers_are_recorded_and_executed)
{
    struct secondary s;

    put_execute(p, &s);
    put_secondary(p, &s);
    put_primary(p, &s);
    put_submit(p);
    put_check(p, PATTERN);
    PUT(p, vkDestroyCommandPool, p->device, s.pool, NULL);
    put_ends(p);
    check_played(p, 1, 0);
}

PLAYER_TEST(a_secondary_command_buffer_that_changed_since_is_refused)
{
    static const char *const says[] = {
        "VkCommandBuffer:2 was recorded anew", "VkCommandBuffer:2 is used and was not recorded",
        "VkCommandBuffer:2 is used and was reset with its pool", "VkCommandBuffer:2 is not alive any more",
        "VkCommandBuffer:2 (block 1): VkBuffer:1 is not alive any more"};
    struct secondary s;
    struct result result;

    for (unsigned i = 0; i < sizeof says / sizeof says[0]; i++) {
        CHECK(i == 0 || program_begin(p));
        put_execute(p, &s);
        put_secondary(p, &s);
        put_primary(p, &s);
        if (i == 0)
            put_secondary(p, &s);
        if (i == 1)
            PUT(p, vkResetCommandBuffer, s.commands, 0);
        if (i == 2)
            PUT(p, vkResetCommandPool, p->device, s.pool, 0);
        if (i == 3)
            PUT(p, vkFreeCommandBuffers, p->device, s.pool, 1, &s.commands);
        if (i == 4)
            PUT(p, vkDestroyBuffer, p->device, p->buffer, NULL);
        put_submit(p);
        result = play(p, false);
        CHECK_SAYS(result, LAP_ERROR_REPLAY, says[i]);
        CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:1 (block 2): ");
    }
}

PLAYER_TEST(a_secondary_command_buffer_is_recorded_before_it_is_executed)
{
    struct secondary s;
    struct result result;

    put_execute(p, &s);
    put_primary(p, &s);
    put_submit(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCmdExecuteCommands), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkCommandBuffer:2 is used and was not recorded");
}

struct drawn {
    VkImage image;
    VkImageView view;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
};

static void put_framebuffer(struct program *p, struct drawn *d)
{
    VkImageCreateInfo image = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = VK_FORMAT_R8G8B8A8_UNORM,
                               .extent = {4, 4, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
    VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                  .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                  .format = VK_FORMAT_R8G8B8A8_UNORM,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkAttachmentDescription attachment = {.format = VK_FORMAT_R8G8B8A8_UNORM,
                                          .samples = VK_SAMPLE_COUNT_1_BIT,
                                          .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                          .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &color};
    VkRenderPassCreateInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                   .attachmentCount = 1,
                                   .pAttachments = &attachment,
                                   .subpassCount = 1,
                                   .pSubpasses = &subpass};
    VkFramebufferCreateInfo framebuffer = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                           .attachmentCount = 1,
                                           .pAttachments = &d->view,
                                           .width = 4,
                                           .height = 4,
                                           .layers = 1};

    view.image = d->image = gen_VkImage(sample_handle(&p->s, GEN_HANDLE_VkImage, 1));
    d->view = gen_VkImageView(sample_handle(&p->s, GEN_HANDLE_VkImageView, 1));
    framebuffer.renderPass = d->pass = gen_VkRenderPass(sample_handle(&p->s, GEN_HANDLE_VkRenderPass, 1));
    d->framebuffer = gen_VkFramebuffer(sample_handle(&p->s, GEN_HANDLE_VkFramebuffer, 1));
    put_start(p);
    PUT(p, vkCreateImage, p->device, &image, NULL, &d->image, VK_SUCCESS);
    PUT(p, lapilliBindImage, d->image, 0, p->memory, BYTES, BYTES, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0,
        VK_NULL_HANDLE, 0);
    PUT(p, vkCreateImageView, p->device, &view, NULL, &d->view, VK_SUCCESS);
    PUT(p, vkCreateRenderPass, p->device, &pass, NULL, &d->pass, VK_SUCCESS);
    PUT(p, vkCreateFramebuffer, p->device, &framebuffer, NULL, &d->framebuffer, VK_SUCCESS);
}

static void put_pass(struct program *p, const struct drawn *d)
{
    VkClearValue clear = {{{0, 0, 0, 0}}};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                   .renderPass = d->pass,
                                   .framebuffer = d->framebuffer,
                                   .renderArea = {{0, 0}, {4, 4}},
                                   .clearValueCount = 1,
                                   .pClearValues = &clear};

    block_begin(p);
    COMMAND(p, vkCmdBeginRenderPass, &begin, VK_SUBPASS_CONTENTS_INLINE);
    COMMAND(p, vkCmdEndRenderPass);
    block_end(p, 0);
}

/* What a framebuffer names may go before its commands are recorded, or between that and the submit. */
PLAYER_TEST(a_framebuffer_needs_its_views_and_their_images)
{
    struct drawn d;
    struct result result;

    for (unsigned i = 0; i < 4; i++) {
        CHECK(i == 0 || program_begin(p));
        put_framebuffer(p, &d);
        if (i < 2)
            put_pass(p, &d);
        if (i % 2 == 0)
            PUT(p, vkDestroyImageView, p->device, d.view, NULL);
        else
            PUT(p, vkDestroyImage, p->device, d.image, NULL);
        if (i >= 2)
            put_pass(p, &d);
        put_submit(p);
        result = play(p, false);
        CHECK_SAYS(result, LAP_ERROR_REPLAY,
                   i % 2 == 0 ? "VkFramebuffer:1: VkImageView:1 is not alive any more"
                              : "VkFramebuffer:1: VkImageView:1: VkImage:1 is not alive any more");
        CHECK_SAYS(result, LAP_ERROR_REPLAY, i < 2 ? "(vkQueueSubmit), " : "vkCmdBeginRenderPass), ");
    }
}

/* ---- nulls ---- */

static void put_null_index_buffer(struct program *p)
{
    put_start(p);
    block_begin(p);
    COMMAND(p, vkCmdBindIndexBuffer, VK_NULL_HANDLE, 0, VK_INDEX_TYPE_UINT16);
    block_end(p, 0);
}

#ifdef VK_KHR_maintenance6
/* Of the first GPU, which is the one that traces are played on where there is one. */
static bool gpu_has(const char *extension)
{
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    VkInstance instance;
    VkPhysicalDevice gpu;
    VkExtensionProperties *extensions = NULL;
    uint32_t gpus = 1, count = 0;
    bool has = false;

    if (vkCreateInstance(&create, NULL, &instance) != VK_SUCCESS)
        return false;
    if (vkEnumeratePhysicalDevices(instance, &gpus, &gpu) >= 0 && gpus &&
        vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, NULL) == VK_SUCCESS)
        extensions = calloc(count + 1, sizeof(*extensions));
    if (extensions && vkEnumerateDeviceExtensionProperties(gpu, NULL, &count, extensions) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            has |= strcmp(extensions[i].extensionName, extension) == 0;
    free(extensions);
    vkDestroyInstance(instance, NULL);
    return has;
}
#endif

/* VUID-vkCmdBindIndexBuffer-None-09493: in whatever way a build's registry says that. */
PLAYER_TEST(no_index_buffer_wants_a_feature)
{
    struct result result;

    put_null_index_buffer(p);
    result = play(p, false);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "vkCmdBindIndexBuffer), ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "buffer");
#ifdef VK_KHR_maintenance6
    VkPhysicalDeviceMaintenance6FeaturesKHR features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_FEATURES_KHR, .maintenance6 = VK_TRUE};
    CHECK(program_begin(p));
    p->device_info.pNext = &features;
    p->extensions[0] = VK_KHR_MAINTENANCE_6_EXTENSION_NAME;
    put_null_index_buffer(p);
    expect_messages = true; /* of validation that is older than the extension */
    result = play(p, false);
    expect_messages = false;
    if (!gpu_has(VK_KHR_MAINTENANCE_6_EXTENSION_NAME))
        SKIP("no driver with maintenance6");
    CHECK_EQ_INT(result.status, LAP_OK);
    CHECK_STR(result.error, "");
#endif
}

/* Programs of today may do what a build's registry did not allow yet. */
PLAYER_TEST(names_of_layers_of_devices_are_nobodys_matter)
{
    p->device_info.enabledLayerCount = 1;
    put_start(p);
    check_played(p, 0, 0);
}

/* ---- code ---- */

static const uint32_t good_code[] = {
    0x07230203, 0x00010000, 0,          5,          0,    /* ids below 5 */
    0x00020011, 1,                                        /* OpCapability Shader */
    0x0003000e, 0,          1,                            /* OpMemoryModel Logical GLSL450 */
    0x0005000f, 5,          1,          0x6e69616d, 0,    /* OpEntryPoint GLCompute %1 "main" */
    0x00060010, 1,          17,         1,          1, 1, /* OpExecutionMode %1 LocalSize 1 1 1 */
    0x00020013, 2,                                        /* %2 = OpTypeVoid */
    0x00030021, 3,          2,                            /* %3 = OpTypeFunction %2 */
    0x00050036, 2,          1,          0,          3,    /* %1 = OpFunction %2 None %3 */
    0x000200f8, 4,          0x000100fd, 0x00010038,       /* %4 = OpLabel, OpReturn, OpFunctionEnd */
};

/* One shader module, with the word at `at` changed to another, played with a judge. */
static struct result play_code(struct program *p, unsigned at, uint32_t word, size_t bytes)
{
    VkShaderModule module = gen_VkShaderModule(sample_handle(&p->s, GEN_HANDLE_VkShaderModule, 1));
    uint32_t code[sizeof good_code / 4];
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    struct result result;

    memcpy(code, good_code, sizeof code);
    code[at] = word;
    put_instance(p);
    put_device(p);
    PUT(p, vkCreateShaderModule, p->device, &info, NULL, &module, VK_SUCCESS);
    judge = replay_spirv_tools;
    result = play(p, false);
    judge = NULL;
    return result;
}

PLAYER_TEST(good_code_is_let_pass)
{
    struct result result;

    if (!replay_spirv_tools)
        SKIP("built without SPIRV-Tools");
    result = play_code(p, 0, good_code[0], sizeof good_code);
    CHECK_PLAYED(result);
}

PLAYER_TEST(code_that_was_changed_is_refused)
{
    struct result result;

    if (!replay_spirv_tools)
        SKIP("built without SPIRV-Tools");
    result = play_code(p, 25, 9, sizeof good_code); /* the function's type returns what there is not */
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "(vkCreateShaderModule), chunk at offset ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkShaderModule:1 is no valid SPIR-V: byte 92: ");
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "'9[%9]' requires a previous definition");
    CHECK_EQ_INT(result.validation_bytes, 0); /* nobody else has seen it */
    CHECK(program_begin(p));
    result = play_code(p, 0, 0, sizeof good_code);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkShaderModule:1 is no valid SPIR-V: byte 0: Invalid SPIR-V magic number");
    CHECK(program_begin(p));
    result = play_code(p, 1, 0x00010600, sizeof good_code);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "Invalid SPIR-V binary version 1.6 for target environment SPIR-V 1.5");
    CHECK(program_begin(p));
    result = play_code(p, 0, good_code[0], sizeof good_code - 4);
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "VkShaderModule:1 is no valid SPIR-V: byte ");
}

/* Code may come without a module. */
PLAYER_TEST(code_of_a_stage_is_looked_at)
{
    uint32_t code[sizeof good_code / 4];
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof code, .pCode = code};
    VkPipelineLayoutCreateInfo layout_info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    VkPipelineLayout layout = gen_VkPipelineLayout(sample_handle(&p->s, GEN_HANDLE_VkPipelineLayout, 1));
    VkPipeline pipeline = gen_VkPipeline(sample_handle(&p->s, GEN_HANDLE_VkPipeline, 1));
    VkComputePipelineCreateInfo pipeline_info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                                 .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                           .pNext = &info,
                                                           .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                           .pName = "main"},
                                                 .layout = layout};
    struct result result;

    if (!replay_spirv_tools)
        SKIP("built without SPIRV-Tools");
    memcpy(code, good_code, sizeof code);
    code[25] = 9;
    put_instance(p);
    put_device(p);
    PUT(p, vkCreatePipelineLayout, p->device, &layout_info, NULL, &layout, VK_SUCCESS);
    PUT(p, vkCreateComputePipelines, p->device, VK_NULL_HANDLE, 1, &pipeline_info, NULL, &pipeline, VK_SUCCESS);
    judge = replay_spirv_tools;
    result = play(p, false);
    judge = NULL;
    CHECK_SAYS(result, LAP_ERROR_REPLAY, "the code of a stage is no valid SPIR-V: byte ");
}

UNIT_MAIN();
