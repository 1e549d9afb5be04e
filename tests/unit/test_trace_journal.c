/* SPDX-License-Identifier: MIT */
/* What a killed process had finished and not handed over: all of it is found, damaged and forged journals harm nobody.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/crash/notes.h"
#include "trace/format/decode.h"
#include "trace/format/hash.h"
#include "trace/write/writer_internal.h"

enum { THREADS = 4, KILLS = 60 / UNIT_STRIDE + 1, MOST_BLOB = 700 << 10 };

static struct lap_writer *writer;
static _Atomic uint64_t *done; /* [THREADS], in memory that outlives the process */

static const char *const commands[] = {"", "vkOne", LAP_MISSING_PACKET};

static void begin(size_t queue_bytes)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    options.names.commands = (struct lap_name_list){commands, 3};
    options.queue_bytes = queue_bytes;
    fresh_trace_path();
    CHECK_EQ_INT(lap_writer_create(trace_path, &options, &writer), LAP_OK);
    void *notes = mmap(NULL, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(notes != MAP_FAILED && lap_writer_map_notes(writer, notes));
}

static void fill_blob(uint8_t *out, uint64_t thread, uint64_t number, size_t bytes)
{
    uint64_t state = thread << 32 ^ number;
    for (size_t i = 0; i < bytes; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        out[i] = (uint8_t)(state >> 56);
    }
}

/* Mostly none. */
static size_t blob_bytes_of(uint64_t thread, uint64_t number)
{
    if (number % 501 == 500)
        return MOST_BLOB - number % 1000;
    return number % (11 + thread) == 3 ? 100 + number % 50 * 300 : 0;
}

static size_t body_bytes_of(uint64_t number)
{
    return number % 777 == 776 ? LAP_PACKET_MAX_INLINE + 10 : number % 97 == 96 ? 40000 : number * 7 % 60;
}

static bool record(struct lap_stream *stream, uint64_t thread, uint64_t number, uint8_t *bytes)
{
    size_t size = blob_bytes_of(thread, number), filler = body_bytes_of(number);
    uint64_t blob = 0;
    fill_blob(bytes, thread, number, size);
    if (size)
        blob = lap_writer_blob(writer, LAP_BLOB_DATA, bytes, size, NULL);
    struct lap_enc *enc = lap_packet_begin(stream, 1, number % 5 == 0 ? LAP_PACKET_BARRIER : 0, NULL, NULL);
    if (!enc)
        return false;
    if (lap_enc_reserve(enc, 64 + filler)) {
        lap_put_u64(enc, thread);
        lap_put_u64(enc, number);
        lap_put_u64(enc, blob);
        memset(enc->p, (int)number, filler);
        enc->p += filler;
    }
    lap_packet_end(stream);
    return true;
}

static void *record_on(void *argument)
{
    uint64_t thread = (uint64_t)(uintptr_t)argument;
    sigset_t all;
    sigfillset(&all);
    if (thread == 1) /* as threads of drivers have */
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    struct lap_stream *stream = lap_writer_stream(writer, thread);
    uint8_t *bytes = malloc(MOST_BLOB);
    for (uint64_t number = 1; stream && record(stream, thread, number, bytes); number++)
        atomic_store(&done[thread], number);
    free(bytes);
    return NULL;
}

/* In a child. Does not return. */
static void record_until_killed(bool frames, int told)
{
    alarm(60);
    begin(LAP_QUEUE_MIN_BYTES);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_on, (void *)i) != 0)
            _exit(1);
    }
    if (write(told, "", 1) != 1)
        _exit(1);
    for (;;) {
        usleep(700);
        if (frames)
            lap_writer_frame(writer);
    }
}

struct found {
    uint64_t numbers[THREADS], missing;
};

static struct found read_all(void)
{
    static uint8_t expected[MOST_BLOB];
    struct found found = {.missing = 0};
    struct lap_reader *reader = open_trace(NULL);
    struct lap_packet packet;
    enum lap_status status;
    CHECK(!lap_reader_summary(reader)->complete);
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        struct lap_dec dec;
        const uint8_t *data;
        size_t bytes;
        if (packet.command == 2) {
            CHECK(packet.bytes == 0 && packet.flags & LAP_PACKET_INFO);
            found.missing++;
            continue;
        }
        lap_dec_init(&dec, packet.body, packet.bytes, NULL, NULL);
        uint64_t thread = lap_get_u64(&dec), number = lap_get_u64(&dec), blob = lap_get_u64(&dec);
        CHECK(thread < THREADS && number == found.numbers[thread % THREADS] + 1);
        found.numbers[thread % THREADS] = number;
        CHECK_EQ_U64((uint64_t)(dec.end - dec.p), body_bytes_of(number));
        if (!blob_bytes_of(thread, number))
            continue;
        CHECK_EQ_INT(lap_reader_blob(reader, LAP_BLOB_DATA, blob, &data, &bytes), LAP_OK);
        CHECK_EQ_U64(bytes, blob_bytes_of(thread, number));
        fill_blob(expected, thread, number, blob_bytes_of(thread, number));
        CHECK(data && memcmp(data, expected, bytes) == 0);
    }
    CHECK_EQ_INT(status, LAP_END);
    lap_reader_close(&reader);
    return found;
}

