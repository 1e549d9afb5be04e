/* SPDX-License-Identifier: MIT */
/*
 * engine: the Vulkan of tests/apps/lives.c. What is filled is looked at in each round, also where the process is ending
 * already. It prints how often it has submitted.
 */
#include <pthread.h>

#include "tests/apps/common/app.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int engine_run(int argc, char **argv);
EXPORT void engine_end(void);

#define SIZE      4096u
#define THREADS   12u
#define CANCELLED 20u
#define ROUNDS    50u

static struct app app;
static struct app_buffer buffer;
static uint32_t value;
static bool leave, ends_later, at_exit, reopen, exits, cancels;

static void run_commands(VkCommandBuffer commands)
{
    app_run(&app, commands);
    app_buffer_invalidate(&app, &buffer, 0, SIZE);
    for (uint32_t at = 0; at < SIZE; at += 4) {
        uint32_t found;
        memcpy(&found, buffer.mapped + at, 4);
        EXPECT_EQ(&app, found, value);
    }
}

static void record(VkCommandBuffer commands)
{
    vkCmdFillBuffer(commands, buffer.buffer, 0, VK_WHOLE_SIZE, ++value);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

static void fill(void)
{
    VkCommandBuffer commands = app_begin(&app);
    record(commands);
    run_commands(commands);
}

static void finish(void)
{
    app_buffer_destroy(&app, &buffer);
    printf("%u submits\n", value);
    app_finish(&app);
}

void engine_end(void)
{
    fill();
    finish();
}

/* ---- threads that end in the middle ---- */

static void *begin_and_leave(void *unused)
{
    VkCommandBuffer commands = app_begin(&app);
    record(commands);
    pthread_exit(commands);
}

/* Another thread goes on with what they began. */
static void let_threads_leave(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        void *commands;
        CHECK(pthread_create(&thread, NULL, begin_and_leave, NULL) == 0 && pthread_join(thread, &commands) == 0);
        run_commands(commands);
    }
}

static bool got_through;

/* It is cancelled at the next place where a thread may be, and of that there is none among these calls: they neither
 * wait nor write. Commands are new each time. */
static void *record_while_cancelled(void *pool)
{
    const VkCommandBufferAllocateInfo allocation = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                    .commandPool = *(VkCommandPool *)pool,
                                                    .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                    .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    uint32_t data[SIZE / 4], seed = value;
    VkCommandBuffer commands;
    CHECK(pthread_cancel(pthread_self()) == 0);
    CHECK_VK(vkAllocateCommandBuffers(app.device, &allocation, &commands));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        VkFence fence;
        CHECK_VK(vkCreateFence(app.device, &info, NULL, &fence));
        vkDestroyFence(app.device, fence, NULL);
        for (uint32_t i = 0; i < COUNT_OF(data); i++)
            data[i] = app_random(&seed);
        CHECK_VK(vkBeginCommandBuffer(commands, &begin));
        vkCmdUpdateBuffer(commands, buffer.buffer, 0, sizeof data, data);
        CHECK_VK(vkEndCommandBuffer(commands));
        CHECK_VK(vkResetCommandBuffer(commands, 0));
    }
    got_through = true;
    pthread_testcancel();
    return NULL;
}

static void cancel_threads(void)
{
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app.queue_family};
    for (uint32_t i = 0; i < CANCELLED; i++) {
        VkCommandPool pool;
        pthread_t thread;
        CHECK_VK(vkCreateCommandPool(app.device, &info, NULL, &pool));
        void *result;
        got_through = false;
        CHECK(pthread_create(&thread, NULL, record_while_cancelled, &pool) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && got_through);
        fill();
        vkDestroyCommandPool(app.device, pool, NULL);
    }
}

int engine_run(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--reopen", "close the library when all is done, and open it again", &reopen, NULL},
        {"--leave", "return from main with everything alive", &leave, NULL},
        {"--at-exit", "go on in a handler of exit()", &at_exit, NULL},
        {"--destructor", "go on in a destructor of the program", &ends_later, NULL},
        {"--plugin", "go on in a destructor of a library that was opened last", &ends_later, NULL},
        {"--behind", "go on behind all destructors", &ends_later, NULL},
        {"--exits", "threads that end while they record", &exits, NULL},
        {"--cancels", "threads that are cancelled while they record", &cancels, NULL},
        {0}};
    static const struct app_program program = {
        .name = "lives", .what = "Begins and ends in unusual ways.", .frames = 3, .options = options};

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, SIZE, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        fill();
    if (exits)
        let_threads_leave();
    if (cancels)
        cancel_threads();
    if (at_exit)
        CHECK(atexit(engine_end) == 0);
    else if (leave)
        printf("%u submits\nok lives\n", value);
    else if (!ends_later)
        finish();
    return 0;
}
