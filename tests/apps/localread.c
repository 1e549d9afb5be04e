/* SPDX-License-Identifier: MIT */
/*
 * localread: fragments that read what others of the same dynamic rendering left in color, depth and stencil
 * (VK_KHR_dynamic_rendering_local_read), with locations of attachments and indices of input attachments that change
 * within it, in primary command buffers and, set again, in secondary ones that inherit both. --core: by the names of
 * Vulkan 1.4. --general: attachments are in VK_IMAGE_LAYOUT_GENERAL.
 */
#include "common/canvas.h"

#include "shaders/local_read_frag.h"

#define LOCAL_READ "VK_KHR_dynamic_rendering_local_read"

#ifdef VK_KHR_dynamic_rendering_local_read

#define FORMAT VK_FORMAT_R8G8B8A8_UNORM
#define ROUNDS 4u

struct state {
    struct app app;
    bool core, general;
    VkImageLayout layout;
    struct app_canvas canvas; /* what is read becomes its picture */
    struct app_image color, depth;
    VkImageView depth_only, stencil_only;
    VkFormat depth_format;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout pipeline_layout;
    VkShaderModule reads;
    VkPipeline draw, read;
    VkCommandPool pool;
    VkCommandBuffer first, draws, read_commands;
    PFN_vkCmdSetRenderingAttachmentLocationsKHR set_locations;
    PFN_vkCmdSetRenderingInputAttachmentIndicesKHR set_indices;
};

/* First into attachment 0; then from it, depth and stencil into attachment 1. */
static const uint32_t to_first[] = {0, VK_ATTACHMENT_UNUSED}, to_second[] = {VK_ATTACHMENT_UNUSED, 0};
static const uint32_t depth_index = 1, stencil_index = 2;
static const VkFormat formats[] = {FORMAT, FORMAT};

static const VkRenderingInputAttachmentIndexInfoKHR indices = {
    .sType = VK_STRUCTURE_TYPE_RENDERING_INPUT_ATTACHMENT_INDEX_INFO_KHR,
    .colorAttachmentCount = 2,
    .pColorAttachmentInputIndices = to_first, /* the first one has index 0 */
    .pDepthInputAttachmentIndex = &depth_index,
    .pStencilInputAttachmentIndex = &stencil_index};
static const VkRenderingAttachmentLocationInfoKHR draw_locations = {
    .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_LOCATION_INFO_KHR,
    .colorAttachmentCount = 2,
    .pColorAttachmentLocations = to_first};
static const VkRenderingAttachmentLocationInfoKHR read_locations = {
    .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_LOCATION_INFO_KHR,
    .pNext = &indices,
    .colorAttachmentCount = 2,
    .pColorAttachmentLocations = to_second};

static uint32_t color_of(uint32_t cell, uint32_t round)
{
    return 0xff000000u | ((cell * 3 + round * 16) & 0xff);
}

static uint32_t stencil_of(uint32_t cell)
{
    return cell / APP_CELLS % 2 ? 40 : 3;
}

/* Between draws of one rendering. Of memory: validation layers of 2025 take the layouts of images for undefined there.
 */
static void barrier(VkCommandBuffer commands, VkPipelineStageFlags stages, VkAccessFlags written)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = written,
                                 .dstAccessMask = VK_ACCESS_INPUT_ATTACHMENT_READ_BIT};
    vkCmdPipelineBarrier(commands, stages, VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT, VK_DEPENDENCY_BY_REGION_BIT, 1, &all,
                         0, NULL, 0, NULL);
}

static void record_draws(const struct state *state, VkCommandBuffer commands, uint32_t round)
{
    const VkClearAttachment clear = {.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT,
                                     .clearValue.depthStencil = {0, stencil_of(APP_CELLS)}};
    VkClearRect rects[APP_CELLS / 2];

    for (uint32_t i = 0; i < COUNT_OF(rects); i++)
        rects[i] = (VkClearRect){{{0, (int32_t)((2 * i + 1) * APP_CELL)}, {APP_CANVAS_SIZE, APP_CELL}}, 0, 1};
    vkCmdClearAttachments(commands, 1, &clear, COUNT_OF(rects), rects);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->draw);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    for (uint32_t cell = 0; cell < APP_CELLS * APP_CELLS; cell++) {
        const float depth = (float)cell / 128.0f;
        app_canvas_push(&state->canvas, commands, cell, color_of(cell, round));
        vkCmdPushConstants(commands, state->canvas.layout, VK_SHADER_STAGE_VERTEX_BIT,
                           offsetof(struct app_rect_push, depth), sizeof(depth), &depth);
        vkCmdDraw(commands, 6, 1, 0, 0);
    }
    barrier(commands,
            VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_EARLY_FRAGMENT_TESTS_BIT |
                VK_PIPELINE_STAGE_LATE_FRAGMENT_TESTS_BIT,
            VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT);
}

