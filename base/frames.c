/* SPDX-License-Identifier: MIT */
#include "base/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lap_frame_parse(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value == 0) /* also without any digit */
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

/* Digits, and up to three more behind a point. */
static bool parse_milliseconds(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0, unit = 1000;

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (uint64_t)1 << 40)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    value *= 1000;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            value += (uint64_t)(*at - '0') * (unit /= 10);
    *text = at;
    *out = value;
    return true;
}

enum lap_status lap_seconds_parse(const char *text, struct lap_frames *milliseconds)
{
    const uint32_t before = milliseconds->count;

    for (const char *at = text;; at++) {
        struct lap_frame_range range, *grown;
        if (!parse_milliseconds(&at, &range.first) || *at++ != '-' || !parse_milliseconds(&at, &range.last) ||
            range.last <= range.first || (*at && *at != ',')) {
            milliseconds->count = before;
            return lap_fail(LAP_ERROR_ARGUMENT, "seconds are written like 1-2.5,60-62, not \"%s\"", text);
        }
        grown = realloc(milliseconds->ranges, (milliseconds->count + (size_t)1) * sizeof *grown);
        if (!grown) {
            milliseconds->count = before;
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        }
        milliseconds->ranges = grown;
        milliseconds->ranges[milliseconds->count++] = range;
        if (!*at)
            return LAP_OK;
    }
}

enum lap_status lap_length_parse(const char *text, struct lap_length *out)
{
    static const struct {
        const char *name;
        enum lap_length_unit unit;
        uint64_t thousandths; /* of the unit */
    } units[] = {{"s", LAP_LENGTH_MILLISECONDS, 1000},
                 {"f", LAP_LENGTH_FRAMES, 1},
                 {"MiB", LAP_LENGTH_BYTES, UINT64_C(1) << 20},
                 {"GiB", LAP_LENGTH_BYTES, UINT64_C(1) << 30}};
    const char *at = text;
    uint64_t thousandths;

    if (parse_milliseconds(&at, &thousandths) && thousandths <= UINT64_C(1) << 32)
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            uint64_t amount = thousandths * units[i].thousandths / 1000;
            bool whole = units[i].unit != LAP_LENGTH_FRAMES || thousandths % 1000 == 0;
            if (strcmp(at, units[i].name) == 0 && amount && whole) {
                *out = (struct lap_length){units[i].unit, amount};
                return LAP_OK;
            }
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "a length is written like 10s, 300f, 64MiB or 2GiB, not \"%s\"", text);
}

void lap_length_text(const struct lap_length *length, char out[LAP_LENGTH_TEXT_BYTES])
{
    const uint64_t amount = length->amount;

    switch (length->unit) {
    case LAP_LENGTH_MILLISECONDS:
        if (amount % 1000)
            snprintf(out, LAP_LENGTH_TEXT_BYTES, "%" PRIu64 ".%03" PRIu64 "s", amount / 1000, amount % 1000);
        else
            snprintf(out, LAP_LENGTH_TEXT_BYTES, "%" PRIu64 "s", amount / 1000);
        break;
    case LAP_LENGTH_FRAMES:
        snprintf(out, LAP_LENGTH_TEXT_BYTES, "%" PRIu64 "f", amount);
        break;
    case LAP_LENGTH_BYTES:
        if (amount % (1 << 20))
            snprintf(out, LAP_LENGTH_TEXT_BYTES, "%.3fMiB", (double)amount / (1 << 20));
        else
            snprintf(out, LAP_LENGTH_TEXT_BYTES, "%" PRIu64 "MiB", amount >> 20);
        break;
    case LAP_LENGTH_NONE:
        snprintf(out, LAP_LENGTH_TEXT_BYTES, "off");
        break;
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
