/* SPDX-License-Identifier: MIT */
/*
 * find: finds the packet and commands at a position of a trace (position.h), and the position of a packet. One pass
 * over the heads of packets up to there; only the command buffers on the way to the position are decoded. One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_FIND_H
#define LAP_INSPECTOR_POSITION_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/reader.h"

#define POSITION_MOST_PLACES 8u /* (POSITION_MOST_NUMBERS - 2) / 2 */

/* A command buffer on the way to the position. */
struct position_place {
    uint64_t command_buffer; /* its number in the trace */
    uint64_t recorded;       /* ticket of its lapilliBlock */
    uint64_t block;          /* its blob */
    uint32_t commands;       /* in it */
    uint32_t command;        /* from 0; of the whole command buffer the last one */
    uint16_t id;             /* enum gen_command of the command */
    uint32_t executed;       /* if the position goes on behind the command: the number of the secondary, from 0 */
};

struct position_found {
    struct position position; /* never of_packet */
    uint64_t ticket;          /* of the submit; of a frame its first packet; of any other packet its own */
    uint64_t frame;           /* from 0 */
    bool is_submit;           /* it is a submit, or in one */
    uint32_t batch, buffer;   /* of the command buffer: the number of its batch, and its own in the batch, from 0 */
    unsigned place_count;
    struct position_place places[POSITION_MOST_PLACES];
};

/* LAP_ERROR_ARGUMENT: the trace has no such position; the sentence gives the trace's last one. Other errors are the
 * reader's and the decoders'. */
enum lap_status position_find(const struct lap_reader *trace, const struct position *position,
                              struct position_found *out) LAP_MUST_CHECK;

/* The last packet that has happened at a position, by its ticket; of a packet its own. *out is the result of
 * position_find; position.count 0: the position is of a packet. Errors as above. */
enum lap_status position_end(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                             struct position_found *out) LAP_MUST_CHECK;

#endif
