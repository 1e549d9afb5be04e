/* SPDX-License-Identifier: MIT */
/*
 * depth: images of every depth format that the device has, filled from buffers and by clears, copied from one to
 * another, drawn against by render passes of both forms and by dynamic rendering, sampled, and copied to buffers, with
 * rows that have padding. A compute pipeline, its descriptors and its constants are bound before all copies and used
 * behind them. A texel's depth and stencil follow from its place, and so does what must be drawn there.
 */
#include "common/app.h"
#include "shaders/depth_frag.h"
#include "shaders/depth_look_comp.h"
#include "shaders/depth_vert.h"

#define WIDTH   37u /* odd, as are rows of two bytes then */
#define HEIGHT  19u
#define PITCH   43u /* texels from row to row in buffers */
#define SLICE   23u /* rows from layer to layer */
#define LAYERS  2u
#define SPAN    (PITCH * SLICE * LAYERS)
#define GUARD   0xa5u
#define COLOR   VK_FORMAT_R8G8B8A8_UNORM
#define DRAWN   0xff4080ffu
#define CLEARED 0xff000000u

enum way { WAY_PASS, WAY_PASS2, WAY_RENDERING, WAYS };

static bool pushed_ones; /* --push */

/* How the shader that looks at depths gets its image: from a set, pushed, or pushed with a template. */
enum look { LOOK_BOUND, LOOK_PUSHED, LOOK_TEMPLATE, LOOKS };

struct push_look {
    uint32_t width, height, base;
    float steps[3];
};

struct scene {
    struct app *app;
    bool has_pass2, has_rendering, has_copy2, has_push;
    PFN_vkCreateRenderPass2 create_pass2;
    PFN_vkCmdBeginRenderPass2 begin_pass2;
    PFN_vkCmdEndRenderPass2 end_pass2;
    PFN_vkCmdBeginRendering begin_rendering;
    PFN_vkCmdEndRendering end_rendering;
    PFN_vkCmdCopyBufferToImage2 to_image2;
    PFN_vkCmdCopyImageToBuffer2 to_buffer2;
    PFN_vkCmdCopyImage2 copy_image2;
    VkShaderModule vertex, fragment;
    PFN_vkCmdPushDescriptorSetKHR push;
    PFN_vkCmdPushDescriptorSetWithTemplateKHR push_with_template;
    VkPipelineLayout draw_layout, look_layouts[LOOKS]; /* those that push are one */
    VkPipeline looks[LOOKS];
    VkDescriptorUpdateTemplate template;
    VkDescriptorSetLayout sampled_layout, pushed_layout, result_layout;
    VkDescriptorPool descriptors;
    VkSampler sampler;
    struct app_image color;
    VkImageView color_view;
    struct app_buffer results, colors;
};

/* What is there for one format. */
struct depth {
    VkFormat format;
    VkImageAspectFlags aspects;
    uint32_t texel_bytes; /* of depth, in buffers */
    struct app_image images[2];
    VkImageView views[2], looked[2]; /* of layer 1: both aspects, and depth alone */
    struct app_buffer upload, download, passed, packed;
    VkDescriptorSet sampled[2], result;
};

static bool has_stencil(const struct depth *d)
{
    return d->aspects & VK_IMAGE_ASPECT_STENCIL_BIT;
}

/* ---- what is where ---- */

static float depth_at(uint32_t layer, uint32_t x, uint32_t y)
{
    return layer == 0 ? 0.25f : x < WIDTH / 2 ? 0.125f + 0.0078125f * (float)y : 0.75f;
}

static uint8_t stencil_at(uint32_t layer, uint32_t x, uint32_t y)
{
    return layer == 0 ? 7 : y % 3 ? 1 : (uint8_t)(x + 3);
}

