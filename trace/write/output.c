/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/write/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "trace/send/send.h"

#define LAST_WAIT   INT64_C(1000000000) /* for all locks together, when the process ends */
#define NANOSECONDS INT64_C(1000000000)
#define PAGE        ((size_t)4096)
#define STACK_BYTES ((size_t)256 << 10)

/* Never makes a file longer that another process has truncated. */
static void cut(struct lap_output *output, uint64_t bytes)
{
    struct stat now;
    int result, fd = output->options.streamed ? -1 : lap_own_file_fd(&output->file);
    if (fd < 0 || (fstat(fd, &now) == 0 && (uint64_t)now.st_size <= bytes))
        return;
    do
        result = ftruncate(fd, (off_t)bytes);
    while (result != 0 && errno == EINTR);
}

/* Notes, of two parts written at `at`, the position of the last byte that is not zero, and the bytes that end there. A
 * file that is truncated and grows again has zeroes; behind that byte they make no difference. */
static void note_ending(struct lap_output *output, uint64_t at, const uint8_t *head, size_t head_bytes,
                        const uint8_t *rest, size_t rest_bytes)
{
    size_t of_rest, of_head;
    while (rest_bytes && !rest[rest_bytes - 1])
        rest_bytes--;
    while (!rest_bytes && head_bytes > LAP_ENDING_BYTES && !head[head_bytes - 1])
        head_bytes--;
    of_rest = rest_bytes < LAP_ENDING_BYTES ? rest_bytes : LAP_ENDING_BYTES;
    of_head = LAP_ENDING_BYTES - of_rest;
    memcpy(output->ending, head + head_bytes - of_head, of_head);
    if (of_rest)
        memcpy(output->ending + of_head, rest + rest_bytes - of_rest, of_rest);
    output->ending_at = at + head_bytes + rest_bytes - LAP_ENDING_BYTES;
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

/* For packing and for the headers, once and for all. */
static bool allocate(struct lap_output *output)
{
    size_t scratch = lap_chunk_scratch_bytes(output->options.packer, LAP_CHUNK_MAX_RAW);
    size_t headers = LAP_INDEX_RECORDS * LAP_CHUNK_HEADER_BYTES;
    size_t index_scratch = lap_chunk_scratch_bytes(output->options.packer, headers);
    size_t bytes[4] = {scratch, index_scratch, LAP_QUEUE_ROOM_BYTES, headers}, ends[4], end = 0;
    for (int i = 0; i < 4; i++)
        ends[i] = end = (end + bytes[i] + PAGE - 1) & ~(PAGE - 1);
    output->memory_bytes = end;
    void *memory = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    output->memory = output->scratch = memory;
    output->index_scratch = output->memory + ends[0];
    output->payload = output->memory + ends[1];
    output->headers = output->memory + ends[2];
    return true;
}

static void prepare(struct lap_output *output, int fd, const char *path, const struct lap_output_options *options)
{
    memset(output, 0, sizeof(*output));
    lap_own_file_init(&output->file, fd, path);
    output->looked_at = -1;
    lap_own_file_init(&output->ended, -1, NULL);
    lap_own_file_init(&output->queue.file.own, -1, NULL);
    output->options = *options;
    pthread_mutex_init(&output->mutex, NULL);
}

enum lap_status lap_output_open(const char *path, int *out_fd)
{
    do
        *out_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (*out_fd < 0 && errno == EINTR);
    return *out_fd >= 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "can't create %s: %s", path, strerror(errno));
}

enum lap_status lap_output_create(struct lap_output *output, const char *path, const struct lap_output_options *options)
{
    int fd;
    enum lap_status status = lap_output_open(path, &fd);
    if (status == LAP_OK) {
        status = lap_output_begin(output, fd, path, options);
        if (status == LAP_OK)
            lap_own_file_hold(
                &output->file); /* for as long as the process lives: no other process ends the file then */
        else
            unlink(path);
        return status;
    }
    prepare(output, -1, NULL, options);
    return status;
}

