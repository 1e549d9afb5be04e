/* SPDX-License-Identifier: MIT */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#include "replayer/receive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/sandbox.h"
#include "trace/receive/arrival.h"
#include "trace/receive/command_board.h"
#include "trace/receive/listener.h"
#include "trace/receive/strangers.h"

#define PROGRESS_NS   250000000L
#define STRANGERS     128u /* connections that are greeted at a time; one more ends the oldest */
#define MOST_COMMANDS 80u  /* connections for commands at a time */
#define MOST_VISITORS (STRANGERS + MOST_COMMANDS + 16u) /* with the trace's, and those that end; others wait */

enum child_code { CHILD_RECEIVED, CHILD_FAILED, CHILD_NO_SANDBOX };

enum lap_status replay_receive_prepare(struct replay_receive *receive, const struct replay_options *options)
{
    enum lap_status status = lap_address_parse(options->listen, &receive->address);

    receive->file = -1;
    receive->token.count = 0;
    if (status == LAP_OK && options->token_file)
        status = lap_token_read(options->token_file, &receive->token);
    if (status == LAP_OK && !receive->address.local && !receive->token.count)
        status = lap_fail(LAP_ERROR_ARGUMENT, "other machines need --token-file");
    return status == LAP_OK ? LAP_OK : lap_fail_context(LAP_ERROR_ARGUMENT, "--listen");
}

/* In a folder on a disk, since traces are large; in one of its own, the only one that the child may write to. */
static enum lap_status open_file(struct replay_receive *receive)
{
    const char *folder = getenv("TMPDIR");

