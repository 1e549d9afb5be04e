/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing. A slot's key is stored inverted, so that zeroed memory is an empty table: 0 is
 * an empty slot and 1 one whose entry was removed (the two largest keys, which callers may not use).
 *
 * Readers take no lock. A writer stores a value before its key (release), a reader loads the key before the value
 * (acquire) and looks at the key again, since the slot may have been given to another key meanwhile. Two things move
 * entries: growing (into a new array; the old one stays as it was) and clearing out removed slots (in place). During
 * the latter a reader could miss an entry, so a table counts its clear-outs and a reader that found nothing during a
 * clear-out searches again.
 */
#include "base/map.h"

#include <sched.h>
#include <stdlib.h>

#define EMPTY            UINT64_C(0)
#define REMOVED          UINT64_C(1)
#define FIRST_SLOTS_LOG2 6

static struct lap_map_table *create_table(unsigned slots_log2)
{
    size_t slots = (size_t)1 << slots_log2;
    if (slots > (PTRDIFF_MAX - sizeof(struct lap_map_table)) / sizeof(struct lap_map_slot))
        return NULL;
    struct lap_map_table *table = calloc(1, sizeof(*table) + slots * sizeof(struct lap_map_slot));
    if (table) {
        table->shift = 64 - slots_log2;
        table->mask = slots - 1;
    }
    return table;
}

void lap_map_init(struct lap_map *map)
{
    atomic_init(&map->table, NULL);
    pthread_mutex_init(&map->mutex, NULL);
    map->count = 0;
}

void lap_map_finish(struct lap_map *map)
{
    struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    while (table) {
        struct lap_map_table *older = table->older;
        free(table);
        table = older;
    }
    atomic_store_explicit(&map->table, NULL, memory_order_relaxed);
    map->count = 0;
    pthread_mutex_destroy(&map->mutex);
}

void *lap_map_search(const struct lap_map *map, uint64_t key)
{
    const struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    uint64_t inverted = ~key;
    if (!table || inverted == EMPTY || inverted == REMOVED)
        return NULL;
    for (;;) {
        unsigned version = atomic_load_explicit(&table->version, memory_order_acquire);
        size_t at = lap_map_first_slot(table, key);
        /* The bound is for a table that changes during the search: it always has an empty slot, but not always the
         * same. */
        for (size_t probes = 0; probes <= table->mask; probes++, at = (at + 1) & table->mask) {
            uint64_t found = atomic_load_explicit(&table->slots[at].key, memory_order_acquire);
            if (found == inverted) {
                void *value = atomic_load_explicit(&table->slots[at].value, memory_order_acquire);
                if (atomic_load_explicit(&table->slots[at].key, memory_order_acquire) == inverted)
                    return value;
            }
            if (found == EMPTY)
                break;
        }
        if (!(version & 1) && atomic_load_explicit(&table->version, memory_order_acquire) == version)
            return NULL;
        sched_yield();
    }
}

/* Where `inverted` is, or, when it is not there, the slot for it (*out_found false). The map's mutex is held. */
static struct lap_map_slot *find_slot(struct lap_map_table *table, uint64_t inverted, int *out_found)
{
    struct lap_map_slot *reuse = NULL;
    for (size_t at = lap_map_first_slot(table, ~inverted);; at = (at + 1) & table->mask) {
        struct lap_map_slot *slot = &table->slots[at];
        uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (key == inverted || key == EMPTY) {
            *out_found = key == inverted;
            return key == EMPTY && reuse ? reuse : slot;
        }
        if (key == REMOVED && !reuse)
            reuse = slot;
    }
}

static void fill_slot(struct lap_map_table *table, struct lap_map_slot *slot, uint64_t inverted, void *value)
{
    if (atomic_load_explicit(&slot->key, memory_order_relaxed) == EMPTY)
        table->used++;
    atomic_store_explicit(&slot->value, value, memory_order_release);
    atomic_store_explicit(&slot->key, inverted, memory_order_release);
}

static enum lap_status grow(struct lap_map *map, struct lap_map_table *old)
{
    struct lap_map_table *table = create_table(old ? 64 - old->shift + 1 : FIRST_SLOTS_LOG2);
    if (!table)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a table of handles");
    for (size_t i = 0; old && i <= old->mask; i++) {
        uint64_t key = atomic_load_explicit(&old->slots[i].key, memory_order_relaxed);
        int found;
        if (key != EMPTY && key != REMOVED)
            fill_slot(table, find_slot(table, key, &found), key,
                      atomic_load_explicit(&old->slots[i].value, memory_order_relaxed));
    }
    table->older = old;
    atomic_store_explicit(&map->table, table, memory_order_release);
    return LAP_OK;
}

/* Makes removed slots empty again, in place: arrays of the same size again and again would never be freed. */
static enum lap_status clear_out(struct lap_map *map, struct lap_map_table *table)
{
    struct pair {
        uint64_t key;
        void *value;
    } *live = malloc((map->count + 1) * sizeof(*live));
    if (!live)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for a table of handles");
    size_t count = 0;

