/* SPDX-License-Identifier: MIT */
/*
 * raster: small features of drawing, as far as the device has them, each in a row of a picture: stippled lines
 * (VK_EXT_line_rasterization), the vertex that gives a flat color (VK_EXT_provoking_vertex), attributes for several
 * instances (VK_EXT_vertex_attribute_divisor), depth from -1 and without clipping (VK_EXT_depth_clip_control,
 * VK_EXT_depth_clip_enable), lists that restart, with indices of a byte (VK_EXT_primitive_topology_list_restart,
 * VK_EXT_index_type_uint8), draws in one call with indices (VK_EXT_multi_draw), colors that are not written
 * (VK_EXT_color_write_enable), and how many primitives there were (VK_EXT_primitives_generated_query). The host writes
 * other vertices before each submit.
 */
#include "common/canvas.h"

#include "shaders/raster_vert.h"

#define ROUNDS   3u
#define VERTICES 64u

struct vertex {
    float position[3], color[4];
};

enum row { LINES, FIRST, LAST, DIVIDED, FROM_MINUS_ONE, UNCLIPPED, RESTARTED, MANY, UNWRITTEN, ROWS };

struct state {
    struct app app;
    bool has[ROWS], generated;
    struct app_canvas canvas;
    struct app_buffer vertices, shifts, indices;
    VkPipeline pipelines[ROWS];
    VkQueryPool queries;
    uint32_t filled;      /* vertices */
    uint32_t first[ROWS]; /* vertex of each row */
    struct vertex model[VERTICES];
};

static uint32_t color_of(uint32_t number, uint32_t round)
{
    return 0xff000000u | (((number + 1) * 0x0d1117u) ^ round << 21);
}

/* ---- vertices ---- */

static float edge(float cell)
{
    return cell / (float)APP_CELLS * 2 - 1;
}

static void add(struct state *state, float x, float y, float z, uint32_t rgba)
{
    struct vertex *vertex = &state->model[state->filled++];

    CHECK(state->filled <= VERTICES);
    *vertex = (struct vertex){.position = {edge(x), edge(y), z}};
    app_canvas_color(rgba, vertex->color);
}

/* Four vertices around cells of a row; colors are of each vertex. */
static void add_corners(struct state *state, uint32_t row, float cell, float z, const uint32_t colors[4])
{
    const float y = (float)(row % APP_CELLS);
    for (uint32_t i = 0; i < 4; i++)
        add(state, cell + (float)(i % 2), y + (float)(i / 2), z, colors[i]);
}

static void fill(struct state *state, uint32_t round)
{
    const uint32_t one = color_of(0, round);
    const uint32_t same[] = {one, one, one, one};
    uint32_t several[4];

    state->filled = 0;
    for (uint32_t i = 0; i < 4; i++)
        several[i] = color_of(i, round);
    for (uint32_t row = 0; row < ROWS; row++) {
        state->first[row] = state->filled;
        if (row == LINES) {
            add(state, 0, 0.5f / APP_CELL, 0.5f, one);
            add(state, APP_CELLS, 0.5f / APP_CELL, 0.5f, one);
            continue;
        }
        add_corners(state, row, 0,
                    row == FROM_MINUS_ONE ? -0.5f
                    : row == UNCLIPPED    ? 1.5f
                                          : 0.5f,
                    row == FIRST || row == LAST ? several : same);
    }
    memcpy(state->vertices.mapped, state->model, sizeof(state->model));
    for (uint32_t i = 0; i < APP_CELLS; i++) {
        ((float *)state->shifts.mapped)[i * 2] = 2.0f / APP_CELLS * (float)i;
        ((float *)state->shifts.mapped)[i * 2 + 1] = 0;
    }
    for (uint32_t i = 0; i < 12; i++) /* two triangles with a restart in between, then two whole ones */
        state->indices.mapped[i] = (const uint8_t[]){0, 1, 0xff, 0, 1, 2, 2, 1, 3, 3, 3, 3}[i];
    app_buffer_flush(&state->app, &state->vertices, 0, VK_WHOLE_SIZE);
    app_buffer_flush(&state->app, &state->shifts, 0, VK_WHOLE_SIZE);
    app_buffer_flush(&state->app, &state->indices, 0, VK_WHOLE_SIZE);
}

/* ---- draws ---- */

static void bind(const struct state *state, VkCommandBuffer commands, enum row row)
{
    const VkBuffer buffers[] = {state->vertices.buffer, state->shifts.buffer};
    const VkDeviceSize offsets[] = {0, 0};

    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, state->pipelines[row]);
    app_set_viewport(commands, APP_CANVAS_SIZE, APP_CANVAS_SIZE);
    vkCmdBindVertexBuffers(commands, 0, 2, buffers, offsets);
}

