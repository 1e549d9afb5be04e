/* SPDX-License-Identifier: MIT */
/*
 * show: prints a report (inspector/report/report.h) as text, as one JSON object, or as a page; and joins it with what a
 * replay says: messages of the validation layer, and times of lapilli profile. One thread.
 */
#ifndef LAP_TOOLS_REPORT_SHOW_H
#define LAP_TOOLS_REPORT_SHOW_H

#include <stdio.h>

#include "inspector/report/report.h"

#define REPORT_MOST_PASSES 10u

struct report_timed {      /* a part of a profile */
    char *name, *position; /* of the caller's; NULL: none */
    char *kind;
    double gpu_ms, share; /* of a frame */
};

struct report_times { /* of a profile; kind NULL: there is none */
    char *gpu;
    double frame_ms;
    struct report_timed passes[REPORT_MOST_PASSES]; /* the most expensive ones first */
    size_t count;
};

struct report_view {
    const struct report *report;
    const struct lap_reader *trace;
    const char *path;                 /* of the trace */
    bool all;                         /* text: all findings that are kept */
    const char *server;               /* of the page that positions lead to; NULL: none */
    const struct report_times *times; /* NULL: none */
};

void report_put_text(const struct report_view *view, FILE *out);
void report_put_json(const struct report_view *view, FILE *out);
void report_put_html(const struct report_view *view, FILE *out);

/* Lines of lapilli-replay --validate --json. LAP_ERROR_FORMAT: they are not. */
enum lap_status report_join_messages(struct report *report, const struct lap_reader *trace, const char *lines,
                                     size_t bytes) LAP_MUST_CHECK;
/* The file of lapilli profile -o. LAP_ERROR_ARGUMENT: it is none. */
enum lap_status report_join_profile(struct report *report, const char *text, size_t bytes,
                                    struct report_times *out) LAP_MUST_CHECK;
void report_times_finish(struct report_times *times);

/* ---- shared by these files ---- */

#define REPORT_SIZE_BYTES  24u
#define REPORT_COUNT_BYTES 32u
/* "48.2 MB", and "1,204". Both return out. */
const char *report_size(uint64_t bytes, char out[REPORT_SIZE_BYTES]);
const char *report_number(uint64_t number, char out[REPORT_COUNT_BYTES]);
/* The things that are counted, with their number: "1,204 of 2,410 pipeline binds of what is bound". */
#define REPORT_SENTENCE_BYTES 256u
const char *report_sentence(const struct report_rule *rule, const struct report_words *words,
                            char out[REPORT_SENTENCE_BYTES]);
/* "VkImage:4", or an empty text. */
#define REPORT_OBJECT_BYTES 96u
const char *report_object(const struct report_finding *finding, char out[REPORT_OBJECT_BYTES]);
/* DEVICE_LOCAL | HOST_VISIBLE. */
#define REPORT_FLAGS_BYTES 256u
const char *report_flags(VkMemoryPropertyFlags flags, char out[REPORT_FLAGS_BYTES]);
/* Frames of the trace that the report is of. */
uint64_t report_last_frame(const struct report *report);
/* The frame with the most of something; NULL: there are no frames. */
const struct report_frame *report_most(const struct report *report, uint64_t (*of)(const struct report_frame *frame));
uint64_t report_draws_of(const struct report_frame *frame);

#endif
