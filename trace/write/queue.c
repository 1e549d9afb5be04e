/* SPDX-License-Identifier: MIT */
#include "trace/write/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cancel.h"
#include "trace/format/hash.h"

#define HEAD_BYTES   ((size_t)LAP_TAIL_ENTRY_BYTES)
#define LOCK_WAIT_NS 200000000L
#define WAKE_BYTES   ((size_t)64 << 10)  /* less is not worth a switch to another thread */
#define REST_BYTES   ((size_t)512 << 10) /* the same, for chunks that the tail file has */
#define NEARLY_EMPTY 8u                  /* this part of the ring is used */
#define CALM         256u                /* times that the ring may be larger than needed */
#define LARGE_BYTES                                                                                                    \
    ((size_t)32 << 10) /* a payload of this size or more: a system call costs less than copying it twice */
#define SPINS       100u
#define LOOK_CHUNKS 64u                 /* the file is checked, and room given back, every so many chunks */
#define GIVE_BYTES  ((size_t)256 << 10) /* taken chunks of this size are given back at once, too */
#define SAVE_BYTES  ((size_t)64 << 10)  /* goes into the file even if no frame ends */

_Static_assert(LAP_QUEUE_MIN_BYTES >= 3 * (LAP_CHUNK_MAX_RAW + 4096), "a chunk fits wherever the others end");
_Static_assert(LAP_TAIL_STEP_BYTES >= LAP_CHUNK_MAX_RAW + 4096, "a chunk fits an empty ring that can't grow");

enum lap_status lap_queue_init(struct lap_queue *queue, const struct lap_queue_options *options)
{
    memset(queue, 0, sizeof(*queue));
    lap_own_file_init(&queue->file.own, -1, NULL);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&queue->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->room, NULL);
    queue->put = queue->saved = queue->taken = queue->seen = queue->given_back = options->put;
    queue->seed = lap_tail_seed(options->uuid);
    queue->eager = options->eager;
    queue->wanted = options->put;
    size_t capacity = options->capacity & ~(size_t)4095;
    if (capacity < LAP_QUEUE_MIN_BYTES)
        capacity = LAP_QUEUE_MIN_BYTES;
    void *memory = MAP_FAILED;
    for (; memory == MAP_FAILED && capacity >= LAP_QUEUE_MIN_BYTES; capacity = capacity / 2 & ~(size_t)4095) {
        memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        queue->capacity = capacity;
    }
    if (memory == MAP_FAILED)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    queue->memory = memory;
    queue->limit = LAP_TAIL_STEP_BYTES;
    queue->durable = options->trace_path &&
                     lap_tail_create(&queue->file, options->trace_path, options->uuid, LAP_TAIL_STEP_BYTES) == LAP_OK;
    return LAP_OK;
}

void lap_queue_finish(struct lap_queue *queue)
{
    if (queue->memory) {
        munmap(queue->memory, queue->capacity);
        lap_tail_release(&queue->file);
    }
    queue->memory = NULL;
    queue->durable = false;
}

static inline void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* A thread has the lock for a moment only, unless a signal handler that ends the process interrupts it: then it does
 * not get the lock again, and in the end neither do others. */
static bool lock(struct lap_queue *queue)
{
    int error = pthread_mutex_trylock(&queue->mutex);
    for (unsigned i = 0; error == EBUSY && i < SPINS; i++) { /* it is held only while the kernel copies a few bytes */
        pause_a_little();
        error = pthread_mutex_trylock(&queue->mutex);
    }
    while (error == EBUSY || error == ETIMEDOUT) {
        bool last = atomic_load(&queue->ending);
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec += LOCK_WAIT_NS;
        if (limit.tv_nsec >= 1000000000)
            limit.tv_sec++, limit.tv_nsec -= 1000000000;
        error = pthread_mutex_timedlock(&queue->mutex, &limit);
        if (error != 0 && last)
            return false;
    }
    return error == 0;
}

/* Payloads that only the file has may still be read from there. The mutex is held. */
static void give_file_up(struct lap_queue *queue, int error)
{
    queue->file_error = error;
    queue->durable = false;
    lap_tail_give_notes_up(&queue->file);
}

