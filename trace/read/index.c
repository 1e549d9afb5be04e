/* SPDX-License-Identifier: MIT */
/*
 * How a reader finds the chunks of a file: by its INDEX chunks (copies of every other chunk's header; the last one
 * stands at the end and each names the one before), or, where one is missing or damaged, by one pass over the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "trace/format/bytes.h"
#include "trace/read/chunk_order.h"
#include "trace/read/source.h"

#define TAIL_BYTES (LAP_CHUNK_HEADER_BYTES + LAP_END_BYTES)

/* The end chunk that begins at `offset`. */
static enum lap_status load_end(struct lap_source *source, uint64_t offset, struct lap_end *out)
{
    struct lap_chunk_header header;
    const uint8_t *stored;
    enum lap_status status = lap_source_fetch(source, offset, &header, &stored);
    if (status == LAP_OK &&
        (header.kind != LAP_CHUNK_END || header.codec != LAP_CODEC_NONE || header.raw_bytes != LAP_END_BYTES))
        status = lap_fail(LAP_ERROR_FORMAT, "no end chunk");
    if (status == LAP_OK)
        status = lap_chunk_check(&header, stored);
    if (status == LAP_OK)
        lap_end_load(stored, out);
    return status;
}

/* Adds the chunks that one INDEX chunk describes; *offset moves over them. */
static enum lap_status add_records(struct lap_source *source, const uint8_t *raw, uint32_t count, uint64_t index_offset,
                                   uint64_t *offset)
{
    for (uint32_t i = 0; i < count; i++) {
        struct lap_chunk_header header;
        enum lap_status status = lap_chunk_header_load(raw + (size_t)i * LAP_CHUNK_HEADER_BYTES, source->seed, &header);
        if (status != LAP_OK)
            return status;
        /* This also bounds the list by the size of the file. */
        if (header.stored_bytes + (uint64_t)LAP_CHUNK_HEADER_BYTES > index_offset - *offset ||
            header.kind == LAP_CHUNK_INDEX || header.kind == LAP_CHUNK_END)
            return lap_fail(LAP_ERROR_FORMAT, "the index contradicts the file");
        status = lap_source_add(source, *offset, &header);
        if (status != LAP_OK)
            return status;
        *offset += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    }
    return LAP_OK;
}

/* Where the INDEX chunks are, the last one first. The caller frees *out. */
static enum lap_status find_index_chunks(struct lap_source *source, const struct lap_end *end, uint64_t end_offset,
                                         uint64_t **out)
{
    uint64_t at = end->index_offset, behind = end_offset;
    size_t capacity = 0;
    for (uint32_t i = 0; i < end->index_chunks; i++) {
        uint8_t head[LAP_CHUNK_HEADER_BYTES];
        struct lap_chunk_header header;
        /* Every step leads backwards. */
        if (at < LAP_FILE_HEADER_BYTES || at >= behind || behind - at < sizeof(head))
            return lap_fail(LAP_ERROR_FORMAT, "an index chunk is not where the file says");
        enum lap_status status = lap_source_read(source, at, head, sizeof(head));
        if (status == LAP_OK)
            status = lap_chunk_header_load(head, source->seed, &header);
        if (status != LAP_OK)
            return status;
        uint64_t room = behind - at - sizeof(head);
        if (header.kind != LAP_CHUNK_INDEX || header.count == 0 || header.stored_bytes > room ||
            (i == 0 && header.stored_bytes != room) ||
            header.raw_bytes != (uint64_t)header.count * LAP_CHUNK_HEADER_BYTES)
            return lap_fail(LAP_ERROR_FORMAT, "no index chunk");
        if (!lap_array_grow(out, sizeof(**out), &capacity, (size_t)i + 1))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        (*out)[i] = at;
        behind = at;
        at = header.epoch;
    }
    return at == 0 ? LAP_OK : lap_fail(LAP_ERROR_FORMAT, "there is more index than the end chunk says");
}

