/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

static void *value_of(uint64_t key)
{
    return (void *)(uintptr_t)(key * 2 + 1);
}

UNIT_TEST(entries_are_put_replaced_and_removed)
{
    struct lap_map map;
    void *old = NULL;
    int a, b;
    lap_map_init(&map);
    CHECK(lap_map_get(&map, 5) == NULL);
    CHECK(lap_map_remove(&map, 5) == NULL);
    CHECK_EQ_INT(lap_map_put(&map, 5, &a, &old), LAP_OK);
    CHECK(old == NULL && lap_map_get(&map, 5) == &a);
    CHECK_EQ_INT(lap_map_put(&map, 5, &b, &old), LAP_OK);
    CHECK(old == &a && lap_map_get(&map, 5) == &b);
    CHECK_EQ_U64(lap_map_count(&map), 1);
    CHECK(lap_map_remove(&map, 5) == &b);
    CHECK(lap_map_get(&map, 5) == NULL);
    CHECK_EQ_U64(lap_map_count(&map), 0);
    lap_map_finish(&map);
}

UNIT_TEST(reserved_room_is_there)
{
    struct lap_map map;
    int a;
    lap_map_init(&map);
    for (uint64_t key = 0; key < 5000; key++) {
        CHECK_EQ_INT(lap_map_reserve(&map), LAP_OK);
        const struct lap_map_table *table = map.table;
        CHECK_EQ_INT(lap_map_put(&map, key, &a, NULL), LAP_OK);
        CHECK(map.table == table);
        if (key % 3 == 0)
            CHECK(lap_map_remove(&map, key / 3) == &a);
    }
    lap_map_finish(&map);
}

UNIT_TEST(reserved_keys_are_refused)
{
    struct lap_map map;
    int a;
    lap_map_init(&map);
    CHECK_EQ_INT(lap_map_put(&map, 0, &a, NULL), LAP_OK);
    CHECK_EQ_INT(lap_map_put(&map, UINT64_MAX - 2, &a, NULL), LAP_OK);
    CHECK_EQ_INT(lap_map_put(&map, UINT64_MAX - 1, &a, NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_map_put(&map, UINT64_MAX, &a, NULL), LAP_ERROR_ARGUMENT);
    CHECK_EQ_INT(lap_map_put(&map, 1, NULL, NULL), LAP_ERROR_ARGUMENT);
    CHECK(lap_map_get(&map, 0) == &a && lap_map_get(&map, UINT64_MAX - 2) == &a);
    CHECK(!lap_map_get(&map, UINT64_MAX) && !lap_map_get(&map, UINT64_MAX - 1));
    CHECK(!lap_map_glance(&map, UINT64_MAX) && !lap_map_glance(&map, UINT64_MAX - 1) && !lap_map_glance(&map, 7));
    CHECK(!lap_map_remove(&map, UINT64_MAX) && !lap_map_remove(&map, UINT64_MAX - 1));
    lap_map_finish(&map);
}

struct sum {
    uint64_t keys, values, count;
};

static void add_up(void *user, uint64_t key, void *value)
{
    struct sum *sum = user;
    sum->keys += key;
    sum->values += (uint64_t)(uintptr_t)value;
    sum->count++;
}

UNIT_TEST(many_entries_are_found_and_visited)
{
    struct lap_map map;
    struct sum sum = {0}, expected = {0};
    uint64_t glances = 0;
    lap_map_init(&map);
    CHECK(lap_map_glance(&map, 64) == NULL);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t key = i * 64; /* as aligned pointers are */
        CHECK_EQ_INT(lap_map_put(&map, key, value_of(key), NULL), LAP_OK);
    }
    for (uint64_t i = 0; i < 20000; i += 2)
        CHECK(lap_map_remove(&map, i * 64) == value_of(i * 64));
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t key = i * 64;
        CHECK(lap_map_get(&map, key) == (i % 2 ? value_of(key) : NULL));
        CHECK(lap_map_glance(&map, key) == lap_map_get(&map, key) || (i % 2 && lap_map_glance(&map, key) == NULL));
        glances += lap_map_glance(&map, key) != NULL;
        if (i % 2)
            expected.keys += key, expected.values += (uintptr_t)value_of(key), expected.count++;
    }
    lap_map_each(&map, add_up, &sum);
    CHECK_EQ_U64(sum.keys, expected.keys);
    CHECK_EQ_U64(sum.values, expected.values);
    CHECK_EQ_U64(sum.count, expected.count);
    CHECK_EQ_U64(lap_map_count(&map), 10000);
    CHECK(glances > 7000);
    lap_map_finish(&map);
}

