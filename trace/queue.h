/* SPDX-License-Identifier: MIT */
/*
 * queue: chunks on their way from the threads that record to the one that writes, in order, in memory of bounded size.
 *
 * A ring of pages of its own, copied into and read in place: nothing here allocates or frees after lap_queue_init, so a
 * process may end while a thread of it was interrupted in malloc. The pages are those of a tail file (trace/tail.h)
 * where there can be one: what was put is then found by readers even when the process is killed. Any thread may put;
 * one at a time may take. A thread that was interrupted here (exit() in a signal handler) is turned away instead of
 * waiting for itself.
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
#include "trace/tail.h"

#define LAP_QUEUE_MIN_BYTES ((size_t)16 << 20) /* several of the largest chunks */

/* A chunk that was put. */
struct lap_queued {
    struct lap_chunk_header header;
    uint32_t bytes; /* of the payload */
    bool packed;    /* header and payload are as they go into the file */
};

struct lap_queue {
    pthread_mutex_t mutex;
    pthread_cond_t work, room;
    uint8_t *memory; /* NULL: there is no queue */
    size_t capacity;
    size_t limit;        /* of what may be touched: it grows with need, up to the capacity */
    size_t head, tail;   /* where the next chunk goes, and where the oldest is */
    size_t used;         /* bytes from tail to head, around the end */
    size_t peak;         /* memory was touched up to here since the queue was empty */
    unsigned calm;       /* how often it has become empty without needing half of the limit */
    uint64_t put, taken; /* chunks so far, in this queue or before */
    uint64_t frames;     /* of these: frame marks */
    uint64_t seed;       /* of the entries' hashes */
    struct lap_queued oldest;
    bool damaged;       /* somebody else has written into the tail file: lap_queue_oldest finds nothing */
    bool durable;       /* the ring is that of `file` */
    bool full;          /* there was no room to grow; until the queue is empty */
    bool idle;          /* somebody waits for work */
    bool closed;        /* nothing more is put */
    atomic_bool ending; /* nobody waits for work or room any more: the process ends, or the queue does */
    unsigned waiting;   /* threads that wait for room; under the mutex */
    uint64_t waited_ns; /* by threads that put, for room; under the mutex */
    struct lap_tail file;
};

struct lap_queue_options {
    size_t capacity;        /* bytes, about */
    const char *trace_path; /* of the trace whose tail file shall have the ring; NULL: memory of the process */
    uint8_t uuid[16];       /* of that trace */
    uint64_t put;           /* chunks that are in the trace already */
};

/* Reserves address space, or less where there is not so much. Without a tail file the ring is in memory of the process;
 * then (and only then) lap_error_message() says why. LAP_ERROR_MEMORY: not even LAP_QUEUE_MIN_BYTES; the queue is then
 * as after lap_queue_finish. */
enum lap_status lap_queue_init(struct lap_queue *queue, const struct lap_queue_options *options) LAP_MUST_CHECK;
void lap_queue_finish(struct lap_queue *queue);

/* Copies a chunk behind the others; waits for room. Unless it is packed, sizes and hash in *header are set here, and
 * its frame always is. LAP_ERROR_STOPPED (without a sentence) when the queue is closed, LAP_AGAIN when it is ending and
 * has no room. */
enum lap_status lap_queue_put(struct lap_queue *queue, struct lap_chunk_header *header, bool packed,
                              const uint8_t *payload, size_t bytes) LAP_MUST_CHECK;

/* True where so much is waiting that whoever puts had better pack first. */
bool lap_queue_is_long(struct lap_queue *queue);

/* The oldest chunk, or NULL; it stays where it is until lap_queue_take. One thread at a time. Its header belongs to the
 * queue, its payload lies in the ring. */
const struct lap_queued *lap_queue_oldest(struct lap_queue *queue, const uint8_t **out_payload);
void lap_queue_take(struct lap_queue *queue);

/* How many chunks were put and taken so far. False when the lock can't be had. */
bool lap_queue_counts(struct lap_queue *queue, uint64_t *out_put, uint64_t *out_taken) LAP_MUST_CHECK;

/* Waits until there is something worth writing. False when the queue is ending. */
bool lap_queue_wait(struct lap_queue *queue);

void lap_queue_close(struct lap_queue *queue); /* what is in it stays */
void lap_queue_end(struct lap_queue *queue);
uint64_t lap_queue_waited_ns(struct lap_queue *queue);

#endif
