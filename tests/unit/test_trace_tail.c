/* SPDX-License-Identifier: MIT */
/* What is found beside the trace of a process that was killed, and what happens when that file can't be, or is not
 * what it seems. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/format/decode.h"
#include "trace/write/writer_internal.h"

/* ---- killed anywhere ---- */

enum { THREADS = 3, KILLS = 200 / UNIT_STRIDE, MOST_BLOB = 900 << 10 };

struct acknowledged {
    uint64_t frames, done[THREADS];
};

static struct lap_writer *writer;
static _Atomic uint64_t done[THREADS];

static size_t blob_bytes_of(uint64_t thread, uint64_t number)
{
    return thread == 0 ? MOST_BLOB + number % 1000 * 900 : 5000 + number % 50 * 3000;
}

static void fill_blob(uint8_t *out, uint64_t thread, uint64_t number, size_t bytes)
{
    uint64_t state = thread << 32 ^ number;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        if (i % 64 == 0)
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        memcpy(out + i, &state, 8);
    }
    memset(out + bytes / 8 * 8, (int)number, bytes % 8);
}

static void *record_on(void *argument)
{
    uint64_t thread = (uint64_t)(uintptr_t)argument;
    struct lap_stream *stream = lap_writer_stream(writer, thread);
    uint8_t *bytes = malloc(2 * MOST_BLOB);
    for (uint64_t number = 1; stream; number++) {
        size_t size = blob_bytes_of(thread, number);
        fill_blob(bytes, thread, number, size);
        uint64_t blob = lap_writer_blob(writer, LAP_BLOB_DATA, bytes, size, NULL);
        struct lap_enc *enc = lap_packet_begin(stream, 1, 0, NULL, NULL);
        if (!enc)
            break;
        if (lap_enc_reserve(enc, 64)) {
            lap_put_u64(enc, thread);
            lap_put_u64(enc, number);
            lap_put_u64(enc, blob);
        }
        lap_packet_end(stream);
        atomic_store(&done[thread], number);
    }
    free(bytes);
    return NULL;
}

/* In a child: records on several threads, ends frames, and says so. Does not return. */
static void record_until_killed(int told, enum lap_chunk_codec codec)
{
    alarm(60);
    writer = create_queued_trace(codec, NULL, LAP_QUEUE_MIN_BYTES);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_on, (void *)i) != 0)
            _exit(1);
    }
    for (;;) {
        struct acknowledged now;
        usleep(300);
        for (int i = 0; i < THREADS; i++)
            now.done[i] = atomic_load(&done[i]);
        lap_writer_frame(writer);
        now.frames = lap_writer_frames(writer);
        if (write(told, &now, sizeof(now)) != sizeof(now))
            _exit(1);
    }
}

/* Everything that was acknowledged is there, and whatever is there is right. */
static uint64_t check_killed(const struct acknowledged *last)
{
    uint64_t numbers[THREADS] = {0};
    static uint8_t expected[2 * MOST_BLOB];
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct lap_packet packet;
    enum lap_status status;
    CHECK(!summary->complete && summary->frames >= last->frames);
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        struct lap_dec dec;
        const uint8_t *data;
        size_t bytes;
        lap_dec_init(&dec, packet.body, packet.bytes, NULL, NULL);
        uint64_t thread = lap_get_u64(&dec), number = lap_get_u64(&dec), blob = lap_get_u64(&dec);
        CHECK(thread < THREADS && number == numbers[thread % THREADS] + 1);
        numbers[thread % THREADS] = number;
        CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, blob, &data, &bytes), LAP_OK);
        CHECK_EQ_U64(bytes, blob_bytes_of(thread, number));
        fill_blob(expected, thread, number, blob_bytes_of(thread, number));
        CHECK(data && memcmp(data, expected, bytes) == 0);
    }
    CHECK_EQ_INT(status, LAP_END);
    for (int i = 0; i < THREADS; i++)
        CHECK(numbers[i] >= last->done[i]);
    uint64_t recovered = summary->recovered_frames;
    lap_reader_close(&reader);
    return recovered;
}

