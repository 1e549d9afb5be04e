/* SPDX-License-Identifier: MIT */
#include "memtrack/watch_pages.h"

#include <stddef.h>
#include <sys/mman.h>

#define BITS 12u
#define SIZE (1u << BITS)
#define MASK (SIZE - 1)

struct leaf {
    atomic_uint words[SIZE];
};
struct branch {
    struct leaf *_Atomic leaves[SIZE];
};

/* These and the leaves: release by lap_watch_pages_make, acquire by lap_watch_page: the zeroed words. */
static struct branch *_Atomic root[SIZE];

static struct leaf *leaf_of(uint64_t page)
{
    struct branch *branch =
        page >> 3 * BITS ? NULL : atomic_load_explicit(&root[page >> 2 * BITS], memory_order_acquire);
    return branch ? atomic_load_explicit(&branch->leaves[page >> BITS & MASK], memory_order_acquire) : NULL;
}

atomic_uint *lap_watch_page(uint64_t page)
{
    struct leaf *leaf = leaf_of(page);
    return leaf ? &leaf->words[page & MASK] : NULL;
}

atomic_uint *lap_watch_page_run(uint64_t page, uint64_t *out_count)
{
    *out_count = SIZE - (page & MASK);
    return lap_watch_page(page);
}

static void *zeroed(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

bool lap_watch_pages_make(uint64_t first, uint64_t end)
{
    for (uint64_t page = first; page < end; page = (page | MASK) + 1) {
        struct branch *branch;
        struct leaf *leaf;
        if (leaf_of(page))
            continue;
        if (page >> 3 * BITS)
            return false;
        branch = atomic_load_explicit(&root[page >> 2 * BITS], memory_order_relaxed);
        if (!branch) {
            branch = zeroed(sizeof(*branch));
            if (!branch)
                return false;
            atomic_store_explicit(&root[page >> 2 * BITS], branch, memory_order_release);
        }
        leaf = zeroed(sizeof(*leaf));
        if (!leaf)
            return false;
        atomic_store_explicit(&branch->leaves[page >> BITS & MASK], leaf, memory_order_release);
    }
    return true;
}

void lap_watch_pages_each(void (*visit)(uint64_t page, atomic_uint *word))
{
    for (uint64_t i = 0; i < SIZE; i++) {
        struct branch *branch = atomic_load_explicit(&root[i], memory_order_acquire);
        for (uint64_t j = 0; branch && j < SIZE; j++) {
            struct leaf *leaf = atomic_load_explicit(&branch->leaves[j], memory_order_acquire);
            for (uint64_t k = 0; leaf && k < SIZE; k++)
                if (atomic_load_explicit(&leaf->words[k], memory_order_relaxed))
                    visit(i << 2 * BITS | j << BITS | k, &leaf->words[k]);
        }
    }
}
