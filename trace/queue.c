/* SPDX-License-Identifier: MIT */
#include "trace/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <xxhash.h>

#define HEAD_BYTES   ((size_t)LAP_TAIL_ENTRY_BYTES)
#define LOCK_WAIT_NS 200000000L
#define WAKE_BYTES   ((size_t)64 << 10) /* less is not worth a switch to another thread */
#define STEP_BYTES   ((size_t)8 << 20)  /* by which the ring grows */
#define NEARLY_EMPTY 8u                 /* this part of the ring is used */
#define CALM         256u               /* times that a ring larger than needed is borne */

_Static_assert(LAP_QUEUE_MIN_BYTES >= 3 * (LAP_CHUNK_MAX_RAW + 4096), "a chunk fits wherever the others end");
_Static_assert(STEP_BYTES >= LAP_CHUNK_MAX_RAW + 4096, "a chunk fits an empty ring that can't grow");

enum lap_status lap_queue_init(struct lap_queue *queue, const struct lap_queue_options *options)
{
    memset(queue, 0, sizeof(*queue));
    queue->file.fd = -1;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&queue->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->room, NULL);
    queue->put = queue->taken = options->put;
    queue->seed = lap_tail_seed(options->uuid);
    size_t capacity = options->capacity & ~(size_t)4095;
    if (capacity < LAP_QUEUE_MIN_BYTES)
        capacity = LAP_QUEUE_MIN_BYTES;
    if (options->trace_path &&
        lap_tail_create(&queue->file, options->trace_path, options->uuid, capacity, STEP_BYTES) == LAP_OK) {
        queue->memory = queue->file.memory + LAP_TAIL_HEADER_BYTES;
        queue->capacity = capacity;
        queue->limit = STEP_BYTES;
        queue->durable = true;
        return LAP_OK;
    }
    for (;; capacity = capacity / 2 & ~(size_t)4095) {
        void *memory = capacity < LAP_QUEUE_MIN_BYTES ? NULL
                                                      : mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (!memory)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (memory != MAP_FAILED) {
            queue->memory = memory;
            queue->capacity = capacity;
            queue->limit = STEP_BYTES;
            return LAP_OK;
        }
    }
}

void lap_queue_finish(struct lap_queue *queue)
{
    if (queue->durable)
        lap_tail_release(&queue->file);
    else if (queue->memory)
        munmap(queue->memory, queue->capacity);
    queue->memory = NULL;
    queue->durable = false;
}

/* A thread has the lock for a moment only, unless it is interrupted by a signal handler that ends the process: then it
 * is turned away, and so are others in the end. */
