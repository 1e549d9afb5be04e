/* SPDX-License-Identifier: MIT */
/*
 * contents: --stop-at TICKET --read LIST --read-to FILE: reads objects at a place of a trace, when all submitted work
 * is done (inspector/state/contents.h has both forms). The files are opened before the trace. One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_CONTENTS_H
#define LAP_REPLAYER_VERIFY_CONTENTS_H

#include "inspector/state/contents.h"
#include "replayer/core/replay.h"

/* The list of contents, and the output. */
struct replay_reading {
    struct contents list;
    int fd;
};

/* Reads the list, and opens the file. LAP_ERROR_ARGUMENT or LAP_ERROR_IO with a sentence. */
enum lap_status replay_reading_open(const char *list, const char *file, struct replay_reading *out) LAP_MUST_CHECK;
void replay_reading_close(struct replay_reading *reading); /* also for a zeroed one */

/* Answers each line of r->options.reading. Contents that can't be read are answered so, with a warning. Fails where
 * submitted work waits for later packets of the trace (LAP_ERROR_REPLAY), and with LAP_ERROR_IO. */
enum lap_status replay_read_contents(struct replay *r) LAP_MUST_CHECK;

#endif
