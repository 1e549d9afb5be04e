/* SPDX-License-Identifier: MIT */
/* What the host does with the objects of a trace, and what follows for where they lie. No GPU. */
#include "replayer/facts.h"

#include <string.h>

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
    bool submits_all; /* there is a submit behind the last update, too */
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
        gen_encode_lapilliBindBuffer(sample_packet(&w->sample, GEN_lapilliBindBuffer, 0), w->buffers[i], VK_NULL_HANDLE,
                                     0, (VkDeviceSize)i * 1000, LOCAL | VISIBLE);
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
    destroy(w, ONCE);
    lap_writer_frame(w->sample.writer);
    sample_end(&w->sample);
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
    CHECK_EQ_INT(replay_facts_find(trace, 0, UINT64_MAX, true, 0, 4096, &facts), LAP_OK);
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
    CHECK_EQ_INT(replay_facts_find(trace, 1, UINT64_MAX, true, 0, 4096, &facts), LAP_OK);
    CHECK_EQ_U64(of(facts, TWICE)->moments, 1);
    CHECK(of(facts, LATE) == NULL);
    replay_facts_destroy(&facts);
    /* Of what has not ended in what was looked at nobody knows what comes. */
    CHECK_EQ_INT(replay_facts_find(trace, 0, 1, true, 0, 4096, &facts), LAP_OK);
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
    CHECK_EQ_INT(replay_facts_find(NULL, 0, UINT64_MAX, true, 0, 4096, &facts), LAP_ERROR_ARGUMENT);
    CHECK(facts == NULL);
}

UNIT_TEST(nobody_looks_behind_the_last_update_for_no_reason)
{
    struct lap_reader *trace = NULL;
    struct replay_facts *facts;
    struct written w = {.submits_all = false};

    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(replay_facts_find(trace, 0, UINT64_MAX, false, 0, 4096, &facts), LAP_OK);
    for (int i = LEFT_ALONE; i < BUFFERS; i++)
        CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, (uint64_t)i));
    CHECK(of(facts, CHECKED) != NULL); /* nothing ended the pass: the last update may be a late one */
    replay_facts_destroy(&facts);
    lap_reader_close(&trace);
    sample_finish(&w.sample);

    w = (struct written){.submits_all = true};
    write_trace(&w);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &trace), LAP_OK);
    CHECK_EQ_INT(replay_facts_find(trace, 0, UINT64_MAX, false, 0, 4096, &facts), LAP_OK);
    for (int i = LEFT_ALONE; i < BUFFERS; i++)
        CHECK(replay_facts_have(facts, GEN_HANDLE_VkBuffer, (uint64_t)i));
    CHECK_EQ_U64(of(facts, TWICE)->moments, 2);
    CHECK(of(facts, LATE)->late);
    CHECK(of(facts, CHECKED) == NULL);
    CHECK_EQ_INT(replay_facts_go_on(facts, 1000), LAP_OK);
    CHECK(of(facts, CHECKED) == NULL);
    CHECK_EQ_INT(replay_facts_want_all(facts, UINT64_MAX, 0), LAP_OK);
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
    CHECK_EQ_U64(replay_lifetimes_cell(r.lifetimes, 0, TWICE), REPLAY_CELL_ALONE);
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
