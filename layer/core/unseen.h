/* SPDX-License-Identifier: MIT */
/*
 * unseen: data missing from a recording because no layer can see it. Each kind is reported once in a recording, as a
 * warning and in the trace (INFO chunks, docs/format.md), for `lapilli info`. Any thread.
 */
#ifndef LAP_LAYER_UNSEEN_H
#define LAP_LAYER_UNSEEN_H

enum layer_unseen_kind {
    LAYER_UNSEEN_TWO_DEVICES,   /* shared memory: one device's writes */
    LAYER_UNSEEN_FROM_OUTSIDE,  /* imported memory: writes of other processes or APIs */
    LAYER_UNSEEN_GIVEN_OUTSIDE, /* exported memory: writes of other processes or APIs */
    LAYER_UNSEEN_TILED_OUTSIDE, /* of both: images whose layout only a driver knows */
    LAYER_UNSEEN_TILED_BYTES,   /* host writes to such a layout */
    LAYER_UNSEEN_SIGNALS,       /* signals of other processes or APIs */
};

/* During a fork or the beginning of a recording, a call may report nothing, or report twice. */
void layer_note_unseen(enum layer_unseen_kind what);

#endif
