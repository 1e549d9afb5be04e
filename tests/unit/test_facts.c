/* SPDX-License-Identifier: MIT */
/* What the host does with the objects of a trace, and what follows for where they lie. No GPU. */
#include "replayer/facts.h"

#include <string.h>

#include "replayer/alias.h"
#include "replayer/lifetime.h"
#include "tests/unit/sample_trace.h"

#define LOCAL   VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
#define VISIBLE (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

enum { LEFT_ALONE = 1, ONCE, TWICE, CHECKED, LATE, BUFFERS };

struct written {
    struct sample sample;
    VkDevice device;
    VkQueue queue;
    VkEvent event;
    VkBuffer buffers[BUFFERS];
    VkDeviceMemory memory; /* null, or memory whose address may be asked for, in which one buffer lies that uses that */
    bool tells_lives;      /* of two buffers */
    uint64_t device_index; /* of these */
    bool submits_all;      /* there is a submit behind the last update, too */
};

static void update(struct written *w, int which)
{
    lap_writer_count(w->sample.writer, LAP_COUNTER_UPDATES, 1);
    gen_encode_lapilliUpdateBuffer(sample_packet(&w->sample, GEN_lapilliUpdateBuffer, 0), w->buffers[which], 8, 5,
                                   "hello");
    lap_packet_end(w->sample.stream);
}

static void submit(struct written *w)
{
    gen_encode_vkQueueSubmit(sample_packet(&w->sample, GEN_vkQueueSubmit, 0), w->queue, 0, NULL, VK_NULL_HANDLE);
    lap_packet_end(w->sample.stream);
}

static void destroy(struct written *w, int which)
{
    gen_encode_vkDestroyBuffer(sample_packet(&w->sample, GEN_vkDestroyBuffer, 0), w->device, w->buffers[which], NULL);
    lap_packet_end(w->sample.stream);
}

static void tell_life(struct written *w, int which, uint32_t flag)
{
    lap_writer_long_life(w->sample.writer, &(struct lap_long_life){.handle_type = GEN_HANDLE_VkBuffer,
                                                                   .memory_flags = LOCAL | VISIBLE | flag,
                                                                   .device = w->device_index,
                                                                   .index = (uint64_t)which,
                                                                   .bytes = (uint64_t)which * 1000,
                                                                   .begin = 1});
}

/* Binds are of 1000, 2000, ... bytes; the first buffer ends before the last one is bound. */
static void write_trace(struct written *w)
{
    CHECK(sample_begin(&w->sample));
    w->device = gen_VkDevice(sample_handle(&w->sample, GEN_HANDLE_VkDevice, 1));
    w->queue = gen_VkQueue(sample_handle(&w->sample, GEN_HANDLE_VkQueue, 1));
    w->event = gen_VkEvent(sample_handle(&w->sample, GEN_HANDLE_VkEvent, 1));
    for (int i = LEFT_ALONE; i < BUFFERS; i++) {
        w->buffers[i] = gen_VkBuffer(sample_handle(&w->sample, GEN_HANDLE_VkBuffer, (uint64_t)i));
        if (i == LATE)
            destroy(w, LEFT_ALONE);
        if (i == CHECKED && w->memory) {
            w->memory = gen_VkDeviceMemory(sample_handle(&w->sample, GEN_HANDLE_VkDeviceMemory, 9));
            gen_encode_lapilliCaptureMemory(sample_packet(&w->sample, GEN_lapilliCaptureMemory, 0), w->device,
                                            w->memory, 65536, 0, VK_NULL_HANDLE, 0x1000);
            lap_packet_end(w->sample.stream);
        }
        gen_encode_lapilliBindBuffer(sample_packet(&w->sample, GEN_lapilliBindBuffer, 0), w->buffers[i],
                                     i >= CHECKED ? w->memory : VK_NULL_HANDLE, 0, (VkDeviceSize)i * 1000,
                                     LOCAL | VISIBLE);
        lap_packet_end(w->sample.stream);
        lap_writer_count(w->sample.writer, LAP_COUNTER_BINDS, 1);
    }
    update(w, ONCE);
    update(w, TWICE);
    update(w, ONCE); /* in front of the same submit */
    submit(w);
    lap_writer_frame(w->sample.writer);
    update(w, TWICE);
    submit(w);
    update(w, LATE);
    gen_encode_vkSetEvent(sample_packet(&w->sample, GEN_vkSetEvent, 0), w->device, w->event);
    lap_packet_end(w->sample.stream);
    if (w->submits_all)
        submit(w);
    gen_encode_lapilliCheckBuffer(sample_packet(&w->sample, GEN_lapilliCheckBuffer, 0), w->buffers[CHECKED], 0, 8, 1,
                                  2);
    lap_packet_end(w->sample.stream);
    if (w->tells_lives) {
        tell_life(w, ONCE, 0);
        tell_life(w, CHECKED, LAP_LIFE_HAS_ADDRESS);
    }
    destroy(w, ONCE);
    lap_writer_frame(w->sample.writer);
    sample_end(&w->sample);
}

