/* SPDX-License-Identifier: MIT */
/*
 * finish: ends the trace of a process that could not do it: killed or crashed, say. Appends the chunks of its tail file
 * to the trace, then a note of the end (end_note.h), an index and an end chunk. The cost is that of the tail file's
 * bytes and of reading each chunk's header; nothing is rewritten.
 *
 * Chunks are appended in order, so an interruption loses nothing that trace and tail file had together. A trace is
 * called whole only where no loss is known.
 */
#ifndef LAP_TRACE_RECOVER_FINISH_H
#define LAP_TRACE_RECOVER_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/crash/end_note.h"
#include "trace/format/codec.h"

enum lap_finish_outcome {
    LAP_FINISH_DONE,
    LAP_FINISH_HAD_END,   /* nothing was changed: the trace has an end */
    LAP_FINISH_RECORDING, /* nothing was changed: a process still writes to it, or another one finishes it */
    LAP_FINISH_REFUSED,   /* nothing was changed: something would be lost, which the sentence names */
    LAP_FINISH_NOTHING    /* with LAP_ERROR_FORMAT: the process had just begun the file, and it has nothing yet */
};

struct lap_finish_options {
    uint32_t how, number, by; /* as in struct lap_end_note */
    bool fresh;               /* the end of the process was observed: see lap_source_open_fresh */
    /* `how` is about the process with this number; for another process it is unknown. 0: no process. */
    int64_t process;
    const char *reason; /* of the end, where the cause of the process's end is unknown; NULL: it gave none itself */
    const struct lap_codec *packer; /* for appended chunks; NULL: nothing is compressed */
    /* Called now and then (may be NULL): how much is done, of how many bytes. */
    void (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

struct lap_finish_result {
    enum lap_finish_outcome outcome;
    bool whole;          /* of a trace that was finished */
    bool used_tail;      /* the trace has everything of the tail file now: the caller may remove it */
    uint64_t appended;   /* bytes of chunks that came from there */
    uint64_t cut_bytes;  /* of a part of a chunk at the end */
    uint64_t good_bytes; /* of the trace before it was finished, without that */
    int64_t process;     /* that recorded it, according to the trace; 0: the trace has none */
    char reason[224];    /* the reason in the trace's own end */
};

/* fd: the trace at `path`, open for reading and writing, on which the caller has an exclusive flock; closed in any
 * case. LAP_OK and the outcome; or LAP_ERROR_IO (no room, say), LAP_ERROR_FORMAT (no readable trace), LAP_ERROR_MEMORY:
 * then trace and tail file have what they had. */
enum lap_status lap_finish(const char *path, int fd, const struct lap_finish_options *options,
                           struct lap_finish_result *out) LAP_MUST_CHECK;

#endif
