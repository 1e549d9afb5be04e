/* SPDX-License-Identifier: MIT */
#include "trace/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ENTRY_ALIGN  ((size_t)16)
#define HEAD_BYTES   ((sizeof(struct lap_queued) + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1))
#define LOCK_WAIT_NS 200000000L
#define WAKE_BYTES                                                                                                     \
    ((size_t)64 << 10)                /* less is not worth a switch to another thread: the next frame mark writes it   \
                                       */
#define KEEP_BYTES ((size_t)16 << 20) /* of an empty queue's memory */

_Static_assert(LAP_QUEUE_MIN_BYTES >= 3 * (LAP_CHUNK_MAX_RAW + 4096), "a chunk fits wherever the others end");

static size_t entry_bytes(size_t payload)
{
    return HEAD_BYTES + ((payload + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1));
}

enum lap_status lap_queue_init(struct lap_queue *queue, size_t capacity)
{
    memset(queue, 0, sizeof(*queue));
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&queue->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->room, NULL);
    capacity &= ~(size_t)4095;
    if (capacity < LAP_QUEUE_MIN_BYTES)
        capacity = LAP_QUEUE_MIN_BYTES;
    for (;; capacity = capacity / 2 & ~(size_t)4095) {
        void *memory = capacity < LAP_QUEUE_MIN_BYTES ? NULL
                                                      : mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (!memory)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (memory != MAP_FAILED) {
            queue->memory = memory;
            queue->capacity = capacity;
            return LAP_OK;
        }
    }
}

void lap_queue_finish(struct lap_queue *queue)
{
    if (queue->memory)
        munmap(queue->memory, queue->capacity);
    queue->memory = NULL;
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

/* Where `need` bytes can go in one piece, or SIZE_MAX; bytes that are passed over at the end of the ring count as used
 * until they are taken. */
static size_t find_place(const struct lap_queue *queue, size_t need)
{
    size_t free_bytes = queue->capacity - queue->used, to_end = queue->capacity - queue->head;
    if (queue->head < queue->tail || to_end >= need)
        return free_bytes >= need ? queue->head : SIZE_MAX;
    return free_bytes >= to_end + need ? 0 : SIZE_MAX;
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

static void store(struct lap_queue *queue, size_t place, size_t need, const struct lap_queued *entry,
                  const uint8_t *payload)
{
    if (place != queue->head) { /* the rest of the ring is too short */
        if (queue->capacity - queue->head >= HEAD_BYTES)
            memcpy(queue->memory + queue->head, &(struct lap_queued){.skip = true}, sizeof(struct lap_queued));
        queue->used += queue->capacity - queue->head;
    }
    memcpy(queue->memory + place, entry, sizeof(*entry));
    if (entry->bytes)
        memcpy(queue->memory + place + HEAD_BYTES, payload, entry->bytes);
    queue->head = place + need;
    queue->used += need;
    queue->put++;
    if (queue->head > queue->peak)
        queue->peak = queue->head;
}

enum lap_status lap_queue_put(struct lap_queue *queue, const struct lap_chunk_header *header, bool packed,
                              const uint8_t *payload, size_t bytes)
{
    struct lap_queued entry = {.header = *header, .bytes = (uint32_t)bytes, .packed = packed};
    size_t need = entry_bytes(bytes);
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

struct lap_queued *lap_queue_oldest(struct lap_queue *queue, const uint8_t **out_payload)
{
    struct lap_queued *oldest = NULL;
    if (!lock(queue))
        return NULL;
    if (queue->put != queue->taken) {
        size_t to_end = queue->capacity - queue->tail;
        if (to_end < HEAD_BYTES || ((struct lap_queued *)(void *)(queue->memory + queue->tail))->skip) {
            queue->used -= to_end;
            queue->tail = 0;
        }
        oldest = (struct lap_queued *)(void *)(queue->memory + queue->tail);
        *out_payload = queue->memory + queue->tail + HEAD_BYTES;
    }
    pthread_mutex_unlock(&queue->mutex);
    return oldest;
}

void lap_queue_take(struct lap_queue *queue)
{
    if (!lock(queue))
        return;
    const struct lap_queued *oldest = (const struct lap_queued *)(const void *)(queue->memory + queue->tail);
    size_t bytes = entry_bytes(oldest->bytes);
    queue->tail += bytes;
    queue->used -= bytes;
    queue->taken++;
    if (queue->used == 0) {
        /* A short queue stays in the same few pages; what a long one needed is given back. */
        if (queue->peak > KEEP_BYTES)
            madvise(queue->memory + KEEP_BYTES, queue->capacity - KEEP_BYTES, MADV_DONTNEED);
        queue->head = queue->tail = queue->peak = 0;
    }
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
