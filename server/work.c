/* SPDX-License-Identifier: MIT */
#include "server/work.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/array.h"
#include "base/exit_code.h"
#include "server/waiting.h"

#define KINDS   (LAP_ROUTE_FILM + 1u)
#define MOST_FILES 65536u /* of a work; the cache has others, too */
#define LOOK_MS 200u /* how often it is looked whether the one who asks is still there */

struct lap_work {
    struct lap_works *works;
    struct lap_work *next;
    uint64_t number;
    char url[LAP_ROUTE_URL_BYTES];
    struct lap_question question; /* its values are in `values` */
    char *values[LAP_ROUTE_VALUES];
    bool has_capture;
    struct lap_capture capture;
    int stop;         /* eventfd */
    unsigned holders; /* those who wait, and its thread */
    unsigned waiting;
    bool told_to_end, runs;
    struct lap_work_view view;
    char **files; /* URLs */
    size_t file_capacity;
};

struct lap_works {
    struct lap_works_options options;
    struct lap_waiting *waiting; /* NULL: none do */
    pthread_mutex_t mutex; /* for all works */
    pthread_cond_t changed;
    struct lap_work *first;
    unsigned count, running[KINDS], threads;
    uint64_t next_number;
    bool ending;
};

struct lap_works *lap_works_new(const struct lap_works_options *options)
{
    const struct lap_worker_job waiting = {.programs = options->programs,
                                           .playing = options->playing,
                                           .scratch = options->scratch,
                                           .most = options->most_bytes,
                                           .stop = -1};
    struct lap_works *works = calloc(1, sizeof *works);
    pthread_condattr_t monotonic;

    if (!works)
        return NULL;
    if (options->waiting && !(works->waiting = lap_waiting_new(&waiting, options->waiting))) {
        free(works);
        return NULL;
    }
    works->options = *options;
    works->next_number = 1;
    pthread_mutex_init(&works->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&works->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return works;
}

enum lap_status lap_work_url(const struct lap_capture *capture, const struct lap_question *question,
                             char out[LAP_ROUTE_URL_BYTES])
{
    char below[LAP_ROUTE_URL_BYTES];
    enum lap_status status = lap_question_url(question, below);
    int length;

    if (status != LAP_OK)
        return status;
    length = capture ? snprintf(out, LAP_ROUTE_URL_BYTES, "/v1/captures/%s/%s", capture->id, below)
                     : snprintf(out, LAP_ROUTE_URL_BYTES, "/v1/%s", below);
    return length < (int)LAP_ROUTE_URL_BYTES ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "the path is too long");
}

/* ---- life ---- */

static void free_work(struct lap_work *work)
{
    for (size_t i = 0; i < LAP_ROUTE_VALUES; i++)
        free(work->values[i]);
    for (size_t i = 0; i < work->view.files; i++)
        free(work->files[i]);
    free(work->files);
    if (work->stop >= 0)
        close(work->stop);
    lap_answer_drop(work->view.answer);
    free(work);
}

static bool copy_question(struct lap_work *work, const struct lap_question *question)
{
    work->question.route = question->route;
    for (size_t i = 0; i < LAP_ROUTE_VALUES; i++) {
        if (!question->values[i])
            continue;
        if (!(work->values[i] = strdup(question->values[i])))
            return false;
        work->question.values[i] = work->values[i];
    }
    return true;
}

static struct lap_work *new_work(struct lap_works *works, const struct lap_capture *capture,
                                 const struct lap_question *question, const char *url)
{
    struct lap_work *work = calloc(1, sizeof *work);

    if (!work)
        return NULL;
    work->works = works;
    work->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    memcpy(work->url, url, strlen(url) + 1);
    work->has_capture = capture != NULL;
    if (capture)
        work->capture = *capture;
    if (work->stop < 0 || !copy_question(work, question)) {
        free_work(work);
        return NULL;
    }
    return work;
}

