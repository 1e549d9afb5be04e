/* SPDX-License-Identifier: MIT */
/*
 * receive: makes the file of a trace out of the records that a recorded process sends (trace/send/send.h). The bytes
 * are untrusted and come in pieces of any size; only a record's head is kept. One thread at a time.
 */
#ifndef LAP_TRACE_RECEIVE_RECEIVE_H
#define LAP_TRACE_RECEIVE_RECEIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/send/send.h"

/* Operations on the file; each returns LAP_OK or an error with a sentence, which ends it. */
struct lap_receive_file {
    enum lap_status (*append)(void *user, uint64_t at, const uint8_t *data, size_t bytes);
    enum lap_status (*cut)(void *user, uint64_t bytes);
    enum lap_status (*done)(void *user, uint64_t bytes); /* the sender waits for a confirmation that all is written */
    void *user;
};

struct lap_receive {
    struct lap_receive_file file;
    uint8_t head[LAP_RECORD_BYTES];
    size_t head_used;
    uint64_t left;  /* of the bytes being appended */
    uint64_t bytes; /* in the file */
    bool forgotten; /* there shall be no file; nothing more comes */
};

void lap_receive_init(struct lap_receive *receive, const struct lap_receive_file *file);

/* Takes the next bytes. LAP_ERROR_FORMAT: no recorded process sends these. After an error no more are taken. */
enum lap_status lap_receive_take(struct lap_receive *receive, const uint8_t *data, size_t bytes) LAP_MUST_CHECK;

/* Whether the bytes so far end with a whole record. */
static inline bool lap_receive_is_whole(const struct lap_receive *receive)
{
    return receive->head_used == 0 && receive->left == 0;
}

#endif
