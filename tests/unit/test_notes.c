/* SPDX-License-Identifier: MIT */
/* What the layer's notes say when threads crash, and when they go on. Only the layer's notes.c and thread.c. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

#include "layer/core/notes.h"
#include "layer/core/thread.h"
#include "tests/unit/trace_file.h"

enum { COMMAND = 1, THREADS = 2 };

static void ended(struct layer_thread *thread)
{
    layer_notes_thread_ended(thread);
}

static bool encode(struct lap_enc *enc, enum gen_command command, const void *args, uint64_t *out_command_buffer)
{
    lap_put_u64(enc, 7);
    return true;
}

static void begin_call(struct layer_call *call)
{
    if (layer_call_begin(call, (enum gen_command)COMMAND, NULL))
        layer_note_encode(call);
}

static struct lap_writer *writer;
static pthread_rwlock_t *lock, parts_lock = PTHREAD_RWLOCK_INITIALIZER;

static bool begin(void)
{
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    if (!layer_threads_init(ended))
        return false;
    layer_notes_start(writer, encode, lock);
    return atomic_load(&layer_notes_on);
}

/* A process that does this and is killed. */
static struct lap_reader *read_killed(bool (*work)(void))
{
    int status;
    fresh_trace_path();
    pid_t child = fork();
    if (child == 0) {
        if (begin() && work())
            raise(SIGKILL);
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    return open_trace(NULL);
}

static sem_t crashed, go_on, done;

/* Crashes in a call, and makes another one: it has left the first by a jump. */
static void *crash_and_go_on(void *argument)
{
    struct layer_call call, next;
    begin_call(&call);
    layer_notes_signal(SIGSEGV, false);
    sem_post(&crashed);
    sem_wait(&go_on);
    begin_call(&next);
    layer_call_end(&next);
    sem_post(&done);
    sem_wait(&crashed);
    return NULL;
}

static bool crash_several(void)
{
    struct layer_call call;
    pthread_t thread;
    bool known;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_create(&thread, NULL, crash_and_go_on, NULL);
        sem_wait(&crashed);
    }
    known = layer_notes_crashed();
    for (unsigned i = 0; i < THREADS; i++)
        sem_post(&go_on);
    for (unsigned i = 0; i < THREADS; i++)
        sem_wait(&done);
    begin_call(&call);
    return known && !layer_notes_crashed();
}

UNIT_TEST(threads_that_go_on_behind_a_crash_leave_no_signal)
{
    sem_init(&crashed, 0, 0);
    sem_init(&go_on, 0, 0);
    sem_init(&done, 0, 0);
    struct lap_reader *reader = read_killed(crash_several);
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK_EQ_U64(summary->in_flight_count, 1);
    CHECK(summary->in_flight[0].signal == 0 && summary->in_flight[0].flags == 0);
    lap_reader_close(&reader);
}

static void *crash_without_a_call(void *argument)
{
    layer_notes_signal(SIGSEGV, argument != NULL);
    return NULL;
}

static bool crash_beside_a_call(void *fatal)
{
    struct layer_call call;
    pthread_t thread;
    begin_call(&call);
    pthread_create(&thread, NULL, crash_without_a_call, fatal);
    pthread_join(thread, NULL);
    return true;
}

static bool end_beside_a_call(void)
{
    return crash_beside_a_call(&crashed);
}

static bool be_handled_beside_a_call(void)
{
    return crash_beside_a_call(NULL);
}

UNIT_TEST(a_signal_of_a_thread_without_calls_is_noted_if_it_ends_the_process)
{
    struct lap_reader *reader = read_killed(end_beside_a_call);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, 1);
    CHECK_EQ_INT(lap_reader_summary(reader)->in_flight[0].signal, SIGSEGV);
    CHECK_EQ_INT(lap_reader_summary(reader)->in_flight[0].flags, 0);
    lap_reader_close(&reader);
    reader = read_killed(be_handled_beside_a_call);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, 1);
    CHECK_EQ_INT(lap_reader_summary(reader)->in_flight[0].signal, 0);
    lap_reader_close(&reader);
}

/* ---- one file behind the other ---- */

static void begin_part(void)
{
    writer = create_trace(LAP_CODEC_LZ4, NULL);
    layer_notes_start(writer, encode, &parts_lock);
}

static void end_part(void)
{
    lap_writer_end(writer);
    layer_notes_leave(writer);
    lap_writer_destroy(&writer);
}

/* As who begins a part does: nobody else encodes a call meanwhile. */
static void lock_parts(void)
{
    pthread_rwlock_wrlock(&parts_lock);
    layer_thread_current()->changes_parts = true;
}

static void unlock_parts(void)
{
    layer_thread_current()->changes_parts = false;
    pthread_rwlock_unlock(&parts_lock);
}

static void take_turn(void)
{
    lock_parts();
    end_part();
    begin_part();
    unlock_parts();
}

static struct lap_reader *read_killed_in_parts(bool (*work)(void))
{
    lock = &parts_lock;
    struct lap_reader *reader = read_killed(work);
    lock = NULL;
    CHECK(!strstr(lap_reader_summary(reader)->stopped, "damaged"));
    return reader;
}

static void *make_a_call(void *crashes)
{
    struct layer_call call;
    begin_call(&call);
    if (crashes)
        layer_notes_signal(SIGSEGV, true);
    sem_post(&crashed);
    sem_wait(&go_on);
    layer_call_end(&call);
    sem_post(&done);
    sem_wait(&crashed);
    return NULL;
}

