/* SPDX-License-Identifier: MIT */
/*
 * How a reader recovers the journal of a process that was killed. Its parts become chunks in memory, behind those of
 * the trace and of the ring; a reader reads them like all other chunks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/crash/journal.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/decode.h"
#include "trace/format/dictionary.h"
#include "trace/read/chunk_order.h"
#include "trace/read/source.h"

#define HALVES       (2 * (1 + LAP_JOURNAL_STREAMS))
#define MOST_MISSING LAP_JOURNAL_STREAMS /* a stream writes one packet at a time */

struct half {
    struct lap_journal_head head;
    uint64_t at; /* in the tail file, of its head */
    size_t used, bytes;
};

struct recovery {
    struct lap_source *source;
    uint64_t seed;
    struct half halves[HALVES];
    size_t half_count;
    unsigned damaged;
    uint8_t *bytes, *payload; /* of a half; of its chunk */
};

static enum lap_status read_tail(const struct lap_source *source, uint64_t at, void *out, size_t bytes)
{
    return lap_source_read(source, source->file_bytes + at, out, bytes);
}

/* ---- halves ---- */

static enum lap_status find_half(struct recovery *r, uint64_t at, size_t bytes, enum lap_journal_kind kind)
{
    struct half half = {.at = at, .bytes = bytes - LAP_JOURNAL_HEAD_BYTES};
    uint8_t head[LAP_JOURNAL_HEAD_BYTES];
    enum lap_status status = read_tail(r->source, at, head, sizeof(head));
    if (status == LAP_OK) {
        status = lap_journal_head_load(head, bytes, r->seed, &half.head, &half.used);
        if (status == LAP_OK && half.head.kind != kind)
            status = LAP_ERROR_FORMAT;
        r->damaged += status == LAP_ERROR_FORMAT;
        if (status == LAP_OK)
            r->halves[r->half_count++] = half;
        status = LAP_OK;
    }
    return status;
}

/* Blobs first, for packets refer to them; then as they were begun. */
static int compare_halves(const void *a, const void *b)
{
    const struct half *x = a, *y = b;
    if (x->head.kind != y->head.kind)
        return x->head.kind == LAP_JOURNAL_BLOBS ? -1 : 1;
    return x->head.first < y->head.first ? -1 : x->head.first > y->head.first;
}

static enum lap_status find_halves(struct recovery *r)
{
    uint64_t journal = LAP_TAIL_NOTES_BEGIN + offsetof(struct lap_notes, journal);
    uint64_t blobs = journal + offsetof(struct lap_journal, blobs);
    uint64_t streams = journal + offsetof(struct lap_journal, streams);
    enum lap_status status = LAP_OK;
    for (unsigned i = 0; i < 2 && status == LAP_OK; i++)
        status = find_half(r, blobs + i * LAP_JOURNAL_BLOBS_BYTES, LAP_JOURNAL_BLOBS_BYTES, LAP_JOURNAL_BLOBS);
    for (unsigned i = 0; i < 2 * LAP_JOURNAL_STREAMS && status == LAP_OK; i++)
        status = find_half(r, streams + i * LAP_JOURNAL_HALF_BYTES, LAP_JOURNAL_HALF_BYTES, LAP_JOURNAL_PACKETS);
    qsort(r->halves, r->half_count, sizeof(*r->halves), compare_halves);
    return status;
}

/* ---- blobs ---- */

static uint64_t last_blob(const struct lap_source *source)
{
    uint64_t last = 0;
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_BLOBS && source->chunks[i].header.last > last)
            last = source->chunks[i].header.last;
    return last;
}

