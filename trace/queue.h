/* SPDX-License-Identifier: MIT */
/*
 * queue: chunks on their way from the threads that record to the one that writes, in order, in memory of bounded size.
 *
 * A ring of pages of its own, copied into and read in place: nothing here allocates or frees after lap_queue_init, so a
 * process may end while a thread of it was interrupted in malloc. Any thread may put; one at a time may take. A thread
 * that was interrupted here (exit() in a signal handler) is turned away instead of waiting for itself.
 */
#ifndef LAP_TRACE_QUEUE_H
#define LAP_TRACE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/chunk.h"

#define LAP_QUEUE_MIN_BYTES ((size_t)16 << 20) /* several of the largest chunks */

struct lap_queue {
    pthread_mutex_t mutex;
    pthread_cond_t work, room;
    uint8_t *memory; /* NULL: there is no queue */
    size_t capacity;
    size_t head, tail;   /* where the next chunk goes, and where the oldest is */
    size_t used;         /* bytes from tail to head, around the end */
    size_t peak;         /* memory was touched up to here */
    uint64_t put, taken; /* chunks so far */
    bool idle;           /* somebody waits for work */
    bool closed;         /* nothing more is put */
    atomic_bool ending;  /* nobody waits for work or room any more: the process ends, or the queue does */
    unsigned waiting;    /* threads that wait for room; under the mutex */
    uint64_t waited_ns;  /* by threads that put, for room; under the mutex */
};

/* A chunk that was put. */
struct lap_queued {
    struct lap_chunk_header header;
    uint32_t bytes; /* of the payload, which follows */
    bool packed;    /* header and payload are as they go into the file */
    bool skip;      /* no chunk: the next one is at the beginning of the ring */
};

/* Reserves address space for about `capacity` bytes, or less where there is not so much. LAP_ERROR_MEMORY: not even
 * LAP_QUEUE_MIN_BYTES; the queue is then as after lap_queue_finish. */
enum lap_status lap_queue_init(struct lap_queue *queue, size_t capacity) LAP_MUST_CHECK;
void lap_queue_finish(struct lap_queue *queue);

/* Copies a chunk behind the others; waits for room. LAP_ERROR_STOPPED (without a sentence) when the queue is closed,
 * LAP_AGAIN when it is ending and has no room. */
enum lap_status lap_queue_put(struct lap_queue *queue, const struct lap_chunk_header *header, bool packed,
                              const uint8_t *payload, size_t bytes) LAP_MUST_CHECK;

/* True where so much is waiting that whoever puts had better pack first. */
bool lap_queue_is_long(struct lap_queue *queue);

/* The oldest chunk, or NULL; it stays where it is until lap_queue_take. One thread at a time. */
struct lap_queued *lap_queue_oldest(struct lap_queue *queue, const uint8_t **out_payload);
void lap_queue_take(struct lap_queue *queue);

/* How many chunks were put and taken so far. False when the lock can't be had. */
bool lap_queue_counts(struct lap_queue *queue, uint64_t *out_put, uint64_t *out_taken) LAP_MUST_CHECK;

/* Waits until there is something worth writing. False when the queue is ending. */
bool lap_queue_wait(struct lap_queue *queue);

void lap_queue_close(struct lap_queue *queue); /* what is in it stays */
void lap_queue_end(struct lap_queue *queue);
uint64_t lap_queue_waited_ns(struct lap_queue *queue);

#endif
