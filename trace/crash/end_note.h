/* SPDX-License-Identifier: MIT */
/*
 * end_note: the note in a trace that another process has ended (docs/format.md, "The note of the end"): a blob behind
 * all others, with the cause and the calls that had not returned.
 */
#ifndef LAP_TRACE_CRASH_END_NOTE_H
#define LAP_TRACE_CRASH_END_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/crash/in_flight.h"
#include "trace/crash/notes.h"

#define LAP_END_NOTE_HEAD_BYTES 64u
/* Of the list of calls behind the head; a tail file has no more. */
#define LAP_END_NOTE_MAX_BYTES (LAP_END_NOTE_HEAD_BYTES + LAP_IN_FLIGHT_AREA_BYTES + LAP_NOTES_CALLS_BYTES)

enum lap_ended_how { LAP_ENDED_UNKNOWN = 0, LAP_ENDED_SIGNAL = 1, LAP_ENDED_STATUS = 2 };
enum lap_ended_by { LAP_ENDED_BY_CAPTURE = 1, LAP_ENDED_BY_REPAIR = 2, LAP_ENDED_BY_RECEIVE = 3 };

struct lap_end_note {
    bool whole;           /* everything recorded up to last_ticket is there, and no loss is known */
    uint64_t last_ticket; /* up to which none is missing */
    uint32_t how;         /* the process ended: enum lap_ended_how */
    uint32_t number;      /* of the signal, or the exit status */
    uint32_t by;          /* the kind of process that ended the trace: enum lap_ended_by */
};

void lap_end_note_store(const struct lap_end_note *note, uint8_t out[LAP_END_NOTE_HEAD_BYTES]);
/* LAP_ERROR_FORMAT: no note of the end. */
enum lap_status lap_end_note_load(const uint8_t *data, size_t bytes, struct lap_end_note *out) LAP_MUST_CHECK;

/* Makes the whole blob: head, and the calls of a list, except struck out ones. `seed` is that of the list's hashes; the
 * blob's hashes have seed 0. The caller frees *out. LAP_ERROR_MEMORY. */
enum lap_status lap_end_note_make(const struct lap_end_note *note, const uint8_t *calls, size_t calls_bytes,
                                  uint64_t seed, uint8_t **out, size_t *out_bytes) LAP_MUST_CHECK;

#endif
