/* SPDX-License-Identifier: MIT */
#include "base/heap_sort.h"

#include <stdint.h>

#include "tests/unit/unit.h"

struct element {
    uint32_t key;
    unsigned char rest[5];
};

static int compare(const void *a, const void *b, void *calls)
{
    const struct element *left = a, *right = b;
    ++*(size_t *)calls;
    return (left->key > right->key) - (left->key < right->key);
}

UNIT_TEST(every_count_is_sorted_and_keeps_its_elements)
{
    struct element elements[300];
    uint32_t seed = 1;

    for (size_t count = 0; count <= 300; count++) {
        uint64_t before = 0, after = 0;
        size_t calls = 0;
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525u + 1013904223u;
            elements[i] = (struct element){(seed >> 16) % 97, {(unsigned char)(seed >> 24)}};
            before += elements[i].key * 257u * elements[i].rest[0];
        }
        lap_heap_sort(elements, count, sizeof *elements, compare, &calls);
        for (size_t i = 0; i < count; i++) {
            CHECK(i == 0 || elements[i - 1].key <= elements[i].key);
            after += elements[i].key * 257u * elements[i].rest[0];
        }
        CHECK(after == before);
        CHECK(calls <= 20 * count);
    }
}

UNIT_MAIN();
