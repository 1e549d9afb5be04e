/* SPDX-License-Identifier: MIT */
#include "canvas.h"

#include "shaders/rect_frag.h"
#include "shaders/rect_vert.h"

/* ---- wishes ---- */

bool app_wish(struct app_wishes *wishes, const char *extension, void *features, size_t size, uint32_t required_count,
              const size_t *required)
{
    VkBaseOutStructure *head = features;
    VkPhysicalDeviceFeatures2 asked = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = features};
    bool known = false;

    if (extension && !app_has_extension(wishes->app, extension))
        return false;
    if (head) {
        CHECK(size > sizeof(*head) && !head->pNext);
        vkGetPhysicalDeviceFeatures2(wishes->app->physical, &asked);
        for (uint32_t i = 0; i < required_count; i++)
            if (!*(const VkBool32 *)((const char *)features + required[i]))
                return false;
        head->pNext = wishes->features;
        wishes->features = head;
    }
    for (uint32_t i = 0; i < wishes->extension_count; i++)
        known |= extension && strcmp(wishes->extensions[i], extension) == 0;
    if (extension && !known) {
        CHECK(wishes->extension_count < COUNT_OF(wishes->extensions));
        wishes->extensions[wishes->extension_count++] = extension;
    }
    return true;
}

void app_wishes_device(struct app_wishes *wishes, struct app *app, const VkPhysicalDeviceFeatures *features)
{
    VkPhysicalDeviceVulkan13Features newer = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                              .pNext = wishes->features,
                                              .dynamicRendering = VK_TRUE,
                                              .synchronization2 = VK_TRUE};
    const struct app_device_request request = {.extensions = wishes->extensions,
                                               .extension_count = wishes->extension_count,
                                               .next = &newer,
                                               .features = features};
    app_device_create(app, &request);
}

/* ---- the picture ---- */

static const VkFormat canvas_format = VK_FORMAT_R8G8B8A8_UNORM;
const VkPipelineRenderingCreateInfo app_canvas_rendering = {.sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                            .colorAttachmentCount = 1,
                                                            .pColorAttachmentFormats = &canvas_format};

const VkShaderModuleCreateInfo app_canvas_code[2] = {
    {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(rect_vert), .pCode = rect_vert},
    {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = sizeof(rect_frag), .pCode = rect_frag}};

void app_canvas_create(const struct app *app, struct app_canvas *canvas)
{
    *canvas = (struct app_canvas){.app = app};
    app_image_create_2d(app, &canvas->image, canvas_format, APP_CANVAS_SIZE, APP_CANVAS_SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                            VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    app_buffer_create(app, &canvas->pixels, APP_CANVAS_SIZE * APP_CANVAS_SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    canvas->vertex = app_shader(app, rect_vert, sizeof(rect_vert));
    canvas->fragment = app_shader(app, rect_frag, sizeof(rect_frag));
    canvas->layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_VERTEX_BIT, sizeof(struct app_rect_push));
    const struct app_pipeline pipeline = {.vertex = canvas->vertex,
                                          .fragment = canvas->fragment,
                                          .layout = canvas->layout,
                                          .next = &app_canvas_rendering,
                                          .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                          .color_count = 1};
    canvas->rect = app_graphics_pipeline(app, &pipeline);
}

void app_canvas_destroy(struct app_canvas *canvas)
{
    const struct app *app = canvas->app;

    vkDestroyPipeline(app->device, canvas->rect, NULL);
    vkDestroyPipelineLayout(app->device, canvas->layout, NULL);
    vkDestroyShaderModule(app->device, canvas->vertex, NULL);
    vkDestroyShaderModule(app->device, canvas->fragment, NULL);
    app_buffer_destroy(app, &canvas->pixels);
    app_image_destroy(app, &canvas->image);
}

void app_canvas_begin_rendering(const struct app_canvas *canvas, VkCommandBuffer commands, VkRenderingFlags flags,
                                const void *next)
{
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = canvas->image.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_GENERAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_STORE};
    const VkRenderingInfo rendering = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                       .pNext = next,
                                       .flags = flags,
                                       .renderArea.extent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE},
                                       .layerCount = 1,
                                       .colorAttachmentCount = 1,
                                       .pColorAttachments = &color};
    app_image_barrier(commands, &canvas->image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdBeginRendering(commands, &rendering);
}

