/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "tools/record/receive_trace.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pattern.h"
#include "trace/read/reader.h"
#include "trace/receive/arrival.h"

#define MOST_NAMES 10000u
#define SPEED_S    1.0 /* the time that a speed is measured for */

struct lap_receive_incoming {
    struct lap_receive_job *job;
    struct lap_receive_incoming *next;
    struct lap_greeted from;
    char *path;
    dev_t device; /* the file */
    ino_t inode;
    struct lap_arrival arrival;
};

static void say(const struct lap_receive_incoming *in, const char *what)
{
    lap_status_line_print(&in->job->line, "%s: %s (process %" PRIu32 "): %s\n", in->job->program,
                          in->path ? in->path : in->from.program, in->from.process, what);
}

/* A new file: a name that is taken gets a number. -1, after a message: none could be created. */
static int open_file(struct lap_receive_incoming *in)
{
    struct lap_pattern_values values = {(long)in->from.process, in->from.program};
    int fd = -1, error = EEXIST;

    for (unsigned attempt = 1; attempt < MOST_NAMES && error == EEXIST; attempt++) {
        char *name = lap_pattern_expand(in->job->pattern, &values, attempt);
        free(in->path);
        in->path = NULL;
        if (!name || asprintf(&in->path, "%s/%s", in->job->folder, name) < 0)
            in->path = NULL;
        free(name);
        fd = in->path ? open(in->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
        error = fd >= 0 ? 0 : in->path ? errno : ENOMEM;
    }
    if (error) {
        say(in, strerror(error));
        return -1;
    }
    (void)flock(fd, LOCK_EX | LOCK_NB); /* no other process ends it meanwhile */
    return fd;
}

static void print_json(const struct lap_receive_incoming *in, const struct lap_reader_summary *summary)
{
    cJSON *object = cJSON_CreateObject();
    char *text = NULL;
    if (cJSON_AddStringToObject(object, "file", in->path) &&
        cJSON_AddStringToObject(object, "program", in->from.program) &&
        cJSON_AddNumberToObject(object, "process", in->from.process) &&
        cJSON_AddNumberToObject(object, "frames", (double)summary->frames) &&
        cJSON_AddNumberToObject(object, "bytes", (double)summary->file_bytes) &&
        cJSON_AddBoolToObject(object, "complete", summary->complete) &&
        (summary->stopped ? cJSON_AddStringToObject(object, "stopped", summary->stopped)
                          : cJSON_AddNullToObject(object, "stopped")))
        text = cJSON_PrintUnformatted(object);
    if (text)
        printf("%s\n", text);
    fflush(stdout);
    cJSON_free(text);
    cJSON_Delete(object);
}

void lap_receive_say_listening(const char *address)
{
    cJSON *object = cJSON_CreateObject();
    char *text = cJSON_AddStringToObject(object, "listening", address) ? cJSON_PrintUnformatted(object) : NULL;
    if (text)
        printf("%s\n", text);
    fflush(stdout);
    cJSON_free(text);
    cJSON_Delete(object);
}

/* Determines the outcome from the file. */
static enum lap_receive_outcome look(const struct lap_receive_incoming *in)
{
    struct lap_reader *reader;
    if (lap_reader_open(in->path, NULL, &reader) != LAP_OK) {
        say(in, lap_error_message());
        return LAP_RECEIVE_FAILED;
    }
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    enum lap_receive_outcome outcome = summary->complete ? LAP_RECEIVE_DONE : LAP_RECEIVE_INCOMPLETE;
    if (in->job->json)
        print_json(in, summary);
    else if (!in->job->quiet || !summary->complete)
        lap_status_line_print(&in->job->line, "%s: %s: %" PRIu64 " frame%s, %.1f KiB%s%s\n", in->job->program, in->path,
                              summary->frames, summary->frames == 1 ? "" : "s", (double)summary->file_bytes / 1024,
                              summary->complete ? "" : ", incomplete: ",
                              summary->complete  ? ""
                              : summary->stopped ? summary->stopped
                                                 : "no end");
    lap_reader_close(&reader);
    return outcome;
}

/* Another process may have replaced the file meanwhile. */
static void remove_file(const struct lap_receive_incoming *in)
{
    struct stat now;
    if (lstat(in->path, &now) == 0 && now.st_dev == in->device && now.st_ino == in->inode)
        (void)unlink(in->path);
}

static enum lap_receive_outcome finish(struct lap_receive_incoming *in)
{
    struct stat info;
    if (fstat(in->arrival.file, &info) == 0) {
        in->device = info.st_dev;
        in->inode = info.st_ino;
    }
    switch (lap_arrival_finish(&in->arrival, in->path)) {
    case LAP_ARRIVAL_NOTHING:
        if (!in->arrival.receive.forgotten)
            lap_status_line_print(&in->job->line, "%s: %s (process %" PRIu32 "): %s; no file is left: %s\n",
                                  in->job->program, in->path, in->from.process, in->arrival.reason,
                                  lap_error_message());
        remove_file(in);
        return in->arrival.write_failed ? LAP_RECEIVE_FAILED : LAP_RECEIVE_NOTHING;
    case LAP_ARRIVAL_FAILED:
        say(in, in->arrival.reason);
        say(in, lap_error_message());
        return LAP_RECEIVE_FAILED;
    case LAP_ARRIVAL_KEPT:
        break;
    }
    return in->arrival.write_failed ? (look(in), LAP_RECEIVE_FAILED) : look(in);
}

/* ---- what arrives ---- */

void lap_receive_job_init(struct lap_receive_job *job)
{
    lap_status_line_init(&job->line, job->quiet || job->json);
    pthread_mutex_init(&job->mutex, NULL);
    job->first = NULL;
    job->bytes_before = 0;
    memset(&job->speed, 0, sizeof job->speed);
}

static void arrives(struct lap_receive_incoming *in)
{
    pthread_mutex_lock(&in->job->mutex);
    in->next = in->job->first;
    in->job->first = in;
    pthread_mutex_unlock(&in->job->mutex);
}

static void has_arrived(struct lap_receive_incoming *in)
{
    struct lap_receive_incoming **link = &in->job->first;

    pthread_mutex_lock(&in->job->mutex);
    while (*link != in)
        link = &(*link)->next;
    *link = in->next;
    in->job->bytes_before += atomic_load(&in->arrival.bytes);
    pthread_mutex_unlock(&in->job->mutex);
}

/* bytes: all that have arrived so far. anew: nothing arrives now. */
static void measure(struct lap_receive_job *job, uint64_t bytes, bool anew)
{
    struct timespec now;
    double s;

    clock_gettime(CLOCK_MONOTONIC, &now);
    s = (double)(now.tv_sec - job->speed.since.tv_sec) + (double)(now.tv_nsec - job->speed.since.tv_nsec) / 1e9;
    if (s < SPEED_S && !anew)
        return;
    /* The end of a trace may cut its file. */
    job->speed.mib = anew ? -1 : bytes > job->speed.from ? (double)(bytes - job->speed.from) / s / (1 << 20) : 0;
    job->speed.since = now;
    job->speed.from = bytes;
}

void lap_receive_show(void *user, unsigned programs)
{
    struct lap_receive_job *job = user;
    char text[NAME_MAX + 128], name[NAME_MAX + 1], speed[32] = "";
    unsigned traces = 0;
    uint64_t bytes = 0, before;

    pthread_mutex_lock(&job->mutex);
    for (const struct lap_receive_incoming *in = job->first; in; in = in->next) {
        bytes += atomic_load(&in->arrival.bytes);
        snprintf(name, sizeof name, "%s", strrchr(in->path, '/') + 1);
        traces++;
    }
    before = job->bytes_before;
    pthread_mutex_unlock(&job->mutex);
    measure(job, before + bytes, !traces);
    if (traces > 1)
        snprintf(name, sizeof name, "%u traces", traces);
    if (job->speed.mib >= 0)
        snprintf(speed, sizeof speed, ", %.1f MiB/s", job->speed.mib);
    snprintf(text, sizeof text, "%u program%s, %s: %.1f MiB%s", programs, programs == 1 ? "" : "s", name,
             (double)bytes / (1 << 20), speed);
    lap_status_line_show(&job->line, traces ? text : NULL);
}

enum lap_receive_outcome lap_receive_trace(struct lap_receive_job *job, int fd, const struct lap_greeted *from,
                                           const atomic_bool *told_to_end)
{
    struct lap_receive_incoming in = {.job = job, .from = *from};
    enum lap_receive_outcome outcome = LAP_RECEIVE_FAILED;
    int file = open_file(&in);

    if (file >= 0) {
        if (!job->json && !job->quiet)
            lap_status_line_print(&job->line, "%s: %s: receiving from %s (process %" PRIu32 ")\n", job->program,
                                  in.path, in.from.program, in.from.process);
        lap_arrival_init(&in.arrival, file);
        arrives(&in);
        if (lap_arrival_take(&in.arrival, fd) == LAP_OK && atomic_load(told_to_end))
            snprintf(in.arrival.reason, sizeof in.arrival.reason, "a signal ended the receiver");
        has_arrived(&in);
        outcome = finish(&in);
    }
    (void)shutdown(fd, SHUT_RDWR);
    free(in.path);
    return outcome;
}
