/* SPDX-License-Identifier: MIT */
/* The list of calls in flight that older recorders wrote into the tail file: what a reader finds of it, whole, struck
 * out, damaged and forged. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/crash/in_flight.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/hash.h"
#include "trace/write/writer_internal.h"

enum { BODY = 100, CALLS = 3 };

static size_t offsets[CALLS]; /* in the list */
static size_t list_bytes;

/* A list of three calls: with a body, without one, in a command buffer. */
static uint8_t *make_list(uint64_t seed)
{
    static uint8_t list[4096];
    static const struct lap_in_flight calls[CALLS] = {
        {.command = 1, .flags = LAP_IN_FLIGHT_GUILTY, .signal = 11, .thread_id = 77, .ticket = 5, .bytes = BODY},
        {.command = 2, .flags = LAP_IN_FLIGHT_BARE, .signal = 11, .thread_id = UINT64_MAX, .ticket = 6},
        {.command = 1, .flags = LAP_IN_FLIGHT_COMMAND, .command_buffer = 9, .bytes = 1}};
    memset(list, 0, sizeof(list));
    list_bytes = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        memset(list + list_bytes + LAP_IN_FLIGHT_HEAD_BYTES, 0xa0 + (int)i, calls[i].bytes);
        lap_in_flight_store(list + list_bytes, &calls[i], seed);
        offsets[i] = list_bytes;
        list_bytes += lap_in_flight_stride(calls[i].bytes);
    }
    return list;
}

/* A process that recorded a frame and was killed, and the list as an older one would have written it. struck: the call
 * that has returned since, or -1. */
static void make_crashed_trace(int struck)
{
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
        struct lap_stream *stream = lap_writer_stream(writer, 1);
        (void)write_packet(stream, 1);
        lap_writer_frame(writer);
        if (lap_writer_tickets(writer) == 1)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    struct file_bytes tail = load_file(trace_tail_path), trace = load_file(trace_path);
    const uint8_t *list = make_list(lap_tail_seed(trace.data + 16));
    memcpy(tail.data + LAP_TAIL_HEADER_BYTES, list, list_bytes);
    if (struck >= 0)
        lap_in_flight_strike(tail.data + LAP_TAIL_HEADER_BYTES + offsets[struck]);
    store_file(trace_tail_path, tail.data, tail.bytes);
    free(tail.data), free(trace.data);
}

static size_t count_calls(void)
{
    struct lap_reader *reader = open_trace(NULL);
    size_t count = lap_reader_summary(reader)->in_flight_count;
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, 1);
    lap_reader_close(&reader);
    return count;
}

UNIT_TEST(calls_in_flight_are_read_as_written)
{
    make_crashed_trace(-1);
    struct lap_reader *reader = open_trace(NULL), *again = NULL;
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK_EQ_U64(summary->in_flight_count, CALLS);
    const struct lap_in_flight *calls = summary->in_flight;
    CHECK(calls[0].command == 1 && calls[0].flags == LAP_IN_FLIGHT_GUILTY && calls[0].signal == 11);
    CHECK(calls[0].thread_id == 77 && calls[0].ticket == 5 && calls[0].bytes == BODY);
    for (size_t i = 0; i < BODY; i++)
        CHECK_EQ_INT(calls[0].body[i], 0xa0);
    CHECK(calls[1].command == 2 && calls[1].thread_id == UINT64_MAX && calls[1].bytes == 0);
    CHECK(calls[2].command_buffer == 9 && calls[2].bytes == 1 && calls[2].body[0] == 0xa2 && calls[2].signal == 0);
    CHECK(!summary->complete && strstr(summary->stopped, "crashed in") && strstr(summary->stopped, "signal 11"));
    /* A second reader of the file has the packets. */
    CHECK_EQ_INT(lap_reader_open_again(reader, NULL, &again), LAP_OK);
    CHECK_EQ_U64(lap_reader_summary(again)->in_flight_count, 0);
    CHECK_EQ_U64(lap_reader_summary(again)->packets, 1);
    lap_reader_close(&again);
    lap_reader_close(&reader);
}

UNIT_TEST(a_call_that_has_returned_is_left_out)
{
    for (int struck = 0; struck < CALLS; struck++) {
        make_crashed_trace(struck);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK_EQ_U64(summary->in_flight_count, CALLS - 1);
        CHECK_EQ_U64(summary->in_flight[0].command, struck == 0 ? 2 : 1);
        CHECK(!strstr(summary->stopped, "crashed in") == (struck == 0));
        lap_reader_close(&reader);
    }
}

