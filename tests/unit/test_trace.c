/* SPDX-License-Identifier: MIT */
/* What a writer writes, a reader reads. */
#include "tests/unit/trace_file.h"
#include "trace/format/decode.h"

UNIT_TEST(an_empty_trace_is_complete)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_packet packet;
    lap_writer_destroy(&writer);
    CHECK(writer == NULL);
    lap_writer_destroy(&writer);

    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK(summary->complete && summary->indexed && !summary->stopped);
    CHECK_EQ_U64(summary->packets + summary->frames + summary->streams + summary->blobs, 0);
    CHECK_EQ_U64(summary->format_version, LAP_FORMAT_VERSION);
    CHECK_STR(summary->info, "{}");
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    lap_reader_close(&reader);
    CHECK(reader == NULL);
    lap_reader_close(&reader);
}

UNIT_TEST(the_dictionary_is_read_as_written)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_U64(lap_reader_command_count(reader), 4);
    CHECK_EQ_U64(lap_reader_struct_count(reader), 2);
    CHECK_EQ_U64(lap_reader_handle_type_count(reader), 3);
    CHECK_STR(lap_reader_command_name(reader, 0), "");
    CHECK_STR(lap_reader_command_name(reader, 3), "vkQueueThing");
    CHECK_STR(lap_reader_struct_name(reader, 1), "VkThingInfo");
    CHECK_STR(lap_reader_handle_type_name(reader, 2), "VkOther");
    CHECK(!lap_reader_command_name(reader, 4) && !lap_reader_struct_name(reader, UINT64_MAX));
    lap_reader_close(&reader);
}

UNIT_TEST(names_that_a_trace_can_not_have_are_refused)
{
    static const char *const bad[][2] = {{"", ""}, {"", "two words"}, {"", "line\n"}, {"\xc3\xa4", "x"}};
    char long_name[300];
    memset(long_name, 'a', sizeof(long_name));
    long_name[256] = 0;
    const char *const too_long[] = {"", long_name};
    for (int i = 0; i < 5; i++) {
        struct lap_writer_options options = TRACE_OPTIONS;
        struct lap_writer *writer = (struct lap_writer *)&options;
        options.names.structs = (struct lap_name_list){i < 4 ? bad[i] : too_long, 2};
        fresh_trace_path();
        CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_ERROR_ARGUMENT);
        CHECK(writer == NULL && access(trace_path, F_OK) != 0);
    }
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = NULL;
    long_name[255] = 0;
    options.names.structs = (struct lap_name_list){too_long, 2};
    CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_OK);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_struct_name(reader, 1), long_name);
    lap_reader_close(&reader);
}

/* As whoever plays packets. */
static enum lap_status follow(struct lap_reader *reader, struct lap_packet *packet)
{
    return lap_reader_run(reader, packet) ? LAP_OK : lap_reader_next(reader, packet);
}

static void check_packets(uint64_t count, uint64_t frame_packets, enum lap_chunk_codec codec)
{
    struct lap_writer *writer = create_trace(codec, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 77);
    for (uint64_t ticket = 1; ticket <= count; ticket++) {
        CHECK_EQ_U64(write_packet(stream, ticket), ticket);
        if (frame_packets && ticket % frame_packets == 0)
            lap_writer_frame(writer);
    }
    CHECK_EQ_U64(lap_writer_frames(writer), frame_packets ? count / frame_packets : 0);
    lap_writer_destroy(&writer);

    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, count);
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, frame_packets ? count / frame_packets : 0);
    for (int round = 0; round < 2; round++) {
        struct lap_packet packet;
        for (uint64_t ticket = 1; ticket <= count; ticket++) {
            CHECK_EQ_INT(round ? follow(reader, &packet) : lap_reader_next(reader, &packet), LAP_OK);
            if (!packet_is_good(&packet, ticket) || packet.thread_id != 77 || packet.stream != 0 ||
                packet.frame != (frame_packets ? (ticket - 1) / frame_packets : 0)) {
                CHECK(!"a packet as it was written");
                break;
            }
        }
        CHECK_EQ_INT(follow(reader, &packet), LAP_END);
        CHECK_EQ_INT(lap_reader_rewind(reader), LAP_OK);
    }
    lap_reader_close(&reader);
}

