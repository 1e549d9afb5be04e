/* SPDX-License-Identifier: MIT */
/* When objects end: runs, periods, and how little will be alive until then. */
#include "replayer/lifetime.h"

#include "tests/unit/unit.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { BUFFER, IMAGE };

struct told {
    struct replay_lifetimes *lifetimes;
    uint64_t ticket, index;
};

static uint64_t born(struct told *told, unsigned kind, uint64_t bytes)
{
    told->ticket++;
    CHECK_EQ_INT(replay_lifetimes_bind(told->lifetimes, kind, ++told->index, bytes, 0), LAP_OK);
    return told->index;
}

static void ends(struct told *told, unsigned kind, uint64_t index)
{
    CHECK_EQ_INT(replay_lifetimes_end(told->lifetimes, kind, index, ++told->ticket), LAP_OK);
}

static void used(struct told *told)
{
    told->ticket++;
    CHECK_EQ_INT(replay_lifetimes_use(told->lifetimes), LAP_OK);
}

static uint32_t period_of(const struct told *told, unsigned kind, uint64_t index)
{
    return replay_lifetimes_period(told->lifetimes, kind, index);
}

static struct told begin(void)
{
    struct told told = {0};
    CHECK_EQ_INT(replay_lifetimes_create(&told.lifetimes), LAP_OK);
    return told;
}

static void finish(struct told *told)
{
    replay_lifetimes_destroy(&told->lifetimes);
    CHECK(told->lifetimes == NULL);
    replay_lifetimes_destroy(&told->lifetimes);
}

UNIT_TEST(what_ends_in_one_run_ends_when_it_begins)
{
    struct told told = begin();
    uint64_t objects[6], large = born(&told, IMAGE, 64 * MIB), stays = born(&told, BUFFER, KIB), run;
    const struct replay_period *period;

    for (int i = 0; i < 6; i++)
        objects[i] = born(&told, i % 2, 60 * KIB);
    /* All of them go, and what is left is little: the run is a period. */
    run = told.ticket + 1;
    ends(&told, IMAGE, large);
    for (int i = 5; i >= 3; i--)
        ends(&told, i % 2, objects[i]);
    used(&told);
    for (int i = 0; i < 3; i++)
        ends(&told, i % 2, objects[i]);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_count(told.lifetimes), 2);
    CHECK_EQ_U64(period_of(&told, IMAGE, large), 1);
    for (int i = 0; i < 6; i++)
        CHECK_EQ_U64(period_of(&told, i % 2, objects[i]), i < 3 ? 2 : 1);
    CHECK_EQ_U64(period_of(&told, BUFFER, stays), REPLAY_PERIOD_NEVER);
    CHECK_EQ_U64(period_of(&told, IMAGE, stays), REPLAY_PERIOD_UNKNOWN);
    period = replay_lifetimes_get(told.lifetimes, 1);
    CHECK_EQ_U64(period->first_ticket, run);
    CHECK_EQ_U64(period->last_ticket, run);
    CHECK_EQ_U64(period->bytes, 3 * 60 * KIB); /* without what lies alone */
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, REPLAY_PERIOD_NEVER)->bytes, KIB);
    CHECK(replay_lifetimes_get(told.lifetimes, REPLAY_PERIOD_UNKNOWN) == NULL);
    CHECK(replay_lifetimes_get(told.lifetimes, 3) == NULL);
    finish(&told);
}

UNIT_TEST(a_period_ends_an_eighth_of_what_is_left)
{
    enum { COUNT = 4096 };
    static uint64_t objects[COUNT];
    struct told told = begin();
    uint64_t left = COUNT * 4 * KIB, bytes = 0, before = 0, low = UINT64_MAX;
    uint32_t period = 0;

    for (int i = 0; i < COUNT; i++)
        objects[i] = born(&told, BUFFER, 4 * KIB);
    for (int i = 0; i < COUNT; i++) {
        ends(&told, BUFFER, objects[i]);
        used(&told);
    }
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true), LAP_OK);
    for (int i = 0; i < COUNT; i++) {
        if (period_of(&told, BUFFER, objects[i]) != period) {
            CHECK_EQ_U64(period_of(&told, BUFFER, objects[i]), period + 1);
            period++;
            bytes = 0;
            low = UINT64_MAX;
        }
        /* All that has ended of it before this object is little of what was alive then, or of the floor. */
        CHECK(bytes <= (low > REPLAY_FLOOR_BYTES ? low : REPLAY_FLOOR_BYTES) / 8);
        before = bytes;
        bytes += 4 * KIB;
        left -= 4 * KIB;
        low = left;
    }
    CHECK(before > 0);
    CHECK(period > 20 && period < 40); /* 8 ln(16 MiB / 1 MiB), and 8 below the floor */
    CHECK_EQ_U64(replay_lifetimes_count(told.lifetimes), period);
    finish(&told);
}

