/* SPDX-License-Identifier: MIT */
/* Where objects lie, on drivers that are a few functions: types, allocations and their bound, and what is said when
 * memory runs out. No GPU. */
#include "tests/unit/counting_driver.h"

/* ---- types ---- */

static uint32_t type_for(struct host *host, const struct replay_memory_needs *needs)
{
    struct replay_memory_place place;
    uint32_t type;

    CHECK_EQ_INT(replay_memory_place_alloc(&host->r, &host->dev, needs, &place), LAP_OK);
    type = place.type;
    replay_memory_place_free(&host->dev, &place);
    return type;
}

UNIT_TEST(types_suit_what_was_asked_for)
{
    static const struct {
        VkMemoryPropertyFlags wanted;
        uint32_t bits, type;
        bool transient;
    } cases[] = {
        {LOCAL, 0x1f, 1, false},
        {0, 0x1f, 1, false}, /* nobody maps it: the device's own is faster */
        {VISIBLE | COHERENT, 0x1f, 2, false},
        {VISIBLE | COHERENT | CACHED, 0x1f, 3, false},
        {VISIBLE | CACHED, 0x1f, 3, false},
        {LOCAL | VISIBLE | COHERENT, 0x1f, 4, false},
        {LOCAL | VISIBLE, 0x0f, 2, false},
        {VISIBLE, 0x03, 0, false}, /* where the host can't see it */
        {LOCAL, 0x20, 5, false},   /* a protected object may lie nowhere else */
        {LOCAL | PROTECTED, 0x3f, 5, false},
        {LOCAL, 0x22, 1, false}, /* what is protected is for those who ask */
        {LOCAL, 0x43, 6, true},  /* attachments that are stored nowhere, whatever there was at capture */
        {LOCAL | LAZY, 0x03, 1, true},
        {LOCAL | LAZY, 0x43, 6, false},
    };
    struct host host;

    host_init(&host, discrete, DISCRETE);
    host_begin(&host);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct replay_memory_needs needs = needs_of(1000, cases[i].wanted);
        uint32_t type;
        needs.requirements.memoryTypeBits = cases[i].bits;
        needs.transient = cases[i].transient;
        type = type_for(&host, &needs);
        if (type != cases[i].type)
            printf("case %zu:\n", i);
        CHECK_EQ_U64(type, cases[i].type);
    }
    host_end(&host);
}

/* ---- the bound ---- */

#define MOST_OBJECTS 60000u

struct object {
    struct replay_memory_place place;
    uint64_t dies; /* the frame; UINT64_MAX: with its scene */
};

static struct object objects[MOST_OBJECTS];
static uint64_t object_count;
static uint64_t required_bytes; /* by them */

/* A kind of program: how many objects a scene has and how they live. */
struct program {
    const char *name;
    unsigned textures, buffers; /* that a scene loads */
    unsigned frames, scene_frames;
    unsigned keep_percent; /* of a scene, at the next one */
    unsigned births, life; /* objects a frame, and how many frames at most they live */
    unsigned small_to;     /* buffers have up to 2^small_to bytes */
    uint32_t max_allocations;
};

/* At every moment the figures agree with the driver. */
static void watch(const struct host *host)
{
    struct replay_memory_stats stats = replay_memory_stats(&host->dev);

    CHECK_EQ_U64(stats.used_bytes, required_bytes);
    CHECK_EQ_U64(stats.allocated_bytes, driver.bytes);
    CHECK_EQ_U64(stats.allocations, driver.count);
}

static void add(struct host *host, struct replay_memory_needs *needs, uint64_t dies)
{
    struct object *object = &objects[object_count];

    CHECK(object_count < MOST_OBJECTS);
    needs->requirements.alignment = (VkDeviceSize)1 << (4 + random_u64() % 5);
    needs->requirements.size =
        (needs->requirements.size + needs->requirements.alignment - 1) & ~(needs->requirements.alignment - 1);
    CHECK_EQ_INT(replay_memory_place_alloc(&host->r, &host->dev, needs, &object->place), LAP_OK);
    object->dies = dies;
    object_count++;
    required_bytes += needs->requirements.size;
    watch(host);
}

