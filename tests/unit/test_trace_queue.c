/* SPDX-License-Identifier: MIT */
/* What waits between recording threads and the file: order, bound, and what happens when writing is slow or fails. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/process/sanitizers.h"
#include "tests/unit/machine.h"
#include "tests/unit/trace_file.h"
#include "trace/write/queue.h"
#include "trace/write/writer_internal.h"

/* The file's writes: wait while `hold`, and fail once `room` is used up. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t room = UINT64_MAX;
static atomic_uint writes_begun;

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    if (!is_trace(fd))
        return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
    atomic_fetch_add(&writes_begun, 1);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    if ((uint64_t)offset > room) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
}

#if !LAP_ADDRESS_SANITIZER && !LAP_THREAD_SANITIZER && !defined(__clang__)
#define CAN_REPLACE 1
static bool no_threads;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return no_threads ? EAGAIN : real(thread, attributes, run, argument);
}
#endif

/* ---- the queue by itself ---- */

static uint32_t random_state = 1;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)random_state * limit >> 32);
}

static uint8_t byte_of(uint64_t number, size_t at)
{
    return (uint8_t)(number * 31 + at * 7 + (at >> 8));
}

enum { STEP = 997 }; /* bytes that are looked at */

static uint8_t *room_of_one; /* for payloads that are in the file */

/* In one, two or three parts. */
static void put_one(struct lap_queue *queue, uint64_t number, uint8_t *buffer, size_t bytes)
{
    struct lap_chunk_header header = {
        .kind = LAP_CHUNK_PACKETS, .first = number, .last = number, .count = (uint32_t)bytes};
    struct iovec parts[3] = {{buffer, bytes}};
    unsigned count = 1 + (unsigned)(number % 3);
    for (size_t i = 0; i < bytes; i += STEP)
        buffer[i] = byte_of(number, i);
    for (unsigned i = 1; i < count; i++) {
        parts[i] = parts[i - 1];
        parts[i - 1].iov_len /= 2;
        parts[i].iov_base = (uint8_t *)parts[i].iov_base + parts[i - 1].iov_len;
        parts[i].iov_len -= parts[i - 1].iov_len;
    }
    CHECK_EQ_INT(lap_queue_put(queue, &header, parts, count), LAP_OK);
}

static void take_one(struct lap_queue *queue, uint64_t number)
{
    const uint8_t *payload = NULL;
    const struct lap_queued *oldest = lap_queue_oldest(queue, room_of_one, &payload);
    CHECK(oldest && oldest->header.first == number && oldest->header.count == oldest->header.raw_bytes);
    bool same = true;
    for (size_t i = 0; oldest && i < oldest->header.raw_bytes; i += STEP)
        same = same && payload[i] == byte_of(number, i);
    CHECK(same);
    lap_queue_take(queue);
}

static void put_is_refused(struct lap_queue *queue)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_PACKETS};
    struct iovec part = {&header, 1};
    CHECK_EQ_INT(lap_queue_put(queue, &header, &part, 1), LAP_ERROR_STOPPED);
}

static void go_around(const char *path)
{
    struct lap_queue_options options = {.capacity = 1, .trace_path = path};
    struct lap_queue queue;
    uint8_t *buffer = malloc(LAP_CHUNK_MAX_RAW);
    uint64_t put = 0, taken = 0;
    room_of_one = aligned_alloc(4096, LAP_QUEUE_ROOM_BYTES);
    CHECK_EQ_INT(lap_queue_init(&queue, &options), LAP_OK);
    CHECK_EQ_INT(queue.durable, path != NULL);
    CHECK_EQ_U64(queue.capacity, LAP_QUEUE_MIN_BYTES);
    /* Sizes at random, the ring more or less full, emptied now and then. */
    for (unsigned round = 0; round < 1500; round++) {
        uint32_t most = round % 3 ? 3000 : LAP_CHUNK_MAX_RAW;
        size_t bytes = random_below(most + 1);
        while (queue.used &&
               queue.used + 3 * (bytes + 4096) > (queue.head <= queue.tail ? queue.limit : queue.capacity))
            take_one(&queue, taken++);
        put_one(&queue, put++, buffer, bytes);
        CHECK(queue.used <= queue.limit && queue.peak <= queue.limit && queue.limit <= queue.capacity);
        if (random_below(4) == 0)
            take_one(&queue, taken++);
        while (round % 300 == 299 && taken < put)
            take_one(&queue, taken++);
    }
    while (taken < put)
        take_one(&queue, taken++);
    const uint8_t *payload;
    CHECK(!lap_queue_oldest(&queue, room_of_one, &payload) && queue.used == 0 && queue.head == 0);
    CHECK_EQ_INT(queue.durable, path != NULL);
    lap_queue_close(&queue);
    put_is_refused(&queue);
    lap_tail_remove(&queue.file);
    lap_queue_finish(&queue);
    free(room_of_one);
    free(buffer);
}

