/* SPDX-License-Identifier: MIT */
/*
 * command_board: hands commands (lapilli control) to the processes that stream to a receiver, and their answers back.
 * One process at a time for each command; two commands for one process wait for each other. Any thread.
 */
#ifndef LAP_TRACE_RECEIVE_COMMAND_BOARD_H
#define LAP_TRACE_RECEIVE_COMMAND_BOARD_H

#include <pthread.h>
#include <stdbool.h>

#include "trace/send/command.h"
#include "trace/send/greeting.h"

#define LAP_COMMAND_MOST_OBEYING 64u

struct lap_command_obeying {
    struct lap_greeted who;
    int fd; /* -1: no process */
    bool busy, gone;
};

struct lap_command_board {
    pthread_mutex_t mutex; /* for all below */
    pthread_cond_t free;   /* some process is not busy any more */
    struct lap_command_obeying all[LAP_COMMAND_MOST_OBEYING];
    uint32_t numbers;
    unsigned commanders;
    bool ending;
};

void lap_command_board_init(struct lap_command_board *board);

/* A process takes commands at this socket. Returns when it no longer does, or after lap_command_board_end. */
void lap_command_board_obey(struct lap_command_board *board, int fd, const struct lap_greeted *who);

/* A client gives a command at this socket. */
void lap_command_board_give(struct lap_command_board *board, int fd);

/* No process gets another command; a command under way is finished. */
void lap_command_board_end(struct lap_command_board *board);

/* After that: waits until the clients have their answers, each at most LAP_COMMAND_WAIT_MS and a little more. */
void lap_command_board_drain(struct lap_command_board *board);

#endif
