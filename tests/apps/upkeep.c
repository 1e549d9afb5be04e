/* SPDX-License-Identifier: MIT */
/*
 * upkeep: what the extensions VK_KHR_maintenance5, 6, 7, 9 and 10 brought, each by an option of its own (8 has
 * `aspects`).
 * --five: index buffers of a size, usages and flags of 64 bits, stages with their code in the chain, layouts of
 * subresources, layers that remain, two formats. --six: binds with a status, descriptor sets and push constants of both
 * bind points in one call, no index buffer. --seven: draws and secondary command buffers in one rendering and one
 * subpass, in turn. --nine: queries that begin reset, events that name their stages alone, slices of a volume as layers
 * of barriers. --ten: rendering that ends by the new command, resolves of depth in commands.
 */
#include "common/canvas.h"

#include "shaders/move_comp.h"

#define ROUNDS 4u

struct state {
    struct app app;
    bool five, six, seven, nine, ten;
    struct app_canvas canvas;
};

static uint32_t color_of(uint32_t cell, uint32_t round)
{
    return 0xff000000u | ((cell + 1) * 0x050301u ^ round << 21);
}

static void host_reads(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* ---- 5 ---- */

#ifdef VK_KHR_maintenance5

/* A buffer whose usage is in the chain alone. */
static void create_buffer_by_flags2(const struct app *app, struct app_buffer *buffer, VkDeviceSize size,
                                    VkBufferUsageFlags2KHR usage)
{
    const VkBufferUsageFlags2CreateInfoKHR flags = {.sType = VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                                                    .usage = usage};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &flags, .size = size};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    void *mapped;

    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer->buffer));
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_UPLOAD);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = mapped;
    buffer->size = size;
    buffer->allocated = needs.size;
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
}

/* The usage in the chain takes the place of the member, so no command may copy from the buffer. */
static void fill_unread_buffer(const struct app *app, VkBufferUsageFlags member)
{
    const VkBufferUsageFlags2CreateInfoKHR flags = {.sType = VK_STRUCTURE_TYPE_BUFFER_USAGE_FLAGS_2_CREATE_INFO_KHR,
                                                    .usage = VK_BUFFER_USAGE_2_TRANSFER_DST_BIT_KHR};
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &flags, .size = 1000, .usage = member};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkCommandBuffer commands;
    VkDeviceMemory memory;
    VkBuffer buffer;

    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(app->device, buffer, &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer, memory, 0));
    commands = app_begin(app);
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, 0x2468ace0);
    app_run(app, commands);
    vkDestroyBuffer(app->device, buffer, NULL);
    vkFreeMemory(app->device, memory, NULL);
}

/* No module, and flags in the chain. */
static VkPipeline create_inline_pipeline(const struct app_canvas *canvas)
{
    const VkPipelineShaderStageCreateInfo stages[] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .pNext = &app_canvas_code[0],
                                                       .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                       .pName = "main"},
                                                      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .pNext = &app_canvas_code[1],
                                                       .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                       .pName = "main"}};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    const VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1.0f};
    const VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    const VkPipelineColorBlendStateCreateInfo blend = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                       .attachmentCount = 1,
                                                       .pAttachments = &attachment};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    const VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                      .dynamicStateCount = COUNT_OF(states),
                                                      .pDynamicStates = states};
    const VkPipelineCreateFlags2CreateInfoKHR flags = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                                                       .pNext = &app_canvas_rendering,
                                                       .flags = VK_PIPELINE_CREATE_2_DISABLE_OPTIMIZATION_BIT_KHR};
    const VkGraphicsPipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                                 .pNext = &flags,
                                                 .stageCount = 2,
                                                 .pStages = stages,
                                                 .pVertexInputState = &input,
                                                 .pInputAssemblyState = &assembly,
                                                 .pViewportState = &viewport,
                                                 .pRasterizationState = &raster,
                                                 .pMultisampleState = &multisample,
                                                 .pColorBlendState = &blend,
                                                 .pDynamicState = &dynamic,
                                                 .layout = canvas->layout};
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(canvas->app->device, VK_NULL_HANDLE, 1, &create, NULL, &pipeline));
    return pipeline;
}

#define INDICES 6u

