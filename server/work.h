/* SPDX-License-Identifier: MIT */
/*
 * work: the questions that are being answered. Equal questions are one work, however many ask; so many run at a time,
 * and others wait; a work that nobody waits for any more is ended. Answers go to the cache. Any thread.
 */
#ifndef LAP_SERVER_WORK_H
#define LAP_SERVER_WORK_H

#include "server/answer.h"
#include "server/capture.h"
#include "server/route.h"

#define LAP_WORK_MOST 256u /* works at a time, also those that wait for their turn */

struct lap_works_options {
    const char *programs, *scratch; /* worker.h */
    struct lap_playing playing;
    struct lap_captures *captures;
    struct lap_answers *answers;
    struct lap_codes *codes;
    size_t most_bytes; /* of an answer */
    unsigned at_once;  /* readers; replays are two, and one for films */
    unsigned waiting;  /* replays that wait (waiting.h); 0: none do */
};

struct lap_works;
struct lap_work;

/* NULL: out of memory. The options' pointers stay the caller's, and live as long as it. */
struct lap_works *lap_works_new(const struct lap_works_options *options);
/* Ends all work, and returns when it has ended. Nobody waits for any, or will. */
void lap_works_free(struct lap_works **works);
/* Everybody who waits gets an answer soon: 409. */
void lap_works_stop(struct lap_works *works);

/* Joins those who wait for the answer to a question, and begins the work where it is not begun. capture: NULL: the question is
 * about none. NULL: there is too much work, or memory is out. */
struct lap_work *lap_work_join(struct lap_works *works, const struct lap_capture *capture,
                               const struct lap_question *question);
/* The last one that leaves ends it. */
void lap_work_leave(struct lap_work *work);

struct lap_work_view {
    uint64_t version;   /* changes with all else here */
    uint64_t done, all; /* all 0: not known */
    size_t files;       /* that are there already */
    struct lap_answer *answer; /* NULL: not yet. Lives as long as the caller waits for the work */
};
/* Returns when it has another version than `known`, or an answer, or after some ms. */
void lap_work_wait(struct lap_work *work, uint64_t known, unsigned ms, struct lap_work_view *out);
/* The URL of one of its files, which stays as long as the caller waits for the work. */
const char *lap_work_file(struct lap_work *work, size_t number);

/* Joins, waits and leaves: the answer, held. Where it is a file of another question, that one is asked. NULL: the one who asks is gone, which is_gone(user) says
 * from time to time; is_gone may be NULL. */
struct lap_answer *lap_works_ask(struct lap_works *works, const struct lap_capture *capture,
                                 const struct lap_question *question, bool (*is_gone)(void *user), void *user);
/* What was asked for when the work for it has ended: its answer, or the file among those that it made. Held. */
struct lap_answer *lap_work_result(struct lap_work *work, struct lap_answer *answer, const char *url);

/* {"work": […]} as text, from malloc; NULL: out of memory. */
char *lap_works_json(struct lap_works *works);
/* False: there is none with this number. */
bool lap_works_end(struct lap_works *works, uint64_t number);

/* The URL of an answer: /v1/captures/ID/… . capture: NULL: /v1/…. LAP_ERROR_ARGUMENT: too long. */
enum lap_status lap_work_url(const struct lap_capture *capture, const struct lap_question *question,
                             char out[LAP_ROUTE_URL_BYTES]) LAP_MUST_CHECK;

#endif
