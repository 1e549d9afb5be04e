/* SPDX-License-Identifier: MIT */
/*
 * mesh: pictures of mesh shaders, with tasks in front and without (VK_EXT_mesh_shader): direct draws, draws whose
 * numbers of workgroups the host or the device wrote, and whose count is in memory, too; in a secondary command buffer;
 * colors come from a buffer that the host writes before each submit. Queries count what was generated and invoked.
 */
#include "common/canvas.h"

#define MESH "VK_EXT_mesh_shader"

#ifdef VK_EXT_mesh_shader

#include "shaders/mesh_alone_mesh.h"
#include "shaders/mesh_cells_mesh.h"
#include "shaders/mesh_cells_task.h"
#include "shaders/mesh_frag.h"

#define CELLS  (APP_CELLS * APP_CELLS)
#define ROUNDS 4u
#define DRAWS  2u
#define COUNT  (DRAWS * (uint32_t)sizeof(VkDrawMeshTasksIndirectCommandEXT)) /* where it lies behind the draws */

struct state {
    struct app app;
    struct app_canvas canvas;
    struct app_buffer colors, indirect, copied;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool descriptor_pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline tasks, alone;
    VkQueryPool generated, invocations;
    VkCommandPool pool;
    VkCommandBuffer first, second;
    bool queries;
    VkShaderStageFlags stages;
    PFN_vkCmdDrawMeshTasksEXT draw;
    PFN_vkCmdDrawMeshTasksIndirectEXT draw_indirect;
    PFN_vkCmdDrawMeshTasksIndirectCountEXT draw_count;
};

static uint32_t color_of(uint32_t cell, uint32_t round)
{
    return 0xff000000u | ((cell + 1) * 0x030201u ^ round << 20);
}

/* Of an indirect draw, in workgroups of tasks, of which each fills two cells. */
static uint32_t groups_of(uint32_t draw, uint32_t round)
{
    return 1 + (draw + round) % 2;
}

static uint32_t draws_of(uint32_t round)
{
    return round % (DRAWS + 1);
}

static void bind(const struct state *state, VkCommandBuffer commands, VkPipeline pipeline, uint32_t first)
{
    const uint32_t push[] = {first, APP_CELLS};
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->layout, 0, 1, &state->set, 0, NULL);
    vkCmdPushConstants(commands, state->layout, state->stages, 0, sizeof(push), push);
}

static void record_secondary(const struct state *state)
{
    const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
    const VkCommandBufferInheritanceRenderingInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &format,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkCommandBufferInheritanceInfo inherits = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
                                                     .pNext = &rendering};
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
                                           .pInheritanceInfo = &inherits};
    CHECK_VK(vkBeginCommandBuffer(state->second, &info));
    bind(state, state->second, state->alone, 4 * APP_CELLS);
    state->draw(state->second, 2, 3, 1);
    bind(state, state->second, state->tasks, 5 * APP_CELLS);
    state->draw_indirect(state->second, state->indirect.buffer, 0, 1, sizeof(VkDrawMeshTasksIndirectCommandEXT));
    CHECK_VK(vkEndCommandBuffer(state->second));
}

static void record(const struct state *state)
{
    const uint32_t stride = sizeof(VkDrawMeshTasksIndirectCommandEXT);
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkBufferCopy all = {0, 0, COUNT + 4};
    VkCommandBuffer commands = state->first;

    record_secondary(state);
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    vkCmdCopyBuffer(commands, state->indirect.buffer, state->copied.buffer, 1, &all);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT);
    if (state->queries) {
        vkCmdResetQueryPool(commands, state->generated, 0, 1);
        vkCmdResetQueryPool(commands, state->invocations, 0, 1);
    }
    app_canvas_begin_rendering(&state->canvas, commands, 0, NULL);
    if (state->queries) {
        vkCmdBeginQuery(commands, state->generated, 0, 0);
        vkCmdBeginQuery(commands, state->invocations, 0, 0);
    }
    bind(state, commands, state->tasks, 0);
    state->draw(commands, APP_CELLS / 2, 1, 1);
    bind(state, commands, state->tasks, APP_CELLS);
    state->draw_indirect(commands, state->indirect.buffer, 0, DRAWS, stride);
    bind(state, commands, state->tasks, 2 * APP_CELLS);
    state->draw_count(commands, state->copied.buffer, 0, state->copied.buffer, COUNT, DRAWS, stride);
    bind(state, commands, state->alone, 3 * APP_CELLS);
    state->draw(commands, 2, 3, 1);
    if (state->queries) {
        vkCmdEndQuery(commands, state->invocations, 0);
        vkCmdEndQuery(commands, state->generated, 0);
    }
    app_canvas_end_rendering(&state->canvas, commands);
    CHECK_VK(vkEndCommandBuffer(commands));
}

/* The secondary command buffer draws by itself: queries that are under way are not inherited. */
static void record_second(const struct state *state)
{
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

    CHECK_VK(vkBeginCommandBuffer(state->first, &info));
    app_canvas_begin_rendering(&state->canvas, state->first, VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT, NULL);
    vkCmdExecuteCommands(state->first, 1, &state->second);
    app_canvas_end_rendering(&state->canvas, state->first);
    CHECK_VK(vkEndCommandBuffer(state->first));
}