static enum lap_status find(const struct lap_reader *trace, uint64_t last_frame, uint64_t most_bytes, bool all,
                            struct replay_facts **out)
{
    const struct replay_facts_options options = {
        .last_frame = last_frame, .most_bytes = most_bytes, .all = all, .limit = 4096};
    return replay_facts_find(trace, &options, out);
}

static const struct replay_object_facts *of(const struct replay_facts *facts, int which)
{
    return replay_facts_of(facts, GEN_HANDLE_VkBuffer, (uint64_t)which);
}

UNIT_TEST(what_the_host_does_is_found)
{
    struct replay_facts *facts = NULL;
    struct lap_reader *trace = NULL;
    uint64_t ticket = 0;
    struct written w = {.submits_all = false};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(find(trace, 0, UINT64_MAX, true, &facts), LAP_OK);
    CHECK(of(facts, LEFT_ALONE) == NULL);
    CHECK(replay_facts_of(facts, GEN_HANDLE_VkImage, ONCE) == NULL);
    CHECK(replay_facts_of(facts, GEN_HANDLE_VkBuffer, UINT64_MAX) == NULL);
    CHECK_EQ_U64(of(facts, ONCE)->moments, 1); /* known though it has ended */
    CHECK(!of(facts, ONCE)->late && !of(facts, ONCE)->checked);
    CHECK_EQ_U64(of(facts, TWICE)->moments, 2);
    CHECK(of(facts, LATE)->late);
    CHECK(of(facts, CHECKED)->checked);
    CHECK_EQ_U64(of(facts, CHECKED)->moments, 0);
    CHECK_EQ_U64(replay_facts_peak_bytes(facts), 2000 + 3000 + 4000 + 5000);
    CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, TWICE));
    replay_facts_destroy(&facts);
    CHECK(facts == NULL);
    /* What is not played counts for nothing. */
    CHECK_EQ_INT(find(trace, 1, UINT64_MAX, true, &facts), LAP_OK);
    CHECK_EQ_U64(of(facts, TWICE)->moments, 1);
    CHECK(of(facts, LATE) == NULL);
    replay_facts_destroy(&facts);
    /* Of what has not ended in what was looked at nobody knows what comes. */
    CHECK_EQ_INT(find(trace, 0, 1, true, &facts), LAP_OK);
    CHECK(!replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE));
    CHECK_EQ_INT(replay_facts_go_on(facts, 0), LAP_OK);
    CHECK(!replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE));
    /* As the replay gets closer, more is looked at. */
    while (!replay_facts_have(facts, GEN_HANDLE_VkBuffer, LEFT_ALONE))
        CHECK_EQ_INT(replay_facts_go_on(facts, ++ticket), LAP_OK);
    CHECK(ticket < 10);
    CHECK(!replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE));
    while (!replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE) && ticket < 100)
        CHECK_EQ_INT(replay_facts_go_on(facts, ++ticket), LAP_OK);
    CHECK(ticket < 30);
    CHECK_EQ_U64(of(facts, ONCE)->moments, 1);
    CHECK_EQ_INT(replay_facts_go_on(facts, 1000), LAP_OK);
    CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, TWICE));
    CHECK_EQ_U64(of(facts, TWICE)->moments, 2);
    replay_facts_destroy(&facts);
    lap_reader_close(&trace);
    sample_finish(&w.sample);
    CHECK_EQ_INT(find(NULL, 0, UINT64_MAX, true, &facts), LAP_ERROR_ARGUMENT);
    CHECK(facts == NULL);
}

