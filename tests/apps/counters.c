/* SPDX-License-Identifier: MIT */
/*
 * counters: what a program measures, as far as the device has it: performance counters in several passes, timestamps,
 * calibrated and not, statistics of pipelines, and what the driver says of the executables of a pipeline. Numbers
 * differ from run to run; what is computed meanwhile does not.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define WORDS   256u
#define MOST    8u /* counters */
#define RESULTS 16u

struct job {
    const struct app *app;
    struct app_buffer data, results;
    uint32_t value;
};

static void check(struct job *job)
{
    app_buffer_invalidate(job->app, &job->data, 0, job->data.size);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(job->app, ((uint32_t *)job->data.mapped)[i], job->value);
}

/* The work that is measured. */
static void fill(struct job *job, VkCommandBuffer commands)
{
    vkCmdFillBuffer(commands, job->data.buffer, 0, WORDS * 4, job->value);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

static VkQueryPool make_pool(const struct app *app, VkQueryType type, VkQueryPipelineStatisticFlags statistics,
                             const void *next)
{
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .pNext = next,
                                        .queryType = type,
                                        .queryCount = 2,
                                        .pipelineStatistics = statistics};
    VkQueryPool pool;
    CHECK_VK(vkCreateQueryPool(app->device, &info, NULL, &pool));
    return pool;
}

static void reset(const struct app *app, VkQueryPool pool)
{
    VkCommandBuffer commands = app_begin(app);
    vkCmdResetQueryPool(commands, pool, 0, 2);
    app_run(app, commands);
}

/* ---- performance counters ---- */

static uint32_t choose(const struct app *app, uint32_t chosen[MOST])
{
    PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR ask =
        (PFN_vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR)vkGetInstanceProcAddr(
            app->instance, "vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR");
    uint32_t count = 0, found = 0;
    VkPerformanceCounterKHR *counters;

    CHECK(ask);
    CHECK_VK(ask(app->physical, app->queue_family, &count, NULL, NULL));
    counters = calloc(count + 1, sizeof *counters);
    CHECK(counters);
    for (uint32_t i = 0; i < count; i++)
        counters[i].sType = VK_STRUCTURE_TYPE_PERFORMANCE_COUNTER_KHR;
    CHECK_VK(ask(app->physical, app->queue_family, &count, counters, NULL));
    for (uint32_t i = 0; i < count && found < MOST; i++)
        if (counters[i].scope != VK_PERFORMANCE_COUNTER_SCOPE_RENDER_PASS_KHR)
            chosen[found++] = i;
    free(counters);
    return found;
}

static void count_passes(struct job *job, VkQueryPool pool, uint32_t passes, bool copies)
{
    const struct app *app = job->app;
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = app->pool, .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkPerformanceCounterResultKHR results[2][MOST];
    VkCommandBuffer commands;

    reset(app, pool);
    job->value++;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin)); /* for several submits */
    vkCmdBeginQuery(commands, pool, 0, 0);            /* the first command: some counters are of command buffers */
    fill(job, commands);
    vkCmdEndQuery(commands, pool, 0);
    CHECK_VK(vkEndCommandBuffer(commands));
    for (uint32_t pass = 0; pass < passes; pass++) {
        const VkPerformanceQuerySubmitInfoKHR number = {.sType = VK_STRUCTURE_TYPE_PERFORMANCE_QUERY_SUBMIT_INFO_KHR,
                                                        .counterPassIndex = pass};
        const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                     .pNext = &number,
                                     .commandBufferCount = 1,
                                     .pCommandBuffers = &commands};
        CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, VK_NULL_HANDLE));
        CHECK_VK(vkQueueWaitIdle(app->queue));
    }
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
    check(job);
    CHECK_VK(vkGetQueryPoolResults(app->device, pool, 0, 1, sizeof results[0], results, sizeof results[0],
                                   VK_QUERY_RESULT_WAIT_BIT));
    if (!copies)
        return;
    commands = app_begin(app);
    vkCmdCopyQueryPoolResults(commands, pool, 0, 1, job->results.buffer, 0, sizeof results[0],
                              VK_QUERY_RESULT_WAIT_BIT);
    app_run(app, commands);
}

static void count(struct job *job)
{
    const struct app *app = job->app;
    const VkAcquireProfilingLockInfoKHR lock = {.sType = VK_STRUCTURE_TYPE_ACQUIRE_PROFILING_LOCK_INFO_KHR,
                                                .timeout = UINT64_MAX};
    VkPhysicalDevicePerformanceQueryPropertiesKHR have = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &have};
    VkQueryPoolPerformanceCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_PERFORMANCE_CREATE_INFO_KHR};
    uint32_t chosen[MOST], passes = 0;
    VkQueryPool pool;

    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    info.queueFamilyIndex = app->queue_family;
    info.counterIndexCount = choose(app, chosen);
    info.pCounterIndices = chosen;
    if (!info.counterIndexCount) {
        printf("the queue has no counters\n");
        return;
    }
    ((PFN_vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR)vkGetInstanceProcAddr(
        app->instance, "vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR"))(app->physical, &info, &passes);
    pool = make_pool(app, VK_QUERY_TYPE_PERFORMANCE_QUERY_KHR, 0, &info);
    CHECK_VK(
        ((PFN_vkAcquireProfilingLockKHR)app_device_function(app, "vkAcquireProfilingLockKHR"))(app->device, &lock));
    count_passes(job, pool, passes, have.allowCommandBufferQueryCopies);
    ((PFN_vkReleaseProfilingLockKHR)app_device_function(app, "vkReleaseProfilingLockKHR"))(app->device);
    vkDestroyQueryPool(app->device, pool, NULL);
    printf("%u counters in %u passes\n", info.counterIndexCount, passes);
}

