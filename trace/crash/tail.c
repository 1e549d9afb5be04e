/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/crash/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cancel.h"
#include "trace/format/bytes.h"

#define HASH_AT      48u /* of an entry: behind what it covers of the entry's own head */
#define MOST_RETRIES 50

_Static_assert(HASH_AT + 8 == LAP_TAIL_CHUNK_AT, "layout of an entry");
_Static_assert(LAP_TAIL_NOTES_BEGIN >= LAP_TAIL_HEADER_BYTES + LAP_IN_FLIGHT_AREA_BYTES, "notes are behind the list");

/* ---- layout ---- */

uint64_t lap_tail_seed(const uint8_t uuid[16])
{
    return XXH3_64bits(uuid, 16);
}

static uint64_t entry_hash(const uint8_t *entry, uint64_t seed)
{
    uint8_t covered[LAP_TAIL_ENTRY_BYTES - 8];
    memcpy(covered, entry, HASH_AT);
    memcpy(covered + HASH_AT, entry + LAP_TAIL_CHUNK_AT, LAP_CHUNK_HEADER_BYTES);
    return XXH3_64bits_withSeed(covered, sizeof(covered), seed);
}

void lap_tail_entry_store(uint8_t out[LAP_TAIL_ENTRY_BYTES], const struct lap_tail_entry *entry, uint64_t seed)
{
    memset(out, 0, LAP_TAIL_ENTRY_BYTES);
    lap_store_u32(out, LAP_TAIL_ENTRY_MAGIC);
    out[4] = (uint8_t)entry->kind;
    out[5] = entry->in_file;
    lap_store_u64(out + 8, entry->number);
    lap_chunk_header_store(&entry->header, seed, out + LAP_TAIL_CHUNK_AT);
    lap_store_u64(out + HASH_AT, entry_hash(out, seed));
}

enum lap_status lap_tail_entry_load(const uint8_t in[LAP_TAIL_ENTRY_BYTES], uint64_t seed, uint64_t chunk_seed,
                                    struct lap_tail_entry *out)
{
    if (lap_load_u32(in) != LAP_TAIL_ENTRY_MAGIC || lap_load_u64(in + HASH_AT) != entry_hash(in, seed))
        return lap_fail(LAP_ERROR_FORMAT, "no entry begins here");
    out->kind = in[4];
    out->in_file = in[5];
    out->number = lap_load_u64(in + 8);
    memset(&out->header, 0, sizeof(out->header));
    if (out->kind == LAP_TAIL_WRAP)
        return LAP_OK;
    if (out->kind != LAP_TAIL_CHUNK)
        return lap_fail(LAP_ERROR_FORMAT, "an entry of unknown kind");
    return lap_chunk_header_load(in + LAP_TAIL_CHUNK_AT, chunk_seed, &out->header);
}

/* ---- the writer's file ---- */

bool lap_tail_reserve(struct lap_tail *tail, size_t from, size_t to)
{
    struct rlimit limit;
    off_t begin = (off_t)(LAP_TAIL_RING_BEGIN + from), end = (off_t)(LAP_TAIL_RING_BEGIN + to);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (rlim_t)end > limit.rlim_cur)
        return false;
    int fd, result, retries = 0, cancel = lap_cancel_off();
    do { /* not posix_fallocate: without kernel support it writes block by block instead */
        fd = lap_own_file_fd(&tail->own);
        result = fd >= 0 ? fallocate(fd, 0, begin, end - begin) : -1;
    } while (fd >= 0 && result != 0 && (errno == EINTR || errno == EBADF) && retries++ < MOST_RETRIES);
    /* Without that support, a write that finds no room reports it. */
    if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
        result = (uint64_t)end > tail->bytes ? ftruncate(fd, end) : 0;
    if (result == 0 && (uint64_t)end > tail->bytes)
        tail->bytes = (uint64_t)end;
    lap_cancel_restore(cancel);
    return result == 0;
}

