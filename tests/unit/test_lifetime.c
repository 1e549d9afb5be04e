/* SPDX-License-Identifier: MIT */
/* When objects end: runs, and what is planned when. */
#include "replayer/lifetime.h"

#include "tests/unit/unit.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum { BUFFER, IMAGE };
enum { DEVICE = 1, OTHER_DEVICE = 7 };

struct told {
    struct replay_lifetimes *lifetimes;
    uint64_t device;
    uint64_t ticket, index;
    uint64_t first; /* the ticket behind `few` */
};

static uint64_t born(struct told *told, unsigned kind, uint64_t bytes)
{
    told->ticket++;
    CHECK_EQ_INT(replay_lifetimes_bind(told->lifetimes, told->device, kind, ++told->index, bytes, 0, told->ticket),
                 LAP_OK);
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

static uint32_t cell_of(const struct told *told, unsigned kind, uint64_t index)
{
    return replay_lifetimes_cell(told->lifetimes, told->device, kind, index);
}

static struct told begin(void)
{
    struct told told = {.device = DEVICE};
    CHECK_EQ_INT(replay_lifetimes_create(4096, &told.lifetimes), LAP_OK);
    return told;
}

/* As many as lie alone in any case. */
static void few(struct told *told)
{
    for (unsigned i = 0; i < REPLAY_FEW_ALLOCATIONS; i++)
        (void)born(told, BUFFER, KIB);
    told->first = told->ticket;
}

static void finish(struct told *told)
{
    replay_lifetimes_destroy(&told->lifetimes);
    CHECK(told->lifetimes == NULL);
    replay_lifetimes_destroy(&told->lifetimes);
}

UNIT_TEST(what_ends_in_one_run_ends_when_it_begins)
{
    enum { COUNT = 2000 };
    static uint64_t objects[COUNT];
    struct told told = begin();
    uint64_t large = born(&told, IMAGE, 64 * MIB), stays = 0, run, cells = 0;

    for (int i = 0; i < COUNT; i++)
        objects[i] = born(&told, BUFFER, 60 * KIB);
    stays = born(&told, BUFFER, KIB);
    run = told.ticket + 1;
    ends(&told, IMAGE, large);
    for (int i = COUNT - 1; i >= COUNT / 2; i--)
        ends(&told, BUFFER, objects[i]);
    used(&told);
    CHECK(!replay_lifetimes_has_ended(told.lifetimes, BUFFER, objects[0]));
    for (int i = 0; i < COUNT / 2; i++)
        ends(&told, BUFFER, objects[i]);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, 0), LAP_OK);
    for (int i = 0; i < COUNT; i++) {
        uint32_t number = cell_of(&told, BUFFER, objects[i]);
        const struct replay_cell *cell;
        CHECK(replay_lifetimes_has_ended(told.lifetimes, BUFFER, objects[i]));
        CHECK_EQ_U64(replay_lifetimes_bytes(told.lifetimes, BUFFER, objects[i]), 60 * KIB);
        CHECK(number != REPLAY_CELL_UNKNOWN);
        /* The first ones have allocations of their own, and so have large ones. */
        CHECK((number == REPLAY_CELL_ALONE) == (i < (int)REPLAY_FEW_ALLOCATIONS - 1));
        if (number == REPLAY_CELL_ALONE)
            continue;
        cell = replay_lifetimes_get(told.lifetimes, DEVICE, number);
        CHECK(cell->begin <= (uint64_t)i + 2);
        CHECK(cell->end == (i < COUNT / 2 ? run + COUNT / 2 + 2 : run));
        cells = number > cells ? number : cells;
    }
    CHECK(cells >= 2 && cells < 100);
    CHECK_EQ_U64(cell_of(&told, IMAGE, large), REPLAY_CELL_ALONE);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell_of(&told, BUFFER, stays))->end, UINT64_MAX);
    CHECK_EQ_U64(cell_of(&told, IMAGE, stays), REPLAY_CELL_UNKNOWN);
    CHECK(!replay_lifetimes_has_ended(told.lifetimes, IMAGE, stays));
    finish(&told);
}

/* The replay is in the middle of it. */
UNIT_TEST(what_has_its_place_is_not_planned)
{
    struct told told = begin();
    uint64_t over, before, now, later;

    few(&told);
    over = born(&told, BUFFER, KIB);
    before = born(&told, BUFFER, KIB);
    now = born(&told, BUFFER, KIB);
    later = born(&told, BUFFER, KIB);
    ends(&told, BUFFER, over);
    used(&told);
    ends(&told, BUFFER, before);
    ends(&told, BUFFER, now);
    ends(&told, BUFFER, later);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, told.first + 3), LAP_OK);
    CHECK_EQ_U64(cell_of(&told, BUFFER, before), REPLAY_CELL_UNKNOWN);
    CHECK(cell_of(&told, BUFFER, now) != REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, now), cell_of(&told, BUFFER, later));
    finish(&told);
}

