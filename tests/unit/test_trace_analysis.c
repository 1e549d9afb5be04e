/* SPDX-License-Identifier: MIT */
/* One reading of a trace that serves several visitors, and the parts that stand on it. */
#include "inspector/analysis/trace_analysis.h"

#include "gen_decode.h"
#include "gen_reflect.h"
#include "tests/unit/sample_trace.h"

#define DEVICE   1u
#define FAMILY   2u
#define COMMANDS 4u /* of the block */

/* A device with a pool on one family, two command buffers that hold the same block, which draws twice. */
struct written {
    struct sample s;
    VkDevice device;
    VkCommandPool pool;
    VkCommandBuffer commands[2], primary;
    VkQueue queue;
    struct lap_reader *reader;
};

static uint64_t put_block(struct written *w, uint32_t command, const void *args)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    struct lap_enc block;
    uint64_t id;

    lap_enc_init(&block, &w->s.tables);
    lap_enc_use_writer(&block, w->s.writer);
    CHECK(lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT));
    lap_put_u64(&block, GEN_vkBeginCommandBuffer);
    gen_encode_vkBeginCommandBuffer(&block, &begin);
    for (int i = 0; i < 2 && command == GEN_vkCmdDraw; i++) {
        CHECK(lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT));
        lap_put_u64(&block, GEN_vkCmdDraw);
        gen_encode_vkCmdDraw(&block, 3, 1, 0, 0);
    }
    if (command == GEN_vkCmdExecuteCommands) {
        CHECK(lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT));
        lap_put_u64(&block, GEN_vkCmdExecuteCommands);
        gen_encode_vkCmdExecuteCommands(&block, 2, args);
    }
    if (command == GEN_vkCmdWriteTimestamp) { /* of a number that no dictionary has */
        CHECK(lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT));
        lap_put_u64(&block, 1 << 20);
    }
    CHECK(lap_enc_reserve(&block, LAP_WIRE_MAX_VARINT));
    lap_put_u64(&block, GEN_vkEndCommandBuffer);
    gen_encode_vkEndCommandBuffer(&block);
    CHECK(!block.failed);
    id = lap_writer_blob(w->s.writer, LAP_BLOB_BLOCK, block.base, (size_t)(block.p - block.base), NULL);
    lap_enc_finish(&block);
    return id;
}

#define PUT(w, command, ...)                                                                                           \
    do {                                                                                                               \
        gen_encode_##command(sample_packet(&(w)->s, GEN_##command, 0), __VA_ARGS__);                                   \
        lap_packet_end((w)->s.stream);                                                                                 \
    } while (0)

static void put_submit(struct written *w, VkCommandBuffer commands, uint32_t count)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .waitSemaphoreCount = count,
                         .pWaitSemaphores = &semaphore,
                         .pWaitDstStageMask = &stage,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands};

    PUT(w, vkQueueSubmit, w->queue, 1, &info, VK_NULL_HANDLE);
}

static void put_image(struct written *w, uint64_t index, VkFormat format, VkFormat view)
{
    VkImage image = gen_VkImage(sample_handle(&w->s, GEN_HANDLE_VkImage, index));
    VkImageView seen = gen_VkImageView(sample_handle(&w->s, GEN_HANDLE_VkImageView, index));
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {8, (uint32_t)index, 1}};
    VkImageViewCreateInfo view_info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, .image = image, .format = view};

    PUT(w, vkCreateImage, w->device, &info, NULL, &image, VK_SUCCESS);
    PUT(w, vkCreateImageView, w->device, &view_info, NULL, &seen, VK_SUCCESS);
}