static void draw_row(const struct state *state, VkCommandBuffer commands, enum row row, uint32_t round)
{
    const uint32_t first = state->first[row];
    const VkMultiDrawIndexedInfoEXT draws[] = {{3, 3, (int32_t)first}, {6, 3, (int32_t)first}};
    const VkBool32 writes = round % 2;

    bind(state, commands, row);
    switch (row) {
    case LINES:
        vkCmdDraw(commands, 2, 1, first, 0);
        return;
    case DIVIDED: /* two instances share a shift */
        vkCmdDraw(commands, 4, 8, first, 0);
        return;
    case RESTARTED:
        vkCmdBindIndexBuffer(commands, state->indices.buffer, 0, VK_INDEX_TYPE_UINT8_EXT);
        vkCmdDrawIndexed(commands, 9, 1, 0, (int32_t)first, 0);
        return;
    case MANY: {
        PFN_vkCmdDrawMultiIndexedEXT draw =
            (PFN_vkCmdDrawMultiIndexedEXT)app_device_function(&state->app, "vkCmdDrawMultiIndexedEXT");
        vkCmdBindIndexBuffer(commands, state->indices.buffer, 0, VK_INDEX_TYPE_UINT8_EXT);
        draw(commands, 2, draws, 1, 0, sizeof(draws[0]), NULL);
        return;
    }
    case UNWRITTEN: {
        PFN_vkCmdSetColorWriteEnableEXT enable =
            (PFN_vkCmdSetColorWriteEnableEXT)app_device_function(&state->app, "vkCmdSetColorWriteEnableEXT");
        enable(commands, 1, &writes);
        break;
    }
    default:
        break;
    }
    vkCmdDraw(commands, 4, 1, first, 0);
}