UNIT_TEST(a_kill_at_any_time_loses_no_frame)
{
    uint64_t recovered = 0, frames = 0;
    srand(1);
    for (int i = 0; i < KILLS && !unit_failed; i++) {
        struct acknowledged last = {0}, next;
        int ends[2], status;
        fresh_trace_path();
        if (pipe2(ends, O_CLOEXEC) != 0)
            abort();
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            record_until_killed(ends[1], i % 3 == 0 ? LAP_CODEC_NONE : LAP_CODEC_LZ4);
        }
        close(ends[1]);
        /* From the first frame on; some of them much later. */
        if (read(ends[0], &last, sizeof(last)) != sizeof(last))
            abort();
        usleep((useconds_t)(rand() % (i % 20 ? 4000 : 100000)));
        kill(child, SIGKILL);
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        while (read(ends[0], &next, sizeof(next)) == sizeof(next))
            last = next;
        close(ends[0]);
        recovered += check_killed(&last) != 0;
        frames += last.frames;
    }
    CHECK(recovered > KILLS / 2 && frames > KILLS);
}

/* ---- a small tail ---- */

enum { FRAMES = 4, FRAME = 12, PACKETS = FRAMES * FRAME };

static char early_path[640]; /* the tail as it was before anything of it was written to the trace */

static void copy_file(const char *from, const char *to, size_t most)
{
    struct file_bytes file = load_file(from);
    store_file(to, file.data, file.bytes < most ? file.bytes : most);
    free(file.data);
}