static void begin(struct written *w, bool damaged)
{
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = FAMILY};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    VkCommandBuffer all[3];
    uint64_t block;

    CHECK(sample_begin(&w->s));
    w->device = gen_VkDevice(sample_handle(&w->s, GEN_HANDLE_VkDevice, DEVICE));
    w->pool = gen_VkCommandPool(sample_handle(&w->s, GEN_HANDLE_VkCommandPool, 1));
    w->queue = gen_VkQueue(sample_handle(&w->s, GEN_HANDLE_VkQueue, 1));
    for (unsigned i = 0; i < 3; i++)
        all[i] = gen_VkCommandBuffer(sample_handle(&w->s, GEN_HANDLE_VkCommandBuffer, i + 1));
    w->commands[0] = all[0];
    w->commands[1] = all[1];
    w->primary = all[2];
    allocate.commandPool = w->pool;
    allocate.commandBufferCount = 3;
    PUT(w, vkGetDeviceQueue, w->device, FAMILY, 0, &w->queue);
    PUT(w, vkCreateCommandPool, w->device, &pool, NULL, &w->pool, VK_SUCCESS);
    PUT(w, vkAllocateCommandBuffers, w->device, &allocate, all, VK_SUCCESS);
    block = put_block(w, GEN_vkCmdDraw, NULL);
    PUT(w, lapilliBlock, w->commands[0], block, COMMANDS);
    PUT(w, lapilliBlock, w->commands[1], block, COMMANDS);
    put_submit(w, w->commands[0], 0);
    lap_writer_frame(w->s.writer);
    PUT(w, lapilliBlock, w->primary, put_block(w, damaged ? GEN_vkCmdWriteTimestamp : GEN_vkCmdExecuteCommands, all),
        3);
    put_submit(w, w->primary, 1);
    put_image(w, 1, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R8G8B8A8_SRGB);
    put_image(w, 2, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_R32_UINT);
    put_image(w, 3, VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16_SFLOAT);
    lap_writer_frame(w->s.writer);
    sample_end(&w->s);
    CHECK_EQ_INT(lap_reader_open(w->s.path, NULL, &w->reader), LAP_OK);
}

static void end(struct written *w)
{
    lap_reader_close(&w->reader);
    sample_finish(&w->s);
}

struct seen {
    unsigned packets, blocks, in_blocks, heads, most;
    uint64_t last_block;
};

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct seen *seen = state;

    if (call->block) {
        CHECK(call->block != seen->last_block || call->index);
        CHECK_EQ_U64(call->packet->frame, call->block == 1 ? 0 : 1);
        seen->last_block = call->block;
        seen->in_blocks++;
    } else {
        seen->packets++;
        seen->blocks += call->command == GEN_lapilliBlock;
    }
    return seen->most && seen->packets + seen->in_blocks >= seen->most ? LAP_END : LAP_OK;
}

static void see_head(void *state, const struct lap_packet *packet)
{
    ((struct seen *)state)->heads++;
}

UNIT_TEST(a_block_is_visited_once_for_all_who_want_it)
{
    static const uint16_t only_submits[] = {GEN_vkQueueSubmit, GEN_COMMAND_NONE};
    struct seen all = {0}, submits = {0}, heads = {0};
    struct trace_visitor visitors[] = {
        {.all_commands = true, .visit = see, .visit_in_block = see, .state = &all},
        {.commands = only_submits, .visit = see, .state = &submits},
        {.see_packet = see_head, .state = &heads},
    };
    struct written w = {0};

    begin(&w, false);
    CHECK_EQ_INT(trace_pass_run(w.reader, 0, visitors, 3), LAP_OK);
    CHECK_EQ_U64(all.packets, 14);
    CHECK_EQ_U64(all.blocks, 3);
    CHECK_EQ_U64(all.in_blocks, COMMANDS + 3);
    CHECK_EQ_U64(submits.packets, 2);
    CHECK_EQ_U64(submits.in_blocks, 0);
    CHECK_EQ_U64(heads.heads, 14);
    all = (struct seen){0};
    CHECK_EQ_INT(trace_pass_run(w.reader, 1, visitors, 1), LAP_OK); /* one frame */
    CHECK_EQ_U64(all.packets, 6);
    end(&w);
}

UNIT_TEST(a_visitor_that_has_seen_enough_leaves)
{
    struct seen first = {.most = 1}, inside = {.most = 5}, limited = {0};
    struct trace_visitor visitors[] = {
        {.all_commands = true, .visit = see, .state = &first},
        {.all_commands = true, .visit = see, .visit_in_block = see, .state = &inside},
        {.all_commands = true, .visit = see, .state = &limited, .last_ticket = 3},
    };
    struct written w = {0};
    struct trace_pass *pass;

    begin(&w, false);
    CHECK_EQ_INT(trace_pass_open(w.reader, 0, visitors, 3, &pass), LAP_OK);
    CHECK_EQ_INT(trace_pass_advance(pass, 0), LAP_OK);
    CHECK_EQ_U64(first.packets, 1);
    CHECK_EQ_INT(trace_pass_advance(pass, UINT64_MAX), LAP_END);
    CHECK_EQ_U64(first.packets, 1);
    CHECK_EQ_U64(inside.packets, 3);
    CHECK_EQ_U64(inside.in_blocks, 2); /* in the middle of a block */
    CHECK_EQ_U64(limited.packets, 3);
    CHECK_EQ_U64(trace_pass_packet(pass)->ticket, 4); /* nobody is left, so nothing more is read */
    trace_pass_close(&pass);
    end(&w);
}

