/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "files of more than 2 GiB");

#define LAST_WAIT   INT64_C(1000000000) /* for all locks together, when the process ends */
#define NANOSECONDS INT64_C(1000000000)

/* Past RLIMIT_FSIZE the kernel sends SIGXFSZ, which would end the program that is being recorded. */
static bool past_size_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

/* Writes both runs of bytes at `offset`, whole or not at all as far as the caller can tell; 0 or an errno. */
static int write_at(int fd, uint64_t offset, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
    if (past_size_limit(offset + head_bytes + body_bytes))
        return EFBIG;
    struct iovec parts[2] = {{(void *)(uintptr_t)head, head_bytes}, {(void *)(uintptr_t)body, body_bytes}};
    struct iovec *part = parts;
    int part_count = 2;
    while (part_count) {
        if (part->iov_len == 0) {
            part++, part_count--;
            continue;
        }
        ssize_t written = pwritev(fd, part, part_count, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        if (written == 0)
            return ENOSPC;
        offset += (uint64_t)written;
        for (size_t left = (size_t)written; left;) {
            size_t step = left < part->iov_len ? left : part->iov_len;
            part->iov_base = (uint8_t *)part->iov_base + step;
            part->iov_len -= step;
            left -= step;
            if (part->iov_len == 0)
                part++, part_count--;
        }
    }
    return 0;
}

static void cut(int fd, uint64_t bytes)
{
    int result;
    do
        result = ftruncate(fd, (off_t)bytes);
    while (result != 0 && errno == EINTR);
}

/* A number that no other trace has. Without the kernel's random bytes (a sandbox) time and addresses must do. */
static void make_uuid(uint8_t uuid[16])
{
    if (getrandom(uuid, 16, GRND_NONBLOCK) != 16) {
        struct {
            struct timespec now;
            const void *address;
            pid_t process;
        } seed;
        memset(&seed, 0, sizeof(seed));
        clock_gettime(CLOCK_REALTIME, &seed.now);
        seed.address = &seed;
        seed.process = getpid();
        struct lap_blob_hash hash = lap_blob_hash_of(&seed, sizeof(seed));
        memcpy(uuid, &hash, 16);
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40); /* RFC 9562: version 4 */
    uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
}

enum lap_status lap_output_create(struct lap_output *output, const char *path, enum lap_chunk_codec codec)
{
    memset(output, 0, sizeof(*output));
    output->fd = -1;
    output->codec = codec;
    pthread_mutex_init(&output->mutex, NULL);
    enum lap_status status;

    output->path = strdup(path);
    if (!output->path) {
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        goto fail;
    }
    output->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (output->fd < 0) {
        status = lap_fail(LAP_ERROR_IO, "can't create %s: %s", path, strerror(errno));
        goto fail;
    }

    struct lap_file_header header = {.version = LAP_FORMAT_VERSION};
    uint8_t stored[LAP_FILE_HEADER_BYTES];
    make_uuid(header.uuid);
    lap_file_header_store(&header, stored);
    int error = write_at(output->fd, 0, stored, sizeof(stored), NULL, 0);
    if (error) {
        status = lap_fail(LAP_ERROR_IO, "can't write %s: %s", path, strerror(error));
        unlink(path);
        goto fail;
    }
    output->bytes = sizeof(stored);
    return LAP_OK;
fail:
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    lap_output_release(output);
    return status;
}

void lap_output_hurry(struct lap_output *output)
{
    struct timespec now;
    int64_t none = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_compare_exchange_strong(&output->deadline, &none, now.tv_sec * NANOSECONDS + now.tv_nsec + LAST_WAIT);
}

bool lap_output_lock(struct lap_output *output, pthread_mutex_t *mutex)
{
    int64_t deadline = atomic_load_explicit(&output->deadline, memory_order_relaxed);
    if (!deadline)
        return pthread_mutex_lock(mutex) == 0;
    struct timespec limit = {.tv_sec = deadline / NANOSECONDS, .tv_nsec = deadline % NANOSECONDS};
    return pthread_mutex_timedlock(mutex, &limit) == 0;
}

/* Writes a packed chunk behind the others; the mutex is held and the file open. Leaves the file as it was on failure.
 */
static enum lap_status write_chunk(struct lap_output *output, const struct lap_chunk_header *header,
                                   const uint8_t *stored)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    lap_chunk_header_store(header, head);
    int error = write_at(output->fd, output->bytes, head, LAP_CHUNK_HEADER_BYTES, stored, header->stored_bytes);
    if (error) {
        cut(output->fd, output->bytes);
        return lap_fail(LAP_ERROR_IO, "can't write %s: %s", output->path, strerror(error));
    }
    output->bytes += LAP_CHUNK_HEADER_BYTES + header->stored_bytes;
    return LAP_OK;
}

