/* SPDX-License-Identifier: MIT */
/*
 * Merges the streams by ticket. A stream's next ticket is known from its chunk's header before the chunk is unpacked,
 * so a heap over all streams needs none of their chunks in memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format/bytes.h"
#include "trace/format/decode.h"
#include "trace/read/reader_internal.h"

static struct lap_chunk_ref *packet_chunk(const struct lap_reader *reader, size_t order)
{
    return &reader->source.chunks[reader->chunk_order[order]];
}

/* ---- the streams ---- */

static int compare_chunks(const void *a, const void *b, void *user)
{
    const struct lap_chunk_ref *chunks = user;
    const struct lap_chunk_header *x = &chunks[*(const size_t *)a].header, *y = &chunks[*(const size_t *)b].header;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

enum lap_status lap_reader_arrange_packets(struct lap_reader *reader)
{
    struct lap_source *source = &reader->source;
    size_t count = 0, streams = 0;
    for (size_t i = 0; i < source->chunk_count; i++)
        count += source->chunks[i].header.kind == LAP_CHUNK_PACKETS;
    reader->chunk_order = calloc(count + 1, sizeof(*reader->chunk_order));
    if (!reader->chunk_order)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_PACKETS)
            reader->chunk_order[reader->order_count++] = i;
    qsort_r(reader->chunk_order, count, sizeof(*reader->chunk_order), compare_chunks, source->chunks);

    for (size_t i = 0; i < count; i++) {
        const struct lap_chunk_ref *chunk = packet_chunk(reader, i), *before = i ? packet_chunk(reader, i - 1) : NULL;
        bool same_stream = before && before->header.stream == chunk->header.stream;
        if (chunk->header.first == 0 || chunk->header.count == 0 ||
            chunk->header.last - chunk->header.first < chunk->header.count - 1 ||
            (same_stream && before->header.last >= chunk->header.first))
            return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": tickets out of order", chunk->offset);
        streams += !same_stream;
    }
    reader->cursors = calloc(streams + 1, sizeof(*reader->cursors));
    reader->heap = calloc(streams + 1, sizeof(*reader->heap));
    if (!reader->cursors || !reader->heap)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || packet_chunk(reader, i - 1)->header.stream != packet_chunk(reader, i)->header.stream)
            reader->cursors[reader->cursor_count++].first_chunk = i;
        reader->cursors[reader->cursor_count - 1].chunk_end = i + 1;
    }
    reader->summary.streams = (uint32_t)streams;
    return LAP_OK;
}

/* ---- the heap ---- */

static void sift_down(struct lap_reader *reader, size_t at)
{
    size_t moving = reader->heap[at];
    uint64_t ticket = reader->cursors[moving].ticket;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= reader->heap_count)
            break;
        if (child + 1 < reader->heap_count &&
            reader->cursors[reader->heap[child + 1]].ticket < reader->cursors[reader->heap[child]].ticket)
            child++;
        if (reader->cursors[reader->heap[child]].ticket >= ticket)
            break;
        reader->heap[at] = reader->heap[child];
        at = child;
    }
    reader->heap[at] = moving;
}

static void enter_chunk(struct lap_reader *reader, struct lap_cursor *cursor, size_t chunk)
{
    cursor->chunk = chunk;
    cursor->started = false;
    cursor->ref = chunk < cursor->chunk_end ? packet_chunk(reader, chunk) : NULL;
    cursor->ticket = cursor->ref ? cursor->ref->header.first : 0;
}

static void enter_frame(struct lap_reader *reader, size_t frame)
{
    reader->frame = frame;
    reader->frame_end = lap_reader_frame_end(reader, frame);
}

static void enter_edit(struct lap_reader *reader, size_t edit)
{
    reader->edit = edit;
    reader->edit_ticket = edit < reader->edit_count ? reader->edit_list[edit].ticket : UINT64_MAX;
}

/* Orders the streams that have packets left. */
static void arrange_heap(struct lap_reader *reader)
{
    reader->heap_count = 0;
    for (size_t i = 0; i < reader->cursor_count; i++)
        if (reader->cursors[i].ref)
            reader->heap[reader->heap_count++] = i;
    for (size_t i = reader->heap_count / 2; i-- > 0;)
        sift_down(reader, i);
}

