/* SPDX-License-Identifier: MIT */
/*
 * counts: results of queries that the device copies into mapped buffers, one way in each: of a precise occlusion query,
 * with waiting and without, of one that need not be precise, of a time, and of statistics. Which of them are the same
 * in every run, the specification says.
 */
#include "common/app.h"

enum { PRECISE, NOT_WAITED, ROUGH, TIME, STATISTICS, WAYS };

static const struct app_option options[] = {{NULL, NULL, NULL, NULL}};

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
