/* SPDX-License-Identifier: MIT */
/* frames: the frames that a user names, counted from 1: "1,50-60". One thread at a time; lists are plain data. */
#ifndef LAP_BASE_FRAMES_H
#define LAP_BASE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct lap_frame_range {
    uint64_t first, last; /* both belong to it */
};

struct lap_frames {
    struct lap_frame_range *ranges; /* as they were written */
    uint32_t count;
};

/* One number; *text moves behind it. False if it is no number from 1 on; then *out is unchanged. */
bool lap_frame_parse(const char **text, uint64_t *out);

/* Adds frames to the list (zeroed is empty). LAP_ERROR_ARGUMENT, with a sentence: no list of frames; LAP_ERROR_MEMORY.
 * An error leaves the list unchanged. */
enum lap_status lap_frames_parse(const char *text, struct lap_frames *frames) LAP_MUST_CHECK;
/* The same for seconds, like 1-2.5,60-62, in milliseconds: last is not part of the range. */
enum lap_status lap_seconds_parse(const char *text, struct lap_frames *milliseconds) LAP_MUST_CHECK;

/* How much of a run: 10s, 2.5s, 300f, 64MiB, 2GiB. */
enum lap_length_unit { LAP_LENGTH_NONE, LAP_LENGTH_MILLISECONDS, LAP_LENGTH_FRAMES, LAP_LENGTH_BYTES };
struct lap_length {
    enum lap_length_unit unit;
    uint64_t amount; /* from 1 on */
};
/* LAP_ERROR_ARGUMENT, with a sentence; then *out is as it was. */
enum lap_status lap_length_parse(const char *text, struct lap_length *out) LAP_MUST_CHECK;
#define LAP_LENGTH_TEXT_BYTES 32u
/* The text form that lap_length_parse accepts; "off" for none. */
void lap_length_text(const struct lap_length *length, char out[LAP_LENGTH_TEXT_BYTES]);

void lap_frames_finish(struct lap_frames *frames); /* also for a zeroed one */

bool lap_frames_have(const struct lap_frames *frames, uint64_t frame);

#endif
