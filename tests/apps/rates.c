/* SPDX-License-Identifier: MIT */
/*
 * rates: pictures whose fragments cover several pixels. VK_KHR_fragment_shading_rate: rates of pipelines, set by a
 * command, of primitives, and of attachments of dynamic rendering and of a subpass, which a copy or the host filled;
 * VK_NV_fragment_shading_rate_enums where it is there. Fragments write the rate that they have. --density: the maps of
 * VK_EXT_fragment_density_map, with offsets where the device has them (VK_EXT_fragment_density_map_offset).
 */
#include "common/canvas.h"

#include "shaders/rate_frag.h"
#include "shaders/rate_vert.h"

#define RATE    "VK_KHR_fragment_shading_rate"
#define ENUMS   "VK_NV_fragment_shading_rate_enums"
#define DENSITY "VK_EXT_fragment_density_map"
#define OFFSET  "VK_EXT_fragment_density_map_offset"
#define ROUNDS  4u

enum { FINE = 0, WIDE = 4, COARSE = 5 }; /* rates of 1x1, 2x1 and 2x2 pixels, as shaders have them */

struct rate_push {
    float box[4];
    int32_t rate;
};

struct state {
    struct app app;
    bool density;
    struct app_canvas canvas;
    VkPhysicalDeviceFragmentShadingRatePropertiesKHR limits;
    bool attachments, primitives, enums, offsets;
    VkShaderModule vertex, fragment;
    VkPipelineLayout layout;
    VkPipeline still, dynamic, primitive, enumerated, with_map, in_pass;
    struct app_image map;
    struct app_buffer texels;
    VkExtent2D texel, extent; /* of the map */
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    PFN_vkCmdSetFragmentShadingRateKHR set_rate;
    PFN_vkCmdSetFragmentShadingRateEnumNV set_enum;
};

/* ---- pictures ---- */

static const VkFragmentShadingRateCombinerOpKHR of_pipeline[] = {VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR,
                                                                 VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR};
static const VkFragmentShadingRateCombinerOpKHR of_primitive[] = {VK_FRAGMENT_SHADING_RATE_COMBINER_OP_REPLACE_KHR,
                                                                  VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR};
static const VkFragmentShadingRateCombinerOpKHR of_attachment[] = {VK_FRAGMENT_SHADING_RATE_COMBINER_OP_KEEP_KHR,
                                                                   VK_FRAGMENT_SHADING_RATE_COMBINER_OP_REPLACE_KHR};

static void draw(const struct state *state, VkCommandBuffer commands, VkPipeline pipeline, uint32_t row, int32_t rate)
{
    const struct rate_push push = {.box = {0, (float)row / (float)APP_CELLS, 1, (float)(row + 1) / (float)APP_CELLS},
                                   .rate = rate};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdPushConstants(commands, state->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push), &push);
    vkCmdDraw(commands, 6, 1, 0, 0);
}

static void expect_rate(const struct state *state, uint32_t row, uint32_t column, uint32_t rate)
{
    EXPECT_EQ(&state->app, app_canvas_look(&state->canvas, row * APP_CELLS + column), 0xff00ff00u | rate * 16);
}

/* Rates that a pipeline has, that a command sets, that a primitive has. */
static void draw_rates(const struct state *state, uint32_t round)
{
    const VkExtent2D wide = {2, 1}, coarse = {2, 2}, fine = {1, 1};
    VkCommandBuffer commands = app_begin(&state->app);

    app_canvas_begin_rendering(&state->canvas, commands, 0, NULL);
    draw(state, commands, state->still, 0, FINE);
    state->set_rate(commands, round % 2 ? &coarse : &wide, of_pipeline);
    draw(state, commands, state->dynamic, 1, FINE);
    state->set_rate(commands, &fine, of_pipeline);
    draw(state, commands, state->dynamic, 2, COARSE);
    if (state->primitives) {
        state->set_rate(commands, &fine, of_primitive);
        draw(state, commands, state->primitive, 3, round % 2 ? COARSE : WIDE);
        draw(state, commands, state->primitive, 4, FINE);
    }
    if (state->enums) {
        state->set_enum(commands,
                        round % 2 ? VK_FRAGMENT_SHADING_RATE_1_INVOCATION_PER_2X2_PIXELS_NV
                                  : VK_FRAGMENT_SHADING_RATE_1_INVOCATION_PER_2X1_PIXELS_NV,
                        of_pipeline);
        draw(state, commands, state->dynamic, 5, FINE);
        draw(state, commands, state->enumerated, 6, FINE);
    }
    app_canvas_end_rendering(&state->canvas, commands);
    app_run(&state->app, commands);
    expect_rate(state, 0, 1, COARSE);
    expect_rate(state, 1, 2, round % 2 ? COARSE : WIDE);
    expect_rate(state, 2, 3, FINE);
    if (state->primitives) {
        expect_rate(state, 3, 4, round % 2 ? COARSE : WIDE);
        expect_rate(state, 4, 5, FINE);
    }
    if (state->enums) {
        expect_rate(state, 5, 6, round % 2 ? COARSE : WIDE);
        expect_rate(state, 6, 7, COARSE);
    }
}

