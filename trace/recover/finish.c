/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "trace/recover/finish.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/signal_name.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/info.h"
#include "trace/read/complete_prefix.h"
#include "trace/read/source.h"
#include "trace/write/blob_store.h"
#include "trace/write/output.h"

#define WINDOW_BYTES ((size_t)1 << 20)
#define MOST_DAMAGED 64u

struct finish {
    struct lap_source source;
    struct lap_output output;
    const struct lap_finish_options *options;
    struct lap_finish_result *result;
    struct lap_end_note note;
    struct lap_totals totals; /* of the last frame mark */
    uint64_t blobs;           /* in the trace */
    uint8_t *raw;
};

_Static_assert(sizeof(((struct lap_finish_result *)0)->reason) == LAP_END_REASON_BYTES, "a reason of an end chunk");

static enum lap_status refuse(struct finish *f, enum lap_finish_outcome outcome)
{
    f->result->outcome = outcome;
    return LAP_END;
}

/* ---- whether it can be done ---- */

/* Whether a chunk begins there. A chunk with a damaged payload is no loss. But a file full of such chunks looks forged,
 * and is left alone. */
static bool is_chunk(struct finish *f, const uint8_t *head, uint64_t at, unsigned *damaged)
{
    const struct lap_source *source = &f->source;
    struct lap_chunk_header header;
    if (lap_load_u32(head) != LAP_CHUNK_MAGIC || lap_chunk_header_load(head, source->seed, &header) != LAP_OK ||
        header.kind == LAP_CHUNK_INDEX || header.kind == LAP_CHUNK_END ||
        header.stored_bytes > source->file_bytes - at - LAP_CHUNK_HEADER_BYTES)
        return false;
    if (*damaged == MOST_DAMAGED ||
        (lap_source_read(source, at + LAP_CHUNK_HEADER_BYTES, f->raw, header.stored_bytes) == LAP_OK &&
         lap_chunk_check(&header, f->raw) == LAP_OK))
        return true;
    ++*damaged;
    return false;
}

/* Whether a whole chunk of this trace lies anywhere from `from` on: a cut there would lose it. */
static enum lap_status find_chunk(struct finish *f, uint64_t from, uint64_t *out_at)
{
    const struct lap_source *source = &f->source;
    uint8_t *window = malloc(WINDOW_BYTES);
    enum lap_status status = window ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    unsigned damaged = 0;
    *out_at = 0;
    while (status == LAP_OK && !*out_at && source->file_bytes - from >= LAP_CHUNK_HEADER_BYTES) {
        uint64_t left = source->file_bytes - from;
        size_t bytes = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES, heads = bytes - LAP_CHUNK_HEADER_BYTES + 1;
        status = lap_source_read(source, from, window, bytes);
        for (size_t i = 0; status == LAP_OK && i < heads && !*out_at; i++)
            if (is_chunk(f, window + i, from + i, &damaged))
                *out_at = from + i;
        from += heads;
    }
    free(window);
    return status;
}

static enum lap_status look_at_end(struct finish *f)
{
    const struct lap_source *source = &f->source;
    uint64_t at;
    if (source->has_end)
        return refuse(f, LAP_FINISH_HAD_END);
    if (source->tail_use == LAP_TAIL_IN_USE)
        return refuse(f, LAP_FINISH_RECORDING);
    if (source->tail_use == LAP_TAIL_UNUSABLE) {
        (void)lap_fail(LAP_ERROR_FORMAT,
                       "%s, and may have calls that the trace lacks: without it (under another name) the trace "
                       "can be finished",
                       source->damage);
        return refuse(f, LAP_FINISH_REFUSED);
    }
    if (source->cut || source->good_bytes == source->file_bytes)
        return LAP_OK;
    enum lap_status status = find_chunk(f, source->good_bytes, &at);
    if (status != LAP_OK || !at)
        return status;
    (void)lap_fail(LAP_ERROR_FORMAT,
                   "%s. There are whole chunks behind it, from offset %" PRIu64
                   " on, which would be lost; lapilli compress -o NEW writes the readable part",
                   source->damage, at);
    return refuse(f, LAP_FINISH_REFUSED);
}

/* Whether the file has nothing but the header, and perhaps a part of the dictionary. */
static bool has_only_begun(const struct lap_source *source)
{
    return source->chunk_count == 0 && (source->cut || source->file_bytes == LAP_FILE_HEADER_BYTES);
}

static bool is_less_than_a_header(int fd)
{
    static const char magic[] = LAP_FORMAT_MAGIC;
    char head[LAP_FILE_HEADER_BYTES];
    ssize_t bytes = pread(fd, head, sizeof head, 0);

    return bytes >= 0 && bytes < (ssize_t)sizeof head &&
           memcmp(head, magic, (size_t)bytes < sizeof magic - 1 ? (size_t)bytes : sizeof magic - 1) == 0;
}

/* ---- the end of the process ---- */

