/* SPDX-License-Identifier: MIT */
#include "trace/read/reader.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/crash/tail.h"
#include "trace/format/info.h"
#include "trace/read/complete_prefix.h"
#include "trace/read/reader_internal.h"

#define DEFAULT_MEMORY_LIMIT ((uint64_t)(SIZE_MAX > UINT32_MAX ? 512 : 128) << 20)

/* Unpacks a chunk that is needed once; the caller frees *out_raw, which ends with a NUL. */
static enum lap_status load_once(struct lap_reader *reader, const struct lap_chunk_ref *chunk, uint8_t **out_raw)
{
    *out_raw = malloc((size_t)chunk->header.raw_bytes + 1);
    if (!*out_raw)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    enum lap_status status = lap_source_load(&reader->source, chunk, *out_raw);
    (*out_raw)[chunk->header.raw_bytes] = 0;
    if (status != LAP_OK) {
        free(*out_raw);
        *out_raw = NULL;
    }
    return status;
}

static enum lap_status read_dictionary(struct lap_reader *reader)
{
    const struct lap_source *source = &reader->source;
    if (source->chunk_count == 0 || source->chunks[0].header.kind != LAP_CHUNK_DICTIONARY)
        return lap_fail(LAP_ERROR_FORMAT, "the trace has no dictionary%s%s", source->damage[0] ? "; " : "",
                        source->damage);
    for (size_t i = source->header.version >= LAP_FORMAT_COPIES ? 2 : 1; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_DICTIONARY)
            return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": a second dictionary",
                            source->chunks[i].offset);
    uint8_t *raw = malloc((size_t)source->chunks[0].header.raw_bytes + 1);
    enum lap_status status =
        raw ? lap_source_load_dictionary(&reader->source, raw) : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    if (status == LAP_OK)
        status = lap_dictionary_decode(raw, source->chunks[0].header.raw_bytes, &reader->dictionary);
    free(raw);
    return status;
}

static enum lap_status read_info(struct lap_reader *reader)
{
    const struct lap_source *source = &reader->source;
    struct lap_info info = {NULL, 0};
    enum lap_status status = LAP_OK;
    uint64_t bytes = 0;
    for (size_t i = 0; status == LAP_OK && i < source->chunk_count; i++) {
        const struct lap_chunk_ref *chunk = &source->chunks[i];
        if (chunk->header.kind != LAP_CHUNK_INFO)
            continue;
        bytes += chunk->header.raw_bytes;
        if (chunk->header.raw_bytes > LAP_INFO_MAX_BYTES || bytes > LAP_INFO_MAX_TOTAL) {
            status = lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": more information than a trace can have",
                              chunk->offset);
            break;
        }
        uint8_t *raw;
        status = load_once(reader, chunk, &raw);
        if (status == LAP_ERROR_FORMAT) {
            lap_source_end_at(&reader->source, i);
            status = LAP_OK;
        }
        if (status != LAP_OK || !raw)
            break;
        status = lap_info_add(&info, (const char *)raw, chunk->header.raw_bytes, NULL);
        if (status != LAP_OK)
            status = lap_fail_context(status, "chunk at offset %" PRIu64, chunk->offset);
        free(raw);
    }
    if (status == LAP_OK) {
        reader->info = lap_info_text(&info);
        if (!reader->info)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    lap_info_finish(&info);
    return status;
}

