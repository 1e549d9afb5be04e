/* SPDX-License-Identifier: MIT */
/*
 * looks: what shaders see of an image through unusual views and samplers: border colors of the program's own
 * (VK_EXT_custom_border_color), with and without a format, swizzled ones (VK_EXT_border_color_swizzle), slices of a
 * volume as planes (VK_EXT_image_2d_view_of_3d), texels reduced to their least or most (VK_EXT_sampler_filter_minmax);
 * --lod: views that begin at a level (VK_EXT_image_view_min_lod). A dispatch writes each look to a buffer.
 */
#include "common/canvas.h"

#include "shaders/look_comp.h"

#define BORDER  "VK_EXT_custom_border_color"
#define SWIZZLE "VK_EXT_border_color_swizzle"
#define PLANES  "VK_EXT_image_2d_view_of_3d"
#define MIN_LOD "VK_EXT_image_view_min_lod"
#define FORMAT  VK_FORMAT_R8G8B8A8_UNORM
#define SIDE    8u
#define LEVELS  3u
#define SLICES  4u
#define LOOKS   16u

struct state {
    struct app app;
    bool lod;
    bool border, no_format, swizzle, planes, minmax, min_lod;
    struct app_image flat, volume;
    struct app_buffer texels, out;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkImageView views[LOOKS];
    VkSampler samplers[LOOKS];
    VkDescriptorSet sets[LOOKS];
    struct look {
        float at[2], lod;
        uint32_t to;
    } looks[LOOKS];
    float expected[LOOKS][4];
    uint32_t count;
};

/* Of a level of the flat image, or of a slice behind these. */
static uint32_t color_of(uint32_t number, uint32_t round)
{
    return 0xff000000u | ((0x402010u + number * 0x0b0d11u) ^ round << 20);
}

/* The next look: a view, a sampler, where. */
static void add(struct state *state, const VkImageViewCreateInfo *view, const VkSamplerCreateInfo *sampler, float x,
                float y)
{
    const struct app *app = &state->app;
    const uint32_t n = state->count++;
    const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                  .descriptorPool = state->pool,
                                                  .descriptorSetCount = 1,
                                                  .pSetLayouts = &state->set_layout};
    VkDescriptorImageInfo image = {.imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
    const VkDescriptorBufferInfo buffer = {state->out.buffer, 0, VK_WHOLE_SIZE};
    VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                       .pImageInfo = &image},
                                      {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstBinding = 1,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffer}};

    CHECK(n < LOOKS);
    CHECK_VK(vkCreateImageView(app->device, view, NULL, &state->views[n]));
    CHECK_VK(vkCreateSampler(app->device, sampler, NULL, &state->samplers[n]));
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->sets[n]));
    image.imageView = state->views[n];
    image.sampler = state->samplers[n];
    writes[0].dstSet = writes[1].dstSet = state->sets[n];
    vkUpdateDescriptorSets(app->device, 2, writes, 0, NULL);
    state->looks[n] = (struct look){{x, y}, 0, n};
}

static const VkSamplerCreateInfo plain = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                          .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                                          .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                                          .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                                          .maxLod = VK_LOD_CLAMP_NONE};

static VkImageViewCreateInfo view_of(const struct state *state, bool of_volume)
{
    return (VkImageViewCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                   .image = of_volume ? state->volume.image : state->flat.image,
                                   .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                   .format = FORMAT,
                                   .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, of_volume ? 1 : LEVELS, 0, 1}};
}

static void add_borders(struct state *state)
{
    const VkImageViewCreateInfo view = view_of(state, false);
    const VkSamplerCustomBorderColorCreateInfoEXT color = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
        .customBorderColor.float32 = {0.25f, 0.5f, 0.75f, 1},
        .format = FORMAT};
    VkSamplerCustomBorderColorCreateInfoEXT any = color;
    VkSamplerCreateInfo sampler = plain;

    if (!state->border)
        return;
    sampler.pNext = &color;
    sampler.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
    memcpy(state->expected[state->count], color.customBorderColor.float32, 16);
    add(state, &view, &sampler, -1, -1);
    if (state->no_format) {
        any.format = VK_FORMAT_UNDEFINED;
        sampler.pNext = &any;
        memcpy(state->expected[state->count], color.customBorderColor.float32, 16);
        add(state, &view, &sampler, 2, -1);
    }
}

