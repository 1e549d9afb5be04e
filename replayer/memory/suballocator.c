/* SPDX-License-Identifier: MIT */
#include "replayer/memory/suballocator.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_BITS  4u
#define SECOND_COUNT (1u << SECOND_BITS)
#define FIRST_COUNT  (64u - SECOND_BITS + 1u)
#define MAX_BYTES    ((uint64_t)1 << 62)
#define CLOSE_TRIES  16 /* chunks to try in the list that may hold too small ones, before a new block */

/* Sizes and offsets of chunks are in granules. */
struct replay_suballocator_chunk {
    struct block *block;
    uint64_t offset, size;
    struct replay_suballocator_chunk *before, *after;  /* neighbours in the block */
    struct replay_suballocator_chunk *previous, *next; /* in the free list */
    bool free;
};

struct block {
    void *user_block;
    uint64_t size; /* in granules */
    uint64_t used; /* everything behind it has never been allocated */
    struct replay_suballocator_chunk *first;
    struct block *previous, *next;
};

struct replay_suballocator {
    struct replay_suballocator_options options;
    unsigned granule_shift;
    struct block *blocks;
    struct block *empty; /* the empty block that is not freed */
    struct replay_suballocator_stats stats;
    uint64_t first_map;
    uint16_t second_map[FIRST_COUNT];
    struct replay_suballocator_chunk *lists[FIRST_COUNT][SECOND_COUNT];
};

struct list_place {
    unsigned first, second;
};

/* The list whose smallest chunk size is the largest one that is no larger than size. size > 0. */
static struct list_place place_of(uint64_t size)
{
    unsigned log;
    if (size < SECOND_COUNT)
        return (struct list_place){0, (unsigned)size};
    log = 63u - (unsigned)__builtin_clzll(size);
    return (struct list_place){log - SECOND_BITS + 1, (unsigned)(size >> (log - SECOND_BITS)) & (SECOND_COUNT - 1)};
}

static void list_insert(struct replay_suballocator *suballocator, struct replay_suballocator_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);
    struct replay_suballocator_chunk **head = &suballocator->lists[place.first][place.second];

    chunk->free = true;
    chunk->previous = NULL;
    chunk->next = *head;
    if (*head)
        (*head)->previous = chunk;
    *head = chunk;
    suballocator->first_map |= (uint64_t)1 << place.first;
    suballocator->second_map[place.first] |= (uint16_t)(1u << place.second);
}

static void list_remove(struct replay_suballocator *suballocator, struct replay_suballocator_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);

    if (chunk->next)
        chunk->next->previous = chunk->previous;
    if (chunk->previous) {
        chunk->previous->next = chunk->next;
    } else {
        suballocator->lists[place.first][place.second] = chunk->next;
        if (!chunk->next) {
            suballocator->second_map[place.first] &= (uint16_t) ~(1u << place.second);
            if (!suballocator->second_map[place.first])
                suballocator->first_map &= ~((uint64_t)1 << place.first);
        }
    }
    chunk->free = false;
    chunk->previous = chunk->next = NULL;
}

static uint64_t aligned_offset(const struct replay_suballocator_chunk *chunk, uint64_t align)
{
    return (chunk->offset + align - 1) & ~(align - 1);
}

static bool fits(const struct replay_suballocator_chunk *chunk, uint64_t size, uint64_t align)
{
    uint64_t skip = aligned_offset(chunk, align) - chunk->offset;
    return skip <= chunk->size && size <= chunk->size - skip;
}

/* Finds a free chunk with room for `size` at a multiple of `align`; NULL: there is none. */
static struct replay_suballocator_chunk *find(const struct replay_suballocator *suballocator, uint64_t size,
                                              uint64_t align)
{
    struct list_place place = place_of(size);
    struct replay_suballocator_chunk *chunk = suballocator->lists[place.first][place.second];
    uint64_t padded = size + align - 1, first_map;
    uint16_t second_map;

    /* Tries the tightest list first: its chunks may be slightly too small or misaligned. */
    for (int i = 0; chunk && i < CLOSE_TRIES; i++, chunk = chunk->next)
        if (fits(chunk, size, align))
            return chunk;
    /* Every chunk in these lists fits: the size is rounded up to the smallest one of a list. */
    if (padded >= SECOND_COUNT)
        padded += ((uint64_t)1 << (63u - (unsigned)__builtin_clzll(padded) - SECOND_BITS)) - 1;
    place = place_of(padded);
    second_map = suballocator->second_map[place.first] & (uint16_t)(~0u << place.second);
    if (!second_map) {
        first_map = suballocator->first_map & (~(uint64_t)0 << 1 << place.first);
        if (!first_map)
            return NULL;
        place.first = (unsigned)__builtin_ctzll(first_map);
        second_map = suballocator->second_map[place.first];
    }
    return suballocator->lists[place.first][__builtin_ctz(second_map)];
}