enum lap_status lap_reader_rewind(struct lap_reader *reader)
{
    if (reader->maker)
        return lap_reader_make_anew(reader);
    lap_cache_advance(&reader->cache);
    reader->finished = NULL;
    reader->run = (struct lap_run){.at = NULL};
    for (size_t i = 0; i < reader->cursor_count; i++)
        enter_chunk(reader, &reader->cursors[i], reader->cursors[i].first_chunk);
    arrange_heap(reader);
    reader->next_ticket = 1;
    reader->barriers = 0;
    enter_frame(reader, 0);
    enter_edit(reader, 0);
    reader->anchor.ticket = 0;
    reader->failed = reader->behind = LAP_OK;
    return LAP_OK;
}

/* ---- the packets of a chunk ---- */

static inline enum lap_status load_packets(struct lap_reader *reader, struct lap_chunk_ref *chunk)
{
    if (chunk->cached) {
        lap_cache_use(&reader->cache, chunk->cached);
        return LAP_OK;
    }
    struct lap_loaded loaded;
    enum lap_status status = lap_cache_reserve(&reader->cache, chunk->header.raw_bytes, 0, false);
    if (status == LAP_OK)
        status = lap_reader_load(reader, chunk, NULL, &loaded);
    if (status == LAP_OK)
        status = lap_cache_add(&reader->cache, &chunk->cached, loaded.buffer, loaded.bytes, 0, false);
    return status;
}

static enum lap_status damaged(const struct lap_chunk_ref *chunk, const char *what)
{
    return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": %s", chunk->offset, what);
}

/* The head in front of a packet's body. */
struct packet_head {
    uint32_t body_bytes, command;
    uint64_t ticket_step, epoch_step, flags;
};

#define SHORT_HEAD_BYTES 9u

/* Nearly all heads: a command's number of one or two bytes and, of one byte each, the rest. False for others. */
static inline bool read_short_head(struct lap_dec *dec, struct packet_head *head)
{
    const uint8_t *p = dec->p;
    if (dec->end - p < (ptrdiff_t)SHORT_HEAD_BYTES)
        return false;
    head->body_bytes = lap_load_u32(p);
    head->command = p[4];
    p += 5;
    if (head->command & 0x80) {
        head->command = (head->command & 0x7f) | (uint32_t)*p << 7;
        if (*p == 0 || *p++ & 0x80)
            return false;
    }
    if ((p[0] | p[1] | p[2]) & 0x80)
        return false;
    head->ticket_step = p[0];
    head->epoch_step = p[1];
    head->flags = p[2];
    dec->p = p + 3;
    return true;
}

static enum lap_status read_long_head(struct lap_dec *dec, const struct lap_chunk_ref *chunk, struct packet_head *head)
{
    head->body_bytes = lap_get_fixed32(dec);
    head->command = lap_get_u32(dec);
    head->ticket_step = lap_get_u64(dec);
    head->epoch_step = lap_get_u64(dec);
    head->flags = lap_get_u64(dec);
    if (dec->status != LAP_OK)
        return lap_fail_context(dec->status, "chunk at offset %" PRIu64 ": a packet's head", chunk->offset);
    return LAP_OK;
}

