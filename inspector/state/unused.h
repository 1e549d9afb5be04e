/* SPDX-License-Identifier: MIT */
/*
 * unused: the objects of a trace that nothing uses. An object is used if a command that a submit runs names it or finds
 * it bound, if a call does something with it, if the creation of a used object names it, or if a used object is bound
 * in it. Making, binding, naming, describing and ending an object are no uses. One pass over the trace. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_UNUSED_H
#define LAP_INSPECTOR_STATE_UNUSED_H

#include "inspector/state/objects.h"
#include "inspector/state/use_walk.h"

struct unused {
    size_t number;   /* in the lives of the objects */
    size_t other;    /* the first one that is made of it, bound in it or belongs to it; unused, too. SIZE_MAX: none */
    uint64_t others; /* how many more there are */
    bool described;  /* it was in a descriptor that no command finds bound */
};

/* In the order of the lives. Left out are objects of types that are always there, or whose uses no trace has, and
 * images of swapchains. An error leaves *out usable, with the objects known up to there, unless *out is NULL. The
 * caller frees *out. */
enum lap_status unused_find(const struct lap_reader *trace, const struct state_objects *objects,
                            void (*progress)(void *user, const struct lap_packet *packet), void *user,
                            struct unused **out, size_t *out_count) LAP_MUST_CHECK;

#endif
