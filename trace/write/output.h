/* SPDX-License-Identifier: MIT */
/*
 * output: the file that a writer appends chunks to, and the data to end it properly at any moment. These are the
 * headers of the last chunks and the end of the last frame mark. The headers become the index, in parts of
 * LAP_INDEX_RECORDS, so that memory does not grow with the file.
 *
 * Chunks go through a queue of bounded size: a helper thread packs and writes them. Frame marks are chunks like others
 * where the queue is a tail file (trace/crash/tail.h), which a reader finds when the process is killed. Where there can
 * be none, the thread that sets a mark writes the rest of the queue, together with the helper, so that a frame is in
 * the file when its mark is. Without the helper thread, or the memory for the queue, each thread writes its own chunks.
 *
 * Any thread may append. The first of two events closes the file: lap_output_finish; or a failed write, which truncates
 * the file behind its last frame mark (without one: behind its last chunk) and ends it there.
 *
 * Only the helper thread packs, where there is one: a recording thread waits while the queue is full, and the trace has
 * the time of these waits.
 *
 * Another process may truncate or remove either file. A tail file is then given up. A payload that was only there, or a
 * lost part of the trace, ends the recording.
 *
 * A trace can be streamed while it is made: a receiver then gets all writes and makes the file. There is no tail file.
 * The helper thread sends frame marks, and no thread waits for that. A lost connection ends the recording.
 *
 * From lap_output_create on nothing here allocates or frees.
 */
#ifndef LAP_TRACE_WRITE_OUTPUT_H
#define LAP_TRACE_WRITE_OUTPUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/chunk.h"
#include "trace/read/source.h"
#include "trace/write/queue.h"

#define LAP_INDEX_RECORDS ((size_t)4096) /* in an INDEX chunk, at most */
#define LAP_ENDING_BYTES  32u

_Static_assert(LAP_INDEX_RECORDS *LAP_CHUNK_HEADER_BYTES <= LAP_CHUNK_MAX_RAW, "a part of the index fits a chunk");

struct lap_output_options {
    const struct lap_codec *packer; /* NULL: nothing is compressed */
    size_t queue_bytes;             /* 0: no queue and no helper thread */
    bool streamed;                  /* the file is a socket; a receiver makes the real file: trace/send/send.h */
    /* The helper thread could not write and has closed the file; its lap_error_message() has the reason. No lock is
     * held. */
    void (*failed)(void *user, enum lap_status status);
    void *user;
};

struct lap_output {
    pthread_mutex_t mutex;    /* for everything below but the atomics */
    _Atomic int64_t deadline; /* for locks, CLOCK_REALTIME in ns; 0: none. Relaxed reads: it publishes nothing */
    struct lap_own_file file;
    int looked_at;           /* its descriptor, from its check to the write after that; else -1 */
    char *path;              /* as messages name it */
    bool nameless;           /* it had no name when the trace began, and may get one later */
    _Atomic uint64_t bytes;  /* in the file */
    _Atomic uint64_t frames; /* frame marks in the file */
    _Atomic uint64_t marks;  /* that were set: in the file or in its tail */
    uint8_t uuid[16];
    uint64_t seed; /* lap_file_seed */

    struct lap_queue queue;
    struct lap_output_options options;
    pthread_t thread;
    bool has_thread;
    atomic_bool busy; /* the helper thread has the mutex: it releases it even if other threads are interrupted */

    uint8_t *memory; /* of the next four */
    size_t memory_bytes;
    uint8_t *scratch, *index_scratch;
    uint8_t *payload; /* LAP_QUEUE_ROOM_BYTES, for one in one piece */
    uint8_t *headers; /* of the chunks behind the last INDEX chunk, as they are in the file */
    size_t chunks;
    uint64_t records;  /* in INDEX chunks so far */
    uint64_t index_at; /* where the last INDEX chunk is; 0: none */
    uint32_t index_chunks;

    uint64_t resumed_at; /* the file's size when another process resumed it; 0: it is our own */
    bool without_index;  /* the index there can't be continued */

    struct lap_own_file ended; /* a file that has come to an orderly end, or none */
    struct lap_end end;        /* of that */

    uint8_t ending[LAP_ENDING_BYTES]; /* the file's last bytes, as they were written, but for zeroes behind them */
    uint64_t ending_at;
    bool torn; /* they were gone when more had been written behind them */

    /* The state behind the last frame mark. */
    uint64_t mark_bytes; /* 0: there was none */
    size_t mark_chunks;
    uint32_t mark_index_chunks;
    struct lap_totals mark_totals;
};

/* Creates the file and writes its header. On failure *output is as after lap_output_release. */
enum lap_status lap_output_create(struct lap_output *output, const char *path,
                                  const struct lap_output_options *options) LAP_MUST_CHECK;

/* The two halves of it: a new file, or LAP_ERROR_IO; and the beginning of a trace in an open one that is empty and that
 * messages call `path`, or on a connected socket. `fd` is taken in any case, and the file stays where it is. */
enum lap_status lap_output_open(const char *path, int *out_fd) LAP_MUST_CHECK;
enum lap_status lap_output_begin(struct lap_output *output, int fd, const char *path,
                                 const struct lap_output_options *options) LAP_MUST_CHECK;

/* Resumes the file of a dead process, which has no end. Cuts off everything behind the chunks that a scan has found.
 * `fd`, open for reading and writing, is taken in any case. A write that fails leaves the chunks that were there, and
 * no end. On failure *output is as after lap_output_release. */
