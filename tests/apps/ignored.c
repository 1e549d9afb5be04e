/* SPDX-License-Identifier: MIT */
/*
 * ignored: two subpasses with an input attachment, secondary command buffers, an imageless framebuffer and a pipeline
 * that discards all fragments. Around them stand the structure members that the specification says are ignored: with
 * --garbage they hold pointers, handles and numbers that lead nowhere, as programs that reuse their structures do. With
 * --sloppy a buffer and a render pass have structures in their chains of a type that no registry has, which is not
 * valid, and which drivers pass over.
 */
#include "common/app.h"
#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"
#include "shaders/ignored_invert_frag.h"

#define SIZE              64u
#define UNREGISTERED_TYPE ((VkStructureType)1999999000) /* far behind the numbers that extensions get */

struct unregistered {
    VkStructureType type;
    const void *next;
    uint64_t number;
};

struct state {
    const struct app *app;
    bool garbage, sloppy, imageless, rendering, validated;
    struct app_image first, second;
    struct app_buffer pixels;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout push_layout, input_layout;
    VkShaderModule vertex, draw, invert;
    VkPipeline drawing, inverting, discarding;
};

static void *lost(const struct state *state)
{
    return state->garbage ? (void *)(uintptr_t)0xdead000 : NULL;
}

static uint32_t lost_count(const struct state *state)
{
    return state->garbage ? 77 : 0;
}

/* Debian 12's validation layer follows pMultisampleState of a pipeline that discards, and falls. */
static bool is_validated(void)
{
    const char *layers = getenv("VK_INSTANCE_LAYERS");
    return layers && strstr(layers, "VK_LAYER_KHRONOS_validation");
}

#define LOST_HANDLE(type) ((type)(uintptr_t)lost(state))

static void create_image(const struct state *state, struct app_image *image, VkImageUsageFlags usage)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R8G8B8A8_UNORM;
    info.extent = (VkExtent3D){SIZE, SIZE, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = usage | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = lost_count(state); /* ignored unless CONCURRENT */
    info.pQueueFamilyIndices = lost(state);
    app_image_create(state->app, image, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
}

static void check_exclusive_buffer(const struct state *state)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    info.size = 1000;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = lost_count(state);
    info.pQueueFamilyIndices = lost(state);
    struct unregistered unregistered = {.type = UNREGISTERED_TYPE};
    if (state->sloppy)
        info.pNext = &unregistered;
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(state->app->device, &info, NULL, &buffer));
    vkDestroyBuffer(state->app->device, buffer, NULL);
}

static void create_pass(struct state *state)
{
    VkAttachmentDescription attachments[2] = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        attachments[i].format = VK_FORMAT_R8G8B8A8_UNORM;
        attachments[i].samples = VK_SAMPLE_COUNT_1_BIT;
        attachments[i].loadOp = i ? VK_ATTACHMENT_LOAD_OP_DONT_CARE : VK_ATTACHMENT_LOAD_OP_CLEAR;
        attachments[i].storeOp = i ? VK_ATTACHMENT_STORE_OP_STORE : VK_ATTACHMENT_STORE_OP_DONT_CARE;
        attachments[i].stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
        attachments[i].stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
        attachments[i].finalLayout =
            i ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    }
    const VkAttachmentReference colors[2] = {{0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                             {1, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL}};
    const VkAttachmentReference input = {0, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkSubpassDescription subpasses[2] = {{0}};
    for (uint32_t i = 0; i < 2; i++) {
        subpasses[i].colorAttachmentCount = 1;
        subpasses[i].pColorAttachments = &colors[i];
        subpasses[i].pPreserveAttachments = lost(state); /* their count is 0 */
    }
    subpasses[0].pInputAttachments = lost(state);
    subpasses[1].inputAttachmentCount = 1;
    subpasses[1].pInputAttachments = &input;
    VkSubpassDependency dependencies[3] = {{0}};
    dependencies[0].srcSubpass = VK_SUBPASS_EXTERNAL;
    dependencies[0].srcStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT;
    dependencies[0].dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependencies[0].dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    dependencies[1].dstSubpass = 1;
    dependencies[1].srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependencies[1].srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    /* Not to store the first attachment counts as a write of it. */
    dependencies[1].dstStageMask =
        VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependencies[1].dstAccessMask = VK_ACCESS_INPUT_ATTACHMENT_READ_BIT | VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    dependencies[1].dependencyFlags = VK_DEPENDENCY_BY_REGION_BIT;
    dependencies[2].srcSubpass = 1;
    dependencies[2].dstSubpass = VK_SUBPASS_EXTERNAL;
    dependencies[2].srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
    dependencies[2].srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
    dependencies[2].dstStageMask = VK_PIPELINE_STAGE_TRANSFER_BIT;
    dependencies[2].dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
    VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO};
    info.attachmentCount = 2;
    info.pAttachments = attachments;
    info.subpassCount = 2;
    info.pSubpasses = subpasses;
    info.dependencyCount = 3;
    info.pDependencies = dependencies;
    CHECK_VK(vkCreateRenderPass(state->app->device, &info, NULL, &state->pass));
}