/* The host's rates become the map's: a half is coarse. */
static void fill_map(const struct state *state, VkCommandBuffer commands, uint32_t round, VkImageLayout layout)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {state->extent.width, state->extent.height, 1}};
    for (uint32_t y = 0; y < state->extent.height; y++)
        for (uint32_t x = 0; x < state->extent.width; x++)
            state->texels.mapped[y * state->extent.width + x] =
                (x * state->texel.width < APP_CANVAS_SIZE / 2) == (round % 2) ? COARSE : FINE;
    app_buffer_flush(&state->app, &state->texels, 0, VK_WHOLE_SIZE);
    app_image_barrier(commands, &state->map, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, state->texels.buffer, state->map.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &region);
    app_image_barrier(commands, &state->map, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, layout);
}

static void begin_pass(const struct state *state, VkCommandBuffer commands)
{
    const VkClearValue clears[2] = {{{{0}}}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = state->pass,
                                         .framebuffer = state->framebuffer,
                                         .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                         .clearValueCount = COUNT_OF(clears),
                                         .pClearValues = clears};
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
}

static void draw_with_map(const struct state *state, uint32_t round)
{
    const VkImageLayout layout = VK_IMAGE_LAYOUT_FRAGMENT_SHADING_RATE_ATTACHMENT_OPTIMAL_KHR;
    const VkRenderingFragmentShadingRateAttachmentInfoKHR map = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR,
        .imageView = state->map.view,
        .imageLayout = layout,
        .shadingRateAttachmentTexelSize = state->texel};
    const VkExtent2D fine = {1, 1};
    const bool in_pass = round / 2 % 2;
    VkCommandBuffer commands = app_begin(&state->app);

    fill_map(state, commands, round, layout);
    if (in_pass)
        begin_pass(state, commands);
    else
        app_canvas_begin_rendering(&state->canvas, commands, 0, &map);
    state->set_rate(commands, &fine, of_attachment);
    for (uint32_t row = 0; row < APP_CELLS; row++)
        draw(state, commands, in_pass ? state->in_pass : state->with_map, row, FINE);
    if (in_pass) {
        vkCmdEndRenderPass(commands);
        app_canvas_read(&state->canvas, commands);
    } else {
        app_canvas_end_rendering(&state->canvas, commands);
    }
    app_run(&state->app, commands);
    for (uint32_t row = 0; row < APP_CELLS; row++) {
        expect_rate(state, row, 0, round % 2 ? COARSE : FINE);
        expect_rate(state, row, APP_CELLS - 1, round % 2 ? FINE : COARSE);
    }
}

/* ---- density ---- */

static void end_with_offset(const struct state *state, VkCommandBuffer commands, uint32_t round)
{
#ifdef VK_EXT_fragment_density_map_offset
    const VkOffset2D offset = {(int32_t)(round % 2 * state->texel.width), 0};
    const VkRenderPassFragmentDensityMapOffsetEndInfoEXT offsets = {
        .sType = VK_STRUCTURE_TYPE_RENDER_PASS_FRAGMENT_DENSITY_MAP_OFFSET_END_INFO_EXT,
        .fragmentDensityOffsetCount = 1,
        .pFragmentDensityOffsets = &offset};
    const VkRenderingEndInfoEXT info = {.sType = VK_STRUCTURE_TYPE_RENDERING_END_INFO_EXT, .pNext = &offsets};
    if (state->offsets) {
        PFN_vkCmdEndRendering2EXT end =
            (PFN_vkCmdEndRendering2EXT)app_device_function(&state->app, "vkCmdEndRendering2EXT");
        end(commands, &info);
        return;
    }
#endif
    (void)state, (void)round;
    vkCmdEndRendering(commands);
}

