/* SPDX-License-Identifier: MIT */
/* What new objects hold: which bytes of the program's memory were new, and how much of a place has to be zeroed. */
#include "replayer/memory/new_memory.h"

#include <stdlib.h>

#include "replayer/memory/memory_internal.h"
#include "replayer/memory/resource.h"
#include "tests/unit/replay_device.h"

UNIT_TEST(bytes_are_new_until_an_object_has_them)
{
    struct replay_memory_planner planner = {0};
    struct replay_device dev = {.memory.planner = &planner};

    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 0, 100), REPLAY_CONTENTS_NEW);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 0, 100), REPLAY_CONTENTS_USED);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 2, 0, 100), REPLAY_CONTENTS_NEW); /* another memory */
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 10, 80), REPLAY_CONTENTS_USED);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 50, 51), REPLAY_CONTENTS_NEW); /* one byte of it is */
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 200, 100), REPLAY_CONTENTS_NEW);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 50, 200), REPLAY_CONTENTS_NEW); /* between the two */
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 0, 300), REPLAY_CONTENTS_USED);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, 0, 0), REPLAY_CONTENTS_NEW);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 1, UINT64_MAX - 1, 1000), REPLAY_CONTENTS_NEW);
    CHECK_EQ_INT(replay_new_memory_bind(&dev, 0, 0, 10), REPLAY_CONTENTS_NEW); /* no memory */
    CHECK(!replay_new_memory_is_zeroed(&dev, 1));
    replay_new_memory_finish(&dev);
    replay_new_memory_finish(&dev);
    CHECK(!replay_new_memory_is_zeroed(&dev, 1));
}

#define BYTES 512u

UNIT_TEST(random_binds_are_as_a_map_of_bytes_has_them)
{
    static bool used[BYTES];
    struct replay_memory_planner planner = {0};
    struct replay_device dev = {.memory.planner = &planner};
    uint32_t state = 7;

    for (unsigned i = 0; i < 3000; i++) {
        uint64_t memory = 1 + i / 100, begin, bytes, fresh = 0;
        if (i % 100 == 0)
            memset(used, 0, sizeof used);
        state = state * 1664525u + 1013904223u;
        begin = (state >> 8) % BYTES;
        state = state * 1664525u + 1013904223u;
        bytes = 1 + (state >> 8) % 24;
        bytes = begin + bytes > BYTES ? BYTES - begin : bytes;
        for (uint64_t at = begin; at < begin + bytes; at++) {
            fresh += !used[at];
            used[at] = true;
        }
        CHECK_EQ_INT(replay_new_memory_bind(&dev, memory, begin, bytes),
                     fresh ? REPLAY_CONTENTS_NEW : REPLAY_CONTENTS_USED);
    }
    replay_new_memory_finish(&dev);
}

/* ---- how much is zeroed ---- */

UNIT_TEST(as_much_is_zeroed_as_may_hold_something)
{
    static const enum replay_memory_contents used = REPLAY_CONTENTS_USED, fresh = REPLAY_CONTENTS_NEW,
                                             zero = REPLAY_CONTENTS_ZERO;
    struct replay_queue queue = {.family = 0};
    struct replay_instance instance = {.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU};
    struct replay_device dev = {.instance = &instance, .queues.main = &queue};
    struct replay_memory_place place = {.memory = gen_VkDeviceMemory(1), .bytes = 1000, .stale_bytes = 300};
    struct replay r = {0};

    instance.memory.memoryTypes[1].propertyFlags = VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
    instance.memory.memoryTypes[2].propertyFlags = VK_MEMORY_PROPERTY_PROTECTED_BIT;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, used), 0);
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 300);
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 1000);
    r.options.leave_new_memory = true;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 0);
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 1000);
    r.options.leave_new_memory = false;
    /* A driver of the CPU hands out what was freed. */
    instance.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, used), 0);
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 1000);
    /* The device zeroes what it hands out. */
    dev.memory.zeroed = true;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 300);
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 300);
    r.options.leave_new_memory = true;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 300);
    place.not_zeroed = true; /* but for memory that has its address again */
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 1000);
    place.not_zeroed = false;
    r.options.leave_new_memory = dev.memory.zeroed = false;
    place.type = 1;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 0);
    place.type = 2;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, zero), 0);
    place.type = 0;
    dev.queues.main = NULL; /* nobody could write there but the host */
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 0);
    place.host = (uint8_t *)(uintptr_t)16;
    CHECK_EQ_U64(replay_new_memory_bytes(&r, &dev, &place, fresh), 1000);
}

