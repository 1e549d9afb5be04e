/* SPDX-License-Identifier: MIT */
/*
 * reach: whether what shaders reach through descriptors is there still (--validate-descriptors).
 *
 * Programs may leave in descriptor sets what is gone, as long as no shader uses it ("Descriptor Validity"), so an
 * update and a bind say nothing. Here is kept what each descriptor of each set names, and which descriptors the entry
 * points of each pipeline use statically (static_use.h). Before a command buffer is recorded, and again before it is
 * submitted, its block is decoded, and each draw and dispatch looked at: whatever the pipeline uses of the bound sets,
 * and of what was pushed, has to be alive (REPLAY_VALIDATE_USED). Of bindings that may be bound in part
 * (VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT) programs need not say which elements they use, so those are not looked
 * at. There are drivers that follow descriptors which no shader uses: for those all of each set that is bound has to be
 * alive (REPLAY_VALIDATE_BOUND), at which good programs may fail.
 *
 * All of it goes by the trace's numbers. Packets are decoded once more for it, so replays without it pay nothing.
 *
 * One thread.
 */
#ifndef LAP_REPLAYER_REACH_H
#define LAP_REPLAYER_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct replay;
struct replay_reach;

/* r->reach. */
enum lap_status replay_reach_create(struct replay *r) LAP_MUST_CHECK;
void replay_reach_destroy(struct replay *r); /* also where there is none */

/* After the call r->command of the current packet, if it is one that says what sets name or what pipelines use. */
bool replay_reach_is_noted(uint32_t command);
enum lap_status replay_reach_note(struct replay *r) LAP_MUST_CHECK;

/* Whether all that the commands of a block reach is alive; they were recorded when the context's next_order was
 * `since`, or are about to be (`recording`): then bindings that may be updated after they were bound are not looked at
 * yet. LAP_ERROR_REPLAY: no, with a sentence that begins with the command. */
enum lap_status replay_reach_check(struct replay *r, uint64_t block, uint64_t since, bool recording) LAP_MUST_CHECK;

/* Descriptors of a set, by its index in the trace, from an element of a binding on; past that binding's end they are in
 * those behind it. */
struct replay_reach_part {
    uint64_t set;
    uint32_t binding, element, count;
};
/* Whether all of them may be written while work has the set (VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT, or
 * _UNUSED_WHILE_PENDING_BIT). */
bool replay_reach_may_write(const struct replay *r, const struct replay_reach_part *part);

#endif