UNIT_TEST(packets_without_frames_are_read_as_written)
{
    check_packets(100, 0, LAP_CODEC_LZ4);
}
UNIT_TEST(packets_with_frames_are_read_as_written)
{
    check_packets(1000, 10, LAP_CODEC_LZ4);
}
UNIT_TEST(packets_of_many_chunks_are_read_as_written)
{
    check_packets(100000, 0, LAP_CODEC_LZ4);
}
UNIT_TEST(packets_of_many_uncompressed_chunks_are_read_as_written)
{
    check_packets(100000, 30000, LAP_CODEC_NONE);
}

static uint8_t *noise(size_t bytes, uint64_t seed)
{
    uint8_t *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        data[i] = (uint8_t)(seed >> 56);
    }
    return data;
}

UNIT_TEST(blobs_are_stored_once)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    uint8_t *data = noise(100000, 1);
    bool is_new = false;
    uint64_t one = lap_writer_blob(writer, LAP_BLOB_DATA, data, 100000, &is_new);
    CHECK(one == 1 && is_new);
    CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, 100000, &is_new), 1);
    CHECK(!is_new);
    CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_BLOCK, data, 100000, &is_new), 2); /* another kind */
    CHECK(is_new);
    CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, 99999, NULL), 3);
    CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, NULL, 0, NULL), 4);
    CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, 0, &is_new), 4);
    CHECK(!is_new);
    for (uint32_t i = 0; i < 5000; i++) /* small ones, over several chunks and table sizes */
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_BLOCK, &i, sizeof(i), NULL), 5 + i);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_BLOCK, &i, sizeof(i), NULL), 5 + i);
    lap_writer_destroy(&writer);

    struct lap_reader *reader = open_trace(NULL);
    const uint8_t *got;
    size_t bytes;
    CHECK_EQ_U64(lap_reader_summary(reader)->blobs, 5004);
    CHECK_EQ_U64(lap_reader_summary(reader)->blob_bytes, 299999 + 20000);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 1, &got, &bytes), LAP_OK);
    CHECK(bytes == 100000 && memcmp(got, data, bytes) == 0 && ((uintptr_t)got & 15) == 0);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 3, &got, &bytes), LAP_OK);
    CHECK(bytes == 99999 && memcmp(got, data, bytes) == 0 && ((uintptr_t)got & 15) == 0);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 4, &got, &bytes), LAP_OK);
    CHECK(bytes == 0 && got);
    for (uint32_t i = 0; i < 5000; i++) {
        CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_BLOCK, 5 + i, &got, &bytes), LAP_OK);
        CHECK(bytes == sizeof(i) && memcmp(got, &i, bytes) == 0);
    }
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 2, &got, &bytes), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 0, &got, &bytes), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 5005, &got, &bytes), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, UINT64_MAX, &got, &bytes), LAP_ERROR_FORMAT);
    CHECK(got == NULL && bytes == 0);
    lap_reader_close(&reader);
    free(data);
}

/* Blobs around every size at which something changes, between small ones, read back with little memory. */
UNIT_TEST(large_blobs_go_in_parts)
{
    static const size_t sizes[] = {9u << 20,          1,          (512u << 10) - 64, (512u << 10) - 48,
                                   (512u << 10) - 47, 512u << 10, (512u << 10) + 1,  5,
                                   (1u << 20) - 1,    1u << 20,   (1u << 20) + 1,    2u << 20};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    for (int codec = 0; codec < 2; codec++) {
        struct lap_writer *writer = create_trace(codec ? LAP_CODEC_LZ4 : LAP_CODEC_NONE, NULL);
        for (size_t i = 0; i < COUNT; i++) {
            uint8_t *data = noise(sizes[i], i);
            memset(data, 0, sizes[i] / 3); /* something to compress */
            CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, sizes[i], NULL), i + 1);
            free(data);
        }
        lap_writer_destroy(&writer);
        struct lap_reader_options options = {.memory_limit_bytes = 3u << 20};
        struct lap_reader *reader = open_trace(&options);
        struct lap_packet packet;
        for (size_t i = 0; i < 3 * COUNT; i++) {
            size_t at = i * 5 % COUNT, bytes;
            const uint8_t *got;
            uint8_t *data = noise(sizes[at], at);
            memset(data, 0, sizes[at] / 3);
            CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, at + 1, &got, &bytes), LAP_OK);
            CHECK(bytes == sizes[at] && memcmp(got, data, bytes) == 0);
            free(data);
            CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
        }
        lap_reader_close(&reader);
    }
}