UNIT_TEST(the_least_that_is_alive_is_known)
{
    struct told told = begin();
    uint64_t a[32], b[32], c[32], start = 1;

    for (int i = 0; i < 32; i++)
        a[i] = born(&told, BUFFER, 50 * KIB);
    for (int i = 0; i < 32; i++)
        c[i] = born(&told, BUFFER, 20 * KIB);
    for (int i = 0; i < 32; i++)
        ends(&told, BUFFER, a[i]);
    used(&told); /* 640 KiB are left */
    for (int i = 0; i < 32; i++)
        b[i] = born(&told, BUFFER, 60 * KIB);
    for (int i = 0; i < 32; i++)
        ends(&told, BUFFER, b[i]);
    used(&told);
    for (int i = 0; i < 32; i++)
        ends(&told, BUFFER, c[i]);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true), LAP_OK);
    CHECK_EQ_U64(period_of(&told, BUFFER, a[0]), 1);
    CHECK_EQ_U64(period_of(&told, BUFFER, b[0]), 2);
    CHECK_EQ_U64(period_of(&told, BUFFER, c[0]), 3);
    /* What ends in the first run is not there any more when less is alive. */
    CHECK_EQ_U64(replay_lifetimes_low(told.lifetimes, start, 1), UINT64_MAX);
    CHECK_EQ_U64(replay_lifetimes_low(told.lifetimes, start, 2), 640 * KIB);
    CHECK_EQ_U64(replay_lifetimes_low(told.lifetimes, start, 3), 640 * KIB);
    /* What was before counts no more. */
    CHECK_EQ_U64(replay_lifetimes_low(told.lifetimes, replay_lifetimes_get(told.lifetimes, 2)->first_ticket, 3),
                 UINT64_MAX);
    CHECK_EQ_U64(replay_lifetimes_low(told.lifetimes, start, REPLAY_PERIOD_NEVER), 0);
    finish(&told);
}

UNIT_TEST(what_is_known_stays_when_more_is_told)
{
    struct told told = begin();
    uint64_t first = born(&told, BUFFER, KIB), second = born(&told, BUFFER, 2 * KIB), third = born(&told, BUFFER, KIB);
    struct replay_period before;

    ends(&told, BUFFER, first);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false), LAP_OK);
    CHECK_EQ_U64(period_of(&told, BUFFER, first), 1);
    CHECK_EQ_U64(period_of(&told, BUFFER, second), REPLAY_PERIOD_UNKNOWN);
    before = *replay_lifetimes_get(told.lifetimes, 1);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, REPLAY_PERIOD_NEVER)->bytes, 3 * KIB);
    /* In the same run, and below the floor: it would have been the same period. */
    ends(&told, BUFFER, second);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true), LAP_OK);
    CHECK_EQ_U64(period_of(&told, BUFFER, first), 1);
    CHECK_EQ_U64(period_of(&told, BUFFER, second), 2);
    CHECK_EQ_U64(period_of(&told, BUFFER, third), REPLAY_PERIOD_NEVER);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, 1)->last_ticket, before.last_ticket);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, 1)->bytes, before.bytes);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, REPLAY_PERIOD_NEVER)->bytes, KIB);
    finish(&told);
}

UNIT_TEST(a_trace_may_say_anything)
{
    struct told told = begin();
    uint64_t image = born(&told, IMAGE, KIB);

    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, IMAGE, image, KIB, 0), LAP_OK); /* another plane */
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, BUFFER, UINT64_MAX, KIB, 0), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, BUFFER, 7, UINT64_MAX, 0), LAP_OK);
    ends(&told, BUFFER, 8);
    ends(&told, BUFFER, UINT64_MAX);
    ends(&told, IMAGE, image);
    ends(&told, IMAGE, image);
    used(&told);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, IMAGE, image, KIB, 0), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true), LAP_OK);
    CHECK_EQ_U64(period_of(&told, BUFFER, UINT64_MAX), REPLAY_PERIOD_UNKNOWN);
    CHECK_EQ_U64(period_of(&told, BUFFER, 7), REPLAY_PERIOD_UNKNOWN);
    CHECK_EQ_U64(period_of(&told, BUFFER, 8), REPLAY_PERIOD_UNKNOWN);
    CHECK_EQ_U64(period_of(&told, IMAGE, image), 1);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, 1)->bytes, 2 * KIB);
    finish(&told);
}

UNIT_TEST(destructions_use_nothing)
{
    CHECK(replay_is_destruction("vkDestroyImageView"));
    CHECK(replay_is_destruction("vkFreeDescriptorSets"));
    CHECK(replay_is_destruction("vkUnmapMemory"));
    CHECK(!replay_is_destruction("vkResetDescriptorPool"));
    CHECK(!replay_is_destruction("lapilliUpdateBuffer"));
    CHECK(!replay_is_destruction(NULL));
}

/* Numbers are dense: a few that are not must not bring tables for all between. */
UNIT_TEST(numbers_that_can_not_be_are_passed_over)
{
    struct replay_lifetimes *l;

    CHECK_EQ_INT(replay_lifetimes_create(&l), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_bind(l, 0, 65536, 10, 0), LAP_OK);
    for (uint64_t index = 1 << 17; index; index *= 2)
        CHECK_EQ_INT(replay_lifetimes_bind(l, 0, index, 10, 0), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_seal(l, true), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_period(l, 0, 65536), REPLAY_PERIOD_NEVER);
    for (uint64_t index = 1 << 17; index; index *= 2)
        CHECK_EQ_U64(replay_lifetimes_period(l, 0, index), REPLAY_PERIOD_UNKNOWN);
    replay_lifetimes_destroy(&l);
}

UNIT_MAIN();