/* In which the thread that takes the turn is in a call, too, as in a present: that belongs to the older file. */
static bool call_during_a_turn(void *crashes)
{
    struct layer_call own;
    pthread_t thread;
    pthread_create(&thread, NULL, make_a_call, crashes);
    sem_wait(&crashed);
    begin_call(&own);
    take_turn();
    layer_call_end(&own);
    return atomic_load(&layer_notes_on);
}

static bool call_and_turn(void)
{
    return call_during_a_turn(NULL);
}

static bool crash_and_turn(void)
{
    return call_during_a_turn(&crashed) && layer_notes_crashed();
}

static bool return_behind_a_turn(void)
{
    bool good = call_and_turn();
    sem_post(&go_on);
    sem_wait(&done);
    return good;
}

static bool return_between_parts(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, make_a_call, NULL);
    sem_wait(&crashed);
    lock_parts();
    end_part();
    unlock_parts();
    sem_post(&go_on);
    sem_wait(&done);
    lock_parts();
    begin_part();
    unlock_parts();
    return atomic_load(&layer_notes_on);
}

static const struct lap_in_flight *check_one_call(const struct lap_reader *reader, uint32_t flags, uint32_t signal)
{
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    CHECK_EQ_U64(summary->in_flight_count, 1);
    CHECK_EQ_INT(summary->in_flight[0].flags, flags);
    CHECK_EQ_INT(summary->in_flight[0].signal, signal);
    return summary->in_flight;
}

UNIT_TEST(a_call_that_is_under_way_at_a_turn_is_noted_in_the_next_file)
{
    sem_init(&crashed, 0, 0);
    sem_init(&go_on, 0, 0);
    sem_init(&done, 0, 0);
    struct lap_reader *reader = read_killed_in_parts(call_and_turn);
    const struct lap_in_flight *call = check_one_call(reader, 0, 0);
    CHECK(call->command == COMMAND && call->bytes == 1 && call->body[0] == 7 && call->thread_id != 0);
    lap_reader_close(&reader);
    reader = read_killed_in_parts(crash_and_turn);
    check_one_call(reader, LAP_IN_FLIGHT_GUILTY, SIGSEGV);
    lap_reader_close(&reader);
}

UNIT_TEST(a_call_that_has_returned_is_in_no_later_file)
{
    struct lap_reader *reader = read_killed_in_parts(return_behind_a_turn);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, 0);
    lap_reader_close(&reader);
    reader = read_killed_in_parts(return_between_parts);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, 0);
    lap_reader_close(&reader);
}

/* A command with this number. Recorded before there was a file, in one, or in the one before. */
static const uint8_t command[LAP_NOTE_COMMAND_MOST + 16] = {3, 0xaa, 0xbb};

static bool record_before_the_part(void)
{
    struct layer_cmdbuf_note note = {0};
    lock_parts();
    end_part();
    unlock_parts();
    layer_note_command(&note, 5, command, 3);
    layer_note_command_returned(&note);
    lock_parts();
    begin_part();
    unlock_parts();
    layer_note_command(&note, 5, command, 3);
    return note.place != NULL;
}

static bool record_across_a_turn(void)
{
    struct layer_cmdbuf_note note = {0}, other = {0}, next = {0};
    struct layer_call call;
    begin_call(&call);
    layer_call_end(&call);
    layer_notes_begin(&note);
    layer_notes_begin(&other);
    layer_note_command(&note, 5, command, 3);
    layer_note_command_returned(&note);
    layer_note_command(&other, 6, command, 3);
    take_turn();
    layer_note_command_returned(&other);
    layer_notes_end(&other);
    layer_notes_begin(&next);
    layer_note_command(&next, 7, command, 3);
    layer_note_command_returned(&next);
    layer_note_command(&note, 5, command, 3);
    return note.place != next.place;
}

UNIT_TEST(a_command_buffer_that_is_recorded_across_a_turn_has_its_commands_noted)
{
    bool (*const works[])(void) = {record_before_the_part, record_across_a_turn};
    for (unsigned i = 0; i < 2; i++) {
        struct lap_reader *reader = read_killed_in_parts(works[i]);
        const struct lap_in_flight *call = check_one_call(reader, LAP_IN_FLIGHT_COMMAND, 0);
        CHECK(call->command == 3 && call->command_buffer == 5 && call->bytes == 2 && call->body[1] == 0xbb);
        CHECK(call->thread_id != 0);
        lap_reader_close(&reader);
    }
}

enum { TURNS = 60, CALLERS = 3 };
static atomic_bool enough;

static void *make_calls(void *argument)
{
    while (!atomic_load(&enough)) {
        struct layer_cmdbuf_note note = {0};
        struct layer_call call;
        begin_call(&call);
        layer_call_end(&call);
        layer_notes_begin(&note);
        for (unsigned i = 0; i < 8; i++) {
            layer_note_command(&note, 5, command, i == 7 ? sizeof command : 3);
            layer_note_command_returned(&note);
        }
        layer_notes_end(&note);
    }
    sem_post(&done);
    sem_wait(&crashed);
    return NULL;
}

static bool take_turns(void)
{
    pthread_t threads[CALLERS];
    for (unsigned i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, make_calls, NULL);
    for (unsigned i = 0; i < TURNS; i++)
        take_turn();
    atomic_store(&enough, true);
    for (unsigned i = 0; i < CALLERS; i++)
        sem_wait(&done);
    return true;
}

UNIT_TEST(turns_beside_threads_that_make_calls_leave_none_in_flight)
{
    struct lap_reader *reader = read_killed_in_parts(take_turns);
    CHECK_EQ_U64(lap_reader_summary(reader)->in_flight_count, 0);
    lap_reader_close(&reader);
}

UNIT_MAIN();
