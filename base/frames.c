/* SPDX-License-Identifier: MIT */
#include "base/frames.h"

#include <stdlib.h>

bool lap_frame_parse(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value == 0) /* no digit, too */
        return false;
    *text = at;
    *out = value;
    return true;
}

static bool parse_range(const char **text, struct lap_frame_range *out)
{
    if (!lap_frame_parse(text, &out->first))
        return false;
    out->last = out->first;
    if (**text != '-')
        return true;
    ++*text;
    return lap_frame_parse(text, &out->last) && out->last >= out->first;
}

enum lap_status lap_frames_parse(const char *text, struct lap_frames *frames)
{
    const uint32_t before = frames->count;

    for (const char *at = text;; at++) {
        struct lap_frame_range range, *grown;
        if (!parse_range(&at, &range) || (*at && *at != ',')) {
            frames->count = before;
            return lap_fail(LAP_ERROR_ARGUMENT, "frames are written like 1,50-60, not \"%s\"", text);
        }
        grown = realloc(frames->ranges, (frames->count + (size_t)1) * sizeof *grown);
        if (!grown) {
            frames->count = before;
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        }
        frames->ranges = grown;
        frames->ranges[frames->count++] = range;
        if (!*at)
            return LAP_OK;
    }
}

void lap_frames_finish(struct lap_frames *frames)
{
    free(frames->ranges);
    *frames = (struct lap_frames){NULL, 0};
}

bool lap_frames_have(const struct lap_frames *frames, uint64_t frame)
{
    for (uint32_t i = 0; i < frames->count; i++)
        if (frame >= frames->ranges[i].first && frame <= frames->ranges[i].last)
            return true;
    return false;
}
