/* SPDX-License-Identifier: MIT */
/*
 * writer: makes a .lapilli file out of many threads' packets. Knows no Vulkan.
 *
 * Every thread has a stream of its own; a packet is written under that stream's lock, which only the thread that ends a
 * frame takes, too. So the recording path shares only the ticket counter, and the store of blobs while one is copied
 * there. Lock order: streams list, stream, order of blobs, blobs, file, queue.
 *
 * A helper thread (trace/write/output.h), where there is one, packs and writes all chunks. A recording thread waits
 * only where the queue to it is full, and, without a tail file, at the end of a frame until that is in the file.
 *
 * When the file can't be written or memory is short the writer stops: it keeps the reason, logs it once, and all later
 * calls return at once. The file then still replays up to its last complete frame.
 */
#ifndef LAP_TRACE_WRITE_WRITER_H
#define LAP_TRACE_WRITE_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/file/own_file.h"
#include "base/log.h"
#include "base/status.h"
#include "trace/format/chunk.h"
#include "trace/format/codec.h"
#include "trace/format/dictionary.h"
#include "trace/format/encode.h"
#include "trace/format/format.h"

struct lap_writer;
struct lap_stream;

#define LAP_WRITER_NO_QUEUE SIZE_MAX /* no helper thread: recording threads pack and write themselves */

struct lap_writer_options {
    struct lap_names names;
    const struct lap_codec *packer; /* NULL: nothing is compressed */
    size_t queue_bytes;             /* of the queue; 0: 256 MiB (32 bits: 64); or LAP_WRITER_NO_QUEUE */
    const struct lap_log *log;      /* outlives the writer; may be NULL */
    bool streamed; /* to `socket`, connected and greeted (trace/send/send.h), which is taken in any case */
    int socket;
};

/* Creates the file (O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode 0600), and beside it, while it is recorded, PATH.tail. Writes
 * header and dictionary, and starts a helper thread (all signals blocked, named "lapilli") that packs and writes
 * chunks. Where it can't be started, recording threads do. For a streamed trace `path` is the address for messages.
 * LAP_ERROR_IO when it can't be created (the sentence has path and reason); *out_writer is then NULL. */
enum lap_status lap_writer_create(const char *path, const struct lap_writer_options *options,
                                  struct lap_writer **out_writer) LAP_MUST_CHECK;

/* The same in an open, empty file that messages call `name`: for processes that may open none, with
 * LAP_WRITER_NO_QUEUE. `fd` is taken in any case, and the file stays. It is not read before its end: frame marks wait,
 * so that frames with few packets share chunks. */
enum lap_status lap_writer_create_in(int fd, const char *name, const struct lap_writer_options *options,
                                     struct lap_writer **out_writer) LAP_MUST_CHECK;

/* Writes what streams still hold, the index and the end chunk, closes the file. Other threads may still record: their
 * new packets are refused, as after lap_writer_stop. Memory stays until lap_writer_destroy. Allocates and frees
 * nothing. Takes its locks within about a second; where one is not available (exit() in a signal handler that
 * interrupted a frame) the file ends without an index, or with no end at all, and still reads up to its last complete
 * frame. */
void lap_writer_finish(struct lap_writer *writer);

/* The same while the process goes on: it waits for its locks without a limit, since their owners are alive. Not for a
 * thread that records. lap_writer_settle or lap_writer_forget follow. */
void lap_writer_end(struct lap_writer *writer);

/* The program has gone on after lap_writer_finish, without being recorded: marks the trace as not complete, and logs
 * that. For a trace that has come to an orderly end; once. */
void lap_writer_went_on(struct lap_writer *writer);

/* Behind lap_writer_finish or lap_writer_end: neither went_on nor forget follows, so that a connection ends. */
void lap_writer_settle(struct lap_writer *writer);

/* Behind lap_writer_finish, of a streamed trace: the receiver shall have no file. */
void lap_writer_forget(struct lap_writer *writer);

/* Behind lap_writer_end, of a streamed trace: its connection becomes the caller's, for a later lap_send_forget after
 * the writer is gone. *out: closed, without a path. False: there is none. */
bool lap_writer_take_connection(struct lap_writer *writer, struct lap_own_file *out) LAP_MUST_CHECK;