/* Rows are drawn on two pictures: the second has those that have no room on the first. */
static void draw(struct state *state, uint32_t round, bool second)
{
    const struct app *app = &state->app;
    VkCommandBuffer commands = app_begin(app);
    uint64_t primitives = 0;

    if (state->generated)
        vkCmdResetQueryPool(commands, state->queries, 0, 1);
    app_canvas_begin_rendering(&state->canvas, commands, 0, NULL);
    if (state->generated)
        vkCmdBeginQuery(commands, state->queries, 0, 0);
    for (enum row row = second ? APP_CELLS : 0; row < (second ? ROWS : APP_CELLS); row++)
        if (state->has[row])
            draw_row(state, commands, row, round);
    if (state->generated)
        vkCmdEndQuery(commands, state->queries, 0);
    app_canvas_end_rendering(&state->canvas, commands);
    app_run(app, commands);
    if (!state->generated)
        return;
    CHECK_VK(vkGetQueryPoolResults(app->device, state->queries, 0, 1, 8, &primitives, 8,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    CHECK(app->no_check || primitives || (second && !state->has[UNWRITTEN]));
}

static uint32_t look(const struct state *state, enum row row, uint32_t column)
{
    return app_canvas_look(&state->canvas, (uint32_t)row % APP_CELLS * APP_CELLS + column);
}

static void check(const struct state *state, uint32_t round, bool second)
{
    const struct app *app = &state->app;
    const uint32_t one = color_of(0, round);

    if (second) {
        if (state->has[UNWRITTEN])
            EXPECT_EQ(app, look(state, UNWRITTEN, 0), round % 2 ? one : 0);
        return;
    }
    for (uint32_t x = 2; x + 2 < APP_CANVAS_SIZE && state->has[LINES] && !app->no_check; x++)
        CHECK((app_canvas_pixel(&state->canvas, x, 0) == 0) != (app_canvas_pixel(&state->canvas, x + 1, 0) == 0));
    /* Of a strip's second triangle: vertices 1, 2 and 3, of which the first or the last one counts. */
    if (state->has[FIRST])
        EXPECT_EQ(app, app_canvas_pixel(&state->canvas, APP_CELL - 1, FIRST * APP_CELL + APP_CELL - 1),
                  color_of(1, round));
    if (state->has[LAST])
        EXPECT_EQ(app, app_canvas_pixel(&state->canvas, APP_CELL - 1, LAST * APP_CELL + APP_CELL - 1),
                  color_of(3, round));
    for (uint32_t i = 0; i < APP_CELLS && state->has[DIVIDED]; i++)
        EXPECT_EQ(app, look(state, DIVIDED, i), i < 4 ? one : 0);
    for (enum row row = FROM_MINUS_ONE; row <= UNCLIPPED; row++)
        if (state->has[row])
            EXPECT_EQ(app, look(state, row, 0), one);
    for (enum row row = RESTARTED; row <= MANY; row++)
        if (state->has[row]) {
            EXPECT_EQ(app, app_canvas_pixel(&state->canvas, 1, row * APP_CELL + 1), one);
            EXPECT_EQ(app, app_canvas_pixel(&state->canvas, APP_CELL - 2, row * APP_CELL + APP_CELL - 2), one);
        }
}

/* ---- pipelines ---- */

/* Each differs from the others in what its row is for. */
static VkPipeline create_pipeline(const struct state *state, enum row row, VkShaderModule vertex)
{
    const VkPipelineShaderStageCreateInfo stages[] = {{.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_VERTEX_BIT,
                                                       .module = vertex,
                                                       .pName = "main"},
                                                      {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
                                                       .module = state->canvas.fragment,
                                                       .pName = "main"}};
    const VkVertexInputBindingDescription bindings[] = {{0, sizeof(struct vertex), VK_VERTEX_INPUT_RATE_VERTEX},
                                                        {1, 8, VK_VERTEX_INPUT_RATE_INSTANCE}};
    const VkVertexInputAttributeDescription attributes[] = {{0, 0, VK_FORMAT_R32G32B32_SFLOAT, 0},
                                                            {1, 0, VK_FORMAT_R32G32B32A32_SFLOAT, 12},
                                                            {2, 1, VK_FORMAT_R32G32_SFLOAT, 0}};
    const VkVertexInputBindingDivisorDescriptionEXT divisor = {1, 2};
    const VkPipelineVertexInputDivisorStateCreateInfoEXT divided = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT,
        .vertexBindingDivisorCount = 1,
        .pVertexBindingDivisors = &divisor};
    const VkPipelineVertexInputStateCreateInfo input = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                                                        .pNext = row == DIVIDED ? &divided : NULL,
                                                        .vertexBindingDescriptionCount = COUNT_OF(bindings),
                                                        .pVertexBindingDescriptions = bindings,
                                                        .vertexAttributeDescriptionCount = COUNT_OF(attributes),
                                                        .pVertexAttributeDescriptions = attributes};
    const bool list = row == RESTARTED || row == MANY;
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = row == LINES ? VK_PRIMITIVE_TOPOLOGY_LINE_LIST
                    : list       ? VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
                                 : VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
        .primitiveRestartEnable = row == RESTARTED};
    const VkPipelineViewportDepthClipControlCreateInfoEXT control = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT, .negativeOneToOne = VK_TRUE};
    const VkPipelineViewportStateCreateInfo viewport = {.sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                                                        .pNext = row == FROM_MINUS_ONE ? &control : NULL,
                                                        .viewportCount = 1,
                                                        .scissorCount = 1};
    const VkPipelineRasterizationLineStateCreateInfoEXT lines = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT,
        .lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_BRESENHAM_EXT,
        .stippledLineEnable = VK_TRUE,
        .lineStippleFactor = 1,
        .lineStipplePattern = 0x5555};
    const VkPipelineRasterizationProvokingVertexStateCreateInfoEXT provoking = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT,
        .provokingVertexMode =
            row == LAST ? VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT : VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT};
    const VkPipelineRasterizationDepthClipStateCreateInfoEXT unclipped = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .pNext = row == LINES                  ? &lines
                 : row == FIRST || row == LAST ? &provoking
                 : row == UNCLIPPED            ? (const void *)&unclipped
                                               : NULL,
        .lineWidth = 1.0f};
    const VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    const VkPipelineColorBlendAttachmentState attachment = {.colorWriteMask = 0xf};
    const VkPipelineColorBlendStateCreateInfo blend = {.sType =
                                                           VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                                                       .attachmentCount = 1,
                                                       .pAttachments = &attachment};
    const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                                     VK_DYNAMIC_STATE_COLOR_WRITE_ENABLE_EXT};
    const VkPipelineDynamicStateCreateInfo dynamic = {.sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                      .dynamicStateCount = row == UNWRITTEN ? 3 : 2,
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
    VkPipeline pipeline;
    CHECK_VK(vkCreateGraphicsPipelines(state->app.device, VK_NULL_HANDLE, 1, &create, NULL, &pipeline));
    return pipeline;
}

static void run(struct state *state)
{
    const struct app *app = &state->app;
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                           .queryType = VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT,
                                           .queryCount = 1};
    VkShaderModule vertex;

    app_canvas_create(app, &state->canvas);
    app_buffer_create(app, &state->vertices, sizeof(state->model), VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->shifts, APP_CELLS * 8, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->indices, 16, VK_BUFFER_USAGE_INDEX_BUFFER_BIT, APP_UPLOAD);
    vertex = app_shader(app, raster_vert, sizeof(raster_vert));
    for (enum row row = 0; row < ROWS; row++)
        if (state->has[row])
            state->pipelines[row] = create_pipeline(state, row, vertex);
    vkDestroyShaderModule(app->device, vertex, NULL);
    if (state->generated)
        CHECK_VK(vkCreateQueryPool(app->device, &queries, NULL, &state->queries));
    for (uint32_t round = 0; round < ROUNDS * 2; round++) {
        fill(state, round / 2);
        draw(state, round / 2, round % 2);
        check(state, round / 2, round % 2);
    }
    vkDestroyQueryPool(app->device, state->queries, NULL);
    for (enum row row = 0; row < ROWS; row++)
        vkDestroyPipeline(app->device, state->pipelines[row], NULL);
    app_buffer_destroy(app, &state->vertices);
    app_buffer_destroy(app, &state->shifts);
    app_buffer_destroy(app, &state->indices);
    app_canvas_destroy(&state->canvas);
}

