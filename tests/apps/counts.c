/* SPDX-License-Identifier: MIT */
/*
 * counts: results of queries that the device copies into mapped buffers, one way in each: of a precise occlusion query,
 * with waiting and without, of one that need not be precise, of a time, and of statistics. Which of them are the same
 * in every run, the specification says. With --last each frame first copies what the last one counted, of a rectangle.
 */
#include "common/app.h"
#include "common/canvas.h"

enum { PRECISE, NOT_WAITED, ROUGH, TIME, STATISTICS, WAYS };

static bool last;

static const struct app_option options[] = {{"--last", "copy what the last frame counted, of a rectangle", &last, NULL},
                                            {NULL, NULL, NULL, NULL}};

struct way {
    VkQueryPool pool;
    struct app_buffer buffer;
};

static void create(const struct app *app, struct way *way, VkQueryType type)
{
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = type,
        .queryCount = 2,
        .pipelineStatistics =
            type == VK_QUERY_TYPE_PIPELINE_STATISTICS ? VK_QUERY_PIPELINE_STATISTIC_VERTEX_SHADER_INVOCATIONS_BIT : 0};

    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &way->pool));
    app_buffer_create(app, &way->buffer, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

static void query(VkCommandBuffer commands, const struct way *way, uint32_t number, int kind)
{
    if (kind == TIME) {
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, way->pool, number);
        return;
    }
    vkCmdBeginQuery(commands, way->pool, number,
                    kind == PRECISE || kind == NOT_WAITED ? VK_QUERY_CONTROL_PRECISE_BIT : 0u);
    vkCmdEndQuery(commands, way->pool, number);
}

/* Each frame counts another number of pixels than the others. */
static void go_on_from_last(struct app *app)
{
    struct app_wishes wishes = {.app = app};
    struct app_canvas canvas;
    struct way way;

    if (app->api_version < VK_API_VERSION_1_3 || !app->features.occlusionQueryPrecise)
        app_skip(app, "no Vulkan 1.3 with precise occlusion queries");
    app_wishes_device(&wishes, app, &(VkPhysicalDeviceFeatures){.occlusionQueryPrecise = VK_TRUE});
    app_canvas_create(app, &canvas);
    create(app, &way, VK_QUERY_TYPE_OCCLUSION);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        VkCommandBuffer commands = app_begin(app);
        if (frame)
            vkCmdCopyQueryPoolResults(commands, way.pool, 0, 1, way.buffer.buffer, 0, 8,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        vkCmdResetQueryPool(commands, way.pool, 0, 1);
        app_canvas_begin_rendering(&canvas, commands, 0, NULL);
        app_canvas_bind(&canvas, commands);
        vkCmdBeginQuery(commands, way.pool, 0, VK_QUERY_CONTROL_PRECISE_BIT);
        for (uint32_t cell = 0; cell <= frame; cell++)
            app_canvas_cell(&canvas, commands, cell, 0xffffffff);
        vkCmdEndQuery(commands, way.pool, 0);
        app_canvas_end_rendering(&canvas, commands);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(app, commands);
        app_buffer_invalidate(app, &way.buffer, 0, way.buffer.size);
        if (frame)
            EXPECT_EQ(app, *(const uint32_t *)(const void *)way.buffer.mapped, APP_CELL * APP_CELL * frame);
    }
    vkDestroyQueryPool(app->device, way.pool, NULL);
    app_buffer_destroy(app, &way.buffer);
    app_canvas_destroy(&canvas);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "counts", .what = "copies results of queries", .frames = 1, .options = options};
    static const VkQueryType types[WAYS] = {VK_QUERY_TYPE_OCCLUSION, VK_QUERY_TYPE_OCCLUSION, VK_QUERY_TYPE_OCCLUSION,
                                            VK_QUERY_TYPE_TIMESTAMP, VK_QUERY_TYPE_PIPELINE_STATISTICS};
    const VkPhysicalDeviceFeatures features = {.occlusionQueryPrecise = VK_TRUE, .pipelineStatisticsQuery = VK_TRUE};
    const struct app_device_request request = {.features = &features};
    struct app app;
    struct way ways[WAYS];

    app_init(&app, argc, argv, &program);
    if (last) {
        go_on_from_last(&app);
        return app_finish(&app);
    }
    if (!app.features.occlusionQueryPrecise || !app.features.pipelineStatisticsQuery ||
        !app.queue_properties.timestampValidBits)
        app_skip(&app, "no precise occlusion queries, statistics or times");
    app_device_create(&app, &request);
    for (int i = 0; i < WAYS; i++)
        create(&app, &ways[i], types[i]);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        VkCommandBuffer commands = app_begin(&app);
        for (int i = 0; i < WAYS; i++) {
            vkCmdResetQueryPool(commands, ways[i].pool, 0, 2);
            query(commands, &ways[i], 0, i);
            query(commands, &ways[i], 1, i);
            vkCmdCopyQueryPoolResults(commands, ways[i].pool, 0, 2, ways[i].buffer.buffer, 64, 32,
                                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT |
                                          (i == NOT_WAITED ? 0u : (unsigned)VK_QUERY_RESULT_WAIT_BIT));
        }
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(&app, commands);
        app_buffer_invalidate(&app, &ways[PRECISE].buffer, 0, ways[PRECISE].buffer.size);
        EXPECT_EQ(&app, ways[PRECISE].buffer.mapped[64], 0);
        EXPECT_EQ(&app, ways[PRECISE].buffer.mapped[72], 1);
    }
    for (int i = 0; i < WAYS; i++) {
        vkDestroyQueryPool(app.device, ways[i].pool, NULL);
        app_buffer_destroy(&app, &ways[i].buffer);
    }
    return app_finish(&app);
}