static void add_buffer(struct host *host, unsigned small_to, uint64_t dies)
{
    static const VkMemoryPropertyFlags wanted[] = {LOCAL, LOCAL, VISIBLE | COHERENT, VISIBLE | CACHED,
                                                   LOCAL | VISIBLE | COHERENT};
    struct replay_memory_needs needs = needs_of(random_bytes(6, small_to), wanted[random_u64() % 5]);
    add(host, &needs, dies);
}

static void add_texture(struct host *host, uint64_t dies)
{
    struct replay_memory_needs needs = needs_of(random_bytes(12, 24), LOCAL);
    needs.linear = false;
    needs.requirements.memoryTypeBits = 0x43;
    needs.dedicated = random_u64() % 8 == 0;
    needs.image = gen_VkImage(1);
    add(host, &needs, dies);
}

static void drop(struct host *host, uint64_t i)
{
    required_bytes -= objects[i].place.bytes;
    replay_memory_place_free(&host->dev, &objects[i].place);
    objects[i] = objects[--object_count];
    watch(host);
}

static void load_scene(struct host *host, const struct program *program)
{
    for (uint64_t i = object_count; i-- > 0;)
        if (objects[i].dies == UINT64_MAX && random_u64() % 100 >= program->keep_percent)
            drop(host, i);
    for (unsigned i = 0; i < program->textures; i++)
        add_texture(host, UINT64_MAX);
    for (unsigned i = 0; i < program->buffers; i++)
        add_buffer(host, program->small_to, UINT64_MAX);
}

static void live(struct host *host, const struct program *program, uint64_t seed)
{
    random_state = seed;
    for (uint64_t frame = 0; frame < program->frames; frame++) {
        if (frame % program->scene_frames == 0)
            load_scene(host, program);
        for (uint64_t i = object_count; i-- > 0;)
            if (objects[i].dies <= frame)
                drop(host, i);
        for (unsigned i = 0; i < program->births; i++)
            add_buffer(host, program->small_to, frame + 1 + random_u64() % program->life);
        replay_memory_in_use(&host->dev);
    }
    while (object_count)
        drop(host, random_u64() % object_count);
}

static double ratio_of(const struct replay_memory_use *use)
{
    return (double)use->allocated_bytes / (double)use->used_bytes;
}

static void place_all(const struct program *program, uint64_t seed)
{
    struct replay_memory_stats stats;
    struct host host;

    host_init(&host, discrete, DISCRETE);
    host.instance.properties.limits.maxMemoryAllocationCount = program->max_allocations;
    host_begin(&host);
    live(&host, program, seed);
    stats = replay_memory_stats(&host.dev);
    printf("%s: %.2f at the peak of %.1f MiB (fragmentation %.2f), worst %.2f (fragmentation %.2f), %u allocations at "
           "most, %u made\n",
           program->name, ratio_of(&stats.peak), (double)stats.peak.used_bytes / (double)MIB, stats.peak_fragmentation,
           ratio_of(&stats.worst), stats.worst_fragmentation, (unsigned)stats.most_allocations,
           (unsigned)stats.made_allocations);
    CHECK(ratio_of(&stats.peak) <= 1.25);
    CHECK(ratio_of(&stats.worst) <= 1.25);
    CHECK_EQ_U64(stats.most_allocations, driver.largest_count);
    CHECK_EQ_U64(driver.refused, 0);
    host_end(&host);
}

UNIT_TEST(what_is_allocated_follows_what_is_required)
{
    static const struct program programs[] = {
        {"a tool", 5, 20, 200, 1000, 100, 0, 1, 16, 4096},
        {"a game", 400, 600, 600, 200, 30, 20, 30, 20, 4096},
        {"the same with unlimited allocations", 400, 600, 600, 200, 30, 20, 30, 20, UINT32_MAX},
        {"the same with few allocations", 400, 600, 600, 200, 30, 20, 30, 20, 512},
        {"many small buffers", 20, 12000, 300, 100, 30, 100, 10, 14, 4096},
        {"nothing but small buffers", 0, 20000, 300, 100, 40, 50, 20, 14, 4096},
        {"scenes that follow one another", 300, 2000, 500, 50, 0, 10, 5, 18, 4096},
    };

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            place_all(&programs[i], seed * 0x9e3779b97f4a7c15);
}