/* Under the lock. */
static void drop(struct lap_work *work)
{
    if (--work->holders == 0)
        free_work(work);
}

/* Under the lock: nobody finds it any more. */
static void unlink_work(struct lap_work *work)
{
    struct lap_work **place = &work->works->first;

    while (*place && *place != work)
        place = &(*place)->next;
    if (!*place)
        return;
    *place = work->next;
    work->works->count--;
}

/* Under the lock. A later question with the same URL begins anew. */
static void tell_to_end(struct lap_work *work)
{
    if (work->told_to_end || work->view.answer)
        return;
    work->told_to_end = true;
    (void)eventfd_write(work->stop, 1);
    unlink_work(work);
    pthread_cond_broadcast(&work->works->changed);
}

/* ---- running ---- */

static unsigned most_at_once(const struct lap_works *works, enum lap_route_kind kind)
{
    return kind == LAP_ROUTE_READS ? works->options.at_once : kind == LAP_ROUTE_PLAYS ? 2 : 1;
}

static void show_progress(void *user, uint64_t done, uint64_t all)
{
    struct lap_work *work = user;

    pthread_mutex_lock(&work->works->mutex);
    work->view.done = done;
    work->view.all = all;
    work->view.version++;
    pthread_cond_broadcast(&work->works->changed);
    pthread_mutex_unlock(&work->works->mutex);
}

static void keep_file(void *user, const struct lap_question *question, struct lap_answer *answer)
{
    struct lap_work *work = user;
    char url[LAP_ROUTE_URL_BYTES];
    char *copy;

    if (lap_work_url(work->has_capture ? &work->capture : NULL, question, url) != LAP_OK)
        return;
    lap_answers_put(work->works->options.answers, url, answer);
    copy = strdup(url);
    pthread_mutex_lock(&work->works->mutex);
    if (copy && work->view.files < MOST_FILES &&
        lap_array_grow(&work->files, sizeof *work->files, &work->file_capacity, work->view.files + 1)) {
        work->files[work->view.files++] = copy;
        copy = NULL;
    }
    work->view.version++;
    pthread_cond_broadcast(&work->works->changed);
    pthread_mutex_unlock(&work->works->mutex);
    free(copy);
}

/* Whether the file is another one than at the question. */
static bool has_changed(struct lap_work *work)
{
    struct lap_capture now;
    bool gone;

    return work->has_capture && lap_capture_find(work->works->options.captures, work->capture.id, &now, &gone) != LAP_OK;
}

/* By a replay that waits for it, if there is one; else from the beginning. */
static struct lap_answer *run_job(struct lap_work *work, const struct lap_worker_job *job)
{
    struct lap_waiting *waiting = work->works->waiting;
    const char *gpu = lap_question_playing(&work->question, &job->playing).gpu;
    char frame[LAP_QUESTION_FRAME_BYTES];
    bool may_wait = work->has_capture && lap_question_frame(&work->question, frame);
    struct lap_worker *worker = may_wait ? lap_waiting_take(waiting, &work->capture, frame, gpu) : NULL;
    struct lap_answer *answer = worker ? lap_worker_ask(&worker, job) : NULL;

    if (!answer)
        answer = lap_worker_run(job);
    /* Perhaps it lacked the memory that they have. */
    if (answer && answer->status != 200 && answer->exit == LAP_TOOL_FAILED && !answer->gave_up && work->question.route->kind != LAP_ROUTE_READS &&
        lap_waiting_clear(waiting)) {
        lap_answer_drop(answer);
        answer = lap_worker_run(job);
    }
    if (may_wait && answer && answer->status == 200)
        lap_waiting_want(waiting, &work->capture, frame, gpu);
    return answer;
}

