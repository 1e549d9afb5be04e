/* SPDX-License-Identifier: MIT */
/* Which objects a trace says were there for long. */
#include "trace/lives.h"

#include "tests/unit/trace_file.h"
#include "trace/chunk.h"
#include "trace/rewrite.h"

enum { THING = 1, OTHER };

static void write_packets(struct lap_stream *stream, unsigned count, size_t body_bytes)
{
    uint8_t *body = calloc(1, body_bytes);
    CHECK(body);
    for (unsigned i = 0; i < count; i++) {
        struct lap_enc *enc = lap_packet_begin(stream, 1, 0, NULL, NULL);
        CHECK(enc);
        body[0] = (uint8_t)i;
        lap_enc_raw(enc, body, body_bytes);
        lap_packet_end(stream);
    }
    free(body);
}

/* Chunk by chunk. */
UNIT_TEST(what_passes_is_counted)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint64_t before;

    CHECK_EQ_U64(lap_writer_passed(writer), 0);
    write_packets(stream, 10, 1000);
    lap_writer_frame(writer);
    before = lap_writer_passed(writer);
    CHECK(before > 10 * (1000 + LAP_LIVES_PACKET_BYTES) && before < 10 * (1000 + LAP_LIVES_PACKET_BYTES + 30));
    /* A body that moves into a blob counts as well. */
    write_packets(stream, 3, 1 << 20);
    lap_writer_frame(writer);
    CHECK(lap_writer_passed(writer) - before > (3 << 20));
    CHECK(lap_writer_passed(writer) - before < (3 << 20) + 1000);
    lap_writer_destroy(&writer);
}

static void check_lives(const char *path, unsigned count)
{
    struct lap_reader *reader = NULL;
    struct lap_lives_reader lives;
    struct lap_long_life life;

    CHECK_EQ_INT(lap_reader_open(path, NULL, &reader), LAP_OK);
    CHECK_EQ_INT(lap_reader_lives(reader, &lives), count ? LAP_OK : LAP_END);
    for (unsigned i = 0; i < count; i++) {
        CHECK_EQ_INT(lap_lives_next(&lives, &life), LAP_OK);
        CHECK_EQ_U64(life.handle_type, i % 2 ? OTHER : THING);
        CHECK_EQ_U64(life.index, 1000 + (uint64_t)i * i);
        CHECK_EQ_U64(life.begin, i / 2 + 1);
        CHECK_EQ_U64(life.end, i + 2);
        CHECK_EQ_U64(life.bytes, (uint64_t)i << 30);
        CHECK_EQ_U64(life.memory_flags, i % 16 | (i % 5 ? 0 : LAP_LIFE_HAS_ADDRESS));
        CHECK_EQ_U64(life.device, i % 3 * 0x3fff);
    }
    CHECK_EQ_INT(lap_lives_next(&lives, &life), LAP_END);
    CHECK_EQ_INT(lap_lives_next(&lives, &life), LAP_END);
    lap_reader_close(&reader);
}

static struct lap_writer *write_lives(unsigned count)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    const struct lap_long_life on_a_late_device = {.handle_type = THING, .index = 7, .begin = 1, .device = 0x8000};

    for (unsigned i = 0; i < count; i++) {
        const struct lap_long_life life = {.handle_type = i % 2 ? OTHER : THING,
                                           .index = 1000 + (uint64_t)i * i,
                                           .begin = i / 2 + 1,
                                           .bytes = (uint64_t)i << 30,
                                           .device = i % 3 * 0x3fff,
                                           .memory_flags = i % 16 | (i % 5 ? 0 : LAP_LIFE_HAS_ADDRESS)};
        write_packets(stream, 1, 20);
        lap_writer_long_life(writer, &life);
        lap_writer_long_life(writer, &on_a_late_device);
        if (i % 100 == 0)
            (void)lap_writer_blob(writer, LAP_BLOB_DATA, &i, sizeof(i), NULL);
    }
    lap_writer_frame(writer);
    return writer;
}

