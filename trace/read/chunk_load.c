/* SPDX-License-Identifier: MIT */
#include "trace/read/chunk_load.h"

#include <inttypes.h>
#include <string.h>

#define SLACK 64u /* more than the padding behind a part */

uint64_t lap_load_bytes(const struct lap_source *source, const struct lap_chunk_ref *chunk,
                        const struct lap_parts *parts)
{
    uint64_t bytes = chunk->header.raw_bytes;
    for (uint32_t part = 1; parts && part < chunk->parts; part++)
        bytes += source->chunks[parts->list[parts->first + part]].header.raw_bytes;
    return bytes;
}

static enum lap_status with_offset(enum lap_status status, const struct lap_chunk_ref *chunk)
{
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
}

static enum lap_status take_buffer(struct lap_buffers *buffers, size_t bytes, struct lap_buffer *out)
{
    *out = lap_buffers_take(buffers, bytes);
    return out->data ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory (%zu bytes)", bytes);
}

/* Unpacks one part to `raw` and checks that it is the one that belongs at `done` of the blob that *first began. */
static enum lap_status load_part(struct lap_source *source, const struct lap_chunk_ref *chunk, uint8_t *raw,
                                 uint64_t done, const struct lap_blob_entry *first, struct lap_blob_entry *out)
{
    enum lap_status status = lap_source_load(source, chunk, raw);
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

/* Loads the first part, which gives the size of the whole blob. */
static enum lap_status begin_blob(struct lap_source *source, struct lap_buffers *buffers,
                                  const struct lap_chunk_ref *chunk, uint64_t room, struct lap_loaded *out)
{
    struct lap_buffer raw;
    enum lap_status status = take_buffer(buffers, chunk->header.raw_bytes, &raw);
    if (status == LAP_OK)
        status = load_part(source, chunk, raw.data, 0, NULL, &out->entry);
    if (status == LAP_OK && out->entry.total_bytes > LAP_BLOB_MAX_BYTES)
        status = with_offset(lap_fail(LAP_ERROR_LIMIT, "a blob of more than %u MiB", LAP_BLOB_MAX_BYTES >> 20), chunk);
    if (status == LAP_OK && (out->entry.total_bytes > room || out->entry.total_bytes > PTRDIFF_MAX - SLACK))
        status = with_offset(lap_fail(LAP_ERROR_FORMAT, "a blob is larger than its chunks"), chunk);
    if (status == LAP_OK)
        status = take_buffer(buffers, (size_t)out->entry.total_bytes + SLACK, &out->buffer);
    if (status == LAP_OK && out->entry.part_bytes)
        memcpy(out->buffer.data, raw.data + LAP_BLOB_ENTRY_BYTES, out->entry.part_bytes);
    lap_buffers_put(buffers, raw);
    return status;
}

/* Loads a later part. It is unpacked straight to its place where possible: its entry overwrites the end of the bytes so
 * far, which are then restored. */
static enum lap_status add_part(struct lap_source *source, struct lap_buffers *buffers,
                                const struct lap_chunk_ref *chunk, uint8_t *data, uint64_t done,
                                const struct lap_blob_entry *first, struct lap_blob_entry *out)
{
    const size_t head = LAP_BLOB_ENTRY_BYTES;
    bool fits = done >= head && chunk->header.raw_bytes <= first->total_bytes - done + head + SLACK;
    uint8_t end[LAP_BLOB_ENTRY_BYTES];
    if (fits) {
        uint8_t *raw = data + done - head;
        memcpy(end, raw, head);
        enum lap_status status = load_part(source, chunk, raw, done, first, out);
        memcpy(raw, end, head);
        return status;
    }
    struct lap_buffer buffer;
    enum lap_status status = take_buffer(buffers, chunk->header.raw_bytes, &buffer);
    if (status == LAP_OK)
        status = load_part(source, chunk, buffer.data, done, first, out);
    if (status == LAP_OK && out->part_bytes)
        memcpy(data + done, buffer.data + head, out->part_bytes);
    lap_buffers_put(buffers, buffer);
    return status;
}

static enum lap_status load_parts(struct lap_source *source, struct lap_buffers *buffers,
                                  const struct lap_chunk_ref *chunk, const struct lap_parts *parts,
                                  struct lap_loaded *out)
{
    struct lap_blob_entry entry;
    enum lap_status status = begin_blob(source, buffers, chunk, lap_load_bytes(source, chunk, parts), out);
    if (status != LAP_OK)
        return status;
    uint64_t done = out->entry.part_bytes;
    for (uint32_t part = 1; status == LAP_OK && part < chunk->parts; part++) {
        status = add_part(source, buffers, &source->chunks[parts->list[parts->first + part]], out->buffer.data, done,
                          &out->entry, &entry);
        if (status == LAP_OK)
            done += entry.part_bytes;
    }
    if (status == LAP_OK && done != out->entry.total_bytes)
        status = with_offset(lap_fail(LAP_ERROR_FORMAT, "a blob without its last part"), chunk);
    out->bytes = (size_t)out->entry.total_bytes;
    return status;
}

enum lap_status lap_load(struct lap_source *source, struct lap_buffers *buffers, const struct lap_chunk_ref *chunk,
                         const struct lap_parts *parts, struct lap_loaded *out)
{
    memset(out, 0, sizeof(*out));
    enum lap_status status = LAP_OK;
    if (parts) {
        status = load_parts(source, buffers, chunk, parts, out);
    } else {
        out->bytes = chunk->header.raw_bytes;
        status = take_buffer(buffers, out->bytes, &out->buffer);
        if (status == LAP_OK)
            status = lap_source_load(source, chunk, out->buffer.data);
    }
    if (status != LAP_OK) {
        lap_buffers_put(buffers, out->buffer);
        memset(out, 0, sizeof(*out));
    }
    return status;
}
