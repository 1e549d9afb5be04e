/* SPDX-License-Identifier: MIT */
/* Tens of thousands of small objects that end one by one, in any order: what is allocated for them, at every moment, on
 * a driver that counts. PLANNER_SEEDS=n: so many runs of each kind, with up to 300,000 objects. No GPU. */
#include "replayer/alias.h"
#include "tests/unit/counting_driver.h"

struct event {
    uint64_t time;
    uint32_t object;
    bool ends;
};

struct object {
    struct replay_needs needs;
    struct replay_place place;
    unsigned device;
};

enum { MOST_DEVICES = 3 };

/* Several devices of one instance, with numbers from 1. */
struct devices {
    struct host host;
    struct replay_device others[MOST_DEVICES - 1];
    struct replay_device *at[MOST_DEVICES];
    unsigned count;
};

static void devices_begin(struct devices *devices, unsigned count, const struct replay_lifetimes *lifetimes)
{
    struct host *host = &devices->host;

    host_init(host, discrete, DISCRETE);
    host->r.lifetimes = lifetimes;
    host->dev.index = 1;
    host_begin(host);
    driver.limit_count *= count; /* each has as many */
    devices->count = count;
    devices->at[0] = host->r.devices = &host->dev;
    for (unsigned i = 1; i < count; i++) {
        struct replay_device *dev = devices->at[i] = &devices->others[i - 1];
        *dev = host->dev;
        dev->index = i + 1;
        dev->next = NULL;
        devices->at[i - 1]->next = dev;
        CHECK_EQ_INT(replay_planner_create(&host->r, dev), LAP_OK);
    }
}

static void devices_end(struct devices *devices)
{
    for (unsigned i = 1; i < devices->count; i++) {
        CHECK_EQ_U64(replay_memory_stats(devices->at[i]).used_bytes, 0);
        replay_planner_destroy(&devices->host.r, devices->at[i]);
    }
    host_end(&devices->host);
}

static int by_time(const void *one, const void *other)
{
    const struct event *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* All begin before any ends. */
static uint64_t in_the_first_half(uint64_t span)
{
    return 1 + random_u64() % (span / 2);
}

static uint64_t in_the_second_half(uint64_t span, uint64_t begin)
{
    return 1 + span / 2 + random_u64() % (span / 2);
}

static uint64_t at_any_time(uint64_t span)
{
    return 1 + random_u64() % span;
}

static uint64_t at_any_later_time(uint64_t span, uint64_t begin)
{
    return begin + 1 + random_u64() % (span + 1 - begin);
}

/* Half of them are there for a hundredth of the time at most. */
static uint64_t soon_or_late(uint64_t span, uint64_t begin)
{
    return random_u64() % 2 ? begin + 1 + random_u64() % (span / 100) : at_any_later_time(span, begin);
}

static const struct {
    const char *name;
    uint64_t (*begin)(uint64_t span), (*end)(uint64_t span, uint64_t begin);
} orders[] = {
    {"all come, then all go", in_the_first_half, in_the_second_half},
    {"any time", at_any_time, at_any_later_time},
    {"half of them short", at_any_time, soon_or_late},
};
enum { ORDERS = sizeof orders / sizeof *orders };

static void make_events(struct object *objects, struct event *events, uint32_t count, unsigned order)
{
    static const VkMemoryPropertyFlags wanted[] = {LOCAL, LOCAL, VISIBLE | COHERENT, VISIBLE | CACHED,
                                                   LOCAL | VISIBLE | COHERENT};
    uint64_t span = (uint64_t)count * 64;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t begin = orders[order].begin(span), alignment = (uint64_t)1 << (4 + random_u64() % 5);
        struct replay_needs *needs = &objects[i].needs;
        *needs = needs_of(random_bytes(8, 16), wanted[random_u64() % 5]);
        needs->requirements.alignment = alignment;
        needs->requirements.size = (needs->requirements.size + alignment - 1) & ~(alignment - 1);
        needs->recorded_bytes = needs->requirements.size;
        needs->type = GEN_HANDLE_VkBuffer;
        events[2 * i] = (struct event){begin, i, false};
        events[2 * i + 1] = (struct event){orders[order].end(span, begin), i, true};
    }
    qsort(events, 2 * (size_t)count, sizeof *events, by_time);
    for (uint32_t i = 0, index = 0; i < 2 * count; i++)
        if (!events[i].ends)
            objects[events[i].object].needs.index = ++index;
}

