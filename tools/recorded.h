/* SPDX-License-Identifier: MIT */
/*
 * recorded: what became of a recording, once the program has ended: its traces are finished where their processes could
 * not do it, and named. For a program with one thread.
 */
#ifndef LAP_TOOLS_RECORDED_H
#define LAP_TOOLS_RECORDED_H

#include <stdbool.h>

#include "tools/launch.h"

/* report: the file that the layer has put the traces' paths into (LAPILLI_REPORT). argv: of the program. Traces that
 * another process still records are left alone. */
void lap_recorded(const char *program, const char *report, char *const argv[], const struct lap_launched *launched,
                  bool quiet);

#endif