UNIT_TEST(blobs_that_are_needed_at_once_are_limited)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
    for (uint64_t i = 0; i < 4; i++) {
        uint8_t *data = noise(2u << 20, i);
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, 2u << 20, NULL), i + 1);
        free(data);
    }
    lap_writer_destroy(&writer);
    struct lap_reader_options options = {.memory_limit_bytes = 1u << 20};
    struct lap_reader *reader = open_trace(&options);
    struct lap_packet packet;
    const uint8_t *got;
    size_t bytes;
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 1, &got, &bytes), LAP_OK);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 1, &got, &bytes), LAP_OK);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 2, &got, &bytes), LAP_OK);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 3, &got, &bytes), LAP_ERROR_LIMIT);
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, 3, &got, &bytes), LAP_OK);
    lap_reader_close(&reader);
}

static bool packets_are_equal(const struct lap_packet *a, const struct lap_packet *b)
{
    return a->command == b->command && a->stream == b->stream && a->flags == b->flags && a->ticket == b->ticket &&
           a->epoch == b->epoch && a->frame == b->frame && a->thread_id == b->thread_id &&
           a->file_offset == b->file_offset && a->chunk_byte == b->chunk_byte && a->bytes == b->bytes &&
           memcmp(a->body, b->body, a->bytes) == 0;
}

/* Two streams in turn, of runs of all lengths, frames that begin within them, and blobs that are asked for in between:
 * no two of these fit into memory beside each other. */
UNIT_TEST(a_second_reader_of_the_chunks_gets_the_same_packets)
{
    enum { COUNT = 3000, BLOBS = 4 };
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *streams[2] = {lap_writer_stream(writer, 5), lap_writer_stream(writer, 6)};
    for (uint64_t i = 0; i < BLOBS; i++) {
        uint8_t *data = noise(2u << 20, i);
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, 2u << 20, NULL), i + 1);
        free(data);
    }
    for (uint64_t ticket = 1, run = 1, left = 1; ticket <= COUNT; ticket++, left--) {
        if (left == 0)
            left = ++run;
        CHECK_EQ_U64(write_packet(streams[run % 2], ticket), ticket);
        if (ticket % 100 == 7)
            lap_writer_frame(writer);
    }
    lap_writer_destroy(&writer);

    struct lap_reader_options options = {.memory_limit_bytes = 1u << 20};
    struct lap_reader *one = open_trace(&options), *other = open_trace(&options);
    struct lap_packet expected = {0}, packet = {0};
    for (uint64_t ticket = 1; ticket <= COUNT; ticket++) {
        const uint8_t *got;
        size_t bytes;
        CHECK_EQ_INT(lap_reader_next(one, &expected), LAP_OK);
        CHECK_EQ_INT(follow(other, &packet), LAP_OK);
        if (!packet_is_good(&packet, ticket) || !packets_are_equal(&expected, &packet)) {
            CHECK(!"the packet that whoever asks for it gets");
            break;
        }
        for (uint64_t i = 0; ticket % 5 == 0 && i < 2; i++)
            CHECK_EQ_INT(lap_reader_blob(other, LAP_BLOB_DATA, 1 + (ticket + i) % BLOBS, &got, &bytes), LAP_OK);
        CHECK(packet_is_good(&packet, ticket));
    }
    CHECK_EQ_INT(follow(other, &packet), LAP_END);
    lap_reader_close(&one);
    lap_reader_close(&other);
}

static enum lap_status blob_of_reader(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    return lap_reader_blob(user, LAP_BLOB_DATA, id, out_data, out_bytes);
}

UNIT_TEST(long_bodies_and_bytes_are_read_as_written)
{
    static const size_t sizes[] = {0, 4095, 4096, 65000, 65536, 65537, 5000000};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 5);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        uint8_t *data = noise(sizes[i % COUNT], i % COUNT);
        struct lap_enc *enc = lap_packet_begin(stream, 1, LAP_PACKET_INFO | LAP_PACKET_ENTRY, NULL, NULL);
        if (i < COUNT)
            lap_enc_bytes(enc, data, sizes[i]); /* from 4096 on a blob */
        else
            lap_enc_raw(enc, data, sizes[i - COUNT]); /* above 65536 the body is one */
        lap_packet_end(stream);
        free(data);
    }
    lap_writer_destroy(&writer);

    struct lap_reader *reader = open_trace(NULL);
    struct lap_dec_source source = {.blob = blob_of_reader, .user = reader};
    struct lap_arena arena;
    struct lap_packet packet;
    lap_arena_init(&arena, 0);
    CHECK_EQ_U64(lap_reader_summary(reader)->blobs, 5 + 2 - 1 + 1);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        uint8_t *data = noise(sizes[i % COUNT], i % COUNT);
        CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
        CHECK_EQ_U64(packet.flags, LAP_PACKET_INFO | LAP_PACKET_ENTRY);
        struct lap_dec dec;
        lap_dec_init(&dec, packet.body, packet.bytes, &arena, &source);
        if (i < COUNT) {
            size_t bytes;
            const void *got = lap_dec_bytes(&dec, &bytes);
            CHECK(dec.status == LAP_OK && dec.p == dec.end && bytes == sizes[i]);
            CHECK(bytes == 0 || (got && memcmp(got, data, bytes) == 0));
            CHECK(packet.bytes < 20 || sizes[i] < LAP_BLOB_MIN_BYTES);
        } else {
            CHECK(packet.bytes == sizes[i - COUNT]);
            CHECK(packet.bytes == 0 || memcmp(packet.body, data, packet.bytes) == 0);
        }
        free(data);
    }
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    lap_arena_finish(&arena);
    lap_reader_close(&reader);
}

