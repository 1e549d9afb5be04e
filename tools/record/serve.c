/* SPDX-License-Identifier: MIT */
#include "tools/record/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/receive/command_board.h"
#include "trace/receive/listener.h"
#include "trace/receive/strangers.h"

#define MOST_GREETED 224u /* connections at a time, three for each process, and those that command; others wait */
#define STRANGERS    128u /* connections that are greeted; one more ends the oldest */
#define MOST         (MOST_GREETED + STRANGERS)
#define SHOW_MS      200

struct connection {
    struct server *server;
    pthread_t thread;
    int fd;                  /* -1: there is none */
    struct lap_greeted from; /* valid when it is greeted */
    bool greeted, done;
};

struct server {
    const struct lap_serve_job *job;
    pthread_mutex_t mutex; /* for all connections but their threads */
    struct connection connections[MOST];
    struct lap_strangers strangers;
    struct lap_command_board board;
    int signals, wake;
    bool ending, received;
    atomic_bool told_to_end;
};

/* True: a trace has come. */
static bool serve_one(struct connection *connection)
{
    struct server *server = connection->server;
    const struct lap_serve_job *job = server->job;
    const unsigned commands = 1u << LAP_ROLE_OBEY | 1u << LAP_ROLE_COMMAND;
    const struct lap_greeting_rules rules = {.token = job->token,
                                             .roles = commands | (job->take_trace ? 1u << LAP_ROLE_TRACE : 0)};
    struct lap_greeted from;
    enum lap_status status = lap_greeting_answer(connection->fd, &rules, &from);

    if (!lap_strangers_leave(&server->strangers, connection->fd))
        status = lap_fail(LAP_ERROR_IO, "it was slow, and others came");
    if (status != LAP_OK) {
        lap_status_line_print(job->line, "%s: a connection was refused: %s\n", job->program, lap_error_message());
        return false;
    }
    pthread_mutex_lock(&server->mutex);
    connection->from = from;
    connection->greeted = true;
    pthread_mutex_unlock(&server->mutex);
    if (from.role == LAP_ROLE_TRACE)
        return job->take_trace(job->user, connection->fd, &from, &server->told_to_end);
    if (from.role == LAP_ROLE_OBEY) {
        lap_command_board_obey(&server->board, connection->fd, &from);
        return false;
    }
    lap_command_board_give(&server->board, connection->fd);
    return false;
}

static void *serve(void *argument)
{
    struct connection *connection = argument;
    struct server *server = connection->server;
    bool received = serve_one(connection);

    (void)shutdown(connection->fd, SHUT_RDWR);
    pthread_mutex_lock(&server->mutex);
    server->received |= received;
    connection->done = true;
    pthread_mutex_unlock(&server->mutex);
    (void)eventfd_write(server->wake, 1);
    return NULL;
}

/* Joins threads that are done; returns how many are not. *out_free: a place for one more connection, or NULL. */
static unsigned collect(struct server *server, struct connection **out_free)
{
    unsigned busy = 0, greeted = 0;
    *out_free = NULL;
    for (unsigned i = 0; i < MOST; i++) {
        struct connection *connection = &server->connections[i];
        pthread_mutex_lock(&server->mutex);
        bool done = connection->fd >= 0 && connection->done;
        greeted += connection->fd >= 0 && connection->greeted && !done;
        pthread_mutex_unlock(&server->mutex);
        if (done) {
            (void)pthread_join(connection->thread, NULL);
            close(connection->fd);
            connection->fd = -1;
        }
        busy += connection->fd >= 0;
        if (connection->fd < 0 && !*out_free)
            *out_free = connection;
    }
    if (greeted >= MOST_GREETED)
        *out_free = NULL;
    return busy;
}

static void accept_one(struct server *server, struct connection *place)
{
    int fd = lap_listener_accept(server->job->listener);
    if (fd < 0)
        return;
    *place = (struct connection){.server = server, .fd = fd};
    lap_strangers_enter(&server->strangers, fd);
    int error = pthread_create(&place->thread, NULL, serve, place);
    if (error) {
        lap_status_line_print(server->job->line, "%s: no thread can be made: %s\n", server->job->program,
                              strerror(error));
        (void)lap_strangers_leave(&server->strangers, fd);
        close(fd);
        place->fd = -1;
    }
}

