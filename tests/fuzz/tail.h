/* SPDX-License-Identifier: MIT */
/*
 * tail: traces beside which stands a tail file, as a process leaves them that is killed, for targets that read them;
 * and a list of calls in flight as fuzzing changes it. One thread.
 */
#ifndef LAP_TESTS_FUZZ_TAIL_H
#define LAP_TESTS_FUZZ_TAIL_H

#include <stddef.h>
#include <stdint.h>

/* Writes a tail file's header (LAP_TAIL_HEADER_BYTES) for the trace whose file header is at `trace`: where the ring is,
 * and its oldest entry. */
void tail_header(uint8_t *tail, const uint8_t *trace, uint64_t ring_at, uint64_t start);

/* Two files with these bytes, beside each other; the path of the trace is good until tail_remove. */
const char *tail_place(const uint8_t *trace, size_t bytes, const uint8_t *tail, size_t tail_bytes);
void tail_remove(void);

/* Where the trace has an index or its end, so that what is before is one without: at most `bytes`. */
size_t tail_cut(const uint8_t *trace, size_t bytes);

/* ---- calls in flight: 'F' or, as notes, 'N', the bytes of the list (2), the list, a trace. An element of the list:
 * ---- */

enum {
    TAIL_CALL_COMMAND = 0,        /* 2 bytes */
    TAIL_CALL_FLAGS = 2,          /* enum lap_in_flight_flags; TAIL_CALL_DAMAGED: of a note, which then is */
    TAIL_CALL_SIGNAL = 3,         /* 0: none */
    TAIL_CALL_COMMAND_BUFFER = 4, /* its index */
    TAIL_CALL_BYTES = 5,          /* 2 bytes, of the body, which follows */
    TAIL_CALL_HEAD = 7,
    TAIL_LIST_AT = 3, /* in the input */
    TAIL_CALL_DAMAGED = 0x40
};

/* Makes of the list what a writer would have in the file. Returns its size; `out` has room for
 * tail_calls_room(list_bytes) bytes. */
size_t tail_calls_store(const uint8_t *list, size_t list_bytes, const uint8_t *trace, uint8_t *out);
size_t tail_calls_room(size_t list_bytes);

/* The same as notes, in a tail file of TAIL_NOTES_END bytes, all of them 0 before. */
#define TAIL_NOTES_END (LAP_TAIL_NOTES_BEGIN + LAP_NOTES_CALLS_BYTES)
void tail_notes_store(const uint8_t *list, size_t list_bytes, const uint8_t *trace, uint8_t *tail);

/* An input with calls in flight: its list, 0 bytes where it is too short for what it says. NULL: it is a plain trace.
 */
const uint8_t *tail_list(const uint8_t *data, size_t bytes, size_t *out_list_bytes);

#endif
