/* SPDX-License-Identifier: MIT */
#include "vm/resources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "trace/format/hash.h"

#define LEVEL       9
#define NAME_BYTES  33u /* of a hash, with the zero */
#define NAME_FORMAT "%016" PRIx64 "%016" PRIx64

struct lap_vm_folder {
    char *path;
    int fd;
    uint64_t most, bytes; /* bytes: at least what this process has put there */
};

/* ---- packing ---- */

enum lap_status lap_vm_resource_pack(const uint8_t *data, uint64_t bytes, uint8_t **out, size_t *out_bytes)
{
    size_t room = ZSTD_compressBound(bytes), packed;

    *out = ZSTD_isError(room) ? NULL : malloc(room ? room : 1);
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory to pack %" PRIu64 " bytes", bytes);
    packed = ZSTD_compress(*out, room, data, bytes, LEVEL);
    if (ZSTD_isError(packed) || packed >= bytes) {
        packed = bytes;
        if (bytes)
            memcpy(*out, data, bytes);
    }
    *out_bytes = packed;
    return LAP_OK;
}

enum lap_status lap_vm_resource_unpack(const struct lap_vm_resource *resource, const uint8_t *packed,
                                       size_t packed_bytes, uint8_t *to)
{
    uint64_t hash[2];

    if (packed_bytes > resource->bytes)
        return lap_fail(LAP_ERROR_FORMAT, "a resource has other bytes than its hash says");
    if (packed_bytes < resource->bytes) {
        if (ZSTD_decompress(to, resource->bytes, packed, packed_bytes) != resource->bytes)
            return lap_fail(LAP_ERROR_FORMAT, "a resource can't be unpacked");
    } else if (packed != to && packed_bytes) {
        memcpy(to, packed, packed_bytes);
    }
    lap_hash128(to, resource->bytes, hash);
    if (hash[0] != resource->hash[0] || hash[1] != resource->hash[1])
        return lap_fail(LAP_ERROR_FORMAT, "a resource has other bytes than its hash says");
    return LAP_OK;
}

/* ---- a folder ---- */

static void name_of(const struct lap_vm_resource *resource, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, NAME_FORMAT, resource->hash[1], resource->hash[0]);
}

static bool is_name(const char *text)
{
    return strlen(text) == NAME_BYTES - 1 && strspn(text, "0123456789abcdef") == NAME_BYTES - 1;
}

struct entry {
    char name[NAME_BYTES];
    struct timespec used;
    uint64_t bytes;
};

static int by_use(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

/* The files of resources, and how many bytes they have; NULL: there are none, or no memory. */
static struct entry *list(const struct lap_vm_folder *folder, size_t *out_count, uint64_t *out_bytes)
{
    int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *open_folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct entry *entries = NULL;
    size_t room = 0;
    const struct dirent *one;
    struct stat info;

    *out_count = 0, *out_bytes = 0;
    if (!open_folder) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    while ((one = readdir(open_folder)) != NULL) {
        if (!is_name(one->d_name) || fstatat(folder->fd, one->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode) || !lap_array_grow(&entries, sizeof *entries, &room, *out_count + 1))
            continue;
        entries[*out_count] = (struct entry){.used = info.st_mtim, .bytes = (uint64_t)info.st_size};
        memcpy(entries[(*out_count)++].name, one->d_name, NAME_BYTES);
        *out_bytes += (uint64_t)info.st_size;
    }
    (void)closedir(open_folder);
    return entries;
}

/* Removes what was used least recently, until `bytes` more fit, and an eighth of the whole with them. */
static void make_room(struct lap_vm_folder *folder, uint64_t bytes)
{
    uint64_t most = folder->most - folder->most / 8;
    size_t count;
    struct entry *entries = list(folder, &count, &folder->bytes);

    if (count)
        qsort(entries, count, sizeof *entries, by_use);
    for (size_t i = 0; i < count && folder->bytes + bytes > (i ? most : folder->most); i++)
        if (unlinkat(folder->fd, entries[i].name, 0) == 0)
            folder->bytes -= entries[i].bytes;
    free(entries);
}

enum lap_status lap_vm_folder_open(const char *path, uint64_t most, struct lap_vm_folder **out)
{
    struct lap_vm_folder *folder = *out = calloc(1, sizeof *folder);
    size_t count;

    if (!folder)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    folder->most = most;
    folder->path = strdup(path);
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!folder->path || folder->fd < 0) {
        enum lap_status status = folder->path ? lap_fail(LAP_ERROR_IO, "%s: %s", path, strerror(errno))
                                              : lap_fail(LAP_ERROR_MEMORY, "out of memory");
        lap_vm_folder_close(out);
        return status;
    }
    if (most != UINT64_MAX)
        free(list(folder, &count, &folder->bytes));
    return LAP_OK;
}

