/* SPDX-License-Identifier: MIT */
#include "replayer/core/call_times.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "gen_ids.h"

struct replay_call_times {
    uint64_t first_frame, last_frame;
    struct replay_call_time now[GEN_COMMAND_COUNT]; /* of the frame */
    uint64_t frame;                                 /* 0: none yet */
    struct replay_call_time *all;
    size_t count, capacity;
    bool failed;
};

struct replay_call_times *replay_call_times_create(uint64_t first_frame, uint64_t last_frame)
{
    struct replay_call_times *times = calloc(1, sizeof *times);

    if (times) {
        times->first_frame = first_frame;
        times->last_frame = last_frame;
    }
    return times;
}

void replay_call_times_destroy(struct replay_call_times **times)
{
    if (*times)
        free((*times)->all);
    free(*times);
    *times = NULL;
}

uint64_t replay_call_times_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const struct replay_call_time *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

static void end_frame(struct replay_call_times *t)
{
    const size_t first = t->count;

    for (uint32_t i = 0; i < GEN_COMMAND_COUNT; i++) {
        if (!t->now[i].calls)
            continue;
        if (!lap_array_grow(&t->all, sizeof *t->all, &t->capacity, t->count + 1)) {
            t->failed = true;
            break;
        }
        t->all[t->count++] = t->now[i];
        t->now[i] = (struct replay_call_time){.calls = 0};
    }
    if (t->count > first)
        qsort(&t->all[first], t->count - first, sizeof *t->all, compare);
}

void replay_call_times_add(struct replay_call_times *t, uint64_t frame, uint32_t command, uint64_t began)
{
    struct replay_call_time *now = &t->now[command];

    if (frame < t->first_frame || frame > t->last_frame)
        return;
    if (frame != t->frame)
        end_frame(t);
    t->frame = frame;
    now->frame = frame;
    now->command = command;
    now->calls++;
    now->ns += replay_call_times_now() - began;
}

enum lap_status replay_call_times_list(struct replay_call_times *t, const struct replay_call_time **out,
                                       size_t *out_count)
{
    end_frame(t);
    *out = t->all;
    *out_count = t->count;
    return t->failed ? lap_no_memory("the time of calls") : LAP_OK;
}