    if (!folder || *folder != '/' || strlen(folder) > sizeof receive->folder - 32)
        folder = "/var/tmp";
    snprintf(receive->folder, sizeof receive->folder, "%s/lapilli-replay-XXXXXX", folder);
    if (!mkdtemp(receive->folder)) {
        receive->folder[0] = 0;
        return lap_fail(LAP_ERROR_IO, "no folder can be made in %s (TMPDIR): %s", folder, strerror(errno));
    }
    snprintf(receive->path, sizeof receive->path, "%s/trace", receive->folder);
    receive->file = open(receive->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return receive->file >= 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s: %s", receive->path, strerror(errno));
}

/* The file stays without a name while a descriptor is open. */
static void remove_folder(struct replay_receive *receive)
{
    if (receive->folder[0]) {
        (void)unlink(receive->path);
        (void)rmdir(receive->folder);
    }
    receive->folder[0] = 0;
    snprintf(receive->path, sizeof receive->path, "/proc/self/fd/%d", receive->file);
}

/* ---- the child ---- */

/* Each connection has a thread, which is never joined. One of them takes a trace at a time. */
struct taking {
    const struct replay_receive *receive;
    const struct lap_log *log;
    struct lap_command_board board;
    struct lap_strangers strangers;
    atomic_uint visitors, commands; /* connections */
    atomic_bool under_way, done;
    int wake;             /* an eventfd, for the end of a thread */
    enum child_code code; /* valid when it is done */
};

struct visitor {
    struct taking *taking;
    struct lap_greeted who;
    int fd;
    bool has_trace, commands; /* it counts as that */
};

/* False: there was no trace, and the file is empty. */
static bool take_trace(const struct taking *taking, int fd, enum child_code *out)
{
    const struct lap_log *log = taking->log;
    struct lap_arrival arrival;

    *out = CHILD_FAILED;
    lap_arrival_init(&arrival, fcntl(taking->receive->file, F_DUPFD_CLOEXEC, 3));
    lap_arrival_take(&arrival, fd); /* the file's end has the reason */
    switch (lap_arrival_finish(&arrival, taking->receive->path)) {
    case LAP_ARRIVAL_NOTHING:
        lap_log(log, LAP_LOG_INFO, "nothing came of that: %s",
                arrival.receive.forgotten ? "there shall be no trace" : arrival.reason);
        if (ftruncate(taking->receive->file, 0) == 0)
            return false;
        lap_log(log, LAP_LOG_ERROR, "the file can't be emptied: %s", strerror(errno));
        return true;
    case LAP_ARRIVAL_FAILED:
        lap_log(log, LAP_LOG_ERROR, "%s; %s", arrival.reason, lap_error_message());
        return true;
    case LAP_ARRIVAL_KEPT:
        *out = CHILD_RECEIVED;
        return true;
    }
    return true;
}

static bool admit(void *user, const struct lap_greeted *from)
{
    struct visitor *visitor = user;

    if (from->role == LAP_ROLE_TRACE)
        return visitor->has_trace = !atomic_exchange(&visitor->taking->under_way, true);
    visitor->commands = true;
    return atomic_fetch_add(&visitor->taking->commands, 1) < MOST_COMMANDS;
}

static bool greet(struct visitor *visitor)
{
    struct taking *taking = visitor->taking;
    const struct lap_greeting_rules rules = {.token = &taking->receive->token,
                                             .roles =
                                                 1u << LAP_ROLE_OBEY | 1u << LAP_ROLE_COMMAND | 1u << LAP_ROLE_TRACE,
                                             .admit = admit,
                                             .user = visitor};
    enum lap_status status = lap_greeting_answer(visitor->fd, &rules, &visitor->who);

    if (!lap_strangers_leave(&taking->strangers, visitor->fd))
        status = lap_fail(LAP_ERROR_IO, "it was slow, and others came");
    if (status != LAP_OK)
        lap_log(taking->log, LAP_LOG_WARNING, "a connection was refused: %s", lap_error_message());
    return status == LAP_OK;
}

static void serve_trace(const struct visitor *visitor)
{
    struct taking *taking = visitor->taking;
    enum child_code code;

    lap_log(taking->log, LAP_LOG_INFO, "receiving the trace of %s (process %" PRIu32 ")", visitor->who.program,
            visitor->who.process);
    if (!take_trace(taking, visitor->fd, &code))
        return;
    taking->code = code;
    atomic_store(&taking->done, true);
}

static void *run_visitor(void *argument)
{
    struct visitor *visitor = argument;
    struct taking *taking = visitor->taking;

    if (greet(visitor)) {
        if (visitor->who.role == LAP_ROLE_OBEY)
            lap_command_board_obey(&taking->board, visitor->fd, &visitor->who);
        else if (visitor->who.role == LAP_ROLE_COMMAND)
            lap_command_board_give(&taking->board, visitor->fd);
        else
            serve_trace(visitor);
    }
    if (visitor->has_trace && !atomic_load(&taking->done))
        atomic_store(&taking->under_way, false);
    if (visitor->commands)
        atomic_fetch_sub(&taking->commands, 1);
    close(visitor->fd);
    free(visitor);
    atomic_fetch_sub(&taking->visitors, 1);
    (void)eventfd_write(taking->wake, 1);
    return NULL;
}

/* Takes the connection. */
static void welcome(struct taking *taking, int fd)
{
    struct visitor *visitor = malloc(sizeof *visitor);
    pthread_t thread;
    int error = ENOMEM;

    atomic_fetch_add(&taking->visitors, 1);
    lap_strangers_enter(&taking->strangers, fd);
    if (visitor) {
        *visitor = (struct visitor){.taking = taking, .fd = fd};
        error = pthread_create(&thread, NULL, run_visitor, visitor);
    }
    if (!error) {
        (void)pthread_detach(thread);
        return;
    }
    lap_log(taking->log, LAP_LOG_ERROR, "a connection can't be served: %s", strerror(error));
    (void)lap_strangers_leave(&taking->strangers, fd);
    atomic_fetch_sub(&taking->visitors, 1);
    close(fd);
    free(visitor);
}

static enum child_code serve(struct taking *taking, int listener)
{
    eventfd_t ignored;

    while (!atomic_load(&taking->done)) {
        bool room = atomic_load(&taking->visitors) < MOST_VISITORS;
        struct pollfd wait[2] = {{.fd = room ? listener : -1, .events = POLLIN},
                                 {.fd = taking->wake, .events = POLLIN}};
        int fd;

        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents)
            (void)eventfd_read(taking->wake, &ignored);
        fd = wait[0].revents ? lap_listener_accept(listener) : -1;
        if (fd >= 0)
            welcome(taking, fd);
    }
    lap_command_board_end(&taking->board);
    lap_command_board_drain(&taking->board);
    return taking->code;
}

