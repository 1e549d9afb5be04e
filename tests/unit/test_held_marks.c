/* SPDX-License-Identifier: MIT */
/* A trace in a file that is open already, whose frame marks wait for each other. */
#include <fcntl.h>

#include "tests/unit/trace_file.h"

static struct lap_writer *begin(int flags)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = NULL;
    fresh_trace_path();
    options.queue_bytes = LAP_WRITER_NO_QUEUE;
    int fd = open(trace_path, flags | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK((lap_writer_create_in(fd, trace_path, &options, &writer) == LAP_OK) == (flags == O_RDWR));
    return writer;
}

static uint64_t write_frames(struct lap_writer *writer, uint64_t frames)
{
    struct lap_stream *streams[2] = {lap_writer_stream(writer, 5), lap_writer_stream(writer, 6)};
    uint64_t ticket = 0;
    struct stat stat_of;
    for (uint64_t frame = 0; frame < frames; frame++) {
        for (uint64_t i = 0; i < frame % 3; i++) {
            ticket++;
            CHECK_EQ_U64(write_packet(streams[ticket % 2], ticket), ticket);
        }
        lap_writer_frame(writer);
        CHECK_EQ_U64(lap_writer_frames(writer), frame + 1);
    }
    lap_writer_destroy(&writer);
    CHECK(stat(trace_path, &stat_of) == 0);
    return (uint64_t)stat_of.st_size;
}

UNIT_TEST(packets_are_in_their_frames)
{
    enum { FRAMES = 10000 };
    uint64_t bytes = write_frames(begin(O_RDWR), FRAMES), ticket = 0;
    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
    CHECK_EQ_U64(lap_reader_summary(reader)->frames, FRAMES);
    for (uint64_t frame = 0; frame < FRAMES; frame++) {
        for (uint64_t i = 0; i < frame % 3; i++) {
            ticket++;
            CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_OK);
            CHECK(packet_is_good(&packet, ticket) && packet.thread_id == 5 + ticket % 2);
            CHECK_EQ_U64(packet.frame, frame);
        }
        CHECK_EQ_U64(lap_reader_frame_end(reader, frame), ticket);
    }
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    lap_reader_close(&reader);
    /* A frame costs its mark, and no chunks of packets besides. */
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    CHECK(bytes + FRAMES * UINT64_C(100) < write_frames(writer, FRAMES));
}

UNIT_TEST(a_file_that_can_not_be_written_is_an_error)
{
    CHECK(begin(O_RDONLY) == NULL);
    CHECK(access(trace_path, F_OK) == 0); /* it is somebody else's */
    unlink(trace_path);
}

UNIT_MAIN();
