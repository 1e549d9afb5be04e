/* SPDX-License-Identifier: MIT */
/* What a writer does when it can't go on. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"

/* The file's writes: in small pieces, interrupted now and then, and out of room after `budget` bytes. */
static bool meddle;
static size_t budget;
static unsigned calls;
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    if (!meddle || !is_trace(fd))
        return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
    if (++calls % 3 == 0) {
        errno = EINTR;
        return -1;
    }
    size_t bytes = parts[0].iov_len < 1000 ? parts[0].iov_len : 1000;
    if (bytes > budget)
        bytes = budget;
    if (bytes == 0) {
        errno = ENOSPC;
        return -1;
    }
    budget -= bytes;
    return pwrite64(fd, parts[0].iov_base, bytes, offset);
}

/* It is closed all the same, as on Linux. */
static int closing_fails;

int close(int fd)
{
    bool fails = closing_fails && is_trace(fd);
    int result = (int)syscall(SYS_close, fd);
    if (!fails)
        return result;
    errno = closing_fails;
    return -1;
}

static char said[4096];
static int log_ends[2];

static struct lap_log open_log(void)
{
    if (pipe2(log_ends, O_NONBLOCK) != 0)
        abort();
    return (struct lap_log){.fd = log_ends[1], .level = LAP_LOG_DEBUG};
}

static unsigned close_log(void)
{
    unsigned lines = 0;
    ssize_t got = read(log_ends[0], said, sizeof(said) - 1);
    said[got > 0 ? got : 0] = 0;
    for (char *c = said; *c; c++)
        lines += *c == '\n';
    close(log_ends[0]);
    close(log_ends[1]);
    return lines;
}

UNIT_TEST(files_that_can_not_be_made_are_reported)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = (struct lap_writer *)&options;
    fresh_trace_path();
    store_file(trace_path, "precious", 8);
    CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_ERROR_IO);
    CHECK(writer == NULL && strstr(lap_error_message(), trace_path) && strstr(lap_error_message(), strerror(EEXIST)));
    struct file_bytes file = load_file(trace_path);
    CHECK(file.bytes == 8 && memcmp(file.data, "precious", 8) == 0);
    free(file.data);

    char other[700];
    snprintf(other, sizeof(other), "%s/link", trace_folder);
    unlink(trace_path);
    CHECK_EQ_INT(symlink(trace_path, other), 0);
    CHECK_EQ_INT(lap_writer_create(other, &options, &writer), LAP_ERROR_IO);
    CHECK(writer == NULL && access(trace_path, F_OK) != 0);
    snprintf(other, sizeof(other), "%s/nowhere/file", trace_folder);
    CHECK_EQ_INT(lap_writer_create(other, &options, &writer), LAP_ERROR_IO);
    CHECK(writer == NULL && strstr(lap_error_message(), strerror(ENOENT)));
    CHECK_EQ_INT(lap_writer_create("", &options, &writer), LAP_ERROR_IO);
}

UNIT_TEST(short_and_interrupted_writes_are_continued)
{
    meddle = true;
    budget = SIZE_MAX;
    struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 2000; ticket++) {
        CHECK_EQ_U64(write_packet(stream, ticket), ticket);
        if (ticket % 100 == 0)
            lap_writer_frame(writer);
    }
    lap_writer_destroy(&writer);
    meddle = false;
    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->frames == 20);
    for (uint64_t ticket = 1; ticket <= 2000; ticket++)
        CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet_is_good(&packet, ticket));
    lap_reader_close(&reader);
}

/* File systems on a network may write no sooner. */
UNIT_TEST(what_closing_a_file_says_is_heard)
{
    static const int errors[] = {EIO, EDQUOT, EINTR};

    for (unsigned i = 0; i < 3; i++) {
        struct lap_log log = open_log();
        struct lap_writer_options options = TRACE_OPTIONS;
        struct lap_writer *writer = NULL;
        bool harmless = errors[i] == EINTR;
        options.log = &log;
        fresh_trace_path();
        CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_OK);
        struct lap_stream *stream = lap_writer_stream(writer, 1);
        for (uint64_t ticket = 1; ticket <= 50; ticket++) {
            CHECK_EQ_U64(write_packet(stream, ticket), ticket);
            if (ticket % 20 == 0)
                lap_writer_frame(writer);
        }
        closing_fails = errors[i];
        lap_writer_destroy(&writer);
        closing_fails = 0;
        CHECK_EQ_INT(close_log(), harmless ? 0 : 1);
        CHECK(harmless || strstr(said, strerror(errors[i])));
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(summary->complete == harmless && summary->frames == 2);
        CHECK(harmless || (summary->stopped && strstr(summary->stopped, strerror(errors[i]))));
        lap_reader_close(&reader);
    }
}

