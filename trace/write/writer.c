/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/format/dictionary.h"
#include "trace/write/writer_internal.h"

/* The largest lag of the full epoch before a thread brings it forward: far less than half of 24 bits. */
#define EPOCH_LAG (INT64_C(1) << 20)
/* A program of 32 bits has 4 GiB of addresses for everything. */
#define DEFAULT_QUEUE_BYTES ((size_t)(SIZE_MAX > UINT32_MAX ? 256 : 64) << 20)

/* How many frame marks wait, and for how many bytes of packets. */
#define HELD_MARKS ((size_t)4096)
#define HELD_BYTES ((size_t)8 << 20)

static struct lap_totals current_totals(struct lap_writer *writer)
{
    struct lap_totals totals = {.end_note = 0};
    for (unsigned i = 0; i < LAP_COUNTER_COUNT; i++)
        totals.counters[i] = atomic_load_explicit(&writer->counters[i], memory_order_relaxed);
    totals.counters[LAP_COUNTER_WAITED_US] += lap_queue_waited_ns(&writer->output.queue) / 1000;
    totals.blob_bytes = writer->blobs.bytes;
    return totals;
}

/* On the helper thread. */
static void helper_failed(void *user, enum lap_status status)
{
    lap_writer_fail(user, status);
}

/* fd: a socket or an open file, which is taken in any case; a file stays where it is. -1: a new file. */
static enum lap_status create(const char *path, int fd, const struct lap_writer_options *options,
                              struct lap_writer **out_writer)
{
    bool is_new = fd < 0;
    *out_writer = NULL;
    uint8_t *names = NULL;
    size_t names_bytes = 0;
    enum lap_status status = lap_dictionary_encode(&options->names, &names, &names_bytes);
    if (status != LAP_OK)
        goto fail;

    struct lap_writer *writer = aligned_alloc(LAP_CACHE_LINE, sizeof(*writer));
    if (!writer) {
        free(names);
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        goto fail;
    }
    memset(writer, 0, sizeof(*writer));
    writer->log = options->log;
    writer->seal_bytes = is_new || options->streamed ? LAP_SEAL_BYTES : LAP_SEAL_MOST_BYTES;
    if (!is_new && !options->streamed && !(writer->marks = calloc(HELD_MARKS, sizeof(*writer->marks)))) {
        free(names);
        free(writer);
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        goto fail;
    }
    struct lap_output_options output_options = {.packer = options->packer, .failed = helper_failed, .user = writer};
    output_options.queue_bytes = options->queue_bytes ? options->queue_bytes : DEFAULT_QUEUE_BYTES;
    if (options->queue_bytes == LAP_WRITER_NO_QUEUE)
        output_options.queue_bytes = 0;
    output_options.streamed = options->streamed;
    status = is_new ? lap_output_create(&writer->output, path, &output_options)
                    : lap_output_begin(&writer->output, fd, path, &output_options);
    if (status != LAP_OK) {
        free(names);
        free(writer->marks);
        free(writer);
        return status;
    }
    pthread_mutex_init(&writer->list_mutex, NULL);
    lap_blob_store_init(&writer->blobs, &writer->output);

    status = lap_output_dictionary(&writer->output, names, names_bytes);
    free(names);
    if (status != LAP_OK) {
        if (is_new)
            (void)unlink(path);
        writer->stopped = true;
        lap_writer_destroy(&writer);
        return status;
    }
    lap_output_start(&writer->output);
    writer->has_tail = writer->output.has_thread && writer->output.queue.durable;
    if (writer->output.has_thread && !writer->has_tail && !options->streamed)
        lap_log(writer->log, LAP_LOG_INFO, "frames wait until they are in the trace, as it can't have a tail file: %s",
                lap_error_message());
    *out_writer = writer;
    return LAP_OK;
fail:
    if (!is_new)
        close(fd);
    return status;
}

enum lap_status lap_writer_create(const char *path, const struct lap_writer_options *options,
                                  struct lap_writer **out_writer)
{
    return create(path, options->streamed ? options->socket : -1, options, out_writer);
}