/* Colors are those of any density: each row has one. */
static void draw_with_density(const struct state *state, uint32_t round)
{
    const VkRenderingFragmentDensityMapAttachmentInfoEXT map = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_INFO_EXT,
        .imageView = state->map.view,
        .imageLayout = VK_IMAGE_LAYOUT_FRAGMENT_DENSITY_MAP_OPTIMAL_EXT};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {state->extent.width, state->extent.height, 1}};
    const VkImageLayout target = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    VkCommandBuffer commands = app_begin(&state->app);

    for (VkDeviceSize i = 0; i < state->texels.size; i++)
        state->texels.mapped[i] = i % 4 < 2 * (round % 2) ? 0x80 : 0xff;
    app_buffer_flush(&state->app, &state->texels, 0, VK_WHOLE_SIZE);
    app_image_barrier(commands, &state->map, VK_IMAGE_LAYOUT_UNDEFINED, target);
    vkCmdCopyBufferToImage(commands, state->texels.buffer, state->map.image, target, 1, &region);
    app_image_barrier(commands, &state->map, target, map.imageLayout);
    app_canvas_begin_rendering(&state->canvas, commands, 0, &map);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->with_map);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    app_canvas_cell(&state->canvas, commands, 9, 0xff102030u + round);
    end_with_offset(state, commands, round);
    app_canvas_read(&state->canvas, commands);
    app_run(&state->app, commands);
    EXPECT_EQ(&state->app, app_canvas_look(&state->canvas, 9), 0xff102030u + round);
    EXPECT_EQ(&state->app, app_canvas_look(&state->canvas, 11), 0);
}

/* ---- objects ---- */

static void create_map(struct state *state, VkFormat format, uint32_t texel_bytes, VkImageUsageFlags usage,
                       VkImageCreateFlags flags)
{
    const struct app *app = &state->app;
    state->extent.width = (APP_CANVAS_SIZE + state->texel.width - 1) / state->texel.width;
    state->extent.height = (APP_CANVAS_SIZE + state->texel.height - 1) / state->texel.height;
    const VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                    .flags = flags,
                                    .imageType = VK_IMAGE_TYPE_2D,
                                    .format = format,
                                    .extent = {state->extent.width, state->extent.height, 1},
                                    .mipLevels = 1,
                                    .arrayLayers = 1,
                                    .samples = VK_SAMPLE_COUNT_1_BIT,
                                    .usage = usage | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    app_image_create(app, &state->map, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_2D);
    app_buffer_create(app, &state->texels, (VkDeviceSize)state->extent.width * state->extent.height * texel_bytes,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
}

/* The picture, and the map as the subpass's rates. */
static void create_pass(struct state *state)
{
    const struct app *app = &state->app;
    const VkImageLayout layout = VK_IMAGE_LAYOUT_FRAGMENT_SHADING_RATE_ATTACHMENT_OPTIMAL_KHR;
    const VkAttachmentDescription2 attachments[] = {{.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                     .format = VK_FORMAT_R8G8B8A8_UNORM,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                                     .finalLayout = VK_IMAGE_LAYOUT_GENERAL},
                                                    {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                     .format = VK_FORMAT_R8_UINT,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .initialLayout = layout,
                                                     .finalLayout = layout}};
    const VkAttachmentReference2 color = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                          .layout = VK_IMAGE_LAYOUT_GENERAL,
                                          .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
    const VkAttachmentReference2 rate = {
        .sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2, .attachment = 1, .layout = layout};
    const VkFragmentShadingRateAttachmentInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_FRAGMENT_SHADING_RATE_ATTACHMENT_INFO_KHR,
        .pFragmentShadingRateAttachment = &rate,
        .shadingRateAttachmentTexelSize = state->texel};
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .pNext = &info,
                                           .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachments = &color};
    const VkRenderPassCreateInfo2 create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                            .attachmentCount = 2,
                                            .pAttachments = attachments,
                                            .subpassCount = 1,
                                            .pSubpasses = &subpass};
    const VkImageView views[] = {state->canvas.image.view, state->map.view};
    CHECK_VK(vkCreateRenderPass2(app->device, &create, NULL, &state->pass));
    state->framebuffer = app_framebuffer(app, state->pass, 2, views, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
}