static bool is_drawn(const struct depth *d, uint32_t x, uint32_t y)
{
    return depth_at(1, x, y) > 0.5f && (!has_stencil(d) || stencil_at(1, x, y) == 1);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint32_t encoded(const struct depth *d, float value)
{
    return d->texel_bytes == 2 ? (uint32_t)(value * 65535.0f + 0.5f)
           : d->format == VK_FORMAT_D32_SFLOAT || d->format == VK_FORMAT_D32_SFLOAT_S8_UINT
               ? bits_of(value)
               : (uint32_t)((double)value * 16777215.0 + 0.5);
}

static float decoded(const struct depth *d, const uint8_t *from)
{
    uint32_t value = 0;
    float result;
    memcpy(&value, from, d->texel_bytes);
    if (d->texel_bytes == 2)
        return (float)value / 65535.0f;
    if (d->format == VK_FORMAT_D32_SFLOAT || d->format == VK_FORMAT_D32_SFLOAT_S8_UINT) {
        memcpy(&result, &value, sizeof(result));
        return result;
    }
    return (float)((double)(value & 0xffffff) / 16777215.0);
}

static VkDeviceSize stencil_offset(const struct depth *d)
{
    return SPAN * d->texel_bytes + 8; /* a multiple of four */
}

/* The same in the buffer whose rows have no padding. */
static VkDeviceSize packed_stencil_offset(const struct depth *d)
{
    return (VkDeviceSize)WIDTH * HEIGHT * LAYERS * d->texel_bytes + 64;
}

static VkDeviceSize buffer_bytes(const struct depth *d)
{
    return stencil_offset(d) + SPAN;
}

static void fill_upload(const struct app *app, struct depth *d)
{
    memset(d->upload.mapped, GUARD, d->upload.size);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < WIDTH; x++) {
                uint32_t at = (layer * SLICE + y) * PITCH + x, value = encoded(d, depth_at(layer, x, y));
                memcpy(d->upload.mapped + at * d->texel_bytes, &value, d->texel_bytes);
                d->upload.mapped[stencil_offset(d) + at] = stencil_at(layer, x, y);
            }
    app_buffer_flush(app, &d->upload, 0, d->upload.size);
}

/* ---- making ---- */

static void load_functions(struct scene *scene)
{
    const struct app *app = scene->app;
    const char *suffix = app->api_version >= VK_API_VERSION_1_3 ? "" : "KHR";
    char name[64];
    if (scene->has_pass2) {
        const char *s = app->api_version >= VK_API_VERSION_1_2 ? "" : "KHR";
        snprintf(name, sizeof(name), "vkCreateRenderPass2%s", s);
        scene->create_pass2 = (PFN_vkCreateRenderPass2)app_device_function(app, name);
        snprintf(name, sizeof(name), "vkCmdBeginRenderPass2%s", s);
        scene->begin_pass2 = (PFN_vkCmdBeginRenderPass2)app_device_function(app, name);
        snprintf(name, sizeof(name), "vkCmdEndRenderPass2%s", s);
        scene->end_pass2 = (PFN_vkCmdEndRenderPass2)app_device_function(app, name);
    }
    if (scene->has_rendering) {
        snprintf(name, sizeof(name), "vkCmdBeginRendering%s", suffix);
        scene->begin_rendering = (PFN_vkCmdBeginRendering)app_device_function(app, name);
        snprintf(name, sizeof(name), "vkCmdEndRendering%s", suffix);
        scene->end_rendering = (PFN_vkCmdEndRendering)app_device_function(app, name);
    }
    if (scene->has_push) {
        scene->push = (PFN_vkCmdPushDescriptorSetKHR)app_device_function(app, "vkCmdPushDescriptorSetKHR");
        scene->push_with_template = (PFN_vkCmdPushDescriptorSetWithTemplateKHR)app_device_function(
            app, "vkCmdPushDescriptorSetWithTemplateKHR");
    }
    if (scene->has_copy2) {
        scene->to_image2 = (PFN_vkCmdCopyBufferToImage2)app_device_function(app, "vkCmdCopyBufferToImage2");
        scene->to_buffer2 = (PFN_vkCmdCopyImageToBuffer2)app_device_function(app, "vkCmdCopyImageToBuffer2");
        scene->copy_image2 = (PFN_vkCmdCopyImage2)app_device_function(app, "vkCmdCopyImage2");
    }
}

static void create_device(struct scene *scene)
{
    struct app *app = scene->app;
    VkPhysicalDeviceVulkan13Features want = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                             .dynamicRendering = VK_TRUE};
    struct app_device_request request = {0};
    static const char *const push[] = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    scene->has_push = pushed_ones;
    if (pushed_ones && (app->api_version < VK_API_VERSION_1_1 || !app_has_extension(app, push[0])))
        app_skip(app, "no push descriptors");
    request.extensions = push;
    request.extension_count = scene->has_push;
    scene->has_pass2 = app->api_version >= VK_API_VERSION_1_2;
    scene->has_rendering = scene->has_copy2 = app->api_version >= VK_API_VERSION_1_3;
    if (scene->has_rendering)
        request.next = &want;
    app_device_create(app, &request);
    load_functions(scene);
}

