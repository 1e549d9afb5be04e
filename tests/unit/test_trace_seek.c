/* SPDX-License-Identifier: MIT */
/* A packet that a reader goes to is the one that a plain pass finds there, or the same error. */
#include "tests/unit/trace_file.h"

#define PACKETS 90u

/* Two streams, several chunks of each, frames of which one is empty, and packets behind the last one. */
static struct file_bytes sample(void)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *streams[2] = {lap_writer_stream(writer, 100), lap_writer_stream(writer, 101)};
    for (uint64_t ticket = 1; ticket <= PACKETS; ticket++) {
        (void)write_packet(streams[ticket / 7 % 2], ticket);
        if (ticket % 20 == 0)
            lap_writer_frame(writer);
        if (ticket == 40)
            lap_writer_frame(writer);
    }
    lap_writer_destroy(&writer);
    return load_file(trace_path);
}

static bool is_same(const struct lap_packet *a, const struct lap_packet *b)
{
    return a->ticket == b->ticket && a->command == b->command && a->stream == b->stream && a->flags == b->flags &&
           a->epoch == b->epoch && a->frame == b->frame && a->thread_id == b->thread_id &&
           a->file_offset == b->file_offset && a->chunk_byte == b->chunk_byte && a->bytes == b->bytes &&
           memcmp(a->body, b->body, a->bytes) == 0;
}

/* Compares each packet, and the one behind it, up to where the plain pass ends. Returns how many there are. */
static uint64_t compare(void)
{
    struct lap_reader *plain = open_trace(NULL), *seeking = open_trace(NULL);
    uint64_t ticket = 0;
    enum lap_status expected = LAP_OK;
    while (expected == LAP_OK) {
        struct lap_packet a, b;
        char message[512];
        /* Also from within what reads on quickly. */
        if (++ticket % 4 == 0 && lap_reader_seek(seeking, ticket - 1) == LAP_OK)
            for (unsigned i = 0; i < 3 && lap_reader_next(seeking, &b) == LAP_OK; i++)
                ;
        enum lap_status status = lap_reader_seek(seeking, ticket);
        if (status == LAP_OK)
            status = lap_reader_next(seeking, &b);
        snprintf(message, sizeof(message), "%s", lap_error_message());
        expected = lap_reader_next(plain, &a);
        CHECK_EQ_INT(status, expected);
        if (status != expected)
            break;
        if (expected == LAP_OK)
            CHECK(is_same(&a, &b));
        else if (expected != LAP_END)
            CHECK_STR(message, lap_error_message());
    }
    lap_reader_close(&plain);
    lap_reader_close(&seeking);
    return ticket - 1;
}

UNIT_TEST(every_packet_can_be_gone_to)
{
    struct file_bytes file = sample();
    free(file.data);
    CHECK_EQ_U64(compare(), PACKETS);
}

UNIT_TEST(reading_goes_on_behind_it)
{
    struct file_bytes file = sample();
    free(file.data);
    for (uint64_t ticket = 0; ticket <= PACKETS + 2; ticket += 13) {
        struct lap_reader *reader = open_trace(NULL);
        struct lap_packet packet;
        uint64_t next = ticket ? ticket : 1;
        CHECK_EQ_INT(lap_reader_seek(reader, ticket), LAP_OK);
        while (lap_reader_next(reader, &packet) == LAP_OK)
            CHECK(packet_is_good(&packet, next++));
        CHECK_EQ_U64(next, PACKETS + 1);
        lap_reader_close(&reader);
    }
}

UNIT_TEST(damage_is_the_same_error)
{
    struct file_bytes file = sample();
    struct lap_chunk_header header;
    uint64_t damaged = 0;
    for (size_t at = LAP_FILE_HEADER_BYTES; lap_chunk_header_load(file.data + at, seed_of(&file), &header) == LAP_OK;
         at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes) {
        size_t middle = at + LAP_CHUNK_HEADER_BYTES + header.stored_bytes / 2;
        if (header.kind == LAP_CHUNK_END)
            break;
        if (header.kind != LAP_CHUNK_PACKETS)
            continue;
        file.data[middle] ^= 4;
        store_file(trace_path, file.data, file.bytes);
        CHECK(compare() < PACKETS);
        file.data[middle] ^= 4;
        damaged++;
    }
    CHECK(damaged > 8);
    free(file.data);
}

UNIT_TEST(a_reader_that_reads_ahead_does_not_go_there)
{
    struct file_bytes file = sample();
    const struct lap_reader_options options = {.ahead_bytes = 1 << 20};
    free(file.data);
    struct lap_reader *reader = open_trace(&options);
    CHECK_EQ_INT(lap_reader_seek(reader, 1), LAP_ERROR_ARGUMENT);
    lap_reader_close(&reader);
}

UNIT_MAIN();
