/* SPDX-License-Identifier: MIT */
/*
 * turns: where the last part of the run is kept, as the options (keep_last) or a command have it, two recordings in
 * turn. When the newer one is long enough, the older one goes, and the next begins, as any part does. A file is
 * deleted. Of a streamed trace the connection stays when its end was sent, and goes with it: so whoever receives it can
 * still be told that there shall be no file. Under the mutex of parts.
 */
#ifndef LAP_LAYER_PART_TURNS_H
#define LAP_LAYER_PART_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frames.h"

/* Where in the run: frames that have ended, and milliseconds since it began. */
struct layer_turn_time {
    uint64_t frames, milliseconds;
};

/* The process has begun; what was there is another one's. */
void layer_turns_init(void);

/* In the child after fork(): its parent's connection is none of its own. */
void layer_turns_forked(void);

/* From now on so much is kept; no unit: the last part is not kept. */
void layer_turns_set(const struct lap_length *length);
const struct lap_length *layer_turns_length(void);
static inline bool layer_turns_on(void)
{
    return layer_turns_length()->unit != LAP_LENGTH_NONE;
}

/* A recording has begun, or could not: the next turn is as long away as was asked for. */
void layer_turn_taken(const struct layer_turn_time *now);

/* Whether the next recording is to begin, since the newer one is long enough. */
bool layer_turn_is_due(const struct layer_turn_time *now);

/* Both recordings stay, and the next one is to begin soon. */
void layer_turn_keep(void);

/* Under the lock of parts, and nothing is in the way of the next recording: ends the newer one, which is the older one
 * from now on, and drops what was. */
void layer_turn_end(uint64_t *out_frames, uint64_t *out_bytes);

/* The newer recording has ended, and none follows it: the older one stays. */
void layer_turns_end(void);

#endif
