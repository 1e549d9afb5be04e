/* SPDX-License-Identifier: MIT */
#include "app.h"

VkCommandBuffer app_begin(const struct app *app)
{
    VkCommandBuffer commands = NULL;
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = app->pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

void app_submit_wait(const struct app *app, uint32_t count, const VkCommandBuffer *commands)
{
    VkFence fence;
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &create, NULL, &fence));
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    submit.commandBufferCount = count;
    submit.pCommandBuffers = commands;
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, fence));
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(app->device, fence, NULL);
    if (app->tell) {
        printf("frame\n");
        fflush(stdout);
    }
}

void app_run(const struct app *app, VkCommandBuffer commands)
{
    CHECK_VK(vkEndCommandBuffer(commands));
    app_submit_wait(app, 1, &commands);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
}

void app_image_barrier(VkCommandBuffer commands, const struct app_image *image, VkImageLayout from, VkImageLayout to)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER};
    barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.oldLayout = from;
    barrier.newLayout = to;
    barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image->image;
    barrier.subresourceRange =
        (VkImageSubresourceRange){image->aspect, 0, VK_REMAINING_MIP_LEVELS, 0, VK_REMAINING_ARRAY_LAYERS};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL,
                         0, NULL, 1, &barrier);
}

void app_memory_barrier(VkCommandBuffer commands, VkPipelineStageFlags source_stages, VkAccessFlags source_access,
                        VkPipelineStageFlags target_stages, VkAccessFlags target_access)
{
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    barrier.srcAccessMask = source_access;
    barrier.dstAccessMask = target_access;
    vkCmdPipelineBarrier(commands, source_stages, target_stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

VkShaderModule app_shader(const struct app *app, const uint32_t *words, size_t size_bytes)
{
    VkShaderModule module;
    VkShaderModuleCreateInfo create = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    create.codeSize = size_bytes;
    create.pCode = words;
    CHECK_VK(vkCreateShaderModule(app->device, &create, NULL, &module));
    return module;
}

VkPipeline app_graphics_pipeline(const struct app *app, const struct app_pipeline *pipeline)
{
    VkPipelineShaderStageCreateInfo stages[2] = {{0}};
    stages[0].sType = stages[1].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = pipeline->vertex;
    stages[0].pName = "main";
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = pipeline->fragment;
    stages[1].pName = "main";
    VkPipelineVertexInputStateCreateInfo no_input = {0};
    no_input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    VkPipelineInputAssemblyStateCreateInfo assembly = {0};
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = pipeline->topology;
    VkPipelineViewportStateCreateInfo viewport = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    viewport.viewportCount = 1;
    viewport.scissorCount = 1;
    VkPipelineRasterizationStateCreateInfo raster = {0};
    raster.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    raster.polygonMode = VK_POLYGON_MODE_FILL;
    raster.cullMode = VK_CULL_MODE_NONE;
    raster.frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE;
    raster.lineWidth = 1.0f;
    VkPipelineMultisampleStateCreateInfo multisample = {0};
    multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    multisample.rasterizationSamples = pipeline->samples ? pipeline->samples : VK_SAMPLE_COUNT_1_BIT;
    VkPipelineDepthStencilStateCreateInfo depth = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
    depth.depthTestEnable = depth.depthWriteEnable = pipeline->depth;
    depth.depthCompareOp = pipeline->never ? VK_COMPARE_OP_NEVER : VK_COMPARE_OP_LESS;
    depth.stencilTestEnable = pipeline->stencil;
    depth.front.compareOp = VK_COMPARE_OP_EQUAL;
    depth.front.passOp = VK_STENCIL_OP_INCREMENT_AND_CLAMP;
    depth.front.compareMask = depth.front.writeMask = 0xff;
    depth.front.reference = 1;
    depth.back = depth.front;
    VkPipelineColorBlendAttachmentState attachments[4] = {{0}};
    CHECK(pipeline->color_count <= COUNT_OF(attachments));
    for (uint32_t i = 0; i < pipeline->color_count; i++)
        attachments[i].colorWriteMask = 0xf;
    VkPipelineColorBlendStateCreateInfo blend = {.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO};
    blend.attachmentCount = pipeline->color_count;
    blend.pAttachments = attachments;
    VkDynamicState states[16] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    CHECK(pipeline->dynamic_count + 2 <= COUNT_OF(states));
    for (uint32_t i = 0; i < pipeline->dynamic_count; i++)
        states[2 + i] = pipeline->dynamic[i];
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
    dynamic.dynamicStateCount = 2 + pipeline->dynamic_count;
    dynamic.pDynamicStates = states;

    VkGraphicsPipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
    create.pNext = pipeline->next;
    create.flags = pipeline->flags;
    create.stageCount = pipeline->fragment ? 2 : 1;
    create.pStages = stages;
    create.pVertexInputState = pipeline->vertex_input ? pipeline->vertex_input : &no_input;
    create.pInputAssemblyState = &assembly;
    create.pViewportState = &viewport;
    create.pRasterizationState = &raster;
    create.pMultisampleState = &multisample;
    create.pDepthStencilState = &depth;
    create.pColorBlendState = &blend;
    create.pDynamicState = &dynamic;
    create.layout = pipeline->layout;
    create.renderPass = pipeline->render_pass;
    create.subpass = pipeline->subpass;
    create.basePipelineIndex = -1;
    VkPipeline result;
    CHECK_VK(vkCreateGraphicsPipelines(app->device, VK_NULL_HANDLE, 1, &create, NULL, &result));
    return result;
}

VkPipeline app_compute_pipeline(const struct app *app, const uint32_t *words, size_t size_bytes,
                                VkPipelineLayout layout)
{
    VkShaderModule module = app_shader(app, words, size_bytes);
    VkComputePipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    create.stage.module = module;
    create.stage.pName = "main";
    create.layout = layout;
    create.basePipelineIndex = -1;
    VkPipeline pipeline;
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &create, NULL, &pipeline));
    vkDestroyShaderModule(app->device, module, NULL);
    return pipeline;
}

