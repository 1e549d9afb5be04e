/* SPDX-License-Identifier: MIT */
/*
 * service: what a program needs that answers questions about traces (server/): the traces, a cache of answers, the
 * work, and a folder for pictures. One thread opens and closes it.
 */
#ifndef LAP_TOOLS_SERVICE_H
#define LAP_TOOLS_SERVICE_H

#include <limits.h>

#include "server/work.h"
#include "tools/common/arguments.h"

struct lap_service {
    struct lap_captures *captures;
    struct lap_answers *answers;
    struct lap_codes *codes;
    struct lap_works *works;
    char programs[PATH_MAX], scratch[PATH_MAX]; /* of the verbs; for files */
    int lock;                                   /* of scratch, as long as we live */
};

/* files: with a NULL behind them. cache: bytes; an answer has at most a quarter of it. playing: how replays are played.
 * waiting: replays that wait (server/waiting.h). Ignores SIGPIPE from now on. Returns LAP_TOOL_OK, or an exit status
 * after a message. */
int lap_service_open(const struct lap_verb *verb, char **files, const struct lap_playing *playing, size_t cache,
                     unsigned waiting, struct lap_service *out);
/* Ends all work. */
void lap_service_close(struct lap_service *service);

#endif