static struct replay_suballocator_chunk *chunk_create(struct block *block, uint64_t offset, uint64_t size)
{
    struct replay_suballocator_chunk *chunk = calloc(1, sizeof *chunk);
    if (chunk) {
        chunk->block = block;
        chunk->offset = offset;
        chunk->size = size;
    }
    return chunk;
}

/* Splits a chunk that is in no list at `size`. The second part becomes a new chunk, in no list either. */
static struct replay_suballocator_chunk *split(struct replay_suballocator_chunk *chunk, uint64_t size)
{
    struct replay_suballocator_chunk *rest = chunk_create(chunk->block, chunk->offset + size, chunk->size - size);
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

/* Joins a chunk with the next one, which is in no list. */
static void join(struct replay_suballocator_chunk *chunk)
{
    struct replay_suballocator_chunk *rest = chunk->after;
    chunk->size += rest->size;
    chunk->after = rest->after;
    if (rest->after)
        rest->after->before = chunk;
    free(rest);
}

static void release_block(struct replay_suballocator *suballocator, struct block *block)
{
    struct replay_suballocator_chunk *chunk = block->first;

    if (block->previous)
        block->previous->next = block->next;
    else
        suballocator->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    suballocator->stats.blocks--;
    suballocator->stats.block_bytes -= block->size << suballocator->granule_shift;
    suballocator->options.destroy_block(suballocator->options.user, block->user_block);
    while (chunk) {
        struct replay_suballocator_chunk *after = chunk->after;
        free(chunk);
        chunk = after;
    }
    free(block);
}

/* Asks the owner for a block. If that fails, it tries smaller ones, down to need_bytes. */
static enum lap_status request_block(struct replay_suballocator *suballocator, uint64_t need_bytes, uint64_t *out_bytes,
                                     void **out_block)
{
    uint64_t bytes = suballocator->options.choose_block_bytes(suballocator->options.user, need_bytes,
                                                              suballocator->stats.block_bytes);

    if (bytes > suballocator->options.max_block_bytes)
        bytes = suballocator->options.max_block_bytes;
    bytes &= ~(suballocator->options.granule_bytes - 1);
    if (bytes < need_bytes)
        bytes = need_bytes;
    for (;;) {
        enum lap_status status = suballocator->options.create_block(suballocator->options.user, bytes, out_block);
        *out_bytes = bytes;
        if (status != LAP_ERROR_MEMORY || bytes == need_bytes)
            return status;
        bytes = bytes / 2 > need_bytes ? bytes / 2 & ~(suballocator->options.granule_bytes - 1) : need_bytes;
        if (bytes < need_bytes)
            bytes = need_bytes;
    }
}

static enum lap_status add_block(struct replay_suballocator *suballocator, uint64_t need,
                                 struct replay_suballocator_chunk **out_chunk)
{
    struct block *block = calloc(1, sizeof *block);
    struct replay_suballocator_chunk *chunk = block ? chunk_create(block, 0, 0) : NULL;
    enum lap_status status;
    uint64_t bytes;

    if (!chunk) {
        free(block);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    status = request_block(suballocator, need << suballocator->granule_shift, &bytes, &block->user_block);
    if (status != LAP_OK) {
        free(chunk);
        free(block);
        return status;
    }
    block->size = chunk->size = bytes >> suballocator->granule_shift;
    block->first = chunk;
    block->next = suballocator->blocks;
    if (suballocator->blocks)
        suballocator->blocks->previous = block;
    suballocator->blocks = block;
    suballocator->stats.blocks++;
    suballocator->stats.block_bytes += bytes;
    list_insert(suballocator, chunk);
    *out_chunk = chunk;
    return LAP_OK;
}

enum lap_status replay_suballocator_create(const struct replay_suballocator_options *options,
                                           struct replay_suballocator **out_pool)
{
    uint64_t mask = options->granule_bytes - 1;
    struct replay_suballocator *suballocator;