static enum lap_status take_blobs(struct recovery *r, const struct half *half)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_BLOBS, .first = half->head.first};
    uint64_t known = last_blob(r->source);
    size_t at = 0;
    while (at < half->used) {
        struct lap_blob_entry entry;
        enum lap_status status = lap_blob_entry_load(r->bytes, half->used, at, &entry);
        if (status != LAP_OK || entry.part_bytes != entry.total_bytes)
            return lap_fail(LAP_ERROR_FORMAT, "no blob");
        struct lap_blob_hash hash = lap_blob_hash_of(r->bytes + at + LAP_BLOB_ENTRY_BYTES, entry.part_bytes);
        if (hash.low != entry.hash.low || hash.high != entry.hash.high)
            return lap_fail(LAP_ERROR_FORMAT, "a damaged blob");
        at += lap_blob_entry_stride(entry.part_bytes);
        header.count++;
    }
    if (at != half->used || header.first == 0 || __builtin_add_overflow(header.first, header.count - 1, &header.last))
        return lap_fail(LAP_ERROR_FORMAT, "no blobs");
    if (header.last <= known)
        return LAP_OK;
    if (header.first != known + 1)
        return lap_fail(LAP_ERROR_FORMAT, "blobs are missing");
    return lap_source_make(r->source, &header, r->bytes, half->used);
}

/* ---- packets ---- */

struct head {
    uint64_t command, ticket_step, epoch_step, flags;
    size_t bytes; /* with the body */
};

static bool read_head(const uint8_t *at, size_t room, struct head *out)
{
    struct lap_dec dec;
    lap_dec_init(&dec, at, room, NULL, NULL);
    uint32_t body_bytes = lap_get_fixed32(&dec);
    out->command = lap_get_u64(&dec);
    out->ticket_step = lap_get_u64(&dec);
    out->epoch_step = lap_get_u64(&dec);
    out->flags = lap_get_u64(&dec);
    if (dec.status != LAP_OK || body_bytes > (size_t)(dec.end - dec.p))
        return false;
    out->bytes = (size_t)(dec.p - at) + body_bytes;
    return true;
}

/* The last packet may be whole though the half's used size does not cover it yet. */
static enum lap_status take_packets(struct recovery *r, const struct half *half, struct lap_chunk_order *sequence)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_PACKETS,
                                      .stream = half->head.stream,
                                      .first = half->head.first,
                                      .last = half->head.first,
                                      .epoch = half->head.epoch};
    size_t at = 0, used = lap_store_varint(r->payload, half->head.thread_id);
    struct head head;
    while (read_head(r->bytes + at, half->bytes - at, &head) &&
           half->bytes - at - head.bytes >= LAP_JOURNAL_HASH_BYTES) {
        uint64_t ticket;
        if ((head.ticket_step == 0) != (header.count == 0) ||
            __builtin_add_overflow(header.last, head.ticket_step, &ticket) ||
            lap_load_u32(r->bytes + at + head.bytes) != lap_journal_hash(r->bytes + at, head.bytes, ticket, r->seed))
            break;
        memcpy(r->payload + used, r->bytes + at, head.bytes);
        used += head.bytes;
        at += head.bytes + LAP_JOURNAL_HASH_BYTES;
        header.last = ticket;
        header.count++;
    }
    if (at < half->used)
        r->damaged++;
    if (header.count == 0 || lap_chunk_order_add(sequence, &header) != LAP_OK) /* mostly it is in the trace already */
        return LAP_OK;
    return lap_source_make(r->source, &header, r->payload, used);
}

static enum lap_status take_halves(struct recovery *r)
{
    struct lap_chunk_order sequence;
    enum lap_status status = LAP_OK;
    bool good = true;
    lap_chunk_order_init(&sequence, r->source->header.version);
    for (size_t i = 0; i < r->source->chunk_count && good; i++)
        good = lap_chunk_order_add(&sequence, &r->source->chunks[i].header) == LAP_OK;
    for (size_t i = 0; i < r->half_count && good && status == LAP_OK; i++) {
        const struct half *half = &r->halves[i];
        status = read_tail(r->source, half->at + LAP_JOURNAL_HEAD_BYTES, r->bytes, half->bytes);
        if (status != LAP_OK)
            break;
        if (half->head.kind == LAP_JOURNAL_PACKETS) {
            status = take_packets(r, half, &sequence);
            continue;
        }
        status = take_blobs(r, half);
        if (status == LAP_ERROR_FORMAT) { /* packets may refer to what is not here */
            r->damaged++;
            good = false;
            status = LAP_OK;
        }
    }
    lap_chunk_order_finish(&sequence);
    return status;
}