/* More objects than there can be allocations, which come and go in any order. */
UNIT_TEST(objects_share_blocks_where_allocations_are_few)
{
    struct host host;

    for (uint32_t limit = 16; limit <= 4096; limit *= 16) {
        host_init(&host, discrete, DISCRETE);
        host.instance.properties.limits.maxMemoryAllocationCount = limit;
        host_begin(&host);
        random_state = limit;
        for (unsigned i = 0; i < 30000; i++) {
            add_buffer(&host, 16, UINT64_MAX);
            if (i % 3 == 2)
                drop(&host, random_u64() % object_count);
        }
        CHECK(object_count > 19000);
        CHECK_EQ_U64(driver.refused, 0);
        CHECK(driver.largest_count <= limit);
        while (object_count)
            drop(&host, random_u64() % object_count);
        host_end(&host);
    }
}

/* Hundreds of objects that would rather lie alone, where few may. */
UNIT_TEST(allocations_never_run_out)
{
    enum { COUNT = 700 };
    static struct replay_memory_place places[COUNT];
    struct host host;

    for (uint32_t limit = 64; limit <= 4096; limit *= 4) {
        host_init(&host, discrete, DISCRETE);
        host.instance.properties.limits.maxMemoryAllocationCount = limit;
        host_begin(&host);
        random_state = limit;
        for (int i = 0; i < COUNT; i++) {
            struct replay_memory_needs needs = needs_of(random_bytes(8, 20), i % 3 ? LOCAL : VISIBLE | COHERENT);
            needs.dedicated = true;
            needs.alone = i % 100 == 99; /* and some must */
            CHECK_EQ_INT(replay_memory_place_alloc(&host.r, &host.dev, &needs, &places[i]), LAP_OK);
        }
        CHECK_EQ_U64(driver.refused, 0);
        CHECK(driver.count <= limit);
        CHECK(driver.dedicated >= 7);
        for (int i = 0; i < COUNT; i++)
            replay_memory_place_free(&host.dev, &places[i]);
        host_end(&host);
    }
}

/* ---- too little memory ---- */

UNIT_TEST(a_shortage_says_what_there_is)
{
    struct replay_memory_needs needs = needs_of(48 * MIB, LOCAL);
    struct replay_memory_place places[4];
    struct host host;
    int placed = 0;

    host_init(&host, discrete, DISCRETE);
    host_begin(&host);
    driver.limit_bytes = 100 * MIB;
    while (placed < 4 && replay_memory_place_alloc(&host.r, &host.dev, &needs, &places[placed]) == LAP_OK)
        placed++;
    CHECK_EQ_INT(placed, 2);
    CHECK(places[placed].memory == VK_NULL_HANDLE);
    CHECK(strstr(lap_error_message(), "an object of 48.0 MiB") != NULL);
    CHECK(strstr(lap_error_message(), "VK_ERROR_OUT_OF_DEVICE_MEMORY") != NULL);
    CHECK(strstr(lap_error_message(), "heap 0 has 8.0 GiB") != NULL);
    CHECK(strstr(lap_error_message(), "96.0 MiB in 2 allocations for objects that need 96.0 MiB") != NULL);
    while (placed)
        replay_memory_place_free(&host.dev, &places[--placed]);
    host_end(&host);
}

/* A full heap is no failure while another type has room: what is written then goes through staging. */
UNIT_TEST(other_types_are_taken_when_one_is_full)
{
    struct replay_memory_needs needs = needs_of(4 * KIB, VISIBLE | COHERENT);
    struct replay_memory_place place;
    struct host host;

    host_init(&host, discrete, DISCRETE);
    host_begin(&host);
    driver.limit_bytes = 0;
    CHECK_EQ_INT(replay_memory_place_alloc(&host.r, &host.dev, &needs, &place), LAP_ERROR_REPLAY);
    driver.limit_bytes = UINT64_MAX;
    needs.requirements.memoryTypeBits = 0x3; /* none that the host sees */
    CHECK_EQ_INT(replay_memory_place_alloc(&host.r, &host.dev, &needs, &place), LAP_OK);
    CHECK(place.host == NULL);
    replay_memory_place_free(&host.dev, &place);
    host_end(&host);
}

UNIT_MAIN();
