/* SPDX-License-Identifier: MIT */
/*
 * cut: writes a part of a trace, with the packets it depends on (slice.h), as a trace of its own. Names of the
 * dictionary, threads, and the numbers of objects stay; tickets, blobs and frames count anew. Work that is left out may
 * have had the barriers for work that stays, so command buffers before the part get barriers of their own.
 */
#ifndef LAP_INSPECTOR_SLICE_CUT_H
#define LAP_INSPECTOR_SLICE_CUT_H

#include <stdint.h>

#include "base/status.h"
#include "gen_ids.h"
#include "inspector/position/find.h"
#include "trace/format/codec.h"
#include "trace/read/reader.h"

struct contents_file; /* inspector/state/contents.h */

struct cut_options {
    uint64_t first, last;              /* tickets of the part */
    uint64_t first_frame;              /* of the source, from 0 */
    const struct position_found *draw; /* NULL, or the command with which the part ends: `first` is its submit, of which
                                          everything behind the command is left out. Not with contents */
    const char *note;                  /* a JSON object: added to the trace's information; NULL: none */
    const struct contents_file *contents; /* taken from a replay (slice.h); NULL: earlier work makes all of them */
    const struct lap_codec *packer;       /* NULL: nothing is compressed */
    void (*progress)(void *user, uint64_t done, uint64_t all); /* packets, in two passes; may be NULL */
    void *user;
};

struct cut_result {
    uint64_t packets_before;                  /* of the source before the part */
    uint64_t packets_kept;                    /* of these */
    uint64_t emptied;                         /* command buffers of these */
    uint64_t contents_wanted, contents_taken; /* slice_count_contents */
    uint64_t packets;                         /* in the new trace */
    uint64_t frames;
    uint64_t first_frame; /* of the part in the new trace, from 1: presents that the part needs for ordering are frames
                             before it */
    struct {
        uint64_t before, kept;
    } commands[GEN_COMMAND_COUNT]; /* of the packets before the part, by command */
};

/* Writes into an open, empty file that messages call `name`; `fd` is taken in any case, and the file stays as it is.
 * LAP_ERROR_UNSUPPORTED: this build lacks a command or a structure of the trace, so dependencies can't be found. */
enum lap_status cut_write(const struct lap_reader *trace, int fd, const char *name, const struct cut_options *options,
                          struct cut_result *out) LAP_MUST_CHECK;

#endif