/* Records until the room is used up, wherever that is, and checks what the file gives. */
static void fill(size_t room, bool frames, bool queue)
{
    struct lap_log log = open_log();
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = NULL;
    options.packer = NULL;
    options.log = &log;
    options.queue_bytes = queue ? 0 : LAP_WRITER_NO_QUEUE;
    fresh_trace_path();
    meddle = true;
    budget = room;
    enum lap_status created = lap_writer_create(trace_path, &options, &writer);
    uint64_t written = 0, marked = 0, marks = 0;
    if (created != LAP_OK) {
        CHECK_EQ_INT(created, LAP_ERROR_IO);
        CHECK(writer == NULL && access(trace_path, F_OK) != 0);
        meddle = false;
        (void)close_log();
        return;
    }
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint8_t bytes[600] = {0};
    while (stream && written < 300 && write_packet(stream, written + 1)) {
        written++;
        if (written % 10 == 5) {
            memcpy(bytes, &written, sizeof(written));
            (void)lap_writer_blob(writer, LAP_BLOB_DATA, bytes, sizeof(bytes), NULL);
        }
        if (written % 10 == 0 && frames) {
            lap_writer_frame(writer);
            if (!lap_writer_stopped(writer))
                marked = written, marks++;
        }
    }
    bool stopped = lap_writer_stopped(writer);
    /* What a queue still has is lost with a disk that is full. */
    if (!queue || !stopped)
        CHECK_EQ_U64(lap_writer_frames(writer), marks);
    if (stopped) {
        CHECK(!lap_writer_stream(writer, 2) && !lap_packet_begin(stream, 1, 0, NULL, NULL));
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, "x", 1, NULL), 0);
        lap_writer_frame(writer);
        lap_writer_info(writer, "{}");
    }
    lap_writer_destroy(&writer);
    meddle = false;
    unsigned lines = close_log();

    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct lap_packet packet;
    uint64_t read = 0;
    while (lap_reader_next(reader, &packet) == LAP_OK && packet_is_good(&packet, read + 1))
        read++;
    CHECK_EQ_U64(read, summary->packets);
    CHECK(summary->frames == marks || (queue && !summary->complete && summary->frames < marks));
    CHECK(access(trace_tail_path, F_OK) != 0);
    if (summary->complete) {
        CHECK(!stopped && read == 300 && lines == 0);
    } else {
        CHECK_EQ_U64(lines, 1);
        CHECK(strstr(said, strerror(ENOSPC)) && strstr(said, trace_path));
        CHECK(summary->stopped && summary->stopped[0]);
        if (summary->frames)
            CHECK_EQ_U64(read, queue ? 10 * summary->frames : marked);
        if (summary->indexed)
            CHECK(strstr(summary->stopped, strerror(ENOSPC)));
    }
    lap_reader_close(&reader);
}

UNIT_TEST(a_full_disk_ends_the_recording)
{
    for (size_t room = 0; room < 30000; room += 97)
        fill(room, true, false);
    for (size_t room = 0; room < 30000; room += 97)
        fill(room, true, true);
    for (size_t room = 0; room < 30000; room += 991)
        fill(room, false, true);
}

UNIT_TEST(the_size_limit_ends_the_recording_not_the_program)
{
    pid_t child = fork();
    if (child == 0) {
        /* SIGXFSZ keeps its default action: it would end the process. */
        struct rlimit limit = {100000, 100000};
        setrlimit(RLIMIT_FSIZE, &limit);
        struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
        struct lap_stream *stream = lap_writer_stream(writer, 1);
        uint64_t written = 0;
        while (written < 100000 && write_packet(stream, written + 1))
            if (++written % 100 == 0)
                lap_writer_frame(writer);
        bool stopped = lap_writer_stopped(writer);
        lap_writer_destroy(&writer);
        _exit(stopped ? 7 : 1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    fresh_trace_path();
}

UNIT_TEST(the_size_limit_leaves_whole_frames)
{
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 100000;
    struct lap_writer *writer = create_trace(LAP_CODEC_NONE, NULL);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint64_t written = 0;
    while (written < 100000 && write_packet(stream, written + 1))
        if (++written % 100 == 0)
            lap_writer_frame(writer);
    lap_writer_destroy(&writer);
    setrlimit(RLIMIT_FSIZE, &old);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct lap_packet packet;
    CHECK(!summary->complete && summary->frames > 10 && summary->packets == summary->frames * 100);
    CHECK(summary->file_bytes <= 100000 && strstr(summary->stopped, strerror(EFBIG)));
    for (uint64_t ticket = 1; ticket <= summary->packets; ticket++)
        CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet_is_good(&packet, ticket));
    lap_reader_close(&reader);
}

UNIT_TEST(a_reason_is_kept)
{
    struct lap_log log = open_log();
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, &log);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 20; ticket++) {
        (void)write_packet(stream, ticket);
        if (ticket == 15)
            lap_writer_frame(writer);
    }
    CHECK(!lap_writer_stopped(writer));
    lap_writer_stop(writer, "the device was\nlost");
    lap_writer_stop(writer, "a second reason");
    CHECK(lap_writer_stopped(writer));
    CHECK(!lap_packet_begin(stream, 1, 0, NULL, NULL));
    lap_stream_release(stream);
    lap_writer_destroy(&writer);
    CHECK(strstr((close_log(), said), "the device was"));
    CHECK(!strstr(said, "second"));

    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->stopped, "the device was?lost"); /* nothing that a terminal obeys */
    CHECK(!lap_reader_summary(reader)->complete && lap_reader_summary(reader)->indexed);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, 15);
    lap_reader_close(&reader);
}

