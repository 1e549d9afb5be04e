/* SPDX-License-Identifier: MIT */
/*
 * vertices: three draws that take vertices in different ways, with attributes of many formats, which the vertex shader
 * hands on: a strip that restarts, with an offset of vertices and of indices; the same as an indirect draw, out of
 * buffers that a dispatch in front of it has written; and vertices beyond the end of their buffer.
 */
#include "common/canvas.h"

#include "shaders/move_comp.h"
#include "shaders/vertices_vert.h"

#define VERTICES  9u
#define OFFSET    2 /* of vertices */
#define INDICES   10u
#define INSTANCES 3u
#define WORDS     256u /* of all that a dispatch writes */

struct vertex {
    float position[3];
    uint8_t swapped[4];
    int16_t normal[2];
    uint32_t packed;
    int8_t bones[4];
    uint16_t codes[2];
    uint16_t turn[2][2]; /* halves */
};

/* How they lie in a buffer. */
struct model {
    uint16_t indices[INDICES]; /* old lavapipe takes those of indirect draws from the begin of their buffer */
    VkDrawIndexedIndirectCommand draw;
    float each[INSTANCES + 1];
    struct vertex vertices[VERTICES];
};
_Static_assert(sizeof(struct model) <= WORDS * 4, "it fits in");

struct state {
    struct app app;
    struct app_canvas canvas;
    struct app_buffer host, device, few; /* few: vertices without the last ones */
    struct app_compute move;
    VkPipeline pipeline;
};

static void fill(struct state *state)
{
    static const uint16_t indices[INDICES] = {9, 0, 1, 2, 3, 0xffff, 4, 5, 6, 0};
    struct model *model = (void *)state->host.mapped;

    memset(model, 0, sizeof(*model));
    for (uint32_t i = 0; i < VERTICES; i++) {
        const float x = (float)i / VERTICES;
        model->vertices[i] = (struct vertex){{x * 1.5f - 0.75f, i % 2 ? 0.6f : -0.4f, 0.25f + x / 2},
                                             {(uint8_t)i, (uint8_t)(20 * i), 200, 255},
                                             {(int16_t)(i * 3000), (int16_t)-32768},
                                             i * 0x12345678u,
                                             {(int8_t)-i, (int8_t)i, 127, -128},
                                             {(uint16_t)(i * 1000), 65535},
                                             {{0x3c00, (uint16_t)(0x3800 + i)}, {0xbc00, 0x0001}}};
    }
    for (uint32_t i = 0; i <= INSTANCES; i++)
        model->each[i] = 0.125f * (float)(i + 1);
    model->draw = (VkDrawIndexedIndirectCommand){INDICES - 2, INSTANCES - 1, 1, OFFSET, 1};
    memcpy(model->indices, indices, sizeof(indices));
    memcpy(state->few.mapped, model->vertices, (size_t)state->few.size);
    app_buffer_flush(&state->app, &state->host, 0, VK_WHOLE_SIZE);
    app_buffer_flush(&state->app, &state->few, 0, VK_WHOLE_SIZE);
}

static void bind(VkCommandBuffer commands, const struct app_buffer *vertices, VkDeviceSize at,
                 const struct app_buffer *rest)
{
    const VkBuffer buffers[] = {vertices->buffer, rest->buffer};
    const VkDeviceSize offsets[] = {at, offsetof(struct model, each)};

    vkCmdBindVertexBuffers(commands, 0, 2, buffers, offsets);
    vkCmdBindIndexBuffer(commands, rest->buffer, offsetof(struct model, indices), VK_INDEX_TYPE_UINT16);
}

static void draw(struct state *state)
{
    const VkAccessFlags reads =
        VK_ACCESS_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_INDEX_READ_BIT | VK_ACCESS_VERTEX_ATTRIBUTE_READ_BIT;
    const uint32_t push[] = {0, 0, 1, 0};
    VkCommandBuffer commands = app_begin(&state->app);

    app_compute_run(&state->move, commands, push, WORDS);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_VERTEX_INPUT_BIT, reads);
    app_canvas_begin_rendering(&state->canvas, commands, 0, NULL);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->pipeline);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    bind(commands, &state->host, offsetof(struct model, vertices), &state->host);
    vkCmdDrawIndexed(commands, INDICES - 2, INSTANCES - 1, 1, OFFSET, 1);
    bind(commands, &state->device, offsetof(struct model, vertices), &state->device);
    vkCmdDrawIndexedIndirect(commands, state->device.buffer, offsetof(struct model, draw), 1, 0);
    bind(commands, &state->few, 0, &state->host);
    vkCmdDraw(commands, VERTICES, 1, 1, 0);
    app_canvas_end_rendering(&state->canvas, commands);
    app_run(&state->app, commands);
}

