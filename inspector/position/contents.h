/* SPDX-License-Identifier: MIT */
/*
 * contents: counts the draws and other work of command buffers, with the secondary ones that they execute, and finds
 * the labels that they leave open. Each block is decoded once, on the first request. One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_CONTENTS_H
#define LAP_INSPECTOR_POSITION_CONTENTS_H

#include <stdint.h>

#include "inspector/position/blocks.h"
#include "inspector/position/held.h"

/* Of recorded commands; those that the device makes itself (indirect draws) are one each. */
struct position_counts {
    uint64_t commands;   /* with the beginnings and ends of command buffers */
    uint64_t draws;      /* vkCmdDraw… */
    uint64_t dispatches; /* vkCmdDispatch… */
    uint64_t traces;     /* vkCmdTraceRays… */
    uint64_t transfers;  /* copies, blits, resolves, fills, updates, clears of whole images */
    uint64_t others;     /* other work: builds of acceleration structures, video, generated commands */
    uint64_t passes;     /* render passes, dynamic rendering */
};

enum position_work {
    POSITION_STATE, /* no work of its own */
    POSITION_DRAW,
    POSITION_DISPATCH,
    POSITION_TRACE,
    POSITION_TRANSFER,
    POSITION_OTHER,
    POSITION_PASS, /* begins a render pass */
};

void position_count(struct position_counts *counts, enum position_work work);
void position_add(struct position_counts *to, const struct position_counts *counts);

struct position_contents;

/* On failure *out is NULL. */
enum lap_status position_contents_open(const struct lap_reader *trace, struct position_contents **out) LAP_MUST_CHECK;
void position_contents_close(struct position_contents **contents); /* also for NULL */

/* The kind of a command. */
enum position_work position_contents_work(const struct position_contents *contents, uint32_t command);

/* The counts of a recording, with the recordings in `held` of all command buffers that it executes. */
enum lap_status position_contents_of(struct position_contents *contents, const struct position_held *held,
                                     const struct position_recording *recording,
                                     struct position_counts *out) LAP_MUST_CHECK;

/* The debug labels that a command buffer ends, and those that it leaves open. */
struct position_contents_labels {
    uint32_t ended;       /* of those that were open before it */
    uint32_t begun_count; /* and not ended */
    char *const *begun;   /* valid until the next request; the texts as long as the contents */
};

enum lap_status position_contents_labels_of(struct position_contents *contents,
                                            const struct position_recording *recording,
                                            struct position_contents_labels *out) LAP_MUST_CHECK;

#endif