void app_canvas_read(const struct app_canvas *canvas, VkCommandBuffer commands)
{
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {APP_CANVAS_SIZE, APP_CANVAS_SIZE, 1}};
    app_image_barrier(commands, &canvas->image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyImageToBuffer(commands, canvas->image.image, VK_IMAGE_LAYOUT_GENERAL, canvas->pixels.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

void app_canvas_end_rendering(const struct app_canvas *canvas, VkCommandBuffer commands)
{
    vkCmdEndRendering(commands);
    app_canvas_read(canvas, commands);
}

void app_canvas_bind(const struct app_canvas *canvas, VkCommandBuffer commands)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, canvas->rect);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
}

void app_canvas_color(uint32_t rgba, float out[4])
{
    for (uint32_t i = 0; i < 4; i++)
        out[i] = (float)(rgba >> i * 8 & 0xff) / 255.0f;
}

void app_canvas_push(const struct app_canvas *canvas, VkCommandBuffer commands, uint32_t cell, uint32_t rgba)
{
    struct app_rect_push push = {.depth = 0.5f};

    for (uint32_t i = 0; i < 4; i++)
        push.box[i] = (float)((i % 2 ? cell / APP_CELLS : cell % APP_CELLS) + i / 2) / (float)APP_CELLS;
    app_canvas_color(rgba, push.color);
    vkCmdPushConstants(commands, canvas->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push), &push);
}

void app_canvas_cell(const struct app_canvas *canvas, VkCommandBuffer commands, uint32_t cell, uint32_t rgba)
{
    app_canvas_push(canvas, commands, cell, rgba);
    vkCmdDraw(commands, 6, 1, 0, 0);
}

uint32_t app_canvas_pixel(const struct app_canvas *canvas, uint32_t x, uint32_t y)
{
    app_buffer_invalidate(canvas->app, &canvas->pixels, 0, VK_WHOLE_SIZE);
    return ((const uint32_t *)canvas->pixels.mapped)[y * APP_CANVAS_SIZE + x];
}

uint32_t app_canvas_look(const struct app_canvas *canvas, uint32_t cell)
{
    return app_canvas_pixel(canvas, cell % APP_CELLS * APP_CELL + APP_CELL / 2,
                            cell / APP_CELLS * APP_CELL + APP_CELL / 2);
}

/* ---- compute ---- */

void app_compute_create(const struct app *app, struct app_compute *compute, const uint32_t *words, size_t size_bytes,
                        const struct app_buffer *in, const struct app_buffer *out)
{
    const VkDescriptorSetLayoutBinding bindings[] = {
        {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
        {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
    };
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    const VkDescriptorBufferInfo buffers[] = {{in->buffer, 0, VK_WHOLE_SIZE}, {out->buffer, 0, VK_WHOLE_SIZE}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 2,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = buffers};

    compute->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    compute->layout = app_pipeline_layout(app, 1, &compute->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, APP_COMPUTE_PUSH);
    compute->pipeline = app_compute_pipeline(app, words, size_bytes, compute->layout);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &compute->pool));
    allocate.descriptorPool = compute->pool;
    allocate.pSetLayouts = &compute->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &compute->set));
    write.dstSet = compute->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

void app_compute_destroy(const struct app *app, struct app_compute *compute)
{
    vkDestroyDescriptorPool(app->device, compute->pool, NULL);
    vkDestroyPipeline(app->device, compute->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, compute->layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, compute->set_layout, NULL);
}

void app_compute_run(const struct app_compute *compute, VkCommandBuffer commands, const uint32_t push[4],
                     uint32_t groups)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, compute->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, compute->layout, 0, 1, &compute->set, 0, NULL);
    vkCmdPushConstants(commands, compute->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, APP_COMPUTE_PUSH, push);
    vkCmdDispatch(commands, groups, 1, 1);
}