static void look_at_file(struct lap_queue *queue)
{
    if (queue->durable && !lap_tail_is_whole(&queue->file))
        give_file_up(queue, ESTALE);
    queue->look = false;
}

/* Makes the ring longer, so that `end` bytes of it can be touched. */
static bool grow(struct lap_queue *queue, size_t end)
{
    size_t limit = (end + LAP_TAIL_STEP_BYTES - 1) / LAP_TAIL_STEP_BYTES * LAP_TAIL_STEP_BYTES;
    if (limit > queue->capacity)
        limit = queue->capacity;
    if (limit < end || queue->full)
        return false;
    look_at_file(queue);
    queue->full = queue->durable && !lap_tail_reserve(&queue->file, queue->limit, limit);
    if (queue->full)
        return false;
    queue->limit = limit;
    return true;
}

/* Where `need` bytes can go in one piece, or SIZE_MAX. Behind an entry there is always room for a wrap mark; the
 * skipped bytes count as used until they are taken. A ring that has wrapped can't grow, so below the capacity it wraps
 * only where it is nearly empty. */
static size_t find_place(struct lap_queue *queue, size_t need)
{
    if (queue->used && queue->head <= queue->tail)
        return queue->tail - queue->head >= need ? queue->head : SIZE_MAX;
    if (queue->limit - queue->head >= need + HEAD_BYTES)
        return queue->head;
    bool nearly_empty = queue->tail >= need && queue->used <= queue->limit / NEARLY_EMPTY;
    if (!nearly_empty && grow(queue, queue->head + need + HEAD_BYTES))
        return queue->head;
    return queue->tail >= need ? 0 : SIZE_MAX;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The mutex is held. */
static size_t wait_for_place(struct lap_queue *queue, size_t need)
{
    size_t place = find_place(queue, need);
    if (place != SIZE_MAX || queue->ending || queue->closed)
        return place;
    uint64_t since = now_ns();
    int cancel = lap_cancel_off();
    queue->waiting++;
    do {
        pthread_cond_wait(&queue->room, &queue->mutex);
        place = find_place(queue, need);
    } while (place == SIZE_MAX && !queue->ending && !queue->closed);
    queue->waiting--;
    lap_cancel_restore(cancel);
    queue->waited_ns += now_ns() - since;
    return place;
}

/* ---- the file; the mutex is held ---- */

/* Writes into the file's ring. The file's start moves behind old entries before they are overwritten. */
static bool write_file(struct lap_queue *queue, size_t at, const struct iovec *parts, unsigned count)
{
    size_t end = at;
    int error = 0;
    if (!queue->durable)
        return false;
    for (unsigned i = 0; i < count; i++)
        end += parts[i].iov_len;
    if (queue->start > queue->tail || (at < queue->tail && end > queue->start)) {
        error = lap_tail_set_start(&queue->file, queue->tail);
        queue->start = queue->tail;
    }
    if (!error)
        error = lap_tail_write(&queue->file, at, parts, count);
    if (error)
        give_file_up(queue, error);
    return !error;
}

/* Brings the file up to date as far as `end` of the ring. Entries taken meanwhile are written, too, so that the file
 * has all entries from its start on. */
static void save(struct lap_queue *queue, size_t end)
{
    struct iovec part = {queue->memory + queue->unsaved, end - queue->unsaved};
    if (end != queue->unsaved)
        (void)write_file(queue, queue->unsaved, &part, 1);
    queue->unsaved = end;
}

/* ---- putting ---- */

size_t lap_queue_copy(uint8_t *to, const struct iovec *parts, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].iov_len)
            memcpy(to + bytes, parts[i].iov_base, parts[i].iov_len);
        bytes += parts[i].iov_len;
    }
    return bytes;
}

