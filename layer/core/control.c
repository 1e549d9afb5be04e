/* SPDX-License-Identifier: MIT */
#include "layer/core/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file/own_file.h"
#include "base/frames.h"
#include "layer/core/layer.h"
#include "trace/send/command.h"
#include "trace/send/exchange.h"
#include "trace/send/send.h"

#define STACK_BYTES    ((size_t)256 << 10)
#define EXCHANGE_MS    10000
#define LAST_COMMAND_S 20 /* the longest wait for a command when the process ends */
#define AGAIN_S        1  /* until it connects again */

static struct {
    const struct layer_recording_hooks *hooks;
    struct lap_own_file connection;
    pthread_mutex_t busy; /* held during a command; held forever when the process ends */
} obey = {.connection = {.fd = -1}, .busy = PTHREAD_MUTEX_INITIALIZER};

static void refuse(struct lap_command_answer *answer, enum lap_command_outcome outcome, const char *why)
{
    answer->outcome = outcome;
    snprintf(answer->text, sizeof answer->text, "%s", why);
}

static void start_part(const struct lap_command_request *request, struct lap_command_answer *answer)
{
    const char *text = request->text, *why;
    uint64_t frames = UINT64_MAX;

    if (!layer.options.parts.on)
        why = "the whole run is recorded";
    else if (request->command == LAP_COMMAND_FRAMES && (!lap_frame_parse(&text, &frames) || *text))
        why = "the number of frames is no number from 1 on";
    else
        why = obey.hooks->start(frames);
    if (why)
        refuse(answer, LAP_COMMAND_REFUSED, why);
    else
        snprintf(answer->text, sizeof answer->text, "the recording begins when the program's current frame ends");
}

static void stop(struct lap_command_answer *answer)
{
    const char *why = NULL;

    if (layer.options.parts.on)
        why = obey.hooks->stop();
    else if (!layer_recording_end("a command has ended the recording"))
        why = "nothing is being recorded";
    if (why)
        refuse(answer, LAP_COMMAND_REFUSED, why);
}

/* "off": no longer. */
static void keep_last(const struct lap_command_request *request, struct lap_command_answer *answer)
{
    struct lap_length length = {.unit = LAP_LENGTH_NONE};
    const char *why;

    if (!layer.options.parts.on)
        why = "the whole run is recorded";
    else if (strcmp(request->text, "off") != 0 && lap_length_parse(request->text, &length) != LAP_OK)
        why = "how much is kept is a length, as 10s, 300f or 64MiB, or off";
    else
        why = obey.hooks->keep_last(&length);
    if (why)
        refuse(answer, LAP_COMMAND_REFUSED, why);
    else
        snprintf(answer->text, sizeof answer->text, "%s when the program's current frame ends",
                 length.unit ? "the end of the run is kept from" : "it ends");
}

static void keep(struct lap_command_answer *answer)
{
    const char *why = layer.options.parts.on ? obey.hooks->keep() : "the whole run is recorded";

    if (why)
        refuse(answer, LAP_COMMAND_REFUSED, why);
    else
        snprintf(answer->text, sizeof answer->text,
                 "what is kept stays, and others begin when the program's current frame ends");
}

/* Runs a command, on the control thread; the request's text is unchecked. */
static void carry_out(const struct lap_command_request *request, struct lap_command_answer *answer)
{
    switch (request->command) {
    case LAP_COMMAND_STATUS:
        break;
    case LAP_COMMAND_STOP:
        stop(answer);
        break;
    case LAP_COMMAND_START:
    case LAP_COMMAND_FRAMES:
        start_part(request, answer);
        break;
    case LAP_COMMAND_KEEP_LAST:
        keep_last(request, answer);
        break;
    case LAP_COMMAND_KEEP:
        keep(answer);
        break;
    default:
        refuse(answer, LAP_COMMAND_UNKNOWN, "this version of the layer can't do that");
        break;
    }
}

/* Adds the state of parts. If a part may begin later, frames and bytes are those of the last part. */
static void add_part(struct lap_command_answer *answer, bool waits)
{
    char length[LAP_LENGTH_TEXT_BYTES];
    struct layer_last_part last;

    obey.hooks->last(&last);
    if (waits) {
        answer->state = LAP_STATE_WAITING;
        answer->frames = last.frames;
        answer->bytes = last.bytes;
    }
    lap_length_text(&last.kept, length);
    if (answer->text[0])
        return;
    if (last.refusal)
        snprintf(answer->text, sizeof answer->text, "no part could begin: %s", last.refusal);
    else if (last.kept.unit && !waits)
        snprintf(answer->text, sizeof answer->text, "the last %s are kept", length);
}

