/* SPDX-License-Identifier: MIT */
/*
 * twins: edits that record command buffers differently: in place, or as a twin. A twin is a new command buffer of the
 * same pool and level, which is recorded where its original is, since objects that the original names may be gone at
 * the submit. Submits then name the twin instead of the original. One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_TWINS_H
#define LAP_INSPECTOR_TWIN_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/blocks.h"
#include "inspector/position/packet.h"
#include "inspector/twin/recode.h"
#include "inspector/twin/recordings.h"
#include "trace/read/edits.h"

struct twins {
    const struct recordings *recordings;
    struct lap_edits *edits;
    struct position_blocks blocks;
    struct position_packet packet;
    struct recode recode;
    uint64_t first_number, number; /* of command buffers; number: of the next one */
    uint8_t *bytes;                /* of a block that is made */
    size_t byte_count, byte_capacity;
    uint32_t commands; /* in it */
};

/* All recordings of the trace are known. On failure it may be finished. */
enum lap_status twins_init(struct twins *twins, const struct lap_reader *trace, const struct recordings *recordings,
                           struct lap_edits *edits) LAP_MUST_CHECK;
void twins_finish(struct twins *twins); /* also of a zeroed one */

/* ---- a block ---- */

/* Makes an empty one. */
void twins_begin(struct twins *twins);
/* Adds commands as bytes of a block. */
enum lap_status twins_add(struct twins *twins, const uint8_t *data, size_t bytes, uint32_t commands) LAP_MUST_CHECK;
/* Adds the commands that twins->recode has encoded, each behind its number. */
enum lap_status twins_add_encoded(struct twins *twins, uint32_t commands) LAP_MUST_CHECK;
/* Adds a command. recode.h has the errors. */
enum lap_status twins_add_command(struct twins *twins, uint32_t command, const void *args) LAP_MUST_CHECK;
/* Adds a vkCmdExecuteCommands. */
enum lap_status twins_add_execution(struct twins *twins, uint32_t count, const uint64_t *buffers) LAP_MUST_CHECK;

/* Makes the block that a recording holds without the commands with these numbers, which ascend, and with these command
 * buffers (all that it executes) in its executions. NULL: as they are. */
enum lap_status twins_make(struct twins *twins, const struct recording *recording, const uint32_t *dropped,
                           size_t dropped_count, const uint64_t *executed) LAP_MUST_CHECK;

/* ---- edits ---- */

/* The command buffer holds the made block from here on. */
enum lap_status twins_replace(struct twins *twins, const struct recording *recording) LAP_MUST_CHECK;
/* A new command buffer, whose number is *out, holds the made block. LAP_ERROR_LIMIT: too many. */
enum lap_status twins_put(struct twins *twins, const struct recording *recording, uint64_t *out) LAP_MUST_CHECK;

/* The command buffers that a copy executes, block->executed_count; the caller frees *out. Secondary command buffers
 * that may not be in two primary ones are copied, too. */
enum lap_status twins_copy_executed(struct twins *twins, const struct recording *recording,
                                    uint64_t **out) LAP_MUST_CHECK;

/* The packet that twins->recode has encoded. */
enum lap_status twins_add_packet(struct twins *twins, uint64_t ticket, enum lap_edit_kind kind,
                                 uint32_t command) LAP_MUST_CHECK;

/* A new packet behind another one. recode.h has the errors. */
enum lap_status twins_put_packet(struct twins *twins, uint64_t ticket, uint32_t command,
                                 const void *args) LAP_MUST_CHECK;

/* A command buffer of a submit. */
struct twins_use {
    uint64_t ticket; /* of the submit */
    uint32_t batch, buffer;
    uint64_t number; /* the command buffer that it is to have */
};
/* All of one submit. ends: nothing of it stays behind the last one. */
enum lap_status twins_submit(struct twins *twins, const struct twins_use *uses, size_t count, bool ends) LAP_MUST_CHECK;

/* Removes from a decoded vkQueueSubmit or vkQueueSubmit2 everything behind a command buffer. */
void twins_shorten(uint32_t command, void *args, uint32_t batch, uint32_t buffer);

#endif
