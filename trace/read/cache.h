/* SPDX-License-Identifier: MIT */
/*
 * cache: unpacked chunks and assembled blobs. Part of a reader.
 *
 * Most blobs of a long trace are needed once, a few in every frame. A new entry is on trial until LAP_CACHE_TRIAL_BYTES
 * of newer ones push it out. An entry that is asked for again is kept; the least recently used of the kept entries is
 * evicted first. So reading a trace reuses the same memory, and the kernel need not clear new memory each time.
 *
 * Entries used since the last lap_cache_advance are pinned, so that pointers into them stay valid.
 */
#ifndef LAP_TRACE_READ_CACHE_H
#define LAP_TRACE_READ_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/chunk.h"
#include "trace/read/buffers.h"

#define LAP_CACHE_TRIAL_BYTES ((uint64_t)16 << 20)

/* Where a blob lies in an entry's data. */
struct lap_cached_blob {
    size_t offset, bytes;
    struct lap_blob_hash hash;
    uint8_t kind; /* enum lap_blob_kind */
    bool checked; /* its bytes have this hash */
    bool used;    /* a caller has asked for it */
};

struct lap_cached {
    struct lap_cached *newer, *older;
    struct lap_cached **home; /* set to NULL when this is evicted */
    uint64_t used_at;         /* the cache's time of the last use */
    bool counts;              /* has blobs: see lap_cache_add */
    bool kept;                /* which list it is in */
    size_t bytes;             /* of data */
    struct lap_cached_blob *blobs;
    uint32_t blob_count;
    struct lap_buffer buffer;
    uint8_t *data; /* the buffer's */
};

struct lap_cache_list {
    struct lap_cached *newest, *oldest;
    uint64_t bytes;
};

struct lap_cache {
    struct lap_cache_list trial, kept;
    uint64_t limit_bytes;
    uint64_t time;
    uint64_t pinned_at; /* the time that pinned_blobs is about */
    uint32_t pinned_blobs;
    struct lap_buffers *buffers;
};

/* Memory of evicted entries goes to `buffers`, which outlives the cache and counts as part of its limit. */
void lap_cache_init(struct lap_cache *cache, uint64_t limit_bytes, struct lap_buffers *buffers);
void lap_cache_finish(struct lap_cache *cache);
static inline void lap_cache_advance(struct lap_cache *cache)
{
    cache->time++;
}

/* Makes room for data of `bytes` and a table of blob_count blobs. Of entries that count, two needed at the same time (a
 * packet's own body and one blob that it names) may pass the limit; a third is LAP_ERROR_LIMIT. */
enum lap_status lap_cache_reserve(struct lap_cache *cache, uint64_t bytes, uint32_t blob_count,
                                  bool counts) LAP_MUST_CHECK;

/* Then adds such an entry, whose table is uninitialised, at *home; it is pinned. Takes the buffer, on failure, too. */
enum lap_status lap_cache_add(struct lap_cache *cache, struct lap_cached **home, struct lap_buffer buffer, size_t bytes,
                              uint32_t blob_count, bool counts) LAP_MUST_CHECK;

void lap_cache_use_slow(struct lap_cache *cache, struct lap_cached *cached);

/* Pins it and makes it the newest of its list. */
static inline void lap_cache_use(struct lap_cache *cache, struct lap_cached *cached)
{
    if (cached != cache->trial.newest || (cached->counts && cached->used_at != cache->time))
        lap_cache_use_slow(cache, cached);
    else
        cached->used_at = cache->time;
}

/* A second request: it is kept from now on. */
void lap_cache_keep(struct lap_cache *cache, struct lap_cached *cached);

/* Evicts one entry, pinned or not. */
void lap_cache_drop(struct lap_cache *cache, struct lap_cached *cached);

#endif
