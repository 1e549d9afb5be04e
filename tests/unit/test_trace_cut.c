/* SPDX-License-Identifier: MIT */
/* Somebody else cuts or deletes the files of a recording that is under way. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/write/writer_internal.h"

enum { FRAMES = 12, FRAME = 10, PACKETS = FRAMES * FRAME, LARGE = 100 << 10 };

static struct lap_writer *writer;
static struct lap_stream *stream;
static uint64_t tickets;
static char said[4096];
static int log_ends[2];
static struct lap_log trace_log;
static enum lap_log_level level = LAP_LOG_ERROR;

/* Somebody cuts the trace to so many bytes when all checks have been made: at the next write, or so many after that.
 * < 0: nobody does. */
static off_t cut_at_write = -1;
static unsigned writes_before_cut;

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    if (cut_at_write >= 0 && cut_at_write < offset && writer && fd == writer->output.file.fd && !writes_before_cut--) {
        writes_before_cut = 0;
        if (truncate(trace_path, cut_at_write) != 0)
            abort();
        cut_at_write = -1;
    }
    return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
}

static void begin(size_t queue_bytes)
{
    if (pipe2(log_ends, O_NONBLOCK) != 0)
        abort();
    trace_log = (struct lap_log){.fd = log_ends[1], .level = level};
    writer = create_queued_trace(LAP_CODEC_LZ4, &trace_log, queue_bytes);
    stream = lap_writer_stream(writer, 1);
    tickets = 0;
}

/* Returns how many lines were said. */
static unsigned end(void)
{
    unsigned lines = 0;
    lap_writer_destroy(&writer);
    ssize_t got = read(log_ends[0], said, sizeof(said) - 1);
    said[got > 0 ? got : 0] = 0;
    for (char *c = said; *c; c++)
        lines += *c == '\n';
    close(log_ends[0]), close(log_ends[1]);
    return lines;
}

static void write_frame(size_t blob_bytes)
{
    static uint8_t bytes[LARGE];
    for (int i = 0; i < FRAME; i++)
        (void)write_packet(stream, ++tickets);
    for (size_t i = 0; i < blob_bytes; i++)
        bytes[i] = (uint8_t)(tickets * 31 + i * i / 7);
    if (blob_bytes)
        (void)lap_writer_blob(writer, LAP_BLOB_DATA, bytes, blob_bytes, NULL);
    lap_writer_frame(writer);
}

/* What was set down so far is written, and nobody writes until let_go. */
static void hold_helper(void)
{
    CHECK_EQ_INT(lap_output_drain(&writer->output), LAP_OK);
    pthread_mutex_lock(&writer->output.mutex);
}

static void let_go(void)
{
    pthread_mutex_unlock(&writer->output.mutex);
}

/* Packets that are read; all are right, and none behind a frame mark. */
static uint64_t count_packets(bool complete, char *out_stopped)
{
    struct lap_reader *reader = NULL;
    uint64_t read = 0;
    if (lap_reader_open(trace_path, NULL, &reader) != LAP_OK) {
        CHECK_EQ_INT(complete, false);
        snprintf(out_stopped, 400, "%s", lap_error_message());
        return 0;
    }
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct lap_packet packet;
    CHECK_EQ_INT(summary->complete, complete);
    while (lap_reader_next(reader, &packet) == LAP_OK)
        CHECK(packet_is_good(&packet, ++read));
    CHECK_EQ_U64(read, summary->packets);
    CHECK_EQ_U64(read, summary->frames * FRAME);
    snprintf(out_stopped, 400, "%s", complete ? "" : summary->stopped);
    lap_reader_close(&reader);
    return read;
}

/* ---- the tail file ---- */

