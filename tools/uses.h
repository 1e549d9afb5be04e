/* SPDX-License-Identifier: MIT */
/*
 * uses: which extensions and features a trace uses, as opposed to merely enables.
 *
 * An extension is used when it was enabled and a call that a replay makes is one of its commands or has one of its
 * structures in a pNext chain; a features structure counts only with something switched on. An enabled extension that
 * adds neither commands nor chained structures leaves no mark in a trace, so it counts as used. Questions to the driver
 * (packets marked info) make no use: a replay does not ask them.
 * A feature is used when a vkCreateDevice that succeeded switched it on.
 */
#ifndef LAP_TOOLS_USES_H
#define LAP_TOOLS_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "tools/calls.h"

struct lap_uses {
    bool *commands, *structs; /* [enum gen_command], [enum gen_struct] */
    bool *enabled, *used;     /* [index into gen_extensions] */
    const char **features;    /* sorted, without repetition; names from the tables */
    size_t feature_count, feature_capacity;
    uint64_t addresses;    /* how often the program asked for the address of a buffer */
    struct lap_map blocks; /* those looked through */
    bool failed;           /* out of memory */
};

enum lap_status lap_uses_init(struct lap_uses *uses) LAP_MUST_CHECK;
void lap_uses_finish(struct lap_uses *uses); /* also for a zeroed one */

/* Takes notice of the current call of *calls and of the block it names. */
enum lap_status lap_uses_add(struct lap_uses *uses, struct lap_calls *calls) LAP_MUST_CHECK;

/* Draws the conclusions, once all calls have been added. */
void lap_uses_settle(struct lap_uses *uses);

#endif