/* Indices behind others in the buffer; in every other round they are all the same, so that nothing is drawn. */
static void draw_with_sized_indices(const struct app_canvas *canvas)
{
    const struct app *app = canvas->app;
    PFN_vkCmdBindIndexBuffer2KHR bind_indices =
        (PFN_vkCmdBindIndexBuffer2KHR)app_device_function(app, "vkCmdBindIndexBuffer2KHR");
    VkPipeline pipeline = create_inline_pipeline(canvas);
    struct app_buffer indices = {0};

    create_buffer_by_flags2(app, &indices, (VkDeviceSize)4 * INDICES * 2, VK_BUFFER_USAGE_2_INDEX_BUFFER_BIT_KHR);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        VkCommandBuffer commands = app_begin(app);
        for (uint32_t i = 0; i < 4 * INDICES; i++)
            ((uint16_t *)indices.mapped)[i] = round % 2 || i < INDICES ? 3 : (uint16_t)(i % INDICES);
        app_buffer_flush(app, &indices, 0, VK_WHOLE_SIZE);
        app_canvas_begin_rendering(canvas, commands, 0, NULL);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
        app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
        for (uint32_t cell = 0; cell < 4; cell++) {
            bind_indices(commands, indices.buffer, (VkDeviceSize)cell * INDICES * 2,
                         cell == 3 ? VK_WHOLE_SIZE : INDICES * 2, VK_INDEX_TYPE_UINT16);
            app_canvas_push(canvas, commands, cell, color_of(cell, round));
            vkCmdDrawIndexed(commands, INDICES, 1, 0, 0, 0);
        }
        app_canvas_end_rendering(canvas, commands);
        app_run(app, commands);
        for (uint32_t cell = 0; cell < 4; cell++)
            EXPECT_EQ(app, app_canvas_look(canvas, cell), round % 2 || !cell ? 0 : color_of(cell, round));
    }
    app_buffer_destroy(app, &indices);
    vkDestroyPipeline(app->device, pipeline, NULL);
}

/* What a driver answers before there is an image and afterwards. */
static void ask_layouts(const struct app *app)
{
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {37, 21, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .tiling = VK_IMAGE_TILING_LINEAR,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    const VkImageSubresource2KHR subresource = {.sType = VK_STRUCTURE_TYPE_IMAGE_SUBRESOURCE_2_KHR,
                                                .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0}};
    const VkDeviceImageSubresourceInfoKHR asked = {.sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_SUBRESOURCE_INFO_KHR,
                                                   .pCreateInfo = &info,
                                                   .pSubresource = &subresource};
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkRenderingAreaInfoKHR area = {.sType = VK_STRUCTURE_TYPE_RENDERING_AREA_INFO_KHR,
                                         .colorAttachmentCount = 1,
                                         .pColorAttachmentFormats = &format};
    VkSubresourceLayout2KHR before = {.sType = VK_STRUCTURE_TYPE_SUBRESOURCE_LAYOUT_2_KHR}, after = before;
    PFN_vkGetDeviceImageSubresourceLayoutKHR device_layout =
        (PFN_vkGetDeviceImageSubresourceLayoutKHR)app_device_function(app, "vkGetDeviceImageSubresourceLayoutKHR");
    PFN_vkGetImageSubresourceLayout2KHR image_layout =
        (PFN_vkGetImageSubresourceLayout2KHR)app_device_function(app, "vkGetImageSubresourceLayout2KHR");
    PFN_vkGetRenderingAreaGranularityKHR granularity_of =
        (PFN_vkGetRenderingAreaGranularityKHR)app_device_function(app, "vkGetRenderingAreaGranularityKHR");
    VkExtent2D granularity = {0};
    VkImage image;

    CHECK_VK(vkCreateImage(app->device, &info, NULL, &image));
    device_layout(app->device, &asked, &before);
    image_layout(app->device, image, &subresource, &after);
    EXPECT_EQ(app, before.subresourceLayout.rowPitch, after.subresourceLayout.rowPitch);
    EXPECT_EQ(app, before.subresourceLayout.size, after.subresourceLayout.size);
    granularity_of(app->device, &area, &granularity);
    CHECK(app->no_check || (granularity.width && granularity.height));
    vkDestroyImage(app->device, image, NULL);
}