UNIT_TEST(what_is_put_is_taken_around_the_ring)
{
    go_around(NULL);
}

UNIT_TEST(what_is_put_is_taken_around_the_ring_of_a_file)
{
    fresh_trace_path();
    go_around(trace_path);
}

/* ---- a writer with a slow disk ---- */

enum { BLOB = 1 << 20, BLOBS = 40 };

static struct lap_writer *writer;
static atomic_uint added;

/* 40 MiB of blobs that nothing makes smaller, a packet with each; the queue has 16. */
static void *add_blobs(void *argument)
{
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint8_t *bytes = malloc(BLOB);
    for (uint64_t i = 1; stream && i <= BLOBS; i++) {
        memset(bytes, (int)i, BLOB);
        if (!lap_writer_blob(writer, LAP_BLOB_DATA, bytes, BLOB, NULL) || !write_packet(stream, i))
            break;
        atomic_fetch_add(&added, 1);
    }
    free(bytes);
    return NULL;
}

/* Lets a thread record against a closed gate until it waits for room. */
static pthread_t fill_queue(enum lap_chunk_codec codec, const struct lap_log *log)
{
    pthread_t thread;
    added = 0;
    writer = create_queued_trace(codec, log, LAP_QUEUE_MIN_BYTES);
    pthread_mutex_lock(&gate);
    CHECK_EQ_INT(pthread_create(&thread, NULL, add_blobs, NULL), 0);
    for (unsigned waiting = 0; !waiting && added < BLOBS; usleep(1000)) {
        pthread_mutex_lock(&writer->output.queue.mutex);
        waiting = writer->output.queue.waiting;
        pthread_mutex_unlock(&writer->output.queue.mutex);
    }
    return thread;
}

/* Every packet of the file has its blob; returns how many there are. */
static uint64_t check_blobs(bool complete)
{
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK_EQ_INT(summary->complete, complete);
    uint64_t packets = summary->packets;
    for (uint64_t i = 1; i <= packets; i++) {
        const uint8_t *data = NULL;
        size_t bytes = 0;
        CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, i, &data, &bytes), LAP_OK);
        CHECK(data && bytes == BLOB && data[0] == (uint8_t)i && data[BLOB - 1] == (uint8_t)i);
    }
    lap_reader_close(&reader);
    return packets;
}

static void wait_for_slow_disk(enum lap_chunk_codec codec)
{
    pthread_t thread = fill_queue(codec, NULL);
    CHECK(added < LAP_QUEUE_MIN_BYTES / BLOB); /* what waits is as large as it was put */
    CHECK(lap_writer_bytes(writer) < BLOB);    /* nothing came through the gate */
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    CHECK_EQ_U64(added, BLOBS);
    lap_writer_finish(writer);
    uint64_t waited = lap_queue_waited_ns(&writer->output.queue);
    lap_writer_destroy(&writer);
    CHECK_EQ_U64(check_blobs(true), BLOBS);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(waited > 0);
    CHECK_EQ_U64(lap_reader_summary(reader)->counters[LAP_COUNTER_WAITED_US], waited / 1000);
    lap_reader_close(&reader);
}

