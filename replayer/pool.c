/* SPDX-License-Identifier: MIT */
#include "replayer/pool.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_BITS  4u
#define SECOND_COUNT (1u << SECOND_BITS)
#define FIRST_COUNT  (64u - SECOND_BITS + 1u)
#define MAX_BYTES    ((uint64_t)1 << 62)
#define CLOSE_TRIES  16 /* how many ranges of the list that may be too small are looked at before a block is made */

/* Sizes and offsets of chunks are in granules. */
struct replay_pool_chunk {
    struct pool_block *block;
    uint64_t offset, size;
    struct replay_pool_chunk *before, *after;  /* neighbours in the block */
    struct replay_pool_chunk *previous, *next; /* in the free list */
    bool free;
};

struct pool_block {
    void *user_block;
    uint64_t size; /* in granules */
    uint64_t used; /* from here on nothing has been given out yet */
    struct replay_pool_chunk *first;
    struct pool_block *previous, *next;
};

struct replay_pool {
    struct replay_pool_options options;
    unsigned granule_shift;
    uint64_t next_block_bytes;
    bool abandoned; /* the owner's blocks are gone; chunks that are in use remain, and blocks as their owners */
    struct pool_block *blocks;
    struct pool_block *empty; /* the one that is kept */
    struct replay_pool_stats stats;
    uint64_t first_map;
    uint16_t second_map[FIRST_COUNT];
    struct replay_pool_chunk *lists[FIRST_COUNT][SECOND_COUNT];
};

struct list_place {
    unsigned first, second;
};

/* The list whose chunks have at least the size that the list begins with. size > 0. */
static struct list_place place_of(uint64_t size)
{
    unsigned log;
    if (size < SECOND_COUNT)
        return (struct list_place){0, (unsigned)size};
    log = 63u - (unsigned)__builtin_clzll(size);
    return (struct list_place){log - SECOND_BITS + 1, (unsigned)(size >> (log - SECOND_BITS)) & (SECOND_COUNT - 1)};
}

static void list_insert(struct replay_pool *pool, struct replay_pool_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);
    struct replay_pool_chunk **head = &pool->lists[place.first][place.second];

    chunk->free = true;
    chunk->previous = NULL;
    chunk->next = *head;
    if (*head)
        (*head)->previous = chunk;
    *head = chunk;
    pool->first_map |= (uint64_t)1 << place.first;
    pool->second_map[place.first] |= (uint16_t)(1u << place.second);
}

static void list_remove(struct replay_pool *pool, struct replay_pool_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);

    if (chunk->next)
        chunk->next->previous = chunk->previous;
    if (chunk->previous) {
        chunk->previous->next = chunk->next;
    } else {
        pool->lists[place.first][place.second] = chunk->next;
        if (!chunk->next) {
            pool->second_map[place.first] &= (uint16_t) ~(1u << place.second);
            if (!pool->second_map[place.first])
                pool->first_map &= ~((uint64_t)1 << place.first);
        }
    }
    chunk->free = false;
    chunk->previous = chunk->next = NULL;
}

static uint64_t aligned_offset(const struct replay_pool_chunk *chunk, uint64_t align)
{
    return (chunk->offset + align - 1) & ~(align - 1);
}

static bool fits(const struct replay_pool_chunk *chunk, uint64_t size, uint64_t align)
{
    uint64_t skip = aligned_offset(chunk, align) - chunk->offset;
    return skip <= chunk->size && size <= chunk->size - skip;
}

/* A free chunk that holds `size` at a multiple of `align`, or NULL. */
static struct replay_pool_chunk *find(const struct replay_pool *pool, uint64_t size, uint64_t align)
{
    struct list_place place = place_of(size);
    struct replay_pool_chunk *chunk = pool->lists[place.first][place.second];
    uint64_t padded = size + align - 1, first_map;
    uint16_t second_map;

    /* The tightest list first: what it holds may be a little too small or lie badly. */
    for (int i = 0; chunk && i < CLOSE_TRIES; i++, chunk = chunk->next)
        if (fits(chunk, size, align))
            return chunk;
    /* From here on everything fits: the size is rounded up to where a list begins. */
    if (padded >= SECOND_COUNT)
        padded += ((uint64_t)1 << (63u - (unsigned)__builtin_clzll(padded) - SECOND_BITS)) - 1;
    place = place_of(padded);
    second_map = pool->second_map[place.first] & (uint16_t)(~0u << place.second);
    if (!second_map) {
        first_map = pool->first_map & (~(uint64_t)0 << 1 << place.first);
        if (!first_map)
            return NULL;
        place.first = (unsigned)__builtin_ctzll(first_map);
        second_map = pool->second_map[place.first];
    }
    return pool->lists[place.first][__builtin_ctz(second_map)];
}