/* The process that recorded, according to the trace; 0: the trace has none. */
static enum lap_status read_process(struct finish *f, int64_t *out_process)
{
    enum lap_status status = LAP_OK;
    *out_process = 0;
    for (size_t i = 0; i < f->source.chunk_count && status == LAP_OK && !*out_process; i++) {
        const struct lap_chunk_ref *chunk = &f->source.chunks[i];
        cJSON *object = NULL;
        if (chunk->header.kind != LAP_CHUNK_INFO || chunk->header.raw_bytes > LAP_INFO_MAX_BYTES)
            continue;
        status = lap_source_load(&f->source, chunk, f->raw);
        if (status == LAP_OK)
            status = lap_info_parse((const char *)f->raw, chunk->header.raw_bytes, &object);
        const cJSON *pid = status == LAP_OK ? cJSON_GetObjectItemCaseSensitive(object, "pid") : NULL;
        if (cJSON_IsNumber(pid) && pid->valuedouble > 0 && pid->valuedouble <= INT32_MAX)
            *out_process = (int64_t)pid->valuedouble;
        cJSON_Delete(object);
    }
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

/* The signal of a crash that the process itself has recorded; 0: none. */
static uint32_t crash_signal(const struct finish *f)
{
    uint64_t seed = lap_tail_seed(f->source.header.uuid);
    struct lap_in_flight call;
    uint32_t found = 0;
    for (size_t at = 0; lap_in_flight_next(f->source.calls, f->source.calls_bytes, &at, seed, &call) == LAP_OK;)
        if (call.signal && (!found || call.flags & LAP_IN_FLIGHT_GUILTY))
            found = call.signal;
    return found;
}

static void say_why(struct finish *f)
{
    struct lap_end_note *note = &f->note;
    char name[LAP_SIGNAL_NAME_MAX], *out = f->result->reason;
    size_t room = sizeof(f->result->reason);
    int used;
    if (note->how == LAP_ENDED_SIGNAL)
        used = snprintf(out, room, "the program was ended by %s", lap_signal_name(note->number, name));
    else if (note->how == LAP_ENDED_STATUS)
        used = snprintf(out, room, "the program left with status %" PRIu32 " and did not end its trace", note->number);
    else if (f->options->reason)
        used = snprintf(out, room, "%s", f->options->reason);
    else
        used = snprintf(out, room, "the program did not end its trace");
    if (!note->whole && used > 0 && (size_t)used < room)
        (void)snprintf(out + used, room - (size_t)used, "; %.*s", (int)room - used - 3, f->source.damage);
}

static enum lap_status make_note(struct finish *f)
{
    const struct lap_source *source = &f->source;
    int64_t process = f->result->process;
    uint64_t last = 0;
    f->note = (struct lap_end_note){.by = f->options->by};
    enum lap_status status = lap_dense_end(&f->source, &f->note.last_ticket);
    if (status != LAP_OK)
        return status;
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_PACKETS && source->chunks[i].header.last > last)
            last = source->chunks[i].header.last;
    /* A part of a chunk at the end of the trace is whole in the tail file, or comes from an earlier lap_finish that was
     * interrupted. */
    f->note.whole = source->tail_use == LAP_TAIL_USED && source->tail_joins &&
                    (source->good_bytes == source->file_bytes || source->tail_end) &&
                    (!source->whole_ticket || source->whole_ticket == last);
    if (f->note.whole && source->tail_end) {
        bool lost;
        status = lap_tail_find_behind(source, source->tail_end, &lost);
        if (status != LAP_OK)
            return status;
        f->note.whole = !lost;
        if (lost)
            (void)snprintf(f->source.damage, sizeof(f->source.damage), "the tail file is damaged: there is more in it");
    }
    if (process && process == f->options->process) {
        f->note.how = f->options->how;
        f->note.number = f->options->number;
    } else if (crash_signal(f)) {
        f->note.how = LAP_ENDED_SIGNAL;
        f->note.number = crash_signal(f);
    }
    say_why(f);
    return LAP_OK;
}

/* Reads the totals of the last frame mark, and adds the recovered calls. The plan of a replay relies on the counters of
 * binds, so these become 0 (not known). */