static int child(const struct replay_receive *receive, int listener, const struct replay_options *options,
                 const struct lap_log *log, pid_t parent)
{
    const char *folders[] = {receive->folder};
    const struct lap_sandbox_options shut = {.folders = folders, .folder_count = 1, .accepts = true};
    static struct taking taking;
    struct lap_sandbox sandbox;

    taking.receive = receive;
    taking.log = log;
    taking.wake = eventfd(0, EFD_CLOEXEC);
    lap_command_board_init(&taking.board);
    lap_strangers_init(&taking.strangers, STRANGERS);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent || taking.wake < 0)
        return CHILD_FAILED;
    if (options->sandbox != LAP_SANDBOX_WISH_OFF) {
        lap_sandbox_enter(&shut, &sandbox);
        if (options->sandbox == LAP_SANDBOX_WISH_ON && sandbox.state != LAP_SANDBOX_ON) {
            lap_log(log, LAP_LOG_ERROR, "--sandbox=on can't be had: %s", sandbox.lack);
            return CHILD_NO_SANDBOX;
        }
    }
    return serve(&taking, listener);
}

/* ---- the parent ---- */

static void show_progress(int file)
{
    struct stat info;
    if (fstat(file, &info) == 0 && info.st_size)
        fprintf(stderr, "\rreceived %.1f MiB ", (double)info.st_size / (1 << 20));
    fflush(stderr);
}

/* The child's wait status. A signal that would end the process ends both. */
static int wait_for(pid_t process, struct replay_receive *receive, const sigset_t *all, const sigset_t *before,
                    bool progress)
{
    const struct timespec step = {.tv_nsec = PROGRESS_NS};
    int result = 0;

    while (waitpid(process, &result, WNOHANG) != process) {
        int number = sigtimedwait(all, NULL, &step);
        if (progress)
            show_progress(receive->file);
        if (number < 0 || number == SIGCHLD)
            continue;
        (void)kill(process, SIGKILL);
        (void)waitpid(process, &result, 0);
        lap_listener_remove(&receive->address);
        remove_folder(receive);
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        (void)sigprocmask(SIG_SETMASK, before, NULL);
    }
    if (progress)
        fprintf(stderr, "\r%*s\r", 40, "");
    return result;
}

static enum lap_status outcome(int result)
{
    if (!WIFEXITED(result))
        return lap_fail(LAP_ERROR_IO, "the process that receives was ended: %s", strsignal(WTERMSIG(result)));
    switch (WEXITSTATUS(result)) {
    case CHILD_RECEIVED:
        return LAP_OK;
    case CHILD_NO_SANDBOX:
        return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing was received");
    default:
        return lap_fail(LAP_ERROR_IO, "the trace was not received");
    }
}

enum lap_status replay_receive_run(struct replay_receive *receive, struct replay_options *options,
                                   const struct lap_log *log)
{
    char text[LAP_ADDRESS_TEXT_BYTES];
    pid_t process, parent = getpid();
    sigset_t all, before;
    int listener, result;
    enum lap_status status = open_file(receive);

    if (status == LAP_OK)
        status = lap_listener_open(&receive->address, &listener);
    if (status != LAP_OK) {
        remove_folder(receive);
        return status;
    }
    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigaddset(&all, SIGCHLD);
    sigprocmask(SIG_BLOCK, &all, &before);
    lap_address_text(&receive->address, text);
    lap_log(log, LAP_LOG_INFO, "waits for a trace at %s%s", text, receive->token.count ? ", with a token" : "");
    fflush(NULL);
    process = fork();
    if (process == 0)
        _exit(child(receive, listener, options, log, parent));
    if (process < 0)
        status = lap_fail(LAP_ERROR_IO, "no process can be made: %s", strerror(errno));
    close(listener);
    if (process > 0) {
        result = wait_for(process, receive, &all, &before, !options->quiet && isatty(STDERR_FILENO));
        status = outcome(result);
    }
    lap_listener_remove(&receive->address);
    explicit_bzero(&receive->token, sizeof receive->token);
    sigprocmask(SIG_SETMASK, &before, NULL);
    remove_folder(receive);
    options->file = receive->path;
    return status;
}
