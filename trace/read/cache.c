/* SPDX-License-Identifier: MIT */
#include "trace/read/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void lap_cache_init(struct lap_cache *cache, uint64_t limit_bytes, struct lap_buffers *buffers)
{
    memset(cache, 0, sizeof(*cache));
    cache->limit_bytes = limit_bytes;
    cache->time = 1;
    cache->buffers = buffers;
}

static uint64_t cost(uint64_t bytes, uint32_t blob_count)
{
    return bytes + (uint64_t)blob_count * sizeof(struct lap_cached_blob) + sizeof(struct lap_cached);
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
    list->bytes -= cost(cached->buffer.capacity, cached->blob_count);
}

static void link_newest(struct lap_cache *cache, struct lap_cached *cached)
{
    struct lap_cache_list *list = list_of(cache, cached);
    cached->newer = NULL;
    cached->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = cached;
    list->newest = cached;
    list->bytes += cost(cached->buffer.capacity, cached->blob_count);
}

void lap_cache_drop(struct lap_cache *cache, struct lap_cached *cached)
{
    unlink_entry(cache, cached);
    *cached->home = NULL;
    lap_buffers_put(cache->buffers, cached->buffer);
    free(cached->blobs);
    free(cached);
}

void lap_cache_finish(struct lap_cache *cache)
{
    while (cache->trial.newest)
        lap_cache_drop(cache, cache->trial.newest);
    while (cache->kept.newest)
        lap_cache_drop(cache, cache->kept.newest);
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
    return cache->trial.bytes + cache->kept.bytes + lap_buffers_spare(cache->buffers);
}

/* Whether something that is not pinned, and so the oldest of its list, could go. */
static bool drop_oldest(struct lap_cache *cache, struct lap_cache_list *list)
{
    if (!list->oldest || list->oldest->used_at == cache->time)
        return false;
    lap_cache_drop(cache, list->oldest);
    return true;
}

enum lap_status lap_cache_reserve(struct lap_cache *cache, uint64_t bytes, uint32_t blob_count, bool counts)
{
    uint64_t need = cost(bytes, blob_count);
    while (cache->trial.bytes + need > LAP_CACHE_TRIAL_BYTES && drop_oldest(cache, &cache->trial))
        ;
    while (
        all_bytes(cache) + need > cache->limit_bytes &&
        (lap_buffers_free_one(cache->buffers) || drop_oldest(cache, &cache->trial) || drop_oldest(cache, &cache->kept)))
        ;
    if (counts && cache->trial.bytes + cache->kept.bytes + need > cache->limit_bytes &&
        cache->pinned_at == cache->time && cache->pinned_blobs > 1)
        return lap_fail(LAP_ERROR_LIMIT, "one packet needs more than %" PRIu64 " bytes of blobs", cache->limit_bytes);
    return LAP_OK;
}

enum lap_status lap_cache_add(struct lap_cache *cache, struct lap_cached **home, struct lap_buffer buffer, size_t bytes,
                              uint32_t blob_count, bool counts)
{
    struct lap_cached *cached = calloc(1, sizeof(*cached));
    struct lap_cached_blob *blobs = blob_count ? malloc(blob_count * sizeof(struct lap_cached_blob)) : NULL;
    if (!cached || (blob_count && !blobs)) {
        free(cached);
        free(blobs);
        lap_buffers_put(cache->buffers, buffer);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory (%zu bytes)", bytes);
    }
    cached->home = home;
    cached->bytes = bytes;
    cached->buffer = buffer;
    cached->data = buffer.data;
    cached->blobs = blobs;
    cached->blob_count = blob_count;
    cached->counts = counts;
    pin(cache, cached);
    link_newest(cache, cached);
    *home = cached;
    return LAP_OK;
}
