/* SPDX-License-Identifier: MIT */
/*
 * rewrite: writes a trace anew, with other compression. A recording has small chunks (one a frame and thread, so that a
 * program may end at any moment). Here the packets of one thread are joined into chunks of up to a mebibyte, small
 * blobs likewise, ahead of the marks of their frames. Packets, blobs, frames and totals stay the same.
 */
#ifndef LAP_TRACE_REWRITE_H
#define LAP_TRACE_REWRITE_H

#include <stdint.h>

#include "base/status.h"
#include "trace/format/codec.h"

struct lap_rewrite_options {
    const struct lap_codec *packer; /* NULL: nothing is compressed */
    /* Called now and then (may be NULL): how many bytes of the source's chunks are done, and of how many. */
    void (*progress)(void *user, uint64_t done, uint64_t all);
    /* Called at the end (may be NULL): damage in the source that was repaired from copies, without a loss. */
    void (*repaired)(void *user, const char *what);
    void *user;
};

/* Writes into an open, empty file that messages call `name`; on failure it stays as it is, without an end. `fd` is
 * closed in any case. A source without an end (and what its tail file has, see docs/format.md) is written as far as it
 * can be read, and its end has the reason; frames that can't be read are left out, as in a reader. LAP_ERROR_FORMAT: a
 * chunk is damaged (the sentence has the frame and the offset); LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status lap_rewrite_into(const char *from, int fd, const char *name,
                                 const struct lap_rewrite_options *options) LAP_MUST_CHECK;

/* Reads both from beginning to end: LAP_OK when they have the same packets, with the same blobs, in the same frames and
 * order, and the same end; else LAP_ERROR_FORMAT with the first difference, or why one can't be read. progress counts
 * packets. */
enum lap_status lap_rewrite_compare(const char *from, const char *to,
                                    const struct lap_rewrite_options *options) LAP_MUST_CHECK;

#endif