static bool lock(struct lap_queue *queue)
{
    int error = pthread_mutex_trylock(&queue->mutex);
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

/* Makes the ring longer, so that `end` bytes of it can be touched. */
static bool grow(struct lap_queue *queue, size_t end)
{
    size_t limit = (end + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    if (limit > queue->capacity)
        limit = queue->capacity;
    if (limit < end || queue->full)
        return false;
    queue->full = queue->durable && !lap_tail_reserve(&queue->file, queue->limit, limit);
    if (queue->full)
        return false;
    queue->limit = limit;
    return true;
}

/* Where `need` bytes can go in one piece, or SIZE_MAX. Behind an entry there is always room for a mark that says that
 * the ring goes on at its beginning; the bytes that are passed over count as used until they are taken. While the ring
 * goes around it can't grow, so before the capacity is used up it goes around only where it is nearly empty. */
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
    queue->waiting++;
    do {
        pthread_cond_wait(&queue->room, &queue->mutex);
        place = find_place(queue, need);
    } while (place == SIZE_MAX && !queue->ending && !queue->closed);
    queue->waiting--;
    queue->waited_ns += now_ns() - since;
    return place;
}

static void store(struct lap_queue *queue, size_t place, size_t need, struct lap_tail_entry *entry,
                  const uint8_t *payload)
{
    entry->number = queue->put;
    entry->header.frame = queue->frames;
    if (entry->header.stored_bytes)
        memcpy(queue->memory + place + HEAD_BYTES, payload, entry->header.stored_bytes);
    if (place != queue->head) { /* the rest of the ring is too short */
        struct lap_tail_entry wrap = {.kind = LAP_TAIL_WRAP, .number = queue->put};
        lap_tail_entry_store(queue->memory + queue->head, &wrap, queue->seed);
        queue->used += queue->limit - queue->head;
    }
    lap_tail_entry_store(queue->memory + place, entry, queue->seed);
    queue->head = place + need;
    queue->used += need;
    queue->put++;
    queue->frames += entry->header.kind == LAP_CHUNK_FRAME;
    if (queue->head > queue->peak)
        queue->peak = queue->head;
}

enum lap_status lap_queue_put(struct lap_queue *queue, struct lap_chunk_header *header, bool packed,
                              const uint8_t *payload, size_t bytes)
{
    if (!packed) {
        header->codec = LAP_CODEC_NONE;
        header->raw_bytes = header->stored_bytes = (uint32_t)bytes;
        header->payload_hash = queue->durable ? XXH3_64bits(payload, bytes) : 0;
    }
    struct lap_tail_entry entry = {.kind = LAP_TAIL_CHUNK, .packed = packed, .header = *header};
    size_t need = lap_tail_entry_stride(bytes);
    enum lap_status status = LAP_OK;
    if (!lock(queue))
        return LAP_ERROR_STOPPED;
    size_t place = wait_for_place(queue, need);
    if (queue->closed) {
        status = LAP_ERROR_STOPPED;
    } else if (place == SIZE_MAX) {
        status = LAP_AGAIN;
    } else {
        store(queue, place, need, &entry, payload);
        if (queue->idle && queue->used >= WAKE_BYTES)
            pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

bool lap_queue_is_long(struct lap_queue *queue)
{
    if (!lock(queue))
        return false;
    bool is_long = queue->used > queue->capacity / 2;
    pthread_mutex_unlock(&queue->mutex);
    return is_long;
}

const struct lap_queued *lap_queue_oldest(struct lap_queue *queue, const uint8_t **out_payload)
{
    struct lap_queued *oldest = NULL;
    if (!lock(queue))
        return NULL;
    if (queue->put != queue->taken) {
        struct lap_tail_entry entry;
        enum lap_status status = lap_tail_entry_load(queue->memory + queue->tail, queue->seed, &entry);
        if (status == LAP_OK && entry.kind == LAP_TAIL_WRAP) {
            queue->used -= queue->limit - queue->tail;
            queue->tail = 0;
            if (queue->durable)
                lap_tail_set_start(&queue->file, 0); /* what stands here may be overwritten before the next take */
            status = lap_tail_entry_load(queue->memory, queue->seed, &entry);
        }
        queue->damaged = status != LAP_OK || lap_tail_entry_stride(entry.header.stored_bytes) > queue->used;
        if (!queue->damaged) {
            oldest = &queue->oldest;
            *oldest = (struct lap_queued){entry.header, entry.header.stored_bytes, entry.packed};
            *out_payload = queue->memory + queue->tail + HEAD_BYTES;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return oldest;
}

/* The mutex is held. A short queue stays in the same few pages; what a long one needed is given back when it is not
 * needed for a while. */
static void become_empty(struct lap_queue *queue)
{
    queue->calm = queue->peak > queue->limit / 2 ? 0 : queue->calm + 1;
    if (queue->limit > STEP_BYTES && queue->calm >= CALM) {
        if (queue->durable)
            lap_tail_give_back(&queue->file, STEP_BYTES, queue->limit);
        else
            madvise(queue->memory + STEP_BYTES, queue->limit - STEP_BYTES, MADV_DONTNEED);
        queue->limit = STEP_BYTES;
        queue->calm = 0;
    }
    queue->head = queue->tail = queue->peak = 0;
    queue->full = false;
}

void lap_queue_take(struct lap_queue *queue)
{
    if (!lock(queue))
        return;
    size_t bytes = lap_tail_entry_stride(queue->oldest.bytes);
    queue->tail += bytes;
    queue->used -= bytes;
    queue->taken++;
    if (queue->used == 0)
        become_empty(queue);
    if (queue->durable)
        lap_tail_set_start(&queue->file, queue->tail);
    pthread_cond_broadcast(&queue->room);
    pthread_mutex_unlock(&queue->mutex);
}

bool lap_queue_counts(struct lap_queue *queue, uint64_t *out_put, uint64_t *out_taken)
{
    if (!lock(queue))
        return false;
    *out_put = queue->put;
    *out_taken = queue->taken;
    pthread_mutex_unlock(&queue->mutex);
    return true;
}

bool lap_queue_wait(struct lap_queue *queue)
{
    if (!lock(queue))
        return false;
    queue->idle = true;
    while (queue->used < WAKE_BYTES && !queue->ending)
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