UNIT_TEST(damage_is_an_error_with_its_place)
{
    static const uint16_t only_submits[] = {GEN_vkQueueSubmit, GEN_COMMAND_NONE};
    struct seen seen = {0};
    struct trace_visitor visitor = {.commands = only_submits, .visit = see, .state = &seen};
    struct trace_analysis *analysis;
    struct written w = {0};

    begin(&w, true);
    CHECK_EQ_INT(trace_pass_run(w.reader, 0, &visitor, 1), LAP_OK); /* nobody looks at the block */
    CHECK_EQ_U64(seen.packets, 2);
    CHECK_EQ_INT(trace_analysis_create(w.reader, 0, &analysis), LAP_OK);
    for (int i = 0; i < 2; i++) { /* asking again gives the same */
        CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_FEATURES), LAP_ERROR_FORMAT);
        CHECK(strstr(lap_error_message(), "frame 2, packet 7 (lapilliBlock)") != NULL);
        CHECK(strstr(lap_error_message(), "which the dictionary lacks") != NULL);
    }
    CHECK(trace_analysis_features(analysis)->commands[GEN_vkCmdDraw]); /* up to there all is known */
    CHECK(!trace_analysis_features(analysis)->commands[GEN_vkCreateImage]);
    CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_IMAGES), LAP_OK); /* they lie in no block */
    CHECK_EQ_U64(trace_analysis_images(analysis)->count, 1);
    trace_analysis_destroy(&analysis);
    end(&w);
}

UNIT_TEST(parts_are_found_when_they_are_asked_for)
{
    struct seen seen = {0};
    struct trace_visitor visitor = {.visit = see, .state = &seen};
    const struct queue_family_use *family;
    const struct trace_positions *positions;
    struct trace_analysis *analysis;
    struct written w = {0};

    begin(&w, false);
    CHECK_EQ_INT(trace_analysis_create(w.reader, 0, &analysis), LAP_OK);
    CHECK(!trace_analysis_queues(analysis) && !trace_analysis_positions(analysis));
    CHECK_EQ_INT(trace_analysis_get_with(analysis, TRACE_ANALYSIS_QUEUES | TRACE_ANALYSIS_POSITIONS, &visitor, 1),
                 LAP_OK);
    CHECK(!trace_analysis_images(analysis) && !trace_analysis_features(analysis));
    family = queue_use_of(trace_analysis_queues(analysis), DEVICE, FAMILY);
    CHECK(family != NULL);
    CHECK_EQ_U64(family->one_of, 1u << VK_QUEUE_GRAPHICS_BIT |
                                     1u << (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT));
    CHECK_EQ_U64(family->stages, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    CHECK(!family->timestamps && !family->image_copies);
    CHECK(!queue_use_of(trace_analysis_queues(analysis), DEVICE + 1, FAMILY));

    positions = trace_analysis_positions(analysis);
    CHECK_EQ_U64(positions->submit_count, 2);
    CHECK_EQ_U64(positions->block_count, 2);
    CHECK_EQ_U64(positions->blocks[0].command_count, COMMANDS);
    CHECK_EQ_U64(positions->blocks[0].draw_count, 2);
    CHECK_EQ_U64(positions->draws[positions->blocks[0].first_draw + 1], 2);
    CHECK_EQ_U64(positions->submits[1].frame, 1);
    CHECK_EQ_U64(positions->buffers[positions->submits[1].first_buffer].block, 1);
    CHECK_EQ_U64(positions->draws_executed, 2 + 4); /* once, and by a command buffer that executes both */

    CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_ALL), LAP_OK);
    CHECK(trace_analysis_positions(analysis) == positions);
    CHECK_EQ_U64(positions->submit_count, 2); /* not looked for again */
    CHECK(trace_analysis_features(analysis)->commands[GEN_vkCmdExecuteCommands]);
    CHECK_EQ_U64(trace_analysis_images(analysis)->count, 1); /* half floats have no other order */
    CHECK_EQ_U64(trace_analysis_images(analysis)->uses[0].count, 2);
    CHECK_EQ_U64(trace_analysis_images(analysis)->uses[0].info.extent.height, 2);
    CHECK(trace_analysis_images(analysis)->uses[0].seen_otherwise);
    trace_analysis_destroy(&analysis);
    end(&w);
}