static enum lap_status read_frames(struct lap_reader *reader, const struct lap_reader *known)
{
    const struct lap_source *source = &reader->source;
    const struct lap_chunk_ref *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < source->chunk_count; i++)
        count += source->chunks[i].header.kind == LAP_CHUNK_FRAME;
    reader->frames = calloc(count + 1, sizeof(*reader->frames));
    if (!reader->frames)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < source->chunk_count; i++) {
        const struct lap_chunk_ref *chunk = &source->chunks[i];
        if (chunk->header.kind != LAP_CHUNK_FRAME)
            continue;
        if (chunk->header.frame != reader->frame_count || chunk->header.raw_bytes > LAP_MARK_MAX_BYTES ||
            (last && chunk->header.last < last->header.last))
            return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": frame marks out of order", chunk->offset);
        reader->frames[reader->frame_count++] = (struct lap_frame_mark){chunk->header.last, i};
        last = chunk;
    }
    reader->summary.frames = reader->frame_count;
    /* A reader that has scanned the file has seen them. */
    reader->marks_unseen = known || !source->indexed ? reader->frame_count : 0;

    /* The counters of a file without an end are those of its last frame whose mark is whole. */
    struct lap_totals totals = {.blob_bytes = 0};
    enum lap_status status = source->has_end || !count ? LAP_OK : LAP_ERROR_FORMAT;
    if (source->has_end)
        totals = source->end.totals;
    for (size_t i = count; i-- > 0 && status == LAP_ERROR_FORMAT;) {
        const struct lap_chunk_ref *chunk = &source->chunks[reader->frames[i].chunk];
        uint8_t raw[LAP_MARK_MAX_BYTES];
        status = lap_source_load(&reader->source, chunk, raw);
        if (status == LAP_OK && (status = lap_mark_load(raw, chunk->header.raw_bytes, &totals)) != LAP_OK)
            return status;
    }
    if (status != LAP_OK && status != LAP_ERROR_FORMAT)
        return status;
    memcpy(reader->summary.counters, totals.counters, sizeof(totals.counters));
    reader->summary.counters[LAP_COUNTER_CALLS] += source->recovered_calls;
    if (source->whole_ticket)
        reader->summary.counters[LAP_COUNTER_WHOLE] = source->whole_ticket;
    reader->summary.blob_bytes = totals.blob_bytes;
    return LAP_OK;
}

