/* SPDX-License-Identifier: MIT */
/*
 * unseen: what a recording does not hold because no layer can see it: each kind is said once in a recording, as a
 * warning and in the trace (INFO chunks, docs/format.md), for `lapilli info` to show. Any thread.
 */
#ifndef LAP_LAYER_UNSEEN_H
#define LAP_LAYER_UNSEEN_H

enum layer_unseen_kind {
    LAYER_UNSEEN_TWO_DEVICES,   /* shared memory: one device's writes */
    LAYER_UNSEEN_FROM_OUTSIDE,  /* imported memory: what others write */
    LAYER_UNSEEN_GIVEN_OUTSIDE, /* exported memory: what others write */
    LAYER_UNSEEN_TILED_OUTSIDE, /* of both: images whose layout only a driver knows */
    LAYER_UNSEEN_TILED_BYTES,   /* bytes in such a layout that the host stores */
    LAYER_UNSEEN_SIGNALS,       /* others' signals */
};

/* A caller that comes when the recording is forked or begins may find it said already, or say it twice. */
void layer_note_unseen(enum layer_unseen_kind what);

#endif
