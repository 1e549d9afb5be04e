/* SPDX-License-Identifier: MIT */
/*
 * output: checks that everything a program printed to stdout was written.
 */
#ifndef LAP_BASE_FILE_OUTPUT_H
#define LAP_BASE_FILE_OUTPUT_H

#include "base/status.h"

/* Writes the buffered output of stdout. LAP_ERROR_IO, with a sentence, when this or an earlier write failed: the C
 * library drops output that it could not write, and only the stream's error flag stays. A pipe or socket that its
 * reader has closed (`| head`) is no failure. */
LAP_MUST_CHECK enum lap_status lap_output_flush(void);

#endif
