/* SPDX-License-Identifier: MIT */
/* Notes of calls in the tail file of a process that was killed: what a reader finds of them, whole, taken back, damaged
 * and forged; and what becomes of the mapping when somebody cuts the file. */
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/trace_file.h"
#include "trace/crash/notes.h"
#include "trace/crash/tail.h"
#include "trace/format/bytes.h"
#include "trace/format/hash.h"
#include "trace/write/writer_internal.h"

enum { BODY = 100, COMMAND_BODY = 40, LARGE_BODY = 100000, SELF = 0x1234, KERNEL_ID = 77 };

static struct lap_writer *writer;
static struct lap_notes *notes;

static void *private_place(void)
{
    void *place = mmap(NULL, LAP_NOTES_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    return place;
}

static bool begin(void)
{
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    (void)write_packet(lap_writer_stream(writer, 1), 1);
    lap_writer_frame(writer);
    notes = private_place();
    return lap_writer_map_notes(writer, notes);
}

static void note_call(uint8_t *entry, uint32_t command, size_t bytes)
{
    struct lap_in_flight call = {.command = command, .thread_id = KERNEL_ID, .ticket = 1, .bytes = bytes};
    memset(entry + LAP_IN_FLIGHT_HEAD_BYTES, 0xa0 + (int)command, bytes);
    lap_in_flight_store(entry, &call, lap_writer_calls_seed(writer));
}

static void note_command(struct lap_note_command *note, uint64_t command_buffer, size_t bytes)
{
    uint8_t body[LAP_NOTE_COMMAND_MOST + 16] = {3}; /* its number, and what follows */
    memset(body + 1, 0xb0, bytes - 1);
    lap_note_command(note, SELF, command_buffer, body, bytes);
}

static void fill(void)
{
    lap_note_thread_begin(&notes->threads[0], SELF, KERNEL_ID, lap_writer_calls_seed(writer));
    note_call(notes->threads[0].call, 1, BODY);
    note_command(&notes->commands[0], 9, COMMAND_BODY);
    if (lap_writer_reserve_note(writer, 1))
        note_call(notes->large[1].call, 2, LARGE_BODY);
}

enum { CALL, COMMAND, LARGE, KINDS };

/* A process that was killed, if what it did was good. */
static void make_killed(bool (*work)(int), int argument)
{
    int status;
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        if (begin() && work(argument))
            raise(SIGKILL);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

/* taken_back: which of them returned before; KINDS: none. */
static bool fill_and_take_back(int taken_back)
{
    fill();
    if (taken_back == CALL)
        lap_note_thread_end(&notes->threads[0]);
    else if (taken_back == COMMAND)
        lap_note_command_returned(&notes->commands[0]);
    else if (taken_back == LARGE)
        lap_in_flight_strike(notes->large[1].call);
    return true;
}

static void make_killed_trace(int taken_back)
{
    make_killed(fill_and_take_back, taken_back);
}

/* How many calls a reader finds, as bits of their kinds. */
static unsigned kinds_found(bool *out_damaged)
{
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    unsigned kinds = 0;
    CHECK_EQ_U64(summary->frames, 1);
    for (size_t i = 0; i < summary->in_flight_count; i++) {
        uint32_t command = summary->in_flight[i].command;
        kinds |= 1u << (command == 1 ? CALL : command == 3 ? COMMAND : LARGE);
    }
    if (out_damaged)
        *out_damaged = strstr(summary->stopped, "notes of calls in its tail file are damaged") != NULL;
    lap_reader_close(&reader);
    return kinds;
}

enum { ALL = (1 << KINDS) - 1 };

UNIT_TEST(notes_are_read_as_written)
{
    make_killed_trace(KINDS);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    const struct lap_in_flight *calls = summary->in_flight;
    CHECK_EQ_U64(summary->in_flight_count, KINDS);
    CHECK(calls[0].command == 1 && calls[0].flags == 0 && calls[0].signal == 0 && calls[0].ticket == 1);
    CHECK(calls[0].thread_id == KERNEL_ID && calls[0].bytes == BODY);
    CHECK(calls[1].command == 3 && calls[1].flags == LAP_IN_FLIGHT_COMMAND && calls[1].command_buffer == 9);
    CHECK(calls[1].thread_id == KERNEL_ID && calls[1].bytes == COMMAND_BODY - 1);
    CHECK(calls[2].command == 2 && calls[2].bytes == LARGE_BODY);
    for (unsigned i = 0; i < KINDS; i++)
        for (size_t byte = 0; byte < calls[i].bytes; byte++)
            CHECK_EQ_INT(calls[i].body[byte], i == 0 ? 0xa1 : i == 1 ? 0xb0 : 0xa2);
    CHECK(!summary->complete && strstr(summary->stopped, "3 calls had not returned"));
    CHECK(!strstr(summary->stopped, "damaged;"));
    lap_reader_close(&reader);
}

UNIT_TEST(what_has_returned_is_left_out)
{
    bool damaged;
    for (int kind = 0; kind < KINDS; kind++) {
        make_killed_trace(kind);
        CHECK_EQ_INT(kinds_found(&damaged), ALL & ~(1u << kind));
        CHECK(!damaged);
    }
}

/* A byte that is not what it was: the note is not there, and that is said. */
UNIT_TEST(damage_is_reported)
{
    static const struct {
        int kind;
        size_t from, to;
    } parts[] = {
        {CALL, offsetof(struct lap_notes, threads[0].call), LAP_IN_FLIGHT_HEAD_BYTES + BODY},
        {COMMAND, offsetof(struct lap_notes, commands[0].noted[0]), 16 + COMMAND_BODY},
        {COMMAND, offsetof(struct lap_notes, commands[0].noted[1]), 16 + COMMAND_BODY},
        {LARGE, offsetof(struct lap_notes, large[1].call), LAP_IN_FLIGHT_HEAD_BYTES + LARGE_BODY},
    };
    make_killed_trace(KINDS);
    struct file_bytes tail = load_file(trace_tail_path);
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        for (size_t at = 0; at<parts[i].to; at += parts[i].to> 1000 && at > 64 ? 9973 : 3, tried++) {
            uint8_t *byte = tail.data + LAP_TAIL_NOTES_BEGIN + parts[i].from + at;
            bool state = parts[i].kind != COMMAND && at > LAP_IN_FLIGHT_STATE_AT && at < 8, damaged;
            if (state) /* the state is the first of four bytes, the others mean nothing */
                continue;
            *byte ^= 0x14;
            store_file(trace_tail_path, tail.data, tail.bytes);
            CHECK_EQ_INT(kinds_found(&damaged), ALL & ~(1u << parts[i].kind));
            CHECK(damaged);
            *byte ^= 0x14;
        }
    CHECK(tried > 80);
    /* Who the thread of the command was is told by its place: without that the command is still there. */
    tail.data[LAP_TAIL_NOTES_BEGIN + offsetof(struct lap_notes, threads[0].kernel_id)] ^= 1;
    store_file(trace_tail_path, tail.data, tail.bytes);
    struct lap_reader *reader = open_trace(NULL);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, KINDS);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight[1].thread_id, 0);
    lap_reader_close(&reader);
    free(tail.data);
}

