/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK_BYTES   ((size_t)16 << 10)
#define LARGEST_BLOCK_BYTES ((size_t)1 << 20) /* blocks double up to here; larger requests get their own size */
#define LARGEST_ALIGN       64u

struct lap_arena_block {
    struct lap_arena_block *next;
    size_t bytes; /* of data */
    _Alignas(LARGEST_ALIGN) unsigned char data[];
};

/* Where an arena without a block points: pointer arithmetic on NULL is undefined. */
static unsigned char nowhere[1];

void lap_arena_init(struct lap_arena *arena, size_t limit_bytes)
{
    memset(arena, 0, sizeof(*arena));
    arena->next = arena->end = nowhere;
    arena->limit_bytes = limit_bytes;
}

size_t lap_arena_used_bytes(const struct lap_arena *arena)
{
    return arena->before_bytes + (arena->blocks ? (size_t)(arena->next - arena->blocks->data) : 0);
}

/* The current block's free part begins at `next`, and ends where the limit would be passed. */
static void set_free(struct lap_arena *arena, unsigned char *next)
{
    struct lap_arena_block *block = arena->blocks;
    size_t most = block->bytes;
    if (arena->limit_bytes && arena->limit_bytes - arena->before_bytes < most)
        most = arena->limit_bytes - arena->before_bytes;
    arena->next = next;
    arena->end = block->data + most;
}

/* After each change of the list of blocks. */
static void find_only(struct lap_arena *arena)
{
    struct lap_arena_block *block = arena->blocks;
    arena->only = block && !block->next && block->bytes <= LARGEST_BLOCK_BYTES ? block->data : NULL;
}

static void free_blocks(struct lap_arena_block *block)
{
    while (block) {
        struct lap_arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void lap_arena_finish(struct lap_arena *arena)
{
    free_blocks(arena->blocks);
    lap_arena_init(arena, arena->limit_bytes);
}

void lap_arena_reset_slow(struct lap_arena *arena)
{
    struct lap_arena_block *block = arena->blocks;
    arena->before_bytes = 0;
    if (!block)
        return;
    free_blocks(block->next);
    block->next = NULL;
    /* One huge request must not keep its memory for ever. */
    if (block->bytes > LARGEST_BLOCK_BYTES) {
        free(block);
        arena->blocks = NULL;
        arena->next = arena->end = nowhere;
        return;
    }
    set_free(arena, block->data);
    find_only(arena);
}

bool lap_arena_is_full(const struct lap_arena *arena, size_t bytes)
{
    size_t used = lap_arena_used_bytes(arena);
    return arena->limit_bytes &&
           (used > arena->limit_bytes || bytes > ((arena->limit_bytes - used) & ~(LAP_ARENA_STEP - 1)));
}

void *lap_arena_alloc_slow(struct lap_arena *arena, size_t bytes, size_t align)
{
    if (bytes > PTRDIFF_MAX || align == 0 || align > LARGEST_ALIGN || (align & (align - 1)))
        return NULL;
    /* A new block starts aligned, so it needs no padding. */
    if (lap_arena_is_full(arena, bytes))
        return NULL;
    bytes = (bytes + LAP_ARENA_STEP - 1) & ~(LAP_ARENA_STEP - 1);

    size_t want = FIRST_BLOCK_BYTES;
    if (arena->blocks && arena->blocks->bytes >= FIRST_BLOCK_BYTES / 2)
        want = arena->blocks->bytes * 2;
    if (want > LARGEST_BLOCK_BYTES)
        want = LARGEST_BLOCK_BYTES;
    if (want < bytes)
        want = bytes;
    if (want > PTRDIFF_MAX - sizeof(struct lap_arena_block) - LARGEST_ALIGN)
        return NULL;

    size_t total = (sizeof(struct lap_arena_block) + want + LARGEST_ALIGN - 1) & ~(size_t)(LARGEST_ALIGN - 1);
    struct lap_arena_block *block = aligned_alloc(LARGEST_ALIGN, total);
    if (!block)
        return NULL;
    block->bytes = want;

    /* A request that fills most of its block must not throw away the free part of the current one. */
    if (arena->blocks && want - bytes < (size_t)(arena->end - arena->next)) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
        arena->before_bytes += bytes;
        set_free(arena, arena->next);
        find_only(arena);
        return block->data;
    }
    arena->before_bytes = lap_arena_used_bytes(arena);
    block->next = arena->blocks;
    arena->blocks = block;
    set_free(arena, block->data + bytes);
    find_only(arena);
    return block->data;
}

void *lap_arena_zalloc(struct lap_arena *arena, size_t count, size_t size, size_t align)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *memory = lap_arena_alloc(arena, bytes, align);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}