static void create_framebuffer(struct state *state)
{
    const VkImageView views[2] = {state->first.view, state->second.view};
    if (!state->imageless) {
        state->framebuffer = app_framebuffer(state->app, state->pass, 2, views, SIZE, SIZE);
        return;
    }
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    VkFramebufferAttachmentImageInfo images[2];
    for (uint32_t i = 0; i < 2; i++) {
        images[i] = (VkFramebufferAttachmentImageInfo){.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENT_IMAGE_INFO};
        images[i].usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                          (i ? VK_IMAGE_USAGE_TRANSFER_SRC_BIT : VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT);
        images[i].width = images[i].height = SIZE;
        images[i].layerCount = 1;
        images[i].viewFormatCount = 1;
        images[i].pViewFormats = &format;
    }
    VkFramebufferAttachmentsCreateInfo attachments = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_ATTACHMENTS_CREATE_INFO};
    attachments.attachmentImageInfoCount = 2;
    attachments.pAttachmentImageInfos = images;
    VkFramebufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO, .pNext = &attachments};
    info.flags = VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT;
    info.renderPass = state->pass;
    info.attachmentCount = 2;
    info.pAttachments = lost(state); /* ignored: the views come with vkCmdBeginRenderPass */
    info.width = info.height = SIZE;
    info.layers = 1;
    CHECK_VK(vkCreateFramebuffer(state->app->device, &info, NULL, &state->framebuffer));
}

static void create_set(struct state *state)
{
    const struct app *app = state->app;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1,
                                                  VK_SHADER_STAGE_FRAGMENT_BIT, lost(state)};
    state->set_layout = app_set_layout(app, 1, &binding);
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->descriptor_pool));
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    allocate.descriptorPool = state->descriptor_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &state->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->set));
    const VkDescriptorImageInfo image = {LOST_HANDLE(VkSampler), state->first.view,
                                         VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = state->set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT;
    write.pImageInfo = &image;
    write.pBufferInfo = lost(state);
    write.pTexelBufferView = lost(state);
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

/* A discarding pipeline has neither fragment shader nor any state that comes after rasterization. */
static VkPipeline create_pipeline(const struct state *state, VkShaderModule fragment, uint32_t subpass)
{
    VkPipelineShaderStageCreateInfo stages[2] = {{0}};
    stages[0].sType = stages[1].sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    stages[0].stage = VK_SHADER_STAGE_VERTEX_BIT;
    stages[0].module = state->vertex;
    stages[1].stage = VK_SHADER_STAGE_FRAGMENT_BIT;
    stages[1].module = fragment;
    stages[0].pName = stages[1].pName = "main";
    VkPipelineVertexInputStateCreateInfo input = {0};
    input.sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO;
    input.pVertexAttributeDescriptions = lost(state); /* count 0 */
    VkPipelineInputAssemblyStateCreateInfo assembly = {0};
    assembly.sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO;
    assembly.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    VkPipelineViewportStateCreateInfo viewport = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO};
    viewport.viewportCount = viewport.scissorCount = 1;
    viewport.pViewports = lost(state); /* both are dynamic */
    viewport.pScissors = lost(state);
    VkPipelineRasterizationStateCreateInfo raster = {0};
    raster.sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO;
    raster.rasterizerDiscardEnable = !fragment;
    raster.lineWidth = 1.0f;
    VkPipelineMultisampleStateCreateInfo multisample = {0};
    multisample.sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO;
    multisample.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
    const VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    VkPipelineColorBlendStateCreateInfo blend = {0};
    blend.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO;
    blend.attachmentCount = 1;
    blend.pAttachments = &attachment;
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
    VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO};
    dynamic.dynamicStateCount = 2;
    dynamic.pDynamicStates = states;

    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    rendering.viewMask = lost_count(state); /* there is a render pass */
    rendering.colorAttachmentCount = lost_count(state);
    rendering.pColorAttachmentFormats = lost(state);

    VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO};
    info.pNext = state->rendering ? &rendering : NULL;
    info.stageCount = fragment ? 2 : 1;
    info.pStages = stages;
    info.pVertexInputState = &input;
    info.pInputAssemblyState = &assembly;
    info.pTessellationState = lost(state); /* there is no tessellation shader */
    info.pRasterizationState = &raster;
    info.pViewportState = fragment ? &viewport : lost(state);
    info.pMultisampleState = fragment ? &multisample : state->validated ? NULL : lost(state);
    info.pColorBlendState = fragment ? &blend : lost(state);
    info.pDepthStencilState = lost(state); /* the subpasses have no depth attachment */
    info.pDynamicState = &dynamic;
    info.layout = fragment == state->invert && fragment ? state->input_layout : state->push_layout;
    info.renderPass = state->pass;
    info.subpass = subpass;
    info.basePipelineHandle = LOST_HANDLE(VkPipeline); /* no derivative */
    info.basePipelineIndex = state->garbage ? 12345 : -1;
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(state->app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    return pipeline;
}

