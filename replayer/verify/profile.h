/* SPDX-License-Identifier: MIT */
/*
 * profile: prints how long the work of frames took, as lines of JSON on stdout (docs/json.md): the timestamps that
 * inspector/question/stamps.h has added to the trace, and the time of the replay's own calls. One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_PROFILE_H
#define LAP_REPLAYER_VERIFY_PROFILE_H

#include "replayer/core/replay.h"

/* Where the replay ends. LAP_ERROR_UNSUPPORTED: the queries can't be read; also replay_settle. */
enum lap_status replay_print_profile(struct replay *r) LAP_MUST_CHECK;

#endif
