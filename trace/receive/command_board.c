/* SPDX-License-Identifier: MIT */
#include "trace/receive/command_board.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "trace/send/exchange.h"

#define EXCHANGE_MS 10000

void lap_command_board_init(struct lap_command_board *board)
{
    memset(board, 0, sizeof *board);
    pthread_mutex_init(&board->mutex, NULL);
    pthread_cond_init(&board->free, NULL);
    for (unsigned i = 0; i < LAP_COMMAND_MOST_OBEYING; i++)
        board->all[i].fd = -1;
}

/* ---- processes that take commands ---- */

static struct lap_command_obeying *enter(struct lap_command_board *board, int fd, const struct lap_greeted *who)
{
    struct lap_command_obeying *place = NULL;
    pthread_mutex_lock(&board->mutex);
    for (unsigned i = 0; i < LAP_COMMAND_MOST_OBEYING && !place && !board->ending; i++)
        if (board->all[i].fd < 0)
            place = &board->all[i];
    if (place)
        *place = (struct lap_command_obeying){.who = *who, .fd = fd};
    pthread_mutex_unlock(&board->mutex);
    return place;
}

static void leave(struct lap_command_board *board, struct lap_command_obeying *place)
{
    pthread_mutex_lock(&board->mutex);
    place->gone = true;
    while (place->busy)
        pthread_cond_wait(&board->free, &board->mutex);
    place->fd = -1;
    pthread_mutex_unlock(&board->mutex);
}

void lap_command_board_obey(struct lap_command_board *board, int fd, const struct lap_greeted *who)
{
    struct pollfd wait = {.fd = fd, .events = POLLRDHUP}; /* the thread that gives a command reads the answer */
    struct lap_command_obeying *place = enter(board, fd, who);
    if (!place)
        return;
    while (poll(&wait, 1, -1) < 0 && errno == EINTR)
        ;
    leave(board, place);
}

void lap_command_board_end(struct lap_command_board *board)
{
    pthread_mutex_lock(&board->mutex);
    board->ending = true;
    for (unsigned i = 0; i < LAP_COMMAND_MOST_OBEYING; i++)
        if (board->all[i].fd >= 0 && !board->all[i].busy)
            (void)shutdown(board->all[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&board->mutex);
}

/* ---- clients that give commands ---- */

/* Takes a process that is meant, until put_back. NULL: it is not there, or not meant. */
static struct lap_command_obeying *take(struct lap_command_board *board, unsigned i, uint32_t process)
{
    struct lap_command_obeying *place = &board->all[i];
    bool taken;
    pthread_mutex_lock(&board->mutex);
    while (place->fd >= 0 && place->busy)
        pthread_cond_wait(&board->free, &board->mutex);
    taken = place->fd >= 0 && !place->gone && !board->ending && (!process || place->who.process == process);
    place->busy |= taken;
    pthread_mutex_unlock(&board->mutex);
    return taken ? place : NULL;
}

/* broken: the next answer can't be matched to a command. */
static void put_back(struct lap_command_board *board, struct lap_command_obeying *place, bool broken)
{
    pthread_mutex_lock(&board->mutex);
    place->busy = false;
    if (broken || board->ending)
        (void)shutdown(place->fd, SHUT_RDWR);
    pthread_cond_broadcast(&board->free);
    pthread_mutex_unlock(&board->mutex);
}

/* A late answer may still come: its number names its command. */
static enum lap_status ask(struct lap_command_board *board, int fd, const struct lap_command_request *request,
                           struct lap_command_answer *out)
{
    struct lap_command_request own = *request;
    int64_t now = lap_exchange_now_ms();
    pthread_mutex_lock(&board->mutex);
    own.number = ++board->numbers;
    pthread_mutex_unlock(&board->mutex);
    enum lap_status status = lap_command_send(fd, &own, now + EXCHANGE_MS);
    do {
        if (status == LAP_OK)
            status = lap_command_answer_receive(fd, out, now + LAP_COMMAND_WAIT_MS);
    } while (status == LAP_OK && out->number != own.number);
    return status;
}

static enum lap_status hand_on(struct lap_command_board *board, int fd, struct lap_command_obeying *place,
                               const struct lap_command_request *request)
{
    struct lap_command_process process = {.process = place->who.process};
    struct lap_command_answer answer = {.outcome = LAP_COMMAND_NO_ANSWER};
    enum lap_status status = ask(board, place->fd, request, &answer);
    snprintf(process.name, sizeof process.name, "%s", place->who.program);
    if (status != LAP_OK) {
        answer = (struct lap_command_answer){.outcome = LAP_COMMAND_NO_ANSWER};
        snprintf(answer.text, sizeof answer.text, "%s", lap_error_message());
    }
    put_back(board, place, status != LAP_OK);
    status = lap_command_process_send(fd, &process, lap_exchange_now_ms() + EXCHANGE_MS);
    return status == LAP_OK ? lap_command_answer_send(fd, &answer, lap_exchange_now_ms() + EXCHANGE_MS) : status;
}

static void count(struct lap_command_board *board, int by)
{
    pthread_mutex_lock(&board->mutex);
    board->commanders += (unsigned)by;
    pthread_cond_broadcast(&board->free);
    pthread_mutex_unlock(&board->mutex);
}

void lap_command_board_give(struct lap_command_board *board, int fd)
{
    static const struct lap_command_process end = {.process = 0};
    struct lap_command_request request;
    count(board, 1);
    enum lap_status status = lap_command_receive(fd, &request, lap_exchange_now_ms() + EXCHANGE_MS);
    for (unsigned i = 0; i < LAP_COMMAND_MOST_OBEYING && status == LAP_OK; i++) {
        struct lap_command_obeying *place = take(board, i, request.number);
        if (place)
            status = hand_on(board, fd, place, &request);
    }
    if (status == LAP_OK)
        status = lap_command_process_send(fd, &end, lap_exchange_now_ms() + EXCHANGE_MS);
    (void)status; /* a client that does not wait for the answers gets none */
    count(board, -1);
}

void lap_command_board_drain(struct lap_command_board *board)
{
    pthread_mutex_lock(&board->mutex);
    while (board->commanders)
        pthread_cond_wait(&board->free, &board->mutex);
    pthread_mutex_unlock(&board->mutex);
}