static struct replay_pool_chunk *chunk_create(struct pool_block *block, uint64_t offset, uint64_t size)
{
    struct replay_pool_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk) {
        chunk->block = block;
        chunk->offset = offset;
        chunk->size = size;
    }
    return chunk;
}

/* Cuts a chunk that is in no list: what lies from `size` on becomes a chunk of its own, in no list either. */
static struct replay_pool_chunk *split(struct replay_pool_chunk *chunk, uint64_t size)
{
    struct replay_pool_chunk *rest = chunk_create(chunk->block, chunk->offset + size, chunk->size - size);
    if (!rest)
        return NULL;
    rest->before = chunk;
    rest->after = chunk->after;
    if (chunk->after)
        chunk->after->before = rest;
    chunk->after = rest;
    chunk->size = size;
    return rest;
}

/* Joins a chunk with the one behind it, which is in no list. */
static void join(struct replay_pool_chunk *chunk)
{
    struct replay_pool_chunk *rest = chunk->after;
    chunk->size += rest->size;
    chunk->after = rest->after;
    if (rest->after)
        rest->after->before = chunk;
    free(rest);
}

static void release_block(struct replay_pool *pool, struct pool_block *block)
{
    struct replay_pool_chunk *chunk = block->first;

    if (block->previous)
        block->previous->next = block->next;
    else
        pool->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    if (!pool->abandoned) {
        pool->stats.blocks--;
        pool->stats.block_bytes -= block->size << pool->granule_shift;
        pool->options.destroy_block(pool->options.user, block->user_block);
    }
    while (chunk) {
        struct replay_pool_chunk *after = chunk->after;
        free(chunk);
        chunk = after;
    }
    free(block);
}

/* Asks the owner for a block: smaller and smaller ones, as long as they hold what is needed. */
static enum lap_status request_block(struct replay_pool *pool, uint64_t need_bytes, uint64_t *out_bytes,
                                     void **out_block)
{
    uint64_t bytes = pool->next_block_bytes;

    if (pool->options.choose_block) {
        bytes = pool->options.choose_block(pool->options.user, need_bytes, pool->stats.block_bytes);
        if (bytes > pool->options.max_block_bytes)
            bytes = pool->options.max_block_bytes;
        bytes &= ~(pool->options.granule_bytes - 1);
    }
    if (bytes < need_bytes)
        bytes = need_bytes;
    for (;;) {
        enum lap_status status = pool->options.create_block(pool->options.user, bytes, out_block);
        *out_bytes = bytes;
        if (status != LAP_ERROR_MEMORY || bytes == need_bytes)
            return status;
        bytes = bytes / 2 > need_bytes ? bytes / 2 & ~(pool->options.granule_bytes - 1) : need_bytes;
        if (bytes < need_bytes)
            bytes = need_bytes;
    }
}

static enum lap_status add_block(struct replay_pool *pool, uint64_t need, struct replay_pool_chunk **out_chunk)
{
    struct pool_block *block = calloc(1, sizeof *block);
    struct replay_pool_chunk *chunk = block ? chunk_create(block, 0, 0) : NULL;
    enum lap_status status;
    uint64_t bytes;

    if (!chunk) {
        free(block);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    status = request_block(pool, need << pool->granule_shift, &bytes, &block->user_block);
    if (status != LAP_OK) {
        free(chunk);
        free(block);
        return status;
    }
    if (bytes >= pool->next_block_bytes && pool->next_block_bytes < pool->options.max_block_bytes)
        pool->next_block_bytes = pool->next_block_bytes * 2 < pool->options.max_block_bytes
                                     ? pool->next_block_bytes * 2
                                     : pool->options.max_block_bytes;
    block->size = chunk->size = bytes >> pool->granule_shift;
    block->first = chunk;
    block->next = pool->blocks;
    if (pool->blocks)
        pool->blocks->previous = block;
    pool->blocks = block;
    pool->stats.blocks++;
    pool->stats.block_bytes += bytes;
    list_insert(pool, chunk);
    *out_chunk = chunk;
    return LAP_OK;
}

enum lap_status replay_pool_create(const struct replay_pool_options *options, struct replay_pool **out_pool)
{
    uint64_t mask = options->granule_bytes - 1;
    struct replay_pool *pool;