UNIT_TEST(what_is_known_stays_when_more_is_told)
{
    struct told told = begin();
    struct replay_cell before;
    uint64_t first, second, third;
    uint32_t cell;

    few(&told);
    first = born(&told, BUFFER, KIB);
    second = born(&told, BUFFER, 2 * KIB);
    third = born(&told, BUFFER, KIB);
    ends(&told, BUFFER, first);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, 0), LAP_OK);
    cell = cell_of(&told, BUFFER, first);
    CHECK(cell != REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, second), REPLAY_CELL_UNKNOWN);
    before = *replay_lifetimes_get(told.lifetimes, DEVICE, cell);
    CHECK_EQ_U64(before.bytes, KIB);
    ends(&told, BUFFER, second);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, 0), LAP_OK);
    CHECK_EQ_U64(cell_of(&told, BUFFER, first), cell);
    CHECK(memcmp(&before, replay_lifetimes_get(told.lifetimes, DEVICE, cell), sizeof before) == 0);
    CHECK(cell_of(&told, BUFFER, second) > cell);
    CHECK(cell_of(&told, BUFFER, third) > cell);
    /* What was over when the replay was here is forgotten, but for its having ended. */
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, told.ticket), LAP_OK);
    CHECK_EQ_U64(cell_of(&told, BUFFER, first), REPLAY_CELL_UNKNOWN);
    CHECK(replay_lifetimes_has_ended(told.lifetimes, BUFFER, first));
    CHECK(cell_of(&told, BUFFER, third) > cell);
    finish(&told);
}

/* However long a trace is; an early one that lasts keeps none of the later ones. */
UNIT_TEST(cells_that_are_over_are_dropped)
{
    enum { ROUNDS = 50, COUNT = 100 };
    struct told told = begin();
    uint64_t lasts, objects[COUNT];
    uint32_t first, last = 0;

    few(&told);
    lasts = born(&told, IMAGE, KIB);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t now = told.ticket;
        uint32_t cell;
        for (int i = 0; i < COUNT; i++)
            objects[i] = born(&told, BUFFER, KIB);
        for (int i = 0; i < COUNT; i++)
            ends(&told, BUFFER, objects[i]);
        CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, round == 0, now), LAP_OK);
        cell = cell_of(&told, BUFFER, objects[0]);
        CHECK(cell != REPLAY_CELL_UNKNOWN && cell > last);
        CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell)->number, cell);
        for (uint32_t older = 1; older <= last; older++)
            CHECK((replay_lifetimes_get(told.lifetimes, DEVICE, older) != NULL) ==
                  (older == cell_of(&told, IMAGE, lasts)));
        last = cell;
    }
    first = cell_of(&told, IMAGE, lasts);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, first)->end, UINT64_MAX);
    CHECK(replay_lifetimes_get(told.lifetimes, DEVICE, last + 1) == NULL);
    finish(&told);
}

static void expects(struct told *told, unsigned kind, uint64_t later, uint64_t begin, uint64_t end)
{
    const struct replay_expected_life life = {.device = DEVICE,
                                              .kind = kind,
                                              .index = told->index + later,
                                              .bytes = KIB,
                                              .begin = told->ticket + begin,
                                              .end = end};
    CHECK_EQ_INT(replay_lifetimes_expect(told->lifetimes, &life), LAP_OK);
}

