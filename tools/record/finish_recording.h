/* SPDX-License-Identifier: MIT */
/*
 * finish_recording: finishes the traces of a recording after the program has ended, where their processes could not,
 * and lists them. For a program with one thread.
 */
#ifndef LAP_TOOLS_RECORD_FINISH_RECORDING_H
#define LAP_TOOLS_RECORD_FINISH_RECORDING_H

#include <stdbool.h>

#include "tools/record/launch.h"

/* report: the file with the paths that the layer has appended (LAPILLI_REPORT). argv: of the program. Does not touch
 * traces that another process still records. must_record: says, too, what was not recorded. False: nothing, or not all,
 * was recorded (known only with must_record, or without quiet). */
bool lap_finish_recording(const char *program, const char *report, char *const argv[],
                          const struct lap_launched *launched, bool quiet, bool must_record);

#endif