/* A large payload is in the file before its entry's head, so that the head never announces a missing payload. */
static void store(struct lap_queue *queue, size_t place, struct lap_tail_entry *entry, const struct iovec *parts,
                  unsigned count)
{
    size_t payload_at = place + HEAD_BYTES, end = place + lap_tail_entry_stride(entry->header.stored_bytes);
    entry->number = queue->put;
    entry->header.frame = queue->frames;
    if (place != queue->head) { /* the rest of the ring is too short */
        struct lap_tail_entry wrap = {.kind = LAP_TAIL_WRAP, .number = queue->put};
        lap_tail_entry_store(queue->memory + queue->head, &wrap, queue->seed);
        save(queue, queue->head + HEAD_BYTES);
        queue->unsaved = place;
        queue->used += queue->limit - queue->head;
    }
    entry->in_file = entry->header.stored_bytes >= LARGE_BYTES && write_file(queue, payload_at, parts, count);
    if (!entry->in_file)
        (void)lap_queue_copy(queue->memory + payload_at, parts, count);
    lap_tail_entry_store(queue->memory + place, entry, queue->seed);
    if (entry->in_file) {
        save(queue, payload_at);
        queue->unsaved = end;
    }
    queue->head = end;
    queue->used += end - place;
    queue->put++;
    queue->frames += entry->header.kind == LAP_CHUNK_FRAME;
    if (queue->head > queue->peak)
        queue->peak = queue->head;
    if (entry->header.kind == LAP_CHUNK_FRAME || end - queue->unsaved >= SAVE_BYTES)
        save(queue, end);
    if (queue->unsaved == end)
        atomic_store_explicit(&queue->saved, queue->put, memory_order_release);
}

void lap_queue_save(struct lap_queue *queue)
{
    if (!queue->durable || !lock(queue))
        return;
    save(queue, queue->head);
    atomic_store_explicit(&queue->saved, queue->put, memory_order_release);
    pthread_mutex_unlock(&queue->mutex);
}

/* A helper thread beside the program's costs them more than its time: they are interrupted whenever the kernel changes
 * the protection of a page. */
static size_t wake_bytes(const struct lap_queue *queue)
{
    return queue->durable ? REST_BYTES : WAKE_BYTES;
}

/* The mutex is held. While no thread takes, everything that was taken is given back. */
static bool is_worth_writing(const struct lap_queue *queue)
{
    return queue->used >= wake_bytes(queue) || queue->given_back < queue->wanted;
}