static enum lap_status load_index_chunks(struct lap_source *source, const uint64_t *places, uint32_t count,
                                         uint64_t end_offset)
{
    uint64_t described = LAP_FILE_HEADER_BYTES, records = 0;
    enum lap_status status = LAP_OK;
    for (uint32_t i = count; i-- > 0 && status == LAP_OK;) {
        struct lap_chunk_header header;
        const uint8_t *stored;
        status = lap_source_fetch(source, places[i], &header, &stored);
        if (status != LAP_OK)
            return status;
        /* The header is read a second time here: another process may have changed it meanwhile. */
        if (header.first != records || header.last - header.first != header.count - UINT64_C(1) ||
            header.raw_bytes != (uint64_t)header.count * LAP_CHUNK_HEADER_BYTES)
            return lap_fail(LAP_ERROR_FORMAT, "index chunks are out of order");
        uint8_t *raw = malloc((size_t)header.raw_bytes + 1);
        status = raw ? lap_chunk_unpack(&header, stored, raw) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (status == LAP_OK)
            status = add_records(source, raw, header.count, places[i], &described);
        free(raw);
        if (status == LAP_OK && described != places[i])
            status = lap_fail(LAP_ERROR_FORMAT, "the index does not describe the whole file");
        described += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        records += header.count;
    }
    if (status == LAP_OK && described != end_offset)
        status = lap_fail(LAP_ERROR_FORMAT, "the index does not describe the whole file");
    return status;
}

static enum lap_status load_index(struct lap_source *source)
{
    if (source->file_bytes < LAP_FILE_HEADER_BYTES + TAIL_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "no end chunk");
    uint64_t end_offset = source->file_bytes - TAIL_BYTES;
    struct lap_end end;
    enum lap_status status = load_end(source, end_offset, &end);
    if (status != LAP_OK)
        return status;
    if (end.index_chunks == 0)
        return lap_fail(LAP_ERROR_FORMAT, "no index");

    uint64_t *places = NULL;
    status = find_index_chunks(source, &end, end_offset, &places);
    if (status == LAP_OK)
        status = load_index_chunks(source, places, end.index_chunks, end_offset);
    free(places);
    if (status == LAP_OK) {
        source->end = end;
        source->has_end = true;
    }
    return status;
}

enum lap_status lap_source_use_index(struct lap_source *source)
{
    enum lap_status status = load_index(source);

    source->indexed = status == LAP_OK;
    if (!source->indexed)
        source->chunk_count = 0;
    return status == LAP_OK || status == LAP_ERROR_MEMORY ? status : LAP_END;
}

struct scan {
    uint64_t offset, index_at, index_end; /* of the next chunk; from where to where the last INDEX chunk is */
    struct lap_chunk_order sequence;
    struct lap_chunk_ref blobs; /* the last BLOBS chunk; its offset is 0 while there is none */
    struct lap_blob_entry part; /* the entry at its begin, valid with has_part */
    bool has_part;
    bool fresh; /* payloads are not checked */
};

static enum lap_status load_part(struct lap_source *source, const struct lap_chunk_ref *chunk,
                                 struct lap_blob_entry *out)
{
    uint8_t *raw = malloc((size_t)chunk->header.raw_bytes + 1);
    enum lap_status status = raw ? lap_source_load(source, chunk, raw) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_OK)
        status = lap_blob_entry_load(raw, chunk->header.raw_bytes, 0, out);
    free(raw);
    return status;
}

/* Headers do not distinguish the next part of a large blob from a blob that is there twice. */
static enum lap_status see_blobs(struct lap_source *source, struct scan *scan, const struct lap_chunk_ref *chunk)
{
    bool goes_on = scan->blobs.offset && chunk->header.first == scan->blobs.header.last;
    enum lap_status status = LAP_OK;
    struct lap_blob_entry part;
    if (goes_on && !scan->has_part)
        status = load_part(source, &scan->blobs, &scan->part);
    if (goes_on && status == LAP_OK)
        status = load_part(source, chunk, &part);
    if (status != LAP_OK)
        return status;
    if (goes_on && (part.part_offset != scan->part.part_offset + scan->part.part_bytes ||
                    part.total_bytes != scan->part.total_bytes || part.hash.low != scan->part.hash.low ||
                    part.hash.high != scan->part.hash.high))
        return lap_fail(LAP_ERROR_FORMAT, "no part of the blob that goes on here");
    scan->blobs = *chunk;
    scan->has_part = goes_on;
    if (goes_on)
        scan->part = part;
    return LAP_OK;
}

/* Takes the end chunk at the end of a scan. It has the place of the index. If the scan has not just passed the index
 * there, chunks were lost or moved, and the remaining ones may look whole. */