    *out_pool = NULL;
    if (options->granule_bytes == 0 || (options->granule_bytes & mask) ||
        options->max_block_bytes < options->granule_bytes || options->max_block_bytes > MAX_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "a suballocator can't have such blocks");
    suballocator = calloc(1, sizeof *suballocator);
    if (!suballocator)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    suballocator->options = *options;
    suballocator->options.max_block_bytes &= ~mask;
    suballocator->granule_shift = (unsigned)__builtin_ctzll(options->granule_bytes);
    *out_pool = suballocator;
    return LAP_OK;
}

void replay_suballocator_destroy(struct replay_suballocator **suballocator)
{
    if (!*suballocator)
        return;
    LAP_ASSERT(replay_suballocator_valid(*suballocator), "chunks, lists and sums of a suballocator agree");
    while ((*suballocator)->blocks)
        release_block(*suballocator, (*suballocator)->blocks);
    free(*suballocator);
    *suballocator = NULL;
}

/* Puts a free chunk into its list, or frees its block if another empty block exists. */
static void give_back(struct replay_suballocator *suballocator, struct replay_suballocator_chunk *chunk)
{
    struct block *block = chunk->block;

    if (chunk->size == block->size && suballocator->empty) {
        release_block(suballocator, block);
        return;
    }
    if (chunk->size == block->size)
        suballocator->empty = block;
    list_insert(suballocator, chunk);
}

/* Returns the unneeded parts of a chunk (in no list) to the lists. */
static struct replay_suballocator_chunk *trim(struct replay_suballocator *suballocator,
                                              struct replay_suballocator_chunk *chunk, uint64_t size, uint64_t align)
{
    uint64_t skip = aligned_offset(chunk, align) - chunk->offset;

    if (skip) {
        struct replay_suballocator_chunk *rest = split(chunk, skip);
        if (!rest) {
            give_back(suballocator, chunk);
            return NULL;
        }
        list_insert(suballocator, chunk);
        chunk = rest;
    }
    if (chunk->size > size) {
        struct replay_suballocator_chunk *rest = split(chunk, size);
        if (rest)
            list_insert(suballocator, rest); /* without memory for a chunk, the allocation keeps the rest */
    }
    return chunk;
}

/* In granules. */
static uint64_t size_of(const struct replay_suballocator *suballocator, uint64_t bytes)
{
    return (bytes + suballocator->options.granule_bytes - 1) >> suballocator->granule_shift;
}

static uint64_t align_of(const struct replay_suballocator *suballocator, uint64_t align)
{
    return align > suballocator->options.granule_bytes ? align >> suballocator->granule_shift : 1;
}

enum lap_status replay_suballocator_alloc(struct replay_suballocator *suballocator, uint64_t bytes, uint64_t align,
                                          struct replay_suballocator_range *out_range)
{
    uint64_t size = size_of(suballocator, bytes), align_granules = align_of(suballocator, align);
    struct replay_suballocator_chunk *chunk;
    struct block *block;
    uint64_t used, end;