/* From a buffer into all layers behind the first one, and back; with formats that came with it. */
static void copy_remaining_layers(const struct app *app, VkFormat format, uint32_t texel_bytes)
{
    enum { SIDE = 16, LAYERS = 3 };
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = LAYERS,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, VK_REMAINING_ARRAY_LAYERS},
                                      .imageExtent = {SIDE, SIDE, 1}};
    const VkImageCopy across = {.srcSubresource = region.imageSubresource,
                                .dstSubresource = region.imageSubresource,
                                .extent = region.imageExtent};
    const VkDeviceSize bytes = (VkDeviceSize)SIDE * SIDE * (LAYERS - 1) * texel_bytes;
    struct app_buffer in, out;
    struct app_image first, second;

    if (!app_format_has(app, format, VK_IMAGE_TILING_OPTIMAL,
                        VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT))
        return;
    app_buffer_create(app, &in, bytes, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &out, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create(app, &first, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_image_create(app, &second, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t seed = round * 7 + texel_bytes;
        VkCommandBuffer commands = app_begin(app);
        for (VkDeviceSize i = 0; i < bytes; i++)
            in.mapped[i] = (uint8_t)app_random(&seed);
        app_buffer_flush(app, &in, 0, VK_WHOLE_SIZE);
        app_image_barrier(commands, &first, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        app_image_barrier(commands, &second, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdCopyBufferToImage(commands, in.buffer, first.image, VK_IMAGE_LAYOUT_GENERAL, 1, &region);
        app_image_barrier(commands, &first, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdCopyImage(commands, first.image, VK_IMAGE_LAYOUT_GENERAL, second.image, VK_IMAGE_LAYOUT_GENERAL, 1,
                       &across);
        app_image_barrier(commands, &second, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
        vkCmdCopyImageToBuffer(commands, second.image, VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &region);
        host_reads(commands);
        app_run(app, commands);
        app_buffer_invalidate(app, &out, 0, VK_WHOLE_SIZE);
        for (VkDeviceSize i = 0; i < bytes; i++)
            EXPECT_EQ(app, out.mapped[i], in.mapped[i]);
    }
    app_image_destroy(app, &first);
    app_image_destroy(app, &second);
    app_buffer_destroy(app, &in);
    app_buffer_destroy(app, &out);
}

static void run_five(struct state *state)
{
    draw_with_sized_indices(&state->canvas);
    fill_unread_buffer(&state->app, 0);
    fill_unread_buffer(&state->app, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    ask_layouts(&state->app);
    copy_remaining_layers(&state->app, VK_FORMAT_R8G8B8A8_UNORM, 4);
    copy_remaining_layers(&state->app, VK_FORMAT_A8_UNORM_KHR, 1);
    copy_remaining_layers(&state->app, VK_FORMAT_A1B5G5R5_UNORM_PACK16_KHR, 2);
}

#endif

/* ---- 6 ---- */

#ifdef VK_KHR_maintenance6

#define STEP 64u /* words from one dynamic offset to the next: no driver wants more */

struct bound {
    struct app_buffer in, out;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

static void create_bound_set(const struct app *app, struct bound *bound)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, 2};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo buffers[] = {{bound->in.buffer, 0, STEP * 4}, {bound->out.buffer, 0, STEP * 4}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 2,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
                                  .pBufferInfo = buffers};

    bound->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    bound->layout = app_pipeline_layout(app, 1, &bound->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, APP_COMPUTE_PUSH);
    bound->pipeline = app_compute_pipeline(app, move_comp, sizeof(move_comp), bound->layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &bound->pool));
    allocate.descriptorPool = bound->pool;
    allocate.pSetLayouts = &bound->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &bound->set));
    write.dstSet = bound->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

/* Sets with dynamic offsets, and push constants in two pieces. */
static void bind_by_structures(const struct app *app)
{
    PFN_vkCmdBindDescriptorSets2KHR bind_sets =
        (PFN_vkCmdBindDescriptorSets2KHR)app_device_function(app, "vkCmdBindDescriptorSets2KHR");
    PFN_vkCmdPushConstants2KHR push_constants =
        (PFN_vkCmdPushConstants2KHR)app_device_function(app, "vkCmdPushConstants2KHR");
    struct bound bound;

    app_buffer_create(app, &bound.in, (VkDeviceSize)ROUNDS * STEP * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &bound.out, (VkDeviceSize)ROUNDS * STEP * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                      APP_READBACK);
    create_bound_set(app, &bound);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t offsets[] = {round * STEP * 4, (ROUNDS - 1 - round) * STEP * 4}, push[] = {0, 0, 3, round};
        const VkBindDescriptorSetsInfoKHR sets = {.sType = VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO_KHR,
                                                  .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                                  .layout = bound.layout,
                                                  .descriptorSetCount = 1,
                                                  .pDescriptorSets = &bound.set,
                                                  .dynamicOffsetCount = 2,
                                                  .pDynamicOffsets = offsets};
        VkPushConstantsInfoKHR constants = {.sType = VK_STRUCTURE_TYPE_PUSH_CONSTANTS_INFO_KHR,
                                            .layout = bound.layout,
                                            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                            .size = 8,
                                            .pValues = push};
        VkCommandBuffer commands = app_begin(app);
        for (uint32_t i = 0; i < ROUNDS * STEP; i++)
            ((uint32_t *)bound.in.mapped)[i] = round * 1000 + i;
        app_buffer_flush(app, &bound.in, 0, VK_WHOLE_SIZE);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, bound.pipeline);
        bind_sets(commands, &sets);
        push_constants(commands, &constants);
        constants.offset = 8;
        constants.pValues = push + 2;
        push_constants(commands, &constants);
        vkCmdDispatch(commands, STEP, 1, 1);
        host_reads(commands);
        app_run(app, commands);
        app_buffer_invalidate(app, &bound.out, 0, VK_WHOLE_SIZE);
        for (uint32_t i = 0; i < STEP; i++)
            EXPECT_EQ(app, ((uint32_t *)bound.out.mapped)[(ROUNDS - 1 - round) * STEP + i],
                      (round * 1000 + round * STEP + i) * 3 + round);
    }
    vkDestroyDescriptorPool(app->device, bound.pool, NULL);
    vkDestroyPipeline(app->device, bound.pipeline, NULL);
    vkDestroyPipelineLayout(app->device, bound.layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, bound.set_layout, NULL);
    app_buffer_destroy(app, &bound.in);
    app_buffer_destroy(app, &bound.out);
}

/* Two buffers of one allocation in one call, with a status each. */
static void bind_with_status(const struct app *app)
{
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkResult results[2] = {VK_NOT_READY, VK_NOT_READY};
    VkBindMemoryStatusKHR statuses[2];
    VkBindBufferMemoryInfo binds[2];
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    VkBuffer buffers[2];
    VkDeviceMemory memory;
    const VkBufferCopy region = {0, 0, info.size};
    VkCommandBuffer commands;
    uint8_t *mapped;

    for (uint32_t i = 0; i < 2; i++)
        CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffers[i]));
    vkGetBufferMemoryRequirements(app->device, buffers[0], &needs);
    needs.size = (needs.size + needs.alignment - 1) / needs.alignment * needs.alignment;
    allocate.allocationSize = needs.size * 2;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_READBACK);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &memory));
    for (uint32_t i = 0; i < 2; i++) {
        statuses[i] =
            (VkBindMemoryStatusKHR){.sType = VK_STRUCTURE_TYPE_BIND_MEMORY_STATUS_KHR, .pResult = &results[i]};
        binds[i] = (VkBindBufferMemoryInfo){.sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
                                            .pNext = &statuses[i],
                                            .buffer = buffers[i],
                                            .memory = memory,
                                            .memoryOffset = needs.size * i};
    }
    CHECK_VK(vkBindBufferMemory2(app->device, 2, binds));
    CHECK(app->no_check || (results[0] == VK_SUCCESS && results[1] == VK_SUCCESS));
    CHECK_VK(vkMapMemory(app->device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&mapped));
    memset(mapped, 0x5a, info.size);
    app_memory_sync(app, memory, allocate.allocationSize, 0, info.size, false);
    commands = app_begin(app);
    vkCmdCopyBuffer(commands, buffers[0], buffers[1], 1, &region);
    host_reads(commands);
    app_run(app, commands);
    app_memory_sync(app, memory, allocate.allocationSize, needs.size, info.size, true);
    EXPECT_EQ(app, mapped[needs.size], 0x5a);
    EXPECT_EQ(app, mapped[needs.size + info.size - 1], 0x5a);
    for (uint32_t i = 0; i < 2; i++)
        vkDestroyBuffer(app->device, buffers[i], NULL);
    vkFreeMemory(app->device, memory, NULL);
}

