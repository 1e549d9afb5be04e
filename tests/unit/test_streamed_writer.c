/* SPDX-License-Identifier: MIT */
/* A writer whose file a receiver makes, on the other end of a socket. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "tests/unit/trace_file.h"
#include "trace/receive/receive.h"
#include "trace/write/writer_internal.h"

struct receiver {
    int socket, file;
    uint64_t most; /* bytes of the stream, behind which the connection is closed; 0: it never is */
    bool forgotten;
    atomic_bool lies;
    unsigned confirmed;
    enum lap_status status;
    pthread_t thread;
};

static enum lap_status append(void *user, uint64_t at, const uint8_t *data, size_t bytes)
{
    struct receiver *receiver = user;
    return pwrite(receiver->file, data, bytes, (off_t)at) == (ssize_t)bytes ? LAP_OK : lap_fail(LAP_ERROR_IO, "full");
}

static enum lap_status cut(void *user, uint64_t bytes)
{
    struct receiver *receiver = user;
    return ftruncate(receiver->file, (off_t)bytes) == 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "can't be cut");
}

static enum lap_status confirm(void *user, uint64_t bytes)
{
    struct receiver *receiver = user;
    uint8_t record[LAP_RECORD_BYTES];
    lap_record_store(record, LAP_RECORD_DONE, receiver->lies ? bytes - 1 : bytes);
    receiver->confirmed++;
    (void)send(receiver->socket, record, sizeof record, MSG_NOSIGNAL);
    return LAP_OK;
}

static void *receive(void *argument)
{
    struct receiver *receiver = argument;
    struct lap_receive state;
    uint8_t buffer[777];
    uint64_t all = 0;
    ssize_t got;
    lap_receive_init(&state, &(struct lap_receive_file){append, cut, confirm, receiver});
    while (receiver->status == LAP_OK && (!receiver->most || all < receiver->most) &&
           (got = recv(receiver->socket, buffer, sizeof(buffer), 0)) > 0) {
        receiver->status = lap_receive_take(&state, buffer, (size_t)got);
        all += (uint64_t)got;
    }
    receiver->forgotten = state.forgotten;
    close(receiver->socket);
    return NULL;
}

static struct lap_writer *begin(struct receiver *receiver, uint64_t most, size_t queue_bytes)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = NULL;
    int ends[2];
    fresh_trace_path();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    *receiver = (struct receiver){.socket = ends[1], .most = most};
    receiver->file = open(trace_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(receiver->file >= 0 && pthread_create(&receiver->thread, NULL, receive, receiver) == 0);
    options.streamed = true;
    options.socket = ends[0];
    options.queue_bytes = queue_bytes;
    /* A connection may be lost before the writer is there. */
    enum lap_status status = lap_writer_create("unix:somewhere", &options, &writer);
    CHECK(status == LAP_OK ? writer != NULL : most && status == LAP_ERROR_IO && !writer);
    if (!writer && !most)
        exit(1);
    return writer;
}

static void end(struct receiver *receiver, struct lap_writer *writer)
{
    lap_writer_destroy(&writer);
    pthread_join(receiver->thread, NULL);
    close(receiver->file);
}

static void write_frames(struct lap_writer *writer, uint64_t packets)
{
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; stream && ticket <= packets; ticket++) {
        (void)write_packet(stream, ticket);
        if (ticket % 10 == 0)
            lap_writer_frame(writer);
    }
}

/* Returns how many packets there are, all of which are good. */
static uint64_t read_packets(struct lap_reader *reader)
{
    struct lap_packet packet;
    uint64_t count = 0;
    while (lap_reader_next(reader, &packet) == LAP_OK)
        CHECK(packet_is_good(&packet, ++count));
    return count;
}

UNIT_TEST(the_receivers_file_is_the_writers)
{
    static const size_t queues[] = {0, LAP_WRITER_NO_QUEUE};
    for (size_t i = 0; i < 2; i++) {
        struct receiver receiver;
        struct lap_writer *writer = begin(&receiver, 0, queues[i]);
        write_frames(writer, 1000);
        end(&receiver, writer);
        CHECK_EQ_INT(receiver.status, LAP_OK);
        CHECK_EQ_U64(receiver.confirmed, 1);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(summary->complete && summary->indexed && !receiver.forgotten);
        CHECK_EQ_U64(summary->frames, 100);
        CHECK_EQ_U64(read_packets(reader), 1000);
        lap_reader_close(&reader);
        CHECK(access(trace_tail_path, F_OK) != 0 && access("unix:somewhere", F_OK) != 0);
    }
}

