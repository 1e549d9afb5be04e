/* SPDX-License-Identifier: MIT */
#include "trace/rewrite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/format/bytes.h"
#include "trace/format/decode.h"
#include "trace/format/dictionary.h"
#include "trace/format/format.h"
#include "trace/read/source.h"
#include "trace/write/output.h"

#define CHUNK_BYTES    ((size_t)1 << 20) /* of what is put together */
#define GATHERED_BYTES ((size_t)8 << 20) /* in all streams */
#define GATHERED_MARKS 4096u

_Static_assert(CHUNK_BYTES <= LAP_CHUNK_MAX_RAW, "what is put together is a chunk");

/* Payloads of chunks of one kind and stream, as one. */
struct gathered {
    struct lap_chunk_header header; /* count 0: nothing is in it */
    uint64_t thread_id;
    uint64_t last_epoch; /* of the last packet */
    uint8_t *data;
    size_t bytes, capacity;
};

struct mark {
    struct lap_chunk_header header;
    struct lap_totals totals;
};

struct rewrite {
    struct lap_source source;
    struct lap_output output;
    struct gathered blobs, *streams; /* [stream], of those that there are */
    size_t stream_count;
    struct lap_map numbers; /* struct gathered by stream + 1 */
    size_t bytes;           /* in all */
    struct mark marks[GATHERED_MARKS];
    size_t mark_count;
    struct lap_totals totals; /* of the last mark */
    struct lap_name_table dictionary;
    uint8_t *raw;
};

/* ---- putting together ---- */

static enum lap_status append(struct gathered *to, const void *data, size_t bytes)
{
    if (!lap_array_grow(&to->data, 1, &to->capacity, to->bytes + bytes))
        return lap_no_memory(NULL);
    if (bytes)
        memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
    return LAP_OK;
}

static enum lap_status write_gathered(struct rewrite *w, struct gathered *from)
{
    struct iovec part = {from->data, from->bytes};
    enum lap_status status = LAP_OK;
    if (from->header.count)
        status = lap_output_chunk(&w->output, &from->header, &part, 1);
    w->bytes -= from->bytes;
    from->bytes = 0;
    from->header.count = 0;
    return status;
}

/* A blob comes before the packets that name it, and these before the mark of their frame. */
static enum lap_status write_all(struct rewrite *w)
{
    enum lap_status status = write_gathered(w, &w->blobs);
    for (size_t i = 0; i < w->stream_count && status == LAP_OK; i++)
        status = write_gathered(w, &w->streams[i]);
    for (size_t i = 0; i < w->mark_count && status == LAP_OK; i++)
        status = lap_output_frame(&w->output, &w->marks[i].header, &w->marks[i].totals);
    w->mark_count = 0;
    return status;
}

static enum lap_status add_blobs(struct rewrite *w, const struct lap_chunk_ref *chunk)
{
    const struct lap_chunk_header *header = &chunk->header;
    struct gathered *blobs = &w->blobs;
    /* Parts of a large one have a chunk each; for a reader's sake every blob that is not small has one, too. */
    bool alone = header->raw_bytes > CHUNK_BYTES / 4 || header->first == header->last;
    enum lap_status status = LAP_OK;
    if (header->count > header->raw_bytes / LAP_BLOB_ENTRY_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": no room for the blobs that it shall have",
                        chunk->offset);
    if (header->count == 1 && header->raw_bytes >= LAP_BLOB_ENTRY_BYTES && header->raw_bytes <= CHUNK_BYTES / 4) {
        struct lap_blob_entry entry;
        status = lap_blob_entry_load(w->raw, header->raw_bytes, 0, &entry);
        alone = status == LAP_OK && entry.part_bytes != entry.total_bytes;
    }
    if (status == LAP_OK &&
        (alone || (blobs->header.count && (blobs->header.last + 1 != header->first ||
                                           blobs->bytes + LAP_BLOB_ALIGN + header->raw_bytes > CHUNK_BYTES))))
        status = write_gathered(w, blobs);
    if (status != LAP_OK)
        return status;
    if (!blobs->header.count) {
        blobs->header = *header;
    } else {
        static const uint8_t padding[LAP_BLOB_ALIGN];
        size_t before = blobs->bytes;
        status = append(blobs, padding, -blobs->bytes % LAP_BLOB_ALIGN);
        w->bytes += blobs->bytes - before;
        blobs->header.count += header->count;
        blobs->header.last = header->last;
    }
    if (status == LAP_OK)
        status = append(blobs, w->raw, header->raw_bytes);
    w->bytes += header->raw_bytes;
    return status == LAP_OK && alone ? write_gathered(w, blobs) : status;
}

