/* SPDX-License-Identifier: MIT */
#include "memtrack/virtual_types.h"
#include "tests/unit/unit.h"

/* What must hold for every machine. */
static void check_sane(const struct lap_virtual_types *types)
{
    CHECK(types->shown_count >= types->real_count && types->shown_count <= LAP_TYPES_MAX);
    for (uint32_t i = 0; i < types->shown_count; i++) {
        struct lap_type shown = types->shown[i];
        uint32_t real = lap_virtual_types_real_index(types, i);
        CHECK(real < types->real_count);
        if (real >= types->real_count)
            return;
        CHECK_EQ_U64(lap_virtual_types_real_heap(types, shown.heap), types->real[real].heap);
        if (shown.flags != types->real[real].flags) /* an added one is DEVICE_LOCAL if its heap is */
            CHECK_EQ_U64(shown.heap < types->real_heap_count, shown.flags & 1);
        CHECK((shown.flags & ~types->real[real].flags) == 0); /* nothing is promised that isn't there */
        for (uint32_t j = 0; j < i && types->split; j++) {
            uint32_t later = types->shown[j].flags, now = shown.flags;
            CHECK(!(now != later && (now & ~later) == 0)); /* a strict subset comes first */
            CHECK(!((later & 0xc0) && !(now & 0xc0)));
        }
    }
    for (uint32_t i = 0; i < types->real_count; i++) {
        uint32_t mask = lap_virtual_types_shown_mask(types, 1u << i);
        bool itself = false;
        CHECK(mask != 0);
        for (uint32_t j = 0; j < types->shown_count; j++)
            if (types->real_of[j] == i && types->shown[j].flags == types->real[i].flags)
                itself = true, CHECK(mask >> j & 1);
        CHECK(itself); /* every real type can be picked as it is */
    }
    CHECK_EQ_U64(lap_virtual_types_real_index(types, types->shown_count), UINT32_MAX);
    CHECK_EQ_U64(lap_virtual_types_shown_mask(types, 0), 0);
    CHECK(types->shown_heap_count <= LAP_HEAPS_MAX && types->shown_heap_count >= types->real_heap_count);
    CHECK_EQ_U64(lap_virtual_types_real_heap(types, types->shown_heap_count), UINT32_MAX);
}

static void check_shown(const struct lap_virtual_types *types, const uint32_t *flags, const uint32_t *real,
                        uint32_t count)
{
    CHECK_EQ_U64(types->shown_count, count);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ_U64(types->shown[i].flags, flags[i]);
        CHECK_EQ_U64(types->real_of[i], real[i]);
    }
    check_sane(types);
}

#define SHOWN(types, count, flags, real) check_shown(types, (const uint32_t[])flags, (const uint32_t[])real, count)
#define LIST(...)                                                                                                      \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