/* Without an index buffer all indices are 0: nothing has an area. */
static void draw_without_indices(const struct app_canvas *canvas)
{
    VkCommandBuffer commands = app_begin(canvas->app);

    app_canvas_begin_rendering(canvas, commands, 0, NULL);
    app_canvas_bind(canvas, commands);
    app_canvas_cell(canvas, commands, 0, color_of(0, 0));
    vkCmdBindIndexBuffer(commands, VK_NULL_HANDLE, 0, VK_INDEX_TYPE_UINT32);
    app_canvas_push(canvas, commands, 1, color_of(1, 0));
    vkCmdDrawIndexed(commands, 6, 1, 0, 0, 0);
    app_canvas_end_rendering(canvas, commands);
    app_run(canvas->app, commands);
    EXPECT_EQ(canvas->app, app_canvas_look(canvas, 0), color_of(0, 0));
    EXPECT_EQ(canvas->app, app_canvas_look(canvas, 1), 0);
}

static void run_six(struct state *state)
{
    bind_by_structures(&state->app);
    bind_with_status(&state->app);
    draw_without_indices(&state->canvas);
}

#endif

/* ---- 7 ---- */

#ifdef VK_KHR_maintenance7

static void ask_layers(const struct app *app)
{
    VkPhysicalDeviceLayeredApiPropertiesListKHR list = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_LIST_KHR};
    VkPhysicalDeviceMaintenance7PropertiesKHR more = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_7_PROPERTIES_KHR, .pNext = &list};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &more};
    VkPhysicalDeviceLayeredApiPropertiesKHR apis[4] = {{0}};

    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    CHECK(app->no_check || more.maxDescriptorSetTotalBuffersDynamic);
    for (uint32_t i = 0; i < COUNT_OF(apis); i++)
        apis[i].sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_LAYERED_API_PROPERTIES_KHR;
    list.layeredApiCount = list.layeredApiCount < COUNT_OF(apis) ? list.layeredApiCount : COUNT_OF(apis);
    list.pLayeredApis = apis;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
}