/* Reads the head of the packet that begins at `offset`; its ticket and epoch count from those in *cursor. */
static inline __attribute__((always_inline)) enum lap_status
read_packet(struct lap_reader *reader, struct lap_cursor *cursor, const struct lap_chunk_ref *chunk, size_t offset)
{
    const struct lap_name_table *dictionary = &reader->dictionary;
    bool first = !cursor->started;
    struct packet_head head;
    struct lap_dec dec;
    lap_dec_init(&dec, chunk->cached->data + offset, chunk->cached->bytes - offset, NULL, NULL);
    if (!read_short_head(&dec, &head)) {
        enum lap_status status = read_long_head(&dec, chunk, &head);
        if (status != LAP_OK)
            return status;
    }
    if (head.body_bytes > (size_t)(dec.end - dec.p))
        return damaged(chunk, "a packet is longer than its chunk");
    if ((head.ticket_step == 0) != first || head.ticket_step > chunk->header.last - cursor->ticket ||
        __builtin_add_overflow(cursor->epoch, head.epoch_step, &cursor->epoch))
        return damaged(chunk, "tickets out of order");
    if (head.flags & ~(uint64_t)LAP_PACKET_ALL_FLAGS)
        return damaged(chunk, "a packet with unknown flags");
    if (head.command >= dictionary->lists[LAP_DICTIONARY_COMMANDS].count ||
        (head.command == 0 && !dictionary->lists[LAP_DICTIONARY_COMMANDS].names[0][0])) /* it alone may have none */
        return damaged(chunk, "a command that is not in the dictionary");
    cursor->body_bytes = head.body_bytes;
    cursor->command = head.command;
    cursor->ticket += head.ticket_step;
    cursor->flags = (uint32_t)head.flags;
    cursor->body_offset = (size_t)(dec.p - chunk->cached->data);
    if (cursor->left == 1 && (cursor->ticket != chunk->header.last || dec.p + cursor->body_bytes != dec.end))
        return damaged(chunk, "it does not end where its header says");
    return LAP_OK;
}

static enum lap_status start_chunk(struct lap_reader *reader, struct lap_cursor *cursor, struct lap_chunk_ref *chunk)
{
    struct lap_dec dec;
    lap_dec_init(&dec, chunk->cached->data, chunk->cached->bytes, NULL, NULL);
    cursor->thread_id = lap_get_u64(&dec);
    if (dec.status != LAP_OK)
        return damaged(chunk, "it has no thread");
    cursor->left = chunk->header.count;
    cursor->epoch = chunk->header.epoch;
    enum lap_status status = read_packet(reader, cursor, chunk, (size_t)(dec.p - chunk->cached->data));
    cursor->started = status == LAP_OK;
    return status;
}

/* Moves on to the stream's next packet. */
static enum lap_status step(struct lap_reader *reader, struct lap_cursor *cursor, struct lap_chunk_ref *chunk)
{
    if (--cursor->left)
        return read_packet(reader, cursor, chunk, cursor->body_offset + cursor->body_bytes);
    reader->finished = chunk;
    enter_chunk(reader, cursor, cursor->chunk + 1);
    return LAP_OK;
}

/* The same for the first of the heap, which finds its new place. */
static enum lap_status step_first(struct lap_reader *reader, struct lap_cursor *cursor)
{
    enum lap_status status = step(reader, cursor, cursor->ref);
    if (cursor->chunk == cursor->chunk_end)
        reader->heap[0] = reader->heap[--reader->heap_count];
    if (reader->heap_count > 1)
        sift_down(reader, 0);
    return status;
}

static void keep_message(struct lap_reader *reader)
{
    memcpy(reader->failure, lap_error_message(), strnlen(lap_error_message(), sizeof(reader->failure) - 1) + 1);
}

/* The packet in front is given out: damage to the next one is reported with the next call. */
static enum lap_status step_over(struct lap_reader *reader, struct lap_cursor *cursor)
{
    enum lap_status status = step_first(reader, cursor);
    if (status != LAP_ERROR_FORMAT)
        return status;
    reader->behind = status;
    keep_message(reader);
    return LAP_OK;
}

