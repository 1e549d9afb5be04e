/* SPDX-License-Identifier: MIT */
/*
 * ranges: commands that name memory by ranges of device addresses instead of buffers: copies, fills, updates, copies
 * from and to images, vertices, indices, indirect draws and dispatches, barriers (VK_KHR_device_address_commands); and
 * copies that are listed in memory themselves (VK_KHR_copy_memory_indirect). The host lists some of these, and
 * vkCmdUpdateMemoryKHR others. All buffers are parts of a few memories, and none begins where its memory does.
 */
#include "common/app.h"
#include "shaders/ranges_comp.h"
#include "shaders/ranges_frag.h"
#include "shaders/ranges_vert.h"

#ifdef VK_KHR_device_address_commands

#define WORDS 64u /* in each of the buffers of numbers */
#define BYTES (WORDS * 4u)
#define SIZE  16u
#define LIST  4u /* copies that are listed */

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

struct corner {
    float place[2];
    uint8_t tint[4];
};

struct job {
    struct place input, middle, output, list, corners, indices, draws, groups, numbers, pixels, image_list;
    struct app_image image, target;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout draw_layout, layout;
    VkPipeline draw, dispatch;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    bool lists, lists_images;
};

static struct {
    PFN_vkCmdCopyMemoryKHR copy;
    PFN_vkCmdFillMemoryKHR fill;
    PFN_vkCmdUpdateMemoryKHR update;
    PFN_vkCmdCopyMemoryToImageKHR to_image;
    PFN_vkCmdCopyImageToMemoryKHR from_image;
    PFN_vkCmdBindVertexBuffers3KHR vertices;
    PFN_vkCmdBindIndexBuffer3KHR indices;
    PFN_vkCmdDrawIndexedIndirect2KHR draw;
    PFN_vkCmdDispatchIndirect2KHR dispatch;
    PFN_vkCmdPipelineBarrier2KHR barrier;
    PFN_vkCmdCopyMemoryIndirectKHR copy_listed;
    PFN_vkCmdCopyMemoryToImageIndirectKHR to_image_listed;
} vk;

/* ---- buffers ---- */

#define AHEAD 256u /* of the memory, in front of a buffer */

static void create_place(const struct app *app, struct place *place, VkDeviceSize size, VkBufferUsageFlags usage,
                         enum app_memory kind)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = size,
                                     .usage = usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBufferDeviceAddressInfo ask = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;
    VkDeviceSize offset;
    void *mapped = NULL;

    *buffer = (struct app_buffer){.size = size};
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    offset = (AHEAD + requirements.alignment - 1) / requirements.alignment * requirements.alignment;
    allocate.allocationSize = buffer->allocated = offset + requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, offset));
    ask.buffer = buffer->buffer;
    place->address = vkGetBufferDeviceAddress(app->device, &ask);
    CHECK(place->address || app->no_check);
    if (kind == APP_DEVICE)
        return;
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = (uint8_t *)mapped + offset;
    memset(buffer->mapped, 0, size);
}

static void sync_place(const struct app *app, const struct place *place, bool invalidate)
{
    if (!place->buffer.coherent)
        app_memory_sync(app, place->buffer.memory, place->buffer.allocated, 0, place->buffer.allocated, invalidate);
}

static VkDeviceAddressRangeKHR range(const struct place *place, VkDeviceSize offset, VkDeviceSize size)
{
    return (VkDeviceAddressRangeKHR){place->address + offset, size};
}

static VkStridedDeviceAddressRangeKHR strided(const struct place *place, VkDeviceSize size, VkDeviceSize stride)
{
    return (VkStridedDeviceAddressRangeKHR){place->address, size, stride};
}

/* ---- barriers ---- */

