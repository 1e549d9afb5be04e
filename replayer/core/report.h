/* SPDX-License-Identifier: MIT */
/*
 * report: predicts what a replay of a trace would do on this machine (`lapilli check`).
 *
 * The code that matches a trace with a device adds its findings to the report: recorded_machine.c, requirements.c,
 * instance.c, device.c, and the checks that check_trace.c calls. In a replay there is no report, and these functions do
 * nothing. One thread.
 */
#ifndef LAP_REPLAYER_CORE_REPORT_H
#define LAP_REPLAYER_CORE_REPORT_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "gen_needs.h"
#include "gen_reflect.h"
#include "replayer/core/replay.h"

enum replay_area {
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
    REPLAY_MAPPED,   /* something on the replay device does the same */
    REPLAY_DROPPED,  /* the replay does without it */
    REPLAY_IGNORED,  /* the driver gets it as recorded: most drivers accept or clamp it */
    REPLAY_MAY_FAIL, /* the same, but the driver need not accept it */
    REPLAY_REFUSED,  /* the replay ends there */
    REPLAY_OUTCOME_COUNT
};

struct replay_finding {
    enum replay_area area;
    enum replay_outcome outcome;
    char *name, *text; /* the subject (an extension, a limit); the sentence, of the first one */
    uint64_t count;    /* how many there were */
};

struct replay_report {
    struct replay_finding *findings; /* in order of discovery */
    size_t count, capacity;
    char gpu[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE]; /* "" until a GPU was chosen */
    uint32_t api_version;
    uint64_t refused_ticket;
    char refusal[1536]; /* the sentence with which a replay ends; "" when the trace can be played */
    bool failed;        /* out of memory */
    /* Enabled on the replay device by any device of the trace. */
    bool features[GEN_FEATURE_COUNT], extensions[GEN_EXTENSION_COUNT];
};

/* Findings with the same area, outcome and name become one, with the text of the first. */
void replay_report_add(struct replay_report *report, enum replay_area area, enum replay_outcome outcome,
                       const char *name, const char *format, ...) LAP_PRINTF(5, 6);
/* The failure that would end the replay now, with its position as in a replay; only the first one counts. Returns
 * LAP_OK. */
enum lap_status replay_report_refusal(struct replay *r, enum lap_status status);
/* A further requirement that the device of the current packet lacks. The replay reports it in the same sentence. */
void replay_report_refusal_too(struct replay *r, enum lap_status status);
/* Sets the GPU of the report. */
void replay_report_gpu(struct replay_report *report, const struct replay_instance *instance);
/* Writes text, or with options.json one JSON object. */
enum lap_status replay_report_write(const struct replay_report *report, const struct replay *r,
                                    FILE *out) LAP_MUST_CHECK;
void replay_report_finish(struct replay_report *report); /* also for a zeroed one */

/* Adds "sandbox": {"state", "lack" (or null)} to an object; NULL: null. False: no memory. */
bool replay_report_sandbox(const struct lap_sandbox *sandbox, cJSON *object);

#endif
