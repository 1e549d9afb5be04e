/* SPDX-License-Identifier: MIT */
/* read_packets: what replay programs make is read as a replay does. */
#ifndef LAP_TESTS_FUZZ_READ_PACKETS_H
#define LAP_TESTS_FUZZ_READ_PACKETS_H

#include "trace/read/reader.h"

/* Packets and their blocks decode, and stay in order. Returns what the reader said last: LAP_OK, if there are many. */
enum lap_status fuzz_read_packets(struct lap_reader *reader);

#endif
