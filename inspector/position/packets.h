/* SPDX-License-Identifier: MIT */
/*
 * packets: the positions of many packets of a trace, by one pass. position_find has one position alone, and more to say
 * of it. One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_PACKETS_H
#define LAP_INSPECTOR_POSITION_PACKETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/position.h"
#include "trace/read/reader.h"

struct position_packet {
    uint64_t ticket;
    /* Of a submit; of a recorded command buffer where it is submitted, or executed, first. Else count is 0. */
    struct position position;
};

/* The packets are in the order of their tickets, each once, and their positions are empty. Errors are the reader's and
 * the decoders'; positions up to there are in `packets`. */
enum lap_status position_of_packets(const struct lap_reader *trace, struct position_packet *packets,
                                    size_t count) LAP_MUST_CHECK;

#endif
