/* SPDX-License-Identifier: MIT */
/*
 * program: a replay program (vm/program.h) in the place of a trace: its packets are made as a replay reads them
 * (inspector/program/packets.h). One thread at a time.
 */
#ifndef LAP_REPLAYER_VM_PROGRAM_H
#define LAP_REPLAYER_VM_PROGRAM_H

#include <stdbool.h>

#include "base/status.h"
#include "trace/read/reader.h"

struct replay;
struct replay_program;

/* Whether a file begins as a program does. */
bool replay_is_program(const char *path);

/* Reads and verifies a program for a replay, whose checks it can post. resources: where those are that its file lacks,
 * as replay_resources_open takes it. *out_reader gives its packets, and closes before the program. LAP_ERROR_FORMAT,
 * LAP_ERROR_IO, LAP_ERROR_MEMORY, and LAP_ERROR_UNSUPPORTED in 32-bit builds leave both NULL. */
enum lap_status replay_program_open(struct replay *r, const char *path, const char *resources,
                                    struct replay_program **out, struct lap_reader **out_reader) LAP_MUST_CHECK;
/* The replay begins: from now on posts are sent. */
void replay_program_begin(struct replay_program *program);  /* also for NULL */
void replay_program_close(struct replay_program **program); /* also for NULL */

#endif
