/* SPDX-License-Identifier: MIT */
/* instances: squares that a storage buffer has, one for each instance; draws begin with the first one, and with others.
 */
#include "common/canvas.h"

#include "shaders/instances_vert.h"

#define COUNT  6u
#define OFFSET 256u /* of the block in the buffer */

struct thing {
    float corner[2], size;
    uint32_t number;
    float color[4];
};

struct block {
    uint32_t count, padding[3];
    struct thing things[COUNT];
};

static void fill(const struct app *app, struct app_buffer *buffer)
{
    const float cell = 2.0f / APP_CELLS;
    struct block *block = (void *)((char *)buffer->mapped + OFFSET);

    block->count = COUNT;
    for (uint32_t i = 0; i < COUNT; i++)
        block->things[i] = (struct thing){{(float)i * cell - 1, -1}, cell, i, {(float)i / COUNT, 1, 0.5f, 1}};
    app_buffer_flush(app, buffer, 0, VK_WHOLE_SIZE);
}

static VkDescriptorSet make_set(const struct app *app, VkDescriptorSetLayout layout, const struct app_buffer *buffer,
                                VkDescriptorPool *out_pool)
{
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, .descriptorSetCount = 1, .pSetLayouts = &layout};
    const VkDescriptorBufferInfo info = {buffer->buffer, OFFSET, VK_WHOLE_SIZE};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstBinding = 1,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &info};

    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, out_pool));
    allocate.descriptorPool = *out_pool;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &write.dstSet));
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    return write.dstSet;
}

static void draw(const struct app *app, const struct app_canvas *canvas, VkPipeline pipeline, VkPipelineLayout layout,
                 VkDescriptorSet set)
{
    VkCommandBuffer commands = app_begin(app);

    app_canvas_begin_rendering(canvas, commands, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1, &set, 0, NULL);
    vkCmdDraw(commands, 4, 1, 0, 0);
    vkCmdDraw(commands, 4, 2, 0, 3);
    app_canvas_end_rendering(canvas, commands);
    app_run(app, commands);
}

static void run(const struct app *app)
{
    const VkDescriptorSetLayoutBinding binding = {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_VERTEX_BIT,
                                                  NULL};
    VkDescriptorSetLayout sets = app_set_layout(app, 1, &binding);
    VkPipelineLayout layout = app_pipeline_layout(app, 1, &sets, 0, 0);
    VkShaderModule vertex = app_shader(app, instances_vert, sizeof instances_vert);
    VkDescriptorPool pool;
    struct app_buffer buffer;
    struct app_canvas canvas;

    app_canvas_create(app, &canvas);
    app_buffer_create(app, &buffer, OFFSET + sizeof(struct block), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    fill(app, &buffer);
    VkPipeline pipeline =
        app_graphics_pipeline(app, &(struct app_pipeline){.vertex = vertex,
                                                          .fragment = canvas.fragment,
                                                          .layout = layout,
                                                          .next = &app_canvas_rendering,
                                                          .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
                                                          .color_count = 1});
    draw(app, &canvas, pipeline, layout, make_set(app, sets, &buffer, &pool));
    for (uint32_t i = 0; i < COUNT; i++)
        EXPECT_EQ(app, app_canvas_pixel(&canvas, i * APP_CELL + APP_CELL / 2, APP_CELL / 2) != 0,
                  i == 0 || i == 3 || i == 4);
    vkDestroyDescriptorPool(app->device, pool, NULL);
    vkDestroyPipeline(app->device, pipeline, NULL);
    vkDestroyShaderModule(app->device, vertex, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, sets, NULL);
    app_buffer_destroy(app, &buffer);
    app_canvas_destroy(&canvas);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "instances", .what = "draws instances out of a storage buffer"};
    static struct app app;
    struct app_wishes wishes = {.app = &app};

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_3)
        app_skip(&app, "needs Vulkan 1.3");
    app_wishes_device(&wishes, &app, NULL);
    run(&app);
    return app_finish(&app);
}