static void create_pipeline(struct state *state)
{
    VkShaderModule vertex = app_shader(&state->app, vertices_vert, sizeof(vertices_vert));
    const VkPipelineShaderStageCreateInfo stages[] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                       .module = vertex,
                                                       .pName = "main"},
                                                      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                       .module = state->canvas.fragment,
                                                       .pName = "main"}};
    const VkVertexInputBindingDescription bindings[] = {{0, sizeof(struct vertex), VK_VERTEX_INPUT_RATE_VERTEX},
                                                        {1, sizeof(float), VK_VERTEX_INPUT_RATE_INSTANCE}};
    const VkVertexInputAttributeDescription attributes[] = {
        {8, 1, VK_FORMAT_R32_SFLOAT, 0},
        {0, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(struct vertex, position)},
        {1, 0, VK_FORMAT_B8G8R8A8_UNORM, offsetof(struct vertex, swapped)},
        {2, 0, VK_FORMAT_R16G16_SNORM, offsetof(struct vertex, normal)},
        {3, 0, VK_FORMAT_A2B10G10R10_UNORM_PACK32, offsetof(struct vertex, packed)},
        {4, 0, VK_FORMAT_R8G8B8A8_SINT, offsetof(struct vertex, bones)},
        {5, 0, VK_FORMAT_R16G16_UINT, offsetof(struct vertex, codes)},
        {6, 0, VK_FORMAT_R16G16_SFLOAT, offsetof(struct vertex, turn)},
        {7, 0, VK_FORMAT_R16G16_SFLOAT, offsetof(struct vertex, turn) + 4}};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                        .vertexBindingDescriptionCount = COUNT_OF(bindings),
                                                        .pVertexBindingDescriptions = bindings,
                                                        .vertexAttributeDescriptionCount = COUNT_OF(attributes),
                                                        .pVertexAttributeDescriptions = attributes};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
        .primitiveRestartEnable = VK_TRUE};
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
    const VkGraphicsPipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                                 .pNext = &app_canvas_rendering,
                                                 .stageCount = COUNT_OF(stages),
                                                 .pStages = stages,
                                                 .pVertexInputState = &input,
                                                 .pInputAssemblyState = &assembly,
                                                 .pViewportState = &viewport,
                                                 .pRasterizationState = &raster,
                                                 .pMultisampleState = &multisample,
                                                 .pColorBlendState = &blend,
                                                 .pDynamicState = &dynamic,
                                                 .layout = state->canvas.layout};
    CHECK_VK(vkCreateGraphicsPipelines(state->app.device, VK_NULL_HANDLE, 1, &create, NULL, &state->pipeline));
    vkDestroyShaderModule(state->app.device, vertex, NULL);
}

static void run(struct state *state)
{
    const struct app *app = &state->app;
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                                     VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;

    app_canvas_create(app, &state->canvas);
    app_buffer_create(app, &state->host, WORDS * 4, usage, APP_UPLOAD);
    app_buffer_create(app, &state->device, WORDS * 4, usage, APP_DEVICE);
    app_buffer_create(app, &state->few, sizeof(struct vertex) * (VERTICES - 2), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
                      APP_UPLOAD);
    app_compute_create(app, &state->move, move_comp, sizeof(move_comp), &state->host, &state->device);
    create_pipeline(state);
    fill(state);
    draw(state);
    CHECK(app->no_check || app_canvas_pixel(&state->canvas, APP_CANVAS_SIZE / 2, APP_CANVAS_SIZE / 2) != 0);
    vkDestroyPipeline(app->device, state->pipeline, NULL);
    app_compute_destroy(app, &state->move);
    app_buffer_destroy(app, &state->few);
    app_buffer_destroy(app, &state->device);
    app_buffer_destroy(app, &state->host);
    app_canvas_destroy(&state->canvas);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "vertices", .what = "draws with vertices of many formats"};
    static struct state state;
    struct app_wishes wishes = {.app = &state.app};
    const VkPhysicalDeviceFeatures features = {.robustBufferAccess = VK_TRUE, .drawIndirectFirstInstance = VK_TRUE};

    app_init(&state.app, argc, argv, &program);
    if (state.app.api_version < VK_API_VERSION_1_3)
        app_skip(&state.app, "needs Vulkan 1.3");
    if (!state.app.features.drawIndirectFirstInstance)
        app_skip(&state.app, "an indirect draw can't begin with another instance");
    app_wishes_device(&wishes, &state.app, &features);
    run(&state);
    return app_finish(&state.app);
}