/* Something is used before each. */
static void tell(struct replay_lifetimes *lifetimes, const struct object *object, bool ends, uint64_t ticket)
{
    const struct replay_needs *needs = &object->needs;

    CHECK_EQ_INT(replay_lifetimes_use(lifetimes), LAP_OK);
    CHECK_EQ_INT(ends ? replay_lifetimes_end(lifetimes, 0, needs->index, ticket)
                      : replay_lifetimes_bind(lifetimes, object->device + 1, 0, needs->index, needs->recorded_bytes,
                                              needs->wanted, ticket),
                 LAP_OK);
}

/* Of what is allocated to what is alive, or the floor. */
static double ratio_now(const struct replay_device *dev)
{
    struct replay_memory_stats stats = replay_memory_stats(dev);
    return (double)stats.allocated_bytes /
           (double)(stats.used_bytes > REPLAY_FLOOR_BYTES ? stats.used_bytes : REPLAY_FLOOR_BYTES);
}

/* At the worst moment, of the device that is worst then. */
static double replay_all(struct devices *devices, struct object *objects, const struct event *events, uint32_t count)
{
    double worst = 0;

    for (uint32_t i = 0; i < 2 * count; i++) {
        struct object *object = &objects[events[i].object];
        struct replay_device *dev = devices->at[object->device];
        devices->host.r.packet.ticket = i + 1;
        if (events[i].ends)
            replay_place_free(dev, &object->place);
        else
            CHECK_EQ_INT(replay_place_alloc(&devices->host.r, dev, &object->needs, &object->place), LAP_OK);
        for (unsigned j = 0; j < devices->count; j++) {
            double ratio = ratio_now(devices->at[j]);
            worst = ratio > worst ? ratio : worst;
        }
    }
    return worst;
}

static void place_all(uint32_t count, unsigned order, uint64_t seed, unsigned device_count)
{
    struct object *objects = calloc(count, sizeof *objects);
    struct event *events = calloc(count, 2 * sizeof *events);
    struct replay_lifetimes *lifetimes;
    struct devices devices;
    double worst;

    CHECK(objects && events);
    random_state = seed * 0x9e3779b97f4a7c15;
    make_events(objects, events, count, order);
    for (uint32_t i = 0; i < count; i++)
        objects[i].device = i % 8 ? i % device_count : 0; /* one has more than the others */
    CHECK_EQ_INT(replay_lifetimes_create(4096, &lifetimes), LAP_OK);
    for (uint32_t i = 0; i < 2 * count; i++)
        tell(lifetimes, &objects[events[i].object], events[i].ends, i + 1);
    CHECK_EQ_INT(replay_lifetimes_seal(lifetimes, true, 0), LAP_OK);
    devices_begin(&devices, device_count, lifetimes);
    worst = replay_all(&devices, objects, events, count);
    printf("%s, %u objects, %u devices, seed %" PRIu64 ": %.3f at the worst moment", orders[order].name, count,
           device_count, seed, worst);
    for (unsigned i = 0; i < device_count; i++) {
        struct replay_memory_stats stats = replay_memory_stats(devices.at[i]);
        printf("%s %.1f MiB at the peak, %u allocations at most, %u made", i ? ";" : ",",
               (double)stats.peak.used_bytes / (double)MIB, (unsigned)stats.most_allocations,
               (unsigned)stats.made_allocations);
    }
    printf("\n");
    CHECK(worst <= 1.25);
    CHECK_EQ_U64(driver.refused, 0);
    CHECK_EQ_U64(devices.host.r.abandoned, 0);
    devices_end(&devices);
    replay_lifetimes_destroy(&lifetimes);
    free(objects);
    free(events);
}

