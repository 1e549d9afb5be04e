/* SPDX-License-Identifier: MIT */
/*
 * frames: how long each frame of a program takes, whatever records it below: from the beginning of one
 * vkQueuePresentKHR to that of the next, over all queues.
 *
 *   LAPILLI_FRAME_TIMES  the file that gets a line for each: nanoseconds. Without it nothing is measured.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/layers/chain.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last;
static int file = -1;

static void start(void)
{
    const char *path = getenv("LAPILLI_FRAME_TIMES");
    if (path)
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void note(void)
{
    struct timespec time;
    char line[32];

    clock_gettime(CLOCK_MONOTONIC, &time);
    const uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    pthread_mutex_lock(&mutex);
    const int bytes = last ? snprintf(line, sizeof line, "%" PRIu64 "\n", now - last) : 0;
    if (bytes && write(file, line, (size_t)bytes) != bytes) {
        close(file); /* there is no room: nothing more is said */
        file = -1;
    }
    last = now;
    pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info)
{
    if (file >= 0)
        note();
    return chain_device_of(queue)->next.QueuePresentKHR(queue, info);
}

static const struct chain_function *functions(size_t i)
{
    static const struct chain_function table[] = {CHAIN_OWN(QueuePresentKHR), CHAIN_END};
    return i == 0 ? table : NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .start = start, .functions = functions};
