/* SPDX-License-Identifier: MIT */
/*
 * tail: the file beside a trace in which chunks wait that are not yet in it (docs/format.md, "The tail file"). It is
 * mapped and shared, so what was stored there outlives a process that is killed.
 *
 * Here are its layout, what the writer's queue does with the file, and how a reader finds what is in it. The queue
 * decides where in the ring an entry lies, and calls all but the last part under its own lock. Nothing between
 * lap_tail_create and lap_tail_release allocates or frees.
 */
#ifndef LAP_TRACE_TAIL_H
#define LAP_TRACE_TAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/chunk.h"

#define LAP_TAIL_SUFFIX       ".tail" /* behind the trace's own name */
#define LAP_TAIL_MAGIC        "LAPTAIL\n"
#define LAP_TAIL_VERSION      1u
#define LAP_TAIL_HEADER_BYTES ((size_t)4096) /* the ring follows */
#define LAP_TAIL_START_AT     64u            /* in the header: where the oldest entry begins */
#define LAP_TAIL_ENTRY_MAGIC  0x4c54504cu    /* "LPTL" little-endian */
#define LAP_TAIL_ENTRY_BYTES  128u           /* in front of a payload, the chunk's header included */
#define LAP_TAIL_ENTRY_ALIGN  128u
#define LAP_TAIL_CHUNK_AT     (LAP_TAIL_ENTRY_BYTES - LAP_CHUNK_HEADER_BYTES)

/* ---- layout ---- */

enum lap_tail_kind {
    LAP_TAIL_CHUNK = 1,
    LAP_TAIL_WRAP = 2 /* no chunk: the entry with this number is at the beginning of the ring */
};

struct lap_tail_entry {
    enum lap_tail_kind kind;
    bool packed;     /* the writer has tried to compress it */
    uint64_t number; /* of the chunk in the trace, from 0, INDEX and END not counted */
    struct lap_chunk_header header;
};

/* What hashes of entries begin with, so that those of another trace are none. */
uint64_t lap_tail_seed(const uint8_t uuid[16]);

/* Stores the head of an entry; the payload is there already. Its hash comes last, so an entry is there or not. */
void lap_tail_entry_store(uint8_t *at, const struct lap_tail_entry *entry, uint64_t seed);
/* LAP_ERROR_FORMAT: there is no whole entry. */
enum lap_status lap_tail_entry_load(const uint8_t in[LAP_TAIL_ENTRY_BYTES], uint64_t seed,
                                    struct lap_tail_entry *out) LAP_MUST_CHECK;

/* From one entry to the next. */
static inline size_t lap_tail_entry_stride(size_t payload_bytes)
{
    return LAP_TAIL_ENTRY_BYTES + ((payload_bytes + LAP_TAIL_ENTRY_ALIGN - 1) & ~(size_t)(LAP_TAIL_ENTRY_ALIGN - 1));
}

/* ---- the writer's file ---- */

struct lap_tail {
    _Atomic int fd; /* -1: none */
    char *path;     /* absolute */
    uint8_t *memory;
    size_t bytes; /* of address space; what is reserved in the file may be touched */
};

/* Creates the file for a ring of `ring_bytes`, of which the first `reserved_bytes` can be used at once. LAP_ERROR_IO
 * or LAP_ERROR_MEMORY when there can't be one, or the file system can't reserve room (a store into a mapping without
 * is SIGBUS); *tail is then as after lap_tail_release. */
enum lap_status lap_tail_create(struct lap_tail *tail, const char *trace_path, const uint8_t uuid[16],
                                size_t ring_bytes, size_t reserved_bytes) LAP_MUST_CHECK;

/* Makes sure that bytes `from` to `to` of the ring can be touched. False: no room. */
bool lap_tail_reserve(struct lap_tail *tail, size_t from, size_t to);
/* Gives the room back; lap_tail_reserve comes before the next touch. */
void lap_tail_give_back(struct lap_tail *tail, size_t from, size_t to);

/* Says where in the ring the oldest entry begins. */
void lap_tail_set_start(struct lap_tail *tail, size_t at);

/* Deletes the file, if it is still the one that was created. */
void lap_tail_remove(struct lap_tail *tail);

/* In a child after fork(): closes the file; from now on the mapping is memory of the child's own. */
void lap_tail_abandon(struct lap_tail *tail);

/* Unmaps and closes; the file stays unless it was removed. */
void lap_tail_release(struct lap_tail *tail);

/* ---- reading ---- */

struct lap_source;

/* Adds the entries behind what *source has to its list, up to the last frame mark: for a trace without an end. What is
 * wrong with a tail file is appended to source->damage and makes it count for less; only LAP_ERROR_MEMORY and
 * LAP_ERROR_IO are failures. */
enum lap_status lap_tail_recover(struct lap_source *source, const char *trace_path) LAP_MUST_CHECK;

#endif