UNIT_TEST(information_is_merged)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    lap_writer_info(writer, "{\"program\": \"x\", \"device\": {\"name\": \"a\"}}");
    lap_writer_info(writer, "{\"device\": {\"name\": \"b\"}, \"watch\": \"pagemap\"}");
    lap_writer_info(writer, "no json");
    lap_writer_info(writer, "[1, 2]");
    lap_writer_info(writer, "{}");
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->info,
              "{\"program\":\"x\",\"device\":{\"name\":\"b\"},\"watch\":\"pagemap\"}");
    lap_reader_close(&reader);
}

/* A program may make thousands of devices, and each is described when it comes and when it goes. */
UNIT_TEST(information_may_come_again_and_again)
{
    struct lap_writer *writer = create_queued_trace(LAP_CODEC_NONE, NULL, LAP_WRITER_NO_QUEUE);
    char text[200];
    for (unsigned i = 0; i < 3000; i++) {
        lap_writer_info(writer, "{\"device\":{\"name\":\"a\"},\"watch\":\"pagemap\",\"reason\":\"\"}");
        snprintf(text, sizeof(text), "{\"mappings\":%u}", i);
        lap_writer_info(writer, text);
    }
    uint64_t before = lap_writer_bytes(writer);
    lap_writer_info(writer, "{\"watch\":\"pagemap\",\"mappings\":2999}"); /* no news */
    CHECK_EQ_U64(lap_writer_bytes(writer), before);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->info,
              "{\"device\":{\"name\":\"a\"},\"watch\":\"pagemap\",\"reason\":\"\",\"mappings\":2999}");
    lap_reader_close(&reader);
}

UNIT_TEST(information_that_no_reader_takes_is_not_written)
{
    struct lap_writer *writer = create_queued_trace(LAP_CODEC_NONE, NULL, LAP_WRITER_NO_QUEUE);
    static char text[LAP_INFO_MAX_BYTES + 1];
    lap_writer_info(writer, "{\"first\":1}");
    for (unsigned i = 0; i < 6; i++) { /* of these the first four are too many already, as there is the one above */
        memset(text, ' ', LAP_INFO_MAX_BYTES);
        text[snprintf(text, 40, "{\"big\":%u", i)] = ' ';
        text[LAP_INFO_MAX_BYTES - 1] = '}';
        lap_writer_info(writer, text);
    }
    for (unsigned i = 0; i < 2 * LAP_INFO_MAX_KEYS; i++) {
        snprintf(text, sizeof(text), "{\"%u\":0}", i);
        lap_writer_info(writer, text);
    }
    lap_writer_info(writer, "{\"first\":2}");
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(strstr(lap_reader_summary(reader)->info, "{\"first\":2,\"big\":2,\"0\":0,\"1\":0,"));
    CHECK(strstr(lap_reader_summary(reader)->info, "\"1021\":0}"));
    lap_reader_close(&reader);
}

/* A replay trusts that no format is missing. */
UNIT_TEST(there_is_room_for_short_information_behind_all_other)
{
    struct lap_writer *writer = create_queued_trace(LAP_CODEC_NONE, NULL, LAP_WRITER_NO_QUEUE);
    static char text[LAP_INFO_MAX_BYTES + 1];
    for (unsigned i = 0; i < 64 + 200; i++) {
        unsigned bytes = i < 64 ? LAP_INFO_MAX_TOTAL / 64 - 64 : 40;
        memset(text, ' ', bytes);
        text[snprintf(text, 40, "{\"figures\":%u", i)] = ' ';
        text[bytes - 1] = '}';
        text[bytes] = 0;
        lap_writer_info(writer, text);
    }
    lap_writer_info(writer, "{\"image_format_126\":true}");
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(!strstr(lap_reader_summary(reader)->info, "\"figures\":263")); /* there was no room for it */
    CHECK(strstr(lap_reader_summary(reader)->info, "\"image_format_126\":true"));
    lap_reader_close(&reader);
}