UNIT_TEST(a_slow_disk_makes_the_program_wait)
{
    wait_for_slow_disk(LAP_CODEC_NONE);
}

/* Each blob would become a few KiB: then all of them would find room. */
UNIT_TEST(a_waiting_thread_does_not_compress)
{
    wait_for_slow_disk(LAP_CODEC_LZ4);
}

static void *stop_writer(void *argument)
{
    lap_writer_stop(writer, "enough");
    return NULL;
}

UNIT_TEST(a_stop_while_the_queue_is_full_leaves_whole_frames)
{
    pthread_t stopper, thread = fill_queue(LAP_CODEC_NONE, NULL);
    CHECK_EQ_INT(pthread_create(&stopper, NULL, stop_writer, NULL), 0);
    pthread_mutex_unlock(&gate);
    pthread_join(stopper, NULL);
    pthread_join(thread, NULL);
    CHECK(lap_writer_stopped(writer));
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_STR(lap_reader_summary(reader)->stopped, "enough");
    lap_reader_close(&reader);
}

UNIT_TEST(an_end_while_the_queue_is_full_loses_nothing)
{
    pthread_t thread = fill_queue(LAP_CODEC_NONE, NULL);
    uint64_t before = atomic_load(&added);
    pthread_mutex_unlock(&gate);
    lap_writer_finish(writer);
    pthread_join(thread, NULL);
    CHECK(lap_writer_stopped(writer));
    lap_writer_destroy(&writer);
    CHECK(check_blobs(true) >= before); /* what was recorded before is there; what came later may be refused */
}

UNIT_TEST(a_disk_that_is_full_is_told_of_once)
{
    int ends[2];
    char said[4096];
    if (pipe2(ends, O_NONBLOCK) != 0)
        abort();
    struct lap_log log = {.fd = ends[1], .level = LAP_LOG_DEBUG};
    pthread_t thread = fill_queue(LAP_CODEC_NONE, &log);
    room = 5 << 20;
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    /* Nobody but the helper thread may have met the failure. */
    while (!lap_writer_stopped(writer))
        usleep(1000);
    CHECK(added < BLOBS && lap_writer_blob(writer, LAP_BLOB_DATA, "x", 1, NULL) == 0);
    lap_writer_destroy(&writer);
    room = UINT64_MAX;
    ssize_t got = read(ends[0], said, sizeof(said) - 1);
    said[got > 0 ? got : 0] = 0;
    close(ends[0]);
    close(ends[1]);
    CHECK(strstr(said, strerror(ENOSPC)) && strchr(said, '\n') == said + strlen(said) - 1);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(!lap_reader_summary(reader)->complete);
    lap_reader_close(&reader);
}

UNIT_TEST(without_a_tail_a_frame_is_in_the_file_when_its_mark_is_set)
{
    struct stat before, after;
    struct lap_writer_options options = TRACE_OPTIONS;
    fresh_trace_path();
    store_file(trace_tail_path, "precious", 8); /* so there can be no tail file */
    CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_OK);
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    for (uint64_t ticket = 1; ticket <= 3000; ticket++) {
        CHECK_EQ_U64(write_packet(stream, ticket), ticket);
        if (ticket % 1000)
            continue;
        uint64_t put;
        lap_writer_frame(writer);
        CHECK(lap_queue_count_put(&writer->output.queue, &put) && put == lap_queue_count_taken(&writer->output.queue));
        CHECK_EQ_INT(stat(trace_path, &before), 0);
        CHECK_EQ_U64(before.st_size, lap_writer_bytes(writer));
        CHECK_EQ_U64(lap_writer_frames(writer), ticket / 1000);
    }
    /* As it is when the process is killed here. */
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_U64(lap_reader_summary(reader)->packets, 3000);
    lap_reader_close(&reader);
    CHECK_EQ_INT(stat(trace_path, &after), 0);
    CHECK_EQ_U64(before.st_size, after.st_size);
    lap_writer_destroy(&writer);
    struct file_bytes file = load_file(trace_tail_path);
    CHECK(file.bytes == 8 && memcmp(file.data, "precious", 8) == 0);
    free(file.data);
}

