/* SPDX-License-Identifier: MIT */
/* The layouts of images as the submits of a trace leave them. */
#include "inspector/state/image_layouts.h"

#include "gen_decode.h"
#include "tests/unit/sample_trace.h"

#define ALL VK_REMAINING_MIP_LEVELS

struct written {
    struct sample s;
    VkDevice device;
    VkQueue queues[2];
    VkImage image;
    VkCommandBuffer commands[2];
    struct lap_enc enc;
    uint32_t count;
    struct image_layouts *layouts;
};

#define PUT(w, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet(&(w)->s, GEN_##command, 0), __VA_ARGS__), lap_packet_end((w)->s.stream))

static struct lap_enc *command(struct written *w, uint32_t number)
{
    CHECK(lap_enc_reserve(&w->enc, LAP_WIRE_MAX_VARINT));
    lap_put_u64(&w->enc, number);
    w->count++;
    return &w->enc;
}

static void begin_block(struct written *w)
{
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    lap_enc_init(&w->enc, &w->s.tables);
    lap_enc_use_writer(&w->enc, w->s.writer);
    w->count = 0;
    gen_encode_vkBeginCommandBuffer(command(w, GEN_vkBeginCommandBuffer), &info);
}

static void end_block(struct written *w, unsigned commands)
{
    uint64_t id;
    gen_encode_vkEndCommandBuffer(command(w, GEN_vkEndCommandBuffer));
    id = lap_writer_blob(w->s.writer, LAP_BLOB_BLOCK, w->enc.base, (size_t)(w->enc.p - w->enc.base), NULL);
    lap_enc_finish(&w->enc);
    PUT(w, lapilliBlock, w->commands[commands], id, w->count);
}

static void barrier(struct written *w, VkImageAspectFlags aspects, uint32_t level, uint32_t levels, uint32_t layer,
                    uint32_t layers, VkImageLayout layout, uint32_t from, uint32_t to)
{
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .newLayout = layout,
                                          .srcQueueFamilyIndex = from,
                                          .dstQueueFamilyIndex = to,
                                          .image = w->image,
                                          .subresourceRange = {aspects, level, levels, layer, layers}};
    gen_encode_vkCmdPipelineBarrier(command(w, GEN_vkCmdPipelineBarrier), 1, 1, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static void submit(struct written *w, unsigned queue, unsigned commands)
{
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &w->commands[commands]};
    PUT(w, vkQueueSubmit, w->queues[queue], 1, &info, VK_NULL_HANDLE);
}

/* An image of depth and stencil with three levels and two layers. */
static void begin(struct written *w)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_D24_UNORM_S8_UINT,
                              .extent = {8, 8, 1},
                              .mipLevels = 3,
                              .arrayLayers = 2,
                              .samples = VK_SAMPLE_COUNT_1_BIT};
    memset(w, 0, sizeof *w);
    CHECK(sample_begin(&w->s));
    w->device = gen_VkDevice(sample_handle(&w->s, GEN_HANDLE_VkDevice, 1));
    w->image = gen_VkImage(sample_handle(&w->s, GEN_HANDLE_VkImage, 1));
    for (unsigned i = 0; i < 2; i++) {
        w->queues[i] = gen_VkQueue(sample_handle(&w->s, GEN_HANDLE_VkQueue, i + 1));
        w->commands[i] = gen_VkCommandBuffer(sample_handle(&w->s, GEN_HANDLE_VkCommandBuffer, i + 1));
        PUT(w, vkGetDeviceQueue, w->device, i, 0, &w->queues[i]);
    }
    PUT(w, vkCreateImage, w->device, &info, NULL, &w->image, VK_SUCCESS);
}

static const struct image_layout *find(struct written *w)
{
    struct lap_reader *reader = NULL;
    struct trace_visitor visitor;

    sample_end(&w->s);
    w->layouts = image_layouts_create();
    CHECK(w->layouts);
    image_layouts_visitor(w->layouts, 0, &visitor);
    CHECK_EQ_INT(lap_reader_open(w->s.path, NULL, &reader), LAP_OK);
    CHECK_EQ_INT(trace_pass_run(reader, 0, &visitor, 1), LAP_OK);
    lap_reader_close(&reader);
    return image_layouts_find(w->layouts, 1);
}

static void end(struct written *w)
{
    image_layouts_destroy(w->layouts);
    sample_finish(&w->s);
}

#define BOTH (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)