static VkDescriptorSetLayout one_binding(const struct app *app, VkDescriptorType type)
{
    const VkDescriptorSetLayoutBinding binding = {0, type, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    return app_set_layout(app, 1, &binding);
}

static void create_looks(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1,
                                                  VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    const VkDescriptorSetLayoutCreateInfo pushed = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                    .flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR,
                                                    .bindingCount = 1,
                                                    .pBindings = &binding};
    const VkDescriptorUpdateTemplateEntry entry = {.descriptorCount = 1,
                                                   .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                                   .stride = sizeof(VkDescriptorImageInfo)};
    VkDescriptorUpdateTemplateCreateInfo template = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
                                                     .descriptorUpdateEntryCount = 1,
                                                     .pDescriptorUpdateEntries = &entry,
                                                     .templateType =
                                                         VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR,
                                                     .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE};
    VkDescriptorSetLayout sets[2] = {scene->sampled_layout, scene->result_layout};
    scene->look_layouts[LOOK_BOUND] =
        app_pipeline_layout(app, 2, sets, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push_look));
    scene->looks[LOOK_BOUND] =
        app_compute_pipeline(app, depth_look_comp, sizeof(depth_look_comp), scene->look_layouts[LOOK_BOUND]);
    if (!scene->has_push)
        return;
    CHECK_VK(vkCreateDescriptorSetLayout(app->device, &pushed, NULL, &scene->pushed_layout));
    sets[0] = scene->pushed_layout;
    template.pipelineLayout = scene->look_layouts[LOOK_PUSHED] = scene->look_layouts[LOOK_TEMPLATE] =
        app_pipeline_layout(app, 2, sets, VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push_look));
    scene->looks[LOOK_PUSHED] = scene->looks[LOOK_TEMPLATE] =
        app_compute_pipeline(app, depth_look_comp, sizeof(depth_look_comp), scene->look_layouts[LOOK_PUSHED]);
    CHECK_VK(vkCreateDescriptorUpdateTemplate(app->device, &template, NULL, &scene->template));
}

static void create_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 16},
                                           {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8}};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 24, .poolSizeCount = 2, .pPoolSizes = sizes};
    const VkSamplerCreateInfo sampler = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
    const VkPushConstantRange push = {VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(float)};
    const VkPipelineLayoutCreateInfo draw = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
    scene->vertex = app_shader(app, depth_vert, sizeof(depth_vert));
    scene->fragment = app_shader(app, depth_frag, sizeof(depth_frag));
    CHECK_VK(vkCreatePipelineLayout(app->device, &draw, NULL, &scene->draw_layout));
    scene->sampled_layout = one_binding(app, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
    scene->result_layout = one_binding(app, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER);
    create_looks(scene);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &scene->descriptors));
    CHECK_VK(vkCreateSampler(app->device, &sampler, NULL, &scene->sampler));
    app_image_create_2d(app, &scene->color, COLOR, WIDTH, HEIGHT,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &scene->results, 2 * WIDTH * HEIGHT * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
    app_buffer_create(app, &scene->colors, WIDTH * HEIGHT * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

static void destroy_scene(struct scene *scene)
{
    const struct app *app = scene->app;
    app_buffer_destroy(app, &scene->colors);
    app_buffer_destroy(app, &scene->results);
    app_image_destroy(app, &scene->color);
    vkDestroySampler(app->device, scene->sampler, NULL);
    vkDestroyDescriptorPool(app->device, scene->descriptors, NULL);
    if (scene->has_push) {
        vkDestroyDescriptorUpdateTemplate(app->device, scene->template, NULL);
        vkDestroyPipeline(app->device, scene->looks[LOOK_PUSHED], NULL);
        vkDestroyPipelineLayout(app->device, scene->look_layouts[LOOK_PUSHED], NULL);
        vkDestroyDescriptorSetLayout(app->device, scene->pushed_layout, NULL);
    }
    vkDestroyPipeline(app->device, scene->looks[LOOK_BOUND], NULL);
    vkDestroyPipelineLayout(app->device, scene->look_layouts[LOOK_BOUND], NULL);
    vkDestroyPipelineLayout(app->device, scene->draw_layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->result_layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, scene->sampled_layout, NULL);
    vkDestroyShaderModule(app->device, scene->fragment, NULL);
    vkDestroyShaderModule(app->device, scene->vertex, NULL);
}

static VkImageView view_of(const struct app *app, const struct depth *d, VkImage image, VkImageAspectFlags aspects)
{
    const VkImageViewCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                          .image = image,
                                          .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                          .format = d->format,
                                          .subresourceRange = {aspects, 0, 1, 1, 1}};
    VkImageView view;
    CHECK_VK(vkCreateImageView(app->device, &create, NULL, &view));
    return view;
}

static VkDescriptorSet new_set(const struct scene *scene, VkDescriptorSetLayout layout)
{
    const VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                                  .descriptorPool = scene->descriptors,
                                                  .descriptorSetCount = 1,
                                                  .pSetLayouts = &layout};
    VkDescriptorSet set;
    CHECK_VK(vkAllocateDescriptorSets(scene->app->device, &allocate, &set));
    return set;
}