/* Returns how many packets stood for some that were being written. */
static uint64_t kill_one(bool frames, useconds_t when)
{
    int ends[2], status;
    char byte;
    for (int i = 0; i < THREADS; i++)
        done[i] = 0;
    fresh_trace_path();
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0)
        record_until_killed(frames, ends[1]);
    CHECK(read(ends[0], &byte, 1) == 1);
    usleep(when);
    kill(child, SIGKILL);
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ends[0]), close(ends[1]);
    struct found found = read_all();
    for (int i = 0; i < THREADS; i++) {
        CHECK(found.numbers[i] >= done[i]);
        CHECK(found.numbers[i] <= done[i] + 1);
    }
    return found.missing;
}

UNIT_TEST(a_kill_at_any_time_loses_no_packet)
{
    uint64_t missing = 0;
    done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(done != MAP_FAILED);
    srand(1);
    for (int i = 0; i < KILLS && !unit_failed; i++)
        missing += kill_one(i % 2, (useconds_t)(rand() % (i % 10 ? 20000 : 150000)));
    printf("%llu packets were being written\n", (unsigned long long)missing);
}

/* ---- one thread: what is there is known ---- */

enum { FRAMED = 20, PACKETS = 50 };

static int open_packet;

static void record_some(void)
{
    uint8_t *bytes = malloc(MOST_BLOB);
    begin(0);
    struct lap_stream *one = lap_writer_stream(writer, 1), *two = lap_writer_stream(writer, 2);
    for (uint64_t number = 1; number <= PACKETS; number++) {
        if (open_packet && number == PACKETS - 9)
            (void)lap_packet_begin(two, 1, LAP_PACKET_BARRIER, NULL, NULL); /* it never ends */
        (void)record(one, 0, number, bytes);
        if (number == FRAMED)
            lap_writer_frame(writer);
    }
    free(bytes);
}

static void make_killed(void (*work)(void))
{
    int status;
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        work();
        raise(SIGKILL);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

UNIT_TEST(what_is_behind_the_last_frame_is_told)
{
    make_killed(record_some);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK(summary->frames == 1 && summary->packets == PACKETS && summary->recovered_packets == PACKETS - FRAMED);
    CHECK_EQ_U64(summary->counters[LAP_COUNTER_CALLS], PACKETS - FRAMED); /* this test counts none itself */
    CHECK(strstr(summary->stopped, "30 packets are behind the last frame"));
    struct lap_reader *another = NULL;
    struct lap_packet packet;
    CHECK_EQ_INT(lap_reader_open_again(reader, NULL, &another), LAP_OK);
    lap_reader_close(&reader);
    for (uint64_t number = 1; number <= PACKETS; number++) {
        CHECK_EQ_INT(lap_reader_next(another, &packet), LAP_OK);
        CHECK_EQ_U64(packet.frame, number > FRAMED);
    }
    CHECK_EQ_INT(lap_reader_next(another, &packet), LAP_END);
    lap_reader_close(&another);
}

UNIT_TEST(an_unfinished_packet_is_replaced_by_a_placeholder)
{
    open_packet = 1;
    make_killed(record_some);
    struct found found = read_all();
    CHECK(found.numbers[0] == PACKETS && found.missing == 1);
    /* But not where some threads have no log: it could be one of theirs. */
    int fd = open(trace_tail_path, O_RDWR);
    uint8_t some = LAP_JOURNAL_SOME;
    CHECK(pwrite(fd, &some, 1, (off_t)(LAP_TAIL_NOTES_BEGIN + offsetof(struct lap_notes, journal))) == 1);
    close(fd);
    found = read_all();
    CHECK(found.numbers[0] == PACKETS - 10 && found.missing == 0);
    open_packet = 0;
}

static uint64_t journal_at(size_t in_journal)
{
    return LAP_TAIL_NOTES_BEGIN + offsetof(struct lap_notes, journal) + in_journal;
}

static struct found found_and_said(char *out_stopped)
{
    struct found none = {.missing = 0};
    struct lap_reader *reader = NULL;
    if (lap_reader_open(trace_path, NULL, &reader) != LAP_OK)
        return none;
    snprintf(out_stopped, 400, "%s", lap_reader_summary(reader)->stopped);
    struct lap_packet packet;
    enum lap_status status;
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK)
        none.numbers[0]++;
    none.missing = status != LAP_END;
    lap_reader_close(&reader);
    return none;
}