/* Nothing of a call but its state can change without the list ending there. */
UNIT_TEST(damage_ends_the_list_of_calls)
{
    make_crashed_trace(-1);
    struct file_bytes tail = load_file(trace_tail_path);
    for (unsigned i = 0; i < CALLS; i++) {
        size_t end = i + 1 < CALLS ? offsets[i + 1] : offsets[i] + LAP_IN_FLIGHT_HEAD_BYTES + 1;
        for (size_t at = offsets[i]; at < end; at++) {
            bool padding = at >= offsets[i] + LAP_IN_FLIGHT_HEAD_BYTES + (i == 0 ? (size_t)BODY : i == 2 ? 1 : 0);
            bool state = at >= offsets[i] + LAP_IN_FLIGHT_STATE_AT && at < offsets[i] + 8;
            if (padding || state)
                continue;
            tail.data[LAP_TAIL_HEADER_BYTES + at] ^= 0x10;
            store_file(trace_tail_path, tail.data, tail.bytes);
            CHECK_EQ_U64(count_calls(), i);
            tail.data[LAP_TAIL_HEADER_BYTES + at] ^= 0x10;
            at += at % 7; /* some of the bytes */
        }
    }
    free(tail.data);
}

/* Good hashes, and contents that no layer writes. */
UNIT_TEST(forged_calls_are_refused)
{
    enum { UNKNOWN_COMMAND, FLAGS, LONG_BODY, ENDLESS, RING_HERE, RING_FAR, RING_IN_HEADER, FORGERIES };
    make_crashed_trace(-1);
    struct file_bytes tail = load_file(trace_tail_path), trace = load_file(trace_path);
    uint64_t seed = lap_tail_seed(trace.data + 16);
    for (int what = 0; what < FORGERIES; what++) {
        uint8_t *data = malloc(tail.bytes), *list = data + LAP_TAIL_HEADER_BYTES;
        struct lap_in_flight call = {.command = 1};
        size_t expected = 0;
        memcpy(data, tail.data, tail.bytes);
        if (what == UNKNOWN_COMMAND)
            call.command = 0x7fffffff;
        else if (what == FLAGS)
            call.flags = LAP_IN_FLIGHT_ALL_FLAGS + 1;
        if (what <= FLAGS)
            lap_in_flight_store(list, &call, seed);
        else if (what == LONG_BODY)
            lap_store_u32(list + 28, UINT32_MAX);
        else if (what == ENDLESS)
            for (expected = 0; expected < LAP_IN_FLIGHT_AREA_BYTES / LAP_IN_FLIGHT_HEAD_BYTES; expected++)
                lap_in_flight_store(list + expected * LAP_IN_FLIGHT_HEAD_BYTES, &call, seed);
        else
            lap_store_u64(data + LAP_TAIL_RING_AT, what == RING_HERE  ? LAP_TAIL_HEADER_BYTES + 100
                                                   : what == RING_FAR ? UINT64_MAX
                                                                      : 64);
        if (what == RING_FAR) /* the list is as long as it can be, the ring is nowhere */
            expected = CALLS;
        store_file(trace_tail_path, data, tail.bytes);
        struct lap_reader *reader = NULL;
        CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_OK);
        CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, expected);
        lap_reader_close(&reader);
        free(data);
    }
    free(tail.data), free(trace.data);
}

/* The ring was right behind the header once, and there were no calls. */
UNIT_TEST(tail_files_of_version_1_are_read)
{
    make_crashed_trace(-1);
    struct file_bytes tail = load_file(trace_tail_path);
    memmove(tail.data + LAP_TAIL_HEADER_BYTES, tail.data + LAP_TAIL_RING_BEGIN, tail.bytes - LAP_TAIL_RING_BEGIN);
    lap_store_u32(tail.data + 8, 1);
    lap_store_u64(tail.data + 32, lap_hash64(tail.data, 32));
    lap_store_u64(tail.data + LAP_TAIL_START_AT, LAP_TAIL_HEADER_BYTES);
    lap_store_u64(tail.data + LAP_TAIL_RING_AT, 0);
    store_file(trace_tail_path, tail.data, tail.bytes - (LAP_TAIL_RING_BEGIN - LAP_TAIL_HEADER_BYTES));
    CHECK_EQ_U64(count_calls(), 0);
    free(tail.data);
}

UNIT_MAIN();