static void create_rate_pipelines(struct state *state)
{
    const struct app *app = &state->app;
    const VkDynamicState dynamic = VK_DYNAMIC_STATE_FRAGMENT_SHADING_RATE_KHR;
    VkPipelineFragmentShadingRateStateCreateInfoKHR rate = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_FRAGMENT_SHADING_RATE_STATE_CREATE_INFO_KHR,
        .pNext = &app_canvas_rendering,
        .fragmentSize = {2, 2}};
    VkPipelineFragmentShadingRateEnumStateCreateInfoNV number = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_FRAGMENT_SHADING_RATE_ENUM_STATE_CREATE_INFO_NV,
        .pNext = &app_canvas_rendering,
        .shadingRateType = VK_FRAGMENT_SHADING_RATE_TYPE_ENUMS_NV,
        .shadingRate = VK_FRAGMENT_SHADING_RATE_1_INVOCATION_PER_2X2_PIXELS_NV};
    struct app_pipeline pipeline = {.vertex = state->canvas.vertex,
                                    .fragment = state->fragment,
                                    .next = &rate,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .color_count = 1};

    /* Without rates of primitives the plain vertex shader draws; its push constants begin alike. */
    pipeline.vertex = state->canvas.vertex;
    pipeline.layout = state->layout;
    state->still = app_graphics_pipeline(app, &pipeline);
    if (state->enums) {
        pipeline.next = &number;
        state->enumerated = app_graphics_pipeline(app, &pipeline);
    }
    pipeline.next = &app_canvas_rendering;
    pipeline.dynamic = &dynamic;
    pipeline.dynamic_count = 1;
    state->dynamic = app_graphics_pipeline(app, &pipeline);
    if (state->primitives) {
        pipeline.vertex = state->vertex = app_shader(app, rate_vert, sizeof(rate_vert));
        state->primitive = app_graphics_pipeline(app, &pipeline);
        pipeline.vertex = state->canvas.vertex;
    }
    if (!state->attachments)
        return;
    pipeline.flags = VK_PIPELINE_CREATE_RENDERING_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR;
    state->with_map = app_graphics_pipeline(app, &pipeline);
    pipeline.flags = 0;
    pipeline.next = NULL;
    pipeline.render_pass = state->pass;
    state->in_pass = app_graphics_pipeline(app, &pipeline);
}

static void create_rates(struct state *state)
{
    const struct app *app = &state->app;

    state->set_rate = (PFN_vkCmdSetFragmentShadingRateKHR)app_device_function(app, "vkCmdSetFragmentShadingRateKHR");
    if (state->enums)
        state->set_enum =
            (PFN_vkCmdSetFragmentShadingRateEnumNV)app_device_function(app, "vkCmdSetFragmentShadingRateEnumNV");
    state->fragment = app_shader(app, rate_frag, sizeof(rate_frag));
    state->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_VERTEX_BIT, sizeof(struct app_rect_push));
    if (state->attachments) {
        state->texel = state->limits.minFragmentShadingRateAttachmentTexelSize;
        create_map(state, VK_FORMAT_R8_UINT, 1, VK_IMAGE_USAGE_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR, 0);
        create_pass(state);
    }
    create_rate_pipelines(state);
}