static enum lap_status read_totals(struct finish *f)
{
    enum lap_status status = LAP_ERROR_FORMAT;
    for (size_t i = f->source.chunk_count; i-- > 0 && status == LAP_ERROR_FORMAT;) {
        const struct lap_chunk_ref *chunk = &f->source.chunks[i];
        if (chunk->header.kind != LAP_CHUNK_FRAME)
            continue;
        status = lap_source_load(&f->source, chunk, f->raw);
        if (status == LAP_OK)
            status = lap_mark_load(f->raw, chunk->header.raw_bytes, &f->totals);
    }
    if (status == LAP_ERROR_FORMAT)
        memset(&f->totals, 0, sizeof(f->totals));
    f->totals.counters[LAP_COUNTER_CALLS] += f->source.recovered_calls;
    f->totals.counters[LAP_COUNTER_BINDS] = f->totals.counters[LAP_COUNTER_ALIASED_BINDS] = 0;
    f->totals.counters[LAP_COUNTER_LAST_ALIASED] = f->totals.counters[LAP_COUNTER_UNUSED] = 0;
    for (size_t i = 0; i < f->source.chunk_count; i++)
        if (f->source.chunks[i].header.kind == LAP_CHUNK_BLOBS && f->source.chunks[i].header.last > f->blobs)
            f->blobs = f->source.chunks[i].header.last;
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

/* ---- writing ---- */

static enum lap_status append_chunk(struct finish *f, const struct lap_chunk_ref *chunk)
{
    struct lap_chunk_header header = chunk->header;
    struct iovec part = {f->raw, header.raw_bytes};
    struct lap_totals totals;
    enum lap_status status = lap_source_load(&f->source, chunk, f->raw);
    if (status != LAP_OK)
        return status;
    f->result->appended += LAP_CHUNK_HEADER_BYTES + (uint64_t)header.stored_bytes;
    if (header.kind != LAP_CHUNK_FRAME)
        return lap_output_chunk(&f->output, &header, &part, 1);
    status = lap_mark_load(f->raw, header.raw_bytes, &totals);
    return status == LAP_OK ? lap_output_frame(&f->output, &header, &totals) : status;
}

static enum lap_status append_tail(struct finish *f)
{
    const struct lap_source *source = &f->source;
    enum lap_status status = LAP_OK;
    for (size_t i = source->in_file_count; i < source->chunk_count && status == LAP_OK; i++) {
        status = append_chunk(f, &source->chunks[i]);
        if (f->options->progress)
            f->options->progress(f->options->user, f->result->appended, source->recovered_bytes);
    }
    return status;
}

static enum lap_status append_note(struct finish *f)
{
    struct lap_blob_store store;
    uint64_t id = 0;
    uint8_t *data;
    size_t bytes;
    enum lap_status status = lap_end_note_make(&f->note, f->source.calls, f->source.calls_bytes,
                                               lap_tail_seed(f->source.header.uuid), &data, &bytes);
    if (status != LAP_OK)
        return status;
    lap_blob_store_init(&store, &f->output);
    store.count = f->blobs;
    status = lap_blob_store_append(&store, LAP_BLOB_DATA, data, bytes, &id);
    lap_blob_store_finish(&store);
    free(data);
    f->totals.end_note = id <= UINT32_MAX ? (uint32_t)id : 0;
    f->totals.blob_bytes += bytes;
    return status;
}

/* Takes the descriptor. */
static enum lap_status write_end(struct finish *f, const char *path, int fd)
{
    struct lap_output_options options = {.packer = f->options->packer};
    enum lap_status status = lap_output_resume(&f->output, fd, path, &f->source, &options);
    if (status != LAP_OK)
        return status;
    status = append_tail(f);
    if (status == LAP_OK)
        status = append_note(f);
    if (status == LAP_OK)
        status = lap_output_finish(&f->output, &f->totals, f->result->reason);
    if (status != LAP_OK)
        lap_output_undo(&f->output);
    lap_output_release(&f->output);
    return status;
}

enum lap_status lap_finish(const char *path, int fd, const struct lap_finish_options *options,
                           struct lap_finish_result *out)
{
    struct finish *f = calloc(1, sizeof(*f));
    enum lap_status status = LAP_ERROR_MEMORY;
    *out = (struct lap_finish_result){.outcome = LAP_FINISH_DONE};
    if (f && (f->raw = malloc(LAP_CHUNK_MAX_RAW))) {
        f->options = options;
        f->result = out;
        status = options->fresh ? lap_source_open_fresh(&f->source, path) : lap_source_open(&f->source, path);
    } else {
        (void)lap_fail(status, "out of memory");
    }
    if (status != LAP_OK) {
        if (status == LAP_ERROR_FORMAT && is_less_than_a_header(fd))
            out->outcome = LAP_FINISH_NOTHING;
        close(fd);
        goto out;
    }
    status = read_process(f, &out->process);
    if (status == LAP_OK)
        status = look_at_end(f);
    if (status == LAP_OK && f->source.chunk_count == 0) {
        out->outcome = has_only_begun(&f->source) ? LAP_FINISH_NOTHING : LAP_FINISH_DONE;
        status = lap_fail(LAP_ERROR_FORMAT, "%s: the trace has no dictionary: %s", path, f->source.damage);
    }
    if (status == LAP_OK)
        status = make_note(f);
    if (status == LAP_OK)
        status = read_totals(f);
    if (status == LAP_OK) {
        out->whole = f->note.whole;
        /* Else it has parts that can't be read now. */
        out->used_tail = f->note.whole || f->source.tail_use == LAP_TAIL_BLANK;
        out->good_bytes = f->source.good_bytes;
        out->cut_bytes = f->source.file_bytes - f->source.good_bytes;
        status = write_end(f, path, fd);
    } else {
        close(fd);
    }
    lap_source_close(&f->source);
out:
    if (f)
        free(f->raw);
    free(f);
    return status == LAP_END ? LAP_OK : status;
}