enum lap_status lap_writer_create_in(int fd, const char *name, const struct lap_writer_options *options,
                                     struct lap_writer **out_writer)
{
    return create(name, fd, options, out_writer);
}

#define INTERRUPTED "the process ended in the middle of a call"

/* Writes the waiting frame marks, whose packets are written; the list is held. */
static enum lap_status write_marks(struct lap_writer *writer)
{
    enum lap_status status = LAP_OK;
    for (size_t i = 0; i < writer->mark_count && status == LAP_OK; i++)
        status = lap_output_frame(&writer->output, &writer->marks[i].header, &writer->marks[i].totals);
    writer->mark_count = 0;
    return status;
}

/* Writes the streams' packets and ends the file; the list is held. */
static enum lap_status end_file(struct lap_writer *writer)
{
    /* All streams are held until the file is closed, so that no packet is begun that would leave a hole behind it. A
     * stream whose owner does not release it (a signal or exit interrupted it in the middle of a packet) is left
     * out. */
    bool good = true, whole = true;
    for (struct lap_stream *stream = writer->streams; stream; stream = stream->next) {
        stream->held = lap_output_lock(&writer->output, &stream->mutex);
        whole = whole && stream->held;
        if (stream->held && good)
            good = lap_stream_seal(stream);
    }
    enum lap_status status = good ? lap_blob_store_flush(&writer->blobs) : LAP_ERROR_STOPPED;
    if (status == LAP_OK)
        status = write_marks(writer);
    if (status == LAP_OK) {
        struct lap_totals totals = current_totals(writer);
        status = lap_output_finish(&writer->output, &totals, whole ? "" : INTERRUPTED);
    }
    return status;
}

static void finish(struct lap_writer *writer)
{
    bool listed = lap_output_lock(&writer->output, &writer->list_mutex);
    enum lap_status status = listed ? end_file(writer) : LAP_ERROR_STOPPED;
    if (status == LAP_ERROR_STOPPED) {
        /* Another thread has closed the file, or was interrupted while holding a lock. If that is the file's own lock,
         * the file stays as it is and a reader scans it. */
        struct lap_totals totals = current_totals(writer);
        (void)lap_output_break_off(&writer->output, &totals, INTERRUPTED);
    }
    if (status != LAP_OK)
        lap_writer_fail(writer, status);
    atomic_store(&writer->stopped, true);
    for (struct lap_stream *stream = writer->streams; listed && stream; stream = stream->next)
        if (stream->held)
            pthread_mutex_unlock(&stream->mutex);
    if (listed)
        pthread_mutex_unlock(&writer->list_mutex);
    if (status != LAP_OK)
        return;
    if (lap_output_confirm(&writer->output) == LAP_OK)
        atomic_store(&writer->whole, true);
    else
        lap_log(writer->log, LAP_LOG_WARNING, "%s", lap_error_message());
}

void lap_writer_finish(struct lap_writer *writer)
{
    if (lap_writer_stopped(writer))
        return;
    lap_output_hurry(&writer->output);
    finish(writer);
}

void lap_writer_end(struct lap_writer *writer)
{
    if (!lap_writer_stopped(writer))
        finish(writer);
}

void lap_writer_went_on(struct lap_writer *writer)
{
    if (lap_output_amend(&writer->output, "the program went on after the end of the recording") == LAP_OK)
        lap_log(writer->log, LAP_LOG_WARNING, "what the program does at the very end of its process is not in %s",
                writer->output.path);
}

void lap_writer_settle(struct lap_writer *writer)
{
    lap_output_settle(&writer->output);
}

void lap_writer_forget(struct lap_writer *writer)
{
    enum lap_status status = lap_output_forget(&writer->output);
    if (status != LAP_OK && status != LAP_ERROR_STOPPED)
        lap_log(writer->log, LAP_LOG_WARNING, "%s", lap_error_message());
}

bool lap_writer_take_connection(struct lap_writer *writer, struct lap_own_file *out)
{
    return lap_output_take_connection(&writer->output, out);
}