static const struct object_life *life_of(const struct object_lives *lives, enum gen_handle_type type, uint64_t index)
{
    for (size_t i = 0; i < lives->count; i++)
        if (lives->lives[i].type == type && lives->lives[i].index == index)
            return &lives->lives[i];
    UNIT_FAIL("the trace has no %s %u", gen_handle_names[type], (unsigned)index);
    exit(1);
}

/* A set that is freed, two that a reset ends, one that its pool's destruction ends, and a buffer that stays. */
UNIT_TEST(objects_end_with_what_they_belong_to)
{
    VkDescriptorPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    static const uint64_t ends[] = {4, 5, 5, 7};
    const struct object_lives *lives;
    struct trace_analysis *analysis;
    VkDescriptorSetLayout layouts[3] = {VK_NULL_HANDLE};
    VkDescriptorSet sets[4];
    VkDescriptorPool pool;
    struct written w = {0};
    VkBuffer buffer;

    CHECK(sample_begin(&w.s));
    w.device = gen_VkDevice(sample_handle(&w.s, GEN_HANDLE_VkDevice, DEVICE));
    pool = gen_VkDescriptorPool(sample_handle(&w.s, GEN_HANDLE_VkDescriptorPool, 1));
    buffer = gen_VkBuffer(sample_handle(&w.s, GEN_HANDLE_VkBuffer, 1));
    for (unsigned i = 0; i < 4; i++)
        sets[i] = gen_VkDescriptorSet(sample_handle(&w.s, GEN_HANDLE_VkDescriptorSet, i + 1));
    allocate.descriptorPool = pool;
    allocate.pSetLayouts = layouts;
    PUT(&w, vkCreateBuffer, w.device, &buffer_info, NULL, &buffer, VK_SUCCESS);
    PUT(&w, vkCreateDescriptorPool, w.device, &pool_info, NULL, &pool, VK_SUCCESS);
    allocate.descriptorSetCount = 3;
    PUT(&w, vkAllocateDescriptorSets, w.device, &allocate, sets, VK_SUCCESS);
    PUT(&w, vkFreeDescriptorSets, w.device, pool, 1, sets);
    PUT(&w, vkResetDescriptorPool, w.device, pool, 0);
    allocate.descriptorSetCount = 1;
    PUT(&w, vkAllocateDescriptorSets, w.device, &allocate, sets + 3, VK_SUCCESS);
    PUT(&w, vkDestroyDescriptorPool, w.device, pool, NULL);
    PUT(&w, lapilliUpdateBuffer, buffer, 0, 5, "hello");
    lap_writer_frame(w.s.writer);
    sample_end(&w.s);
    CHECK_EQ_INT(lap_reader_open(w.s.path, NULL, &w.reader), LAP_OK);
    CHECK_EQ_INT(trace_analysis_create(w.reader, 0, &analysis), LAP_OK);
    CHECK(!trace_analysis_lives(analysis));
    CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_LIVES), LAP_OK);
    lives = trace_analysis_lives(analysis);
    CHECK_EQ_U64(lives->count, 6);
    CHECK_EQ_U64(lives->most_alive, 5);
    CHECK_EQ_U64(lives->alive, 1);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkDescriptorSet, i + 1)->end, ends[i]);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkDescriptorPool, 1)->end, 7);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkBuffer, 1)->end, 0);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkBuffer, 1)->last_host_write, 8);
    trace_analysis_destroy(&analysis);
    end(&w);
}