static void share(struct replay_aliases *aliases, int which, uint64_t offset)
{
    const struct replay_alias_bind bind = {.type = GEN_HANDLE_VkBuffer,
                                           .index = (uint64_t)which,
                                           .memory = 1,
                                           .offset = offset,
                                           .bytes = (uint64_t)which * 1000};
    CHECK_EQ_INT(replay_aliases_add(aliases, bind.type, bind.index, false, "", 1), LAP_OK);
    CHECK_EQ_INT(replay_aliases_bind(aliases, &bind), LAP_OK);
}

/* One has ended before the last buffer comes, the other one ends later: their memory is there for both. */
UNIT_TEST(objects_that_share_memory_count_once)
{
    struct replay_facts_options options = {.most_bytes = UINT64_MAX, .all = true, .limit = 4096};
    struct replay r = {.asked_facts = true};
    struct replay_aliases *aliases;
    struct written w = {.submits_all = false};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    CHECK_EQ_INT(replay_aliases_create(&aliases), LAP_OK);
    share(aliases, LEFT_ALONE, 500);
    share(aliases, ONCE, 1000);
    share(aliases, TWICE, 10000);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    CHECK_EQ_U64(replay_aliases_find(aliases, GEN_HANDLE_VkBuffer, ONCE, 0)->group->number, 1);
    options.aliases = aliases;
    CHECK_EQ_INT(replay_facts_find(r.reader, &options, &r.facts), LAP_OK);
    CHECK_EQ_U64(replay_facts_peak_bytes(r.facts), 2500 + 3000 + 4000 + 5000);
    CHECK(replay_lifetimes_find(&r) != NULL);
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_GROUP, 1), REPLAY_CELL_ALONE);
    CHECK(replay_lifetimes_has_ended(r.lifetimes, REPLAY_LIFE_GROUP, 1));
    CHECK_EQ_U64(replay_lifetimes_bytes(r.lifetimes, REPLAY_LIFE_GROUP, 1), 2560);
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, LEFT_ALONE), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, ONCE), REPLAY_CELL_UNKNOWN);
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, TWICE), REPLAY_CELL_ALONE);
    replay_facts_destroy(&r.facts);
    replay_aliases_destroy(&aliases);
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
}

/* Buffer and image of a number. */
static void create_two(struct written *w, VkDevice device, uint64_t index)
{
    VkBufferCreateInfo buffer_info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 1000};
    VkImageCreateInfo image_info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .mipLevels = 1};
    VkBuffer buffer = gen_VkBuffer(sample_handle(&w->sample, GEN_HANDLE_VkBuffer, index));
    VkImage image = gen_VkImage(sample_handle(&w->sample, GEN_HANDLE_VkImage, index));

    gen_encode_vkCreateBuffer(sample_packet(&w->sample, GEN_vkCreateBuffer, 0), device, &buffer_info, NULL, &buffer,
                              VK_SUCCESS);
    lap_packet_end(w->sample.stream);
    gen_encode_vkCreateImage(sample_packet(&w->sample, GEN_vkCreateImage, 0), device, &image_info, NULL, &image,
                             VK_SUCCESS);
    lap_packet_end(w->sample.stream);
    gen_encode_lapilliBindBuffer(sample_packet(&w->sample, GEN_lapilliBindBuffer, 0), buffer, VK_NULL_HANDLE, 0, 1000,
                                 LOCAL);
    lap_packet_end(w->sample.stream);
    gen_encode_lapilliBindImage(sample_packet(&w->sample, GEN_lapilliBindImage, 0), image, 0, VK_NULL_HANDLE, 0, 1000,
                                LOCAL, 0, VK_NULL_HANDLE, 0);
    lap_packet_end(w->sample.stream);
}