void lap_writer_destroy(struct lap_writer **writer_at)
{
    struct lap_writer *writer = *writer_at;
    if (!writer)
        return;
    *writer_at = NULL;

    lap_writer_finish(writer);

    struct lap_stream *stream = writer->streams;
    while (stream) {
        struct lap_stream *next = stream->next;
        lap_enc_finish(&stream->enc);
        free(stream);
        stream = next;
    }
    lap_info_finish(&writer->info);
    lap_blob_store_finish(&writer->blobs);
    lap_output_release(&writer->output);
    free(writer->marks);
    free(writer);
}

void lap_writer_abandon(struct lap_writer *writer)
{
    atomic_store(&writer->stopped, true);
    writer->output.has_thread = false;
    lap_output_abandon(&writer->output);
}

/* Closes the file, unless a failed write has done so, with the reason: once, by the first caller. */
static void stop(struct lap_writer *writer, const char *reason)
{
    struct lap_totals totals = current_totals(writer);
    (void)lap_output_finish(&writer->output, &totals, reason);
    atomic_store(&writer->stopped, true);
    if (!atomic_exchange(&writer->said, true))
        lap_log(writer->log, LAP_LOG_ERROR, "recording has stopped: %s; %s has %" PRIu64 " complete frames", reason,
                writer->output.path, (uint64_t)writer->output.frames);
}

void lap_writer_stop(struct lap_writer *writer, const char *reason)
{
    if (!lap_writer_stopped(writer))
        stop(writer, reason && reason[0] ? reason : "stopped on request");
}

void lap_writer_fail(struct lap_writer *writer, enum lap_status status)
{
    if (status == LAP_ERROR_STOPPED) {
        atomic_store(&writer->stopped, true); /* the thread that closed the file logs the reason */
        return;
    }
    char reason[LAP_END_REASON_BYTES] = "";
    memcpy(reason, lap_error_message(), strnlen(lap_error_message(), sizeof(reason) - 1));
    stop(writer, reason);
}

bool lap_writer_stopped(const struct lap_writer *writer)
{
    return atomic_load_explicit(&writer->stopped, memory_order_acquire);
}

bool lap_writer_is_whole(const struct lap_writer *writer)
{
    return atomic_load(&writer->whole);
}

uint64_t lap_writer_full_epoch(struct lap_writer *writer, uint64_t clock)
{
    uint64_t known = atomic_load_explicit(&writer->epoch, memory_order_relaxed);
    uint32_t difference = ((uint32_t)(clock >> LAP_TICKET_BITS) - (uint32_t)known) & 0xffffff;
    int64_t ahead = difference & 0x800000 ? (int64_t)difference - 0x1000000 : (int64_t)difference;
    uint64_t epoch = known + (uint64_t)ahead;
    if (ahead > EPOCH_LAG)
        /* A thread that loses this race is behind another one, which brings it forward. */
        atomic_compare_exchange_strong_explicit(&writer->epoch, &known, epoch, memory_order_relaxed,
                                                memory_order_relaxed);
    return epoch;
}

uint64_t lap_writer_blob(struct lap_writer *writer, enum lap_blob_kind kind, const void *data, size_t bytes,
                         bool *out_new)
{
    uint64_t id = 0;
    bool is_new = false;
    if (out_new)
        *out_new = false;
    if (lap_writer_stopped(writer))
        return 0;
    enum lap_status status = lap_blob_store_add(&writer->blobs, kind, data, bytes, &id, &is_new);
    if (status != LAP_OK) {
        lap_writer_fail(writer, status);
        return 0;
    }
    if (out_new)
        *out_new = is_new;
    return id;
}

static uint64_t blob_of_writer(void *writer, const void *data, size_t bytes)
{
    uint64_t blob;

    if (bytes < LAP_BLOB_MIN_BYTES)
        return 0;
    blob = lap_writer_blob(writer, LAP_BLOB_DATA, data, bytes, NULL);
    return blob ? blob : LAP_BLOB_FAILED;
}

