/* SPDX-License-Identifier: MIT */
#include "tools/program/run_guests.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/tool.h"
#include "trace/receive/listener.h"
#include "trace/receive/strangers.h"

#define MOST_PLAYING 16u
#define MOST_WAITING 16u /* behind the greeting; others wait in front of it */
#define STRANGERS    64u
#define MOST         (MOST_PLAYING + MOST_WAITING + STRANGERS + 32u) /* with those that end */

enum stage { NOBODY, GREETED, WAITS, PLAYS };

struct guest {
    enum stage stage;
    pid_t process;
    uint64_t number; /* by age */
    int fd;          /* the connection, while it is greeted; -1: closed */
    int ask; /* a socket to its process: a byte says that it waits, and another one that it is its turn; -1: closed */
};

struct guests {
    const struct run_guests_job *job;
    struct guest all[MOST];
    struct lap_strangers strangers;
    unsigned playing, waiting;
    uint64_t numbers;
    bool begun; /* one plays, or has */
    int stop[2], code;
};

/* ---- a guest's process ---- */

/* False: it is not wanted any more. */
static bool wait_for_turn(int fd, int ask)
{
    struct pollfd wait[2] = {{.fd = ask, .events = POLLIN}, {.fd = fd, .events = POLLRDHUP}};
    char turn;

    if (send(ask, "", 1, MSG_NOSIGNAL) != 1)
        return false;
    while (poll(wait, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return recv(ask, &turn, 1, MSG_DONTWAIT) == 1;
}

static int serve_guest(const struct run_guests_job *job, int fd, int ask, int stop)
{
    const struct lap_greeting_rules rules = {.token = job->token, .roles = 1u << LAP_ROLE_RUN};
    struct lap_greeted from;

    if (lap_greeting_answer(fd, &rules, &from) != LAP_OK) {
        fprintf(stderr, "%s: a connection was refused: %s\n", job->name, lap_error_message());
        return LAP_TOOL_FAILED;
    }
    if (!wait_for_turn(fd, ask))
        return LAP_TOOL_FAILED;
    close(ask);
    return job->play(job->user, fd, stop);
}

/* ---- all guests ---- */

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_connection(struct guests *guests, struct guest *guest)
{
    (void)lap_strangers_leave(&guests->strangers, guest->fd);
    close_one(&guest->fd);
}

static struct guest *find_place(struct guests *guests)
{
    for (unsigned i = 0; i < MOST; i++)
        if (guests->all[i].stage == NOBODY)
            return &guests->all[i];
    return NULL;
}

static void accept_one(struct guests *guests, struct guest *place)
{
    const struct run_guests_job *job = guests->job;
    int both[2], fd = lap_listener_accept(job->listener);
    pid_t process;

    if (fd < 0)
        return;
    process = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0 ? fork() : -2;
    if (process == 0) {
        for (unsigned i = 0; i < MOST; i++) { /* whose ends others would not see */
            close_one(&guests->all[i].fd);
            close_one(&guests->all[i].ask);
        }
        close(both[0]);
        close(guests->stop[1]);
        close(job->listener);
        (void)sigprocmask(SIG_SETMASK, job->before, NULL);
        _exit(serve_guest(job, fd, both[1], guests->stop[0]));
    }
    if (process < 0) {
        fprintf(stderr, "%s: a connection can't be served: %s\n", job->name, strerror(errno));
        close(fd);
    }
    if (process != -2)
        close(both[1]);
    if (process == -1)
        close(both[0]);
    if (process < 0)
        return;
    *place =
        (struct guest){.stage = GREETED, .process = process, .number = guests->numbers++, .fd = fd, .ask = both[0]};
    lap_strangers_enter(&guests->strangers, fd);
}

/* Its process has been greeted, or ends. */
static void hear(struct guests *guests, struct guest *guest)
{
    char byte;

    if (recv(guest->ask, &byte, 1, MSG_DONTWAIT) == 1) {
        guest->stage = WAITS;
        guests->waiting++;
    } else {
        close_one(&guest->ask);
    }
    close_connection(guests, guest);
}

static void begin(struct guests *guests, struct guest *guest)
{
    (void)send(guest->ask, "", 1, MSG_NOSIGNAL);
    close_one(&guest->ask);
    guest->stage = PLAYS;
    guests->waiting--;
    guests->playing++;
    guests->begun = true;
}

static void begin_those_that_may(struct guests *guests)
{
    while (guests->waiting && guests->playing < MOST_PLAYING && !(guests->job->once && guests->begun)) {
        struct guest *first = NULL;
        for (unsigned i = 0; i < MOST; i++)
            if (guests->all[i].stage == WAITS && (!first || guests->all[i].number < first->number))
                first = &guests->all[i];
        begin(guests, first);
    }
}

static void forget(struct guests *guests, struct guest *guest, int status)
{
    guests->waiting -= guest->stage == WAITS;
    if (guest->stage == PLAYS) {
        guests->playing--;
        guests->code = WIFEXITED(status) && WEXITSTATUS(status) == LAP_TOOL_OK ? LAP_TOOL_OK : LAP_TOOL_FAILED;
    }
    close_connection(guests, guest);
    close_one(&guest->ask);
    guest->stage = NOBODY;
}

/* Takes notice of those that have ended. */
static void collect(struct guests *guests)
{
    pid_t process;
    int status;

    while ((process = waitpid(-1, &status, WNOHANG)) > 0)
        for (unsigned i = 0; i < MOST; i++)
            if (guests->all[i].stage != NOBODY && guests->all[i].process == process)
                forget(guests, &guests->all[i], status);
}

/* One step. False: it is the end. */
static bool step(struct guests *guests)
{
    const struct run_guests_job *job = guests->job;
    bool open = guests->waiting < MOST_WAITING && !(job->once && guests->begun);
    struct guest *place = open ? find_place(guests) : NULL;
    struct pollfd wait[2 + MOST] = {{.fd = job->signals, .events = POLLIN},
                                    {.fd = place ? job->listener : -1, .events = POLLIN}};
    struct signalfd_siginfo signal;

    for (unsigned i = 0; i < MOST; i++) {
        const struct guest *guest = &guests->all[i];
        wait[2 + i] = (struct pollfd){.fd = guest->stage == GREETED ? guest->ask : -1, .events = POLLIN};
    }
    if (poll(wait, 2 + MOST, -1) < 0)
        return true;
    for (unsigned i = 0; i < MOST; i++)
        if (wait[2 + i].revents)
            hear(guests, &guests->all[i]);
    if (wait[1].revents)
        accept_one(guests, place);
    if (wait[0].revents && read(job->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo != SIGCHLD)
            return false;
        collect(guests);
    }
    begin_those_that_may(guests);
    return !(job->once && guests->begun && !guests->playing);
}

int run_guests_serve(const struct run_guests_job *job)
{
    struct guests guests = {.job = job, .code = LAP_TOOL_OK};

    if (pipe2(guests.stop, O_CLOEXEC) != 0) {
        fprintf(stderr, "%s: no pipe can be made: %s\n", job->name, strerror(errno));
        return LAP_TOOL_FAILED;
    }
    lap_strangers_init(&guests.strangers, STRANGERS);
    for (unsigned i = 0; i < MOST; i++)
        guests.all[i].fd = guests.all[i].ask = -1;
    while (step(&guests))
        ;
    close(guests.stop[1]); /* ends those that play */
    for (unsigned i = 0; i < MOST; i++) {
        if (guests.all[i].fd >= 0)
            (void)shutdown(guests.all[i].fd, SHUT_RDWR); /* ends its greeting */
        close_one(&guests.all[i].ask);
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    for (unsigned i = 0; i < MOST; i++)
        close_connection(&guests, &guests.all[i]);
    close(guests.stop[0]);
    return job->once ? guests.code : LAP_TOOL_OK;
}