static void record_read(const struct state *state, VkCommandBuffer commands)
{
    const struct app_rect_push all = {.box = {0, 0, 1, 1}, .depth = 0.5f};

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->read);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->pipeline_layout, 0, 1, &state->set, 0,
                            NULL);
    vkCmdPushConstants(commands, state->pipeline_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(all), &all);
    vkCmdDraw(commands, 6, 1, 0, 0);
}

static void begin_secondary(const struct state *state, VkCommandBuffer commands, const void *locations)
{
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .pNext = locations,
        .colorAttachmentCount = 2,
        .pColorAttachmentFormats = formats,
        .depthAttachmentFormat = state->depth_format,
        .stencilAttachmentFormat = state->depth_format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = &rendering};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                           .pInheritanceInfo = &inherits};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
}

static void begin_rendering(const struct state *state, VkCommandBuffer commands, bool secondary)
{
    VkRenderingAttachmentInfo colors[2], depth;
    VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .flags = secondary ? VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT : 0,
                                 .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                 .layerCount = 1,
                                 .colorAttachmentCount = 2,
                                 .pColorAttachments = colors,
                                 .pDepthAttachment = &depth,
                                 .pStencilAttachment = &depth};

    colors[0] = (VkRenderingAttachmentInfo){.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                            .imageView = state->color.view,
                                            .imageLayout = state->layout,
                                            .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                            .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    depth = colors[1] = colors[0];
    colors[1].imageView = state->canvas.image.view;
    colors[1].imageLayout = VK_IMAGE_LAYOUT_GENERAL;
    depth.imageView = state->depth.view;
    depth.clearValue.depthStencil = (VkClearDepthStencilValue){1, stencil_of(0)};
    app_image_barrier(commands, &state->color, VK_IMAGE_LAYOUT_UNDEFINED, state->layout);
    app_image_barrier(commands, &state->canvas.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_image_barrier(commands, &state->depth, VK_IMAGE_LAYOUT_UNDEFINED, state->layout);
    vkCmdBeginRendering(commands, &rendering);
}

static void record(const struct state *state, uint32_t round, bool secondary)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    if (secondary) {
        begin_secondary(state, state->draws, &draw_locations);
        record_draws(state, state->draws, round);
        CHECK_VK(vkEndCommandBuffer(state->draws));
        begin_secondary(state, state->read_commands, &read_locations);
        record_read(state, state->read_commands);
        CHECK_VK(vkEndCommandBuffer(state->read_commands));
    }
    CHECK_VK(vkBeginCommandBuffer(state->first, &info));
    begin_rendering(state, state->first, secondary);
    state->set_locations(state->first, &draw_locations);
    if (secondary)
        vkCmdExecuteCommands(state->first, 1, &state->draws);
    else
        record_draws(state, state->first, round);
    state->set_locations(state->first, &read_locations);
    state->set_indices(state->first, &indices);
    if (secondary)
        vkCmdExecuteCommands(state->first, 1, &state->read_commands);
    else
        record_read(state, state->first);
    vkCmdEndRendering(state->first);
    app_canvas_read(&state->canvas, state->first);
    CHECK_VK(vkEndCommandBuffer(state->first));
}

static bool is_near(uint32_t got, double want)
{
    return (double)got >= want - 1 && (double)got <= want + 1;
}

static void submit_and_check(const struct state *state, uint32_t round)
{
    const struct app *app = &state->app;

    app_submit_wait(app, 1, &state->first);
    for (uint32_t cell = 0; cell < APP_CELLS * APP_CELLS && !app->no_check; cell++) {
        const uint32_t got = app_canvas_look(&state->canvas, cell);
        EXPECT_EQ(app, got & 0xff, color_of(cell, round) & 0xff);
        CHECK(is_near(got >> 8 & 0xff, cell / 128.0 * 255));
        CHECK(is_near(got >> 16 & 0xff, stencil_of(cell)));
        EXPECT_EQ(app, got >> 24, 0xff);
    }
}

static VkImageView view_of(const struct app *app, const struct app_image *image, VkFormat format,
                           VkImageAspectFlags aspect)
{
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = image->image,
                                        .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                        .format = format,
                                        .subresourceRange = {aspect, 0, 1, 0, 1}};
    VkImageView view;
    CHECK_VK(vkCreateImageView(app->device, &info, NULL, &view));
    return view;
}

static void create_images(struct state *state)
{
    const struct app *app = &state->app;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = FORMAT,
                              .extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT};

    app_image_create(app, &state->color, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    info.format = state->depth_format;
    info.usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
    app_image_create(app, &state->depth, &info, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT,
                     VK_IMAGE_VIEW_TYPE_2D);
    state->depth_only = view_of(app, &state->depth, info.format, VK_IMAGE_ASPECT_DEPTH_BIT);
    state->stencil_only = view_of(app, &state->depth, info.format, VK_IMAGE_ASPECT_STENCIL_BIT);
}