/* What memory has as well is not lost, however much is cut, and whether the helper has looked or not. */
UNIT_TEST(a_cut_tail_file_loses_no_frame)
{
    char stopped[400];
    level = LAP_LOG_INFO;
    for (off_t size = 0; size < 16000; size += size < 4096 ? 1365 : 128) {
        begin(0);
        for (int frame = 0; frame < FRAMES; frame++) {
            write_frame(300);
            if (frame == FRAMES / 2)
                CHECK_EQ_INT(
                    truncate(trace_tail_path, size ? (off_t)(LAP_TAIL_RING_BEGIN - LAP_TAIL_HEADER_BYTES) + size : 0),
                    0);
            if (frame == FRAMES / 2 + 2)
                CHECK_EQ_INT(lap_output_drain(&writer->output), LAP_OK);
        }
        CHECK(!lap_writer_stopped(writer) && !writer->output.queue.durable);
        CHECK_EQ_U64(end(), 1);
        CHECK(strstr(said, trace_tail_path));
        CHECK(access(trace_tail_path, F_OK) != 0);
        CHECK_EQ_U64(count_packets(true, stopped), PACKETS);
    }
    level = LAP_LOG_ERROR;
}

/* From then on a frame is in the trace when its mark is set. */
UNIT_TEST(a_kill_after_the_tail_was_cut_or_deleted_loses_no_frame)
{
    for (int what = 0; what < 2; what++) {
        char stopped[400];
        int status;
        fresh_trace_path();
        pid_t child = fork();
        if (child == 0) {
            begin(0);
            for (int frame = 0; frame < FRAMES; frame++) {
                write_frame(300);
                if (frame != FRAMES / 2)
                    continue;
                if ((what ? unlink(trace_tail_path) : truncate(trace_tail_path, 0)) != 0)
                    _exit(1);
                if (lap_output_drain(&writer->output) != LAP_OK) /* the helper looks */
                    _exit(1);
            }
            raise(SIGKILL);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        CHECK_EQ_U64(count_packets(false, stopped), PACKETS);
    }
}

/* Large payloads are in the tail file only. What was written before one that is lost stays. */
UNIT_TEST(a_cut_tail_with_payloads_keeps_what_was_written_before)
{
    char stopped[400];
    uint64_t least = UINT64_MAX, most = 0;
    for (off_t size = 0; size < (off_t)(FRAMES - 2) * LARGE; size += LARGE / 3) {
        begin(0);
        write_frame(LARGE);
        write_frame(300);
        hold_helper();
        for (int frame = 2; frame < FRAMES; frame++)
            write_frame(LARGE);
        CHECK_EQ_INT(truncate(trace_tail_path, size ? (off_t)(LAP_TAIL_RING_BEGIN - LAP_TAIL_HEADER_BYTES) + size : 0),
                     0);
        let_go();
        unsigned lines = end();
        uint64_t packets = count_packets(false, stopped);
        CHECK(packets >= 2 * FRAME && packets < PACKETS);
        CHECK(strstr(stopped, "another process has changed") && strstr(stopped, ".tail"));
        CHECK(lines == 1 && strstr(said, "recording has stopped"));
        CHECK(access(trace_tail_path, F_OK) != 0);
        least = packets < least ? packets : least;
        most = packets > most ? packets : most;
    }
    CHECK(least == 2 * FRAME && most > least + 5 * FRAME);
}

/* It becomes as long as it was by what is written next, with zeroes where something was. */
UNIT_TEST(a_tail_with_a_hole_is_noticed)
{
    char stopped[400];
    begin(0);
    write_frame(300);
    hold_helper();
    for (int frame = 1; frame < FRAMES; frame++) {
        write_frame(LARGE);
        if (frame == FRAMES / 2)
            CHECK_EQ_INT(truncate(trace_tail_path, (off_t)LAP_TAIL_RING_BEGIN + 3 * LARGE), 0);
    }
    let_go();
    (void)end();
    uint64_t packets = count_packets(false, stopped);
    CHECK(packets >= FRAME && packets <= 4 * FRAME);
    CHECK(strstr(stopped, "another process has changed"));
}

/* ---- the trace ---- */

static void cut_the_trace_everywhere(size_t queue_bytes)
{
    uint64_t behind_mark[FRAMES] = {0}, found[2] = {0};
    for (off_t size = 0; size < 20000; size += 149) {
        char stopped[400];
        uint64_t expected = 0;
        begin(queue_bytes);
        for (int frame = 0; frame < FRAMES; frame++) {
            write_frame(1000);
            CHECK_EQ_INT(lap_output_drain(&writer->output), LAP_OK);
            behind_mark[frame] = lap_writer_bytes(writer);
        }
        if (size > (off_t)behind_mark[FRAMES - 1]) {
            (void)end();
            break;
        }
        CHECK_EQ_INT(truncate(trace_path, size), 0);
        if (size % 2)
            write_frame(1000); /* otherwise the end notices */
        for (int frame = 0; frame < FRAMES && behind_mark[frame] <= (uint64_t)size; frame++)
            expected += FRAME;
        bool whole = (uint64_t)size == behind_mark[FRAMES - 1];
        unsigned lines = end();
        CHECK(whole || (lines == 1 && strstr(said, "another process has cut")));
        CHECK_EQ_U64(count_packets(whole, stopped), expected);
        CHECK(whole || expected == 0 || strstr(stopped, "another process has cut"));
        found[expected != 0]++;
    }
    CHECK(found[0] > 2 && found[1] > 20);
}

UNIT_TEST(a_trace_that_is_cut_ends_with_its_last_whole_frame)
{
    cut_the_trace_everywhere(0);
    cut_the_trace_everywhere(LAP_WRITER_NO_QUEUE);
}

/* The file is as long as it should be again, and has a hole. */
UNIT_TEST(a_trace_with_a_hole_ends_with_its_last_whole_frame)
{
    uint64_t behind_mark[FRAMES] = {0};
    unsigned found = 0;
    for (off_t size = LAP_FILE_HEADER_BYTES; size < 20000; size += 397) {
        char stopped[400];
        uint64_t expected = 0;
        begin(LAP_WRITER_NO_QUEUE);
        for (int frame = 0; frame < FRAMES; frame++) {
            if (frame == FRAMES / 2)
                cut_at_write = size;
            write_frame(1000);
            behind_mark[frame] = frame < FRAMES / 2 || cut_at_write >= 0 ? lap_writer_bytes(writer) : UINT64_MAX;
        }
        bool happened = cut_at_write < 0;
        cut_at_write = -1;
        unsigned lines = end();
        for (int frame = 0; happened && frame < FRAMES && behind_mark[frame] <= (uint64_t)size; frame++)
            expected += FRAME;
        if (!happened)
            break;
        CHECK(lines == 1 && strstr(said, "another process has cut"));
        CHECK_EQ_U64(count_packets(false, stopped), expected);
        CHECK(expected == 0 || strstr(stopped, "another process has cut"));
        found += expected != 0;
    }
    CHECK(found > 5);
}

/* The index and the end are written last of all, and what is wrong then nothing else would tell. */
UNIT_TEST(a_cut_while_the_end_is_written_is_noticed)
{
    for (unsigned number = 0; number < 2; number++) {
        char stopped[400];
        uint64_t behind_mark = 0;
        begin(LAP_WRITER_NO_QUEUE);
        for (int frame = 0; frame < FRAMES; frame++) {
            write_frame(1000);
            behind_mark = frame < FRAMES / 2 ? lap_writer_bytes(writer) : behind_mark;
        }
        cut_at_write = (off_t)behind_mark + 100;
        writes_before_cut = number;
        lap_writer_finish(writer); /* the helper thread is at rest */
        CHECK_EQ_U64(end(), 1);
        CHECK(cut_at_write < 0 && strstr(said, "another process has cut"));
        cut_at_write = -1;
        CHECK_EQ_U64(count_packets(false, stopped), FRAMES / 2 * FRAME);
        CHECK(strstr(stopped, "another process has cut"));
    }
}

/* The bytes in front of what is written are zeroes anyway, and a cut leaves zeroes there, too. */
UNIT_TEST(a_hole_behind_zeroes_is_noticed)
{
    static const uint8_t zeroes[LARGE] = {1};
    char stopped[400];

    if (pipe2(log_ends, O_NONBLOCK) != 0)
        abort();
    trace_log = (struct lap_log){.fd = log_ends[1], .level = level};
    writer = create_queued_trace(LAP_CODEC_NONE, &trace_log, LAP_WRITER_NO_QUEUE);
    stream = lap_writer_stream(writer, 1);
    tickets = 0;
    write_frame(300);
    uint64_t behind_mark = lap_writer_bytes(writer);
    (void)lap_writer_blob(writer, LAP_BLOB_DATA, zeroes, sizeof zeroes, NULL);
    cut_at_write = (off_t)behind_mark + 60;
    write_frame(0);
    CHECK(cut_at_write < 0);
    cut_at_write = -1;
    CHECK_EQ_U64(end(), 1);
    CHECK_EQ_U64(count_packets(false, stopped), FRAME);
}

UNIT_TEST(deleted_files_do_not_come_back)
{
    for (int what = 1; what < 4; what++) {
        char stopped[400];
        begin(0);
        for (int frame = 0; frame < FRAMES; frame++) {
            write_frame(frame % 2 ? LARGE : 300);
            if (frame == FRAMES / 2 && (what & 1))
                CHECK_EQ_INT(unlink(trace_tail_path), 0);
            if (frame == FRAMES / 2 && (what & 2))
                CHECK_EQ_INT(unlink(trace_path), 0);
        }
        unsigned lines = end();
        CHECK(access(trace_tail_path, F_OK) != 0);
        if (what & 2) {
            CHECK(access(trace_path, F_OK) != 0);
            CHECK(strstr(said, "another process has deleted") && strstr(said, "recording has stopped"));
        } else {
            CHECK(lines <= 1);
            CHECK_EQ_U64(count_packets(true, stopped), PACKETS);
        }
    }
}

/* Not that of somebody else which has its name now. */
UNIT_TEST(only_a_tail_of_its_own_is_deleted)
{
    begin(0);
    write_frame(300);
    CHECK_EQ_INT(unlink(trace_tail_path), 0);
    store_file(trace_tail_path, "precious", 8);
    write_frame(LARGE);
    (void)end();
    struct file_bytes file = load_file(trace_tail_path);
    CHECK(file.bytes == 8 && memcmp(file.data, "precious", 8) == 0);
    free(file.data);
}

/* ---- at any time ---- */

static atomic_bool cutting;

static void *cut_at_any_time(void *argument)
{
    unsigned state = 1;
    while (cutting) {
        struct stat now;
        state = state * 1664525u + 1013904223u;
        if (stat(argument, &now) == 0 && truncate(argument, (off_t)((uint64_t)now.st_size * (state >> 24) / 256)) != 0)
            break;
        usleep(state >> 22);
    }
    return NULL;
}

UNIT_TEST(a_program_goes_on_while_its_files_are_cut_again_and_again)
{
    const char *paths[] = {trace_tail_path, trace_path};
    for (int round = 0; round < 40; round++) {
        char stopped[400];
        pthread_t thread;
        begin(LAP_QUEUE_MIN_BYTES);
        cutting = true;
        CHECK_EQ_INT(pthread_create(&thread, NULL, cut_at_any_time, (void *)(uintptr_t)paths[round % 2]), 0);
        for (int frame = 0; frame < 20 * FRAMES && !lap_writer_stopped(writer); frame++)
            write_frame(frame % 3 ? 300 : LARGE);
        cutting = false;
        pthread_join(thread, NULL);
        bool stops = lap_writer_stopped(writer);
        (void)end();
        stops = stops || strstr(said, "stopped");
        /* The trace may have been cut after its end was written. */
        struct lap_reader *reader = NULL;
        if (round % 2 == 0) {
            CHECK(stops || count_packets(true, stopped) == 20 * PACKETS);
            CHECK(!stops || count_packets(false, stopped) < 20 * PACKETS);
        } else if (lap_reader_open(trace_path, NULL, &reader) == LAP_OK) {
            struct lap_packet packet;
            uint64_t read = 0;
            while (lap_reader_next(reader, &packet) == LAP_OK)
                CHECK(packet_is_good(&packet, ++read));
            lap_reader_close(&reader);
        }
    }
}

UNIT_MAIN();
