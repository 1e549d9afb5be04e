/* SPDX-License-Identifier: MIT */
/*
 * priorities: hints of programs that manage their memory: priorities of allocations (VK_EXT_memory_priority), changed
 * afterwards (VK_EXT_pageable_device_local_memory), budgets that are asked again and again (VK_EXT_memory_budget),
 * reports of what the driver allocates (VK_EXT_device_memory_report), priorities of queues (VK_KHR_global_priority).
 * None of them changes what is computed: buffers are copied through such memory, and compared.
 */
#include "common/canvas.h"

#define PRIORITY "VK_EXT_memory_priority"
#define PAGEABLE "VK_EXT_pageable_device_local_memory"
#define BUDGET   "VK_EXT_memory_budget"
#define REPORT   "VK_EXT_device_memory_report"
#define QUEUES   "VK_KHR_global_priority"
#define BUFFERS  4u
#define WORDS    256u
#define ROUNDS   3u

struct state {
    struct app app;
    bool priority, pageable, budget, report, queues;
    struct app_buffer in, out;
    VkBuffer buffers[BUFFERS];
    VkDeviceMemory memories[BUFFERS];
    uint32_t reports; /* that came */
};

static VKAPI_ATTR void VKAPI_CALL on_report(const VkDeviceMemoryReportCallbackDataEXT *data, void *user)
{
    struct state *state = user;
    CHECK(data->sType == VK_STRUCTURE_TYPE_DEVICE_MEMORY_REPORT_CALLBACK_DATA_EXT);
    __atomic_add_fetch(&state->reports, 1, __ATOMIC_RELAXED);
}

static void ask_budget(const struct state *state)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                                .pNext = &budget};
    if (!state->budget)
        return;
    vkGetPhysicalDeviceMemoryProperties2(state->app.physical, &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount && !state->app.no_check; i++)
        CHECK(budget.heapBudget[i] && budget.heapBudget[i] <= memory.memoryProperties.memoryHeaps[i].size);
}

/* One buffer in memory of its own, of some priority. */
static void create_buffer(struct state *state, uint32_t number)
{
    const struct app *app = &state->app;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = WORDS * 4,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkMemoryPriorityAllocateInfoEXT priority = {.sType = VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT,
                                                      .priority = (float)number / (float)BUFFERS};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .pNext = state->priority ? &priority : NULL};
    VkMemoryRequirements needs;

    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &state->buffers[number]));
    vkGetBufferMemoryRequirements(app->device, state->buffers[number], &needs);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits, APP_DEVICE);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &state->memories[number]));
    CHECK_VK(vkBindBufferMemory(app->device, state->buffers[number], state->memories[number], 0));
}

/* From one to the next, and back to the host. */
static void copy_through(const struct state *state, uint32_t round)
{
    const struct app *app = &state->app;
    const VkBufferCopy region = {0, 0, WORDS * 4};
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < WORDS; i++)
        ((uint32_t *)state->in.mapped)[i] = round * 77777u + i * 5;
    app_buffer_flush(app, &state->in, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i <= BUFFERS; i++) {
        vkCmdCopyBuffer(commands, i ? state->buffers[i - 1] : state->in.buffer,
                        i < BUFFERS ? state->buffers[i] : state->out.buffer, 1, &region);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_HOST_BIT,
                           VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_HOST_READ_BIT);
    }
    app_run(app, commands);
    app_buffer_invalidate(app, &state->out, 0, VK_WHOLE_SIZE);
    for (uint32_t i = 0; i < WORDS; i++)
        EXPECT_EQ(app, ((uint32_t *)state->out.mapped)[i], round * 77777u + i * 5);
}

static void run(struct state *state)
{
    const struct app *app = &state->app;

    app_buffer_create(app, &state->in, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &state->out, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < BUFFERS; i++)
        create_buffer(state, i);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (state->pageable) {
            PFN_vkSetDeviceMemoryPriorityEXT set =
                (PFN_vkSetDeviceMemoryPriorityEXT)app_device_function(app, "vkSetDeviceMemoryPriorityEXT");
            for (uint32_t i = 0; i < BUFFERS; i++)
                set(app->device, state->memories[i], (float)((i + round) % BUFFERS) / (float)BUFFERS);
        }
        copy_through(state, round);
        ask_budget(state);
    }
    for (uint32_t i = 0; i < BUFFERS; i++) {
        vkDestroyBuffer(app->device, state->buffers[i], NULL);
        vkFreeMemory(app->device, state->memories[i], NULL);
    }
    app_buffer_destroy(app, &state->in);
    app_buffer_destroy(app, &state->out);
    CHECK(app->no_check || !state->report || state->reports);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {.name = "priorities", .what = "hints about memory and queues"};
    static struct state state;
    struct app *app = &state.app;
    VkPhysicalDeviceMemoryPriorityFeaturesEXT priority = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PRIORITY_FEATURES_EXT};
    VkPhysicalDevicePageableDeviceLocalMemoryFeaturesEXT pageable = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PAGEABLE_DEVICE_LOCAL_MEMORY_FEATURES_EXT};
    VkPhysicalDeviceDeviceMemoryReportFeaturesEXT report = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_MEMORY_REPORT_FEATURES_EXT};
    VkPhysicalDeviceGlobalPriorityQueryFeaturesKHR query = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GLOBAL_PRIORITY_QUERY_FEATURES_KHR};
    VkDeviceDeviceMemoryReportCreateInfoEXT callback = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT,
        .pfnUserCallback = on_report,
        .pUserData = &state};
    VkDeviceQueueGlobalPriorityCreateInfoKHR global = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR,
        .globalPriority = VK_QUEUE_GLOBAL_PRIORITY_MEDIUM_KHR};
    const float one = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &one};
    struct app_wishes wishes = {.app = app};
    struct app_device_request request = {0};

    app_init(app, argc, argv, &program);
    if (app->api_version < VK_API_VERSION_1_1)
        app_skip(app, "needs Vulkan 1.1");
    state.priority = APP_WISH(&wishes, PRIORITY, priority, memoryPriority);
    state.pageable = state.priority && APP_WISH(&wishes, PAGEABLE, pageable, pageableDeviceLocalMemory);
    state.report = APP_WISH(&wishes, REPORT, report, deviceMemoryReport);
    state.budget = app_wish(&wishes, BUDGET, NULL, 0, 0, NULL);
    state.queues = APP_WISH(&wishes, QUEUES, query, globalPriorityQuery);
    if (!wishes.extension_count)
        app_skip(app, "the device takes no such hints");
    printf("hints:%s%s%s%s%s\n", state.priority ? " priorities" : "", state.pageable ? " pageable" : "",
           state.report ? " reports" : "", state.budget ? " budgets" : "", state.queues ? " queues" : "");
    if (state.report) {
        callback.pNext = wishes.features;
        wishes.features = (VkBaseOutStructure *)&callback;
    }
    queue.queueFamilyIndex = app->queue_family;
    queue.pNext = state.queues ? &global : NULL;
    request.extensions = wishes.extensions;
    request.extension_count = wishes.extension_count;
    request.next = wishes.features;
    request.queues = &queue;
    request.queue_count = 1;
    app_device_create(app, &request);
    run(&state);
    return app_finish(app);
}
