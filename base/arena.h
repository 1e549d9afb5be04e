/* SPDX-License-Identifier: MIT */
/*
 * arena: memory that is given out in a row and taken back all at once. One thread at a time.
 */
#ifndef LAP_BASE_ARENA_H
#define LAP_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct lap_arena_block;

struct lap_arena {
    unsigned char *next, *end;      /* the free part of the current block */
    unsigned char *only;            /* the begin of that block, if it is the only one and a reset keeps it; else NULL */
    struct lap_arena_block *blocks; /* the current block first */
    size_t before_bytes;            /* given out of other blocks than the current one since the last reset */
    size_t limit_bytes;             /* no more is given out, slack included; 0: no limit */
};

void lap_arena_init(struct lap_arena *arena, size_t limit_bytes);
void lap_arena_finish(struct lap_arena *arena); /* also for a zeroed arena */

/* Forgets everything that was given out; keeps one block for reuse. */
void lap_arena_reset_slow(struct lap_arena *arena);
static inline void lap_arena_reset(struct lap_arena *arena)
{
    if (__builtin_expect(arena->only == NULL, 0)) {
        lap_arena_reset_slow(arena);
        return;
    }
    arena->next = arena->only;
}

/* Given out since the last reset, slack included. */
size_t lap_arena_used_bytes(const struct lap_arena *arena);

/* Whether so many more bytes would pass the limit, which is then why lap_arena_alloc gave none. */
bool lap_arena_is_full(const struct lap_arena *arena, size_t bytes);

#define LAP_ARENA_STEP ((size_t)8) /* sizes are multiples of it, so up to this alignment there is no padding */

void *lap_arena_alloc_slow(struct lap_arena *arena, size_t bytes, size_t align);

/* Uninitialised memory; align is a power of two <= 64. NULL when out of memory or past the limit. */
static inline void *lap_arena_alloc(struct lap_arena *arena, size_t bytes, size_t align)
{
    size_t pad = align > LAP_ARENA_STEP ? (size_t)(-(__UINTPTR_TYPE__)arena->next) & (align - 1) : 0;
    size_t step = (bytes + LAP_ARENA_STEP - 1) & ~(LAP_ARENA_STEP - 1);
    if (bytes <= __PTRDIFF_MAX__ && pad + step <= (size_t)(arena->end - arena->next)) {
        unsigned char *at = arena->next + pad;
        arena->next = at + step;
        return at;
    }
    return lap_arena_alloc_slow(arena, bytes, align);
}

/* The same, zeroed, for count * size bytes; NULL too when the product overflows. */
void *lap_arena_zalloc(struct lap_arena *arena, size_t count, size_t size, size_t align);

#endif