UNIT_TEST(only_what_was_submitted_counts_in_the_order_of_submission)
{
    struct written w;
    const struct image_layout *image;
    begin(&w);
    begin_block(&w);
    barrier(&w, BOTH, 0, ALL, 0, ALL, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
    end_block(&w, 0);
    begin_block(&w);
    barrier(&w, BOTH, 1, 1, 1, 1, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 0, 0);
    end_block(&w, 1);
    submit(&w, 0, 1);
    submit(&w, 1, 0);
    begin_block(&w);
    barrier(&w, BOTH, 0, ALL, 0, ALL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 0, 0);
    end_block(&w, 0); /* nobody submits it */
    image = find(&w);
    CHECK(image && image->aspects == BOTH);
    CHECK_EQ_U64(image->queue, 2);
    CHECK_EQ_U64(image_layouts_family(w.layouts, 2), 1);
    for (uint32_t layer = 0; layer < 2; layer++)
        for (uint32_t level = 0; level < 3; level++)
            CHECK_EQ_INT(image_layout_of_all(image, level, layer), VK_IMAGE_LAYOUT_GENERAL);
    end(&w);
}

UNIT_TEST(subresources_and_aspects_have_layouts_of_their_own)
{
    struct written w;
    const struct image_layout *image;
    begin(&w);
    begin_block(&w);
    barrier(&w, BOTH, 1, ALL, 1, 1, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
    barrier(&w, VK_IMAGE_ASPECT_STENCIL_BIT, 2, 9, 0, 9, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, 0, 0);
    end_block(&w, 0);
    submit(&w, 0, 0);
    image = find(&w);
    CHECK(image);
    CHECK_EQ_INT(image_layout_of_all(image, 0, 1), VK_IMAGE_LAYOUT_UNDEFINED);
    CHECK_EQ_INT(image_layout_of_all(image, 1, 1), VK_IMAGE_LAYOUT_GENERAL);
    CHECK_EQ_INT(image_layout_of_all(image, 2, 1), VK_IMAGE_LAYOUT_UNDEFINED); /* in two */
    CHECK_EQ_INT(image_layout_of(image, VK_IMAGE_ASPECT_DEPTH_BIT, 2, 1).layout, VK_IMAGE_LAYOUT_GENERAL);
    CHECK_EQ_INT(image_layout_of(image, VK_IMAGE_ASPECT_STENCIL_BIT, 2, 0).layout,
                 VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    end(&w);
}

UNIT_TEST(what_a_family_released_is_between_until_another_acquires_it)
{
    for (unsigned acquires = 0; acquires < 2; acquires++) {
        struct written w;
        const struct image_layout *image;
        begin(&w);
        begin_block(&w);
        barrier(&w, BOTH, 0, ALL, 0, ALL, VK_IMAGE_LAYOUT_GENERAL, 0, 1);
        end_block(&w, 0);
        submit(&w, 0, 0);
        if (acquires)
            submit(&w, 1, 0); /* the same barrier, on the other family's queue */
        image = find(&w);
        CHECK(image && image_layout_of(image, VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0).between == !acquires);
        end(&w);
    }
}

UNIT_TEST(secondary_command_buffers_count_where_they_are_executed)
{
    struct written w;
    const struct image_layout *image;
    begin(&w);
    begin_block(&w);
    barrier(&w, BOTH, 0, ALL, 0, ALL, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
    end_block(&w, 1);
    begin_block(&w);
    gen_encode_vkCmdExecuteCommands(command(&w, GEN_vkCmdExecuteCommands), 1, &w.commands[1]);
    barrier(&w, BOTH, 2, 1, 0, 1, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 0, 0);
    end_block(&w, 0);
    submit(&w, 0, 0);
    image = find(&w);
    CHECK(image);
    CHECK_EQ_INT(image_layout_of_all(image, 0, 0), VK_IMAGE_LAYOUT_GENERAL);
    CHECK_EQ_INT(image_layout_of_all(image, 2, 0), VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    end(&w);
}

UNIT_TEST(images_with_too_many_levels_and_layers_are_not_followed)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .format = VK_FORMAT_R8_UNORM,
                              .mipLevels = UINT32_MAX,
                              .arrayLayers = UINT32_MAX};
    const char *obstacle;
    struct written w;
    VkImage large;
    begin(&w);
    large = gen_VkImage(sample_handle(&w.s, GEN_HANDLE_VkImage, 2));
    PUT(&w, vkCreateImage, w.device, &info, NULL, &large, VK_SUCCESS);
    CHECK(!find(&w)); /* no step was applied */
    CHECK(image_layouts_of(w.layouts, 1, &obstacle) && !obstacle);
    CHECK(!image_layouts_of(w.layouts, 2, &obstacle) && strstr(obstacle, "too many levels"));
    end(&w);
}

UNIT_TEST(command_buffers_that_execute_each_other_end_it)
{
    struct written w;
    begin(&w);
    begin_block(&w);
    barrier(&w, BOTH, 0, ALL, 0, ALL, VK_IMAGE_LAYOUT_GENERAL, 0, 0);
    gen_encode_vkCmdExecuteCommands(command(&w, GEN_vkCmdExecuteCommands), 1, &w.commands[0]);
    gen_encode_vkCmdExecuteCommands(command(&w, GEN_vkCmdExecuteCommands), 1, &w.commands[0]);
    end_block(&w, 0);
    submit(&w, 0, 0);
    CHECK(!find(&w));
    end(&w);
}

UNIT_MAIN();