enum lap_status lap_output_resume(struct lap_output *output, int fd, const char *path, const struct lap_source *source,
                                  const struct lap_output_options *options) LAP_MUST_CHECK;

/* Removes the chunks appended since, unless a failed write has done so. */
void lap_output_undo(struct lap_output *output);

/* Makes the queue and starts the helper thread; without them everything works, more slowly. Where the queue is no tail
 * file (queue.durable) lap_error_message() has the reason. */
void lap_output_start(struct lap_output *output);

/* Appends a chunk, whose payload is `count` parts (at most LAP_QUEUE_MAX_PARTS, LAP_CHUNK_MAX_RAW bytes together),
 * behind those of earlier calls: copies it into the queue, or packs and writes it. kind, stream, count, first, last and
 * epoch are the caller's; the rest of *header is set here. LAP_ERROR_STOPPED (without a new sentence) when the file is
 * closed; LAP_ERROR_IO or LAP_ERROR_MEMORY close it. */
enum lap_status lap_output_chunk(struct lap_output *output, struct lap_chunk_header *header, const struct iovec *parts,
                                 unsigned count) LAP_MUST_CHECK;

/* Appends the dictionary, twice: without it the file can't be read. Before all other chunks. */
enum lap_status lap_output_dictionary(struct lap_output *output, const uint8_t *names, size_t bytes) LAP_MUST_CHECK;

/* Sets a frame mark: the chunks before it survive a kill of the process. A write that fails later truncates the file at
 * the mark. */
enum lap_status lap_output_frame(struct lap_output *output, struct lap_chunk_header *header,
                                 const struct lap_totals *totals) LAP_MUST_CHECK;

/* If the process is killed, a reader finds all chunks up to now, where there is a tail file. */
void lap_output_save(struct lap_output *output);

/* Where the notes of calls are mapped, or NULL. */
struct lap_notes *lap_output_notes(struct lap_output *output);

/* Reserves room in notes that were not stored to yet. False: there is no room. */
bool lap_output_reserve_notes(struct lap_output *output, const void *from, size_t bytes) LAP_MUST_CHECK;
/* Begins a half of a log for the next chunk. The half's last chunk is in the file then. */
void lap_output_log_chunk(struct lap_output *output, struct lap_journal_log *log, const struct lap_journal_head *head);
/* The chunk of a half that was left was appended. */
static inline void lap_output_log_handed_over(struct lap_output *output, struct lap_journal_log *log, unsigned half)
{
    lap_journal_handed_over(log, half, atomic_load_explicit(&output->queue.put, memory_order_relaxed));
}

/* Writes the chunks in the queue. */
enum lap_status lap_output_drain(struct lap_output *output) LAP_MUST_CHECK;

/* Writes the chunks in the queue, the rest of the index and the end chunk, and closes the file. reason: "" for an
 * orderly end. LAP_ERROR_STOPPED (without a new sentence) when it was closed before, or its lock is not available;
 * LAP_ERROR_IO when there was no room even for the end chunk. */
enum lap_status lap_output_finish(struct lap_output *output, const struct lap_totals *totals, const char *reason);

/* Puts a reason into the end chunk of a file that has come to an orderly end. LAP_ERROR_STOPPED (without a new
 * sentence) when it has not, has a reason already, or another process has changed it. */
enum lap_status lap_output_amend(struct lap_output *output, const char *reason) LAP_MUST_CHECK;

/* Of a streamed trace that has come to an orderly end: waits until the receiver has written all of it, at most
 * LAP_CONFIRM_WAIT_MS; no lock is held meanwhile. LAP_ERROR_IO: no confirmation came. LAP_OK for all other traces. */
enum lap_status lap_output_confirm(struct lap_output *output) LAP_MUST_CHECK;

/* Of a file that has come to an orderly end: closes the descriptors kept for lap_output_amend and lap_output_forget. */
void lap_output_settle(struct lap_output *output);

/* Of a streamed trace that has come to an orderly end: moves its connection to *out, which was closed. False: there is
 * none. */
bool lap_output_take_connection(struct lap_output *output, struct lap_own_file *out) LAP_MUST_CHECK;

/* Of a streamed trace that has come to an orderly end: the receiver shall have no file. LAP_ERROR_STOPPED (without a
 * new sentence) where there is none, or its lock is not available. */
enum lap_status lap_output_forget(struct lap_output *output) LAP_MUST_CHECK;

/* Writes only the end chunk, for when a thread may have been interrupted anywhere. With a tail file its chunks come
 * first; without the lock for them there is no end chunk either. */
enum lap_status lap_output_break_off(struct lap_output *output, const struct lap_totals *totals, const char *reason);

/* The process ends: from now on each thread writes its own chunks, and lap_output_lock does not wait long. A thread
 * that the exiting one interrupted (it may be the same one, in a signal handler) never releases its locks. */
void lap_output_hurry(struct lap_output *output);

/* Locks the file's mutex or one that is taken before it. False past the deadline that lap_output_hurry has set. */
bool lap_output_lock(struct lap_output *output, pthread_mutex_t *mutex) LAP_MUST_CHECK;

/* Closes the descriptors without the lock, in a child after fork(): the files are the parent's. */
void lap_output_abandon(struct lap_output *output);

/* Ends the helper thread, frees memory, and closes the file as it is, should that not be done. */
void lap_output_release(struct lap_output *output);

#endif