/* Everything written before is there for everything behind; the ranges are named where `place` is. */
static void wait_for(VkCommandBuffer commands, const struct place *place)
{
    const VkMemoryBarrier2KHR all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2_KHR,
                                     .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT_KHR,
                                     .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT_KHR,
                                     .dstStageMask =
                                         VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT_KHR | VK_PIPELINE_STAGE_2_HOST_BIT_KHR,
                                     .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT_KHR |
                                                      VK_ACCESS_2_MEMORY_WRITE_BIT_KHR | VK_ACCESS_2_HOST_READ_BIT_KHR};
    VkMemoryRangeBarrierKHR one = {.sType = VK_STRUCTURE_TYPE_MEMORY_RANGE_BARRIER_KHR,
                                   .srcStageMask = all.srcStageMask,
                                   .srcAccessMask = all.srcAccessMask,
                                   .dstStageMask = all.dstStageMask & ~VK_PIPELINE_STAGE_2_HOST_BIT_KHR,
                                   .dstAccessMask = all.dstAccessMask & ~VK_ACCESS_2_HOST_READ_BIT_KHR,
                                   .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                   .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED};
    const VkMemoryRangeBarriersInfoKHR ranges = {.sType = VK_STRUCTURE_TYPE_MEMORY_RANGE_BARRIERS_INFO_KHR,
                                                 .memoryRangeBarrierCount = 1,
                                                 .pMemoryRangeBarriers = &one};
    VkDependencyInfoKHR info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO_KHR};
    if (place) {
        one.addressRange = range(place, 0, place->buffer.size);
        info.pNext = &ranges;
    } else {
        info.memoryBarrierCount = 1;
        info.pMemoryBarriers = &all;
    }
    vk.barrier(commands, &info);
}

/* ---- numbers ---- */

static uint32_t number(uint32_t frame, uint32_t i)
{
    return frame * 1000 + i * 7 + 1;
}

/* input to middle, where a part is filled and another updated, and on to output. */
static void record_numbers(const struct job *job, VkCommandBuffer commands, uint32_t frame)
{
    const uint32_t update[4] = {frame + 1, frame + 2, frame + 3, frame + 4};
    VkDeviceMemoryCopyKHR copies[2] = {{.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_COPY_KHR},
                                       {.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_COPY_KHR}};
    VkCopyDeviceMemoryInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_COPY_DEVICE_MEMORY_INFO_KHR, .regionCount = 2, .pRegions = copies};
    VkDeviceAddressRangeKHR part = range(&job->middle, 32, 32);

    copies[0].srcRange = range(&job->input, 0, BYTES / 2);
    copies[0].dstRange = range(&job->middle, BYTES / 2, BYTES / 2);
    copies[1].srcRange = range(&job->input, BYTES / 2, BYTES / 2);
    copies[1].dstRange = range(&job->middle, 0, BYTES / 2);
    vk.copy(commands, &info);
    wait_for(commands, &job->middle);
    vk.fill(commands, &part, 0, 0xabcd0000u + frame);
    part = range(&job->middle, 128, sizeof update);
    vk.update(commands, &part, 0, sizeof update, update);
    wait_for(commands, &job->middle);
    info.regionCount = 1;
    copies[0].srcRange = range(&job->middle, 0, BYTES);
    copies[0].dstRange = range(&job->output, 0, BYTES);
    vk.copy(commands, &info);
}

static uint32_t expected_number(uint32_t frame, uint32_t i)
{
    return i >= 8 && i < 16    ? 0xabcd0000u + frame
           : i >= 32 && i < 36 ? frame + i - 31
                               : number(frame, (i + WORDS / 2) % WORDS);
}

/* ---- copies that are listed ---- */

/* The host lists all but the last, which an update lists: the last quarter of `middle` becomes the first. */
static void list_copies(const struct app *app, const struct job *job, uint32_t frame)
{
    VkCopyMemoryIndirectCommandKHR *copies = (VkCopyMemoryIndirectCommandKHR *)job->list.buffer.mapped;
    for (uint32_t i = 0; i < LIST - 1; i++)
        copies[i] = (VkCopyMemoryIndirectCommandKHR){job->input.address + (i + frame) % LIST * 16,
                                                     job->numbers.address + i * 16, 16};
    sync_place(app, &job->list, false);
}

