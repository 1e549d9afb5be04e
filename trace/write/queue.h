/* SPDX-License-Identifier: MIT */
/*
 * queue: chunks on their way from the threads that record to the one that writes, in order, in memory of bounded size.
 *
 * A ring of pages of its own, copied into and read in place: nothing here allocates or frees after lap_queue_init, so a
 * process may end while a thread of it was interrupted in malloc. Where there can be a tail file (trace/crash/tail.h)
 * it has the same ring, at the latest when a frame mark is put: readers then find the chunks before it even when the
 * process is killed. Large payloads go into the file only, and are read back from there. A tail file that can't be
 * written, or that another process has changed, is given up; the queue goes on without.
 *
 * Any thread may put; one at a time may take, and takes the lock once for many small chunks, so that putting threads
 * seldom wait for it. A thread that was interrupted here (exit() in a signal handler) gets an error instead of waiting
 * for itself.
 */
#ifndef LAP_TRACE_WRITE_QUEUE_H
#define LAP_TRACE_WRITE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/crash/tail.h"
#include "trace/format/chunk.h"

#define LAP_QUEUE_MIN_BYTES  ((size_t)16 << 20) /* several of the largest chunks */
#define LAP_QUEUE_MAX_PARTS  3u
#define LAP_QUEUE_ROOM_BYTES ((size_t)LAP_CHUNK_MAX_RAW + 8192)

/* A chunk that was put. */
struct lap_queued {
    struct lap_chunk_header header;
    bool in_file; /* its payload is not in memory */
};

struct lap_queue {
    pthread_mutex_t mutex;
    pthread_cond_t work, room;
    uint8_t *memory; /* NULL: there is no queue */
    size_t capacity;
    size_t limit;      /* of what may be touched: it grows with need, up to the capacity */
    size_t head, tail; /* where the next chunk goes, and where the oldest is */
    size_t used;       /* bytes from tail to head, around the end */
    size_t next;       /* the same as tail, for the taking thread: room before it is given back now and then */
    size_t peak;       /* memory was touched up to here since the queue was empty */
    size_t unsaved;    /* from here to head the file lacks what memory has */
    size_t start;      /* the oldest entry's place in the file's header: the tail, or before it and whole up to there */
    unsigned calm;     /* how often it has become empty without needing half of the limit */
    _Atomic uint64_t put;   /* chunks so far, in this queue or before; changed under the mutex. Relaxed reads without it
                               are of the thread that has just put one */
    _Atomic uint64_t saved; /* of these: in the tail file's ring, or in the trace. Release under the mutex, acquire by
                               lap_output_log_chunk: so the journal's copy of them can be overwritten */
    uint64_t taken, seen;   /* for the taking thread: the same, and `put` when it last had the lock */
    uint64_t given_back;    /* of those that were taken: their room can be used again */
    uint64_t frames;        /* of these: frame marks */
    uint64_t wanted;        /* eager: how many were put when the last frame mark was; under the mutex */
    bool eager;             /* a frame mark is worth writing at once */
    uint64_t seed;          /* of the entries' hashes */
    struct lap_queued oldest;
    atomic_bool durable; /* there is a tail file; it may end at any time, but does not come back. Release under the
                            mutex, acquire elsewhere: file_error */
    int file_error;      /* why it was given up */
    atomic_bool look; /* check whether the file is still there, with the next chunk that is taken; publishes nothing */
    bool lost;        /* a payload that only the file had: lap_queue_oldest finds nothing any more */
    bool full;        /* there was no room to grow; until the queue is empty */
    bool idle;        /* a thread waits for work */
    bool closed;      /* nothing more is put */
    atomic_bool ending; /* no thread waits for work or room any more: the process ends, or the queue does */
    unsigned waiting;   /* threads that wait for room; under the mutex */
    uint64_t waited_ns; /* by threads that put, for room; under the mutex */
    struct lap_tail file;
};

struct lap_queue_options {
    size_t capacity;        /* bytes, about */
    const char *trace_path; /* of the trace whose tail file shall have the ring; NULL: memory of the process */
    uint8_t uuid[16];       /* of that trace */
    uint64_t put;           /* chunks that are in the trace already */
    bool eager;             /* each frame mark wakes the taking thread */
};

/* Reserves address space, or less where there is not so much. Without a tail file (and only then) lap_error_message()
 * has the reason. LAP_ERROR_MEMORY: not even LAP_QUEUE_MIN_BYTES; the queue is then as after lap_queue_finish. */
enum lap_status lap_queue_init(struct lap_queue *queue, const struct lap_queue_options *options) LAP_MUST_CHECK;
void lap_queue_finish(struct lap_queue *queue);

/* Copies a chunk, in `count` parts (at most LAP_QUEUE_MAX_PARTS), behind the others; waits for room. Codec, sizes, hash
 * and frame in *header are set here. A frame mark makes everything up to it durable, where that can be.
 * LAP_ERROR_STOPPED (without a sentence) when the queue is closed, LAP_AGAIN when it is ending and has no room. */
enum lap_status lap_queue_put(struct lap_queue *queue, struct lap_chunk_header *header, const struct iovec *parts,
                              unsigned count) LAP_MUST_CHECK;

/* From now on a reader finds the chunks so far, where there is a tail file. */
void lap_queue_save(struct lap_queue *queue);

/* Puts the parts together at `to`; returns their size. */
size_t lap_queue_copy(uint8_t *to, const struct iovec *parts, unsigned count);

/* Taking the next chunk checks whether another process has truncated or deleted the tail file. For the taking
 * thread. */
static inline void lap_queue_look(struct lap_queue *queue)
{
    queue->look = true;
}

/* The oldest chunk, or NULL; it stays where it is until lap_queue_take. One thread at a time. Its header belongs to the
 * queue; its payload is in the ring, or in `room` (LAP_QUEUE_ROOM_BYTES, aligned to a page). */
const struct lap_queued *lap_queue_oldest(struct lap_queue *queue, uint8_t *room, const uint8_t **out_payload);
void lap_queue_take(struct lap_queue *queue);
/* The taking thread pauses: the room of all taken chunks can be used again. */
void lap_queue_give_back(struct lap_queue *queue);

/* How many chunks were put so far; false when the lock is not available. How many were taken: for the taking thread. */
bool lap_queue_count_put(struct lap_queue *queue, uint64_t *out_put) LAP_MUST_CHECK;
static inline uint64_t lap_queue_count_taken(const struct lap_queue *queue)
{
    return queue->taken;
}

/* Waits until there is something worth writing. False when the queue is ending. */
bool lap_queue_wait(struct lap_queue *queue);

void lap_queue_close(struct lap_queue *queue); /* its chunks stay */
void lap_queue_end(struct lap_queue *queue);
uint64_t lap_queue_waited_ns(struct lap_queue *queue);

#endif