static VkCommandBuffer begin_buffer(const struct state *state, VkCommandBufferLevel level)
{
    VkCommandBuffer commands;
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = state->app->pool;
    allocate.level = level;
    allocate.commandBufferCount = 1;
    CHECK_VK(vkAllocateCommandBuffers(state->app->device, &allocate, &commands));
    VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO};
    rendering.colorAttachmentCount = lost_count(state); /* ignored without RENDER_PASS_CONTINUE */
    rendering.pColorAttachmentFormats = lost(state);
    VkCommandBufferInheritanceInfo inheritance = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    inheritance.pNext = state->rendering ? &rendering : NULL;
    inheritance.renderPass = LOST_HANDLE(VkRenderPass); /* ignored without RENDER_PASS_CONTINUE */
    inheritance.framebuffer = LOST_HANDLE(VkFramebuffer);
    inheritance.subpass = lost_count(state);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    begin.pInheritanceInfo = level == VK_COMMAND_BUFFER_LEVEL_SECONDARY ? &inheritance : lost(state);
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    return commands;
}

static void record_pass(const struct state *state, VkCommandBuffer commands, uint32_t frame)
{
    const VkImageView views[2] = {state->first.view, state->second.view};
    VkRenderPassAttachmentBeginInfo attachments = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_ATTACHMENT_BEGIN_INFO};
    attachments.attachmentCount = 2;
    attachments.pAttachments = views;
    const VkClearValue clear = {.color.float32 = {1, 1, 1, 1}};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    begin.pNext = state->imageless ? &attachments : NULL;
    const struct unregistered unregistered = {.type = UNREGISTERED_TYPE, .next = begin.pNext, .number = 1};
    if (state->sloppy)
        begin.pNext = &unregistered;
    begin.renderPass = state->pass;
    begin.framebuffer = state->framebuffer;
    begin.renderArea.extent = (VkExtent2D){SIZE, SIZE};
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    app_set_viewport(commands, SIZE, SIZE / 2); /* the lower half stays white */
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->drawing);
    vkCmdPushConstants(commands, state->push_layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->discarding);
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdNextSubpass(commands, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->inverting);
    app_set_viewport(commands, SIZE, SIZE);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->input_layout, 0, 1, &state->set, 0,
                            lost(state));
    vkCmdDraw(commands, 3, 1, 0, 0);
    vkCmdEndRenderPass(commands);
}

/* The read-back is in a secondary command buffer outside the render pass. */
static void record_read_back(const struct state *state, VkCommandBuffer commands)
{
    VkBufferImageCopy region = {0};
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){SIZE, SIZE, 1};
    vkCmdCopyImageToBuffer(commands, state->second.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, state->pixels.buffer, 1,
                           &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static void submit(const struct state *state, const VkCommandBuffer *commands)
{
    const struct app *app = state->app;
    VkFence fence;
    VkFenceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    CHECK_VK(vkCreateFence(app->device, &create, NULL, &fence));
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO};
    info.commandBufferCount = 1;
    info.pCommandBuffers = commands;
    info.pWaitSemaphores = lost(state); /* all these counts are 0 */
    info.pWaitDstStageMask = lost(state);
    info.pSignalSemaphores = lost(state);
    CHECK_VK(vkQueueSubmit(app->queue, 1, &info, fence));
    CHECK_VK(vkQueueSubmit(app->queue, 0, lost(state), VK_NULL_HANDLE));
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(app->device, fence, NULL);
}