static void create_sets(const struct scene *scene, struct depth *d)
{
    const VkDescriptorBufferInfo buffer = {scene->results.buffer, 0, VK_WHOLE_SIZE};
    VkDescriptorImageInfo images[2];
    VkWriteDescriptorSet writes[3];
    for (uint32_t i = 0; i < 2; i++) {
        d->sampled[i] = new_set(scene, scene->sampled_layout);
        images[i] =
            (VkDescriptorImageInfo){scene->sampler, d->looked[i], VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = d->sampled[i],
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                           .pImageInfo = &images[i]};
    }
    d->result = new_set(scene, scene->result_layout);
    writes[2] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = d->result,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &buffer};
    vkUpdateDescriptorSets(scene->app->device, 3, writes, 0, NULL);
}

static void create_depth(const struct scene *scene, struct depth *d)
{
    const struct app *app = scene->app;
    const VkImageCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = d->format,
        .extent = {WIDTH, HEIGHT, 1},
        .mipLevels = 1,
        .arrayLayers = LAYERS,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                 VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    const VkBufferUsageFlags both = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    for (uint32_t i = 0; i < 2; i++) {
        app_image_create(app, &d->images[i], &create, d->aspects, VK_IMAGE_VIEW_TYPE_MAX_ENUM);
        d->views[i] = view_of(app, d, d->images[i].image, d->aspects);
        d->looked[i] = view_of(app, d, d->images[i].image, VK_IMAGE_ASPECT_DEPTH_BIT);
    }
    app_buffer_create(app, &d->upload, buffer_bytes(d), both, APP_UPLOAD);
    app_buffer_create(app, &d->download, buffer_bytes(d), both, APP_READBACK);
    app_buffer_create(app, &d->passed, buffer_bytes(d), both, APP_DEVICE);
    app_buffer_create(app, &d->packed, packed_stencil_offset(d) + WIDTH * HEIGHT * LAYERS,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    create_sets(scene, d);
    fill_upload(app, d);
}

static void destroy_depth(const struct scene *scene, struct depth *d)
{
    const struct app *app = scene->app;
    app_buffer_destroy(app, &d->packed);
    app_buffer_destroy(app, &d->passed);
    app_buffer_destroy(app, &d->download);
    app_buffer_destroy(app, &d->upload);
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyImageView(app->device, d->looked[i], NULL);
        vkDestroyImageView(app->device, d->views[i], NULL);
        app_image_destroy(app, &d->images[i]);
    }
}

/* ---- passes ---- */

struct pass {
    enum way way;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    VkPipeline pipeline;
};

static VkRenderPass create_pass(const struct scene *scene, const struct depth *d)
{
    const VkAttachmentDescription attachments[2] = {{.format = COLOR,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                     .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                     .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                                     .finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                                    {.format = d->format,
                                                     .samples = VK_SAMPLE_COUNT_1_BIT,
                                                     .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                     .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                     .stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                     .initialLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                                     .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                depth = {1, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {
        .colorAttachmentCount = 1, .pColorAttachments = &color, .pDepthStencilAttachment = &depth};
    const VkRenderPassCreateInfo create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                           .attachmentCount = 2,
                                           .pAttachments = attachments,
                                           .subpassCount = 1,
                                           .pSubpasses = &subpass};
    VkRenderPass pass;
    CHECK_VK(vkCreateRenderPass(scene->app->device, &create, NULL, &pass));
    return pass;
}

static VkRenderPass create_pass2(const struct scene *scene, const struct depth *d)
{
    const VkAttachmentDescription2 attachments[2] = {{.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                      .format = COLOR,
                                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                                      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                      .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                      .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                      .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
                                                      .finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                                     {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                      .format = d->format,
                                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                                      .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                      .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                      .stencilStoreOp = VK_ATTACHMENT_STORE_OP_STORE,
                                                      .initialLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                                      .finalLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL}};
    const VkAttachmentReference2 color = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                          .attachment = 0,
                                          .layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                          .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT},
                                 depth = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                          .attachment = 1,
                                          .layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                          .aspectMask = d->aspects};
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachments = &color,
                                           .pDepthStencilAttachment = &depth};
    const VkRenderPassCreateInfo2 create = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                            .attachmentCount = 2,
                                            .pAttachments = attachments,
                                            .subpassCount = 1,
                                            .pSubpasses = &subpass};
    VkRenderPass pass;
    CHECK_VK(scene->create_pass2(scene->app->device, &create, NULL, &pass));
    return pass;
}

