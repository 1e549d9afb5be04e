/* SPDX-License-Identifier: MIT */
/*
 * cut_draw: replaces the command buffers of a command with which a part ends. Each of them gets a new one, of the same
 * pool and level, which is recorded at the same place and ends behind the command. So earlier submits of the old ones
 * stay as they are. For cut.c. One thread.
 */
#ifndef LAP_INSPECTOR_SLICE_CUT_DRAW_H
#define LAP_INSPECTOR_SLICE_CUT_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/status.h"
#include "gen_ids.h"
#include "inspector/position/find.h"
#include "inspector/twin/recode.h"
#include "inspector/twin/scopes.h"

struct cut_draw {
    const struct position_found *at;
    struct recode recode;
    struct scopes scopes;
    struct lap_map subpasses; /* their counts, by render pass */
    struct {
        uint64_t device, pool; /* 0: its allocation was not seen */
        VkCommandBufferLevel level;
        uint64_t number; /* of the new one */
    } buffers[POSITION_MOST_PLACES];
};

/* first_number: no command buffer of the new trace has it, or a higher one. */
void cut_draw_init(struct cut_draw *draw, const struct position_found *at, const struct lap_dictionary *dictionary,
                   uint64_t first_number);
void cut_draw_finish(struct cut_draw *draw); /* also of a zeroed one */

/* Each packet that stays, before the command buffers. */
enum lap_status cut_draw_see(struct cut_draw *draw, uint32_t command, const void *args) LAP_MUST_CHECK;

/* The packet that allocates the new command buffer of a place: its body, in draw->recode.enc. */
enum lap_status cut_draw_allocate(struct cut_draw *draw, unsigned place) LAP_MUST_CHECK;

/* Whether the command at a place is encoded anew: it executes the next place, or ends the command buffer. */
bool cut_draw_replaces(const struct cut_draw *draw, unsigned place);

/* Encodes into draw->recode.enc the commands behind the remaining ones of a place: if the place is not the last, the
 * execution of the next one; then the ends of the scopes of scopes_see. args: of the command at the place. */
enum lap_status cut_draw_end(struct cut_draw *draw, unsigned place, const void *args,
                             uint32_t *out_commands) LAP_MUST_CHECK;

/* The submit without everything behind the command buffer, and with the new one: its body, in draw->recode.enc. args:
 * decoded, which change. */
enum lap_status cut_draw_submit(struct cut_draw *draw, uint32_t command, void *args) LAP_MUST_CHECK;

#endif
