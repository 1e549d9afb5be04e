/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "trace/crash/tail.h"
#include "trace/read/bytes_from.h"

/* How many bytes there are from `offset` to the end of the file that it is in. */
static uint64_t bytes_from(const struct lap_source *source, uint64_t offset)
{
    if (offset < source->file_bytes || (offset == source->file_bytes && !source->tail_bytes && !source->made_bytes))
        return source->file_bytes - offset;
    offset -= source->file_bytes;
    if (offset < source->tail_bytes)
        return source->tail_bytes - offset;
    offset -= source->tail_bytes;
    return offset <= source->made_bytes ? source->made_bytes - offset : 0;
}

enum lap_status lap_source_read(const struct lap_source *source, uint64_t offset, void *out, size_t bytes)
{
    uint8_t *at = out;
    if (bytes > bytes_from(source, offset))
        return lap_fail(LAP_ERROR_FORMAT, "the file ends too early");
    int fd = source->fd;
    if (offset >= source->file_bytes + source->tail_bytes && bytes) {
        memcpy(out, source->made + (offset - source->file_bytes - source->tail_bytes), bytes);
        return LAP_OK;
    }
    if (offset >= source->file_bytes && bytes) {
        fd = source->tail_fd;
        offset -= source->file_bytes;
    }
    if (source->from && offset < source->file_bytes)
        return source->from->read(source->from->user, offset, out, bytes);
    while (bytes) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lap_fail(LAP_ERROR_IO, "can't read the file: %s", strerror(errno));
        if (got == 0)
            return lap_fail(LAP_ERROR_FORMAT, "the file has become shorter");
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return LAP_OK;
}

/* The header of the chunk at `offset`, whose payload lies in the file. */
static enum lap_status fetch_header(const struct lap_source *source, uint64_t offset,
                                    uint8_t head[LAP_CHUNK_HEADER_BYTES], struct lap_chunk_header *out_header)
{
    enum lap_status status = lap_source_read(source, offset, head, LAP_CHUNK_HEADER_BYTES);
    if (status == LAP_OK)
        status = lap_chunk_header_load(head, source->seed, out_header);
    /* This check precedes any allocation for it. */
    if (status == LAP_OK && out_header->stored_bytes > bytes_from(source, offset) - LAP_CHUNK_HEADER_BYTES)
        status = lap_fail(LAP_ERROR_FORMAT, "the file ends in the middle of a chunk");
    return status;
}

enum lap_status lap_source_fetch_header(const struct lap_source *source, uint64_t offset,
                                        struct lap_chunk_header *out_header)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    return fetch_header(source, offset, head, out_header);
}

/* Reads the payload behind the header at `offset` into source->stored. */
static enum lap_status fetch_stored(struct lap_source *source, uint64_t offset, size_t bytes)
{
    if (bytes > source->stored_capacity || !source->stored) {
        uint8_t *stored = realloc(source->stored, bytes + 1);
        if (!stored)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        source->stored = stored;
        source->stored_capacity = bytes;
    }
    return lap_source_read(source, offset + LAP_CHUNK_HEADER_BYTES, source->stored, bytes);
}

enum lap_status lap_source_fetch(struct lap_source *source, uint64_t offset, struct lap_chunk_header *out_header,
                                 const uint8_t **out_stored)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    enum lap_status status = fetch_header(source, offset, head, out_header);
    if (status == LAP_OK)
        status = fetch_stored(source, offset, out_header->stored_bytes);
    *out_stored = source->stored;
    return status;
}

static bool is_header(const struct lap_source *source, const struct lap_chunk_header *header,
                      const uint8_t head[LAP_CHUNK_HEADER_BYTES])
{
    uint8_t bytes[LAP_CHUNK_HEADER_BYTES];
    lap_chunk_header_store(header, source->seed, bytes);
    return memcmp(bytes, head, sizeof(bytes)) == 0;
}