void lap_enc_use_writer(struct lap_enc *enc, struct lap_writer *writer)
{
    enc->blob_of = writer ? blob_of_writer : NULL;
    enc->user = writer;
}

/* True: a frame mark waits for others; the list is held, and no other thread records. */
static bool hold_mark(struct lap_writer *writer)
{
    size_t bytes = 0;
    if (!writer->marks)
        return false;
    uint64_t clock = atomic_load_explicit(&writer->clock, memory_order_acquire);
    writer->marks[writer->mark_count++] = (struct lap_held_mark){
        {.kind = LAP_CHUNK_FRAME, .last = clock & LAP_TICKET_MASK, .epoch = lap_writer_full_epoch(writer, clock)},
        current_totals(writer)};
    for (struct lap_stream *stream = writer->streams; stream; stream = stream->next)
        bytes += (size_t)(stream->enc.p - stream->enc.base);
    return writer->mark_count < HELD_MARKS && bytes < HELD_BYTES;
}

/* All packets with a ticket up to now become chunks; the list is held. */
static enum lap_status seal_all(struct lap_writer *writer)
{
    enum lap_status status = lap_blob_store_flush(&writer->blobs);
    for (struct lap_stream *stream = writer->streams; status == LAP_OK && stream; stream = stream->next) {
        pthread_mutex_lock(&stream->mutex);
        status = lap_stream_seal(stream) ? LAP_OK : LAP_ERROR_STOPPED;
        pthread_mutex_unlock(&stream->mutex);
    }
    return status;
}

void lap_writer_save(struct lap_writer *writer)
{
    if (lap_writer_stopped(writer))
        return;
    pthread_mutex_lock(&writer->list_mutex);
    enum lap_status status = seal_all(writer);
    if (status != LAP_OK)
        lap_writer_fail(writer, status);
    else
        lap_output_save(&writer->output);
    pthread_mutex_unlock(&writer->list_mutex);
}

void lap_writer_frame(struct lap_writer *writer)
{
    if (lap_writer_stopped(writer))
        return;
    pthread_mutex_lock(&writer->list_mutex);
    if (hold_mark(writer)) {
        pthread_mutex_unlock(&writer->list_mutex);
        return;
    }
    /* Every packet with a ticket up to here was begun under the lock of a stream that is in the list. */
    uint64_t clock = atomic_load_explicit(&writer->clock, memory_order_acquire);
    enum lap_status status = seal_all(writer);
    if (status == LAP_OK && writer->marks) {
        status = write_marks(writer);
    } else if (status == LAP_OK) {
        struct lap_totals totals = current_totals(writer);
        struct lap_chunk_header header = {
            .kind = LAP_CHUNK_FRAME, .last = clock & LAP_TICKET_MASK, .epoch = lap_writer_full_epoch(writer, clock)};
        status = lap_output_frame(&writer->output, &header, &totals);
    }
    if (status != LAP_OK) {
        lap_writer_fail(writer, status);
    } else if (writer->has_tail && !writer->output.queue.durable) {
        writer->has_tail = false;
        lap_log(writer->log, LAP_LOG_INFO,
                "frames wait until they are in the trace from now on, as %s can't be used: %s",
                writer->output.queue.file.own.path,
                writer->output.queue.file_error == ESTALE ? "another process has changed it"
                                                          : lap_file_error_text(writer->output.queue.file_error));
    }
    pthread_mutex_unlock(&writer->list_mutex);
}

/* The last part of the limit for all information is reserved for short members: thousands of devices with different
 * figures then do not crowd out the formats of images. */
#define INFO_RESERVED    4096u
#define INFO_SHORT_BYTES 32u

/* Whether a reader accepts it and it changes anything; the list is held. A program with thousands of devices repeats it
 * as often. */