UNIT_TEST(any_order_of_ends_is_within_the_bound)
{
    const char *seeds = getenv("PLANNER_SEEDS");
    uint64_t count = seeds ? strtoull(seeds, NULL, 10) : 1;

    for (uint64_t seed = 1; seed <= count; seed++)
        for (unsigned order = 0; order < ORDERS; order++) {
            place_all(30000, order, seed, 1);
            if (order == 0 || seeds)
                place_all(100000, order, seed, 1);
            if (seeds)
                place_all(300000, order, seed, 1);
        }
}

/* Each device has blocks of its own, which are as large as its objects want them. */
UNIT_TEST(every_one_of_several_devices_is_within_the_bound)
{
    for (unsigned order = 0; order < ORDERS; order++)
        for (unsigned devices = 2; devices <= MOST_DEVICES; devices++)
            place_all(30000, order, 1, devices);
}

/* Of lives that are longer than an eighth of what a replay looks ahead: of none, all, only those that are longer than
 * three quarters of it, or only those of larger objects, nine of ten; or nothing that is true. */
enum said { NOTHING, LIVES, FAR, LARGE, LIES };

static bool is_said(enum said said, uint64_t bytes, uint32_t length, uint32_t ahead)
{
    return said != NOTHING && length > (said == FAR ? ahead / 4 * 3 : ahead / 8) &&
           (said != LARGE || bytes >= 450); /* between 2^8 and 2^16, all powers alike */
}

static void expect(struct replay_lifetimes *lifetimes, const struct object *object, uint64_t begin, uint64_t end)
{
    const struct replay_expected_life life = {.device = object->device + 1,
                                              .property_flags = object->needs.wanted,
                                              .index = object->needs.index,
                                              .bytes = object->needs.recorded_bytes,
                                              .begin = begin,
                                              .end = end};
    CHECK_EQ_INT(replay_lifetimes_expect(lifetimes, &life), LAP_OK);
}

/* A replay that looks ahead for a fiftieth of the trace: what is allocated at the worst moment. */
static double look_ahead(uint32_t count, unsigned order, enum said said, unsigned device_count)
{
    struct object *objects = calloc(count, sizeof *objects);
    struct event *events = calloc(count, 2 * sizeof *events);
    uint32_t ahead = count / 25, told = 0;
    uint64_t *begins = calloc(count, sizeof *begins);
    struct replay_lifetimes *lifetimes;
    struct devices devices;
    double worst = 0;

    CHECK(objects && events && begins);
    random_state = 0x9e3779b97f4a7c15;
    make_events(objects, events, count, order);
    for (uint32_t i = 0; i < count; i++)
        objects[i].device = i % device_count;
    CHECK_EQ_INT(replay_lifetimes_create(4096, &lifetimes), LAP_OK);
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t object = events[i].object;
        if (!events[i].ends)
            begins[object] = i + 1;
        else if (is_said(said, objects[object].needs.recorded_bytes, i + 1 - begins[object], ahead))
            expect(lifetimes, &objects[object], said == LIES ? random_u64() % (2 * count) : begins[object],
                   said == LIES ? random_u64() % (3 * count) : i + 1);
    }
    devices_begin(&devices, device_count, lifetimes);
    for (uint32_t i = 0; i < 2 * count; i++) {
        struct object *object = &objects[events[i].object];
        struct replay_device *dev = devices.at[object->device];
        for (; told < 2 * count && told < i + ahead + ahead / 8; told++)
            tell(lifetimes, &objects[events[told].object], events[told].ends, told + 1);
        if (i % (ahead / 8) == 0)
            CHECK_EQ_INT(replay_lifetimes_seal(lifetimes, told == 2 * count, i + 1), LAP_OK);
        devices.host.r.packet.ticket = i + 1;
        if (events[i].ends) {
            CHECK(driver.sizes[gen_u64_VkDeviceMemory(object->place.memory) - 1] != 0);
            replay_place_free(dev, &object->place);
        } else {
            CHECK_EQ_INT(replay_place_alloc(&devices.host.r, dev, &object->needs, &object->place), LAP_OK);
        }
        CHECK_EQ_U64(devices.host.r.abandoned, 0); /* something is used between any two */
        for (unsigned j = 0; j < device_count; j++)
            worst = ratio_now(devices.at[j]) > worst ? ratio_now(devices.at[j]) : worst;
    }
    CHECK_EQ_U64(driver.refused, 0);
    devices_end(&devices);
    replay_lifetimes_destroy(&lifetimes);
    free(objects);
    free(events);
    free(begins);
    return worst;
}