static struct lap_answer *run(struct lap_work *work)
{
    const struct lap_works_options *options = &work->works->options;
    const struct lap_worker_job job = {.question = &work->question,
                                       .programs = options->programs,
                                       .file = work->has_capture ? work->capture.path : NULL,
                                       .playing = options->playing,
                                       .scratch = options->scratch,
                                       .codes = options->codes,
                                       .most = options->most_bytes,
                                       .stop = work->stop,
                                       .progress = show_progress,
                                       .file_made = keep_file,
                                       .user = work};
    struct lap_answer *answer = run_job(work, &job);

    if (!answer || !has_changed(work))
        return answer;
    lap_answer_drop(answer);
    return lap_answer_failed(410, -1, "the file has changed meanwhile; /v1/captures has its new id");
}

static void *work_thread(void *argument)
{
    struct lap_work *work = argument;
    struct lap_works *works = work->works;
    enum lap_route_kind kind = work->question.route->kind;
    struct lap_answer *answer = NULL;

    pthread_mutex_lock(&works->mutex);
    while (works->running[kind] >= most_at_once(works, kind) && !work->told_to_end)
        pthread_cond_wait(&works->changed, &works->mutex);
    works->running[kind]++;
    work->runs = true;
    if (!work->told_to_end) {
        pthread_mutex_unlock(&works->mutex);
        answer = lap_answers_get(works->options.answers, work->url); /* it may have come meanwhile */
        lap_waiting_busy(works->waiting, true);
        if (!answer)
            answer = run(work);
        lap_waiting_busy(works->waiting, false);
        if (answer && answer->status == 200 && work->has_capture)
            lap_answers_put(works->options.answers, work->url, answer);
        pthread_mutex_lock(&works->mutex);
    }
    works->running[kind]--;
    work->view.answer = answer ? answer : lap_answer_failed(409, -1, "this was ended before it had an answer");
    work->view.version++;
    unlink_work(work);
    drop(work);
    works->threads--;
    pthread_cond_broadcast(&works->changed);
    pthread_mutex_unlock(&works->mutex);
    return NULL;
}

/* Under the lock. */
static bool begin(struct lap_works *works, struct lap_work *work)
{
    pthread_attr_t detached;
    pthread_t thread;
    int error;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&detached, 512 << 10);
    error = pthread_create(&thread, &detached, work_thread, work);
    pthread_attr_destroy(&detached);
    if (error)
        return false;
    work->holders = 1;
    work->number = works->next_number++;
    work->next = works->first;
    works->first = work;
    works->count++;
    works->threads++;
    return true;
}

struct lap_work *lap_work_join(struct lap_works *works, const struct lap_capture *capture,
                               const struct lap_question *question)
{
    char url[LAP_ROUTE_URL_BYTES];
    struct lap_work *work;

    if (lap_work_url(capture, question, url) != LAP_OK)
        return NULL;
    pthread_mutex_lock(&works->mutex);
    for (work = works->first; work && strcmp(work->url, url) != 0;)
        work = work->next;
    if (!work && !works->ending && works->count < LAP_WORK_MOST && works->threads < 2 * LAP_WORK_MOST) {
        work = new_work(works, capture, question, url);
        if (work && !begin(works, work)) {
            free_work(work);
            work = NULL;
        }
    }
    if (work) {
        work->holders++;
        work->waiting++;
    }
    pthread_mutex_unlock(&works->mutex);
    return work;
}

void lap_work_leave(struct lap_work *work)
{
    struct lap_works *works = work->works;

    pthread_mutex_lock(&works->mutex);
    if (--work->waiting == 0)
        tell_to_end(work);
    drop(work);
    pthread_mutex_unlock(&works->mutex);
}

void lap_work_wait(struct lap_work *work, uint64_t known, unsigned ms, struct lap_work_view *out)
{
    struct lap_works *works = work->works;
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += (time_t)(ms / 1000) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&works->mutex);
    while (work->view.version == known && !work->view.answer &&
           pthread_cond_timedwait(&works->changed, &works->mutex, &until) != ETIMEDOUT)
        ;
    *out = work->view;
    pthread_mutex_unlock(&works->mutex);
}