/* lap_writer_finish, and frees everything. No thread may record any more. */
void lap_writer_destroy(struct lap_writer **writer);

/* In the child after fork(): forgets the file without touching it. */
void lap_writer_abandon(struct lap_writer *writer);

/* Stops recording for good; reason is kept in the end chunk ("stopped" in lapilli info). The first reason stays. */
void lap_writer_stop(struct lap_writer *writer, const char *reason);
bool lap_writer_stopped(const struct lap_writer *writer);

/* Whether the trace has come to an orderly end; a streamed one, at its receiver. */
bool lap_writer_is_whole(const struct lap_writer *writer);

/* A new stream, owned by the writer; used by one thread at a time. NULL when stopped or out of memory. */
struct lap_stream *lap_writer_stream(struct lap_writer *writer, uint64_t thread_id);

/* The thread is gone: the stream may be handed to another thread later. Its packets are still written. */
void lap_stream_release(struct lap_stream *stream);

/* Starts a packet: locks the stream, takes a ticket, returns the encoder for the body (objects set to `objects`),
 * or NULL when recording has stopped (then there is no packet to end). flags: enum lap_packet_flags.
 * Nothing that blocks, and no second packet on this stream, until lap_packet_end. */
struct lap_enc *lap_packet_begin(struct lap_stream *stream, uint32_t command, uint32_t flags,
                                 const struct lap_object_tables *objects, uint64_t *out_ticket);
void lap_packet_end(struct lap_stream *stream);

/* Stores bytes once: the same bytes of the same kind give the same number again. Copies; the bytes must not change
 * meanwhile. Returns 0 and latches on failure. *out_new (may be NULL): whether they were new. Numbers start at 1. */
uint64_t lap_writer_blob(struct lap_writer *writer, enum lap_blob_kind kind, const void *data, size_t bytes,
                         bool *out_new);

/* From now on the writer stores the runs of bytes that `enc` gets, from LAP_BLOB_MIN_BYTES on, as blobs. NULL: they
 * stand inline. */
void lap_enc_use_writer(struct lap_enc *enc, struct lap_writer *writer);

/* Ends a frame: hands over all streams' packets and a frame mark. From now on a reader finds them, in the trace or in
 * the tail file beside it, even if the process is killed. The calling thread has no open packet. */
void lap_writer_frame(struct lap_writer *writer);

/* Hands over the streams' packets, and sets no mark. From now on a reader finds them if the process is killed, where
 * there is a tail file. The calling thread has no open packet. */
void lap_writer_save(struct lap_writer *writer);

/* Writes an info chunk: a JSON object whose keys add to or replace those of earlier ones. An object that changes
 * nothing is not written; one that a reader would not accept (docs/format.md, "INFO") is left out, which is logged
 * once. */
void lap_writer_info(struct lap_writer *writer, const char *json);

/* ---- notes of calls (trace/crash/notes.h). None of these takes a lock; safe in a signal handler. ---- */

uint64_t lap_writer_calls_seed(const struct lap_writer *writer); /* for lap_in_flight_store */
uint64_t lap_writer_tickets(const struct lap_writer *writer);    /* given so far */

/* As those of trace/crash/tail.h. */
bool lap_writer_map_notes(struct lap_writer *writer, void *place);
bool lap_writer_reserve_note(struct lap_writer *writer, unsigned large);
bool lap_writer_drop_notes(struct lap_writer *writer);
void lap_writer_give_notes_up(struct lap_writer *writer);

/* Counters that the index keeps and lapilli info shows; any thread. */
void lap_writer_count(struct lap_writer *writer, enum lap_counter counter, uint64_t add);
/* For a counter that is a ticket: the last ticket so far. */
void lap_writer_note_ticket(struct lap_writer *writer, enum lap_counter counter);

uint64_t lap_writer_frames(const struct lap_writer *writer); /* ended; when stopped: in the file */
uint64_t lap_writer_bytes(const struct lap_writer *writer);  /* in the file so far */
/* The file's path, which lives as long as the writer, and its stat data. NULL: it is no file, or no longer open. */
const char *lap_writer_file(struct lap_writer *writer, struct stat *out_info);
uint64_t lap_writer_waited_us(struct lap_writer *writer); /* LAP_COUNTER_WAITED_US so far */

#endif