/* Handles in the structures that a call fills, some for the second time; and pipelines of which one failed. */
UNIT_TEST(objects_begin_in_structures_and_beside_those_that_failed)
{
    VkPhysicalDeviceGroupProperties groups[2] = {{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES},
                                                 {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES}};
    VkComputePipelineCreateInfo infos[3];
    const struct object_lives *lives;
    struct trace_analysis *analysis;
    struct written w = {0};
    VkPipeline pipelines[3] = {VK_NULL_HANDLE};
    VkPhysicalDevice second;
    VkInstance instance;
    uint32_t count = 1;

    CHECK(sample_begin(&w.s));
    instance = gen_VkInstance(sample_handle(&w.s, GEN_HANDLE_VkInstance, 1));
    w.device = gen_VkDevice(sample_handle(&w.s, GEN_HANDLE_VkDevice, DEVICE));
    second = gen_VkPhysicalDevice(sample_handle(&w.s, GEN_HANDLE_VkPhysicalDevice, 2));
    pipelines[0] = gen_VkPipeline(sample_handle(&w.s, GEN_HANDLE_VkPipeline, 1));
    pipelines[2] = gen_VkPipeline(sample_handle(&w.s, GEN_HANDLE_VkPipeline, 2));
    for (unsigned i = 0; i < 3; i++)
        infos[i] = (VkComputePipelineCreateInfo){.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                                 .stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    PUT(&w, vkCreateInstance, &(VkInstanceCreateInfo){.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO}, NULL, &instance,
        VK_SUCCESS);
    PUT(&w, vkEnumeratePhysicalDevices, instance, &count, &second, VK_SUCCESS);
    for (uint32_t i = 0; i < 2; i++) {
        groups[i].physicalDeviceCount = 1;
        groups[i].physicalDevices[0] =
            i ? second : gen_VkPhysicalDevice(sample_handle(&w.s, GEN_HANDLE_VkPhysicalDevice, 1));
    }
    count = 2;
    PUT(&w, vkEnumeratePhysicalDeviceGroups, instance, &count, groups, VK_SUCCESS);
    PUT(&w, vkCreateComputePipelines, w.device, VK_NULL_HANDLE, 3, infos, NULL, pipelines,
        VK_PIPELINE_COMPILE_REQUIRED);
    PUT(&w, vkDestroyInstance, instance, NULL);
    sample_end(&w.s);
    CHECK_EQ_INT(lap_reader_open(w.s.path, NULL, &w.reader), LAP_OK);
    CHECK_EQ_INT(trace_analysis_create(w.reader, 0, &analysis), LAP_OK);
    CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_LIVES), LAP_OK);
    lives = trace_analysis_lives(analysis);
    CHECK_EQ_U64(lives->count, 5);
    CHECK_EQ_U64(lives->alive, 2);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkPhysicalDevice, 2)->begin, 2);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkPhysicalDevice, 1)->begin, 3);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkPhysicalDevice, 1)->end, 5);
    CHECK_EQ_U64(life_of(lives, GEN_HANDLE_VkPipeline, 2)->element, 2);
    trace_analysis_destroy(&analysis);
    end(&w);
}

static bool is_enabled(const struct feature_use *use, const char *name)
{
    return use->enabled_extensions[extension_number(name)];
}

UNIT_TEST(what_is_enabled_and_what_is_used)
{
    const struct feature_use *use;
    struct trace_analysis *analysis;
    struct written w = {0};

    CHECK(sample_begin(&w.s));
    sample_record(&w.s);
    sample_end(&w.s);
    CHECK_EQ_INT(lap_reader_open(w.s.path, NULL, &w.reader), LAP_OK);
    CHECK_EQ_INT(trace_analysis_create(w.reader, 0, &analysis), LAP_OK);
    CHECK_EQ_INT(trace_analysis_get(analysis, TRACE_ANALYSIS_FEATURES), LAP_OK);
    use = trace_analysis_features(analysis);
    CHECK(is_enabled(use, "VK_EXT_custom_border_color") && is_enabled(use, "VK_KHR_swapchain"));
    CHECK(!is_enabled(use, "VK_EXT_mesh_shader"));
    CHECK(use->structs[GEN_STRUCT_VkPhysicalDeviceCustomBorderColorFeaturesEXT]);        /* a feature of it is on */
    CHECK(!use->structs[GEN_STRUCT_VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT]); /* all off */
    CHECK(use->enabled_features[feature_number("customBorderColors")]);
    CHECK(use->enabled_features[feature_number("samplerAnisotropy")]);
    CHECK(!use->evidence[feature_number("samplerAnisotropy")].use); /* switched on, and not used */
    CHECK(use->commands[GEN_vkCmdCopyBuffer] && !use->commands[GEN_vkCreateDevice]);
    trace_analysis_destroy(&analysis);
    end(&w);
}

UNIT_MAIN();
