/* SPDX-License-Identifier: MIT */
#include "replayer/sync/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "gen_ids.h"
#include "replayer/core/result.h"
#include "replayer/sync/wait.h"

struct replay_watchdog {
    struct replay *r;
    _Atomic uint64_t steps;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    bool end;
    struct replay_watched watched; /* the thread's own */
};

/* Whoever reads the output may pause, and with it the replay. */
static bool output_has_room(int progress_fd)
{
    struct pollfd to[] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                          {.fd = STDERR_FILENO, .events = POLLOUT},
                          {.fd = progress_fd ? progress_fd : -1, .events = POLLOUT}};
    const nfds_t count = sizeof to / sizeof *to;

    (void)poll(to, count, 0);
    for (nfds_t i = 0; i < count; i++)
        if (to[i].fd >= 0 && !to[i].revents)
            return false;
    return true;
}

/* CPU time may be work of the device, where the driver computes on the CPU, but not in such a call. */
static bool may_compute(uint64_t packet)
{
    const char *name = gen_command_names[packet & ((1u << REPLAY_WATCH_COMMAND_BITS) - 1)];

    return packet == REPLAY_WATCH_NO_PACKET ||
           (strncmp(name, "vkCreate", 8) != 0 && strcmp(name, "vkDeferredOperationJoinKHR") != 0);
}

/* The thread that plays is in the driver, which may have locks: no exit handlers. */
static _Noreturn void end_process(struct replay *r)
{
    (void)replay_wait_too_long(r, "a call of the driver");
    lap_log(r->log, LAP_LOG_ERROR, "%s", lap_error_message());
    if (r->options.report_fd >= 0)
        replay_result_write_failed(r->options.report_fd, LAP_TOOL_FAILED, lap_error_message());
    if (ftrylockfile(stdout) == 0)
        (void)fflush(stdout);
    _exit(LAP_TOOL_FAILED);
}

bool replay_watched_is_over(struct replay_watched *watched, const struct replay_look *look, uint64_t limit_ms)
{
    /* More where the process was stopped. */
    const uint64_t passed = look->passed_ms < REPLAY_WATCHDOG_SLEEP_MS ? look->passed_ms : REPLAY_WATCHDOG_SLEEP_MS;

    if (!look->packet || look->packet != watched->packet || look->steps != watched->steps) {
        *watched = (struct replay_watched){look->packet, look->steps, {.cpu_ms = look->cpu_ms}};
        return false;
    }
    if (!look->has_room) {
        watched->wait.cpu_ms = look->cpu_ms;
        return false;
    }
    return replay_wait_count(&watched->wait, limit_ms, watched->wait.now_ms + passed, look->cpu_ms,
                             may_compute(look->packet));
}

static void look_at(struct replay_watchdog *dog, uint64_t passed_ms)
{
    struct replay *r = dog->r;
    const struct replay_look look = {.packet = atomic_load_explicit(&r->watch.packet, memory_order_acquire),
                                     .steps = atomic_load_explicit(&dog->steps, memory_order_relaxed),
                                     .passed_ms = passed_ms,
                                     .cpu_ms = replay_wait_cpu_ms(),
                                     .has_room = output_has_room(r->options.progress_fd)};

    if (replay_watched_is_over(&dog->watched, &look, replay_wait_limit_ms(r)) &&
        look.packet == atomic_load_explicit(&r->watch.packet, memory_order_acquire))
        end_process(r);
}

static void *watch(void *argument)
{
    struct replay_watchdog *dog = argument;

    pthread_mutex_lock(&dog->mutex);
    while (!dog->end) {
        const uint64_t before = replay_now_ms(), until = before + REPLAY_WATCHDOG_SLEEP_MS;
        const struct timespec at = {(time_t)(until / 1000), (long)(until % 1000) * 1000000};
        while (!dog->end && pthread_cond_timedwait(&dog->ends, &dog->mutex, &at) != ETIMEDOUT)
            ;
        if (dog->end)
            break;
        look_at(dog, replay_now_ms() - before);
    }
    pthread_mutex_unlock(&dog->mutex);
    return NULL;
}

static void free_dog(struct replay_watchdog *dog)
{
    pthread_cond_destroy(&dog->ends);
    pthread_mutex_destroy(&dog->mutex);
    free(dog);
}

void replay_watchdog_begin(struct replay *r)
{
    struct replay_watchdog *dog = calloc(1, sizeof *dog);
    pthread_condattr_t monotonic;
    int error = ENOMEM;

    if (dog) {
        dog->r = r;
        pthread_mutex_init(&dog->mutex, NULL);
        pthread_condattr_init(&monotonic);
        pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        pthread_cond_init(&dog->ends, &monotonic);
        pthread_condattr_destroy(&monotonic);
        error = pthread_create(&dog->thread, NULL, watch, dog);
    }
    if (error) {
        lap_log(r->log, LAP_LOG_WARNING, "a call of the driver has no time limit: %s", strerror(error));
        if (dog)
            free_dog(dog);
        return;
    }
    r->watch.dog = dog;
    r->watch.step_count = &dog->steps;
}

void replay_watchdog_end(struct replay *r)
{
    struct replay_watchdog *dog = r->watch.dog;

    if (!dog)
        return;
    r->watch.dog = NULL;
    r->watch.step_count = NULL;
    pthread_mutex_lock(&dog->mutex);
    dog->end = true;
    pthread_cond_signal(&dog->ends);
    pthread_mutex_unlock(&dog->mutex);
    pthread_join(dog->thread, NULL);
    free_dog(dog);
}
