/* SPDX-License-Identifier: MIT */
/*
 * forks: threads that create, record and destroy, while the main thread submits, checks, and forks a
 * child in every frame. No child executes another program. They leave by exit, leave by _exit, make objects of their
 * parent's device (calls that need no thread of the driver), or make an instance and a device of their own and work
 * with these. With --bare the parent has no device while it forks, only an instance, of which children make devices,
 * too.
 */
#include "common/app.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 3u
#define BYTES   4096u

static bool bare;
static atomic_bool stop;
static const struct app_option options[] = {{"--bare", "the parent has no device while it forks", &bare, NULL}, {0}};
static const struct app_program program = {
    .name = "forks",
    .what = "Threads record while the main thread forks children that use Vulkan or leave.",
    .frames = 200,
    .options = options,
};

/* Objects that live for a moment; some memory is written through a mapping. */
static void churn(const struct app *app, VkCommandBuffer commands, uint32_t round)
{
    struct app_buffer buffer;
    app_buffer_create(app, &buffer, BYTES + round % 7 * 256, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_UPLOAD);
    memset(buffer.mapped, (int)round, BYTES);
    app_buffer_flush(app, &buffer, 0, buffer.size);
    if (commands) {
        VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        CHECK_VK(vkBeginCommandBuffer(commands, &begin));
        vkCmdFillBuffer(commands, buffer.buffer, 0, BYTES, round);
        CHECK_VK(vkEndCommandBuffer(commands));
        CHECK_VK(vkResetCommandBuffer(commands, 0));
    }
    app_buffer_destroy(app, &buffer);
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkFence fence;
    CHECK_VK(vkCreateFence(app->device, &info, NULL, &fence));
    CHECK_VK(vkGetFenceStatus(app->device, fence));
    vkDestroyFence(app->device, fence, NULL);
}

static void *work(void *argument)
{
    const struct app *app = argument;
    VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = app->queue_family;
    VkCommandPool pool;
    CHECK_VK(vkCreateCommandPool(app->device, &info, NULL, &pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    allocate.commandPool = pool;
    allocate.commandBufferCount = 1;
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(app->device, &allocate, &commands));
    for (uint32_t round = 0; !atomic_load(&stop); round++) {
        churn(app, commands, round);
        usleep(300); /* or a slow machine would record more than it can replay */
    }
    vkDestroyCommandPool(app->device, pool, NULL);
    return NULL;
}

/* The device copies what the host wrote. */
static void copy_and_check(const struct app *app, uint32_t salt)
{
    struct app_buffer from, to;
    app_buffer_create(app, &from, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &to, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < BYTES / 4; i++)
        ((uint32_t *)from.mapped)[i] = salt + i;
    app_buffer_flush(app, &from, 0, BYTES);
    VkCommandBuffer commands = app_begin(app);
    VkBufferCopy region = {0, 0, BYTES};
    vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &to, 0, BYTES);
    for (uint32_t i = 0; i < BYTES / 4; i++)
        EXPECT_EQ(app, ((uint32_t *)to.mapped)[i], salt + i);
    app_buffer_destroy(app, &from);
    app_buffer_destroy(app, &to);
}

/* A launcher's children may also make devices of the instance that it made for them. */
static void use_parents_instance(const struct app *app, uint32_t salt)
{
    struct app parents = *app;
    app_device_create(&parents, NULL);
    copy_and_check(&parents, salt);
    app_device_destroy(&parents);
}

static void use_own_instance(const struct app *app, char *path, uint32_t salt)
{
    char *arguments[] = {path, NULL};
    struct app own;
    app_init(&own, 1, arguments, &program);
    if (bare)
        use_parents_instance(app, salt + 1);
    app_device_create(&own, NULL);
    copy_and_check(&own, salt);
    app_close(&own);
}

enum { LEAVE_AT_ONCE, LEAVE, USE_PARENTS, USE_OWN, WAYS };

static _Noreturn void run_child(const struct app *app, char *path, uint32_t number)
{
    alarm(60); /* a child that hangs ends with a signal, and its parent with an error */
    uint32_t way = number % 8 == 7 ? USE_OWN : number % USE_OWN;
    if (way == LEAVE)
        exit(0);
    for (uint32_t round = 0; way == USE_PARENTS && app->device && round < 3; round++)
        churn(app, NULL, round);
    if (way == USE_OWN)
        use_own_instance(app, path, number);
    if (way == USE_OWN && bare)
        exit(0); /* with a device of the parent's, a driver may look there for threads that only the parent has */
    _exit(0);
}

static void fork_children(const struct app *app, char *path)
{
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            run_child(app, path, frame);
        if (app->device)
            copy_and_check(app, frame);
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            app_fail(__FILE__, __LINE__, "child %u ended with status 0x%x", frame, (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    struct app app;
    pthread_t threads[THREADS];
    app_init(&app, argc, argv, &program);
    if (bare)
        fork_children(&app, argv[0]);
    app_device_create(&app, NULL);
    if (!bare) {
        for (uint32_t i = 0; i < THREADS; i++)
            CHECK(!pthread_create(&threads[i], NULL, work, &app));
        fork_children(&app, argv[0]);
        atomic_store(&stop, true);
        for (uint32_t i = 0; i < THREADS; i++)
            CHECK(!pthread_join(threads[i], NULL));
    }
    copy_and_check(&app, 7);
    return app_finish(&app);
}