static enum lap_status take_end(struct lap_source *source, uint64_t offset, uint64_t index_at, uint64_t index_end)
{
    struct lap_end end;
    enum lap_status status = load_end(source, offset, &end);
    if (status != LAP_OK)
        return status;
    if (end.index_chunks ? end.index_offset != index_at || index_end != offset : end.index_offset != offset)
        return lap_fail(LAP_ERROR_FORMAT, "an end chunk that belongs elsewhere");
    source->end = end;
    source->has_end = true;
    return LAP_OK;
}

/* The content of an INDEX chunk is not needed for a scan, damaged or not. It is needed for an end that is still to be
 * written. */
static void see_index(struct lap_source *source, struct scan *scan, uint64_t offset,
                      const struct lap_chunk_header *header, const uint8_t *stored)
{
    struct lap_index_place *index = &source->index;
    index->broken = index->broken || lap_chunk_check(header, stored) != LAP_OK || header->epoch != index->last_at ||
                    header->first != index->records || header->count != source->chunk_count - index->records ||
                    header->count == 0 || header->last != header->first + header->count - 1;
    index->last_at = scan->index_at = offset;
    index->chunks++;
    index->records = source->chunk_count;
    scan->index_end = scan->offset;
}

/* One step of going through the file. LAP_END: an end chunk that is good. */
static enum lap_status scan_chunk(struct lap_source *source, struct scan *scan)
{
    struct lap_chunk_header header;
    const uint8_t *stored = NULL;
    uint64_t offset = scan->offset;
    enum lap_status status = scan->fresh ? lap_source_fetch_header(source, offset, &header) : LAP_OK;
    bool reads = !scan->fresh || header.kind == LAP_CHUNK_INDEX || header.kind == LAP_CHUNK_END;
    if (status == LAP_OK && reads)
        status = lap_source_fetch(source, offset, &header, &stored);
    if (status != LAP_OK)
        return status;
    scan->offset += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    if (header.kind == LAP_CHUNK_INDEX) {
        see_index(source, scan, offset, &header, stored);
        return LAP_OK;
    }
    if (reads)
        status = lap_chunk_check(&header, stored);
    if (status == LAP_OK && header.kind == LAP_CHUNK_END) {
        status = take_end(source, offset, scan->index_at, scan->index_end);
        return status == LAP_OK ? LAP_END : status;
    }
    if (status == LAP_OK)
        status = lap_chunk_order_add(&scan->sequence, &header);
    if (status == LAP_OK && header.kind == LAP_CHUNK_BLOBS && !scan->fresh)
        status = see_blobs(source, scan, &(struct lap_chunk_ref){.offset = offset, .header = header});
    return status == LAP_OK ? lap_source_add(source, offset, &header) : status;
}

/* Finds the header of the dictionary's copy where the dictionary's own header is damaged. The size is then unknown, but
 * both have the same. */
static bool find_copy(struct lap_source *source, struct lap_chunk_header *out)
{
    uint64_t first = LAP_FILE_HEADER_BYTES + 2 * LAP_CHUNK_HEADER_BYTES, room = source->file_bytes;
    size_t bytes = LAP_CHUNK_MAX_RAW + LAP_CHUNK_HEADER_BYTES;
    if (room < first)
        return false;
    if (bytes > room - LAP_FILE_HEADER_BYTES - LAP_CHUNK_HEADER_BYTES)
        bytes = (size_t)(room - LAP_FILE_HEADER_BYTES - LAP_CHUNK_HEADER_BYTES);
    uint8_t *window = malloc(bytes);
    bool found = false;
    if (!window || lap_source_read(source, LAP_FILE_HEADER_BYTES + LAP_CHUNK_HEADER_BYTES, window, bytes) != LAP_OK)
        bytes = 0;
    for (size_t at = 0; at + LAP_CHUNK_HEADER_BYTES <= bytes && !found; at++)
        found = lap_load_u32(window + at) == LAP_CHUNK_MAGIC &&
                lap_chunk_header_load(window + at, source->seed, out) == LAP_OK && out->kind == LAP_CHUNK_DICTIONARY &&
                out->stored_bytes == at;
    free(window);
    return found;
}