/* A killed process: its frames are all in the tail (kept in early_path) and then in the trace. */
static void make_killed_trace(bool written)
{
    fresh_trace_path();
    snprintf(early_path, sizeof(early_path), "%s/early", trace_folder);
    pid_t child = fork();
    if (child == 0) {
        writer = create_trace(LAP_CODEC_LZ4, NULL);
        struct lap_stream *stream = lap_writer_stream(writer, 1);
        for (uint64_t ticket = 1; ticket <= PACKETS; ticket++) {
            (void)write_packet(stream, ticket);
            (void)lap_writer_blob(writer, LAP_BLOB_DATA, &ticket, sizeof(ticket), NULL);
            if (ticket % FRAME == 0)
                lap_writer_frame(writer);
        }
        (void)write_packet(stream, PACKETS + 1);
        (void)lap_stream_seal(stream); /* behind the last mark */
        copy_file(trace_tail_path, early_path, LAP_TAIL_RING_BEGIN + writer->output.queue.head);
        if (written && lap_output_drain(&writer->output) != LAP_OK)
            _exit(1);
        raise(SIGKILL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

/* Reads what there is; every packet is right. */
static uint64_t count_packets(uint64_t *out_recovered, char *out_stopped)
{
    struct lap_reader *reader = NULL;
    uint64_t read = 0;
    *out_recovered = 0;
    if (lap_reader_open(trace_path, NULL, &reader) != LAP_OK)
        return 0;
    struct lap_reader *another = NULL;
    struct lap_packet packet;
    enum lap_status status;
    CHECK_EQ_INT(lap_reader_open_again(reader, NULL, &another), LAP_OK);
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        CHECK(packet_is_good(&packet, ++read));
        CHECK_EQ_INT(lap_reader_next(another, &packet), LAP_OK);
        CHECK(packet_is_good(&packet, read));
    }
    CHECK_EQ_INT(status, LAP_END);
    CHECK_EQ_INT(lap_reader_next(another, &packet), LAP_END);
    lap_reader_close(&another);
    *out_recovered = lap_reader_summary(reader)->recovered_frames;
    if (out_stopped)
        snprintf(out_stopped, 400, "%s", lap_reader_summary(reader)->stopped);
    lap_reader_close(&reader);
    return read;
}

UNIT_TEST(all_that_was_marked_is_found)
{
    uint64_t recovered;
    char stopped[400];
    make_killed_trace(false);
    struct file_bytes before = load_file(trace_path), tail_before = load_file(trace_tail_path);
    CHECK_EQ_U64(count_packets(&recovered, stopped), PACKETS);
    CHECK_EQ_U64(recovered, FRAMES);
    CHECK(strstr(stopped, "4 frames"));
    struct file_bytes after = load_file(trace_path), tail_after = load_file(trace_tail_path);
    CHECK(after.bytes == before.bytes && memcmp(after.data, before.data, before.bytes) == 0);
    CHECK(tail_after.bytes == tail_before.bytes && memcmp(tail_after.data, tail_before.data, tail_before.bytes) == 0);
    free(before.data), free(after.data), free(tail_before.data), free(tail_after.data);
    /* Without it there is what was written. */
    unlink(trace_tail_path);
    CHECK_EQ_U64(count_packets(&recovered, stopped), 0);
    CHECK(!strstr(stopped, "tail"));
}

/* However far the helper thread has come: what the trace lacks, to the byte, is in the tail. */
UNIT_TEST(a_trace_cut_anywhere_is_completed_from_its_tail)
{
    uint64_t recovered;
    make_killed_trace(true);
    CHECK_EQ_U64(count_packets(&recovered, NULL), PACKETS + 1); /* and one behind the last mark */
    CHECK_EQ_U64(recovered, 0);
    struct file_bytes trace = load_file(trace_path);
    struct lap_chunk_header dictionary;
    CHECK_EQ_INT(lap_chunk_header_load(trace.data + LAP_FILE_HEADER_BYTES, seed_of(&trace), &dictionary), LAP_OK);
    copy_file(early_path, trace_tail_path, SIZE_MAX);
    size_t first = LAP_FILE_HEADER_BYTES + 2 * (LAP_CHUNK_HEADER_BYTES + dictionary.stored_bytes); /* behind both */
    for (size_t bytes = trace.bytes; bytes-- > first && !unit_failed;) {
        if (bytes % UNIT_STRIDE)
            continue;
        CHECK_EQ_INT(truncate(trace_path, (off_t)bytes), 0);
        CHECK_EQ_U64(count_packets(&recovered, NULL), PACKETS);
    }
    CHECK_EQ_U64(recovered, FRAMES);
    for (size_t bytes = first; bytes-- > 0;) {
        if (bytes % UNIT_STRIDE)
            continue;
        CHECK_EQ_INT(truncate(trace_path, (off_t)bytes), 0);
        CHECK_EQ_U64(count_packets(&recovered, NULL), 0);
    }
    free(trace.data);
}

UNIT_TEST(damage_anywhere_in_a_tail_is_survived)
{
    const size_t calls_end = LAP_TAIL_HEADER_BYTES + 200;
    uint64_t recovered, found[2] = {0};
    make_killed_trace(false);
    copy_file(early_path, trace_tail_path, SIZE_MAX);
    CHECK_EQ_U64(count_packets(&recovered, NULL), PACKETS);
    struct file_bytes tail = load_file(early_path);
    int fd = open(trace_tail_path, O_RDWR);
    for (size_t at = 0; at < tail.bytes && !unit_failed; at += UNIT_STRIDE) {
        if (at >= calls_end && at < LAP_TAIL_RING_BEGIN) /* test_trace_in_flight.c is about what is between */
            at = LAP_TAIL_RING_BEGIN;
        static const uint8_t changes[] = {0x01, 0x80, 0xff};
        for (size_t i = 0; i < sizeof(changes); i++) {
            uint8_t changed = tail.data[at] ^ changes[i];
            CHECK(pwrite(fd, &changed, 1, (off_t)at) == 1);
            uint64_t packets = count_packets(&recovered, NULL);
            CHECK(packets <= PACKETS && packets >= recovered * FRAME);
            found[packets == PACKETS]++;
        }
        CHECK(pwrite(fd, &tail.data[at], 1, (off_t)at) == 1);
    }
    CHECK(found[0] > 1000 / UNIT_STRIDE && found[1] > 1000 / UNIT_STRIDE); /* some of it matters, some of it does not */
    CHECK_EQ_U64(count_packets(&recovered, NULL), PACKETS);
    for (size_t bytes = tail.bytes; bytes-- > 0 && !unit_failed;) {
        if (bytes + 1 == LAP_TAIL_RING_BEGIN)
            bytes = calls_end;
        if (bytes % UNIT_STRIDE)
            continue;
        CHECK_EQ_INT(ftruncate(fd, (off_t)bytes), 0);
        uint64_t packets = count_packets(&recovered, NULL);
        CHECK(packets <= PACKETS && packets >= recovered * FRAME);
    }
    close(fd);
    free(tail.data);
}

/* Entries with good hashes that nobody has written like that. */
UNIT_TEST(forged_entries_are_refused)
{
    enum { KINDS, FRAME_NUMBER, NUMBER, SIZE, ROUND_AND_ROUND, FORGERIES };
    make_killed_trace(false);
    struct file_bytes tail = load_file(early_path), trace = load_file(trace_path);
    uint64_t seed = lap_tail_seed(trace.data + 16), recovered;
    for (int what = 0; what < FORGERIES; what++) {
        uint8_t *data = malloc(tail.bytes), *at = data + LAP_TAIL_RING_BEGIN;
        struct lap_tail_entry entry;
        memcpy(data, tail.data, tail.bytes);
        CHECK_EQ_INT(lap_tail_entry_load(at, seed, seed, &entry), LAP_OK);
        while (what == FRAME_NUMBER && entry.header.kind != LAP_CHUNK_FRAME) {
            at += lap_tail_entry_stride(entry.header.stored_bytes);
            CHECK_EQ_INT(lap_tail_entry_load(at, seed, seed, &entry), LAP_OK);
        }
        if (what == KINDS)
            entry.header.kind = LAP_CHUNK_END;
        else if (what == FRAME_NUMBER)
            entry.header.frame = 7;
        else if (what == NUMBER)
            entry.number = 3;
        else if (what == SIZE)
            entry.header.stored_bytes = entry.header.raw_bytes = LAP_CHUNK_MAX_RAW;
        else
            entry.kind = LAP_TAIL_WRAP;
        lap_tail_entry_store(at, &entry, seed);
        store_file(trace_tail_path, data, tail.bytes);
        CHECK_EQ_U64(count_packets(&recovered, NULL), what == FRAME_NUMBER ? FRAME : 0);
        CHECK_EQ_U64(recovered, 0);
        free(data);
    }
    free(tail.data), free(trace.data);
}

UNIT_TEST(a_tail_of_another_trace_is_not_read)
{
    uint64_t recovered;
    char stopped[400], other[640];
    make_killed_trace(false);
    snprintf(other, sizeof(other), "%s/other", trace_folder);
    copy_file(early_path, other, SIZE_MAX);
    make_killed_trace(false);
    copy_file(other, trace_tail_path, SIZE_MAX);
    CHECK_EQ_U64(count_packets(&recovered, stopped), 0);
    CHECK(strstr(stopped, "belongs to another trace"));
    unlink(trace_tail_path);
    CHECK_EQ_INT(symlink(early_path, trace_tail_path), 0); /* not followed */
    CHECK_EQ_U64(count_packets(&recovered, NULL), 0);
    unlink(trace_tail_path);
    CHECK_EQ_INT(mkfifo(trace_tail_path, 0600), 0);
    CHECK_EQ_U64(count_packets(&recovered, stopped), 0);
    CHECK(strstr(stopped, "it is none"));
}

UNIT_TEST(the_tail_of_a_trace_that_is_being_recorded_is_not_read)
{
    uint64_t recovered;
    char stopped[400];
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 3; ticket++)
        (void)write_packet(stream, ticket);
    lap_writer_frame(writer);
    struct stat stat_result;
    CHECK(stat(trace_tail_path, &stat_result) == 0 && (stat_result.st_mode & 0777) == 0600);
    /* Nothing of the ring needs room later. */
    CHECK(stat_result.st_blocks * 512 >= stat_result.st_size - (off_t)LAP_TAIL_RING_BEGIN);
    CHECK_EQ_U64(count_packets(&recovered, stopped), 0);
    CHECK(strstr(stopped, "still being recorded"));
    lap_writer_destroy(&writer);
    CHECK(access(trace_tail_path, F_OK) != 0);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->packets == 3);
    lap_reader_close(&reader);
}

