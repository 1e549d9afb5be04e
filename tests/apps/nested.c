/* SPDX-License-Identifier: MIT */
/*
 * nested: secondary command buffers that execute others, several deep (VK_EXT_nested_command_buffer): copies outside of
 * passes, draws within a render pass and in dynamic rendering, among commands of their own; the innermost is executed
 * from two places where that is allowed. The host stores what the innermost read before it submits them once more, and
 * reads what they wrote.
 */
#include "common/app.h"

#define NESTED "VK_EXT_nested_command_buffer"

#ifdef VK_EXT_nested_command_buffer

#include "shaders/headless_frag.h"
#include "shaders/headless_vert.h"

#define DEPTH  4u /* of secondary command buffers */
#define WORDS  300u
#define SIZE   64u
#define STRIP  (SIZE / DEPTH)
#define ROUNDS 4u
#define FORMAT VK_FORMAT_R8G8B8A8_UNORM

struct state {
    struct app app;
    struct app_buffer in, out, pixels;
    struct app_image target;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipelineLayout layout;
    struct app_pipeline shaders;
    VkPipeline in_pass, dynamic;
    VkCommandPool pool;
    VkCommandBuffer first, copies[DEPTH], draws[DEPTH]; /* each executes the next one */
    bool renders, twice;
    uint32_t depth;
};

static void begin(VkCommandBuffer commands, const VkCommandBufferInheritanceInfo *inherits,
                  VkCommandBufferUsageFlags flags)
{
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags, .pInheritanceInfo = inherits};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void wait_for_copies(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT);
}

/* Number i copies its words, shifted by one more for each one around it. */
static void record_copies(struct state *state)
{
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};

    for (uint32_t i = state->depth; i-- > 0;) {
        const VkBufferCopy region = {
            .srcOffset = i * WORDS * 4, .dstOffset = (state->depth - 1 - i) * WORDS * 4, .size = WORDS * 4};
        begin(state->copies[i], &inherits, state->twice ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT : 0);
        vkCmdCopyBuffer(state->copies[i], state->in.buffer, state->out.buffer, 1, &region);
        wait_for_copies(state->copies[i]);
        if (i + 1 < state->depth)
            vkCmdExecuteCommands(state->copies[i], 1, &state->copies[i + 1]);
        CHECK_VK(vkEndCommandBuffer(state->copies[i]));
    }
}

/* Number i draws its strip of the target. */
static void record_draws(struct state *state, bool dynamic, uint32_t round)
{
    const VkFormat format = FORMAT;
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = dynamic ? &rendering : NULL,
                                                     .renderPass = dynamic ? VK_NULL_HANDLE : state->pass,
                                                     .framebuffer = dynamic ? VK_NULL_HANDLE : state->framebuffer};
    for (uint32_t i = state->depth; i-- > 0;) {
        const VkViewport viewport = {0, 0, SIZE, SIZE, 0, 1};
        const VkRect2D strip = {{0, (int32_t)(i * STRIP)}, {SIZE, STRIP}};
        const uint32_t frame = round * DEPTH + i;
        VkCommandBuffer commands = state->draws[i];
        begin(commands, &inherits, VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, dynamic ? state->dynamic : state->in_pass);
        vkCmdSetViewport(commands, 0, 1, &viewport);
        vkCmdSetScissor(commands, 0, 1, &strip);
        vkCmdPushConstants(commands, state->layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4, &frame);
        vkCmdDraw(commands, 3, 1, 0, 0);
        if (i + 1 < state->depth)
            vkCmdExecuteCommands(commands, 1, &state->draws[i + 1]);
        CHECK_VK(vkEndCommandBuffer(commands));
    }
}

