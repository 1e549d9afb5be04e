/* SPDX-License-Identifier: MIT */
/*
 * in_flight: calls of the program that had not returned when its process was last heard of (docs/format.md, "Calls in
 * flight"), one entry behind the other. A recorder writes single entries into the notes (trace/crash/notes.h); tail
 * files of older ones have a list, as the note of a trace's end has. Knows no Vulkan.
 */
#ifndef LAP_TRACE_CRASH_IN_FLIGHT_H
#define LAP_TRACE_CRASH_IN_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_IN_FLIGHT_HEAD_BYTES 64u
#define LAP_IN_FLIGHT_ALIGN      64u
#define LAP_IN_FLIGHT_AREA_BYTES ((size_t)1 << 20) /* of a tail file, for a list */
#define LAP_IN_FLIGHT_STATE_AT   4u                /* in the head: one byte, the only one that changes */
#define LAP_IN_FLIGHT_STANDING   1u                /* its value while the call is under way */
#define LAP_IN_FLIGHT_RETURNED   2u                /* its value afterwards */

enum lap_in_flight_flags {
    LAP_IN_FLIGHT_COMMAND = 1, /* recorded into a command buffer; the body is as in a block */
    LAP_IN_FLIGHT_GUILTY = 2,  /* its own thread got the signal */
    LAP_IN_FLIGHT_BARE = 4,    /* no body: the arguments were too long, or could not be read */
    LAP_IN_FLIGHT_ALL_FLAGS = 7
};

struct lap_in_flight {
    uint32_t command;        /* number in the file's dictionary */
    uint32_t flags;          /* enum lap_in_flight_flags */
    uint32_t signal;         /* that ended the process, or was about to; 0: none is known */
    uint64_t thread_id;      /* as the kernel names it; 0: not known */
    uint64_t ticket;         /* of the last packet before, of whichever thread */
    uint64_t command_buffer; /* its index, for LAP_IN_FLIGHT_COMMAND */
    const uint8_t *body;     /* a packet's body without its result */
    size_t bytes;
};

static inline size_t lap_in_flight_stride(size_t bytes)
{
    return LAP_IN_FLIGHT_HEAD_BYTES + ((bytes + LAP_IN_FLIGHT_ALIGN - 1) & ~(size_t)(LAP_IN_FLIGHT_ALIGN - 1));
}

/* Writes a head for `call`, whose body lies LAP_IN_FLIGHT_HEAD_BYTES behind `out` already. The mark that the call is
 * under way is written last. Safe in a signal handler. seed: lap_tail_seed of the trace. */
void lap_in_flight_store(uint8_t *out, const struct lap_in_flight *call, uint64_t seed);

/* The call has returned, and the entry may be written anew. A reader comes when the process is dead, and finds the
 * stores of each thread up to some point of its program: only the compiler must keep their order. */
static inline void lap_in_flight_strike(uint8_t *entry)
{
    __atomic_store_n(entry + LAP_IN_FLIGHT_STATE_AT, LAP_IN_FLIGHT_RETURNED, __ATOMIC_RELEASE);
    atomic_signal_fence(memory_order_seq_cst);
}

/* The number that begins a command in a block, read at *p, which moves behind it. */
uint64_t lap_in_flight_number(const uint8_t **p, const uint8_t *end);

/* The next call of a list of `bytes` bytes from *at on that was not struck out; *at moves behind it. The body points
 * into the list. LAP_END: there is none. A damaged entry ends the list. */
enum lap_status lap_in_flight_next(const uint8_t *list, size_t bytes, size_t *at, uint64_t seed,
                                   struct lap_in_flight *out_call) LAP_MUST_CHECK;

#endif
