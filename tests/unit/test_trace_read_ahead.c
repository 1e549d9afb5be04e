/* SPDX-License-Identifier: MIT */
/* What a reader reads ahead changes nothing of what it gives out, and when. */
#include <time.h>

#include "tests/unit/trace_file.h"
#include "trace/read/read_ahead.h"
#include "trace/read/reader_internal.h"

#define MIB     ((size_t)1 << 20)
#define FRAMES  40u
#define SMALL   (32u << 10)
#define PACKETS 50u

static const size_t large[] = {9 * MIB + 5, 5 * MIB, 4 * MIB + 17};

/* Half of it can be compressed. */
static void fill(uint8_t *data, size_t bytes, uint64_t seed)
{
    uint64_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < bytes; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = i % 64 < 32 ? (uint8_t)(state >> 56) : (uint8_t)seed;
    }
}

/* Frames with packets, and a blob that each frame brings: small ones, now and then one of several chunks. */
static size_t blob_bytes(uint64_t frame)
{
    return frame % 13 == 5 ? large[frame / 13] : SMALL + frame;
}

static void write_trace(void)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint8_t *data = malloc(10 * MIB);
    uint64_t ticket = 0;
    for (uint64_t frame = 0; data && stream && frame < FRAMES; frame++) {
        fill(data, blob_bytes(frame), frame);
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, blob_bytes(frame), NULL), frame + 1);
        for (unsigned i = 0; i < PACKETS; i++, ticket++)
            CHECK_EQ_U64(write_packet(stream, ticket + 1), ticket + 1);
        lap_writer_frame(writer);
    }
    free(data);
    lap_writer_destroy(&writer);
}

static bool blob_is_good(struct lap_reader *reader, uint64_t frame, uint8_t *scratch)
{
    const uint8_t *data;
    size_t bytes;
    fill(scratch, blob_bytes(frame), frame);
    return lap_reader_blob(reader, LAP_BLOB_DATA, frame + 1, &data, &bytes) == LAP_OK && bytes == blob_bytes(frame) &&
           memcmp(data, scratch, bytes) == 0;
}

/* Packets that are as they were written; in each frame its blob is asked for, in some an older one as well. */
static uint64_t play(struct lap_reader *reader)
{
    struct lap_packet packet;
    uint64_t good = 0, blobs = 0;
    uint8_t *scratch = malloc(10 * MIB);
    if (!scratch)
        abort();
    while (lap_reader_next(reader, &packet) == LAP_OK) {
        good += packet_is_good(&packet, good + 1);
        if (packet.ticket % PACKETS == 1 && packet.frame % 5 != 4)
            blobs += blob_is_good(reader, packet.frame, scratch);
        if (packet.ticket % PACKETS == 2 && packet.frame >= 20 && packet.frame % 7 == 0)
            CHECK(blob_is_good(reader, packet.frame - 15, scratch));
    }
    CHECK_EQ_U64(blobs, FRAMES - FRAMES / 5);
    free(scratch);
    return good;
}

UNIT_TEST(what_is_read_ahead_is_what_is_there)
{
    static const uint64_t limits[] = {1, 100000, MIB, 16 * MIB, UINT64_MAX};
    write_trace();
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct lap_reader_options options = {.ahead_bytes = limits[i], .memory_limit_bytes = 32 * MIB};
        struct lap_reader *reader = open_trace(&options);
        CHECK_EQ_U64(play(reader), FRAMES * PACKETS);
        CHECK_EQ_INT(lap_reader_rewind(reader), LAP_OK);
        CHECK_EQ_U64(play(reader), FRAMES * PACKETS);
        lap_reader_close(&reader);
    }
}