/* Writes an INDEX chunk with the headers that have gathered. */
static enum lap_status write_index(struct lap_output *output)
{
    size_t raw_bytes = output->chunks * LAP_CHUNK_HEADER_BYTES;
    uint64_t at = output->bytes;
    struct lap_chunk_header header = {.kind = LAP_CHUNK_INDEX,
                                      .count = (uint32_t)output->chunks,
                                      .first = output->records,
                                      .last = output->records + output->chunks - 1,
                                      .epoch = output->index_at,
                                      .frame = output->frames};
    uint8_t *scratch = malloc(lap_chunk_scratch_bytes(raw_bytes));
    if (!scratch)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    const uint8_t *stored = lap_chunk_pack(&header, output->codec, output->headers, raw_bytes, scratch);
    enum lap_status status = write_chunk(output, &header, stored);
    free(scratch);
    if (status != LAP_OK)
        return status;
    output->records += output->chunks;
    output->chunks = 0;
    output->index_at = at;
    output->index_chunks++;
    return LAP_OK;
}

/* Appends a packed chunk that the index shall have. */
static enum lap_status append(struct lap_output *output, const struct lap_chunk_header *header, const uint8_t *stored)
{
    if (output->chunks == LAP_INDEX_RECORDS) {
        enum lap_status status = write_index(output);
        if (status != LAP_OK)
            return status;
    }
    if (output->chunks == output->capacity) {
        size_t capacity = output->capacity ? output->capacity * 2 : 256;
        uint8_t *headers = realloc(output->headers, capacity * LAP_CHUNK_HEADER_BYTES);
        if (!headers)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        output->headers = headers;
        output->capacity = capacity;
    }
    enum lap_status status = write_chunk(output, header, stored);
    if (status == LAP_OK)
        lap_chunk_header_store(header, output->headers + output->chunks++ * LAP_CHUNK_HEADER_BYTES);
    return status;
}

static enum lap_status write_end(struct lap_output *output, struct lap_end *end, bool with_index)
{
    uint64_t bytes = output->bytes;
    enum lap_status status = with_index && output->chunks ? write_index(output) : LAP_OK;
    end->index_offset = with_index ? output->index_at : output->bytes;
    end->index_chunks = with_index ? output->index_chunks : 0;
    if (status == LAP_OK) {
        uint8_t payload[LAP_END_BYTES];
        struct lap_chunk_header header = {.kind = LAP_CHUNK_END, .frame = output->frames};
        lap_end_store(end, payload);
        status = write_chunk(output, &header, lap_chunk_pack(&header, LAP_CODEC_NONE, payload, sizeof(payload), NULL));
    }
    if (status != LAP_OK) {
        cut(output->fd, bytes);
        output->bytes = bytes;
    }
    return status;
}

/* Ends the file and closes it; the mutex is held. Without room for an index the end chunk stands alone: a scan makes up
 * for the index, but nothing else says why recording ended. */
