/* SPDX-License-Identifier: MIT */
/*
 * turns: where the last part of the run is kept (option keep_last, or a command), two recordings in turn. When the
 * newer one is long enough, the older one is dropped, and the next begins like any part. Dropping deletes a file. The
 * connection of a streamed trace stays open after its end was sent, until the recording is dropped or kept: so the
 * receiver can still be asked to drop the file. Under the mutex of parts.
 */
#ifndef LAP_LAYER_PART_TURNS_H
#define LAP_LAYER_PART_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frames.h"

/* A time in the run: frames that have ended, and milliseconds since it began. */
struct layer_turn_time {
    uint64_t frames, milliseconds;
};

/* The process has begun; earlier state belongs to another process. */
void layer_turns_init(void);

/* In the child after fork(): the connection is the parent's. */
void layer_turns_forked(void);

/* Keeps this length from now on; no unit: the last part is not kept. */
void layer_turns_set(const struct lap_length *length);
const struct lap_length *layer_turns_length(void);
static inline bool layer_turns_on(void)
{
    return layer_turns_length()->unit != LAP_LENGTH_NONE;
}

/* A recording has begun, or failed to: the next turn is due after the set length. */
void layer_turn_taken(const struct layer_turn_time *now);

/* Whether the next recording must begin, as the newer one is long enough. */
bool layer_turn_is_due(const struct layer_turn_time *now);

/* Both recordings are kept for good; the next one begins soon. */
void layer_turn_keep(void);

/* Under the lock of parts, when the next recording can begin: ends the newer recording, which becomes the older one.
 * Drops the previous older one, unless both are kept. */
void layer_turn_end(uint64_t *out_frames, uint64_t *out_bytes);

/* The newer recording has ended, and none follows it: the older one is kept. */
void layer_turns_end(void);

#endif
