/* SPDX-License-Identifier: MIT */
/* Which objects share memory, as found in a trace before it is played: how far it is read for that. */
#include "replayer/analysis/analysis.h"
#include "tests/unit/sample_trace.h"

#define BUFFERS 6u
#define BYTES   256u

struct written {
    struct sample sample;
    VkDevice device;
    VkDeviceMemory memory;
};

static void bind(struct written *w, uint64_t index, VkDeviceSize offset)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = BYTES};
    VkBuffer buffer = gen_VkBuffer(sample_handle(&w->sample, GEN_HANDLE_VkBuffer, index));

    gen_encode_vkCreateBuffer(sample_packet(&w->sample, GEN_vkCreateBuffer, 0), w->device, &info, NULL, &buffer,
                              VK_SUCCESS);
    lap_packet_end(w->sample.stream);
    gen_encode_lapilliBindBuffer(sample_packet(&w->sample, GEN_lapilliBindBuffer, 0), buffer, w->memory, offset, BYTES,
                                 VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    lap_packet_end(w->sample.stream);
    lap_writer_count(w->sample.writer, LAP_COUNTER_BINDS, 1);
}

/* Three pairs of buffers that share memory. noted: behind the bind of how many buffers the layer says that it was the
 * last that shares; 0: nowhere. counted: binds that share. */
static struct replay_aliases *find(unsigned noted, unsigned counted, bool whole)
{
    static struct replay r;
    struct replay_aliases *aliases;
    struct written w;

    CHECK(sample_begin(&w.sample));
    w.device = gen_VkDevice(sample_handle(&w.sample, GEN_HANDLE_VkDevice, 1));
    w.memory = gen_VkDeviceMemory(sample_handle(&w.sample, GEN_HANDLE_VkDeviceMemory, 1));
    lap_writer_count(w.sample.writer, LAP_COUNTER_ALIASED_BINDS, counted);
    for (unsigned i = 0; i < BUFFERS; i++) {
        bind(&w, i + 1, (VkDeviceSize)(i / 2) * 4096 + i % 2 * 64);
        if (i + 1 == noted)
            lap_writer_note_ticket(w.sample.writer, LAP_COUNTER_LAST_ALIASED);
    }
    lap_writer_frame(w.sample.writer);
    if (!whole)
        lap_writer_stop(w.sample.writer, "a test");
    sample_end(&w.sample);
    CHECK_EQ_INT(lap_reader_open(w.sample.path, NULL, &r.reader), LAP_OK);
    CHECK_EQ_INT(replay_aliases_await(&r), LAP_OK);
    CHECK_EQ_INT(replay_analysis_settle(&r), LAP_OK);
    aliases = r.analysis.aliases;
    r.analysis.aliases = NULL;
    replay_analysis_finish(&r);
    lap_reader_close(&r.reader);
    sample_finish(&w.sample);
    return aliases;
}

/* How many of the buffers share memory, the first ones first. */
static void check_found(unsigned noted, unsigned counted, bool whole, unsigned expected)
{
    struct replay_aliases *aliases = find(noted, counted, whole);

    for (unsigned i = 0; i < BUFFERS; i++) {
        const struct replay_alias_member *member = replay_aliases_find(aliases, GEN_HANDLE_VkBuffer, i + 1, 0);
        CHECK((member != NULL) == (i < expected));
        CHECK(!member || member->group->count == 2);
    }
    replay_aliases_destroy(&aliases);
}

UNIT_TEST(all_is_read_where_nothing_is_noted)
{
    check_found(0, 3, true, 6);
}

UNIT_TEST(nothing_is_read_where_nothing_shares)
{
    check_found(0, 0, true, 0);
}

UNIT_TEST(what_is_behind_the_last_that_shares_is_not_read)
{
    check_found(2, 1, true, 2);
    check_found(4, 2, true, 4);
    check_found(6, 3, true, 6);
}

UNIT_TEST(a_trace_that_ended_early_is_read_to_its_end)
{
    check_found(2, 1, false, 6);
}

UNIT_MAIN();