UNIT_TEST(one_type_for_all_becomes_three)
{
    const struct lap_type real[] = {{0xf, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 1, (struct lap_heaps){3, 7}, false);
    CHECK(types.split);
    SHOWN(&types, 3, LIST(0x1, 0xe, 0xf), LIST(0, 0, 0));
    CHECK_EQ_U64(lap_virtual_types_shown_mask(&types, 1), 7);
    CHECK_EQ_U64(types.shown_heap_count, 4);
    CHECK_EQ_U64(types.shown[0].heap, 0);
    CHECK_EQ_U64(types.shown[1].heap, 3);
    CHECK_EQ_U64(types.shown[2].heap, 0);
    CHECK_EQ_U64(lap_virtual_types_real_heap(&types, 3), 0);
}

UNIT_TEST(a_heap_of_the_host_is_not_shown_twice)
{
    const struct lap_type real[] = {{0xf, 1}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 1, (struct lap_heaps){3, 5}, false);
    CHECK(types.split);
    CHECK_EQ_U64(types.shown_heap_count, 3);
    CHECK_EQ_U64(types.shown[1].heap, 1);
}

UNIT_TEST(without_room_for_a_heap_nothing_is_split)
{
    const struct lap_type real[] = {{0xf, 2}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 1, (struct lap_heaps){LAP_HEAPS_MAX, 0xffff}, false);
    CHECK(!types.split);
    CHECK_EQ_U64(types.shown_heap_count, LAP_HEAPS_MAX);
    check_sane(&types);
}

UNIT_TEST(real_only_shows_the_machine)
{
    const struct lap_type real[] = {{0xf, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 1, (struct lap_heaps){3, 7}, true);
    CHECK(!types.split);
    SHOWN(&types, 1, LIST(0xf), LIST(0));
}

UNIT_TEST(a_machine_with_separate_types_stays_as_it_is)
{
    const struct lap_type nvidia[] = {{0, 1}, {1, 0}, {6, 1}, {0xe, 1}, {7, 0}};
    const struct lap_type amd[] = {{1, 0}, {6, 1}, {7, 2}, {0xe, 1}, {0xc1, 0}, {0xc6, 1}, {0xc7, 2}, {0xce, 1}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, nvidia, 5, (struct lap_heaps){3, 7}, false);
    CHECK(!types.split);
    SHOWN(&types, 5, LIST(0, 1, 6, 0xe, 7), LIST(0, 1, 2, 3, 4));
    lap_virtual_types_init(&types, amd, 8, (struct lap_heaps){3, 7}, false);
    CHECK(!types.split);
    check_sane(&types);
}

UNIT_TEST(two_combined_types_share_a_device_half)
{
    const struct lap_type intel[] = {{7, 0}, {0xf, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, intel, 2, (struct lap_heaps){3, 7}, false);
    SHOWN(&types, 5, LIST(1, 6, 7, 0xe, 0xf), LIST(0, 0, 0, 1, 1));
    CHECK_EQ_U64(lap_virtual_types_shown_mask(&types, 2), 0x18);
}

UNIT_TEST(only_the_missing_half_is_added)
{
    const struct lap_type apple[] = {{1, 0}, {0xb, 0}, {0xf, 0}, {0x11, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, apple, 4, (struct lap_heaps){3, 7}, false);
    CHECK(types.split);
    SHOWN(&types, 6, LIST(1, 0xa, 0xb, 0xe, 0xf, 0x11), LIST(0, 1, 1, 2, 2, 3));
}

UNIT_TEST(special_types_are_never_split)
{
    /* lazily allocated, protected, AMD's coherent and uncached, RDMA, one of the future */
    const struct lap_type special[] = {{0x13, 0}, {0x23, 0}, {0x107, 0}, {0x80000007u, 0}, {0x47, 0}, {0xc7, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, special, 6, (struct lap_heaps){3, 7}, false);
    CHECK(!types.split);
    check_sane(&types);
}

UNIT_TEST(amd_types_stay_last)
{
    const struct lap_type real[] = {{7, 0}, {0x11, 0}, {0x47, 0}, {0xc7, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 4, (struct lap_heaps){3, 7}, false);
    SHOWN(&types, 6, LIST(1, 6, 7, 0x11, 0x47, 0xc7), LIST(0, 0, 0, 1, 2, 3));
}

UNIT_TEST(what_does_not_fit_is_not_split)
{
    struct lap_type real[LAP_TYPES_MAX];
    struct lap_virtual_types types;
    for (uint32_t i = 0; i < LAP_TYPES_MAX; i++)
        real[i] = (struct lap_type){0xf, i % 2};
    lap_virtual_types_init(&types, real, 31, (struct lap_heaps){3, 7}, false);
    CHECK(!types.split);
    check_sane(&types);
    lap_virtual_types_init(&types, real, 30, (struct lap_heaps){3, 7}, false);
    CHECK(types.split);
    CHECK_EQ_U64(types.shown_count, 32);
    check_sane(&types);
    lap_virtual_types_init(&types, real, LAP_TYPES_MAX, (struct lap_heaps){3, 7}, false);
    CHECK(!types.split);
    check_sane(&types);
}

UNIT_TEST(masks_never_become_empty)
{
    const struct lap_type real[] = {{0xf, 0}, {1, 0}};
    struct lap_virtual_types types;
    lap_virtual_types_init(&types, real, 2, (struct lap_heaps){3, 7}, false);
    CHECK(lap_virtual_types_shown_mask(&types, 1u << 30) != 0);
    lap_virtual_types_init(&types, NULL, 0, (struct lap_heaps){3, 7}, false);
    CHECK_EQ_U64(types.shown_count, 0);
}

UNIT_TEST(every_small_machine_gets_valid_types)
{
    static const uint32_t kinds[] = {0, 1, 3, 6, 7, 0xa, 0xb, 0xe, 0xf, 0x11, 0x21, 0xc7};
    struct lap_virtual_types types;
    for (uint32_t subset = 1; subset < 1u << 12; subset++) {
        struct lap_type real[12];
        uint32_t count = 0;
        for (uint32_t i = 0; i < 12; i++)
            if (subset >> i & 1)
                real[count++] = (struct lap_type){kinds[i], i % 3};
        lap_virtual_types_init(&types, real, count, (struct lap_heaps){3, 7}, false);
        check_sane(&types);
        if (unit_failed)
            return;
    }
}

UNIT_MAIN();
