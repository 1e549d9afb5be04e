/* SPDX-License-Identifier: MIT */
/*
 * writer_internal: shared by writer.c and stream.c.
 */
#ifndef LAP_TRACE_WRITE_WRITER_INTERNAL_H
#define LAP_TRACE_WRITE_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace/format/info.h"
#include "trace/write/blob_store.h"
#include "trace/write/output.h"
#include "trace/write/writer.h"

#define LAP_TICKET_BITS 40
#define LAP_TICKET_MASK ((UINT64_C(1) << LAP_TICKET_BITS) - 1)
#define LAP_CACHE_LINE  64

/* A stream's packets become a chunk at this size; the larger one is for files that are not read before their end. */
#define LAP_SEAL_BYTES      ((size_t)256 << 10)
#define LAP_SEAL_MOST_BYTES ((size_t)1 << 20)

/* A frame mark that is not written yet. */
struct lap_held_mark {
    struct lap_chunk_header header;
    struct lap_totals totals;
};

struct lap_writer {
    /* The clock: tickets given so far in the low bits, barrier packets among them (modulo 2^24) in the high ones. One
     * number, so that a packet's epoch counts exactly the barriers with a smaller ticket. On a cache line of its own:
     * recording threads share nothing else. Taken with acq_rel: what happened before a smaller ticket is known behind a
     * larger one, `epoch` too. lap_writer_frame reads it with acquire, and then takes the lock of each stream. */
    _Alignas(LAP_CACHE_LINE) _Atomic uint64_t clock;
    _Alignas(LAP_CACHE_LINE) _Atomic uint64_t epoch; /* in full, at most some 2^20 behind the clock */
    _Atomic bool stopped; /* release by whoever ends the file, acquire by lap_writer_stopped: the end of the file */
    _Atomic bool said;    /* the reason was logged */
    _Atomic bool whole;   /* the same as stopped, for lap_writer_is_whole */
    _Alignas(LAP_CACHE_LINE) _Atomic uint64_t counters[LAP_COUNTER_COUNT]; /* relaxed: figures */

    size_t seal_bytes;
    const struct lap_log *log;
    pthread_mutex_t list_mutex; /* for the list of streams and the information; also keeps frame marks apart */
    struct lap_stream *streams;
    uint32_t stream_count;
    struct lap_info info; /* everything written */
    uint32_t info_bytes;
    bool info_left_out;          /* logged once */
    bool has_tail;               /* and the log does not have its end yet */
    _Atomic uint32_t logs;       /* of the journal that streams have */
    struct lap_held_mark *marks; /* NULL: each is written at once */
    _Atomic size_t mark_count;   /* changed under list_mutex, read anywhere: a figure */
    struct lap_blob_store blobs;
    struct lap_output output;
};

struct lap_stream {
    struct lap_stream *next;
    struct lap_writer *writer;
    uint32_t number;
    _Atomic bool used; /* by a thread */

    bool held;             /* by lap_writer_finish */
    pthread_mutex_t mutex; /* for all below */
    struct lap_enc enc;    /* the payload of the next chunk, the packet being encoded last */
    uint64_t thread_id;
    uint32_t packets; /* complete ones in enc */
    uint64_t first_ticket, first_epoch, last_ticket, last_epoch;
    size_t size_at, flags_at, body_at; /* of the open packet, in enc */
    struct lap_journal_log log;        /* in the journal */
    bool log_refused;                  /* there is no room for one */
    bool is_masked;                    /* its thread has SIGBUS blocked */
};

/* Writes the stream's packets, its blobs first. The stream's mutex is held. False when recording has stopped. */
bool lap_stream_seal(struct lap_stream *stream);

/* The full number of a clock value's 24-bit epoch. */
uint64_t lap_writer_full_epoch(struct lap_writer *writer, uint64_t clock);

/* Stops recording because of the calling thread's last lap_fail(). */
void lap_writer_fail(struct lap_writer *writer, enum lap_status status);

#endif