/* ---- runs ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Begins a run behind the last packet of the first of the heap: false where none begins. */
static bool begin_run(struct lap_reader *reader, struct lap_cursor *cursor, const struct lap_packet *packet)
{
    const struct lap_chunk_ref *chunk = cursor->ref;
    const uint8_t *data = chunk->cached->data, *end = data + chunk->cached->bytes;
    const uint8_t *at = data + cursor->body_offset + cursor->body_bytes;
    uint32_t is_barrier = packet->flags & LAP_PACKET_BARRIER;
    uint64_t last = smaller(reader->frame_end, reader->last_ticket);
    /* The blob that is this packet's body is not needed any longer than that. */
    if (cursor->left < 3 || end - at < (ptrdiff_t)LAP_RUN_HEAD_BYTES || chunk->cached != reader->cache.trial.newest)
        return false;
    for (size_t child = 1; child <= 2 && child < reader->heap_count; child++)
        last = smaller(last, reader->cursors[reader->heap[child]].ticket - 1);
    last = smaller(last, packet->ticket + cursor->left - 2);
    last = smaller(last, chunk->header.last);
    last = smaller(last, reader->edit_ticket - 1);
    if (last <= packet->ticket)
        return false;
    reader->run = (struct lap_run){.at = at,
                                   .last_at = end - LAP_RUN_HEAD_BYTES,
                                   .last_ticket = last,
                                   .left = last - packet->ticket,
                                   .epoch = reader->barriers,
                                   .steps = 1 | is_barrier << 8,
                                   .commands = reader->dictionary.lists[LAP_DICTIONARY_COMMANDS].count - 1,
                                   .data = data,
                                   .end = end,
                                   .frame = packet->frame,
                                   .thread_id = packet->thread_id,
                                   .file_offset = packet->file_offset,
                                   .stream = packet->stream};
    return true;
}

/* Its cursor goes to the packet behind those that were given out. */
static enum lap_status end_run(struct lap_reader *reader)
{
    struct lap_run run = reader->run;
    struct lap_cursor *cursor = &reader->cursors[reader->heap[0]];
    reader->run = (struct lap_run){.at = NULL};
    uint64_t ticket = run.last_ticket - run.left;
    cursor->left -= (uint32_t)(ticket - cursor->ticket);
    cursor->ticket = ticket;
    cursor->epoch = run.epoch - (run.steps >> 8);
    cursor->body_offset = (size_t)(run.at - run.data);
    cursor->body_bytes = 0;
    reader->next_ticket = ticket + 1;
    reader->barriers = run.epoch;
    return step_over(reader, cursor);
}

/* cursor: of the next packet that is there, if there is one. */
static enum lap_status missing(const struct lap_reader *reader, const struct lap_cursor *cursor)
{
    if (!cursor)
        return lap_fail(LAP_ERROR_FORMAT,
                        "the packet with ticket %" PRIu64 " is missing up to the end, offset %" PRIu64,
                        reader->next_ticket, reader->source.file_bytes);
    return lap_fail(LAP_ERROR_FORMAT,
                    "the packet with ticket %" PRIu64 " is missing; %" PRIu64 ", in the chunk at offset %" PRIu64
                    ", is there",
                    reader->next_ticket, cursor->ticket, cursor->ref->offset);
}

/* Checks the marks of the frames in front of `frame`: where the index is good, nothing else reads them. */
static void see_marks(struct lap_reader *reader, size_t frame)
{
    struct lap_source *source = &reader->source;
    uint8_t raw[LAP_MARK_MAX_BYTES];
    for (; reader->marks_unseen < frame; reader->marks_unseen++) {
        const struct lap_chunk_ref *chunk = &source->chunks[reader->frames[reader->marks_unseen].chunk];
        if (lap_source_load(source, chunk, raw) == LAP_OK || reader->summary.repaired)
            continue;
        lap_source_repair_mark(source, chunk, reader->marks_unseen);
        reader->summary.repaired = source->repaired;
    }
}

/* The next packet of the file. */
static enum lap_status next_of_file(struct lap_reader *reader, struct lap_packet *out)
{
    struct lap_cursor *cursor = reader->heap_count ? &reader->cursors[reader->heap[0]] : NULL;
    if (reader->behind != LAP_OK)
        return reader->next_ticket > reader->last_ticket ? LAP_END : lap_fail(reader->behind, "%s", reader->failure);
    if (reader->next_ticket > reader->last_ticket && (!cursor || cursor->ticket > reader->last_ticket))
        return LAP_END;
    if (!cursor || cursor->ticket > reader->next_ticket)
        return missing(reader, cursor);
    struct lap_chunk_ref *chunk = cursor->ref;
    if (cursor->ticket < reader->next_ticket)
        return damaged(chunk, "a ticket that another packet has");

    enum lap_status status = load_packets(reader, chunk);
    if (status == LAP_OK && !cursor->started)
        status = start_chunk(reader, cursor, chunk);
    if (status != LAP_OK)
        return status;
    /* Replay on several threads trusts the epochs. */
    if (cursor->epoch != reader->barriers)
        return damaged(chunk, "a packet with a wrong epoch");