/* The begin of a chunk of packets, and the base from which the next chunk of its stream counts. */
struct packets {
    uint64_t thread_id, last_epoch;
    size_t first_at;   /* of the first packet, in the payload */
    size_t steps_at;   /* of its ticket and epoch steps, both 0 */
    size_t steps_stop; /* behind them */
};

static bool is_command(const struct lap_name_table *dictionary, uint64_t number)
{
    return number < dictionary->lists[LAP_DICTIONARY_COMMANDS].count &&
           (number || dictionary->lists[LAP_DICTIONARY_COMMANDS].names[0][0]);
}

/* False for a chunk that a reader would not accept. */
static bool look_at_packets(const struct rewrite *w, const struct lap_chunk_ref *chunk, struct packets *out)
{
    const struct lap_chunk_header *header = &chunk->header;
    uint64_t ticket = header->first;
    struct lap_dec dec;
    *out = (struct packets){.last_epoch = header->epoch};
    lap_dec_init(&dec, w->raw, header->raw_bytes, NULL, NULL);
    out->thread_id = lap_get_u64(&dec);
    out->first_at = (size_t)(dec.p - dec.base);
    for (uint32_t i = 0; i < header->count; i++) {
        uint32_t bytes = lap_get_fixed32(&dec);
        uint64_t command = lap_get_u64(&dec);
        if (i == 0)
            out->steps_at = (size_t)(dec.p - dec.base);
        uint64_t ticket_step = lap_get_u64(&dec), epoch_step = lap_get_u64(&dec);
        if (i == 0)
            out->steps_stop = (size_t)(dec.p - dec.base);
        uint64_t flags = lap_get_u64(&dec);
        if (dec.status != LAP_OK || bytes > (size_t)(dec.end - dec.p) || !is_command(&w->dictionary, command) ||
            (ticket_step == 0) != (i == 0) || ticket_step > header->last - ticket || (i == 0 && epoch_step) ||
            flags & ~(uint64_t)LAP_PACKET_ALL_FLAGS ||
            __builtin_add_overflow(out->last_epoch, epoch_step, &out->last_epoch))
            return false;
        ticket += ticket_step;
        dec.p += bytes;
    }
    return header->count && ticket == header->last && dec.p == dec.end;
}

static struct gathered *stream_of(struct rewrite *w, uint32_t number)
{
    return lap_map_get(&w->numbers, (uint64_t)number + 1);
}

/* The first packet of a chunk counts from its chunk's header, and from now on from the packet before it. */
static enum lap_status append_packets(struct gathered *stream, const struct rewrite *w,
                                      const struct lap_chunk_ref *chunk, const struct packets *packets)
{
    uint8_t steps[2 * LAP_WIRE_MAX_VARINT];
    size_t bytes = lap_store_varint(steps, chunk->header.first - stream->header.last);
    bytes += lap_store_varint(steps + bytes, chunk->header.epoch - stream->last_epoch);
    enum lap_status status = append(stream, w->raw + packets->first_at, packets->steps_at - packets->first_at);
    if (status == LAP_OK)
        status = append(stream, steps, bytes);
    if (status == LAP_OK)
        status = append(stream, w->raw + packets->steps_stop, chunk->header.raw_bytes - packets->steps_stop);
    stream->header.count += chunk->header.count;
    stream->header.last = chunk->header.last;
    return status;
}

