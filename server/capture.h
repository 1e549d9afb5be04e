/* SPDX-License-Identifier: MIT */
/*
 * capture: the trace files that are served: those that were named, and those of folders, also files that come later.
 * Each has an id that is another one as soon as the file is, or the programs that read it, so that what a path with the
 * id names never changes. The files are not read. Any thread.
 */
#ifndef LAP_SERVER_CAPTURE_H
#define LAP_SERVER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_CAPTURE_ID_BYTES 17u /* 16 hexadecimal digits and a zero */

struct lap_capture {
    char id[LAP_CAPTURE_ID_BYTES];
    const char *path; /* absolute */
    uint64_t bytes;
};

struct lap_captures;
/* names: of files, and of folders; a folder stands for all its files NAME.lapilli. programs: the folder of the verbs, of
 * which others may answer otherwise. LAP_ERROR_IO with a sentence: one is not there, can't be read, or is neither;
 * LAP_ERROR_MEMORY. */
enum lap_status lap_captures_new(const char *const *names, size_t count, const char *programs,
                                 struct lap_captures **out) LAP_MUST_CHECK;
void lap_captures_free(struct lap_captures **captures);
/* Looks into the folders. A file keeps its number, also when it is gone. */
size_t lap_captures_count(struct lap_captures *captures);

/* What the file is now. LAP_ERROR_IO: it is gone. */
enum lap_status lap_capture_look(struct lap_captures *captures, size_t number, struct lap_capture *out) LAP_MUST_CHECK;
/* The file with this id. LAP_ERROR_ARGUMENT: there is none; *out_gone: there was. */
enum lap_status lap_capture_find(struct lap_captures *captures, const char *id, struct lap_capture *out,
                                 bool *out_gone) LAP_MUST_CHECK;

#endif