/* Cells by turns: an inline draw, one in a secondary command buffer. */
static void draw_by_turns(const struct app_canvas *canvas, VkCommandBuffer commands, const VkCommandBuffer *secondaries,
                          uint32_t round)
{
    for (uint32_t cell = 0; cell < APP_CELLS; cell++) {
        app_canvas_bind(canvas, commands);
        if (cell % 2)
            vkCmdExecuteCommands(commands, 1, &secondaries[cell / 2]);
        else
            app_canvas_cell(canvas, commands, cell, color_of(cell, round));
    }
}

static void record_turns(const struct app_canvas *canvas, const VkCommandBuffer *secondaries, VkRenderPass pass,
                         VkFramebuffer framebuffer, uint32_t round)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .flags = VK_RENDERING_CONTENTS_INLINE_BIT_KHR,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = pass ? NULL : &rendering,
                                                     .renderPass = pass,
                                                     .framebuffer = framebuffer};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                           .pInheritanceInfo = &inherits};
    for (uint32_t i = 0; i < APP_CELLS / 2; i++) {
        CHECK_VK(vkBeginCommandBuffer(secondaries[i], &info));
        app_canvas_bind(canvas, secondaries[i]);
        app_canvas_cell(canvas, secondaries[i], i * 2 + 1, color_of(i * 2 + 1, round));
        CHECK_VK(vkEndCommandBuffer(secondaries[i]));
    }
}

static void run_seven(struct state *state)
{
    const struct app *app = &state->app;
    const struct app_canvas *canvas = &state->canvas;
    const VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                               .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                               .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
                                            .commandBufferCount = APP_CELLS / 2};
    const VkClearValue clear = {0};
    VkRenderPass pass = app_render_pass(app, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    VkFramebuffer framebuffer = app_framebuffer(app, pass, 1, &canvas->image.view, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    const struct app_pipeline in_pass = {.vertex = canvas->vertex,
                                         .fragment = canvas->fragment,
                                         .layout = canvas->layout,
                                         .render_pass = pass,
                                         .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                         .color_count = 1};
    struct app_canvas other = *canvas; /* the same picture by a pipeline for the render pass */
    VkCommandBuffer secondaries[APP_CELLS / 2];
    VkCommandPool pool;

    ask_layers(app);
    other.rect = app_graphics_pipeline(app, &in_pass);
    CHECK_VK(vkCreateCommandPool(app->device, &pool_info, NULL, &pool));
    allocate.commandPool = pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, secondaries));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const bool in_a_pass = round % 2;
        const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                             .renderPass = pass,
                                             .framebuffer = framebuffer,
                                             .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                             .clearValueCount = 1,
                                             .pClearValues = &clear};
        VkCommandBuffer commands = app_begin(app);
        record_turns(in_a_pass ? &other : canvas, secondaries, in_a_pass ? pass : VK_NULL_HANDLE,
                     in_a_pass ? framebuffer : VK_NULL_HANDLE, round);
        if (in_a_pass) {
            vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE_AND_SECONDARY_COMMAND_BUFFERS_KHR);
            draw_by_turns(&other, commands, secondaries, round);
            vkCmdEndRenderPass(commands);
            app_canvas_read(canvas, commands);
        } else {
            app_canvas_begin_rendering(
                canvas, commands,
                VK_RENDERING_CONTENTS_INLINE_BIT_KHR | VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT, NULL);
            draw_by_turns(canvas, commands, secondaries, round);
            app_canvas_end_rendering(canvas, commands);
        }
        app_run(app, commands);
        for (uint32_t cell = 0; cell < APP_CELLS; cell++)
            EXPECT_EQ(app, app_canvas_look(canvas, cell), color_of(cell, round));
    }
    vkDestroyCommandPool(app->device, pool, NULL);
    vkDestroyPipeline(app->device, other.rect, NULL);
    vkDestroyFramebuffer(app->device, framebuffer, NULL);
    vkDestroyRenderPass(app->device, pass, NULL);
}

