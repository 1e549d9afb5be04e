/* SPDX-License-Identifier: MIT */
#include "memtrack/page_pool.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_PAGES 64u
#define BLOCK_BYTES ((size_t)BLOCK_PAGES * LAP_POOL_PAGE)
#define ALL_FREE    (~UINT64_C(1)) /* the first page is the block's own */
/* A pool that has some blocks gets the next ones together, as one huge page: a comparison accesses pages all over a
 * pool, and a page table walk for each costs a fourth of the time of reading it. */
#define HUGE_BYTES ((size_t)2 << 20)
#define FEW_BLOCKS 32u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Lies in the first page of its block, and blocks are aligned to their size, so that every page finds it. */
struct lap_page_block {
    struct lap_page_block *previous, *next; /* in pool->blocks */
    uint64_t free;                          /* a bit for each page */
    uint64_t dirty;                         /* those that were used before: not zero any more */
};

static struct lap_page_block *block_of(void *page)
{
    return (struct lap_page_block *)((uintptr_t)page & ~(uintptr_t)(BLOCK_BYTES - 1));
}

static void link_block(struct lap_page_pool *pool, struct lap_page_block *block)
{
    block->previous = NULL;
    block->next = pool->blocks;
    if (block->next)
        block->next->previous = block;
    pool->blocks = block;
}

static void unlink_block(struct lap_page_pool *pool, struct lap_page_block *block)
{
    if (block->previous)
        block->previous->next = block->next;
    else
        pool->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
}

/* Memory that is aligned to its size; NULL when there is none. */
static unsigned char *map_aligned(size_t bytes)
{
    unsigned char *memory =
        mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;
    if (memory == MAP_FAILED)
        return NULL;
    before = (bytes - (uintptr_t)memory % bytes) % bytes;
    if (before)
        munmap(memory, before);
    munmap(memory + before + bytes, bytes - before);
    return memory + before;
}

static struct lap_page_block *create_blocks(struct lap_page_pool *pool)
{
    size_t bytes = pool->block_count < FEW_BLOCKS ? BLOCK_BYTES : HUGE_BYTES;
    unsigned char *memory = map_aligned(bytes);
    if (!memory)
        return NULL;
    if (bytes == HUGE_BYTES)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);   /* a kernel may have none */
    (void)madvise(memory, bytes, MADV_POPULATE_WRITE); /* an older kernel gives one page after the other */
    for (size_t at = bytes; at > 0; at -= BLOCK_BYTES) {
        struct lap_page_block *block = (struct lap_page_block *)(void *)(memory + at - BLOCK_BYTES);
        block->free = ALL_FREE;
        block->dirty = 0;
        pool->block_count++;
        link_block(pool, block);
    }
    return pool->blocks;
}

static void destroy_block(struct lap_page_pool *pool, struct lap_page_block *block)
{
    unlink_block(pool, block);
    munmap(block, BLOCK_BYTES);
    pool->block_count--;
}

void *lap_page_pool_take(struct lap_page_pool *pool)
{
    struct lap_page_block *block = pool->blocks ? pool->blocks : create_blocks(pool);
    unsigned number;
    unsigned char *page;
    if (!block)
        return NULL;
    number = (unsigned)__builtin_ctzll(block->free);
    page = (unsigned char *)block + (size_t)number * LAP_POOL_PAGE;
    if (block->dirty >> number & 1)
        memset(page, 0, LAP_POOL_PAGE);
    block->dirty |= UINT64_C(1) << number;
    block->free &= block->free - 1;
    if (!block->free)
        unlink_block(pool, block);
    return page;
}

void lap_page_pool_give(struct lap_page_pool *pool, void *page)
{
    struct lap_page_block *block = block_of(page);
    unsigned number = (unsigned)(((uintptr_t)page - (uintptr_t)block) / LAP_POOL_PAGE);
    if (!block->free)
        link_block(pool, block);
    block->free |= UINT64_C(1) << number;
    /* One empty block is kept for the next page. */
    if (block->free == ALL_FREE && (block->previous || block->next))
        destroy_block(pool, block);
}

void lap_page_pool_finish(struct lap_page_pool *pool)
{
    while (pool->blocks)
        destroy_block(pool, pool->blocks);
}