static void record_listed(const struct job *job, VkCommandBuffer commands)
{
    const VkCopyMemoryIndirectCommandKHR last = {job->input.address + BYTES - 16,
                                                 job->numbers.address + (LIST - 1) * 16, 16};
    const VkDeviceAddressRangeKHR where = range(&job->list, (LIST - 1) * sizeof last, sizeof last);
    VkCopyMemoryIndirectInfoKHR info = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_INDIRECT_INFO_KHR, .copyCount = LIST};

    vk.update(commands, &where, 0, sizeof last, &last);
    wait_for(commands, NULL);
    info.copyAddressRange = strided(&job->list, LIST * sizeof last, sizeof last);
    vk.copy_listed(commands, &info);
}

static uint32_t listed_number(uint32_t frame, uint32_t i)
{
    return number(frame, i / 4 == LIST - 1 ? WORDS - 4 + i % 4 : (i / 4 + frame) % LIST * 4 + i % 4);
}

/* ---- images ---- */

static void record_images(const struct job *job, VkCommandBuffer commands)
{
    VkDeviceMemoryImageCopyKHR region = {.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_IMAGE_COPY_KHR,
                                         .addressRowLength = SIZE,
                                         .addressImageHeight = SIZE,
                                         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                         .imageExtent = {8, 8, 1}};
    VkCopyDeviceMemoryImageInfoKHR info = {.sType = VK_STRUCTURE_TYPE_COPY_DEVICE_MEMORY_IMAGE_INFO_KHR,
                                           .image = job->image.image,
                                           .regionCount = 1,
                                           .pRegions = &region};
    const VkImageSubresourceLayers layers = region.imageSubresource;

    app_image_barrier(commands, &job->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    region.imageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    region.addressRowLength = region.addressImageHeight = 8;
    region.addressRange = range(&job->input, 0, BYTES);
    vk.to_image(commands, &info);
    if (job->lists_images) {
        VkCopyMemoryToImageIndirectInfoKHR listed = {.sType = VK_STRUCTURE_TYPE_COPY_MEMORY_TO_IMAGE_INDIRECT_INFO_KHR,
                                                     .copyCount = 1,
                                                     .dstImage = job->image.image,
                                                     .dstImageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                                     .pImageSubresources = &layers};
        listed.copyAddressRange = strided(&job->image_list, sizeof(VkCopyMemoryToImageIndirectCommandKHR),
                                          sizeof(VkCopyMemoryToImageIndirectCommandKHR));
        wait_for(commands, NULL);
        vk.to_image_listed(commands, &listed);
    }
    app_image_barrier(commands, &job->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    region.imageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    region.addressRange = range(&job->output, BYTES, BYTES);
    vk.from_image(commands, &info);
}

/* Rows 4 to 7 are those of the list: rows 0 to 3 once more. */
static void list_images(const struct app *app, const struct job *job)
{
    *(VkCopyMemoryToImageIndirectCommandKHR *)job->image_list.buffer.mapped =
        (VkCopyMemoryToImageIndirectCommandKHR){.srcAddress = job->input.address,
                                                .bufferRowLength = 8,
                                                .bufferImageHeight = 4,
                                                .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                                .imageOffset = {0, 4, 0},
                                                .imageExtent = {8, 4, 1}};
    sync_place(app, &job->image_list, false);
}

/* ---- a draw and a dispatch ---- */

static void write_draw(const struct app *app, const struct job *job, uint32_t frame)
{
    struct corner *corners = (struct corner *)job->corners.buffer.mapped;
    const uint8_t tint[4] = {(uint8_t)(frame * 16 + 5), 64, 128, 255};
    static const float places[4][2] = {{-1, -1}, {1, -1}, {-1, 1}, {1, 1}};
    static const uint16_t order[6] = {0, 1, 2, 2, 1, 3};
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(corners[i].place, places[i], sizeof places[i]);
        memcpy(corners[i].tint, tint, sizeof tint);
    }
    memcpy(job->indices.buffer.mapped, order, sizeof order);
    *(VkDrawIndexedIndirectCommand *)job->draws.buffer.mapped = (VkDrawIndexedIndirectCommand){6, 1, 0, 0, 0};
    *(VkDispatchIndirectCommand *)job->groups.buffer.mapped = (VkDispatchIndirectCommand){WORDS / 16, 1, 1};
    sync_place(app, &job->corners, false);
    sync_place(app, &job->indices, false);
    sync_place(app, &job->draws, false);
    sync_place(app, &job->groups, false);
}

static void record_draw(const struct job *job, VkCommandBuffer commands)
{
    const VkClearValue clear = {0};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = job->pass,
                                         .framebuffer = job->framebuffer,
                                         .renderArea = {{0, 0}, {SIZE, SIZE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &clear};
    const VkBindVertexBuffer3InfoKHR vertices = {.sType = VK_STRUCTURE_TYPE_BIND_VERTEX_BUFFER_3_INFO_KHR,
                                                 .setStride = VK_FALSE,
                                                 .addressRange = strided(&job->corners, job->corners.buffer.size, 0)};
    const VkBindIndexBuffer3InfoKHR indices = {.sType = VK_STRUCTURE_TYPE_BIND_INDEX_BUFFER_3_INFO_KHR,
                                               .addressRange = range(&job->indices, 0, 12),
                                               .indexType = VK_INDEX_TYPE_UINT16};
    const VkDrawIndirect2InfoKHR draw = {.sType = VK_STRUCTURE_TYPE_DRAW_INDIRECT_2_INFO_KHR,
                                         .addressRange = strided(&job->draws, sizeof(VkDrawIndexedIndirectCommand),
                                                                 sizeof(VkDrawIndexedIndirectCommand)),
                                         .drawCount = 1};
    VkDeviceMemoryImageCopyKHR region = {.sType = VK_STRUCTURE_TYPE_DEVICE_MEMORY_IMAGE_COPY_KHR,
                                         .addressRange = range(&job->pixels, 0, SIZE * SIZE * 4),
                                         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                         .imageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                         .imageExtent = {SIZE, SIZE, 1}};
    const VkCopyDeviceMemoryImageInfoKHR copy = {.sType = VK_STRUCTURE_TYPE_COPY_DEVICE_MEMORY_IMAGE_INFO_KHR,
                                                 .image = job->target.image,
                                                 .regionCount = 1,
                                                 .pRegions = &region};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, job->draw);
    app_set_viewport(commands, SIZE, SIZE);
    vk.vertices(commands, 0, 1, &vertices);
    vk.indices(commands, &indices);
    vk.draw(commands, &draw);
    vkCmdEndRenderPass(commands);
    wait_for(commands, NULL);
    vk.from_image(commands, &copy);
}

static void record_dispatch(const struct job *job, VkCommandBuffer commands)
{
    const VkDispatchIndirect2InfoKHR info = {.sType = VK_STRUCTURE_TYPE_DISPATCH_INDIRECT_2_INFO_KHR,
                                             .addressRange = range(&job->groups, 0, sizeof(VkDispatchIndirectCommand))};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->dispatch);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layout, 0, 1, &job->set, 0, NULL);
    vk.dispatch(commands, &info);
}