static bool is_news(struct lap_writer *writer, const char *json, size_t bytes)
{
    uint32_t most = LAP_INFO_MAX_TOTAL - (bytes > INFO_SHORT_BYTES ? INFO_RESERVED : 0);
    bool news = false;
    enum lap_status status =
        bytes > LAP_INFO_MAX_BYTES || writer->info_bytes > most || bytes > most - writer->info_bytes
            ? lap_fail(LAP_ERROR_LIMIT, "more information than a trace can have")
            : lap_info_add(&writer->info, json, bytes, &news);
    if (status != LAP_OK && !writer->info_left_out)
        lap_log(writer->log, LAP_LOG_WARNING, "information is left out of the trace: %s", lap_error_message());
    writer->info_left_out |= status != LAP_OK;
    return status == LAP_OK && news;
}

void lap_writer_info(struct lap_writer *writer, const char *json)
{
    size_t bytes = strlen(json);
    if (lap_writer_stopped(writer))
        return;
    pthread_mutex_lock(&writer->list_mutex);
    if (is_news(writer, json, bytes)) {
        struct lap_chunk_header header = {.kind = LAP_CHUNK_INFO};
        struct iovec part = {(void *)(uintptr_t)json, bytes};
        enum lap_status status = lap_output_chunk(&writer->output, &header, &part, 1);
        if (status == LAP_OK)
            status =
                lap_output_drain(&writer->output); /* so that a process killed before its first frame is described */
        if (status != LAP_OK)
            lap_writer_fail(writer, status);
        writer->info_bytes += (uint32_t)bytes;
    }
    pthread_mutex_unlock(&writer->list_mutex);
}

void lap_writer_count(struct lap_writer *writer, enum lap_counter counter, uint64_t add)
{
    atomic_fetch_add_explicit(&writer->counters[counter], add, memory_order_relaxed);
}

void lap_writer_note_ticket(struct lap_writer *writer, enum lap_counter counter)
{
    _Atomic uint64_t *noted = &writer->counters[counter];
    uint64_t ticket = atomic_load_explicit(&writer->clock, memory_order_acquire) & LAP_TICKET_MASK;
    uint64_t before = atomic_load_explicit(noted, memory_order_relaxed);
    while (before < ticket &&
           !atomic_compare_exchange_weak_explicit(noted, &before, ticket, memory_order_relaxed, memory_order_relaxed))
        ;
}

static bool can_note(struct lap_writer *writer)
{
    return !lap_writer_stopped(writer) && writer->output.has_thread && atomic_load(&writer->output.queue.durable);
}

bool lap_writer_map_notes(struct lap_writer *writer, void *place)
{
    return can_note(writer) && lap_tail_map_notes(&writer->output.queue.file, place);
}

bool lap_writer_reserve_note(struct lap_writer *writer, unsigned large)
{
    struct lap_tail *tail = &writer->output.queue.file;
    const struct lap_notes *notes = atomic_load(&tail->notes);
    return notes && can_note(writer) && lap_tail_reserve_notes(tail, &notes->large[large], sizeof(notes->large[large]));
}

bool lap_writer_drop_notes(struct lap_writer *writer)
{
    return lap_tail_drop_notes(&writer->output.queue.file);
}

void lap_writer_give_notes_up(struct lap_writer *writer)
{
    lap_tail_give_notes_up(&writer->output.queue.file);
}

uint64_t lap_writer_calls_seed(const struct lap_writer *writer)
{
    return writer->output.queue.seed;
}

uint64_t lap_writer_tickets(const struct lap_writer *writer)
{
    return atomic_load_explicit(&writer->clock, memory_order_relaxed) & LAP_TICKET_MASK;
}

uint64_t lap_writer_frames(const struct lap_writer *writer)
{
    return lap_writer_stopped(writer) ? writer->output.frames : writer->output.marks + writer->mark_count;
}

uint64_t lap_writer_bytes(const struct lap_writer *writer)
{
    return writer->output.bytes;
}

const char *lap_writer_file(struct lap_writer *writer, struct stat *out_info)
{
    int fd = writer->output.options.streamed ? -1 : lap_own_file_fd(&writer->output.file);
    return fd >= 0 && fstat(fd, out_info) == 0 ? writer->output.path : NULL;
}

uint64_t lap_writer_waited_us(struct lap_writer *writer)
{
    return lap_queue_waited_ns(&writer->output.queue) / 1000;
}
