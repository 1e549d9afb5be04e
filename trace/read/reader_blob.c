/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read/reader_internal.h"

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
    reader->summary.blobs = reader->file_blobs = last;
    return LAP_OK;
}

static enum lap_status with_offset(enum lap_status status, const struct lap_chunk_ref *chunk)
{
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
}

enum lap_status lap_reader_load(struct lap_reader *reader, const struct lap_chunk_ref *chunk,
                                const struct lap_parts *parts, struct lap_loaded *out)
{
    if (reader->ahead && lap_read_ahead_take(reader->ahead, (size_t)(chunk - reader->source.chunks), out))
        return LAP_OK;
    return lap_load(&reader->source, &reader->buffers, chunk, parts, out);
}

/* Notes where each blob of a chunk lies. */
static enum lap_status find_blobs(const struct lap_chunk_ref *chunk)
{
    struct lap_cached *cached = chunk->cached;
    size_t offset = 0;
    for (uint32_t i = 0; i < chunk->header.count; i++) {
        struct lap_blob_entry entry;
        enum lap_status status = lap_blob_entry_load(cached->data, chunk->header.raw_bytes, offset, &entry);
        if (status == LAP_OK && entry.part_bytes != entry.total_bytes)
            status = lap_fail(LAP_ERROR_FORMAT, "a part of a blob among whole ones");
        if (status != LAP_OK)
            return with_offset(status, chunk);
        cached->blobs[i] = (struct lap_cached_blob){
            offset + LAP_BLOB_ENTRY_BYTES, entry.part_bytes, entry.hash, entry.kind, false, false};
        offset += lap_blob_entry_stride(entry.part_bytes);
    }
    return LAP_OK;
}

/* `i`: of the chunk, in blob_chunks. */
static enum lap_status load_chunk(struct lap_reader *reader, size_t i, struct lap_chunk_ref *chunk)
{
    const struct lap_chunk_header *header = &chunk->header;
    const struct lap_parts all = {reader->blob_chunks, i}, *parts = chunk->parts > 1 ? &all : NULL;
    struct lap_loaded loaded;
    /* Each blob has an entry, which also bounds the table of blobs. */
    if (!parts && header->count > header->raw_bytes / LAP_BLOB_ENTRY_BYTES)
        return with_offset(lap_fail(LAP_ERROR_FORMAT, "more blobs than it has room for"), chunk);
    enum lap_status status =
        lap_cache_reserve(&reader->cache, lap_load_bytes(&reader->source, chunk, parts), header->count, true);
    if (status == LAP_OK)
        status = lap_reader_load(reader, chunk, parts, &loaded);
    if (status == LAP_OK)
        status = lap_cache_add(&reader->cache, &chunk->cached, loaded.buffer, loaded.bytes, header->count, true);
    if (status != LAP_OK)
        return status;
    if (parts)
        chunk->cached->blobs[0] =
            (struct lap_cached_blob){0, loaded.bytes, loaded.entry.hash, loaded.entry.kind, loaded.checked, false};
    else
        status = find_blobs(chunk);
    if (status != LAP_OK)
        lap_cache_drop(&reader->cache, chunk->cached);
    return status;
}

enum lap_status lap_reader_blob(struct lap_reader *reader, enum lap_blob_kind kind, uint64_t id,
                                const uint8_t **out_data, size_t *out_bytes)
{
    *out_data = NULL;
    *out_bytes = 0;
    reader->run.last_ticket -= reader->run.left;
    reader->run.left = 0; /* the blob is needed until the next packet, and no longer */
    if (id == 0 || id > reader->summary.blobs)
        return lap_fail(LAP_ERROR_FORMAT, "there is no blob %" PRIu64, id);
    if (reader->maker)
        return reader->maker->blob(reader->making, kind, id, out_data, out_bytes);
    if (id > reader->file_blobs)
        return lap_edits_find_blob(reader->edits, kind, id - reader->file_blobs - 1, out_data, out_bytes);

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
        enum lap_status status = load_chunk(reader, low, chunk);
        if (status != LAP_OK)
            return lap_fail_context(status, "blob %" PRIu64, id);
    }

    struct lap_cached_blob *blob = &chunk->cached->blobs[id - chunk->header.first];
    const uint8_t *data = chunk->cached->data + blob->offset;
    if (blob->kind != kind)
        return lap_fail(LAP_ERROR_FORMAT, "blob %" PRIu64 " is of another kind than its use says", id);
    if (!blob->checked && !reader->trusts_blobs) {
        struct lap_blob_hash hash = lap_blob_hash_of(data, blob->bytes);
        if (hash.low != blob->hash.low || hash.high != blob->hash.high)
            return lap_fail(LAP_ERROR_FORMAT, "blob %" PRIu64 " (chunk at offset %" PRIu64 ") does not have its hash",
                            id, chunk->offset);
        blob->checked = true;
    }
    if (blob->used)
        lap_cache_keep(&reader->cache, chunk->cached);
    blob->used = true;
    *out_data = data;
    *out_bytes = blob->bytes;
    return LAP_OK;
}
