/* SPDX-License-Identifier: MIT */
/* Many threads write one trace. Made for thread sanitizers too. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/unit/trace_file.h"
#include "trace/format/decode.h"
#include "trace/write/writer_internal.h"

#define THREADS 4u
#define PACKETS 20000u

static struct lap_writer *writer;
static _Atomic bool done;

struct job {
    uint64_t thread_id;
    uint64_t barriers, packets;
};

/* Bodies: thread, number of the packet in its thread, and now and then bytes that several threads write. */
static void *record(void *user)
{
    struct job *job = user;
    static const uint8_t shared_bytes[6000] = {1};
    uint8_t own[5000];
    struct lap_stream *stream = lap_writer_stream(writer, job->thread_id);
    uint64_t last = 0, ticket = 0;
    for (uint64_t i = 0; stream && i < PACKETS; i++) {
        uint32_t flags = (i + job->thread_id) % 5 == 0 ? LAP_PACKET_BARRIER : 0;
        struct lap_enc *enc = lap_packet_begin(stream, 1, flags, NULL, &ticket);
        if (!enc)
            break;
        if (lap_enc_reserve(enc, 30)) {
            lap_put_u64(enc, job->thread_id);
            lap_put_u64(enc, i);
        }
        if (i % 100 == 0)
            lap_enc_bytes(enc, shared_bytes, sizeof(shared_bytes));
        if (i % 100 == 50) {
            memset(own, (int)(i / 100), sizeof(own));
            own[0] = (uint8_t)job->thread_id;
            lap_enc_bytes(enc, own, sizeof(own));
        }
        lap_packet_end(stream);
        if (ticket <= last)
            break;
        last = ticket;
        job->barriers += flags != 0;
        job->packets++;
        lap_writer_count(writer, LAP_COUNTER_CALLS, 1);
        if (i % 500 == 499 && job->thread_id == 100)
            lap_writer_frame(writer);
        if (i == PACKETS / 2) {
            lap_stream_release(stream);
            stream = lap_writer_stream(writer, job->thread_id);
        }
    }
    lap_stream_release(stream);
    return NULL;
}

static void *end_frames(void *user)
{
    while (!atomic_load(&done)) {
        lap_writer_frame(writer);
        usleep(500);
    }
    return NULL;
}