/* The blocked signals of the helper thread, as the kernel knows them; 0: there is no such thread. */
static uint64_t helper_mask(void)
{
    char name[32] = "", path[64], line[256];
    uint64_t blocked = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task->d_name);
        FILE *status = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        bool is_helper = false;
        while (status && fgets(line, sizeof(line), status)) {
            if (sscanf(line, "Name: %31s", name) == 1)
                is_helper = strcmp(name, "lapilli") == 0;
            if (is_helper)
                (void)sscanf(line, "SigBlk: %" SCNx64, &blocked);
        }
        if (status)
            fclose(status);
    }
    if (tasks)
        closedir(tasks);
    return blocked;
}

UNIT_TEST(signals_are_for_the_programs_threads)
{
    sigset_t before, now;
    if (unit_is_emulated())
        SKIP("the kernel knows the masks of the emulator's threads");
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    writer = create_queued_trace(LAP_CODEC_LZ4, NULL, 0);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int signal_number = 1; signal_number < 32; signal_number++)
        CHECK_EQ_INT(sigismember(&now, signal_number), sigismember(&before, signal_number));
    CHECK(writer->output.has_thread);
    while (!helper_mask())
        usleep(1000); /* until it has given itself its name */
    CHECK((helper_mask() & (UINT64_C(1) << (SIGINT - 1))) && (helper_mask() & (UINT64_C(1) << (SIGSEGV - 1))));
    lap_writer_destroy(&writer);
}

static bool got_through;

/* It has been cancelled, and nothing that the writer calls may be where that comes true: it holds locks. */
static void *record_while_cancelled(void *unused)
{
    struct lap_stream *stream = lap_writer_stream(writer, 1);
    uint8_t *data = malloc(LAP_CHUNK_MAX_RAW);
    CHECK(pthread_cancel(pthread_self()) == 0);
    for (uint64_t round = 1; round <= 6; round++) { /* more than the ring has before it grows */
        memset(data, (int)round, LAP_CHUNK_MAX_RAW);
        CHECK_EQ_U64(lap_writer_blob(writer, LAP_BLOB_DATA, data, LAP_CHUNK_MAX_RAW, NULL), round);
        CHECK(write_packet(stream, round) == round);
        lap_writer_frame(writer);
    }
    lap_writer_info(writer, "{\"more\":1}");
    lap_stream_release(stream);
    free(data);
    got_through = true;
    pthread_testcancel();
    return NULL;
}

UNIT_TEST(a_thread_that_is_cancelled_gets_through)
{
    pthread_t thread;
    void *result;
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    pthread_mutex_lock(&gate); /* so that everything waits in the ring */
    CHECK(pthread_create(&thread, NULL, record_while_cancelled, NULL) == 0);
    while (writer->output.marks < 6 && pthread_tryjoin_np(thread, &result) != 0)
        usleep(1000);
    pthread_mutex_unlock(&gate);
    if (writer->output.marks == 6) /* information waits until it is written */
        CHECK(pthread_join(thread, &result) == 0);
    CHECK(got_through && result == PTHREAD_CANCELED);
    lap_writer_destroy(&writer);
    struct lap_reader *reader = open_trace(NULL);
    CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->frames == 6);
    lap_reader_close(&reader);
}

UNIT_TEST(without_a_thread_everything_is_written_at_once)
{
#ifdef CAN_REPLACE
    no_threads = true;
    writer = create_queued_trace(LAP_CODEC_NONE, NULL, LAP_QUEUE_MIN_BYTES);
    no_threads = false;
    CHECK(!writer->output.has_thread && !writer->output.queue.memory);
    added = 0;
    (void)add_blobs(NULL);
    CHECK_EQ_U64(added, BLOBS);
    CHECK(lap_writer_bytes(writer) > (uint64_t)BLOBS * BLOB);
    lap_writer_destroy(&writer);
    CHECK_EQ_U64(check_blobs(true), BLOBS);
#else
    SKIP("pthread_create can't be replaced under a sanitizer");
#endif
}

UNIT_MAIN();
