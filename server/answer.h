/* SPDX-License-Identifier: MIT */
/*
 * answer: the answers to questions, counted by who holds them, and a cache of them by URL that forgets those that were
 * not asked for the longest when it has more bytes than it may. Any thread.
 */
#ifndef LAP_SERVER_ANSWER_H
#define LAP_SERVER_ANSWER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "server/route.h"

#define LAP_ANSWER_SENTENCE 1024u

struct lap_answer {
    atomic_uint holders;
    int status; /* of HTTP; 200: body is the answer, else `sentence` says what went wrong */
    int exit;   /* of the program; -1: it did not end by itself, or there was none */
    bool gave_up; /* a replay that did not go on (--wait-limit) */
    enum lap_route_type type;
    char sentence[LAP_ANSWER_SENTENCE]; /* where status is 200: what the program said last, or "" */
    size_t bytes;
    uint8_t *body; /* from malloc; of another status: more than the sentence, as text, or NULL */
};

/* Held once. NULL: out of memory. body is the answer's from now on, also then. */
struct lap_answer *lap_answer_new(enum lap_route_type type, void *body, size_t bytes);
/* Held once, of another status, with a sentence. NULL: out of memory. */
struct lap_answer *lap_answer_failed(int status, int exit, const char *format, ...) LAP_PRINTF(3, 4);
struct lap_answer *lap_answer_hold(struct lap_answer *answer);
void lap_answer_drop(struct lap_answer *answer); /* or NULL */

struct lap_answers;
/* NULL: out of memory. most: bytes of bodies. */
struct lap_answers *lap_answers_new(size_t most);
void lap_answers_free(struct lap_answers **answers);
/* Held once more for the caller. NULL: it is not there. */
struct lap_answer *lap_answers_get(struct lap_answers *answers, const char *url);
/* Keeps it, unless it is larger than a half of all, or memory is out. */
void lap_answers_put(struct lap_answers *answers, const char *url, struct lap_answer *answer);

#endif
