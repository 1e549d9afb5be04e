/* SPDX-License-Identifier: MIT */
/*
 * finish: ends the trace of a process that could not do it: killed, crashed, or gone without a word. What its tail file
 * has goes into the trace, with a note of the end (end_note.h), an index and an end chunk. It costs as much as the tail
 * file holds, and a look at each chunk's header; nothing is written anew.
 *
 * Chunks are appended in their order, so whatever interrupts this, trace and tail file together have what they had. A
 * trace is called whole only where nothing is known to be lost.
 */
#ifndef LAP_TRACE_FINISH_H
#define LAP_TRACE_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/codec.h"
#include "trace/end_note.h"

enum lap_finish_outcome {
    LAP_FINISH_DONE,
    LAP_FINISH_HAD_END,   /* nothing was changed: the trace has an end */
    LAP_FINISH_RECORDING, /* nothing was changed: a process still writes to it, or somebody else finishes it */
    LAP_FINISH_REFUSED    /* nothing was changed: something would be lost; the sentence says what */
};

struct lap_finish_options {
    uint32_t how, number, by; /* as in struct lap_end_note */
    bool fresh;               /* the process was seen to end: see lap_source_open_fresh */
    /* The process with this number has ended as `how` says; of any other that is not known. 0: no process. */
    int64_t process;
    const char *reason; /* of the end, where it is not known how the process ended; NULL: it did not say so itself */
    const struct lap_codec *packer; /* for what is appended; NULL: nothing is compressed */
    /* Called now and then (may be NULL): how much is done, of how many bytes. */
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct lap_finish_result {
    enum lap_finish_outcome outcome;
    bool whole;          /* of a trace that was finished */
    bool used_tail;      /* what the tail file had is in the trace now: the caller may remove it */
    uint64_t appended;   /* bytes of chunks that came from there */
    uint64_t cut_bytes;  /* of a part of a chunk that stood at the end */
    uint64_t good_bytes; /* of the trace before it was finished, without that */
    int64_t process;     /* that has recorded it, as it says; 0: it does not */
    char reason[224];    /* why the trace ends, as it says itself */
};

/* fd: the trace at `path`, open for reading and writing, on which the caller has an exclusive flock; closed in any
 * case. LAP_OK and the outcome; or LAP_ERROR_IO (no room, say), LAP_ERROR_FORMAT (no readable trace), LAP_ERROR_MEMORY:
 * then trace and tail file have what they had. */
enum lap_status lap_finish(const char *path, int fd, const struct lap_finish_options *options,
                           struct lap_finish_result *out) LAP_MUST_CHECK;

#endif