/* ---- timestamps and statistics ---- */

static void measure(struct job *job, VkQueryPool pool, bool timestamps)
{
    const struct app *app = job->app;
    uint64_t results[RESULTS];
    VkCommandBuffer commands;

    reset(app, pool);
    job->value++;
    commands = app_begin(app);
    if (timestamps)
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool, 0);
    else
        vkCmdBeginQuery(commands, pool, 0, 0);
    fill(job, commands);
    if (timestamps)
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 1);
    else
        vkCmdEndQuery(commands, pool, 0);
    vkCmdCopyQueryPoolResults(commands, pool, 0, 1, job->results.buffer, 0, 8,
                              VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_64_BIT);
    app_run(app, commands);
    check(job);
    CHECK_VK(vkGetQueryPoolResults(app->device, pool, 0, timestamps ? 2 : 1, sizeof results, results, 8,
                                   VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_64_BIT));
    vkDestroyQueryPool(app->device, pool, NULL);
}

static void calibrate(const struct app *app)
{
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT ask =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)vkGetInstanceProcAddr(
            app->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    PFN_vkGetCalibratedTimestampsEXT get =
        (PFN_vkGetCalibratedTimestampsEXT)app_device_function(app, "vkGetCalibratedTimestampsEXT");
    VkTimeDomainEXT domains[8];
    VkCalibratedTimestampInfoEXT infos[8];
    uint64_t stamps[8], deviation;
    uint32_t count = 8;

    CHECK(ask);
    CHECK_VK(ask(app->physical, &count, domains));
    for (uint32_t i = 0; i < count; i++)
        infos[i] = (VkCalibratedTimestampInfoEXT){.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
                                                  .timeDomain = domains[i]};
    if (count)
        CHECK_VK(get(app->device, count, infos, stamps, &deviation));
}

static void ask_executables(const struct app *app)
{
    VkPipelineLayout layout;
    VkDescriptorSetLayoutBinding bindings[3];
    VkDescriptorSetLayout sets;
    VkPipelineExecutablePropertiesKHR executables[4];
    uint32_t count = 4;

    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    sets = app_set_layout(app, 3, bindings);
    layout = app_pipeline_layout(app, 1, &sets, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    const VkPipelineInfoKHR which = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR,
        .pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof compute_scale_comp, layout)};
    for (uint32_t i = 0; i < count; i++)
        executables[i] =
            (VkPipelineExecutablePropertiesKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR};
    VkResult result = ((PFN_vkGetPipelineExecutablePropertiesKHR)app_device_function(
        app, "vkGetPipelineExecutablePropertiesKHR"))(app->device, &which, &count, executables);
    CHECK(result == VK_SUCCESS || result == VK_INCOMPLETE);
    vkDestroyPipeline(app->device, which.pipeline, NULL);
    vkDestroyPipelineLayout(app->device, layout, NULL);
    vkDestroyDescriptorSetLayout(app->device, sets, NULL);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "counters", .what = "Measures work in all ways that the device has.", .frames = 2};
    VkPhysicalDevicePerformanceQueryFeaturesKHR counters = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PERFORMANCE_QUERY_FEATURES_KHR,
        .performanceCounterQueryPools = VK_TRUE};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE};
    VkPhysicalDeviceFeatures features = {0};
    struct app_device_request request = {.features = &features};
    const char *names[4];
    struct app app;
    struct job job;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "needs Vulkan 1.1");
    features.pipelineStatisticsQuery = app.features.pipelineStatisticsQuery;
    const bool counts = app_has_extension(&app, "VK_KHR_performance_query"),
               calibrates = app_has_extension(&app, "VK_EXT_calibrated_timestamps"),
               tells = app_has_extension(&app, "VK_KHR_pipeline_executable_properties");
    if (counts) {
        names[request.extension_count++] = "VK_KHR_performance_query";
        request.next = &counters;
    }
    if (calibrates)
        names[request.extension_count++] = "VK_EXT_calibrated_timestamps";
    if (tells) {
        names[request.extension_count++] = "VK_KHR_pipeline_executable_properties";
        executables.pNext = (void *)(uintptr_t)request.next;
        request.next = &executables;
    }
    request.extensions = names;
    app_device_create(&app, &request);
    job = (struct job){.app = &app};
    app_buffer_create(&app, &job.data, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    app_buffer_create(&app, &job.results, 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (counts)
            count(&job);
        if (app.queue_properties.timestampValidBits)
            measure(&job, make_pool(&app, VK_QUERY_TYPE_TIMESTAMP, 0, NULL), true);
        if (features.pipelineStatisticsQuery)
            measure(&job,
                    make_pool(&app, VK_QUERY_TYPE_PIPELINE_STATISTICS,
                              VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT, NULL),
                    false);
        if (calibrates)
            calibrate(&app);
        if (tells)
            ask_executables(&app);
    }
    printf("counters: %s, calibrated timestamps: %s, executables: %s\n", counts ? "yes" : "no",
           calibrates ? "yes" : "no", tells ? "yes" : "no");
    app_buffer_destroy(&app, &job.data);
    app_buffer_destroy(&app, &job.results);
    return app_finish(&app);
}
