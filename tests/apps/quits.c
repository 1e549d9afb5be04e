/* SPDX-License-Identifier: MIT */
/*
 * quits: leaves by exit() in a signal handler, which may have interrupted malloc() or the recording of a command. POSIX
 * promises nothing to such a program, and many do it all the same: it must end as it does without a layer. Not in
 * list.txt, since where it ends is up to chance; --frames is for how many milliseconds it runs.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "common/app.h"

static void leave(int number)
{
    exit(0);
}

/* In a thread of its own, with an arena of its own: what drivers free at exit lies in other arenas, so that without a
 * layer the program does end. */
static void *allocate(void *unused)
{
    uint32_t seed = 2;
    for (;;) {
        void *some[16];
        for (uint32_t i = 0; i < COUNT_OF(some); i++)
            some[i] = malloc(2000 + app_random(&seed) % 50000); /* past the thread's own cache, under the lock */
        for (uint32_t i = 0; i < COUNT_OF(some); i++)
            free(some[i]);
    }
    return unused;
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "quits",
        .what = "Allocates and submits until a signal handler calls exit().",
        .frames = 100,
    };
    struct timespec begin, now;
    struct app_buffer buffer;
    pthread_t thread;
    struct app app;
    uint32_t value = 1;
    bool left = false;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, 4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    signal(SIGUSR1, leave);
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        VkCommandBuffer commands = app_begin(&app);
        vkCmdFillBuffer(commands, buffer.buffer, 0, VK_WHOLE_SIZE, value++);
        app_run(&app, commands);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (!left && (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 > (long)app.frames)
            CHECK(pthread_kill(thread, SIGUSR1) == 0 && (left = true));
    }
}
