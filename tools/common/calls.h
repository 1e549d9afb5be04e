/* SPDX-License-Identifier: MIT */
/*
 * calls: reads the calls of a trace in order, decoded with trace indices for handles, and the blocks that they refer
 * to. The reading tools (print, info) use it. One thread at a time.
 */
#ifndef LAP_TOOLS_COMMON_CALLS_H
#define LAP_TOOLS_COMMON_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "trace/read/reader.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

struct lap_calls {
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct lap_dec_source source; /* points to dictionary: do not move the struct */
    struct lap_arena arena;       /* memory behind the pointers in args */
    struct lap_arena block_arena;

    struct lap_packet packet;
    uint64_t index; /* of the packet, from 0 */
    uint64_t next_index;
    uint32_t command; /* enum gen_command; GEN_COMMAND_NONE: this build lacks it */
    const char *name; /* as in the file */
    bool has_result;  /* args has a recorded result */
    struct lap_args args;
    uint64_t unknown_structs; /* skipped until now */

    struct lap_block block;
    uint32_t block_command;
    struct lap_args block_args;
};

/* Enters a sandbox. The main function of a program that reads a trace and only writes to its open output calls this
 * before the trace is opened. The program gives up all other rights, as far as the kernel allows it
 * (base/process/sandbox.h). */
void lap_calls_enter_sandbox(void);

/* On failure *calls is as after lap_calls_close. LAP_ERROR_IO, LAP_ERROR_FORMAT: no readable trace. */
enum lap_status lap_calls_open(struct lap_calls *calls, const char *path) LAP_MUST_CHECK;
void lap_calls_close(struct lap_calls *calls); /* also for a zeroed one */

/* Reads and decodes the next call. LAP_END behind the last one; otherwise an error whose message has the file offset
 * and the call. */
enum lap_status lap_calls_next(struct lap_calls *calls) LAP_MUST_CHECK;
/* The next call is the one with this ticket, or LAP_END is next (lap_reader_seek). */
enum lap_status lap_calls_seek(struct lap_calls *calls, uint64_t ticket) LAP_MUST_CHECK;

/* Goes to the start of the block of the current call, which is lapilliBlock. */
enum lap_status lap_calls_block_begin(struct lap_calls *calls) LAP_MUST_CHECK;
/* Reads the block's next command into block_command and block_args; LAP_END behind the last one. */
enum lap_status lap_calls_block_next(struct lap_calls *calls) LAP_MUST_CHECK;

/* Decodes a call in flight (lap_reader_summary) into command, name and args; outputs of the call are null. False:
 * the arguments are unknown. */
bool lap_calls_in_flight(struct lap_calls *calls, const struct lap_in_flight *call) LAP_MUST_CHECK;

/* The exit status (enum lap_tool_exit) after a failed lap_calls_open, and after the last status of reading: 0 for
 * LAP_OK or LAP_END of a complete trace; LAP_TOOL_USAGE for LAP_ERROR_ARGUMENT, a position that is not there. Prints
 * the error on stderr, with the program's name in front. */
int lap_calls_report_open(const char *program, const char *path, enum lap_status status);
int lap_calls_report_end(const char *program, const char *path, const struct lap_reader *reader,
                         enum lap_status status);

/* Opens a trace, has `show` read it and print to stdout, writes the output out, reports as above, and closes the trace.
 * Returns the exit status. Nothing is reported to a reader of stdout that has gone. */
int lap_read_trace(const char *program, const char *path,
                   enum lap_status (*show)(void *user, const struct lap_reader *trace), void *user);
int lap_read_calls(const char *program, const char *path, enum lap_status (*show)(void *user, struct lap_calls *calls),
                   void *user);

#endif