/* Accepts a damaged copy of the dictionary if the other one is whole. */
static bool pass_dictionary(struct lap_source *source, struct scan *scan, uint64_t offset)
{
    struct lap_chunk_header header;
    const uint8_t *stored;
    uint64_t other = offset;
    if (source->header.version < LAP_FORMAT_COPIES || source->chunk_count > 1)
        return false;
    if (source->chunk_count == 1) {
        header = source->chunks[0].header; /* it was checked */
    } else {
        if (lap_source_fetch(source, offset, &header, &stored) != LAP_OK && !find_copy(source, &header))
            return false;
        other += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        if (header.kind != LAP_CHUNK_DICTIONARY || lap_source_fetch(source, other, &header, &stored) != LAP_OK ||
            header.kind != LAP_CHUNK_DICTIONARY || lap_chunk_check(&header, stored) != LAP_OK)
            return false;
    }
    if (offset + LAP_CHUNK_HEADER_BYTES + header.stored_bytes > source->file_bytes ||
        (other != offset && other != offset + LAP_CHUNK_HEADER_BYTES + header.stored_bytes) ||
        lap_source_add(source, offset, &header) != LAP_OK)
        return false;
    scan->offset = offset + LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    scan->sequence.chunks = source->chunk_count;
    return true;
}

/* Whether the file just ends too early for a whole chunk. */
static bool is_cut(const struct lap_source *source, uint64_t offset)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header;
    if (source->file_bytes - offset < sizeof(head))
        return true;
    return lap_source_read(source, offset, head, sizeof(head)) == LAP_OK &&
           lap_chunk_header_load(head, source->seed, &header) == LAP_OK &&
           header.stored_bytes > source->file_bytes - offset - sizeof(head);
}

/* Whether the last INDEX chunk should be there, damaged or not. Any other chunk there was moved. */
static bool is_index_place(struct lap_source *source, uint64_t offset)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header;
    return offset == source->file_bytes - TAIL_BYTES || lap_source_read(source, offset, head, sizeof(head)) != LAP_OK ||
           lap_chunk_header_load(head, source->seed, &header) != LAP_OK || header.kind == LAP_CHUNK_INDEX;
}

static enum lap_status scan_all(struct lap_source *source, struct scan *scan)
{
    /* The end chunk at the end of the file may be good although the index in front of it is not. */
    bool has_tail = source->file_bytes >= LAP_FILE_HEADER_BYTES + TAIL_BYTES &&
                    load_end(source, source->file_bytes - TAIL_BYTES, &source->end) == LAP_OK;
    while (scan->offset < source->file_bytes) {
        uint64_t offset = scan->offset;
        if (has_tail && offset == source->end.index_offset && is_index_place(source, offset)) {
            source->has_end = true;
            return LAP_OK;
        }
        enum lap_status status = scan_chunk(source, scan);
        if (status == LAP_ERROR_FORMAT && pass_dictionary(source, scan, offset)) {
            source->good_bytes = scan->offset;
            continue;
        }
        source->good_bytes = status == LAP_OK ? scan->offset : offset;
        if (status == LAP_ERROR_FORMAT) {
            (void)snprintf(source->damage, sizeof(source->damage),
                           "the file is damaged or cut at offset %" PRIu64 ": %s", offset, lap_error_message());
            source->cut = is_cut(source, offset);
            source->has_rest = !source->cut;
            return LAP_OK;
        }
        if (status != LAP_OK)
            return status == LAP_END ? LAP_OK : status;
    }
    (void)snprintf(source->damage, sizeof(source->damage),
                   "the file has no end: recording was cut off at offset %" PRIu64, scan->offset);
    return LAP_OK;
}

enum lap_status lap_source_scan(struct lap_source *source, bool fresh)
{
    struct scan scan = {.offset = LAP_FILE_HEADER_BYTES, .fresh = fresh};
    source->chunk_count = 0;
    source->good_bytes = scan.offset;
    lap_chunk_order_init(&scan.sequence, source->header.version);
    enum lap_status status = scan_all(source, &scan);
    lap_chunk_order_finish(&scan.sequence);
    source->in_file_count = source->chunk_count;
    if (status == LAP_OK && source->has_end && source->end.index_chunks)
        (void)snprintf(source->repaired, sizeof(source->repaired),
                       "the index at offset %" PRIu64 " is damaged, the file was read without it",
                       source->end.index_offset);
    return status;
}