static bool has_no_name(struct lap_own_file *file)
{
    uint64_t bytes, names;
    return lap_own_file_look(file, &bytes, &names) >= 0 && names == 0;
}

enum lap_status lap_output_begin(struct lap_output *output, int fd, const char *path,
                                 const struct lap_output_options *options)
{
    enum lap_status status;

    prepare(output, fd, options->streamed ? NULL : path, options);
    output->path = strdup(path);
    if (!output->path || !allocate(output)) {
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        goto fail;
    }

    struct lap_file_header header = {.version = LAP_FORMAT_VERSION};
    uint8_t stored[LAP_FILE_HEADER_BYTES];
    make_uuid(header.uuid);
    lap_file_header_store(&header, stored);
    struct iovec part = {stored, sizeof(stored)};
    int error =
        options->streamed ? lap_send_append(&output->file, &part, 1) : lap_file_write(&output->file, 0, &part, 1);
    if (error) {
        status = lap_fail(LAP_ERROR_IO, "can't write %s: %s", path, strerror(error));
        goto fail;
    }
    output->nameless = !options->streamed && has_no_name(&output->file);
    output->bytes = sizeof(stored);
    note_ending(output, 0, stored, sizeof(stored), NULL, 0);
    memcpy(output->uuid, header.uuid, sizeof(output->uuid));
    output->seed = lap_file_seed(&header);
    return LAP_OK;
fail:
    lap_output_release(output);
    return status;
}

/* The headers that the next INDEX chunk lacks. */
static void resume_index(struct lap_output *output, const struct lap_source *source)
{
    const struct lap_index_place *index = &source->index;
    output->index_at = index->last_at;
    output->index_chunks = index->chunks;
    output->records = index->records;
    output->without_index = index->broken || source->in_file_count - index->records > LAP_INDEX_RECORDS;
    for (size_t i = (size_t)index->records; i < source->in_file_count && !output->without_index; i++)
        lap_chunk_header_store(&source->chunks[i].header, output->seed,
                               output->headers + output->chunks++ * LAP_CHUNK_HEADER_BYTES);
    for (size_t i = 0; i < source->in_file_count; i++)
        output->frames += source->chunks[i].header.kind == LAP_CHUNK_FRAME;
}

enum lap_status lap_output_resume(struct lap_output *output, int fd, const char *path, const struct lap_source *source,
                                  const struct lap_output_options *options)
{
    int error;
    prepare(output, fd, path, options);
    output->path = strdup(path);
    if (!output->path || !allocate(output)) {
        lap_output_release(output);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    memcpy(output->uuid, source->header.uuid, sizeof(output->uuid));
    output->seed = source->seed;
    output->bytes = output->resumed_at = source->good_bytes;
    resume_index(output, source);
    error = lap_file_read(&output->file, output->bytes - LAP_ENDING_BYTES, output->ending, LAP_ENDING_BYTES);
    if (error) {
        lap_output_release(output);
        return lap_fail(LAP_ERROR_IO, "can't read %s: %s", path, lap_file_error_text(error));
    }
    output->ending_at = output->bytes - LAP_ENDING_BYTES;
    cut(output, output->bytes);
    return LAP_OK;
}

void lap_output_undo(struct lap_output *output)
{
    if (!lap_own_file_is_open(&output->file) || !output->resumed_at)
        return;
    cut(output, output->resumed_at);
    (void)lap_own_file_close(&output->file);
}

void lap_output_hurry(struct lap_output *output)
{
    struct timespec now;
    int64_t none = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_compare_exchange_strong(&output->deadline, &none, now.tv_sec * NANOSECONDS + now.tv_nsec + LAST_WAIT);
    lap_queue_end(&output->queue);
}

bool lap_output_lock(struct lap_output *output, pthread_mutex_t *mutex)
{
    int64_t deadline = atomic_load_explicit(&output->deadline, memory_order_relaxed);
    if (!deadline)
        return pthread_mutex_lock(mutex) == 0;
    struct timespec limit = {.tv_sec = deadline / NANOSECONDS, .tv_nsec = deadline % NANOSECONDS};
    return pthread_mutex_timedlock(mutex, &limit) == 0;
}

static bool is_hurried(struct lap_output *output)
{
    return atomic_load_explicit(&output->deadline, memory_order_relaxed) != 0;
}

/* The helper thread may be writing to a slow disk; no signal handler interrupts it, so it comes to an end. */
static bool lock_file(struct lap_output *output)
{
    bool locked = lap_output_lock(output, &output->mutex);
    while (!locked && atomic_load(&output->busy)) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec++;
        locked = pthread_mutex_timedlock(&output->mutex, &limit) == 0;
    }
    return locked;
}

