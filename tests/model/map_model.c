/* SPDX-License-Identifier: MIT */
/* base/map.c: lookups while another thread inserts, removes, and grows or clears out the table. */
#include "base/map.c"

#include "tests/model/model.h"

#define FULL 48u /* slots of the first table, when it is cleared out or replaced */

enum { FIRST, SECOND, THIRD, NEW, NEWER, ENTRIES };

static struct lap_map map;
static struct entry {
    uint64_t key;
    unsigned content; /* plain: the map publishes it */
} entries[ENTRIES];
static uint64_t keys[ENTRIES];

static void add(unsigned number)
{
    entries[number] = (struct entry){keys[number], number};
    MODEL_CHECK(lap_map_put(&map, keys[number], &entries[number], NULL) == LAP_OK);
}

static void remove_again(unsigned number)
{
    MODEL_CHECK(lap_map_remove(&map, keys[number]) == &entries[number]);
}

/* All but the last two in a run from one slot on, so that the loss of the first moves the others when the table is
 * cleared out. */
static void choose_keys(const struct lap_map_table *table)
{
    uint64_t key = 1;
    for (unsigned i = 0; i < ENTRIES; i++, key++) {
        while (lap_map_first_slot(table, key) != (i < NEW ? 10u : 40u))
            key++;
        keys[i] = key;
    }
}

static void begin(void)
{
    struct lap_map_table *table;
    lap_map_init(&map);
    MODEL_CHECK(lap_map_reserve(&map) == LAP_OK);
    table = atomic_load(&map.table);
    choose_keys(table);
    for (unsigned i = FIRST; i <= THIRD; i++)
        add(i);
    remove_again(FIRST);
    if (model_choose(3)) {
        table->used = FULL; /* as if so many had been removed, or were there */
        map.count = model_choose(2) ? FULL : map.count;
    }
}

static void look(unsigned number, bool must_be_there)
{
    const struct entry *found = model_choose(2) ? lap_map_get(&map, keys[number]) : lap_map_search(&map, keys[number]);
    MODEL_CHECK(found || !must_be_there);
    MODEL_CHECK(!found || (found->key == keys[number] && found->content == number));
}

static void run(unsigned thread)
{
    if (thread == 0) {
        add(NEW);
        if (model_choose(2))
            add(FIRST);
        if (model_choose(2))
            remove_again(NEW);
        add(NEWER);
    } else {
        look(SECOND, true);
        look(model_choose(2) ? NEWER : NEW, false);
        look(FIRST, false);
        look(THIRD, true);
    }
}

static void end(void)
{
    look(NEWER, true);
    look(SECOND, true);
    lap_map_finish(&map);
}

const struct model model = {.threads = 3, .begin = begin, .run = run, .end = end};
