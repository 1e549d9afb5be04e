/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/reader_internal.h"

#define PARTS_SLACK 64u /* more than the padding behind a part */

static struct lap_chunk_ref *blob_chunk(struct lap_reader *reader, size_t i)
{
    return &reader->source.chunks[reader->blob_chunks[i]];
}

enum lap_status lap_reader_arrange_blobs(struct lap_reader *reader)
{
    struct lap_source *source = &reader->source;
    size_t count = 0;
    for (size_t i = 0; i < source->chunk_count; i++)
        count += source->chunks[i].header.kind == LAP_CHUNK_BLOBS;
    reader->blob_chunks = calloc(count + 1, sizeof(*reader->blob_chunks));
    if (!reader->blob_chunks)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");

    uint64_t last = 0;
    struct lap_chunk_ref *whole = NULL; /* the first chunk of the last blob, if that has chunks of its own */
    for (size_t i = 0; i < source->chunk_count; i++) {
        struct lap_chunk_ref *chunk = &source->chunks[i];
        const struct lap_chunk_header *header = &chunk->header;
        if (header->kind != LAP_CHUNK_BLOBS)
            continue;
        bool follows = header->count && header->first == last + 1 && header->last - header->first == header->count - 1;
        bool continues = whole && header->count == 1 && header->first == last && header->last == last;
        if (follows) {
            chunk->parts = 1;
            whole = header->count == 1 ? chunk : NULL;
            last = header->last;
        } else if (continues) {
            whole->parts++;
        } else {
            return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": blobs out of order", chunk->offset);
        }
        reader->blob_chunks[reader->blob_chunk_count++] = i;
    }
    reader->summary.blobs = last;
    return LAP_OK;
}

static enum lap_status with_offset(enum lap_status status, const struct lap_chunk_ref *chunk)
{
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
}

/* A chunk of whole blobs: unpacks it and notes where each lies. */
static enum lap_status load_chunk(struct lap_reader *reader, struct lap_chunk_ref *chunk)
{
    const struct lap_chunk_header *header = &chunk->header;
    /* Each blob has an entry, which also bounds the table of blobs. */
    if (header->count > header->raw_bytes / LAP_BLOB_ENTRY_BYTES)
        return with_offset(lap_fail(LAP_ERROR_FORMAT, "more blobs than it has room for"), chunk);
    enum lap_status status = lap_cache_add(&reader->cache, &chunk->cached, header->raw_bytes, header->count, true);
    if (status != LAP_OK)
        return status;
    struct lap_cached *cached = chunk->cached;
    status = lap_source_load(&reader->source, chunk, cached->data);
    if (status != LAP_OK)
        goto fail;
    size_t offset = 0;
    for (uint32_t i = 0; i < header->count; i++) {
        struct lap_blob_entry entry;
        status = lap_blob_entry_load(cached->data, header->raw_bytes, offset, &entry);
        if (status == LAP_OK && entry.part_bytes != entry.total_bytes)
            status = lap_fail(LAP_ERROR_FORMAT, "a part of a blob among whole ones");
        if (status != LAP_OK) {
            status = with_offset(status, chunk);
            goto fail;
        }
        cached->blobs[i] =
            (struct lap_cached_blob){offset + LAP_BLOB_ENTRY_BYTES, entry.part_bytes, entry.hash, entry.kind, false};
        offset += lap_blob_entry_stride(entry.part_bytes);
    }
    return LAP_OK;
fail:
    lap_cache_drop(&reader->cache, cached);
    return status;
}

/* Unpacks one part to `raw` and checks that it is the one that belongs at `done` of the blob that *first began. */
static enum lap_status load_part(struct lap_reader *reader, const struct lap_chunk_ref *chunk, uint8_t *raw,
                                 uint64_t done, const struct lap_blob_entry *first, struct lap_blob_entry *out)
{
    enum lap_status status = lap_source_load(&reader->source, chunk, raw);
    if (status != LAP_OK)
        return status;
    status = lap_blob_entry_load(raw, chunk->header.raw_bytes, 0, out);
    if (status == LAP_OK && out->part_offset != done)
        status = lap_fail(LAP_ERROR_FORMAT, "a part of a blob is missing");
    if (status == LAP_OK && first &&
        (out->kind != first->kind || out->total_bytes != first->total_bytes || out->hash.low != first->hash.low ||
         out->hash.high != first->hash.high))
        status = lap_fail(LAP_ERROR_FORMAT, "parts of different blobs");
    return with_offset(status, chunk);
}