#endif

/* ---- 9 ---- */

#ifdef VK_KHR_maintenance9

/* Nobody resets the queries: they begin like that. */
static void query_at_once(const struct app_canvas *canvas)
{
    const struct app *app = canvas->app;
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .flags = VK_QUERY_POOL_CREATE_RESET_BIT_KHR,
                                        .queryType = VK_QUERY_TYPE_OCCLUSION,
                                        .queryCount = 2};
    VkCommandBuffer commands = app_begin(app);
    uint64_t samples[2] = {0};
    VkQueryPool pool;

    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &pool));
    app_canvas_begin_rendering(canvas, commands, 0, NULL);
    app_canvas_bind(canvas, commands);
    for (uint32_t i = 0; i < 2; i++) {
        vkCmdBeginQuery(commands, pool, i, 0);
        if (i)
            app_canvas_cell(canvas, commands, 9, color_of(9, 0));
        vkCmdEndQuery(commands, pool, i);
    }
    app_canvas_end_rendering(canvas, commands);
    app_run(app, commands);
    CHECK_VK(vkGetQueryPoolResults(app->device, pool, 0, 2, sizeof(samples), samples, 8,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    EXPECT_EQ(app, samples[0], 0);
    CHECK(app->no_check || samples[1]);
    EXPECT_EQ(app, app_canvas_look(canvas, 9), color_of(9, 0));
    vkDestroyQueryPool(app->device, pool, NULL);
}

/* The event is set for stages alone; what was written is said where it is waited for. */
static void set_for_stages(const struct app *app)
{
    const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    const VkMemoryBarrier2 stages = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                     .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT};
    const VkMemoryBarrier2 all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                  .srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                  .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                  .dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                  .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT};
    VkDependencyInfo dependency = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .dependencyFlags = VK_DEPENDENCY_ASYMMETRIC_EVENT_BIT_KHR,
                                   .memoryBarrierCount = 1,
                                   .pMemoryBarriers = &stages};
    const VkBufferCopy region = {0, 0, 256};
    VkCommandBuffer commands = app_begin(app);
    struct app_buffer first, second;
    VkEvent event;

    CHECK_VK(vkCreateEvent(app->device, &info, NULL, &event));
    app_buffer_create(app, &first, 256, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_DEVICE);
    app_buffer_create(app, &second, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    vkCmdFillBuffer(commands, first.buffer, 0, VK_WHOLE_SIZE, 0x01020304);
    vkCmdSetEvent2(commands, event, &dependency);
    dependency.pMemoryBarriers = &all;
    vkCmdWaitEvents2(commands, 1, &event, &dependency);
    vkCmdCopyBuffer(commands, first.buffer, second.buffer, 1, &region);
    host_reads(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &second, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < 64; i++)
        EXPECT_EQ(app, ((uint32_t *)second.mapped)[i], 0x01020304);
    vkDestroyEvent(app->device, event, NULL);
    app_buffer_destroy(app, &first);
    app_buffer_destroy(app, &second);
}

#define SLICES 4u

