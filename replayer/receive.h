/* SPDX-License-Identifier: MIT */
/*
 * receive: receives a trace that a program streams, for a replay that begins when all of it has arrived
 * (docs/streaming.md): only the whole trace shows how objects share memory and which features it needs. A child process
 * in the sandbox receives it, into a file that loses its name then.
 */
#ifndef LAP_REPLAYER_RECEIVE_H
#define LAP_REPLAYER_RECEIVE_H

#include "base/log.h"
#include "replayer/core/options.h"
#include "trace/send/address.h"
#include "trace/send/greeting.h"

struct replay_receive {
    struct lap_address address;
    struct lap_token token;
    int file; /* that the trace lies in; -1: none */
    char folder[4096 - 32], path[4096];
};

/* Checks --listen and --token-file, reads the token. LAP_ERROR_ARGUMENT with a sentence. */
enum lap_status replay_receive_prepare(struct replay_receive *receive,
                                       const struct replay_options *options) LAP_MUST_CHECK;

/* Waits for a trace; options->file names it then. While there is one thread, before the sandbox. Signals that end the
 * process end it, after the socket was removed. LAP_ERROR_IO, LAP_ERROR_UNSUPPORTED (--sandbox=on) with a sentence. */
enum lap_status replay_receive_run(struct replay_receive *receive, struct replay_options *options,
                                   const struct lap_log *log) LAP_MUST_CHECK;

#endif