/* ---- all of it ---- */

static void run_frame(const struct app *app, const struct job *job, uint32_t frame)
{
    uint32_t *input = (uint32_t *)job->input.buffer.mapped;
    const uint32_t *output = (const uint32_t *)job->output.buffer.mapped;
    const uint32_t *numbers = (const uint32_t *)job->numbers.buffer.mapped;
    VkCommandBuffer commands;

    for (uint32_t i = 0; i < WORDS; i++)
        input[i] = number(frame, i);
    sync_place(app, &job->input, false);
    write_draw(app, job, frame);
    commands = app_begin(app);
    record_numbers(job, commands, frame);
    if (job->lists) {
        list_copies(app, job, frame);
        record_listed(job, commands);
        list_images(app, job);
    }
    record_images(job, commands);
    record_draw(job, commands);
    wait_for(commands, NULL);
    record_dispatch(job, commands);
    wait_for(commands, NULL);
    app_run(app, commands);

    sync_place(app, &job->output, true);
    sync_place(app, &job->numbers, true);
    sync_place(app, &job->pixels, true);
    for (uint32_t i = 0; i < WORDS; i++) {
        EXPECT_EQ(app, output[i], expected_number(frame, i));
        EXPECT_EQ(app, output[WORDS + i], number(frame, job->lists_images && i >= WORDS / 2 ? i - WORDS / 2 : i));
    }
    for (uint32_t i = 0; job->lists && i < LIST * 4; i++)
        EXPECT_EQ(app, numbers[i], listed_number(frame, i) * 2 + i);
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        EXPECT_EQ(app, ((const uint32_t *)job->pixels.buffer.mapped)[i], 0xff804000u + frame * 16 + 5);
}

