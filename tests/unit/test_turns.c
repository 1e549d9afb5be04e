/* SPDX-License-Identifier: MIT */
/* Two recordings in turn: when the next one is due, and what becomes of the older one, in files and on streams. */
#include "layer/part/turns.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "layer/core/layer.h"
#include "tests/unit/trace_file.h"
#include "trace/send/send.h"

struct layer_state layer;

static bool crashed;

bool layer_notes_crashed(void)
{
    return crashed;
}

/* As in recording.c, without threads that record. */
void layer_recording_close(uint64_t *out_frames, uint64_t *out_bytes, struct lap_own_file *connection)
{
    struct lap_writer *writer = atomic_exchange(&layer.writer, NULL);
    *out_frames = *out_bytes = 0;
    lap_writer_end(writer);
    if (connection && !lap_writer_take_connection(writer, connection))
        lap_own_file_release(connection);
    lap_writer_destroy(&writer);
}

static void begin(enum lap_length_unit unit, uint64_t amount)
{
    layer.options.parts.keep_last = (struct lap_length){unit, amount};
    layer_turns_init();
    CHECK(layer_turns_on() == (unit != LAP_LENGTH_NONE));
}

static bool is_due(uint64_t frames, uint64_t milliseconds)
{
    return layer_turn_is_due(&(struct layer_turn_time){frames, milliseconds});
}

UNIT_TEST(the_next_one_is_due_when_the_newer_one_is_long_enough)
{
    const struct layer_turn_time taken = {20, 1500};
    const struct lap_length frames = {LAP_LENGTH_FRAMES, 10}, none = {.unit = LAP_LENGTH_NONE};

    begin(LAP_LENGTH_MILLISECONDS, 1000);
    CHECK(!is_due(1000, 999) && is_due(0, 1000));
    layer_turn_taken(&taken);
    CHECK(!is_due(1000, 2499) && is_due(0, 2500));
    layer_turns_set(&frames); /* counted from the same moment on */
    CHECK(!is_due(29, 100000) && is_due(30, 0));
    layer_turn_keep();
    CHECK(is_due(20, 1500));
    layer_turn_taken(&taken);
    CHECK(!is_due(20, 1500));
    layer_turns_set(&none);
    CHECK(!layer_turns_on() && !is_due(1000, 1000000));
    begin(LAP_LENGTH_NONE, 0);
}

UNIT_TEST(a_turn_waits_for_a_thread_that_has_crashed_but_not_for_ever)
{
    begin(LAP_LENGTH_FRAMES, 10);
    crashed = true;
    CHECK(!is_due(10, 0) && !is_due(19, 0) && is_due(20, 0));
    layer_turn_keep();
    CHECK(is_due(1, 0));
    crashed = false;
    begin(LAP_LENGTH_NONE, 0);
}

/* ---- files ---- */

static void write_file(const char *name, char out[700])
{
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer;

    snprintf(out, 700, "%s/%s", trace_folder, name);
    CHECK_EQ_INT(lap_writer_create(out, &options, &writer), LAP_OK);
    atomic_store(&layer.writer, writer);
}

static void turn(void)
{
    uint64_t frames, bytes;
    layer_turn_end(&frames, &bytes);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

UNIT_TEST(the_older_file_goes_unless_it_is_kept)
{
    char one[700], two[700], three[700], four[700], five[700], mine[700];

    fresh_trace_path();
    begin(LAP_LENGTH_FRAMES, 10);
    write_file("one", one);
    turn();
    write_file("two", two);
    CHECK(exists(one));
    turn();
    write_file("three", three);
    CHECK(!exists(one) && exists(two));
    layer_turn_keep();
    turn();
    write_file("four", four);
    turn();
    write_file("five", five);
    CHECK(exists(two) && exists(three) && exists(four));
    snprintf(mine, sizeof mine, "%s/mine", trace_folder);
    CHECK(close(open(mine, O_CREAT | O_WRONLY, 0600)) == 0 && rename(mine, four) == 0); /* somebody else's */
    turn();
    CHECK(exists(four) && exists(five));
    layer_turns_end(); /* nothing follows: it stays */
    write_file("one", one);
    turn();
    write_file("six", two);
    turn();
    CHECK(exists(five) && !exists(one));
    layer_turns_end();
}

/* ---- streams ---- */

/* The receiver's end. */
static int write_stream(void)
{
    struct lap_writer_options options = TRACE_OPTIONS;
    struct lap_writer *writer = NULL;
    int ends[2];

    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    options.streamed = true;
    options.socket = ends[0];
    options.queue_bytes = LAP_WRITER_NO_QUEUE;
    CHECK_EQ_INT(lap_writer_create("unix:somewhere", &options, &writer), LAP_OK);
    atomic_store(&layer.writer, writer);
    return ends[1];
}

enum fate { OPEN, STAYS, GOES };

/* What the receiver has been told so far. */
static enum fate fate_of(int socket)
{
    static uint8_t last[LAP_RECORD_BYTES], forget[LAP_RECORD_BYTES];
    uint8_t buffer[4096];
    ssize_t got;

    memset(last, 0, sizeof last);
    lap_record_store(forget, LAP_RECORD_FORGET, 0);
    while ((got = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
        if ((size_t)got >= sizeof last)
            memcpy(last, buffer + got - sizeof last, sizeof last);
    if (got < 0)
        return OPEN;
    return memcmp(last, forget, sizeof last) == 0 ? GOES : STAYS;
}

static void confirm_turn(int socket)
{
    uint8_t record[LAP_RECORD_BYTES];

    lap_record_store(record, LAP_RECORD_DONE, 0); /* another number than the writer's, of which the log has a word */
    CHECK(send(socket, record, sizeof record, 0) == (ssize_t)sizeof record);
    turn();
}

UNIT_TEST(the_receiver_of_the_older_stream_is_told)
{
    int one, two, three, four;

    begin(LAP_LENGTH_FRAMES, 10);
    one = write_stream();
    confirm_turn(one);
    two = write_stream();
    CHECK_EQ_INT(fate_of(one), OPEN);
    confirm_turn(two);
    three = write_stream();
    CHECK(fate_of(one) == GOES && fate_of(two) == OPEN);
    layer_turn_keep();
    confirm_turn(three);
    CHECK(fate_of(two) == STAYS && fate_of(three) == STAYS);
    four = write_stream();
    confirm_turn(four);
    CHECK_EQ_INT(fate_of(four), OPEN);
    layer_turns_end();
    CHECK_EQ_INT(fate_of(four), STAYS);
    close(one);
    close(two);
    close(three);
    close(four);
}

/* Its parent's connection neither goes on nor is used. */
UNIT_TEST(a_child_lets_go_of_the_older_stream)
{
    int one;

    begin(LAP_LENGTH_FRAMES, 10);
    one = write_stream();
    confirm_turn(one);
    CHECK_EQ_INT(fate_of(one), OPEN);
    layer_turns_forked();
    CHECK_EQ_INT(fate_of(one), STAYS); /* as far as this process goes */
    begin(LAP_LENGTH_FRAMES, 10);
    close(one);
}

UNIT_MAIN();
