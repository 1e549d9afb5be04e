/* SPDX-License-Identifier: MIT */
/* Which packets a part of a trace depends on that is about images, their layouts, and what the host does with them. */
#include "gen_renamed.h"
#include "tests/unit/slice_trace.h"

#define WHOLE ((VkImageSubresourceRange){VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1})

static VkImage put_image_in(struct written *w, uint64_t number, uint64_t of, uint64_t offset, uint64_t bytes)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8G8B8A8_UNORM,
                              .extent = {4, 4, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkDeviceMemory memory = gen_VkDeviceMemory(sample_handle(&w->s, GEN_HANDLE_VkDeviceMemory, of));
    VkImage image = gen_VkImage(sample_handle(&w->s, GEN_HANDLE_VkImage, number));
    PUT(w, vkCreateImage, w->device, &info, NULL, &image, VK_SUCCESS);
    PUT(w, lapilliBindImage, image, 0, memory, offset, bytes, 0, 0, VK_NULL_HANDLE, 0);
    return image;
}

static VkImage put_image(struct written *w, uint64_t number)
{
    return put_image_in(w, number, number, 0, 64);
}

static const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                         .imageExtent = {4, 4, 1}};

/* The device copies to an image, or from it. */
static uint64_t put_image_copy(struct written *w, unsigned commands, VkImage image, bool writes)
{
    struct block b = begin_block(w);
    if (writes)
        gen_encode_vkCmdCopyBufferToImage(command(&b, GEN_vkCmdCopyBufferToImage), w->buffers[0], image,
                                          VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    else
        gen_encode_vkCmdCopyImageToBuffer(command(&b, GEN_vkCmdCopyImageToBuffer), image, VK_IMAGE_LAYOUT_GENERAL,
                                          w->buffers[0], 1, &region);
    return end_block(&b, commands);
}

static uint64_t put_image_clear(struct written *w, unsigned commands, VkImage image)
{
    const VkImageSubresourceRange whole = WHOLE;
    const VkClearColorValue color = {.float32 = {0}};
    struct block b = begin_block(w);
    gen_encode_vkCmdClearColorImage(command(&b, GEN_vkCmdClearColorImage), image, VK_IMAGE_LAYOUT_GENERAL, &color, 1,
                                    &whole);
    return end_block(&b, commands);
}

static uint64_t put_image_barrier(struct written *w, unsigned commands, VkImage image, VkImageLayout from)
{
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .oldLayout = from,
                                          .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .image = image,
                                          .subresourceRange = WHOLE};
    struct block b = begin_block(w);
    gen_encode_vkCmdPipelineBarrier(command(&b, GEN_vkCmdPipelineBarrier), VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
    return end_block(&b, commands);
}

UNIT_TEST(a_clear_needs_the_layout_and_no_contents)
{
    struct written w;
    begin(&w);
    put_buffers(&w, 1);
    VkImage image = put_image(&w, 1);
    uint64_t lays = put_image_barrier(&w, 0, image, VK_IMAGE_LAYOUT_UNDEFINED);
    put_submit(&w, 0);
    uint64_t writes = put_image_copy(&w, 1, image, true);
    put_submit(&w, 1);
    uint64_t changes = put_image_barrier(&w, 2, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    put_submit(&w, 2);
    uint64_t part = put_image_clear(&w, 3, image);
    put_submit(&w, 3);
    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, lays) == SLICE_KEPT && fate(&w, changes) == SLICE_KEPT);
    CHECK_EQ_INT(fate(&w, writes), SLICE_DROPPED);
    CHECK_EQ_INT(find_with_contents(&w, part, NULL), LAP_OK);
    CHECK_EQ_U64(slice_contents(w.slice)->count, 0);
    CHECK_EQ_U64(slice_laid(w.slice)->count, 1);
    end(&w);
}

/* Two images in the memory of one that was over both of them, and is destroyed or not; and a third one without
 * contents. */
static uint64_t contents_over(bool destroyed, struct contents_file *file)
{
    struct written w;
    uint64_t writes[3], count;
    begin(&w);
    put_buffers(&w, 1);
    VkImage images[] = {put_image_in(&w, 1, 1, 0, 64), put_image_in(&w, 2, 1, 64, 64), put_image_in(&w, 3, 1, 0, 192)};
    put_image_in(&w, 4, 1, 128, 64);
    for (unsigned i = 3; i-- > 0;) {
        put_image_barrier(&w, 2 * i, images[i], VK_IMAGE_LAYOUT_UNDEFINED);
        put_submit(&w, 2 * i);
        writes[i] = put_image_copy(&w, 2 * i + 1, images[i], true);
        put_submit(&w, 2 * i + 1);
    }
    if (destroyed)
        PUT(&w, vkDestroyImage, w.device, images[2], NULL);
    uint64_t part = put_image_copy(&w, 6, images[0], false);
    put_submit(&w, 6);
    put_image_copy(&w, 7, images[1], false);
    put_submit(&w, 7);
    CHECK_EQ_INT(find_with_contents(&w, part, NULL), LAP_OK);
    count = slice_contents(w.slice)->count;
    CHECK_EQ_INT(find_with_contents(&w, part, file), LAP_OK);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ_INT(fate(&w, writes[i]), destroyed ? SLICE_DROPPED : SLICE_KEPT);
    end(&w);
    return count;
}