UNIT_TEST(all_of_it_can_be_read_first)
{
    write_trace();
    struct lap_reader_options options = {.ahead_bytes = UINT64_MAX};
    struct lap_reader *reader = open_trace(&options);
    CHECK(lap_reader_preload(reader));
    CHECK_EQ_U64(play(reader), FRAMES * PACKETS);
    lap_reader_close(&reader);
    options.ahead_bytes = 100000;
    reader = open_trace(&options);
    CHECK(!lap_reader_preload(reader));
    CHECK_EQ_U64(play(reader), FRAMES * PACKETS);
    lap_reader_close(&reader);
    reader = open_trace(NULL);
    CHECK(!lap_reader_preload(reader));
    lap_reader_close(&reader);
}

/* However much may be read ahead: the last packets are behind 20 MiB of others. */
UNIT_TEST(no_more_is_read_ahead_than_is_needed)
{
    const struct timespec while_it_reads = {0, 200000000};
    const struct lap_reader_options options = {.ahead_bytes = 1024 * MIB, .trusts_blobs = true};
    struct lap_buffers buffers;
    struct lap_loaded loaded;
    write_trace();
    struct lap_reader *reader = open_trace(NULL);
    size_t last = reader->chunk_order[reader->order_count - 1];
    for (unsigned round = 0; round < 2; round++) {
        lap_buffers_init(&buffers);
        struct lap_read_ahead *ahead = lap_read_ahead_create(&reader->source, reader->blob_chunks, &options, &buffers);
        CHECK(ahead);
        if (round) /* with --preload all of it is */
            CHECK(lap_read_ahead_wait(ahead));
        nanosleep(&while_it_reads, NULL); /* less would show nothing, and fail nothing */
        CHECK(lap_read_ahead_take(ahead, last, &loaded) == (round == 1));
        if (round)
            lap_buffers_put(&buffers, loaded.buffer);
        lap_read_ahead_destroy(&ahead);
        lap_buffers_finish(&buffers);
    }
    lap_reader_close(&reader);
}

UNIT_TEST(closing_does_not_wait_for_all_of_it)
{
    write_trace();
    for (unsigned i = 0; i < 20; i++) {
        struct lap_reader_options options = {.ahead_bytes = i % 2 ? UINT64_MAX : MIB};
        struct lap_reader *reader = open_trace(&options);
        struct lap_packet packet;
        for (unsigned j = 0; j < i * 10; j++)
            CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
        lap_reader_close(&reader);
    }
}

/* How far a trace is read, and what is said then. */
static uint64_t read_until_failure(uint64_t ahead_bytes, char *sentence, size_t sentence_bytes)
{
    struct lap_reader_options options = {.ahead_bytes = ahead_bytes};
    struct lap_reader *reader = open_trace(&options);
    struct lap_packet packet;
    const uint8_t *data;
    size_t bytes;
    uint64_t packets = 0;
    enum lap_status status;
    if (ahead_bytes == UINT64_MAX)
        CHECK(lap_reader_preload(reader));
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        if (packet.ticket % PACKETS == 1)
            status = lap_reader_blob(reader, LAP_BLOB_DATA, packet.frame + 1, &data, &bytes);
        if (status != LAP_OK)
            break;
        packets++;
    }
    snprintf(sentence, sentence_bytes, "%d: %s", (int)status, status < 0 ? lap_error_message() : "");
    lap_reader_close(&reader);
    return packets;
}

UNIT_TEST(damage_is_found_where_it_is_met)
{
    write_trace();
    struct file_bytes file = load_file(trace_path);
    unsigned failures = 0;
    for (unsigned i = 1; i < 40; i++) {
        char first[700], second[700];
        size_t at = file.bytes / 40 * i;
        file.data[at] ^= 0x10;
        store_file(trace_path, file.data, file.bytes);
        file.data[at] ^= 0x10;
        uint64_t packets = read_until_failure(0, first, sizeof first);
        CHECK_EQ_U64(read_until_failure(UINT64_MAX, second, sizeof second), packets);
        CHECK_STR(second, first);
        CHECK_EQ_U64(read_until_failure(2 * MIB, second, sizeof second), packets);
        CHECK_STR(second, first);
        failures += first[0] == '-';
    }
    CHECK(failures > 20);
    free(file.data);
}

UNIT_MAIN();