/* Each slice of a volume is in a layout of its own while it is drawn to. */
static void draw_slices(const struct app_canvas *canvas)
{
    const struct app *app = canvas->app;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT,
                                    .imageType = VK_IMAGE_TYPE_3D,
                                    .format = VK_FORMAT_R8G8B8A8_UNORM,
                                    .extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, SLICES},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, SLICES}};
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
                                    .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                    .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED};
    VkImageView views[SLICES];
    struct app_image volume;
    struct app_buffer out;
    VkCommandBuffer commands = app_begin(app);

    app_image_create(app, &volume, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_buffer_create(app, &out, (VkDeviceSize)APP_CANVAS_SIZE * APP_CANVAS_SIZE * SLICES * 4,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    barrier.image = volume.image;
    for (uint32_t i = 0; i < SLICES; i++) {
        const VkImageViewCreateInfo view = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                            .image = volume.image,
                                            .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                            .format = info.format,
                                            .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, i, 1}};
        const uint32_t color = color_of(i, i);
        VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
        const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                           .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                           .layerCount = 1,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachments = &attachment};
        CHECK_VK(vkCreateImageView(app->device, &view, NULL, &views[i]));
        attachment.imageView = views[i];
        app_canvas_color(color, attachment.clearValue.color.float32);
        barrier.subresourceRange = view.subresourceRange;
        barrier.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
        barrier.newLayout = attachment.imageLayout;
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                             NULL, 0, NULL, 1, &barrier);
        vkCmdBeginRendering(commands, &rendering);
        app_canvas_bind(canvas, commands);
        app_canvas_cell(canvas, commands, 3 + i, ~color | 0xff000000u);
        vkCmdEndRendering(commands);
        barrier.oldLayout = attachment.imageLayout;
        barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                             NULL, 0, NULL, 1, &barrier);
    }
    vkCmdCopyImageToBuffer(commands, volume.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, out.buffer, 1, &region);
    host_reads(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < SLICES; i++) {
        const uint32_t *texels = (uint32_t *)out.mapped + i * APP_CANVAS_SIZE * APP_CANVAS_SIZE;
        EXPECT_EQ(app, texels[0], color_of(i, i));
        EXPECT_EQ(app, texels[(3 + i) * APP_CELL + 2 + APP_CANVAS_SIZE], ~color_of(i, i) | 0xff000000u);
        vkDestroyImageView(app->device, views[i], NULL);
    }
    app_image_destroy(app, &volume);
    app_buffer_destroy(app, &out);
}

static void run_nine(struct state *state)
{
    query_at_once(&state->canvas);
    set_for_stages(&state->app);
    draw_slices(&state->canvas);
}

#endif

/* ---- 10 ---- */

#ifdef VK_KHR_maintenance10

static void end_rendering(const struct app_canvas *canvas)
{
    const VkRenderingEndInfoKHR info = {.sType = VK_STRUCTURE_TYPE_RENDERING_END_INFO_KHR};
    PFN_vkCmdEndRendering2KHR end =
        (PFN_vkCmdEndRendering2KHR)app_device_function(canvas->app, "vkCmdEndRendering2KHR");

    for (uint32_t round = 0; round < 2; round++) {
        VkCommandBuffer commands = app_begin(canvas->app);
        app_canvas_begin_rendering(canvas, commands, 0, NULL);
        app_canvas_bind(canvas, commands);
        app_canvas_cell(canvas, commands, 5, color_of(5, round));
        end(commands, round ? &info : NULL);
        app_canvas_read(canvas, commands);
        app_run(canvas->app, commands);
        EXPECT_EQ(canvas->app, app_canvas_look(canvas, 5), color_of(5, round));
    }
}

