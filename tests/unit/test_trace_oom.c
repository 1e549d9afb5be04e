/* SPDX-License-Identifier: MIT */
/* Lets the n-th allocation of a writer and of a reader fail, for every n: once, or that one and all after it. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/process/sanitizers.h"
#include "tests/unit/trace_file.h"

#if LAP_ADDRESS_SANITIZER || LAP_THREAD_SANITIZER || !defined(__GLIBC__)

UNIT_TEST(every_allocation_may_fail)
{
    SKIP("malloc can't be replaced under a sanitizer, or without glibc");
}

#else

static long countdown = -1; /* allocations that still succeed; -1: all */
static bool once, failed_one;

static bool fails(void)
{
    if (countdown < 0)
        return false;
    if (countdown > 0) {
        countdown--;
        return false;
    }
    if (once)
        countdown = -1;
    failed_one = true;
    errno = ENOMEM;
    return true;
}

/* While a file is being ended nothing may be allocated or freed, by no thread: the process may end in a signal handler
 * that interrupted malloc. */
static atomic_bool ending;
static atomic_uint forbidden;
static atomic_long blocks; /* that are allocated */

static void note(void)
{
    if (atomic_load(&ending))
        atomic_fetch_add(&forbidden, 1);
}

extern void __libc_free(void *memory);
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);

static void *counted(void *memory)
{
    atomic_fetch_add(&blocks, memory != NULL);
    return memory;
}

/* For the libraries, too. */
#pragma GCC visibility push(default)

void *malloc(size_t bytes)
{
    note();
    return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    note();
    return fails() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes)
{
    note();
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, bytes) : counted(__libc_malloc(bytes));
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note();
    return fails() ? NULL : counted(__libc_memalign(align, bytes));
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *memory = aligned_alloc(align, bytes);
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

void free(void *memory)
{
    if (!memory) /* the C library does so when a thread ends */
        return;
    note();
    atomic_fetch_sub(&blocks, 1);
    __libc_free(memory);
}

#pragma GCC visibility pop

static void begin_failing(long after)
{
    failed_one = false;
    countdown = after;
}

enum { PACKETS = 120, BLOB_BYTES = 600 << 10 };

static uint8_t blob_bytes[BLOB_BYTES];

/* Records; returns how many packets the writer had taken at the last frame mark that it wrote. */
static uint64_t record(struct lap_writer **writer)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    uint64_t marked = 0;
    if (lap_writer_create(trace_path, &options, writer) != LAP_OK)
        return 0;
    lap_writer_info(*writer, "{\"a\":1}");
    lap_writer_info(*writer, "{\"a\":2,\"b\":[3]}");
    struct lap_stream *streams[2] = {lap_writer_stream(*writer, 1), lap_writer_stream(*writer, 2)};
    for (uint64_t ticket = 1; streams[0] && streams[1] && ticket <= PACKETS; ticket++) {
        if (write_packet(streams[ticket & 1], ticket) != ticket)
            break;
        memcpy(blob_bytes, &ticket, sizeof(ticket));
        (void)lap_writer_blob(*writer, LAP_BLOB_DATA, blob_bytes, ticket % 50 ? 300 : BLOB_BYTES, NULL);
        if (ticket % 30 == 0) {
            lap_writer_frame(*writer);
            if (!lap_writer_stopped(*writer))
                marked = ticket;
        }
    }
    return marked;
}

/* Reads everything; LAP_END only when all of it was right. */
static enum lap_status read_back(uint64_t *out_packets, bool *out_complete)
{
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    enum lap_status status = lap_reader_open(trace_path, NULL, &reader);
    *out_packets = 0;
    *out_complete = false;
    if (status != LAP_OK)
        return reader ? LAP_OK : status;
    uint64_t blobs = lap_reader_summary(reader)->blobs;
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        const uint8_t *data;
        size_t bytes;
        uint64_t number = 0;
        if (!packet_is_good(&packet, ++*out_packets)) {
            status = LAP_OK;
            break;
        }
        if (*out_packets <= blobs) {
            status = lap_reader_blob(reader, LAP_BLOB_DATA, *out_packets, &data, &bytes);
            if (status != LAP_OK)
                break;
            memcpy(&number, data, sizeof(number));
            if (number != *out_packets || bytes != (number % 50 ? 300 : BLOB_BYTES))
                break;
        }
    }
    *out_complete = lap_reader_summary(reader)->complete;
    lap_reader_close(&reader);
    return status;
}

