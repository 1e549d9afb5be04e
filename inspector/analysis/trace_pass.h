/* SPDX-License-Identifier: MIT */
/*
 * trace_pass: reads a trace once for several visitors. It decodes the commands that some visitor requests, with trace
 * indices for handles, and skips the others by the headers of their packets. It visits the commands of a block once, at
 * the block's first occurrence: a visitor stores its results by the block's number. A visitor may leave; the pass ends
 * when none remains.
 *
 * The pass has a reader of its own, so the reader of a replay does not move. It can advance in steps. One thread.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_TRACE_PASS_H
#define LAP_INSPECTOR_ANALYSIS_TRACE_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/decode.h"
#include "trace/read/reader.h"

#define TRACE_PASS_VISITORS 16u

struct trace_pass;

/* A decoded command. Valid during the visit. */
struct trace_call {
    uint32_t command;                /* enum gen_command */
    const void *args;                /* its struct gen_args_X */
    const struct lap_packet *packet; /* of a command in a block: the packet that is the block's first occurrence */
    uint64_t block;                  /* the number of its block; 0: the packet's own command */
    uint32_t index;                  /* in the block */
    struct trace_pass *pass;
};

/* A decoder at the beginning of the packet's body, for data between the parameters. Valid during the visit. */
void trace_call_decoder(const struct trace_call *call, struct lap_dec *out);

/* LAP_OK: go on. LAP_END: the pass does not call the visitor again. An error ends the pass. */
typedef enum lap_status (*trace_visit_fn)(void *state, const struct trace_call *call);

struct trace_visitor {
    /* The requested commands of packets: a list that ends with 0, or all. A packet with lapilliBlock is visited
     * after the commands of its block. */
    const uint16_t *commands;
    bool all_commands;
    bool information;     /* also information packets, which a replay does not call */
    bool failed;          /* and the calls that failed */
    trace_visit_fn visit; /* may be NULL */
    /* Each command of each block, once. NULL: none. */
    trace_visit_fn visit_in_block;
    /* The head of each packet, with any command, before it is decoded. NULL: none. */
    void (*see_packet)(void *state, const struct lap_packet *packet);
    void *state;
    uint64_t last_ticket; /* ignore later packets; 0: none */
};

/* last_frame: 0: all, or the number of frames to read. On failure *out is NULL. Copies the visitors, which store
 * results in their states. It does not read `trace` yet. */
enum lap_status trace_pass_open(const struct lap_reader *trace, uint64_t last_frame,
                                const struct trace_visitor *visitors, unsigned count,
                                struct trace_pass **out) LAP_MUST_CHECK;
void trace_pass_close(struct trace_pass **pass); /* also for NULL */

/* Reads on, up to the packets that begin after `bytes` of packets from the start of the trace. LAP_OK: there is
 * more. LAP_END: the end of the trace, or no visitor remains. Errors are the reader's, the decoders' and the
 * visitors', with the position in the trace. After an error the pass does not move, and returns it again. */
enum lap_status trace_pass_advance(struct trace_pass *pass, uint64_t bytes) LAP_MUST_CHECK;

/* The last packet that was read; all zero before the first one. */
const struct lap_packet *trace_pass_packet(const struct trace_pass *pass);

/* Opens a pass, reads to the end and closes it. LAP_OK, or the error. */
enum lap_status trace_pass_run(const struct lap_reader *trace, uint64_t last_frame,
                               const struct trace_visitor *visitors, unsigned count) LAP_MUST_CHECK;

#endif
