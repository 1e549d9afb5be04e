/* SPDX-License-Identifier: MIT */
/*
 * address_look: what a report says of device addresses that a replay here would not find (codegen/support/lost.h): in
 * specialization constants, push constants, inline uniform blocks and vkCmdUpdateBuffer. Which addresses there are the
 * trace says; nothing is created. What the host writes into memory is not looked at: it is found word by word. One
 * thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_LOOK_H
#define LAP_REPLAYER_ADDRESS_LOOK_H

#include "replayer/report.h"

struct replay_address_look;

struct replay_address_look *replay_address_look_create(void);       /* NULL without memory */
void replay_address_look_destroy(struct replay_address_look *look); /* also for NULL */
/* Another command buffer begins. */
void replay_address_look_block(struct replay_address_look *look);
/* Looks at the current call, whose handles are trace indices. moved: of a device whose buffers have other addresses
 * here. */
enum lap_status replay_address_look_call(struct replay_address_look *look, struct replay *r, const void *args,
                                         bool moved) LAP_MUST_CHECK;

#endif