/* What the C library keeps of a first thread is taken then, too. */
static long blocks_of_a_good_run(void)
{
    struct lap_writer *writer = NULL;
    fresh_trace_path();
    CHECK_EQ_U64(record(&writer), PACKETS);
    lap_writer_destroy(&writer);
    return blocks;
}

UNIT_TEST(a_writer_short_of_memory_leaves_whole_frames)
{
    unsigned failures = 0;
    long first_blocks = blocks_of_a_good_run();
    for (long n = 0;; n++) {
        bool any = false;
        for (int i = 0; i < 2; i++) {
            struct lap_writer *writer = NULL;
            fresh_trace_path();
            once = i == 0;
            begin_failing(n);
            uint64_t marked = record(&writer), packets;
            bool created = writer != NULL, complete, stopped = created && lap_writer_stopped(writer);
            lap_writer_destroy(&writer);
            countdown = -1;
            any |= failed_one;
            failures += failed_one;
            if (!created) {
                CHECK(failed_one && access(trace_path, F_OK) != 0);
                CHECK_EQ_INT(blocks, first_blocks);
                continue;
            }
            CHECK_EQ_INT(read_back(&packets, &complete), LAP_END);
            CHECK_EQ_INT(blocks, first_blocks);
            CHECK(packets >= marked && (!complete || packets == PACKETS));
            CHECK(failed_one || complete);
            CHECK(!stopped || !complete);
        }
        if (!any)
            break;
    }
    CHECK(failures > 15);
}

/* With a queue that is not empty, packets and blobs that were not handed over, and an index to write. */
static void end_without_memory(size_t queue_bytes, bool disk_full)
{
    struct lap_writer *writer = create_queued_trace(LAP_CODEC_LZ4, NULL, queue_bytes);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= PACKETS; ticket++) {
        (void)write_packet(stream, ticket);
        memcpy(blob_bytes, &ticket, sizeof(ticket));
        (void)lap_writer_blob(writer, LAP_BLOB_DATA, blob_bytes, ticket % 10 ? 300 : BLOB_BYTES, NULL);
        if (ticket == 60)
            lap_writer_frame(writer);
    }
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = disk_full ? lap_writer_bytes(writer) + 100 : old.rlim_cur;
    setrlimit(RLIMIT_FSIZE, &limit);
    forbidden = 0;
    ending = true;
    lap_writer_finish(writer);
    ending = false;
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK_EQ_U64(forbidden, 0);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_INT(lap_reader_summary(reader)->complete, !disk_full);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, disk_full ? 60 : PACKETS);
    lap_reader_close(&reader);
}

UNIT_TEST(the_end_allocates_nothing)
{
    end_without_memory(0, false);
    end_without_memory(LAP_WRITER_NO_QUEUE, false);
    end_without_memory(LAP_WRITER_NO_QUEUE, true);
}

UNIT_TEST(a_reader_short_of_memory_says_so)
{
    unsigned failures = 0;
    long first_blocks = blocks_of_a_good_run();
    for (long n = 0;; n++) {
        bool any = false;
        for (int i = 0; i < 2; i++) {
            uint64_t packets;
            bool complete;
            once = i == 0;
            begin_failing(n);
            enum lap_status status = read_back(&packets, &complete);
            countdown = -1;
            any |= failed_one;
            failures += failed_one;
            /* One failure may be made up for: an index that can't be held is replaced by a scan. */
            if (status < 0)
                CHECK(failed_one && status == LAP_ERROR_MEMORY);
            else
                CHECK(status == LAP_END && packets == PACKETS && complete);
            CHECK_EQ_INT(blocks, first_blocks);
        }
        if (!any)
            break;
    }
    CHECK(failures > 40);
}

#endif

UNIT_MAIN();