/* A truncation just before a write leaves zeroes in front of the written bytes. fd: one of the file, or -1. */
static void look_back(struct lap_output *output, int fd, const uint8_t head[LAP_CHUNK_HEADER_BYTES],
                      const uint8_t *stored, uint32_t stored_bytes)
{
    uint8_t found[LAP_ENDING_BYTES];
    int error = fd >= 0 ? lap_file_read_fd(fd, output->ending_at, found, LAP_ENDING_BYTES)
                        : lap_file_read(&output->file, output->ending_at, found, LAP_ENDING_BYTES);
    if (error == 0 && memcmp(found, output->ending, LAP_ENDING_BYTES) != 0)
        output->torn = true;
    note_ending(output, output->bytes, head, LAP_CHUNK_HEADER_BYTES, stored, stored_bytes);
}

/* The same for a streamed file. After a failure the receiver's file has an unknown size. */
static enum lap_status send_chunk(struct lap_output *output, const struct iovec *parts)
{
    int error = lap_send_append(&output->file, parts, 2);
    if (error) {
        (void)lap_own_file_close(&output->file);
        return lap_fail(LAP_ERROR_IO, "can't stream to %s: %s", output->path, lap_file_error_text(error));
    }
    output->bytes += parts[0].iov_len + parts[1].iov_len;
    return LAP_OK;
}

/* Writes a packed chunk behind the others; the mutex is held and the file open. Leaves the file as it was on failure.
 */
static enum lap_status write_chunk(struct lap_output *output, const struct lap_chunk_header *header,
                                   const uint8_t *stored)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    lap_chunk_header_store(header, output->seed, head);
    struct iovec parts[2] = {{head, sizeof(head)}, {(void *)(uintptr_t)stored, header->stored_bytes}};
    if (output->options.streamed)
        return send_chunk(output, parts);
    int fd = output->looked_at, error = fd >= 0 ? lap_file_write_fd(fd, output->bytes, parts, 2) : EBADF;
    output->looked_at = -1;
    if (error == EBADF) { /* the descriptor was not checked, or the program has closed it since */
        fd = -1;
        error = lap_file_write(&output->file, output->bytes, parts, 2);
    }
    if (error) {
        cut(output, output->bytes);
        return lap_fail(LAP_ERROR_IO, "can't write %s: %s", output->path, lap_file_error_text(error));
    }
    look_back(output, fd, head, stored, header->stored_bytes);
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
    const uint8_t *stored =
        lap_chunk_pack(&header, output->options.packer, output->headers, raw_bytes, output->index_scratch);
    enum lap_status status = write_chunk(output, &header, stored);
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
    enum lap_status status = write_chunk(output, header, stored);
    if (status == LAP_OK)
        lap_chunk_header_store(header, output->seed, output->headers + output->chunks++ * LAP_CHUNK_HEADER_BYTES);
    return status;
}

/* Returns the end chunk, packed into `payload`. */
static struct lap_chunk_header pack_end(struct lap_output *output, const struct lap_end *end,
                                        uint8_t payload[LAP_END_BYTES])
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_END, .frame = output->frames};
    lap_end_store(end, payload);
    (void)lap_chunk_pack(&header, NULL, payload, LAP_END_BYTES, NULL);
    return header;
}

