/* SPDX-License-Identifier: MIT */
/*
 * loads: dies while it loads: it has a window with a swapchain and submits uploads, but has presented nothing yet when
 * it ends as --end says; with --threads others create and destroy buffers meanwhile. Each call that has returned is
 * counted in a file (LOADS_RETURNED) that outlives the process. Not in list.txt, since it does not end well.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/app.h"
#include "common/target.h"

#define WORDS        (4u << 10)
#define MOST_THREADS 16u

static uint32_t how, thread_count;
static bool masked;

enum { ABORT = 1, KILL, EXIT, TERMINATE, FAULT, WAIT };

/* [0]: submits of the first thread; others: buffers that a thread has created. */
static _Atomic uint64_t own[1 + MOST_THREADS], *returned = own;

static void open_counts(void)
{
    const char *path = getenv("LOADS_RETURNED");
    int file = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0)
        return;
    CHECK(ftruncate(file, sizeof(own)) == 0);
    returned = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(returned != MAP_FAILED);
    close(file);
}

struct worker {
    const struct app *app;
    uint32_t number;
};

static void *create_buffers(void *argument)
{
    const struct worker *worker = argument;
    sigset_t all;
    sigfillset(&all);
    if (masked)
        CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    for (uint32_t i = 0;; i++) {
        const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = 16 + i % 4096,
                                         .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
        VkBuffer buffer;
        CHECK_VK(vkCreateBuffer(worker->app->device, &info, NULL, &buffer));
        returned[worker->number]++;
        vkDestroyBuffer(worker->app->device, buffer, NULL);
    }
    return NULL;
}

static void end(void)
{
    switch (how) {
    case ABORT:
        abort();
    case KILL:
        raise(SIGKILL);
        break;
    case EXIT:
        _exit(0);
    case TERMINATE:
        raise(SIGTERM);
        break;
    case FAULT:
        raise(SIGSEGV);
        break;
    case WAIT:
        pause();
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--end", "1: abort, 2: SIGKILL, 3: _exit, 4: SIGTERM, 5: SIGSEGV, 6: wait for somebody", NULL, &how},
        {"--threads", "how many create buffers meanwhile", NULL, &thread_count},
        {"--masked", "they have all signals blocked", &masked, NULL},
        {0}};
    static const struct app_program program = {.name = "loads",
                                               .what = "Dies before it has presented anything.",
                                               .frames = 300,
                                               .can_present = true,
                                               .presents_by_default = true,
                                               .options = options};
    struct worker workers[MOST_THREADS];
    struct app_buffer upload, result;
    struct app_swapchain swapchain = {0};
    struct app_window window = {0};
    struct app app;
    uint32_t seed = 1;

    app_init(&app, argc, argv, &program);
    open_counts();
    app_device_create(&app, NULL);
    if (app.present) {
        app_window_open(&app, &window, app.width, app.height);
        CHECK(app_swapchain_create(&app, &swapchain, window.surface, VK_PRESENT_MODE_FIFO_KHR, app.width, app.height));
    }
    for (uint32_t i = 0; i < thread_count && i < MOST_THREADS; i++) {
        pthread_t thread;
        workers[i] = (struct worker){&app, i + 1};
        CHECK(pthread_create(&thread, NULL, create_buffers, &workers[i]) == 0);
    }
    app_buffer_create(&app, &upload, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(&app, &result, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        const VkBufferCopy region = {0, 0, WORDS * 4};
        for (uint32_t i = 0; i < WORDS; i++)
            ((uint32_t *)upload.mapped)[i] = app_random(&seed);
        app_buffer_flush(&app, &upload, 0, VK_WHOLE_SIZE);
        VkCommandBuffer commands = app_begin(&app);
        vkCmdCopyBuffer(commands, upload.buffer, result.buffer, 1, &region);
        app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                           VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
        app_run(&app, commands);
        returned[0]++;
        app_buffer_invalidate(&app, &result, 0, VK_WHOLE_SIZE);
        CHECK(memcmp(upload.mapped, result.mapped, WORDS * 4) == 0);
    }
    end();
    CHECK(thread_count == 0); /* they don't end */
    app_buffer_destroy(&app, &upload);
    app_buffer_destroy(&app, &result);
    if (app.present) {
        app_swapchain_destroy(&app, &swapchain);
        app_window_close(&app, &window);
    }
    return app_finish(&app);
}