static void create_density(struct state *state, VkExtent2D texel)
{
    VkImageCreateFlags flags = 0;

#ifdef VK_EXT_fragment_density_map_offset
    flags = state->offsets ? VK_IMAGE_CREATE_FRAGMENT_DENSITY_MAP_OFFSET_BIT_EXT : 0;
#endif
    state->texel = texel;
    create_map(state, VK_FORMAT_R8G8_UNORM, 2, VK_IMAGE_USAGE_FRAGMENT_DENSITY_MAP_BIT_EXT, flags);
    const struct app_pipeline pipeline = {.vertex = state->canvas.vertex,
                                          .fragment = state->canvas.fragment,
                                          .layout = state->canvas.layout,
                                          .next = &app_canvas_rendering,
                                          .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                          .color_count = 1,
                                          .flags =
                                              VK_PIPELINE_CREATE_RENDERING_FRAGMENT_DENSITY_MAP_ATTACHMENT_BIT_EXT};
    state->with_map = app_graphics_pipeline(&state->app, &pipeline);
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;
    const VkPipeline pipelines[] = {state->still,      state->dynamic,  state->primitive,
                                    state->enumerated, state->with_map, state->in_pass};

    for (uint32_t i = 0; i < COUNT_OF(pipelines); i++)
        vkDestroyPipeline(app->device, pipelines[i], NULL);
    vkDestroyFramebuffer(app->device, state->framebuffer, NULL);
    vkDestroyRenderPass(app->device, state->pass, NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    vkDestroyShaderModule(app->device, state->vertex, NULL);
    vkDestroyShaderModule(app->device, state->fragment, NULL);
    if (state->map.image) {
        app_image_destroy(app, &state->map);
        app_buffer_destroy(app, &state->texels);
    }
    app_canvas_destroy(&state->canvas);
}

/* ---- */

static void run_rates(struct state *state)
{
    struct app *app = &state->app;
    VkPhysicalDeviceFragmentShadingRateFeaturesKHR features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_FEATURES_KHR};
    VkPhysicalDeviceFragmentShadingRateEnumsFeaturesNV enums = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_ENUMS_FEATURES_NV};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &state->limits};
    VkPhysicalDeviceFragmentShadingRateKHR rates[16];
    uint32_t count = COUNT_OF(rates);
    struct app_wishes wishes = {.app = app};

    if (!APP_WISH(&wishes, RATE, features, pipelineFragmentShadingRate))
        app_skip(app, "no " RATE);
    state->limits.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_PROPERTIES_KHR;
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    const VkExtent2D texel = state->limits.minFragmentShadingRateAttachmentTexelSize;
    state->primitives = features.primitiveFragmentShadingRate;
    state->attachments =
        features.attachmentFragmentShadingRate && texel.width && texel.height && texel.width <= APP_CANVAS_SIZE / 2;
    state->enums = APP_WISH(&wishes, ENUMS, enums, fragmentShadingRateEnums);
    if (!state->primitives || !state->attachments || !state->enums)
        printf("left out: rates%s%s%s\n", state->primitives ? "" : " of primitives",
               state->attachments ? "" : " of attachments", state->enums ? "" : " by enumerations");
    for (uint32_t i = 0; i < count; i++)
        rates[i] = (VkPhysicalDeviceFragmentShadingRateKHR){
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_SHADING_RATE_KHR};
    PFN_vkGetPhysicalDeviceFragmentShadingRatesKHR get_rates =
        (PFN_vkGetPhysicalDeviceFragmentShadingRatesKHR)vkGetInstanceProcAddr(
            app->instance, "vkGetPhysicalDeviceFragmentShadingRatesKHR");
    CHECK(get_rates(app->physical, &count, rates) >= VK_SUCCESS);
    app_wishes_device(&wishes, app, NULL);
    app_canvas_create(app, &state->canvas);
    create_rates(state);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        draw_rates(state, round);
        if (state->attachments)
            draw_with_map(state, round);
    }
    destroy(state);
}

static void run_density(struct state *state)
{
    struct app *app = &state->app;
    VkPhysicalDeviceFragmentDensityMapFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_DENSITY_MAP_FEATURES_EXT};
    VkPhysicalDeviceFragmentDensityMapPropertiesEXT limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_DENSITY_MAP_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &limits};
    struct app_wishes wishes = {.app = app};

    if (!APP_WISH(&wishes, DENSITY, features, fragmentDensityMap))
        app_skip(app, "no " DENSITY);
#ifdef VK_EXT_fragment_density_map_offset
    VkPhysicalDeviceFragmentDensityMapOffsetFeaturesEXT offset = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FRAGMENT_DENSITY_MAP_OFFSET_FEATURES_EXT};
    state->offsets = APP_WISH(&wishes, OFFSET, offset, fragmentDensityMapOffset);
#endif
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    const VkExtent2D texel = limits.minFragmentDensityTexelSize;
    app_wishes_device(&wishes, app, NULL);
    app_canvas_create(app, &state->canvas);
    create_density(state, texel.width && texel.height ? texel : (VkExtent2D){32, 32});
    for (uint32_t round = 0; round < ROUNDS; round++)
        draw_with_density(state, round);
    destroy(state);
}

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {{"--density", "maps of fragment density", &state.density, NULL},
                                                {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "rates", .what = "fragments that cover several pixels", .options = options};

    app_init(&state.app, argc, argv, &program);
    if (state.app.api_version < VK_API_VERSION_1_3)
        app_skip(&state.app, "needs Vulkan 1.3");
    if (state.density)
        run_density(&state);
    else
        run_rates(&state);
    return app_finish(&state.app);
}
