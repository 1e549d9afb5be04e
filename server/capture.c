/* SPDX-License-Identifier: MIT */
#include "server/capture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "server/route.h"
#include "trace/format/hash.h"

struct file {
    const char *name;
    char *path;
    char (*ids)[LAP_CAPTURE_ID_BYTES]; /* that it had, the last one is its own */
    size_t id_count, id_capacity;
};

struct lap_captures {
    pthread_mutex_t mutex; /* for the ids */
    uint64_t salt;
    size_t count;
    struct file files[];
};

static uint64_t identity(const struct lap_captures *captures, const char *path, const struct stat *is)
{
    const uint64_t words[] = {
        lap_hash64(path, strlen(path)), (uint64_t)is->st_dev,          (uint64_t)is->st_ino, (uint64_t)is->st_size,
        (uint64_t)is->st_mtim.tv_sec,   (uint64_t)is->st_mtim.tv_nsec, captures->salt};

    return lap_hash64(words, sizeof words);
}

/* Under the lock. Where memory is out, the id is not remembered. */
static void remember(struct file *file, const char *id)
{
    if (file->id_count && strcmp(file->ids[file->id_count - 1], id) == 0)
        return;
    if (lap_array_grow(&file->ids, sizeof *file->ids, &file->id_capacity, file->id_count + 1))
        memcpy(file->ids[file->id_count++], id, LAP_CAPTURE_ID_BYTES);
}

enum lap_status lap_capture_look(struct lap_captures *captures, size_t number, struct lap_capture *out)
{
    struct file *file = &captures->files[number];
    struct stat is;

    if (stat(file->path, &is) != 0)
        return lap_fail(LAP_ERROR_IO, "%s: %s", file->path, strerror(errno));
    *out = (struct lap_capture){.name = file->name, .path = file->path, .bytes = (uint64_t)is.st_size};
    snprintf(out->id, sizeof out->id, "%016" PRIx64, identity(captures, file->path, &is));
    pthread_mutex_lock(&captures->mutex);
    remember(file, out->id);
    pthread_mutex_unlock(&captures->mutex);
    return LAP_OK;
}

/* Under the lock. */
static bool had(const struct file *file, const char *id)
{
    for (size_t i = 0; i < file->id_count; i++)
        if (strcmp(file->ids[i], id) == 0)
            return true;
    return false;
}

enum lap_status lap_capture_find(struct lap_captures *captures, const char *id, struct lap_capture *out, bool *out_gone)
{
    *out_gone = false;
    for (size_t i = 0; i < captures->count; i++) {
        if (lap_capture_look(captures, i, out) == LAP_OK && strcmp(out->id, id) == 0)
            return LAP_OK;
        pthread_mutex_lock(&captures->mutex);
        *out_gone |= had(&captures->files[i], id);
        pthread_mutex_unlock(&captures->mutex);
    }
    return lap_fail(LAP_ERROR_ARGUMENT, *out_gone ? "the file has changed since; /v1/captures has its new id"
                                                  : "there is no such capture; /v1/captures lists them");
}

static uint64_t add_identity(uint64_t hash, const char *path)
{
    struct stat is;

    if (stat(path, &is) != 0)
        return hash;
    const uint64_t words[] = {(uint64_t)is.st_ino, (uint64_t)is.st_size, (uint64_t)is.st_mtim.tv_sec,
                              (uint64_t)is.st_mtim.tv_nsec};
    return lap_hash64_seeded(words, sizeof words, hash);
}

/* Of the verbs as they are now, and of the library that they share with this program. */
static uint64_t identity_of_programs(const char *programs)
{
    uint64_t hash = 0;
    char path[PATH_MAX];
    Dl_info library;

    if (dladdr((const void *)(uintptr_t)lap_fail, &library) && library.dli_fname)
        hash = add_identity(hash, library.dli_fname);
    for (size_t i = 0; i < lap_route_count; i++) {
        if (!lap_routes[i].words[0])
            continue;
        snprintf(path, sizeof path, "%s/lapilli-%s", programs, lap_routes[i].words[0]);
        hash = add_identity(hash, path);
    }
    return hash;
}

enum lap_status lap_captures_new(const char *const *files, size_t count, const char *programs,
                                 struct lap_captures **out)
{
    struct lap_captures *captures = calloc(1, sizeof *captures + count * sizeof *captures->files);
    struct lap_capture first;
    enum lap_status status = LAP_OK;

    *out = captures;
    if (!captures)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    pthread_mutex_init(&captures->mutex, NULL);
    captures->salt = identity_of_programs(programs);
    captures->count = count;
    for (size_t i = 0; status == LAP_OK && i < count; i++) {
        struct stat is;
        captures->files[i].name = files[i];
        captures->files[i].path = realpath(files[i], NULL);
        if (!captures->files[i].path || stat(captures->files[i].path, &is) != 0)
            status = lap_fail(LAP_ERROR_IO, "%s: %s", files[i], strerror(errno));
        else if (!S_ISREG(is.st_mode))
            status = lap_fail(LAP_ERROR_IO, "%s is no file", files[i]);
        else
            status = lap_capture_look(captures, i, &first);
    }
    if (status != LAP_OK)
        lap_captures_free(out);
    return status;
}

void lap_captures_free(struct lap_captures **captures)
{
    if (!*captures)
        return;
    for (size_t i = 0; i < (*captures)->count; i++) {
        free((*captures)->files[i].path);
        free((*captures)->files[i].ids);
    }
    pthread_mutex_destroy(&(*captures)->mutex);
    free(*captures);
    *captures = NULL;
}

size_t lap_captures_count(const struct lap_captures *captures)
{
    return captures->count;
}