UNIT_TEST(counters_are_kept_with_and_without_index)
{
    struct lap_writer *writer = create_queued_trace(LAP_CODEC_LZ4, NULL, LAP_WRITER_NO_QUEUE);
    for (unsigned i = 0; i < LAP_COUNTER_COUNT; i++)
        lap_writer_count(writer, (enum lap_counter)i, i + 1);
    lap_writer_frame(writer);
    size_t marked = (size_t)lap_writer_bytes(writer);
    lap_writer_count(writer, LAP_COUNTER_CALLS, 100);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_U64(lap_reader_summary(reader)->counters[LAP_COUNTER_CALLS], 101);
    CHECK_EQ_U64(lap_reader_summary(reader)->counters[LAP_COUNTER_UNKNOWN_STRUCTS], LAP_COUNTER_UNKNOWN_STRUCTS + 1);
    lap_reader_close(&reader);

    CHECK_EQ_INT(truncate(trace_path, (off_t)marked), 0);
    reader = open_trace(NULL);
    CHECK(!lap_reader_summary(reader)->complete && !lap_reader_summary(reader)->indexed);
    CHECK_EQ_U64(lap_reader_summary(reader)->counters[LAP_COUNTER_CALLS], 1);
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, 1);
    lap_reader_close(&reader);
}

/* More barriers than the clock's 24 bits count: the epochs in the file are whole, also of a stream that was silent. */
UNIT_TEST(epochs_do_not_wrap)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *busy = lap_writer_stream(writer, 1), *silent = lap_writer_stream(writer, 2);
    const uint64_t count = (UINT64_C(1) << 25) + 1000;
    uint64_t ticket = 0;
    CHECK(lap_packet_begin(silent, 1, 0, NULL, &ticket) != NULL);
    lap_packet_end(silent);
    for (uint64_t i = 0; i < count; i++) {
        if (!lap_packet_begin(busy, 1, LAP_PACKET_BARRIER, NULL, &ticket))
            break;
        lap_packet_end(busy);
    }
    CHECK_EQ_U64(ticket, count + 1);
    CHECK(lap_packet_begin(silent, 1, 0, NULL, &ticket) != NULL);
    lap_packet_end(silent);
    lap_writer_destroy(&writer);

    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    uint64_t packets = 0, wrong = 0;
    while (lap_reader_next(reader, &packet) == LAP_OK)
        packets++, wrong += packet.epoch != (packet.ticket <= 2 ? 0 : packet.ticket - 2);
    CHECK_EQ_U64(packets, count + 2);
    CHECK_EQ_U64(wrong, 0);
    CHECK_EQ_U64(packet.epoch, count);
    CHECK_EQ_U64(packet.thread_id, 2);
    lap_reader_close(&reader);
}

UNIT_TEST(streams_are_handed_on)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 10);
    CHECK_EQ_U64(write_packet(stream, 1), 1);
    lap_stream_release(stream);
    CHECK(lap_writer_stream(writer, 11) == stream);
    CHECK_EQ_U64(write_packet(stream, 2), 2);
    CHECK(lap_writer_stream(writer, 12) != stream);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet.thread_id == 10);
    CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet.thread_id == 11);
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    lap_reader_close(&reader);
}

UNIT_TEST(the_file_is_private_and_has_a_number_of_its_own)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct stat stat_result;
    uint8_t uuid[16];
    lap_writer_destroy(&writer);
    CHECK(stat(trace_path, &stat_result) == 0 && (stat_result.st_mode & 0777) == 0600);
    struct lap_reader *reader = open_trace(NULL);
    memcpy(uuid, lap_reader_summary(reader)->uuid, 16);
    CHECK_EQ_U64(lap_reader_summary(reader)->file_bytes, stat_result.st_size);
    lap_reader_close(&reader);
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    lap_writer_destroy(&writer);
    reader = open_trace(NULL);
    CHECK(memcmp(uuid, lap_reader_summary(reader)->uuid, 16) != 0);
    lap_reader_close(&reader);
}

UNIT_MAIN();