UNIT_TEST(images_that_lay_over_others_do_not_matter_when_destroyed)
{
    struct contents_place places[2] = {{1, 0, 64, true}, {2, 0, 64, true}};
    CHECK_EQ_U64(contents_over(true, &(struct contents_file){.places = places, .count = 2}), 2);
    CHECK_EQ_U64(contents_over(false, &(struct contents_file){.count = 0}), 0);
}

#ifdef VK_EXT_host_image_copy

static uint64_t put_transition(struct written *w, VkImage image, VkImageLayout from)
{
    const VkHostImageLayoutTransitionInfoEXT info = {.sType = VK_STRUCTURE_TYPE_HOST_IMAGE_LAYOUT_TRANSITION_INFO_EXT,
                                                     .image = image,
                                                     .oldLayout = from,
                                                     .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                                     .subresourceRange = WHOLE};
    return PUT(w, vkTransitionImageLayoutEXT, w->device, 1, &info, VK_SUCCESS);
}

static uint64_t put_host_copy(struct written *w, VkImage from, VkImage to)
{
    const VkImageCopy2 copied = {.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                 .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                 .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                 .extent = {4, 4, 1}};
    const VkCopyImageToImageInfoEXT info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
                                            .srcImage = from,
                                            .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .dstImage = to,
                                            .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                            .regionCount = 1,
                                            .pRegions = &copied};
    return PUT(w, vkCopyImageToImageEXT, w->device, &info, VK_SUCCESS);
}

UNIT_TEST(what_the_host_does_with_images_stays_where_it_is_needed)
{
    struct written w;
    VkImage images[4];
    uint64_t lays[4], writes[4];
    begin(&w);
    put_buffers(&w, 1);
    for (unsigned i = 0; i < 4; i++) {
        images[i] = put_image(&w, i + 1);
        lays[i] = put_transition(&w, images[i], VK_IMAGE_LAYOUT_UNDEFINED);
        writes[i] = put_image_copy(&w, i, images[i], true);
        put_submit(&w, i);
    }
    uint64_t again = put_transition(&w, images[0], VK_IMAGE_LAYOUT_UNDEFINED);
    uint64_t copied = put_host_copy(&w, images[0], images[1]);
    uint64_t beside = put_host_copy(&w, images[2], images[3]);
    uint64_t part = put_image_copy(&w, 4, images[1], false);
    put_submit(&w, 4);

    CHECK_EQ_INT(find(&w, part), LAP_OK);
    CHECK(fate(&w, copied) == SLICE_KEPT && fate(&w, beside) == SLICE_DROPPED);
    CHECK(fate(&w, lays[1]) == SLICE_KEPT && fate(&w, writes[1]) == SLICE_KEPT); /* it is not all of the image */
    CHECK(fate(&w, again) == SLICE_KEPT && fate(&w, lays[0]) == SLICE_DROPPED && fate(&w, writes[0]) == SLICE_DROPPED);
    for (unsigned i = 2; i < 4; i++)
        CHECK(fate(&w, lays[i]) == SLICE_DROPPED && fate(&w, writes[i]) == SLICE_DROPPED);
    end(&w);
}

UNIT_TEST(contents_that_a_replay_gives_need_nothing_of_the_host)
{
    struct contents_place place = {1, 0, 64, true};
    struct contents_file file = {.places = &place, .count = 1};
    struct written w;
    uint64_t wanted, taken;
    begin(&w);
    put_buffers(&w, 1);
    VkImage image = put_image(&w, 1), other = put_image(&w, 2);
    uint64_t lays = put_transition(&w, image, VK_IMAGE_LAYOUT_UNDEFINED);
    uint64_t lays_other = put_transition(&w, other, VK_IMAGE_LAYOUT_UNDEFINED);
    uint64_t writes = put_image_copy(&w, 0, other, true);
    put_submit(&w, 0);
    uint64_t copied = put_host_copy(&w, other, image);
    uint64_t turned = put_transition(&w, other, VK_IMAGE_LAYOUT_GENERAL);
    uint64_t part = put_image_copy(&w, 2, image, false);
    put_submit(&w, 2);

    CHECK_EQ_INT(find_with_contents(&w, part, NULL), LAP_OK);
    CHECK_EQ_U64(slice_contents(w.slice)->count, 1);
    CHECK_EQ_INT(find_with_contents(&w, part, &file), LAP_OK);
    slice_count_contents(w.slice, &wanted, &taken);
    CHECK(wanted == 1 && taken == 1);
    CHECK(fate(&w, lays) == SLICE_DROPPED && fate(&w, lays_other) == SLICE_DROPPED);
    CHECK(fate(&w, writes) == SLICE_DROPPED && fate(&w, copied) == SLICE_DROPPED);
    CHECK_EQ_INT(fate(&w, turned), SLICE_DROPPED);
    end(&w);
}

#endif

UNIT_MAIN();