/* The numbers of devices, in the order in which each creates a buffer and an image. */
static const uint64_t creators[] = {1, 2, 1, 3, 2, 2, 1};
enum { CREATED = sizeof creators / sizeof *creators, WITHOUT_FIRST = 4, SHARED = 6 };

static void write_devices(struct written *w)
{
    VkDevice devices[4];

    CHECK(sample_begin(&w->sample));
    for (uint64_t i = 1; i <= 3; i++)
        devices[i] = gen_VkDevice(sample_handle(&w->sample, GEN_HANDLE_VkDevice, i));
    for (uint64_t i = 1; i <= CREATED; i++) {
        if (i == WITHOUT_FIRST) {
            gen_encode_vkDestroyDevice(sample_packet(&w->sample, GEN_vkDestroyDevice, 0), devices[1], NULL);
            lap_packet_end(w->sample.stream);
        }
        create_two(w, devices[creators[i - 1]], i);
    }
    lap_writer_frame(w->sample.writer);
    sample_end(&w->sample);
}

UNIT_TEST(every_object_is_known_to_be_on_its_device)
{
    struct replay_facts_options options = {.most_bytes = UINT64_MAX, .all = true, .limit = 4096};
    struct replay r = {.asked_facts = true};
    struct replay_aliases *aliases;
    struct written w = {0};

    write_devices(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    CHECK_EQ_INT(replay_aliases_create(&aliases), LAP_OK);
    share(aliases, SHARED, 0);
    share(aliases, SHARED + 1, 0); /* of another device */
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    options.aliases = aliases;
    CHECK_EQ_INT(replay_facts_find(r.reader, &options, &r.facts), LAP_OK);
    CHECK(replay_lifetimes_find(&r) != NULL);
    for (uint64_t device = 1; device <= 3; device++)
        for (uint64_t i = 1; i <= CREATED; i++) {
            uint32_t cell = creators[i - 1] == device ? REPLAY_CELL_ALONE : REPLAY_CELL_UNKNOWN;
            CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, device, REPLAY_LIFE_BUFFER, i),
                         i < SHARED ? cell : REPLAY_CELL_UNKNOWN);
            CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, device, REPLAY_LIFE_IMAGE, i), cell);
        }
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, creators[SHARED - 1], REPLAY_LIFE_GROUP, 1), REPLAY_CELL_ALONE);
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, creators[SHARED], REPLAY_LIFE_GROUP, 1), REPLAY_CELL_UNKNOWN);
    replay_facts_destroy(&r.facts);
    replay_aliases_destroy(&aliases);
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
}

/* Where the recorded driver is there again. Another buffer in the same memory lies where there is room. */
UNIT_TEST(what_keeps_its_address_shares_no_block)
{
    struct replay_facts_options options = {.most_bytes = UINT64_MAX, .all = true, .limit = 4096};
    struct written w = {.memory = gen_VkDeviceMemory(1)};
    struct replay r = {.asked_facts = true};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    for (int keeps = 0; keeps < 2; keeps++) {
        options.keeps = keeps;
        CHECK_EQ_INT(replay_facts_find(r.reader, &options, &r.facts), LAP_OK);
        CHECK(replay_lifetimes_find(&r) != NULL);
        CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, CHECKED),
                     keeps ? REPLAY_CELL_UNKNOWN : REPLAY_CELL_ALONE);
        CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, LATE), REPLAY_CELL_ALONE);
        CHECK_EQ_U64(replay_facts_peak_bytes(r.facts), keeps ? 10000 : 14000);
        replay_facts_destroy(&r.facts);
    }
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
}

