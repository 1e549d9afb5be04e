/* SPDX-License-Identifier: MIT */
/* Traces of processes that are gone, ended by somebody else: they read as before, have an end, and are called whole
 * only where nothing is lost; and whatever interrupts that, nothing goes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/hash.h"
#include "trace/recover/finish.h"
#include "trace/write/writer_internal.h"

/* The trace's writes from this one on fail, end the process, or don't come back. */
static unsigned writes_left = UINT32_MAX;
static bool dies, hangs;

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset);
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    if (writes_left != UINT32_MAX && is_trace(fd)) {
        while (writes_left == 0 && hangs)
            pause();
        if (writes_left == 0 && dies) {
            /* In the middle of it. */
            (void)syscall(SYS_pwritev, fd, parts, 1ul, (unsigned long)offset, 0ul);
            _exit(0);
        }
        if (writes_left == 0) {
            errno = ENOSPC;
            return -1;
        }
        writes_left--;
    }
    return syscall(SYS_pwritev, fd, parts, (unsigned long)count, (unsigned long)offset, 0ul);
}

/* ---- traces without an end ---- */

enum { KERNEL_ID = 77, BODY = 100 };

static struct lap_writer *writer;

static void note_call(void)
{
    struct lap_in_flight call = {.command = 2, .thread_id = KERNEL_ID, .ticket = 1, .bytes = BODY};
    struct lap_notes *notes =
        mmap(NULL, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED || !lap_writer_map_notes(writer, notes))
        _exit(1);
    memset(notes->threads[0].call + LAP_IN_FLIGHT_HEAD_BYTES, 0xa5, BODY);
    lap_in_flight_store(notes->threads[0].call, &call, lap_writer_calls_seed(writer));
}