static void open_pass(const struct scene *scene, const struct depth *d, enum way way, uint32_t image, struct pass *out)
{
    const struct app *app = scene->app;
    static const VkFormat color = COLOR;
    const VkPipelineRenderingCreateInfo rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 1,
                                                     .pColorAttachmentFormats = &color,
                                                     .depthAttachmentFormat = d->format,
                                                     .stencilAttachmentFormat =
                                                         has_stencil(d) ? d->format : VK_FORMAT_UNDEFINED};
    const VkImageView views[2] = {scene->color.view, d->views[image]};
    struct app_pipeline pipeline = {.vertex = scene->vertex,
                                    .fragment = scene->fragment,
                                    .layout = scene->draw_layout,
                                    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                    .depth = true,
                                    .stencil = has_stencil(d),
                                    .color_count = 1};
    *out = (struct pass){.way = way};
    if (way == WAY_RENDERING) {
        pipeline.next = &rendering;
    } else {
        out->pass = way == WAY_PASS ? create_pass(scene, d) : create_pass2(scene, d);
        out->framebuffer = app_framebuffer(app, out->pass, 2, views, WIDTH, HEIGHT);
        pipeline.render_pass = out->pass;
    }
    out->pipeline = app_graphics_pipeline(app, &pipeline);
}

static void close_pass(const struct scene *scene, struct pass *pass)
{
    vkDestroyPipeline(scene->app->device, pass->pipeline, NULL);
    vkDestroyFramebuffer(scene->app->device, pass->framebuffer, NULL);
    vkDestroyRenderPass(scene->app->device, pass->pass, NULL);
}

static void draw(const struct scene *scene, VkCommandBuffer commands, const struct pass *pass)
{
    const float depth = 0.5f;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pass->pipeline);
    vkCmdPushConstants(commands, scene->draw_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(depth), &depth);
    app_set_viewport(commands, WIDTH, HEIGHT);
    vkCmdDraw(commands, 3, 1, 0, 0);
}

static void draw_pass(const struct scene *scene, VkCommandBuffer commands, const struct depth *d,
                      const struct pass *pass, uint32_t image)
{
    const VkRect2D area = {{0, 0}, {WIDTH, HEIGHT}};
    const VkClearValue clear = {.color = {.float32 = {0.0f, 0.0f, 0.0f, 1.0f}}};
    if (pass->way != WAY_RENDERING) {
        const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                             .renderPass = pass->pass,
                                             .framebuffer = pass->framebuffer,
                                             .renderArea = area,
                                             .clearValueCount = 1,
                                             .pClearValues = &clear};
        const VkSubpassBeginInfo contents = {.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO};
        const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
        if (pass->way == WAY_PASS)
            vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
        else
            scene->begin_pass2(commands, &begin, &contents);
        draw(scene, commands, pass);
        if (pass->way == WAY_PASS)
            vkCmdEndRenderPass(commands);
        else
            scene->end_pass2(commands, &end);
        return;
    }
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = scene->color.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
                                             .clearValue = clear};
    const VkRenderingAttachmentInfo depth = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = d->views[image],
                                             .imageLayout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .renderArea = area,
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color,
                                       .pDepthAttachment = &depth,
                                       .pStencilAttachment = has_stencil(d) ? &depth : NULL};
    scene->begin_rendering(commands, &rendering);
    draw(scene, commands, pass);
    scene->end_rendering(commands);
}

/* ---- copies ---- */

static uint32_t regions_of(const struct depth *d, VkBufferImageCopy *regions)
{
    uint32_t count = 0;
    regions[count++] = (VkBufferImageCopy){.bufferRowLength = PITCH,
                                           .bufferImageHeight = SLICE,
                                           .imageSubresource = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, 0, LAYERS},
                                           .imageExtent = {WIDTH, HEIGHT, 1}};
    if (!has_stencil(d))
        return count;
    regions[count] = regions[0];
    regions[count].bufferOffset = stencil_offset(d);
    regions[count++].imageSubresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
    return count;
}

static void regions2_of(uint32_t count, const VkBufferImageCopy *regions, VkBufferImageCopy2 *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (VkBufferImageCopy2){VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                      NULL,
                                      regions[i].bufferOffset,
                                      regions[i].bufferRowLength,
                                      regions[i].bufferImageHeight,
                                      regions[i].imageSubresource,
                                      regions[i].imageOffset,
                                      regions[i].imageExtent};
}

static void fill(const struct scene *scene, VkCommandBuffer commands, const struct depth *d, VkBuffer from,
                 uint32_t image, bool second_form)
{
    VkBufferImageCopy regions[2];
    VkBufferImageCopy2 regions2[2];
    uint32_t count = regions_of(d, regions);
    regions2_of(count, regions, regions2);
    if (second_form && scene->has_copy2) {
        const VkCopyBufferToImageInfo2 info = {.sType = VK_STRUCTURE_TYPE_COPY_BUFFER_TO_IMAGE_INFO_2,
                                               .srcBuffer = from,
                                               .dstImage = d->images[image].image,
                                               .dstImageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                               .regionCount = count,
                                               .pRegions = regions2};
        scene->to_image2(commands, &info);
    } else {
        vkCmdCopyBufferToImage(commands, from, d->images[image].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, count,
                               regions);
    }
}