/* The view changes colors, and so the border's. */
static void add_swizzled(struct state *state)
{
    VkImageViewCreateInfo view = view_of(state, false);
    const VkSamplerCustomBorderColorCreateInfoEXT color = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
        .customBorderColor.float32 = {0.125f, 0.25f, 0.5f, 1},
        .format = FORMAT};
    const VkSamplerBorderColorComponentMappingCreateInfoEXT mapping = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_BORDER_COLOR_COMPONENT_MAPPING_CREATE_INFO_EXT,
        .pNext = &color,
        .components = {VK_COMPONENT_SWIZZLE_B, VK_COMPONENT_SWIZZLE_G, VK_COMPONENT_SWIZZLE_R, VK_COMPONENT_SWIZZLE_A}};
    const float expected[4] = {0.5f, 0.25f, 0.125f, 1};
    VkSamplerCreateInfo sampler = plain;

    if (!state->border || !state->swizzle)
        return;
    view.components = mapping.components;
    sampler.pNext = &mapping;
    sampler.borderColor = VK_BORDER_COLOR_FLOAT_CUSTOM_EXT;
    memcpy(state->expected[state->count], expected, 16);
    add(state, &view, &sampler, -1, 0.5f);
}

static void add_slices(struct state *state)
{
    VkImageViewCreateInfo view = view_of(state, true);

    for (uint32_t i = 0; i < SLICES && state->planes; i++) {
        view.subresourceRange.baseArrayLayer = i;
        add(state, &view, &plain, 0.5f, 0.5f);
    }
}

/* Both are of texels that are alike, but for the border's. */
static void add_extremes(struct state *state)
{
    const VkImageViewCreateInfo view = view_of(state, false);
    VkSamplerReductionModeCreateInfo mode = {.sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
                                             .reductionMode = VK_SAMPLER_REDUCTION_MODE_MIN};
    VkSamplerCreateInfo sampler = plain;

    sampler.pNext = &mode;
    sampler.magFilter = sampler.minFilter = VK_FILTER_LINEAR;
    sampler.borderColor = VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE;
    for (uint32_t i = 0; i < 2 && state->minmax; i++) {
        for (uint32_t c = 0; c < 4; c++)
            state->expected[state->count][c] = i ? 1 : -1; /* -1: as the image has it */
        add(state, &view, &sampler, 0, 0.5f);
        mode.reductionMode = VK_SAMPLER_REDUCTION_MODE_MAX;
    }
}

#ifdef VK_EXT_image_view_min_lod
/* Level 0 is asked for, and the view begins at another one. */
static void add_levels(struct state *state)
{
    VkImageViewMinLodCreateInfoEXT least = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_MIN_LOD_CREATE_INFO_EXT};
    VkImageViewCreateInfo view = view_of(state, false);

    view.pNext = &least;
    for (uint32_t i = 0; i < LEVELS && state->min_lod; i++) {
        least.minLod = (float)i;
        add(state, &view, &plain, 0.5f, 0.5f);
    }
}
#endif

static void fill(const struct state *state, VkCommandBuffer commands, uint32_t round)
{
    VkBufferImageCopy regions[LEVELS],
        volume = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, .imageExtent = {SIDE, SIDE, SLICES}};
    const VkImageLayout target = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, read = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;

    for (uint32_t i = 0; i < (LEVELS + SLICES) * SIDE * SIDE; i++)
        ((uint32_t *)state->texels.mapped)[i] = color_of(i / (SIDE * SIDE), round);
    app_buffer_flush(&state->app, &state->texels, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < LEVELS; i++)
        regions[i] = (VkBufferImageCopy){.bufferOffset = (VkDeviceSize)i * SIDE * SIDE * 4,
                                         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, i, 0, 1},
                                         .imageExtent = {SIDE >> i, SIDE >> i, 1}};
    volume.bufferOffset = (VkDeviceSize)LEVELS * SIDE * SIDE * 4;
    app_image_barrier(commands, &state->flat, VK_IMAGE_LAYOUT_UNDEFINED, target);
    app_image_barrier(commands, &state->volume, VK_IMAGE_LAYOUT_UNDEFINED, target);
    vkCmdCopyBufferToImage(commands, state->texels.buffer, state->flat.image, target, LEVELS, regions);
    vkCmdCopyBufferToImage(commands, state->texels.buffer, state->volume.image, target, 1, &volume);
    app_image_barrier(commands, &state->flat, target, read);
    app_image_barrier(commands, &state->volume, target, read);
}

/* first_slice, first_level: the first looks of these kinds. */
static void check(const struct state *state, uint32_t round, uint32_t first_slice, uint32_t first_level)
{
    const float *got = (const float *)state->out.mapped;

    app_buffer_invalidate(&state->app, &state->out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < state->count && !state->app.no_check; i++) {
        float want[4], texel[4];
        app_canvas_color(color_of(0, round), texel);
        memcpy(want, state->expected[i], sizeof(want));
        if (state->planes && i >= first_slice && i < first_slice + SLICES)
            app_canvas_color(color_of(LEVELS + i - first_slice, round), want);
        else if (state->min_lod && i >= first_level)
            app_canvas_color(color_of(i - first_level, round), want);
        for (uint32_t c = 0; c < 4; c++) {
            const float wanted = want[c] < 0 ? texel[c] : want[c], error = got[i * 4 + c] - wanted;
            if (error < -0.005f || error > 0.005f)
                app_fail(__FILE__, __LINE__, "look %u, component %u: %g, not %g", i, c, (double)got[i * 4 + c],
                         (double)wanted);
        }
    }
}

