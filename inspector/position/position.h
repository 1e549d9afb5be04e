/* SPDX-License-Identifier: MIT */
/*
 * position: a place in a trace, by numbers. They are, one after the other:
 *
 *   FRAME    from 1
 *   SUBMIT   a successful vkQueueSubmit or vkQueueSubmit2 of the frame, from 1
 *   BUFFER   a command buffer of the submit, from 1, through all its batches
 *   COMMAND  in the command buffer, from 0, which is vkBeginCommandBuffer, as lapilli print counts them
 *
 * Behind a vkCmdExecuteCommands may come BUFFER, one of the secondary command buffers that it executes, from 1, and
 * COMMAND in that; and so on. A position may end behind any of the numbers. Then it is everything in that frame,
 * submit, buffer or command.
 *
 * "#PACKET" and "#PACKET.COMMAND" are positions, too, with the number that lapilli print shows: of a submit, or of a
 * recorded command buffer where it was submitted first, or of any other packet.
 */
#ifndef LAP_INSPECTOR_POSITION_POSITION_H
#define LAP_INSPECTOR_POSITION_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define POSITION_MOST_NUMBERS 18u  /* eight command buffers, one in another */
#define POSITION_TEXT_BYTES   400u /* of the longest one, with a zero */

enum position_number { POSITION_FRAME = 1, POSITION_SUBMIT, POSITION_BUFFER, POSITION_COMMAND };

struct position {
    bool of_packet; /* numbers: the packet, from 0, and perhaps a command */
    unsigned count; /* of numbers, at least 1. Of a command: 4, 6, 8, … */
    uint64_t numbers[POSITION_MOST_NUMBERS];
};

/* LAP_ERROR_ARGUMENT, with a sentence: this is no position. */
enum lap_status position_parse(const char *text, struct position *out) LAP_MUST_CHECK;
/* out: POSITION_TEXT_BYTES. Returns it. */
const char *position_text(const struct position *position, char *out);
/* The first numbers of it alone. */
struct position position_up_to(const struct position *position, unsigned count);

/* Whether it is a command, in a command buffer of either kind. */
static inline bool position_is_command(const struct position *position)
{
    return !position->of_packet && position->count >= POSITION_COMMAND && position->count % 2 == 0;
}

#endif
