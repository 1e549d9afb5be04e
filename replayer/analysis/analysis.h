/* SPDX-License-Identifier: MIT */
/*
 * analysis: facts about later packets that a replay needs. It runs a pass only on request: on the recorded kind of
 * machine a replay needs none, so its first frame does not wait. On another one it mostly needs one, for everything:
 * the code that detects another device requests REPLAY_ANALYSIS_OTHER_DEVICE, and waiting visitors join that pass. One
 * thread.
 */
#ifndef LAP_REPLAYER_ANALYSIS_ANALYSIS_H
#define LAP_REPLAYER_ANALYSIS_ANALYSIS_H

#include "inspector/analysis/trace_analysis.h"
#include "replayer/analysis/alias_groups.h"
#include "replayer/core/replay.h"

/* All that a device unlike the recorded one may need. */
#define REPLAY_ANALYSIS_OTHER_DEVICE                                                                                   \
    (TRACE_ANALYSIS_FEATURES | TRACE_ANALYSIS_QUEUES | TRACE_ANALYSIS_IMAGES | TRACE_ANALYSIS_ACCELERATION)

/* Finds these parts (enum trace_analysis_part) of r->analysis.trace, up to the last played frame: trace_analysis_get.
 * If that takes a pass, waiting visitors join it. It does not move the replay's own reader. */
enum lap_status replay_analyze(struct replay *r, unsigned parts) LAP_MUST_CHECK;

/* The next pass also calls this visitor: that of replay_analyze, or that of replay_analysis_settle. A visitor keeps its
 * errors in its state and returns LAP_END then, since the pass is not its own. LAP_ERROR_MEMORY. */
enum lap_status replay_analysis_await(struct replay *r, const struct trace_visitor *visitor) LAP_MUST_CHECK;

/* Visitors with this state do not wait any more. */
void replay_analysis_cancel(struct replay *r, const void *state);

/* The search for objects that share memory (alias_groups.h), up to the last played frame, waits for a pass. That reads
 * up to the last bind that shares memory (the layer records its ticket). Where the layer counted no such bind, nothing
 * waits.
 */
enum lap_status replay_aliases_await(struct replay *r) LAP_MUST_CHECK;

/* Runs a pass if a visitor still waits, and sets r->analysis.aliases, before the first object is created. Damage ends
 * the pass without an error, since the replay finds it too. */
enum lap_status replay_analysis_settle(struct replay *r) LAP_MUST_CHECK;
void replay_analysis_finish(struct replay *r); /* also for one that did not begin */

#endif