static void read_out(const struct scene *scene, VkCommandBuffer commands, const struct depth *d, uint32_t image,
                     VkBuffer to, bool second_form)
{
    VkBufferImageCopy regions[2];
    VkBufferImageCopy2 regions2[2];
    uint32_t count = regions_of(d, regions);
    regions2_of(count, regions, regions2);
    if (second_form && scene->has_copy2) {
        const VkCopyImageToBufferInfo2 info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2,
                                               .srcImage = d->images[image].image,
                                               .srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                               .dstBuffer = to,
                                               .regionCount = count,
                                               .pRegions = regions2};
        scene->to_buffer2(commands, &info);
    } else {
        vkCmdCopyImageToBuffer(commands, d->images[image].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, to, count,
                               regions);
    }
}

static void read_out_packed(VkCommandBuffer commands, const struct depth *d)
{
    VkBufferImageCopy regions[2];
    uint32_t count = regions_of(d, regions);
    for (uint32_t i = 0; i < count; i++)
        regions[i].bufferRowLength = regions[i].bufferImageHeight = 0;
    regions[1].bufferOffset = packed_stencil_offset(d);
    vkCmdCopyImageToBuffer(commands, d->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, d->packed.buffer, count,
                           regions);
}

static void copy_images(const struct scene *scene, VkCommandBuffer commands, const struct depth *d, bool second_form)
{
    const VkImageCopy region = {.srcSubresource = {d->aspects, 0, 0, LAYERS},
                                .dstSubresource = {d->aspects, 0, 0, LAYERS},
                                .extent = {WIDTH, HEIGHT, 1}};
    if (second_form && scene->has_copy2) {
        const VkImageCopy2 region2 = {.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                      .srcSubresource = region.srcSubresource,
                                      .dstSubresource = region.dstSubresource,
                                      .extent = region.extent};
        const VkCopyImageInfo2 info = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_INFO_2,
                                       .srcImage = d->images[0].image,
                                       .srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                       .dstImage = d->images[1].image,
                                       .dstImageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                       .regionCount = 1,
                                       .pRegions = &region2};
        scene->copy_image2(commands, &info);
    } else {
        vkCmdCopyImage(commands, d->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, d->images[1].image,
                       VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    }
}

/* ---- looking ---- */

static void look_at(const struct scene *scene, VkCommandBuffer commands, const struct depth *d, enum look how,
                    uint32_t image)
{
    const uint32_t base = image * WIDTH * HEIGHT;
    const VkDescriptorImageInfo info = {scene->sampler, d->looked[image],
                                        VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .descriptorCount = 1,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                        .pImageInfo = &info};
    VkPipelineLayout layout = scene->look_layouts[how];
    if (how == LOOK_BOUND)
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &d->sampled[image], 0, NULL);
    else if (how == LOOK_PUSHED)
        scene->push(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &write);
    else
        scene->push_with_template(commands, scene->template, layout, 0, &info);
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, offsetof(struct push_look, base), sizeof(base),
                       &base);
}

/* What a dispatch needs, long before it comes. */
static void push_looking(const struct scene *scene, VkCommandBuffer commands, enum look how)
{
    const struct push_look push = {WIDTH, HEIGHT, 0, {0.2f, 0.4f, 0.6f}};
    vkCmdPushConstants(commands, scene->look_layouts[how], VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
}

static void prepare_looking(const struct scene *scene, VkCommandBuffer commands, const struct depth *d, enum look how)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->looks[how]);
    push_looking(scene, commands, how);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, scene->look_layouts[how], 1, 1, &d->result, 0,
                            NULL);
    look_at(scene, commands, d, how, 0);
}

static void look(VkCommandBuffer commands)
{
    vkCmdDispatch(commands, (WIDTH + 7) / 8, (HEIGHT + 7) / 8, 1);
}

static uint32_t range_of(float depth)
{
    return (depth > 0.2f) + (depth > 0.4f) + (depth > 0.6f);
}

/* ---- checks ---- */

static void check_colors(const struct scene *scene, const struct depth *d)
{
    app_buffer_invalidate(scene->app, &scene->colors, 0, scene->colors.size);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            uint32_t color;
            memcpy(&color, scene->colors.mapped + (y * WIDTH + x) * 4, 4);
            EXPECT_EQ(scene->app, color & 0xff, is_drawn(d, x, y) ? DRAWN & 0xff : CLEARED & 0xff);
        }
}