static enum lap_status write_end(struct lap_output *output, struct lap_end *end, bool with_index)
{
    uint64_t bytes = output->bytes;
    enum lap_status status = with_index && output->chunks ? write_index(output) : LAP_OK;
    end->index_offset = with_index ? output->index_at : output->bytes;
    end->index_chunks = with_index ? output->index_chunks : 0;
    if (status == LAP_OK) {
        uint8_t payload[LAP_END_BYTES];
        struct lap_chunk_header header = pack_end(output, end, payload);
        status = write_chunk(output, &header, payload);
    }
    if (status != LAP_OK) {
        cut(output, bytes);
        output->bytes = bytes;
    }
    return status;
}

static bool is_cut(struct lap_output *output)
{
    if (output->options.streamed)
        return false;
    off_t bytes = lseek(lap_own_file_fd(&output->file), 0, SEEK_END);
    return output->torn || (bytes >= 0 && (uint64_t)bytes < output->bytes);
}

static enum lap_status fail_of_other(struct lap_output *output, const char *deed)
{
    return lap_fail(LAP_ERROR_IO, "another process has %s %s", deed, output->path);
}

static void give_up(struct lap_output *output, enum lap_status status);

/* Ends the file and closes it; the mutex is held. Without room for an index there is only the end chunk: a scan can
 * replace the index, but not the reason. */
static enum lap_status finish(struct lap_output *output, const struct lap_totals *totals, const char *reason,
                              bool with_index)
{
    struct lap_end end = {.totals = *totals};
    memcpy(end.reason, reason, strnlen(reason, sizeof(end.reason) - 1));
    enum lap_status status = with_index ? write_end(output, &end, true) : LAP_AGAIN;
    if (status != LAP_OK && lap_own_file_is_open(&output->file))
        status = write_end(output, &end, false);
    /* A truncation while the end was written would go unnoticed: the end would not mention it. */
    if (status == LAP_OK && !reason[0] && is_cut(output)) {
        status = fail_of_other(output, "cut");
        give_up(output, status);
        return status;
    }
    if (status != LAP_OK && output->resumed_at)
        cut(output, output->resumed_at);
    lap_tail_remove(&output->queue.file);
    if (status == LAP_OK && !reason[0]) {
        output->end = end;
        lap_own_file_move(&output->file, &output->ended);
    }
    (void)lap_own_file_close(&output->file);
    return status;
}

/* In a file that was truncated and has grown again only the hashes show where. */
static bool payload_is_there(struct lap_output *output, uint64_t at, const struct lap_chunk_header *header)
{
    return !output->torn || (lap_file_read(&output->file, at, output->payload, header->stored_bytes) == 0 &&
                             lap_chunk_check(header, output->payload) == LAP_OK);
}

/* Goes back to the last frame mark (without one: the last chunk) that is whole in a file that another process has
 * changed. */
static void find_what_is_left(struct lap_output *output, uint64_t size, struct lap_totals *totals)
{
    uint64_t at = LAP_FILE_HEADER_BYTES, frames = 0, marked = 0;
    uint8_t bytes[LAP_CHUNK_HEADER_BYTES + LAP_MARK_MAX_BYTES];
    struct lap_chunk_header header;
    while (lap_file_read(&output->file, at, bytes, LAP_CHUNK_HEADER_BYTES) == 0 &&
           lap_chunk_header_load(bytes, output->seed, &header) == LAP_OK &&
           at + LAP_CHUNK_HEADER_BYTES + header.stored_bytes <= size &&
           payload_is_there(output, at + LAP_CHUNK_HEADER_BYTES, &header)) {
        uint8_t *payload = bytes + LAP_CHUNK_HEADER_BYTES;
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        if (header.kind == LAP_CHUNK_FRAME && header.stored_bytes <= LAP_MARK_MAX_BYTES &&
            lap_file_read(&output->file, at - header.stored_bytes, payload, header.stored_bytes) == 0 &&
            lap_mark_load(payload, header.stored_bytes, totals) == LAP_OK) {
            marked = at;
            frames++;
        }
    }
    output->bytes = marked ? marked : at;
    output->frames = frames;
    cut(output, output->bytes);
}

