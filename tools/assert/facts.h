/* SPDX-License-Identifier: MIT */
/*
 * facts: what conditions need to know, as other programs of the lapilli command find it out: lapilli-info,
 * lapilli-tree, lapilli-state and lapilli-replay, beside this program. Each is a process with a sandbox of its own.
 * Their outputs are files without names, and pictures and figures in a folder in TMPDIR (/var/tmp). For a program with
 * one thread.
 */
#ifndef LAP_TOOLS_ASSERT_FACTS_H
#define LAP_TOOLS_ASSERT_FACTS_H

#include <cjson/cJSON.h>
#include <limits.h>
#include <signal.h>

#include "tools/assert/conditions.h"

struct facts_options {
    const char *program; /* in front of messages */
    const char *trace;
    const char *gpu, *wait_limit, *sandbox; /* as in lapilli replay; NULL: not given */
};

#define FACT_MOST_WORDS 32u
enum fact_kind { FACT_READ, FACT_PLAY, FACT_TARGETS, FACT_TIMES };

struct fact {
    enum fact_kind kind;
    const char *words[FACT_MOST_WORDS]; /* the command; ends with NULL */
    unsigned count;
    uint64_t frames[2]; /* of lapilli-tree: from the first to the last one that is wanted */
    int code;           /* exit status; 128 + n: signal n */
    int output, errors; /* open files */
    /* Of the functions below. */
    cJSON *json;
    char *text;
};

struct facts {
    struct facts_options options;
    struct fact *items;
    size_t count, capacity;
    struct lap_arena arena; /* memory of words */
    /* Of the replay of FACT_PLAY. */
    bool validate, verify;
    const char *screenshots;
    uint64_t last_screenshot;

    char folder[PATH_MAX - 64]; /* empty: none */
    sigset_t signals;           /* that were blocked before */
    int ended_by;               /* a signal that came meanwhile; 0: none */
};

/* Finds out what all conditions need, each of which gets the number of its fact. -1: done; or an exit status (enum
 * lap_tool_exit), after a message. Signals that end programs wait from then on until facts_finish. */
int facts_gather(struct facts *facts, const struct facts_options *options, struct conditions *conditions);
/* Removes the folder. A signal that came meanwhile ends the process. */
void facts_finish(struct facts *facts);

/* Whether the program did all of its work. False: *out_reason, of REASON bytes, is its last error. */
#define FACT_REASON_BYTES 320u
bool fact_is_whole(const struct facts *facts, size_t number, char *out_reason);
/* The JSON that it printed or wrote, or NULL. The facts own it. */
const cJSON *fact_json(struct facts *facts, size_t number);
/* The rest of the last line of its output, or of the first one of its errors, that begins so;
 * NULL: there is none. Valid until the next call of both. */
const char *fact_last_line(struct facts *facts, size_t number, const char *beginning);
const char *fact_first_error(struct facts *facts, size_t number, const char *beginning);
/* The file of a picture. */
void fact_picture(const struct facts *facts, const struct condition *condition, char out_path[PATH_MAX]);
/* Its name alone. */
void fact_picture_name(const struct condition *condition, char *out, size_t bytes);

#endif