/* ---- on a driver ---- */

#define OBJECT_BYTES 3000u

static void bind(struct unit_replay *u, uint64_t index, uint64_t memory, VkMemoryPropertyFlags flags)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = OBJECT_BYTES, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
    VkBuffer number = gen_VkBuffer(index);
    struct gen_args_vkCreateBuffer create = {.pCreateInfo = &info, .pBuffer = &number};
    struct gen_args_lapilliBindBuffer args = {
        .memory = gen_VkDeviceMemory(memory), .memoryOffset = 0, .size = OBJECT_BYTES, .propertyFlags = flags};

    CHECK_EQ_INT(replay_CreateBuffer(&u->r, &u->dev, &create), LAP_OK);
    args.buffer = gen_VkBuffer(replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index)->live);
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u->r, &u->dev, &args), LAP_OK);
}

static struct replay_buffer *record_of(struct unit_replay *u, uint64_t index)
{
    return replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index)->record;
}

static void end(struct unit_replay *u, uint64_t index)
{
    struct replay_object *object = replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index);
    CHECK_EQ_INT(replay_end_VkBuffer(&u->r, &u->dev, index, object), LAP_OK);
}

/* Objects come where others were, in blocks, and hold zeroes if they were new at the recording. hidden: the host sees
 * nothing, so the device fills. */
static void objects_begin_as_zeroes(bool hidden)
{
    const struct replay_options options = {.file = NULL};
    struct unit_replay u;
    const void *bytes;
    static const uint8_t zeroes[OBJECT_BYTES];
    uint8_t pattern[OBJECT_BYTES];

    if (!unit_replay_init(&u, &options))
        SKIP("no Vulkan driver");
    memset(pattern, 0x5a, sizeof pattern);
    u.instance.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    u.instance.properties.limits.maxMemoryAllocationCount = 4;
    replay_memory_planner_destroy(&u.r, &u.dev);
    for (uint32_t i = 0; hidden && i < u.instance.memory.memoryTypeCount; i++)
        u.instance.memory.memoryTypes[i].propertyFlags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    CHECK_EQ_INT(replay_memory_planner_create(&u.r, &u.dev), LAP_OK);
    for (uint64_t i = 1; i <= 12; i++)
        bind(&u, i, i, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    for (uint64_t i = 3; i <= 12; i++) {
        struct replay_buffer *record = record_of(&u, i);
        CHECK(record->place.block_list != NULL);
        CHECK((record->place.host == NULL) == hidden);
        if (!hidden)
            memcpy(record->place.host, pattern, sizeof pattern);
        end(&u, i);
    }
    /* One that was new, one whose bytes an earlier object had. */
    bind(&u, 21, 21, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    CHECK(record_of(&u, 21)->place.stale_bytes >= OBJECT_BYTES);
    if (hidden) {
        CHECK_EQ_U64(replay_staging_stats(&u.dev).fresh_bytes, (record_of(&u, 21)->place.bytes + 3) / 4 * 4);
    } else {
        bytes = record_of(&u, 21)->place.host;
        CHECK(memcmp(bytes, zeroes, OBJECT_BYTES) == 0);
    }
    end(&u, 21);
    bind(&u, 22, 21, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (hidden)
        CHECK_EQ_U64(replay_staging_stats(&u.dev).fresh_bytes, (record_of(&u, 22)->place.bytes + 3) / 4 * 4);
    if (hidden)
        CHECK_EQ_INT(replay_staging_flush(&u.r, &u.dev, u.queue.live), LAP_OK);
    unit_replay_finish(&u);
}

UNIT_TEST(objects_begin_as_zeroes_where_the_host_sees_them)
{
    objects_begin_as_zeroes(false);
}
UNIT_TEST(objects_begin_as_zeroes_where_only_the_device_does)
{
    objects_begin_as_zeroes(true);
}

UNIT_MAIN();
