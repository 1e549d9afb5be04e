/* SPDX-License-Identifier: MIT */
/*
 * cut_contents: writes contents that were taken from a replay (slice.h) in front of the part, as packets of the
 * ordinary kinds between two lapilliState, as the layer does where a part of a run begins (layer/part/state.h): devices
 * become idle, images get their layouts at that place and queries results, then buffers their bytes and images their
 * texels.
 */
#ifndef LAP_INSPECTOR_SLICE_CUT_CONTENTS_H
#define LAP_INSPECTOR_SLICE_CUT_CONTENTS_H

#include "inspector/slice/slice.h"
#include "trace/write/writer.h"
#include "vulkan/dictionary.h"

/* Command buffers that are recorded again (slice_records_again). */
struct cut_again {
    const uint64_t *pools; /* theirs, each once */
    size_t count;
    enum lap_status (*record)(void *user);
    void *user;
};

/* Numbers of commands are those of the source's dictionary, which the writer has too. LAP_ERROR_UNSUPPORTED: it lacks
 * one of them. LAP_ERROR_IO: the file of contents can't be read, or the writer has stopped. */
enum lap_status cut_write_contents(struct lap_writer *writer, struct lap_stream *stream,
                                   const struct lap_dictionary *dictionary, const struct slice *slice,
                                   const struct contents_file *file, const struct cut_again *again) LAP_MUST_CHECK;

#endif
