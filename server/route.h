/* SPDX-License-Identifier: MIT */
/*
 * route: the one table of questions about a trace. Each is the path of an answer and the command line of the verb that
 * prints it; dispatch, links, the tools of lapilli mcp and the table in docs/server.md come from it. What a path names
 * never changes, as the trace does not. Nothing here reads a trace.
 */
#ifndef LAP_SERVER_ROUTE_H
#define LAP_SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define LAP_ROUTE_VALUES     16u   /* the most parameters of a route */
#define LAP_ROUTE_URL_BYTES  4096u /* of a canonical path with its query, with a zero */
#define LAP_ROUTE_TEXT_BYTES 257u  /* of a text or a GPU, with a zero */

/* What a value looks like. Each form is safe as a word of a command line and as a part of a path. */
enum lap_form {
    LAP_FORM_POSITION, /* inspector/position/position.h */
    LAP_FORM_OBJECT,   /* VkImage:7 */
    LAP_FORM_NUMBER,
    LAP_FORM_NUMBERS, /* 1,5-9: numbers and ranges */
    LAP_FORM_PLACES,  /* positions, separated by commas */
    LAP_FORM_VALUES,  /* 0,1.5: numbers with signs and points */
    LAP_FORM_NAME,    /* letters, digits, '_', ',', '-', not '-' in front */
    LAP_FORM_FILE,    /* the same with '.', not in front */
    LAP_FORM_TEXT,    /* anything of up to 256 bytes, in UTF-8 without control characters */
    LAP_FORM_TEXEL,   /* 400,300 */
    LAP_FORM_LEVEL,   /* VkImage:7, or with ,LEVEL or ,LEVEL,LAYER */
    LAP_FORM_CODE,    /* HASH=NAME: of a shader, and of code that a client sent (codes.h) */
    LAP_FORM_GPU,     /* a text, not '-' in front */
    LAP_FORM_FLAG     /* 1 */
};

struct lap_parameter {
    const char *name;
    enum lap_form form;
    bool needed;
    /* In front of the value. "": nothing. NULL: the value comes behind the file; where a later one is there and this
     * is not, its place has 0. */
    const char *option;
    const char *about;
    bool whole; /* it changes how all of the trace is played */
    const char *asked; /* in front of the value in a request of a replay that waits; NULL: as `option` */
};

enum lap_route_kind {
    LAP_ROUTE_READS, /* the trace; soon done */
    LAP_ROUTE_PLAYS, /* it, on a GPU, for pictures */
    LAP_ROUTE_FILM   /* plays up to the last of the frames in its first value; others do not wait for it */
};

enum lap_route_type { LAP_TYPE_JSON, LAP_TYPE_LINES, LAP_TYPE_PNG, LAP_TYPE_BYTES };

struct lap_route {
    const char *name;    /* of the tool */
    const char *pattern; /* below a capture; {NAME} is a parameter */
    const char *about;
    const char *use; /* for an assistant: when to ask it, with an example; whole sentences */
    enum lap_route_kind kind;
    enum lap_route_type type;
    /* The files that its program makes are answers of this route, perhaps itself, too; NULL: it makes none. */
    const char *files;
    /* Its answers are files that the program of this route makes, which takes those of its values that it knows; NULL:
     * its own program's. file: their names, where {NAME} is a value. */
    const char *made_by, *file;
    const char *words[8]; /* the program's name without lapilli-, then fixed options */
    /* Exit codes of the program, as 1u << code, besides 0 and LAP_TOOL_INCOMPLETE, with which its output is an answer,
     * too: whole, or empty where there is none. */
    unsigned answers;
    /* A replay that waits in front of the frame of its first value (lapilli-replay --wait) can be asked it: the fixed words of such a request.
     * [0] NULL: it can't. */
    const char *request[3];
    bool has_progress; /* it plays without files and requests, and reports its progress, too */
    struct lap_parameter parameters[LAP_ROUTE_VALUES]; /* its own: see lap_route_parameter */
};