UNIT_TEST(frames_arrive_though_nobody_ends_the_file)
{
    struct receiver receiver;
    struct stat before = {.st_size = 0}, now = {.st_size = 0};
    struct lap_writer *writer = begin(&receiver, 0, 0);
    CHECK(fstat(receiver.file, &before) == 0);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    CHECK_EQ_U64(write_packet(stream, 1), 1);
    lap_writer_frame(writer);
    bool marked = false;
    while (!marked) { /* one frame, which is less than is worth writing into a file */
        struct file_bytes file = load_file(trace_path);
        for (size_t at = LAP_FILE_HEADER_BYTES; at + LAP_CHUNK_HEADER_BYTES < file.bytes && !marked;) {
            struct lap_chunk_header header;
            if (lap_chunk_header_load(file.data + at, seed_of(&file), &header) != LAP_OK)
                break;
            marked = header.kind == LAP_CHUNK_FRAME;
            at += LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        }
        free(file.data);
        usleep(1000);
    }
    CHECK(fstat(receiver.file, &now) == 0 && now.st_size > before.st_size);
    end(&receiver, writer);
}

UNIT_TEST(what_comes_behind_the_end_is_told)
{
    struct receiver receiver;
    struct lap_writer *writer = begin(&receiver, 0, 0);
    write_frames(writer, 20);
    lap_writer_finish(writer);
    lap_writer_went_on(writer);
    lap_writer_went_on(writer);
    end(&receiver, writer);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK(!summary->complete && summary->indexed && strstr(summary->stopped, "went on"));
    CHECK_EQ_U64(read_packets(reader), 20);
    lap_reader_close(&reader);
}

UNIT_TEST(a_reason_is_in_the_receivers_file)
{
    struct receiver receiver;
    struct lap_writer *writer = begin(&receiver, 0, 0);
    write_frames(writer, 20);
    lap_writer_stop(writer, "enough");
    end(&receiver, writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->stopped, "enough");
    CHECK_EQ_U64(read_packets(reader), 20);
    lap_reader_close(&reader);
}

/* Who says something else has not confirmed it, which is no harm but said. */
UNIT_TEST(the_end_is_confirmed)
{
    for (int lies = 0; lies < 2; lies++) {
        char said[512] = "";
        int ends[2];
        struct receiver receiver;
        struct lap_writer *writer = begin(&receiver, 0, 0);
        CHECK(pipe2(ends, O_NONBLOCK) == 0);
        struct lap_log log = {.fd = ends[1], .level = LAP_LOG_WARNING, .prefix = ""};
        receiver.lies = lies;
        writer->log = &log;
        write_frames(writer, 20);
        lap_writer_end(writer);
        lap_writer_settle(writer);
        lap_writer_went_on(writer); /* too late */
        writer->log = NULL;
        end(&receiver, writer);
        CHECK((read(ends[0], said, sizeof said - 1) > 0) == lies);
        CHECK(!lies == !strstr(said, "the receiver has not said that all of the trace has arrived"));
        CHECK_EQ_U64(receiver.confirmed, 1);
        struct lap_reader *reader = open_trace(NULL);
        CHECK(lap_reader_summary(reader)->complete);
        lap_reader_close(&reader);
        close(ends[0]);
        close(ends[1]);
    }
}

UNIT_TEST(a_trace_can_be_forgotten)
{
    struct receiver receiver;
    struct lap_writer *writer = begin(&receiver, 0, 0);
    lap_writer_forget(writer); /* not before its end */
    lap_writer_finish(writer);
    lap_writer_forget(writer);
    end(&receiver, writer);
    CHECK(receiver.forgotten && receiver.status == LAP_OK);
}

/* Whether the receiver keeps it is said long after the writer is gone. */
UNIT_TEST(a_connection_outlives_its_writer)
{
    for (unsigned dropped = 0; dropped < 2; dropped++) {
        struct lap_own_file connection = {.fd = -1}, none = {.fd = -1};
        struct receiver receiver;
        struct lap_writer *writer = begin(&receiver, 0, 0);
        write_frames(writer, 100);
        CHECK(!lap_writer_take_connection(writer, &none));
        lap_writer_end(writer);
        CHECK(lap_writer_take_connection(writer, &connection));
        CHECK(!lap_writer_take_connection(writer, &none));
        lap_writer_destroy(&writer);
        CHECK_EQ_INT(receiver.confirmed, 1);
        if (dropped)
            CHECK_EQ_INT(lap_send_forget(&connection), 0);
        lap_own_file_release(&connection);
        end(&receiver, NULL);
        CHECK(receiver.status == LAP_OK && receiver.forgotten == dropped);
        struct lap_reader *reader = open_trace(NULL);
        CHECK(lap_reader_summary(reader)->complete && read_packets(reader) == 100);
        lap_reader_close(&reader);
    }
}

UNIT_TEST(a_connection_that_is_lost_anywhere_ends_the_recording)
{
    for (uint64_t most = 1; most < 12000; most += 1111) {
        struct receiver receiver;
        struct lap_writer *writer = begin(&receiver, most, most % 2 ? 0 : LAP_WRITER_NO_QUEUE);
        /* However late the other threads are; a recording that does not end is ended by the runner's time limit. */
        while (writer && !lap_writer_stopped(writer))
            lap_writer_frame(writer);
        UNIT_CHECKED(); /* nobody is ended by SIGPIPE */
        end(&receiver, writer);
        CHECK_EQ_INT(receiver.status, LAP_OK);
    }
}

UNIT_MAIN();