void lap_vm_folder_close(struct lap_vm_folder **folder)
{
    struct lap_vm_folder *f = *folder;

    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f);
    *folder = NULL;
}

static enum lap_status read_file(int fd, uint64_t most, uint8_t **out, size_t *out_bytes)
{
    struct stat info;
    size_t done = 0;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (uint64_t)info.st_size > most)
        return LAP_END; /* not what a put made */
    *out = malloc((size_t)info.st_size + 1);
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a resource of %" PRIu64 " bytes", (uint64_t)info.st_size);
    while (done < (size_t)info.st_size) {
        ssize_t got = read(fd, *out + done, (size_t)info.st_size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            free(*out);
            *out = NULL;
            return LAP_END;
        }
        done += (size_t)got;
    }
    *out_bytes = done;
    return LAP_OK;
}

enum lap_status lap_vm_folder_get(struct lap_vm_folder *folder, const struct lap_vm_resource *resource, uint8_t **out,
                                  size_t *out_bytes)
{
    char name[NAME_BYTES];
    enum lap_status status;
    int fd;

    *out = NULL;
    name_of(resource, name);
    fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? LAP_END : lap_fail(LAP_ERROR_IO, "%s/%s: %s", folder->path, name, strerror(errno));
    status = read_file(fd, resource->bytes, out, out_bytes);
    if (status == LAP_OK && folder->most != UINT64_MAX)
        (void)futimens(fd, NULL); /* used now */
    close(fd);
    return status;
}

bool lap_vm_folder_has(const struct lap_vm_folder *folder, const struct lap_vm_resource *resource)
{
    char name[NAME_BYTES];

    name_of(resource, name);
    return faccessat(folder->fd, name, R_OK, 0) == 0;
}

static enum lap_status write_file(const struct lap_vm_folder *folder, const char *name, const uint8_t *packed,
                                  size_t bytes)
{
    char new[NAME_BYTES + 32];
    ssize_t wrote = 0;
    int fd, error;

    snprintf(new, sizeof new, ".%s.%ld", name, (long)getpid());
    (void)unlinkat(folder->fd, new, 0); /* of a dead process with our number */
    fd = openat(folder->fd, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return lap_fail(LAP_ERROR_IO, "no file can be made in %s: %s", folder->path, strerror(errno));
    for (size_t done = 0; wrote >= 0 && done < bytes; done += (size_t)wrote) {
        wrote = write(fd, packed + done, bytes - done);
        if (wrote < 0 && errno == EINTR)
            wrote = 0;
    }
    error = wrote < 0 ? errno : 0;
    if (close(fd) != 0 && !error)
        error = errno;
    if (!error && renameat(folder->fd, new, folder->fd, name) != 0)
        error = errno;
    if (!error)
        return LAP_OK;
    (void)unlinkat(folder->fd, new, 0);
    return lap_fail(LAP_ERROR_IO, "%s/%s can't be written: %s", folder->path, name, strerror(error));
}

enum lap_status lap_vm_folder_put(struct lap_vm_folder *folder, const struct lap_vm_resource *resource,
                                  const uint8_t *packed, size_t bytes)
{
    char name[NAME_BYTES];
    enum lap_status status;

    if (bytes > folder->most || lap_vm_folder_has(folder, resource))
        return LAP_OK;
    if (folder->most != UINT64_MAX && folder->bytes + bytes > folder->most)
        make_room(folder, bytes);
    name_of(resource, name);
    status = write_file(folder, name, packed, bytes);
    if (status == LAP_OK)
        folder->bytes += bytes;
    return status;
}

void lap_vm_folder_remove(struct lap_vm_folder *folder, const struct lap_vm_resource *resource)
{
    char name[NAME_BYTES];

    name_of(resource, name);
    (void)unlinkat(folder->fd, name, 0);
}
