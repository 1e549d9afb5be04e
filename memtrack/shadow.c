/* SPDX-License-Identifier: MIT */
#include "memtrack/shadow.h"

#include <stdlib.h>
#include <string.h>

#define LEAF_PAGES 512u

struct lap_shadow_leaf {
    unsigned char *pages[LEAF_PAGES]; /* NULL: all zero */
    unsigned owned;
};

static const unsigned char zero_page[LAP_SHADOW_PAGE] __attribute__((aligned(64)));

static uint64_t leaf_count(const struct lap_shadow *shadow)
{
    uint64_t pages = shadow->bytes / LAP_SHADOW_PAGE + (shadow->bytes % LAP_SHADOW_PAGE != 0);
    return pages / LEAF_PAGES + (pages % LEAF_PAGES != 0);
}

void lap_shadow_init(struct lap_shadow *shadow, uint64_t bytes, struct lap_page_pool *pool)
{
    *shadow = (struct lap_shadow){.bytes = bytes, .pool = pool};
}

void lap_shadow_finish(struct lap_shadow *shadow)
{
    if (shadow->leaves)
        lap_shadow_drop(shadow, 0, UINT64_MAX);
    free(shadow->leaves);
    shadow->leaves = NULL;
}

const unsigned char *lap_shadow_page(const struct lap_shadow *shadow, uint64_t page)
{
    const struct lap_shadow_leaf *leaf = shadow->leaves ? shadow->leaves[page / LEAF_PAGES] : NULL;
    const unsigned char *data = leaf ? leaf->pages[page % LEAF_PAGES] : NULL;
    return data ? data : zero_page;
}

unsigned char *lap_shadow_own(struct lap_shadow *shadow, uint64_t page)
{
    struct lap_shadow_leaf *leaf;
    unsigned char *data;
    if (!shadow->leaves) {
        if (leaf_count(shadow) > SIZE_MAX)
            return NULL;
        shadow->leaves = calloc((size_t)leaf_count(shadow), sizeof(struct lap_shadow_leaf *));
        if (!shadow->leaves)
            return NULL;
    }
    leaf = shadow->leaves[page / LEAF_PAGES];
    if (leaf && leaf->pages[page % LEAF_PAGES])
        return leaf->pages[page % LEAF_PAGES];
    if (!leaf)
        leaf = shadow->leaves[page / LEAF_PAGES] = calloc(1, sizeof(*leaf));
    data = leaf ? lap_page_pool_take(shadow->pool) : NULL;
    if (!data)
        return NULL;
    leaf->pages[page % LEAF_PAGES] = data;
    leaf->owned++;
    shadow->owned_pages++;
    return data;
}

void lap_shadow_drop(struct lap_shadow *shadow, uint64_t first, uint64_t end)
{
    uint64_t leaves = leaf_count(shadow);
    if (!shadow->leaves)
        return;
    while (first < end && first / LEAF_PAGES < leaves) {
        struct lap_shadow_leaf *leaf = shadow->leaves[first / LEAF_PAGES];
        uint64_t leaf_end = (first / LEAF_PAGES + 1) * LEAF_PAGES;
        uint64_t stop = end < leaf_end ? end : leaf_end;
        for (uint64_t page = first; leaf && page < stop; page++) {
            if (!leaf->pages[page % LEAF_PAGES])
                continue;
            lap_page_pool_give(shadow->pool, leaf->pages[page % LEAF_PAGES]);
            leaf->pages[page % LEAF_PAGES] = NULL;
            leaf->owned--;
            shadow->owned_pages--;
        }
        if (leaf && leaf->owned == 0) {
            free(leaf);
            shadow->leaves[first / LEAF_PAGES] = NULL;
        }
        first = stop;
    }
}

bool lap_shadow_next_owned(const struct lap_shadow *shadow, uint64_t *page, uint64_t end)
{
    uint64_t leaves = shadow->leaves ? leaf_count(shadow) : 0;
    while (*page < end && *page / LEAF_PAGES < leaves) {
        const struct lap_shadow_leaf *leaf = shadow->leaves[*page / LEAF_PAGES];
        if (!leaf)
            *page = (*page / LEAF_PAGES + 1) * LEAF_PAGES;
        else if (leaf->pages[*page % LEAF_PAGES])
            return true;
        else
            ++*page;
    }
    return false;
}

void lap_shadow_read(const struct lap_shadow *shadow, uint64_t offset, void *to, size_t bytes)
{
    unsigned char *at = to;
    while (bytes) {
        size_t within = (size_t)(offset % LAP_SHADOW_PAGE);
        size_t part = LAP_SHADOW_PAGE - within < bytes ? LAP_SHADOW_PAGE - within : bytes;
        memcpy(at, lap_shadow_page(shadow, offset / LAP_SHADOW_PAGE) + within, part);
        at += part;
        offset += part;
        bytes -= part;
    }
}