/* Depth of four samples becomes depth of one, by the command for colors. */
static void resolve_depth(const struct app *app)
{
    enum { SIDE = 16 };
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = VK_FORMAT_D32_SFLOAT,
                                    .extent = {SIDE, SIDE, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_4_BIT,
                                    .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
                                             VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkImageCreateInfo plain = info;
    const VkClearDepthStencilValue value = {0.375f, 0};
    const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1};
    const VkImageSubresourceLayers layers = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, 1};
    const VkResolveImageModeInfoKHR mode = {.sType = VK_STRUCTURE_TYPE_RESOLVE_IMAGE_MODE_INFO_KHR,
                                            .resolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT};
    const VkImageResolve2 part = {.sType = VK_STRUCTURE_TYPE_IMAGE_RESOLVE_2,
                                  .srcSubresource = layers,
                                  .dstSubresource = layers,
                                  .extent = {SIDE, SIDE, 1}};
    const VkBufferImageCopy region = {.imageSubresource = layers, .imageExtent = {SIDE, SIDE, 1}};
    VkImageFormatProperties limits;
    VkCommandBuffer commands = app_begin(app);
    struct app_image many, one;
    struct app_buffer out;

    CHECK_VK(vkGetPhysicalDeviceImageFormatProperties(app->physical, info.format, info.imageType, info.tiling,
                                                      info.usage, 0, &limits));
    CHECK(limits.sampleCounts & info.samples);
    plain.samples = VK_SAMPLE_COUNT_1_BIT;
    app_image_create(app, &many, &info, VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_image_create(app, &one, &plain, VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_buffer_create(app, &out, (VkDeviceSize)SIDE * SIDE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    const VkResolveImageInfo2 resolve = {.sType = VK_STRUCTURE_TYPE_RESOLVE_IMAGE_INFO_2,
                                         .pNext = &mode,
                                         .srcImage = many.image,
                                         .srcImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                         .dstImage = one.image,
                                         .dstImageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                         .regionCount = 1,
                                         .pRegions = &part};
    app_image_barrier(commands, &many, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &one, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdClearDepthStencilImage(commands, many.image, VK_IMAGE_LAYOUT_GENERAL, &value, 1, &range);
    app_image_barrier(commands, &many, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdResolveImage2(commands, &resolve);
    app_image_barrier(commands, &one, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyImageToBuffer(commands, one.image, VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &region);
    host_reads(commands);
    app_run(app, commands);
    app_buffer_invalidate(app, &out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < SIDE * SIDE && !app->no_check; i++)
        CHECK(((const float *)out.mapped)[i] == value.depth);
    app_image_destroy(app, &many);
    app_image_destroy(app, &one);
    app_buffer_destroy(app, &out);
}

static void run_ten(struct state *state)
{
    end_rendering(&state->canvas);
    resolve_depth(&state->app);
}

#endif

/* ---- */

typedef void (*run_function)(struct state *state);

/* Asks for what an option needs; skips where the device lacks it. */
static void wish(struct app_wishes *wishes, const char *extension, void *features, size_t size)
{
    char reason[64];
    const size_t flag = sizeof(VkBaseOutStructure);

    if (wishes->app->api_version >= VK_API_VERSION_1_3 && app_wish(wishes, extension, features, size, 1, &flag))
        return;
    snprintf(reason, sizeof(reason), "no %s", extension);
    app_skip(wishes->app, reason);
}

static run_function choose(const struct state *state, struct app_wishes *wishes)
{
#define WISH(number, name)                                                                                             \
    static VkPhysicalDeviceMaintenance##number##FeaturesKHR features = {                                               \
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_##number##_FEATURES_KHR};                               \
    wish(wishes, name, &features, sizeof(features))
#ifdef VK_KHR_maintenance5
    if (state->five) {
        WISH(5, "VK_KHR_maintenance5");
        return run_five;
    }
#endif
#ifdef VK_KHR_maintenance6
    if (state->six) {
        WISH(6, "VK_KHR_maintenance6");
        return run_six;
    }
#endif
#ifdef VK_KHR_maintenance7
    if (state->seven) {
        WISH(7, "VK_KHR_maintenance7");
        return run_seven;
    }
#endif
#ifdef VK_KHR_maintenance9
    if (state->nine) {
        WISH(9, "VK_KHR_maintenance9");
        return run_nine;
    }
#endif
#ifdef VK_KHR_maintenance10
    if (state->ten) {
        WISH(10, "VK_KHR_maintenance10");
        return run_ten;
    }
#endif
#undef WISH
    (void)wishes, (void)wish, (void)host_reads, (void)color_of;
    app_skip(&state->app, "no option, or headers that are older than it");
}

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {{"--five", "what VK_KHR_maintenance5 brought", &state.five, NULL},
                                                {"--six", "VK_KHR_maintenance6", &state.six, NULL},
                                                {"--seven", "VK_KHR_maintenance7", &state.seven, NULL},
                                                {"--nine", "VK_KHR_maintenance9", &state.nine, NULL},
                                                {"--ten", "VK_KHR_maintenance10", &state.ten, NULL},
                                                {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "upkeep", .what = "what extensions named maintenance brought", .options = options};
    struct app_wishes wishes = {.app = &state.app};

    app_init(&state.app, argc, argv, &program);
    run_function run = choose(&state, &wishes);
    app_wishes_device(&wishes, &state.app, NULL);
    app_canvas_create(&state.app, &state.canvas);
    run(&state);
    app_canvas_destroy(&state.canvas);
    return app_finish(&state.app);
}