/* A trace of 20 packets and two frames. */
static struct lap_writer *write_and_finish(struct lap_log *log)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, log);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 20; ticket++) {
        (void)write_packet(stream, ticket);
        if (ticket % 10 == 0)
            lap_writer_frame(writer);
    }
    lap_writer_finish(writer);
    return writer;
}

UNIT_TEST(what_comes_behind_the_end_is_told)
{
    struct lap_log log = open_log();
    struct lap_writer *writer = write_and_finish(&log);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete);
    lap_reader_close(&reader);
    lap_writer_went_on(writer);
    lap_writer_went_on(writer);
    lap_writer_destroy(&writer);
    const char *line = strstr((close_log(), said), "at the very end of its process");
    CHECK(line && !strstr(line + 1, "at the very end"));

    struct lap_packet packet;
    reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK(!summary->complete && summary->indexed && strstr(summary->stopped, "went on"));
    CHECK_EQ_U64(summary->packets, 20);
    CHECK_EQ_U64(summary->frames, 2);
    for (uint64_t ticket = 1; ticket <= 20; ticket++)
        CHECK(lap_reader_next(reader, &packet) == LAP_OK && packet_is_good(&packet, ticket));
    CHECK(lap_reader_next(reader, &packet) == LAP_END);
    lap_reader_close(&reader);
}

UNIT_TEST(an_end_that_is_another_one_stays)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    lap_writer_stop(writer, "the first reason");
    lap_writer_went_on(writer);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->stopped, "the first reason");
    lap_reader_close(&reader);

    writer = write_and_finish(NULL);
    CHECK(truncate(trace_path, 1000) == 0); /* by somebody else, behind the end */
    lap_writer_went_on(writer);
    lap_writer_destroy(&writer);
    struct stat now;
    CHECK(stat(trace_path, &now) == 0 && now.st_size == 1000);
}

UNIT_TEST(a_packet_that_can_not_be_encoded_ends_the_recording)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 20; ticket++) {
        (void)write_packet(stream, ticket);
        if (ticket == 15)
            lap_writer_frame(writer);
    }
    struct lap_enc *enc = lap_packet_begin(stream, 1, 0, NULL, NULL);
    CHECK(enc && !lap_enc_reserve(enc, SIZE_MAX - 1));
    lap_packet_end(stream);
    CHECK(lap_writer_stopped(writer));
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, 15);
    CHECK_STR(lap_reader_summary(reader)->stopped, "out of memory");
    lap_reader_close(&reader);
}

UNIT_TEST(the_child_of_a_fork_leaves_the_file_alone)
{
    struct lap_writer *writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    CHECK_EQ_U64(write_packet(stream, 1), 1);
    /* A child may find the stream in the middle of a packet of another thread. */
    CHECK(lap_packet_begin(stream, 2 + 1, 0, NULL, NULL) != NULL);
    pid_t child = fork();
    if (child == 0) {
        lap_writer_abandon(writer);
        bool good = lap_writer_stopped(writer) && !lap_packet_begin(stream, 1, 0, NULL, NULL) &&
                    !lap_writer_stream(writer, 3) && lap_writer_blob(writer, LAP_BLOB_DATA, "x", 1, NULL) == 0;
        lap_writer_frame(writer);
        lap_writer_info(writer, "{\"child\":1}");
        lap_writer_stop(writer, "child");
        lap_writer_destroy(&writer);
        _exit(good && !writer ? 7 : 1);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    lap_packet_end(stream);
    CHECK_EQ_U64(write_packet(stream, 3), 3);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, 3);
    CHECK_STR(lap_reader_summary(reader)->info, "{}");
    lap_reader_close(&reader);
}

UNIT_MAIN();
