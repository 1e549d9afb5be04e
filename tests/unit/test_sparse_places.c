/* SPDX-License-Identifier: MIT */
#include "layer/memory/sparse_places.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

#define SIZE 64u

static void set(struct layer_sparse_places *places, uint64_t offset, uint64_t bytes, uint64_t memory,
                uint64_t memory_offset)
{
    const struct layer_sparse_place place = {offset, bytes, memory, memory + 100, memory_offset};
    CHECK(layer_sparse_places_set(places, &place));
}

static bool is(const struct layer_sparse_place *place, uint64_t offset, uint64_t bytes, uint64_t memory,
               uint64_t memory_offset)
{
    return place->offset == offset && place->bytes == bytes && place->memory == memory &&
           place->memory_offset == memory_offset;
}

UNIT_TEST(what_is_bound_over_takes_the_place)
{
    struct layer_sparse_places places = {0};

    set(&places, 0, 40, 1, 0);
    set(&places, 10, 10, 2, 5);
    CHECK(places.count == 3);
    CHECK(is(&places.items[0], 0, 10, 1, 0));
    CHECK(is(&places.items[1], 10, 10, 2, 5));
    CHECK(is(&places.items[2], 20, 20, 1, 20));
    set(&places, 0, 40, 3, 7);
    CHECK(places.count == 1 && is(&places.items[0], 0, 40, 3, 7));
    layer_sparse_places_finish(&places);
}

UNIT_TEST(what_is_unbound_is_gone)
{
    struct layer_sparse_places places = {0};

    set(&places, 5, 20, 1, 0);
    set(&places, 30, 10, 2, 0);
    set(&places, 10, 25, 0, 0);
    CHECK(places.count == 2);
    CHECK(is(&places.items[0], 5, 5, 1, 0));
    CHECK(is(&places.items[1], 35, 5, 2, 5));
    set(&places, 0, 100, 0, 0);
    CHECK(places.count == 0);
    layer_sparse_places_finish(&places);
}

UNIT_TEST(lists_are_as_an_array_of_bytes_says)
{
    uint64_t memory[SIZE] = {0}, at[SIZE] = {0};
    struct layer_sparse_places places = {0};

    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        const unsigned offset = (unsigned)rand() % SIZE, bytes = (unsigned)rand() % (SIZE - offset + 1);
        const unsigned which = (unsigned)rand() % 4, from = (unsigned)rand() % 1000;
        unsigned bound = 0, listed = 0;
        set(&places, offset, bytes, which, from);
        for (unsigned i = 0; i < bytes; i++) {
            memory[offset + i] = which;
            at[offset + i] = from + i;
        }
        for (unsigned i = 0; i < SIZE; i++)
            bound += memory[i] != 0;
        for (uint32_t i = 0; i < places.count; i++) {
            const struct layer_sparse_place *place = &places.items[i];
            CHECK(!i || places.items[i - 1].offset + places.items[i - 1].bytes <= place->offset);
            for (uint64_t j = 0; j < place->bytes; j++, listed++)
                CHECK(memory[place->offset + j] == place->memory && at[place->offset + j] == place->memory_offset + j);
        }
        CHECK(bound == listed);
    }
    layer_sparse_places_finish(&places);
}

UNIT_MAIN();
