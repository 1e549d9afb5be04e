/* SPDX-License-Identifier: MIT */
#include "inspector/position/position.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum lap_status no_position(const char *text)
{
    return lap_fail(LAP_ERROR_ARGUMENT, "'%s' is no position: FRAME.SUBMIT.BUFFER.COMMAND, or #PACKET", text);
}

static bool parse_number(const char **text, uint64_t *out)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* Whether the number at `index` counts from 0. */
static bool from_zero(const struct position *position, unsigned index)
{
    return position->of_packet || (index + 1 >= POSITION_COMMAND && index % 2 == 1);
}

enum lap_status position_parse(const char *text, struct position *out)
{
    const char *at = text;

    *out = (struct position){.of_packet = *at == '#'};
    at += out->of_packet;
    for (;;) {
        uint64_t number;
        if (out->count == (out->of_packet ? 2 : POSITION_MOST_NUMBERS) || !parse_number(&at, &number))
            return no_position(text);
        if (number == 0 && !from_zero(out, out->count))
            return lap_fail(LAP_ERROR_ARGUMENT, "'%s' is no position: frames, submits and buffers count from 1", text);
        out->numbers[out->count++] = number;
        if (*at == 0)
            return LAP_OK;
        if (*at++ != '.')
            return no_position(text);
    }
}

const char *position_text(const struct position *position, char *out)
{
    size_t at = (size_t)snprintf(out, POSITION_TEXT_BYTES, "%s", position->of_packet ? "#" : "");

    for (unsigned i = 0; i < position->count && i < POSITION_MOST_NUMBERS; i++)
        at += (size_t)snprintf(out + at, POSITION_TEXT_BYTES - at, "%s%" PRIu64, i ? "." : "", position->numbers[i]);
    return out;
}

struct position position_up_to(const struct position *position, unsigned count)
{
    struct position result = *position;

    if (result.count > count)
        result.count = count;
    return result;
}
