/* SPDX-License-Identifier: MIT */
#include "trace/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DATA_ALIGN 16u
#define HUGE_BYTES ((size_t)2 << 20) /* from here on memory is asked for in pages of this size */

void lap_cache_init(struct lap_cache *cache, uint64_t limit_bytes)
{
    memset(cache, 0, sizeof(*cache));
    cache->limit_bytes = limit_bytes;
    cache->time = 1;
}

/* ---- buffers ---- */

static uint8_t *take_spare(struct lap_cache *cache, unsigned i, size_t *out_capacity)
{
    uint8_t *data = cache->spares[i].data;
    *out_capacity = cache->spares[i].capacity;
    cache->spare_bytes -= cache->spares[i].capacity;
    cache->spares[i].data = NULL;
    cache->spares[i].capacity = 0;
    return data;
}

static bool free_spare(struct lap_cache *cache)
{
    size_t capacity;
    for (unsigned i = 0; i < LAP_CACHE_SPARES; i++)
        if (cache->spares[i].data) {
            free(take_spare(cache, i, &capacity));
            return true;
        }
    return false;
}

static void put_spare(struct lap_cache *cache, uint8_t *data, size_t capacity)
{
    unsigned at = 0;
    for (unsigned i = 1; i < LAP_CACHE_SPARES; i++)
        if (cache->spares[i].capacity < cache->spares[at].capacity)
            at = i; /* the smallest one, or none */
    if (cache->spares[at].capacity >= capacity) {
        free(data);
        return;
    }
    cache->spare_bytes += capacity - cache->spares[at].capacity;
    free(cache->spares[at].data);
    cache->spares[at].data = data;
    cache->spares[at].capacity = capacity;
}

/* A buffer of at least so many bytes: a spare one, unless it were mostly empty then. */
static uint8_t *take_buffer(struct lap_cache *cache, size_t bytes, size_t *out_capacity)
{
    unsigned best = LAP_CACHE_SPARES;
    for (unsigned i = 0; i < LAP_CACHE_SPARES; i++)
        if (cache->spares[i].data && cache->spares[i].capacity >= bytes && cache->spares[i].capacity / 2 <= bytes &&
            (best == LAP_CACHE_SPARES || cache->spares[i].capacity < cache->spares[best].capacity))
            best = i;
    if (best < LAP_CACHE_SPARES)
        return take_spare(cache, best, out_capacity);
    if (bytes > PTRDIFF_MAX - HUGE_BYTES)
        return NULL;
    void *data = NULL;
    *out_capacity = (bytes + DATA_ALIGN) & ~(size_t)(DATA_ALIGN - 1);
    if (posix_memalign(&data, bytes >= HUGE_BYTES ? HUGE_BYTES : DATA_ALIGN, *out_capacity) != 0)
        return NULL;
    if (bytes >= HUGE_BYTES)
        (void)madvise(data, *out_capacity, MADV_HUGEPAGE); /* fewer faults, where the kernel has such pages */
    return data;
}

/* ---- entries ---- */

static uint64_t cost(size_t bytes, uint32_t blob_count)
{
    return (uint64_t)bytes + (uint64_t)blob_count * sizeof(struct lap_cached_blob) + sizeof(struct lap_cached);
}

static struct lap_cache_list *list_of(struct lap_cache *cache, const struct lap_cached *cached)
{
    return cached->kept ? &cache->kept : &cache->trial;
}

static void unlink_entry(struct lap_cache *cache, struct lap_cached *cached)
{
    struct lap_cache_list *list = list_of(cache, cached);
    *(cached->newer ? &cached->newer->older : &list->newest) = cached->older;
    *(cached->older ? &cached->older->newer : &list->oldest) = cached->newer;
    list->bytes -= cost(cached->capacity, cached->blob_count);
}

static void link_newest(struct lap_cache *cache, struct lap_cached *cached)
{
    struct lap_cache_list *list = list_of(cache, cached);
    cached->newer = NULL;
    cached->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = cached;
    list->newest = cached;
    list->bytes += cost(cached->capacity, cached->blob_count);
}

void lap_cache_drop(struct lap_cache *cache, struct lap_cached *cached)
{
    unlink_entry(cache, cached);
    *cached->home = NULL;
    put_spare(cache, cached->data, cached->capacity);
    free(cached->blobs);
    free(cached);
}

void lap_cache_finish(struct lap_cache *cache)
{
    while (cache->trial.newest)
        lap_cache_drop(cache, cache->trial.newest);
    while (cache->kept.newest)
        lap_cache_drop(cache, cache->kept.newest);
    while (free_spare(cache))
        ;
}

static void pin(struct lap_cache *cache, struct lap_cached *cached)
{
    if (cache->pinned_at != cache->time) {
        cache->pinned_at = cache->time;
        cache->pinned_blobs = 0;
    }
    if (cached->counts && cached->used_at != cache->time)
        cache->pinned_blobs++;
    cached->used_at = cache->time;
}

void lap_cache_use_slow(struct lap_cache *cache, struct lap_cached *cached)
{
    pin(cache, cached);
    unlink_entry(cache, cached);
    link_newest(cache, cached);
}

void lap_cache_keep(struct lap_cache *cache, struct lap_cached *cached)
{
    if (cached->kept)
        return;
    unlink_entry(cache, cached);
    cached->kept = true;
    link_newest(cache, cached);
}

static uint64_t all_bytes(const struct lap_cache *cache)
{
    return cache->trial.bytes + cache->kept.bytes + cache->spare_bytes;
}

/* Whether something that is not pinned, and so the oldest of its list, could go. */
static bool drop_oldest(struct lap_cache *cache, struct lap_cache_list *list)
{
    if (!list->oldest || list->oldest->used_at == cache->time)
        return false;
    lap_cache_drop(cache, list->oldest);
    return true;
}

enum lap_status lap_cache_add(struct lap_cache *cache, struct lap_cached **home, size_t bytes, uint32_t blob_count,
                              bool counts)
{
    uint64_t need = cost(bytes, blob_count);
    while (cache->trial.bytes + need > LAP_CACHE_TRIAL_BYTES && drop_oldest(cache, &cache->trial))
        ;
    size_t capacity = 0;
    uint8_t *data = take_buffer(cache, bytes, &capacity);
    while (all_bytes(cache) + need > cache->limit_bytes &&
           (free_spare(cache) || drop_oldest(cache, &cache->trial) || drop_oldest(cache, &cache->kept)))
        ;
    if (counts && all_bytes(cache) + need > cache->limit_bytes && cache->pinned_at == cache->time &&
        cache->pinned_blobs > 1) {
        free(data);
        return lap_fail(LAP_ERROR_LIMIT, "one packet needs more than %" PRIu64 " bytes of blobs", cache->limit_bytes);
    }

    struct lap_cached *cached = calloc(1, sizeof(*cached));
    struct lap_cached_blob *blobs = blob_count ? malloc(blob_count * sizeof(struct lap_cached_blob)) : NULL;
    if (!cached || !data || (blob_count && !blobs)) {
        free(cached);
        free(blobs);
        free(data);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory (%zu bytes)", bytes);
    }
    cached->home = home;
    cached->bytes = bytes;
    cached->capacity = capacity;
    cached->blobs = blobs;
    cached->blob_count = blob_count;
    cached->counts = counts;
    cached->data = data;
    pin(cache, cached);
    link_newest(cache, cached);
    *home = cached;
    return LAP_OK;
}