void lap_tail_give_back(struct lap_tail *tail, size_t from, size_t to)
{
    int fd = lap_own_file_fd(&tail->own), cancel = lap_cancel_off();
    (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(LAP_TAIL_RING_BEGIN + from),
                    (off_t)(to - from));
    lap_cancel_restore(cancel);
}

int lap_tail_write(struct lap_tail *tail, size_t at, const struct iovec *parts, unsigned count)
{
    return lap_file_write(&tail->own, LAP_TAIL_RING_BEGIN + at, parts, count);
}

int lap_tail_read(struct lap_tail *tail, size_t at, void *out, size_t bytes)
{
    return lap_file_read(&tail->own, LAP_TAIL_RING_BEGIN + at, out, bytes);
}

int lap_tail_set_start(struct lap_tail *tail, size_t at)
{
    uint8_t place[8];
    lap_store_u64(place, LAP_TAIL_RING_BEGIN + at);
    struct iovec part = {place, sizeof(place)};
    return lap_file_write(&tail->own, LAP_TAIL_START_AT, &part, 1);
}

/* Never reserves by writing: a store would fault where the file system has not reserved a block of the page. */
static bool promise(struct lap_tail *tail, size_t from, size_t to)
{
    off_t begin = (off_t)(LAP_TAIL_NOTES_BEGIN + (from & ~(LAP_NOTES_PAGE - 1)));
    off_t end = (off_t)(LAP_TAIL_NOTES_BEGIN + ((to + LAP_NOTES_PAGE - 1) & ~(LAP_NOTES_PAGE - 1)));
    int fd, result, retries = 0, cancel = lap_cancel_off();
    do {
        fd = lap_own_file_fd(&tail->own);
        result = fd < 0 ? -1 : fallocate(fd, FALLOC_FL_KEEP_SIZE, begin, end - begin);
    } while (fd >= 0 && result != 0 && (errno == EINTR || errno == EBADF) && retries++ < MOST_RETRIES);
    lap_cancel_restore(cancel);
    return result == 0;
}

/* Opens the file a second time. A mapping keeps its open file description, with the lock, for as long as anything (a
 * kernel driver, say) holds the process's memory. -1: it can't be opened. */