/* Plans reckon with what is only said of lives, but nobody relies on it. */
UNIT_TEST(lives_may_be_expected)
{
    struct told told = begin();
    const struct replay_cell *cell;
    uint64_t kept, late, unsaid, broken, future;
    uint32_t number;

    few(&told);
    expects(&told, BUFFER, 1, 1, 10000);
    expects(&told, IMAGE, 1, 1, 20000);
    expects(&told, BUFFER, 4, 4, told.ticket + 20);
    expects(&told, BUFFER, 2, 2, 5000);
    expects(&told, BUFFER, 3, 1, told.ticket + 2); /* it begins later */
    expects(&told, BUFFER, 35, 35, 9000);
    expects(&told, BUFFER, 36, 36, 9000); /* and is another size */
    expects(&told, BUFFER, 1000, 10, 5);  /* no life */
    expects(&told, BUFFER, 1 << 30, 4000, 5000);
    kept = born(&told, BUFFER, KIB);
    late = born(&told, BUFFER, KIB);
    unsaid = born(&told, BUFFER, KIB);
    broken = born(&told, BUFFER, KIB);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, 0), LAP_OK);
    number = cell_of(&told, BUFFER, kept);
    CHECK(number != REPLAY_CELL_ALONE && number != REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, unsaid), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, late), number);
    CHECK_EQ_U64(cell_of(&told, BUFFER, broken), number);
    CHECK(!replay_lifetimes_has_ended(told.lifetimes, BUFFER, kept));
    cell = replay_lifetimes_get(told.lifetimes, DEVICE, number);
    CHECK_EQ_U64(cell->end, 10000);
    CHECK_EQ_U64(cell->expected, 6);
    CHECK_EQ_U64(cell->items, 6);
    for (int i = 0; i < 30; i++)
        (void)born(&told, BUFFER, KIB);
    future = born(&told, BUFFER, KIB);
    CHECK_EQ_U64(cell_of(&told, BUFFER, future), number);
    CHECK_EQ_U64(cell_of(&told, BUFFER, born(&told, BUFFER, 5 * KIB)), number);
    /* One lives for longer than was said. */
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, told.ticket), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, number)->end, UINT64_MAX);
    ends(&told, BUFFER, kept);
    used(&told);
    ends(&told, BUFFER, broken);
    ends(&told, BUFFER, future);
    ends(&told, BUFFER, future + 1);
    /* One does not begin. */
    told.ticket += 5000;
    (void)born(&told, BUFFER, KIB);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, told.ticket), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, number)->expected, 1);
    CHECK_EQ_U64(replay_lifetimes_settled(told.lifetimes), 0);
    ends(&told, BUFFER, late);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, told.first), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_settled(told.lifetimes), 1);
    cell = replay_lifetimes_get(told.lifetimes, DEVICE, number);
    CHECK_EQ_U64(cell->expected, 0);
    CHECK_EQ_U64(cell->end, told.ticket);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, told.ticket), LAP_OK);
    CHECK(replay_lifetimes_get(told.lifetimes, DEVICE, number) == NULL);
    finish(&told);
}

/* What is expected behind the end of the trace is not there. */
UNIT_TEST(nothing_is_expected_behind_the_end)
{
    struct told told = begin();
    uint64_t object;

    few(&told);
    expects(&told, BUFFER, 1, 1, 10000);
    expects(&told, BUFFER, 2, 200, 10000);
    object = born(&told, BUFFER, KIB);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, 0), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell_of(&told, BUFFER, object))->end, UINT64_MAX);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell_of(&told, BUFFER, object))->items, 1);
    finish(&told);
}

/* Each as if it were the only one. */
UNIT_TEST(every_device_has_cells_of_its_own)
{
    enum { COUNT = 3000 };
    static uint64_t objects[COUNT];
    struct told told = begin();
    uint64_t bytes[2] = {0}, expected;

    for (int i = 0; i < COUNT; i++) {
        told.device = i % 3 ? DEVICE : OTHER_DEVICE;
        if (i == 2 * COUNT / 3)
            expects(&told, BUFFER, 1, 1, told.ticket + 10 * COUNT);
        objects[i] = born(&told, BUFFER, KIB);
    }
    expected = objects[2 * COUNT / 3];
    for (int i = 0; i < COUNT; i++) {
        if (i % 10 == 0)
            used(&told);
        if (objects[i] != expected)
            ends(&told, BUFFER, objects[i]); /* of both devices in one run */
    }
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, 0), LAP_OK);
    for (int i = 0; i < COUNT; i++) {
        uint64_t device = i % 3 ? DEVICE : OTHER_DEVICE;
        uint32_t cell = replay_lifetimes_cell(told.lifetimes, device, BUFFER, objects[i]);
        CHECK(cell != REPLAY_CELL_UNKNOWN);
        CHECK_EQ_U64(replay_lifetimes_cell(told.lifetimes, 1 + 7 - device, BUFFER, objects[i]), REPLAY_CELL_UNKNOWN);
        CHECK_EQ_U64(replay_lifetimes_cell(told.lifetimes, 3, BUFFER, objects[i]), REPLAY_CELL_UNKNOWN);
        CHECK_EQ_U64(replay_lifetimes_bytes(told.lifetimes, BUFFER, objects[i]), KIB);
        bytes[device == DEVICE] += cell == REPLAY_CELL_ALONE ? KIB : 0;
    }
    CHECK_EQ_U64(bytes[0], REPLAY_FEW_ALLOCATIONS * KIB);
    CHECK_EQ_U64(bytes[1], REPLAY_FEW_ALLOCATIONS * KIB);
    bytes[0] = bytes[1] = 0;
    for (uint32_t cell = 1; cell < COUNT; cell++) {
        const struct replay_cell *one = replay_lifetimes_get(told.lifetimes, DEVICE, cell);
        const struct replay_cell *other = replay_lifetimes_get(told.lifetimes, OTHER_DEVICE, cell);
        bytes[0] += one ? one->bytes : 0;
        bytes[1] += other ? other->bytes : 0;
    }
    CHECK(replay_lifetimes_get(told.lifetimes, 3, 1) == NULL);
    CHECK_EQ_U64(bytes[0], (2 * COUNT / 3 - REPLAY_FEW_ALLOCATIONS) * KIB);
    CHECK_EQ_U64(bytes[1], (COUNT / 3 - REPLAY_FEW_ALLOCATIONS) * KIB);
    finish(&told);
}