UNIT_TEST(churn_keeps_the_table)
{
    struct lap_map map;
    lap_map_init(&map);
    for (uint64_t i = 0; i < 20; i++)
        CHECK_EQ_INT(lap_map_put(&map, i, value_of(i), NULL), LAP_OK);
    const void *table = atomic_load(&map.table);
    for (uint64_t i = 20; i < 200000; i++) {
        CHECK_EQ_INT(lap_map_put(&map, i * 0x9e3779b1, value_of(i), NULL), LAP_OK);
        CHECK(lap_map_remove(&map, i * 0x9e3779b1) == value_of(i));
    }
    CHECK(atomic_load(&map.table) == table);
    for (uint64_t i = 0; i < 20; i++)
        CHECK(lap_map_get(&map, i) == value_of(i));
    lap_map_finish(&map);
}

/* Stable keys are there all the time while the others come and go: no reader may ever miss one, or see another's value.
 */
#define STABLE   64u
#define CHURNERS 2u
#define ROUNDS   60000u

static struct lap_map shared;
static _Atomic bool done;

static uint64_t stable_key(uint64_t i)
{
    return (i + 1) * 4096;
}

static void *churn(void *user)
{
    uint64_t thread = (uint64_t)(uintptr_t)user, wrong = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t key = (i * CHURNERS + thread) * 16 + 1; /* never a stable key */
        wrong += lap_map_put(&shared, key, value_of(key), NULL) != LAP_OK;
        wrong += lap_map_get(&shared, key) != value_of(key);
        if (i >= 40) {
            uint64_t old = ((i - 40) * CHURNERS + thread) * 16 + 1;
            wrong += lap_map_remove(&shared, old) != value_of(old);
            wrong += lap_map_get(&shared, old) != NULL;
        }
    }
    return (void *)(uintptr_t)wrong;
}

static void *look_up(void *user)
{
    uint64_t wrong = 0;
    for (uint64_t i = (uintptr_t)user; !atomic_load(&done); i++) {
        uint64_t key = stable_key(i % STABLE), other = (i % 5000) * 16 + 1;
        wrong += lap_map_get(&shared, key) != value_of(key);
        void *value = lap_map_get(&shared, other);
        wrong += value && value != value_of(other);
        wrong += lap_map_get(&shared, 3) != NULL;
    }
    return (void *)(uintptr_t)wrong;
}

UNIT_TEST(readers_beside_writers_find_what_stays)
{
    pthread_t churners[CHURNERS], readers[2];
    void *wrong;
    lap_map_init(&shared);
    for (uint64_t i = 0; i < STABLE; i++)
        CHECK_EQ_INT(lap_map_put(&shared, stable_key(i), value_of(stable_key(i)), NULL), LAP_OK);
    for (uintptr_t i = 0; i < 2; i++)
        CHECK_EQ_INT(pthread_create(&readers[i], NULL, look_up, (void *)i), 0);
    for (uintptr_t i = 0; i < CHURNERS; i++)
        CHECK_EQ_INT(pthread_create(&churners[i], NULL, churn, (void *)i), 0);
    for (unsigned i = 0; i < CHURNERS; i++) {
        pthread_join(churners[i], &wrong);
        CHECK_EQ_U64((uintptr_t)wrong, 0);
    }
    atomic_store(&done, true);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(readers[i], &wrong);
        CHECK_EQ_U64((uintptr_t)wrong, 0);
    }
    CHECK_EQ_U64(lap_map_count(&shared), STABLE + CHURNERS * 40);
    lap_map_finish(&shared);
}

UNIT_MAIN();
