/* SPDX-License-Identifier: MIT */
/*
 * result: --report FILE: what came of a replay, as one JSON object that is written at its end (docs/json.md). A reader
 * takes a file without "end" as none: the driver has ended the process then.
 */
#ifndef LAP_REPLAYER_CORE_RESULT_H
#define LAP_REPLAYER_CORE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct replay_result {
    const char *outcome; /* docs/json.md */
    int code;            /* the exit status */
    const char *error;   /* the first error, as a sentence; NULL or "": there was none */
    const char *gpu;     /* JSON, as --list-gpus has it; NULL: none was chosen */
    const uint8_t *uuid; /* 16 bytes of the trace; NULL: it was not read */
    uint64_t frames, peak_bytes, host_peak_bytes;
    double wall_ms;
    bool has_verify;
    struct replay_result_verify {
        uint64_t checks, within, different, left_out;
        const char *kind, *object; /* of the first difference; NULL: there is none */
        uint64_t frame, packet;
    } verify;
};

/* LAP_ERROR_IO, with the file's name; LAP_ERROR_MEMORY. The descriptor stays open. */
enum lap_status replay_result_write(int fd, const char *file, const struct replay_result *result) LAP_MUST_CHECK;

/* For a process that ends while a driver may have locks: a failed replay, without memory of the heap. */
void replay_result_write_failed(int fd, int code, const char *error);

#endif