/* Nothing has ended in what is looked at, but the trace tells of some: of a member for its group. */
UNIT_TEST(lives_that_a_trace_tells_of_are_expected)
{
    struct replay_facts_options options = {.most_bytes = 500, .all = true, .limit = 4};
    struct replay r = {.asked_facts = true};
    struct replay_aliases *aliases;

    CHECK_EQ_INT(replay_aliases_create(&aliases), LAP_OK);
    share(aliases, ONCE, 1000);
    share(aliases, TWICE, 2000);
    CHECK_EQ_INT(replay_aliases_seal(aliases), LAP_OK);
    options.aliases = aliases;
    for (int way = 0; way < 4; way++) {
        struct written w = {
            .memory = gen_VkDeviceMemory(1), .tells_lives = way > 0, .device_index = way == 3 ? 2 : (uint64_t)way / 2};
        bool group, checked;
        write_trace(&w);
        CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
        options.keeps = way == 2;
        CHECK_EQ_INT(replay_facts_find(r.reader, &options, &r.facts), LAP_OK);
        CHECK(!replay_facts_have(r.facts, GEN_HANDLE_VkBuffer, ONCE));
        r.lifetimes = replay_lifetimes_find(&r);
        group = replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_GROUP, 1) != REPLAY_CELL_UNKNOWN;
        checked = replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, CHECKED) != REPLAY_CELL_UNKNOWN;
        CHECK_EQ_INT(group, way == 1 || way == 2); /* in the third one they are on another device */
        CHECK_EQ_INT(checked, way == 1);
        CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, LATE), REPLAY_CELL_UNKNOWN);
        replay_facts_destroy(&r.facts);
        lap_reader_close(&r.reader);
        sample_finish(&w.sample);
    }
    replay_aliases_destroy(&aliases);
}

/* One buffer in each of two frames, both of which live for long. */
static void write_two_frames(struct written *w)
{
    enum { PACKETS = 100 };

    CHECK(sample_begin(&w->sample));
    w->queue = gen_VkQueue(sample_handle(&w->sample, GEN_HANDLE_VkQueue, 1));
    for (int which = LEFT_ALONE; which <= ONCE; which++) {
        w->buffers[which] = gen_VkBuffer(sample_handle(&w->sample, GEN_HANDLE_VkBuffer, (uint64_t)which));
        gen_encode_lapilliBindBuffer(sample_packet(&w->sample, GEN_lapilliBindBuffer, 0), w->buffers[which],
                                     VK_NULL_HANDLE, 0, 1000, LOCAL);
        lap_packet_end(w->sample.stream);
        for (int i = 1; i < PACKETS; i++)
            submit(w);
        lap_writer_frame(w->sample.writer);
    }
    for (int which = LEFT_ALONE; which <= ONCE; which++)
        lap_writer_long_life(w->sample.writer,
                             &(struct lap_long_life){.handle_type = GEN_HANDLE_VkBuffer,
                                                     .memory_flags = LOCAL,
                                                     .index = (uint64_t)which,
                                                     .bytes = 1000,
                                                     .begin = (uint64_t)(which - LEFT_ALONE) * PACKETS + 1});
    sample_end(&w->sample);
}