    *out_range = (struct replay_suballocator_range){0};
    if (bytes == 0 || bytes > MAX_BYTES || align > MAX_BYTES || (align & (align - 1)))
        return lap_fail(LAP_ERROR_ARGUMENT, "a suballocator can't give out such a range");
    chunk = find(suballocator, size, align_granules);
    if (!chunk) {
        enum lap_status status = add_block(suballocator, size, &chunk);
        if (status != LAP_OK)
            return status;
    }
    block = chunk->block;
    list_remove(suballocator, chunk);
    if (suballocator->empty == block)
        suballocator->empty = NULL;
    chunk = trim(suballocator, chunk, size, align_granules);
    if (!chunk)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    suballocator->stats.ranges++;
    suballocator->stats.used_bytes += chunk->size << suballocator->granule_shift;
    end = chunk->offset + chunk->size;
    LAP_ASSERT(end <= block->size && chunk->offset % align_granules == 0, "a range lies aligned inside of its block");
    used = block->used <= chunk->offset ? 0 : block->used < end ? block->used - chunk->offset : chunk->size;
    block->used = block->used < end ? end : block->used;
    *out_range = (struct replay_suballocator_range){
        chunk, block->user_block, chunk->offset << suballocator->granule_shift,
        chunk->size << suballocator->granule_shift, used << suballocator->granule_shift};
    return LAP_OK;
}

void replay_suballocator_free(struct replay_suballocator *suballocator, struct replay_suballocator_range *range)
{
    struct replay_suballocator_chunk *chunk = range->chunk;

    *range = (struct replay_suballocator_range){0};
    if (!chunk)
        return;
    suballocator->stats.ranges--;
    suballocator->stats.used_bytes -= chunk->size << suballocator->granule_shift;
    if (chunk->after && chunk->after->free) {
        list_remove(suballocator, chunk->after);
        join(chunk);
    }
    if (chunk->before && chunk->before->free) {
        chunk = chunk->before;
        list_remove(suballocator, chunk);
        join(chunk);
    }
    give_back(suballocator, chunk);
}

struct replay_suballocator_stats replay_suballocator_stats(const struct replay_suballocator *suballocator)
{
    return suballocator->stats;
}

uint64_t replay_suballocator_largest_free(const struct replay_suballocator *suballocator)
{
    uint64_t largest = 0;
    unsigned first, second;

    if (!suballocator->first_map)
        return 0;
    first = 63u - (unsigned)__builtin_clzll(suballocator->first_map);
    second = 31u - (unsigned)__builtin_clz(suballocator->second_map[first]);
    for (const struct replay_suballocator_chunk *chunk = suballocator->lists[first][second]; chunk; chunk = chunk->next)
        largest = chunk->size > largest ? chunk->size : largest;
    return largest << suballocator->granule_shift;
}

void replay_suballocator_trim(struct replay_suballocator *suballocator)
{
    struct block *block = suballocator->empty;

    if (!block)
        return;
    LAP_ASSERT(replay_suballocator_valid(suballocator), "chunks, lists and sums of a suballocator agree");
    list_remove(suballocator, block->first);
    suballocator->empty = NULL;
    release_block(suballocator, block);
}

/* Whether a chunk is in its list exactly if it is free. */
static bool listed(const struct replay_suballocator *suballocator, const struct replay_suballocator_chunk *chunk)
{
    struct list_place place = place_of(chunk->size);
    const struct replay_suballocator_chunk *other = suballocator->lists[place.first][place.second];

    while (other && other != chunk)
        other = other->next;
    return chunk->free == (other != NULL);
}

static bool block_valid(const struct replay_suballocator *suballocator, const struct block *block,
                        struct replay_suballocator_stats *sums, uint64_t *out_free_chunks)
{
    const struct replay_suballocator_chunk *before = NULL;
    uint64_t end = 0;

    for (const struct replay_suballocator_chunk *chunk = block->first; chunk; before = chunk, chunk = chunk->after) {
        if (chunk->block != block || chunk->before != before || chunk->offset != end || chunk->size == 0 ||
            !listed(suballocator, chunk))
            return false;
        if (before && before->free && chunk->free)
            return false;
        if (chunk->free) {
            ++*out_free_chunks;
        } else {
            sums->ranges++;
            sums->used_bytes += chunk->size << suballocator->granule_shift;
        }
        end += chunk->size;
    }
    return end == block->size;
}

bool replay_suballocator_valid(const struct replay_suballocator *suballocator)
{
    struct replay_suballocator_stats sums = {0};
    uint64_t free_chunks = 0, in_lists = 0, empty = 0;

    for (const struct block *block = suballocator->blocks; block; block = block->next) {
        sums.blocks++;
        sums.block_bytes += block->size << suballocator->granule_shift;
        empty += block->first && block->first->free && block->first->size == block->size;
        if (!block_valid(suballocator, block, &sums, &free_chunks))
            return false;
    }
    for (unsigned i = 0; i < FIRST_COUNT; i++) {
        if ((suballocator->first_map >> i & 1) != (suballocator->second_map[i] != 0))
            return false;
        for (unsigned j = 0; j < SECOND_COUNT; j++) {
            if ((suballocator->second_map[i] >> j & 1) != (suballocator->lists[i][j] != NULL))
                return false;
            for (const struct replay_suballocator_chunk *chunk = suballocator->lists[i][j]; chunk; chunk = chunk->next)
                in_lists++;
        }
    }
    return free_chunks == in_lists && empty == (suballocator->empty != NULL) &&
           sums.blocks == suballocator->stats.blocks && sums.block_bytes == suballocator->stats.block_bytes &&
           sums.ranges == suballocator->stats.ranges && sums.used_bytes == suballocator->stats.used_bytes;
}