    *out_pool = NULL;
    if (options->granule_bytes == 0 || (options->granule_bytes & mask) ||
        options->first_block_bytes < options->granule_bytes || options->max_block_bytes < options->first_block_bytes ||
        options->max_block_bytes > MAX_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "a pool can't have such blocks");
    pool = calloc(1, sizeof *pool);
    if (!pool)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    pool->options = *options;
    pool->options.max_block_bytes &= ~mask;
    pool->next_block_bytes = options->first_block_bytes & ~mask;
    pool->granule_shift = (unsigned)__builtin_ctzll(options->granule_bytes);
    *out_pool = pool;
    return LAP_OK;
}

void replay_pool_destroy(struct replay_pool **pool)
{
    if (!*pool)
        return;
    while ((*pool)->blocks)
        release_block(*pool, (*pool)->blocks);
    free(*pool);
    *pool = NULL;
}

/* Puts a chunk that nobody uses into its list, or ends its block when that is the second empty one. */
static void give_back(struct replay_pool *pool, struct replay_pool_chunk *chunk)
{
    struct pool_block *block = chunk->block;

    if (chunk->size == block->size && pool->empty) {
        release_block(pool, block);
        return;
    }
    if (chunk->size == block->size)
        pool->empty = block;
    list_insert(pool, chunk);
}

/* Gives the parts of a chunk (in no list) that an allocation does not need back to the lists. */
static struct replay_pool_chunk *trim(struct replay_pool *pool, struct replay_pool_chunk *chunk, uint64_t size,
                                      uint64_t align)
{
    uint64_t skip = aligned_offset(chunk, align) - chunk->offset;

    if (skip) {
        struct replay_pool_chunk *rest = split(chunk, skip);
        if (!rest) {
            give_back(pool, chunk);
            return NULL;
        }
        list_insert(pool, chunk);
        chunk = rest;
    }
    if (chunk->size > size) {
        struct replay_pool_chunk *rest = split(chunk, size);
        if (rest)
            list_insert(pool, rest); /* without memory for it the allocation keeps the rest */
    }
    return chunk;
}

/* In granules. */
static uint64_t size_of(const struct replay_pool *pool, uint64_t bytes)
{
    return (bytes + pool->options.granule_bytes - 1) >> pool->granule_shift;
}

static uint64_t align_of(const struct replay_pool *pool, uint64_t align)
{
    return align > pool->options.granule_bytes ? align >> pool->granule_shift : 1;
}

bool replay_pool_has_room(const struct replay_pool *pool, uint64_t bytes, uint64_t align)
{
    return !pool->abandoned && bytes && bytes <= MAX_BYTES && align <= MAX_BYTES &&
           find(pool, size_of(pool, bytes), align_of(pool, align));
}

enum lap_status replay_pool_alloc(struct replay_pool *pool, uint64_t bytes, uint64_t align,
                                  struct replay_pool_range *out_range)
{
    uint64_t size = size_of(pool, bytes), align_granules = align_of(pool, align);
    struct replay_pool_chunk *chunk;
    struct pool_block *block;
    uint64_t used, end;

