/* SPDX-License-Identifier: MIT */
/*
 * How a reader recovers the tail file of a process that was killed. An entry counts when its head and its payload have
 * their hashes and its number is the next one: it is then the chunk with this number, wherever it lies. So the place
 * where the ring is entered, and the bytes between entries, affect only how much is found.
 */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/read/source.h"

#define WINDOW_BYTES ((size_t)1 << 20) /* a multiple of LAP_TAIL_ENTRY_ALIGN */

/* Appends to the description of the trace's end. */
static void remark(struct lap_source *source, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void remark(struct lap_source *source, const char *format, ...)
{
    size_t used = strlen(source->damage);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(source->damage + used, sizeof(source->damage) - used, format, arguments);
    va_end(arguments);
}

/* The layout in a header. */
struct layout {
    uint64_t start, ring;
    bool has_notes, has_journal;
};

/* Whether its process was killed before it wrote the header: nothing is in it yet. */
static bool is_blank(int fd)
{
    static const uint8_t zeroes[LAP_TAIL_RING_AT + 8];
    uint8_t head[sizeof zeroes] = {0};

    return pread(fd, head, sizeof head, 0) >= 0 && memcmp(head, zeroes, sizeof head) == 0 &&
           flock(fd, LOCK_SH | LOCK_NB) == 0;
}

/* Opens the file if it belongs to this trace. False (with a remark, unless there is none): it is not used. */
static bool open_tail(struct lap_source *source, const char *trace_path, struct layout *out)
{
    char *path = NULL;
    if (asprintf(&path, "%s" LAP_TAIL_SUFFIX, trace_path) < 0)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    free(path);
    if (fd < 0) {
        if (errno != ENOENT) {
            source->tail_use = LAP_TAIL_UNUSABLE;
            source->has_rest = true;
            remark(source, "; its tail file can't be opened: %s", strerror(errno));
        }
        return false;
    }
    struct stat stat;
    const char *problem = NULL;
    if (is_blank(fd)) {
        source->tail_use = LAP_TAIL_BLANK;
        close(fd);
        return false;
    }
    source->tail_use = LAP_TAIL_UNUSABLE;
    uint8_t head[LAP_TAIL_RING_AT + 8];
    uint32_t version = 0;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size < (off_t)LAP_TAIL_HEADER_BYTES ||
        pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, LAP_TAIL_MAGIC, 8) != 0 ||
        lap_load_u64(head + 32) != XXH3_64bits(head, 32))
        problem = "is none";
    else if ((version = lap_load_u32(head + 8)) == 0 || version > LAP_TAIL_VERSION || lap_load_u32(head + 12) != 0)
        problem = "has another version";
    else if (memcmp(head + 16, source->header.uuid, 16) != 0) {
        problem = "belongs to another trace";
        source->tail_use = LAP_TAIL_FOREIGN;
    } else if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        problem = "is in use: it is still being recorded";
        source->tail_use = LAP_TAIL_IN_USE;
    }
    if (problem) {
        source->has_rest = true;
        remark(source, "; its tail file is ignored, it %s", problem);
        close(fd);
        return false;
    }
    (void)flock(fd, LOCK_UN);
    source->tail_use = LAP_TAIL_USED;
    source->tail_fd = fd;
    source->tail_bytes = (uint64_t)stat.st_size;
    out->start = lap_load_u64(head + LAP_TAIL_START_AT);
    out->ring = version == 1 ? LAP_TAIL_HEADER_BYTES : lap_load_u64(head + LAP_TAIL_RING_AT);
    out->has_notes = version >= 3;
    out->has_journal = version >= 4;
    return true;
}

/* Whether a chunk of the ring can be one of a trace. */
static bool is_fit(const struct lap_chunk_header *header, uint64_t frames)
{
    switch (header->kind) {
    case LAP_CHUNK_INFO:
    case LAP_CHUNK_PACKETS:
    case LAP_CHUNK_BLOBS:
        return true;
    case LAP_CHUNK_FRAME:
        return header->frame == frames && header->raw_bytes <= LAP_MARK_MAX_BYTES;
    default:
        return false;
    }
}