VkRenderPass app_render_pass(const struct app *app, VkFormat color_format, VkFormat depth_format, VkImageLayout final)
{
    VkAttachmentDescription attachments[2] = {{0}};
    attachments[0].format = color_format;
    attachments[0].samples = VK_SAMPLE_COUNT_1_BIT;
    attachments[0].loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR;
    attachments[0].storeOp = VK_ATTACHMENT_STORE_OP_STORE;
    attachments[0].stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    attachments[0].stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    attachments[0].finalLayout = final;
    attachments[1] = attachments[0];
    attachments[1].format = depth_format;
    attachments[1].storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    attachments[1].finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    VkAttachmentReference depth = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    VkSubpassDescription subpass = {0};
    subpass.pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS;
    subpass.colorAttachmentCount = 1;
    subpass.pColorAttachments = &color;
    subpass.pDepthStencilAttachment = depth_format ? &depth : NULL;
    /* The attachments were used by the frame before, and the color image is copied from afterwards. */
    const VkPipelineStageFlags attachment_stages = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT |
                                                   VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                                                   VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT;
    const VkAccessFlags attachment_access =
        VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT;
    VkSubpassDependency dependencies[2] = {{0}};
    dependencies[0].srcSubpass = VK_SUBPASS_EXTERNAL;
    dependencies[0].srcStageMask = attachment_stages | VK_PIPELINE_STAGE_TRANSFER_BIT;
    dependencies[0].srcAccessMask = attachment_access;
    dependencies[0].dstStageMask = attachment_stages;
    dependencies[0].dstAccessMask = attachment_access | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_READ_BIT;
    dependencies[1].dstSubpass = VK_SUBPASS_EXTERNAL;
    dependencies[1].srcStageMask = attachment_stages;
    dependencies[1].srcAccessMask = attachment_access;
    dependencies[1].dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
    dependencies[1].dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    create.attachmentCount = depth_format ? 2 : 1;
    create.pAttachments = attachments;
    create.subpassCount = 1;
    create.pSubpasses = &subpass;
    create.dependencyCount = 2;
    create.pDependencies = dependencies;
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(app->device, &create, NULL, &pass));
    return pass;
}

VkFramebuffer app_framebuffer(const struct app *app, VkRenderPass pass, uint32_t view_count, const VkImageView *views,
                              uint32_t width, uint32_t height)
{
    VkFramebufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO};
    create.renderPass = pass;
    create.attachmentCount = view_count;
    create.pAttachments = views;
    create.width = width;
    create.height = height;
    create.layers = 1;
    VkFramebuffer framebuffer;
    CHECK_VK(vkCreateFramebuffer(app->device, &create, NULL, &framebuffer));
    return framebuffer;
}

void app_set_viewport(VkCommandBuffer commands, uint32_t width, uint32_t height)
{
    VkViewport viewport = {0, 0, (float)width, (float)height, 0, 1};
    VkRect2D scissor = {{0, 0}, {width, height}};
    vkCmdSetViewport(commands, 0, 1, &viewport);
    vkCmdSetScissor(commands, 0, 1, &scissor);
}

VkFormat app_depth_format(const struct app *app)
{
    const VkFormat formats[] = {VK_FORMAT_D32_SFLOAT, VK_FORMAT_X8_D24_UNORM_PACK32, VK_FORMAT_D16_UNORM};
    for (uint32_t i = 0; i < COUNT_OF(formats); i++)
        if (app_format_has(app, formats[i], VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT))
            return formats[i];
    app_fail(__FILE__, __LINE__, "no depth format");
}

VkDescriptorSetLayout app_set_layout(const struct app *app, uint32_t count,
                                     const VkDescriptorSetLayoutBinding *bindings)
{
    VkDescriptorSetLayout layout;
    VkDescriptorSetLayoutCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    create.bindingCount = count;
    create.pBindings = bindings;
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &create, NULL, &layout));
    return layout;
}

VkPipelineLayout app_pipeline_layout(const struct app *app, uint32_t set_count, const VkDescriptorSetLayout *sets,
                                     VkShaderStageFlags push_stages, uint32_t push_bytes)
{
    VkPushConstantRange range = {push_stages, 0, push_bytes};
    VkPipelineLayoutCreateInfo create = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    create.setLayoutCount = set_count;
    create.pSetLayouts = sets;
    create.pushConstantRangeCount = push_bytes ? 1 : 0;
    create.pPushConstantRanges = &range;
    VkPipelineLayout layout;
    CHECK_VK(vkCreatePipelineLayout(app->device, &create, NULL, &layout));
    return layout;
}
