/* SPDX-License-Identifier: MIT */
/* A process that ends while a thread of it is in the middle of writing: exit() in a signal handler. */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/trace_file.h"
#include "trace/write/writer_internal.h"

enum { MARKED = 40, FRAME = 20, EXITED = 7 };

/* The write that a signal interrupts, after a few bytes; -1: none. */
static int writes_left = -1;
static struct lap_writer *interrupted;

static bool somebody_waits_for_room(void)
{
    struct lap_queue *queue = &interrupted->output.queue;
    pthread_mutex_lock(&queue->mutex);
    bool waits = queue->waiting != 0;
    pthread_mutex_unlock(&queue->mutex);
    return waits;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    if (is_trace(fd) && writes_left >= 0 && writes_left-- == 0) {
        if (pwrite64(fd, parts[0].iov_base, 10, offset) != 10)
            _exit(1);
        while (syscall(SYS_gettid) != getpid() && !somebody_waits_for_room())
            usleep(1000);
        kill(getpid(), SIGUSR1); /* to the thread that takes signals: not to the writer's own */
        if (syscall(SYS_gettid) != getpid())
            usleep(300000); /* the one that is interrupted waits for this write */
    }
    return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
}

static void finish_at_exit(void)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    lap_writer_finish(interrupted);
    clock_gettime(CLOCK_MONOTONIC, &after);
    _exit(lap_writer_stopped(interrupted) && after.tv_sec - before.tv_sec < 5 ? EXITED : 1);
}

static void on_signal(int number)
{
    exit(0);
}

static void write_frame(struct lap_writer *writer, struct lap_stream *stream, uint64_t first)
{
    for (uint64_t ticket = first; ticket < first + FRAME; ticket++) {
        (void)write_packet(stream, ticket);
        (void)lap_writer_blob(writer, LAP_BLOB_DATA, &ticket, sizeof(ticket), NULL);
    }
    lap_writer_frame(writer);
}

/* In a child: two frames; what it then does ends in finish_at_exit. */
static struct lap_stream *begin_child(enum lap_chunk_codec codec, size_t queue_bytes)
{
    alarm(20); /* ends a child that hangs */
    signal(SIGUSR1, on_signal);
    atexit(finish_at_exit); /* runs before what the parent has registered, and ends the child */
    interrupted = create_queued_trace(codec, NULL, queue_bytes);
    struct lap_stream *stream = lap_writer_stream(interrupted, 1);
    write_frame(interrupted, stream, 1);
    write_frame(interrupted, stream, FRAME + 1);
    return stream;
}

/* The child came to its end, and its two frames are there. has_end: the file says how it ended. */
static void check_child(pid_t child, bool has_end)
{
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_INT(status, EXITED << 8);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct lap_packet packet;
    CHECK(!summary->complete && summary->stopped);
    CHECK_EQ_INT(strstr(summary->stopped, "in the middle of a call") != NULL, has_end);
    CHECK_EQ_U64(summary->frames, 2);
    CHECK_EQ_U64(summary->packets, MARKED);
    for (uint64_t ticket = 1; ticket <= MARKED; ticket++)
        CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet_is_good(&packet, ticket));
    CHECK_EQ_INT(lap_reader_next(reader, &packet), LAP_END);
    lap_reader_close(&reader);
}

/* The frame's three writes are blobs, packets and the mark. */
UNIT_TEST(exit_in_the_middle_of_a_frame_ends_the_trace)
{
    fresh_trace_path();
    for (int write = 0; write < 3; write++) {
        pid_t child = fork();
        if (child == 0) {
            struct lap_stream *stream = begin_child(LAP_CODEC_LZ4, LAP_WRITER_NO_QUEUE);
            writes_left = write;
            write_frame(interrupted, stream, MARKED + 1);
            _exit(2);
        }
        check_child(child, false);
    }
}

UNIT_TEST(exit_in_the_middle_of_a_blob_ends_the_trace)
{
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        static uint8_t large[3 << 20];
        (void)begin_child(LAP_CODEC_LZ4, LAP_WRITER_NO_QUEUE);
        writes_left = 1;
        (void)lap_writer_blob(interrupted, LAP_BLOB_DATA, large, sizeof(large), NULL);
        _exit(2);
    }
    check_child(child, false);
}

/* The helper thread is writing, and the interrupted one waits for room behind that. */
UNIT_TEST(exit_while_the_queue_is_full_ends_the_trace)
{
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        uint8_t *large = calloc(3, LAP_QUEUE_MIN_BYTES);
        (void)begin_child(LAP_CODEC_NONE, LAP_QUEUE_MIN_BYTES);
        writes_left = 1;
        (void)lap_writer_blob(interrupted, LAP_BLOB_DATA, large, 3 * LAP_QUEUE_MIN_BYTES, NULL);
        _exit(2);
    }
    check_child(child, true);
}

/* Each lock that a frame takes, held by what does not go on; the file is closed wherever its own lock and that of the
 * queue are free, and else its frames are found in the tail file. */
UNIT_TEST(exit_with_any_lock_held_keeps_whole_frames)
{
    enum { LIST = 1, STREAM = 2, BLOBS = 4, FILE_ITSELF = 8, QUEUE = 16, ORDER = 32 };
    static const unsigned cases[] = {
        LIST, BLOBS, ORDER, FILE_ITSELF, STREAM | BLOBS, LIST | STREAM | BLOBS | FILE_ITSELF, QUEUE, QUEUE | STREAM};
    fresh_trace_path();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pid_t child = fork();
        if (child == 0) {
            struct lap_stream *stream = begin_child(LAP_CODEC_LZ4, 0);
            (void)write_packet(stream, MARKED + 1);
            if (cases[i] & LIST)
                pthread_mutex_lock(&interrupted->list_mutex);
            if (cases[i] & STREAM)
                pthread_mutex_lock(&stream->mutex);
            if (cases[i] & BLOBS)
                pthread_mutex_lock(&interrupted->blobs.mutex);
            if (cases[i] & ORDER)
                pthread_mutex_lock(&interrupted->blobs.order);
            if (cases[i] & FILE_ITSELF)
                pthread_mutex_lock(&interrupted->output.mutex);
            if (cases[i] & QUEUE)
                pthread_mutex_lock(&interrupted->output.queue.mutex);
            raise(SIGUSR1);
            _exit(2);
        }
        check_child(child, !(cases[i] & (FILE_ITSELF | QUEUE)));
    }
}

UNIT_MAIN();