/* Goes through the ring, which begins at `ring`, from `start` on and adds the entries whose numbers follow. */
static enum lap_status walk(struct lap_source *source, uint64_t ring, uint64_t start, uint64_t frames)
{
    uint64_t seed = lap_tail_seed(source->header.uuid), wanted = source->chunk_count, at = start, walked = 0;
    uint64_t expected = 0; /* of the entry at `at`; 0: whichever comes first */
    enum lap_status status = LAP_OK;
    bool wrapped = false;
    /* Entries lie side by side, so together they are no longer than the file. */
    while (at >= ring && at % LAP_TAIL_ENTRY_ALIGN == 0 && walked < source->tail_bytes) {
        uint8_t head[LAP_TAIL_ENTRY_BYTES];
        struct lap_tail_entry entry = {.number = 0};
        if (at > source->tail_bytes || source->tail_bytes - at < sizeof(head))
            break;
        status = lap_source_read(source, source->file_bytes + at, head, sizeof(head));
        if (status == LAP_OK)
            status = lap_tail_entry_load(head, seed, source->seed, &entry);
        if (status == LAP_OK && entry.number > wanted)
            source->tail_joins = false; /* the chunks between were in the trace, or here, and are lost */
        if (status != LAP_OK || (expected && entry.number != expected) || entry.number == 0 || entry.number > wanted)
            break;
        expected = entry.number;
        if (entry.kind == LAP_TAIL_WRAP) {
            if (wrapped)
                break;
            wrapped = true;
            at = ring;
            continue;
        }
        if (entry.number == wanted) {
            struct lap_chunk_header header;
            const uint8_t *stored;
            uint64_t offset = source->file_bytes + at + LAP_TAIL_CHUNK_AT;
            status = is_fit(&entry.header, frames) ? lap_source_fetch(source, offset, &header, &stored)
                                                   : lap_fail(LAP_ERROR_FORMAT, "no chunk of a trace");
            if (status == LAP_OK && header.stored_bytes != entry.header.stored_bytes)
                status = lap_fail(LAP_ERROR_FORMAT, "another process writes to it");
            if (status == LAP_OK)
                status = lap_chunk_check(&entry.header, stored);
            if (status == LAP_OK)
                status = lap_source_add(source, offset, &entry.header);
            if (status != LAP_OK)
                break;
            frames += entry.header.kind == LAP_CHUNK_FRAME;
            wanted++;
        }
        source->tail_end = ++expected;
        walked += lap_tail_entry_stride(entry.header.stored_bytes);
        at += lap_tail_entry_stride(entry.header.stored_bytes);
    }
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

enum lap_status lap_tail_find_behind(const struct lap_source *source, uint64_t number, bool *out_found)
{
    uint64_t seed = lap_tail_seed(source->header.uuid);
    uint8_t *window = malloc(WINDOW_BYTES);
    enum lap_status status = window ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    *out_found = false;
    for (uint64_t at = 0; status == LAP_OK && !*out_found && at < source->tail_bytes; at += WINDOW_BYTES) {
        uint64_t left = source->tail_bytes - at;
        size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        struct lap_tail_entry entry;
        status = lap_source_read(source, source->file_bytes + at, window, bytes);
        for (size_t i = 0; status == LAP_OK && i + LAP_TAIL_ENTRY_BYTES <= bytes; i += LAP_TAIL_ENTRY_ALIGN)
            *out_found |= lap_load_u32(window + i) == LAP_TAIL_ENTRY_MAGIC &&
                          lap_tail_entry_load(window + i, seed, source->seed, &entry) == LAP_OK &&
                          entry.number > number;
    }
    free(window);
    return status;
}

static enum lap_status read_tail(const struct lap_source *source, uint64_t at, void *out, size_t bytes)
{
    return lap_source_read(source, source->file_bytes + at, out, bytes);
}

/* Appends the undamaged entries of the list of calls in flight to source->calls. Writers of this version have no list
 * there. */
static enum lap_status read_list(struct lap_source *source, size_t bytes)
{
    uint64_t seed = lap_tail_seed(source->header.uuid);
    struct lap_in_flight call;
    enum lap_status status = read_tail(source, LAP_TAIL_HEADER_BYTES, source->calls, bytes);
    size_t at = 0;
    while (status == LAP_OK && lap_in_flight_next(source->calls, bytes, &at, seed, &call) == LAP_OK)
        source->calls_bytes = at;
    return status;
}

/* Appends the calls in the notes. */
static enum lap_status read_notes(struct lap_source *source)
{
    const size_t large_at = offsetof(struct lap_notes, large), large_bytes = sizeof(struct lap_note_long);
    uint8_t *notes = malloc(large_bytes);
    if (!notes)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    struct lap_notes_reader reader = {
        .seed = lap_tail_seed(source->header.uuid), .list = source->calls, .used = source->calls_bytes};
    enum lap_status status = read_tail(source, LAP_TAIL_NOTES_BEGIN, notes, LAP_NOTES_SMALL_BYTES);
    if (status == LAP_OK)
        lap_notes_take(&reader, notes);
    for (unsigned i = 0; status == LAP_OK && i < LAP_NOTES_LONG; i++) {
        uint64_t at = LAP_TAIL_NOTES_BEGIN + large_at + i * large_bytes;
        status = read_tail(source, at, notes, LAP_IN_FLIGHT_HEAD_BYTES);
        uint8_t state = notes[LAP_IN_FLIGHT_STATE_AT];
        if (status != LAP_OK || state == 0 || state == LAP_IN_FLIGHT_RETURNED)
            continue;
        status = read_tail(source, at, notes, large_bytes);
        if (status == LAP_OK)
            lap_notes_take_call(&reader, notes, large_bytes);
    }
    source->calls_bytes = reader.used;
    free(notes);
    if (reader.damaged)
        remark(source, "; %u notes of calls in its tail file are damaged", reader.damaged);
    return status;
}

_Static_assert(sizeof(struct lap_note_long) >= LAP_NOTES_SMALL_BYTES, "read_notes has one buffer for both");

/* Makes one list of the calls in flight; the reader checks it. */
static enum lap_status read_calls(struct lap_source *source, const struct layout *layout)
{
    uint64_t end = layout->ring < source->tail_bytes ? layout->ring : source->tail_bytes;
    uint64_t bytes = end - LAP_TAIL_HEADER_BYTES;
    bool has_notes = layout->has_notes && end >= LAP_TAIL_NOTES_BEGIN + LAP_NOTES_CALLS_BYTES;
    uint8_t head[LAP_IN_FLIGHT_HEAD_BYTES];
    if (bytes > LAP_IN_FLIGHT_AREA_BYTES)
        bytes = LAP_IN_FLIGHT_AREA_BYTES;
    if (bytes < sizeof(head))
        return LAP_OK;
    enum lap_status status = read_tail(source, LAP_TAIL_HEADER_BYTES, head, sizeof(head));
    if (status == LAP_OK && lap_load_u32(head) == 0) /* mostly there is nothing */
        bytes = 0;
    if (status != LAP_OK || (bytes == 0 && !has_notes))
        return status;
    source->calls = malloc((size_t)bytes + (has_notes ? LAP_NOTES_CALLS_BYTES : 0));
    if (!source->calls)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (bytes)
        status = read_list(source, (size_t)bytes);
    if (status == LAP_OK && has_notes)
        status = read_notes(source);
    return status;
}

/* Without a journal: chunks behind the last frame mark are not read, unless there is no mark at all. */
static void end_at_mark(struct lap_source *source, size_t in_file, uint64_t frames)
{
    size_t count = source->chunk_count;
    while (count > in_file && source->chunks[count - 1].header.kind != LAP_CHUNK_FRAME)
        count--;
    if (count > in_file || frames)
        source->chunk_count = count;
}

static enum lap_status use_journal(struct lap_source *source)
{
    unsigned damaged = 0;
    enum lap_status status = lap_journal_recover(source, &damaged);
    if (damaged)
        remark(source, "; %u parts of the journal in its tail file are damaged", damaged);
    return status;
}

enum lap_status lap_tail_recover(struct lap_source *source, const char *trace_path)
{
    size_t in_file = source->chunk_count;
    uint64_t frames = 0;
    struct layout layout = {.ring = 0};
    for (size_t i = 0; i < in_file; i++)
        frames += source->chunks[i].header.kind == LAP_CHUNK_FRAME;
    if (in_file == 0 || !open_tail(source, trace_path, &layout))
        return LAP_OK;
    source->tail_joins = layout.start >= layout.ring && layout.start <= source->tail_bytes &&
                         source->tail_bytes >= layout.ring + (layout.has_notes ? LAP_TAIL_STEP_BYTES : 0);
    enum lap_status status = layout.ring >= LAP_TAIL_HEADER_BYTES ? read_calls(source, &layout) : LAP_OK;
    if (status == LAP_OK && layout.ring >= LAP_TAIL_HEADER_BYTES)
        status = walk(source, layout.ring, layout.start, frames);
    if (status != LAP_OK)
        return status;

    if (layout.has_journal && layout.ring >= LAP_TAIL_NOTES_BEGIN + LAP_NOTES_BYTES &&
        source->tail_bytes >= LAP_TAIL_NOTES_BEGIN + LAP_NOTES_BYTES)
        status = use_journal(source);
    if (status != LAP_OK)
        return status;
    if (!source->whole_ticket)
        end_at_mark(source, in_file, frames);
    for (size_t i = in_file; i < source->chunk_count; i++) {
        const struct lap_chunk_header *header = &source->chunks[i].header;
        source->recovered_frames += header->kind == LAP_CHUNK_FRAME;
        source->recovered_bytes += LAP_CHUNK_HEADER_BYTES + (uint64_t)header->stored_bytes;
    }
    if (source->recovered_bytes)
        remark(source, "; %" PRIu64 " frames and %" PRIu64 " bytes behind it come from its tail file",
               source->recovered_frames, source->recovered_bytes);
    if (source->recovered_packets)
        remark(source, "; %" PRIu64 " packets are behind the last frame", source->recovered_packets);
    return LAP_OK;
}