/* Whether the commands of record or those of record_second fill a cell. */
static bool is_filled(uint32_t cell, uint32_t round, bool second)
{
    const uint32_t row = cell / APP_CELLS, at = cell % APP_CELLS;
    const bool by_draw = at % 4 < 2 * groups_of(at / 4, round);

    if (second)
        return row == 4 ? at < 6 : row == 5 && at < 4 && by_draw;
    return row == 0 || (row == 1 && by_draw) || (row == 2 && at / 4 < draws_of(round) && by_draw) ||
           (row == 3 && at < 6);
}

static void submit_and_check(const struct state *state, uint32_t round, bool second)
{
    const struct app *app = &state->app;
    VkDrawMeshTasksIndirectCommandEXT *draws = (void *)state->indirect.mapped;
    uint32_t filled = 0, tasks = 0;
    uint64_t primitives = 0, invoked[2] = {0};

    for (uint32_t i = 0; i < CELLS; i++)
        app_canvas_color(color_of(i, round), (float *)state->colors.mapped + i * 4);
    for (uint32_t i = 0; i < DRAWS; i++)
        draws[i] = (VkDrawMeshTasksIndirectCommandEXT){groups_of(i, round), 1, 1};
    *(uint32_t *)(state->indirect.mapped + COUNT) = draws_of(round);
    app_buffer_flush(app, &state->colors, 0, VK_WHOLE_SIZE);
    app_buffer_flush(app, &state->indirect, 0, VK_WHOLE_SIZE);
    app_submit_wait(app, 1, &state->first);
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        const bool there = is_filled(cell, round, second);
        filled += there;
        tasks += there && cell < 3 * APP_CELLS;
        EXPECT_EQ(app, app_canvas_look(&state->canvas, cell), there ? color_of(cell, round) : 0);
    }
    if (!state->queries || second)
        return;
    CHECK_VK(vkGetQueryPoolResults(app->device, state->generated, 0, 1, 8, &primitives, 8,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    CHECK_VK(vkGetQueryPoolResults(app->device, state->invocations, 0, 1, 16, invoked, 16,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    EXPECT_EQ(app, primitives, filled * 2);
    CHECK(app->no_check || (invoked[0] >= tasks / 2 && invoked[1] >= filled * 4)); /* drivers may invoke more */
}

static VkPipeline pipeline_of(const struct state *state, const VkPipelineShaderStageCreateInfo *stages, uint32_t count)
{
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
    /* With mesh shaders there is neither vertex input nor input assembly. */
    const VkGraphicsPipelineCreateInfo create = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                                 .pNext = &app_canvas_rendering,
                                                 .stageCount = count,
                                                 .pStages = stages,
                                                 .pViewportState = &viewport,
                                                 .pRasterizationState = &raster,
                                                 .pMultisampleState = &multisample,
                                                 .pColorBlendState = &blend,
                                                 .pDynamicState = &dynamic,
                                                 .layout = state->layout};
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(state->app.device, VK_NULL_HANDLE, 1, &create, NULL, &pipeline));
    return pipeline;
}

static void create_pipelines(struct state *state)
{
    const struct app *app = &state->app;
    const VkShaderStageFlagBits bits[] = {VK_SHADER_STAGE_FRAGMENT_BIT, VK_SHADER_STAGE_MESH_BIT_EXT,
                                          VK_SHADER_STAGE_TASK_BIT_EXT, VK_SHADER_STAGE_MESH_BIT_EXT};
    VkPipelineShaderStageCreateInfo stages[4];

    for (uint32_t i = 0; i < COUNT_OF(stages); i++)
        stages[i] = (VkPipelineShaderStageCreateInfo){
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = bits[i], .pName = "main"};
    stages[0].module = app_shader(app, mesh_frag, sizeof(mesh_frag));
    stages[1].module = app_shader(app, mesh_cells_mesh, sizeof(mesh_cells_mesh));
    stages[2].module = app_shader(app, mesh_cells_task, sizeof(mesh_cells_task));
    stages[3].module = app_shader(app, mesh_alone_mesh, sizeof(mesh_alone_mesh));
    state->tasks = pipeline_of(state, stages, 3);
    const VkShaderModule with_tasks = stages[1].module;
    stages[1] = stages[3];
    state->alone = pipeline_of(state, stages, 2);
    vkDestroyShaderModule(app->device, with_tasks, NULL);
    vkDestroyShaderModule(app->device, stages[0].module, NULL);
    vkDestroyShaderModule(app->device, stages[2].module, NULL);
    vkDestroyShaderModule(app->device, stages[3].module, NULL);
}

static void create_set(struct state *state)
{
    const struct app *app = &state->app;
    const VkDescriptorSetLayoutBinding binding = {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_MESH_BIT_EXT,
                                                  NULL};
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
    const VkDescriptorBufferInfo buffer = {state->colors.buffer, 0, VK_WHOLE_SIZE};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorSetCount = 1};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &buffer};

    state->set_layout = app_set_layout(app, 1, &binding);
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &state->descriptor_pool));
    allocate.descriptorPool = state->descriptor_pool;
    allocate.pSetLayouts = &state->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &state->set));
    write.dstSet = state->set;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    state->stages = VK_SHADER_STAGE_TASK_BIT_EXT | VK_SHADER_STAGE_MESH_BIT_EXT;
    state->layout = app_pipeline_layout(app, 1, &state->set_layout, state->stages, 8);
}