static void record_rendering(struct state *state, bool dynamic)
{
    const VkClearValue clear = {.color.float32 = {0, 0, 0, 1}};
    const VkRenderPassBeginInfo pass = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                        .renderPass = state->pass,
                                        .framebuffer = state->framebuffer,
                                        .renderArea.extent = {SIZE, SIZE},
                                        .clearValueCount = 1,
                                        .pClearValues = &clear};
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = state->target.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                             .clearValue = clear};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .flags = VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT,
                                       .renderArea.extent = {SIZE, SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    if (dynamic) {
        app_image_barrier(state->first, &state->target, VK_IMAGE_LAYOUT_UNDEFINED,
                          VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
        vkCmdBeginRendering(state->first, &rendering);
        vkCmdExecuteCommands(state->first, 1, &state->draws[0]);
        vkCmdEndRendering(state->first);
        app_image_barrier(state->first, &state->target, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                          VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    } else {
        vkCmdBeginRenderPass(state->first, &pass, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
        vkCmdExecuteCommands(state->first, 1, &state->draws[0]);
        vkCmdEndRenderPass(state->first);
    }
}

static void record(struct state *state, uint32_t round)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    record_copies(state);
    if (state->renders)
        record_draws(state, round % 2, round);
    begin(state->first, NULL, 0);
    vkCmdExecuteCommands(state->first, 1, &state->copies[0]);
    if (state->twice) /* the innermost once more */
        vkCmdExecuteCommands(state->first, 1, &state->copies[state->depth - 1]);
    if (state->renders) {
        record_rendering(state, round % 2);
        vkCmdCopyImageToBuffer(state->first, state->target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                               state->pixels.buffer, 1, &region);
    }
    wait_for_copies(state->first);
    CHECK_VK(vkEndCommandBuffer(state->first));
}

static uint32_t word(uint32_t round, uint32_t i)
{
    return round * 1000003u + i * 31u;
}

static void submit_and_check(struct state *state, uint32_t number, uint32_t round)
{
    const struct app *app = &state->app;
    uint32_t *in = (uint32_t *)state->in.mapped;

    for (uint32_t i = 0; i < DEPTH * WORDS; i++)
        in[i] = word(number, i);
    app_buffer_flush(app, &state->in, 0, state->in.size);
    app_submit_wait(app, 1, &state->first);
    app_buffer_invalidate(app, &state->out, 0, state->out.size);
    for (uint32_t i = 0; i < state->depth * WORDS; i++)
        EXPECT_EQ(app, ((uint32_t *)state->out.mapped)[(state->depth - 1 - i / WORDS) * WORDS + i % WORDS],
                  word(number, i));
    if (!state->renders)
        return;
    app_buffer_invalidate(app, &state->pixels, 0, state->pixels.size);
    for (uint32_t y = 0; y < state->depth * STRIP; y++)
        for (uint32_t x = 0; x < SIZE; x++) {
            uint32_t frame = round * DEPTH + y / STRIP;
            EXPECT_EQ(app, ((uint32_t *)state->pixels.mapped)[y * SIZE + x],
                      (x / 16 * 32) | (y / 16 * 32) << 8 | (frame * 16 & 0xff) << 16 | 0xff000000u);
        }
}

static void create(struct state *state)
{
    const struct app *app = &state->app;
    const VkFormat format = FORMAT;
    const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 1,
                                                     .pColorAttachmentFormats = &format};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};

    app_buffer_create(app, &state->in, DEPTH * WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->out, DEPTH * WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(app, &state->pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_image_create_2d(app, &state->target, FORMAT, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    state->pass = app_render_pass(app, FORMAT, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    state->framebuffer = app_framebuffer(app, state->pass, 1, &state->target.view, SIZE, SIZE);
    state->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_FRAGMENT_BIT, 4);
    state->shaders = (struct app_pipeline){.vertex = app_shader(app, headless_vert, sizeof(headless_vert)),
                                           .fragment = app_shader(app, headless_frag, sizeof(headless_frag)),
                                           .layout = state->layout,
                                           .render_pass = state->pass,
                                           .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                           .color_count = 1};
    state->in_pass = app_graphics_pipeline(app, &state->shaders);
    state->shaders.render_pass = VK_NULL_HANDLE;
    state->shaders.next = &rendering;
    state->dynamic = app_graphics_pipeline(app, &state->shaders);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &state->pool));
    allocate.commandPool = state->pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->first));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    allocate.commandBufferCount = DEPTH;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, state->copies));
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, state->draws));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    vkDestroyCommandPool(app->device, state->pool, NULL);
    vkDestroyPipeline(app->device, state->in_pass, NULL);
    vkDestroyPipeline(app->device, state->dynamic, NULL);
    vkDestroyShaderModule(app->device, state->shaders.vertex, NULL);
    vkDestroyShaderModule(app->device, state->shaders.fragment, NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    vkDestroyFramebuffer(app->device, state->framebuffer, NULL);
    vkDestroyRenderPass(app->device, state->pass, NULL);
    app_image_destroy(app, &state->target);
    app_buffer_destroy(app, &state->in);
    app_buffer_destroy(app, &state->out);
    app_buffer_destroy(app, &state->pixels);
}

static void run(struct state *state)
{
    static const char *const extensions[] = {NESTED};
    struct app *app = &state->app;
    VkPhysicalDeviceNestedCommandBufferFeaturesEXT nested = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_FEATURES_EXT};
    VkPhysicalDeviceVulkan13Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .pNext = &nested, .dynamicRendering = VK_TRUE};
    VkPhysicalDeviceFeatures2 asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &nested};
    VkPhysicalDeviceNestedCommandBufferPropertiesEXT most = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_NESTED_COMMAND_BUFFER_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &most};
    const struct app_device_request request = {.extensions = extensions, .extension_count = 1, .next = &features};

    if (app->api_version < VK_API_VERSION_1_3 || !app_has_extension(app, NESTED))
        app_skip(app, "no " NESTED);
    vkGetPhysicalDeviceFeatures2(app->physical, &asked);
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    if (!nested.nestedCommandBuffer)
        app_skip(app, "no nestedCommandBuffer");
    state->renders = nested.nestedCommandBufferRendering;
    state->twice = nested.nestedCommandBufferSimultaneousUse;
    state->depth = most.maxCommandBufferNestingLevel < DEPTH ? most.maxCommandBufferNestingLevel : DEPTH;
    CHECK(state->depth >= 1);
    app_device_create(app, &request);
    create(state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        record(state, round);
        submit_and_check(state, round * 2, round);
        submit_and_check(state, round * 2 + 1, round); /* nothing was recorded anew */
    }
    destroy(state);
}

#else

struct state {
    struct app app;
};

static void run(struct state *state)
{
    app_skip(&state->app, "these headers have no " NESTED);
}

#endif

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "nested", .what = "secondary command buffers in secondary ones"};
    static struct state state;

    app_init(&state.app, argc, argv, &program);
    run(&state);
    return app_finish(&state.app);
}
