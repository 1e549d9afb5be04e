/* SPDX-License-Identifier: MIT */
/*
 * map: a hash table from 64-bit keys to pointers whose readers take no lock.
 *
 * Any thread may look up while others insert and remove. Writers exclude each other with the map's mutex. Arrays that a
 * growing table leaves behind are kept until lap_map_finish (their sizes are geometric, so they never exceed the live
 * one). The two largest key values are reserved: lap_map_put refuses them. The caller's own rules keep the values alive
 * (for Vulkan handles: external synchronisation of destroy).
 */
#ifndef LAP_BASE_MAP_H
#define LAP_BASE_MAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Laid out here only for lap_map_get; everything else about them is map.c's. Both are written with release under the
 * map's mutex and read with acquire: the key publishes the value in its slot, the value what it points to. */
struct lap_map_slot {
    _Atomic uint64_t key; /* inverted, so that zeroed memory is empty; 1: its entry was removed */
    _Atomic(void *) value;
};

struct lap_map_table {
    struct lap_map_table *older; /* the array that this one replaced; kept for readers that are still in it */
    _Atomic unsigned version;    /* odd while removed slots are being cleared out. A sequence lock: all stores in
                                    between are releases, all loads of readers acquires, so no fence is needed */
    unsigned shift;              /* 64 - log2 of the number of slots */
    size_t mask;                 /* number of slots - 1 */
    size_t used;                 /* slots that are not empty; changed under the map's mutex */
    struct lap_map_slot slots[];
};

struct lap_map {
    _Atomic(struct lap_map_table *) table; /* NULL while empty and never used. Release by the thread that grows it,
                                              acquire by readers: the whole table */
    pthread_mutex_t mutex;
    size_t count;
};

void lap_map_init(struct lap_map *map);
void lap_map_finish(struct lap_map *map); /* frees tables, not the values */

/* Handles are aligned pointers or small numbers: the multiplication spreads them over the top bits. */
static inline size_t lap_map_first_slot(const struct lap_map_table *table, uint64_t key)
{
    return (size_t)(((key ^ (key >> 32)) * UINT64_C(0x9e3779b97f4a7c15)) >> table->shift);
}

/* The value, if it is in one of the first slots of the search; NULL proves nothing. For code that has another way: it
 * calls no function. */
#define LAP_MAP_GLANCES 4u
static inline __attribute__((always_inline)) void *lap_map_glance(const struct lap_map *map, uint64_t key)
{
    const struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    if (__builtin_expect(!table || key >= UINT64_MAX - 1, 0))
        return NULL;
    size_t at = lap_map_first_slot(table, key);
    const struct lap_map_slot *slot = &table->slots[at];
    for (unsigned i = 1; __builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) != ~key, 0); i++) {
        if (i == LAP_MAP_GLANCES)
            return NULL;
        slot = &table->slots[(at + i) & table->mask];
    }
    void *value = atomic_load_explicit(&slot->value, memory_order_acquire);
    return __builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) == ~key, 1) ? value : NULL;
}

/* lap_map_get where the first slot is not the right one. */
void *lap_map_search(const struct lap_map *map, uint64_t key);

/* The value, or NULL. Lock-free, wait-free but for the probe length. Every recorded call looks up a few handles, so the
 * usual case is inline. */
static inline __attribute__((always_inline)) void *lap_map_get(const struct lap_map *map, uint64_t key)
{
    const struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    if (__builtin_expect(table && key < UINT64_MAX - 1, 1)) {
        const struct lap_map_slot *slot = &table->slots[lap_map_first_slot(table, key)];
        if (__builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) == ~key, 1)) {
            void *value = atomic_load_explicit(&slot->value, memory_order_acquire);
            if (__builtin_expect(atomic_load_explicit(&slot->key, memory_order_acquire) == ~key, 1))
                return value;
        }
    }
    return lap_map_search(map, key);
}

/* After LAP_OK the next lap_map_put of a new key, by any thread, does not run out of memory. */
enum lap_status lap_map_reserve(struct lap_map *map) LAP_MUST_CHECK;

/* Inserts or replaces; value is not NULL. *out_old (may be NULL) gets the old value, or NULL. On LAP_ERROR_MEMORY the
 * map is unchanged. */
enum lap_status lap_map_put(struct lap_map *map, uint64_t key, void *value, void **out_old) LAP_MUST_CHECK;

/* Removes and returns the value, or NULL. */
void *lap_map_remove(struct lap_map *map, uint64_t key);

size_t lap_map_count(struct lap_map *map);

/* Calls visit for every entry, under the map's mutex; visit must not change the map. */
void lap_map_each(struct lap_map *map, void (*visit)(void *user, uint64_t key, void *value), void *user);

#endif