    while (cursor->ticket > reader->frame_end)
        enter_frame(reader, reader->frame + 1);
    if (reader->marks_unseen < reader->frame)
        see_marks(reader, reader->frame);
    *out = (struct lap_packet){
        .command = cursor->command,
        .stream = chunk->header.stream,
        .flags = cursor->flags & ~(uint32_t)LAP_PACKET_BLOB_BODY,
        .ticket = cursor->ticket,
        .epoch = cursor->epoch,
        .frame = reader->frame,
        .thread_id = cursor->thread_id,
        .file_offset = chunk->offset,
        .chunk_byte = (uint32_t)cursor->body_offset,
        .body = chunk->cached->data + cursor->body_offset,
        .bytes = cursor->body_bytes,
    };
    if (cursor->flags & LAP_PACKET_BLOB_BODY) {
        struct lap_dec dec;
        lap_dec_init(&dec, out->body, out->bytes, NULL, NULL);
        uint64_t blob = lap_get_u64(&dec);
        if (dec.status != LAP_OK || dec.p != dec.end)
            return damaged(chunk, "a packet's blob has no number");
        status = lap_reader_blob(reader, LAP_BLOB_PACKET, blob, &out->body, &out->bytes);
        if (status != LAP_OK)
            return status;
    }

    reader->next_ticket++;
    reader->barriers += (out->flags & LAP_PACKET_BARRIER) != 0;
    return begin_run(reader, cursor, out) ? LAP_OK : step_over(reader, cursor);
}

/* The next edit, as a packet at the place of the anchor. */
static void give_edit(struct lap_reader *reader, struct lap_packet *out)
{
    const struct lap_edit *edit = &reader->edit_list[reader->edit];
    *out = reader->anchor;
    out->command = edit->command;
    out->flags = edit->kind == LAP_EDIT_INSTEAD ? reader->anchor.flags : edit->flags;
    out->body = edit->body;
    out->bytes = edit->bytes;
    out->is_new = edit->kind == LAP_EDIT_BEHIND;
    enter_edit(reader, reader->edit + 1);
}

static enum lap_status next_packet(struct lap_reader *reader, struct lap_packet *out)
{
    enum lap_status status;
    for (;;) {
        if (reader->edit_ticket == reader->anchor.ticket) {
            give_edit(reader, out);
            return LAP_OK;
        }
        status = next_of_file(reader, out);
        if (status != LAP_OK || out->ticket != reader->edit_ticket)
            return status;
        reader->anchor = *out;
        switch (reader->edit_list[reader->edit].kind) {
        case LAP_EDIT_BEHIND:
            return LAP_OK;
        case LAP_EDIT_INSTEAD:
            give_edit(reader, out);
            return LAP_OK;
        case LAP_EDIT_DROP:
            enter_edit(reader, reader->edit + 1);
            break;
        }
    }
}

/* After an error a maker can't go on: it is the reader's, until it begins anew. */
static enum lap_status next_made(struct lap_reader *reader, struct lap_packet *out_packet)
{
    enum lap_status status;

    if (reader->failed != LAP_OK)
        return lap_fail(reader->failed, "%s", reader->failure);
    status = reader->maker->next(reader->making, out_packet);
    if (status < 0) {
        reader->failed = status;
        keep_message(reader);
    }
    return status;
}

/* Not inlined: the quick way then does without its saved registers. */
static __attribute__((noinline)) enum lap_status next_slow(struct lap_reader *reader, struct lap_packet *out_packet)
{
    if (reader->maker)
        return next_made(reader, out_packet);
    lap_cache_advance(&reader->cache);
    if (reader->failed != LAP_OK)
        return lap_fail(reader->failed, "%s", reader->failure);
    if (reader->finished) {
        if (reader->finished->cached)
            lap_cache_drop(&reader->cache,
                           reader->finished->cached); /* reading only ever restarts at the first packet */
        reader->finished = NULL;
    }
    enum lap_status status = reader->run.at ? end_run(reader) : LAP_OK;
    if (status == LAP_OK)
        status = next_packet(reader, out_packet);
    if (status == LAP_END)
        see_marks(reader, reader->frame_count);
    if (status < 0) {
        reader->failed = status;
        keep_message(reader);
        memset(out_packet, 0, sizeof(*out_packet));
        while (reader->next_ticket > reader->frame_end)
            enter_frame(reader, reader->frame + 1);
        return lap_fail_context(status, "frame %zu, packet %" PRIu64, reader->frame + 1, reader->next_ticket);
    }
    return status;
}