/* By a process that is killed. pause_ms: the helper thread has time to write what there is. */
static void make_killed(uint64_t packets, unsigned packets_in_frame, unsigned pause_ms, size_t queue_bytes)
{
    int status;
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        hangs = pause_ms == 0; /* then it has next to nothing in the trace */
        writes_left = hangs ? 5 : UINT32_MAX;
        writer = create_queued_trace(LAP_CODEC_LZ4, NULL, queue_bytes);
        struct lap_stream *stream = lap_writer_stream(writer, 1);
        lap_writer_info(writer, "{\"pid\": 4711}");
        static uint8_t blob[900000];
        for (uint64_t ticket = 1; ticket <= packets; ticket++) {
            if (write_packet(stream, ticket) != ticket)
                _exit(1);
            if (ticket % 97 == 0) {
                memset(blob, (int)ticket, sizeof(blob));
                (void)lap_writer_blob(writer, LAP_BLOB_DATA, blob, sizeof(blob), NULL);
            }
            if (packets_in_frame && ticket % packets_in_frame == 0)
                lap_writer_frame(writer);
        }
        if (queue_bytes != LAP_WRITER_NO_QUEUE)
            note_call();
        usleep(pause_ms * 1000);
        raise(SIGKILL);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

struct contents {
    uint64_t packets, frames, blobs;
    uint64_t hash;
    size_t calls;
    bool complete, indexed;
};

static struct contents read_all(void)
{
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    struct contents contents = {.frames = summary->frames, .calls = summary->in_flight_count};
    struct lap_packet packet;
    enum lap_status status;
    while ((status = lap_reader_next(reader, &packet)) == LAP_OK) {
        CHECK(packet_is_good(&packet, ++contents.packets));
        contents.hash = lap_hash64_seeded(packet.body, packet.bytes, contents.hash);
    }
    CHECK_EQ_INT(status, LAP_END);
    CHECK_EQ_U64(contents.packets, summary->packets);
    for (size_t i = 0; i < summary->in_flight_count; i++) {
        const struct lap_in_flight *call = &summary->in_flight[i];
        CHECK(call->command == 2 && call->thread_id == KERNEL_ID && call->bytes == BODY &&
              call->body[BODY - 1] == 0xa5);
    }
    contents.complete = summary->complete;
    contents.indexed = summary->indexed;
    lap_reader_close(&reader);
    return contents;
}

static bool same(const struct contents *a, const struct contents *b)
{
    return a->packets == b->packets && a->frames == b->frames && a->hash == b->hash && a->calls == b->calls;
}

static const struct lap_finish_options options = {
    .how = LAP_ENDED_SIGNAL, .number = SIGTERM, .by = LAP_ENDED_BY_REPAIR, .process = 4711, .packer = &lap_codec_lz4};

static enum lap_status finish(bool fresh, struct lap_finish_result *out)
{
    struct lap_finish_options wanted = options;
    int fd = open(trace_path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    wanted.fresh = fresh;
    return lap_finish(trace_path, fd, &wanted, out);
}

UNIT_TEST(a_finished_trace_has_what_it_had)
{
    static const unsigned frames[] = {0, 1, 7, 1000};
    for (unsigned i = 0; i < 16; i++) {
        struct lap_finish_result result;
        make_killed(400 + 37 * i, frames[i % 4], i / 8 * 150, LAP_QUEUE_MIN_BYTES);
        struct contents before = read_all();
        CHECK(!before.complete && before.calls == 1);
        CHECK_EQ_INT(finish(i % 3 == 0, &result), LAP_OK);
        CHECK(result.outcome == LAP_FINISH_DONE && result.whole && result.used_tail && result.process == 4711);
        unlink(trace_tail_path);
        struct contents after = read_all();
        CHECK(after.complete && after.indexed && same(&before, &after));

        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK(!summary->stopped && summary->end_note && summary->end_note->how == LAP_ENDED_SIGNAL);
        CHECK(summary->ended && strstr(summary->ended, "ended by SIGTERM; a call had not returned"));
        lap_reader_close(&reader);
        CHECK_EQ_INT(finish(false, &result), LAP_OK);
        CHECK(result.outcome == LAP_FINISH_HAD_END);
    }
}

/* More chunks than one part of the index has. */
UNIT_TEST(the_index_goes_on)
{
    for (unsigned fresh = 0; fresh < 2; fresh++) {
        struct lap_finish_result result;
        make_killed(7000, 1, 200, LAP_QUEUE_MIN_BYTES);
        struct contents before = read_all();
        CHECK_EQ_INT(finish(fresh, &result), LAP_OK);
        unlink(trace_tail_path);
        struct contents after = read_all();
        CHECK(after.complete && after.indexed && after.frames == 7000 && same(&before, &after));
    }
}

UNIT_TEST(how_another_process_ended_is_not_known)
{
    struct lap_finish_options other = options;
    struct lap_finish_result result;
    other.process = 4712;
    make_killed(50, 5, 0, LAP_QUEUE_MIN_BYTES);
    CHECK_EQ_INT(lap_finish(trace_path, open(trace_path, O_RDWR | O_CLOEXEC), &other, &result), LAP_OK);
    CHECK(result.whole && strcmp(result.reason, "the program did not end its trace") == 0);
}

/* ---- what interrupts it ---- */

/* Whether it was interrupted, by a process that dies in the n-th write, or a disk that is full from there on. */
static bool interrupt(unsigned writes, bool in_death)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct lap_finish_result result;
        writes_left = writes;
        dies = in_death;
        enum lap_status outcome = finish(false, &result);
        _exit(outcome == LAP_ERROR_IO ? 0 : outcome == LAP_OK ? 1 : 2);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void interrupt_everywhere(bool in_death, unsigned pause_ms)
{
    struct lap_finish_result result;
    unsigned interrupted = 0;
    make_killed(900, 11, pause_ms, LAP_QUEUE_MIN_BYTES);
    struct contents before = read_all();
    struct file_bytes trace = load_file(trace_path), tail = load_file(trace_tail_path);
    for (unsigned writes = 0; interrupt(writes, in_death); writes++, interrupted++) {
        struct contents after = read_all();
        CHECK(!after.complete && same(&before, &after));
        struct file_bytes now = load_file(trace_path);
        if (!in_death)
            CHECK(now.bytes == trace.bytes && memcmp(now.data, trace.data, now.bytes) == 0);
        free(now.data);
        /* Half of the time it begins with what the one before has left. */
        if (writes % 2) {
            store_file(trace_path, trace.data, trace.bytes);
            store_file(trace_tail_path, tail.data, tail.bytes);
        }
    }
    CHECK(interrupted > (pause_ms ? 0 : 20));
    (void)finish(false, &result); /* or it has its end */
    struct contents after = read_all();
    CHECK(after.complete && same(&before, &after));
    free(trace.data);
    free(tail.data);
}

UNIT_TEST(nothing_goes_when_the_disk_is_full)
{
    interrupt_everywhere(false, 0);
    interrupt_everywhere(false, 150);
}

UNIT_TEST(nothing_goes_when_it_is_killed)
{
    interrupt_everywhere(true, 0);
    interrupt_everywhere(true, 150);
}

/* ---- what is lost is said to be ---- */

static void check_incomplete(const struct contents *before, bool whole_chunks)
{
    struct lap_finish_result result;
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_DONE && !result.whole && !result.used_tail);
    CHECK(whole_chunks == (result.cut_bytes == 0));
    struct contents after = read_all();
    CHECK(!after.complete && after.indexed && before->packets == after.packets && before->hash == after.hash);
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_HAD_END);
}

