/* SPDX-License-Identifier: MIT */
/* The index of long traces: in parts, so that a writer's memory does not grow, and each part checked by a reader. */
#include <sys/resource.h>
#include <xxhash.h>

#include "tests/unit/trace_file.h"
#include "trace/format/bytes.h"
#include "trace/write/writer_internal.h"

/* Frames of one packet each: two chunks a frame, and the dictionary. */
enum { FRAMES = 10000, CHUNKS = 2 * FRAMES + 1 };
#define PARTS        ((CHUNKS + LAP_INDEX_RECORDS - 1) / LAP_INDEX_RECORDS)
#define EPOCH_AT     40 /* in a chunk's header: of an INDEX chunk, where the one before it is */
#define FIRST_AT     24
#define END_AT(file) ((file).bytes - LAP_END_BYTES - LAP_CHUNK_HEADER_BYTES)

static void write_frames(struct lap_writer *writer, unsigned count)
{
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= count && !lap_writer_stopped(writer); ticket++) {
        (void)write_packet(stream, ticket);
        lap_writer_frame(writer);
    }
}

static struct file_bytes long_trace(void)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    write_frames(writer, FRAMES);
    lap_writer_destroy(&writer);
    return load_file(trace_path);
}

/* Every packet that the summary promises is there. */
static void check_packets(struct lap_reader *reader)
{
    struct lap_packet packet;
    uint64_t wrong = 0;
    for (uint64_t ticket = 1; ticket <= lap_reader_summary(reader)->packets; ticket++)
        wrong += lap_reader_next(reader, &packet) != LAP_OK || !packet_is_good(&packet, ticket);
    CHECK_EQ_U64(wrong, 0);
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
}

static void check_whole(const struct file_bytes *file, bool indexed, const char *what)
{
    store_file(trace_path, file->data, file->bytes);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    if (!summary->complete || summary->indexed != indexed || summary->frames != FRAMES || summary->packets != FRAMES)
        UNIT_FAIL("%s: complete %d, indexed %d, %llu frames", what, summary->complete, summary->indexed,
                  (unsigned long long)summary->frames);
    check_packets(reader);
    lap_reader_close(&reader);
}

/* Where the INDEX chunks of a good file are, the first one first. */
static void find_parts(const struct file_bytes *file, uint64_t *parts)
{
    struct lap_end end;
    lap_end_load(file->data + END_AT(*file) + LAP_CHUNK_HEADER_BYTES, &end);
    CHECK_EQ_U64(end.index_chunks, PARTS);
    uint64_t at = end.index_offset;
    for (size_t i = PARTS; i-- > 0; at = lap_load_u64(file->data + at + EPOCH_AT)) {
        CHECK(at >= LAP_FILE_HEADER_BYTES && at < file->bytes && file->data[at + 4] == LAP_CHUNK_INDEX);
        parts[i] = at;
    }
    CHECK_EQ_U64(at, 0);
}

static void store_number(struct file_bytes *file, uint64_t chunk, size_t at, uint64_t value)
{
    lap_store_u64(file->data + chunk + at, value);
    lap_store_u64(file->data + chunk + 64, XXH3_64bits_withSeed(file->data + chunk, 64, seed_of(file)));
}

UNIT_TEST(memory_does_not_grow_with_the_file)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    write_frames(writer, FRAMES);
    CHECK(writer->output.chunks <= LAP_INDEX_RECORDS);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, FRAMES);
    check_packets(reader);
    lap_reader_close(&reader);
}

/* Traces whose last part is empty, has one record, and so on. */
UNIT_TEST(traces_of_every_length_around_an_index_part_are_read)
{
    for (unsigned frames = (LAP_INDEX_RECORDS - 4) / 2; frames <= (LAP_INDEX_RECORDS + 4) / 2; frames++)
        for (unsigned info = 0; info < 2; info++) {
            struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
            if (info)
                lap_writer_info(writer, "{\"a\":1}");
            write_frames(writer, frames);
            lap_writer_destroy(&writer);
            struct lap_reader *reader = open_trace(NULL);
            CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
            CHECK_EQ_U64(lap_reader_summary(reader)->packets, frames);
            check_packets(reader);
            lap_reader_close(&reader);
        }
}

UNIT_TEST(a_bad_part_is_made_up_for)
{
    struct file_bytes file = long_trace(), bad;
    uint64_t parts[PARTS];
    find_parts(&file, parts);
    check_whole(&file, true, "as it should be");
    bad.bytes = file.bytes;
    bad.data = malloc(file.bytes);

    /* Damaged bytes in the middle of each part. */
    for (size_t i = 0; i < PARTS; i++) {
        memcpy(bad.data, file.data, file.bytes);
        bad.data[parts[i] + LAP_CHUNK_HEADER_BYTES + 5] ^= 1;
        check_whole(&bad, false, "a damaged part");
    }

    /* Offsets that lead to itself, in a circle, forwards, nowhere, past a part, into the file's header. */
    const uint64_t wrong[] = {parts[2],   parts[3],   parts[PARTS - 1],      0,
                              parts[0],   1,          LAP_FILE_HEADER_BYTES, END_AT(file),
                              file.bytes, UINT64_MAX, UINT64_MAX - 71,       parts[1] + 1};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(bad.data, file.data, file.bytes);
        store_number(&bad, parts[2], EPOCH_AT, wrong[i]);
        check_whole(&bad, false, "a wrong offset");
    }
    memcpy(bad.data, file.data, file.bytes);
    store_number(&bad, parts[0], EPOCH_AT, parts[1]);
    check_whole(&bad, false, "a first part that has one before it");

    memcpy(bad.data, file.data, file.bytes);
    store_number(&bad, parts[1], FIRST_AT, 1);
    check_whole(&bad, false, "record numbers that do not go on");

    /* Numbers of parts that are too small, too large and absurd, with a good hash. */
    const uint32_t counts[] = {0, 1, PARTS - 1, PARTS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        memcpy(bad.data, file.data, file.bytes);
        uint8_t *end = bad.data + END_AT(bad);
        lap_store_u32(end + LAP_CHUNK_HEADER_BYTES + 8, counts[i]);
        store_number(&bad, END_AT(bad), 56, XXH3_64bits(end + LAP_CHUNK_HEADER_BYTES, LAP_END_BYTES));
        check_whole(&bad, false, "a wrong number of parts");
    }
    free(bad.data);
    free(file.data);
}

/* A file that is cut in front of an INDEX chunk, behind one, or anywhere near, keeps its whole frames. */
UNIT_TEST(a_file_cut_near_an_index_part_keeps_its_whole_frames)
{
    struct file_bytes file = long_trace();
    uint64_t parts[PARTS];
    struct rlimit old, limit;
    find_parts(&file, parts);
    free(file.data);
    getrlimit(RLIMIT_FSIZE, &old);
    for (uint64_t room = parts[1] - 900; room < parts[1] + 60000; room += room < parts[1] + 900 ? 60 : 5000) {
        limit = old;
        limit.rlim_cur = room;
        setrlimit(RLIMIT_FSIZE, &limit);
        struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
        write_frames(writer, FRAMES);
        uint64_t frames = lap_writer_frames(writer);
        CHECK(lap_writer_stopped(writer));
        lap_writer_destroy(&writer);
        setrlimit(RLIMIT_FSIZE, &old);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(!summary->complete && frames > 4000 && frames < FRAMES);
        CHECK_EQ_U64(summary->frames, frames);
        CHECK_EQ_U64(summary->packets, frames);
        CHECK(summary->file_bytes <= room);
        check_packets(reader);
        lap_reader_close(&reader);
    }
}

UNIT_MAIN();