/* Contents that no layer writes. */
UNIT_TEST(forged_notes_are_refused)
{
    enum { LONG, EMPTY, NUMBER_ZERO, NUMBER_LONG, NUMBER_ENDLESS, UNKNOWN, CALL_LONG, RING, CUT, VERSION_2, FORGERIES };
    make_killed_trace(KINDS);
    struct file_bytes tail = load_file(trace_tail_path);
    for (int what = 0; what < FORGERIES; what++) {
        uint8_t *data = malloc(tail.bytes), *at = data + LAP_TAIL_NOTES_BEGIN;
        uint8_t *command = at + offsetof(struct lap_notes, commands[0]);
        unsigned expected = ALL & ~(1u << COMMAND);
        size_t bytes = tail.bytes;
        bool damaged;
        memcpy(data, tail.data, tail.bytes);
        for (unsigned twin = 0; twin < 2; twin++) {
            uint8_t *noted =
                command + offsetof(struct lap_note_command, noted) + twin * sizeof(struct lap_noted_command);
            uint8_t *body = noted + offsetof(struct lap_noted_command, body);
            if (what == LONG)
                lap_store_u32(noted + 8, LAP_NOTE_COMMAND_MOST + 1);
            else if (what == EMPTY)
                lap_store_u32(noted + 8, 0);
            else if (what == NUMBER_ZERO)
                body[0] = 0;
            else if (what == NUMBER_LONG)
                memset(body, 0xff, 9), body[9] = 1;
            else if (what == NUMBER_ENDLESS)
                memset(body, 0xff, COMMAND_BODY);
            else if (what == UNKNOWN)
                body[0] = 99;
        }
        if (what == CALL_LONG) {
            lap_store_u32(at + offsetof(struct lap_notes, threads[0].call) + 28, UINT32_MAX);
            expected = ALL & ~(1u << CALL);
        } else if (what == RING) {
            lap_store_u64(data + LAP_TAIL_RING_AT, LAP_TAIL_NOTES_BEGIN + LAP_NOTES_CALLS_BYTES - 1);
            expected = 0;
        } else if (what == CUT) {
            bytes = LAP_TAIL_NOTES_BEGIN + LAP_NOTES_CALLS_BYTES - 1;
            expected = 0;
        } else if (what == VERSION_2) {
            lap_store_u32(data + 8, 2);
            lap_store_u64(data + 32, lap_hash64(data, 32));
            expected = 0;
        } else if (what == UNKNOWN) { /* whatever is not in the dictionary ends the list */
            expected = 1u << CALL;
        }
        store_file(trace_tail_path, data, bytes);
        struct lap_reader *reader = NULL;
        CHECK_EQ_INT(lap_reader_open(trace_path, NULL, &reader), LAP_OK);
        bool whole = lap_reader_summary(reader)->frames == 1;
        lap_reader_close(&reader);
        CHECK(whole || what == RING || what == CUT);
        if (whole) {
            CHECK_EQ_INT(kinds_found(&damaged), expected);
            CHECK(damaged == (what <= NUMBER_ENDLESS || what == CALL_LONG));
        }
        free(data);
    }
    free(tail.data);
}

