/* SPDX-License-Identifier: MIT */
/*
 * address_look: reports device addresses that a replay on this device would not recognize (codegen/support/lost.h): in
 * specialization constants, push constants, inline uniform blocks and vkCmdUpdateBuffer. It takes the addresses from
 * the trace and creates nothing. It does not check host writes to memory, where the replay finds each word. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_ADDRESS_LOOK_H
#define LAP_REPLAYER_ADDRESS_ADDRESS_LOOK_H

#include "replayer/core/report.h"

struct replay_address_look;

struct replay_address_look *replay_address_look_create(void);       /* NULL without memory */
void replay_address_look_destroy(struct replay_address_look *look); /* also for NULL */
/* Another command buffer begins. */
void replay_address_look_block(struct replay_address_look *look);
/* Checks the current call, whose handles are trace indices. moved: buffers of its device have other addresses than
 * recorded. */
enum lap_status replay_address_look_call(struct replay_address_look *look, struct replay *r, const void *args,
                                         bool moved) LAP_MUST_CHECK;

#endif