UNIT_TEST(without_its_tail_file_a_trace_is_not_whole)
{
    make_killed(700, 7, 150, LAP_QUEUE_MIN_BYTES);
    unlink(trace_tail_path);
    struct contents before = read_all();
    CHECK(before.packets > 0);
    check_incomplete(&before, true);
}

UNIT_TEST(a_trace_that_was_cut_is_not_whole)
{
    make_killed(700, 7, 150, LAP_QUEUE_MIN_BYTES);
    struct file_bytes trace = load_file(trace_path);
    unlink(trace_tail_path);
    store_file(trace_path, trace.data, trace.bytes - 50);
    struct contents before = read_all();
    check_incomplete(&before, false);
    free(trace.data);
}

UNIT_TEST(what_is_lost_in_front_of_the_tail_file_is_noticed)
{
    struct lap_finish_result result;
    make_killed(3000, 7, 500, LAP_QUEUE_MIN_BYTES);
    struct file_bytes trace = load_file(trace_path);
    store_file(trace_path, trace.data, trace.bytes / 3);
    CHECK_EQ_INT(finish(true, &result), LAP_OK);
    CHECK(!result.whole);
    struct contents after = read_all();
    CHECK(!after.complete && after.packets < 3000);
    free(trace.data);
}

UNIT_TEST(damage_within_the_tail_file_is_noticed)
{
    struct lap_finish_result result;
    make_killed(700, 7, 0, LAP_QUEUE_MIN_BYTES);
    struct file_bytes tail = load_file(trace_tail_path);
    unsigned damaged = 0;
    for (size_t at = LAP_TAIL_RING_BEGIN; at + 128 < tail.bytes && damaged < 3; at += LAP_TAIL_ENTRY_ALIGN)
        if (lap_load_u32(tail.data + at) == LAP_TAIL_ENTRY_MAGIC &&
            lap_load_u64(tail.data + at + 8) == 20 + 7 * damaged)
            tail.data[at + 140 - 100 * damaged++] ^= 1;
    store_file(trace_tail_path, tail.data, tail.bytes);
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(damaged >= 1 && result.outcome == LAP_FINISH_DONE && !result.whole);
    CHECK(!read_all().complete);
    free(tail.data);
}

