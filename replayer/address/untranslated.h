/* SPDX-License-Identifier: MIT */
/*
 * untranslated: reports device addresses that a replay on this device would not recognize
 * (vulkan/untranslated.h): in specialization constants, push constants, inline uniform blocks and
 * vkCmdUpdateBuffer. It takes the addresses from the trace and creates nothing. It does not check host writes to
 * memory, where the replay finds each word. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_UNTRANSLATED_H
#define LAP_REPLAYER_ADDRESS_UNTRANSLATED_H

#include "replayer/core/report.h"

struct replay_untranslated;

struct replay_untranslated *replay_untranslated_create(void);       /* NULL without memory */
void replay_untranslated_destroy(struct replay_untranslated *look); /* also for NULL */
/* Another command buffer begins. */
void replay_untranslated_block(struct replay_untranslated *look);
/* Checks the current call, whose handles are trace indices. moved: buffers of its device have other addresses than
 * recorded. */
enum lap_status replay_untranslated_call(struct replay_untranslated *look, struct replay *r, const void *args,
                                         bool moved) LAP_MUST_CHECK;

#endif