/* ---- no room ---- */

/* Writes much more than the ring may have; returns the longest that it was. */
static size_t record_much(rlim_t most, const struct lap_log *log)
{
    struct rlimit old, limit;
    static uint8_t bytes[1 << 20];
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    writer = create_trace(LAP_CODEC_LZ4, log);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    size_t longest = 0;
    for (uint64_t ticket = 1; ticket <= 60; ticket++) {
        memset(bytes, (int)ticket, sizeof(bytes));
        CHECK(lap_writer_blob(writer, LAP_BLOB_DATA, bytes, sizeof(bytes), NULL) == ticket);
        CHECK_EQ_U64(write_packet(stream, ticket), ticket);
        lap_writer_frame(writer);
        pthread_mutex_lock(&writer->output.queue.mutex);
        if (writer->output.queue.durable && writer->output.queue.limit > longest)
            longest = writer->output.queue.limit;
        pthread_mutex_unlock(&writer->output.queue.mutex);
    }
    CHECK(!lap_writer_stopped(writer));
    lap_writer_destroy(&writer);
    setrlimit(RLIMIT_FSIZE, &old);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->frames == 60);
    lap_reader_close(&reader);
    return longest;
}

UNIT_TEST(without_room_the_tail_stays_small)
{
    CHECK_EQ_U64(record_much((8 << 20) + LAP_TAIL_RING_BEGIN, NULL), 8 << 20);
}