static void check_results(const struct scene *scene, const struct depth *d)
{
    app_buffer_invalidate(scene->app, &scene->results, 0, scene->results.size);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        uint32_t x = i % WIDTH, y = i / WIDTH, first, second;
        memcpy(&first, scene->results.mapped + i * 4, 4);
        memcpy(&second, scene->results.mapped + (WIDTH * HEIGHT + i) * 4, 4);
        EXPECT_EQ(scene->app, first, range_of(is_drawn(d, x, y) ? 0.5f : depth_at(1, x, y)));
        EXPECT_EQ(scene->app, second, range_of(x == 0 ? 0.3f : is_drawn(d, x, y) ? 0.5f : depth_at(1, x, y)));
    }
}

static void check_depths(const struct scene *scene, const struct depth *d)
{
    const float most = d->texel_bytes == 2 ? 2.0f / 65535.0f : 2.0f / 8388608.0f;
    const uint8_t *bytes = d->download.mapped;
    app_buffer_invalidate(scene->app, &d->download, 0, d->download.size);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < PITCH; x++) {
                uint32_t at = (layer * SLICE + y) * PITCH + x;
                bool drawn = layer == 1 && x < WIDTH && is_drawn(d, x, y);
                float want = drawn ? 0.5f : depth_at(layer, x, y), got = decoded(d, bytes + at * d->texel_bytes);
                if (x >= WIDTH) { /* nobody writes there */
                    EXPECT_EQ(scene->app, bytes[at * d->texel_bytes], GUARD);
                    continue;
                }
                EXPECT_EQ(scene->app, got >= want - most && got <= want + most, true);
                if (has_stencil(d))
                    EXPECT_EQ(scene->app, bytes[stencil_offset(d) + at], drawn ? 2 : stencil_at(layer, x, y));
            }
}

/* Rows lie side by side here, and hold what those of the other buffer do. */
static void check_packed(const struct scene *scene, const struct depth *d)
{
    const uint8_t *packed = d->packed.mapped, *apart = d->download.mapped;
    app_buffer_invalidate(scene->app, &d->packed, 0, d->packed.size);
    for (uint32_t layer = 0; layer < LAYERS; layer++)
        for (uint32_t y = 0; y < HEIGHT; y++) {
            uint32_t to = (layer * HEIGHT + y) * WIDTH, from = (layer * SLICE + y) * PITCH;
            for (uint32_t x = 0; x < WIDTH; x++) /* bits beside 24 of depth may be anything */
                EXPECT_EQ(scene->app,
                          decoded(d, packed + (to + x) * d->texel_bytes) ==
                              decoded(d, apart + (from + x) * d->texel_bytes),
                          true);
            if (has_stencil(d))
                EXPECT_EQ(scene->app,
                          memcmp(packed + packed_stencil_offset(d) + to, apart + stencil_offset(d) + from, WIDTH), 0);
        }
}

/* ---- one format ---- */

#define TO(image, from, to) app_image_barrier(commands, &d->images[image], VK_IMAGE_LAYOUT_##from, VK_IMAGE_LAYOUT_##to)

/* A column of the second image is cleared, within a pass; the rest stays what was copied. */
static void clear_column(const struct scene *scene, VkCommandBuffer commands, const struct depth *d)
{
    const VkClearAttachment clear = {VK_IMAGE_ASPECT_DEPTH_BIT, 0, {.depthStencil = {0.3f, 0}}};
    const VkClearRect rect = {{{0, 0}, {1, HEIGHT}}, 0, 1};
    struct pass pass;
    open_pass(scene, d, WAY_PASS, 1, &pass);
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass.pass,
                                         .framebuffer = pass.framebuffer,
                                         .renderArea = {{0, 0}, {WIDTH, HEIGHT}},
                                         .clearValueCount = 1,
                                         .pClearValues = &(VkClearValue){{{0}}}};
    TO(1, TRANSFER_DST_OPTIMAL, DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_READ_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT);
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdClearAttachments(commands, 1, &clear, 1, &rect);
    vkCmdEndRenderPass(commands);
    TO(1, DEPTH_STENCIL_ATTACHMENT_OPTIMAL, DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    app_run(scene->app, commands);
    close_pass(scene, &pass);
}