static bool fits(const struct gathered *stream, const struct lap_chunk_header *header, const struct packets *packets)
{
    return stream->thread_id == packets->thread_id && header->first > stream->header.last &&
           header->epoch >= stream->last_epoch && stream->bytes + header->raw_bytes <= CHUNK_BYTES &&
           stream->header.count <= UINT32_MAX - header->count;
}

/* A damaged chunk is not joined with others: only a reader that reaches it reports it. */
static enum lap_status add_packets(struct rewrite *w, const struct lap_chunk_ref *chunk)
{
    const struct lap_chunk_header *header = &chunk->header;
    struct gathered *stream = stream_of(w, header->stream);
    struct packets packets;
    bool sound = look_at_packets(w, chunk, &packets);
    size_t before = stream->bytes;
    enum lap_status status = LAP_OK;
    if (stream->header.count && !(sound && fits(stream, header, &packets))) {
        status = write_gathered(w, &w->blobs);
        if (status == LAP_OK)
            status = write_gathered(w, stream);
        before = 0;
    }
    if (status != LAP_OK)
        return status;
    if (stream->header.count) {
        status = append_packets(stream, w, chunk, &packets);
    } else {
        stream->header = *header;
        stream->thread_id = packets.thread_id;
        status = append(stream, w->raw, header->raw_bytes);
    }
    stream->last_epoch = packets.last_epoch;
    w->bytes += stream->bytes - before;
    if (status == LAP_OK && !sound)
        status = write_gathered(w, &w->blobs);
    return status == LAP_OK && !sound ? write_gathered(w, stream) : status;
}

static enum lap_status add_mark(struct rewrite *w, const struct lap_chunk_ref *chunk)
{
    struct mark *mark = &w->marks[w->mark_count];
    enum lap_status status = lap_mark_load(w->raw, chunk->header.raw_bytes, &mark->totals);
    if (status != LAP_OK)
        return lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
    mark->header = chunk->header;
    w->totals = mark->totals;
    return ++w->mark_count == GATHERED_MARKS ? write_all(w) : LAP_OK;
}

/* A damaged mark: the index has its contents, but for the counters, of which only those of the last mark are needed. */
static enum lap_status add_mark_anew(struct rewrite *w, const struct lap_chunk_ref *chunk)
{
    w->marks[w->mark_count++] = (struct mark){.header = chunk->header, .totals = w->totals};
    return w->mark_count == GATHERED_MARKS ? write_all(w) : LAP_OK;
}

