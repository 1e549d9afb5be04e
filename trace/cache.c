/* SPDX-License-Identifier: MIT */
#include "trace/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DATA_ALIGN 16u

void lap_cache_init(struct lap_cache *cache, uint64_t limit_bytes)
{
    memset(cache, 0, sizeof(*cache));
    cache->limit_bytes = limit_bytes;
    cache->time = 1;
}

void lap_cache_finish(struct lap_cache *cache)
{
    while (cache->newest)
        lap_cache_drop(cache, cache->newest);
}

static uint64_t cost(size_t bytes, uint32_t blob_count)
{
    return (uint64_t)bytes + (uint64_t)blob_count * sizeof(struct lap_cached_blob) + sizeof(struct lap_cached);
}

static void unlink_entry(struct lap_cache *cache, struct lap_cached *cached)
{
    *(cached->newer ? &cached->newer->older : &cache->newest) = cached->older;
    *(cached->older ? &cached->older->newer : &cache->oldest) = cached->newer;
}

static void link_newest(struct lap_cache *cache, struct lap_cached *cached)
{
    cached->newer = NULL;
    cached->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = cached;
    cache->newest = cached;
}

void lap_cache_drop(struct lap_cache *cache, struct lap_cached *cached)
{
    unlink_entry(cache, cached);
    cache->bytes -= cost(cached->bytes, cached->blob_count);
    *cached->home = NULL;
    free(cached->blobs);
    free(cached->data);
    free(cached);
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

enum lap_status lap_cache_add(struct lap_cache *cache, struct lap_cached **home, size_t bytes, uint32_t blob_count,
                              bool counts)
{
    uint64_t need = cost(bytes, blob_count);
    /* Pinned entries are the newest ones. */
    while (cache->oldest && cache->oldest->used_at != cache->time && cache->bytes + need > cache->limit_bytes)
        lap_cache_drop(cache, cache->oldest);
    if (counts && cache->bytes + need > cache->limit_bytes && cache->pinned_at == cache->time &&
        cache->pinned_blobs > 1)
        return lap_fail(LAP_ERROR_LIMIT, "one packet needs more than %" PRIu64 " bytes of blobs", cache->limit_bytes);

    struct lap_cached *cached = calloc(1, sizeof(*cached));
    if (!cached || bytes > PTRDIFF_MAX - DATA_ALIGN)
        goto fail;
    cached->data = aligned_alloc(DATA_ALIGN, (bytes + DATA_ALIGN) & ~(size_t)(DATA_ALIGN - 1));
    cached->blobs = blob_count ? malloc(blob_count * sizeof(struct lap_cached_blob)) : NULL;
    if (!cached->data || (blob_count && !cached->blobs))
        goto fail;
    cached->home = home;
    cached->bytes = bytes;
    cached->blob_count = blob_count;
    cached->counts = counts;
    pin(cache, cached);
    link_newest(cache, cached);
    cache->bytes += need;
    *home = cached;
    return LAP_OK;
fail:
    if (cached) {
        free(cached->data);
        free(cached->blobs);
    }
    free(cached);
    return lap_fail(LAP_ERROR_MEMORY, "out of memory (%zu bytes)", bytes);
}