enum lap_status lap_source_load(struct lap_source *source, const struct lap_chunk_ref *chunk, uint8_t *raw)
{
    uint8_t head[LAP_CHUNK_HEADER_BYTES];
    struct lap_chunk_header header;
    enum lap_status status = fetch_header(source, chunk->offset, head, &header);
    if (status == LAP_OK && !is_header(source, &chunk->header, head))
        status = lap_fail(LAP_ERROR_FORMAT, "the chunk is not the one that the index describes");
    if (status == LAP_OK && header.codec == LAP_CODEC_NONE) {
        /* A payload that is not packed is read straight to its place. */
        status = lap_source_read(source, chunk->offset + sizeof(head), raw, header.stored_bytes);
        if (status == LAP_OK)
            status = lap_chunk_unpack(&header, raw, raw);
    } else if (status == LAP_OK) {
        status = fetch_stored(source, chunk->offset, header.stored_bytes);
        if (status == LAP_OK)
            status = lap_chunk_unpack(&header, source->stored, raw);
    }
    if (status != LAP_OK)
        return lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
    return LAP_OK;
}

static void repair_dictionary(struct lap_source *source, uint64_t offset)
{
    if (!source->repaired[0])
        (void)snprintf(source->repaired, sizeof(source->repaired),
                       "chunk at offset %" PRIu64 ": this copy of the dictionary is damaged, the other one is whole",
                       offset);
}

enum lap_status lap_source_load_dictionary(struct lap_source *source, uint8_t *raw)
{
    const struct lap_chunk_ref *chunks = source->chunks;
    bool has_copy = source->header.version >= LAP_FORMAT_COPIES && source->chunk_count > 1 &&
                    chunks[1].header.kind == LAP_CHUNK_DICTIONARY;
    if (source->chunk_count == 0 || chunks[0].header.kind != LAP_CHUNK_DICTIONARY)
        return lap_fail(LAP_ERROR_FORMAT, "the trace has no dictionary");
    /* The second one first: its state is needed, too. */
    bool copy_is_good = false;
    enum lap_status status = LAP_OK;
    if (has_copy && chunks[1].header.raw_bytes != chunks[0].header.raw_bytes)
        return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": a second dictionary", chunks[1].offset);
    if (has_copy) {
        status = lap_source_load(source, &chunks[1], raw);
        copy_is_good = status == LAP_OK;
        if (!copy_is_good && status != LAP_ERROR_FORMAT)
            return status;
    }
    if (has_copy && !copy_is_good)
        repair_dictionary(source, chunks[1].offset);
    status = lap_source_load(source, &chunks[0], raw);
    if (status != LAP_ERROR_FORMAT || !copy_is_good)
        return status;
    repair_dictionary(source, chunks[0].offset);
    return lap_source_load(source, &chunks[1], raw);
}