const char *lap_work_file(struct lap_work *work, size_t number)
{
    const char *url;

    pthread_mutex_lock(&work->works->mutex);
    url = work->files[number];
    pthread_mutex_unlock(&work->works->mutex);
    return url;
}

struct lap_answer *lap_work_result(struct lap_work *work, struct lap_answer *answer, const char *url)
{
    struct lap_answer *file;

    if (answer->status != 200 || strcmp(work->url, url) == 0)
        return lap_answer_hold(answer);
    file = lap_answers_get(work->works->options.answers, url);
    return file ? file
                : lap_answer_failed(404, -1, "%s lists what there is; this is not in it, or too large", work->url);
}

struct lap_answer *lap_works_ask(struct lap_works *works, const struct lap_capture *capture,
                                 const struct lap_question *question, bool (*is_gone)(void *user), void *user)
{
    struct lap_question maker = lap_question_maker(question);
    struct lap_work_view view = {.version = 0};
    char url[LAP_ROUTE_URL_BYTES];
    struct lap_answer *answer = NULL;
    struct lap_work *work;

    if (lap_work_url(capture, question, url) != LAP_OK)
        return lap_answer_failed(400, -1, "%s", lap_error_message());
    if (capture && (answer = lap_answers_get(works->options.answers, url)))
        return answer;
    work = lap_work_join(works, capture, &maker);
    if (!work)
        return lap_answer_failed(503, -1, "there is too much work already; ask again later");
    do
        lap_work_wait(work, view.version, LOOK_MS, &view);
    while (!view.answer && !(is_gone && is_gone(user)));
    if (view.answer)
        answer = lap_work_result(work, view.answer, url);
    lap_work_leave(work);
    return answer;
}

/* ---- all ---- */

char *lap_works_json(struct lap_works *works)
{
    cJSON *object = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(object, "work");
    char *text;

    pthread_mutex_lock(&works->mutex);
    for (const struct lap_work *work = works->first; work; work = work->next) {
        cJSON *one = cJSON_CreateObject();
        (void)cJSON_AddNumberToObject(one, "id", (double)work->number);
        (void)cJSON_AddStringToObject(one, "path", work->url);
        (void)cJSON_AddBoolToObject(one, "runs", work->runs);
        (void)cJSON_AddNumberToObject(one, "done", (double)work->view.done);
        (void)cJSON_AddNumberToObject(one, "all", (double)work->view.all);
        (void)cJSON_AddNumberToObject(one, "waiting", work->waiting);
        if (!cJSON_AddItemToArray(list, one))
            cJSON_Delete(one);
    }
    pthread_mutex_unlock(&works->mutex);
    text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

bool lap_works_end(struct lap_works *works, uint64_t number)
{
    struct lap_work *work;

    pthread_mutex_lock(&works->mutex);
    for (work = works->first; work && work->number != number;)
        work = work->next;
    if (work)
        tell_to_end(work);
    pthread_mutex_unlock(&works->mutex);
    return work != NULL;
}

void lap_works_stop(struct lap_works *works)
{
    pthread_mutex_lock(&works->mutex);
    works->ending = true;
    while (works->first)
        tell_to_end(works->first); /* which takes it out */
    pthread_mutex_unlock(&works->mutex);
}

void lap_works_free(struct lap_works **works)
{
    if (!*works)
        return;
    lap_works_stop(*works);
    pthread_mutex_lock(&(*works)->mutex);
    while ((*works)->threads)
        pthread_cond_wait(&(*works)->changed, &(*works)->mutex);
    pthread_mutex_unlock(&(*works)->mutex);
    lap_waiting_free(&(*works)->waiting);
    pthread_cond_destroy(&(*works)->changed);
    pthread_mutex_destroy(&(*works)->mutex);
    free(*works);
    *works = NULL;
}