/* A chunk is lost, so the file ends behind the last place without a loss. */
static void give_up(struct lap_output *output, enum lap_status status)
{
    char reason[LAP_END_REASON_BYTES] = "";
    memcpy(reason, lap_error_message(), strnlen(lap_error_message(), sizeof(reason) - 1));
    struct lap_totals totals = output->mark_totals;
    struct stat now;
    bool with_index = true;
    int fd = lap_own_file_fd(&output->file);
    if (fd >= 0 && fstat(fd, &now) == 0 && (output->torn || (uint64_t)now.st_size < output->bytes)) {
        with_index = false;
        find_what_is_left(output, (uint64_t)now.st_size, &totals);
    } else if (output->mark_bytes) {
        cut(output, output->mark_bytes);
        output->bytes = output->mark_bytes;
        output->chunks = output->mark_chunks;
        /* With an INDEX chunk the headers before it went, too. */
        with_index = output->mark_index_chunks == output->index_chunks;
    }
    (void)finish(output, &totals, reason, with_index);
    (void)lap_fail(status, "%s", reason); /* an error while ending the file is not the cause */
}

static void fail(struct lap_output *output, enum lap_status status)
{
    if (output->resumed_at) {
        cut(output, output->resumed_at);
        (void)lap_own_file_close(&output->file);
        return;
    }
    if (output->options.streamed)
        (void)lap_own_file_close(&output->file);
    else
        give_up(output, status);
    if (output->queue.memory)
        lap_queue_close(&output->queue);
}

/* Whether the file is still there and has all that was written; otherwise it is given up. The mutex is held. */
static enum lap_status check_file(struct lap_output *output)
{
    uint64_t bytes, names;
    enum lap_status status;
    if (output->options.streamed)
        return LAP_OK; /* a failed send shows it */
    output->looked_at = lap_own_file_look(&output->file, &bytes, &names);
    if (output->looked_at < 0)
        status = lap_fail(LAP_ERROR_IO, "can't write %s: %s", output->path, lap_file_error_text(errno));
    else if (bytes >= output->bytes && (names != 0 || output->nameless) && !output->torn)
        return LAP_OK;
    else
        status = fail_of_other(output, names == 0 ? "deleted" : "cut");
    output->looked_at = -1;
    fail(output, status);
    return status;
}

/* Packs a payload and appends it; the mutex is held. mark: of a frame mark. */
static enum lap_status write_payload(struct lap_output *output, struct lap_chunk_header *header, const uint8_t *payload,
                                     size_t bytes, const struct lap_totals *mark)
{
    enum lap_status status = !lap_own_file_is_open(&output->file) ? LAP_ERROR_STOPPED : check_file(output);
    if (status != LAP_OK)
        return status;
    header->frame = output->frames;
    payload = lap_chunk_pack(header, mark ? NULL : output->options.packer, payload, bytes, output->scratch);
    status = append(output, header, payload);
    if (status != LAP_OK) {
        fail(output, status);
    } else if (mark) {
        output->frames++;
        output->mark_bytes = output->bytes;
        output->mark_chunks = output->chunks;
        output->mark_index_chunks = output->index_chunks;
        output->mark_totals = *mark;
    }
    return status;
}

/* Writes the oldest chunk of the queue; the mutex is held. LAP_END: there is none. */
static enum lap_status write_oldest(struct lap_output *output)
{
    const uint8_t *payload;
    if (!lap_own_file_is_open(&output->file))
        return LAP_ERROR_STOPPED;
    const struct lap_queued *oldest = lap_queue_oldest(&output->queue, output->payload, &payload);
    if (!oldest && output->queue.lost) {
        enum lap_status status = lap_fail(LAP_ERROR_IO, "another process has changed %s", output->queue.file.own.path);
        fail(output, status);
        return status;
    }
    if (!oldest)
        return LAP_END;
    struct lap_chunk_header header = oldest->header;
    struct lap_totals totals;
    bool is_mark = header.kind == LAP_CHUNK_FRAME;
    enum lap_status status = is_mark ? lap_mark_load(payload, header.raw_bytes, &totals) : LAP_OK;
    if (status == LAP_OK)
        status = write_payload(output, &header, payload, header.raw_bytes, is_mark ? &totals : NULL);
    lap_queue_take(&output->queue);
    return status;
}

