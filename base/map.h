/* SPDX-License-Identifier: MIT */
/*
 * map: a hash table from 64-bit keys to pointers whose readers take no lock.
 *
 * Any thread may look up while others insert and remove. Writers exclude each other with the map's mutex.
 * Arrays that a growing table leaves behind are kept until lap_map_finish (their sizes are geometric, so
 * they never exceed the live one). The two largest key values are reserved: lap_map_put refuses them.
 * What a found pointer points to must be kept alive by the caller's own rules (for Vulkan handles: external
 * synchronisation of destroy).
 */
#ifndef LAP_BASE_MAP_H
#define LAP_BASE_MAP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lap_map_table;

struct lap_map {
    _Atomic(struct lap_map_table *) table; /* NULL while empty and never used */
    pthread_mutex_t mutex;
    size_t count;
};

void lap_map_init(struct lap_map *map);
void lap_map_finish(struct lap_map *map); /* frees tables, not the values */

/* The value, or NULL. Lock-free, wait-free but for the probe length. */
void *lap_map_get(const struct lap_map *map, uint64_t key);

/* Inserts or replaces; value is not NULL. *out_old (may be NULL) gets what was there before, or NULL.
 * On LAP_ERROR_MEMORY the map is unchanged. */
enum lap_status lap_map_put(struct lap_map *map, uint64_t key, void *value, void **out_old) LAP_MUST_CHECK;

/* Removes and returns the value, or NULL. */
void *lap_map_remove(struct lap_map *map, uint64_t key);

size_t lap_map_count(struct lap_map *map);

/* Calls visit for every entry, under the map's mutex; visit must not change the map. */
void lap_map_each(struct lap_map *map, void (*visit)(void *user, uint64_t key, void *value), void *user);

#endif
