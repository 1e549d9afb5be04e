/* SPDX-License-Identifier: MIT */
#include "server/answer.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/hash.h"

#define BUCKETS 1024u

struct lap_answer *lap_answer_new(enum lap_route_type type, void *body, size_t bytes)
{
    struct lap_answer *answer = calloc(1, sizeof *answer);
    void *fitting = body ? realloc(body, bytes ? bytes : 1) : NULL;

    if (fitting)
        body = fitting;
    if (!answer) {
        free(body);
        return NULL;
    }
    atomic_init(&answer->holders, 1);
    answer->status = 200;
    answer->type = type;
    answer->body = body;
    answer->bytes = bytes;
    return answer;
}

struct lap_answer *lap_answer_failed(int status, int exit, const char *format, ...)
{
    struct lap_answer *answer = lap_answer_new(LAP_TYPE_JSON, NULL, 0);
    va_list arguments;

    if (!answer)
        return NULL;
    answer->status = status;
    answer->exit = exit;
    va_start(arguments, format);
    (void)vsnprintf(answer->sentence, sizeof answer->sentence, format, arguments);
    va_end(arguments);
    return answer;
}

struct lap_answer *lap_answer_hold(struct lap_answer *answer)
{
    atomic_fetch_add_explicit(&answer->holders, 1, memory_order_relaxed);
    return answer;
}

void lap_answer_drop(struct lap_answer *answer)
{
    if (!answer || atomic_fetch_sub_explicit(&answer->holders, 1, memory_order_acq_rel) != 1)
        return;
    free(answer->body);
    free(answer);
}

struct kept {
    struct kept *next;          /* in the bucket */
    struct kept *newer, *older; /* by when it was asked for */
    struct lap_answer *answer;
    char url[];
};

struct lap_answers {
    pthread_mutex_t mutex;
    size_t bytes, most;
    struct kept *newest, *oldest;
    struct kept *buckets[BUCKETS];
};

struct lap_answers *lap_answers_new(size_t most)
{
    struct lap_answers *answers = calloc(1, sizeof *answers);

    if (!answers)
        return NULL;
    pthread_mutex_init(&answers->mutex, NULL);
    answers->most = most;
    return answers;
}

static struct kept **place_of(struct lap_answers *answers, const char *url)
{
    struct kept **place = &answers->buckets[lap_hash64(url, strlen(url)) % BUCKETS];

    while (*place && strcmp((*place)->url, url) != 0)
        place = &(*place)->next;
    return place;
}

static void unlink_age(struct lap_answers *answers, struct kept *kept)
{
    *(kept->newer ? &kept->newer->older : &answers->newest) = kept->older;
    *(kept->older ? &kept->older->newer : &answers->oldest) = kept->newer;
}

static void make_newest(struct lap_answers *answers, struct kept *kept)
{
    kept->newer = NULL;
    kept->older = answers->newest;
    *(kept->older ? &kept->older->newer : &answers->oldest) = kept;
    answers->newest = kept;
}

/* Together with what keeps it. */
static size_t size_of(const struct kept *kept)
{
    return kept->answer->bytes + sizeof *kept + sizeof *kept->answer + strlen(kept->url) + 1;
}

static void forget(struct lap_answers *answers, struct kept *kept)
{
    struct kept **place = place_of(answers, kept->url);

    *place = kept->next;
    unlink_age(answers, kept);
    answers->bytes -= size_of(kept);
    lap_answer_drop(kept->answer);
    free(kept);
}

void lap_answers_free(struct lap_answers **answers)
{
    if (!*answers)
        return;
    while ((*answers)->oldest)
        forget(*answers, (*answers)->oldest);
    pthread_mutex_destroy(&(*answers)->mutex);
    free(*answers);
    *answers = NULL;
}

struct lap_answer *lap_answers_get(struct lap_answers *answers, const char *url)
{
    struct lap_answer *answer = NULL;
    struct kept *kept;

    pthread_mutex_lock(&answers->mutex);
    kept = *place_of(answers, url);
    if (kept) {
        unlink_age(answers, kept);
        make_newest(answers, kept);
        answer = lap_answer_hold(kept->answer);
    }
    pthread_mutex_unlock(&answers->mutex);
    return answer;
}

void lap_answers_put(struct lap_answers *answers, const char *url, struct lap_answer *answer)
{
    size_t length = strlen(url) + 1;
    struct kept *kept = answer->bytes > answers->most / 2 ? NULL : malloc(sizeof *kept + length), **place;

    if (!kept)
        return;
    memcpy(kept->url, url, length);
    kept->next = NULL;
    kept->answer = lap_answer_hold(answer);
    pthread_mutex_lock(&answers->mutex);
    place = place_of(answers, url);
    if (*place)
        forget(answers, *place);
    place = place_of(answers, url);
    *place = kept;
    make_newest(answers, kept);
    answers->bytes += size_of(kept);
    while (answers->bytes > answers->most && answers->oldest != kept)
        forget(answers, answers->oldest);
    pthread_mutex_unlock(&answers->mutex);
}