/* Writes all that was put until now; the mutex is held. */
static enum lap_status drain(struct lap_output *output)
{
    uint64_t wanted;
    if (!output->queue.memory)
        return LAP_OK;
    if (!lap_queue_count_put(&output->queue, &wanted))
        return LAP_ERROR_STOPPED;
    enum lap_status status = LAP_OK;
    lap_queue_look(&output->queue);
    while (status == LAP_OK && lap_queue_count_taken(&output->queue) < wanted)
        status = write_oldest(output);
    lap_queue_give_back(&output->queue);
    return status == LAP_END ? LAP_ERROR_STOPPED : status; /* there are some, so the lock is not available */
}

static enum lap_status write_behind_queue(struct lap_output *output, struct lap_chunk_header *header,
                                          const struct iovec *parts, unsigned count, const struct lap_totals *mark)
{
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    enum lap_status status = !lap_own_file_is_open(&output->file) ? LAP_ERROR_STOPPED : drain(output);
    if (status == LAP_OK) {
        const uint8_t *payload = parts[0].iov_base;
        size_t bytes = parts[0].iov_len;
        if (count > 1) {
            bytes = lap_queue_copy(output->payload, parts, count);
            payload = output->payload;
        }
        status = write_payload(output, header, payload, bytes, mark);
    }
    pthread_mutex_unlock(&output->mutex);
    return status;
}

/* A tail file knows a chunk by its place among all, so where there is one every chunk goes through it. */
static enum lap_status put_in_tail(struct lap_output *output, struct lap_chunk_header *header,
                                   const struct iovec *parts, unsigned count)
{
    enum lap_status status;
    while ((status = lap_queue_put(&output->queue, header, parts, count)) == LAP_AGAIN) {
        status = lap_output_drain(output);
        if (status != LAP_OK)
            break;
    }
    return status;
}

enum lap_status lap_output_chunk(struct lap_output *output, struct lap_chunk_header *header, const struct iovec *parts,
                                 unsigned count)
{
    enum lap_status status = LAP_AGAIN;
    if (output->has_thread && output->queue.durable)
        return put_in_tail(output, header, parts, count);
    if (output->has_thread && !is_hurried(output))
        status = lap_queue_put(&output->queue, header, parts, count);
    return status == LAP_AGAIN ? write_behind_queue(output, header, parts, count, NULL) : status;
}

enum lap_status lap_output_dictionary(struct lap_output *output, const uint8_t *names, size_t bytes)
{
    struct iovec part = {(void *)(uintptr_t)names, bytes};
    enum lap_status status = LAP_OK;
    for (unsigned i = 0; i < 2 && status == LAP_OK; i++) {
        struct lap_chunk_header header = {.kind = LAP_CHUNK_DICTIONARY};
        status = lap_output_chunk(output, &header, &part, 1);
    }
    return status;
}

enum lap_status lap_output_frame(struct lap_output *output, struct lap_chunk_header *header,
                                 const struct lap_totals *totals)
{
    uint8_t payload[LAP_MARK_MAX_BYTES];
    struct iovec part = {payload, lap_mark_store(totals, payload)};
    enum lap_status status = LAP_AGAIN;
    if (output->queue.durable && output->has_thread) {
        status = put_in_tail(output, header, &part, 1);
        /* Setting this mark may have found that there is no tail file any more. */
        if (status == LAP_OK && !output->queue.durable)
            status = lap_output_drain(output);
    } else if (output->options.streamed && output->has_thread && !is_hurried(output)) {
        status = lap_queue_put(&output->queue, header, &part, 1);
    }
    if (status == LAP_AGAIN)
        status = write_behind_queue(output, header, &part, 1, totals);
    if (status == LAP_OK)
        output->marks++;
    return status;
}