static enum lap_status finish(struct lap_output *output, const struct lap_totals *totals, const char *reason,
                              bool with_index)
{
    struct lap_end end = {.totals = *totals};
    memcpy(end.reason, reason, strnlen(reason, sizeof(end.reason) - 1));
    enum lap_status status = with_index ? write_end(output, &end, true) : LAP_AGAIN;
    if (status != LAP_OK)
        status = write_end(output, &end, false);
    close(output->fd);
    output->fd = -1;
    return status;
}

/* A chunk is lost, so the file ends behind the last place at which nothing was. */
static void give_up(struct lap_output *output, enum lap_status status)
{
    char reason[LAP_END_REASON_BYTES] = "";
    memcpy(reason, lap_error_message(), strnlen(lap_error_message(), sizeof(reason) - 1));
    bool with_index = true;
    if (output->mark_bytes) {
        cut(output->fd, output->mark_bytes);
        output->bytes = output->mark_bytes;
        output->chunks = output->mark_chunks;
        /* With an INDEX chunk the headers before it went, too. */
        with_index = output->mark_index_chunks == output->index_chunks;
    }
    (void)finish(output, &output->mark_totals, reason, with_index);
    (void)lap_fail(status, "%s", reason); /* what happened while ending the file is not the cause */
}

/* mark: the payload is a frame mark. */
static enum lap_status pack_and_append(struct lap_output *output, struct lap_chunk_header *header, const uint8_t *raw,
                                       size_t raw_bytes, const struct lap_totals *mark)
{
    uint8_t *scratch = NULL;
    enum lap_status status = LAP_OK;
    const uint8_t *stored = NULL;
    if (output->codec != LAP_CODEC_NONE) {
        scratch = malloc(lap_chunk_scratch_bytes(raw_bytes));
        if (!scratch)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    header->frame = output->frames;
    if (status == LAP_OK)
        stored = lap_chunk_pack(header, output->codec, raw, raw_bytes, scratch);

    if (!lap_output_lock(output, &output->mutex)) {
        free(scratch);
        return LAP_ERROR_STOPPED;
    }
    if (output->fd < 0) {
        status = LAP_ERROR_STOPPED;
    } else {
        if (status == LAP_OK)
            status = append(output, header, stored);
        if (status != LAP_OK) {
            give_up(output, status);
        } else if (mark) {
            output->frames++;
            output->mark_bytes = output->bytes;
            output->mark_chunks = output->chunks;
            output->mark_index_chunks = output->index_chunks;
            output->mark_totals = *mark;
        }
    }
    pthread_mutex_unlock(&output->mutex);
    free(scratch);
    return status;
}

enum lap_status lap_output_chunk(struct lap_output *output, struct lap_chunk_header *header, const uint8_t *raw,
                                 size_t raw_bytes)
{
    return pack_and_append(output, header, raw, raw_bytes, NULL);
}

enum lap_status lap_output_frame(struct lap_output *output, struct lap_chunk_header *header,
                                 const struct lap_totals *totals)
{
    uint8_t payload[LAP_TOTALS_BYTES];
    lap_totals_store(totals, payload);
    return pack_and_append(output, header, payload, sizeof(payload), totals);
}

static enum lap_status lock_and_finish(struct lap_output *output, const struct lap_totals *totals, const char *reason,
                                       bool with_index)
{
    if (!lap_output_lock(output, &output->mutex))
        return LAP_ERROR_STOPPED;
    enum lap_status status = output->fd >= 0 ? finish(output, totals, reason, with_index) : LAP_ERROR_STOPPED;
    pthread_mutex_unlock(&output->mutex);
    return status;
}

enum lap_status lap_output_finish(struct lap_output *output, const struct lap_totals *totals, const char *reason)
{
    return lock_and_finish(output, totals, reason, true);
}

enum lap_status lap_output_break_off(struct lap_output *output, const struct lap_totals *totals, const char *reason)
{
    return lock_and_finish(output, totals, reason, false);
}

void lap_output_abandon(struct lap_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
}

void lap_output_release(struct lap_output *output)
{
    free(output->headers);
    free(output->path);
    output->headers = NULL;
    output->path = NULL;
}