static void create_set(struct state *state)
{
    const struct app *app = &state->app;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 3};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &state->set_layout};
    const VkDescriptorImageInfo images[] = {{VK_NULL_HANDLE, state->color.view, state->layout},
                                            {VK_NULL_HANDLE, state->depth_only, state->layout},
                                            {VK_NULL_HANDLE, state->stencil_only, state->layout}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 3,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT,
                                  .pImageInfo = images};
    VkDescriptorSetLayoutBinding bindings[3];

    for (uint32_t i = 0; i < 3; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, 1,
                                                     VK_SHADER_STAGE_FRAGMENT_BIT, NULL};
    state->set_layout = app_set_layout(app, 3, bindings);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->descriptor_pool));
    allocate.descriptorPool = state->descriptor_pool;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->set));
    write.dstSet = state->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    state->pipeline_layout =
        app_pipeline_layout(app, 1, &state->set_layout, VK_SHADER_STAGE_VERTEX_BIT, sizeof(struct app_rect_push));
}

static void create(struct state *state)
{
    const struct app *app = &state->app;
    VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                               .pNext = &draw_locations,
                                               .colorAttachmentCount = 2,
                                               .pColorAttachmentFormats = formats,
                                               .depthAttachmentFormat = state->depth_format,
                                               .stencilAttachmentFormat = state->depth_format};
    struct app_pipeline pipeline = {
        .next = &rendering, .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, .depth = true, .color_count = 2};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};

    state->set_locations = (PFN_vkCmdSetRenderingAttachmentLocationsKHR)app_device_function(
        app, state->core ? "vkCmdSetRenderingAttachmentLocations" : "vkCmdSetRenderingAttachmentLocationsKHR");
    state->set_indices = (PFN_vkCmdSetRenderingInputAttachmentIndicesKHR)app_device_function(
        app, state->core ? "vkCmdSetRenderingInputAttachmentIndices" : "vkCmdSetRenderingInputAttachmentIndicesKHR");
    app_canvas_create(app, &state->canvas);
    create_images(state);
    create_set(state);
    state->reads = app_shader(app, local_read_frag, sizeof(local_read_frag));
    pipeline.vertex = state->canvas.vertex;
    pipeline.fragment = state->canvas.fragment;
    pipeline.layout = state->canvas.layout;
    state->draw = app_graphics_pipeline(app, &pipeline);
    rendering.pNext = &read_locations;
    pipeline.depth = false;
    pipeline.fragment = state->reads;
    pipeline.layout = state->pipeline_layout;
    state->read = app_graphics_pipeline(app, &pipeline);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &state->pool));
    allocate.commandPool = state->pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->first));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->draws));
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->read_commands));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    vkDestroyCommandPool(app->device, state->pool, NULL);
    vkDestroyPipeline(app->device, state->draw, NULL);
    vkDestroyPipeline(app->device, state->read, NULL);
    vkDestroyShaderModule(app->device, state->reads, NULL);
    vkDestroyPipelineLayout(app->device, state->pipeline_layout, NULL);
    vkDestroyDescriptorPool(app->device, state->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, state->set_layout, NULL);
    vkDestroyImageView(app->device, state->depth_only, NULL);
    vkDestroyImageView(app->device, state->stencil_only, NULL);
    app_image_destroy(app, &state->color);
    app_image_destroy(app, &state->depth);
    app_canvas_destroy(&state->canvas);
}

static VkFormat depth_format(const struct app *app)
{
    return app_format_has(app, VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_TILING_OPTIMAL,
                          VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT)
               ? VK_FORMAT_D32_SFLOAT_S8_UINT
               : VK_FORMAT_D24_UNORM_S8_UINT;
}

static void run(struct state *state)
{
    struct app *app = &state->app;
    VkPhysicalDeviceDynamicRenderingLocalReadFeaturesKHR features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_LOCAL_READ_FEATURES_KHR};
    struct app_wishes wishes = {.app = app};

    if (app->api_version < (state->core ? APP_VULKAN_1_4 : VK_API_VERSION_1_3) ||
        !APP_WISH(&wishes, state->core ? NULL : LOCAL_READ, features, dynamicRenderingLocalRead))
        app_skip(app, state->core ? "no dynamicRenderingLocalRead of Vulkan 1.4" : "no " LOCAL_READ);
    if (strstr(app->properties.deviceName, "SwiftShader"))
        app_skip(app, "this driver ends at draws with locations of attachments");
    app_wishes_device(&wishes, app, NULL);
    state->layout = state->general ? VK_IMAGE_LAYOUT_GENERAL : VK_IMAGE_LAYOUT_RENDERING_LOCAL_READ_KHR;
    state->depth_format = depth_format(app);
    create(state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        record(state, round, round % 2);
        submit_and_check(state, round);
    }
    destroy(state);
}

#else

struct state {
    struct app app;
    bool core, general;
};

static void run(struct state *state)
{
    app_skip(&state->app, "these headers have no " LOCAL_READ);
}

#endif

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {
        {"--core", "by the names of Vulkan 1.4", &state.core, NULL},
        {"--general", "attachments are in the general layout", &state.general, NULL},
        {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {.name = "localread",
                                               .what = "fragments that read attachments of their own rendering",
                                               .options = options,
                                               .vulkan_1_4 = &state.core};

    app_init(&state.app, argc, argv, &program);
    run(&state);
    return app_finish(&state.app);
}
