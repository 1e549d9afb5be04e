/* SPDX-License-Identifier: MIT */
/*
 * crash: where a signal like SIGSEGV ends the process, in the driver say, a sentence on stderr says at which packet.
 * The process then ends as it would have without that.
 */
#ifndef LAP_REPLAYER_CORE_CRASH_H
#define LAP_REPLAYER_CORE_CRASH_H

struct replay_position; /* replay.h */

/* From now on, for all threads. Those that did not say where they are count as at this position, which is read at any
 * time. It lives until the end of the process. */
void replay_crash_watch(const struct replay_position *at);

/* Where the calling thread is; NULL: no longer. Returns what it was. */
const struct replay_position *replay_crash_set(const struct replay_position *at);

#endif