static enum lap_status add_chunk(struct rewrite *w, const struct lap_chunk_ref *chunk)
{
    struct lap_chunk_header header = chunk->header;
    bool is_dictionary = header.kind == LAP_CHUNK_DICTIONARY;
    if (is_dictionary && chunk != w->source.chunks) /* its copy */
        return LAP_OK;
    enum lap_status status =
        is_dictionary ? lap_source_load_dictionary(&w->source, w->raw) : lap_source_load(&w->source, chunk, w->raw);
    struct iovec part = {w->raw, header.raw_bytes};
    if (status == LAP_ERROR_FORMAT && header.kind == LAP_CHUNK_FRAME) {
        lap_source_repair_mark(&w->source, chunk, header.frame);
        return add_mark_anew(w, chunk);
    }
    if (status == LAP_ERROR_FORMAT && header.kind == LAP_CHUNK_INFO) {
        lap_source_end_at(&w->source, (size_t)(chunk - w->source.chunks));
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    switch (header.kind) {
    case LAP_CHUNK_DICTIONARY: /* it comes first */
        lap_dictionary_finish(&w->dictionary);
        status = lap_dictionary_decode(w->raw, header.raw_bytes, &w->dictionary);
        if (status == LAP_OK)
            status = lap_output_dictionary(&w->output, w->raw, header.raw_bytes);
        break;
    case LAP_CHUNK_BLOBS:
        status = add_blobs(w, chunk);
        break;
    case LAP_CHUNK_PACKETS:
        status = add_packets(w, chunk);
        break;
    case LAP_CHUNK_FRAME:
        status = add_mark(w, chunk);
        break;
    default:
        status = lap_output_chunk(&w->output, &header, &part, 1);
        break;
    }
    return status == LAP_OK && w->bytes >= GATHERED_BYTES ? write_all(w) : status;
}

/* ---- the whole ---- */

static enum lap_status make_streams(struct rewrite *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->source.chunk_count; i++)
        count += w->source.chunks[i].header.kind == LAP_CHUNK_PACKETS;
    /* No more streams than chunks; each has memory only once something is in it. */
    w->streams = calloc(count + 1, sizeof(*w->streams));
    if (!w->streams)
        return lap_no_memory(NULL);
    for (size_t i = 0; i < w->source.chunk_count; i++) {
        const struct lap_chunk_header *header = &w->source.chunks[i].header;
        if (header->kind != LAP_CHUNK_PACKETS || stream_of(w, header->stream))
            continue;
        if (lap_map_put(&w->numbers, (uint64_t)header->stream + 1, &w->streams[w->stream_count++], NULL) < 0)
            return lap_no_memory(NULL);
    }
    return LAP_OK;
}

static enum lap_status run(struct rewrite *w, const struct lap_rewrite_options *options)
{
    enum lap_status status = make_streams(w);
    uint64_t done = 0, all = 0;
    for (size_t i = 0; i < w->source.chunk_count; i++)
        all += w->source.chunks[i].header.raw_bytes;
    for (size_t i = 0; i < w->source.chunk_count && status == LAP_OK; i++) {
        status = add_chunk(w, &w->source.chunks[i]);
        if (status == LAP_ERROR_FORMAT)
            status = lap_fail_context(status, "frame %" PRIu64, w->source.chunks[i].header.frame + 1);
        done += w->source.chunks[i].header.raw_bytes;
        if (options->progress)
            options->progress(options->user, done, all);
    }
    if (status == LAP_OK)
        status = write_all(w);
    if (status != LAP_OK)
        return status;
    if (w->source.repaired[0] && options->repaired)
        options->repaired(options->user, w->source.repaired);
    w->totals.counters[LAP_COUNTER_CALLS] += w->source.recovered_calls;
    w->totals.counters[LAP_COUNTER_WHOLE] = w->source.whole_ticket;
    return w->source.has_end ? lap_output_finish(&w->output, &w->source.end.totals, w->source.end.reason)
                             : lap_output_finish(&w->output, &w->totals, w->source.damage);
}

enum lap_status lap_rewrite_into(const char *from, int fd, const char *name, const struct lap_rewrite_options *options)
{
    struct rewrite *w = calloc(1, sizeof(*w));
    struct lap_output_options output_options = {.packer = options->packer};
    enum lap_status status;
    if (!w) {
        close(fd);
        return lap_no_memory(NULL);
    }
    lap_map_init(&w->numbers);
    status = lap_source_open(&w->source, from);
    if (status != LAP_OK)
        goto out;
    w->raw = malloc(LAP_CHUNK_MAX_RAW);
    if (w->raw) {
        status = lap_output_begin(&w->output, fd, name, &output_options);
        fd = -1;
    } else {
        status = lap_no_memory(NULL);
    }
    if (status == LAP_OK) {
        status = run(w, options);
        lap_output_release(&w->output);
    }
    lap_source_close(&w->source);
    for (size_t i = 0; i < w->stream_count; i++)
        free(w->streams[i].data);
    free(w->blobs.data);
    free(w->streams);
    free(w->raw);
    lap_dictionary_finish(&w->dictionary);
out:
    if (fd >= 0)
        close(fd);
    lap_map_finish(&w->numbers);
    free(w);
    return status;
}