static int open_again(struct lap_tail *tail)
{
    struct stat ours, there;
    int own = lap_own_file_fd(&tail->own), fd = open(tail->own.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(own, &ours) == 0 && fstat(fd, &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool lap_tail_map_notes(struct lap_tail *tail, void *place)
{
    int cancel = lap_cancel_off(), fd = -1;
    bool mapped = tail->own.path && promise(tail, 0, LAP_NOTES_SMALL_BYTES) && (fd = open_again(tail)) >= 0 &&
                  mmap(place, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                       (off_t)LAP_TAIL_NOTES_BEGIN) != MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (mapped)
        atomic_store(&tail->notes, place);
    lap_cancel_restore(cancel);
    return mapped;
}

bool lap_tail_reserve_notes(struct lap_tail *tail, const void *from, size_t bytes)
{
    const struct lap_notes *notes = atomic_load(&tail->notes);
    size_t at = (size_t)((const uint8_t *)from - (const uint8_t *)notes);
    return notes && promise(tail, at, at + bytes);
}

bool lap_tail_drop_notes(struct lap_tail *tail)
{
    struct lap_notes *notes = atomic_exchange(&tail->notes, NULL);
    if (!notes || mmap(notes, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED)
        return true;
    atomic_store(&tail->notes, notes);
    return false;
}

void lap_tail_give_notes_up(struct lap_tail *tail)
{
    static const uint8_t nothing[4096];
    struct stat stat;
    struct iovec part = {(void *)(uintptr_t)nothing, sizeof(nothing)};
    int cancel = lap_cancel_off(), fd = lap_own_file_fd(&tail->own);
    (void)lap_tail_drop_notes(tail);
    if (fd >= 0 && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)LAP_TAIL_NOTES_BEGIN,
                             (off_t)LAP_NOTES_BYTES) != 0)
        for (size_t at = 0; at < LAP_NOTES_BYTES; at += sizeof(nothing))
            if (fstat(fd, &stat) == 0 && stat.st_size >= (off_t)LAP_TAIL_RING_BEGIN)
                (void)lap_file_write(&tail->own, LAP_TAIL_NOTES_BEGIN + at, &part, 1);
    lap_cancel_restore(cancel);
}

bool lap_tail_is_whole(struct lap_tail *tail)
{
    uint64_t bytes, names;
    return lap_own_file_look(&tail->own, &bytes, &names) >= 0 && bytes >= tail->bytes && names != 0;
}

static int write_header(struct lap_tail *tail, const uint8_t uuid[16])
{
    uint8_t head[LAP_TAIL_HEADER_BYTES] = {0};
    memcpy(head, LAP_TAIL_MAGIC, 8);
    lap_store_u32(head + 8, LAP_TAIL_VERSION);
    memcpy(head + 16, uuid, 16);
    lap_store_u64(head + 32, XXH3_64bits(head, 32));
    lap_store_u64(head + LAP_TAIL_START_AT, LAP_TAIL_RING_BEGIN);
    lap_store_u64(head + LAP_TAIL_RING_AT, LAP_TAIL_RING_BEGIN);
    struct iovec part = {head, sizeof(head)};
    return lap_file_write(&tail->own, 0, &part, 1);
}

enum lap_status lap_tail_create(struct lap_tail *tail, const char *trace_path, const uint8_t uuid[16],
                                size_t reserved_bytes)
{
    memset(tail, 0, sizeof(*tail));
    char *path = NULL;
    lap_own_file_init(&tail->own, -1, NULL);
    if (asprintf(&path, "%s" LAP_TAIL_SUFFIX, trace_path) < 0)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        enum lap_status status = lap_fail(LAP_ERROR_IO, "can't create %s: %s", path, strerror(errno));
        free(path);
        return status;
    }
    lap_own_file_init(&tail->own, fd, path);
    free(path);
    if (!tail->own.path || (fd = lap_own_file_fd(&tail->own)) < 0) {
        enum lap_status status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        lap_tail_remove(tail);
        lap_tail_release(tail);
        return status;
    }
    /* A copy-on-write file system (btrfs) needs new room for each overwrite. */
    int flags = 0;
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
    }
    lap_own_file_hold(&tail->own); /* for as long as the process lives: a reader then leaves the file alone */

    (void)fallocate(fd, 0, 0, (off_t)LAP_TAIL_HEADER_BYTES);
    int error = lap_tail_reserve(tail, 0, reserved_bytes) ? write_header(tail, uuid) : ENOSPC;
    if (error) {
        enum lap_status status =
            lap_fail(LAP_ERROR_IO, "no room for %s: %s", tail->own.path, lap_file_error_text(error));
        lap_tail_remove(tail);
        lap_tail_release(tail);
        return status;
    }
    return LAP_OK;
}

void lap_tail_remove(struct lap_tail *tail)
{
    struct stat ours, there;
    (void)lap_tail_drop_notes(tail);
    int fd = tail->own.path ? lap_own_file_fd(&tail->own) : -1;
    if (fd >= 0 && fstat(fd, &ours) == 0 && lstat(tail->own.path, &there) == 0 && ours.st_dev == there.st_dev &&
        ours.st_ino == there.st_ino)
        (void)unlink(tail->own.path);
}

void lap_tail_abandon(struct lap_tail *tail)
{
    (void)lap_tail_drop_notes(tail);
    lap_own_file_disown(&tail->own);
}

void lap_tail_release(struct lap_tail *tail)
{
    (void)lap_tail_drop_notes(tail);
    lap_own_file_release(&tail->own);
}