/* Reads the note of the end. The calls become the source's. */
static enum lap_status read_end_note(struct lap_reader *reader, const struct lap_reader *known)
{
    struct lap_source *source = &reader->source;
    uint64_t id = source->has_end ? source->end.totals.end_note : 0;
    const uint8_t *data;
    size_t bytes;
    if (!id)
        return LAP_OK;
    enum lap_status status = lap_reader_blob(reader, LAP_BLOB_DATA, id, &data, &bytes);
    if (status == LAP_OK)
        status = lap_end_note_load(data, bytes, &reader->end_note);
    if (status == LAP_ERROR_FORMAT) {
        size_t used = strlen(source->end.reason);
        (void)snprintf(source->end.reason + used, sizeof(source->end.reason) - used, "; %s", lap_error_message());
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    reader->summary.end_note = &reader->end_note;
    if (known || bytes == LAP_END_NOTE_HEAD_BYTES)
        return LAP_OK;
    source->calls_bytes = bytes - LAP_END_NOTE_HEAD_BYTES;
    source->calls = malloc(source->calls_bytes);
    if (!source->calls)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    memcpy(source->calls, data + LAP_END_NOTE_HEAD_BYTES, source->calls_bytes);
    return LAP_OK;
}

/* The calls in flight. A call whose command is not in the dictionary ends the list, like other damage. */
static enum lap_status read_in_flight(struct lap_reader *reader)
{
    const struct lap_source *source = &reader->source;
    uint64_t seed = source->has_end ? 0 : lap_tail_seed(source->header.uuid);
    struct lap_in_flight call;
    size_t at = 0, count = 0;
    while (lap_in_flight_next(source->calls, source->calls_bytes, &at, seed, &call) == LAP_OK &&
           lap_reader_command_name(reader, call.command))
        count++;
    if (count == 0)
        return LAP_OK;
    reader->in_flight = calloc(count, sizeof(*reader->in_flight));
    if (!reader->in_flight)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    at = 0;
    for (size_t i = 0; i < count; i++)
        if (lap_in_flight_next(source->calls, source->calls_bytes, &at, seed, &reader->in_flight[i]) == LAP_OK)
            reader->summary.in_flight_count++;
    reader->summary.in_flight = reader->in_flight;
    return LAP_OK;
}

/* Appends them to the reason why the trace ends. */
static void tell_in_flight(struct lap_reader *reader)
{
    const struct lap_reader_summary *summary = &reader->summary;
    const struct lap_in_flight *first = summary->in_flight;
    size_t used = strlen(reader->stopped), room = sizeof(reader->stopped) - used;
    if (summary->in_flight_count == 0)
        return;
    for (size_t i = 0; i < summary->in_flight_count; i++)
        if (summary->in_flight[i].flags & LAP_IN_FLIGHT_GUILTY)
            first = &summary->in_flight[i];
    const char *name = lap_reader_command_name(reader, first->command);
    if (first->flags & LAP_IN_FLIGHT_GUILTY)
        (void)snprintf(reader->stopped + used, room, "; the recorded program crashed in %s (signal %" PRIu32 ")", name,
                       first->signal);
    else if (summary->in_flight_count == 1)
        (void)snprintf(reader->stopped + used, room, "; a call had not returned, %s", name);
    else
        (void)snprintf(reader->stopped + used, room, "; %zu calls had not returned, %s is one",
                       summary->in_flight_count, name);
}

/* Finds the end of reading and its reason. known: another reader of the file, or NULL. */
static enum lap_status find_end(struct lap_reader *reader, const struct lap_reader *known)
{
    const struct lap_source *source = &reader->source;
    struct lap_reader_summary *summary = &reader->summary;
    uint64_t last = 0, raw_bytes = 0;
    for (size_t i = 0; i < source->chunk_count; i++) {
        const struct lap_chunk_header *header = &source->chunks[i].header;
        raw_bytes += header->raw_bytes;
        if (header->kind == LAP_CHUNK_PACKETS && header->last > last)
            last = header->last;
    }
    summary->raw_bytes = raw_bytes;
    uint64_t last_edited = reader->edits ? lap_edits_last_ticket(reader->edits) : UINT64_MAX;
    bool is_orderly = source->has_end && !source->end.reason[0];
    summary->complete = is_orderly || (summary->end_note && summary->end_note->whole);
    if (!is_orderly) {
        (void)snprintf(reader->stopped, sizeof(reader->stopped), "%s",
                       source->has_end ? source->end.reason : source->damage);
        summary->stopped = summary->complete ? NULL : reader->stopped;
        summary->ended = summary->end_note ? reader->stopped : NULL;
        tell_in_flight(reader);
    }
    enum lap_status status = LAP_OK;
    reader->last_ticket = last;
    if (!is_orderly && summary->end_note)
        reader->last_ticket = summary->end_note->last_ticket;
    else if (!is_orderly && known)
        reader->last_ticket = known->last_ticket;
    else if (!is_orderly)
        status = lap_dense_end(&reader->source, &reader->last_ticket);
    reader->last_ticket = reader->last_ticket < last_edited ? reader->last_ticket : last_edited;
    summary->packets = reader->last_ticket;
    return status == LAP_OK ? lap_reader_rewind(reader) : status;
}

/* The source is there. On failure the reader is closed. */
static enum lap_status open_source(struct lap_reader *reader, const struct lap_reader_options *options,
                                   const struct lap_reader *known)
{
    uint64_t limit = options ? options->memory_limit_bytes : 0;
    lap_buffers_init(&reader->buffers);
    lap_cache_init(&reader->cache, limit ? limit : DEFAULT_MEMORY_LIMIT, &reader->buffers);
    reader->summary.format_version = reader->source.header.version;
    memcpy(reader->summary.uuid, reader->source.header.uuid, sizeof(reader->summary.uuid));
    reader->summary.indexed = reader->source.indexed;
    reader->summary.file_bytes = reader->source.file_bytes;
    reader->summary.recovered_frames = reader->source.recovered_frames;
    reader->summary.recovered_bytes = reader->source.recovered_bytes;
    reader->summary.recovered_packets = reader->source.recovered_packets;

    enum lap_status status = read_dictionary(reader);
    if (status == LAP_OK)
        status = read_info(reader);
    if (status == LAP_OK)
        status = read_frames(reader, known);
    if (status == LAP_OK)
        status = lap_reader_arrange_blobs(reader);
    if (status == LAP_OK)
        status = lap_reader_arrange_packets(reader);
    if (reader->edits) {
        reader->edit_list = lap_edits_list(reader->edits, &reader->edit_count);
        reader->summary.blobs += lap_edits_blob_count(reader->edits);
    }
    if (status == LAP_OK)
        status = read_end_note(reader, known);
    if (status == LAP_OK)
        status = read_in_flight(reader);
    if (status == LAP_OK)
        status = find_end(reader, known);
    if (status != LAP_OK) {
        lap_reader_close(&reader);
        return status;
    }
    reader->summary.info = reader->info;
    reader->summary.has_rest = reader->source.has_rest;
    if (reader->source.repaired[0])
        reader->summary.repaired = reader->source.repaired;
    reader->trusts_blobs = options && options->trusts_blobs;
    if (options && options->ahead_bytes)
        reader->ahead = lap_read_ahead_create(&reader->source, reader->blob_chunks, options, &reader->buffers);
    return LAP_OK;
}

enum lap_status lap_reader_open(const char *path, const struct lap_reader_options *options,
                                struct lap_reader **out_reader)
{
    *out_reader = NULL;
    struct lap_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    enum lap_status status = options && options->from ? lap_source_open_from(&reader->source, options->from)
                                                      : lap_source_open(&reader->source, path);
    if (status != LAP_OK) {
        free(reader);
        return status;
    }
    status = open_source(reader, options, NULL);
    if (status != LAP_OK)
        return lap_fail_context(status, "%s", path);
    *out_reader = reader;
    return LAP_OK;
}

enum lap_status lap_reader_open_again(const struct lap_reader *known, const struct lap_reader_options *options,
                                      struct lap_reader **out_reader)
{
    return lap_reader_open_edited(known, options, known ? known->edits : NULL, out_reader);
}

enum lap_status lap_reader_open_edited(const struct lap_reader *known, const struct lap_reader_options *options,
                                       const struct lap_edits *edits, struct lap_reader **out_reader)
{
    *out_reader = NULL;
    if (!known)
        return lap_fail(LAP_ERROR_ARGUMENT, "no trace is open");
    if (known->maker)
        return edits ? lap_fail(LAP_ERROR_UNSUPPORTED, "a replay program is no trace to change")
                     : lap_reader_open_made(known->maker, out_reader);
    struct lap_reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    enum lap_status status = lap_source_copy(&reader->source, &known->source);
    if (status != LAP_OK) {
        free(reader);
        return status;
    }
    reader->edits = edits;
    status = open_source(reader, options, known);
    if (status == LAP_OK)
        *out_reader = reader;
    return status;
}

void lap_reader_close(struct lap_reader **reader_at)
{
    struct lap_reader *reader = *reader_at;
    if (!reader)
        return;
    *reader_at = NULL;
    if (reader->making)
        reader->maker->end(reader->making);
    lap_read_ahead_destroy(&reader->ahead);
    lap_cache_finish(&reader->cache);
    lap_buffers_finish(&reader->buffers);
    lap_source_close(&reader->source);
    lap_dictionary_finish(&reader->dictionary);
    cJSON_free(reader->info);
    free(reader->frames);
    free(reader->in_flight);
    free(reader->blob_chunks);
    free(reader->chunk_order);
    free(reader->cursors);
    free(reader->heap);
    free(reader);
}

bool lap_reader_preload(struct lap_reader *reader)
{
    return reader->ahead && lap_read_ahead_wait(reader->ahead);
}

static const char *name_of(const struct lap_reader *reader, enum lap_dictionary_list list, uint64_t number)
{
    return number < reader->dictionary.lists[list].count ? reader->dictionary.lists[list].names[number] : NULL;
}

const char *lap_reader_command_name(const struct lap_reader *reader, uint64_t number)
{
    return name_of(reader, LAP_DICTIONARY_COMMANDS, number);
}

const char *lap_reader_struct_name(const struct lap_reader *reader, uint64_t number)
{
    return name_of(reader, LAP_DICTIONARY_STRUCTS, number);
}

const char *lap_reader_handle_type_name(const struct lap_reader *reader, uint64_t number)
{
    return name_of(reader, LAP_DICTIONARY_HANDLE_TYPES, number);
}

uint64_t lap_reader_frame_end(const struct lap_reader *reader, uint64_t frame)
{
    return frame < reader->frame_count ? reader->frames[frame].last_ticket : UINT64_MAX;
}

uint32_t lap_reader_command_count(const struct lap_reader *reader)
{
    return reader->dictionary.lists[LAP_DICTIONARY_COMMANDS].count;
}

uint32_t lap_reader_struct_count(const struct lap_reader *reader)
{
    return reader->dictionary.lists[LAP_DICTIONARY_STRUCTS].count;
}

uint32_t lap_reader_handle_type_count(const struct lap_reader *reader)
{
    return reader->dictionary.lists[LAP_DICTIONARY_HANDLE_TYPES].count;
}

const struct lap_reader_summary *lap_reader_summary(const struct lap_reader *reader)
{
    return &reader->summary;
}
