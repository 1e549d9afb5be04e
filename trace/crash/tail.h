/* SPDX-License-Identifier: MIT */
/*
 * tail: the file beside a trace with the chunks that are not yet in it (docs/format.md, "The tail file"). Its writes
 * are in the page cache, so they survive a process that is killed. Only the notes of calls (trace/crash/notes.h) are
 * mapped, since another process may truncate the file.
 *
 * Here are its layout, the operations of the writer's queue on it, and its recovery by a reader. The queue chooses the
 * place of an entry in the ring, and calls all but the last part under its own lock. Nothing between lap_tail_create
 * and lap_tail_release allocates or frees.
 */
#ifndef LAP_TRACE_CRASH_TAIL_H
#define LAP_TRACE_CRASH_TAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/crash/in_flight.h"
#include "trace/crash/notes.h"
#include "trace/format/chunk.h"
#include "trace/format/file.h"

#define LAP_TAIL_SUFFIX       ".tail" /* behind the trace's own name */
#define LAP_TAIL_MAGIC        "LAPTAIL\n"
#define LAP_TAIL_VERSION      4u             /* 3 has no journal, 2 no notes; in 1 the ring follows the header */
#define LAP_TAIL_HEADER_BYTES ((size_t)4096) /* then the list of calls in flight */
#define LAP_TAIL_NOTES_BEGIN  (LAP_IN_FLIGHT_AREA_BYTES + LAP_NOTES_PAGE)
#define LAP_TAIL_RING_BEGIN   (LAP_TAIL_NOTES_BEGIN + LAP_NOTES_MAP_BYTES) /* as it is written */
#define LAP_TAIL_STEP_BYTES   ((size_t)8 << 20) /* by which the ring grows; it is never shorter */
#define LAP_TAIL_START_AT     64u               /* in the header: where the oldest entry begins */
#define LAP_TAIL_RING_AT      72u               /* in the header: where the ring does */
#define LAP_TAIL_ENTRY_MAGIC  0x4c54504cu       /* "LPTL" little-endian */
#define LAP_TAIL_ENTRY_BYTES  128u              /* in front of a payload, the chunk's header included */
#define LAP_TAIL_ENTRY_ALIGN  128u
#define LAP_TAIL_CHUNK_AT     (LAP_TAIL_ENTRY_BYTES - LAP_CHUNK_HEADER_BYTES)

/* ---- layout ---- */

enum lap_tail_kind {
    LAP_TAIL_CHUNK = 1,
    LAP_TAIL_WRAP = 2 /* no chunk: the entry with this number is at the beginning of the ring */
};

struct lap_tail_entry {
    enum lap_tail_kind kind;
    bool in_file;    /* for the writer alone: its payload is only in the file */
    uint64_t number; /* of the chunk in the trace, from 0, INDEX and END not counted */
    struct lap_chunk_header header;
};

/* The seed of the hashes of entries, so that entries of another trace are not accepted. */
uint64_t lap_tail_seed(const uint8_t uuid[16]);

void lap_tail_entry_store(uint8_t out[LAP_TAIL_ENTRY_BYTES], const struct lap_tail_entry *entry, uint64_t seed);
/* chunk_seed: the trace's lap_file_seed, which is the same but for traces of version 2. LAP_ERROR_FORMAT: there is no
 * whole entry. */
enum lap_status lap_tail_entry_load(const uint8_t in[LAP_TAIL_ENTRY_BYTES], uint64_t seed, uint64_t chunk_seed,
                                    struct lap_tail_entry *out) LAP_MUST_CHECK;

/* From one entry to the next. */
static inline size_t lap_tail_entry_stride(size_t payload_bytes)
{
    return LAP_TAIL_ENTRY_BYTES + ((payload_bytes + LAP_TAIL_ENTRY_ALIGN - 1) & ~(size_t)(LAP_TAIL_ENTRY_ALIGN - 1));
}

/* ---- the writer's file ---- */

struct lap_tail {
    struct lap_own_file own;
    uint64_t bytes;                    /* that it has, or more */
    _Atomic(struct lap_notes *) notes; /* release by lap_tail_map_notes, acquire by lap_output_notes: the mapping */
};

/* Creates the file for a ring whose first `reserved_bytes` get room at once. LAP_ERROR_IO or LAP_ERROR_MEMORY when
 * there can't be one; *tail is then as after lap_tail_release. */
enum lap_status lap_tail_create(struct lap_tail *tail, const char *trace_path, const uint8_t uuid[16],
                                size_t reserved_bytes) LAP_MUST_CHECK;

/* Reserves room for bytes `from` to `to` of the ring, where the file system can. False: there is none. */
bool lap_tail_reserve(struct lap_tail *tail, size_t from, size_t to);
/* Gives the room back; lap_tail_reserve comes before the next write there. */
void lap_tail_give_back(struct lap_tail *tail, size_t from, size_t to);

/* As lap_file_write and lap_file_read, `at` bytes into the ring. */
int lap_tail_write(struct lap_tail *tail, size_t at, const struct iovec *parts, unsigned count);
int lap_tail_read(struct lap_tail *tail, size_t at, void *out, size_t bytes);

/* Says where in the ring the oldest entry begins: 0 or an errno. */
int lap_tail_set_start(struct lap_tail *tail, size_t at);

/* Maps the notes of calls, in place of the LAP_NOTES_MAP_BYTES of memory at `place`, which stay the caller's; false:
 * they can't be mapped. All of them are zero and can be stored to. The large ones and the journal need
 * lap_tail_reserve_notes first. A store raises SIGBUS when another process has truncated the file, or a reservation of
 * the file system fails. lap_tail_drop_notes then maps private memory there; it is safe in a signal handler and is part
 * of the end of the file's use in any case. It is false when there is no such memory. */
bool lap_tail_map_notes(struct lap_tail *tail, void *place);
bool lap_tail_reserve_notes(struct lap_tail *tail, const void *from, size_t bytes);
bool lap_tail_drop_notes(struct lap_tail *tail);
/* The same, and clears the notes in the file, since no thread records any more that a call has returned. */
void lap_tail_give_notes_up(struct lap_tail *tail);

/* False: another process has truncated or deleted the file. To be called before room is reserved, which makes it
 * longer. */
bool lap_tail_is_whole(struct lap_tail *tail);

/* Deletes the file, if it is still the one that was created. */
void lap_tail_remove(struct lap_tail *tail);

/* In a child after fork(): the file is the parent's. Later writes do nothing. */
void lap_tail_abandon(struct lap_tail *tail);

/* Closes; the file stays unless it was removed. */
void lap_tail_release(struct lap_tail *tail);

/* ---- reading ---- */

struct lap_source;

/* Adds the entries behind *source's chunks to its list, up to the last frame mark: for a trace without an end. Damage
 * to a tail file is appended to source->damage, and fewer entries are used; only LAP_ERROR_MEMORY and LAP_ERROR_IO are
 * failures. */
enum lap_status lap_tail_recover(struct lap_source *source, const char *trace_path) LAP_MUST_CHECK;

/* Whether an entry has a larger number, though lap_tail_recover can't reach it because of damage in front of it: for a
 * source with a tail file. */
enum lap_status lap_tail_find_behind(const struct lap_source *source, uint64_t number, bool *out_found) LAP_MUST_CHECK;

#endif