    *out_range = (struct replay_pool_range){0};
    if (pool->abandoned || bytes == 0 || bytes > MAX_BYTES || align > MAX_BYTES || (align & (align - 1)))
        return lap_fail(LAP_ERROR_ARGUMENT, "a pool can't give out such a range");
    chunk = find(pool, size, align_granules);
    if (!chunk) {
        enum lap_status status = add_block(pool, size, &chunk);
        if (status != LAP_OK)
            return status;
    }
    block = chunk->block;
    list_remove(pool, chunk);
    if (pool->empty == block)
        pool->empty = NULL;
    chunk = trim(pool, chunk, size, align_granules);
    if (!chunk)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    pool->stats.ranges++;
    pool->stats.used_bytes += chunk->size << pool->granule_shift;
    end = chunk->offset + chunk->size;
    used = block->used <= chunk->offset ? 0 : block->used < end ? block->used - chunk->offset : chunk->size;
    block->used = block->used < end ? end : block->used;
    *out_range = (struct replay_pool_range){chunk, block->user_block, chunk->offset << pool->granule_shift,
                                            chunk->size << pool->granule_shift, used << pool->granule_shift};
    return LAP_OK;
}

void replay_pool_free(struct replay_pool *pool, struct replay_pool_range *range)
{
    struct replay_pool_chunk *chunk = range->chunk;

    *range = (struct replay_pool_range){0};
    if (!chunk)
        return;
    pool->stats.ranges--;
    pool->stats.used_bytes -= chunk->size << pool->granule_shift;
    if (pool->abandoned)
        return; /* its chunk ends with the pool */
    if (chunk->after && chunk->after->free) {
        list_remove(pool, chunk->after);
        join(chunk);
    }
    if (chunk->before && chunk->before->free) {
        chunk = chunk->before;
        list_remove(pool, chunk);
        join(chunk);
    }
    give_back(pool, chunk);
}

struct replay_pool_stats replay_pool_stats(const struct replay_pool *pool)
{
    return pool->stats;
}

uint64_t replay_pool_largest_free(const struct replay_pool *pool)
{
    uint64_t largest = 0;
    unsigned first, second;

    if (!pool->first_map)
        return 0;
    first = 63u - (unsigned)__builtin_clzll(pool->first_map);
    second = 31u - (unsigned)__builtin_clz(pool->second_map[first]);
    for (const struct replay_pool_chunk *chunk = pool->lists[first][second]; chunk; chunk = chunk->next)
        largest = chunk->size > largest ? chunk->size : largest;
    return largest << pool->granule_shift;
}

void replay_pool_trim(struct replay_pool *pool)
{
    struct pool_block *block = pool->empty;

    if (!block)
        return;
    list_remove(pool, block->first);
    pool->empty = NULL;
    release_block(pool, block);
}

void replay_pool_abandon(struct replay_pool *pool)
{
    if (pool->abandoned)
        return;
    for (struct pool_block *block = pool->blocks; block; block = block->next)
        pool->options.destroy_block(pool->options.user, block->user_block);
    pool->abandoned = true;
    pool->empty = NULL;
    pool->stats.blocks = pool->stats.block_bytes = 0;
    pool->first_map = 0;
    memset(pool->second_map, 0, sizeof pool->second_map);
    memset(pool->lists, 0, sizeof pool->lists);
}

/* Whether a free chunk is in its list, and a used one in none. */
static bool listed(const struct replay_pool *pool, const struct replay_pool_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);
    const struct replay_pool_chunk *other = pool->lists[place.first][place.second];

    while (other && other != chunk)
        other = other->next;
    return chunk->free == (other != NULL);
}

static bool block_valid(const struct replay_pool *pool, const struct pool_block *block, struct replay_pool_stats *sums,
                        uint64_t *out_free_chunks)
{
    const struct replay_pool_chunk *before = NULL;
    uint64_t end = 0;

    for (const struct replay_pool_chunk *chunk = block->first; chunk; before = chunk, chunk = chunk->after) {
        if (chunk->block != block || chunk->before != before || chunk->offset != end || chunk->size == 0 ||
            !listed(pool, chunk))
            return false;
        if (before && before->free && chunk->free)
            return false;
        if (chunk->free) {
            ++*out_free_chunks;
        } else {
            sums->ranges++;
            sums->used_bytes += chunk->size << pool->granule_shift;
        }
        end += chunk->size;
    }
    return end == block->size;
}

bool replay_pool_valid(const struct replay_pool *pool)
{
    struct replay_pool_stats sums = {0};
    uint64_t free_chunks = 0, in_lists = 0, empty = 0;

    for (const struct pool_block *block = pool->blocks; block; block = block->next) {
        sums.blocks++;
        sums.block_bytes += block->size << pool->granule_shift;
        empty += block->first && block->first->free && block->first->size == block->size;
        if (!block_valid(pool, block, &sums, &free_chunks))
            return false;
    }
    for (unsigned i = 0; i < FIRST_COUNT; i++) {
        if ((pool->first_map >> i & 1) != (pool->second_map[i] != 0))
            return false;
        for (unsigned j = 0; j < SECOND_COUNT; j++) {
            if ((pool->second_map[i] >> j & 1) != (pool->lists[i][j] != NULL))
                return false;
            for (const struct replay_pool_chunk *chunk = pool->lists[i][j]; chunk; chunk = chunk->next)
                in_lists++;
        }
    }
    return free_chunks == in_lists && empty == (pool->empty != NULL) && sums.blocks == pool->stats.blocks &&
           sums.block_bytes == pool->stats.block_bytes && sums.ranges == pool->stats.ranges &&
           sums.used_bytes == pool->stats.used_bytes;
}
