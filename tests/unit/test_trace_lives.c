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
    FILE *file = fopen(trace_path, "r+b");

    CHECK(file && fseek(file, -(long)sizeof(end), SEEK_END) == 0);
    CHECK_EQ_U64(fread(end, 1, sizeof(end), file), sizeof(end));
    CHECK_EQ_INT(lap_chunk_header_load(end, &header), LAP_OK);
    lap_end_load(end + LAP_CHUNK_HEADER_BYTES, &content);
    content.totals.counters[LAP_COUNTER_LIVES] = blob;
    lap_end_store(&content, end + LAP_CHUNK_HEADER_BYTES);
    (void)lap_chunk_pack(&header, NULL, end + LAP_CHUNK_HEADER_BYTES, LAP_END_BYTES, NULL);
    lap_chunk_header_store(&header, end);
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