UNIT_TEST(without_any_room_there_is_no_tail)
{
    char said[1024];
    int ends[2];
    if (pipe2(ends, O_NONBLOCK) != 0)
        abort();
    struct lap_log log = {.fd = ends[1], .level = LAP_LOG_INFO};
    CHECK_EQ_U64(record_much(4 << 20, &log), 0);
    CHECK(access(trace_tail_path, F_OK) != 0);
    ssize_t got = read(ends[0], said, sizeof(said) - 1);
    said[got > 0 ? got : 0] = 0;
    close(ends[0]), close(ends[1]);
    CHECK(strstr(said, "tail") && strchr(said, '\n') == said + strlen(said) - 1);
}

/* ---- fork ---- */

UNIT_TEST(the_child_of_a_fork_has_a_ring_of_its_own)
{
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 5; ticket++)
        (void)write_packet(stream, ticket);
    lap_writer_frame(writer);
    pid_t child = fork();
    if (child == 0) {
        /* As if the fork had interrupted a put, which goes on: with the descriptor's number, too. */
        int fds[2] = {writer->output.file.fd, writer->output.queue.file.own.fd};
        static uint8_t bytes[1 << 20];
        struct lap_chunk_header header = {.kind = LAP_CHUNK_FRAME};
        struct iovec part = {bytes, sizeof(bytes)};
        lap_writer_abandon(writer);
        int other = open(trace_path, O_RDWR);
        bool good = pwrite(fds[0], bytes, sizeof(bytes), 0) == sizeof(bytes) &&
                    pwrite(fds[1], bytes, sizeof(bytes), 0) == sizeof(bytes) && other != fds[0] && other != fds[1] &&
                    lap_queue_put(&writer->output.queue, &header, &part, 1) == LAP_OK;
        _exit(good ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(writer->output.queue.durable && access(trace_tail_path, F_OK) == 0);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->packets == 5);
    lap_reader_close(&reader);
}

UNIT_MAIN();