static bool fill_all(int unused)
{
    bool good = true;
    for (unsigned i = 0; i < LAP_NOTES_THREADS; i++) {
        lap_note_thread_begin(&notes->threads[i], SELF + i, KERNEL_ID, lap_writer_calls_seed(writer));
        note_call(notes->threads[i].call, 1, sizeof(notes->threads[i].call) - LAP_IN_FLIGHT_HEAD_BYTES);
    }
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS; i++)
        note_command(&notes->commands[i], i, LAP_NOTE_COMMAND_MOST);
    for (unsigned i = 0; i < LAP_NOTES_LONG; i++) {
        good = good && lap_writer_reserve_note(writer, i);
        note_call(notes->large[i].call, 2, sizeof(notes->large[i].call) - LAP_IN_FLIGHT_HEAD_BYTES);
    }
    return good;
}

/* As many as there can be, and the list of an older recorder before them. */
UNIT_TEST(every_place_holds_a_note)
{
    size_t in_list = 0;
    make_killed(fill_all, 0);
    struct file_bytes tail = load_file(trace_tail_path), trace = load_file(trace_path);
    struct lap_in_flight call = {.command = 1, .thread_id = KERNEL_ID, .ticket = 1};
    for (size_t at = 0; at < LAP_IN_FLIGHT_AREA_BYTES; at += LAP_IN_FLIGHT_HEAD_BYTES, in_list++)
        lap_in_flight_store(tail.data + LAP_TAIL_HEADER_BYTES + at, &call, lap_tail_seed(trace.data + 16));
    store_file(trace_tail_path, tail.data, tail.bytes);
    free(tail.data), free(trace.data);
    struct lap_reader *reader = open_trace(NULL);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK_EQ_U64(summary->in_flight_count, in_list + LAP_NOTES_THREADS + LAP_NOTES_COMMANDS + LAP_NOTES_LONG);
    for (unsigned i = 0; i < LAP_NOTES_COMMANDS; i++)
        CHECK_EQ_U64(summary->in_flight[in_list + LAP_NOTES_THREADS + i].command_buffer, i);
    lap_reader_close(&reader);
}

static bool crash(int number)
{
    fill();
    lap_note_thread_begin(&notes->threads[1], SELF + 1, KERNEL_ID + 1, lap_writer_calls_seed(writer));
    struct lap_in_flight other = {.command = 2, .thread_id = KERNEL_ID + 1, .ticket = 1};
    lap_in_flight_store(notes->threads[1].call, &other, lap_writer_calls_seed(writer));
    lap_note_thread_stamp(&notes->threads[1], (uint32_t)number);
    return true;
}