static void run(const struct scene *scene, const struct depth *d, enum way way)
{
    const struct app *app = scene->app;
    const VkClearDepthStencilValue far = {1.0f, 9};
    const VkImageSubresourceRange all = {d->aspects, 0, 1, 0, LAYERS};
    const VkBufferImageCopy color = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                     .imageExtent = {WIDTH, HEIGHT, 1}};
    const enum look how = !scene->has_push || way == WAY_PASS ? LOOK_BOUND
                          : way == WAY_PASS2                  ? LOOK_PUSHED
                                                              : LOOK_TEMPLATE;
    VkCommandBuffer commands;
    struct pass pass;

    open_pass(scene, d, way, 0, &pass);
    commands = app_begin(app);
    prepare_looking(scene, commands, d, how);
    /* Cleared, and filled all the same: from the host's buffer, or by way of another one. */
    TO(0, UNDEFINED, TRANSFER_DST_OPTIMAL);
    vkCmdClearDepthStencilImage(commands, d->images[0].image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &far, 1, &all);
    TO(0, TRANSFER_DST_OPTIMAL, TRANSFER_DST_OPTIMAL);
    fill(scene, commands, d, d->upload.buffer, 0, way == WAY_RENDERING);
    if (way != WAY_PASS) {
        vkCmdFillBuffer(commands, d->passed.buffer, 0, VK_WHOLE_SIZE, 0);
        TO(0, TRANSFER_DST_OPTIMAL, TRANSFER_SRC_OPTIMAL);
        read_out(scene, commands, d, 0, d->passed.buffer, way == WAY_RENDERING);
        TO(0, TRANSFER_SRC_OPTIMAL, TRANSFER_DST_OPTIMAL);
        fill(scene, commands, d, d->passed.buffer, 0, false);
    }
    TO(0, TRANSFER_DST_OPTIMAL, DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    app_image_barrier(commands, &scene->color, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    draw_pass(scene, commands, d, &pass, 0);
    push_looking(scene, commands, how); /* drawing has constants of its own */
    app_image_barrier(commands, &scene->color, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(commands, scene->color.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, scene->colors.buffer, 1,
                           &color);
    TO(0, DEPTH_STENCIL_ATTACHMENT_OPTIMAL, TRANSFER_SRC_OPTIMAL);
    vkCmdFillBuffer(commands, d->download.buffer, 0, VK_WHOLE_SIZE, GUARD * 0x01010101u);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
    read_out(scene, commands, d, 0, d->download.buffer, way == WAY_RENDERING);
    read_out_packed(commands, d);
    TO(1, UNDEFINED, TRANSFER_DST_OPTIMAL);
    copy_images(scene, commands, d, way == WAY_RENDERING);
    TO(0, TRANSFER_SRC_OPTIMAL, DEPTH_STENCIL_READ_ONLY_OPTIMAL);
    look(commands);
    app_run(app, commands);
    close_pass(scene, &pass);

    commands = app_begin(app);
    clear_column(scene, commands, d);
    commands = app_begin(app);
    prepare_looking(scene, commands, d, how);
    look_at(scene, commands, d, how, 1);
    look(commands);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    check_colors(scene, d);
    check_results(scene, d);
    check_depths(scene, d);
    check_packed(scene, d);
}

static const struct {
    const char *name;
    VkFormat format;
    VkImageAspectFlags aspects;
    uint32_t texel_bytes;
} formats[] = {
    {"D16_UNORM", VK_FORMAT_D16_UNORM, VK_IMAGE_ASPECT_DEPTH_BIT, 2},
    {"X8_D24_UNORM_PACK32", VK_FORMAT_X8_D24_UNORM_PACK32, VK_IMAGE_ASPECT_DEPTH_BIT, 4},
    {"D32_SFLOAT", VK_FORMAT_D32_SFLOAT, VK_IMAGE_ASPECT_DEPTH_BIT, 4},
    {"D16_UNORM_S8_UINT", VK_FORMAT_D16_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 2},
    {"D24_UNORM_S8_UINT", VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 4},
    {"D32_SFLOAT_S8_UINT", VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 4},
};

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--push", "the shader that looks at depths gets descriptors that are pushed", &pushed_ones, NULL}, {0}};
    static const struct app_program program = {
        .name = "depth", .what = "Fills, draws against, samples and reads depth images.", .options = options};
    const VkFormatFeatureFlags needed = VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT |
                                        VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                                        VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    struct scene scene = {0};
    struct app app;

    app_init(&app, argc, argv, &program);
    scene.app = &app;
    create_device(&scene);
    create_scene(&scene);
    for (uint32_t i = 0; i < COUNT_OF(formats); i++) {
        struct depth d = {
            .format = formats[i].format, .aspects = formats[i].aspects, .texel_bytes = formats[i].texel_bytes};
        if (!app_format_has(&app, d.format, VK_IMAGE_TILING_OPTIMAL, needed)) {
            printf("left out: %s\n", formats[i].name);
            continue;
        }
        create_depth(&scene, &d);
        run(&scene, &d, WAY_PASS);
        if (scene.has_pass2)
            run(&scene, &d, WAY_PASS2);
        if (scene.has_rendering)
            run(&scene, &d, WAY_RENDERING);
        destroy_depth(&scene, &d);
    }
    destroy_scene(&scene);
    return app_finish(&app);
}