static void add_state(struct lap_command_answer *answer)
{
    layer_parts_enter(); /* the end of a part destroys its writer */
    struct lap_writer *writer = atomic_load(&layer.writer);
    bool waits = layer.options.parts.on && (!writer || lap_writer_stopped(writer));
    if (writer && !waits) {
        answer->state = lap_writer_stopped(writer) ? LAP_STATE_ENDED : LAP_STATE_RECORDING;
        answer->frames = lap_writer_frames(writer);
        answer->bytes = lap_writer_bytes(writer);
        answer->waited_us = lap_writer_waited_us(writer);
    }
    layer_parts_leave();
    if (layer.options.parts.on)
        add_part(answer, waits);
}

/* False: the connection is closed or unusable. */
static bool take_one(void)
{
    struct lap_command_request request;
    struct lap_command_answer answer = {.outcome = LAP_COMMAND_DONE};
    struct pollfd wait = {.fd = lap_own_file_fd(&obey.connection), .events = POLLIN};
    int fd;

    if (wait.fd < 0)
        return false;
    if (poll(&wait, 1, -1) < 0)
        return errno == EINTR;
    fd = lap_own_file_fd(&obey.connection);
    if (fd < 0 || lap_command_receive(fd, &request, lap_exchange_now_ms() + EXCHANGE_MS) != LAP_OK)
        return false;
    answer.number = request.number;
    pthread_mutex_lock(&obey.busy);
    carry_out(&request, &answer);
    add_state(&answer);
    fd = lap_own_file_fd(&obey.connection);
    bool sent = fd >= 0 && lap_command_answer_send(fd, &answer, lap_exchange_now_ms() + EXCHANGE_MS) == LAP_OK;
    pthread_mutex_unlock(&obey.busy);
    return sent;
}

/* False: there is no source of commands at that address. */
static bool obey_somebody(const struct lap_send_options *to)
{
    uint64_t waited_ms;
    int fd;

    enum lap_status status = lap_send_connect(to, &fd, &waited_ms);
    if (status != LAP_OK) { /* a receiver may take none */
        if (status != LAP_ERROR_UNSUPPORTED)
            lap_log(&layer.log, layer.options.control ? LAP_LOG_WARNING : LAP_LOG_DEBUG,
                    "the recording takes no commands: %s", lap_error_message());
        return status == LAP_ERROR_IO;
    }
    lap_own_file_init(&obey.connection, fd, NULL);
    while (take_one())
        ;
    (void)lap_own_file_close(&obey.connection);
    return true;
}

static void *run(void *unused)
{
    char program[256];
    const char *address = layer.options.control;
    struct lap_send_options to = {.address = address ? address : layer.options.file,
                                  .token_file = layer.options.token_file,
                                  .program = program,
                                  .role = LAP_ROLE_OBEY,
                                  .wait = layer.options.parts.on}; /* no log: the program does not wait */

    pthread_setname_np(pthread_self(), "lapilli-obey");
    layer_options_program(&layer.options, program, sizeof program);
    while (obey_somebody(&to) && layer.options.parts.on)
        nanosleep(&(struct timespec){.tv_sec = AGAIN_S}, NULL);
    return NULL;
}

void layer_control_start(const struct layer_recording_hooks *hooks)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;

    if ((!layer.options.streamed && !layer.options.control) || pthread_attr_init(&attributes) != 0)
        return;
    obey.hooks = hooks;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread inherits it: no handler of the program runs there */
    if (pthread_create(&thread, &attributes, run, NULL) != 0)
        lap_log(&layer.log, LAP_LOG_DEBUG, "the recording takes no commands: there is no thread for it");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void layer_control_end(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += LAST_COMMAND_S;
    (void)pthread_mutex_timedlock(&obey.busy, &limit);
}

void layer_control_forked(void)
{
    lap_own_file_disown(&obey.connection);
    pthread_mutex_init(&obey.busy, NULL);
}