static void create(struct state *state)
{
    const struct app *app = &state->app;
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, LOOKS},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, LOOKS}};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = LOOKS,
                                             .poolSizeCount = COUNT_OF(sizes),
                                             .pPoolSizes = sizes};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = FORMAT,
                              .extent = {SIDE, SIDE, 1},
                              .mipLevels = LEVELS,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};

    app_image_create(app, &state->flat, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    info.imageType = VK_IMAGE_TYPE_3D;
    info.extent.depth = SLICES;
    info.mipLevels = 1;
#ifdef VK_EXT_image_2d_view_of_3d
    info.flags = state->planes ? VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT : 0;
#endif
    app_image_create(app, &state->volume, &info, VK_IMAGE_ASPECT_COLOR_BIT, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
    app_buffer_create(app, &state->texels, (VkDeviceSize)(LEVELS + SLICES) * SIDE * SIDE * 4,
                      VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->out, (VkDeviceSize)LOOKS * 16, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    state->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    state->layout = app_pipeline_layout(app, 1, &state->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct look));
    state->pipeline = app_compute_pipeline(app, look_comp, sizeof(look_comp), state->layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->pool));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    for (uint32_t i = 0; i < state->count; i++) {
        vkDestroyImageView(app->device, state->views[i], NULL);
        vkDestroySampler(app->device, state->samplers[i], NULL);
    }
    vkDestroyDescriptorPool(app->device, state->pool, NULL);
    vkDestroyPipeline(app->device, state->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, state->set_layout, NULL);
    app_image_destroy(app, &state->flat);
    app_image_destroy(app, &state->volume);
    app_buffer_destroy(app, &state->texels);
    app_buffer_destroy(app, &state->out);
}

static void run(struct state *state)
{
    const struct app *app = &state->app;
    uint32_t first_slice, first_level;

    create(state);
    add_borders(state);
    add_swizzled(state);
    add_extremes(state);
    first_slice = state->count;
    add_slices(state);
    first_level = state->count;
#ifdef VK_EXT_image_view_min_lod
    add_levels(state);
#endif
    for (uint32_t round = 0; round < 3; round++) {
        VkCommandBuffer commands = app_begin(app);
        fill(state, commands, round);
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->pipeline);
        for (uint32_t i = 0; i < state->count; i++) {
            vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, state->layout, 0, 1, &state->sets[i], 0,
                                    NULL);
            vkCmdPushConstants(commands, state->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(struct look),
                               &state->looks[i]);
            vkCmdDispatch(commands, 1, 1, 1);
        }
        app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(app, commands);
        check(state, round, first_slice, first_level);
    }
    destroy(state);
}

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {
        {"--lod", "views that begin at a level, and nothing else", &state.lod, NULL}, {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "looks", .what = "unusual views and samplers", .options = options};
    struct app *app = &state.app;
    VkPhysicalDeviceCustomBorderColorFeaturesEXT border = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT};
    VkPhysicalDeviceBorderColorSwizzleFeaturesEXT swizzle = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BORDER_COLOR_SWIZZLE_FEATURES_EXT};
    VkPhysicalDeviceImage2DViewOf3DFeaturesEXT planes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_2D_VIEW_OF_3D_FEATURES_EXT};
    VkPhysicalDeviceImageViewMinLodFeaturesEXT least = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_VIEW_MIN_LOD_FEATURES_EXT};
    struct app_wishes wishes = {.app = app};

    app_init(app, argc, argv, &program);
    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "needs Vulkan 1.3");
    if (state.lod) {
        state.min_lod = APP_WISH(&wishes, MIN_LOD, least, minLod);
    } else {
        state.border = APP_WISH(&wishes, BORDER, border, customBorderColors);
        state.no_format = border.customBorderColorWithoutFormat;
        state.swizzle = APP_WISH(&wishes, SWIZZLE, swizzle, borderColorSwizzle);
        state.planes = APP_WISH(&wishes, PLANES, planes, sampler2DViewOf3D);
        state.minmax =
            app_format_has(app, FORMAT, VK_IMAGE_TILING_OPTIMAL, VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_MINMAX_BIT) &&
            app_wish(&wishes, "VK_EXT_sampler_filter_minmax", NULL, 0, 0, NULL);
    }
    if (!wishes.extension_count)
        app_skip(app, state.lod ? "no " MIN_LOD : "no unusual views or samplers");
    app_wishes_device(&wishes, app, NULL);
    run(&state);
    printf("%u looks\n", state.count);
    return app_finish(app);
}
