/* SPDX-License-Identifier: MIT */
/*
 * report: what a replay of a trace would do on this machine, without being one (`lapilli check`).
 *
 * The code that matches a trace with a device reports here what it finds, beside acting on it: match.c, requirements.c,
 * instance.c, device.c, and what examine.c asks of the topics. In a replay there is no report, and all of this does
 * nothing. One thread.
 */
#ifndef LAP_REPLAYER_REPORT_H
#define LAP_REPLAYER_REPORT_H

#include <stdio.h>

#include "gen_needs.h"
#include "gen_reflect.h"
#include "replayer/context.h"

enum replay_area {
    REPLAY_AREA_VERSION,
    REPLAY_AREA_EXTENSION,
    REPLAY_AREA_FEATURE,
    REPLAY_AREA_QUEUES,
    REPLAY_AREA_DEVICE,
    REPLAY_AREA_COMMAND,
    REPLAY_AREA_STRUCTURE,
    REPLAY_AREA_FORMAT,
    REPLAY_AREA_LIMIT,
    REPLAY_AREA_SHADER,
    REPLAY_AREA_PRESENTATION,
    REPLAY_AREA_COUNT
};

enum replay_outcome {
    REPLAY_MAPPED,   /* something here does the same */
    REPLAY_DROPPED,  /* the replay does without it */
    REPLAY_IGNORED,  /* handed to the driver as recorded: drivers mostly take it, or bring it into bounds */
    REPLAY_MAY_FAIL, /* the same, where nothing but the driver's good will lets it work */
    REPLAY_REFUSED,  /* the replay ends there */
    REPLAY_OUTCOME_COUNT
};

struct replay_finding {
    enum replay_area area;
    enum replay_outcome outcome;
    char *name, *text; /* what it is about (an extension, a limit); what holds of it, or of the first one */
    uint64_t count;    /* how often it was found */
};

struct replay_report {
    struct replay_finding *findings; /* in the order in which they were found */
    size_t count, capacity;
    char gpu[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* "" until a device was asked for */
    uint32_t api_version;
    uint64_t refused_ticket;
    char refusal[1536]; /* the sentence that a replay ends with; "" when it can be played */
    bool failed;        /* out of memory */
    /* What the trace's devices are made with here, all together. */
    bool features[GEN_FEATURE_COUNT], extensions[GEN_EXTENSION_COUNT];
};

/* Findings of one area, outcome and name are counted as one, with the first one's text. */
void replay_report_add(struct replay_report *report, enum replay_area area, enum replay_outcome outcome,
                       const char *name, const char *format, ...) LAP_PRINTF(5, 6);
/* The failure that would end the replay now, with its place as the replay says it; the first one stays. LAP_OK. */
enum lap_status replay_report_refusal(struct replay *r, enum lap_status status);
/* A further thing that the device of the current packet lacks: the replay says it in the same sentence. */
void replay_report_refusal_too(struct replay *r, enum lap_status status);
/* The GPU that the trace is matched with. */
void replay_report_gpu(struct replay_report *report, const struct replay_instance *instance);
/* As text, or with options.json as one JSON object. */
enum lap_status replay_report_write(const struct replay_report *report, const struct replay *r,
                                    FILE *out) LAP_MUST_CHECK;
void replay_report_finish(struct replay_report *report); /* also for a zeroed one */

#endif
