/* SPDX-License-Identifier: MIT */
#include "memtrack/page_pool.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_PAGES 64u
#define BLOCK_BYTES ((size_t)BLOCK_PAGES * LAP_POOL_PAGE)
#define ALL_FREE    (~UINT64_C(1)) /* the first page is the block's own */

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

static struct lap_page_block *create_block(struct lap_page_pool *pool)
{
    unsigned char *memory =
        mmap(NULL, 2 * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct lap_page_block *block;
    size_t before;
    if (memory == MAP_FAILED)
        return NULL;
    before = (BLOCK_BYTES - (uintptr_t)memory % BLOCK_BYTES) % BLOCK_BYTES;
    if (before)
        munmap(memory, before);
    munmap(memory + before + BLOCK_BYTES, BLOCK_BYTES - before);
    block = (struct lap_page_block *)(void *)(memory + before);
    (void)madvise(block, BLOCK_BYTES, MADV_POPULATE_WRITE); /* an older kernel gives one page after the other */
    block->free = ALL_FREE;
    block->dirty = 0;
    pool->block_count++;
    link_block(pool, block);
    return block;
}

static void destroy_block(struct lap_page_pool *pool, struct lap_page_block *block)
{
    unlink_block(pool, block);
    munmap(block, BLOCK_BYTES);
    pool->block_count--;
}

void *lap_page_pool_take(struct lap_page_pool *pool)
{
    struct lap_page_block *block = pool->blocks ? pool->blocks : create_block(pool);
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
