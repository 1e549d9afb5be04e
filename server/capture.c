/* SPDX-License-Identifier: MIT */
#include "server/capture.h"

#include <dirent.h>
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

#define ENDING ".lapilli"

struct file {
    char *path;
    char (*ids)[LAP_CAPTURE_ID_BYTES]; /* that it had, the last one is its own */
    size_t id_count, id_capacity;
};

struct lap_captures {
    pthread_mutex_t mutex; /* for the lists and the ids; a file stays where it is until the end */
    uint64_t salt;
    struct file **files;
    size_t count, capacity;
    char **folders; /* all of their traces are served, also later ones */
    size_t folder_count, folder_capacity;
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
    struct file *file;
    struct stat is;

    pthread_mutex_lock(&captures->mutex);
    file = captures->files[number];
    pthread_mutex_unlock(&captures->mutex);
    if (stat(file->path, &is) != 0)
        return lap_fail(LAP_ERROR_IO, "%s: %s", file->path, strerror(errno));
    *out = (struct lap_capture){.path = file->path, .bytes = (uint64_t)is.st_size};
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
    size_t count;

    *out_gone = false;
    pthread_mutex_lock(&captures->mutex);
    count = captures->count;
    pthread_mutex_unlock(&captures->mutex);
    for (size_t i = 0; i < count; i++) {
        if (lap_capture_look(captures, i, out) == LAP_OK && strcmp(out->id, id) == 0)
            return LAP_OK;
        pthread_mutex_lock(&captures->mutex);
        *out_gone |= had(captures->files[i], id);
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

/* ---- what is served ---- */

/* Under the lock. A file that is there already is not added. path: from malloc, taken. */
static enum lap_status add_file(struct lap_captures *captures, char *path)
{
    struct file *file = calloc(1, sizeof *file);
    enum lap_status status = LAP_OK;

    for (size_t i = 0; file && i < captures->count; i++)
        if (strcmp(captures->files[i]->path, path) == 0)
            goto out;
    if (!file ||
        !lap_array_grow(&captures->files, sizeof(struct file *), &captures->capacity, captures->count + 1)) {
        status = lap_no_memory("the list of the traces");
        goto out;
    }
    *file = (struct file){.path = path};
    captures->files[captures->count++] = file;
    return LAP_OK;
out:
    free(file);
    free(path);
    return status;
}

static int is_trace(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), ending = strlen(ENDING);
    return entry->d_name[0] != '.' && length > ending && strcmp(entry->d_name + length - ending, ENDING) == 0;
}

/* Under the lock. */
static enum lap_status scan(struct lap_captures *captures, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_trace, alphasort);
    enum lap_status status = LAP_OK;

    if (count < 0)
        return lap_fail(LAP_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        char name[PATH_MAX], *path = NULL;
        struct stat is;
        if (snprintf(name, sizeof name, "%s/%s", folder, entries[i]->d_name) < (int)sizeof name)
            path = realpath(name, NULL);
        if (status == LAP_OK && path && stat(path, &is) == 0 && S_ISREG(is.st_mode))
            status = add_file(captures, path);
        else
            free(path); /* it has gone, or is something else */
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* path: as add_file. */
static enum lap_status add_folder(struct lap_captures *captures, char *path)
{
    if (!lap_array_grow(&captures->folders, sizeof(char *), &captures->folder_capacity, captures->folder_count + 1)) {
        free(path);
        return lap_no_memory("the list of the traces");
    }
    captures->folders[captures->folder_count++] = path;
    return scan(captures, path);
}

static enum lap_status add(struct lap_captures *captures, const char *name)
{
    char *path = realpath(name, NULL);
    struct stat is;
    enum lap_status status;

    if (path && stat(path, &is) == 0 && S_ISREG(is.st_mode))
        return add_file(captures, path);
    if (path && stat(path, &is) == 0 && S_ISDIR(is.st_mode))
        return add_folder(captures, path);
    status = path ? lap_fail(LAP_ERROR_IO, "%s is neither a file nor a folder", name)
                  : lap_fail(LAP_ERROR_IO, "%s: %s", name, strerror(errno));
    free(path);
    return status;
}

enum lap_status lap_captures_new(const char *const *names, size_t count, const char *programs,
                                 struct lap_captures **out)
{
    struct lap_captures *captures = calloc(1, sizeof *captures);
    struct lap_capture first;
    enum lap_status status = LAP_OK;

    *out = captures;
    if (!captures)
        return lap_no_memory("the list of the traces");
    pthread_mutex_init(&captures->mutex, NULL);
    captures->salt = identity_of_programs(programs);
    for (size_t i = 0; status == LAP_OK && i < count; i++)
        status = add(captures, names[i]);
    for (size_t i = 0; status == LAP_OK && i < captures->count; i++)
        status = lap_capture_look(captures, i, &first); /* so that its id is known if it changes */
    if (status != LAP_OK)
        lap_captures_free(out);
    return status;
}

void lap_captures_free(struct lap_captures **captures)
{
    struct lap_captures *old = *captures;

    if (!old)
        return;
    for (size_t i = 0; i < old->count; i++) {
        free(old->files[i]->path);
        free(old->files[i]->ids);
        free(old->files[i]);
    }
    for (size_t i = 0; i < old->folder_count; i++)
        free(old->folders[i]);
    free(old->files);
    free(old->folders);
    pthread_mutex_destroy(&old->mutex);
    free(old);
    *captures = NULL;
}

size_t lap_captures_count(struct lap_captures *captures)
{
    size_t count;

    pthread_mutex_lock(&captures->mutex);
    for (size_t i = 0; i < captures->folder_count; i++)
        if (scan(captures, captures->folders[i]) != LAP_OK)
            break; /* those that are known stay */
    count = captures->count;
    pthread_mutex_unlock(&captures->mutex);
    return count;
}