extern const struct lap_route lap_routes[];
extern const size_t lap_route_count;
extern const struct lap_route lap_route_devices; /* of no trace: the GPUs of this machine */

/* A question: a route with its values; NULL: not given. */
struct lap_question {
    const struct lap_route *route;
    const char *values[LAP_ROUTE_VALUES]; /* by parameter */
};

const struct lap_route *lap_route_named(const char *name);

/* Its own parameters, and behind them, where it plays, the GPU. NULL: there are not so many. */
const struct lap_parameter *lap_route_parameter(const struct lap_route *route, size_t at);

/* In place: %XX becomes its byte. False: it is no valid encoding, or has a control character. */
bool lap_route_decode(char *text);

/* The route of a path below a capture ("commands/3.1.0.42/state"), with the values in it, which are ended in `path`.
 * False: there is none. The path is decoded: a value has no '/'. */
bool lap_route_match(char *path, struct lap_question *out);

/* LAP_ERROR_ARGUMENT with a sentence: it has no such parameter in its query, has it already, or the value has another
 * form. The value stays the caller's. */
enum lap_status lap_question_set(struct lap_question *question, const char *name, const char *value) LAP_MUST_CHECK;

/* LAP_ERROR_ARGUMENT with a sentence: a parameter is missing, or a value has another form than its parameter's. */
enum lap_status lap_question_check(const struct lap_question *question) LAP_MUST_CHECK;

/* The path with the query below a capture, percent-encoded, the same for equal questions. LAP_ERROR_ARGUMENT: it is longer
 * than LAP_ROUTE_URL_BYTES. */
enum lap_status lap_question_url(const struct lap_question *question, char out[LAP_ROUTE_URL_BYTES]) LAP_MUST_CHECK;

/* What must be run for it: the question itself, or the one whose files hold the answer. */
struct lap_question lap_question_maker(const struct lap_question *question);

/* The question whose answer a file is that the program of `question` has made. name: that of the file, in which values
 * are ended. False: it is none. */
bool lap_question_of_file(const struct lap_question *question, char *name, struct lap_question *out);

/* Whether the output of its program is an answer after this exit code. Behind another one than 0 it is none if it is
 * empty. */
bool lap_route_answers(const struct lap_route *route, int code);

/* How replays are played. */
struct lap_playing {
    const char *gpu, *wait_limit; /* as lapilli-replay takes them, or NULL */
};

/* The same with the GPU of the question, if it has one. */
struct lap_playing lap_question_playing(const struct lap_question *question, const struct lap_playing *playing);

#define LAP_QUESTION_WORDS 50u
/* The command line of its program, and NULL. out points into *question, the table and the arguments. program: in
 * out[0]; file: the trace; playing: for replays. A program that makes files makes them in the folder LAP_ROUTE_FILES
 * of its own folder, where the code of a client is, too. Replays report their progress to LAP_ROUTE_PROGRESS. */
void lap_question_words(const struct lap_question *question, const char *program, const char *file,
                        const struct lap_playing *playing, const char *out[LAP_QUESTION_WORDS]);

/* The name of the code that a client sent for it. NULL: it needs none. */
const char *lap_question_code(const struct lap_question *question);

/* The frame in front of which a replay may wait for the question. False: none can. */
#define LAP_QUESTION_FRAME_BYTES 24u
bool lap_question_frame(const struct lap_question *question, char out[LAP_QUESTION_FRAME_BYTES]);
/* The command line of a replay that waits there, and what it is asked for; both with NULL behind. */
void lap_question_wait_words(const char *frame, const char *program, const char *file,
                             const struct lap_playing *playing, const char *out[LAP_QUESTION_WORDS]);
void lap_question_request(const struct lap_question *question, const char *out[LAP_QUESTION_WORDS]);

#define LAP_ROUTE_FILES    "files"
#define LAP_ROUTE_PROGRESS 3 /* a descriptor */
bool lap_route_has_progress(const struct lap_route *route);

/* "application/json" and so on. */
const char *lap_route_type_name(enum lap_route_type type);

#endif