/* What lives for longer than a replay looks ahead is told of by the trace. If that is not true more is allocated, and
 * that is all. Where there are too many, first those are left out that the replay sees in time, then small ones. */
UNIT_TEST(lives_behind_the_horizon_are_within_the_bound)
{
    for (unsigned order = 0; order < ORDERS; order++) {
        double nothing = look_ahead(30000, order, NOTHING, 1), said = look_ahead(30000, order, LIVES, 1);
        double lies = look_ahead(30000, order, LIES, 1), several = look_ahead(30000, order, LIVES, 3);
        double far = look_ahead(30000, order, FAR, 1), large = look_ahead(30000, order, LARGE, 1);
        printf("%s, looking ahead: %.3f, with long lives %.3f, on three devices %.3f, without the shorter ones %.3f, "
               "without small ones %.3f, with wrong ones %.3f\n",
               orders[order].name, nothing, said, several, far, large, lies);
        CHECK(said <= 1.25 && several <= 1.25 && far <= 1.25 && large < nothing / 10);
    }
}

/* Objects that share memory are as large as that, and end with the last of them. */
UNIT_TEST(groups_are_placed_as_one)
{
    enum { COUNT = 4000 };
    static struct replay_alias_group groups[COUNT];
    static struct replay_place places[COUNT];
    struct replay_lifetimes *lifetimes;
    struct host host;
    double worst = 0;

    CHECK_EQ_INT(replay_lifetimes_create(4096, &lifetimes), LAP_OK);
    for (uint64_t i = 0; i < COUNT; i++) {
        groups[i].number = i + 1;
        CHECK_EQ_INT(replay_lifetimes_bind(lifetimes, 0, REPLAY_LIFE_GROUP, i + 1, 16 * KIB, LOCAL, i + 1), LAP_OK);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        CHECK_EQ_INT(replay_lifetimes_use(lifetimes), LAP_OK);
        CHECK_EQ_INT(replay_lifetimes_end(lifetimes, REPLAY_LIFE_GROUP, i + 1, COUNT + i + 1), LAP_OK);
    }
    CHECK_EQ_INT(replay_lifetimes_seal(lifetimes, true, 0), LAP_OK);
    host_init(&host, discrete, DISCRETE);
    host.r.lifetimes = lifetimes;
    host_begin(&host);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        struct replay_needs needs = needs_of(16 * KIB, LOCAL);
        needs.group = &groups[i % COUNT];
        needs.recorded_bytes = 16 * KIB;
        host.r.packet.ticket = i + 1;
        if (i < COUNT)
            CHECK_EQ_INT(replay_place_alloc(&host.r, &host.dev, &needs, &places[i]), LAP_OK);
        else
            replay_place_free(&host.dev, &places[i - COUNT]);
        worst = ratio_now(&host.dev) > worst ? ratio_now(&host.dev) : worst;
    }
    printf("groups: %.3f at the worst moment, %u allocations\n", worst,
           (unsigned)replay_memory_stats(&host.dev).most_allocations);
    CHECK(worst <= 1.25);
    host_end(&host);
    replay_lifetimes_destroy(&lifetimes);
}

UNIT_MAIN();