/* Blocks have no room for what is never played. */
UNIT_TEST(no_life_is_expected_behind_the_last_frame)
{
    struct replay_facts_options options = {.most_bytes = 500, .all = true, .limit = 1};
    struct replay r = {.asked_facts = true};
    struct written w = {0};

    write_two_frames(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    for (options.last_frame = 0; options.last_frame <= 3; options.last_frame++) {
        uint32_t cell;
        CHECK_EQ_INT(replay_facts_find(r.reader, &options, &r.facts), LAP_OK);
        CHECK(replay_lifetimes_find(&r) != NULL);
        cell = replay_lifetimes_cell(r.lifetimes, 1, REPLAY_LIFE_BUFFER, LEFT_ALONE);
        CHECK(cell != REPLAY_CELL_UNKNOWN && cell != REPLAY_CELL_ALONE);
        CHECK_EQ_U64(replay_lifetimes_get(r.lifetimes, 1, cell)->items, options.last_frame == 1 ? 1 : 2);
        replay_facts_destroy(&r.facts);
    }
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
}

/* As far as in bytes, though what comes first are a few large packets. */
UNIT_TEST(looking_ahead_goes_as_far_everywhere)
{
    enum { LARGE = 3000, LARGE_COUNT = 10, SMALL_COUNT = 200, ENDS_AT = 150 };
    struct written w = {.submits_all = false};
    struct lap_reader *trace = NULL;
    struct replay_facts *facts;
    uint64_t ticket = 0;
    static uint8_t data[LARGE];

    CHECK(sample_begin(&w.sample));
    w.device = gen_VkDevice(sample_handle(&w.sample, GEN_HANDLE_VkDevice, 1));
    w.queue = gen_VkQueue(sample_handle(&w.sample, GEN_HANDLE_VkQueue, 1));
    w.buffers[ONCE] = gen_VkBuffer(sample_handle(&w.sample, GEN_HANDLE_VkBuffer, ONCE));
    gen_encode_lapilliBindBuffer(sample_packet(&w.sample, GEN_lapilliBindBuffer, 0), w.buffers[ONCE], VK_NULL_HANDLE, 0,
                                 1000, LOCAL);
    lap_packet_end(w.sample.stream);
    for (int i = 0; i < LARGE_COUNT; i++) {
        gen_encode_lapilliUpdateBuffer(sample_packet(&w.sample, GEN_lapilliUpdateBuffer, 0), w.buffers[ONCE], 0, LARGE,
                                       data);
        lap_packet_end(w.sample.stream);
    }
    for (int i = 0; i < SMALL_COUNT; i++) {
        if (i + LARGE_COUNT + 2 == ENDS_AT)
            destroy(&w, ONCE);
        submit(&w);
    }
    lap_writer_frame(w.sample.writer);
    sample_end(&w.sample);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(find(trace, 0, 2 * LARGE, true, &facts), LAP_OK);
    while (!replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE))
        CHECK_EQ_INT(replay_facts_go_on(facts, ++ticket), LAP_OK);
    /* A small one counts as some 64 to 80 bytes. */
    CHECK(ticket >= ENDS_AT - 2 * LARGE / 64 - 2 && ticket <= ENDS_AT - 2 * LARGE / 80 + 2);
    replay_facts_destroy(&facts);
    /* A replay that is far ahead is caught up with. */
    CHECK_EQ_INT(find(trace, 0, 64, true, &facts), LAP_OK);
    CHECK_EQ_INT(replay_facts_go_on(facts, ENDS_AT + 1), LAP_OK);
    CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, ONCE));
    replay_facts_destroy(&facts);
    lap_reader_close(&trace);
    sample_finish(&w.sample);
}