enum lap_status lap_output_drain(struct lap_output *output)
{
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    enum lap_status status = !lap_own_file_is_open(&output->file) ? LAP_ERROR_STOPPED : drain(output);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

/* ---- the journal ---- */

void lap_output_save(struct lap_output *output)
{
    if (output->has_thread)
        lap_queue_save(&output->queue);
}

struct lap_notes *lap_output_notes(struct lap_output *output)
{
    return atomic_load_explicit(&output->queue.file.notes, memory_order_acquire);
}

bool lap_output_reserve_notes(struct lap_output *output, const void *from, size_t bytes)
{
    return lap_tail_reserve_notes(&output->queue.file, from, bytes);
}

void lap_output_log_chunk(struct lap_output *output, struct lap_journal_log *log, const struct lap_journal_head *head)
{
    if (log->until[log->half ^ 1] > atomic_load_explicit(&output->queue.saved, memory_order_acquire))
        lap_queue_save(&output->queue);
    lap_journal_begin(log, head);
}

/* ---- the helper thread ---- */

static void *help(void *argument)
{
    struct lap_output *output = argument;
    pthread_setname_np(pthread_self(), "lapilli");
    enum lap_status status = LAP_OK;
    while (status >= LAP_OK && lap_queue_wait(&output->queue)) {
        bool first = true;
        do {
            pthread_mutex_lock(&output->mutex);
            atomic_store(&output->busy, true);
            if (first)
                lap_queue_look(&output->queue);
            first = false;
            status = write_oldest(output);
            atomic_store(&output->busy, false);
            pthread_mutex_unlock(&output->mutex);
        } while (status == LAP_OK && !is_hurried(output));
    }
    if (status == LAP_ERROR_IO || status == LAP_ERROR_MEMORY)
        output->options.failed(output->options.user, status);
    return NULL;
}

void lap_output_start(struct lap_output *output)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    struct lap_queue_options options = {.capacity = output->options.queue_bytes};
    if (output->options.streamed)
        options.eager = true;
    else
        options.trace_path = output->path;
    options.put = output->records + output->chunks;
    memcpy(options.uuid, output->uuid, sizeof(options.uuid));
    if (options.capacity == 0 || lap_queue_init(&output->queue, &options) != LAP_OK)
        return;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread inherits it: no handler of the program runs there */
        output->has_thread = pthread_create(&output->thread, &attributes, help, output) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!output->has_thread) {
        lap_tail_remove(&output->queue.file);
        lap_queue_finish(&output->queue);
    }
}

/* ---- the end ---- */

/* File systems that write when a file is closed (NFS) report their errors then. The file's end can still record
 * them. */
static enum lap_status check_written(struct lap_output *output)
{
    if (output->options.streamed)
        return LAP_OK;
    int cancel = lap_cancel_off();
    int fd = lap_own_file_fd(&output->file), copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    int error = copy >= 0 && close(copy) != 0 ? errno : 0;
    lap_cancel_restore(cancel);
    if (!error || error == EINTR)
        return LAP_OK;
    enum lap_status status = lap_fail(LAP_ERROR_IO, "can't write %s: %s", output->path, lap_file_error_text(error));
    fail(output, status);
    return status;
}

