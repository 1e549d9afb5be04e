/* SPDX-License-Identifier: MIT */
#include "trace/receive/strangers.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "trace/send/exchange.h"

void lap_strangers_init(struct lap_strangers *strangers, unsigned most)
{
    pthread_mutex_init(&strangers->mutex, NULL);
    strangers->most = most;
    strangers->count = 0;
}

/* Under the lock. */
static void take_out(struct lap_strangers *strangers, unsigned i)
{
    strangers->count--;
    memmove(&strangers->all[i], &strangers->all[i + 1], (strangers->count - i) * sizeof *strangers->all);
}

/* Under the lock. */
static bool take_out_fd(struct lap_strangers *strangers, int fd)
{
    for (unsigned i = 0; i < strangers->count; i++)
        if (strangers->all[i].fd == fd) {
            take_out(strangers, i);
            return true;
        }
    return false;
}

/* Under the lock. */
static void end_oldest(struct lap_strangers *strangers)
{
    (void)shutdown(strangers->all[0].fd, SHUT_RDWR);
    take_out(strangers, 0);
}

void lap_strangers_enter(struct lap_strangers *strangers, int fd)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    bool full;

    pthread_mutex_lock(&strangers->mutex);
    (void)take_out_fd(strangers, fd);
    full = strangers->count == strangers->most;
    if (full)
        end_oldest(strangers);
    strangers->all[strangers->count].fd = fd;
    strangers->all[strangers->count++].since_ms = lap_exchange_now_ms();
    pthread_mutex_unlock(&strangers->mutex);
    if (full)
        (void)nanosleep(&moment, NULL);
}

bool lap_strangers_leave(struct lap_strangers *strangers, int fd)
{
    bool was_there;

    pthread_mutex_lock(&strangers->mutex);
    was_there = take_out_fd(strangers, fd);
    pthread_mutex_unlock(&strangers->mutex);
    return was_there;
}

int lap_strangers_end_old(struct lap_strangers *strangers, int most_ms)
{
    int64_t now = lap_exchange_now_ms(), left = most_ms;

    pthread_mutex_lock(&strangers->mutex);
    while (strangers->count && (left = strangers->all[0].since_ms + most_ms - now) <= 0)
        end_oldest(strangers);
    pthread_mutex_unlock(&strangers->mutex);
    return left > 0 ? (int)left : most_ms;
}