static bool gives_commands(const struct connection *connection)
{
    return connection->greeted && connection->from.role == LAP_ROLE_COMMAND;
}

/* Data that has arrived is still received, but no more comes. Clients still get their answers. */
static void stop(struct server *server)
{
    server->ending = true;
    atomic_store(&server->told_to_end, true);
    pthread_mutex_lock(&server->mutex);
    for (unsigned i = 0; i < MOST; i++)
        if (server->connections[i].fd >= 0)
            (void)shutdown(server->connections[i].fd, gives_commands(&server->connections[i]) ? SHUT_RD : SHUT_RDWR);
    pthread_mutex_unlock(&server->mutex);
}

/* A connection of a recorded process, or NULL. */
static const struct lap_greeted *program_of(const struct connection *connection)
{
    return connection->fd >= 0 && connection->greeted && !gives_commands(connection) ? &connection->from : NULL;
}

/* Each has several connections. */
static unsigned count_programs(struct server *server)
{
    unsigned count = 0;
    pthread_mutex_lock(&server->mutex);
    for (unsigned i = 0; i < MOST; i++) {
        const struct lap_greeted *one = program_of(&server->connections[i]), *other;
        bool first = one;
        for (unsigned j = 0; j < i && first; j++)
            first = !(other = program_of(&server->connections[j])) || other->process != one->process ||
                    strcmp(other->program, one->program) != 0;
        count += first;
    }
    pthread_mutex_unlock(&server->mutex);
    return count;
}

/* Whether it is time to end without a signal. */
static bool has_enough(struct server *server, unsigned busy)
{
    struct pollfd waiting = {.fd = server->job->listener, .events = POLLIN};
    pthread_mutex_lock(&server->mutex);
    bool received = server->received;
    pthread_mutex_unlock(&server->mutex);
    return received && (server->job->once || (server->job->until_they_leave && !busy && poll(&waiting, 1, 0) == 0));
}

static void serve_all(struct server *server)
{
    const struct lap_serve_job *job = server->job;
    struct connection *place;
    for (;;) {
        unsigned busy = collect(server, &place);
        if (job->show)
            job->show(job->user, count_programs(server));
        server->ending |= has_enough(server, busy);
        if (server->ending)
            lap_command_board_end(&server->board);
        if (server->ending && !busy)
            break;
        struct pollfd wait[3] = {{.fd = server->wake, .events = POLLIN},
                                 {.fd = server->signals, .events = POLLIN},
                                 {.fd = place && !server->ending ? job->listener : -1, .events = POLLIN}};
        if (poll(wait, 3, job->show && busy ? SHOW_MS : -1) < 0)
            continue;
        eventfd_t ignored;
        struct signalfd_siginfo signal;
        if (wait[0].revents)
            (void)eventfd_read(server->wake, &ignored);
        if (wait[1].revents && read(server->signals, &signal, sizeof signal) > 0)
            stop(server);
        if (wait[2].revents && !server->ending)
            accept_one(server, place);
    }
}

static bool shut_in(const struct lap_serve_job *job)
{
    const struct lap_sandbox_options options = {
        .folders = &job->folder, .folder_count = job->folder != NULL, .accepts = true};
    struct lap_sandbox sandbox;

    if (job->sandbox == LAP_SANDBOX_WISH_OFF)
        return true;
    lap_sandbox_enter(&options, &sandbox);
    if (job->sandbox != LAP_SANDBOX_WISH_ON || sandbox.state == LAP_SANDBOX_ON)
        return true;
    fprintf(stderr, "%s: --sandbox=on can't be had: %s\n", job->program, sandbox.lack);
    return false;
}

bool lap_serve(const struct lap_serve_job *job)
{
    static struct server server;

    (void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != job->parent)
        return false;
    server.job = job;
    pthread_mutex_init(&server.mutex, NULL);
    lap_command_board_init(&server.board);
    lap_strangers_init(&server.strangers, STRANGERS);
    for (unsigned i = 0; i < MOST; i++)
        server.connections[i].fd = -1;
    server.signals = signalfd(-1, job->ends, SFD_CLOEXEC);
    server.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server.signals < 0 || server.wake < 0) {
        fprintf(stderr, "%s: %s\n", job->program, strerror(errno));
        return false;
    }
    if (!shut_in(job))
        return false;
    serve_all(&server);
    return true;
}