enum lap_status lap_output_finish(struct lap_output *output, const struct lap_totals *totals, const char *reason)
{
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    enum lap_status status = !lap_own_file_is_open(&output->file) ? LAP_ERROR_STOPPED : drain(output);
    if (status == LAP_OK && output->queue.memory)
        lap_queue_close(&output->queue);
    /* Chunks put during this drain, and those an interrupted thread has begun to put, are not in the file. */
    if (status == LAP_OK)
        status = drain(output);
    if (status == LAP_OK)
        status = check_file(output);
    if (status == LAP_OK)
        status = check_written(output);
    if (status == LAP_OK)
        status = finish(output, totals, reason, !output->without_index);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

enum lap_status lap_output_break_off(struct lap_output *output, const struct lap_totals *totals, const char *reason)
{
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    enum lap_status status = !lap_own_file_is_open(&output->file) ? LAP_ERROR_STOPPED : LAP_OK;
    if (status == LAP_OK && (output->queue.durable || (output->options.streamed && output->queue.memory))) {
        /* The queue has frames. Where its lock is not available they stay in the tail file, beside a trace without an
         * end. */
        lap_queue_close(&output->queue);
        status = drain(output);
    }
    if (status == LAP_OK)
        status = check_file(output);
    if (status == LAP_OK)
        status = finish(output, totals, reason, false);
    else
        (void)lap_own_file_close(&output->file);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

enum lap_status lap_output_amend(struct lap_output *output, const char *reason)
{
    uint8_t payload[LAP_END_BYTES], head[LAP_CHUNK_HEADER_BYTES];
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    enum lap_status status = LAP_ERROR_STOPPED;
    int fd = lap_own_file_fd(&output->ended);
    bool streamed = output->options.streamed;
    if (fd >= 0 && (streamed || lseek(fd, 0, SEEK_END) == (off_t)output->bytes)) {
        uint64_t at = output->bytes - sizeof(head) - sizeof(payload);
        memcpy(output->end.reason, reason, strnlen(reason, sizeof(output->end.reason) - 1));
        struct lap_chunk_header header = pack_end(output, &output->end, payload);
        lap_chunk_header_store(&header, output->seed, head);
        struct iovec parts[2] = {{head, sizeof(head)}, {payload, sizeof(payload)}};
        int error = streamed ? lap_send_cut(&output->ended, at) : lap_file_write(&output->ended, at, parts, 2);
        if (streamed && !error)
            error = lap_send_append(&output->ended, parts, 2);
        status =
            error ? lap_fail(LAP_ERROR_IO, "can't write %s: %s", output->path, lap_file_error_text(error)) : LAP_OK;
    }
    (void)lap_own_file_close(&output->ended);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

enum lap_status lap_output_confirm(struct lap_output *output)
{
    int error = 0;
    if (!output->options.streamed || !lock_file(output))
        return LAP_OK;
    bool ended = lap_own_file_is_open(&output->ended);
    uint64_t bytes = output->bytes;
    if (ended)
        error = lap_send_done(&output->ended, bytes);
    pthread_mutex_unlock(&output->mutex);
    if (ended && !error)
        error = lap_send_wait_confirmed(&output->ended, bytes);
    return error ? lap_fail(LAP_ERROR_IO, "the receiver has not said that all of the trace has arrived (%s): %s",
                            lap_file_error_text(error), output->path)
                 : LAP_OK;
}

void lap_output_settle(struct lap_output *output)
{
    if (!lock_file(output))
        return;
    (void)lap_own_file_close(&output->ended);
    pthread_mutex_unlock(&output->mutex);
}

bool lap_output_take_connection(struct lap_output *output, struct lap_own_file *out)
{
    if (!output->options.streamed || !lock_file(output))
        return false;
    lap_own_file_move(&output->ended, out);
    pthread_mutex_unlock(&output->mutex);
    return lap_own_file_is_open(out);
}

enum lap_status lap_output_forget(struct lap_output *output)
{
    if (!lock_file(output))
        return LAP_ERROR_STOPPED;
    bool can = output->options.streamed && lap_own_file_is_open(&output->ended);
    int error = can ? lap_send_forget(&output->ended) : 0;
    pthread_mutex_unlock(&output->mutex);
    if (error)
        return lap_fail(LAP_ERROR_IO, "can't stream to %s: %s", output->path, lap_file_error_text(error));
    return can ? LAP_OK : LAP_ERROR_STOPPED;
}

void lap_output_abandon(struct lap_output *output)
{
    lap_own_file_disown(&output->file);
    lap_own_file_disown(&output->ended);
    lap_tail_abandon(&output->queue.file);
}

void lap_output_release(struct lap_output *output)
{
    if (output->has_thread) {
        lap_queue_end(&output->queue);
        pthread_join(output->thread, NULL);
        output->has_thread = false;
    }
    lap_own_file_release(&output->file);
    lap_own_file_release(&output->ended);
    lap_queue_finish(&output->queue);
    if (output->memory)
        munmap(output->memory, output->memory_bytes);
    output->memory = NULL;
    free(output->path);
    output->path = NULL;
}