enum lap_status lap_source_add(struct lap_source *source, uint64_t offset, const struct lap_chunk_header *header)
{
    if (!lap_array_grow(&source->chunks, sizeof(*source->chunks), &source->chunk_capacity, source->chunk_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    struct lap_chunk_ref *chunk = &source->chunks[source->chunk_count++];
    memset(chunk, 0, sizeof(*chunk));
    chunk->offset = offset;
    chunk->header = *header;
    return LAP_OK;
}

enum lap_status lap_source_make(struct lap_source *source, struct lap_chunk_header *header, const uint8_t *payload,
                                size_t bytes)
{
    size_t need = LAP_CHUNK_HEADER_BYTES + bytes;
    if (bytes > LAP_CHUNK_MAX_RAW)
        return lap_fail(LAP_ERROR_FORMAT, "more than a chunk can have");
    if (!lap_array_grow(&source->made, 1, &source->made_capacity, source->made_bytes + need))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    uint64_t offset = source->file_bytes + source->tail_bytes + source->made_bytes;
    uint8_t *at = source->made + source->made_bytes;
    (void)lap_chunk_pack(header, NULL, payload, bytes, NULL);
    lap_chunk_header_store(header, source->seed, at);
    if (bytes)
        memcpy(at + LAP_CHUNK_HEADER_BYTES, payload, bytes);
    source->made_bytes += need;
    return lap_source_add(source, offset, header);
}

void lap_source_repair_mark(struct lap_source *source, const struct lap_chunk_ref *chunk, uint64_t frame)
{
    if (!source->repaired[0])
        (void)snprintf(source->repaired, sizeof(source->repaired),
                       "chunk at offset %" PRIu64 ": the mark of frame %" PRIu64
                       " is damaged, the index has the same facts",
                       chunk->offset, frame + 1);
}

void lap_source_end_at(struct lap_source *source, size_t chunk)
{
    (void)snprintf(source->damage, sizeof(source->damage), "the file is damaged or cut: %s", lap_error_message());
    source->chunk_count = chunk;
    source->has_end = false;
    source->has_rest = true;
}

/* Header and list of chunks. */
static enum lap_status find_chunks(struct lap_source *source, bool fresh)
{
    uint8_t head[LAP_FILE_HEADER_BYTES];
    enum lap_status status;

    if (source->file_bytes < sizeof(head))
        return lap_fail(LAP_ERROR_FORMAT, "this is no trace (it has only %" PRIu64 " bytes)", source->file_bytes);
    status = lap_source_read(source, 0, head, sizeof(head));
    if (status == LAP_OK)
        status = lap_file_header_load(head, &source->header);
    source->seed = lap_file_seed(&source->header);
    if (status == LAP_OK)
        status = lap_source_use_index(source);
    if (status == LAP_END)
        status = lap_source_scan(source, fresh);
    return status;
}

enum lap_status lap_source_open_from(struct lap_source *source, const struct lap_bytes_from *from)
{
    enum lap_status status;

    memset(source, 0, sizeof(*source));
    source->fd = source->tail_fd = -1;
    source->from = from;
    source->file_bytes = from->bytes;
    status = find_chunks(source, false);
    if (status != LAP_OK)
        lap_source_close(source);
    return status;
}

static enum lap_status open_source(struct lap_source *source, const char *path, bool fresh)
{
    memset(source, 0, sizeof(*source));
    source->tail_fd = -1;
    /* Not blocking: the path may be a pipe. */
    source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (source->fd < 0)
        return lap_fail(LAP_ERROR_IO, "can't open %s: %s", path, strerror(errno));

    struct stat stat;
    enum lap_status status;
    if (fstat(source->fd, &stat) != 0) {
        status = lap_fail(LAP_ERROR_IO, "can't look at it: %s", strerror(errno));
        goto fail;
    }
    if (!S_ISREG(stat.st_mode)) {
        status = lap_fail(LAP_ERROR_IO, "it is no regular file");
        goto fail;
    }
    source->file_bytes = (uint64_t)stat.st_size;
    status = find_chunks(source, fresh);
    if (status == LAP_OK && !source->has_end)
        status = lap_tail_recover(source, path);
    if (status == LAP_OK)
        return LAP_OK;
fail:
    lap_source_close(source);
    return lap_fail_context(status, "%s", path);
}

enum lap_status lap_source_open(struct lap_source *source, const char *path)
{
    return open_source(source, path, false);
}

enum lap_status lap_source_open_fresh(struct lap_source *source, const char *path)
{
    return open_source(source, path, true);
}

/* Reads give their offset, so one open file description is enough for all. */
static enum lap_status copy_fd(int from, int *out)
{
    *out = from < 0 ? -1 : fcntl(from, F_DUPFD_CLOEXEC, 3);
    return from < 0 || *out >= 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "can't open the trace again: %s", strerror(errno));
}

enum lap_status lap_source_copy(struct lap_source *source, const struct lap_source *from)
{
    *source = *from;
    source->fd = source->tail_fd = -1;
    source->stored = NULL;
    source->stored_capacity = 0;
    source->made_capacity = from->made_bytes;
    source->made = from->made_bytes ? malloc(from->made_bytes) : NULL;
    if (source->made)
        memcpy(source->made, from->made, from->made_bytes);
    source->calls = NULL; /* they are for the first one */
    source->calls_bytes = 0;
    source->chunk_capacity = from->chunk_count;
    source->chunks = malloc((from->chunk_count + 1) * sizeof(*source->chunks));
    enum lap_status status =
        source->chunks && (source->made || !from->made_bytes) ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; status == LAP_OK && i < from->chunk_count; i++) {
        source->chunks[i] = from->chunks[i];
        source->chunks[i].parts = 0;
        source->chunks[i].cached = NULL;
    }
    if (status == LAP_OK)
        status = copy_fd(from->fd, &source->fd);
    if (status == LAP_OK)
        status = copy_fd(from->tail_fd, &source->tail_fd);
    if (status != LAP_OK)
        lap_source_close(source);
    return status;
}

void lap_source_close(struct lap_source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    if (source->tail_fd >= 0)
        close(source->tail_fd);
    free(source->chunks);
    free(source->stored);
    free(source->made);
    free(source->calls);
    memset(source, 0, sizeof(*source));
    source->fd = source->tail_fd = -1;
}
