/* SPDX-License-Identifier: MIT */
/* Which numbers are taken for addresses that a replay does not follow, and which are not. */
#include "vulkan/untranslated.h"

#include <string.h>

#include "unit.h"

#define FIRST 0x7f1234561000u
#define BYTES 0x2000u
#define LOW   ((uint32_t)FIRST)
#define HIGH  ((uint32_t)(FIRST >> 32))

/* Two buffers: one at an address as CPUs have them, one at a small one. */
static const uint64_t begins[] = {FIRST, 0x300200000u};

static enum lap_constant_fit fit(void *user, uint64_t word)
{
    for (unsigned i = 0; i < 2; i++)
        if (word >= begins[i] && word <= begins[i] + BYTES)
            return word == begins[i] ? LAP_CONSTANT_BEGIN : LAP_CONSTANT_WITHIN;
    return LAP_CONSTANT_NONE;
}

static struct lap_upper_halves halves;

static const struct lap_address_view *view(void)
{
    static struct lap_address_view of_both = {fit, NULL, &halves};

    halves.count = 0;
    for (unsigned i = 0; i < 4; i++)
        lap_upper_halves_add(&halves, begins[i % 2]);
    CHECK_EQ_U64(halves.count, 2);
    return &of_both;
}

/* -1: nothing is lost. */
static int in_words(const void *data, size_t bytes, uint64_t offset)
{
    struct lap_untranslated lost;

    if (!lap_untranslated_in_words(view(), data, bytes, &lost))
        return -1;
    CHECK_EQ_U64(lost.offset, offset);
    CHECK(lost.address >= FIRST && lost.address <= FIRST + BYTES);
    CHECK(lap_untranslated_text(lost.kind)[0] == 'a' || lap_untranslated_text(lost.kind)[0] == 't');
    return (int)lost.kind;
}

UNIT_TEST(words_that_are_translated_are_not_lost)
{
    const uint32_t words[] = {7, LOW, HIGH, LOW + 8, HIGH, 0, 3, 0x200000, 3, 12};

    CHECK_EQ_INT(in_words(words, sizeof words, 0), -1);
    CHECK_EQ_INT(in_words(words, 4, 0), -1);
    CHECK_EQ_INT(in_words(NULL, 64, 0), -1);
}

UNIT_TEST(halves_that_are_not_side_by_side_are_lost)
{
    const uint32_t apart[] = {1, LOW + 16, 2, HIGH}, swapped[] = {HIGH, LOW}, other[] = {HIGH, 5, LOW + BYTES + 1};
    /* Beside an address that is found. */
    const uint32_t more[] = {LOW, HIGH, 9, HIGH, 9, LOW};
    /* 3 and 2 MiB are numbers as there are many. */
    const uint32_t small[] = {3, 1, 0x200000};

    CHECK_EQ_INT(in_words(apart, sizeof apart, 4), LAP_UNTRANSLATED_APART);
    CHECK_EQ_INT(in_words(swapped, sizeof swapped, 4), LAP_UNTRANSLATED_APART);
    CHECK_EQ_INT(in_words(other, sizeof other, 0), -1);
    CHECK_EQ_INT(in_words(more, sizeof more, 20), LAP_UNTRANSLATED_APART);
    CHECK_EQ_INT(in_words(small, sizeof small, 0), -1);
}

UNIT_TEST(addresses_at_odd_offsets_are_lost)
{
    static unsigned char data[4096];
    const uint64_t address = FIRST + 24;

    for (size_t at = 0; at < 24; at++) {
        memset(data, 0, sizeof data);
        memcpy(data + at, &address, 8);
        CHECK_EQ_INT(in_words(data, 33, at), at % 4 ? LAP_UNTRANSLATED_ODD : -1);
        CHECK_EQ_INT(in_words(data, sizeof data, at), at % 4 ? LAP_UNTRANSLATED_ODD : -1);
    }
    CHECK_EQ_INT(in_words(data, 24, 0), -1); /* not all of it */
}

static int in_constants(const uint32_t *data, size_t count, uint64_t offset)
{
    VkSpecializationMapEntry entries[16] = {{0}};
    VkSpecializationInfo info = {(uint32_t)count, entries, count * 4, data};
    struct lap_untranslated lost;

    for (uint32_t i = 0; i < count; i++)
        entries[i] = (VkSpecializationMapEntry){i, 4 * i, 4};
    if (!lap_untranslated_in_constants(view(), &info, &lost))
        return -1;
    CHECK_EQ_U64(lost.offset, offset);
    return (int)lost.kind;
}

static void count(void *user, const struct lap_constant_word *word)
{
    ++*(unsigned *)user;
}

/* {64, 3} may well be two numbers; the address that a buffer begins at, with a small upper half, is one. */
UNIT_TEST(constants_of_small_addresses_are_found_at_a_buffers_begin)
{
    const uint32_t numbers[] = {0x200040, 3}, begin[] = {0x200000, 3}, large[] = {LOW + 64, HIGH};
    const uint64_t wide = 0x300200040u;
    const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}}, one = {0, 0, 8};
    const void *const data[] = {numbers, begin, large};

    for (unsigned i = 0; i < 3; i++) {
        const VkSpecializationInfo info = {2, entries, 8, data[i]};
        unsigned found = 0;
        CHECK(lap_constants_visit(&info, fit, count, &found));
        CHECK_EQ_U64(found, i > 0);
    }
    const VkSpecializationInfo info = {1, &one, 8, &wide};
    unsigned found = 0;
    CHECK(lap_constants_visit(&info, fit, count, &found));
    CHECK_EQ_U64(found, 1);
}

UNIT_TEST(constants_that_are_no_whole_address_are_lost)
{
    const uint32_t good[] = {3, HIGH, LOW, 4, LOW + 8, HIGH, 5}, apart[] = {HIGH, 1, LOW + 4};
    const uint32_t low[] = {1, 2, LOW}, within[] = {1, 2, LOW + 4}, common[] = {64, 1, 0x200000, 3, 0x3f800000};

    CHECK_EQ_INT(in_constants(good, 7, 0), -1);
    CHECK_EQ_INT(in_constants(apart, 3, 8), LAP_UNTRANSLATED_APART);
    CHECK_EQ_INT(in_constants(low, 3, 8), LAP_UNTRANSLATED_LOW);
    CHECK_EQ_INT(in_constants(within, 3, 0), -1);
    CHECK_EQ_INT(in_constants(common, 5, 0), -1);
    CHECK_EQ_INT(in_constants(NULL, 3, 0), -1);
    CHECK(!lap_untranslated_in_constants(view(), NULL, NULL));
}

UNIT_MAIN();