static void create_queries(struct state *state)
{
    const struct app *app = &state->app;
    VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                  .queryType = VK_QUERY_TYPE_MESH_PRIMITIVES_GENERATED_EXT,
                                  .queryCount = 1};

    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &state->generated));
    info.queryType = VK_QUERY_TYPE_PIPELINE_STATISTICS;
    info.pipelineStatistics = VK_QUERY_PIPELINE_STATISTIC_TASK_SHADER_INVOCATIONS_BIT_EXT |
                              VK_QUERY_PIPELINE_STATISTIC_MESH_SHADER_INVOCATIONS_BIT_EXT;
    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &state->invocations));
}

static void create(struct state *state)
{
    const struct app *app = &state->app;
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app->queue_family};
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandBufferCount = 1};

    state->draw = (PFN_vkCmdDrawMeshTasksEXT)app_device_function(app, "vkCmdDrawMeshTasksEXT");
    state->draw_indirect = (PFN_vkCmdDrawMeshTasksIndirectEXT)app_device_function(app, "vkCmdDrawMeshTasksIndirectEXT");
    state->draw_count =
        (PFN_vkCmdDrawMeshTasksIndirectCountEXT)app_device_function(app, "vkCmdDrawMeshTasksIndirectCountEXT");
    app_canvas_create(app, &state->canvas);
    app_buffer_create(app, &state->colors, (VkDeviceSize)CELLS * 16, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->indirect, COUNT + 4,
                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->copied, COUNT + 4,
                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    create_set(state);
    create_pipelines(state);
    if (state->queries)
        create_queries(state);
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &state->pool));
    allocate.commandPool = state->pool;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->first));
    allocate.level = VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &state->second));
}

static void destroy(struct state *state)
{
    const struct app *app = &state->app;

    vkDestroyCommandPool(app->device, state->pool, NULL);
    if (state->queries) {
        vkDestroyQueryPool(app->device, state->generated, NULL);
        vkDestroyQueryPool(app->device, state->invocations, NULL);
    }
    vkDestroyPipeline(app->device, state->tasks, NULL);
    vkDestroyPipeline(app->device, state->alone, NULL);
    vkDestroyPipelineLayout(app->device, state->layout, NULL);
    vkDestroyDescriptorPool(app->device, state->descriptor_pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, state->set_layout, NULL);
    app_buffer_destroy(app, &state->colors);
    app_buffer_destroy(app, &state->indirect);
    app_buffer_destroy(app, &state->copied);
    app_canvas_destroy(&state->canvas);
}

static void run(struct state *state)
{
    struct app *app = &state->app;
    VkPhysicalDeviceMeshShaderFeaturesEXT mesh = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MESH_SHADER_FEATURES_EXT};
    VkPhysicalDeviceVulkan11Features first = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
    VkPhysicalDeviceVulkan12Features second = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .drawIndirectCount = VK_TRUE};
    VkPhysicalDeviceFeatures features = {.multiDrawIndirect = app->features.multiDrawIndirect,
                                         .pipelineStatisticsQuery = app->features.pipelineStatisticsQuery};
    struct app_wishes wishes = {.app = app};

    if (app->api_version < VK_API_VERSION_1_3 || !APP_WISH(&wishes, MESH, mesh, taskShader) || !mesh.meshShader)
        app_skip(app, "no " MESH);
    if (!APP_WISH(&wishes, NULL, first, shaderDrawParameters) || !APP_WISH(&wishes, NULL, second, drawIndirectCount) ||
        !features.multiDrawIndirect)
        app_skip(app, "no draws whose number is in memory");
    state->queries = mesh.meshShaderQueries && features.pipelineStatisticsQuery;
    mesh.multiviewMeshShader = mesh.primitiveFragmentShadingRateMeshShader = VK_FALSE; /* they want other features */
    first.protectedMemory = VK_FALSE;
    if (!state->queries)
        printf("left out: queries of mesh shaders\n");
    app_wishes_device(&wishes, app, &features);
    create(state);
    record(state);
    for (uint32_t round = 0; round < ROUNDS; round++)
        submit_and_check(state, round, false);
    record_second(state);
    for (uint32_t round = 0; round < ROUNDS; round++)
        submit_and_check(state, round, true);
    destroy(state);
}

#else

struct state {
    struct app app;
};

static void run(struct state *state)
{
    app_skip(&state->app, "these headers have no " MESH);
}

#endif

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "mesh", .what = "pictures of mesh shaders"};
    static struct state state;

    app_init(&state.app, argc, argv, &program);
    run(&state);
    return app_finish(&state.app);
}