UNIT_TEST(long_lives_are_in_the_trace_and_stay_when_it_is_written_anew)
{
    const struct lap_rewrite_options options = {.packer = &lap_packer_zstd};
    char new_path[sizeof(trace_path) + 8];

    for (unsigned count = 0; count <= 300000; count = count * 3 + 1) {
        struct lap_writer *writer = write_lives(count);
        lap_writer_destroy(&writer);
        check_lives(trace_path, count);
        snprintf(new_path, sizeof(new_path), "%s.new", trace_path);
        unlink(new_path);
        CHECK_EQ_INT(lap_rewrite(trace_path, new_path, &options), LAP_OK);
        CHECK_EQ_INT(lap_rewrite_compare(trace_path, new_path, &options), LAP_OK);
        check_lives(new_path, count);
    }
}

static void add_lives(struct lap_writer *writer, uint64_t first, uint64_t count, uint64_t bytes, uint64_t passed)
{
    for (uint64_t i = 0; i < count; i++)
        lap_writer_long_life(writer, &(struct lap_long_life){.handle_type = THING,
                                                             .index = first + i,
                                                             .bytes = bytes,
                                                             .passed = passed,
                                                             .begin = 1,
                                                             .memory_flags = 7});
}

/* How many of a row of numbers there are; *out_last: the last one, or 0. */
static uint64_t count_lives(uint64_t first, uint64_t count, uint64_t *out_last)
{
    struct lap_reader *reader = NULL;
    struct lap_lives_reader lives;
    struct lap_long_life life;
    uint64_t found = 0, before = 0, all = 0;

    *out_last = 0;
    CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_OK);
    CHECK_EQ_INT(lap_reader_lives(reader, &lives), LAP_OK);
    for (; lap_lives_next(&lives, &life) == LAP_OK; all++) {
        CHECK(life.index > before && life.memory_flags == 7 && life.begin == 1);
        CHECK_EQ_U64(life.end, 2 + life.index / 1000000); /* a packet in front of each million */
        before = life.index;
        if (life.index < first || life.index >= first + count)
            continue;
        *out_last = life.index;
        found++;
    }
    CHECK_EQ_INT(lap_lives_next(&lives, &life), LAP_END);
    CHECK(all <= LAP_LIVES_MAX_COUNT);
    lap_reader_close(&reader);
    return found;
}

/* Of too many those stay that no reader sees the ends of, and of these the largest, and the first ones. */
UNIT_TEST(of_too_many_lives_some_count_more)
{
    enum { MILLION = 1000000, FEW = 1000, HALF = LAP_LIVES_MAX_COUNT / 2 };
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    const uint64_t far = LAP_LIVES_NEAR_BYTES + 1;
    uint64_t last, kept, near;

    write_packets(stream, 1, 20);
    add_lives(writer, 1, HALF, 1 << 20, LAP_LIVES_NEAR_BYTES);
    write_packets(stream, 1, 20);
    add_lives(writer, MILLION, HALF, 1000, far);
    write_packets(stream, 1, 20);
    add_lives(writer, 2 * MILLION, FEW, 100, far); /* is more than what is near */
    write_packets(stream, 1, 20);
    add_lives(writer, 3 * MILLION, HALF, 4000, far);
    write_packets(stream, 1, 20);
    add_lives(writer, 4 * MILLION, HALF / 2, 4000, far);
    write_packets(stream, 1, 20);
    add_lives(writer, 5 * MILLION, MILLION, 1 << 20, LAP_LIVES_NEAR_BYTES); /* what room there is left */
    write_packets(stream, 1, 20);
    add_lives(writer, 6 * MILLION, 1, 0, far);
    lap_writer_frame(writer);
    lap_writer_destroy(&writer);
    CHECK_EQ_U64(count_lives(1, HALF, &last), 0);
    CHECK_EQ_U64(count_lives(2 * MILLION, FEW, &last), 0);
    CHECK_EQ_U64(count_lives(3 * MILLION, HALF, &last), HALF);
    CHECK_EQ_U64(count_lives(4 * MILLION, HALF, &last), HALF / 2);
    near = count_lives(5 * MILLION, MILLION, &last);
    CHECK_EQ_U64(count_lives(6 * MILLION, 1, &last), 0);
    kept = count_lives(MILLION, HALF, &last);
    CHECK(kept >= HALF / 2 - LAP_LIVES_MAX_COUNT / 8 && kept <= HALF / 2);
    CHECK_EQ_U64(last, MILLION + kept - 1);
    CHECK_EQ_U64(near + kept + HALF + HALF / 2, LAP_LIVES_MAX_COUNT);
}

