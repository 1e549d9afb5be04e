/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "trace/crash/notes.h"
#include "trace/format/bytes.h"
#include "trace/write/writer_internal.h"

#define LARGEST_IDLE_BUFFER ((size_t)1 << 20) /* a larger buffer, which one huge body needed, is freed */
#define PACKET_HEAD_BYTES   (4 + 4 * LAP_WIRE_MAX_VARINT)

_Static_assert(LAP_SEAL_MOST_BYTES + LAP_PACKET_MAX_INLINE + 4096 <= LAP_CHUNK_MAX_RAW,
               "a sealed chunk is small enough");

struct lap_stream *lap_writer_stream(struct lap_writer *writer, uint64_t thread_id)
{
    if (lap_writer_stopped(writer))
        return NULL;

    pthread_mutex_lock(&writer->list_mutex);
    struct lap_stream *stream = writer->streams;
    while (stream) {
        bool used = false;
        if (atomic_compare_exchange_strong(&stream->used, &used, true))
            break;
        stream = stream->next;
    }
    if (stream) {
        pthread_mutex_lock(&stream->mutex);
        /* A chunk has one thread. */
        bool good = stream->thread_id == thread_id || lap_stream_seal(stream);
        stream->thread_id = thread_id;
        stream->is_masked = lap_journal_is_masked();
        pthread_mutex_unlock(&stream->mutex);
        if (!good)
            stream = NULL;
    } else {
        stream = calloc(1, sizeof(*stream));
        if (stream) {
            stream->writer = writer;
            stream->number = writer->stream_count++;
            stream->thread_id = thread_id;
            stream->is_masked = lap_journal_is_masked();
            stream->used = true;
            pthread_mutex_init(&stream->mutex, NULL);
            lap_enc_init(&stream->enc, NULL);
            lap_enc_use_writer(&stream->enc, writer);
            stream->next = writer->streams;
            writer->streams = stream;
        } else {
            lap_writer_fail(writer, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        }
    }
    pthread_mutex_unlock(&writer->list_mutex);
    return stream;
}

void lap_stream_release(struct lap_stream *stream)
{
    if (stream)
        atomic_store(&stream->used, false);
}

/* ---- the journal ---- */

static bool take_log(struct lap_stream *stream)
{
    struct lap_writer *writer = stream->writer;
    struct lap_notes *notes = lap_output_notes(&writer->output);
    uint32_t number;
    if (stream->log.halves || stream->log_refused || !notes)
        return notes && stream->log.halves;
    stream->log_refused = true;
    if (!lap_blob_store_begin_log(&writer->blobs)) /* so no stream has a log either */
        return false;
    number = atomic_fetch_add(&writer->logs, 1);
    if (number < LAP_JOURNAL_STREAMS) {
        uint8_t *halves = notes->journal.streams[number][0];
        stream->log_refused = !lap_output_reserve_notes(&writer->output, halves, 2 * LAP_JOURNAL_HALF_BYTES);
        if (!stream->log_refused)
            lap_journal_init(&stream->log, halves, LAP_JOURNAL_HALF_BYTES, writer->output.queue.seed);
    }
    if (stream->log_refused)
        lap_journal_set_state(&notes->journal, LAP_JOURNAL_SOME);
    return !stream->log_refused;
}

/* Before the first packet of a chunk. */
static void begin_log(struct lap_stream *stream)
{
    struct lap_journal_head head = {.kind = LAP_JOURNAL_PACKETS,
                                    .stream = stream->number,
                                    .thread_id = stream->thread_id,
                                    .first = stream->first_ticket,
                                    .epoch = stream->first_epoch};
    if (!take_log(stream))
        return;
    if (stream->is_masked)
        lap_journal_unmask();
    lap_output_log_chunk(&stream->writer->output, &stream->log, &head);
    if (stream->is_masked)
        lap_journal_mask();
}

/* The packet that has just been encoded. False: there is no room for it. */
static bool log_packet(struct lap_stream *stream)
{
    struct lap_enc *enc = &stream->enc;
    if (!lap_enc_reserve(enc, LAP_JOURNAL_SLACK_BYTES)) {
        enc->failed = false; /* it is whole */
        return false;
    }
    if (__builtin_expect(stream->is_masked, 0))
        lap_journal_unmask();
    const uint8_t *packet = enc->base + stream->size_at;
    bool good = lap_journal_add_packet(&stream->log, packet, (size_t)(enc->p - packet), stream->last_ticket);
    if (__builtin_expect(stream->is_masked, 0))
        lap_journal_mask();
    return good;
}

/* ---- packets ---- */

bool lap_stream_seal(struct lap_stream *stream)
{
    struct lap_writer *writer = stream->writer;
    enum lap_status status = LAP_OK;
    if (stream->packets) {
        struct lap_chunk_header header = {
            .kind = LAP_CHUNK_PACKETS,
            .stream = stream->number,
            .count = stream->packets,
            .first = stream->first_ticket,
            .last = stream->last_ticket,
            .epoch = stream->first_epoch,
        };
        status = lap_blob_store_flush(&writer->blobs);
        struct iovec part = {stream->enc.base, (size_t)(stream->enc.p - stream->enc.base)};
        if (status == LAP_OK)
            status = lap_output_chunk(&writer->output, &header, &part, 1);
        stream->packets = 0;
        if (stream->log.at)
            lap_output_log_handed_over(&writer->output, &stream->log, lap_journal_leave(&stream->log));
    }
    lap_enc_reset(&stream->enc);
    if (status != LAP_OK)
        lap_writer_fail(writer, status);
    return !lap_writer_stopped(writer);
}

struct lap_enc *lap_packet_begin(struct lap_stream *stream, uint32_t command, uint32_t flags,
                                 const struct lap_object_tables *objects, uint64_t *out_ticket)
{
    struct lap_writer *writer = stream->writer;
    struct lap_enc *enc = &stream->enc;
    /* Before the lock: after a fork the child may have no thread that owns it. */
    if (lap_writer_stopped(writer))
        return NULL;
    pthread_mutex_lock(&stream->mutex);
    if (lap_writer_stopped(writer))
        goto stopped;

    enc->failed = false;
    enc->unknown_structs = 0;
    memset(enc->scratch, 0, sizeof(enc->scratch));
    enc->objects = objects;
    /* Room first: once a ticket is taken, its packet must come. */
    if (!lap_enc_reserve(enc, PACKET_HEAD_BYTES + LAP_WIRE_MAX_VARINT)) {
        lap_writer_fail(writer, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
        goto stopped;
    }

    uint64_t step = 1 | (flags & LAP_PACKET_BARRIER ? UINT64_C(1) << LAP_TICKET_BITS : 0);
    uint64_t clock = atomic_fetch_add_explicit(&writer->clock, step, memory_order_acq_rel);
    uint64_t ticket = (clock & LAP_TICKET_MASK) + 1;
    uint64_t epoch = lap_writer_full_epoch(writer, clock);
    if (stream->packets == 0) {
        enc->p = enc->base;
        lap_put_u64(enc, stream->thread_id);
        stream->first_ticket = stream->last_ticket = ticket;
        stream->first_epoch = stream->last_epoch = epoch;
        begin_log(stream);
    }

    stream->size_at = (size_t)(enc->p - enc->base);
    lap_put_fixed32(enc, 0);
    lap_put_u64(enc, command);
    lap_put_u64(enc, ticket - stream->last_ticket);
    lap_put_u64(enc, epoch - stream->last_epoch);
    stream->flags_at = (size_t)(enc->p - enc->base);
    lap_put_u8(enc, (uint8_t)(flags & LAP_PACKET_ALL_FLAGS & ~(unsigned)LAP_PACKET_BLOB_BODY));
    stream->body_at = (size_t)(enc->p - enc->base);
    stream->last_ticket = ticket;
    stream->last_epoch = epoch;
    if (out_ticket)
        *out_ticket = ticket;
    return enc;

stopped:
    pthread_mutex_unlock(&stream->mutex);
    return NULL;
}

/* Moves a long body out of the chunk. False when recording has stopped. */
static bool move_body_to_blob(struct lap_stream *stream)
{
    struct lap_enc *enc = &stream->enc;
    uint8_t *body = enc->base + stream->body_at;
    uint64_t blob = lap_writer_blob(stream->writer, LAP_BLOB_PACKET, body, (size_t)(enc->p - body), NULL);
    if (!blob)
        return false;
    enc->p = body;
    lap_put_u64(enc, blob);
    enc->base[stream->flags_at] |= LAP_PACKET_BLOB_BODY;

    size_t used = (size_t)(enc->p - enc->base);
    if ((size_t)(enc->end - enc->base) > LARGEST_IDLE_BUFFER && used <= LARGEST_IDLE_BUFFER / 2) {
        uint8_t *base = realloc(enc->base, LARGEST_IDLE_BUFFER);
        if (base) {
            enc->base = base;
            enc->p = base + used;
            enc->end = base + LARGEST_IDLE_BUFFER;
        }
    }
    return true;
}

void lap_packet_end(struct lap_stream *stream)
{
    struct lap_writer *writer = stream->writer;
    struct lap_enc *enc = &stream->enc;
    if (lap_writer_stopped(writer)) {
        /* Nothing more goes into the file. */
    } else if (enc->failed) {
        /* The ticket is taken and its packet can't be written. */
        lap_writer_fail(writer, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    } else {
        size_t bytes = (size_t)(enc->p - enc->base) - stream->body_at;
        if (enc->unknown_structs)
            lap_writer_count(writer, LAP_COUNTER_UNKNOWN_STRUCTS, enc->unknown_structs);
        if (bytes <= LAP_PACKET_MAX_INLINE || move_body_to_blob(stream)) {
            bytes = (size_t)(enc->p - enc->base) - stream->body_at;
            lap_store_u32(enc->base + stream->size_at, (uint32_t)bytes);
            stream->packets++;
            if (stream->log.at && !log_packet(stream)) {
                if (lap_stream_seal(stream))
                    lap_output_save(&writer->output);
            } else if ((size_t)(enc->p - enc->base) >= writer->seal_bytes) {
                (void)lap_stream_seal(stream);
            }
        }
    }
    pthread_mutex_unlock(&stream->mutex);
}
