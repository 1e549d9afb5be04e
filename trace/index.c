/* SPDX-License-Identifier: MIT */
/*
 * How a reader finds the chunks of a file: by the index at its end (a copy of every chunk's header), or, where that is
 * missing or damaged, by one pass over the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/source.h"

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
        enum lap_status status = lap_chunk_header_load(raw + (size_t)i * LAP_CHUNK_HEADER_BYTES, &header);
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

static enum lap_status load_index(struct lap_source *source)
{
    if (source->file_bytes < LAP_FILE_HEADER_BYTES + TAIL_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "no end chunk");
    uint64_t end_offset = source->file_bytes - TAIL_BYTES;
    struct lap_end end;
    enum lap_status status = load_end(source, end_offset, &end);
    if (status != LAP_OK)
        return status;
    if (end.index_offset < LAP_FILE_HEADER_BYTES || end.index_offset > end_offset)
        return lap_fail(LAP_ERROR_FORMAT, "the index is not where the end chunk says");

    uint64_t at = end.index_offset, described = LAP_FILE_HEADER_BYTES;
    uint8_t *raw = NULL;
    for (uint32_t i = 0; status == LAP_OK && i < end.index_chunks; i++) {
        struct lap_chunk_header header;
        const uint8_t *stored;
        status = lap_source_fetch(source, at, &header, &stored);
        if (status == LAP_OK &&
            (header.kind != LAP_CHUNK_INDEX || header.raw_bytes != (uint64_t)header.count * LAP_CHUNK_HEADER_BYTES))
            status = lap_fail(LAP_ERROR_FORMAT, "no index chunk");
        if (status != LAP_OK)
            break;
        free(raw);
        raw = malloc((size_t)header.raw_bytes + 1);
        status = raw ? lap_chunk_unpack(&header, stored, raw) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (status == LAP_OK)
            status = add_records(source, raw, header.count, end.index_offset, &described);
        at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    }
    free(raw);
    if (status == LAP_OK && (at != end_offset || described != end.index_offset))
        status = lap_fail(LAP_ERROR_FORMAT, "the index does not describe the whole file");
    if (status == LAP_OK) {
        source->end = end;
        source->has_end = true;
    }
    return status;
}

bool lap_source_use_index(struct lap_source *source)
{
    source->indexed = load_index(source) == LAP_OK;
    if (!source->indexed)
        source->chunk_count = 0;
    return source->indexed;
}

enum lap_status lap_source_scan(struct lap_source *source)
{
    enum lap_status status = LAP_OK;
    uint64_t offset = LAP_FILE_HEADER_BYTES;
    source->chunk_count = 0;
    /* The end chunk at the end of the file may be good where the index in front of it is not. */
    bool has_tail = source->file_bytes >= LAP_FILE_HEADER_BYTES + TAIL_BYTES &&
                    load_end(source, source->file_bytes - TAIL_BYTES, &source->end) == LAP_OK;
    while (offset < source->file_bytes) {
        if (has_tail && offset == source->end.index_offset) {
            source->has_end = true;
            return LAP_OK;
        }
        struct lap_chunk_header header;
        const uint8_t *stored;
        status = lap_source_fetch(source, offset, &header, &stored);
        if (status == LAP_OK)
            status = lap_chunk_check(&header, stored);
        if (status == LAP_OK && header.kind == LAP_CHUNK_END) {
            status = load_end(source, offset, &source->end);
            source->has_end = status == LAP_OK;
            if (source->has_end)
                return LAP_OK;
        }
        if (status == LAP_OK && header.kind != LAP_CHUNK_INDEX)
            status = lap_source_add(source, offset, &header);
        if (status == LAP_ERROR_FORMAT) {
            (void)snprintf(source->damage, sizeof(source->damage),
                           "the file is damaged or cut at offset %" PRIu64 ": %s", offset, lap_error_message());
            return LAP_OK;
        }
        if (status != LAP_OK)
            return status;
        offset += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
    }
    (void)snprintf(source->damage, sizeof(source->damage),
                   "the file has no end: recording was cut off at offset %" PRIu64, offset);
    return LAP_OK;
}