UNIT_TEST(a_trace_that_ended_early_has_none)
{
    struct lap_writer *writer = write_lives(10);
    lap_writer_stop(writer, "enough");
    lap_writer_destroy(&writer);
    check_lives(trace_path, 0);
}

static enum lap_status read_all(const char *path)
{
    struct lap_reader *reader = NULL;
    struct lap_lives_reader lives;
    struct lap_long_life life;
    enum lap_status status;

    CHECK_EQ_INT(lap_reader_open(path, NULL, &reader), LAP_OK);
    status = lap_reader_lives(reader, &lives);
    while (status == LAP_OK)
        status = lap_lives_next(&lives, &life);
    lap_reader_close(&reader);
    return status;
}

/* The END chunk says that this blob has them. */
static void name_lives(uint64_t blob)
{
    uint8_t end[LAP_CHUNK_HEADER_BYTES + LAP_END_BYTES];
    struct lap_chunk_header header;
    struct lap_end content;
    struct file_bytes whole = load_file(trace_path);
    uint64_t seed = seed_of(&whole);
    FILE *file = fopen(trace_path, "r+b");

    CHECK(file && fseek(file, -(long)sizeof(end), SEEK_END) == 0);
    CHECK_EQ_U64(fread(end, 1, sizeof(end), file), sizeof(end));
    CHECK_EQ_INT(lap_chunk_header_load(end, seed, &header), LAP_OK);
    lap_end_load(end + LAP_CHUNK_HEADER_BYTES, &content);
    content.totals.counters[LAP_COUNTER_LIVES] = blob;
    lap_end_store(&content, end + LAP_CHUNK_HEADER_BYTES);
    (void)lap_chunk_pack(&header, NULL, end + LAP_CHUNK_HEADER_BYTES, LAP_END_BYTES, NULL);
    lap_chunk_header_store(&header, seed, end);
    free(whole.data);
    CHECK(fseek(file, -(long)sizeof(end), SEEK_END) == 0);
    CHECK_EQ_U64(fwrite(end, 1, sizeof(end), file), sizeof(end));
    CHECK_EQ_INT(fclose(file), 0);
}

/* Of a trace whose other packets and blobs are good. */
UNIT_TEST(damaged_lives_are_an_error_of_their_own)
{
    static const struct {
        uint8_t bytes[32];
        size_t count;
    } wrong[] = {
        {{1, 1, 9, 5, 3}, 5},                                                                             /* cut */
        {{1, 1, 0x89, 0, 5, 3, 1}, 7},                                                                    /* needless */
        {{0x80, 0x80, 0x80, 0x80, 0x10, 1, 9, 5, 3, 1}, 10},                                              /* no u32 */
        {{1, 1, 9, 5, 3, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 5, 3, 1}, 21}, /* too late */
        {{1, 1, 9, 9, 3, 1}, 6}, /* at ticket 0 */
        {{1, 1, 9, 0, 3, 1}, 6}, /* ends as it begins */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
        uint64_t blob = lap_writer_blob(writer, LAP_BLOB_DATA, wrong[i].bytes, wrong[i].count, NULL);
        lap_writer_long_life(writer, &(struct lap_long_life){.handle_type = THING, .index = 7});
        lap_writer_destroy(&writer);
        CHECK_EQ_U64(blob, 1);
        name_lives(blob);
        CHECK_EQ_INT(read_all(trace_path), LAP_ERROR_FORMAT);
        name_lives(3); /* there is none */
        CHECK_EQ_INT(read_all(trace_path), LAP_ERROR_FORMAT);
        name_lives(0);
        CHECK_EQ_INT(read_all(trace_path), LAP_END);
    }
}

UNIT_MAIN();