/* ---- up to where all packets are there ---- */

#define THERE   1u
#define BARRIER 2u
#define CALL    4u

struct whole {
    struct lap_source *source;
    uint64_t marked, marked_epoch; /* of the last frame mark */
    size_t room;                   /* tickets behind that, at most */
    uint8_t *flags;                /* [ticket - marked - 1] */
    uint64_t *epochs;
    struct lap_name_table dictionary;
    uint8_t *raw;
};

static bool is_behind(const struct whole *w, const struct lap_chunk_ref *chunk)
{
    return chunk->header.kind == LAP_CHUNK_PACKETS && chunk->header.last > w->marked &&
           chunk->header.count <= chunk->header.raw_bytes / 8;
}

/* Notes the packets of a chunk. */
static enum lap_status see_chunk(struct whole *w, const struct lap_chunk_ref *chunk)
{
    uint64_t ticket = chunk->header.first, epoch = chunk->header.epoch;
    enum lap_status status = lap_source_load(w->source, chunk, w->raw);
    struct lap_dec dec;
    struct head head;
    if (status != LAP_OK)
        return status;
    lap_dec_init(&dec, w->raw, chunk->header.raw_bytes, NULL, NULL);
    (void)lap_get_u64(&dec);
    size_t at = (size_t)(dec.p - w->raw), bytes = chunk->header.raw_bytes;
    for (uint32_t i = 0; i < chunk->header.count && read_head(w->raw + at, bytes - at, &head); i++) {
        ticket += head.ticket_step;
        epoch += head.epoch_step;
        at += head.bytes;
        if (ticket <= w->marked || ticket - w->marked - 1 >= w->room)
            continue;
        const char *name = head.command < w->dictionary.lists[LAP_DICTIONARY_COMMANDS].count
                               ? w->dictionary.lists[LAP_DICTIONARY_COMMANDS].names[head.command]
                               : "";
        w->flags[ticket - w->marked - 1] = (uint8_t)(THERE | (head.flags & LAP_PACKET_BARRIER ? BARRIER : 0) |
                                                     (strncmp(name, "vk", 2) == 0 ? CALL : 0));
        w->epochs[ticket - w->marked - 1] = epoch;
    }
    return LAP_OK;
}

static uint32_t missing_command(const struct whole *w)
{
    for (uint32_t i = 1; i < w->dictionary.lists[LAP_DICTIONARY_COMMANDS].count; i++)
        if (strcmp(w->dictionary.lists[LAP_DICTIONARY_COMMANDS].names[i], LAP_MISSING_PACKET) == 0)
            return i;
    return 0;
}

static uint32_t unused_stream(const struct lap_source *source)
{
    uint32_t stream = 0;
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_PACKETS && source->chunks[i].header.stream >= stream)
            stream = source->chunks[i].header.stream + 1;
    return stream;
}

/* A packet for each missing ticket. Later packets determine whether it counts as a barrier. */
struct missing {
    struct lap_chunk_header header;
    uint8_t payload[MOST_MISSING * (4 + 4 * LAP_WIRE_MAX_VARINT) + LAP_WIRE_MAX_VARINT];
    size_t bytes;
    uint64_t epoch;
    uint32_t command;
};

static void add_missing(struct missing *m, uint64_t ticket, uint64_t epoch, bool is_barrier)
{
    if (m->header.count == 0) {
        m->bytes = lap_store_varint(m->payload, 0); /* no thread that has a name */
        m->header.first = m->header.last = ticket;
        m->header.epoch = m->epoch = epoch;
    }
    lap_store_u32(m->payload + m->bytes, 0);
    m->bytes += 4;
    m->bytes += lap_store_varint(m->payload + m->bytes, m->command);
    m->bytes += lap_store_varint(m->payload + m->bytes, ticket - m->header.last);
    m->bytes += lap_store_varint(m->payload + m->bytes, epoch - m->epoch);
    m->bytes += lap_store_varint(m->payload + m->bytes, LAP_PACKET_INFO | (is_barrier ? LAP_PACKET_BARRIER : 0));
    m->header.last = ticket;
    m->header.count++;
    m->epoch = epoch;
}