/* The first part of a blob in several chunks: makes room for all of it. */
static enum lap_status begin_blob(struct lap_reader *reader, size_t i, struct lap_chunk_ref *chunk,
                                  struct lap_blob_entry *out_first)
{
    uint64_t room = 0;
    for (uint32_t part = 0; part < chunk->parts; part++)
        room += blob_chunk(reader, i + part)->header.raw_bytes;
    uint8_t *raw = malloc((size_t)chunk->header.raw_bytes + 1);
    if (!raw)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    enum lap_status status = load_part(reader, chunk, raw, 0, NULL, out_first);
    if (status == LAP_OK && (out_first->total_bytes > room || out_first->total_bytes > PTRDIFF_MAX - LAP_CHUNK_MAX_RAW))
        status = with_offset(lap_fail(LAP_ERROR_FORMAT, "a blob is larger than its chunks"), chunk);
    /* What follows the last part in its chunk, a few zeros if the trace is good, has room as well. */
    if (status == LAP_OK)
        status = lap_cache_add(&reader->cache, &chunk->cached, (size_t)out_first->total_bytes + PARTS_SLACK, 1, true);
    if (status == LAP_OK && out_first->part_bytes)
        memcpy(chunk->cached->data, raw + LAP_BLOB_ENTRY_BYTES, out_first->part_bytes);
    free(raw);
    return status;
}

/* A later part, which is unpacked straight to its place where it can be: its entry comes to lie on the end of what
 * there is already, which is put back. */
static enum lap_status add_part(struct lap_reader *reader, const struct lap_chunk_ref *chunk, uint8_t *data,
                                uint64_t done, const struct lap_blob_entry *first, struct lap_blob_entry *out)
{
    const size_t head = LAP_BLOB_ENTRY_BYTES;
    bool fits = done >= head && chunk->header.raw_bytes <= first->total_bytes - done + head + PARTS_SLACK;
    uint8_t end[LAP_BLOB_ENTRY_BYTES], *raw = fits ? data + done - head : malloc((size_t)chunk->header.raw_bytes + 1);
    if (!raw)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    memcpy(end, raw, fits ? head : 0);
    enum lap_status status = load_part(reader, chunk, raw, done, first, out);
    if (fits) {
        memcpy(raw, end, head);
        return status;
    }
    if (status == LAP_OK && out->part_bytes)
        memcpy(data + done, raw + head, out->part_bytes);
    free(raw);
    return status;
}

/* A blob in several chunks: puts it together. `i`: of the first one, in blob_chunks. */
static enum lap_status load_parts(struct lap_reader *reader, size_t i, struct lap_chunk_ref *chunk)
{
    struct lap_blob_entry first, entry;
    enum lap_status status = begin_blob(reader, i, chunk, &first);
    if (status != LAP_OK)
        return status;
    uint64_t done = first.part_bytes;
    for (uint32_t part = 1; status == LAP_OK && part < chunk->parts; part++) {
        status = add_part(reader, blob_chunk(reader, i + part), chunk->cached->data, done, &first, &entry);
        if (status == LAP_OK)
            done += entry.part_bytes;
    }
    if (status == LAP_OK && done != first.total_bytes)
        status = with_offset(lap_fail(LAP_ERROR_FORMAT, "a blob without its last part"), chunk);
    chunk->cached->blobs[0] = (struct lap_cached_blob){0, (size_t)first.total_bytes, first.hash, first.kind, false};
    if (status != LAP_OK)
        lap_cache_drop(&reader->cache, chunk->cached);
    return status;
}

enum lap_status lap_reader_blob(struct lap_reader *reader, enum lap_blob_kind kind, uint64_t id,
                                const uint8_t **out_data, size_t *out_bytes)
{
    *out_data = NULL;
    *out_bytes = 0;
    if (id == 0 || id > reader->summary.blobs)
        return lap_fail(LAP_ERROR_FORMAT, "there is no blob %" PRIu64, id);

    /* The first chunk whose last number is not smaller; there is one, and it has the blob. */
    size_t low = 0, high = reader->blob_chunk_count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (blob_chunk(reader, middle)->header.last < id)
            low = middle + 1;
        else
            high = middle;
    }
    struct lap_chunk_ref *chunk = blob_chunk(reader, low);
    if (chunk->cached) {
        lap_cache_use(&reader->cache, chunk->cached);
    } else {
        enum lap_status status = chunk->parts > 1 ? load_parts(reader, low, chunk) : load_chunk(reader, chunk);
        if (status != LAP_OK)
            return lap_fail_context(status, "blob %" PRIu64, id);
    }

    struct lap_cached_blob *blob = &chunk->cached->blobs[id - chunk->header.first];
    const uint8_t *data = chunk->cached->data + blob->offset;
    if (blob->kind != kind)
        return lap_fail(LAP_ERROR_FORMAT, "blob %" PRIu64 " is of another kind than its use says", id);
    if (!blob->checked) {
        struct lap_blob_hash hash = lap_blob_hash_of(data, blob->bytes);
        if (hash.low != blob->hash.low || hash.high != blob->hash.high)
            return lap_fail(LAP_ERROR_FORMAT, "blob %" PRIu64 " (chunk at offset %" PRIu64 ") does not have its hash",
                            id, chunk->offset);
        blob->checked = true;
    } else {
        lap_cache_keep(&reader->cache, chunk->cached);
    }
    *out_data = data;
    *out_bytes = blob->bytes;
    return LAP_OK;
}