UNIT_TEST(damage_anywhere_in_a_journal_is_survived)
{
    make_killed(record_some);
    const uint64_t parts[][2] = {{journal_at(offsetof(struct lap_journal, blobs)), 1200},
                                 {journal_at(offsetof(struct lap_journal, blobs[1])), 1200},
                                 {journal_at(offsetof(struct lap_journal, streams)), 1800},
                                 {journal_at(offsetof(struct lap_journal, streams[0][1])), 1800}};
    char stopped[400];
    unsigned told = 0;
    int fd = open(trace_tail_path, O_RDWR);
    for (size_t part = 0; part < 4; part++)
        for (uint64_t at = parts[part][0]; at < parts[part][0] + parts[part][1] && !unit_failed; at += UNIT_STRIDE) {
            uint8_t byte, changed;
            CHECK(pread(fd, &byte, 1, (off_t)at) == 1);
            for (unsigned bit = 0; bit < 8; bit += 3) {
                changed = byte ^ (uint8_t)(1u << bit);
                CHECK(pwrite(fd, &changed, 1, (off_t)at) == 1);
                struct found found = found_and_said(stopped);
                bool less = found.numbers[0] < PACKETS || found.missing;
                CHECK(found.numbers[0] >= FRAMED && found.numbers[0] <= PACKETS && !found.missing);
                CHECK(!less || strstr(stopped, "damaged"));
                told += less;
            }
            CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
        }
    CHECK(told > 500 / UNIT_STRIDE);
    close(fd);
}

/* Heads with good hashes that no writer makes. */
UNIT_TEST(forged_journals_are_refused)
{
    make_killed(record_some);
    struct file_bytes trace = load_file(trace_path);
    uint64_t seed = lap_tail_seed(trace.data + 16);
    uint64_t at = journal_at(offsetof(struct lap_journal, streams[0][1]));
    uint8_t head[LAP_JOURNAL_HEAD_BYTES], forged[LAP_JOURNAL_HEAD_BYTES];
    char stopped[400];
    int fd = open(trace_tail_path, O_RDWR);
    /* The half with the packets behind the frame is one of the two. */
    CHECK(pread(fd, head, sizeof(head), (off_t)at) == sizeof(head));
    if (lap_load_u64(head + 32) != FRAMED + 1) {
        at = journal_at(offsetof(struct lap_journal, streams));
        CHECK(pread(fd, head, sizeof(head), (off_t)at) == sizeof(head));
    }
    CHECK_EQ_U64(lap_load_u64(head + 32), FRAMED + 1);
    static const struct {
        unsigned at;
        uint64_t value;
    } changes[] = {{16, 0xffffffff}, {24, UINT64_MAX}, {32, 0},          {32, 1}, {32, FRAMED},
                   {32, FRAMED + 2}, {32, UINT64_MAX}, {40, UINT64_MAX}, {40, 0}, {12, 2}};
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        memcpy(forged, head, sizeof(head));
        if (changes[i].at == 12)
            forged[12] = (uint8_t)changes[i].value;
        else if (changes[i].at == 16)
            lap_store_u32(forged + 16, (uint32_t)changes[i].value);
        else
            lap_store_u64(forged + changes[i].at, changes[i].value);
        lap_store_u64(forged + 48, lap_hash64_seeded(forged + 8, 40, seed));
        CHECK(pwrite(fd, forged, sizeof(forged), (off_t)at) == sizeof(forged));
        struct found found = found_and_said(stopped);
        CHECK(found.numbers[0] >= FRAMED && found.numbers[0] <= PACKETS);
    }
    close(fd);
    free(trace.data);
}

/* ---- more streams than there are logs for ---- */

static void record_on_many(void)
{
    uint8_t *bytes = malloc(MOST_BLOB);
    begin(0);
    for (uint64_t i = 0; i < LAP_JOURNAL_STREAMS + 2; i++) {
        struct lap_stream *stream = lap_writer_stream(writer, 10 + i);
        (void)record(stream, 0, i + 1, bytes);
    }
    free(bytes);
}

UNIT_TEST(threads_beyond_the_journals_places_are_left_out)
{
    make_killed(record_on_many);
    struct found found = read_all();
    CHECK(found.numbers[0] == LAP_JOURNAL_STREAMS && found.missing == 0);
}

UNIT_MAIN();