static void run_threads(struct job *jobs)
{
    pthread_t threads[THREADS], frames[2];
    atomic_store(&done, false);
    for (unsigned i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.thread_id = 100 + i};
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, record, &jobs[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(pthread_create(&frames[i], NULL, end_frames, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&done, true);
    for (int i = 0; i < 2; i++)
        pthread_join(frames[i], NULL);
}

/* Reads all packets and checks that each thread's are there, in order, with right epochs; returns how many there are.
 */
static uint64_t read_all(struct lap_reader *reader)
{
    uint64_t next[THREADS] = {0}, count = 0, barriers = 0, wrong = 0, frame = 0;
    struct lap_packet packet;
    enum lap_status status;
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        struct lap_dec dec;
        lap_dec_init(&dec, packet.body, packet.bytes, NULL, NULL);
        uint64_t thread = lap_get_u64(&dec) - 100, number = lap_get_u64(&dec);
        count++;
        if (thread >= THREADS || packet.thread_id != thread + 100 || number != next[thread]++ ||
            packet.ticket != count || packet.epoch != barriers || packet.frame < frame)
            wrong++;
        barriers += packet.flags == LAP_PACKET_BARRIER;
        frame = packet.frame;
        if (thread < THREADS && number % 100 == 50) {
            const uint8_t *data;
            size_t bytes;
            uint64_t size = lap_get_u64(&dec), blob = lap_get_u64(&dec);
            wrong += size != (5000 << 1 | 1) || lap_reader_blob(reader, LAP_BLOB_DATA, blob, &data, &bytes) != LAP_OK ||
                     bytes != 5000 || data[0] != (uint8_t)(thread + 100) || data[1] != (uint8_t)(number / 100) ||
                     data[4999] != (uint8_t)(number / 100);
        }
    }
    if (status != LAP_END)
        printf("%s\n", lap_error_message());
    CHECK_EQ_INT(status, LAP_END);
    CHECK_EQ_U64(wrong, 0);
    return count;
}

UNIT_TEST(every_packet_is_there_once_and_in_order)
{
    struct job jobs[THREADS];
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    run_threads(jobs);
    uint64_t frames = lap_writer_frames(writer);
    lap_writer_destroy(&writer);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_EQ_U64(jobs[i].packets, PACKETS);

    struct lap_reader_options options = {.memory_limit_bytes = 2u << 20};
    struct lap_reader *reader = open_trace(&options);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK(summary->complete && frames >= PACKETS / 500 && summary->frames == frames);
    CHECK_EQ_U64(summary->packets, THREADS * PACKETS);
    CHECK_EQ_U64(summary->counters[LAP_COUNTER_CALLS], THREADS * PACKETS);
    CHECK_EQ_U64(read_all(reader), THREADS * PACKETS);
    CHECK(summary->streams <= 2 * THREADS);
    CHECK_EQ_U64(summary->blobs, 1 + THREADS * PACKETS / 100);
    lap_reader_close(&reader);
}

/* Cut anywhere, the file gives every packet up to some ticket, whichever thread it came from. */
struct blobs {
    uint8_t seed;
    uint64_t ids[64];
};

/* Small ones that fill chunks, and now and then one that is chunks of its own; every other one is everybody's. */
static void *add_blobs(void *user)
{
    struct blobs *blobs = user;
    uint8_t *bytes = malloc(700 << 10);
    for (unsigned i = 0; bytes && i < 64; i++) {
        size_t size = i % 16 == 3 || i % 16 == 4 ? (size_t)700 << 10 : (size_t)60 << 10;
        memset(bytes, (int)i, size);
        bytes[1] = i % 2 ? blobs->seed : 0;
        blobs->ids[i] = lap_writer_blob(writer, LAP_BLOB_DATA, bytes, size, NULL);
    }
    free(bytes);
    return NULL;
}

UNIT_TEST(blobs_of_many_threads_are_stored_once)
{
    struct blobs blobs[THREADS];
    pthread_t threads[THREADS];
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        blobs[i].seed = (uint8_t)(i + 1);
        CHECK_EQ_INT(pthread_create(&threads[i], NULL, add_blobs, &blobs[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_U64(writer->blobs.count, 32 + 32 * THREADS);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    for (unsigned i = 0; i < THREADS && reader; i++)
        for (unsigned j = 0; j < 64; j++) {
            const uint8_t *data = NULL;
            size_t bytes = 0;
            CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, blobs[i].ids[j], &data, &bytes), LAP_OK);
            CHECK(bytes > 2 && data[0] == j && data[1] == (j % 2 ? blobs[i].seed : 0));
            if (!(j % 2))
                CHECK_EQ_U64(blobs[i].ids[j], blobs[0].ids[j]);
        }
    lap_reader_close(&reader);
}

static void *add_one(void *user)
{
    *(uint64_t *)user = lap_writer_blob(writer, LAP_BLOB_BLOCK, "a block", 7, NULL);
    return NULL;
}

/* Whoever ends a frame, or has filled a chunk, hands bytes over for long; nobody's recording waits for that. */
UNIT_TEST(blobs_are_added_while_a_chunk_is_handed_over)
{
    pthread_t thread;
    uint64_t id = 0;
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    pthread_mutex_lock(&writer->blobs.order);
    CHECK_EQ_INT(pthread_create(&thread, NULL, add_one, &id), 0);
    pthread_join(thread, NULL);
    CHECK_EQ_U64(id, 1);
    pthread_mutex_unlock(&writer->blobs.order);
    lap_writer_destroy(&writer);
}

UNIT_TEST(cut_files_give_whole_frames)
{
    struct job jobs[THREADS];
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    run_threads(jobs);
    lap_writer_destroy(&writer);
    struct file_bytes file = load_file(trace_path);
    uint64_t before = UINT64_MAX;
    for (unsigned i = 0; i < 8; i++) {
        store_file(trace_path, file.data, file.bytes - file.bytes / 10 * i - 1);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(!summary->complete && summary->stopped);
        uint64_t packets = read_all(reader);
        CHECK_EQ_U64(packets, summary->packets);
        CHECK(packets <= before);
        before = packets;
        lap_reader_close(&reader);
    }
    free(file.data);
}

static void *stop_soon(void *user)
{
    usleep(5000);
    lap_writer_stop(writer, "enough");
    return NULL;
}

UNIT_TEST(a_stop_between_threads_leaves_whole_packets)
{
    for (int round = 0; round < 5; round++) {
        struct job jobs[THREADS];
        pthread_t stopper;
        writer = create_trace(LAP_CODEC_LZ4, NULL);
        CHECK_EQ_INT(pthread_create(&stopper, NULL, stop_soon, NULL), 0);
        run_threads(jobs);
        pthread_join(stopper, NULL);
        CHECK(lap_writer_stopped(writer));
        lap_writer_destroy(&writer);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(!summary->complete && summary->indexed);
        CHECK_STR(summary->stopped, "enough");
        CHECK_EQ_U64(read_all(reader), summary->packets);
        lap_reader_close(&reader);
    }
}

static void *finish_soon(void *user)
{
    usleep(5000);
    lap_writer_finish(writer);
    return NULL;
}

/* As when the process ends while its threads still record: what is in the file is whole. */
UNIT_TEST(a_finish_between_threads_leaves_whole_packets)
{
    for (int round = 0; round < 5; round++) {
        struct job jobs[THREADS];
        pthread_t finisher;
        uint64_t packets = 0;
        writer = create_trace(LAP_CODEC_LZ4, NULL);
        CHECK_EQ_INT(pthread_create(&finisher, NULL, finish_soon, NULL), 0);
        run_threads(jobs);
        pthread_join(finisher, NULL);
        lap_writer_destroy(&writer);
        for (unsigned i = 0; i < THREADS; i++)
            packets += jobs[i].packets;
        struct lap_reader *reader = open_trace(NULL);
        CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
        uint64_t read = read_all(reader);
        CHECK(read <= packets && read == lap_reader_summary(reader)->packets);
        lap_reader_close(&reader);
    }
}

UNIT_MAIN();