static void run(const struct state *state, uint32_t frame)
{
    const struct app *app = state->app;
    VkCommandBuffer secondary = begin_buffer(state, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    record_read_back(state, secondary);
    CHECK_VK(vkEndCommandBuffer(secondary));
    VkCommandBuffer commands = begin_buffer(state, VK_COMMAND_BUFFER_LEVEL_PRIMARY);
    record_pass(state, commands, frame);
    vkCmdExecuteCommands(commands, 1, &secondary);
    CHECK_VK(vkEndCommandBuffer(commands));
    submit(state, &commands);
    const VkCommandBuffer both[2] = {commands, secondary};
    vkFreeCommandBuffers(app->device, app->pool, 2, both);
    app_buffer_invalidate(app, &state->pixels, 0, state->pixels.size);
    for (uint32_t i = 0; i < SIZE * SIZE; i++) {
        uint32_t column = i % SIZE / 16, row = i / SIZE / 16;
        uint32_t drawn = column * 32 | row * 32 << 8 | (frame * 16 & 0xff) << 16;
        uint32_t inverted = row < 2 ? 0xffffffu - drawn : 0;
        EXPECT_EQ(app, ((uint32_t *)state->pixels.mapped)[i], inverted | 0xff000000u);
    }
}

static void destroy(struct state *state)
{
    VkDevice device = state->app->device;
    vkDestroyPipeline(device, state->drawing, NULL);
    vkDestroyPipeline(device, state->inverting, NULL);
    vkDestroyPipeline(device, state->discarding, NULL);
    vkDestroyShaderModule(device, state->vertex, NULL);
    vkDestroyShaderModule(device, state->draw, NULL);
    vkDestroyShaderModule(device, state->invert, NULL);
    vkDestroyPipelineLayout(device, state->push_layout, NULL);
    vkDestroyPipelineLayout(device, state->input_layout, NULL);
    vkDestroyDescriptorPool(device, state->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(device, state->set_layout, NULL);
    vkDestroyFramebuffer(device, state->framebuffer, NULL);
    vkDestroyRenderPass(device, state->pass, NULL);
    app_image_destroy(state->app, &state->first);
    app_image_destroy(state->app, &state->second);
    app_buffer_destroy(state->app, &state->pixels);
}

int main(int argc, char **argv)
{
    static bool garbage, sloppy;
    static const struct app_option options[] = {
        {"--garbage", "fill what is ignored with pointers that lead nowhere", &garbage, NULL},
        {"--sloppy", "chain structures of a type that no registry has", &sloppy, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "ignored",
        .what = "Input attachments, an imageless framebuffer, and members that are ignored.",
        .frames = 8,
        .options = options,
    };
    struct app app;
    struct state state = {.app = &app};
    app_init(&app, argc, argv, &program);
    state.garbage = garbage;
    state.sloppy = sloppy;
    state.validated = is_validated();
    VkPhysicalDeviceImagelessFramebufferFeatures imageless = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGELESS_FRAMEBUFFER_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &imageless};
    struct app_device_request request = {0};
    if (app.api_version >= VK_API_VERSION_1_2) {
        vkGetPhysicalDeviceFeatures2(app.physical, &features);
        request.next = &imageless;
    }
    state.imageless = imageless.imagelessFramebuffer;
    if (!state.imageless)
        printf("left out: imageless framebuffer\n");
    /* Without dynamic rendering, that layer falls over these structures whatever they hold. */
    state.rendering = app.api_version >= VK_API_VERSION_1_3 && !state.validated;
    app_device_create(&app, &request);

    create_image(&state, &state.first, VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT);
    create_image(&state, &state.second, VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(&app, &state.pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    check_exclusive_buffer(&state);
    create_pass(&state);
    create_framebuffer(&state);
    create_set(&state);
    state.push_layout = app_pipeline_layout(&app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    state.input_layout = app_pipeline_layout(&app, 1, &state.set_layout, 0, 0);
    state.vertex = app_shader(&app, headless_vert, sizeof(headless_vert));
    state.draw = app_shader(&app, headless_frag, sizeof(headless_frag));
    state.invert = app_shader(&app, ignored_invert_frag, sizeof(ignored_invert_frag));
    state.drawing = create_pipeline(&state, state.draw, 0);
    state.inverting = create_pipeline(&state, state.invert, 1);
    state.discarding = create_pipeline(&state, VK_NULL_HANDLE, 0);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        run(&state, frame);
    destroy(&state);
    return app_finish(&app);
}
