/* SPDX-License-Identifier: MIT */
/* Commands to recorded processes: messages of all sides, and the board of lapilli-receive that hands them on. */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "trace/format/bytes.h"
#include "trace/receive/command_board.h"
#include "trace/send/exchange.h"

#define SOON (lap_exchange_now_ms() + 60000)

static void make_ends(int ends[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
}

static void close_ends(int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* ---- messages ---- */

UNIT_TEST(messages_arrive_as_they_were_sent)
{
    struct lap_command_request request = {LAP_COMMAND_FRAMES, 7, "100-110"}, got_request;
    struct lap_command_answer answer = {8, LAP_COMMAND_REFUSED, LAP_STATE_RECORDING, 1, UINT64_MAX, 3, "no\n\x80"};
    struct lap_command_answer got_answer;
    struct lap_command_process process = {9, "cube"}, got_process;
    int ends[2];
    make_ends(ends);
    CHECK(lap_command_send(ends[0], &request, SOON) == LAP_OK);
    CHECK(lap_command_answer_send(ends[0], &answer, SOON) == LAP_OK);
    CHECK(lap_command_process_send(ends[0], &process, SOON) == LAP_OK);
    CHECK(lap_command_receive(ends[1], &got_request, SOON) == LAP_OK);
    CHECK(got_request.command == LAP_COMMAND_FRAMES && got_request.number == 7);
    CHECK_STR(got_request.text, "100-110");
    CHECK(lap_command_answer_receive(ends[1], &got_answer, SOON) == LAP_OK);
    CHECK(got_answer.number == 8 && got_answer.outcome == LAP_COMMAND_REFUSED &&
          got_answer.state == LAP_STATE_RECORDING);
    CHECK(got_answer.frames == 1 && got_answer.bytes == UINT64_MAX && got_answer.waited_us == 3);
    CHECK_STR(got_answer.text, "no??"); /* it goes to a terminal */
    CHECK(lap_command_process_receive(ends[1], &got_process, SOON) == LAP_OK);
    CHECK(got_process.process == 9);
    CHECK_STR(got_process.name, "cube");
    close_ends(ends);
}

UNIT_TEST(what_is_no_message_is_refused)
{
    for (unsigned what = 0; what < 6; what++) {
        struct lap_command_request request;
        struct lap_command_answer answer;
        uint8_t bytes[48] = "LPCM";
        int ends[2];
        make_ends(ends);
        if (what < 2) { /* another magic; a text that nobody has room for */
            lap_store_u32(bytes + 12, LAP_COMMAND_TEXT_BYTES);
            bytes[0] = what ? 'L' : 'l';
        } else {
            memcpy(bytes, what == 2 ? "LPCM" : "LPAN", 4);
            lap_store_u32(bytes + 8, what == 3 ? LAP_COMMAND_OUTCOME_COUNT : 0);
            lap_store_u32(bytes + 12, what == 4 ? UINT32_MAX : 0); /* a state of a newer layer is none */
            lap_store_u32(bytes + 40, what == 5 ? UINT32_MAX : 0);
        }
        CHECK(send(ends[0], bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes);
        if (what < 2)
            CHECK(lap_command_receive(ends[1], &request, SOON) == LAP_ERROR_FORMAT);
        else
            CHECK(lap_command_answer_receive(ends[1], &answer, SOON) == (what == 4 ? LAP_OK : LAP_ERROR_FORMAT));
        if (what == 4)
            CHECK(answer.state == LAP_STATE_NONE);
        close_ends(ends);
    }
}

UNIT_TEST(names_of_commands)
{
    CHECK_EQ_U64(lap_command_of("status"), LAP_COMMAND_STATUS);
    CHECK_EQ_U64(lap_command_of("stop"), LAP_COMMAND_STOP);
    CHECK_EQ_U64(lap_command_of("start"), LAP_COMMAND_START);
    CHECK_EQ_U64(lap_command_of("frames"), LAP_COMMAND_FRAMES);
    CHECK_EQ_U64(lap_command_of("keep-last"), LAP_COMMAND_KEEP_LAST);
    CHECK_EQ_U64(lap_command_of("nonsense"), 0);
}

/* ---- the board ---- */

enum behaviour { ANSWERS, ANSWERS_LATE, SENDS_NONSENSE, GOES };

struct process {
    int ends[2]; /* its own first */
    enum behaviour how;
    struct lap_greeted who;
    struct lap_command_board *board;
    pthread_t self, server;
    unsigned commands;
};

static void *live(void *argument)
{
    struct process *process = argument;
    struct lap_command_request request;
    while (lap_command_receive(process->ends[0], &request, SOON) == LAP_OK) {
        struct lap_command_answer answer = {.number = request.number, .state = LAP_STATE_RECORDING, .frames = 5};
        struct lap_command_answer other = answer;
        process->commands++;
        other.number--; /* to a command that nobody waits for any more */
        other.frames = 4;
        if (process->how == GOES)
            break;
        if (process->how == SENDS_NONSENSE)
            CHECK(send(process->ends[0], "nonsensenonsensenonsensenonsensenonsensenonsense", 48, MSG_NOSIGNAL) == 48);
        if (process->how == ANSWERS_LATE)
            CHECK(lap_command_answer_send(process->ends[0], &other, SOON) == LAP_OK);
        if (process->how != SENDS_NONSENSE)
            CHECK(lap_command_answer_send(process->ends[0], &answer, SOON) == LAP_OK);
    }
    (void)shutdown(process->ends[0], SHUT_RDWR);
    return NULL;
}

static void *serve(void *argument)
{
    struct process *process = argument;
    lap_command_board_obey(process->board, process->ends[1], &process->who);
    return NULL;
}

static void begin(struct process *process, struct lap_command_board *board, enum behaviour how, uint32_t number)
{
    *process = (struct process){.how = how, .board = board, .who = {.program = "cube", .process = number}};
    make_ends(process->ends);
    CHECK(pthread_create(&process->self, NULL, live, process) == 0);
    CHECK(pthread_create(&process->server, NULL, serve, process) == 0);
    for (bool there = false; !there; usleep(1000)) {
        pthread_mutex_lock(&board->mutex);
        for (unsigned i = 0; i < LAP_COMMAND_MOST_OBEYING; i++)
            there |= board->all[i].fd == process->ends[1];
        pthread_mutex_unlock(&board->mutex);
    }
}

static void end(struct process *process)
{
    pthread_join(process->server, NULL);
    (void)shutdown(process->ends[1], SHUT_RDWR);
    pthread_join(process->self, NULL);
    close_ends(process->ends);
}

struct commander {
    struct lap_command_board *board;
    int fd;
};

static void *command(void *argument)
{
    struct commander *commander = argument;
    lap_command_board_give(commander->board, commander->fd);
    return NULL;
}

/* How many processes answer; the last answer of process `number`. */
static unsigned give(struct lap_command_board *board, uint32_t to, uint32_t number, struct lap_command_answer *out)
{
    struct lap_command_request request = {.command = LAP_COMMAND_STATUS, .number = to};
    struct lap_command_process process;
    struct lap_command_answer answer;
    struct commander commander = {.board = board};
    unsigned count = 0;
    pthread_t thread;
    int ends[2];
    make_ends(ends);
    commander.fd = ends[1];
    CHECK(pthread_create(&thread, NULL, command, &commander) == 0);
    CHECK(lap_command_send(ends[0], &request, SOON) == LAP_OK);
    while (lap_command_process_receive(ends[0], &process, SOON) == LAP_OK && process.name[0]) {
        CHECK(lap_command_answer_receive(ends[0], &answer, SOON) == LAP_OK);
        if (process.process == number)
            *out = answer;
        count++;
    }
    pthread_join(thread, NULL);
    close_ends(ends);
    return count;
}

UNIT_TEST(commands_reach_those_that_are_meant)
{
    static struct lap_command_board board;
    struct lap_command_answer answer = {.number = 0};
    struct process one, late, nonsense, gone;
    lap_command_board_init(&board);
    CHECK_EQ_U64(give(&board, 0, 0, &answer), 0);
    begin(&one, &board, ANSWERS, 1);
    begin(&late, &board, ANSWERS_LATE, 2);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ_U64(give(&board, 0, 2, &answer), 2);
        CHECK(answer.outcome == LAP_COMMAND_DONE && answer.frames == 5); /* not the late one's 4 */
    }
    CHECK_EQ_U64(give(&board, 1, 1, &answer), 1);
    CHECK_EQ_U64(give(&board, 3, 3, &answer), 0);
    CHECK(one.commands == 4 && late.commands == 3);
    /* Those that are of no use do not keep others, and are not asked again. */
    begin(&nonsense, &board, SENDS_NONSENSE, 3);
    begin(&gone, &board, GOES, 4);
    CHECK_EQ_U64(give(&board, 3, 3, &answer), 1);
    CHECK(answer.outcome == LAP_COMMAND_NO_ANSWER && answer.text[0]);
    CHECK_EQ_U64(give(&board, 4, 4, &answer), 1);
    CHECK(answer.outcome == LAP_COMMAND_NO_ANSWER && answer.text[0]);
    end(&nonsense);
    end(&gone);
    CHECK_EQ_U64(give(&board, 0, 1, &answer), 2);
    lap_command_board_end(&board);
    end(&one);
    end(&late);
    CHECK_EQ_U64(give(&board, 0, 1, &answer), 0);
}

UNIT_MAIN();