UNIT_TEST(nobody_looks_behind_the_last_update_for_no_reason)
{
    struct lap_reader *trace = NULL;
    struct replay_facts *facts;
    struct written w = {.submits_all = false};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(find(trace, 0, UINT64_MAX, false, &facts), LAP_OK);
    for (int i = LEFT_ALONE; i < BUFFERS; i++)
        CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, (uint64_t)i));
    CHECK(of(facts, CHECKED) != NULL); /* nothing ended the pass: the last update may be a late one */
    replay_facts_destroy(&facts);
    lap_reader_close(&trace);
    sample_finish(&w.sample);

    w = (struct written){.submits_all = true};
    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(find(trace, 0, UINT64_MAX, false, &facts), LAP_OK);
    for (int i = LEFT_ALONE; i < BUFFERS; i++)
        CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, (uint64_t)i));
    CHECK_EQ_U64(of(facts, TWICE)->moments, 2);
    CHECK(of(facts, LATE)->late);
    CHECK(of(facts, CHECKED) == NULL);
    CHECK_EQ_INT(replay_facts_go_on(facts, 1000), LAP_OK);
    CHECK(of(facts, CHECKED) == NULL);
    CHECK_EQ_INT(replay_facts_want_all(facts, 0), LAP_OK);
    CHECK(of(facts, CHECKED) && of(facts, CHECKED)->checked);
    replay_facts_destroy(&facts);
    lap_reader_close(&trace);
    sample_finish(&w.sample);
}

UNIT_TEST(objects_lie_as_the_host_uses_them)
{
    static const VkMemoryPropertyFlags types[] = {LOCAL, VISIBLE, LOCAL | VISIBLE};
    static const struct {
        int which;
        uint32_t type_count; /* the third type is the device's own that the host sees */
        VkMemoryPropertyFlags asked, wanted;
    } cases[] = {
        {LEFT_ALONE, 2, VISIBLE, LOCAL},
        {LEFT_ALONE, 3, VISIBLE, LOCAL},
        {LEFT_ALONE, 3, LOCAL, LOCAL},
        {ONCE, 2, VISIBLE, VISIBLE}, /* it asked for the host's memory */
        {ONCE, 2, LOCAL | VISIBLE, LOCAL},
        {ONCE, 3, LOCAL | VISIBLE, LOCAL | VISIBLE},
        {TWICE, 2, LOCAL | VISIBLE, LOCAL | VISIBLE},
        {CHECKED, 2, VISIBLE, VISIBLE},
        {LATE, 2, LOCAL | VISIBLE, LOCAL | VISIBLE},
    };
    struct replay_instance instance = {.memory = {.memoryTypeCount = 3}};
    struct replay_device dev = {.instance = &instance};
    struct replay r = {0};
    struct written w = {.submits_all = false};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    for (uint32_t i = 0; i < 3; i++)
        instance.memory.memoryTypes[i].propertyFlags = types[i];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        VkMemoryPropertyFlags wanted;
        instance.memory.memoryTypeCount = cases[i].type_count;
        wanted = replay_facts_wanted(&r, &dev, GEN_HANDLE_VkBuffer, (uint64_t)cases[i].which, cases[i].asked);
        if (wanted != cases[i].wanted)
            printf("case %zu:\n", i);
        CHECK_EQ_U64(wanted, cases[i].wanted);
    }
    /* Linear images stay where the host sees them. */
    CHECK_EQ_U64(replay_facts_wanted(&r, &dev, GEN_HANDLE_VkImage, LEFT_ALONE, VISIBLE), VISIBLE);
    CHECK_EQ_U64(replay_peak_at_capture(&r), 14000);
    CHECK(replay_lifetimes_find(&r) != NULL);
    CHECK(replay_lifetimes_has_ended(r.lifetimes, 0, LEFT_ALONE));
    CHECK(replay_lifetimes_has_ended(r.lifetimes, 0, ONCE));
    CHECK(!replay_lifetimes_has_ended(r.lifetimes, 0, TWICE));
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 1, 0, TWICE), REPLAY_CELL_ALONE);
    replay_facts_destroy(&r.facts);
    /* A host that sees all of its memory has no need to know. */
    r.asked_facts = false;
    instance.memory.memoryTypes[0].propertyFlags = LOCAL | VISIBLE;
    CHECK_EQ_U64(replay_facts_wanted(&r, &dev, GEN_HANDLE_VkBuffer, LEFT_ALONE, VISIBLE), VISIBLE);
    CHECK(!r.asked_facts);
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
}

UNIT_MAIN();