/* One of each: they live as long as the program. */
static struct {
    VkPhysicalDeviceLineRasterizationFeaturesEXT lines;
    VkPhysicalDeviceProvokingVertexFeaturesEXT provoking;
    VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT divisor;
    VkPhysicalDeviceDepthClipControlFeaturesEXT control;
    VkPhysicalDeviceDepthClipEnableFeaturesEXT clip;
    VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT restart;
    VkPhysicalDeviceIndexTypeUint8FeaturesEXT bytes;
    VkPhysicalDeviceMultiDrawFeaturesEXT many;
    VkPhysicalDeviceColorWriteEnableFeaturesEXT writes;
    VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT generated;
} features;

static void find(struct state *state, struct app_wishes *wishes)
{
#define WISH(name, part, type, flag)                                                                                   \
    (features.part.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type, APP_WISH(wishes, name, features.part, flag))
    state->has[LINES] = WISH("VK_EXT_line_rasterization", lines, LINE_RASTERIZATION_FEATURES_EXT, bresenhamLines) &&
                        features.lines.stippledBresenhamLines;
    state->has[FIRST] = state->has[LAST] =
        WISH("VK_EXT_provoking_vertex", provoking, PROVOKING_VERTEX_FEATURES_EXT, provokingVertexLast);
    state->has[DIVIDED] = WISH("VK_EXT_vertex_attribute_divisor", divisor, VERTEX_ATTRIBUTE_DIVISOR_FEATURES_EXT,
                               vertexAttributeInstanceRateDivisor);
    state->has[FROM_MINUS_ONE] =
        WISH("VK_EXT_depth_clip_control", control, DEPTH_CLIP_CONTROL_FEATURES_EXT, depthClipControl);
    state->has[UNCLIPPED] = WISH("VK_EXT_depth_clip_enable", clip, DEPTH_CLIP_ENABLE_FEATURES_EXT, depthClipEnable);
    const bool bytes = WISH("VK_EXT_index_type_uint8", bytes, INDEX_TYPE_UINT8_FEATURES_EXT, indexTypeUint8);
    state->has[RESTARTED] = bytes && WISH("VK_EXT_primitive_topology_list_restart", restart,
                                          PRIMITIVE_TOPOLOGY_LIST_RESTART_FEATURES_EXT, primitiveTopologyListRestart);
    state->has[MANY] = bytes && WISH("VK_EXT_multi_draw", many, MULTI_DRAW_FEATURES_EXT, multiDraw);
    state->has[UNWRITTEN] =
        WISH("VK_EXT_color_write_enable", writes, COLOR_WRITE_ENABLE_FEATURES_EXT, colorWriteEnable);
    /* It depends on the other one, of which nothing is used. */
    state->generated = app_wish(wishes, "VK_EXT_transform_feedback", NULL, 0, 0, NULL) &&
                       WISH("VK_EXT_primitives_generated_query", generated, PRIMITIVES_GENERATED_QUERY_FEATURES_EXT,
                            primitivesGeneratedQuery);
#undef WISH
    VkPhysicalDeviceProvokingVertexPropertiesEXT modes = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROVOKING_VERTEX_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &modes};
    vkGetPhysicalDeviceProperties2(wishes->app->physical, &properties);
    state->has[LAST] =
        state->has[LAST] && modes.provokingVertexModePerPipeline; /* all others are of the first vertex */
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "raster", .what = "small features of drawing"};
    static struct state state;
    struct app_wishes wishes = {.app = &state.app};
    uint32_t count = 0;

    app_init(&state.app, argc, argv, &program);
    if (state.app.api_version < VK_API_VERSION_1_3)
        app_skip(&state.app, "needs Vulkan 1.3");
    find(&state, &wishes);
    for (enum row row = 0; row < ROWS; row++)
        count += state.has[row];
    if (!count)
        app_skip(&state.app, "the device has none of these features");
    printf("%u of %u features\n", count + state.generated, ROWS + 1);
    app_wishes_device(&wishes, &state.app, NULL);
    run(&state);
    return app_finish(&state.app);
}