static void create_pipelines(const struct app *app, struct job *job)
{
    static const VkVertexInputBindingDescription binding = {0, sizeof(struct corner), VK_VERTEX_INPUT_RATE_VERTEX};
    static const VkVertexInputAttributeDescription attributes[] = {
        {0, 0, VK_FORMAT_R32G32_SFLOAT, 0}, {1, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(struct corner, tint)}};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                        .vertexBindingDescriptionCount = 1,
                                                        .pVertexBindingDescriptions = &binding,
                                                        .vertexAttributeDescriptionCount = COUNT_OF(attributes),
                                                        .pVertexAttributeDescriptions = attributes};
    const VkDescriptorSetLayoutBinding storage = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT,
                                                  NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo buffer = {job->numbers.buffer.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};
    struct app_pipeline draw = {.vertex = app_shader(app, ranges_vert, sizeof ranges_vert),
                                .fragment = app_shader(app, ranges_frag, sizeof ranges_frag),
                                .vertex_input = &input,
                                .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                .color_count = 1};

    job->pass =
        app_render_pass(app, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    job->framebuffer = app_framebuffer(app, job->pass, 1, &job->target.view, SIZE, SIZE);
    job->draw_layout = app_pipeline_layout(app, 0, NULL, 0, 0);
    draw.layout = job->draw_layout;
    draw.render_pass = job->pass;
    job->draw = app_graphics_pipeline(app, &draw);
    vkDestroyShaderModule(app->device, draw.vertex, NULL);
    vkDestroyShaderModule(app->device, draw.fragment, NULL);

    job->set_layout = app_set_layout(app, 1, &storage);
    job->layout = app_pipeline_layout(app, 1, &job->set_layout, 0, 0);
    job->dispatch = app_compute_pipeline(app, ranges_comp, sizeof ranges_comp, job->layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.pSetLayouts = &job->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &job->set));
    write.dstSet = job->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void create(const struct app *app, struct job *job)
{
    create_place(app, &job->input, BYTES, 0, APP_UPLOAD);
    create_place(app, &job->middle, BYTES, 0, APP_DEVICE);
    create_place(app, &job->output, 2 * BYTES, 0, APP_READBACK);
    create_place(app, &job->list, LIST * sizeof(VkCopyMemoryIndirectCommandKHR), VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
                 APP_UPLOAD);
    create_place(app, &job->image_list, sizeof(VkCopyMemoryToImageIndirectCommandKHR),
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->corners, 4 * sizeof(struct corner), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->indices, 16, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->draws, 32, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->groups, 16, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->numbers, BYTES, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    create_place(app, &job->pixels, SIZE * SIZE * 4, 0, APP_READBACK);
    app_image_create_2d(app, &job->image, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_image_create_2d(app, &job->target, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE,
                        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
    create_pipelines(app, job);
}

static void destroy(const struct app *app, struct job *job)
{
    struct place *places[] = {&job->input,   &job->middle, &job->output, &job->list,    &job->image_list, &job->corners,
                              &job->indices, &job->draws,  &job->groups, &job->numbers, &job->pixels};
    vkDestroyPipeline(app->device, job->draw, NULL);
    vkDestroyPipeline(app->device, job->dispatch, NULL);
    vkDestroyPipelineLayout(app->device, job->draw_layout, NULL);
    vkDestroyPipelineLayout(app->device, job->layout, NULL);
    vkDestroyDescriptorPool(app->device, job->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, job->set_layout, NULL);
    vkDestroyFramebuffer(app->device, job->framebuffer, NULL);
    vkDestroyRenderPass(app->device, job->pass, NULL);
    app_image_destroy(app, &job->image);
    app_image_destroy(app, &job->target);
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        app_buffer_destroy(app, &places[i]->buffer);
}

static void create_device(struct app *app, struct job *job)
{
    const char *names[3] = {"VK_KHR_device_address_commands", "VK_KHR_copy_memory_indirect"};
    VkPhysicalDeviceCopyMemoryIndirectFeaturesKHR lists = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COPY_MEMORY_INDIRECT_FEATURES_KHR};
    VkPhysicalDeviceDeviceAddressCommandsFeaturesKHR addresses = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_ADDRESS_COMMANDS_FEATURES_KHR};
    VkPhysicalDeviceVulkan13Features vulkan13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .pNext = &addresses,
                                                 .synchronization2 = VK_TRUE};
    VkPhysicalDeviceVulkan12Features vulkan12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                                 .pNext = &vulkan13,
                                                 .bufferDeviceAddress = VK_TRUE};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &addresses};
    struct app_device_request request = {.extensions = names, .extension_count = 1, .next = &vulkan12};

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, names[0]))
        app_skip(app, "there is no VK_KHR_device_address_commands");
    job->lists = app_has_extension(app, names[1]);
    if (job->lists)
        addresses.pNext = &lists;
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!addresses.deviceAddressCommands)
        app_skip(app, "there are no commands that take addresses");
    job->lists = job->lists && lists.indirectMemoryCopy;
    job->lists_images = job->lists && lists.indirectMemoryToImageCopy;
    if (!job->lists) {
        addresses.pNext = NULL;
        printf("without copies that are listed in memory\n");
    }
    request.extension_count = 1 + job->lists;
    app_device_create(app, &request);
}