/* Those that have nothing any more make room. One that comes back has cells with other numbers than before. */
UNIT_TEST(devices_may_come_and_go)
{
    enum { ROUNDS = 300, COUNT = 300, AT_ONCE = 65 };
    struct told told = begin();
    uint64_t objects[COUNT];
    uint32_t last = 0, planned = 0;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t now = told.ticket;
        told.device = round % 10 ? round : 1;
        for (int i = 0; i < COUNT; i++)
            objects[i] = born(&told, IMAGE, KIB);
        for (int i = 0; i < COUNT; i++)
            ends(&told, IMAGE, objects[i]);
        CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, now), LAP_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK(cell_of(&told, IMAGE, objects[i]) != REPLAY_CELL_UNKNOWN);
        if (told.device == 1) {
            CHECK(cell_of(&told, IMAGE, objects[COUNT - 1]) > last);
            last = cell_of(&told, IMAGE, objects[COUNT - 1]);
        }
    }
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, false, told.ticket), LAP_OK);
    for (int i = 0; i < AT_ONCE; i++) {
        told.device = 1000 + (uint64_t)i;
        objects[i] = born(&told, IMAGE, KIB);
    }
    for (int i = 0; i < AT_ONCE; i++)
        ends(&told, IMAGE, objects[i]);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, 0), LAP_OK);
    for (int i = 0; i < AT_ONCE; i++) {
        told.device = 1000 + (uint64_t)i;
        planned += cell_of(&told, IMAGE, objects[i]) != REPLAY_CELL_UNKNOWN;
        CHECK_EQ_INT(replay_lifetimes_has_ended(told.lifetimes, IMAGE, objects[i]),
                     cell_of(&told, IMAGE, objects[i]) != REPLAY_CELL_UNKNOWN);
    }
    CHECK_EQ_U64(planned, AT_ONCE - 1);
    finish(&told);
}

UNIT_TEST(a_trace_may_say_anything)
{
    struct told told = begin();
    uint64_t image;

    few(&told);
    image = born(&told, IMAGE, KIB);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, DEVICE, IMAGE, image, KIB, 0, ++told.ticket),
                 LAP_OK); /* a plane */
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, DEVICE, BUFFER, UINT64_MAX, KIB, 0, ++told.ticket), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, DEVICE, BUFFER, 3, UINT64_MAX, 0, ++told.ticket), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, DEVICE, BUFFER, 65000, 0, UINT32_MAX, ++told.ticket), LAP_OK);
    ends(&told, BUFFER, 65001);
    ends(&told, BUFFER, UINT64_MAX);
    ends(&told, IMAGE, image);
    ends(&told, IMAGE, image);
    used(&told);
    CHECK_EQ_INT(replay_lifetimes_bind(told.lifetimes, DEVICE, IMAGE, image, KIB, 0, ++told.ticket), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_seal(told.lifetimes, true, 0), LAP_OK);
    CHECK_EQ_U64(cell_of(&told, BUFFER, UINT64_MAX), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, 65000), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(cell_of(&told, BUFFER, 65001), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell_of(&told, IMAGE, image))->bytes, 2 * KIB);
    CHECK_EQ_U64(replay_lifetimes_get(told.lifetimes, DEVICE, cell_of(&told, IMAGE, image))->items, 1);
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

    CHECK_EQ_INT(replay_lifetimes_create(4096, &l), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_bind(l, DEVICE, 0, 65536, 10, 0, 1), LAP_OK);
    for (uint64_t index = 1 << 17; index; index *= 2)
        CHECK_EQ_INT(replay_lifetimes_bind(l, DEVICE, 0, index, 10, 0, 2), LAP_OK);
    CHECK_EQ_INT(replay_lifetimes_seal(l, true, 0), LAP_OK);
    CHECK_EQ_U64(replay_lifetimes_cell(l, DEVICE, 0, 65536), REPLAY_CELL_ALONE);
    for (uint64_t index = 1 << 17; index; index *= 2)
        CHECK_EQ_U64(replay_lifetimes_cell(l, DEVICE, 0, index), REPLAY_CELL_UNKNOWN);
    replay_lifetimes_destroy(&l);
}

UNIT_MAIN();