/* Each call has the signal, and that of the thread that got it is guilty; a number that is no signal is none. */
UNIT_TEST(a_signal_is_of_its_thread)
{
    static const int numbers[] = {SIGSEGV, 0, 65, -1};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        uint32_t signal = i == 0 ? SIGSEGV : 0;
        make_killed(crash, numbers[i]);
        struct lap_reader *reader = open_trace(NULL);
        const struct lap_reader_summary *summary = lap_reader_summary(reader);
        CHECK_EQ_U64(summary->in_flight_count, KINDS + 1);
        for (size_t call = 0; call < summary->in_flight_count; call++) {
            const struct lap_in_flight *at = &summary->in_flight[call];
            CHECK(at->signal == signal);
            CHECK(!!(at->flags & LAP_IN_FLIGHT_GUILTY) == (signal && at->thread_id == KERNEL_ID + 1));
        }
        CHECK(!!strstr(summary->stopped, "crashed in") == !!signal);
        lap_reader_close(&reader);
    }
}

/* Who has the process's memory still, as a child has that did not hear of the layer, does not have the lock. */
UNIT_TEST(a_child_with_the_mapping_does_not_hold_the_lock)
{
    int ready[2], numbers[2], status;
    pid_t mapper = 0;
    char byte;
    fresh_trace_path();
    CHECK(pipe(ready) == 0 && pipe(numbers) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (!begin())
            _exit(1);
        fill();
        mapper = fork();
        if (mapper == 0) {
            close(writer->output.queue.file.own.fd);
            (void)!write(ready[1], "", 1);
            pause();
        }
        if (read(ready[0], &byte, 1) == 1 && write(numbers[1], &mapper, sizeof(mapper)) == sizeof(mapper))
            raise(SIGKILL);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(read(numbers[0], &mapper, sizeof(mapper)) == sizeof(mapper) && mapper > 0);
    CHECK_EQ_INT(kinds_found(NULL), ALL);
    CHECK(mapper > 0 && kill(mapper, SIGKILL) == 0);
    close(ready[0]), close(ready[1]), close(numbers[0]), close(numbers[1]);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)notes;
    if (at >= LAP_NOTES_BYTES || !lap_writer_drop_notes(writer))
        _exit(2);
}

/* Somebody cuts the file: stores go on, to memory that nobody else sees. */
UNIT_TEST(notes_go_on_in_memory_when_the_file_is_cut)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, before;
    fresh_trace_path();
    CHECK(begin());
    fill();
    CHECK_EQ_INT(sigaction(SIGBUS, &action, &before), 0);
    CHECK_EQ_INT(truncate(trace_tail_path, 0), 0);
    fill();
    note_command(&notes->commands[LAP_NOTES_COMMANDS - 1], 1, 1);
    memset(notes->large[LAP_NOTES_LONG - 1].call, 1, sizeof(notes->large[0].call));
    CHECK_EQ_INT(sigaction(SIGBUS, &before, NULL), 0);
    CHECK(lap_writer_drop_notes(writer)); /* again */
    lap_writer_destroy(&writer);
    note_command(&notes->commands[1], 1, 1);
    CHECK_EQ_INT(munmap(notes, LAP_NOTES_MAP_BYTES), 0);
}

static bool give_up(int unused)
{
    fill();
    lap_writer_give_notes_up(writer);
    fill();
    return true;
}

/* What is given up while calls are under way says nothing later. */
UNIT_TEST(dropped_notes_leave_no_calls)
{
    bool damaged;
    make_killed(give_up, 0);
    CHECK_EQ_INT(kinds_found(&damaged), 0);
    CHECK(!damaged);
}

/* The end of the file's use is the end of the mapping; the caller's memory is there all along. */
UNIT_TEST(notes_end_with_the_tail_file)
{
    fresh_trace_path();
    CHECK(begin());
    lap_writer_stop(writer, "for a test");
    CHECK(!lap_writer_map_notes(writer, notes) && !lap_writer_reserve_note(writer, 0));
    lap_writer_destroy(&writer);
    memset(notes, 0, LAP_NOTES_BYTES);
    CHECK_EQ_INT(munmap(notes, LAP_NOTES_MAP_BYTES), 0);
}

UNIT_MAIN();
