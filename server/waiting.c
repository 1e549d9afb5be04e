/* SPDX-License-Identifier: MIT */
#include "server/waiting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define UNUSED_MS (5 * 60 * 1000)

struct place {
    char id[LAP_CAPTURE_ID_BYTES];
    const char *path;
    char frame[LAP_QUESTION_FRAME_BYTES];
    char gpu[LAP_ROUTE_TEXT_BYTES]; /* "": it is not chosen */
};

struct waiter {
    struct lap_worker *worker;
    struct place place;
    bool plays; /* what is in front of the frame */
};

struct lap_waiting {
    struct lap_worker_job job;
    unsigned most;
    pthread_t thread; /* makes and ends them */
    pthread_mutex_t mutex;
    int wake; /* eventfd */
    struct waiter at[LAP_WAITING_MOST];
    unsigned count;
    struct place place;
    bool wanted; /* some are, there */
    int64_t wanted_ms;
    unsigned busy;
    bool ending;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_same(const struct place *a, const struct place *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->frame, b->frame) == 0 && strcmp(a->gpu, b->gpu) == 0;
}

static struct place place_of(const struct lap_capture *capture, const char *frame, const char *gpu)
{
    struct place place = {.path = capture->path};

    memcpy(place.id, capture->id, sizeof place.id);
    snprintf(place.frame, sizeof place.frame, "%s", frame);
    snprintf(place.gpu, sizeof place.gpu, "%s", gpu ? gpu : "");
    return place;
}

/* ---- under the lock ---- */

static struct lap_worker *take_out(struct lap_waiting *w, unsigned number)
{
    struct lap_worker *worker = w->at[number].worker;

    w->at[number] = w->at[--w->count];
    return worker;
}

/* Ending takes as long as the driver needs: without the lock. */
static void end(struct lap_waiting *w, unsigned number)
{
    struct lap_worker *worker = take_out(w, number);

    pthread_mutex_unlock(&w->mutex);
    lap_worker_end(&worker);
    pthread_mutex_lock(&w->mutex);
}

static void end_others(struct lap_waiting *w)
{
    for (unsigned i = 0; i < w->count;)
        if (w->wanted && is_same(&w->at[i].place, &w->place))
            i++;
        else {
            end(w, i);
            i = 0;
        }
}

static bool one_plays(const struct lap_waiting *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (w->at[i].plays)
            return true;
    return false;
}

static void begin_one(struct lap_waiting *w)
{
    struct waiter one = {.place = w->place, .plays = true};

    w->job.file = w->place.path;
    w->job.playing.gpu = *w->place.gpu ? w->place.gpu : NULL;
    one.worker = lap_worker_wait(&w->job, w->place.frame);
    if (one.worker)
        w->at[w->count++] = one;
    else
        w->wanted = false;
}

/* One that ends by itself is not made again until it is wanted again. */
static void look_at_all(struct lap_waiting *w)
{
    for (unsigned i = 0; i < w->count;) {
        enum lap_worker_state state = lap_worker_look(w->at[i].worker);
        w->at[i].plays = state == LAP_WORKER_PLAYS;
        if (state != LAP_WORKER_GONE) {
            i++;
            continue;
        }
        w->wanted = w->wanted && !is_same(&w->at[i].place, &w->place);
        end(w, i);
        i = 0;
    }
}

static void wait_for_change(struct lap_waiting *w)
{
    struct pollfd fds[LAP_WAITING_MOST + 1] = {{.fd = w->wake, .events = POLLIN}};
    const nfds_t count = w->count + 1;
    const int64_t left = w->wanted_ms + UNUSED_MS - now_ms();
    const int ms = !w->wanted ? -1 : left < 0 ? 0 : (int)left;
    eventfd_t ignored;

    for (unsigned i = 0; i < w->count; i++)
        fds[i + 1] = (struct pollfd){.fd = lap_worker_fd(w->at[i].worker), .events = POLLIN};
    pthread_mutex_unlock(&w->mutex);
    (void)poll(fds, count, ms);
    (void)eventfd_read(w->wake, &ignored);
    pthread_mutex_lock(&w->mutex);
}

static void *run(void *argument)
{
    struct lap_waiting *w = argument;

    pthread_mutex_lock(&w->mutex);
    while (!w->ending) {
        look_at_all(w);
        if (now_ms() - w->wanted_ms >= UNUSED_MS)
            w->wanted = false;
        end_others(w);
        if (w->wanted && !w->busy && w->count < w->most && !one_plays(w) && !w->ending)
            begin_one(w);
        if (!w->ending)
            wait_for_change(w);
    }
    while (w->count)
        end(w, 0);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void wake(struct lap_waiting *w)
{
    (void)eventfd_write(w->wake, 1);
}

/* ---- from outside ---- */

/* Signals are for other threads. */
static bool begin_thread(struct lap_waiting *w)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

struct lap_waiting *lap_waiting_new(const struct lap_worker_job *job, unsigned count)
{
    struct lap_waiting *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->job = *job;
    w->most = count;
    pthread_mutex_init(&w->mutex, NULL);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake >= 0 && begin_thread(w))
        return w;
    if (w->wake >= 0)
        close(w->wake);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    return NULL;
}

void lap_waiting_free(struct lap_waiting **waiting)
{
    struct lap_waiting *w = *waiting;

    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->ending = true;
    pthread_mutex_unlock(&w->mutex);
    wake(w);
    pthread_join(w->thread, NULL);
    close(w->wake);
    pthread_mutex_destroy(&w->mutex);
    free(w);
    *waiting = NULL;
}

void lap_waiting_busy(struct lap_waiting *w, bool begins)
{
    bool changes;

    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    changes = begins ? w->busy++ == 0 : --w->busy == 0;
    for (unsigned i = 0; i < w->count && changes; i++)
        lap_worker_pause(w->at[i].worker, begins);
    pthread_mutex_unlock(&w->mutex);
    if (changes && !begins)
        wake(w);
}

void lap_waiting_want(struct lap_waiting *w, const struct lap_capture *capture, const char *frame, const char *gpu)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->place = place_of(capture, frame, gpu);
    w->wanted = true;
    w->wanted_ms = now_ms();
    pthread_mutex_unlock(&w->mutex);
    wake(w);
}

struct lap_worker *lap_waiting_take(struct lap_waiting *w, const struct lap_capture *capture, const char *frame,
                                    const char *gpu)
{
    struct lap_worker *worker = NULL;
    struct place place;
    unsigned best;

    if (!w)
        return NULL;
    place = place_of(capture, frame, gpu);
    pthread_mutex_lock(&w->mutex);
    best = w->count;
    for (unsigned i = 0; i < w->count; i++)
        if (is_same(&w->at[i].place, &place) && (best == w->count || w->at[best].plays))
            best = i;
    if (best < w->count)
        worker = take_out(w, best);
    pthread_mutex_unlock(&w->mutex);
    return worker;
}

bool lap_waiting_clear(struct lap_waiting *w)
{
    bool any;

    if (!w)
        return false;
    pthread_mutex_lock(&w->mutex);
    w->wanted = false;
    any = w->count > 0;
    while (w->count)
        end(w, 0);
    pthread_mutex_unlock(&w->mutex);
    return any;
}