static void load_functions(const struct app *app, const struct job *job)
{
#define LOAD(member, name) vk.member = (PFN_vk##name)app_device_function(app, "vk" #name)
    LOAD(copy, CmdCopyMemoryKHR);
    LOAD(fill, CmdFillMemoryKHR);
    LOAD(update, CmdUpdateMemoryKHR);
    LOAD(to_image, CmdCopyMemoryToImageKHR);
    LOAD(from_image, CmdCopyImageToMemoryKHR);
    LOAD(vertices, CmdBindVertexBuffers3KHR);
    LOAD(indices, CmdBindIndexBuffer3KHR);
    LOAD(draw, CmdDrawIndexedIndirect2KHR);
    LOAD(dispatch, CmdDispatchIndirect2KHR);
    LOAD(barrier, CmdPipelineBarrier2);
    if (job->lists)
        LOAD(copy_listed, CmdCopyMemoryIndirectKHR);
    if (job->lists_images)
        LOAD(to_image_listed, CmdCopyMemoryToImageIndirectKHR);
#undef LOAD
}
#endif

int main(int argc, char **argv)
{
    static const struct app_option options[] = {{0}};
    static const struct app_program program = {
        .name = "ranges",
        .what = "Names memory by ranges of device addresses, in commands and in memory.",
        .frames = 3,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
#ifdef VK_KHR_device_address_commands
    struct job job = {0};
    create_device(&app, &job);
    load_functions(&app, &job);
    create(&app, &job);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run_frame(&app, &job, frame);
    destroy(&app, &job);
    return app_finish(&app);
#else
    app_skip(&app, "the headers that it was built with are too old");
#endif
}