enum lap_status lap_queue_put(struct lap_queue *queue, struct lap_chunk_header *header, const struct iovec *parts,
                              unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    header->codec = LAP_CODEC_NONE;
    header->raw_bytes = header->stored_bytes = (uint32_t)bytes;
    header->payload_hash = queue->durable ? lap_hash64_parts(parts, count) : 0;
    struct lap_tail_entry entry = {.kind = LAP_TAIL_CHUNK, .header = *header};
    enum lap_status status = LAP_OK;
    if (!lock(queue))
        return LAP_ERROR_STOPPED;
    size_t place = wait_for_place(queue, lap_tail_entry_stride(bytes));
    if (queue->closed) {
        status = LAP_ERROR_STOPPED;
    } else if (place == SIZE_MAX) {
        status = LAP_AGAIN;
    } else {
        store(queue, place, &entry, parts, count);
        if (queue->eager && header->kind == LAP_CHUNK_FRAME)
            queue->wanted = queue->put;
        if (queue->idle && is_worth_writing(queue))
            pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

/* ---- taking ---- */

/* The mutex is held. A short queue stays in the same few pages; the memory of a long one is given back when it has not
 * been needed for a while. */
static void become_empty(struct lap_queue *queue)
{
    queue->calm = queue->peak > queue->limit / 2 ? 0 : queue->calm + 1;
    if (queue->limit > LAP_TAIL_STEP_BYTES && queue->calm >= CALM) {
        if (queue->durable)
            lap_tail_give_back(&queue->file, LAP_TAIL_STEP_BYTES, queue->limit);
        madvise(queue->memory + LAP_TAIL_STEP_BYTES, queue->limit - LAP_TAIL_STEP_BYTES, MADV_DONTNEED);
        queue->limit = LAP_TAIL_STEP_BYTES;
        queue->calm = 0;
    }
    queue->head = queue->tail = queue->next = queue->peak = queue->unsaved = 0;
    atomic_store_explicit(&queue->saved, queue->put, memory_order_release); /* the trace has them */
    queue->full = false;
}

/* The mutex is held. The room of chunks taken since the last time can be used again. */
static void give_back(struct lap_queue *queue)
{
    if (queue->given_back == queue->taken)
        return;
    queue->given_back = queue->taken;
    queue->used -= queue->next - queue->tail;
    queue->tail = queue->next;
    if (queue->used == 0)
        become_empty(queue);
    pthread_cond_broadcast(&queue->room);
}

/* Reads a payload that only the file has. Without the lock: only the taking thread changes these bytes. */
static const uint8_t *read_payload(struct lap_queue *queue, uint8_t *room)
{
    size_t at = queue->next + HEAD_BYTES, bytes = queue->oldest.header.stored_bytes;
    uint8_t *payload = room + at % 4096; /* pages onto pages: the kernel copies faster */
    queue->lost = lap_tail_read(&queue->file, at, payload, bytes) != 0 ||
                  lap_hash64(payload, bytes) != queue->oldest.header.payload_hash;
    return payload;
}

/* The mutex is held, and everything that was taken is given back. */
static void go_around(struct lap_queue *queue)
{
    queue->used -= queue->limit - queue->tail;
    queue->tail = queue->next = 0;
}

/* Reads the head of the oldest entry. The taking thread needs no lock for entries put before it last had the lock: no
 * thread writes between tail and head. */
static bool read_oldest(struct lap_queue *queue)
{
    struct lap_tail_entry entry;
    enum lap_status status = lap_tail_entry_load(queue->memory + queue->next, queue->seed, queue->seed, &entry);
    if (status == LAP_OK && entry.kind == LAP_TAIL_WRAP) {
        if (!lock(queue))
            return false;
        give_back(queue);
        go_around(queue);
        pthread_mutex_unlock(&queue->mutex);
        status = lap_tail_entry_load(queue->memory, queue->seed, queue->seed, &entry);
    }
    queue->lost = status != LAP_OK; /* another process has written into the file */
    queue->oldest = (struct lap_queued){entry.header, entry.in_file};
    return true;
}

const struct lap_queued *lap_queue_oldest(struct lap_queue *queue, uint8_t *room, const uint8_t **out_payload)
{
    if (queue->taken == queue->seen || queue->look || queue->taken % LOOK_CHUNKS == 0) {
        if (!lock(queue))
            return NULL;
        queue->seen = queue->put;
        if (queue->taken != queue->seen && !queue->lost)
            look_at_file(queue);
        pthread_mutex_unlock(&queue->mutex);
    }
    if (queue->taken == queue->seen || queue->lost || !read_oldest(queue) || queue->lost)
        return NULL;
    *out_payload = queue->oldest.in_file ? read_payload(queue, room) : queue->memory + queue->next + HEAD_BYTES;
    return queue->lost ? NULL : &queue->oldest;
}

void lap_queue_take(struct lap_queue *queue)
{
    queue->next += lap_tail_entry_stride(queue->oldest.header.stored_bytes);
    queue->taken++;
    if (queue->taken == queue->seen || queue->taken % LOOK_CHUNKS == 0 || queue->next - queue->tail >= GIVE_BYTES)
        lap_queue_give_back(queue);
}

void lap_queue_give_back(struct lap_queue *queue)
{
    if (queue->given_back == queue->taken || !lock(queue))
        return;
    give_back(queue);
    pthread_mutex_unlock(&queue->mutex);
}

bool lap_queue_count_put(struct lap_queue *queue, uint64_t *out_put)
{
    if (!lock(queue))
        return false;
    *out_put = queue->put;
    pthread_mutex_unlock(&queue->mutex);
    return true;
}

bool lap_queue_wait(struct lap_queue *queue)
{
    if (!lock(queue))
        return false;
    queue->idle = true;
    while (!is_worth_writing(queue) && !queue->ending)
        pthread_cond_wait(&queue->work, &queue->mutex);
    queue->idle = false;
    bool going_on = !queue->ending;
    pthread_mutex_unlock(&queue->mutex);
    return going_on;
}

void lap_queue_close(struct lap_queue *queue)
{
    if (!lock(queue))
        return;
    queue->closed = true;
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->mutex);
}

void lap_queue_end(struct lap_queue *queue)
{
    atomic_store(&queue->ending, true);
    if (!lock(queue))
        return;
    pthread_cond_broadcast(&queue->room);
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->mutex);
}

uint64_t lap_queue_waited_ns(struct lap_queue *queue)
{
    if (!lock(queue))
        return 0;
    uint64_t waited = queue->waited_ns;
    pthread_mutex_unlock(&queue->mutex);
    return waited;
}