/* Counts from the last frame mark on. Returns how many tickets are there, or replaced. */
static size_t count_whole(const struct whole *w, bool fill, struct missing *m)
{
    uint64_t epoch = w->marked_epoch;
    for (size_t i = 0; i < w->room; i++) {
        if (w->flags[i]) {
            if (w->epochs[i] != epoch)
                return i;
            epoch += (w->flags[i] & BARRIER) != 0;
            continue;
        }
        size_t next = i;
        while (next < w->room && !w->flags[next] && next - i <= MOST_MISSING)
            next++;
        if (!fill || !m->command || next == w->room || !w->flags[next] || m->header.count + (next - i) > MOST_MISSING ||
            w->epochs[next] < epoch || w->epochs[next] - epoch > next - i)
            return i;
        for (; i < next; i++) {
            bool is_barrier = epoch < w->epochs[next];
            add_missing(m, w->marked + 1 + i, epoch, is_barrier);
            epoch += is_barrier;
        }
        i--;
    }
    return w->room;
}

static enum lap_status see_chunks(struct whole *w)
{
    struct lap_source *source = w->source;
    enum lap_status status = lap_source_load_dictionary(source, w->raw);
    if (status == LAP_OK)
        status = lap_dictionary_decode(w->raw, source->chunks[0].header.raw_bytes, &w->dictionary);
    for (size_t i = 0; i < source->chunk_count && status == LAP_OK; i++)
        if (is_behind(w, &source->chunks[i]))
            status = see_chunk(w, &source->chunks[i]);
    return status;
}

static enum lap_status find_whole(struct lap_source *source, bool fill)
{
    struct whole w = {.source = source};
    static const struct missing none;
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_FRAME) {
            w.marked = source->chunks[i].header.last;
            w.marked_epoch = source->chunks[i].header.epoch;
        }
    for (size_t i = 0; i < source->chunk_count; i++)
        w.room += is_behind(&w, &source->chunks[i]) ? source->chunks[i].header.count : 0;
    if (w.room == 0)
        return LAP_OK;
    w.room += MOST_MISSING;
    w.raw = malloc(LAP_CHUNK_MAX_RAW);
    w.flags = calloc(w.room, 1);
    w.epochs = calloc(w.room, sizeof(*w.epochs));
    struct missing *missing = malloc(sizeof(*missing));
    enum lap_status status =
        w.raw && w.flags && w.epochs && missing ? see_chunks(&w) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_OK) {
        *missing = none;
        missing->command = missing_command(&w);
        size_t there = count_whole(&w, fill, missing);
        source->recovered_packets = there;
        for (size_t i = 0; i < there; i++)
            source->recovered_calls += (w.flags[i] & CALL) != 0;
        source->whole_ticket = w.marked + there;
        missing->header.kind = LAP_CHUNK_PACKETS;
        missing->header.stream = unused_stream(source);
        if (missing->header.count)
            status = lap_source_make(source, &missing->header, missing->payload, missing->bytes);
    }
    lap_dictionary_finish(&w.dictionary);
    free(missing);
    free(w.epochs);
    free(w.flags);
    free(w.raw);
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

enum lap_status lap_journal_recover(struct lap_source *source, unsigned *out_damaged)
{
    struct recovery r = {.source = source, .seed = lap_tail_seed(source->header.uuid)};
    uint64_t state_at = LAP_TAIL_NOTES_BEGIN + offsetof(struct lap_notes, journal);
    uint8_t state;
    r.bytes = malloc(LAP_JOURNAL_BLOBS_BYTES);
    r.payload = malloc(LAP_JOURNAL_BLOBS_BYTES);
    enum lap_status status = r.bytes && r.payload ? read_tail(source, state_at, &state, sizeof(state))
                                                  : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_OK)
        status = find_halves(&r);
    if (status == LAP_OK)
        status = take_halves(&r);
    free(r.payload);
    free(r.bytes);
    if (status == LAP_OK)
        status = find_whole(source, state == LAP_JOURNAL_ALL && r.damaged == 0);
    *out_damaged = r.damaged;
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}