enum lap_status lap_reader_next(struct lap_reader *reader, struct lap_packet *out_packet)
{
    const struct lap_run *run = &reader->run;
    if (!lap_run_next(&reader->run, out_packet))
        return next_slow(reader, out_packet);
    out_packet->ticket = run->last_ticket - run->left;
    out_packet->stream = run->stream;
    out_packet->frame = run->frame;
    out_packet->thread_id = run->thread_id;
    out_packet->file_offset = run->file_offset;
    return LAP_OK;
}

/* ---- seeking ---- */

/* The first of the stream's chunks that ends at the ticket or behind it. */
static size_t chunk_with(const struct lap_reader *reader, const struct lap_cursor *cursor, uint64_t ticket)
{
    size_t first = cursor->first_chunk, end = cursor->chunk_end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (packet_chunk(reader, middle)->header.last < ticket)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* Moves the cursor to the stream's first packet that has the ticket or a later one. */
static enum lap_status seek_in_stream(struct lap_reader *reader, struct lap_cursor *cursor, uint64_t ticket)
{
    enum lap_status status = LAP_OK;
    enter_chunk(reader, cursor, chunk_with(reader, cursor, ticket));
    if (!cursor->ref || cursor->ticket >= ticket)
        return LAP_OK;
    status = load_packets(reader, cursor->ref);
    if (status == LAP_OK)
        status = start_chunk(reader, cursor, cursor->ref);
    while (status == LAP_OK && cursor->ticket < ticket) /* ends in the chunk, whose last packet has its last ticket */
        status = step(reader, cursor, cursor->ref);
    return status;
}

/* Takes the number of barriers from the packet with the ticket. */
static enum lap_status take_barriers(struct lap_reader *reader, uint64_t ticket)
{
    struct lap_cursor *cursor = reader->heap_count ? &reader->cursors[reader->heap[0]] : NULL;
    enum lap_status status = LAP_OK;
    if (!cursor || cursor->ticket != ticket || ticket > reader->last_ticket)
        return LAP_OK; /* lap_reader_next will say so */
    if (!cursor->started)
        status = load_packets(reader, cursor->ref);
    if (status == LAP_OK && !cursor->started)
        status = start_chunk(reader, cursor, cursor->ref);
    reader->barriers = cursor->epoch;
    return status;
}

enum lap_status lap_reader_seek(struct lap_reader *reader, uint64_t ticket)
{
    enum lap_status status;
    if (reader->maker)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "a replay program goes forward only");
    if (reader->ahead)
        return lap_fail(LAP_ERROR_ARGUMENT, "a reader that reads ahead goes forward only");
    ticket = ticket == 0 ? 1 : smaller(ticket, reader->last_ticket + 1);
    status = lap_reader_rewind(reader);
    for (size_t i = 0; i < reader->cursor_count && status == LAP_OK; i++)
        status = seek_in_stream(reader, &reader->cursors[i], ticket);
    arrange_heap(reader);
    reader->next_ticket = ticket;
    for (size_t first = 0, end = reader->edit_count; first < end; enter_edit(reader, first)) {
        size_t middle = first + (end - first) / 2;
        if (reader->edit_list[middle].ticket < ticket)
            first = middle + 1;
        else
            end = middle;
    }
    while (ticket > reader->frame_end)
        enter_frame(reader, reader->frame + 1);
    if (status == LAP_OK)
        status = take_barriers(reader, ticket);
    if (status != LAP_OK) {
        reader->failed = status;
        keep_message(reader);
        status = lap_fail_context(status, "frame %zu, packet %" PRIu64, reader->frame + 1, ticket);
    }
    return status;
}