UNIT_TEST(zeros_at_the_end_are_cut_off)
{
    static const uint8_t zeros[5000];
    make_killed(700, 7, 150, LAP_QUEUE_MIN_BYTES);
    unlink(trace_tail_path);
    struct contents before = read_all();
    int fd = open(trace_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK(write(fd, zeros, sizeof(zeros)) == sizeof(zeros));
    close(fd);
    check_incomplete(&before, false);
}

UNIT_TEST(chunks_behind_damage_are_not_thrown_away)
{
    struct lap_finish_result result;
    make_killed(700, 7, 150, LAP_QUEUE_MIN_BYTES);
    struct file_bytes trace = load_file(trace_path);
    trace.data[trace.bytes / 2] ^= 1;
    store_file(trace_path, trace.data, trace.bytes);
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_REFUSED && strstr(lap_error_message(), "would be lost"));
    struct file_bytes now = load_file(trace_path);
    CHECK(now.bytes == trace.bytes && memcmp(now.data, trace.data, now.bytes) == 0);
    CHECK(access(trace_tail_path, F_OK) == 0);
    free(now.data);
    free(trace.data);
}

UNIT_TEST(the_tail_file_of_another_trace_stays)
{
    struct lap_finish_result result;
    make_killed(100, 7, 150, LAP_QUEUE_MIN_BYTES);
    struct file_bytes tail = load_file(trace_tail_path);
    make_killed(100, 7, 150, LAP_QUEUE_MIN_BYTES);
    store_file(trace_tail_path, tail.data, tail.bytes);
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_DONE && !result.whole && !result.used_tail);

    make_killed(100, 7, 150, LAP_QUEUE_MIN_BYTES);
    tail.data[9] ^= 0xff;
    store_file(trace_tail_path, tail.data, tail.bytes);
    CHECK_EQ_INT(finish(false, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_REFUSED && strstr(lap_error_message(), "may have calls that the trace lacks"));
    free(tail.data);
}

UNIT_TEST(what_is_being_recorded_is_left_alone)
{
    struct lap_finish_result result;
    writer = create_queued_trace(LAP_CODEC_LZ4, NULL, LAP_QUEUE_MIN_BYTES);
    (void)write_packet(lap_writer_stream(writer, 1), 1);
    lap_writer_frame(writer);
    CHECK_EQ_INT(finish(true, &result), LAP_OK);
    CHECK(result.outcome == LAP_FINISH_RECORDING);
    /* Without a tail file the trace itself says it. */
    int fd = open(trace_path, O_RDWR | O_CLOEXEC);
    CHECK(flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    close(fd);
    lap_writer_destroy(&writer);
    struct contents after = read_all();
    CHECK(after.complete && after.packets == 1);
}

/* ---- notes of the end that are none ---- */

UNIT_TEST(a_note_that_contradicts_itself_is_refused)
{
    uint8_t data[LAP_END_NOTE_HEAD_BYTES];
    struct lap_end_note note = {.whole = true, .last_ticket = 9, .how = LAP_ENDED_STATUS, .number = 3}, loaded;
    note.by = LAP_ENDED_BY_REPAIR;
    lap_end_note_store(&note, data);
    CHECK_EQ_INT(lap_end_note_load(data, sizeof(data), &loaded), LAP_OK);
    CHECK(loaded.whole && loaded.last_ticket == 9 && loaded.how == LAP_ENDED_STATUS && loaded.number == 3);
    CHECK_EQ_INT(lap_end_note_load(data, sizeof(data) - 1, &loaded), LAP_ERROR_FORMAT);
    CHECK_EQ_INT(lap_end_note_load(data, LAP_END_NOTE_MAX_BYTES + 1, &loaded), LAP_ERROR_FORMAT);
    for (size_t at = 8; at <= 20; at += at == 12 ? 8 : 4) {
        lap_end_note_store(&note, data);
        data[at] = 99;
        CHECK_EQ_INT(lap_end_note_load(data, sizeof(data), &loaded), LAP_ERROR_FORMAT);
    }
}

UNIT_MAIN();
