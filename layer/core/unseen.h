/* SPDX-License-Identifier: MIT */
/*
 * unseen: data missing from a recording because no layer can see it. Each kind is reported once in a recording, as a
 * warning and in the trace (INFO chunks, docs/format.md), for `lapilli info` and replays. Any thread.
 */
#ifndef LAP_LAP_UNSEEN_H
#define LAP_LAP_UNSEEN_H

#include "vulkan/unseen.h"

/* During a fork or the beginning of a recording, a call may report nothing, or report twice. */
void layer_note_unseen(enum lap_unseen what);
/* The same, in the part that is recorded, if one is; each time. */
void layer_note_unseen_of_part(enum lap_unseen what);

#endif