    unsigned version = atomic_load_explicit(&table->version, memory_order_relaxed);
    atomic_store_explicit(&table->version, version + 1, memory_order_release);
    for (size_t i = 0; i <= table->mask; i++) {
        struct lap_map_slot *slot = &table->slots[i];
        uint64_t key = atomic_load_explicit(&slot->key, memory_order_relaxed);
        if (key != EMPTY && key != REMOVED) {
            live[count].key = key;
            live[count++].value = atomic_load_explicit(&slot->value, memory_order_relaxed);
        }
        atomic_store_explicit(&slot->key, EMPTY, memory_order_release);
    }
    table->used = 0;
    for (size_t i = 0; i < count; i++) {
        int found;
        fill_slot(table, find_slot(table, live[i].key, &found), live[i].key, live[i].value);
    }
    atomic_store_explicit(&table->version, version + 2, memory_order_release);
    free(live);
    return LAP_OK;
}

/* Makes sure that one more slot may be filled: at most three quarters ever are. */
static enum lap_status make_room(struct lap_map *map)
{
    struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    size_t slots = table ? table->mask + 1 : 0;
    if (table && table->used + 1 <= slots - slots / 4)
        return LAP_OK;
    if (table && map->count + 1 <= slots / 2)
        return clear_out(map, table);
    return grow(map, table);
}

enum lap_status lap_map_reserve(struct lap_map *map)
{
    pthread_mutex_lock(&map->mutex);
    enum lap_status status = make_room(map);
    pthread_mutex_unlock(&map->mutex);
    return status;
}

enum lap_status lap_map_put(struct lap_map *map, uint64_t key, void *value, void **out_old)
{
    uint64_t inverted = ~key;
    if (out_old)
        *out_old = NULL;
    if (inverted == EMPTY || inverted == REMOVED || !value)
        return lap_fail(LAP_ERROR_ARGUMENT, "a key or value that a map can't hold");

    pthread_mutex_lock(&map->mutex);
    enum lap_status status = LAP_OK;
    struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    int found = 0;
    struct lap_map_slot *slot = table ? find_slot(table, inverted, &found) : NULL;
    if (found) {
        void *old = atomic_exchange_explicit(&slot->value, value, memory_order_acq_rel);
        if (out_old)
            *out_old = old;
        goto out;
    }
    /* A removed slot can be taken as it is; an empty one counts. */
    if (!slot || atomic_load_explicit(&slot->key, memory_order_relaxed) == EMPTY) {
        status = make_room(map);
        if (status != LAP_OK)
            goto out;
        table = atomic_load_explicit(&map->table, memory_order_relaxed);
        slot = find_slot(table, inverted, &found);
    }
    fill_slot(table, slot, inverted, value);
    map->count++;
out:
    pthread_mutex_unlock(&map->mutex);
    return status;
}

void *lap_map_remove(struct lap_map *map, uint64_t key)
{
    uint64_t inverted = ~key;
    void *value = NULL;
    if (inverted == EMPTY || inverted == REMOVED)
        return NULL;
    pthread_mutex_lock(&map->mutex);
    struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    int found = 0;
    struct lap_map_slot *slot = table ? find_slot(table, inverted, &found) : NULL;
    if (found) {
        value = atomic_load_explicit(&slot->value, memory_order_relaxed);
        atomic_store_explicit(&slot->key, REMOVED, memory_order_release);
        map->count--;
        /* No probe goes on behind a slot whose next one is empty: there, removed is as good as empty. */
        size_t at = (size_t)(slot - table->slots);
        if (atomic_load_explicit(&table->slots[(at + 1) & table->mask].key, memory_order_relaxed) == EMPTY) {
            while (atomic_load_explicit(&table->slots[at].key, memory_order_relaxed) == REMOVED) {
                atomic_store_explicit(&table->slots[at].key, EMPTY, memory_order_release);
                table->used--;
                at = (at - 1) & table->mask;
            }
        }
    }
    pthread_mutex_unlock(&map->mutex);
    return value;
}

size_t lap_map_count(struct lap_map *map)
{
    pthread_mutex_lock(&map->mutex);
    size_t count = map->count;
    pthread_mutex_unlock(&map->mutex);
    return count;
}

void lap_map_each(struct lap_map *map, void (*visit)(void *user, uint64_t key, void *value), void *user)
{
    pthread_mutex_lock(&map->mutex);
    struct lap_map_table *table = atomic_load_explicit(&map->table, memory_order_relaxed);
    for (size_t i = 0; table && i <= table->mask; i++) {
        uint64_t key = atomic_load_explicit(&table->slots[i].key, memory_order_relaxed);
        if (key != EMPTY && key != REMOVED)
            visit(user, ~key, atomic_load_explicit(&table->slots[i].value, memory_order_relaxed));
    }
    pthread_mutex_unlock(&map->mutex);
}
